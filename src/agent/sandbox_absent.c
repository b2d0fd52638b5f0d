/*
 * sandbox_absent: files that decide what programs run, and that are missing when a job begins. No
 * kernel keeps a name from being made in a folder that is written, so what a job has made of them
 * is given another name behind it. Any thread.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/sandbox_state.h"
#include "agent/workspace.h"
#include "base/buf.h"
#include "base/file.h"

#define ABSENT_MAX_FILE ((size_t)1 << 20)
#define ABSENT_NAME ".blocked"

static void add_absent(struct sandbox_job *j, const char *dir, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);
    struct stat st;

    if (lstat(path, &st) < 0 && sandbox_path_is(&j->paths, path) == PATH_WRITABLE)
        strv_adds(&j->absent, path);
}

void sandbox_absent_find(struct sandbox_job *j)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    const char *home = j->sandbox->home;

    workspace_dirs(j->sandbox->workspace, &dirs);
    for (size_t i = 0; i < dirs.len; i++)
        add_absent(j, dirs.ptr[i], ".mcp.json");
    for (size_t i = 0; sandbox_startup_files[i]; i++)
        add_absent(j, home, sandbox_startup_files[i]);
}

/* One that a tool of ours has written meanwhile, by somebody's leave, is no job's. */
static bool is_ours(const struct sandbox *s, const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ABSENT_MAX_FILE);
    struct seen_file seen;

    return workspace_seen(s->workspace, path, &seen) &&
           file_slurp(path, ABSENT_MAX_FILE, &text, /*err=*/NULL) == 0 &&
           seen.hash == seen_hash(buf_str(&text));
}

void sandbox_absent_move(struct sandbox_job *j, struct strv *ret)
{
    for (size_t i = 0; i < j->absent.len; i++) {
        CLEANUP(buf_release) struct buf to = BUF_INIT(BUF_NO_LIMIT);
        const char *path = j->absent.ptr[i];
        struct stat st;

        if (lstat(path, &st) < 0 || S_ISDIR(st.st_mode) || is_ours(j->sandbox, path))
            continue;
        buf_addf(&to, "%s" ABSENT_NAME, path);
        if (rename(path, buf_cstr(&to)) == 0 && ret)
            strv_addf(ret, "write to %s (what was written is now %s)", path, buf_cstr(&to));
    }
}
