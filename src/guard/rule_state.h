/*
 * Parsed rules and commands. For the files of rule only.
 */
#pragma once

#include "base/arena.h"
#include "guard/rule.h"
#include "guard/rule_path.h"
#include "shell/shell.h"

enum rule_kind {
    RULE_KIND_TOOL, /* no specifier, or one that matches everything */
    RULE_KIND_COMMAND,
    RULE_KIND_PATH,
    RULE_KIND_HOST,
    RULE_KIND_NAME,
};

struct rule {
    struct arena arena;
    struct str text;
    enum rule_list list;
    struct str tool; /* may have "*" in it */
    enum rule_kind kind;
    struct str pattern; /* commands, hosts and names; "\*" is a star */
    struct str head;    /* a command's pattern: its first word, if it is literal */
    char first;         /* a command's pattern: first character of all matches; 0 = any */
    bool boundary;      /* a command's pattern ended with ":*" or " *": more words may follow */
    struct rule_path path;
    struct str param; /* deny and ask: the parameter ... */
    struct str value; /* ... and its value; param empty = none */
};

bool rule_names_tool(const struct rule *r, struct str tool);

/* Commands and names: "deploy" and, with a boundary, "deploy prod". */
bool rule_text_matches(const struct rule *r, struct str text);
/* A quick test: false means no match. Every command is compared with every rule. */
static inline bool rule_may_match(const struct rule *r, struct str text)
{
    return !r->first || (text.len && text.ptr[0] == r->first);
}

/* A command found anywhere in the text. */
struct rule_found {
    struct shell_part part; /* its words are lent */
    size_t end;             /* index of the first word of the program that it runs */
};

/* A part's words as one text, the start of each word, and their known properties. */
struct rule_line {
    struct str raw;
    size_t *starts;
    bool reads; /* shell_part_is_read_only() */
    bool free;  /* shell_part_is_free() */
};

struct rule_command {
    struct str text;
    struct shell shell;
    struct arena arena;
    struct rule_line *lines; /* one for each part of the shell command */
    VEC(struct rule_found) found;
    VEC(struct str) lines_found; /* their words, for deny rules */
    VEC(char *) globs;           /* names with a pattern: /bin/r? */
    VEC(struct shell *) inner;   /* parsed texts inside it */
    bool begins[256];            /* first bytes of the lines found */
    bool stays;                  /* rule_command_stays() was called */
    bool too_big;                /* too large to be checked: matched by every deny rule */
};

/* Fills in the commands found. */
void rule_command_find(struct rule_command *c);

/* A quick test: false if it is a rule about commands that cannot match this one. */
static inline bool rule_may_forbid(const struct rule *r, const struct rule_command *c)
{
    return r->kind != RULE_KIND_COMMAND || r->list == RULE_ALLOW || !r->first || c->too_big ||
           c->globs.len || c->begins[(unsigned char)r->first];
}

/* Compares a deny or ask rule with every command found. */
bool rule_forbids_command(const struct rule *r, const struct rule_command *c);

/* Whether its words are only printed, tested or computed with, and open no file. */
bool rule_names_no_files(const struct shell_part *p);
