/*
 * Answers to asks; the asking is the host's.
 */
#include "agent/ask.h"

void ask_answer_release(struct ask_answer *a)
{
    buf_release(&a->message);
    buf_release(&a->input);
    buf_release(&a->permissions);
}
