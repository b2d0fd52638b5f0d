/*
 * team: the state of a session's team.
 */
#include "tasks/team/team.h"

#include "agent/identity.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "sync/thread.h"
#include "tasks/team/entries.h"

#define UNVERIFIED_MAX 3 /* items the main agent completes before it is reminded to verify */

struct team {
    struct team_spec spec;
    struct gate gate; /* of what follows */
    unsigned completed;
    bool has_verified;
};

struct team *team_new(const struct team_spec *spec)
{
    struct team *t = mem_zalloc(sizeof(*t));

    t->spec = *spec;
    gate_init(&t->gate);
    return t;
}

void team_free(struct team *t)
{
    if (!t)
        return;
    gate_release(&t->gate);
    mem_freep(&t);
}

const struct tool_entry *const *team_tools(void)
{
    static const struct tool_entry *const table[] = {
#define X(name) &tool_##name##_entry,
        TEAM_TOOLS(X)
#undef X
            NULL,
    };

    return table;
}

const char *team_home(const struct team *t)
{
    return conf_home(t->spec.conf);
}

void team_list_id(struct team *t, struct buf *ret)
{
    static const char *const first[] = {"TENAX_TASK_LIST", "CLAUDE_CODE_TASK_LIST_ID",
                                        "TENAX_TEAM"};

    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        const char *set = conf_env(t->spec.conf, first[i]);

        if (set && *set) {
            buf_adds(ret, set);
            return;
        }
    }
    buf_adds(ret, t->spec.session);
}

struct str team_actor(struct team *t, const struct identity *who, struct arena *arena)
{
    (void)t;
    (void)who;
    (void)arena;
    return (struct str){0};
}

struct str team_name(struct team *t, struct arena *arena)
{
    (void)t;
    (void)arena;
    return (struct str){0};
}

enum team_found team_find(struct team *t, struct str member)
{
    (void)t;
    (void)member;
    return TEAM_UNKNOWN;
}

void team_explain_missing(struct team *t, struct str member, struct buf *ret)
{
    (void)t;
    (void)member;
    buf_adds(ret, "there is no team. Create one with TeamCreate");
}

bool team_completed(struct team *t, struct str subject)
{
    bool reminds;

    gate_take(&t->gate);
    t->has_verified = t->has_verified || str_find_nocase(subject, STR("verif")) < subject.len;
    reminds = ++t->completed == UNVERIFIED_MAX && !t->has_verified;
    gate_give(&t->gate);
    return reminds;
}

void team_board_changed(struct team *t)
{
    if (t->spec.board_changed)
        t->spec.board_changed(t->spec.arg);
}

int team_assign(struct team *t, const struct work_item *item, struct str by, struct cancel *cancel,
                struct err *err)
{
    (void)t;
    (void)item;
    (void)by;
    (void)cancel;
    (void)err;
    return 0;
}
