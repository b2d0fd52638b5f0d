/*
 * goal_proof: `tenax goal verify` runs the checks of a complete goal again, `tenax goal proof`
 * packs what that takes for another machine. A bundle of a stranger holds commands: they are shown,
 * and run only when the user agrees. Main thread.
 */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/goal.h"
#include "cmd/place.h"
#include "conf/conf.h"
#include "goal/proof/proof.h"
#include "goal/report/display.h"
#include "guard/sandbox.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/store.h"

#define PROOF_ID_BYTES 4 /* the beginning of an id has at least so many */
#define PROOF_MAX_OUT ((size_t)64 << 20)
#define PROOF_MAX_EVENTS 100000
#define PROOF_OBJECTIVE 200 /* bytes of the objective in the first line */
#define PROOF_TAIL ((size_t)2 << 10)

struct proving {
    struct cmd *cmd;
    struct conf *conf;
    struct cmd_place room; /* where checks run */
    struct proof_place place;
};

/* ---- which goal ---- */

static bool fits(const struct proof *p, struct str which, struct str dir)
{
    if (which.len)
        return str_starts(p->goal_id, which) || str_starts(p->session, which);
    return str_eq(p->dir, dir);
}

/* The newest proof that matches. Unreadable ones are named if nothing else matches. */
static int find_proof(struct proving *v, struct str which, struct proof *ret, struct err *err)
{
    CLEANUP(mem_freep) char *goals = path_join(conf_home(v->conf), "goals");
    CLEANUP(mem_freep) char *best = NULL;
    struct err unread = {0};
    int64_t best_ms = -1;
    DIR *dir = opendir(goals);
    const struct dirent *e;

    while (dir && (e = readdir(dir))) {
        CLEANUP(mem_freep) char *folder = path_join(goals, e->d_name);
        CLEANUP(proof_release) struct proof p = PROOF_INIT;
        struct err why = {0};

        if (e->d_name[0] == '.')
            continue;
        if (proof_read(&p, folder, &why) < 0) {
            if (why.code != ERR_NOT_FOUND && which.len && str_starts(str_of(e->d_name), which))
                unread = why;
            continue;
        }
        if (!fits(&p, which, str_of(v->cmd->dir)) || p.time_ms <= best_ms)
            continue;
        best_ms = p.time_ms;
        mem_freep(&best);
        best = TAKE_PTR(folder);
    }
    if (dir)
        closedir(dir);
    if (best)
        return proof_read(ret, best, err);
    if (unread.code) {
        *err = unread;
        return -1;
    }
    if (which.len)
        return err_set(err, ERR_NOT_FOUND, "no complete goal with a proof begins with '%.*s'",
                       STR_ARG(which));
    return err_set(err, ERR_NOT_FOUND,
                   "no goal of this folder is complete and has a proof; name one: tenax goal "
                   "verify ID");
}

/* The goal's own events: their verdicts as lines, and the hash of the proof. */
static int read_ledger(struct proving *v, const struct proof *p, struct buf *ret_verdicts,
                       struct buf *ret_sha256, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    goal_event_vec events = {0};
    struct store *store = NULL;
    int r = store_shared(conf_home(v->conf), v->cmd->cancel, &store, err);

    if (r == 0)
        r = store_goal_events(store, p->session, p->goal_id, /*after=*/0, PROOF_MAX_EVENTS, &arena,
                              &events, v->cmd->cancel, err);
    VEC_EACH(&events, e) {
        const struct json *data = NULL;

        if (json_parse(&arena, e->data, &data, NULL, NULL) < 0)
            continue;
        if (str_is(e->kind, "proof")) {
            buf_clear(ret_sha256);
            buf_add(ret_sha256, json_get_str(data, "sha256"));
        }
        if (ret_verdicts && str_is_word_of(e->kind, "set verdict claim status accept checks")) {
            struct jw w;

            jw_init(&w, ret_verdicts, JW_CLEAN);
            jw_object(&w);
            jw_ki64(&w, "time_ms", e->time_ms);
            jw_kstr(&w, "kind", e->kind);
            jw_kjson(&w, "data", data);
            jw_object_end(&w);
            buf_addc(ret_verdicts, '\n');
        }
    }
    vec_release(&events);
    store_free(store);
    return r;
}

/* ---- the outcome ---- */

static void write_json(const struct proof *p, const struct proof_result *r, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY | JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "goal_verify");
    jw_kstr(&w, "goal_id", p->goal_id);
    jw_kbool(&w, "reproduced", proof_holds(p, r));
    jw_kcstr(&w, "checked_in", r->where);
    jw_key(&w, "wrong");
    jw_array(&w);
    for (size_t i = 0; i < r->wrong.len; i++)
        jw_cstr(&w, r->wrong.ptr[i]);
    jw_array_end(&w);
    jw_key(&w, "checks");
    jw_array(&w);
    VEC_EACH(&r->checks, c) {
        jw_object(&w);
        jw_kbool(&w, "reproduced", c->passed);
        jw_key(&w, "result");
        check_write(c, &w);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

static void write_check(const struct check_result *c, struct buf *out)
{
    struct str rest = str_trim(buf_str(&c->tail));
    struct str line;

    buf_addf(out, "check: %.*s\n  %s %d: %s\n", STR_ARG(str_trim(buf_str(&c->command))),
             c->timed_out ? "time limit, exit code" : "exit code", c->code,
             c->passed ? "reproduced" : "not reproduced");
    if (c->passed)
        return;
    if (rest.len > PROOF_TAIL)
        rest = str_from(rest, rest.len - PROOF_TAIL);
    while (rest.len) {
        str_cut(&rest, '\n', &line);
        buf_addf(out, "  | %.*s\n", STR_ARG(line));
    }
}

/* Files that a failed check may have missed. */
static void add_hint(const struct proof *p, bool is_bundle, struct buf *out)
{
    if (is_bundle)
        buf_adds(out, "A bundle has no files that git ignores, such as installed packages; a check "
                      "that needs them must make them.\n");
    else if (str_is(json_get_str(p->root, "checked_in"), "workspace"))
        buf_adds(out, "The verdict was given in the workspace, not in a clean room: the checks saw "
                      "files that git ignores.\n");
    else
        buf_adds(out, "Files that git ignores are not recorded; those that changed since the goal "
                      "was set are hidden from the checks.\n");
}

static void write_text(const struct proof *p, const struct proof_result *r, bool is_bundle,
                       struct buf *out)
{
    CLEANUP(buf_release) struct buf objective = BUF_INIT(1024);

    goal_show_line(p->objective, PROOF_OBJECTIVE, &objective);
    buf_addf(out, "Goal %.*s: %s\n", STR_ARG(str_clip(p->goal_id, 8)), buf_cstr(&objective));
    VEC_EACH(&r->checks, c) {
        write_check(c, out);
    }
    for (size_t i = 0; i < r->wrong.len; i++)
        buf_addf(out, "wrong: %s\n", r->wrong.ptr[i]);
    if (proof_holds(p, r))
        buf_addf(out, "Reproduced in a clean room (%s).\n", r->where);
    else if (!p->checks.len && !r->wrong.len)
        buf_adds(out, "Not reproduced: the goal has no checks that could be run again.\n");
    else
        buf_adds(out, "Not reproduced.\n");
    if (!proof_holds(p, r) && r->checks.len)
        add_hint(p, is_bundle, out);
}

static int show(struct proving *v, const struct proof *p, const struct proof_result *r)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(PROOF_MAX_OUT);
    int code = proof_holds(p, r) ? EXIT_OK : EXIT_FAILED;

    if (v->cmd->args.given[OPT_JSON])
        write_json(p, r, &out);
    else
        write_text(p, r, v->cmd->args.given[OPT_BUNDLE], &out);
    (void)say_out(buf_str(&out), v->cmd->cancel, &code);
    return code;
}

/* ---- verify ---- */

static int enter(struct proving *v, const char *dir, struct err *err)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;

    if (place_make(&v->room, v->conf, dir, /*insists=*/false, &notes, err) < 0)
        return -1;
    for (size_t i = 0; i < notes.len; i++)
        say("%s", notes.ptr[i]);
    v->place.sandbox = v->room.sandbox;
    return 0;
}

/* The exit code, or -1. */
static int verify_own(struct proving *v, struct str which, struct err *err)
{
    CLEANUP(proof_release) struct proof p = PROOF_INIT;
    CLEANUP(proof_result_release) struct proof_result r = {0};
    CLEANUP(buf_release) struct buf sha256 = BUF_INIT(256);

    if (find_proof(v, which, &p, err) < 0 || read_ledger(v, &p, NULL, &sha256, err) < 0)
        return -1;
    if (!sha256.len)
        say("the ledger has no record of this proof; its session was removed");
    else if (!str_is(buf_str(&sha256), p.sha256))
        strv_addf(&r.wrong, "%s/" PROOF_FILE " was changed after it was recorded", p.folder);
    if (!r.wrong.len && (enter(v, p.dir.ptr, err) < 0 || proof_verify(&p, &v->place, &r, err) < 0))
        return -1;
    return show(v, &p, &r);
}

static struct sandbox *make_sandbox(void *arg, const char *dir)
{
    struct proving *v = arg;
    struct err err = {0};

    if (enter(v, dir, &err) < 0)
        say_error(&err);
    return v->room.sandbox;
}

/* 1: the user agrees that the commands of a bundle run here. */
static int may_run(struct proving *v, const struct proof *p, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1024);

    if (!p->checks.len)
        return 1;
    say_plain("The bundle runs these commands, with a private copy of the repository:");
    for (size_t i = 0; i < p->checks.len; i++)
        say_plain("  %s", p->checks.ptr[i]);
    if (v->cmd->args.given[OPT_YES])
        return 1;
    if (!isatty(STDIN_FILENO))
        return err_set(err, ERR_BAD_INPUT, "add --yes to run them");
    say_plain("Run them? [y/N]");
    if (cmd_read_line(v->cmd, &line, err) < 0)
        return -1;
    return str_is_word_of(str_trim(buf_str(&line)), "y Y yes Yes");
}

static int verify_bundle(struct proving *v, const char *file, const char *repo, struct err *err)
{
    CLEANUP(proof_bundle_close) struct proof_bundle b = {.proof = PROOF_INIT};
    CLEANUP(proof_result_release) struct proof_result r = {0};
    int agreed;

    if (proof_bundle_open(&b, file, &v->place, err) < 0)
        return -1;
    agreed = may_run(v, &b.proof, err);
    if (agreed <= 0)
        return agreed < 0 ? -1 : EXIT_FAILED;
    if (proof_bundle_verify(&b, repo, &v->place, make_sandbox, v, &r, err) < 0)
        return -1;
    return show(v, &b.proof, &r);
}

/* ---- proof ---- */

static int pack(struct proving *v, struct str which, const char *file, struct err *err)
{
    CLEANUP(proof_release) struct proof p = PROOF_INIT;
    CLEANUP(buf_release) struct buf verdicts = BUF_INIT(PROOF_MAX_OUT);
    CLEANUP(buf_release) struct buf sha256 = BUF_INIT(256);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    if (find_proof(v, which, &p, err) < 0 || read_ledger(v, &p, &verdicts, &sha256, err) < 0)
        return -1;
    if (sha256.len && !str_is(buf_str(&sha256), p.sha256))
        return err_set(err, ERR_PROTOCOL, "'%s/" PROOF_FILE "' was changed after it was recorded",
                       p.folder);
    if (proof_pack(&p, buf_str(&verdicts), &v->place, file, &path, err) < 0)
        return -1;
    if (strcmp(buf_cstr(&path), file) != 0)
        say("there is no zstd here: the bundle is compressed with gzip");
    say_plain("proof: %s", buf_cstr(&path));
    say_plain("To verify it: tenax goal verify --bundle %s --repo DIR", path_base(buf_cstr(&path)));
    return EXIT_OK;
}

/* ---- the request ---- */

/* Given relative to the working folder. Yours to free. */
static char *full_path(const struct cmd *c, const char *path)
{
    struct buf full = BUF_INIT(BUF_NO_LIMIT);

    if (path[0] != '/')
        path_walk(&full, str_of(c->dir));
    path_walk(&full, str_of(path));
    return buf_take(&full);
}

static int check_usage(const struct args *args, bool is_proof, struct err *err)
{
    bool has_word = args->words.len > 2;

    if (has_word && strlen(args->words.ptr[2]) < PROOF_ID_BYTES)
        return err_set(err, ERR_BAD_INPUT, "'%s' is too short: at least %d characters of an id",
                       args->words.ptr[2], PROOF_ID_BYTES);
    if (is_proof && !args->given[OPT_OUT])
        return err_set(err, ERR_BAD_INPUT, "say where to write it: --out FILE.tar.zst");
    if (args->given[OPT_OUT] && !is_proof)
        return err_set(err, ERR_BAD_INPUT, "--out belongs to 'tenax goal proof'");
    if (is_proof && (args->given[OPT_BUNDLE] || args->given[OPT_REPO]))
        return err_set(err, ERR_BAD_INPUT, "--bundle and --repo belong to 'tenax goal verify'");
    if (args->given[OPT_BUNDLE] != args->given[OPT_REPO])
        return err_set(err, ERR_BAD_INPUT,
                       "a bundle needs both: tenax goal verify --bundle FILE --repo DIR");
    if (args->given[OPT_BUNDLE] && has_word)
        return err_set(err, ERR_BAD_INPUT, "either the id of a goal, or --bundle");
    if (args->given[OPT_YES] && !args->given[OPT_BUNDLE])
        return err_set(err, ERR_BAD_INPUT, "--yes belongs to --bundle");
    return 0;
}

static int dispatch(struct proving *v, struct err *err)
{
    const struct args *args = &v->cmd->args;
    bool is_proof = strcmp(args->words.ptr[1], "proof") == 0;
    struct str which = str_of(args->words.len > 2 ? args->words.ptr[2] : "");

    if (check_usage(args, is_proof, err) < 0)
        return -1;
    if (is_proof) {
        CLEANUP(mem_freep) char *file = full_path(v->cmd, args_get(args, OPT_OUT));

        return pack(v, which, file, err);
    }
    if (args->given[OPT_BUNDLE]) {
        CLEANUP(mem_freep) char *file = full_path(v->cmd, args_get(args, OPT_BUNDLE));
        CLEANUP(mem_freep) char *repo = full_path(v->cmd, args_get(args, OPT_REPO));

        if (!file_is_dir(repo))
            return err_set(err, ERR_BAD_INPUT, "'%s' is not a folder", repo);
        return verify_bundle(v, file, repo, err);
    }
    return verify_own(v, which, err);
}

int goal_proof_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct proving v = {.cmd = c};
    struct err err = {0};
    int code = cmd_conf(c, &conf);

    if (code)
        return code;
    v.conf = conf;
    v.place = (struct proof_place){.conf = conf, .environ = environ, .cancel = c->cancel};
    code = dispatch(&v, &err);
    if (code < 0) {
        if (err.code == ERR_CANCELLED && cmd_signal_code()) {
            code = cmd_signal_code();
        } else {
            say_error(&err);
            code = err.code == ERR_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
        }
    }
    if (v.room.workspace)
        place_release(&v.room);
    return code;
}
