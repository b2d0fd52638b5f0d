/*
 * Glob: which files there are, newest first.
 *
 * The leading parts of a pattern that are plain names become the folder the walk starts in, so that
 * "src/lib/x?.c" lists one folder, and naming an ignored folder looks into it. Runs on a tool
 * thread and the walk's threads; sees only its call.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/tool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "guard/denied.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/thread.h"
#include "tools/entries.h"
#include "tools/search/glob_match.h"
#include "tools/search/search_root.h"
#include "tools/search/walk.h"

#define GLOB_SHOWN 100
#define GLOB_MAX_FOUND 500000
#define GLOB_TIMEOUT_MS 60000

static void tool_glob_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret);
static int tool_glob_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_glob_entry = {
    .name = "Glob",
    .text = tool_glob_md,
    .schema = tool_glob_schema,
    .flags = TOOL_READ_ONLY | TOOL_CONCURRENT,
    .about = tool_glob_about,
    .run = tool_glob_run,
};

struct match {
    char *path; /* relative to the root */
    int64_t mtime_ns;
};

struct glob_finding {
    struct glob_match *glob;
    struct lock lock; /* guards what follows */
    VEC(struct match) matches;
    bool full;
};

/* --- patterns -------------------------------------------------------------------------------- */

static bool is_plain(struct str part)
{
    for (size_t i = 0; i < part.len; i++) {
        if (str_chr(STR("*?[{\\"), part.ptr[i]) < 5)
            return false;
    }
    return true;
}

/* Splits "src/lib/x?.c" into the folder "src/lib/" and the rest, which keeps the slash in front so
 * that it is about that folder. A pattern without slashes has no folder. */
static void pattern_split(struct str pattern, struct str *ret_folder, struct str *ret_rest)
{
    size_t end = 0; /* of the folder, its slash included */

    for (;;) {
        size_t len = str_chr(str_from(pattern, end), '/');

        if (end + len >= pattern.len || !is_plain(str_make(pattern.ptr + end, len)))
            break;
        end += len + 1;
    }
    *ret_folder = str_first(pattern, end);
    *ret_rest = end ? str_from(pattern, end - 1) : pattern;
    if (str_is(*ret_rest, "/")) /* "src/": everything in it */
        *ret_rest = STR("/**");
}

/* Where the walk starts, and what it looks for. */
static char *glob_folder(struct workspace *w, const struct json *args, struct str *ret_rest)
{
    struct str path = json_get_str(args, "path");
    CLEANUP(mem_freep) char *base = path.len ? workspace_resolve(w, path) : workspace_cwd(w);
    CLEANUP(mem_freep) char *name = NULL;
    CLEANUP(mem_freep) char *joined = NULL;
    struct str folder;

    pattern_split(json_get_str(args, "pattern"), &folder, ret_rest);
    if (!folder.len)
        return TAKE_PTR(base);
    name = mem_dup(folder.ptr, folder.len);
    joined = path_join(base, name);
    return workspace_resolve(w, str_of(joined));
}

static void tool_glob_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret)
{
    struct str rest;
    CLEANUP(mem_freep) char *folder = glob_folder(w, args, &rest);

    (void)e;
    workspace_about_path(w, str_of(folder), /*writes=*/false, arena, ret);
}

/* --- finding --------------------------------------------------------------------------------- */

/* walk_fn */
static bool finding_file(int root_fd, const char *path, unsigned worker, void *arg)
{
    struct glob_finding *f = arg;
    struct stat st;
    bool goes_on;

    (void)worker;
    if (!glob_match_fits(f->glob, str_of(path)) ||
        fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    lock_take(&f->lock);
    goes_on = f->matches.len < GLOB_MAX_FOUND;
    if (goes_on)
        vec_push(&f->matches,
                 ((struct match){mem_dup(path, strlen(path)),
                                 (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec}));
    f->full = !goes_on;
    lock_give(&f->lock);
    return goes_on;
}

static int newest_first(const void *a, const void *b)
{
    const struct match *x = a, *y = b;

    if (x->mtime_ns != y->mtime_ns)
        return x->mtime_ns > y->mtime_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void finding_release(struct glob_finding *f)
{
    VEC_EACH(&f->matches, m) {
        free(m->path);
    }
    vec_release(&f->matches);
    glob_match_free(f->glob);
    lock_release(&f->lock);
}

static void finding_write(const struct glob_finding *f, struct str prefix, int64_t took_ms,
                          struct tool_result *ret)
{
    size_t shown = f->matches.len < GLOB_SHOWN ? f->matches.len : GLOB_SHOWN;
    struct jw out;

    jw_init(&out, &ret->data, 0);
    jw_object(&out);
    jw_ki64(&out, "durationMs", took_ms);
    jw_ki64(&out, "numFiles", (int64_t)f->matches.len);
    jw_key(&out, "filenames");
    jw_array(&out);
    for (size_t i = 0; i < shown; i++) {
        size_t at = ret->text.len;

        buf_addf(&ret->text, "%.*s%s\n", STR_ARG(prefix), f->matches.ptr[i].path);
        jw_str(&out, str_make(ret->text.ptr + at, ret->text.len - at - 1));
    }
    jw_array_end(&out);
    jw_kbool(&out, "truncated", shown < f->matches.len || f->full);
    jw_object_end(&out);
    if (shown < f->matches.len)
        buf_addf(&ret->text, "(%zu%s more, older; narrow the pattern.)\n", f->matches.len - shown,
                 f->full ? " or" : "");
}

static int tool_glob_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct str rest;
    CLEANUP(mem_freep) char *folder = glob_folder(call->workspace, call->args, &rest);
    CLEANUP(search_root_release) struct search_root root = {0};
    CLEANUP(buf_release) struct buf prefix = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(finding_release) struct glob_finding f = {.lock = LOCK_INIT};
    CLEANUP(walk_report_release) struct walk_report report = {0};
    CLEANUP(denied_freep)
    struct denied *denied = call->permit ? denied_new(call->permit, DENIED_READ) : NULL;
    int64_t start = clock_mono_ms();
    struct walk walk = {
        .all = call->sees_all,
        .hidden = search_names_hidden(rest),
        .git = search_respects_git(call),
        .denied = denied,
        .timeout_ms = GLOB_TIMEOUT_MS,
        .cancel = call->cancel,
        .fn = finding_file,
        .arg = &f,
    };

    if (search_root(call, str_of(folder), /*files=*/false, &root, err) < 0)
        return -1;
    if (glob_match_parse(rest, &f.glob, err) < 0)
        return err_prefix(err, "the pattern is invalid");
    walk.root = root.real;
    if (walk_run(&walk, &report, err) < 0)
        return -1;
    if (f.matches.len)
        qsort(f.matches.ptr, f.matches.len, sizeof(*f.matches.ptr), newest_first);
    search_prefix(call, root.path, &prefix);
    finding_write(&f, buf_str(&prefix), clock_mono_ms() - start, ret);
    if (!f.matches.len)
        buf_addf(&ret->text, "No file matches %.*s in %s.\n",
                 STR_ARG(json_get_str(call->args, "pattern")), root.path);
    search_explain(&report, &ret->text);
    return 0;
}
