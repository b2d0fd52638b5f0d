/*
 * A question that one thread mails to another and waits for.
 *
 * It lives on the stack of the asking thread and is answered exactly once: by the receiver, or with
 * -1 when the receiver is gone. Between sending and the answer it is the receiver's; data it points
 * to may stay the asker's. A question with more data is a struct with a struct inquiry first:
 *
 *     struct front_request { struct inquiry inquiry; ... };
 *     inquiry_send(&r.inquiry, ui);
 *     (void)inquiry_wait(&r.inquiry, NULL, err);        the asker; then r.inquiry.result
 *     r = (struct front_request *)inquiry_take(m);      the receiver; then inquiry_answer()
 */
#pragma once

struct cancel;
struct err;
struct mail;
struct mailbox;

struct inquiry {
    struct mailbox *answer;
    int result; /* once it is answered */
};

void inquiry_send(struct inquiry *q, struct mailbox *to);
/* Until it is answered. -1: cancel was set before; the caller must have the receiver answer, and
 * wait again. cancel may be NULL. */
int inquiry_wait(struct inquiry *q, struct cancel *cancel, struct err *err);

/* NULL: the mail is something else. Else the mail is freed, and the question is to be answered. */
struct inquiry *inquiry_take(struct mail *m);
/* The same where the caller frees the mail. */
struct inquiry *inquiry_of(struct mail *m);
void inquiry_answer(struct inquiry *q, int result);
