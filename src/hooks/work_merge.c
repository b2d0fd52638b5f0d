/*
 * work_merge: merges the results of handlers into the outcome one after the other, and reports
 * their ends to observers. Nothing here waits.
 */
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "hooks/handler.h"
#include "hooks/handler_call.h"
#include "hooks/point.h"
#include "hooks/work.h"

#define WORK_MAX_SHELL ((size_t)32 << 10) /* bytes of CLAUDE_ENV_FILE, of all together */

/* Applies an objection of a model or function. */
static void merge_objection(const struct work *w, const struct handler_call_result *result,
                            enum hook_event event, struct hook_outcome *io)
{
    const struct handler_spec *spec = hook_handler_spec(w->handler);
    enum point_judged judged = point_of(event)->judged;
    struct str reason = result->reason.len ? buf_str(&result->reason)
                                           : STR("A hook objects, and does not say why.");

    if (spec->type == HANDLER_FUNCTION) {
        output_object(event, reason, io);
        return;
    }
    if (result->verdict == VERDICT_IMPOSSIBLE && judged == JUDGED_DENIES) {
        /* sending it back to the model is pointless: the user must decide */
        hook_outcome_say(io, &io->message, reason);
        return;
    }
    if (judged == JUDGED_ENDS_UNLESS)
        judged = spec->flags & HANDLER_CONTINUE_ON_BLOCK ? JUDGED_DENIES : JUDGED_ENDS;
    if (judged == JUDGED_DENIES)
        hook_outcome_decide(io, HOOK_DENY, reason);
    if (judged == JUDGED_ENDS)
        hook_outcome_stop(io, reason);
}

/* A server's answer must be empty or JSON. */
static struct output answer_output(const struct handler_call_result *result)
{
    struct str body = str_trim(buf_str(&result->answer));
    struct output output = {.end = OUTPUT_EXITED, .out = body};

    if (result->rc < 0 || (body.len && !str_starts(body, STR("{")))) {
        output.end = OUTPUT_FAILED;
        output.err = result->rc < 0 ? str_of(result->err.text)
                                    : STR("the server's answer is no JSON object");
    }
    return output;
}

static struct output work_output(const struct work *w)
{
    return (struct output){
        .end = w->end,
        .code = w->code,
        .out = w->is_stray ? output_behind_async(buf_str(&w->out)) : buf_str(&w->out),
        .err = buf_str(&w->err),
        .cut = w->out.over,
    };
}

static int merge_handler_call(const struct work *w, enum hook_event event, struct hook_outcome *io,
                              struct err *err)
{
    struct handler_call_result *result =
        w->state == WORK_ENDED ? handler_call_result(w->call) : NULL;

    if (!result || w->is_late)
        return err_set(err, ERR_TIMEOUT, "it took too long and was ended");
    if (hook_handler_spec(w->handler)->type == HANDLER_HTTP) {
        struct output answer = answer_output(result);

        return output_merge(&answer, event, hook_handler_spec(w->handler)->flags, io, err);
    }
    if (result->rc < 0)
        return err_set(err, ERR_IO, "%s", result->err.text);
    if (result->verdict != VERDICT_FINE)
        merge_objection(w, result, event, io);
    return 0;
}

static int merge_work(const struct work *w, const struct hook_input *in, struct hook_outcome *io,
                      struct err *err)
{
    const struct handler_spec *spec = hook_handler_spec(w->handler);
    struct output output = work_output(w);

    /* A guard that could not be given the call has not approved it. */
    if (w->end == OUTPUT_NOT_STARTED && in->event == HOOK_PRE_TOOL_USE &&
        in->json.len >= WORK_MAX_INPUT) {
        hook_outcome_decide(io, HOOK_DENY, STR("The input is too long to be shown to a hook."));
        return 0;
    }
    if (w->is_stray || (spec->flags & HANDLER_ASYNC && w->end == OUTPUT_EXITED))
        return 0;
    return w->call ? merge_handler_call(w, in->event, io, err)
                   : output_merge(&output, in->event, spec->flags, io, err);
}

/* Takes the shell lines for later commands. */
static int merge_shell(const struct work *w, struct hook_outcome *io, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(WORK_MAX_SHELL);

    if (!w->shell_path.len || w->end != OUTPUT_EXITED)
        return 0;
    if (file_slurp(buf_cstr(&w->shell_path), WORK_MAX_SHELL, &text, err) < 0)
        return err_prefix(err, "its CLAUDE_ENV_FILE is not used");
    if (io->shell.len + text.len > WORK_MAX_SHELL || str_chr(buf_str(&text), '\0') < text.len)
        return err_set(err, ERR_BAD_INPUT, "its CLAUDE_ENV_FILE is not used: %s",
                       io->shell.len + text.len > WORK_MAX_SHELL
                           ? "all of them hold more than 32 KB"
                           : "it holds a NUL character");
    buf_add(&io->shell, str_trim(buf_str(&text)));
    if (io->shell.len && text.len)
        buf_addc(&io->shell, '\n');
    return 0;
}

int works_merge(const works *list, const struct hook_input *in, struct hook_outcome *io,
                struct err *err)
{
    struct err first = {0};
    size_t failed = 0;

    VEC_EACH(list, w) {
        struct str title = hook_handler_title(w->handler);
        struct err one = {0};
        int r = merge_work(w, in, io, &one);

        if (r == 0)
            r = merge_shell(w, io, &one);
        log_debug("hooks", "%s %s: %.*s: %s", hook_event_name(in->event),
                  handler_type_name(hook_handler_spec(w->handler)->type), STR_ARG(title),
                  r < 0 ? one.text : "done");
        if (r < 0 && failed++ == 0)
            err_set(&first, one.code, "%.*s: %s", STR_ARG(title), one.text);
    }
    if (!failed)
        return 0;
    if (failed > 1)
        return err_set(err, first.code, "%s (and %zu more)", first.text, failed - 1);
    return err_set(err, first.code, "%s", first.text);
}

/* --- told ----------------------------------------------------------------------------------- */

static enum hook_end handler_call_end(const struct work *w, enum hook_event event)
{
    CLEANUP(hook_outcome_release) struct hook_outcome alone = HOOK_OUTCOME_INIT;
    struct output answer;
    struct err err = {0};

    if (w->is_late)
        return HOOK_CANCELLED;
    if (hook_handler_spec(w->handler)->type != HANDLER_HTTP)
        return handler_call_result(w->call)->rc < 0 ? HOOK_ERROR : HOOK_SUCCESS;
    answer = answer_output(handler_call_result(w->call));
    return output_merge(&answer, event, /*flags=*/0, &alone, &err) < 0 ? HOOK_ERROR : HOOK_SUCCESS;
}

void work_tell_end(struct work *w, const struct hook_input *in)
{
    struct hook_news how = {.end = HOOK_CANCELLED};

    if (!w->sight.watch)
        return;
    if (w->state == WORK_ENDED && !w->call) {
        struct output output = work_output(w);

        output_tell(&output, in->event, &w->sight);
        return;
    }
    if (w->state == WORK_ENDED) {
        const struct handler_call_result *result = handler_call_result(w->call);

        how.end = handler_call_end(w, in->event);
        how.out = result->answer.len ? buf_str(&result->answer) : buf_str(&result->reason);
        how.err = str_of(result->err.text);
    } else {
        how.out = buf_str(&w->out);
        how.err = buf_str(&w->err);
    }
    hook_sight_end(&w->sight, &how);
}
