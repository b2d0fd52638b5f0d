/*
 * proof_take: records the state in which a goal is complete. A claim that was accepted is recorded
 * as a draft, because the turn goes on and the checks are not confirmed a second time; the draft
 * becomes the proof when the goal is complete. A goal without a proof is complete nevertheless: the
 * ledger then has the reason. On the thread of the verdict.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/secret.h"
#include "goal/goal_state.h"
#include "goal/proof/proof.h"
#include "json/jw.h"

#define HEAD_MAX ((size_t)4 << 10)

/* What git says about the workspace's own repository. */
struct own_git {
    struct buf head, commit;
};

static void own_git_release(struct own_git *s)
{
    buf_release(&s->head);
    buf_release(&s->commit);
}

/* ---- the tree ---- */

/* Ignored files that are part of the state: protected ones, and those that --keep names. */
static void find_more(const struct origin *o, const struct origin_now *now, struct strv *ret)
{
    VEC_EACH(&o->files.entries, e) {
        if (e->flags & INVENTORY_PROTECTED && !(e->flags & (INVENTORY_TREE | INVENTORY_NESTED)))
            strv_add(ret, e->path);
    }
    VEC_EACH(&now->files.entries, e) {
        if (!(e->flags & INVENTORY_NESTED) && origin_keeps(o, e->path))
            strv_add(ret, e->path);
    }
}

/* Files that the clean room did not show are no part of the state. */
static int drop_hidden(const struct git *git, const struct strv *hidden, char tree[static GIT_ID],
                       struct err *err)
{
    static const char *const drop[] = {"update-index", "-z", "--force-remove", "--stdin", NULL};
    static const char *const write_tree[] = {"write-tree", NULL};
    CLEANUP(buf_release) struct buf paths = BUF_INIT((size_t)64 << 20);
    CLEANUP(buf_release) struct buf out = {0};
    CLEANUP(buf_release) struct buf id = {0};

    for (size_t i = 0; i < hidden->len; i++) {
        buf_adds(&paths, hidden->ptr[i]);
        buf_addc(&paths, '\0');
    }
    if (!paths.len)
        return 0;
    if (buf_check(&paths, err) < 0 ||
        git_ask(git, drop, buf_str(&paths), 64 << 10, &out, err) < 0 ||
        git_ask(git, write_tree, STR(""), 64 << 10, &id, err) < 0)
        return -1;
    snprintf(tree, GIT_ID, "%.*s", STR_ARG(str_trim(buf_str(&id))));
    return 0;
}

static int keep_tree(const struct origin *o, const struct ladder *l, struct cancel *cancel,
                     char ret_tree[static GIT_ID], struct err *err)
{
    CLEANUP(strv_release) struct strv more = STRV_INIT;
    CLEANUP(buf_release) struct buf index = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = {0};
    CLEANUP(mem_freep) char *own = path_join(o->git_dir, "index");
    CLEANUP(buf_release) struct buf ref = BUF_INIT(256);
    const char *keep[] = {"update-ref", NULL, ret_tree, NULL};
    struct tree t = origin_tree(o);
    struct git git;
    int r;

    if (!o->has_tree)
        return err_set(err, ERR_UNSUPPORTED, "git was not available when the goal was set");
    buf_addf(&index, "%s-final-%d", own, (int)getpid());
    t.index = buf_cstr(&index);
    buf_addf(&ref, "refs/tenax/final-%s", l->goal_id);
    keep[1] = buf_cstr(&ref);
    find_more(o, &l->now, &more);
    (void)tree_copy_index(own, t.index, /*err=*/NULL); /* without one, every file is read */
    git = tree_git(&t, cancel);
    r = tree_forget(&t, &l->now.changes, cancel, err);
    if (r == 0)
        r = tree_take(&t, &more, cancel, ret_tree, err);
    if (r == 0)
        r = drop_hidden(&git, &l->hidden, ret_tree, err);
    if (r == 0)
        r = git_ask(&git, keep, STR(""), 64 << 10, &out, err);
    (void)unlink(t.index);
    return r;
}

/* HEAD and the index, for checks that ask git. */
static int keep_own_git(const struct origin *o, struct cancel *cancel, struct own_git *ret,
                        struct err *err)
{
    static const char *const args[] = {"rev-parse", "--quiet", "--verify", "HEAD", NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    CLEANUP(mem_freep) char *head = NULL, *index = NULL, *kept = NULL;
    struct tree t = origin_tree(o);
    struct git git = {.dir = o->dir,
                      .environ = o->environ,
                      .deadline_ms = tree_git(&t, cancel).deadline_ms,
                      .cancel = cancel};

    if (!o->git.has_git)
        return 0;
    head = path_join(o->git.git_dir.ptr, "HEAD");
    index = path_join(o->git.git_dir.ptr, "index");
    kept = path_join(o->folder, "final.index");
    (void)file_slurp(head, HEAD_MAX, &ret->head, /*err=*/NULL);
    if (git_run(&git, args, STR(""), HEAD_MAX, &said, err) < 0)
        return -1;
    if (said.code == 0)
        buf_add(&ret->commit, str_trim(buf_str(&said.out)));
    return file_exists(index) ? tree_copy_index(index, kept, err) : 0; /* none: nothing was added */
}

/* ---- proof.json ---- */

static void write_checks(struct jw *w, const struct ladder *l)
{
    jw_key(w, "checks");
    jw_array(w);
    VEC_EACH(&l->checks, c) {
        jw_object(w);
        jw_key(w, "result");
        check_write(c, w);
        goal_write_list(w, "programs", &c->trace.programs);
        goal_write_list(w, "ran", &c->trace.ran);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_protected(struct jw *w, const struct origin *o)
{
    jw_key(w, "protected");
    jw_array(w);
    VEC_EACH(&o->files.entries, e) {
        if (!(e->flags & INVENTORY_PROTECTED) || e->flags & INVENTORY_NESTED)
            continue;
        jw_object(w);
        jw_kstr(w, "path", e->path);
        jw_kbool(w, "executable", e->type == INVENTORY_FILE && e->mode & 0100);
        jw_kbool(w, "orders", e->flags & INVENTORY_ORDERS);
        jw_kstr(w, "sha256", e->sha256);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_git(struct jw *w, const struct origin *o, const char *tree,
                      const struct own_git *own)
{
    const char *top = o->git.has_git ? o->git.top.ptr : o->dir;
    size_t len = strlen(top);
    bool is_below = strncmp(o->dir, top, len) == 0 && o->dir[len] == '/';

    jw_kcstr(w, "prefix", is_below ? o->dir + len + 1 : "");
    jw_key(w, "baseline");
    jw_object(w);
    jw_kstr(w, "commit", o->git.has_git ? o->git.head : STR(""));
    jw_kcstr(w, "tree", o->tree);
    jw_object_end(w);
    jw_key(w, "final");
    jw_object(w);
    jw_kcstr(w, "tree", tree);
    jw_kstr(w, "head", buf_str(&own->head));
    jw_kstr(w, "commit", buf_str(&own->commit));
    jw_object_end(w);
    jw_key(w, "refs");
    jw_array(w);
    VEC_EACH(&o->git.pins, p) {
        jw_object(w);
        jw_kstr(w, "ref", p->ref);
        jw_kstr(w, "commit", p->id);
        jw_object_end(w);
    }
    jw_array_end(w);
}

/* The goal is held. */
static void write_proof(struct goal *g, const struct ladder *l, const struct origin *o,
                        const char *tree, const struct own_git *own, struct buf *ret)
{
    CLEANUP(buf_release) struct buf verdict = BUF_INIT(GOAL_MAX_EVENT);
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "goal_proof");
    jw_ki64(&w, "format", PROOF_FORMAT);
    jw_kcstr(&w, "goal_id", l->goal_id);
    jw_kcstr(&w, "session", g->spec.session);
    jw_kcstr(&w, "dir", o->dir);
    jw_ki64(&w, "time_ms", clock_wall_ms());
    jw_kcstr(&w, "origin_sha256", g->origin_sha256);
    jw_key(&w, "terms");
    jw_object(&w);
    jw_kstr(&w, "objective", buf_str(&l->objective));
    jw_kcstr(&w, "digest", l->terms);
    jw_kraw(&w, "options", g->row.options.len ? g->row.options : STR("{}"));
    goal_write_list(&w, "protect", &o->globs);
    goal_write_list(&w, "keep", &o->keep);
    goal_write_list(&w, "accepted", &o->accepted);
    jw_object_end(&w);
    write_git(&w, o, tree, own);
    jw_kcstr(&w, "checked_in", l->where ? l->where : "workspace");
    jw_kbool(&w, "observed", l->is_observed);
    write_checks(&w, l);
    ladder_write(g, l, /*stale=*/false, &verdict);
    if (buf_check(&verdict, /*err=*/NULL) == 0)
        jw_kraw(&w, "verdict", buf_str(&verdict));
    write_protected(&w, o);
    jw_object_end(&w);
    buf_addc(ret, '\n');
    secret_scrub(ret);
}

/* ---- when ---- */

static int take(struct goal *g, const struct ladder *l, struct cancel *cancel, struct err *err)
{
    CLEANUP(buf_release) struct buf column = BUF_INIT(GOAL_MAX_TEXT);
    CLEANUP(own_git_release)
    struct own_git own = {.head = BUF_INIT(HEAD_MAX), .commit = BUF_INIT(HEAD_MAX)};
    char tree[GIT_ID] = "";
    struct origin *o = NULL;
    int r;

    goal_enter(g);
    buf_add(&column, g->row.protect);
    goal_leave(g);
    if (ticket_take(&g->bench, cancel, err) < 0)
        return -1;
    r = goal_origin(g, buf_str(&column), &o, err);
    if (r == 0)
        r = keep_tree(o, l, cancel, tree, err);
    if (r == 0)
        r = keep_own_git(o, cancel, &own, err);
    if (r == 0) {
        goal_enter(g);
        write_proof(g, l, o, tree, &own, &g->proof.text);
        r = buf_check(&g->proof.text, err);
        goal_leave(g);
    }
    ticket_give(&g->bench);
    return r;
}

void proof_take(struct goal *g, const struct ladder *l, struct cancel *cancel)
{
    struct err err = {0};
    int r;

    goal_enter(g);
    buf_release(&g->proof.text);
    buf_init(&g->proof.text, PROOF_MAX);
    err_clear(&g->proof.why);
    snprintf(g->proof.goal_id, sizeof(g->proof.goal_id), "%s", l->goal_id);
    goal_leave(g);
    r = take(g, l, cancel, &err);
    goal_enter(g);
    if (r < 0) {
        buf_clear(&g->proof.text);
        g->proof.why = err;
    }
    goal_leave(g);
}

/* The goal is held. */
static void note_proof(struct goal *g, const char *sha256, const char *why)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(GOAL_MAX_EVENT);
    CLEANUP(mem_freep) char *folder = goal_folder(g, g->proof.goal_id);
    struct jw w;

    jw_init(&w, &data, 0);
    jw_object(&w);
    jw_kcstr(&w, "goal_id", g->proof.goal_id);
    jw_kcstr(&w, "folder", folder);
    if (why[0])
        jw_kcstr(&w, "error", why);
    else
        jw_kcstr(&w, "sha256", sha256);
    jw_object_end(&w);
    goal_note(g, "proof", buf_str(&data));
}

void proof_keep(struct goal *g, const struct ladder *l, struct cancel *cancel)
{
    CLEANUP(mem_freep) char *folder = NULL, *path = NULL;
    char sha256[SHA256_HEX + 1] = "";
    struct err err = {0};
    bool is_complete, has_draft;

    goal_enter(g);
    is_complete = g->has && g->row.status == GOAL_COMPLETE && str_is(g->row.goal_id, l->goal_id);
    has_draft = strcmp(g->proof.goal_id, l->goal_id) == 0;
    goal_leave(g);
    if (!is_complete || l->end != LADDER_MET)
        return;
    if (!l->is_confirmed || !has_draft)
        proof_take(g, l, cancel);
    folder = goal_folder(g, l->goal_id);
    path = path_join(folder, PROOF_FILE);
    goal_enter(g);
    if (!g->proof.why.text[0] && g->proof.text.len) {
        sha256_hex(buf_str(&g->proof.text), sha256);
        if (file_mkdirs(folder, 0700, &err) < 0 ||
            file_replace(path, buf_str(&g->proof.text), 0600, &err) < 0)
            g->proof.why = err;
    }
    if (g->proof.why.text[0])
        log_debug("goal", "no proof: %s", g->proof.why.text);
    note_proof(g, sha256, g->proof.why.text);
    buf_release(&g->proof.text);
    buf_init(&g->proof.text, PROOF_MAX);
    g->proof.goal_id[0] = '\0';
    goal_leave(g);
}
