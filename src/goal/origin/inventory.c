/*
 * inventory: a walk into one sorted array, and a merge of two of them. Any thread; a walk over many
 * files starts a few more threads and waits for them.
 */
#include "goal/origin/inventory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/git/git.h"
#include "goal/origin/bytes_json.h"
#include "goal/origin/digest.h"
#include "goal/origin/survey.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define YOUNG_NS ((int64_t)50 * 1000 * 1000) /* the steps in which time stamps move, and some */
#define ORDERS_MAX ((size_t)2 << 20)
#define WALK_THREADS 4
#define WALK_SHARE 2000 /* files for which a thread is worth while */

void inventory_release(struct inventory *v)
{
    vec_release(&v->entries);
    strv_release(&v->nested);
    arena_release(&v->arena);
    *v = (struct inventory)INVENTORY_INIT;
}

/* ---- the walk ---- */

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void add_nested(struct inventory *v, struct str path)
{
    if (path.len > 4) /* not that of the workspace itself */
        strv_add(&v->nested, str_first(path, path.len - 4));
}

/* All that was in the folder, and there was something, is ignored by git. */
static bool has_no_tree(const struct inventory *v, struct str folder)
{
    size_t first = inventory_at(v, folder);
    size_t i = first;

    for (; i < v->entries.len && str_starts(v->entries.ptr[i].path, folder); i++) {
        struct str path = v->entries.ptr[i].path;

        if (path.ptr[folder.len] != '/') /* "a-b" lies between "a" and "a/b" */
            first++;
        else if (v->entries.ptr[i].flags & INVENTORY_TREE)
            return false;
    }
    return i > first;
}

static bool enter(void *arg, struct str path, struct str name)
{
    struct inventory *v = arg;

    if (v->skip && str_is(path, v->skip))
        return false;
    if (!str_is(name, ".git"))
        return !v->tree_of || !has_no_tree(v->tree_of, path);
    add_nested(v, path);
    return false;
}

static int add_file(void *arg, int folder_fd, const char *name, struct str path, struct err *err)
{
    struct inventory *v = arg;

    (void)folder_fd;
    (void)err;
    if (strcmp(name, ".git") == 0) {
        add_nested(v, path);
        if (path.len == 4)
            return 0; /* of a linked work tree */
    }
    vec_push(&v->entries, ((struct inventory_entry){.path = arena_str(&v->arena, path)}));
    return 0;
}

static void add_closed(void *arg, struct str path)
{
    struct inventory *v = arg;

    vec_push(&v->entries, ((struct inventory_entry){.path = arena_str(&v->arena, path),
                                                    .type = INVENTORY_OTHER}));
}

/* ---- what the file system says about them ---- */

/* A part of the files, for a thread. Most of the time of a walk is the kernel's. */
struct share {
    struct inventory_entry *entries;
    size_t count;
    int root;
    int64_t young_ns; /* what changed after this is young */
    const struct cancel *cancel;
};

static void look_at(struct inventory_entry *e, int root, int64_t young_ns)
{
    struct stat st;

    if (fstatat(root, e->path.ptr, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (S_ISDIR(st.st_mode) && e->type != INVENTORY_OTHER)) {
        e->path = STR(""); /* it has vanished */
        return;
    }
    e->type = S_ISREG(st.st_mode)   ? INVENTORY_FILE
              : S_ISLNK(st.st_mode) ? INVENTORY_LINK
                                    : INVENTORY_OTHER;
    e->mode = st.st_mode & 07777;
    e->size = st.st_size;
    e->mtime_ns = ns_of(st.st_mtim);
    e->ctime_ns = ns_of(st.st_ctim);
    e->ino = st.st_ino;
    e->is_young = e->ctime_ns > young_ns;
}

bool inventory_look(const char *dir, struct inventory_entry *e)
{
    CLEANUP(fd_closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct str path = e->path;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    look_at(e, root, ns_of(now) - YOUNG_NS);
    if (e->path.len)
        return true;
    e->path = path;
    return false;
}

static void look_at_share(void *arg)
{
    const struct share *s = arg;

    for (size_t i = 0; i < s->count && !cancel_is_set(s->cancel); i++)
        look_at(&s->entries[i], s->root, s->young_ns);
}

static void remove_gone(struct inventory *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->entries.len; i++) {
        if (v->entries.ptr[i].path.len)
            v->entries.ptr[kept++] = v->entries.ptr[i];
    }
    v->entries.len = kept;
}

static int look_at_all(struct inventory *v, const char *dir, int64_t young_ns,
                       struct cancel *cancel, struct err *err)
{
    CLEANUP(fd_closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct thread *threads[WALK_THREADS] = {NULL};
    struct share shares[WALK_THREADS];
    size_t len = v->entries.len;
    size_t count = len / WALK_SHARE < WALK_THREADS ? len / WALK_SHARE : WALK_THREADS;
    size_t from = 0;

    if (root < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", dir);
    count += count == 0;
    for (size_t i = 0; i < count; i++) {
        size_t to = len * (i + 1) / count;

        shares[i] = (struct share){.entries = v->entries.ptr + from,
                                   .count = to - from,
                                   .root = root,
                                   .young_ns = young_ns,
                                   .cancel = cancel};
        from = to;
        if (i + 1 < count)
            threads[i] = thread_start("inventory", look_at_share, &shares[i], /*err=*/NULL);
        if (!threads[i])
            look_at_share(&shares[i]);
    }
    for (size_t i = 0; i < count; i++)
        thread_join(threads[i]);
    remove_gone(v);
    return cancel_check(cancel, err);
}

static int by_path(const void *a, const void *b)
{
    const struct inventory_entry *x = a;
    const struct inventory_entry *y = b;

    return str_cmp(x->path, y->path);
}

void inventory_sort(struct inventory *v)
{
    if (v->entries.len)
        qsort(v->entries.ptr, v->entries.len, sizeof(*v->entries.ptr), by_path);
}

int inventory_walk(struct inventory *v, const char *dir, struct cancel *cancel, struct err *err)
{
    struct timespec now;
    struct survey survey = {
        .dir = dir,
        .max_files = INVENTORY_MAX_FILES,
        .deadline_ms = git_now_ms() + (v->max_ms ? v->max_ms : INVENTORY_MAX_MS),
        .enter = enter,
        .file = add_file,
        .closed = add_closed,
        .arg = v,
    };

    clock_gettime(CLOCK_REALTIME, &now);
    if (survey_run(&survey, cancel, &v->is_whole, err) < 0 ||
        look_at_all(v, dir, ns_of(now) - YOUNG_NS, cancel, err) < 0)
        return -1;
    inventory_sort(v);
    for (size_t i = 0; v->nested.len && i < v->entries.len; i++) {
        if (inventory_is_nested(v, v->entries.ptr[i].path))
            v->entries.ptr[i].flags |= INVENTORY_NESTED;
    }
    return 0;
}

bool inventory_is_nested(const struct inventory *v, struct str path)
{
    for (size_t i = 0; i < v->nested.len; i++) {
        if (str_starts(path, str_of(v->nested.ptr[i])))
            return true;
    }
    return false;
}

size_t inventory_at(const struct inventory *v, struct str path)
{
    size_t low = 0;
    size_t high = v->entries.len;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (str_cmp(v->entries.ptr[mid].path, path) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct inventory_entry *inventory_find(const struct inventory *v, struct str path)
{
    size_t i = inventory_at(v, path);

    return i < v->entries.len && str_eq(v->entries.ptr[i].path, path) ? &v->entries.ptr[i] : NULL;
}

/* ---- content ---- */

/* Of a package.json or composer.json everything but its dependencies and its version. */
static bool hash_json_orders(struct str text, struct sha256 *hash)
{
    static const char free_keys[] = "dependencies devDependencies peerDependencies "
                                    "optionalDependencies bundledDependencies version require "
                                    "require-dev";
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root;

    if (json_parse(&arena, text, &root, NULL, NULL) < 0 || !json_is(root, JSON_OBJECT))
        return false;
    JSON_EACH(root, member) {
        if (str_is_word_of(json_key(member), free_keys))
            continue;
        sha256_add(hash, json_key(member));
        sha256_add(hash, STR("\0:"));
        sha256_add(hash, json_raw(member));
        sha256_add(hash, STR("\n"));
    }
    return true;
}

/* "[workspace.dependencies]", "[target.'cfg(unix)'.dependencies.x]": one of the keys of a table's
 * name says that it lists dependencies. What follows the name does not count. */
static bool is_dependency_table(struct str head)
{
    static const char keys[] = "dependencies dev-dependencies build-dependencies "
                               "optional-dependencies dependency-groups";
    struct str names = str_from(head, 1);
    struct str key;

    names = str_first(names, str_chr(names, ']'));
    while (names.len && str_cut(&names, '.', &key)) {
        if (str_is_word_of(str_trim(key), keys))
            return true;
    }
    return false;
}

/* Of a TOML file every table but those of dependencies. */
static void hash_toml_orders(struct str text, struct sha256 *hash)
{
    bool is_free = false;
    struct str line;

    while (text.len && str_cut(&text, '\n', &line)) {
        struct str head = str_trim(line);

        if (str_starts(head, STR("[")))
            is_free = is_dependency_table(head);
        if (is_free || !head.len)
            continue;
        sha256_add(hash, line);
        sha256_add(hash, STR("\n"));
    }
}

static void hash_orders(const char *path, char ret[static SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf text = {0};
    struct sha256 hash;

    if (file_slurp(path, ORDERS_MAX, &text, NULL) < 0)
        return;
    sha256_init(&hash);
    if (str_ends(str_of(path), STR(".toml")))
        hash_toml_orders(buf_str(&text), &hash);
    else if (!hash_json_orders(buf_str(&text), &hash))
        return; /* it counts byte by byte */
    sha256_end(&hash, ret);
}

int inventory_read(const char *dir, const struct inventory_entry *e, struct cancel *cancel,
                   char ret_sha256[static SHA256_HEX + 1], struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(dir, e->path.ptr);
    struct digest d;

    ret_sha256[0] = '\0';
    if (digest_read(AT_FDCWD, path, cancel, &d, err) < 0)
        return -1;
    if ((d.kind != DIGEST_FILE && d.kind != DIGEST_LINK) || strcmp(d.sha256, "-") == 0)
        return 0;
    memcpy(ret_sha256, d.sha256, sizeof(d.sha256));
    if (e->flags & INVENTORY_ORDERS && d.kind == DIGEST_FILE)
        hash_orders(path, ret_sha256);
    return 0;
}

static int hash_entry(struct inventory *v, const char *dir, struct inventory_entry *e,
                      struct cancel *cancel, struct err *err)
{
    char hex[SHA256_HEX + 1];

    if (inventory_read(dir, e, cancel, hex, err) < 0)
        return -1;
    e->sha256 = arena_str(&v->arena, str_of(hex));
    return 0;
}

int inventory_hash(struct inventory *v, const char *dir, struct cancel *cancel, size_t *ret_unread,
                   struct err *err)
{
    int64_t left = INVENTORY_MAX_HASHED;

    *ret_unread = 0;
    for (size_t i = 0; i < v->entries.len; i++) {
        struct inventory_entry *e = &v->entries.ptr[i];
        bool is_protected = e->flags & INVENTORY_PROTECTED;

        if (e->type == INVENTORY_OTHER || (!is_protected && e->size > INVENTORY_SMALL) ||
            e->sha256.len)
            continue;
        if (!is_protected && e->size > left) {
            ++*ret_unread;
            continue;
        }
        if (hash_entry(v, dir, e, cancel, err) < 0)
            return -1;
        if (!is_protected)
            left -= e->size;
    }
    return 0;
}

/* ---- comparing ---- */

const char *inventory_how_name(enum inventory_how h)
{
    static const char *const names[] = {"new", "gone", "changed", "mode"};

    return names[h];
}

bool inventory_looks_same(const struct inventory_entry *a, const struct inventory_entry *b)
{
    return a->type == b->type && a->mode == b->mode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns && a->ino == b->ino;
}

static int compare_entry(const struct inventory_entry *was, struct inventory *now,
                         struct inventory_entry *is, const char *dir, struct cancel *cancel,
                         inventory_change_vec *ret, struct err *err)
{
    bool is_same = inventory_looks_same(was, is) && !was->is_young;
    bool is_known = was->sha256.len && !(now->is_strict && was->flags & INVENTORY_ORDERS);

    is->flags |= was->flags;
    if (is_same) {
        is->sha256 = was->sha256;
        return 0;
    }
    if (was->type == is->type && is_known) {
        if (!is->sha256.len && hash_entry(now, dir, is, cancel, err) < 0)
            return -1;
        is_same = str_eq(was->sha256, is->sha256);
    } else {
        is_same =
            inventory_looks_same(was, is); /* a young file without a hash: all that is known */
    }
    if (is_same && !((was->mode ^ is->mode) & INVENTORY_MODE_COUNTS))
        return 0;
    vec_push(ret, ((struct inventory_change){
                      .how = is_same ? INVENTORY_MODE : INVENTORY_CHANGED, .was = was, .is = is}));
    return 0;
}

int inventory_compare(const struct inventory *was, struct inventory *now, const char *dir,
                      struct cancel *cancel, inventory_change_vec *ret, struct err *err)
{
    size_t i = 0;
    size_t j = 0;

    while (i < was->entries.len || j < now->entries.len) {
        const struct inventory_entry *a = i < was->entries.len ? &was->entries.ptr[i] : NULL;
        struct inventory_entry *b = j < now->entries.len ? &now->entries.ptr[j] : NULL;
        int order = !a ? 1 : !b ? -1 : str_cmp(a->path, b->path);

        if (order == 0 && compare_entry(a, now, b, dir, cancel, ret, err) < 0)
            return -1;
        if (order < 0 && now->is_whole)
            vec_push(ret, ((struct inventory_change){.how = INVENTORY_GONE, .was = a}));
        if (order > 0 && was->is_whole)
            vec_push(ret, ((struct inventory_change){.how = INVENTORY_NEW, .is = b}));
        i += order <= 0;
        j += order >= 0;
    }
    return 0;
}

void inventory_digest(const struct inventory *v, char ret[static SHA256_HEX + 1])
{
    struct sha256 hash;

    sha256_init(&hash);
    for (size_t i = 0; i < v->entries.len; i++) {
        const struct inventory_entry *e = &v->entries.ptr[i];
        int64_t look[] = {e->type, e->mode, e->size, e->mtime_ns, e->ctime_ns, (int64_t)e->ino};

        sha256_add(&hash, str_make(e->path.ptr, e->path.len + 1));
        sha256_add(&hash, str_make((const char *)look, sizeof(look)));
    }
    sha256_end(&hash, ret);
}

/* ---- on disk ---- */

void inventory_write(const struct inventory *v, struct jw *w)
{
    jw_array(w);
    for (size_t i = 0; i < v->entries.len; i++) {
        const struct inventory_entry *e = &v->entries.ptr[i];

        jw_array(w);
        bytes_write(w, e->path);
        jw_i64(w, e->type);
        jw_i64(w, e->flags);
        jw_i64(w, e->mode);
        jw_i64(w, e->size);
        jw_i64(w, e->mtime_ns);
        jw_i64(w, e->ctime_ns);
        jw_i64(w, (int64_t)e->ino);
        jw_bool(w, e->is_young);
        jw_str(w, e->sha256);
        bytes_write(w, e->why);
        jw_array_end(w);
    }
    jw_array_end(w);
}

static bool parse_numbers(const struct json **at, int64_t *const *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!json_i64(*at, to[i]))
            return false;
        *at = json_next(*at);
    }
    return true;
}

/* Paths are in order, and each is one of a file below the folder. */
static bool path_follows(const struct inventory *v, struct str path)
{
    size_t len = v->entries.len;

    return path.len && path.ptr[0] != '/' && str_chr(path, '\0') == path.len &&
           (!len || str_cmp(v->entries.ptr[len - 1].path, path) < 0);
}

int inventory_parse(struct inventory *v, const struct json *list, struct err *err)
{
    if (!json_is(list, JSON_ARRAY))
        return err_set(err, ERR_PROTOCOL, "the list of files cannot be read");
    JSON_EACH(list, item) {
        const struct json *at = json_first(item);
        int64_t type, flags, mode, ino;
        struct inventory_entry e = {0};
        int64_t *const numbers[] = {&type, &flags, &mode, &e.size, &e.mtime_ns, &e.ctime_ns, &ino};

        if (json_len(item) != 11 || !json_is(at, JSON_STRING))
            return err_set(err, ERR_PROTOCOL, "the list of files cannot be read");
        e.path = bytes_parse(&v->arena, json_str(at));
        at = json_next(at);
        if (!path_follows(v, e.path) || !parse_numbers(&at, numbers, ARRAY_LEN(numbers)) ||
            type < INVENTORY_FILE || type > INVENTORY_OTHER)
            return err_set(err, ERR_PROTOCOL, "the list of files cannot be read");
        e.type = (enum inventory_type)type;
        e.flags = (unsigned)flags;
        e.mode = (unsigned)mode;
        e.ino = (uint64_t)ino;
        e.is_young = json_bool(at, false);
        at = json_next(at);
        e.sha256 = arena_str(&v->arena, json_str(at));
        e.why = bytes_parse(&v->arena, json_str(json_next(at)));
        vec_push(&v->entries, e);
    }
    v->is_whole = true;
    return 0;
}
