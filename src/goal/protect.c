/*
 * protect: what was found (protect_find.c), with the look and the hash of each, compared again
 * later. Files that look as they did are not read. Any thread; waits for the disk.
 */
#include "goal/protect.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "goal/check.h"
#include "goal/protect_find.h"
#include "goal/protect_state.h"
#include "json/json.h"
#include "sync/cancel.h"

#define PROTECT_MAX_ORDERS ((size_t)2 << 20)
#define PROTECT_MAX_SHOWN 40 /* changes in an explanation */

void protect_free(struct protect *p)
{
    if (!p)
        return;
    VEC_EACH(&p->files, f) {
        mem_freep(&f->path);
        mem_freep(&f->why);
    }
    VEC_EACH(&p->programs, it) {
        protect_program_release(it);
    }
    VEC_EACH(&p->places, it) {
        mem_freep(&it->path);
    }
    vec_release(&p->files);
    vec_release(&p->programs);
    vec_release(&p->places);
    strv_release(&p->shadows);
    mem_freep(&p->dir);
    mem_freep(&p->search);
    mem_freep(&p);
}

static void protect_freep(struct protect **p)
{
    protect_free(*p);
}

size_t protect_count(const struct protect *p)
{
    size_t count = 0;

    VEC_EACH(&p->files, f) {
        count += f->kind != PROTECT_ABSENT;
    }
    return count;
}

void protect_names(const struct protect *p, size_t max, struct strv *ret)
{
    VEC_EACH(&p->files, f) {
        if (f->kind != PROTECT_ABSENT && ret->len < max)
            strv_adds(ret, f->path);
    }
}

/* ---- one file ---- */

static int protect_open(const struct protect *p, int *ret, struct err *err)
{
    *ret = open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", p->dir);
    return 0;
}

/* Of a package.json everything but what it depends on; one that cannot be read counts byte by
 * byte. */
static void protect_orders_hash(const struct protect *p, const char *path, char ret[SHA256_HEX + 1])
{
    static const char free_keys[] = "dependencies devDependencies peerDependencies "
                                    "optionalDependencies bundledDependencies version";
    CLEANUP(mem_freep) char *absolute = path_join(p->dir, path);
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root;
    struct sha256 hash;

    if (file_slurp(absolute, PROTECT_MAX_ORDERS, &text, NULL) < 0 ||
        json_parse(&arena, buf_str(&text), &root, NULL, NULL) < 0 || !json_is(root, JSON_OBJECT))
        return;
    sha256_init(&hash);
    JSON_EACH(root, member) {
        if (str_is_word_of(json_key(member), free_keys))
            continue;
        sha256_add(&hash, json_key(member));
        sha256_add(&hash, STR("\0:"));
        sha256_add(&hash, json_raw(member));
        sha256_add(&hash, STR("\n"));
    }
    sha256_end(&hash, ret);
}

static int protect_read_file(const struct protect *p, int root, const struct protect_file *f,
                             struct cancel *cancel, struct digest *ret, struct err *err)
{
    if (digest_read(root, f->path, cancel, ret, err) < 0)
        return -1;
    if (f->kind == PROTECT_ORDERS && ret->kind == DIGEST_FILE)
        protect_orders_hash(p, f->path, ret->sha256);
    return 0;
}

/* ---- taking ---- */

static int protect_take_file(struct protect *p, int root, const struct found *found,
                             struct cancel *cancel, struct err *err)
{
    struct protect_file f = {
        .kind = found->kind == FOUND_ORDERS   ? PROTECT_ORDERS
                : found->kind == FOUND_ABSENT ? PROTECT_ABSENT
                                              : PROTECT_FILE,
        .path = found->path,
        .why = found->why,
    };

    if (protect_read_file(p, root, &f, cancel, &f.digest, err) < 0)
        return -1;
    if (f.kind == PROTECT_ABSENT ? f.digest.kind != DIGEST_GONE
                                 : f.digest.kind == DIGEST_GONE || f.digest.kind == DIGEST_OTHER)
        return 0;
    f.path = mem_dup(f.path, strlen(f.path));
    f.why = mem_dup(f.why, strlen(f.why));
    vec_push(&p->files, f);
    return 0;
}

static int protect_take_program(struct protect *p, const struct found *found, struct cancel *cancel,
                                struct err *err)
{
    struct protect_program program;
    bool is_there;

    if (protect_program_read(p, found->path, cancel, &program, &is_there, err) < 0)
        return -1;
    if (is_there) {
        program.why = mem_dup(found->why, strlen(found->why));
        vec_push(&p->programs, program);
    }
    return 0;
}

static bool protect_has_program(const struct protect *p, const char *name)
{
    VEC_EACH(&p->programs, it) {
        if (strcmp(it->name, name) == 0)
            return true;
    }
    return false;
}

/* Everything that the spec leads to and that is not there yet. */
static int protect_add(struct protect *p, const struct protect_spec *spec, struct cancel *cancel,
                       struct strv *ret_notes, struct err *err)
{
    CLEANUP(protect_find_release) struct protect_find finder = {.spec = spec, .cancel = cancel};
    CLEANUP(map_release) struct map known = MAP_INIT;
    CLEANUP(fd_closep) int root = -1;

    if (protect_open(p, &root, err) < 0 || protect_find_run(&finder, err) < 0)
        return -1;
    if (!p->search)
        p->search = mem_dup(check_path(&finder.env).ptr, check_path(&finder.env).len);
    VEC_EACH(&p->files, f) {
        map_set(&known, str_of(f->path), &known);
    }
    VEC_EACH(&finder.found, found) {
        int rc = 0;

        if (found->kind == FOUND_PROGRAM && !protect_has_program(p, found->path))
            rc = protect_take_program(p, found, cancel, err);
        else if (found->kind != FOUND_PROGRAM && !map_has(&known, str_of(found->path)))
            rc = protect_take_file(p, root, found, cancel, err);
        if (rc < 0)
            return -1;
    }
    strv_add_all(ret_notes, &finder.notes);
    return 0;
}

int protect_take(const struct protect_spec *spec, struct cancel *cancel, struct protect **ret,
                 struct strv *ret_notes, struct err *err)
{
    CLEANUP(protect_freep) struct protect *p = mem_zalloc(sizeof(*p));

    p->dir = mem_dup(spec->dir, strlen(spec->dir));
    if (protect_add(p, spec, cancel, ret_notes, err) < 0)
        return -1;
    protect_places_take(p);
    *ret = TAKE_PTR(p);
    return 0;
}

int protect_extend(struct protect *p, const struct protect_spec *spec, struct cancel *cancel,
                   struct strv *ret_notes, struct err *err)
{
    struct protect_spec more = *spec;

    more.is_named_only = true;
    return protect_add(p, &more, cancel, ret_notes, err);
}

/* ---- comparing ---- */

const char *protect_what_name(enum protect_what w)
{
    static const char *const names[] = {"changed", "gone", "replaced", "shadowed"};

    return names[w];
}

void protect_changes_release(protect_change_vec *v)
{
    VEC_EACH(v, c) {
        mem_freep(&c->path);
        mem_freep(&c->why);
    }
    vec_release(v);
}

static void protect_tell(protect_change_vec *to, enum protect_what what, const char *path,
                         const char *why)
{
    vec_push(to, ((struct protect_change){.what = what,
                                          .path = mem_dup(path, strlen(path)),
                                          .why = mem_dup(why, strlen(why))}));
}

/* Whether the file is as it was; if not, *ret_what says how. */
static int protect_compare(const struct protect *p, int root, const struct protect_file *f,
                           struct cancel *cancel, bool *ret_same, enum protect_what *ret_what,
                           struct err *err)
{
    struct digest now;

    digest_look(root, f->path, &now);
    *ret_same = true;
    if (f->kind == PROTECT_ABSENT) {
        *ret_same = now.kind == DIGEST_GONE;
        *ret_what = PROTECT_SHADOWED;
        return 0;
    }
    if (f->digest.settled && digest_same_look(&now, &f->digest))
        return 0;
    if (protect_read_file(p, root, f, cancel, &now, err) < 0)
        return -1;
    *ret_what =
        now.kind == DIGEST_GONE ? PROTECT_GONE
        : now.kind == f->digest.kind || now.kind == DIGEST_CLOSED || f->digest.kind == DIGEST_CLOSED
            ? PROTECT_CHANGED
            : PROTECT_REPLACED;
    *ret_same = now.kind == f->digest.kind && strcmp(now.sha256, f->digest.sha256) == 0 &&
                (strcmp(now.sha256, "-") != 0 || digest_same_look(&now, &f->digest));
    return 0;
}

static int protect_verify_program(const struct protect *p, const struct protect_program *program,
                                  struct cancel *cancel, protect_change_vec *to, struct err *err)
{
    struct protect_program now;
    bool is_there;

    if (protect_program_read(p, program->name, cancel, &now, &is_there, err) < 0)
        return -1;
    if (!is_there) {
        protect_tell(to, PROTECT_GONE, program->name, program->why);
        return 0;
    }
    if (strcmp(now.path, program->path) != 0 || strcmp(now.real, program->real) != 0) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&why, "%s; '%s' was '%s'", program->why, now.real, program->real);
        protect_tell(to, PROTECT_SHADOWED, program->name, buf_cstr(&why));
    } else if (now.trusted != program->trusted ||
               (!now.trusted && strcmp(now.digest.sha256, program->digest.sha256) != 0)) {
        protect_tell(to, PROTECT_CHANGED, program->name, program->why);
    }
    protect_program_release(&now);
    return 0;
}

static bool protect_has_change(const protect_change_vec *v, const char *path)
{
    VEC_EACH(v, c) {
        if (strcmp(c->path, path) == 0)
            return true;
    }
    return false;
}

static void protect_verify_places(const struct protect *p, protect_change_vec *to)
{
    CLEANUP(strv_release) struct strv shadows = STRV_INIT;

    protect_places_verify(p, &shadows);
    for (size_t i = 0; i < shadows.len; i++) {
        CLEANUP(buf_release) struct buf why = BUF_INIT(BUF_NO_LIMIT);
        const char *name = path_base(shadows.ptr[i]);

        if (protect_has_change(to, name))
            continue;
        buf_addf(&why, "'%s' now stands before another of its name in PATH", shadows.ptr[i]);
        protect_tell(to, PROTECT_SHADOWED, name, buf_cstr(&why));
    }
}

int protect_verify(const struct protect *p, struct cancel *cancel, protect_change_vec *ret,
                   struct err *err)
{
    CLEANUP(protect_changes_release) protect_change_vec changes = VEC_INIT;
    CLEANUP(fd_closep) int root = -1;

    if (protect_open(p, &root, err) < 0)
        return -1;
    VEC_EACH(&p->files, f) {
        enum protect_what what = PROTECT_CHANGED;
        bool same;

        if (protect_compare(p, root, f, cancel, &same, &what, err) < 0)
            return -1;
        if (!same)
            protect_tell(&changes, what, f->path, f->why);
    }
    VEC_EACH(&p->programs, program) {
        if (protect_verify_program(p, program, cancel, &changes, err) < 0)
            return -1;
    }
    protect_verify_places(p, &changes);
    if (cancel_check(cancel, err) < 0)
        return -1;
    *ret = changes;
    changes = (protect_change_vec)VEC_INIT;
    return 0;
}

/* ---- accepting ---- */

/* The path that is accepted: relative to dir if it is below it. Empty: all. */
static void protect_accepted(const struct protect *p, struct str path, struct buf *ret)
{
    struct str dir = str_of(p->dir);

    if (!path.len)
        return;
    if (path.ptr[0] != '/')
        path_walk(ret, dir);
    path_walk(ret, path);
    if (ret->len > dir.len && str_starts(buf_str(ret), dir) && ret->ptr[dir.len] == '/')
        buf_cut(ret, 0, dir.len + 1);
}

/* The path itself, or a folder above it. */
static bool protect_is_meant(struct str accepted, const char *path)
{
    struct str have = str_of(path);

    return !accepted.len || str_eq(accepted, have) ||
           (str_starts(have, accepted) && have.ptr[accepted.len] == '/');
}

/* As it is now, from now on. */
static int protect_accept_file(struct protect *p, int root, struct protect_file *f,
                               struct cancel *cancel, struct err *err)
{
    if (f->kind == PROTECT_ABSENT)
        f->kind = PROTECT_FILE;
    if (protect_read_file(p, root, f, cancel, &f->digest, err) < 0)
        return -1;
    if (f->digest.kind == DIGEST_GONE)
        f->kind = PROTECT_ABSENT; /* and so it stays */
    return 0;
}

static int protect_accept_files(struct protect *p, struct str accepted, struct cancel *cancel,
                                size_t *count, bool *known, struct err *err)
{
    CLEANUP(fd_closep) int root = -1;

    if (protect_open(p, &root, err) < 0)
        return -1;
    VEC_EACH(&p->files, f) {
        enum protect_what what;
        bool same;

        if (!protect_is_meant(accepted, f->path))
            continue;
        *known = true;
        if (protect_compare(p, root, f, cancel, &same, &what, err) < 0 ||
            (!same && protect_accept_file(p, root, f, cancel, err) < 0))
            return -1;
        *count += !same;
    }
    return 0;
}

static int protect_accept_programs(struct protect *p, struct str name, struct cancel *cancel,
                                   size_t *count, bool *known, struct err *err)
{
    for (size_t i = 0; i < p->programs.len; i++) {
        struct protect_program *old = &p->programs.ptr[i];
        CLEANUP(protect_changes_release) protect_change_vec changes = VEC_INIT;
        struct protect_program now;
        bool is_there;

        if (name.len && !str_is(name, old->name))
            continue;
        *known = true;
        if (protect_verify_program(p, old, cancel, &changes, err) < 0)
            return -1;
        if (!changes.len)
            continue;
        ++*count;
        if (protect_program_read(p, old->name, cancel, &now, &is_there, err) < 0)
            return -1;
        if (is_there) {
            now.why = TAKE_PTR(old->why);
            protect_program_release(old);
            *old = now;
        } else {
            protect_program_release(old);
            *old = p->programs.ptr[--p->programs.len];
            i--;
        }
    }
    return 0;
}

static void protect_accept_places(struct protect *p, struct str name, size_t *count, bool *known)
{
    CLEANUP(strv_release) struct strv shadows = STRV_INIT;

    protect_places_verify(p, &shadows);
    for (size_t i = 0; i < shadows.len; i++) {
        if (name.len && !str_is(name, path_base(shadows.ptr[i])))
            continue;
        *known = true;
        *count += !protect_has_program(p, path_base(shadows.ptr[i])); /* told once */
        strv_adds(&p->shadows, shadows.ptr[i]);
    }
}

int protect_accept(struct protect *p, struct str path, struct cancel *cancel, size_t *ret_count,
                   struct err *err)
{
    CLEANUP(buf_release) struct buf accepted = BUF_INIT(BUF_NO_LIMIT);
    size_t count = 0;
    bool known = !path.len;

    protect_accepted(p, path, &accepted);
    if (protect_accept_files(p, buf_str(&accepted), cancel, &count, &known, err) < 0 ||
        protect_accept_programs(p, path, cancel, &count, &known, err) < 0)
        return -1;
    protect_accept_places(p, path, &count, &known);
    if (!known)
        return err_set(err, ERR_NOT_FOUND, "'%.*s' is not protected", STR_ARG(path));
    *ret_count = count;
    return 0;
}

/* ---- in words ---- */

void protect_explain(const protect_change_vec *v, struct buf *ret)
{
    size_t shown = 0;

    if (v->len)
        buf_addf(ret, "%s, %s, is %s since the goal was set%s\n", v->ptr[0].path, v->ptr[0].why,
                 protect_what_name(v->ptr[0].what), v->len > 1 ? ", and not it alone:" : ".");
    VEC_EACH(v, c) {
        if (shown++ < PROTECT_MAX_SHOWN && v->len > 1)
            buf_addf(ret, "- %s: %s (%s)\n", c->path, protect_what_name(c->what), c->why);
    }
    if (shown > PROTECT_MAX_SHOWN)
        buf_addf(ret, "- and %zu more\n", shown - PROTECT_MAX_SHOWN);
    buf_adds(ret,
             "It is part of what decides whether the goal is met, so the goal cannot be completed "
             "like this. Put it back as it was and meet the goal "
             "by other means. If the change is needed, say why and leave it: only the user can "
             "accept it, with /goal accept.\n");
}
