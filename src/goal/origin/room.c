/*
 * room: prepares the layers of an overlay from what changed since the goal was set. A whiteout, a
 * character device 0:0 in the upper layer, hides a file; any user may make one. Whatever a check
 * changes ends up in the upper layer, so that a protected file found there afterwards was changed
 * during the run, even if it was put back. Any thread, one at a time.
 */
#include "goal/origin/room.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "goal/git.h"
#include "goal/origin/names.h"
#include "goal/survey.h"
#include "sync/cancel.h"

#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif

#define ROOM_MAX_BACKDATED ((int64_t)16 << 20)
#define ROOM_BACKDATED_NS ((int64_t)2 * 1000000000)
#define ROOM_GIT_MS 20000
#define ROOM_MAX_REFS ((size_t)64 << 20)
#define ROOM_LAYERS 3 /* the workspace, and the folders of git that lie elsewhere */

/* A folder that is seen through an overlay. */
struct room_layer {
    char *at;
    char *upper, *work;
    const char *lower[3];
};

struct room {
    const struct origin *origin;
    char *base; /* everything below is in it */
    char *dir;  /* where checks run */
    char *home, *temp, *user_home;
    char *whiteout; /* NULL: none was needed yet */
    bool is_copy;
    struct room_layer layers[ROOM_LAYERS];
    size_t layer_count;
    struct strv hidden;
    struct map placed; /* files of the upper layer that are ours */
    int observe;       /* -1: nothing is observed */
    /* What room_confine() lends. */
    struct strv write, read_only, hides;
    struct confine_overlay overlays[ROOM_LAYERS];
    const char *observed[4];
    struct confinement confine;
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_D && (st->st_mode & 0700) != 0700)
        chmod(path, 0700);
    else if (type == FTW_DNR) /* overlayfs closes its own folder */
        chmod(path, 0700);
    return 0;
}

static int remove_last(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

void room_remove(const char *dir)
{
    nftw(dir, remove_entry, 16, FTW_PHYS);
    nftw(dir, remove_last, 16, FTW_DEPTH | FTW_PHYS);
}

void room_free(struct room *r)
{
    if (!r)
        return;
    if (r->base)
        room_remove(r->base);
    for (size_t i = 0; i < r->layer_count; i++) {
        mem_freep(&r->layers[i].at);
        mem_freep(&r->layers[i].upper);
        mem_freep(&r->layers[i].work);
    }
    fd_closep(&r->observe);
    strv_release(&r->hidden);
    strv_release(&r->write);
    strv_release(&r->read_only);
    strv_release(&r->hides);
    map_release(&r->placed);
    mem_freep(&r->base);
    mem_freep(&r->dir);
    mem_freep(&r->home);
    mem_freep(&r->user_home);
    mem_freep(&r->temp);
    mem_freep(&r->whiteout);
    mem_freep(&r);
}

static void room_freep(struct room **r)
{
    room_free(*r);
}

const char *room_dir(const struct room *r)
{
    return r->dir;
}

bool room_is_copy(const struct room *r)
{
    return r->is_copy;
}

const struct strv *room_hidden(const struct room *r)
{
    return &r->hidden;
}

const char *room_kind(const char **ret_why)
{
    return confine_overlay_works(ret_why) ? "overlay" : "copy";
}

/* ---- the upper layer ---- */

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]);
}

/* The layer that shows a path, and its place in the upper folder. NULL: none does. */
static const struct room_layer *layer_of(const struct room *r, const char *path, struct buf *upper)
{
    const struct room_layer *found = NULL;

    for (size_t i = 0; i < r->layer_count; i++) {
        const struct room_layer *l = &r->layers[i];

        if (is_below(path, l->at) && (!found || strlen(l->at) > strlen(found->at)))
            found = l;
    }
    if (found)
        buf_addf(upper, "%s%s", found->upper, path + strlen(found->at));
    return found;
}

/* The folders on the way to a place, as they are below. */
static int make_parents(const struct room_layer *l, char *place, struct err *err)
{
    size_t start = strlen(l->upper);

    for (char *slash = strchr(place + start + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        CLEANUP(buf_release) struct buf below = BUF_INIT(BUF_NO_LIMIT);
        struct stat st;

        *slash = '\0';
        buf_addf(&below, "%s%s", l->at, place + start);
        if (mkdir(place, 0700) == 0) {
            if (stat(buf_cstr(&below), &st) == 0) {
                (void)chmod(place, st.st_mode & 07777);
                (void)!chown(place, st.st_uid, st.st_gid);
            } else {
                (void)chmod(place, 0755);
            }
        } else if (errno != EEXIST) {
            err_sys(err, ERR_IO, "cannot make '%s'", place);
            *slash = '/';
            return -1;
        }
        *slash = '/';
    }
    return 0;
}

/* Opens the way to a place in the upper layer; "" when no layer shows the path. */
static int make_place(struct room *r, const char *path, struct buf *ret, struct err *err)
{
    const struct room_layer *l = layer_of(r, path, ret);

    if (!l)
        return 0;
    buf_cstr(ret); /* ends it */
    map_set(&r->placed, buf_str(ret), r);
    return make_parents(l, ret->ptr, err);
}

/* All whiteouts are names of one file, as those of overlayfs itself are: an inode takes longer to
 * make than a name. */
static int make_whiteout(struct room *r, const char *place)
{
    if (!r->whiteout) {
        r->whiteout = path_join(r->base, "hidden");
        (void)mknod(r->whiteout, S_IFCHR, makedev(0, 0));
    }
    if (link(r->whiteout, place) == 0 || errno == EEXIST)
        return 0;
    return mknod(place, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST ? -1 : 0;
}

static int hide(struct room *r, const char *path, struct err *err)
{
    CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);

    if (make_place(r, path, &place, err) < 0)
        return -1;
    if (place.len && make_whiteout(r, buf_cstr(&place)) < 0)
        return err_sys(err, ERR_IO, "cannot hide '%s' in the clean room", path);
    return 0;
}

static int place_text(struct room *r, const char *path, struct str text, unsigned mode,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);

    if (make_place(r, path, &place, err) < 0)
        return -1;
    return place.len ? file_replace(buf_cstr(&place), text, mode, err) : 0;
}

/* ---- files of the workspace ---- */

/* Prefix sums over the present files: how many before an index stay visible. */
static size_t *count_visible(const struct inventory *files, const bool *is_hidden)
{
    size_t *sums = mem_alloc((files->entries.len + 1) * sizeof(*sums));

    sums[0] = 0;
    for (size_t i = 0; i < files->entries.len; i++)
        sums[i + 1] = sums[i] + !is_hidden[i];
    return sums;
}

/* How many entries of a list lie below a folder: [*ret_from, the result). */
static size_t below(const struct inventory *files, struct str folder, size_t *ret_from)
{
    CLEANUP(buf_release) struct buf bound = BUF_INIT(BUF_NO_LIMIT);

    buf_add(&bound, folder);
    buf_addc(&bound, '/');
    *ret_from = inventory_at(files, buf_str(&bound));
    bound.ptr[bound.len - 1] = '/' + 1;
    return inventory_at(files, buf_str(&bound));
}

/* Whether the recorded state has something at this path, so that the workspace's is not seen. */
static bool is_covered(const struct room_final *final, struct str path)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(BUF_NO_LIMIT);
    size_t start = strlen(final->dir) + 1;
    struct stat st;

    buf_addf(&full, "%s/%.*s", final->dir, STR_ARG(path));
    buf_cstr(&full);
    for (char *slash = strchr(full.ptr + start, '/'); slash; slash = strchr(slash + 1, '/')) {
        bool is_there;

        *slash = '\0';
        is_there = lstat(full.ptr, &st) == 0;
        *slash = '/';
        if (!is_there)
            return false;
        if (!S_ISDIR(st.st_mode))
            return true; /* a file where the workspace has a folder */
    }
    return lstat(full.ptr, &st) == 0;
}

/* A folder that the recorded state does not have was there nevertheless when ignored files lay in
 * it; with tracked files alone it went with them. */
static bool had_ignored(const struct origin *o, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!(o->files.entries.ptr[i].flags & INVENTORY_TREE))
            return true;
    }
    return false;
}

/* The topmost folder of the path that came since the goal was set and in which nothing is visible;
 * the path itself if there is none. */
static struct str topmost(const struct room_spec *spec, const size_t *visible, struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        struct str folder = str_first(path, i);
        size_t from, to;

        if (path.ptr[i] != '/')
            continue;
        to = below(&spec->origin->files, folder, &from);
        if (spec->final ? is_covered(spec->final, folder) || had_ignored(spec->origin, from, to)
                        : from != to)
            continue; /* it was there: what was in it may be made again */
        to = below(&spec->now->files, folder, &from);
        if (visible[from] == visible[to])
            return folder;
    }
    return path;
}

static bool is_compiled(const struct origin *o, struct str path)
{
    CLEANUP(mem_freep) char *full = path_join(o->dir, path.ptr);
    CLEANUP(fd_closep) int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    char start[4];

    return fd >= 0 && read(fd, start, sizeof(start)) == sizeof(start) &&
           memcmp(start, "\177ELF", 4) == 0;
}

static bool must_hide(const struct room_spec *spec, const struct inventory_change *c)
{
    const struct origin *o = spec->origin;

    if (!c->is || c->is->flags & INVENTORY_PROTECTED || origin_keeps(o, c->is->path))
        return false;
    if (!(c->is->flags & INVENTORY_TREE))
        return true;
    return spec->hides_built && !c->was && c->is->mode & 0111 && is_compiled(o, c->is->path);
}

static int hide_changed(struct room *r, const struct room_spec *spec, struct err *err)
{
    const struct inventory *files = &spec->now->files;
    CLEANUP(mem_freep) bool *is_hidden = mem_zalloc(files->entries.len + 1);
    CLEANUP(mem_freep) size_t *visible = NULL;
    CLEANUP(buf_release) struct buf last = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH(&spec->now->changes, c) {
        if (must_hide(spec, c))
            is_hidden[c->is - files->entries.ptr] = true;
    }
    visible = count_visible(files, is_hidden);
    VEC_EACH(&spec->now->changes, c) {
        CLEANUP(buf_release) struct buf full = BUF_INIT(BUF_NO_LIMIT);
        struct str top;

        if (!c->is || !is_hidden[c->is - files->entries.ptr])
            continue;
        strv_add(&r->hidden, c->is->path);
        top = topmost(spec, visible, c->is->path);
        if (last.len && str_eq(top, buf_str(&last)))
            continue;
        buf_clear(&last);
        buf_add(&last, top);
        buf_addf(&full, "%s/%.*s", r->origin->dir, STR_ARG(top));
        if (hide(r, buf_cstr(&full), err) < 0)
            return -1;
    }
    return 0;
}

/* ---- a recorded state ---- */

/* What is seen of the workspace itself, by the index of its entry. */
static bool *find_seen(const struct room_spec *spec)
{
    const struct inventory *files = &spec->now->files;
    bool *is_seen = mem_zalloc(files->entries.len + 1);

    for (size_t i = 0; i < files->entries.len; i++) {
        const struct inventory_entry *e = &files->entries.ptr[i];
        const struct inventory_entry *was = inventory_find(&spec->origin->files, e->path);

        is_seen[i] = e->flags & INVENTORY_NESTED || (was && !(was->flags & INVENTORY_TREE));
    }
    VEC_EACH(&spec->now->changes, c) {
        if (c->is && !(c->is->flags & INVENTORY_NESTED))
            is_seen[c->is - files->entries.ptr] = false;
    }
    for (size_t i = 0; i < files->entries.len; i++)
        is_seen[i] = is_seen[i] && !is_covered(spec->final, files->entries.ptr[i].path);
    return is_seen;
}

static int hide_unrecorded(struct room *r, const struct room_spec *spec, struct err *err)
{
    const struct inventory *files = &spec->now->files;
    CLEANUP(mem_freep) bool *is_seen = find_seen(spec);
    CLEANUP(mem_freep) bool *is_hidden = mem_zalloc(files->entries.len + 1);
    CLEANUP(mem_freep) size_t *visible = NULL;
    CLEANUP(buf_release) struct buf last = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < files->entries.len; i++)
        is_hidden[i] = !is_seen[i] && !is_covered(spec->final, files->entries.ptr[i].path);
    visible = count_visible(files, is_hidden);
    for (size_t i = 0; i < files->entries.len; i++) {
        CLEANUP(buf_release) struct buf full = BUF_INIT(BUF_NO_LIMIT);
        struct str top;

        if (!is_hidden[i])
            continue;
        top = topmost(spec, visible, files->entries.ptr[i].path);
        if (last.len && str_eq(top, buf_str(&last)))
            continue;
        buf_clear(&last);
        buf_add(&last, top);
        buf_addf(&full, "%s/%.*s", spec->origin->dir, STR_ARG(top));
        if (hide(r, buf_cstr(&full), err) < 0)
            return -1;
    }
    return 0;
}

static int restore_head(struct room *r, const struct room_spec *spec, struct err *err)
{
    static const struct str symbolic = STR_INIT("ref: ");
    const struct git_state *state = &spec->origin->git;
    const struct room_final *final = spec->final;
    CLEANUP(mem_freep) char *head = path_join(state->git_dir.ptr, "HEAD");
    CLEANUP(mem_freep) char *index = path_join(state->git_dir.ptr, "index");
    CLEANUP(buf_release) struct buf commit = BUF_INIT(256);
    CLEANUP(buf_release) struct buf text = {0};
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
        if (place_text(r, buf_cstr(&ref), buf_str(&commit), 0644, err) < 0)
            return -1;
    }
    if (final->head.len &&
        place_text(r, head, is_branch ? final->head : buf_str(&commit), 0644, err) < 0)
        return -1;
    if (!final->index)
        return 0;
    if (file_slurp(final->index, (size_t)256 << 20, &text, err) < 0)
        return -1;
    return place_text(r, index, buf_str(&text), 0644, err);
}

/* A changed file that claims to be old would keep make from building anew: here it is as young as
 * it is. */
static int date_changed(struct room *r, const struct room_spec *spec, struct err *err)
{
    VEC_EACH(&spec->now->changes, c) {
        CLEANUP(buf_release) struct buf text = {0};
        CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *full = NULL;
        struct timespec times[2];

        if (!c->is || c->how == INVENTORY_MODE || c->is->type != INVENTORY_FILE ||
            !(c->is->flags & INVENTORY_TREE) || c->is->size > ROOM_MAX_BACKDATED ||
            c->is->mtime_ns + ROOM_BACKDATED_NS > c->is->ctime_ns)
            continue;
        full = path_join(r->origin->dir, c->is->path.ptr);
        if (file_slurp(full, (size_t)ROOM_MAX_BACKDATED, &text, NULL) < 0)
            continue;
        if (make_place(r, full, &place, err) < 0 ||
            file_replace(buf_cstr(&place), buf_str(&text), c->is->mode, err) < 0)
            return -1;
        times[0].tv_sec = times[1].tv_sec = c->is->ctime_ns / 1000000000;
        times[0].tv_nsec = times[1].tv_nsec = c->is->ctime_ns % 1000000000;
        utimensat(AT_FDCWD, buf_cstr(&place), times, 0);
    }
    return 0;
}

/* ---- git ---- */

static int restore_git_files(struct room *r, const struct room_spec *spec, struct err *err)
{
    for (size_t i = 0; i < spec->now->git.len; i++) {
        const char *path = spec->now->git.ptr[i];
        const struct git_file *was = NULL;
        int rc;

        if (path[0] != '/')
            continue; /* refs and marks are handled below */
        VEC_EACH(&spec->origin->git.files, f) {
            if (str_is(f->path, path))
                was = f;
        }
        rc = was && was->exists ? place_text(r, path, was->content, was->mode, err)
                                : hide(r, path, err);
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
    if (place_text(r, path, buf_str(&text), 0644, err) < 0)
        return -1;
    if (!is_head)
        return 0;
    buf_clear(&text);
    buf_addf(&text, "%.*s\n", STR_ARG(now));
    return place_text(r, head, buf_str(&text), 0644, err);
}

static int pin_refs(struct room *r, const struct room_spec *spec, struct cancel *cancel,
                    struct err *err)
{
    static const char *const args[] = {"for-each-ref", "--format=%(HEAD)%(objectname) %(refname)",
                                       NULL};
    const struct git_state *state = &spec->origin->git;
    struct git git = {.dir = spec->origin->dir,
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
    const char *name = strchr(pin->ref.ptr + 5, '/'); /* behind "refs/heads" */

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
        if (file_exists(path) && !file_is_dir(path) && hide(r, path, err) < 0)
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
               : place_text(r, path, buf_str(&packed), 0644, err);
}

static bool has_marks(const struct strv *changed)
{
    for (size_t i = 0; i < changed->len; i++) {
        if (str_ends(str_of(changed->ptr[i]), STR(GIT_STATE_MARKED)))
            return true;
    }
    return false;
}

/* The index without marks that were not there. */
static int clear_marks(struct room *r, const struct room_spec *spec, struct cancel *cancel,
                       struct err *err)
{
    static const char *const options[] = {"--no-assume-unchanged", "--no-skip-worktree"};
    const struct git_state *state = &spec->origin->git;
    CLEANUP(strv_release) struct strv marked = STRV_INIT;
    CLEANUP(buf_release) struct buf paths = BUF_INIT((size_t)15 << 20);
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(buf_release) struct buf place = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *index = NULL;

    if (!state->has_git || !has_marks(&spec->now->git))
        return 0;
    if (git_state_marked(spec->origin->dir, spec->origin->environ, cancel, &marked, err) < 0)
        return -1;
    for (size_t i = 0; i < marked.len; i++) {
        if (strv_has(&state->marked, str_of(marked.ptr[i])))
            continue;
        buf_adds(&paths, marked.ptr[i]);
        buf_addc(&paths, '\0');
    }
    if (!paths.len)
        return 0;
    index = path_join(state->git_dir.ptr, "index");
    if (file_slurp(index, (size_t)256 << 20, &text, err) < 0 ||
        make_place(r, index, &place, err) < 0)
        return -1;
    if (!place.len || file_replace(buf_cstr(&place), buf_str(&text), 0644, err) < 0)
        return place.len ? -1 : 0;
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const char *const args[] = {"update-index", "-z", options[i], "--stdin", NULL};
        CLEANUP(buf_release) struct buf out = {0};
        struct git git = {.dir = spec->origin->dir,
                          .environ = spec->origin->environ,
                          .index = buf_cstr(&place),
                          .deadline_ms = git_now_ms() + ROOM_GIT_MS,
                          .cancel = cancel};

        if (git_ask(&git, args, buf_str(&paths), 64 << 10, &out, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the private folders ---- */

static int make_home(struct room *r, const struct room_spec *spec, struct err *err)
{
    static const char *const folders[] = {".config/git", ".cache", ".local/share", ".local/state",
                                          ".run"};
    CLEANUP(mem_freep) char *prefix = path_join(spec->home, "");

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = path_join(r->home, folders[i]);

        if (file_mkdirs(path, 0700, err) < 0)
            return -1;
    }
    VEC_EACH(&spec->origin->git.files, f) { /* how the user's git behaves, as it was */
        CLEANUP(mem_freep) char *path = NULL;

        if (!f->exists || !str_starts(f->path, str_of(prefix)) ||
            (r->origin->git.has_git && str_starts(f->path, r->origin->git.common_dir)))
            continue;
        path = path_join(r->home, f->path.ptr + strlen(prefix));
        (void)file_replace(path, f->content, 0600, /*err=*/NULL);
    }
    for (size_t i = 0; spec->caches && i < spec->caches->len; i++) {
        const char *cache = spec->caches->ptr[i];
        CLEANUP(mem_freep) char *path = NULL, *folder = NULL;

        if (!is_below(cache, spec->home) || !cache[strlen(spec->home)] || !file_exists(cache))
            continue;
        path = path_join(r->home, cache + strlen(prefix));
        folder = path_dirname(path);
        if (file_mkdirs(folder, 0700, err) < 0 || (symlink(cache, path) < 0 && errno != EEXIST))
            return err_sys(err, ERR_IO, "cannot link '%s' into the clean room", cache);
    }
    return 0;
}

/* ---- a copy ---- */

static int copy_file(const char *from, const char *to, const struct inventory_entry *e,
                     struct err *err)
{
    CLEANUP(fd_closep) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    CLEANUP(fd_closep) int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, e->mode & 0777);
    const struct timespec times[2] = {
        {.tv_sec = e->mtime_ns / 1000000000, .tv_nsec = e->mtime_ns % 1000000000},
        {.tv_sec = e->mtime_ns / 1000000000, .tv_nsec = e->mtime_ns % 1000000000},
    };
    ssize_t n = 1;

    if (in < 0 && errno == EACCES)
        return 0;
    if (in < 0 || out < 0)
        return err_sys(err, ERR_IO, "cannot copy '%s'", from);
    while (n > 0)
        n = copy_file_range(in, NULL, out, NULL, (size_t)1 << 30, 0);
    if (n < 0)
        return err_sys(err, ERR_IO, "cannot copy '%s'", from);
    (void)fchmod(out, e->mode);
    futimens(out, times);
    return 0;
}

static int copy_entry(struct room *r, const char *dir, const struct inventory_entry *e,
                      struct err *err)
{
    CLEANUP(mem_freep) char *from = path_join(dir, e->path.ptr);
    CLEANUP(mem_freep) char *to = path_join(r->dir, e->path.ptr);
    CLEANUP(mem_freep) char *folder = path_dirname(to);
    char target[4096];
    ssize_t len;

    if (file_mkdirs(folder, 0755, err) < 0)
        return -1;
    if (e->type == INVENTORY_FILE)
        return copy_file(from, to, e, err);
    if (e->type != INVENTORY_LINK)
        return 0;
    len = readlink(from, target, sizeof(target) - 1);
    if (len < 0)
        return 0;
    target[len] = '\0';
    return symlink(target, to) < 0 ? err_sys(err, ERR_IO, "cannot copy '%s'", from) : 0;
}

static int copy_files(struct room *r, const char *dir, const struct inventory *files,
                      const bool *is_hidden, int64_t *left, struct cancel *cancel, struct err *err)
{
    for (size_t i = 0; i < files->entries.len; i++) {
        const struct inventory_entry *e = &files->entries.ptr[i];

        if (is_hidden && is_hidden[i])
            continue;
        *left -= e->size;
        if (*left < 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "the workspace is too large to be copied (%d GB at most)",
                           (int)(ROOM_MAX_COPY >> 30));
        if (cancel_check(cancel, err) < 0 || copy_entry(r, dir, e, err) < 0)
            return -1;
    }
    return 0;
}

static int copy_all(struct room *r, const struct room_spec *spec, struct cancel *cancel,
                    struct err *err)
{
    const struct inventory *files = spec->now ? &spec->now->files : &spec->origin->files;
    CLEANUP(inventory_release) struct inventory recorded = INVENTORY_INIT;
    CLEANUP(mem_freep) bool *is_hidden = mem_zalloc(files->entries.len + 1);
    CLEANUP(mem_freep) bool *is_seen = spec->final ? find_seen(spec) : NULL;
    CLEANUP(mem_freep) char *git_dir = path_join(spec->origin->dir, ".git");
    int64_t left = ROOM_MAX_COPY;

    for (size_t i = 0; is_seen && i < files->entries.len; i++)
        is_hidden[i] = !is_seen[i];
    for (size_t i = 0; spec->now && !spec->final && i < spec->now->changes.len; i++) {
        const struct inventory_change *c = &spec->now->changes.ptr[i];

        if (!must_hide(spec, c))
            continue;
        is_hidden[c->is - files->entries.ptr] = true;
        strv_add(&r->hidden, c->is->path);
    }
    if (file_mkdirs(r->dir, 0755, err) < 0)
        return -1;
    if (spec->final && (inventory_walk(&recorded, spec->final->dir, cancel, err) < 0 ||
                        copy_files(r, spec->final->dir, &recorded, NULL, &left, cancel, err) < 0))
        return -1;
    if (copy_files(r, spec->origin->dir, files, is_hidden, &left, cancel, err) < 0)
        return -1;
    if (file_is_dir(git_dir)) { /* read there, not written: it may be large */
        CLEANUP(mem_freep) char *link = path_join(r->dir, ".git");

        (void)!symlink(git_dir, link);
    }
    return 0;
}

/* ---- opening ---- */

static int add_layer(struct room *r, struct str at, struct err *err)
{
    struct room_layer *l = &r->layers[r->layer_count];
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < r->layer_count; i++) {
        if (is_below(at.ptr, r->layers[i].at))
            return 0;
    }
    r->layer_count++;
    l->at = mem_dup(at.ptr, at.len);
    buf_addf(&path, "%s/u%zu", r->base, r->layer_count);
    l->upper = buf_take(&path);
    buf_init(&path, BUF_NO_LIMIT);
    buf_addf(&path, "%s/w%zu", r->base, r->layer_count);
    l->work = buf_take(&path);
    l->lower[0] = l->at;
    if (mkdir(l->upper, 0755) < 0 || mkdir(l->work, 0700) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", l->upper);
    return 0;
}

static int prepare(struct room *r, const struct room_spec *spec, struct cancel *cancel,
                   struct err *err)
{
    const struct git_state *state = &spec->origin->git;
    struct stat st;

    if (add_layer(r, str_of(spec->origin->dir), err) < 0)
        return -1;
    if (stat(spec->origin->dir, &st) == 0) {
        (void)chmod(r->layers[0].upper, st.st_mode & 07777);
        (void)!chown(r->layers[0].upper, st.st_uid, st.st_gid);
    }
    if (state->has_git &&
        (add_layer(r, state->common_dir, err) < 0 || add_layer(r, state->git_dir, err) < 0))
        return -1;
    if (!spec->now)
        return 0;
    if (spec->final) {
        r->layers[0].lower[0] = spec->final->dir;
        r->layers[0].lower[1] = r->layers[0].at;
    }
    if (spec->final ? hide_unrecorded(r, spec, err) < 0
                    : hide_changed(r, spec, err) < 0 || date_changed(r, spec, err) < 0)
        return -1;
    if (restore_git_files(r, spec, err) < 0)
        return -1;
    if (state->has_git &&
        (hide_all_new_refs(r, state, err) < 0 || pin_refs(r, spec, cancel, err) < 0))
        return -1;
    if (spec->final)
        return state->has_git ? restore_head(r, spec, err) : 0;
    return clear_marks(r, spec, cancel, err);
}

/* An overlay cannot have its upper layer on another one, as the root of a container is. */
static bool can_be_upper(const char *dir)
{
    struct statfs fs;

    return statfs(dir, &fs) == 0 && fs.f_type != OVERLAYFS_SUPER_MAGIC && access(dir, W_OK) == 0;
}

/* Where the room is made, and whether it can be an overlay there. */
static const char *choose_place(const struct room_spec *spec, bool *ret_is_copy)
{
    const char *const places[] = {spec->temp, spec->origin->folder, "/dev/shm"};
    bool is_possible = !spec->must_copy && confine_overlay_works(/*ret_why=*/NULL) &&
                       !(spec->is_confined && strcmp(confine_backend()->name, "landlock") != 0);

    for (size_t i = 0; is_possible && i < ARRAY_LEN(places); i++) {
        if (can_be_upper(places[i]) && !is_below(places[i], spec->origin->dir)) {
            *ret_is_copy = false;
            return places[i];
        }
    }
    *ret_is_copy = true;
    return spec->temp;
}

int room_open(const struct room_spec *spec, struct cancel *cancel, struct room **ret,
              struct err *err)
{
    CLEANUP(room_freep) struct room *r = mem_zalloc(sizeof(*r));
    CLEANUP(mem_freep) char *name = path_join(choose_place(spec, &r->is_copy), "tenax-room-XXXXXX");

    r->observe = -1;
    r->origin = spec->origin;
    r->user_home = mem_dup(spec->home, strlen(spec->home));
    if (!mkdtemp(name))
        return err_sys(err, ERR_IO, "cannot make a clean room in '%s'", spec->temp);
    r->base = path_real(name);
    r->home = path_join(r->base, "h");
    r->temp = path_join(r->base, "t");
    if (mkdir(r->home, 0700) < 0 || mkdir(r->temp, 0700) < 0)
        return err_sys(err, ERR_IO, "cannot make '%s'", r->home);
    if (make_home(r, spec, err) < 0)
        return -1;
    r->dir = r->is_copy ? path_join(r->base, "copy")
                        : mem_dup(spec->origin->dir, strlen(spec->origin->dir));
    if (r->is_copy ? copy_all(r, spec, cancel, err) < 0 : prepare(r, spec, cancel, err) < 0)
        return -1;
    *ret = TAKE_PTR(r);
    return 0;
}

/* ---- a check in it ---- */

const struct confinement *room_confine(struct room *r, const struct confinement *session)
{
    size_t n = 0;

    strv_clear(&r->write);
    r->confine = session ? *session : (struct confinement){.is_view = true, .proxy = -1};
    if (session) {
        for (const char *const *p = session->write; p && *p; p++)
            strv_adds(&r->write, *p);
        strv_adds(&r->write, r->home);
        strv_adds(&r->write, r->temp);
        if (r->is_copy)
            strv_adds(&r->write, r->dir);
        r->confine.write = (const char *const *)strv_get(&r->write);
    }
    fd_closep(&r->observe);
    if (confine_observe_works(/*ret_why=*/NULL) &&
        !(session && strcmp(confine_backend()->name, "landlock") != 0)) {
        r->observe = memfd_create("trace", MFD_CLOEXEC);
        if (r->observe >= 0)
            (void)fcntl(r->observe, F_SETFL, O_APPEND);
    }
    if (r->is_copy) {
        if (!session)
            return NULL;
    } else {
        for (size_t i = 0; i < r->layer_count; i++) {
            r->overlays[i] = (struct confine_overlay){.at = r->layers[i].at,
                                                      .lower = r->layers[i].lower,
                                                      .upper = r->layers[i].upper,
                                                      .work = r->layers[i].work};
        }
        r->confine.overlays = r->overlays;
        r->confine.overlay_count = r->layer_count;
        r->confine.own_processes = true;
    }
    if (r->observe >= 0) {
        r->observed[n++] = r->dir;
        r->observed[n++] = r->user_home;
        r->observed[n++] = r->home;
        r->observed[n] = NULL;
        r->confine.observe = r->observe;
        r->confine.observed = r->observed;
    }
    return &r->confine;
}

static bool is_replaced(const char *variable)
{
    static const char *const names[] = {
        "HOME=", "TMPDIR=", "TMP=", "TEMP=", "XDG_", "npm_config_cache="};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

void room_environ(const struct room *r, char *const *given, struct strv *ret)
{
    static const char *const temps[] = {"TMPDIR", "TMP", "TEMP"};

    for (; *given; given++) {
        if (!is_replaced(*given))
            strv_adds(ret, *given);
    }
    for (size_t i = 0; i < ARRAY_LEN(temps); i++)
        strv_addf(ret, "%s=%s", temps[i], r->temp);
    strv_addf(ret, "HOME=%s", r->home);
    strv_addf(ret, "XDG_CONFIG_HOME=%s/.config", r->home);
    strv_addf(ret, "XDG_CACHE_HOME=%s/.cache", r->home);
    strv_addf(ret, "XDG_DATA_HOME=%s/.local/share", r->home);
    strv_addf(ret, "XDG_STATE_HOME=%s/.local/state", r->home);
    strv_addf(ret, "XDG_RUNTIME_DIR=%s/.run", r->home);
    if (r->origin->git.has_git) /* the repository may lie above the folder that is mounted */
        strv_adds(ret, "GIT_DISCOVERY_ACROSS_FILESYSTEM=1");
    if (!r->origin->git.has_replace)
        strv_adds(ret, "GIT_NO_REPLACE_OBJECTS=1");
}

/* ---- after it ---- */

struct touched {
    struct room *r;
    struct strv *ret;
};

static bool is_protected(const struct origin *o, struct str path)
{
    const struct inventory_entry *e = inventory_find(&o->files, path);

    return e && e->flags & INVENTORY_PROTECTED;
}

static void add_protected_below(struct touched *t, struct str folder)
{
    const struct inventory *files = &t->r->origin->files;
    size_t from;
    size_t to = below(files, folder, &from);

    for (size_t i = from; i < to; i++) {
        if (files->entries.ptr[i].flags & INVENTORY_PROTECTED)
            strv_add(t->ret, files->entries.ptr[i].path);
    }
}

/* A folder that was removed and made again hides everything that was in it. */
static bool look_at_folder(void *arg, struct str path, struct str name)
{
    static const char *const marks[] = {"user.overlay.opaque", "trusted.overlay.opaque"};
    struct touched *t = arg;
    CLEANUP(mem_freep) char *full = path_join(t->r->layers[0].upper, path.ptr);
    char value[4];

    (void)name;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        if (lgetxattr(full, marks[i], value, sizeof(value)) > 0)
            add_protected_below(t, path);
    }
    return true;
}

/* Whatever is no folder and stands where one was hides everything that was in it. */
static int look_at_file(void *arg, int folder_fd, const char *name, struct str path,
                        struct err *err)
{
    struct touched *t = arg;
    CLEANUP(mem_freep) char *full = path_join(t->r->layers[0].upper, path.ptr);

    (void)folder_fd;
    (void)name;
    (void)err;
    if (map_has(&t->r->placed, str_of(full)))
        return 0;
    if (is_protected(t->r->origin, path))
        strv_add(t->ret, path);
    else
        add_protected_below(t, path);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A folder that was renamed names its files twice. */
static void sort_touched(struct strv *list)
{
    size_t kept = 0;

    if (!list->len)
        return;
    qsort(list->ptr, list->len, sizeof(*list->ptr), by_text);
    for (size_t i = 0; i < list->len; i++) {
        if (kept && strcmp(list->ptr[kept - 1], list->ptr[i]) == 0)
            mem_freep(&list->ptr[i]);
        else
            list->ptr[kept++] = list->ptr[i];
    }
    list->len = kept;
    list->ptr[kept] = NULL;
}

static int find_touched(struct room *r, struct cancel *cancel, struct strv *ret, struct err *err)
{
    struct touched t = {.r = r, .ret = ret};
    struct survey survey = {
        .dir = r->layers[0].upper,
        .max_files = INVENTORY_MAX_FILES,
        .enter = look_at_folder,
        .file = look_at_file,
        .arg = &t,
    };
    bool whole;

    if (r->is_copy)
        return 0;
    if (survey_run(&survey, cancel, &whole, err) < 0)
        return -1;
    sort_touched(ret);
    return 0;
}

int room_look(struct room *r, struct trace *ret_trace, struct strv *ret_touched,
              struct cancel *cancel, struct err *err)
{
    CLEANUP(buf_release) struct buf records = BUF_INIT(TRACE_MAX_BYTES + 4096);

    if (r->observe >= 0 && r->confine.observe) {
        if (lseek(r->observe, 0, SEEK_SET) < 0 || buf_add_fd(&records, r->observe, err) < 0)
            return -1;
        trace_read(ret_trace, buf_str(&records), r->dir, r->base, r->user_home);
    }
    return find_touched(r, cancel, ret_touched, err);
}
