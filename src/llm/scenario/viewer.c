/*
 * The view of a scenario on a conversation, updated with each message, so that the conversation
 * need not be stored. Any thread; one thread per viewer.
 */
#include "llm/scenario/viewer.h"

void viewer_init(struct scenario_viewer *v)
{
    *v = (struct scenario_viewer){0};
    buf_init(&v->result, BUF_NO_LIMIT);
    buf_init(&v->prompt, BUF_NO_LIMIT);
    buf_init(&v->system, BUF_NO_LIMIT);
}

void viewer_release(struct scenario_viewer *v)
{
    buf_release(&v->result);
    buf_release(&v->prompt);
    buf_release(&v->system);
}

static void add_line(struct buf *b, struct str text)
{
    if (b->len && text.len)
        buf_addc(b, '\n');
    buf_add(b, text);
}

void viewer_system(struct scenario_viewer *v, struct str text)
{
    add_line(&v->system, text);
}

static void end_answer(struct scenario_viewer *v)
{
    if (v->in_answer && !v->called)
        buf_clear(&v->prompt);
    v->in_answer = false;
}

void viewer_user(struct scenario_viewer *v, struct str text)
{
    end_answer(v);
    add_line(&v->prompt, text);
    v->bytes += text.len;
}

void viewer_result(struct scenario_viewer *v, struct str text)
{
    end_answer(v);
    add_line(&v->result, text);
    v->bytes += text.len;
}

void viewer_said(struct scenario_viewer *v, struct str text)
{
    if (!v->in_answer)
        v->called = false;
    v->in_answer = true;
    buf_clear(&v->result);
    v->bytes += text.len;
}

void viewer_called(struct scenario_viewer *v)
{
    viewer_said(v, STR(""));
    v->called = true;
}

struct scenario_view viewer_view(struct scenario_viewer *v, struct str model)
{
    end_answer(v);
    return (struct scenario_view){
        .result = buf_str(&v->result),
        .prompt = buf_str(&v->prompt),
        .system = buf_str(&v->system),
        .model = model,
        .bytes = v->bytes,
    };
}
