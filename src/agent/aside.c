/*
 * Hooks that run in the background: notifications, instruction files that were read, new working
 * directories, changed files. Each event runs on a thread of the crew with its own copy of the
 * text, so that a slow hook delays neither the turn nor a question. Context that it adds for the
 * model is queued as a note. Called from any thread.
 */
#include "agent/agent_state.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "sync/crew.h"

#define ASIDE_MAX 64 /* in parallel; more are not run */

/* Events of one kind, run one after the other. */
struct aside {
    struct agent *agent;
    enum hook_event event;
    struct strv subjects, words;
};

static struct aside *aside_new(const struct agent *a, enum hook_event event)
{
    struct aside *s = mem_zalloc(sizeof(*s));

    s->agent = (struct agent *)a; /* only for functions that any thread may call */
    s->event = event;
    return s;
}

static void aside_add(struct aside *s, const char *subject, const struct buf *json)
{
    strv_adds(&s->subjects, subject);
    strv_add(&s->words, buf_str(json));
}

static void aside_free(struct aside *s)
{
    strv_release(&s->subjects);
    strv_release(&s->words);
    mem_freep(&s);
}

static void aside_run(void *arg)
{
    struct aside *s = arg;
    struct agent *a = s->agent;

    for (size_t i = 0; i < s->words.len && !cancel_is_set(a->aside_cancel); i++) {
        CLEANUP(hook_outcome_release) struct hook_outcome o = HOOK_OUTCOME_INIT;
        struct err err = {0};

        (void)agent_hook_run(a, s->event, str_of(s->subjects.ptr[i]), str_of(s->words.ptr[i]),
                             /*call=*/NULL, a->aside_cancel, &o, &err);
        if (o.context.len)
            agent_notify(a, INPUT_BY_HOOK, /*id=*/STR(""), buf_str(&o.context), /*wake=*/false);
    }
    aside_free(s);
    atomic_fetch_sub(&a->asides, 1);
    agent_wake(a); /* the thread that waits for the last one checks again */
}

/* Takes ownership. */
static void aside_start(struct aside *s)
{
    struct agent *a = s->agent;
    struct err err = {0};

    if (!s->words.len) {
        aside_free(s);
        return;
    }
    if (atomic_fetch_add(&a->asides, 1) < ASIDE_MAX) {
        if (crew_start(a->crew, "hook", aside_run, s, &err) == 0)
            return;
    } else {
        err_set(&err, ERR_BUSY, "%d still run", ASIDE_MAX);
    }
    atomic_fetch_sub(&a->asides, 1);
    agent_notice(a, LEVEL_WARNING, "%s hooks are not run: %s", hook_event_name(s->event), err.text);
    aside_free(s);
}

void agent_tell(const struct agent *a, const char *type, const char *title, struct str message)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct aside *s;
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_NOTIFICATION, str_of(type)))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_NOTIFICATION);
    jw_kstr(&w, "message", message);
    if (title)
        jw_kcstr(&w, "title", title);
    jw_kcstr(&w, "notification_type", type);
    jw_object_end(&w);
    s = aside_new(a, HOOK_NOTIFICATION);
    aside_add(s, type, &json);
    aside_start(s);
}

void agent_tell_folder(const struct agent *a, const char *folder, const char *source)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct aside *s;
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_DIRECTORY_ADDED, str_of(source)))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_DIRECTORY_ADDED);
    jw_kcstr(&w, "directory", folder);
    jw_kcstr(&w, "source", source);
    jw_object_end(&w);
    s = aside_new(a, HOOK_DIRECTORY_ADDED);
    aside_add(s, source, &json);
    aside_start(s);
}

void agent_tell_file(const struct agent *a, const char *path, const char *event)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct aside *s;
    struct jw w;

    if (!agent_hook_wanted(a, HOOK_FILE_CHANGED, str_of(path_base(path))))
        return;
    jw_init(&w, &json, 0);
    agent_hook_begin(a, &w, HOOK_FILE_CHANGED);
    jw_kcstr(&w, "file_path", path);
    jw_kcstr(&w, "event", event);
    jw_object_end(&w);
    s = aside_new(a, HOOK_FILE_CHANGED);
    aside_add(s, path_base(path), &json);
    aside_start(s);
}

static void aside_write_loaded(const struct agent *a, const struct agent_loaded *l, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    agent_hook_begin(a, &w, HOOK_INSTRUCTIONS_LOADED);
    jw_kcstr(&w, "file_path", l->path);
    jw_kcstr(&w, "memory_type", l->type);
    jw_kcstr(&w, "load_reason", l->reason);
    if (l->globs) {
        jw_key(&w, "globs");
        jw_array(&w);
        for (size_t i = 0; i < l->globs->len; i++)
            jw_cstr(&w, l->globs->ptr[i]);
        jw_array_end(&w);
    }
    if (l->trigger)
        jw_kcstr(&w, "trigger_file_path", l->trigger);
    if (l->parent)
        jw_kcstr(&w, "parent_file_path", l->parent);
    jw_object_end(&w);
}

void agent_tell_loaded(struct agent *a)
{
    struct aside *s = aside_new(a, HOOK_INSTRUCTIONS_LOADED);
    struct agent_loaded l;

    while (a->spec.loaded && a->spec.loaded(a->spec.news_arg, &l)) {
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

        if (!agent_hook_wanted(a, HOOK_INSTRUCTIONS_LOADED, str_of(l.reason)))
            continue;
        aside_write_loaded(a, &l, &json);
        aside_add(s, l.reason, &json);
    }
    aside_start(s);
}

void agent_await_asides(struct agent *a, int64_t ms)
{
    int64_t deadline = clock_mono_ms() + ms;

    while (atomic_load(&a->asides) > 0) {
        struct mail *m;

        if (mailbox_take(a->mail, a->spec.cancel, deadline, &m, /*err=*/NULL) < 0)
            return;
        agent_reap(a, m);
        mail_free(m);
    }
}
