/*
 * tool: helpers for all tools: results, flags, and path arguments.
 */
#include "agent/tool.h"

#include "agent/agent.h"

#include "base/arena.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"

void tool_result_release(struct tool_result *r)
{
    VEC_EACH(&r->images, image) {
        buf_release(&image->bytes);
    }
    vec_release(&r->images);
    buf_release(&r->text);
    buf_release(&r->data);
    buf_release(&r->follow);
    agent_command_free(r->command);
}

unsigned tool_flags(const struct tool_entry *e, const struct json *args)
{
    return e->flags | (e->more_flags && args ? e->more_flags(e, args) : 0);
}

char *tool_real_path(const struct tool_call *call, const char *path)
{
    return call->real ? mem_dup(call->real, strlen(call->real)) : workspace_real(path);
}

void tool_expand_path(struct workspace *w, const struct json *args, const char *key,
                      struct buf *ret)
{
    struct jw out;

    jw_init(&out, ret, 0);
    jw_object(&out);
    JSON_EACH(args, member) {
        jw_key_str(&out, json_key(member));
        if (str_is(json_key(member), key) && json_is(member, JSON_STRING)) {
            CLEANUP(mem_freep) char *full = workspace_resolve(w, json_str(member));

            jw_cstr(&out, full);
        } else {
            jw_json(&out, member);
        }
    }
    jw_object_end(&out);
}
