/*
 * acp_files: an editor that offers fs/read_text_file or fs/write_text_file lends its buffers to the
 * session (guard/buffers.h). Tool threads mail the loop, which asks the editor; the answer is
 * mailed back. An editor that does not answer a read in time is left alone: the file on disk is
 * used.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "guard/buffers.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "json/json.h"
#include "proto/acp/acp_state.h"
#include "sync/mailbox.h"
#include "sync/thread.h"

#define FILES_READ_MS 5000
#define FILES_WRITE_MS 60000 /* the editor may run a formatter first */
#define FILES_MAX_TEXT ((size_t)10 << 20)

/* What the threads of tools have of a view. */
struct acp_files {
    atomic_int refs;
    struct mailbox *loop;
    uint64_t view;
    struct lock lock; /* guards: */
    struct strv complaints;
};

struct answer_mail {
    struct mail mail;
    struct buf text;
    struct err err;
};

static void answer_free(struct mail *m)
{
    struct answer_mail *a = (struct answer_mail *)m;

    buf_release(&a->text);
    mem_freep(&a);
}

static const struct mail_kind answer_kind = {"text of an editor", answer_free};

static void send_answer(struct mailbox *to, const struct json *result, const char *why)
{
    struct answer_mail *a = mem_zalloc(sizeof(*a));

    a->mail.kind = &answer_kind;
    buf_init(&a->text, FILES_MAX_TEXT);
    if (why)
        err_set(&a->err, ERR_IO, "%s", why);
    else
        buf_add(&a->text, json_get_str(result, "content"));
    if (a->text.over)
        err_set(&a->err, ERR_TOO_BIG, "its text is longer than %zu MB", FILES_MAX_TEXT >> 20);
    mailbox_send(to, &a->mail);
}

/* ---- On the loop ---- */

struct file_mail {
    struct view_mail base;
    char *path;
    struct buf text;
    bool writes, was_asked;
    struct mailbox *answer;
};

static void take_answer(struct mailbox *answer, const struct json *result, const struct json *error,
                        bool needs_text)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(1024);

    if (error)
        buf_addf(&why, "it answered with an error: %.*s",
                 STR_ARG(str_clip(json_get_str(error, "message"), 200)));
    else if (!result)
        buf_adds(&why, "the editor has closed the connection");
    else if (needs_text && !json_is(json_get(result, "content"), JSON_STRING))
        buf_adds(&why, "its answer has no content"); /* which is not an empty text */
    send_answer(answer, result, why.len ? buf_cstr(&why) : NULL);
    mailbox_unref(answer);
}

static void on_read(void *arg, const struct json *result, const struct json *error)
{
    take_answer(arg, result, error, /*needs_text=*/true);
}

static void on_written(void *arg, const struct json *result, const struct json *error)
{
    take_answer(arg, result, error, /*needs_text=*/false);
}

static void file_mail_run(struct client_view *view, struct view_mail *mail)
{
    CLEANUP(buf_release) struct buf params = BUF_INIT(RPC_MAX_OUT);
    struct file_mail *m = (struct file_mail *)mail;
    struct jw w;

    jw_init(&w, &params, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "sessionId", view->live->id);
    jw_kcstr(&w, "path", m->path);
    if (m->writes)
        jw_kstr(&w, "content", buf_str(&m->text));
    jw_object_end(&w);
    m->was_asked = true;
    view_pump(view); /* the call that needs the file was announced before */
    (void)rpc_ask(view->client->rpc, m->writes ? "fs/write_text_file" : "fs/read_text_file",
                  buf_str(&params), m->writes ? on_written : on_read, mailbox_ref(m->answer));
}

static void file_mail_release(struct view_mail *mail)
{
    struct file_mail *m = (struct file_mail *)mail;

    if (!m->was_asked)
        send_answer(m->answer, /*result=*/NULL, "the editor has closed the session");
    mailbox_unref(m->answer);
    buf_release(&m->text);
    mem_freep(&m->path);
    mem_freep(&m);
}

void acp_files_complain(struct acp_view *v)
{
    CLEANUP(strv_release) struct strv complaints = STRV_INIT;

    if (!v->files)
        return;
    lock_take(&v->files->lock);
    complaints = v->files->complaints;
    v->files->complaints = (struct strv)STRV_INIT;
    lock_give(&v->files->lock);
    for (size_t i = 0; i < complaints.len; i++)
        acp_say_notice(v, "warning", str_of(complaints.ptr[i]));
}

static void complaint_run(struct client_view *view, struct view_mail *mail)
{
    (void)mail;
    acp_files_complain(acp_view_of(view));
}

static void complaint_release(struct view_mail *mail)
{
    mem_freep(&mail);
}

/* ---- On threads of tools ---- */

static void mail_init(struct view_mail *m, const struct acp_files *f,
                      void (*run)(struct client_view *v, struct view_mail *m),
                      void (*release)(struct view_mail *m))
{
    m->mail.kind = &view_mail_kind;
    m->view = f->view;
    m->run = run;
    m->release = release;
}

static int ask_editor(struct acp_files *f, const char *path, const struct str *text,
                      struct cancel *cancel, struct buf *ret_text, struct err *err)
{
    struct file_mail *m = mem_zalloc(sizeof(*m));
    struct mailbox *box = mailbox_new();
    struct mail *got = NULL;
    const struct answer_mail *a;
    int r = -1;

    mail_init(&m->base, f, file_mail_run, file_mail_release);
    m->path = mem_dup(path, strlen(path));
    buf_init(&m->text, FILES_MAX_TEXT);
    m->writes = text != NULL;
    if (text)
        buf_add(&m->text, *text);
    m->answer = mailbox_ref(box);
    mailbox_send(f->loop, &m->base.mail);
    if (mailbox_take(box, cancel, clock_mono_ms() + (text ? FILES_WRITE_MS : FILES_READ_MS), &got,
                     err) < 0) {
        if (err->code == ERR_TIMEOUT)
            err_set(err, ERR_TIMEOUT, "the editor did not answer");
    } else {
        a = (const struct answer_mail *)got;
        r = a->err.code ? err_set(err, a->err.code, "%s", a->err.text) : 0;
        if (r == 0 && ret_text)
            buf_add(ret_text, buf_str(&a->text));
        mail_free(got);
    }
    mailbox_close(box);
    mailbox_unref(box);
    return r;
}

static int files_read(void *arg, const char *path, struct cancel *cancel, struct buf *ret_text,
                      struct err *err)
{
    return ask_editor(arg, path, /*text=*/NULL, cancel, ret_text, err);
}

static int files_write(void *arg, const char *path, struct str text, struct cancel *cancel,
                       struct err *err)
{
    return ask_editor(arg, path, &text, cancel, /*ret_text=*/NULL, err);
}

static void files_complain(void *arg, const char *path, const char *why)
{
    struct acp_files *f = arg;
    struct view_mail *m = mem_zalloc(sizeof(*m));

    lock_take(&f->lock);
    strv_addf(&f->complaints, "%.2000s was read from disk, without unsaved changes: %.200s", path,
              why);
    lock_give(&f->lock);
    mail_init(m, f, complaint_run, complaint_release);
    mailbox_send(f->loop, &m->mail);
}

static void files_ref(void *arg)
{
    atomic_fetch_add(&((struct acp_files *)arg)->refs, 1);
}

static void files_unref(void *arg)
{
    struct acp_files *f = arg;

    if (atomic_fetch_sub(&f->refs, 1) > 1)
        return;
    mailbox_unref(f->loop);
    strv_release(&f->complaints);
    lock_release(&f->lock);
    mem_freep(&f);
}

/* ---- The view ---- */

static struct buffers *buffers_of_view(const struct acp_view *v)
{
    return workspace_buffers(host_workspace(v->view->live->host));
}

void acp_files_lend(struct acp_view *v)
{
    struct buffer_lender lender = {
        .read = v->acp->reads_files ? files_read : NULL,
        .write = v->acp->writes_files ? files_write : NULL,
        .complain = files_complain,
        .ref = files_ref,
        .unref = files_unref,
    };

    if (!lender.read && !lender.write)
        return;
    v->files = mem_zalloc(sizeof(*v->files));
    atomic_init(&v->files->refs, 1);
    lock_init(&v->files->lock);
    v->files->loop = mailbox_ref(client_mailbox(v->acp->client));
    v->files->view = view_number(v->view);
    lender.arg = v->files;
    buffers_lend(buffers_of_view(v), &lender);
}

void acp_files_withdraw(struct acp_view *v)
{
    if (!v->files)
        return;
    buffers_withdraw(buffers_of_view(v), v->files);
    files_unref(v->files);
}
