/*
 * proof: proof.json read, and verified on the machine on which the goal was worked for. Nothing of
 * a proof is relied on that cannot be computed again: the tree is hashed after the checkout, and
 * protected files are compared by content. Any thread, one at a time.
 */
#include "goal/proof/proof.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "goal/origin/room.h"
#include "goal/proof/proof_parts.h"
#include "json/json.h"
#include "sync/cancel.h"

#define PROOF_MAX_LIST ((size_t)256 << 20)

void proof_release(struct proof *p)
{
    strv_release(&p->checks);
    buf_release(&p->text);
    arena_release(&p->arena);
    mem_freep(&p->folder);
}

void proof_result_release(struct proof_result *r)
{
    VEC_EACH(&r->checks, c) {
        check_result_release(c);
    }
    vec_release(&r->checks);
    strv_release(&r->wrong);
}

bool proof_holds(const struct proof *p, const struct proof_result *r)
{
    if (!p->checks.len || r->wrong.len || r->checks.len != p->checks.len)
        return false;
    VEC_EACH(&r->checks, c) {
        if (!c->passed)
            return false;
    }
    return true;
}

/* ---- reading ---- */

/* Relative, without "..", ".git" and empty parts. */
static bool is_plain_path(struct str path)
{
    struct str part;

    while (path.len) {
        bool is_last = str_chr(path, '/') == path.len;

        str_cut(&path, '/', &part);
        if (!part.len || str_is(part, ".") || str_is(part, "..") || str_is(part, ".git") ||
            str_chr(part, '\0') < part.len || (!is_last && !path.len))
            return false;
    }
    return true;
}

static int not_a_proof(const struct proof *p, const char *what, struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "'%s/" PROOF_FILE "' is not a proof: %s", p->folder, what);
}

static int take_members(struct proof *p, struct err *err)
{
    const struct json *base = json_get(p->root, "baseline");
    const struct json *final = json_get(p->root, "final");

    if (!str_is(json_get_str(p->root, "type"), "goal_proof") ||
        json_get_i64(p->root, "format", 0) != PROOF_FORMAT)
        return not_a_proof(p, "it was written by another version of tenax", err);
    p->goal_id = json_get_str(p->root, "goal_id");
    p->session = json_get_str(p->root, "session");
    p->dir = arena_str(&p->arena, json_get_str(p->root, "dir"));
    p->objective = json_get_str(json_get(p->root, "terms"), "objective");
    p->time_ms = json_get_i64(p->root, "time_ms", 0);
    p->prefix = arena_str(&p->arena, json_get_str(p->root, "prefix"));
    p->base_commit = arena_str(&p->arena, json_get_str(base, "commit"));
    p->base_tree = arena_str(&p->arena, json_get_str(base, "tree"));
    p->final_tree = arena_str(&p->arena, json_get_str(final, "tree"));
    if (!git_is_hash(p->base_tree) || !git_is_hash(p->final_tree) ||
        (p->base_commit.len && !git_is_hash(p->base_commit)))
        return not_a_proof(p, "a tree or commit is missing", err);
    if (!is_plain_path(p->prefix))
        return not_a_proof(p, "its folder is outside of the repository", err);
    JSON_EACH(json_get(p->root, "checks"), c) {
        struct str command = json_get_str(json_get(c, "result"), "command");

        if (!str_trim(command).len || command.len > CHECK_MAX_COMMAND || p->checks.len == CHECK_MAX)
            return not_a_proof(p, "a check is empty or too long", err);
        strv_add(&p->checks, command);
    }
    return 0;
}

int proof_read(struct proof *p, const char *folder, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(folder, PROOF_FILE);
    struct err why = {0};

    p->folder = mem_dup(folder, strlen(folder));
    if (file_slurp(path, PROOF_MAX, &p->text, err) < 0)
        return -1;
    sha256_hex(buf_str(&p->text), p->sha256);
    if (json_parse(&p->arena, buf_str(&p->text), &p->root, NULL, &why) < 0)
        return not_a_proof(p, why.text, err);
    return take_members(p, err);
}

/* ---- the files ---- */

char *proof_temp(const struct proof_place *place, struct err *err)
{
    const char *temp = NULL;
    CLEANUP(mem_freep) char *name = NULL;
    char *real;

    for (char *const *e = place->environ; *e; e++) {
        if (strncmp(*e, "TMPDIR=/", 8) == 0)
            temp = *e + 7;
    }
    name = path_join(temp && file_is_dir(temp) ? temp : "/tmp", "tenax-proof-XXXXXX");
    if (!mkdtemp(name)) {
        err_sys(err, ERR_IO, "cannot make a folder for the verification");
        return NULL;
    }
    real = path_real(name);
    if (!real)
        err_sys(err, ERR_IO, "cannot find '%s'", name);
    return real;
}

struct git proof_git(const struct proof_place *place, const char *git_dir, const char *work_tree,
                     const char *index)
{
    return (struct git){.dir = work_tree,
                        .environ = place->environ,
                        .git_dir = git_dir,
                        .work_tree = work_tree,
                        .index = index,
                        .deadline_ms = git_now_ms() + PROOF_MS,
                        .cancel = place->cancel};
}

static void set_time(const char *dir, const char *path, int64_t ns)
{
    CLEANUP(mem_freep) char *full = path_join(dir, path);
    const struct timespec at = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    const struct timespec times[2] = {at, at};

    utimensat(AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW);
}

/* A check that builds compares times: unchanged files are as old as they were. */
static int date_files(const struct git *git, struct str tree, struct str base,
                      const struct inventory *files, struct err *err)
{
    static const char *const list[] = {"ls-files", "-z", NULL};
    const char *const diff[] = {"diff-tree", "-r", "-z", "--name-only", base.ptr, tree.ptr, NULL};
    CLEANUP(buf_release) struct buf all = {0};
    CLEANUP(git_said_release) struct git_said said = {0};
    CLEANUP(map_release) struct map changed = MAP_INIT;
    int64_t now_ns = (int64_t)time(NULL) * 1000000000;
    struct str rest, path;

    if (git_ask(git, list, STR(""), PROOF_MAX_LIST, &all, err) < 0 ||
        git_run(git, diff, STR(""), PROOF_MAX_LIST, &said, err) < 0)
        return -1;
    rest = buf_str(&said.out);
    while (rest.len && str_cut(&rest, '\0', &path))
        map_set(&changed, path, &changed);
    rest = buf_str(&all);
    while (rest.len && str_cut(&rest, '\0', &path)) {
        const struct inventory_entry *was = files ? inventory_find(files, path) : NULL;
        bool is_same = said.code == 0 && !map_has(&changed, path);

        if (is_same)
            set_time(git->work_tree, path.ptr, was ? was->mtime_ns : now_ns - 60000000000);
    }
    return 0;
}

/* The id of a tree, or of a folder in it; "" when it is not there. */
static int find_tree(const struct git *git, struct str tree, struct str prefix, struct buf *ret,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(git_said_release) struct git_said said = {0};
    const char *args[] = {"rev-parse", "--quiet", "--verify", NULL, NULL};

    buf_addf(&name, prefix.len ? "%.*s:%.*s" : "%.*s^{tree}%.*s", STR_ARG(tree), STR_ARG(prefix));
    args[3] = buf_cstr(&name);
    if (git_run(git, args, STR(""), PROOF_SMALL, &said, err) < 0)
        return -1;
    if (said.code == 0)
        buf_add(ret, str_trim(buf_str(&said.out)));
    return 0;
}

static void is_wrong(struct proof_result *ret, const char *what, const struct git_said *said)
{
    struct str why = str_trim(buf_str(&said->complaint));

    if (!why.len)
        why = str_trim(buf_str(&said->out));
    why = str_clip(str_first(why, str_chr(why, '\n')), 300);
    strv_addf(&ret->wrong, "%s%s%.*s", what, why.len ? ": " : "", STR_ARG(why));
}

int proof_checkout(const struct git *git, struct str tree, struct str base, struct str prefix,
                   const struct inventory *files, struct proof_result *ret, struct err *err)
{
    static const char *const refresh[] = {"update-index", "--refresh", NULL};
    static const char *const checkout[] = {"checkout-index", "-a", "-f", NULL};
    const char *read[] = {"read-tree", NULL, NULL};
    const char *const *const steps[] = {read, checkout, refresh};
    CLEANUP(buf_release) struct buf id = BUF_INIT(PROOF_SMALL);
    CLEANUP(buf_release) struct buf base_id = BUF_INIT(PROOF_SMALL);

    if (find_tree(git, tree, prefix, &id, err) < 0 ||
        find_tree(git, base, prefix, &base_id, err) < 0)
        return -1;
    if (!id.len) {
        strv_addf(&ret->wrong, "the recorded state is gone: there is no tree %.*s",
                  STR_ARG(str_clip(tree, 12)));
        return 0;
    }
    read[1] = buf_cstr(&id);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        CLEANUP(git_said_release) struct git_said said = {0};

        if (git_run(git, steps[i], STR(""), PROOF_SMALL, &said, err) < 0)
            return -1;
        if (said.code) {
            is_wrong(ret,
                     i == 2 ? "the recorded files have been changed"
                            : "the recorded state is damaged",
                     &said);
            return 0;
        }
    }
    return base_id.len ? date_files(git, buf_str(&id), buf_str(&base_id), files, err) : 0;
}

int proof_compare(const struct proof *p, const char *dir, struct cancel *cancel,
                  struct proof_result *ret, struct err *err)
{
    JSON_EACH(json_get(p->root, "protected"), v) {
        CLEANUP(mem_freep) char *path = NULL, *full = NULL;
        struct str name = json_get_str(v, "path");
        struct inventory_entry e = {.flags =
                                        json_get_bool(v, "orders", false) ? INVENTORY_ORDERS : 0};
        char hex[SHA256_HEX + 1];
        struct stat st;

        if (!name.len || !is_plain_path(name))
            return not_a_proof(p, "a protected file has no proper path", err);
        path = mem_dup(name.ptr, name.len);
        e.path = str_make(path, name.len);
        full = path_join(dir, path);
        if (inventory_read(dir, &e, cancel, hex, err) < 0)
            return -1;
        if (lstat(full, &st) < 0)
            strv_addf(&ret->wrong, "the protected file %s is not in the recorded state", path);
        else if (!str_is(json_get_str(v, "sha256"), hex))
            strv_addf(&ret->wrong, "the protected file %s is not what it was at the baseline",
                      path);
        else if (S_ISREG(st.st_mode) &&
                 json_get_bool(v, "executable", false) != ((st.st_mode & 0100) != 0))
            strv_addf(&ret->wrong, "the protected file %s has another mode than at the baseline",
                      path);
    }
    return 0;
}

/* ---- the checks ---- */

int proof_run_checks(const struct proof *p, const struct proof_place *place, const char *dir,
                     struct room *room, struct proof_result *ret, struct err *err)
{
    ret->where = room_is_copy(room) ? "copy" : "overlay";
    for (size_t i = 0; i < p->checks.len; i++) {
        struct check_spec spec = {
            .command = str_of(p->checks.ptr[i]),
            .dir = dir,
            .environ = place->environ,
            .sandbox = place->sandbox,
            .room = room,
        };
        struct check_result r = {0};

        if (check_run(&spec, place->cancel, &r, err) < 0)
            return -1;
        vec_push(&ret->checks, r);
    }
    return 0;
}

/* Whether the commit of then is still there; otherwise HEAD is as it is now. */
static int find_commit(const struct proof *p, const struct origin *o,
                       const struct proof_place *place, struct room_final *final, struct err *err)
{
    const struct json *v = json_get(p->root, "final");
    struct str commit = json_get_str(v, "commit");
    CLEANUP(mem_freep) char *id = mem_dup(commit.ptr, commit.len);
    const char *const args[] = {"cat-file", "-e", id, NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    struct git git = {.dir = o->dir,
                      .environ = place->environ,
                      .deadline_ms = git_now_ms() + PROOF_MS,
                      .cancel = place->cancel};

    if (!o->git.has_git || !git_is_hash(commit))
        return 0;
    if (git_run(&git, args, STR(""), PROOF_SMALL, &said, err) < 0)
        return -1;
    if (said.code == 0) {
        final->head = json_get_str(v, "head");
        final->commit = commit;
    }
    return 0;
}

static int verify_in(const struct proof *p, const struct origin *o, const char *base,
                     const struct proof_place *place, struct proof_result *ret, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_join(base, "state");
    CLEANUP(mem_freep) char *index = path_join(base, "index");
    CLEANUP(mem_freep) char *own_index = path_join(p->folder, "final.index");
    CLEANUP(origin_now_release) struct origin_now now = ORIGIN_NOW_INIT;
    struct room_final final = {.dir = dir};
    struct room_spec spec = {.origin = o, .now = &now, .final = &final};
    struct git git = proof_git(place, o->git_dir, dir, index);
    struct room *room = NULL;
    int r;

    if (file_mkdirs(dir, 0755, err) < 0 ||
        proof_checkout(&git, p->final_tree, str_of(o->tree), p->prefix, &o->files, ret, err) < 0)
        return -1;
    if (ret->wrong.len)
        return 0;
    if (proof_compare(p, dir, place->cancel, ret, err) < 0 ||
        origin_look(o, place->cancel, &now, err) < 0 || find_commit(p, o, place, &final, err) < 0)
        return -1;
    if (final.commit.len && file_exists(own_index))
        final.index = own_index;
    if (goal_open_room(place->conf, place->environ, place->sandbox, &spec, place->cancel, &room,
                       err) < 0)
        return -1;
    r = proof_run_checks(p, place, o->dir, room, ret, err);
    room_free(room);
    return r;
}

int proof_verify(const struct proof *p, const struct proof_place *place, struct proof_result *ret,
                 struct err *err)
{
    CLEANUP(mem_freep) char *base = NULL;
    struct origin *o = NULL;
    struct err why = {0};
    int r;

    if (origin_read(p->folder, place->environ, json_get_str(p->root, "origin_sha256"), &o, &why) <
        0) {
        strv_addf(&ret->wrong, "what the goal began with cannot be read: %s", why.text);
        return 0;
    }
    base = proof_temp(place, err);
    if (!base) {
        origin_free(o);
        return -1;
    }
    if (!file_is_dir(o->dir))
        r = err_set(err, ERR_NOT_FOUND, "the workspace '%s' is gone", o->dir);
    else
        r = verify_in(p, o, base, place, ret, err);
    room_remove(base);
    origin_free(o);
    return r;
}
