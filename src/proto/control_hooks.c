/*
 * control_hooks: the hooks of a session, for a client that shows them. The thread of the client's
 * loop.
 */
#include "proto/control_hooks.h"

#include "base/buf.h"
#include "base/secret.h"
#include "hooks/point.h"
#include "hooks/registry.h"
#include "hooks/settings.h"
#include "host/host.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"

#define MAX_SHOWN ((size_t)64 << 10)

/* How many hooks each event has. */
struct counts {
    int64_t of[HOOK_EVENT_COUNT], managed;
};

static void write_text(struct jw *w, struct str text)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(MAX_SHOWN);

    buf_add(&shown, str_clip(text, MAX_SHOWN / 2));
    secret_scrub(&shown);
    jw_kstr(w, "displayText", buf_str(&shown));
    jw_kstr(w, "commandText", buf_str(&shown));
    jw_kcstr(w, "contentLabel", "Hook");
}

static void write_row(struct jw *w, const struct settings_row *row)
{
    jw_object(w);
    jw_kstr(w, "event", row->event);
    jw_kstr(w, "matcher", row->matcher);
    jw_kcstr(w, "source", row->is_managed ? "policySettings" : "settings");
    jw_kstr(w, "sourceLabel", row->origin);
    jw_kstr(w, "type", row->type);
    write_text(w, row->what);
    if (row->why_not.len) {
        jw_kbool(w, "disabled", true);
        jw_kstr(w, "disabled_reason", row->why_not);
    }
    jw_object_end(w);
}

static void write_settings(struct jw *w, const struct settings_rows *rows, struct counts *ret)
{
    VEC_EACH(&rows->list, row) {
        enum hook_event event;

        if (!hook_event_parse(row->event, &event))
            continue;
        ret->of[event]++;
        ret->managed += row->is_managed;
        write_row(w, row);
    }
}

/* Hooks registered while the session runs: the goal, skills. */
static void write_session(struct jw *w, const struct hook_set *set, struct counts *ret)
{
    VEC_EACH(&set->entries, e) {
        if (e->source != HOOK_SESSION)
            continue;
        VEC_EACH(&e->handlers, h) {
            ret->of[e->event]++;
            jw_object(w);
            jw_kcstr(w, "event", hook_event_name(e->event));
            jw_kcstr(w, "matcher", e->matcher);
            jw_kcstr(w, "source", "sessionHook");
            jw_kcstr(w, "sourceLabel", e->skill_root ? e->skill_root : "this session");
            jw_kcstr(w, "type", handler_type_name(hook_handler_spec(*h)->type));
            write_text(w, hook_handler_title(*h));
            jw_object_end(w);
        }
    }
}

/* counts NULL: all events; otherwise those that have a hook, and how many. */
static void write_events(struct jw *w, const struct counts *counts)
{
    jw_array(w);
    for (int i = 0; i < HOOK_EVENT_COUNT; i++) {
        enum hook_event event = (enum hook_event)i;

        if (counts && !counts->of[i])
            continue;
        jw_object(w);
        jw_kcstr(w, "name", hook_event_name(event));
        jw_kcstr(w, "summary", "");
        jw_kbool(w, "supportsMatcher", point_of(event)->flags & POINT_MATCHES);
        if (counts)
            jw_ki64(w, "hookCount", counts->of[i]);
        jw_object_end(w);
    }
    jw_array_end(w);
}

int control_get_hooks_listing(struct control_call *call, struct jw *w, struct err *err)
{
    struct host *h = call->session->host;
    CLEANUP(settings_rows_release) struct settings_rows rows = {0};
    CLEANUP(hook_set_unrefp) const struct hook_set *set = hook_registry_get(host_hooks(h));
    enum hook_limit limit = settings_limit(host_conf(h));
    struct counts counts = {0};

    (void)err;
    settings_list(host_conf(h), &rows);
    jw_key(w, "hooks");
    jw_array(w);
    write_settings(w, &rows, &counts);
    write_session(w, set, &counts);
    jw_array_end(w);
    jw_key(w, "events");
    write_events(w, &counts);
    jw_key(w, "eventCatalog");
    write_events(w, /*counts=*/NULL);
    jw_key(w, "policy");
    jw_object(w);
    jw_kbool(w, "disabledByPolicy", false);
    jw_kbool(w, "managedOnly", limit == HOOK_LIMIT_MANAGED);
    jw_kbool(w, "pluginOnly", false);
    jw_kbool(w, "allDisabled", limit == HOOK_LIMIT_DISABLED);
    jw_ki64(w, "policyHookCount", counts.managed);
    jw_object_end(w);
    return 0;
}
