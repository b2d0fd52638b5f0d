/*
 * Bash: one shell command, in the foreground or begun in the background (background.h).
 *
 * The tool thread takes the command's mail as it arrives: output goes to a spool, its last lines to
 * the front ends. proc enforces the time limit; a cancel returns at once, and the command is ended
 * in the background. Runs on a tool thread; sees only its call.
 */
#include <signal.h>
#include <string.h>

#include "agent/tool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "guard/buffers.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/trial.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "proc/proc.h"
#include "tools/background.h"
#include "tools/bash.h"
#include "tools/command.h"
#include "tools/entries.h"
#include "tools/spool.h"

#define BASH_TIMEOUT_MS 120000
#define BASH_LINGER_MS 300 /* for processes left by the command */
#define BASH_PROGRESS_MS 100
#define BASH_BEAT_MS 1000 /* a command that says nothing still runs */
#define BASH_PROGRESS_BYTES ((size_t)1000)
#define BASH_PROGRESS_LINES 5
#define BASH_MAX_NOTES ((size_t)64 << 10)

static unsigned tool_bash_more_flags(const struct tool_entry *e, const struct json *args);
static int tool_bash_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_bash_entry = {
    .name = "Bash",
    .text = tool_bash_md,
    .schema = tool_bash_schema,
    .specifier = ABOUT_COMMAND,
    .more_flags = tool_bash_more_flags,
    .about = bash_about,
    .run = tool_bash_run,
};

/* A command in the foreground. */
struct bash {
    struct tool_call *call;
    char *dir; /* where it starts */
    bool moves;
    int64_t timeout_ms;
    struct mailbox *mail;
    struct proc *proc;
    struct sandbox_job *job; /* NULL: nothing confines it */
    struct spool spool;
    struct buf notes; /* for the model, a line each */
    int64_t begun_ms;
    int64_t shown_ms; /* when progress was last told; 0: never */
    bool has_news;    /* since then */
    bool is_cancelled;
    bool is_sent_away; /* to the background, by the user or a client */
    enum proc_how how;
    int code;
};

static unsigned tool_bash_more_flags(const struct tool_entry *e, const struct json *args)
{
    CLEANUP(rule_command_freep) struct rule_command *command = NULL;

    (void)e;
    if (json_get_bool(args, "run_in_background", false))
        return 0;
    command = rule_command_new(json_get_str(args, "command"));
    /* `cd src` changes nothing on disk, but decides where later calls work, and not twice. */
    if (!rule_command_is_read_only(command) || rule_command_moves(command))
        return 0;
    return TOOL_READ_ONLY | TOOL_CONCURRENT;
}

void bash_about(const struct tool_entry *e, struct workspace *w, const struct json *args,
                struct arena *arena, struct rule_subject *ret)
{
    (void)e;
    (void)w;
    (void)arena; /* the command lives as long as the args */
    *ret = (struct rule_subject){
        .tool = STR("Bash"),
        .about = ABOUT_COMMAND,
        .text = json_get_str(args, "command"),
        .args = args,
    };
}

/* It has been allowed already: by a rule, a mode or the user. *ret is NULL when it runs as the
 * user's own commands do. */
static int bash_enter_sandbox(struct tool_call *call, struct sandbox_job **ret, struct err *err)
{
    struct sandbox *sandbox = sandbox_in_force(call->sandbox, call->permit);

    *ret = NULL;
    if (call->trial)
        return trial_enter(call->trial, ret, err);
    switch (sandbox_side(sandbox, json_get_str(call->args, "command"), call->args)) {
    case SIDE_INSIDE:
    case SIDE_KEPT_IN:
        return sandbox_enter_hosts(sandbox, call->hosts, ret, err);
    default:
        return 0;
    }
}

/* The folder may have been removed since the last command. */
static int bash_find_dir(struct workspace *w, char **ret, struct buf *notes, struct err *err)
{
    CLEANUP(mem_freep) char *cwd = workspace_cwd(w);
    const char *home = workspace_dir(w);

    if (!file_is_dir(cwd)) {
        if (!file_is_dir(home))
            return err_set(err, ERR_NOT_FOUND, "the working directory '%s' does not exist", home);
        buf_addf(notes, "The working directory %s does not exist any more; it is %s now.\n", cwd,
                 home);
        workspace_set_cwd(w, home);
        mem_freep(&cwd);
        cwd = mem_dup(home, strlen(home));
    }
    *ret = TAKE_PTR(cwd);
    return 0;
}

/* The command ended in this folder; empty: in one that is gone. */
static void bash_settle_dir(struct bash *b, const char *dir)
{
    struct workspace *w = b->call->workspace;
    const char *home = workspace_dir(w);

    if (strcmp(dir, b->dir) == 0)
        return;
    if (!*dir) {
        workspace_set_cwd(w, home);
        buf_addf(&b->notes, "The working directory does not exist any more; it is %s now.\n", home);
    } else if (workspace_contains(w, dir)) {
        workspace_set_cwd(w, dir);
    } else {
        buf_addf(&b->notes,
                 "The working directory is %s again: %s is outside of the working folders.\n",
                 b->dir, dir);
    }
}

static void bash_show_progress(struct bash *b)
{
    struct tool_call *call = b->call;
    struct str line = plain_line(&b->spool.plain);
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * BASH_PROGRESS_BYTES + 1);

    b->has_news = false;
    b->shown_ms = clock_mono_ms();
    if (!call->progress)
        return;
    buf_add(&text, clip_last(&b->spool.clip, BASH_PROGRESS_BYTES, BASH_PROGRESS_LINES));
    if (line.len) {
        if (text.len)
            buf_addc(&text, '\n');
        buf_add(&text, str_clip(line, BASH_PROGRESS_BYTES));
    }
    call->progress(call, buf_str(&text));
}

static void bash_ended(struct bash *b, const struct proc_mail *pm)
{
    b->how = pm->how;
    b->code = pm->code;
    if (pm->ended_rest)
        buf_adds(&b->notes,
                 "What the command left running has been ended; use run_in_background for "
                 "what shall go on.\n");
    if (b->call->trial)
        trial_ended(b->call->trial, b->moves ? buf_cstr(&pm->bytes) : NULL,
                    pm->how == PROC_TIMED_OUT);
    else if (b->moves)
        bash_settle_dir(b, buf_cstr(&pm->bytes));
}

/* Takes one mail; false when there is no more to come. */
static bool bash_take_mail(struct bash *b)
{
    /* Under a virtual clock a deadline would be there at once, again and again. */
    int64_t deadline_ms = clock_is_virtual() ? -1
                          : b->has_news      ? b->shown_ms + BASH_PROGRESS_MS
                                        : (b->shown_ms ? b->shown_ms : b->begun_ms) + BASH_BEAT_MS;
    struct proc_mail *pm;
    struct mail *m;
    struct err err = {0};
    bool is_last;

    if (b->call->trial && trial_is_too_large(b->call->trial, clock_mono_ms()))
        proc_kill(b->proc);
    if (mailbox_take(b->mail, b->call->cancel, deadline_ms, &m, &err) < 0) {
        b->is_cancelled = err.code == ERR_CANCELLED;
        if (!b->is_cancelled)
            bash_show_progress(b);
        return !b->is_cancelled;
    }
    if (m->kind == &background_mail_kind) {
        if (b->call->trial) { /* the user is asked about the command instead */
            trial_send_away(b->call->trial);
            proc_kill(b->proc);
        } else {
            b->is_sent_away = true;
        }
        mail_free(m);
        return true;
    }
    pm = (struct proc_mail *)m;
    is_last = pm->what == PROC_EXIT;
    if (is_last) {
        bash_ended(b, pm);
    } else {
        spool_feed(&b->spool, buf_str(&pm->bytes));
        b->has_news = true;
        if (clock_mono_ms() - b->shown_ms >= BASH_PROGRESS_MS)
            bash_show_progress(b);
    }
    mail_free(m);
    return !is_last;
}

/* The first line, when there is something to be said. */
static void bash_write_verdict(const struct bash *b, struct tool_result *ret)
{
    struct buf *text = &ret->text;

    ret->is_error = true;
    if (b->is_cancelled) {
        buf_adds(text, "The command was interrupted and is being ended.\n");
        ret->stops_batch = true;
    } else if (b->how == PROC_TIMED_OUT) {
        buf_addf(text,
                 "Timed out after %.10g s and was ended. For more time set timeout (up to 600000 "
                 "ms) or use run_in_background.\n",
                 (double)b->timeout_ms / 1000);
        ret->stops_batch = true;
    } else if (b->how == PROC_KILLED) {
        buf_adds(text, "The command was ended from outside.\n");
        ret->stops_batch = true;
    } else if (b->how == PROC_SIGNALLED) {
        buf_addf(text, "Exit code %d: killed by ", 128 + b->code);
        command_add_signal(text, b->code);
        buf_addc(text, '\n');
        ret->stops_batch = true;
    } else if (b->code > 128 && b->code < 128 + NSIG) {
        buf_addf(text, "Exit code %d (as by ", b->code);
        command_add_signal(text, b->code - 128);
        buf_adds(text, ")\n");
    } else if (b->code) {
        buf_addf(text, "Exit code %d\n", b->code);
    } else {
        ret->is_error = false;
    }
}

/* The last words of a command may be about the sandbox. */
static void bash_explain(struct bash *b)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(TOOL_MAX_TEXT);
    bool has_failed = b->how != PROC_EXITED || b->code;

    if (!b->job || b->is_cancelled)
        return;
    if (b->call->hosts)
        sandbox_job_refusals(b->job, &b->call->hosts->refused);
    spool_write(&b->spool, &out);
    sandbox_job_explain(b->job, b->dir, buf_str(&out), has_failed, &b->notes);
}

static void bash_write_data(const struct bash *b, struct str out, struct tool_result *ret)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kstr(&w, "stdout", str_chomp(out)); /* as hooks and readers of transcripts know it */
    jw_kstr(&w, "stderr", buf_str(&b->notes));
    jw_kbool(&w, "interrupted", b->is_cancelled || b->how == PROC_TIMED_OUT);
    jw_kbool(&w, "isImage", false);
    jw_object_end(&w);
}

static void bash_write_result(const struct bash *b, struct tool_result *ret)
{
    struct buf *text = &ret->text;
    size_t out_at;

    bash_write_verdict(b, ret);
    out_at = text->len;
    spool_write(&b->spool, text);
    bash_write_data(b, str_from(buf_str(text), out_at), ret);
    if (text->len == out_at && !ret->is_error && !b->notes.len)
        buf_adds(text, "(no output)");
    if (b->notes.len && text->len && text->ptr[text->len - 1] != '\n')
        buf_addc(text, '\n');
    buf_add(text, buf_str(&b->notes));
    ret->is_capped = true;
}

static void bash_release(struct bash *b)
{
    sandbox_job_free(b->job);
    proc_unref(b->proc); /* cancelled: is ended in the background */
    if (b->mail)
        mailbox_close(b->mail);
    mailbox_unref(b->mail);
    spool_release(&b->spool);
    buf_release(&b->notes);
    mem_freep(&b->dir);
}

/* The structured result of a command that goes on in the background. */
static void bash_write_begun(struct str out, struct str notes, const char *id,
                             struct tool_result *ret)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kstr(&w, "stdout", out);
    jw_kstr(&w, "stderr", notes);
    jw_kbool(&w, "interrupted", false);
    jw_kbool(&w, "isImage", false);
    jw_kcstr(&w, "backgroundTaskId", id);
    jw_object_end(&w);
}

/* False: it cannot be had there, so it stays here. */
static bool bash_goes_away(struct bash *b, struct tool_result *ret)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(TOOL_MAX_TEXT);
    struct background_started started = {0};
    struct background_handover from = {
        .proc = b->proc,
        .mail = b->mail,
        .spool = &b->spool,
        .job = b->job,
        .dir = b->dir,
        .command = json_get_str(b->call->args, "command"),
        .what = json_get_str(b->call->args, "description"),
        .tool_use_id = b->call->id,
    };

    b->is_sent_away = false;
    spool_write(&b->spool, &out);
    if (background_adopt(b->call->workspace, &from, &started, /*err=*/NULL) < 0)
        return false;
    background_stand_down(b->call->workspace, b->mail);
    b->proc = NULL;
    b->mail = NULL;
    b->job = NULL;
    buf_addf(&ret->text,
             "Sent to the background while it ran, as %s. TaskOutput shows what is new; all of it "
             "goes to %s. So far:\n",
             started.id, started.path);
    buf_add(&ret->text, out.len ? buf_str(&out) : STR("(no output)"));
    bash_write_begun(buf_str(&out), buf_str(&b->notes), started.id, ret);
    ret->is_capped = true;
    mem_freep(&started.path);
    return true;
}

static int bash_run_here(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(bash_release)
    struct bash b = {
        .call = call,
        .mail = mailbox_new(),
        .timeout_ms = json_get_i64(call->args, "timeout", BASH_TIMEOUT_MS),
        .notes = BUF_INIT(BASH_MAX_NOTES),
    };
    struct command_spec command = {
        .text = json_get_str(call->args, "command"),
        .conf = call->conf,
        .timeout_ms = b.timeout_ms,
        .linger_ms = BASH_LINGER_MS,
        .tell_dir = true,
    };

    spool_init(&b.spool, call->workspace, call->id);
    if (bash_find_dir(call->workspace, &b.dir, &b.notes, err) < 0 ||
        bash_enter_sandbox(call, &b.job, err) < 0)
        return -1;
    command.dir = b.dir;
    command.job = b.job;
    b.proc = command_start(call->workspace, &command, b.mail, &b.moves, &b.notes, err);
    if (!b.proc) {
        ret->stops_batch = true;
        return -1;
    }
    b.begun_ms = clock_mono_ms();
    background_stand_by(call->workspace, call->id, b.mail);
    while (bash_take_mail(&b)) {
        if (b.is_sent_away && bash_goes_away(&b, ret))
            return 0;
    }
    background_stand_down(call->workspace, b.mail);
    spool_end(&b.spool);
    bash_explain(&b);
    bash_write_result(&b, ret);
    return 0;
}

int bash_start(struct tool_call *call, bool is_monitor, int64_t timeout_ms,
               struct background_started *ret, struct buf *notes, struct err *err)
{
    CLEANUP(mem_freep) char *dir = NULL;
    struct command_spec command = {
        .text = json_get_str(call->args, "command"),
        .conf = call->conf,
        .timeout_ms = timeout_ms,
        .linger_ms = -1,
        .keeps_stderr_apart = is_monitor,
    };
    struct background_spec spec = {
        .command = &command,
        .what = json_get_str(call->args, "description"),
        .tool_use_id = call->id,
        .is_monitor = is_monitor,
    };

    if (bash_find_dir(call->workspace, &dir, notes, err) < 0 ||
        bash_enter_sandbox(call, &command.job, err) < 0)
        return -1;
    command.dir = dir;
    return background_start(call->workspace, &spec, ret, notes, err);
}

static int bash_run_in_background(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf notes = BUF_INIT(BASH_MAX_NOTES);
    struct background_started started = {0};

    if (bash_start(call, /*is_monitor=*/false, /*timeout_ms=*/0, &started, &notes, err) < 0)
        return -1;
    buf_addf(
        &ret->text,
        "Running in the background as %s. TaskOutput shows what is new; all of it goes to %s.\n",
        started.id, started.path);
    buf_add(&ret->text, buf_str(&notes));
    bash_write_begun(STR(""), buf_str(&notes), started.id, ret);
    mem_freep(&started.path);
    return 0;
}

static int tool_bash_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct buffers *buffers = workspace_buffers(call->workspace);
    int rc;

    buffers_command_began(buffers); /* one in the background says so itself, too */
    rc = json_get_bool(call->args, "run_in_background", false)
             ? bash_run_in_background(call, ret, err)
             : bash_run_here(call, ret, err);
    buffers_command_ended(buffers);
    return rc;
}
