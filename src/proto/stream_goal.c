/*
 * stream_goal: lines about goals and slash commands. Pure.
 */
#include "agent/event.h"
#include "base/arena.h"
#include "json/json.h"
#include "proto/stream_line.h"
#include "proto/stream_parts.h"

/* The members of the engine's data, after our own. */
static void render_payload(struct jw *w, struct str payload)
{
    struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    if (json_parse(&arena, payload, &v, NULL, NULL) == 0 && json_is(v, JSON_OBJECT)) {
        JSON_EACH(v, member) {
            if (str_is_word_of(json_key(member), "type subtype uuid session_id"))
                continue;
            jw_key_str(w, json_key(member));
            jw_json(w, member);
        }
    }
    arena_release(&arena);
}

void stream_goal(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", NULL);

    jw_kstr(w, "subtype", e->name);
    render_payload(w, e->json);
    line_end(&l);
}

void stream_active_goal(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "active_goal", NULL);

    jw_kraw(w, "value", e->json.len ? e->json : STR("null"));
    line_end(&l);
}

/* What a command answers is shown as if the assistant had said it. */
void stream_command(const struct event *e, struct buf *out)
{
    struct stream_line l;
    struct jw *w = line_begin(&l, out, e, 0, "system", "local_command_output");

    jw_kstr(w, "content", e->text);
    line_end(&l);
}
