/*
 * A rule once it is parsed, and a command once it is taken apart. For the files of rule only.
 */
#pragma once

#include "base/arena.h"
#include "guard/rule.h"
#include "guard/rule_path.h"
#include "shell/shell.h"

enum rule_kind {
    RULE_KIND_TOOL, /* no specifier, or one that says "everything" */
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
    struct str head;    /* a command's pattern: its first word, when that is written out */
    char first;         /* a command's pattern: what all that it matches begins with; 0: anything */
    bool boundary;      /* a command's pattern ended in ":*" or " *": more words may follow */
    struct rule_path path;
    struct str param; /* deny and ask: this parameter ... */
    struct str value; /* ... has this value; param empty: none */
};

bool rule_names_tool(const struct rule *r, struct str tool);

/* Commands and names: "deploy" and, with a boundary, "deploy prod". */
bool rule_text_matches(const struct rule *r, struct str text);
/* False: no, without a closer look. Every command is held against every rule. */
static inline bool rule_may_match(const struct rule *r, struct str text)
{
    return !r->first || (text.len && text.ptr[0] == r->first);
}

/* A command that was found anywhere in the text. */
struct rule_found {
    struct shell_part part; /* its words are lent */
    size_t end;             /* where the words of the program that it runs begin */
};

/* A part's words as one text, as written, where each word starts, and their known properties. */
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
    struct rule_line *lines; /* one for each part of the shell */
    VEC(struct rule_found) found;
    VEC(struct str) lines_found; /* their words, for rules that forbid */
    VEC(char *) globs;           /* names with a pattern: /bin/r? */
    VEC(struct shell *) inner;   /* texts inside it that were taken apart */
    bool begins[256];            /* some found line has this as its first byte */
    bool stays;                  /* rule_command_stays() was called */
    bool too_big;                /* more than can be looked at: forbidden by every rule */
};

/* Fills in the commands found. */
void rule_command_find(struct rule_command *c);

/* False: a rule about commands, and it does not forbid this one. */
static inline bool rule_may_forbid(const struct rule *r, const struct rule_command *c)
{
    return r->kind != RULE_KIND_COMMAND || r->list == RULE_ALLOW || !r->first || c->too_big ||
           c->globs.len || c->begins[(unsigned char)r->first];
}

/* A deny or ask rule against every command found. */
bool rule_forbids_command(const struct rule *r, const struct rule_command *c);

/* Its words are printed, tested or computed with, and open no file. */
bool rule_names_no_files(const struct shell_part *p);
