/*
 * proof_bundle: a proof for another machine. The tar holds proof.json, the verdicts and two binary
 * patches: from the commit to the baseline, and from there to the final state. They are applied to
 * an index alone, and must give the trees that proof.json names, before a single file is written.
 * Only the members that we know are unpacked, within limits. Any thread, one at a time.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "goal/origin/room.h"
#include "goal/proof/proof_parts.h"
#include "json/json.h"
#include "proc/proc.h"

#define BUNDLE_MAX_TAR (PROOF_MAX + 2 * PROOF_MAX_PATCH + ((size_t)16 << 20))
#define BUNDLE_MS ((int64_t)2 * 60 * 1000) /* for tar and the compressor */
#define BASELINE_PATCH "baseline.patch"
#define WORK_PATCH "work.patch"
#define VERDICTS "verdicts.jsonl"

static const char *const members[] = {PROOF_FILE, BASELINE_PATCH, WORK_PATCH, VERDICTS};

/* ---- programs ---- */

/* Any exit code but 0 is an error. ret_out may be NULL. */
static int run(const char *const *argv, const char *dir, const struct proof_place *place,
               size_t max, struct buf *ret_out, struct err *err)
{
    struct proc_spec spec = {.argv = argv, .dir = dir, .max_output = max, .timeout_ms = BUNDLE_MS};
    struct proc_result r = {0};
    int rc = 0;

    if (proc_run(&spec, place->cancel, &r, err) < 0)
        return -1;
    if (r.how == PROC_TIMED_OUT)
        rc = err_set(err, ERR_TIMEOUT, "%s took too long", argv[0]);
    else if (r.how != PROC_EXITED || r.code)
        rc = err_set(err, ERR_IO, "%s failed: %.*s", argv[0],
                     STR_ARG(str_clip(str_trim(buf_str(&r.err)), 300)));
    else if (r.dropped)
        rc = err_set(err, ERR_TOO_BIG, "it is larger than %zu MB", max >> 20);
    if (rc == 0 && ret_out)
        buf_move(ret_out, &r.out);
    proc_result_release(&r);
    return rc;
}

/* ---- packing ---- */

static int put(const char *dir, const char *name, struct str text, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(dir, name);

    return file_replace(path, text, 0600, err);
}

/* From a tree, or from nothing when `from` is empty. */
static int write_patch(const struct git *git, struct str from, struct str to, const char *dir,
                       const char *name, struct err *err)
{
    static const char *const empty[] = {"hash-object", "-w", "-t", "tree", "--stdin", NULL};
    const char *diff[] = {"diff-tree",    "-p",         "-r",     "--binary", "--full-index",
                          "--no-renames", "--no-color", from.ptr, to.ptr,     NULL};
    CLEANUP(buf_release) struct buf patch = {0};
    CLEANUP(buf_release) struct buf said = {0};
    CLEANUP(mem_freep) char *id = NULL;

    if (!from.len) {
        if (git_ask(git, empty, STR(""), PROOF_SMALL, &said, err) < 0)
            return -1;
        id = mem_dup(said.ptr, str_trim(buf_str(&said)).len);
        diff[7] = id;
    }
    if (git_ask(git, diff, STR(""), PROOF_MAX_PATCH, &patch, err) < 0) {
        err_prefix(err, "cannot make the patch");
        return -1;
    }
    if (secret_is_in(buf_str(&patch)))
        return err_set(err, ERR_DENIED,
                       "the work holds a secret of this machine; a bundle would give it away");
    return put(dir, name, buf_str(&patch), err);
}

static int stage(const struct proof *p, const struct origin *o, struct str verdicts,
                 const struct proof_place *place, const char *base, const char *dir,
                 struct err *err)
{
    CLEANUP(mem_freep) char *git_dir = path_join(base, "git");
    CLEANUP(mem_freep) char *index = path_join(base, "index");
    CLEANUP(buf_release) struct buf alternates = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);
    struct git git = proof_git(place, git_dir, dir, index);

    buf_addf(&alternates, "%s/objects\n", o->git_dir);
    if (o->git.has_git)
        buf_addf(&alternates, "%s/objects\n", o->git.common_dir.ptr);
    buf_add(&clean, verdicts);
    secret_scrub(&clean);
    if (file_mkdirs(dir, 0700, err) < 0 || tree_make(git_dir, err) < 0 ||
        put(git_dir, "objects/info/alternates", buf_str(&alternates), err) < 0 ||
        write_patch(&git, p->base_commit, p->base_tree, dir, BASELINE_PATCH, err) < 0 ||
        write_patch(&git, p->base_tree, p->final_tree, dir, WORK_PATCH, err) < 0 ||
        put(dir, VERDICTS, buf_str(&clean), err) < 0)
        return -1;
    return put(dir, PROOF_FILE, buf_str(&p->text), err);
}

/* zstd, or gzip where that is missing or asked for by the name of the file. */
static int compress(const char *tar, const char *file, const struct proof_place *place,
                    struct buf *ret_path, struct buf *ret, struct err *err)
{
    const char *const zstd[] = {"zstd", "-q", "-c", "--", tar, NULL};
    const char *const gzip[] = {"gzip", "-c", "--", tar, NULL};
    struct err why = {0};

    buf_adds(ret_path, file);
    if (str_ends(str_of(file), STR(".gz")))
        return run(gzip, NULL, place, BUNDLE_MAX_TAR, ret, err);
    if (run(zstd, NULL, place, BUNDLE_MAX_TAR, ret, &why) == 0)
        return 0;
    if (why.code != ERR_NOT_FOUND) {
        *err = why;
        return -1;
    }
    if (str_ends(buf_str(ret_path), STR(".zst")))
        buf_cut(ret_path, ret_path->len - 4, 4);
    buf_adds(ret_path, ".gz");
    return run(gzip, NULL, place, BUNDLE_MAX_TAR, ret, err);
}

static int pack_in(const struct proof *p, const struct origin *o, struct str verdicts,
                   const struct proof_place *place, const char *base, const char *file,
                   struct buf *ret_path, struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_join(base, "bundle");
    CLEANUP(mem_freep) char *tar = path_join(base, "bundle.tar");
    CLEANUP(buf_release) struct buf packed = {0};
    const char *const argv[] = {"tar", "-c", "--format=ustar", "--owner=0", "--group=0", "-f",
                                tar,   "--", members[0],       members[1],  members[2],  members[3],
                                NULL};

    if (stage(p, o, verdicts, place, base, dir, err) < 0 ||
        run(argv, dir, place, PROOF_SMALL, NULL, err) < 0 ||
        compress(tar, file, place, ret_path, &packed, err) < 0)
        return -1;
    return file_replace(buf_cstr(ret_path), buf_str(&packed), 0644, err);
}

int proof_pack(const struct proof *p, struct str verdicts, const struct proof_place *place,
               const char *file, struct buf *ret_path, struct err *err)
{
    CLEANUP(mem_freep) char *base = NULL;
    struct origin *o = NULL;
    int r;

    if (origin_read(p->folder, place->environ, json_get_str(p->root, "origin_sha256"), &o, err) < 0)
        return -1;
    base = proof_temp(place, err);
    r = base ? pack_in(p, o, verdicts, place, base, file, ret_path, err) : -1;
    if (base)
        room_remove(base);
    origin_free(o);
    return r;
}

/* ---- unpacking ---- */

static int unpack(const char *file, const char *base, const struct proof_place *place,
                  struct err *err)
{
    CLEANUP(mem_freep) char *tar = path_join(base, "bundle.tar");
    CLEANUP(mem_freep) char *dir = path_join(base, "bundle");
    CLEANUP(buf_release) struct buf packed = {0};
    CLEANUP(buf_release) struct buf plain = {0};
    const char *const zstd[] = {"zstd", "-q", "-d", "-c", "--", file, NULL};
    const char *const gzip[] = {"gzip", "-d", "-c", "--", file, NULL};
    const char *const extract[] = {"tar",
                                   "-x",
                                   "--no-same-owner",
                                   "--no-same-permissions",
                                   "-f",
                                   tar,
                                   "--",
                                   members[0],
                                   members[1],
                                   members[2],
                                   members[3],
                                   NULL};
    bool is_gzip;

    if (file_slurp(file, BUNDLE_MAX_TAR, &packed, err) < 0)
        return -1;
    is_gzip = str_starts(buf_str(&packed), STR("\x1f\x8b"));
    if (!is_gzip && !str_starts(buf_str(&packed), STR("\x28\xb5\x2f\xfd")))
        return err_set(err, ERR_BAD_INPUT, "'%s' is not a bundle: it is neither zstd nor gzip",
                       file);
    if (run(is_gzip ? gzip : zstd, NULL, place, BUNDLE_MAX_TAR, &plain, err) < 0 ||
        file_mkdirs(dir, 0700, err) < 0 || file_replace(tar, buf_str(&plain), 0600, err) < 0 ||
        run(extract, dir, place, PROOF_SMALL, NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, members[i]);
        struct stat st;

        if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)PROOF_MAX_PATCH)
            return err_set(err, ERR_BAD_INPUT, "'%s' is not a bundle: %s is no file of a fair size",
                           file, members[i]);
    }
    return 0;
}

int proof_bundle_open(struct proof_bundle *b, const char *file, const struct proof_place *place,
                      struct err *err)
{
    CLEANUP(mem_freep) char *dir = NULL;

    *b = (struct proof_bundle){.proof = PROOF_INIT};
    b->base = proof_temp(place, err);
    if (!b->base || unpack(file, b->base, place, err) < 0)
        return -1;
    dir = path_join(b->base, "bundle");
    return proof_read(&b->proof, dir, err);
}

void proof_bundle_close(struct proof_bundle *b)
{
    if (b->base)
        room_remove(b->base);
    mem_freep(&b->base);
    proof_release(&b->proof);
}

/* ---- verifying ---- */

/* Where the repository keeps its objects; "" when it is none. */
static int find_objects(const char *repo, const struct proof_place *place, struct buf *ret,
                        struct err *err)
{
    static const char *const args[] = {"rev-parse", "--git-path", "objects", NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    struct git git = {.dir = repo,
                      .environ = place->environ,
                      .deadline_ms = git_now_ms() + PROOF_MS,
                      .cancel = place->cancel};
    struct str path;

    if (git_run(&git, args, STR(""), PROOF_SMALL, &said, err) < 0)
        return -1;
    path = str_trim(buf_str(&said.out));
    if (said.code || !path.len)
        return git_failed(&said, "rev-parse", err);
    if (path.ptr[0] != '/')
        buf_addf(ret, "%s/", repo);
    buf_add(ret, path);
    return 0;
}

/* Applies a patch to the index. 1: the tree is the recorded one; 0: ret->wrong lists the
 * differences. */
static int apply(const struct git *git, const char *patch, struct str want, const char *what,
                 struct proof_result *ret, struct err *err)
{
    static const char *const write_tree[] = {"write-tree", NULL};
    const char *const args[] = {"apply", "--cached", "--binary", "--whitespace=nowarn",
                                patch,   NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    CLEANUP(buf_release) struct buf id = {0};
    struct stat st;

    if (stat(patch, &st) < 0)
        return err_sys(err, ERR_IO, "cannot read '%s'", patch);
    if (st.st_size && git_run(git, args, STR(""), PROOF_SMALL, &said, err) < 0)
        return -1;
    if (said.code) {
        strv_addf(&ret->wrong, "the patch to %s does not apply: %.*s", what,
                  STR_ARG(str_clip(str_trim(buf_str(&said.complaint)), 300)));
        return 0;
    }
    if (git_ask(git, write_tree, STR(""), PROOF_SMALL, &id, err) < 0)
        return -1;
    if (str_eq(str_trim(buf_str(&id)), want))
        return 1;
    strv_addf(&ret->wrong, "the patch does not give %s that was recorded", what);
    return 0;
}

/* The commit of the baseline, or an empty index where there was none. 1: it is there. */
static int read_commit(const struct proof *p, const struct git *git, const char *repo,
                       struct proof_result *ret, struct err *err)
{
    const char *const commit[] = {"read-tree", p->base_commit.ptr, NULL};
    const char *const empty[] = {"read-tree", "--empty", NULL};
    CLEANUP(git_said_release) struct git_said said = {0};

    if (git_run(git, p->base_commit.len ? commit : empty, STR(""), PROOF_SMALL, &said, err) < 0)
        return -1;
    if (said.code == 0)
        return 1;
    strv_addf(&ret->wrong,
              "'%s' does not have the commit %.*s that the goal began with: it is another "
              "repository, or the commit must be fetched first",
              repo, STR_ARG(p->base_commit));
    return 0;
}

/* Checks that ask git see the commit of the baseline as HEAD, and the refs that they name. */
static int make_head(const struct proof *p, const struct proof_place *place, const char *dir,
                     const char *git_dir, struct err *err)
{
    static const char *const refresh[] = {"update-index", "-q", "--refresh", NULL};
    CLEANUP(mem_freep) char *index = path_join(git_dir, "index");
    CLEANUP(buf_release) struct buf head = BUF_INIT(256);
    struct git git = proof_git(place, git_dir, dir, index);
    struct proof_result ignored = {0};
    CLEANUP(git_said_release) struct git_said said = {0};

    if (!p->base_commit.len)
        return 0;
    buf_addf(&head, "%.*s\n", STR_ARG(p->base_commit));
    if (put(git_dir, "HEAD", buf_str(&head), err) < 0 ||
        read_commit(p, &git, dir, &ignored, err) < 0 ||
        git_run(&git, refresh, STR(""), PROOF_SMALL, &said, err) < 0)
        return -1;
    proof_result_release(&ignored);
    JSON_EACH(json_get(p->root, "refs"), v) {
        CLEANUP(git_said_release) struct git_said set = {0};
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const char *args[] = {"update-ref", "--", arena_cstr(&arena, json_get_str(v, "ref")),
                              arena_cstr(&arena, json_get_str(v, "commit")), NULL};

        /* One whose commit is not here is left out, and the check says what it misses. */
        if (strncmp(args[2], "refs/", 5) == 0 &&
            git_run(&git, args, STR(""), PROOF_SMALL, &set, err) < 0)
            return -1;
    }
    return 0;
}

/* 1: the files are there. */
static int build_state(struct proof_bundle *b, const char *repo, const char *top,
                       const struct proof_place *place, struct proof_result *ret, struct err *err)
{
    const struct proof *p = &b->proof;
    CLEANUP(mem_freep) char *git_dir = path_join(top, ".git");
    CLEANUP(mem_freep) char *index = path_join(b->base, "index");
    CLEANUP(mem_freep) char *first = path_join(p->folder, BASELINE_PATCH);
    CLEANUP(mem_freep) char *second = path_join(p->folder, WORK_PATCH);
    CLEANUP(buf_release) struct buf objects = BUF_INIT(BUF_NO_LIMIT);
    struct git git = proof_git(place, git_dir, top, index);
    int r;

    if (p->base_commit.len && find_objects(repo, place, &objects, err) < 0)
        return -1;
    buf_addc(&objects, '\n');
    if (file_mkdirs(top, 0755, err) < 0 || tree_make(git_dir, err) < 0 ||
        put(git_dir, "objects/info/alternates", buf_str(&objects), err) < 0)
        return -1;
    r = read_commit(p, &git, repo, ret, err);
    if (r > 0)
        r = apply(&git, first, p->base_tree, "the baseline", ret, err);
    if (r > 0)
        r = apply(&git, second, p->final_tree, "the final state", ret, err);
    if (r <= 0)
        return r;
    (void)unlink(index);
    if (proof_checkout(&git, p->final_tree, p->base_tree, STR(""), NULL, ret, err) < 0)
        return -1;
    return ret->wrong.len ? 0 : make_head(p, place, top, git_dir, err) < 0 ? -1 : 1;
}

static int check_state(struct proof_bundle *b, const char *dir, const struct proof_place *place,
                       struct proof_result *ret, struct err *err)
{
    CLEANUP(mem_freep) char *folder = path_join(b->base, "origin");
    CLEANUP(strv_release) struct strv none = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct origin_spec from = {
        .dir = dir,
        .folder = folder,
        .environ = place->environ,
        .globs = &none,
        .keep = &none,
        .checks = &none,
        .protects_nothing = true,
    };
    struct room_spec spec = {0};
    struct room *room = NULL;
    struct origin *o = NULL;
    int r;

    if (proof_compare(&b->proof, dir, place->cancel, ret, err) < 0 ||
        origin_take(&from, place->cancel, &o, &notes, err) < 0)
        return -1;
    spec.origin = o;
    r = goal_open_room(place->conf, place->environ, place->sandbox, &spec, place->cancel, &room,
                       err);
    if (r == 0)
        r = proof_run_checks(&b->proof, place, dir, room, ret, err);
    room_free(room);
    origin_free(o);
    return r;
}

int proof_bundle_verify(struct proof_bundle *b, const char *repo, struct proof_place *place,
                        struct sandbox *(*make_sandbox)(void *arg, const char *dir), void *arg,
                        struct proof_result *ret, struct err *err)
{
    CLEANUP(mem_freep) char *top = path_join(b->base, "work");
    CLEANUP(mem_freep)
    char *dir =
        b->proof.prefix.len ? path_join(top, b->proof.prefix.ptr) : mem_dup(top, strlen(top));
    CLEANUP(mem_freep) char *real = NULL;
    int r = build_state(b, repo, top, place, ret, err);

    if (r <= 0)
        return r;
    real = path_real(dir);
    if (!real || strcmp(real, dir) != 0 || !file_is_dir(dir))
        return err_set(err, ERR_PROTOCOL, "the recorded state has no folder '%s'",
                       b->proof.prefix.ptr);
    if (make_sandbox)
        place->sandbox = make_sandbox(arg, dir);
    return check_state(b, dir, place, ret, err);
}
