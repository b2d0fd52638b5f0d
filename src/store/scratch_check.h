/*
 * For tests: a folder of their own, and files in it made from a line of words.
 *
 *   "file NAME MODE TEXT;link NAME TARGET;dir NAME;rm NAME"
 */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

static char scratch_path[256];

static inline const char *scratch_dir(void)
{
    return scratch_path;
}

/* Good until the fourth call after it. */
static inline const char *scratch(const char *name)
{
    static _Thread_local char paths[4][512];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", scratch_path, name);
    return path;
}

static inline void scratch_make(void)
{
    char made[] = "/tmp/tenax-store-XXXXXX";
    char *real;

    assert_non_null(mkdtemp(made));
    real = path_real(made);
    snprintf(scratch_path, sizeof(scratch_path), "%s", real);
    mem_freep(&real);
}

/* As tools do it: what a link points to, with the mode it has. */
static inline void scratch_write(const char *name, const char *text)
{
    char *path = path_real(scratch(name));
    struct err err = {0};
    struct stat st;

    if (stat(path, &st) < 0)
        st.st_mode = 0644;
    if (file_replace(path, str_of(text), st.st_mode & 07777, &err) < 0)
        fail_msg("%s", err.text);
    mem_freep(&path);
}

static inline void scratch_one(struct str line)
{
    struct str verb;
    struct str name;
    char at[256];

    if (!str_cut(&line, ' ', &verb) || !str_cut(&line, ' ', &name))
        return;
    snprintf(at, sizeof(at), "%.*s", STR_ARG(name));
    if (str_is(verb, "dir")) {
        assert_int_equal(mkdir(scratch(at), 0755), 0);
    } else if (str_is(verb, "rm")) {
        assert_int_equal(remove(scratch(at)), 0);
    } else if (str_is(verb, "link")) {
        char target[256];

        snprintf(target, sizeof(target), "%.*s", STR_ARG(line));
        assert_int_equal(symlink(target, scratch(at)), 0);
    } else {
        struct str mode;
        struct err err = {0};

        assert_true(str_is(verb, "file") && str_cut(&line, ' ', &mode));
        if (file_replace(scratch(at), line, (mode_t)strtoul(mode.ptr, NULL, 8), &err) < 0)
            fail_msg("%s", err.text);
    }
}

static inline void scratch_setup(const char *lines)
{
    struct str rest = str_of(lines);
    struct str line;

    while (rest.len && str_cut(&rest, ';', &line))
        scratch_one(line);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static inline void scratch_remove(void)
{
    assert_int_equal(nftw(scratch_path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
