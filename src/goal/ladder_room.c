/*
 * Checks that pass in the workspace, confirmed: nothing that decides the goal may have changed, and
 * the checks must pass in a clean room, too. Runs on the bench, as ladder.c does.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "goal/goal_state.h"
#include "goal/origin/names.h"
#include "goal/origin/room.h"
#include "goal/proof/proof.h"
#include "guard/sandbox.h"
#include "json/json.h"
#include "json/jw.h"

#define DIFF_IGNORED 200 /* ignored files that are part of a diff */
#define HIDDEN_SHOWN 20  /* files named when a check fails in the clean room */

/* Toolchains and downloaded packages: what a command finds in the home to run at all. */
static const char *const usual_caches[] = {
    ".cargo/bin",     ".cargo/registry", ".cargo/git",    ".rustup",  ".m2",    ".gradle/wrapper",
    ".gradle/caches", ".local/bin",      ".local/lib",    ".nvm",     ".pyenv", ".rbenv",
    ".gem",           ".asdf",           ".sdkman",       ".bun",     ".deno",  ".dotnet",
    ".nuget",         ".opam",           ".ghcup",        ".cabal",   ".stack", "go/pkg",
    "go/bin",         ".npm-global",     ".volta",        ".juliaup", ".julia", ".ivy2",
    ".sbt",           ".cache/pip",      ".npm/_cacache",
};

/* ---- where the goal began ---- */

char *goal_folder(const struct goal *g, const char *goal_id)
{
    CLEANUP(mem_freep) char *goals = path_join(g->spec.home, "goals");

    return path_join(goals, goal_id);
}

int goal_write_origin(const struct origin *o, struct buf *ret_column, struct err *err)
{
    char sha256[SHA256_HEX + 1];
    struct jw w;

    if (origin_write(o, sha256, err) < 0)
        return -1;
    jw_init(&w, ret_column, 0);
    jw_object(&w);
    jw_kcstr(&w, "manifest", o->folder);
    jw_kcstr(&w, "sha256", sha256);
    jw_ki64(&w, "count", (int64_t)origin_count(o));
    if (o->protects_nothing)
        jw_kbool(&w, "none", true);
    jw_key(&w, "globs");
    jw_array(&w);
    for (size_t i = 0; i < o->globs.len; i++)
        jw_cstr(&w, o->globs.ptr[i]);
    jw_array_end(&w);
    jw_object_end(&w);
    return 0;
}

void goal_keep_origin(struct goal *g, struct origin **o, struct str column)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;

    (void)json_parse(&arena, column, &v, /*ret_info=*/NULL, /*err=*/NULL);
    snprintf(g->origin_sha256, sizeof(g->origin_sha256), "%.*s",
             STR_ARG(json_get_str(v, "sha256")));
    origin_free(g->origin);
    g->origin = *o;
    *o = NULL;
}

int goal_origin(struct goal *g, struct str column, struct origin **ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct origin *o = NULL;
    struct str sha256;

    if (json_parse(&arena, column, &v, /*ret_info=*/NULL, err) < 0)
        return -1;
    sha256 = json_get_str(v, "sha256");
    if (!g->origin || !str_is(sha256, g->origin_sha256)) {
        if (origin_read(arena_cstr(&arena, json_get_str(v, "manifest")), g->spec.environ, sha256,
                        &o, err) < 0)
            return -1;
        goal_keep_origin(g, &o, column);
    }
    *ret = g->origin;
    return 0;
}

/* ---- what changed ---- */

/* Ignored files that changed belong to the diff, too, as far as a reader can make use of them. */
static void find_ignored(const struct origin_now *now, struct strv *ret)
{
    for (int pass = 0; now && pass < 2; pass++) { /* installed packages last: they are many */
        for (size_t i = 0; i < now->changes.len && ret->len < DIFF_IGNORED; i++) {
            const struct inventory_entry *e = now->changes.ptr[i].is;

            if (e && !(e->flags & (INVENTORY_TREE | INVENTORY_NESTED)) &&
                e->type == INVENTORY_FILE && e->size <= INVENTORY_SMALL &&
                name_is_installed(e->path) == (pass == 1))
                strv_add(ret, e->path);
        }
    }
}

/* Git shows a nested repository as one line. Its changed files follow as they are now; what they
 * held before is not kept. */
static void add_nested(const struct origin *o, const struct origin_now *now, size_t max,
                       struct buf *hunks)
{
    for (size_t i = 0; now && i < now->changes.len; i++) {
        const struct inventory_entry *e = change_entry(&now->changes.ptr[i]);
        CLEANUP(mem_freep) char *path = path_join(o->dir, e->path.ptr);
        CLEANUP(buf_release) struct buf text = {0};
        struct str rest, line;

        if (!(e->flags & INVENTORY_NESTED) || hunks->len + (size_t)e->size > max)
            continue;
        buf_addf(hunks, "diff --git a/%s b/%s\n%s in a nested repository\n", e->path.ptr,
                 e->path.ptr, inventory_how_name(now->changes.ptr[i].how));
        if (!now->changes.ptr[i].is || e->size > INVENTORY_SMALL ||
            file_slurp(path, (size_t)INVENTORY_SMALL, &text, NULL) < 0 ||
            str_chr(buf_str(&text), '\0') < text.len)
            continue;
        rest = buf_str(&text);
        while (rest.len && str_cut(&rest, '\n', &line))
            buf_addf(hunks, "+%.*s\n", STR_ARG(line));
    }
}

int goal_diff(const struct origin *o, const struct origin_now *now, const char *spare,
              struct cancel *cancel, struct buf *ret_stat, size_t max_stat, struct buf *ret_hunks,
              size_t max_hunks, struct err *err)
{
    CLEANUP(strv_release) struct strv more = STRV_INIT;
    CLEANUP(buf_release) struct buf index = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *kept = path_join(o->git_dir, "index");
    struct tree t = origin_tree(o);
    struct git git;
    char tree[GIT_ID];
    int r;

    if (!o->has_tree)
        return err_set(err, ERR_UNSUPPORTED, "git was not available when the goal was set");
    /* A copy of the index: a report may be asked for while a verdict is made. */
    buf_addf(&index, "%s-%d", kept, (int)getpid());
    t.index = buf_cstr(&index);
    t.spare = spare;
    find_ignored(now, &more);
    (void)tree_copy_index(kept, t.index, /*err=*/NULL); /* without one, every file is read */
    git = tree_git(&t, cancel);
    r = tree_forget(&t, now ? &now->changes : NULL, cancel, err);
    if (r == 0)
        r = tree_take(&t, &more, cancel, tree, err);
    if (r == 0)
        r = baseline_diff_trees(&git, o->tree, tree, ret_stat, max_stat, ret_hunks, max_hunks, err);
    (void)unlink(t.index);
    if (r == 0 && ret_hunks)
        add_nested(o, now, max_hunks, ret_hunks);
    return r;
}

/* ---- the room ---- */

static void find_caches(const struct conf *conf, const char *home, struct strv *ret)
{
    const struct json *given = conf_get(conf, "goal.checkCaches");

    for (size_t i = 0; !given && i < ARRAY_LEN(usual_caches); i++) {
        CLEANUP(mem_freep) char *path = path_join(home, usual_caches[i]);

        strv_adds(ret, path);
    }
    JSON_EACH(given, v) {
        CLEANUP(mem_freep) char *name = mem_dup(json_str(v).ptr, json_str(v).len);
        CLEANUP(mem_freep) char *path = path_expand_home(name);

        strv_adds(ret, path);
    }
}

static const char *variable(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    }
    return NULL;
}

int goal_open_room(const struct conf *conf, char *const *env, struct sandbox *sandbox,
                   struct room_spec *spec, struct cancel *cancel, struct room **ret,
                   struct err *err)
{
    CLEANUP(strv_release) struct strv caches = STRV_INIT;
    const char *home = variable(env, "HOME");
    const char *temp = variable(env, "TMPDIR");
    CLEANUP(mem_freep) char *real_home = path_real(home && home[0] == '/' ? home : path_home());

    spec->temp = temp && temp[0] == '/' && file_is_dir(temp) ? temp : "/tmp";
    spec->home = real_home ? real_home : "/nonexistent";
    spec->caches = &caches;
    spec->is_confined = sandbox_state(sandbox) == SANDBOX_ON;
    find_caches(conf, spec->home, &caches);
    return room_open(spec, cancel, ret, err);
}

int goal_room(struct goal *g, const struct origin *o, const struct origin_now *now,
              bool hides_built, bool on_disk, struct cancel *cancel, struct room **ret,
              struct buf *ret_why, struct err *err)
{
    struct room_spec spec = {
        .origin = o, .now = now, .hides_built = hides_built, .on_disk = on_disk};
    struct err why = {0};

    *ret = NULL;
    if (goal_open_room(g->spec.conf, g->spec.environ, goal_sandbox(g), &spec, cancel, ret, &why) ==
        0)
        return 0;
    if (why.code == ERR_CANCELLED)
        return err_set(err, ERR_CANCELLED, "%s", why.text);
    buf_adds(ret_why, why.text);
    return 0;
}

/* Files that the clean room hides and that the check looked for come first. */
static void explain_hidden(const struct ladder *l, const struct check_result *r, struct buf *ret)
{
    size_t shown = 0;

    if (!l->hidden.len)
        return;
    buf_adds(ret, "Not in the clean room, because git ignores them or a build makes them, and they "
                  "changed after the goal was set:");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < l->hidden.len && shown < HIDDEN_SHOWN; i++) {
            bool is_missed = trace_has(&r->trace.missing, str_of(l->hidden.ptr[i]));

            if (is_missed == (pass == 0)) {
                buf_addf(ret, "%s %s%s", shown ? "," : "", l->hidden.ptr[i],
                         is_missed ? " (the check looks for it)" : "");
                shown++;
            }
        }
    }
    if (l->hidden.len > shown)
        buf_addf(ret, " and %zu more", l->hidden.len - shown);
    buf_adds(ret, ".\n");
}

static void explain_room(const struct goal *g, const struct ladder *l, const struct check_result *r,
                         struct buf *ret)
{
    buf_adds(ret, "The check passes in the workspace but not in a clean room, which decides. ");
    check_explain(r, ret);
    explain_hidden(l, r, ret);
    buf_addf(ret,
             "Let the check make what it needs, or keep it in files that git does not ignore. The "
             "user can accept a file: /goal accept PATH, or tenax goal accept PATH --session %s.\n",
             g->spec.session);
}

static bool builds(const struct origin *o)
{
    VEC_EACH(&o->checks, c) {
        if (trace_builds(&c->trace))
            return true;
    }
    return false;
}

static void object_to_foreign(struct ladder *l, struct room *room, const struct trace *trace,
                              int64_t since_ms)
{
    CLEANUP(strv_release) struct strv foreign = STRV_INIT;

    room_find_foreign(room, trace, since_ms, &foreign);
    for (size_t i = 0; i < foreign.len; i++)
        objection_add(&l->objections, OBJECTION_MOVED, str_of(foreign.ptr[i]),
                      "not by the check: end what runs in the background");
}

/* In a room in memory: it failed for want of more. */
static bool is_too_large(const struct room *room, const struct check_result *r)
{
    return room_in_memory(room) && !r->passed &&
           (r->signal == SIGKILL || strstr(buf_cstr(&r->tail), strerror(ENOSPC)));
}

enum in_room {
    ROOM_ERROR = -1,
    ROOM_FAILED,
    ROOM_PASSED,
    ROOM_TOO_SMALL, /* the checks are to run in one on the disk */
};

static enum in_room check_in_room(struct goal *g, struct ladder *l, struct origin *o,
                                  struct room *room, const struct strv *commands, int64_t since_ms,
                                  struct cancel *cancel, struct err *err)
{
    for (size_t i = 0; i < commands->len; i++) {
        struct check_spec spec = {
            .command = str_of(commands->ptr[i]),
            .dir = g->spec.dir,
            .environ = g->spec.environ,
            .sandbox = goal_sandbox(g),
            .room = room,
        };
        struct check_result *r = &l->checks.ptr[i];
        struct check_result again = {0};

        if (check_run(&spec, cancel, &again, err) < 0)
            return ROOM_ERROR;
        if (is_too_large(room, &again)) {
            check_result_release(&again);
            return ROOM_TOO_SMALL;
        }
        check_result_release(r); /* this is the one that counts */
        *r = again;
        l->is_observed = r->trace.is_seen;
        if (!r->passed) {
            l->by = "room";
            explain_room(g, l, r, &l->reason);
            return ROOM_FAILED;
        }
        origin_compare(o, &l->now, spec.command, buf_str(&l->objective), &r->trace, &r->touched,
                       &l->objections, &l->unrun);
        object_to_foreign(l, room, &r->trace, since_ms);
    }
    return ROOM_PASSED;
}

/* tenax's own output, which the user sends to a file of the workspace and no check looks at. */
static bool is_own_output(const struct ladder *l, const struct inventory_entry *e)
{
    bool is_own = false;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat st;

        is_own = is_own || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == e->ino);
    }
    VEC_EACH(&l->checks, c)
        is_own =
            is_own && c->trace.is_seen && !c->trace.is_cut && !trace_has(&c->trace.read, e->path);
    return is_own;
}

/* Files whose change during a verdict counts; services may write their logs. */
static bool is_watched(const struct origin *o, const struct ladder *l,
                       const struct inventory_entry *e)
{
    const struct inventory_entry *was = inventory_find(&o->files, e->path);

    if (is_own_output(l, e))
        return false;
    if (was && (was->flags & (INVENTORY_TREE | INVENTORY_PROTECTED) || name_is_installed(e->path)))
        return true;
    VEC_EACH(&l->checks, c) {
        if (trace_has(&c->trace.ran, e->path) || trace_has(&c->trace.used, e->path))
            return true;
    }
    return false;
}

/* Only the room itself may have changed: a process in the background could swap a file while the
 * check runs. */
static int compare_after(const struct origin *o, struct ladder *l, struct cancel *cancel,
                         struct err *err)
{
    CLEANUP(inventory_release) struct inventory after = INVENTORY_INIT;
    inventory_change_vec changes = VEC_INIT;
    int r;

    after.skip = o->skip;
    r = inventory_walk(&after, o->dir, cancel, err);

    if (r == 0)
        r = inventory_compare(&l->now.files, &after, o->dir, cancel, &changes, err);
    for (size_t i = 0; r == 0 && i < changes.len; i++) {
        const struct inventory_entry *e = change_entry(&changes.ptr[i]);

        if (is_watched(o, l, e))
            objection_add(&l->objections, OBJECTION_MOVED, e->path,
                          "end what runs in the background and changes it");
    }
    vec_release(&changes);
    return r;
}

static int object(const struct goal *g, struct ladder *l)
{
    if (!l->objections.len)
        return 1;
    l->by = "protect";
    objections_explain(&l->objections, g->spec.session, &l->reason);
    return 0;
}

int ladder_still_holds(struct goal *g, struct ladder *l, struct cancel *cancel, struct err *err)
{
    if (!g->origin || !l->now.files.entries.len)
        return 1;
    if (compare_after(g->origin, l, cancel, err) < 0)
        return -1;
    if (!l->objections.len)
        return 1;
    buf_clear(&l->reason);
    return object(g, l);
}

/* 1: all pass, or there was no room from the start; 0: one does not. */
static int confirm_in_room(struct goal *g, struct ladder *l, struct origin *o,
                           const struct strv *commands, struct cancel *cancel, struct err *err)
{
    int64_t since_ms = l->checks.ptr[0].time_ms;
    enum in_room how = ROOM_TOO_SMALL;

    for (int on_disk = 0; on_disk < 2 && how == ROOM_TOO_SMALL; on_disk++) {
        CLEANUP(buf_release) struct buf why_not = BUF_INIT(1 << 12);
        struct room *room = NULL;

        if (goal_room(g, o, &l->now, builds(o), on_disk, cancel, &room, &why_not, err) < 0)
            return -1;
        if (!room && !o->has_room)
            return 1; /* said when the goal was set */
        if (!room) {  /* a full disk must not make a verdict easier */
            l->by = "room";
            buf_addf(&l->reason, "The checks could not be confirmed: there is no clean room: %s.\n",
                     buf_cstr(&why_not));
            return 0;
        }
        l->where = room_is_copy(room) ? "copy" : "overlay";
        strv_clear(&l->hidden);
        strv_add_all(&l->hidden, room_hidden(room));
        how = check_in_room(g, l, o, room, commands, since_ms, cancel, err);
        room_free(room);
    }
    return how == ROOM_ERROR ? -1 : how == ROOM_PASSED;
}

int ladder_confirm(struct goal *g, struct ladder *l, const struct strv *commands, struct str column,
                   struct cancel *cancel, struct err *err)
{
    struct origin *o = NULL;
    struct err why = {0};
    int r;

    if (!column.len)
        return 1; /* taken over from a transcript: nothing is known of where it began */
    if (goal_origin(g, column, &o, &why) < 0) {
        l->by = "protect";
        buf_addf(&l->reason,
                 "What the goal began with cannot be read: %s. It cannot be complete until the "
                 "user accepts the present state: /goal accept all, or tenax goal accept all "
                 "--session %s.",
                 why.text, g->spec.session);
        return 0;
    }
    if (origin_look(o, cancel, &l->now, err) < 0)
        return -1;
    origin_protected(o, &l->now, &l->objections);
    if (o->git.has_git && !file_exists(o->git.git_dir.ptr))
        objection_add(&l->objections, OBJECTION_GONE, o->git.git_dir, "the repository");
    if (origin_programs(o, cancel, &l->objections, err) < 0 ||
        (commands->len && !o->protects_nothing &&
         origin_inline_tests(o, &l->now, cancel, &l->objections, err) < 0))
        return -1;
    r = object(g, l);
    if (r <= 0 || l->is_confirmed || !commands->len || g->options.in_workspace)
        return r;
    r = confirm_in_room(g, l, o, commands, cancel, err);
    if (r <= 0)
        return r;
    if (compare_after(o, l, cancel, err) < 0)
        return -1;
    for (size_t i = 0; g->options.referee != REFEREE_JUDGE && i < l->unrun.len; i++)
        objection_add(&l->objections, OBJECTION_UNRUN, str_of(l->unrun.ptr[i]),
                      "the check ran it when the goal was set");
    return object(g, l);
}
