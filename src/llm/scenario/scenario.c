/*
 * Plays scenarios: which step is next, which fault it plays first, and how its text is split.
 *
 * The scenario is immutable; the caller's cursor has the progress, so one scenario serves any
 * number of conversations. No clock, no input or output. Any thread; one thread per cursor.
 */
#include "llm/scenario/scenario.h"

#include "base/err.h"
#include "base/utf8.h"

void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    arena_release(&s->arena);
    free(s);
}

void scenario_freep(struct scenario **s)
{
    scenario_free(*s);
}

static size_t index_of(const struct scenario *s, const struct scenario_step *step)
{
    if (step < s->steps || step >= s->steps + s->len)
        BUG("a step of another scenario");
    return (size_t)(step - s->steps);
}

static bool was_played(const struct scenario_cursor *c, size_t i)
{
    return c->played[i / 64] >> (i % 64) & 1;
}

static bool condition_holds(const struct scenario_if *condition, const struct scenario_view *view)
{
    switch (condition->kind) {
    case IF_RESULT:
        return str_has(view->result, condition->text);
    case IF_PROMPT:
        return str_has(view->prompt, condition->text);
    case IF_SYSTEM:
        return str_has(view->system, condition->text);
    case IF_MODEL:
        return str_has(view->model, condition->text);
    }
    BUG("condition %d", (int)condition->kind);
}

static bool conditions_hold(const struct scenario_step *step, const struct scenario_view *view)
{
    for (size_t i = 0; i < step->if_count; i++) {
        if (!condition_holds(&step->ifs[i], view))
            return false;
    }
    return true;
}

const struct scenario_step *scenario_next(const struct scenario *s, const struct scenario_cursor *c,
                                          const struct scenario_view *view)
{
    for (size_t i = 0; i < s->len; i++) {
        const struct scenario_step *step = &s->steps[i];

        if ((step->sticky || !was_played(c, i)) && conditions_hold(step, view))
            return step;
    }
    return NULL;
}

static const struct scenario_fault *fault_due(const struct scenario_step *step, int64_t tries)
{
    for (size_t i = 0; i < step->fault_count; i++) {
        if (tries < step->faults[i].times)
            return &step->faults[i];
        tries -= step->faults[i].times;
    }
    return NULL;
}

const struct scenario_fault *scenario_try(const struct scenario *s, struct scenario_cursor *c,
                                          const struct scenario_step *step)
{
    size_t i = index_of(s, step);
    const struct scenario_fault *fault = fault_due(step, c->tries[i]);

    if (fault)
        c->tries[i]++;
    return fault;
}

void scenario_played(const struct scenario *s, struct scenario_cursor *c,
                     const struct scenario_step *step)
{
    size_t i = index_of(s, step);

    c->played[i / 64] |= (uint64_t)1 << (i % 64);
    c->calls++;
}

/* These come before the request is known. */
static bool is_of_connection(const struct scenario_fault *f)
{
    return f->kind == FAULT_REFUSE || f->kind == FAULT_TLS;
}

const struct scenario_fault *scenario_connection(const struct scenario *s,
                                                 struct scenario_cursor *c, bool take)
{
    for (size_t i = 0; i < s->len; i++) {
        const struct scenario_fault *fault;

        if (was_played(c, i) && !s->steps[i].sticky)
            continue;
        fault = fault_due(&s->steps[i], c->tries[i]);
        if (!fault || !is_of_connection(fault))
            return NULL;
        if (take)
            c->tries[i]++;
        return fault;
    }
    return NULL;
}

size_t scenario_left(const struct scenario *s, const struct scenario_cursor *c)
{
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++) {
        if (!s->steps[i].sticky && !was_played(c, i))
            n++;
    }
    return n;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The end of the piece that starts at `at`: after a word and the following white space. */
static size_t word_end(struct str text, size_t at)
{
    while (at < text.len && !is_space(text.ptr[at]))
        at++;
    while (at < text.len && is_space(text.ptr[at]))
        at++;
    return at;
}

static size_t chunk_end(struct str text, size_t at, size_t chunk)
{
    size_t end = at;

    while (end < text.len && end - at < chunk) {
        size_t n = utf8_decode(str_from(text, end), NULL);

        end += n ? n : 1;
    }
    return end;
}

bool scenario_piece(const struct scenario_step *step, struct str text, size_t *at, struct str *ret)
{
    size_t end;

    if (*at >= text.len)
        return false;
    end = step->chunk ? chunk_end(text, *at, step->chunk) : word_end(text, *at);
    *ret = str_make(text.ptr + *at, end - *at);
    *at = end;
    return true;
}

static int64_t tokens(size_t bytes)
{
    return (int64_t)((bytes + 3) / 4);
}

void scenario_usage(const struct scenario_step *step, const struct scenario_view *view,
                    struct llm_usage *ret)
{
    size_t said = 0, thought = 0;

    if (step->usage_mode != USAGE_MADE) {
        *ret = step->usage;
        return;
    }
    for (size_t i = 0; i < step->part_count; i++) {
        const struct scenario_part *part = &step->parts[i];

        said += part->text.len + part->name.len;
        if (part->kind == PART_THINKING)
            thought += part->text.len;
    }
    *ret = (struct llm_usage){
        .input = tokens(view->system.len + view->bytes),
        .output = tokens(said),
        .thinking = tokens(thought),
        .known = true,
    };
}

enum llm_stop scenario_stop(const struct scenario_step *step)
{
    if (step->stop != STOP_NONE)
        return step->stop;
    for (size_t i = 0; i < step->part_count; i++) {
        if (step->parts[i].kind == PART_CALL)
            return STOP_TOOL_USE;
    }
    return STOP_END_TURN;
}

void scenario_explain(const struct scenario *s, const struct scenario_cursor *c,
                      const struct scenario_view *view, struct err *err)
{
    struct str result = str_clip(view->result, 100);
    struct str prompt = str_clip(view->prompt, 100);
    size_t left = scenario_left(s, c);

    err_set(
        err, ERR_BAD_INPUT,
        "no step of %.*s answers this call (%zu answers given, %zu of %zu steps left); the last "
        "tool result is '%.*s', the prompt '%.*s'",
        STR_ARG(str_clip(s->file, 100)), c->calls, left, s->len, STR_ARG(result), STR_ARG(prompt));
}
