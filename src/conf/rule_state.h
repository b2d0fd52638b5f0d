/*
 * A rule once it is parsed. For rule.c and rule_command.c only.
 */
#pragma once

#include "base/arena.h"
#include "conf/rule.h"
#include "conf/rule_path.h"

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
    bool boundary;      /* a command's pattern ended in ":*" or " *": more words may follow */
    struct rule_path path;
    struct str param; /* deny and ask: this parameter ... */
    struct str value; /* ... has this value; param empty: none */
};

bool rule_names_tool(const struct rule *r, struct str tool);

/* Commands and names: "deploy" and, with a boundary, "deploy prod". */
bool rule_text_matches(const struct rule *r, struct str text);

/* A deny or ask rule against every reading of every part; depth: of commands inside words. */
bool rule_forbids_command(const struct rule *r, struct str text, unsigned depth);
