/*
 * A search for instruction files; for instructions.c only.
 *
 * finder_add() is the one gate that every file goes through, found or imported: whether it may be
 * read, whether it is text, whether there is still room. Rejected files are reported in the notices
 * of the list.
 */
#pragma once

#include "context/instructions.h"

struct finder_folder {
    uint64_t dev;
    uint64_t ino;
};

struct finder {
    const struct instructions_spec *spec;
    struct cancel *cancel;
    struct instructions *found;
    const struct instructions *known; /* found before; NULL: nothing */
    char *checkout;                   /* the folder with .git, or NULL */
    struct strv allowed;              /* real paths of the folders that project files may lead to */
    VEC(struct finder_folder) rule_folders;
    size_t rule_entries;
    bool is_full; /* the total is reached, which was reported */
};

/* A file on its way in. */
struct candidate {
    enum instruction_kind kind;
    const char *path;
    const char *importer; /* or NULL */
    unsigned depth;       /* of imports */
    bool is_rule;
    bool is_due;   /* a rule whose paths have been met */
    bool is_above; /* above the checkout: only ours */
};

/* Fill in spec, cancel, found and known first. */
void finder_init(struct finder *f);
void finder_release(struct finder *f);

/* Takes a file in, and then its imports. False when there is no such file. */
bool finder_add(struct finder *f, const struct candidate *c);
/* The same for folder/name; folder may be NULL. */
bool finder_add_in(struct finder *f, struct candidate c, const char *folder, const char *name);
/* Every .md file of folder/rules and below, by name. */
void finder_rules_of(struct finder *f, const char *folder, enum instruction_kind kind);

bool finder_is_below(struct str path, struct str folder); /* or the folder itself */
