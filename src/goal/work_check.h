/*
 * For tests: a workspace of their own under /tmp, with files, commands and git in it, and an
 * environment that knows nothing of this machine's settings.
 */
#pragma once

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "proc/proc.h"

static char work_top[200];  /* holds work_dir, home, bin, session */
static char work_dir[300];  /* the workspace */
static char work_path[400]; /* PATH=<top>/bin:/usr/local/bin:/usr/bin:/bin */
static char work_home[300];
static char work_quiet[] = "GIT_CONFIG_NOSYSTEM=1";
static char work_global[300]; /* a file of our own */
static char *const work_env[] = {work_path, work_home, work_quiet, work_global, NULL};

/* Good until the fourth call after it. */
static inline const char *work_at(const char *name)
{
    static _Thread_local char paths[4][600];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", *name == '/' ? "" : work_dir, name);
    return path;
}

static inline void work_write_config(void)
{
    static const struct str text = STR_INIT("[user]\n\tname = u\n\temail = u@localhost\n"
                                            "[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n");
    char path[300];

    snprintf(path, sizeof(path), "%s/gitconfig", work_top);
    assert_int_equal(file_replace(path, text, 0644, NULL), 0);
}

static inline void work_make(void)
{
    char made[] = "/tmp/tenax-work-XXXXXX";
    char *real;

    assert_non_null(mkdtemp(made));
    real = path_real(made);
    snprintf(work_top, sizeof(work_top), "%s", real);
    mem_freep(&real);
    snprintf(work_dir, sizeof(work_dir), "%s/work", work_top);
    snprintf(work_path, sizeof(work_path), "PATH=%s/bin:/usr/local/bin:/usr/bin:/bin", work_top);
    snprintf(work_home, sizeof(work_home), "HOME=%s/home", work_top);
    snprintf(work_global, sizeof(work_global), "GIT_CONFIG_GLOBAL=%s/gitconfig", work_top);
    for (const char *names = "work\0home\0bin\0session\0"; *names; names += strlen(names) + 1) {
        char path[300];

        snprintf(path, sizeof(path), "%s/%s", work_top, names);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    work_write_config();
}

/* A file in the workspace, with the folders it needs; a mode of 0755 when it is a script. */
static inline void work_put(const char *name, const char *text)
{
    const char *path = work_at(name);
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    struct err err = {0};

    if (file_mkdirs(folder, 0755, &err) < 0 ||
        file_replace(path, str_of(text), strncmp(text, "#!", 2) ? 0644 : 0755, &err) < 0)
        fail_msg("%s", err.text);
}

/* "a b/c d": files that hold their own name. */
static inline void work_put_all(const char *names)
{
    struct str rest = str_of(names);
    struct str name;

    while (rest.len && str_cut(&rest, ' ', &name)) {
        char text[300];

        snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
        if (name.len)
            work_put(text, text);
    }
}

/* A shell command in the workspace that must succeed; its output is added. */
static inline void work_run(const char *command, struct buf *ret_out)
{
    const char *argv[] = {"/bin/sh", "-ec", command, NULL};
    struct proc_spec spec = {
        .argv = argv, .envp = (const char *const *)work_env, .dir = work_dir, .merge_stderr = true};
    struct proc_result r;
    struct err err = {0};

    if (proc_run(&spec, NULL, &r, &err) < 0)
        fail_msg("%s: %s", command, err.text);
    if (r.how != PROC_EXITED || r.code)
        fail_msg("%s: code %d: %s", command, r.code, buf_cstr(&r.out));
    if (ret_out)
        buf_add(ret_out, buf_str(&r.out));
    proc_result_release(&r);
}

static inline int work_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *where)
{
    (void)st;
    (void)where;
    if (type == FTW_DNR)
        chmod(path, 0700);
    return remove(path);
}

static inline void work_remove(void)
{
    assert_int_equal(nftw(work_top, work_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline int work_setup(void **state)
{
    (void)state;
    work_make();
    return 0;
}

static inline int work_teardown(void **state)
{
    (void)state;
    work_remove();
    proc_shutdown();
    return 0;
}
