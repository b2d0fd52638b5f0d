/*
 * inquiry: a question as mail; the answer is mail in a separate mailbox. Both threads.
 */
#include "sync/inquiry.h"

#include "base/mem.h"
#include "sync/mailbox.h"

struct inquiry_mail {
    struct mail mail;
    struct inquiry *inquiry; /* NULL: it was taken */
};

static void told_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind told_kind = {"answer", told_free};

static void inquiry_mail_free(struct mail *m)
{
    struct inquiry_mail *mail = (struct inquiry_mail *)m;

    if (mail->inquiry)
        inquiry_answer(mail->inquiry, -1);
    mem_freep(&mail);
}

static const struct mail_kind inquiry_kind = {"inquiry", inquiry_mail_free};

void inquiry_send(struct inquiry *q, struct mailbox *to)
{
    struct inquiry_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &inquiry_kind;
    m->inquiry = q;
    q->answer = mailbox_new();
    mailbox_send(to, &m->mail);
}

int inquiry_wait(struct inquiry *q, struct cancel *cancel, struct err *err)
{
    struct mail *told = NULL;

    if (mailbox_take(q->answer, cancel, /*deadline_ms=*/-1, &told, err) < 0)
        return -1;
    mail_free(told);
    mailbox_unref(q->answer);
    return 0;
}

struct inquiry *inquiry_of(struct mail *m)
{
    struct inquiry_mail *mail = (struct inquiry_mail *)m;

    return m->kind == &inquiry_kind ? TAKE_PTR(mail->inquiry) : NULL;
}

struct inquiry *inquiry_take(struct mail *m)
{
    struct inquiry *q = inquiry_of(m);

    if (q)
        mail_free(m);
    return q;
}

void inquiry_answer(struct inquiry *q, int result)
{
    struct mail *told = mem_zalloc(sizeof(*told));

    told->kind = &told_kind;
    q->result = result;
    mailbox_send(q->answer, told); /* from here on it is the asker's again */
}
