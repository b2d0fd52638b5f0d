/*
 * app_first: the start of a session: the version, model and folder, which session was resumed, and
 * what to do without a key. UI thread.
 */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "conf/conf.h"
#include "goal/argument/argument.h"
#include "goal/report/display.h"
#include "host/chore.h"
#include "host/host.h"
#include "host/trust.h"
#include "json/json.h"
#include "llm/auth.h"
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

/* Only the first one; a rule announces later ones. */
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

/* The initialPrompt of an agent type, where the user has given no other. */
static void first_say(struct app *a)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (!a->spec->prompt.len && host_take_first_prompt(app_host(a), &text))
        app_say(a, buf_str(&text), buf_str(&text));
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
        buf_adds(&rule, !goes_on                  ? "new session"
                        : a->session->which.forks ? "copy of the session"
                                                  : "session resumed");
        if (goes_on && a->figures.title.len)
            buf_addf(&rule, ": %s", buf_cstr(&a->figures.title));
        chat_rule(a->chat, buf_str(&rule));
    }
    if (goes_on && chat_history(a->chat, host_transcript(app_host(a)), FIRST_TURNS,
                                /*runs=*/false, a->spec->host->cancel, &err) < 0)
        log_debug("tui", "the earlier conversation is not shown: %s", err.text);
    for (size_t i = 0; !a->greeted && i < conf_warnings(a->conf)->len; i++) {
        struct str warning = str_of(conf_warnings(a->conf)->ptr[i]);

        if (conf_is_trusted(a->conf) || !trust_is_why(warning)) /* else app_tell_untrusted() */
            chat_note(a->chat, ROLE_WARNING, warning);
    }
    for (size_t i = 0; i < notes->len; i++)
        chat_note(a->chat, ROLE_WARNING, str_of(notes->ptr[i]));
    a->tells_untrusted |= !a->greeted;
    if (!a->greeted && !goes_on)
        first_say(a);
    a->greeted = true;
}

void app_tell_untrusted(struct app *a)
{
    if (conf_is_trusted(a->conf))
        return;
    for (size_t i = 0; i < conf_warnings(a->conf)->len; i++) {
        if (trust_is_why(str_of(conf_warnings(a->conf)->ptr[i])))
            chat_note(a->chat, ROLE_WARNING, str_of(conf_warnings(a->conf)->ptr[i]));
    }
}

/* ---- a long pause ---- */

static void fresh_chosen(struct app *a, size_t i)
{
    if (i == 1)
        app_switch(a, SWITCH_NEW, STR(""), /*request=*/NULL);
}

/* The provider's cache has expired, so the whole conversation would be read again. */
void app_offer_fresh(struct app *a)
{
    static const char *const options[] = {"Continue here", "Start a new session"};
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
    buf_adds(&text,
             " tokens, all of which would be read again. You can resume this session later.");
    app_confirm(a, "It has been a while", buf_str(&text), options, ARRAY_LEN(options),
                fresh_chosen);
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

/* Cancelling the question pauses the goal, as it already is while the user decides. */
void app_ask_goal(struct app *a, struct str objective)
{
    static const char *const options[] = {"Resume the goal", "Keep it paused", "Clear it"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(2000);

    buf_adds(&text, "The session ended while tenax was working towards: ");
    buf_add(&text, objective);
    app_confirm(a, "This session has a goal", buf_str(&text), options, ARRAY_LEN(options),
                goal_chosen);
}

/* ---- no key ---- */

enum first_choice {
    FIRST_KEY,
    FIRST_DEMO,
    FIRST_QUIT,
};

static const char *const first_providers[] = {"anthropic", "openai", "gemini"};

/* Writing a file is a chore. */
struct key_chore {
    struct chore chore;
    const char *home; /* lent by the settings */
    const char *provider;
    struct buf key;
    struct err err;
    int result;
};

static void key_run(struct chore *e)
{
    struct key_chore *k = (struct key_chore *)e;

    k->result = auth_check_key(buf_str(&k->key), "the key", &k->err) < 0
                    ? -1
                    : auth_set(k->home, str_of(k->provider), buf_str(&k->key), &k->err);
}

static void key_done(struct chore *e, void *arg)
{
    struct key_chore *k = (struct key_chore *)e;
    struct app *a = arg;

    if (k->result < 0) {
        chat_note(a->chat, ROLE_BAD, str_of(k->err.text));
        app_first_choice(a, /*has_seen=*/false);
        return;
    }
    chat_note(a->chat, ROLE_GOOD, STR("Key stored, readable by you alone. /logout forgets it."));
    app_open_first(a);
}

static void key_free(struct chore *e)
{
    struct key_chore *k = (struct key_chore *)e;

    if (k->key.len)
        explicit_bzero(k->key.ptr, k->key.len);
    buf_release(&k->key);
    mem_freep(&k);
}

static void first_keep_key(struct app *a, const char *provider, struct str key)
{
    struct key_chore *k = chore_new(sizeof(*k), key_run, key_done, key_free);

    k->home = conf_home(a->conf);
    k->provider = provider;
    buf_init(&k->key, AUTH_MAX_KEY);
    buf_add(&k->key, key);
    chores_give(a->chores, k);
}

static void first_key_typed(struct app *a, struct app_panel *p, bool was_left)
{
    struct str key = dialog_secret_text(p->panel);

    if (was_left)
        app_first_choice(a, /*has_seen=*/false);
    else
        first_keep_key(a, a->key_provider, key);
}

static void first_ask_key(struct app *a, const char *provider)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct app_panel p = {.done = first_key_typed};

    a->key_provider = provider;
    buf_addf(&text, "It is kept in %s/auth.json, a file only you can read, and sent to %s alone.",
             conf_home(a->conf), provider);
    p.panel = dialog_secret_new(STR("API key"), buf_str(&text));
    app_show(a, &p);
}

static void first_provider_chosen(struct app *a, struct app_panel *p, bool was_left)
{
    size_t at = dialog_confirm_at(p->panel);

    if (was_left || at >= ARRAY_LEN(first_providers))
        app_first_choice(a, /*has_seen=*/false);
    else
        first_ask_key(a, first_providers[at]);
}

static void first_ask_provider(struct app *a)
{
    static const char *const options[] = {"Anthropic", "OpenAI", "Google (Gemini)", "Back"};
    struct app_panel p = {.done = first_provider_chosen};

    p.panel = dialog_confirm_new(STR("Whose key?"),
                                 STR("The key of another provider goes into the "
                                     "settings: docs/providers.md."),
                                 options, ARRAY_LEN(options));
    app_show(a, &p);
}

/* There is no session to stay in: cancelling the question quits. */
static void first_chosen(struct app *a, struct app_panel *p, bool was_left)
{
    size_t at = dialog_confirm_at(p->panel);

    if (!was_left && at == FIRST_KEY)
        first_ask_provider(a);
    else if (!was_left && at == FIRST_DEMO && a->spec->demo)
        app_play_demo(a);
    else
        app_quit(a, /*code=*/0);
}

void app_first_choice(struct app *a, bool has_seen)
{
    static const char *const options[] = {
        [FIRST_KEY] = "Enter an API key",
        [FIRST_DEMO] = "Watch the demo: offline, no key, under a minute",
        [FIRST_QUIT] = "Quit",
    };
    struct app_panel p = {.done = first_chosen};

    p.panel =
        dialog_confirm_new(STR("No key yet"),
                           has_seen ? STR("That was a scripted model. A real one needs a key, "
                                          "or a server of your own.")
                                    : STR("tenax needs the key of a provider. A scripted "
                                          "model can show how it works without one."),
                           options, ARRAY_LEN(options));
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
    chat_note(
        a->chat, ROLE_TEXT,
        STR("Enter a key below, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY. A "
            "local server works too: see docs/providers.md ('man tenax' says where the manual "
            "is installed)."));
    app_first_choice(a, /*has_seen=*/false);
}
