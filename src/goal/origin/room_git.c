/*
 * room_git: what decides how git behaves, put into the upper layer of a clean room as it was when
 * the goal was set. Any thread, one at a time; waits for git.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "goal/git/git.h"
#include "goal/origin/room_layer.h"

#define ROOM_GIT_MS 20000
#define ROOM_MAX_REFS ((size_t)64 << 20)
#define ROOM_MAX_INDEX ((size_t)256 << 20)

static int restore_git_files(struct room *r, const struct room_spec *spec, struct err *err)
{
    for (size_t i = 0; i < spec->now->git.len; i++) {
        const char *path = spec->now->git.ptr[i];
        const struct git_file *was = git_state_file(&spec->origin->git, path);
        int rc;

        if (path[0] != '/')
            continue; /* refs and marks are handled below */
        rc = was && was->exists ? room_place(r, path, was->content, was->mode, err)
                                : room_hide(r, path, err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* A pinned ref has its old value. HEAD is live: where it is the pinned branch, it is the commit
 * itself. */
static int pin_ref(struct room *r, const struct git_state *state, const struct git_pin *pin,
                   struct str now, bool is_head, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(256);
    CLEANUP(mem_freep) char *path = path_join(state->common_dir.ptr, pin->ref.ptr);
    CLEANUP(mem_freep) char *head = path_join(state->git_dir.ptr, "HEAD");

    if (str_eq(now, pin->id))
        return 0;
    buf_addf(&text, "%.*s\n", STR_ARG(pin->id));
    if (room_place(r, path, buf_str(&text), 0644, err) < 0)
        return -1;
    if (!is_head)
        return 0;
    buf_clear(&text);
    buf_addf(&text, "%.*s\n", STR_ARG(now));
    return room_place(r, head, buf_str(&text), 0644, err);
}

static int pin_refs(struct room *r, const struct room_spec *spec, const struct git_state *state,
                    struct cancel *cancel, struct err *err)
{
    static const char *const args[] = {"for-each-ref", "--format=%(HEAD)%(objectname) %(refname)",
                                       NULL};
    struct git git = {.dir = state->dir.len ? state->dir.ptr : spec->origin->dir,
                      .environ = spec->origin->environ,
                      .deadline_ms = git_now_ms() + ROOM_GIT_MS,
                      .cancel = cancel};
    CLEANUP(git_said_release) struct git_said said = {0};

    if (!state->pins.len)
        return 0;
    if (git_run(&git, args, STR(""), ROOM_MAX_REFS, &said, err) < 0)
        return -1;
    VEC_EACH(&state->pins, p) {
        struct str rest = said.code ? STR("") : buf_str(&said.out); /* refs that cannot be read */
        struct str line, id;
        struct str now = STR(""); /* none */
        bool is_head = false;

        while (rest.len && !now.len && str_cut(&rest, '\n', &line)) {
            bool is_star = str_starts(line, STR("*"));

            line = str_from(line, 1);
            if (str_cut(&line, ' ', &id) && str_eq(line, p->ref)) {
                now = id;
                is_head = is_star;
            }
        }
        if (pin_ref(r, state, p, now, is_head, err) < 0)
            return -1;
    }
    return 0;
}

/* Where git looks for a short name, in this order. */
static const char *const ref_places[] = {"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"};

/* Takes "<id> <ref>" out of packed-refs, and the line "^<id>" that may follow it. */
static void remove_packed(struct buf *packed, struct str ref)
{
    struct str rest = buf_str(packed);
    struct str line;

    while (rest.len) {
        size_t from = (size_t)(rest.ptr - packed->ptr);
        size_t space;

        str_cut(&rest, '\n', &line);
        space = str_chr(line, ' ');
        if (str_starts(line, STR("#")) || !str_eq(str_from(line, space + 1), ref))
            continue;
        if (str_starts(rest, STR("^")))
            str_cut(&rest, '\n', &line);
        buf_cut(packed, from, packed->len - from - rest.len);
        return;
    }
}

/* A ref that came later must not stand before one that a check names. */
static int hide_new_refs(struct room *r, const struct git_state *state, const struct git_pin *pin,
                         struct buf *packed, struct err *err)
{
    const char *name = strchr(pin->ref.ptr + 5, '/'); /* after "refs/heads" */

    for (size_t i = 0; name && i < ARRAY_LEN(ref_places); i++) {
        CLEANUP(buf_release) struct buf ref = BUF_INIT(4096);
        CLEANUP(mem_freep) char *path = NULL;
        bool is_known = false;

        buf_addf(&ref, "%s%s", ref_places[i], name + 1);
        VEC_EACH(&state->pins, p) {
            is_known = is_known || str_eq(p->ref, buf_str(&ref));
        }
        path = path_join(state->common_dir.ptr, buf_cstr(&ref));
        if (is_known)
            continue;
        if (file_exists(path) && !file_is_dir(path) && room_hide(r, path, err) < 0)
            return -1;
        remove_packed(packed, buf_str(&ref));
    }
    return 0;
}

static int hide_all_new_refs(struct room *r, const struct git_state *state, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(state->common_dir.ptr, "packed-refs");
    CLEANUP(buf_release) struct buf packed = {0};
    CLEANUP(buf_release) struct buf before = BUF_INIT(BUF_NO_LIMIT);

    (void)file_slurp(path, (size_t)64 << 20, &packed, /*err=*/NULL);
    buf_add(&before, buf_str(&packed));
    VEC_EACH(&state->pins, p) {
        if (hide_new_refs(r, state, p, &packed, err) < 0)
            return -1;
    }
    return str_eq(buf_str(&packed), buf_str(&before))
               ? 0
               : room_place(r, path, buf_str(&packed), 0644, err);
}

static bool has_marks(const struct strv *changed)
{
    for (size_t i = 0; i < changed->len; i++) {
        if (str_ends(str_of(changed->ptr[i]), STR(GIT_STATE_MARKED)))
            return true;
    }
    return false;
}

static int mark_paths(const struct room_spec *spec, const struct git_state *state, const char *dir,
                      struct cancel *cancel, struct buf *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv marked = STRV_INIT;

    if (!has_marks(&spec->now->git))
        return 0;
    if (git_state_marked(dir, spec->origin->environ, cancel, &marked, err) < 0)
        return -1;
    for (size_t i = 0; i < marked.len; i++) {
        if (!strv_has(&state->marked, str_of(marked.ptr[i])))
            buf_add(ret, str_make(marked.ptr[i], strlen(marked.ptr[i]) + 1));
    }
    return 0;
}

/* Entries of files that changed, without how the files looked: git would take the word of the index
 * that they are unchanged, and the agent can have it written there while a filter is at work. */
static int stale_entries(const struct room_spec *spec, const struct git *git, const char *top,
                         struct buf *ret, struct err *err)
{
    static const char *const args[] = {"ls-files", "--stage", "--full-name", "-z", NULL};
    const struct origin *o = spec->origin;
    CLEANUP(buf_release) struct buf out = {0};
    struct map changed = MAP_INIT;
    struct str rest, entry;
    int r = 0;

    VEC_EACH(&spec->now->changes, c) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&path, "%s/%s", o->dir, change_entry(c)->path.ptr);
        if (c->is && room_is_below(buf_cstr(&path), top))
            map_set(&changed, str_from(buf_str(&path), strlen(top) + 1), ret);
    }
    if (changed.len)
        r = git_ask(git, args, STR(""), ROOM_MAX_INDEX, &out, err);
    rest = buf_str(&out);
    while (r == 0 && rest.len && str_cut(&rest, '\0', &entry)) {
        if (map_has(&changed, str_from(entry, str_chr(entry, '\t') + 1)))
            buf_add(ret, str_make(entry.ptr, entry.len + 1));
    }
    map_release(&changed);
    return r;
}

/* The index without marks that were not there, and without what it says of the look of files that
 * changed. */
static int restore_index(struct room *r, const struct room_spec *spec,
                         const struct git_state *state, struct cancel *cancel, struct err *err)
{
    static const char *const changes[][5] = {
        {"update-index", "-z", "--index-info", NULL},
        {"update-index", "-z", "--no-assume-unchanged", "--stdin", NULL},
        {"update-index", "-z", "--no-skip-worktree", "--stdin", NULL},
    };
    const char *dir = state->dir.len ? state->dir.ptr : spec->origin->dir;
    struct git git = {.dir = dir,
                      .environ = spec->origin->environ,
                      .deadline_ms = git_now_ms() + ROOM_GIT_MS,
                      .cancel = cancel};
    CLEANUP(buf_release) struct buf marked = BUF_INIT((size_t)15 << 20);
    CLEANUP(buf_release) struct buf stale = BUF_INIT(ROOM_MAX_INDEX);
    CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *index = path_join(state->git_dir.ptr, "index");

    if (!file_exists(index))
        return 0;
    if (mark_paths(spec, state, dir, cancel, &marked, err) < 0 ||
        stale_entries(spec, &git, state->top.ptr, &stale, err) < 0)
        return -1;
    if ((!marked.len && !stale.len) || room_make_place(r, index, &place, err) < 0)
        return marked.len || stale.len ? -1 : 0;
    if (!place.len || tree_copy_index(index, buf_cstr(&place), err) < 0)
        return place.len ? -1 : 0;
    git.index = buf_cstr(&place);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        CLEANUP(buf_release) struct buf out = {0};
        struct str input = buf_str(i ? &marked : &stale);

        if (input.len && git_ask(&git, changes[i], input, 64 << 10, &out, err) < 0)
            return -1;
    }
    return 0;
}

/* HEAD, its branch and the index of a recorded state. */
static int restore_head(struct room *r, const struct room_spec *spec, struct err *err)
{
    static const struct str symbolic = STR_INIT("ref: ");
    const struct git_state *state = &spec->origin->git;
    const struct room_final *final = spec->final;
    CLEANUP(mem_freep) char *head = path_join(state->git_dir.ptr, "HEAD");
    CLEANUP(mem_freep) char *index = path_join(state->git_dir.ptr, "index");
    CLEANUP(buf_release) struct buf commit = BUF_INIT(256);
    CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);
    struct str branch = str_trim(final->head);
    bool is_branch = str_starts(branch, symbolic);

    buf_addf(&commit, "%.*s\n", STR_ARG(final->commit));
    branch = is_branch ? str_trim(str_from(branch, symbolic.len)) : STR("");
    VEC_EACH(&state->pins, p) {
        is_branch = is_branch && !str_eq(p->ref, branch); /* that one keeps its old value */
    }
    if (is_branch && final->commit.len) {
        CLEANUP(buf_release) struct buf ref = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&ref, "%s/%.*s", state->common_dir.ptr, STR_ARG(branch));
        if (room_place(r, buf_cstr(&ref), buf_str(&commit), 0644, err) < 0)
            return -1;
    }
    if (final->head.len &&
        room_place(r, head, is_branch ? final->head : buf_str(&commit), 0644, err) < 0)
        return -1;
    if (!final->index)
        return 0;
    if (room_make_place(r, index, &place, err) < 0)
        return -1;
    return place.len ? tree_copy_index(final->index, buf_cstr(&place), err) : 0;
}

/* A repository that came later would answer in place of the one around it. */
static int hide_new_repositories(struct room *r, const struct room_spec *spec, struct err *err)
{
    const struct origin *o = spec->origin;
    CLEANUP(strv_release) struct strv folders = STRV_INIT;

    if (!str_is(o->git.top, o->dir))
        strv_adds(&folders, "");
    for (size_t i = 0; i < spec->now->files.nested.len; i++) {
        if (!strv_has(&o->files.nested, str_of(spec->now->files.nested.ptr[i])))
            strv_adds(&folders, spec->now->files.nested.ptr[i]);
    }
    for (size_t i = 0; i < folders.len; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&path, "%s/%s.git", o->dir, folders.ptr[i]);
        if (!file_exists(buf_cstr(&path)))
            continue;
        strv_addf(&r->hidden, "%s.git", folders.ptr[i]);
        if (room_hide(r, buf_cstr(&path), err) < 0)
            return -1;
    }
    return 0;
}

static int restore_state(struct room *r, const struct room_spec *spec,
                         const struct git_state *state, struct cancel *cancel, struct err *err)
{
    if (!state->has_git || (state->dir.len && !file_exists(state->git_dir.ptr)))
        return 0;
    if (hide_all_new_refs(r, state, err) < 0 || pin_refs(r, spec, state, cancel, err) < 0)
        return -1;
    return spec->final ? 0 : restore_index(r, spec, state, cancel, err);
}

int room_restore_git(struct room *r, const struct room_spec *spec, struct cancel *cancel,
                     struct err *err)
{
    const struct git_state *state = &spec->origin->git;

    if (restore_git_files(r, spec, err) < 0 || restore_state(r, spec, state, cancel, err) < 0)
        return -1;
    for (size_t i = 0; i < state->nested.len; i++) {
        if (restore_state(r, spec, state->nested.ptr[i], cancel, err) < 0)
            return -1;
    }
    if (spec->final)
        return state->has_git ? restore_head(r, spec, err) : 0;
    return state->has_git ? hide_new_repositories(r, spec, err) : 0;
}
