/*
 * app_first: the first words of a session: which version, model and folder it is, what was gone on
 * with; and what to do where no key is there. UI thread.
 */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/argument.h"
#include "goal/display.h"
#include "host/host.h"
#include "json/json.h"
#include "slash/slash.h"
#include "sync/mailbox.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/dialog/dialogs.h"
#include "tui/screen/term.h"

#define FIRST_PAUSE_MS ((int64_t)60 * 60 * 1000)
#define FIRST_LONG 50000 /* tokens: worth a question */
#define FIRST_TURNS 3    /* of a session that goes on are shown again */

/* "~/src/app". */
static void first_dir(struct app *a, struct buf *ret)
{
    struct str dir = str_of(conf_dir(a->conf));
    struct str home = str_of(path_home());

    if (home.len && str_starts(dir, home) && (dir.len == home.len || dir.ptr[home.len] == '/')) {
        buf_addc(ret, '~');
        dir = str_from(dir, home.len);
    }
    buf_add(ret, dir);
}

static bool first_goes_on(const struct app *a)
{
    return session_resumes(&a->session->which);
}

/* Once: later ones are told by a rule. */
static void first_hello(struct app *a)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&text, "tenax %s · ", a->spec->version);
    buf_add(&text, buf_str(&a->figures.model));
    buf_adds(&text, " · ");
    first_dir(a, &text);
    chat_note(a->chat, ROLE_FAINT, buf_str(&text));
}

/* What the settings have to tell, one of it. */
static void first_announce(struct app *a)
{
    const struct json *list = conf_get(a->conf, "companyAnnouncements");
    size_t n = json_len(list);
    size_t chosen = n ? (size_t)(id_random() % n) : 0;

    JSON_EACH(list, v) {
        if (chosen-- == 0 && json_str(v).len)
            chat_note(a->chat, ROLE_TEXT, json_str(v));
    }
}

void app_greet(struct app *a, const struct strv *notes)
{
    CLEANUP(buf_release) struct buf rule = BUF_INIT(BUF_NO_LIMIT);
    bool goes_on = first_goes_on(a);
    struct err err = {0};

    if (!a->greeted) {
        first_hello(a);
        first_announce(a);
    }
    if (goes_on || a->greeted) {
        buf_adds(&rule, goes_on ? "session resumed" : "new session");
        if (goes_on && a->figures.title.len)
            buf_addf(&rule, ": %s", buf_cstr(&a->figures.title));
        chat_rule(a->chat, buf_str(&rule));
    }
    if (goes_on && chat_history(a->chat, host_transcript(app_host(a)), FIRST_TURNS,
                                a->spec->host->cancel, &err) < 0)
        log_debug("tui", "what was said before is not shown: %s", err.text);
    for (size_t i = 0; !a->greeted && i < conf_warnings(a->conf)->len; i++)
        chat_note(a->chat, ROLE_WARNING, str_of(conf_warnings(a->conf)->ptr[i]));
    for (size_t i = 0; i < notes->len; i++)
        chat_note(a->chat, ROLE_WARNING, str_of(notes->ptr[i]));
    a->greeted = true;
}

/* ---- a long pause ---- */

static void fresh_chosen(struct app *a, size_t i)
{
    if (i == 1)
        app_switch(a, SWITCH_NEW, STR(""), /*request=*/NULL);
}

/* The provider has forgotten the conversation meanwhile: all of it would be read again. */
void app_offer_fresh(struct app *a)
{
    static const char *const options[] = {"Go on here", "Start a fresh session"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    int64_t pause_ms = clock_wall_ms() - a->answered_ms;

    if (!a->answered_ms || pause_ms < FIRST_PAUSE_MS || a->figures.context_tokens < FIRST_LONG ||
        app_is_working(a) || !conf_get_bool(a->conf, "offerFreshSession", true))
        return;
    a->answered_ms = 0; /* asked once per pause */
    buf_adds(&text, "The last answer was ");
    goal_show_elapsed(pause_ms / 1000, &text);
    buf_adds(&text, " ago, and the conversation has ");
    goal_show_tokens(a->figures.context_tokens, &text);
    buf_adds(&text, " tokens, which would all be read again. The old session can be resumed.");
    app_confirm(a, "A long pause", buf_str(&text), options, ARRAY_LEN(options), fresh_chosen);
}

/* ---- a goal that rests ---- */

static void goal_chosen(struct app *a, size_t i)
{
    CLEANUP(goal_argument_release) struct goal_argument what = GOAL_ARGUMENT_INIT;
    struct err err = {0};

    if (i == 1 || !a->session)
        return;
    what.verb = i == 0 ? GOAL_RESUME : GOAL_CLEAR;
    if (slash_goal(a->session->slash, &what, &err) < 0)
        chat_note(a->chat, ROLE_BAD, str_of(err.text));
}

/* Whoever leaves the question has it paused, as it is while they think. */
void app_ask_goal(struct app *a, struct str objective)
{
    static const char *const options[] = {"Go on with it", "Leave it paused", "Clear it"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(2000);

    buf_adds(&text, "It was being worked for when the session was left: ");
    buf_add(&text, objective);
    app_confirm(a, "The session has a goal", buf_str(&text), options, ARRAY_LEN(options),
                goal_chosen);
}

/* ---- no key ---- */

/* There is no session to stay in: whoever leaves the question quits. */
static void first_done(struct app *a, bool plays)
{
    if (plays && a->spec->demo)
        app_play_demo(a);
    else
        app_quit(a, /*code=*/0);
}

static void first_chosen(struct app *a, struct app_panel *p, bool was_left)
{
    first_done(a, !was_left && dialog_confirm_at(p->panel) == 0);
}

static void first_chosen_again(struct app *a, struct app_panel *p, bool was_left)
{
    first_done(a, !was_left && dialog_confirm_at(p->panel) == 1);
}

void app_first_choice(struct app *a, bool has_seen)
{
    static const char *const options[] = {"Watch the demo: offline, no key, under a minute",
                                          "Quit"};
    static const char *const again[] = {"Quit", "Watch the demo again"};
    struct app_panel p = {.done = has_seen ? first_chosen_again : first_chosen};

    p.panel = dialog_confirm_new(
        STR("No key yet"),
        has_seen ? STR("With a key, or a server of your own, start tenax again.")
                 : STR("Meanwhile a scripted model can show how a goal is worked for."),
        has_seen ? again : options, ARRAY_LEN(options));
    app_show(a, &p);
}

void app_no_key(struct app *a, const char *why)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    bool is_none = str_starts(str_of(why), STR("no provider is set up"));

    buf_addf(&text, "tenax %s needs a model to talk to, and none is set up yet.", a->spec->version);
    chat_note(a->chat, ROLE_TEXT, buf_str(&text));
    if (!is_none) /* said once is enough */
        chat_note(a->chat, ROLE_WARNING, str_of(why));
    if (is_none || !str_has(str_of(why), STR("tenax auth login")))
        chat_note(a->chat, ROLE_TEXT,
                  STR("Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or run: tenax auth "
                      "login"));
    chat_note(a->chat, ROLE_TEXT,
              STR("A local server does as well: docs/providers.md says how ('man tenax' says where "
                  "the manual is installed). Then start tenax again."));
    app_first_choice(a, /*has_seen=*/false);
}
