/*
 * The search for instruction files; for instructions.c only.
 *
 * Every file, found or imported, passes through finder_add(), which checks whether it may be read,
 * whether it is text, and whether there is room. Rejected files are reported in the notices of the
 * list.
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
    const struct instructions *known; /* found before; or NULL */
    char *checkout;                   /* the folder with .git, or NULL */
    struct strv allowed;              /* real paths of the folders that project files may be in */
    VEC(struct finder_folder) rule_folders;
    size_t rule_entries;
    bool is_full; /* the total limit was reached and reported */
};

/* A file to be added. */
struct candidate {
    enum instruction_kind kind;
    const char *path;
    const char *importer; /* or NULL */
    unsigned depth;       /* of imports */
    bool is_rule;
    bool is_due;   /* a rule whose paths have matched */
    bool is_above; /* above the checkout: only files of our own and root's */
};

/* Set spec, cancel, found and known first. */
void finder_init(struct finder *f);
void finder_release(struct finder *f);

/* Adds a file and its imports. False if the file does not exist. */
bool finder_add(struct finder *f, const struct candidate *c);
/* The same for folder/name; folder may be NULL. */
bool finder_add_in(struct finder *f, struct candidate c, const char *folder, const char *name);
/* Adds every .md file of folder/rules and below, sorted by name. */
void finder_rules_of(struct finder *f, const char *folder, enum instruction_kind kind);

bool finder_is_below(struct str path, struct str folder); /* or the folder itself */
