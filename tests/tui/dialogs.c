/*
 * dialogs: every dialog once, on a terminal as tenax shows it, without tenax around.
 *
 *     dialogs [--plain]
 *
 * It says "ready" and waits for a key, by when the terminal has reported its background; then one
 * dialog comes after the other, and the answers are printed. A second passes before each key, so
 * that no one waits until a dialog accepts them. For tests/data/dialogs.screen.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "tui/dialog/dialogs.h"
#include "tui/dialog/panel.h"
#include "tui/screen/keypress.h"
#include "tui/screen/screen.h"
#include "tui/screen/style.h"
#include "tui/screen/term.h"
#include "tui/status/statusline.h"

struct show {
    struct term *term;
    struct screen *screen;
    struct keyboard *keyboard;
    struct panel_log log;
    struct buf result;
};

/* ---- the dialogs ---- */

static struct panel *ask(enum ask_kind kind, struct str tool, struct str input, struct str always,
                         const char *reason_type)
{
    struct ask a = {.kind = kind,
                    .tool_name = tool,
                    .tool_use_id = STR("toolu_1"),
                    .input = input,
                    .suggestions = always,
                    .reason = STR("no rule allows it"),
                    .reason_type = reason_type};

    return dialog_ask_new(&a, "/nowhere");
}

static void tell_ask(struct panel *p, struct buf *ret)
{
    struct ask_answer a = ASK_ANSWER_INIT;

    dialog_ask_answer(p, &a);
    buf_addf(ret, "%s%s message='%s' input='%s' permissions='%s'", a.allowed ? "yes" : "no",
             a.interrupt ? ", interrupt" : "", buf_cstr(&a.message), buf_cstr(&a.input),
             buf_cstr(&a.permissions));
    ask_answer_release(&a);
}

static struct panel *open_command(void)
{
    return ask(ASK_PERMISSION, STR("Bash"),
               STR("{\"command\":\"for f in *.c; do\\n    cc -Wall \\\"$f\\\" # each one\\ndone\","
                   "\"description\":\"Compile every file\"}"),
               STR("[{\"type\":\"addRules\",\"rules\":[{\"toolName\":\"Bash\",\"ruleContent\":\"cc "
                   "*\"}],\"behavior\":\"allow\",\"destination\":\"localSettings\"}]"),
               "mode");
}

static struct panel *open_sandbox(void)
{
    return ask(ASK_PERMISSION, STR("Bash"),
               STR("{\"command\":\"docker ps\",\"dangerouslyDisableSandbox\":true}"), STR(""),
               "mode");
}

static struct panel *open_write(void)
{
    return ask(
        ASK_PERMISSION, STR("Write"),
        STR("{\"file_path\":\"/nowhere/new.c\",\"content\":\"int main(void)\\n{\\n    return "
            "0;\\n}\\n\"}"),
        STR("[{\"type\":\"setMode\",\"mode\":\"acceptEdits\",\"destination\":\"session\"}]"),
        "mode");
}

static struct panel *open_plan(void)
{
    return ask(ASK_PERMISSION, STR("ExitPlanMode"),
               STR("{\"plan\":\"## The plan\\n\\n1. Read `sum.c`\\n2. **Fix** it\\n3. Test\"}"),
               STR(""), "mode");
}

static struct panel *open_question(void)
{
    return ask(
        ASK_QUESTION, STR("AskUserQuestion"),
        STR("{\"questions\":[{\"question\":\"Which database shall it be?\",\"header\":"
            "\"Database\",\"multiSelect\":false,\"options\":[{\"label\":\"SQLite\","
            "\"description\":\"One file, no server\"},{\"label\":\"PostgreSQL\","
            "\"description\":\"For several machines\"}]},{\"question\":\"What goes into it?\","
            "\"header\":\"Tables\",\"multiSelect\":true,\"options\":[{\"label\":\"users\","
            "\"description\":\"\"},{\"label\":\"orders\",\"description\":\"\"}]}]}"),
        STR(""), "other");
}

static struct panel *open_trust(void)
{
    return ask(ASK_TRUST, STR("trust"),
               STR("{\"directory\":\"/nowhere\",\"leftOut\":[\".tenax/settings.json: hooks, "
                   "statusLine\"]}"),
               STR(""), "other");
}

static struct panel *open_record(void)
{
    struct ask a = {.kind = ASK_PERMISSION,
                    .tool_name = STR("SessionRecord"),
                    .input = STR("{}"),
                    .reason = STR("cannot write '/nowhere/s.jsonl': No space left on device"),
                    .reason_type = "other"};

    return dialog_ask_new(&a, "/nowhere");
}

static struct panel *open_form(void)
{
    return ask(
        ASK_ELICITATION, STR("elicitation"),
        STR("{\"mcp_server_name\":\"tickets\",\"message\":\"Who shall get it?\","
            "\"requested_schema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
            "\"string\",\"title\":\"Name\"},\"urgent\":{\"type\":\"boolean\",\"title\":"
            "\"Urgent\",\"description\":\"Somebody is called at night\"},\"size\":{\"type\":"
            "\"string\",\"enum\":[\"small\",\"large\"]}},\"required\":[\"name\",\"urgent\"]}}"),
        STR(""), "other");
}

static struct panel *pick(enum pick_look look)
{
    static const struct choice models[] = {
        {.label = STR_INIT("opus"), .detail = STR_INIT("for hard things"), .is_current = true},
        {.label = STR_INIT("sonnet"), .detail = STR_INIT("for most things")},
        {.label = STR_INIT("haiku"), .detail = STR_INIT("no key for it"), .is_off = true},
    };
    static const struct choice sessions[] = {
        {.label = STR_INIT("Fix the parser"),
         .detail = STR_INIT("2 h ago, 12 messages"),
         .preview = STR_INIT("You: fix the parser\nIt: done, all tests pass")},
        {.label = STR_INIT("Write the manual"),
         .detail = STR_INIT("yesterday, 3 messages"),
         .preview = STR_INIT("You: write the manual")},
    };
    static const struct choice levels[] = {
        {.label = STR_INIT("low")},
        {.label = STR_INIT("medium"), .is_current = true},
        {.label = STR_INIT("high")},
        {.label = STR_INIT("xhigh")},
        {.label = STR_INIT("max")},
        {.label = STR_INIT("ultracode"), .detail = STR_INIT("xhigh + workflows")},
    };
    struct pick p = {.look = look, .title = STR("Model"), .choices = models, .count = 3};

    if (look == PICK_SEARCH) {
        p.title = STR("Resume a session");
        p.choices = sessions;
        p.count = 2;
    } else if (look == PICK_SLIDER) {
        p.title = STR("Effort");
        p.low = STR("Faster");
        p.high = STR("Smarter");
        p.choices = levels;
        p.count = 6;
        p.at = 1;
    }
    return dialog_pick_new(&p);
}

static struct panel *open_model(void)
{
    return pick(PICK_LIST);
}

static struct panel *open_resume(void)
{
    return pick(PICK_SEARCH);
}

static struct panel *open_effort(void)
{
    return pick(PICK_SLIDER);
}

static void tell_pick(struct panel *p, struct buf *ret)
{
    buf_addf(ret, "%zu", dialog_pick_at(p));
}

static struct panel *open_rewind(void)
{
    static const struct dialog_rewind_point points[] = {
        {STR_INIT("u2"), STR_INIT("and the tests"), STR_INIT("1 min ago"), 0},
        {STR_INIT("u1"), STR_INIT("fix the parser"), STR_INIT("3 min ago"), 2},
    };

    return dialog_rewind_new(points, 2);
}

static void tell_rewind(struct panel *p, struct buf *ret)
{
    struct dialog_rewind_choice c;

    dialog_rewind_chosen(p, &c);
    buf_addf(ret, "%.*s%s%s", STR_ARG(c.uuid), c.files ? " files" : "",
             c.conversation ? " conversation" : "");
}

static struct panel *open_goal(void)
{
    static const char *const options[] = {"Keep it", "Replace it"};

    return dialog_confirm_new(STR("Replace the goal?"),
                              STR("There is one that is not met: all tests pass"), options, 2);
}

static void tell_goal(struct panel *p, struct buf *ret)
{
    buf_addf(ret, "%zu", dialog_confirm_at(p));
}

static struct panel *open_edit(void)
{
    return dialog_edit_new(STR("The goal"), STR("all tests pass"), false);
}

static const struct {
    const char *name;
    struct panel *(*open)(void);
    void (*tell)(struct panel *p, struct buf *ret);
} dialogs[] = {
    {"command", open_command, tell_ask},   {"sandbox", open_sandbox, tell_ask},
    {"write", open_write, tell_ask},       {"plan", open_plan, tell_ask},
    {"question", open_question, tell_ask}, {"trust", open_trust, tell_ask},
    {"record", open_record, tell_ask},     {"form", open_form, tell_ask},
    {"model", open_model, tell_pick},      {"resume", open_resume, tell_pick},
    {"effort", open_effort, tell_pick},    {"rewind", open_rewind, tell_rewind},
    {"goal", open_goal, tell_goal},        {"edit", open_edit, dialog_edit_text},
};

/* ---- the terminal ---- */

static void show_view(const struct show *s, struct view *ret)
{
    const struct term_able *able = term_able(s->term);

    *ret = (struct view){.cols = screen_cols(s->screen),
                         .rows = screen_rows(s->screen),
                         .now_ms = clock_mono_ms(),
                         .ascii = !able->unicode,
                         .plain = able->is_plain};
}

/* The built-in status stands below, as it does in tenax. */
static void show_frame(struct show *s, struct panel *p)
{
    static const struct status status = {.model = STR_INIT("opus"),
                                         .context_percent = 42,
                                         .usd = 1.5,
                                         .mode = "plan",
                                         .goal = STR_INIT("goal: all tests pass")};
    struct lines region = LINES_INIT;
    struct screen_cursor cursor = {0};
    struct view v;

    screen_look(s->screen);
    screen_theme(s->screen, theme_find(term_able(s->term)->is_light ? STR("light") : STR("dark")));
    show_view(s, &v);
    v.rows--;
    p->kind->draw(p, &v, &region, &cursor);
    if (v.plain)
        panel_log_show(&s->log, &region, s->screen);
    else
        status_draw(&status, &v, &region);
    screen_draw(s->screen, &region, cursor);
    lines_release(&region);
}

static void show_read(struct show *s)
{
    struct pollfd p = {.fd = term_fd(s->term), .events = POLLIN};
    struct err err;
    char bytes[4096];
    long n;

    if (term_wants_write(s->term))
        p.events |= POLLOUT;
    if (poll(&p, 1, keyboard_due(s->keyboard) < 0 ? -1 : 1) < 0)
        return;
    term_flush(s->term);
    n = term_read(s->term, bytes, sizeof(bytes), &err);
    if (n < 0)
        _exit(9);
    clock_advance_ms(1000);
    keyboard_feed(s->keyboard, str_make(bytes, (size_t)n), clock_mono_ms());
    keyboard_tick(s->keyboard, clock_mono_ms());
}

static bool show_key(struct show *s, struct keypress *ret)
{
    while (keyboard_next(s->keyboard, ret)) {
        if (ret->code != KEY_REPLY && ret->code != KEY_FOCUS_IN && ret->code != KEY_FOCUS_OUT)
            return true;
        term_learn(s->term, ret);
    }
    return false;
}

static void show_say(struct show *s, const char *name, const char *text)
{
    CLEANUP(lines_release) struct lines line = LINES_INIT;
    CLEANUP(lines_release) struct lines rows = LINES_INIT;

    lines_putf(&line, STYLE(ROLE_FAINT), "%s%s", name, text);
    lines_end(&line);
    lines_wrap(&rows, lines_at(&line, 0), &(struct wrap){.cells = screen_cols(s->screen)});
    screen_commit(s->screen, &rows);
}

static void show_dialog(struct show *s, size_t i)
{
    struct panel *p = dialogs[i].open();
    enum panel_state state = PANEL_OPEN;

    show_frame(s, p);
    while (state == PANEL_OPEN) {
        struct keypress k;

        show_read(s);
        while (state == PANEL_OPEN && show_key(s, &k))
            state = p->kind->key(p, &k);
        if (state == PANEL_EARLY)
            state = PANEL_OPEN;
        if (state == PANEL_OPEN)
            show_frame(s, p);
    }
    buf_clear(&s->result);
    buf_adds(&s->result, ": ");
    dialogs[i].tell(p, &s->result);
    if (!term_able(s->term)->is_plain) { /* one dialog to a window */
        screen_pause(s->screen);
        term_write(s->term, STR("\033[2J\033[H"));
        screen_resume(s->screen);
    }
    show_say(s, dialogs[i].name, state == PANEL_LEFT ? ": left" : buf_cstr(&s->result));
    panel_log_forget(&s->log);
    panel_free(p);
}

int main(int argc, char **argv)
{
    struct term_spec spec = {.in = STDIN_FILENO,
                             .out = STDOUT_FILENO,
                             .environ = environ,
                             .plain = argc > 1 && strcmp(argv[1], "--plain") == 0};
    struct show s = {.log = PANEL_LOG_INIT, .result = BUF_INIT(1 << 20)};
    struct keypress k;
    struct err err;

    clock_make_virtual(1000);
    if (term_open(&spec, &s.term, &err) < 0) {
        fprintf(stderr, "dialogs: %s\n", err.text);
        return 1;
    }
    s.screen = screen_new(s.term, theme_find(STR("dark")));
    s.keyboard = keyboard_new();
    screen_look(s.screen);
    show_say(&s, "ready", "");
    screen_draw(s.screen, &(struct lines)LINES_INIT, (struct screen_cursor){0});
    do
        show_read(&s);
    while (!show_key(&s, &k));
    for (size_t i = 0; i < ARRAY_LEN(dialogs); i++)
        show_dialog(&s, i);
    show_say(&s, "done", "");
    screen_draw(s.screen, &(struct lines)LINES_INIT, (struct screen_cursor){0});
    screen_free(s.screen);
    term_close(s.term);
    keyboard_free(s.keyboard);
    panel_log_release(&s.log);
    buf_release(&s.result);
    return 0;
}
