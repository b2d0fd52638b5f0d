/*
 * goal_outside: the goal engine with a host that receives nothing and has no agent. Main thread.
 */
#include "cmd/goal_outside.h"

#include <unistd.h>

#include "agent/event.h"
#include "base/buf.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "goal/goal.h"
#include "store/transcript/load.h"

static void out_emit(void *arg, struct event *e)
{
    (void)arg;
    event_unref(e);
}

static int out_wake(void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    return 0;
}

static void out_text(void *arg, struct str text)
{
    (void)arg;
    (void)text;
}

static bool out_armed(void *arg, struct str objective)
{
    (void)arg;
    (void)objective;
    return true;
}

static size_t out_background(void *arg, struct buf *names, int64_t *ret_last_ms)
{
    (void)arg;
    (void)names;
    *ret_last_ms = 0;
    return 0;
}

static bool out_trusted(void *arg)
{
    (void)arg;
    return true;
}

/* The goal's terms as the transcript has them. */
static void read_terms(struct goal_outside *o, const struct goal_outside_spec *spec)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct load *load = NULL;
    const struct load_facts *facts;
    struct str line;

    buf_init(&o->terms, BUF_NO_LIMIT);
    buf_init(&o->used, BUF_NO_LIMIT);
    buf_addf(&path, "%s.jsonl", spec->folder);
    if (!spec->holds || load_open(buf_cstr(&path), &(struct load_spec){0}, spec->cancel, &load,
                                  /*err=*/NULL) < 0)
        return;
    facts = load_facts(load);
    if (facts->goal_terms.len &&
        load_read(load, facts->goal_terms.offset, facts->goal_terms.len, &line, /*err=*/NULL) == 0)
        buf_add(&o->terms, line);
    if (facts->goal_used.len &&
        load_read(load, facts->goal_used.offset, facts->goal_used.len, &line, /*err=*/NULL) == 0)
        buf_add(&o->used, line);
    load_free(load);
}

int goal_outside_open(struct goal_outside *o, const struct goal_outside_spec *spec, struct err *err)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct goal_spec goal = {
        .host =
            {
                .emit = out_emit,
                .wake = out_wake,
                .arm = out_text,
                .is_armed = out_armed,
                .background = out_background,
                .title = out_text,
                .is_trusted = out_trusted,
            },
        .session = spec->session,
        .folder = spec->folder,
        .home = conf_home(spec->conf),
        .dir = spec->dir,
        .environ = environ,
        .conf = spec->conf,
        .is_kept = true,
        .is_outside = true,
        .cancel = spec->cancel,
    };

    if (spec->runs) {
        if (place_make(&o->place, spec->conf, spec->dir, /*insists=*/false, &notes, err) < 0)
            return -1;
        for (size_t i = 0; i < notes.len; i++)
            say("%s", notes.ptr[i]);
        strv_clear(&notes);
    }
    goal.sandbox = o->place.sandbox;
    read_terms(o, spec);
    goal.terms = buf_str(&o->terms);
    goal.used = buf_str(&o->used);
    o->goal = goal_new(&goal, &notes);
    for (size_t i = 0; i < notes.len; i++)
        say("%s", notes.ptr[i]);
    return 0;
}

void goal_outside_close(struct goal_outside *o)
{
    goal_free(o->goal);
    buf_release(&o->terms);
    buf_release(&o->used);
    place_release(&o->place);
}
