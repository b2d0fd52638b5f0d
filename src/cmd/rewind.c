/*
 * rewind: go back to a message of a session: its files, the conversation, or both.
 *
 * Without --to it lists the messages. The effect on each file is printed before and after alike, by
 * the same rows (store/files/file_restore.h). Main thread.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "host/project.h"
#include "host/record/rewind.h"
#include "json/jw.h"
#include "store/files/file_history.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/transcript/entry.h"
#include "store/transcript/find.h"
#include "store/transcript/transcript.h"

#define OUT_MAX ((size_t)64 << 20)
#define NOT_COVERED "Only files that tools changed are covered, not what commands (Bash) did."

static int rewind_run(struct cmd *c);

const struct command cmd_rewind = {
    .usage =
        {
            .name = "rewind",
            .args = "[SESSION]",
            .summary = "Go back to before a message of a session",
            .details = "Restores the files, the conversation, or both, in the given session or the "
                       "newest one of this folder. Without --to it lists the messages.",
            .options = (const enum option_id[]){OPT_TO, OPT_CODE, OPT_CONVERSATION, OPT_BOTH,
                                                OPT_DRY_RUN, OPT_FORCE, OPT_JSON, OPT_COUNT},
        },
    .run = rewind_run,
};

struct rewind_run {
    struct cmd *cmd;
    const char *home;
    char *path, *folder; /* of the session */
    char session[ID_UUID_LEN + 1];
    bool files, conversation, force, is_dry, json;
    struct rewind *rewind;
};

/* ---- Which session ---- */

static int run_find(struct rewind_run *r, struct err *err)
{
    const struct strv *words = &r->cmd->args.words; /* "rewind", SESSION */
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct find_scope scope = {.home = r->home, .dir = r->cmd->dir};
    struct str name;
    int rc;

    project_key(str_of(r->cmd->dir), &key);
    scope.project = buf_str(&key);
    rc = words->len > 1 ? find_session(&scope, str_of(words->ptr[1]), r->cmd->cancel, &path, err)
                        : find_newest(&scope, /*is_free=*/false, &path, err);
    if (rc < 0)
        return -1;
    name = str_of(path_base(buf_cstr(&path)));
    if (!index_is_session(name))
        return err_set(err, ERR_BAD_INPUT, "'%s' is not named <uuid>.jsonl", buf_cstr(&path));
    memcpy(r->session, name.ptr, ID_UUID_LEN);
    r->folder = mem_dup(path.ptr, path.len - strlen(".jsonl"));
    r->path = buf_take(&path);
    return 0;
}

/* ---- The list ---- */

static void add_age(struct buf *out, int64_t time_ms)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    int64_t age = (clock_wall_ms() - time_ms) / 1000;

    if (time_ms < 0) {
        buf_adds(out, "?");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (age >= units[i].seconds) {
            buf_addf(out, "%" PRId64 " %s", age / units[i].seconds, units[i].unit);
            return;
        }
    }
    buf_adds(out, "now");
}

static void add_files(struct buf *out, size_t files)
{
    if (files)
        buf_addf(out, "%zu %s", files, files == 1 ? "file" : "files");
    else
        buf_adds(out, "-");
}

static void write_point(struct jw *w, const struct rewind_point *p, size_t number)
{
    char time[25];

    entry_time(p->time_ms, time);
    jw_object(w);
    if (number)
        jw_ki64(w, "number", (int64_t)number);
    jw_kstr(w, "uuid", p->uuid);
    jw_kcstr(w, "time", time);
    jw_kstr(w, "text", p->text);
    jw_ki64(w, "filesChangedSince", (int64_t)p->files);
    jw_kbool(w, "isRewind", p->is_undo);
    jw_object_end(w);
}

static void list_json(const struct rewind_run *r, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    jw_kcstr(&w, "session", r->session);
    jw_key(&w, "messages");
    jw_array(&w);
    for (size_t i = 0; i < rewind_count(r->rewind); i++)
        write_point(&w, rewind_at(r->rewind, i), i + 1);
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

static void list_text(const struct rewind_run *r, struct buf *out)
{
    if (!rewind_count(r->rewind)) {
        buf_addf(out, "Session %s has no messages yet.\n", r->session);
        return;
    }
    buf_addf(out, "Session %s. Files: changed by tools since.\n\n", r->session);
    for (size_t i = 0; i < rewind_count(r->rewind); i++) {
        const struct rewind_point *p = rewind_at(r->rewind, i);
        CLEANUP(buf_release) struct buf age = BUF_INIT(100);
        CLEANUP(buf_release) struct buf files = BUF_INIT(100);

        add_age(&age, p->time_ms);
        add_files(&files, p->files);
        buf_addf(out, "%4zu  %.8s  %8s  %9s  %s%.*s%s\n", i + 1, p->uuid.ptr, buf_cstr(&age),
                 buf_cstr(&files), p->is_undo ? "(" : "", STR_ARG(p->text), p->is_undo ? ")" : "");
    }
    buf_adds(out, "\n`tenax rewind --to N` goes back to before message N; --dry-run says what that "
                  "would do.\n");
}

/* ---- What it does ---- */

static void write_rows(struct jw *w, const struct restore_plan *plan)
{
    jw_key(w, "files");
    jw_array(w);
    VEC_EACH(&plan->rows, row) {
        jw_object(w);
        jw_kstr(w, "path", row->path);
        jw_kcstr(w, "action", restore_what_name(row->what));
        if (row->why.len)
            jw_kstr(w, "reason", row->why);
        if (restore_does(row->what)) {
            jw_ki64(w, "insertions", (int64_t)row->added);
            jw_ki64(w, "deletions", (int64_t)row->removed);
        }
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void result_json(const struct rewind_run *r, const struct rewind_point *to,
                        const struct restore_plan *plan, const char *undo, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    jw_kcstr(&w, "session", r->session);
    jw_key(&w, "to");
    write_point(&w, to, /*number=*/0);
    jw_kbool(&w, "dryRun", r->is_dry);
    jw_kbool(&w, "conversation", r->conversation);
    if (plan)
        write_rows(&w, plan);
    if (undo)
        jw_kcstr(&w, "undo", undo);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

static void add_row(const struct rewind_run *r, const struct restore_row *row, struct buf *out)
{
    size_t dir_len = strlen(r->cmd->dir);
    bool inside = str_starts(row->path, str_of(r->cmd->dir)) && row->path.ptr[dir_len] == '/';

    buf_addf(out, "  %-9s %s", restore_what_name(row->what),
             row->path.ptr + (inside ? dir_len + 1 : 0));
    if (restore_does(row->what))
        buf_addf(out, "  +%zu -%zu", row->added, row->removed);
    if (row->why.len)
        buf_addf(out, "  (%.*s)", STR_ARG(row->why));
    buf_addc(out, '\n');
}

static void result_text(const struct rewind_run *r, const struct rewind_point *to,
                        const struct restore_plan *plan, const char *undo, struct buf *out)
{
    bool conflicts = false;

    buf_addf(out, "%s to before: %.*s\n", r->is_dry ? "Would go back" : "Went back",
             STR_ARG(to->text));
    if (plan) {
        VEC_EACH(&plan->rows, row) {
            conflicts |= row->what == RESTORE_CONFLICT;
            add_row(r, row, out);
        }
        if (!plan->rows.len)
            buf_adds(out, "  no tool has changed a file since\n");
        if (conflicts)
            buf_adds(out, "Files with a conflict are left as they are; --force sets them back, "
                          "too.\n");
        buf_adds(out, NOT_COVERED "\n");
    }
    if (r->conversation)
        buf_addf(out, "The conversation %s there; later messages stay in the file.\n",
                 r->is_dry ? "would continue" : "continues");
    if (undo)
        buf_addf(out, "To undo this: tenax rewind %.8s --to %.8s\n", r->session, undo);
}

/* Something that was wanted could not be done. */
static bool is_incomplete(const struct restore_plan *plan)
{
    VEC_EACH(&plan->rows, row) {
        if (row->what != RESTORE_UNCHANGED && !restore_does(row->what))
            return true;
    }
    return false;
}

static int write_fact(void *arg, struct str lines, struct err *err)
{
    return transcript_fact(arg, lines, err);
}

static int run_do(struct rewind_run *r, const struct rewind_point *to,
                  char ret_undo[ID_UUID_LEN + 1], struct err *err)
{
    struct transcript *transcript = transcript_new(r->path, SYNC_ALWAYS);
    struct file_history *history = file_history_new(r->folder, write_fact, transcript);
    struct file_changes changes;
    struct entry_head head;
    struct rewind_order order = {
        .files = r->files,
        .conversation = r->conversation,
        .force = r->force,
        .transcript = transcript,
        .history = history,
        .head = &head,
    };
    int rc = rewind_changes(r->rewind, &changes, err);

    if (rc == 0) {
        file_history_recall(history, &changes);
        rewind_head(r->rewind, &head);
        rc = rewind_do(r->rewind, to, &order, ret_undo, err);
    }
    file_history_free(history);
    transcript_free(transcript);
    return rc;
}

static int run_go(struct rewind_run *r, struct buf *out, struct err *err)
{
    const struct rewind_point *to;
    const struct restore_plan *plan = NULL;
    char undo[ID_UUID_LEN + 1] = "";

    if (rewind_find(r->rewind, str_of(args_get(&r->cmd->args, OPT_TO)), &to, err) < 0)
        return -1;
    if (r->is_dry) {
        if (r->files)
            plan = rewind_plan(r->rewind, to, r->force);
    } else {
        if (run_do(r, to, undo, err) < 0)
            return -1;
        if (r->files)
            plan = rewind_planned(r->rewind);
    }
    if (r->json)
        result_json(r, to, plan, undo[0] ? undo : NULL, out);
    else
        result_text(r, to, plan, undo[0] ? undo : NULL, out);
    return plan && is_incomplete(plan);
}

/* 0; 1 if not everything could be done; -1. Locks the session before reading it, since another
 * process could add lines. */
static int run_held(struct rewind_run *r, struct buf *out, struct err *err)
{
    struct hold *hold = NULL;
    bool goes = r->cmd->args.given[OPT_TO];
    int rc = 0;

    if (goes && !r->is_dry && hold_take(r->home, r->session, "", &hold, err) < 0) {
        if (err->code == ERR_BUSY)
            return err_set(err, ERR_BUSY,
                           "session %.8s is open in another process: end it first, or send "
                           "rewind_files to its control socket",
                           r->session);
        return -1;
    }
    rc = rewind_open(r->path, r->folder, r->cmd->cancel, &r->rewind, err);
    if (rc == 0 && goes) {
        rc = run_go(r, out, err);
    } else if (rc == 0) {
        if (r->json)
            list_json(r, out);
        else
            list_text(r, out);
    }
    hold_give(hold);
    return rc;
}

static int run_options(struct rewind_run *r)
{
    const bool *given = r->cmd->args.given;
    static const enum option_id only_to[] = {OPT_CODE, OPT_CONVERSATION, OPT_BOTH, OPT_DRY_RUN,
                                             OPT_FORCE};

    r->files = given[OPT_CODE] || given[OPT_BOTH] || !given[OPT_CONVERSATION];
    r->conversation = given[OPT_CONVERSATION] || given[OPT_BOTH] || !given[OPT_CODE];
    r->force = given[OPT_FORCE];
    r->is_dry = given[OPT_DRY_RUN];
    r->json = given[OPT_JSON];
    for (size_t i = 0; !given[OPT_TO] && i < ARRAY_LEN(only_to); i++) {
        if (given[only_to[i]]) {
            say("--%s needs --to MESSAGE", option_table()[only_to[i]].name);
            return EXIT_USAGE;
        }
    }
    if (r->cmd->args.words.len > 2) {
        say("usage: tenax rewind [SESSION] [--to MESSAGE] [--code|--conversation|--both] "
            "[--dry-run] [--force] [--json]");
        return EXIT_USAGE;
    }
    return 0;
}

static int run_say(const struct rewind_run *r, const struct buf *out)
{
    int code = EXIT_OK;

    (void)(r->json ? say_out : say_live)(buf_str(out), r->cmd->cancel, &code);
    return code;
}

static int rewind_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(buf_release) struct buf out = BUF_INIT(OUT_MAX);
    struct rewind_run r = {.cmd = c};
    struct err err = {0};
    int code = cmd_conf(c, &conf);
    int rc;

    if (code)
        return code;
    code = run_options(&r);
    if (code)
        return code;
    r.home = conf_home(conf);
    rc = run_find(&r, &err);
    if (rc == 0)
        rc = run_held(&r, &out, &err);
    if (rc < 0) {
        bool signalled = err.code == ERR_CANCELLED && cmd_signal_code();

        if (!signalled)
            say_error(&err);
        code = signalled ? cmd_signal_code() : EXIT_FAILED;
    } else {
        code = run_say(&r, &out);
        if (!code && rc)
            code = EXIT_FAILED;
    }
    rewind_free(r.rewind);
    mem_freep(&r.path);
    mem_freep(&r.folder);
    return code;
}
