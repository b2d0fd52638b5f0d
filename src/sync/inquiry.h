/*
 * A synchronous question to another thread, sent by mail.
 *
 * It is on the stack of the asking thread and is answered exactly once: by the receiver, or with -1
 * if the receiver is gone. It belongs to the receiver until it is answered. A question with more
 * data is a struct whose first member is a struct inquiry:
 *
 *     struct front_request { struct inquiry inquiry; ... };
 *     inquiry_send(&r.inquiry, ui);
 *     (void)inquiry_wait(&r.inquiry, NULL, err);       the asker; then r.inquiry.result
 *     r = (struct front_request *)inquiry_take(m);     the receiver; then inquiry_answer()
 */
#pragma once

struct cancel;
struct err;
struct mail;
struct mailbox;

struct inquiry {
    struct mailbox *answer;
    int result; /* valid after the answer */
};

void inquiry_send(struct inquiry *q, struct mailbox *to);
/* Waits for the answer. -1: cancel was set first; the caller must make the receiver answer, and
 * wait again. cancel may be NULL. */
int inquiry_wait(struct inquiry *q, struct cancel *cancel, struct err *err);

/* NULL if the mail is something else. Otherwise frees the mail; the question must be answered. */
struct inquiry *inquiry_take(struct mail *m);
/* The same, but the caller frees the mail. */
struct inquiry *inquiry_of(struct mail *m);
void inquiry_answer(struct inquiry *q, int result);
