/*
 * The built-in engine: a walk whose threads search each file as they come to it.
 */
#include "tools/search/grep_search.h"

#include <fcntl.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pinned.h"
#include "base/strv.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "tools/search/grep_results.h"
#include "tools/search/ignore.h"

struct engine {
    const struct grep_search *search;
    struct grep_results *results;
    struct grep_searcher *searchers[WALK_MAX_THREADS]; /* by worker, made on first use */
    struct lock lock;                                  /* guards pattern_err */
    struct err pattern_err;
};

/* walk_fn */
static bool engine_file(int root_fd, const char *path, unsigned worker, void *arg)
{
    struct engine *e = arg;
    struct grep_found found;
    struct err err = {0};
    bool is_pattern = false;
    int rc;

    if (!grep_results_wants(e->results, path))
        return true;
    if (!e->searchers[worker])
        e->searchers[worker] = grep_searcher_new(&e->search->job);
    rc = grep_searcher_file(e->searchers[worker], root_fd, path, &found, &is_pattern, &err);
    if (rc > 0) {
        grep_results_add(e->results, &found);
    } else if (rc < 0 && is_pattern) {
        lock_take(&e->lock);
        if (!e->pattern_err.code) {
            e->pattern_err = err;
            (void)err_prefix(&e->pattern_err, "in %s", path);
        }
        lock_give(&e->lock);
        return false;
    } else if (rc < 0) {
        grep_results_fault(e->results, path, err.text);
    }
    return true;
}

static struct ignore_rules *rules_of(const struct strv *globs, struct str type_globs)
{
    struct ignore_rules *rules;
    struct str glob;

    if (!(globs && globs->len) && !type_globs.len)
        return NULL;
    rules = ignore_rules_new();
    for (size_t i = 0; globs && i < globs->len; i++)
        ignore_rules_add(rules, str_of(globs->ptr[i]));
    while (type_globs.len && str_cut(&type_globs, ' ', &glob))
        ignore_rules_add(rules, glob);
    return rules;
}

static int engine_folder(struct engine *e, struct walk_report *ret, struct err *err)
{
    const struct grep_search *s = e->search;
    struct ignore_rules *globs = rules_of(s->globs, str_of(""));
    struct ignore_rules *types = rules_of(NULL, s->type_globs);
    struct walk walk = {
        .root = s->root,
        .all = s->all,
        .hidden = s->hidden,
        .git = s->git,
        .globs = globs,
        .types = types,
        .denied = s->denied,
        .timeout_ms = s->timeout_ms,
        .cancel = s->cancel,
        .fn = engine_file,
        .arg = e,
    };
    int rc = walk_run(&walk, ret, err);

    ignore_rules_free(globs);
    ignore_rules_free(types);
    return rc;
}

static int engine_one_file(struct engine *e, struct walk_report *ret, struct err *err)
{
    CLEANUP(fd_closep) int fd = pinned_folder(e->search->root, /*makes=*/false);

    if (fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", e->search->root);
    (void)engine_file(fd, path_base(e->search->root), 0, e);
    *ret = (struct walk_report){0};
    return cancel_check(e->search->cancel, err);
}

int grep_search_built_in(const struct grep_search *s, struct grep_results *results,
                         struct walk_report *ret, struct err *err)
{
    struct engine e = {.search = s, .results = results, .lock = LOCK_INIT};
    struct walk_report report;
    int rc = s->root_is_file ? engine_one_file(&e, &report, err) : engine_folder(&e, &report, err);

    for (size_t i = 0; i < WALK_MAX_THREADS; i++)
        grep_searcher_free(e.searchers[i]);
    lock_release(&e.lock);
    if (rc < 0)
        return -1;
    if (e.pattern_err.code) {
        walk_report_release(&report);
        return err_set(err, e.pattern_err.code, "%s", e.pattern_err.text);
    }
    *ret = report;
    return 0;
}
