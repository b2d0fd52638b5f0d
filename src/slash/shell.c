/*
 * shell: one command to its end; and the row of what is typed behind "!", which is in no list.
 */
#include "slash/shell.h"

#include "agent/agent.h"
#include "agent/sandbox.h"
#include "agent/workspace.h"
#include "base/err.h"
#include "base/id.h"
#include "base/plain.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "host/host.h"
#include "llm/message.h"
#include "proc/proc.h"
#include "slash/inside.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"
#include "tools/command.h"

#define SHELL_LINGER_MS 500

void shell_result_release(struct shell_result *r)
{
    buf_release(&r->out);
    buf_release(&r->err);
}

static void add_lines(void *arg, struct str text)
{
    struct buf *to = arg;
    struct str fits = str_clip(text, SHELL_MAX_OUTPUT > to->len ? SHELL_MAX_OUTPUT - to->len : 0);

    buf_add(to, fits);
}

/* Both streams, made plain on the way; until the end. */
static int watch(struct mailbox *from, struct cancel *cancel, struct shell_result *ret,
                 struct err *err)
{
    struct plain streams[2];
    bool over = false;
    int rc = 0;

    plain_init(&streams[0], add_lines, &ret->out);
    plain_init(&streams[1], add_lines, &ret->err);
    while (!over && rc == 0) {
        struct proc_mail *pm;
        struct mail *m;

        rc = mailbox_take(from, cancel, /*deadline_ms=*/-1, &m, err);
        if (rc < 0)
            break;
        pm = (struct proc_mail *)m;
        over = pm->what == PROC_EXIT;
        if (!over) {
            plain_feed(&streams[pm->fd == 2], buf_str(&pm->bytes));
        } else {
            ret->code = pm->how == PROC_SIGNALLED ? 128 + pm->code : pm->code;
            ret->timed_out = pm->how == PROC_TIMED_OUT;
        }
        mail_free(m);
    }
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        plain_end(&streams[i]);
        plain_release(&streams[i]);
    }
    return rc;
}

static void finish(struct buf *text)
{
    secret_scrub(text);
    if (text->len >= SHELL_MAX_OUTPUT)
        buf_adds(text, "\n… (the rest is left out)");
}

static bool is_inside(const struct sandbox *s, struct str command)
{
    enum sandbox_side side = sandbox_side(s, command, /*args=*/NULL);

    return side == SIDE_INSIDE || side == SIDE_KEPT_IN;
}

int shell_run(struct host *h, struct str command, bool confined, bool by_person,
              struct cancel *cancel, struct shell_result *ret, struct err *err)
{
    struct workspace *w = host_workspace(h);
    CLEANUP(mem_freep) char *dir = workspace_cwd(w);
    CLEANUP(buf_release) struct buf notes = BUF_INIT(4096);
    CLEANUP(sandbox_job_freep) struct sandbox_job *inside = NULL;
    struct command_spec spec = {
        .text = command,
        .dir = dir,
        .conf = host_conf(h),
        .timeout_ms = SHELL_TIMEOUT_MS,
        .linger_ms = SHELL_LINGER_MS,
        .by_person = by_person,
    };
    struct mailbox *mail;
    struct proc *proc;
    bool moves;
    int rc = -1;

    if (confined && is_inside(host_sandbox(h), command) &&
        sandbox_enter(host_sandbox(h), &inside, err) < 0)
        return -1;
    spec.job = inside;
    mail = mailbox_new();
    proc = command_start(w, &spec, mail, &moves, &notes, err);
    if (proc)
        rc = watch(mail, cancel, ret, err);
    proc_unref(proc); /* cancelled: it ends in the background */
    mailbox_close(mail);
    mailbox_unref(mail);
    finish(&ret->out);
    finish(&ret->err);
    return rc;
}

/* ---- "!" ---- */

static int shell_row_run(struct slash_call *call, struct err *err);

const struct slash_command slash_shell_entry = {
    .name = "!",
    .hint = "<command>",
    .summary = "Run a command in the shell; what it says becomes part of the conversation",
    .run = shell_row_run,
};

/* As viewers of transcripts know it; no turn begins. */
static int keep(struct slash_call *call, const struct shell_result *r, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SLASH_MAX_TEXT);
    struct agent_input in = {.no_query = true, .is_literal = true};

    buf_addf(&text,
             "<bash-input>%.*s</bash-input>\n<bash-stdout>%.*s</bash-stdout>"
             "<bash-stderr>%.*s</bash-stderr>",
             STR_ARG(call->args), STR_ARG(buf_str(&r->out)), STR_ARG(buf_str(&r->err)));
    if (cancel_is_set(call->cancel))
        buf_adds(&text, "\nInterrupted by the user");
    else if (r->timed_out)
        buf_addf(&text, "\nEnded after %d s", (int)(SHELL_TIMEOUT_MS / 1000));
    else if (r->code)
        buf_addf(&text, "\nExit code %d", r->code);
    if (buf_check(&text, err) < 0)
        return -1;
    id_uuid(in.uuid);
    in.message = message_user_text(buf_str(&text));
    return host_send(call->host, &in, err);
}

static int shell_row_run(struct slash_call *call, struct err *err)
{
    CLEANUP(shell_result_release) struct shell_result r = SHELL_RESULT_INIT;
    struct err why = {0};
    int rc;

    if (!call->args.len)
        return err_set(err, ERR_BAD_INPUT, "which command?");
    rc = shell_run(call->host, call->args, /*confined=*/false, /*by_person=*/true, call->cancel, &r,
                   &why);
    if (rc < 0 && (why.code != ERR_CANCELLED || !(r.out.len + r.err.len))) {
        *err = why;
        return -1;
    }
    slash_say(call, INK_PLAIN, buf_str(&r.out));
    slash_say(call, INK_RED, buf_str(&r.err));
    if (rc < 0) /* what was read of it is part of the conversation all the same */
        slash_say(call, INK_YELLOW, STR("\nInterrupted"));
    else if (r.timed_out)
        slash_sayf(call, INK_YELLOW, "\nEnded after %d s", (int)(SHELL_TIMEOUT_MS / 1000));
    else if (r.code)
        slash_sayf(call, INK_YELLOW, "\nExit code %d", r.code);
    return keep(call, &r, err);
}
