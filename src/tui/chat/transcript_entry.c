/*
 * transcript_entry: a message as rows. UI thread.
 */
#include "tui/chat/transcript_entry.h"

#include "agent/tool_about.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "host/record/typed.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/transcript/entry.h"
#include "tui/chat/hanging.h"
#include "tui/chat/tool_view.h"
#include "tui/dialog/panel.h"
#include "tui/diff/diff_view.h"
#include "tui/markdown/markdown.h"

struct entry {
    const struct view *view;
    const struct transcript_calls *calls;
    const struct json *json;
    struct lines *ret;
};

/* "●" and its like, or letters. */
static const char *mark(const struct entry *e, const char *sign, const char *letters)
{
    return e->view->ascii || e->view->plain ? letters : sign;
}

static void draw_behind(const struct entry *e, struct style style, const char *sign,
                        struct str text, bool anywhere)
{
    CLEANUP(hanging_release) struct hanging h = {0};

    hanging_init(&h, e->ret, e->view->cols, style, sign, /*rest=*/NULL);
    h.anywhere = anywhere;
    hanging_text(&h, style, text);
}

static void draw_rule(const struct entry *e, const char *title)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(200);

    lines_end(e->ret);
    buf_addf(&text, "%s %s %s", mark(e, "──", "--"), title, mark(e, "──", "--"));
    draw_behind(e, STYLE(ROLE_FAINT), "", buf_str(&text), /*anywhere=*/false);
}

/* ---- What the model says ---- */

static void draw_markdown(const struct entry *e, struct str text)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT); /* a copy */
    CLEANUP(lines_release) struct lines leads = LINES_INIT;

    if (!str_trim(text).len)
        return;
    buf_add(&clean, text);
    secret_scrub(&clean);
    lines_end(e->ret);
    lines_puts(&leads, ROLE_TEXT, mark(e, "● ", "* "));
    lines_end(&leads);
    lines_puts(&leads, ROLE_TEXT, "  ");
    lines_end(&leads);
    markdown_draw(buf_str(&clean),
                  &(struct markdown_spec){.ascii = e->view->ascii,
                                          .spells_links = e->view->plain,
                                          .first = lines_at(&leads, 0),
                                          .rest = lines_at(&leads, 1)},
                  e->view->cols, e->ret);
}

static void draw_thinking(const struct entry *e, struct str text)
{
    if (!str_trim(text).len)
        return;
    lines_end(e->ret);
    draw_behind(e, STYLE(ROLE_THOUGHT), mark(e, "∴ ", "* "), STR("Thinking"), /*anywhere=*/false);
    draw_behind(e, STYLE_WITH(ROLE_THOUGHT, STYLE_ITALIC), "  ", str_trim(text),
                /*anywhere=*/false);
}

/* Members one per line, texts unescaped: a file is hard to read with escapes. */
static void draw_call(const struct entry *e, const struct json *block)
{
    CLEANUP(hanging_release) struct hanging h = {0};

    lines_end(e->ret);
    draw_behind(e, STYLE_WITH(ROLE_TEXT, STYLE_BOLD), mark(e, "● ", "* "),
                str_clip(json_get_str(block, "name"), 200), /*anywhere=*/false);
    hanging_init(&h, e->ret, e->view->cols, STYLE(ROLE_TEXT), "    ", /*rest=*/NULL);
    h.anywhere = true;
    JSON_EACH(json_get(block, "input"), it) {
        struct str text = json_str(it);
        bool is_long = str_chr(text, '\n') < text.len;
        CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);

        hanging_put(&h, STYLE(ROLE_FAINT), json_key(it));
        hanging_puts(&h, ROLE_FAINT, is_long ? ":" : ": ");
        if (is_long)
            hanging_end(&h);
        if (!json_is(it, JSON_STRING)) {
            struct jw w;

            jw_init(&w, &json, JW_PRETTY);
            jw_json(&w, it);
            text = buf_str(&json);
        }
        if (text.len)
            hanging_text(&h, STYLE(ROLE_TEXT), text);
        else
            hanging_end(&h);
    }
}

/* ---- What comes back ---- */

/* A change is better read as one than as the words about it. */
static bool draw_change(const struct entry *e)
{
    const struct json *data = json_get(e->json, "toolUseResult");
    const struct json *patch = json_get(data, "structuredPatch");

    if (!json_len(patch))
        return false;
    diff_view_draw(
        &(struct diff_view){
            .patch = patch,
            .path = json_get_str(data, "filePath"),
            .cols = e->view->cols,
            .ascii = e->view->ascii,
        },
        e->ret);
    return true;
}

static void draw_image(const struct entry *e, struct hanging *h, const struct json *block)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 10);

    tool_view_image(block, e->view->ascii, &text);
    hanging_put(h, STYLE(ROLE_FAINT), buf_str(&text));
    hanging_end(h);
}

/* "● Bash(make test)" once more, above a result that stands apart from it. */
static void draw_whose(const struct entry *e, struct str id)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT); /* of a file's line */
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(hanging_release) struct hanging h = {0};
    const struct json *json = NULL;

    if (!e->calls || !id.len || !e->calls->find(e->calls->arg, id, &line) ||
        json_parse(&arena, buf_str(&line), &json, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    JSON_EACH(json_path(json, "message.content"), it) {
        struct str about;

        if (!str_eq(json_get_str(it, "id"), id))
            continue;
        about = tool_about(json_get(it, "input"), /*dir=*/NULL);
        lines_end(e->ret);
        hanging_init(&h, e->ret, e->view->cols, STYLE(ROLE_FAINT), mark(e, "● ", "* "),
                     /*rest=*/NULL);
        h.cut = true;
        h.ascii = e->view->ascii;
        hanging_put(&h, STYLE(ROLE_FAINT), str_clip(json_get_str(it, "name"), 200));
        if (about.len) {
            hanging_puts(&h, ROLE_FAINT, "(");
            hanging_put(&h, STYLE(ROLE_FAINT), about);
            hanging_puts(&h, ROLE_FAINT, ")");
        }
        hanging_end(&h);
        return;
    }
}

static void draw_result(const struct entry *e, const struct json *block)
{
    bool is_error = json_get_bool(block, "is_error", false);
    const struct json *content = json_get(block, "content");
    bool is_denied = json_get_bool(e->json, "isDenied", false);
    struct style style = STYLE(is_denied ? ROLE_WARNING : is_error ? ROLE_BAD : ROLE_FAINT);
    CLEANUP(hanging_release) struct hanging h = {0};

    draw_whose(e, json_get_str(block, "tool_use_id"));
    if (!is_error && draw_change(e))
        return;
    hanging_init(&h, e->ret, e->view->cols, STYLE(ROLE_FAINT), mark(e, "  ⎿  ", "  |  "),
                 /*rest=*/NULL);
    h.anywhere = true;
    hanging_text(&h, style, json_str(content));
    JSON_EACH(content, it) {
        if (str_is_word_of(json_get_str(it, "type"), "image document"))
            draw_image(e, &h, it);
        else
            hanging_text(&h, style, json_get_str(it, "text"));
    }
}

/* ---- Lines ---- */

/* Reminders for the model that no one asked for: one row mentions them. */
static void draw_reminder(const struct entry *e, struct str text)
{
    CLEANUP(buf_release) struct buf row = BUF_INIT(200);
    size_t lines = 1;

    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    buf_addf(&row, "a reminder for the model, %zu line%s", lines, lines == 1 ? "" : "s");
    draw_behind(e, STYLE(ROLE_FAINT), mark(e, "· ", "- "), buf_str(&row), /*anywhere=*/false);
}

static void draw_said(const struct entry *e, struct str text)
{
    CLEANUP(buf_release) struct buf typed = BUF_INIT(BUF_NO_LIMIT);

    if (!str_trim(text).len)
        return;
    lines_end(e->ret);
    if (typed_find(text, &typed))
        draw_behind(e, STYLE(ROLE_SAID), "> ", buf_str(&typed), /*anywhere=*/false);
    else if (str_starts(str_trim(text), STR("<system-reminder>")) &&
             str_ends(str_trim(text), STR("</system-reminder>")))
        draw_reminder(e, str_trim(text));
    else if (json_get_bool(e->json, "isMeta", false)) /* for the model alone */
        draw_behind(e, STYLE(ROLE_FAINT), mark(e, "· ", "- "), str_trim(text), /*anywhere=*/false);
    else
        draw_behind(e, STYLE(ROLE_SAID), "> ", str_trim(text), /*anywhere=*/false);
}

static void draw_user(const struct entry *e)
{
    const struct json *content = json_path(e->json, "message.content");

    if (json_get_bool(e->json, "isCompactSummary", false))
        draw_rule(e, "summary of the conversation so far");
    draw_said(e, json_str(content));
    JSON_EACH(content, it) {
        struct str type = json_get_str(it, "type");

        if (str_is(type, "tool_result")) {
            draw_result(e, it);
        } else if (str_is_word_of(type, "image document")) {
            CLEANUP(hanging_release) struct hanging h = {0};

            hanging_init(&h, e->ret, e->view->cols, STYLE(ROLE_FAINT), "  ", /*rest=*/NULL);
            draw_image(e, &h, it);
        } else {
            draw_said(e, json_get_str(it, "text"));
        }
    }
}

static void draw_assistant(const struct entry *e)
{
    const struct json *content = json_path(e->json, "message.content");

    if (json_get_bool(e->json, "isApiErrorMessage", false)) {
        lines_end(e->ret);
        draw_behind(e, STYLE(ROLE_BAD), mark(e, "✗ ", "x "),
                    json_str(content).len ? json_str(content)
                                          : json_get_str(json_first(content), "text"),
                    /*anywhere=*/false);
        return;
    }
    draw_markdown(e, json_str(content));
    JSON_EACH(content, it) {
        struct str type = json_get_str(it, "type");

        if (str_is(type, "text"))
            draw_markdown(e, json_get_str(it, "text"));
        else if (str_is(type, "thinking"))
            draw_thinking(e, json_get_str(it, "thinking"));
        else if (str_is(type, "tool_use"))
            draw_call(e, it);
    }
}

static void draw_system(const struct entry *e)
{
    struct str text = json_get_str(e->json, "content");
    struct str level = json_get_str(e->json, "level");
    enum style_role role = str_is(level, "error")     ? ROLE_BAD
                           : str_is(level, "warning") ? ROLE_WARNING
                                                      : ROLE_FAINT;

    if (str_is(json_get_str(e->json, "subtype"), "compact_boundary")) {
        draw_rule(e, "the conversation was summed up here");
        return;
    }
    if (!str_trim(text).len)
        return;
    lines_end(e->ret);
    draw_behind(e, STYLE(role), mark(e, "· ", "- "), str_trim(text), /*anywhere=*/false);
}

/* Attachments to the conversation: those of a goal are for the user, too. */
static void draw_attachment(const struct entry *e)
{
    const struct json *a = json_get(e->json, "attachment");
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    bool met = json_get_bool(a, "met", false);

    if (!str_is(json_get_str(a, "type"), "goal_status"))
        return;
    if (json_get_bool(a, "sentinel", false))
        buf_adds(&text, met ? "goal over: " : "goal: ");
    else
        buf_adds(&text, met ? "goal met: " : "goal not met: ");
    buf_add(&text, json_get_str(a, json_get_str(a, "reason").len ? "reason" : "condition"));
    lines_end(e->ret);
    draw_behind(e, STYLE(ROLE_GOAL), mark(e, "◎ ", "o "), buf_str(&text), /*anywhere=*/false);
}

void transcript_entry_draw(struct str line, const struct transcript_calls *calls,
                           const struct view *v, struct lines *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct entry e = {.view = v, .calls = calls, .ret = ret};

    if (!str_trim(line).len)
        return;
    if (json_parse(&arena, line, &e.json, /*ret_info=*/NULL, /*err=*/NULL) < 0) {
        draw_behind(&e, STYLE(ROLE_WARNING), "", STR("[a line that cannot be read]"),
                    /*anywhere=*/false);
        return;
    }
    switch (entry_kind_of(json_get_str(e.json, "type"))) {
    case ENTRY_USER:
        draw_user(&e);
        break;
    case ENTRY_ASSISTANT:
        draw_assistant(&e);
        break;
    case ENTRY_SYSTEM:
        draw_system(&e);
        break;
    case ENTRY_ATTACHMENT:
        draw_attachment(&e);
        break;
    default:
        break;
    }
}
