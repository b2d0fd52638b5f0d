/*
 * roster: members in a JSON file. A member that has left stays in it as inactive, so that the items
 * it owned can still show its name. Any thread.
 */
#include "tasks/team/roster.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "json/jw.h"
#include "proc/tree.h"
#include "store/file_lock.h"

#define ROSTER_FILE "config.json"
#define ROSTER_LOCK ".lock"
#define LEAD_LOCK "lead.lock"
#define ROSTER_MAX_FILE ((size_t)8 << 20)
#define ROSTER_MAX_TEAM 32 /* characters of a team's name */
#define ROSTER_MAX_SAME 1000

static const struct {
    const char *key;
    size_t at;
} member_strings[] = {
    {"agentId", offsetof(struct member, agent_id)},
    {"name", offsetof(struct member, name)},
    {"agentType", offsetof(struct member, type)},
    {"model", offsetof(struct member, model)},
    {"color", offsetof(struct member, color)},
    {"prompt", offsetof(struct member, prompt)},
    {"cwd", offsetof(struct member, cwd)},
    {"worktreePath", offsetof(struct member, worktree)},
    {"sessionId", offsetof(struct member, session)},
    {"mode", offsetof(struct member, mode)},
    {"backendType", offsetof(struct member, backend)},
    {"tmuxPaneId", offsetof(struct member, pane)},
    {"sidechain", offsetof(struct member, sidechain)},
};

static struct str *member_string(struct member *m, size_t i)
{
    return (struct str *)((char *)m + member_strings[i].at);
}

void roster_release(struct roster *r)
{
    vec_release(&r->members);
    arena_release(&r->arena);
    mem_freep(&r->folder);
}

bool roster_name_is_fine(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!str_is_alnum(c) && (c != '-' || i == 0))
            return false;
        if (c >= 'A' && c <= 'Z')
            return false;
    }
    return name.len && name.len <= ROSTER_MAX_TEAM;
}

/* ---- The file ---- */

int roster_read(struct roster *r, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(r->folder, ROSTER_FILE);
    CLEANUP(buf_release) struct buf text = BUF_INIT(ROSTER_MAX_FILE);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *file;

    if (file_slurp(path, ROSTER_MAX_FILE, &text, err) < 0)
        return -1;
    if (json_parse(&arena, buf_str(&text), &file, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "%s", path);
    r->members.len = 0;
    arena_reset(&r->arena);
    r->name = arena_str(&r->arena, json_get_str(file, "name"));
    r->description = arena_str(&r->arena, json_get_str(file, "description"));
    r->created_ms = json_get_i64(file, "createdAt", 0);
    r->lead_session = arena_str(&r->arena, json_get_str(file, "leadSessionId"));
    r->lead_pid = json_get_i64(json_get(file, "leadProcess"), "pid", 0);
    r->lead_start = json_get_i64(json_get(file, "leadProcess"), "procStart", 0);
    r->socket = arena_str(&r->arena, json_get_str(json_get(file, "leadProcess"), "socket"));
    JSON_EACH(json_get(file, "members"), it) {
        struct member *m;

        if (r->members.len >= ROSTER_MAX_MEMBERS)
            break;
        m = vec_add(&r->members);
        *m = (struct member){
            .joined_ms = json_get_i64(it, "joinedAt", 0),
            .pane_pid = json_get_i64(it, "panePid", 0),
            .plan_required = json_get_bool(it, "planModeRequired", false),
            .is_active = json_get_bool(it, "isActive", false),
        };
        for (size_t i = 0; i < ARRAY_LEN(member_strings); i++)
            *member_string(m, i) = arena_str(&r->arena, json_get_str(it, member_strings[i].key));
    }
    return 0;
}

static int roster_write(struct roster *r, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(r->folder, ROSTER_FILE);
    CLEANUP(buf_release) struct buf text = BUF_INIT(ROSTER_MAX_FILE);
    struct jw w;

    jw_init(&w, &text, JW_PRETTY);
    jw_object(&w);
    jw_kstr(&w, "name", r->name);
    if (r->description.len)
        jw_kstr(&w, "description", r->description);
    jw_ki64(&w, "createdAt", r->created_ms);
    jw_key(&w, "leadAgentId");
    jw_str_begin(&w);
    jw_str_part(&w, STR("team-lead@"));
    jw_str_part(&w, r->name);
    jw_str_end(&w);
    jw_kstr(&w, "leadSessionId", r->lead_session);
    jw_key(&w, "leadProcess");
    jw_object(&w);
    jw_ki64(&w, "pid", r->lead_pid);
    jw_ki64(&w, "procStart", r->lead_start);
    jw_kstr(&w, "socket", r->socket);
    jw_object_end(&w);
    jw_kraw(&w, "teamAllowedPaths", STR("[]"));
    jw_kraw(&w, "hiddenPaneIds", STR("[]"));
    jw_key(&w, "members");
    jw_array(&w);
    VEC_EACH(&r->members, m) {
        jw_object(&w);
        for (size_t i = 0; i < ARRAY_LEN(member_strings); i++) {
            if (member_string(m, i)->len)
                jw_kstr(&w, member_strings[i].key, *member_string(m, i));
        }
        jw_ki64(&w, "joinedAt", m->joined_ms);
        if (m->pane_pid)
            jw_ki64(&w, "panePid", m->pane_pid);
        jw_kbool(&w, "planModeRequired", m->plan_required);
        jw_kbool(&w, "isActive", m->is_active);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(&text, '\n');
    if (buf_check(&text, err) < 0)
        return -1;
    return file_replace(path, buf_str(&text), 0600, err);
}

/* A pid alone may belong to another process by the time it is read. */
static void set_lead(struct roster *r)
{
    struct tree_proc me = {0};

    (void)tree_look(getpid(), &me);
    r->lead_pid = getpid();
    r->lead_start = (int64_t)me.start;
}

static int roster_open(struct roster *r, struct latch *latch, struct cancel *cancel,
                       struct err *err)
{
    return latch_take(latch, r->folder, ROSTER_LOCK, cancel, err) < 0 ? -1 : roster_read(r, err);
}

/* ---- Teams ---- */

int roster_create(struct roster *r, const char *home, struct str name, struct str description,
                  struct str session, struct cancel *cancel, struct latch *lead, struct err *err)
{
    CLEANUP(mem_freep) char *teams = path_join(home, "teams");
    CLEANUP(buf_release) struct buf folder = BUF_INIT(BUF_NO_LIMIT);

    if (!roster_name_is_fine(name))
        return err_set(err, ERR_BAD_INPUT,
                       "'%.*s' is not a team name: it has lower-case letters, digits and '-', at "
                       "most %d, and no '-' first",
                       STR_ARG(str_clip(name, 60)), ROSTER_MAX_TEAM);
    if (file_mkdirs(teams, 0700, err) < 0)
        return -1;
    for (int n = 1; n <= ROSTER_MAX_SAME; n++) { /* the one that creates the folder gets the name */
        buf_clear(&folder);
        buf_addf(&folder, "%s/%.*s", teams, STR_ARG(name));
        if (n > 1)
            buf_addf(&folder, "-%d", n);
        if (disk_step() == 0 && mkdir(buf_cstr(&folder), 0700) == 0)
            break;
        if (errno != EEXIST || n == ROSTER_MAX_SAME)
            return err_sys(err, ERR_IO, "cannot make '%s'", buf_cstr(&folder));
    }
    r->folder = buf_take(&folder);
    r->name = arena_str(&r->arena, str_of(path_base(r->folder)));
    r->description = arena_str(&r->arena, description);
    r->lead_session = arena_str(&r->arena, session);
    r->created_ms = clock_wall_ms();
    set_lead(r);
    if (latch_take(lead, r->folder, LEAD_LOCK, cancel, err) < 0)
        return -1;
    return roster_write(r, err);
}

int roster_adopt(struct roster *r, const char *home, struct str session, struct cancel *cancel,
                 struct latch *lead, struct err *err)
{
    CLEANUP(mem_freep) char *teams = path_join(home, "teams");
    DIR *dir = opendir(teams);
    int found = 0;

    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !found; e = readdir(dir)) {
        struct err unread = {0};

        if (!roster_name_is_fine(str_of(e->d_name)))
            continue;
        mem_freep(&r->folder);
        r->folder = path_join(teams, e->d_name);
        found = roster_read(r, &unread) == 0 && str_eq(r->lead_session, session);
    }
    if (dir)
        closedir(dir);
    if (!found)
        return 0;
    if (latch_try(lead, r->folder, LEAD_LOCK, err) < 0)
        return err_prefix(err, "the team %.*s is led by another process", STR_ARG(r->name));
    {
        CLEANUP(latch_give) struct latch latch = LATCH_INIT;

        if (roster_open(r, &latch, cancel, err) < 0)
            return -1;
        set_lead(r);
        return roster_write(r, err) < 0 ? -1 : 1;
    }
}

static void remove_all(const char *folder)
{
    DIR *dir = opendir(folder);

    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        CLEANUP(mem_freep) char *path = path_join(folder, e->d_name);
        struct str name = str_of(e->d_name);

        if (str_is(name, ".") || str_is(name, ".."))
            continue;
        if (unlink(path) < 0 && errno == EISDIR) /* inboxes/, which has no subfolders */
            remove_all(path);
    }
    if (dir)
        closedir(dir);
    (void)rmdir(folder);
}

int roster_delete(struct roster *r, struct cancel *cancel, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;

    if (latch_take(&latch, r->folder, ROSTER_LOCK, cancel, err) < 0)
        return -1;
    remove_all(r->folder);
    if (file_exists(r->folder))
        return err_set(err, ERR_IO, "cannot remove all of '%s'", r->folder);
    return 0;
}

/* ---- Members ---- */

struct member *roster_find(struct roster *r, struct str name)
{
    VEC_EACH(&r->members, m) {
        if (str_eq(m->name, name))
            return m;
    }
    return NULL;
}

int roster_add(struct roster *r, const struct member *m, struct cancel *cancel,
               struct buf *ret_name, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf id = BUF_INIT(BUF_NO_LIMIT);
    struct member *added;

    if (roster_open(r, &latch, cancel, err) < 0)
        return -1;
    if (r->members.len >= ROSTER_MAX_MEMBERS)
        return err_set(err, ERR_TOO_BIG, "a team has at most %d members", ROSTER_MAX_MEMBERS);
    buf_add(&name, m->name);
    for (int n = 2; roster_find(r, buf_str(&name)) || str_is(buf_str(&name), "team-lead"); n++) {
        buf_clear(&name);
        buf_addf(&name, "%.*s-%d", STR_ARG(m->name), n);
    }
    buf_addf(&id, "%s@%.*s", buf_cstr(&name), STR_ARG(r->name));
    added = vec_add(&r->members);
    *added = *m;
    added->name = arena_str(&r->arena, buf_str(&name));
    added->agent_id = arena_str(&r->arena, buf_str(&id));
    added->joined_ms = clock_wall_ms();
    if (roster_write(r, err) < 0)
        return -1;
    buf_add(ret_name, added->name);
    return roster_read(r, err); /* copies the strings */
}

int roster_set(struct roster *r, struct str name, bool is_active, struct str sidechain,
               struct cancel *cancel, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    struct member *m;

    if (roster_open(r, &latch, cancel, err) < 0)
        return -1;
    m = roster_find(r, name);
    if (!m)
        return err_set(err, ERR_NOT_FOUND, "the team has no member %.*s", STR_ARG(name));
    m->is_active = is_active;
    if (sidechain.len)
        m->sidechain = arena_str(&r->arena, sidechain);
    return roster_write(r, err);
}

int roster_remove(struct roster *r, struct str name, struct cancel *cancel, struct err *err)
{
    CLEANUP(latch_give) struct latch latch = LATCH_INIT;
    size_t n = 0;

    if (roster_open(r, &latch, cancel, err) < 0)
        return -1;
    VEC_EACH(&r->members, m) {
        if (!str_eq(m->name, name))
            r->members.ptr[n++] = *m;
    }
    r->members.len = n;
    return roster_write(r, err);
}
