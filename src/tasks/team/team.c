/*
 * team: creating, finding and deleting the team that a session leads.
 */
#include <string.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/identity.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "guard/permit.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "tasks/team/board.h"
#include "tasks/team/entries.h"
#include "tasks/team/team_state.h"

#define UNVERIFIED_MAX 3 /* items the main agent completes before it is reminded to verify */
#define LOOK_MS 50       /* between two checks whether members have ended */

struct team *team_new(const struct team_spec *spec)
{
    struct team *t = mem_zalloc(sizeof(*t));

    t->spec = *spec;
    t->lead = (struct latch)LATCH_INIT;
    gate_init(&t->gate);
    return t;
}

void team_close(struct team *t)
{
    CLEANUP(board_release) struct board b = BOARD_INIT;
    CLEANUP(buf_release) struct buf list = BUF_INIT(BUF_NO_LIMIT);

    if (!t)
        return;
    if (t->spec.tasks)
        task_withdraw(t->spec.tasks, t);
    if (!t->mates.len)
        return;
    gate_take(&t->gate);
    VEC_EACH(&t->mates, m) {
        (*m)->state = MATE_GONE;
    }
    gate_wake(&t->gate);
    gate_give(&t->gate);
    team_list_id(t, &list);
    if (board_init(&b, team_home(t), buf_str(&list), /*err=*/NULL) < 0)
        return;
    VEC_EACH(&t->mates, m) {
        (void)board_give_back(&b, str_of((*m)->name), /*cancel=*/NULL, /*err=*/NULL);
    }
}

void team_free(struct team *t)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;

    if (!t)
        return;
    if (team_folder(t) && team_roster(t, &r, /*err=*/NULL) == 0)
        (void)roster_delete(&r, /*cancel=*/NULL, /*err=*/NULL);
    latch_give(&t->lead);
    VEC_EACH(&t->mates, m) {
        mate_free(*m);
    }
    vec_release(&t->mates);
    strv_release(&t->cut_off);
    arena_release(&t->arena);
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

bool team_is_enabled(const struct conf *conf)
{
    const char *off = conf_env(conf, "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS_DISABLED");

    return conf_get_bool(conf, "teams.enabled", true) && !(off && strcmp(off, "1") == 0);
}

/* ---- The task list ---- */

const char *team_home(const struct team *t)
{
    return conf_home(t->spec.conf);
}

void team_list_id(struct team *t, struct buf *ret)
{
    static const char *const first[] = {"TENAX_TASK_LIST", "CLAUDE_CODE_TASK_LIST_ID",
                                        "TENAX_TEAM"};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str team = team_name(t, &arena);

    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        const char *set = conf_env(t->spec.conf, first[i]);

        if (set && *set) {
            buf_adds(ret, set);
            return;
        }
    }
    buf_add(ret, team.len ? team : str_of(t->spec.session));
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

void team_changed(struct team *t)
{
    if (t->spec.changed)
        t->spec.changed(t->spec.arg);
}

/* ---- Members ---- */

const char *team_folder(struct team *t)
{
    const char *folder;

    gate_take(&t->gate);
    folder = t->is_over ? NULL : t->folder;
    gate_give(&t->gate);
    return folder;
}

int team_roster(struct team *t, struct roster *ret, struct err *err)
{
    const char *folder = team_folder(t);

    if (!folder)
        return err_set(err, ERR_NOT_FOUND, "there is no team: create one with TeamCreate");
    ret->folder = mem_dup(folder, strlen(folder));
    return roster_read(ret, err);
}

struct mate *team_mate(struct team *t, struct str name)
{
    struct mate *found = NULL;

    gate_take(&t->gate);
    VEC_EACH(&t->mates, m) { /* the newest match: others belong to earlier teams */
        if (!t->is_over && str_is(name, (*m)->name))
            found = *m;
    }
    gate_give(&t->gate);
    return found;
}

struct mate *team_mate_of(struct team *t, const char *agent)
{
    struct mate *found = NULL;

    gate_take(&t->gate);
    VEC_EACH(&t->mates, m) {
        if (strcmp((*m)->id, agent) == 0)
            found = *m;
    }
    gate_give(&t->gate);
    return found;
}

struct mate *team_mate_of_task(struct team *t, struct str id)
{
    struct mate *found = NULL;

    gate_take(&t->gate);
    VEC_EACH(&t->mates, m) {
        if (str_is(id, (*m)->task))
            found = *m;
    }
    gate_give(&t->gate);
    return found;
}

struct str team_actor(struct team *t, const struct identity *who, struct arena *arena)
{
    struct mate *m;

    if (!who || !team_folder(t))
        return (struct str){0};
    if (identity_is_main(who))
        return STR(TEAM_LEAD);
    m = team_mate_of(t, who->agent);
    return m ? arena_str(arena, str_of(m->name)) : (struct str){0};
}

struct str team_name(struct team *t, struct arena *arena)
{
    struct str name;

    gate_take(&t->gate);
    name = t->is_over || !t->name ? (struct str){0} : arena_str(arena, str_of(t->name));
    gate_give(&t->gate);
    return name;
}

enum team_found team_find(struct team *t, struct str member)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    const struct member *found;

    if (!team_folder(t))
        return TEAM_UNKNOWN;
    if (str_is(member, TEAM_LEAD))
        return TEAM_ACTIVE;
    if (team_roster(t, &r, /*err=*/NULL) < 0)
        return TEAM_UNKNOWN;
    found = roster_find(&r, member);
    if (!found)
        return TEAM_UNKNOWN;
    return found->is_active ? TEAM_ACTIVE : TEAM_GONE;
}

void team_explain_missing(struct team *t, struct str member, struct buf *ret)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    const struct member *found;

    if (team_roster(t, &r, /*err=*/NULL) < 0) {
        buf_adds(ret, "there is no team. Create one with TeamCreate");
        return;
    }
    found = roster_find(&r, member);
    buf_addf(ret, "%s. Members: " TEAM_LEAD,
             found && !found->is_active ? "it has left the team" : "the team has no such member");
    VEC_EACH(&r.members, m) {
        if (m->is_active)
            buf_addf(ret, ", %.*s", STR_ARG(m->name));
    }
}

const char *mate_state_name(enum mate_state s)
{
    static const char *const names[] = {"running", "idle", "failed", "stopping", "gone"};

    return names[s];
}

void team_each(struct team *t, void (*fn)(void *arg, const struct mate_row *row), void *arg)
{
    enum permit_mode lead = t->spec.permit ? permit_mode(t->spec.permit) : MODE_DEFAULT;

    for (size_t i = 0;; i++) {
        struct mate_row row = {0};
        bool is_there;

        gate_take(&t->gate);
        is_there = !t->is_over && i < t->mates.len;
        if (is_there) {
            const struct mate *m = t->mates.ptr[i];

            row = (struct mate_row){.name = m->name,
                                    .color = m->color,
                                    .agent = m->id,
                                    .task = m->task,
                                    .type = m->type,
                                    .model = m->model,
                                    .mode = m->mode ? m->mode : permit_mode_name(lead),
                                    .state = m->state,
                                    .tool_uses = m->tool_uses};
        }
        gate_give(&t->gate);
        if (!is_there)
            return;
        if (row.state != MATE_GONE)
            fn(arg, &row);
    }
}

bool team_is_working(struct team *t)
{
    bool works = false;

    gate_take(&t->gate);
    VEC_EACH(&t->mates, m) {
        works = works || (*m)->state == MATE_RUNNING || (*m)->state == MATE_STOPPING ||
                (*m)->is_telling;
    }
    gate_give(&t->gate);
    return works;
}

bool team_leads(struct team *t)
{
    return t->spec.spawner && team_folder(t);
}

/* ---- Creating and deleting ---- */

int team_create(struct team *t, struct str name, struct str description, struct cancel *cancel,
                struct buf *ret_json, struct err *err)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    CLEANUP(board_release) struct board b = BOARD_INIT;
    CLEANUP(buf_release) struct buf list = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf id = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(latch_give) struct latch lead = LATCH_INIT;
    struct jw w;

    if (!team_is_enabled(t->spec.conf))
        return err_set(err, ERR_UNSUPPORTED,
                       "teams are off: the user can turn them on with the setting teams.enabled");
    if (team_folder(t))
        return err_set(err, ERR_BUSY, "this session leads the team %s already: delete it first",
                       t->name);
    if (roster_create(&r, team_home(t), name, description, str_of(t->spec.session), cancel, &lead,
                      err) < 0)
        return -1;
    gate_take(&t->gate);
    if (!t->folder || t->is_over) {
        t->name = arena_cstr(&t->arena, r.name);
        t->folder = arena_cstr(&t->arena, str_of(r.folder));
        t->is_over = false;
        t->lead = lead;
        lead = (struct latch)LATCH_INIT;
    }
    gate_give(&t->gate);
    if (lead.fd >= 0) { /* another call was faster */
        (void)roster_delete(&r, /*cancel=*/NULL, /*err=*/NULL);
        return err_set(err, ERR_BUSY, "this session leads a team already");
    }
    team_list_id(t, &list);
    if (board_init(&b, team_home(t), buf_str(&list), err) < 0 || board_clear(&b, cancel, err) < 0)
        return -1;
    path = path_join(r.folder, "config.json");
    buf_addf(&id, TEAM_LEAD "@%.*s", STR_ARG(r.name));
    jw_init(&w, ret_json, 0);
    jw_object(&w);
    jw_kstr(&w, "team_name", r.name);
    jw_kcstr(&w, "team_file_path", path);
    jw_kstr(&w, "lead_agent_id", buf_str(&id));
    jw_object_end(&w);
    team_changed(t);
    return 0;
}

int team_ask_to_end(struct team *t, struct str name, struct str reason, struct cancel *cancel,
                    struct err *err)
{
    struct mate *m = team_mate(t, name);

    if (!m || mate_state_now(m) == MATE_GONE)
        return err_set(err, ERR_NOT_FOUND, "the team has no active member %.*s", STR_ARG(name));
    return mail_request_end(t, m, reason, cancel, err);
}

static void name_them(void *arg, const struct mate_row *row)
{
    struct buf *names = arg;

    buf_addf(names, "%s%s", names->len ? ", " : "", row->name);
}

static void ask_them(void *arg, const struct mate_row *row)
{
    if (row->state != MATE_STOPPING)
        (void)team_ask_to_end(arg, str_of(row->name), STR("The team is deleted."),
                              /*cancel=*/NULL, /*err=*/NULL);
}

/* While the lead waits for their ends, they are no news to it. */
static void team_end_quietly(struct team *t, bool on)
{
    gate_take(&t->gate);
    t->is_ending = on;
    gate_give(&t->gate);
}

int team_delete(struct team *t, int64_t wait_ms, struct cancel *cancel, struct buf *ret_json,
                struct err *err)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    CLEANUP(buf_release) struct buf left = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf message = BUF_INIT(BUF_NO_LIMIT);
    int64_t until = clock_mono_ms() + wait_ms;
    struct jw w;

    if (team_roster(t, &r, err) < 0)
        return -1;
    team_end_quietly(t, true);
    team_each(t, ask_them, t);
    for (;;) {
        buf_clear(&left);
        team_each(t, name_them, &left);
        if (!left.len || clock_mono_ms() >= until || cancel_is_set(cancel))
            break;
        gate_take(&t->gate); /* woken when a member leaves */
        gate_wait(&t->gate, clock_mono_ms() + LOOK_MS);
        gate_give(&t->gate);
    }
    team_end_quietly(t, false);
    if (cancel_is_set(cancel))
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (left.len)
        buf_addf(&message, "still active: %s. Nothing is removed", buf_cstr(&left));
    else if (roster_delete(&r, cancel, err) < 0)
        return -1;
    else
        buf_addf(&message, "The team %.*s is deleted; its task list is kept", STR_ARG(r.name));
    jw_init(&w, ret_json, 0);
    jw_object(&w);
    jw_kbool(&w, "success", !left.len);
    jw_kstr(&w, "message", buf_str(&message));
    jw_kstr(&w, "team_name", r.name);
    jw_object_end(&w);
    if (left.len)
        return 0;
    gate_take(&t->gate);
    t->is_over = true;
    gate_give(&t->gate);
    latch_give(&t->lead);
    team_changed(t);
    return 0;
}

void team_forsake(struct team *t)
{
    latch_give(&t->lead);
    gate_take(&t->gate);
    t->is_over = true;
    gate_give(&t->gate);
}

/* They are shown as what they are: stopped. */
static void restore_rows(struct team *t, struct roster *r, const struct strv *names)
{
    for (size_t i = 0; i < names->len && t->spec.tasks; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct member *m = roster_find(r, str_of(names->ptr[i]));
        char id[TASK_ID_MAX + 1];
        struct task_spec task = {.id = id,
                                 .kind = TASK_TEAMMATE,
                                 .is_background = true,
                                 .depth = 1,
                                 .type = m ? arena_cstr(&arena, m->type) : NULL,
                                 .name = names->ptr[i],
                                 .description = str_of(names->ptr[i])};

        task_make_id(t->spec.tasks, TASK_TEAMMATE, id);
        task_restore(t->spec.tasks, IDENTITY_MAIN, &task, TASK_STOPPED);
    }
}

bool team_was_cut_off(struct team *t, struct str name, struct roster *ret_roster,
                      const struct member **ret)
{
    bool is_one;

    gate_take(&t->gate);
    is_one = strv_has(&t->cut_off, name);
    gate_give(&t->gate);
    if (!is_one || team_roster(t, ret_roster, /*err=*/NULL) < 0)
        return false;
    *ret = roster_find(ret_roster, name);
    return *ret && !(*ret)->is_active && (*ret)->sidechain.len;
}

int team_adopt(struct team *t, struct cancel *cancel, struct err *err)
{
    CLEANUP(roster_release) struct roster r = ROSTER_INIT;
    CLEANUP(buf_release) struct buf gone = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf list = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(board_release) struct board b = BOARD_INIT;
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct latch lead = LATCH_INIT;
    int found = roster_adopt(&r, team_home(t), str_of(t->spec.session), cancel, &lead, err);

    if (found <= 0)
        return found;
    gate_take(&t->gate);
    t->folder = arena_cstr(&t->arena, str_of(r.folder));
    t->name = arena_cstr(&t->arena, r.name);
    t->lead = lead;
    gate_give(&t->gate);
    team_list_id(t, &list);
    if (board_init(&b, team_home(t), buf_str(&list), err) < 0)
        return -1;
    VEC_EACH(&r.members, m) {
        if (m->is_active)
            strv_add(&names, m->name);
    }
    for (size_t i = 0; i < names.len; i++) {
        struct str name = str_of(names.ptr[i]);

        if (board_give_back(&b, name, cancel, err) < 0 ||
            roster_set(&r, name, /*is_active=*/false, (struct str){0}, cancel, err) < 0)
            return -1;
        buf_addf(&gone, "%s%s", i ? ", " : "", names.ptr[i]);
    }
    gate_take(&t->gate);
    strv_add_all(&t->cut_off, &names);
    gate_give(&t->gate);
    restore_rows(t, &r, &names);
    if (gone.len) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&text,
                 "The session was interrupted. It leads the team %s still, but these members ended "
                 "with it: %s. Their tasks are free again. SendMessage resumes a member.",
                 t->name, buf_cstr(&gone));
        t->spec.tell_lead(t->spec.arg, buf_str(&text));
    }
    mail_pump_lead(t);
    return 1;
}
