/*
 * hook_lines: the lines have the form of the reference, so that viewers of its transcripts show
 * them. Any thread; the agent guards its list.
 */
#include "agent/hook_lines.h"

#include "agent/hook_sight.h"
#include "agent/journal.h"
#include "base/err.h"
#include "base/log.h"
#include "json/jw.h"

void hook_lines_release(struct hook_lines *l)
{
    strv_release(&l->waiting);
    buf_release(&l->infos);
    buf_release(&l->errors);
}

static const char *line_type(const struct hook_news *news)
{
    switch (news->end) {
    case HOOK_SUCCESS:
        return "hook_success";
    case HOOK_CANCELLED:
        return "hook_cancelled";
    case HOOK_ERROR:
        break;
    }
    return news->has_code && news->code == 2 ? "hook_blocking_error" : "hook_non_blocking_error";
}

static void write_line(const struct hook_news *news, struct str out, struct str err,
                       struct buf *ret)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT); /* its parts are bounded */
    bool blocks = news->end == HOOK_ERROR && news->has_code && news->code == 2;
    struct jw w;

    buf_adds(&name, hook_event_name(news->event));
    if (news->subject.len)
        buf_addf(&name, ":%.*s", STR_ARG(news->subject));
    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", line_type(news));
    jw_kstr(&w, "hookName", buf_str(&name));
    jw_kstr(&w, "toolUseID", news->tool_use_id.len ? news->tool_use_id : str_of(news->id));
    jw_kcstr(&w, "hookEvent", hook_event_name(news->event));
    if (blocks) {
        jw_key(&w, "blockingError");
        jw_object(&w);
        jw_kstr(&w, "blockingError", err.len ? err : out);
        jw_kstr(&w, "command", news->title);
        jw_object_end(&w);
    } else if (news->end != HOOK_CANCELLED) {
        if (news->end == HOOK_SUCCESS) /* context for the model is in a separate line */
            jw_kcstr(&w, "content", "");
        jw_kstr(&w, "stdout", out);
        jw_kstr(&w, "stderr", err);
        if (news->has_code)
            jw_ki64(&w, "exitCode", news->code);
    }
    jw_kstr(&w, "command", news->title);
    jw_ki64(&w, "durationMs", news->duration_ms);
    jw_object_end(&w);
}

static void note_stop(struct hook_lines *l, const struct hook_news *news, struct str out,
                      struct str err)
{
    struct jw w;

    if (l->infos.len)
        buf_addc(&l->infos, ',');
    jw_init(&w, &l->infos, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "command", news->title);
    jw_ki64(&w, "durationMs", news->duration_ms);
    jw_object_end(&w);
    l->count++;
    l->has_output = l->has_output || out.len || err.len;
    if (news->end == HOOK_SUCCESS || !err.len)
        return;
    if (l->errors.len)
        buf_addc(&l->errors, ',');
    jw_init(&w, &l->errors, JW_CLEAN);
    jw_str(&w, err);
}

void hook_lines_add(struct hook_lines *l, const struct hook_news *news, struct str out,
                    struct str err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT); /* its parts are bounded */

    if (l->waiting.len < HOOK_LINES_MAX && (out.len || err.len || news->end != HOOK_SUCCESS)) {
        write_line(news, out, err, &line);
        strv_add(&l->waiting, buf_str(&line));
    }
    if (news->event == HOOK_STOP)
        note_stop(l, news, out, err);
}

/* Makes a JSON array; if it became too long, an empty one. */
static struct str as_array(const struct buf *members, struct buf *ret)
{
    buf_addc(ret, '[');
    if (!members->over)
        buf_add(ret, buf_str(members));
    buf_addc(ret, ']');
    return buf_str(ret);
}

static void write_summary(struct journal *journal, const struct hook_lines *l,
                          const struct hook_outcome *o)
{
    CLEANUP(buf_release) struct buf infos = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf errors = BUF_INIT(BUF_NO_LIMIT);
    struct journal_stop_hooks said = {
        .count = l->count,
        .infos = as_array(&l->infos, &infos),
        .errors = as_array(&l->errors, &errors),
        .prevents = o->stop,
        .reason = buf_str(&o->stop_reason),
        .has_output = l->has_output,
    };
    struct err err = {0};

    if (journal->stop_hooks(journal, &said, &err) < 0)
        log_debug("hooks", "stop_hook_summary: %s", err.text);
}

void hook_lines_write(const struct hook_lines *l, struct journal *journal,
                      const struct hook_outcome *stop)
{
    struct err err = {0};

    for (size_t i = 0; i < l->waiting.len; i++) {
        if (journal->attach(journal, str_of(l->waiting.ptr[i]), &err) < 0)
            log_debug("hooks", "hook line: %s", err.text);
    }
    if (stop && l->count)
        write_summary(journal, l, stop);
}
