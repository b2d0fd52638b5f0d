/*
 * TaskCreate, TaskGet, TaskList and TaskUpdate: the board for a model. Hooks run with no lock held:
 * TaskCreated after the item was added, TaskCompleted before it is completed. Run on tool threads.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/tool.h"
#include "base/err.h"
#include "conf/conf.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/team/board.h"
#include "tasks/team/entries.h"
#include "tasks/team/team.h"

/* Opens the list that this call uses. */
static int board_of(struct tool_call *call, struct board *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf list = BUF_INIT(BUF_NO_LIMIT);

    if (!call->team)
        return err_set(err, ERR_UNSUPPORTED, "this session has no task list");
    team_list_id(call->team, &list);
    return board_init(ret, team_home(call->team), buf_str(&list), err);
}

static void write_id(struct jw *w, const char *key, int64_t id)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, id);
    jw_kcstr(w, key, text);
}

static void write_ids(struct jw *w, const char *key, const int64_t *ids, size_t len)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < len; i++) {
        char text[24];

        snprintf(text, sizeof(text), "%" PRId64, ids[i]);
        jw_cstr(w, text);
    }
    jw_array_end(w);
}

static void add_ids(struct buf *to, const char *before, const int64_t *ids, size_t len)
{
    for (size_t i = 0; i < len; i++)
        buf_addf(to, "%s#%" PRId64, i ? ", " : before, ids[i]);
}

/* Runs the hooks of an event about the item. 1 if one objects; its reason is in ret. */
static int ask_hooks(struct tool_call *call, const char *event, const struct work_item *item,
                     struct buf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf members = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str actor = team_actor(call->team, call->identity, &arena);
    struct jw w;

    if (!call->hook)
        return 0;
    jw_init(&w, &members, 0);
    jw_object(&w);
    write_id(&w, "task_id", item->id);
    jw_kstr(&w, "task_subject", item->subject);
    if (item->description.len)
        jw_kstr(&w, "task_description", item->description);
    if (actor.len && !str_is(actor, TEAM_LEAD)) {
        jw_kstr(&w, "teammate_name", actor);
        jw_kstr(&w, "team_name", team_name(call->team, &arena));
    }
    jw_object_end(&w);
    return call->hook(call, event, buf_str(&members), ret, err);
}

/* ---- TaskCreate ---- */

static int task_create(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;
    CLEANUP(buf_release) struct buf objection = BUF_INIT(TOOL_MAX_TEXT);
    const struct json *metadata = json_get(call->args, "metadata");
    struct work_item item = {
        .subject = json_get_str(call->args, "subject"),
        .description = json_get_str(call->args, "description"),
        .active_form = json_get_str(call->args, "activeForm"),
        .metadata = json_len(metadata) ? json_raw(metadata) : (struct str){0},
    };
    struct jw w;
    int objects;

    if (board_of(call, &b, err) < 0 || board_add(&b, &item, call->cancel, &item.id, err) < 0)
        return -1;
    objects = ask_hooks(call, "TaskCreated", &item, &objection, err);
    if (objects) {
        struct board_change gone = {.id = item.id,
                                    .status = (const enum item_status[]){ITEM_DELETED}};
        struct board_changed changed;
        struct err ignored = {0};

        if (board_change(&b, &gone, /*cancel=*/NULL, &changed, &ignored) < 0 && objects > 0)
            return err_set(err, ignored.code, "%s", ignored.text);
        return objects < 0 ? -1 : err_set(err, ERR_DENIED, "%s", buf_cstr(&objection));
    }
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_key(&w, "task");
    jw_object(&w);
    write_id(&w, "id", item.id);
    jw_kstr(&w, "subject", item.subject);
    jw_kstr(&w, "description", item.description);
    jw_object_end(&w);
    jw_object_end(&w);
    buf_addf(&ret->text, "Task #%" PRId64 " created successfully: %.*s", item.id,
             STR_ARG(item.subject));
    team_changed(call->team);
    return 0;
}

/* ---- TaskGet, TaskList ---- */

static void show_item(const struct work_item *i, struct tool_result *ret)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_key(&w, "task");
    jw_object(&w);
    write_id(&w, "id", i->id);
    jw_kstr(&w, "subject", i->subject);
    jw_kstr(&w, "description", i->description);
    jw_kcstr(&w, "status", item_status_name(i->status));
    write_ids(&w, "blocks", i->blocks.ptr, i->blocks.len);
    write_ids(&w, "blockedBy", i->blocked_by.ptr, i->blocked_by.len);
    jw_object_end(&w);
    jw_object_end(&w);
    buf_addf(&ret->text, "Task #%" PRId64 ": %.*s\nStatus: %s\n", i->id, STR_ARG(i->subject),
             item_status_name(i->status));
    if (i->owner.len)
        buf_addf(&ret->text, "Owner: %.*s\n", STR_ARG(i->owner));
    buf_addf(&ret->text, "Description: %.*s", STR_ARG(i->description));
    add_ids(&ret->text, "\nBlocked by: ", i->blocked_by.ptr, i->blocked_by.len);
    add_ids(&ret->text, "\nBlocks: ", i->blocks.ptr, i->blocks.len);
}

static int task_get(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;
    const struct work_item *i = NULL;
    int64_t id = 0;

    if (board_of(call, &b, err) < 0 || board_read(&b, err) < 0)
        return -1;
    if (board_parse_id(json_get(call->args, "taskId"), &id))
        i = board_find(&b, id);
    if (i) {
        show_item(i, ret);
        return 0;
    }
    buf_adds(&ret->data, "null");
    buf_adds(&ret->text, "Task not found");
    return 0;
}

/* "alice", or "alice (gone)". */
static struct str owner_shown(struct tool_call *call, struct str owner, struct arena *arena)
{
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);

    if (!owner.len || team_find(call->team, owner) != TEAM_GONE)
        return owner;
    buf_addf(&shown, "%.*s (gone)", STR_ARG(owner));
    return arena_str(arena, buf_str(&shown));
}

static int task_list(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct jw w;

    if (board_of(call, &b, err) < 0 || board_read(&b, err) < 0)
        return -1;
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_key(&w, "tasks");
    jw_array(&w);
    VEC_EACH(&b.items, i) {
        CLEANUP(buf_release) struct buf by = BUF_INIT(BUF_NO_LIMIT);
        struct str owner = owner_shown(call, i->owner, &arena);
        bool is_blocked = board_is_blocked(&b, i, &by);

        buf_addf(&ret->text, "%s#%" PRId64 " [%s] %.*s", ret->text.len ? "\n" : "", i->id,
                 item_status_name(i->status), STR_ARG(i->subject));
        if (owner.len)
            buf_addf(&ret->text, " (%.*s)", STR_ARG(owner));
        if (is_blocked)
            buf_addf(&ret->text, " [blocked by %s]", buf_cstr(&by));
        jw_object(&w);
        write_id(&w, "id", i->id);
        jw_kstr(&w, "subject", i->subject);
        jw_kcstr(&w, "status", item_status_name(i->status));
        if (owner.len)
            jw_kstr(&w, "owner", owner);
        jw_key(&w, "blockedBy");
        jw_array(&w);
        VEC_EACH(&i->blocked_by, id) {
            const struct work_item *other = board_find(&b, *id);
            char text[24];

            if (!other || other->status == ITEM_COMPLETED)
                continue;
            snprintf(text, sizeof(text), "%" PRId64, *id);
            jw_cstr(&w, text);
        }
        jw_array_end(&w);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    if (!b.items.len)
        buf_adds(&ret->text, "No tasks found");
    return 0;
}

/* ---- TaskUpdate ---- */

static const char *const field_names[] = {"subject", "description", "activeForm", "status",
                                          "owner",   "blocks",      "blockedBy",  "metadata"};

static void write_update(struct tool_call *call, const struct board_changed *done,
                         const char *error, struct tool_result *ret)
{
    struct str id = json_get_str(call->args, "taskId");
    bool is_first = true;
    struct jw w;

    if (str_starts(id, STR("#")))
        id = str_from(id, 1);
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kbool(&w, "success", !error);
    jw_kstr(&w, "taskId", id);
    jw_key(&w, "updatedFields");
    jw_array(&w);
    buf_addf(&ret->text, "Updated task #%.*s", STR_ARG(id));
    for (size_t i = 0; i < ARRAY_LEN(field_names); i++) {
        bool is_deletion = 1u << i == BOARD_STATUS && done->to == ITEM_DELETED;

        if (!(done->fields & 1u << i))
            continue;
        jw_cstr(&w, is_deletion ? "deleted" : field_names[i]);
        buf_addf(&ret->text, "%s%s", is_first ? " " : ", ",
                 is_deletion ? "deleted" : field_names[i]);
        is_first = false;
    }
    jw_array_end(&w);
    if (done->fields & BOARD_STATUS) {
        jw_key(&w, "statusChange");
        jw_object(&w);
        jw_kcstr(&w, "from", item_status_name(done->from));
        jw_kcstr(&w, "to", item_status_name(done->to));
        jw_object_end(&w);
    }
    if (error) {
        jw_kcstr(&w, "error", error);
        buf_clear(&ret->text);
        buf_adds(&ret->text, error);
    }
    jw_object_end(&w);
    ret->is_error = error != NULL;
}

/* Runs TaskCompleted hooks. -1: the call fails; 1: one objects, with the reason in ret. */
static int may_complete(struct tool_call *call, int64_t id, struct tool_result *ret,
                        struct err *err)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;
    CLEANUP(buf_release) struct buf objection = BUF_INIT(TOOL_MAX_TEXT);
    const struct work_item *item;
    int objects;

    if (board_of(call, &b, err) < 0 || board_read(&b, err) < 0)
        return -1;
    item = board_find(&b, id);
    if (!item || item->status == ITEM_COMPLETED)
        return 0;
    objects = ask_hooks(call, "TaskCompleted", item, &objection, err);
    if (objects > 0)
        write_update(call, &(struct board_changed){0}, buf_cstr(&objection), ret);
    return objects;
}

/* Adds advice for the model to the result. */
static void add_advice(struct tool_call *call, const struct board_changed *done, struct str actor,
                       struct str subject, struct tool_result *ret)
{
    if (!(done->fields & BOARD_STATUS) || done->to != ITEM_COMPLETED)
        return;
    if (actor.len && !str_is(actor, TEAM_LEAD))
        buf_adds(&ret->text, "\nFind the next one with TaskList.");
    else if (team_completed(call->team, subject))
        buf_adds(&ret->text, "\nThree tasks are completed, and none of them was to verify the "
                             "work. Verify it before you report that it is done.");
}

static int task_update(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str subject = json_get_str(call->args, "subject");
    struct str description = json_get_str(call->args, "description");
    struct str active_form = json_get_str(call->args, "activeForm");
    struct str owner = json_get_str(call->args, "owner");
    enum item_status status = ITEM_PENDING;
    struct board_change change = {
        .subject = subject.len ? &subject : NULL,
        .description = json_get(call->args, "description") ? &description : NULL,
        .active_form = json_get(call->args, "activeForm") ? &active_form : NULL,
        .owner = json_get(call->args, "owner") ? &owner : NULL,
        .add_blocks = json_get(call->args, "addBlocks"),
        .add_blocked_by = json_get(call->args, "addBlockedBy"),
        .metadata = json_get(call->args, "metadata"),
    };
    struct board_changed done = {0};
    const struct work_item *item;
    struct err why = {0};
    int objects = 0;

    if (board_of(call, &b, err) < 0)
        return -1;
    change.actor = team_actor(call->team, call->identity, &arena);
    if (item_status_parse(json_get_str(call->args, "status"), &status))
        change.status = &status;
    if (!board_parse_id(json_get(call->args, "taskId"), &change.id)) {
        write_update(call, &done, "Task not found", ret);
        return 0;
    }
    if (change.owner && owner.len && team_find(call->team, owner) != TEAM_ACTIVE) {
        CLEANUP(buf_release) struct buf error = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&error, "%.*s cannot own a task: ", STR_ARG(str_clip(owner, 64)));
        team_explain_missing(call->team, owner, &error);
        write_update(call, &done, buf_cstr(&error), ret);
        return 0;
    }
    if (change.status && status == ITEM_COMPLETED)
        objects = may_complete(call, change.id, ret, err);
    if (objects)
        return objects < 0 ? -1 : 0;
    if (board_change(&b, &change, call->cancel, &done, &why) < 0) {
        if (why.code == ERR_IO || why.code == ERR_CANCELLED) {
            *err = why;
            return -1;
        }
        write_update(call, &done, why.text, ret);
        return 0;
    }
    write_update(call, &done, /*error=*/NULL, ret);
    item = board_find(&b, change.id);
    add_advice(call, &done, change.actor, item ? item->subject : subject, ret);
    team_changed(call->team);
    if (item && done.fields & BOARD_OWNER && done.new_owner.len &&
        !str_eq(done.new_owner, change.actor))
        return team_assign(call->team, item, change.actor, call->cancel, err);
    return 0;
}

#define ROW(id, shown, run_fn, more_flags)                                                         \
    const struct tool_entry tool_##id##_entry = {                                                  \
        .name = shown,                                                                             \
        .text = tool_##id##_md,                                                                    \
        .schema = tool_##id##_schema,                                                              \
        .flags = TOOL_FREE | (more_flags),                                                         \
        .run = run_fn,                                                                             \
    }
ROW(task_create, "TaskCreate", task_create, 0);
ROW(task_get, "TaskGet", task_get, TOOL_READ_ONLY | TOOL_CONCURRENT);
ROW(task_list, "TaskList", task_list, TOOL_READ_ONLY | TOOL_CONCURRENT);
ROW(task_update, "TaskUpdate", task_update, 0);
