/*
 * app: the terminal UI put together, and its event loop.
 *
 * The loop waits in one poll(): for keys, for mail (a wake of the feed, an ask, a finished chore, a
 * signal), and for the next time that something on the screen changes by itself. It handles
 * whatever arrived, then draws at most one frame. Nothing here blocks: work that would is a chore
 * (chore.h). The thread of tui_run().
 */
#include "tui/app/app.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/test_switch.h"
#include "conf/conf.h"
#include "host/asks.h"
#include "host/chore.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "sync/cancel.h"
#include "sync/crew.h"
#include "sync/mailbox.h"
#include "sync/signals.h"
#include "tui/chat/chat.h"
#include "tui/complete/complete.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"
#include "tui/screen/style.h"
#include "tui/screen/term.h"
#include "tui/status/statusline.h"

#define APP_READ_BYTES 65536
#define APP_MAX_HINT 400
#define APP_REST_MS 2
#define APP_FRAME_BYTES                                                                            \
    ((size_t)20 << 10) /* of events, until it is known how many one can show                       \
                        */

/* ---- signals ---- */

struct signal_mail {
    struct mail mail;
    int signo;
};

static void signal_mail_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind signal_mail_kind = {"signal", signal_mail_free};

/* Signal thread. */
static void app_on_signal(int signo, void *arg)
{
    struct signal_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &signal_mail_kind;
    m->signo = signo;
    mailbox_send(arg, &m->mail);
}

static void app_signal(struct app *a, int signo)
{
    static const struct keypress ctrl_c = {.code = KEY_CHAR, .ch = 'c', .mods = MOD_CTRL};

    switch (signo) {
    case SIGWINCH:
        a->is_dirty = true;
        break;
    case SIGTSTP:
        app_suspend(a);
        break;
    case SIGCONT:
        app_continued(a);
        break;
    case SIGINT:
        if (!a->is_away) /* else it is meant for who has the terminal */
            app_key(a, &ctrl_c);
        break;
    default:
        cancel_end(a->spec->host->cancel);
        app_quit(a, 128 + signo);
    }
}

/* ---- small things ---- */

void app_quit(struct app *a, int code)
{
    if (!a->is_over)
        a->end->code = code;
    a->is_over = true;
}

void app_hint(struct app *a, const char *fmt, ...)
{
    va_list args;

    buf_clear(&a->hint);
    va_start(args, fmt);
    buf_addv(&a->hint, fmt, args);
    va_end(args);
    a->hint_until_ms = clock_mono_ms() + APP_HINT_MS;
    a->is_dirty = true;
    if (term_able(a->term)->is_plain) /* there is no row for it */
        chat_note(app_shown(a), ROLE_FAINT, buf_str(&a->hint));
}

struct host *app_host(const struct app *a)
{
    return a->session ? a->session->host : NULL;
}

static const struct theme *app_theme(const struct app *a)
{
    const struct term_able *able = term_able(a->term);
    const struct theme *theme = theme_find(conf_get_str(a->conf, "theme"));

    if (theme)
        return theme;
    return theme_find(able->knows_background && able->is_light ? STR("light") : STR("dark"));
}

static bool app_verbose(const struct app *a)
{
    return args_get(a->spec->host->args, OPT_VERBOSE) || conf_get_bool(a->conf, "verbose", false);
}

void app_look(struct app *a)
{
    chat_set_verbose(a->chat, app_verbose(a));
    if (app_is_viewing(a))
        chat_set_verbose(a->viewed.chat, app_verbose(a));
    screen_theme(a->screen, app_theme(a));
    a->is_dirty = true;
}

static bool app_past(void *arg, size_t i, struct str *ret)
{
    const struct app *a = arg;

    if (i >= a->past.len)
        return false;
    *ret = str_of(a->past.ptr[i]);
    return true;
}

/* ---- the loop ---- */

/* Input typed before we took over the terminal has Enter as a newline, because the line discipline
 * was in cooked mode. */
static void app_uncook(struct app *a, char *bytes, size_t n)
{
    for (size_t i = 0; i < n && a->early_bytes > 0; i++, a->early_bytes--) {
        if (bytes[i] == '\n')
            bytes[i] = '\r';
    }
}

static void app_read_keys(struct app *a)
{
    char bytes[APP_READ_BYTES];
    struct keypress k;
    struct err err = {0};
    long n = term_read(a->term, bytes, sizeof(bytes), &err);

    if (n < 0) { /* the window was closed */
        log_debug("tui", "the terminal is gone: %s", err.text);
        cancel_end(a->spec->host->cancel);
        app_quit(a, 128 + SIGHUP);
        return;
    }
    app_uncook(a, bytes, (size_t)n);
    keyboard_feed(a->keyboard, str_make(bytes, (size_t)n), clock_mono_ms());
    while (!a->is_over && !a->is_away && keyboard_next(a->keyboard, &k))
        app_key(a, &k);
}

static void app_tick(struct app *a)
{
    int64_t now_ms = clock_mono_ms();
    int64_t due_ms = keyboard_due(a->keyboard);
    struct keypress k;

    if (due_ms >= 0 && due_ms <= now_ms)
        keyboard_tick(a->keyboard, now_ms);
    while (!a->is_over && !a->is_away && keyboard_next(a->keyboard, &k))
        app_key(a, &k);
    app_panel_wake(a);
    if (a->hint.len && a->hint_until_ms <= now_ms) {
        buf_clear(&a->hint);
        a->is_dirty = true;
    }
    app_notify_tick(a);
}

static void app_take_mail(struct app *a)
{
    while (!a->is_over) {
        struct mail *m = mailbox_try(a->mailbox);

        if (!m)
            return;
        if (m->kind == &chore_mail_kind) {
            struct chore *e = (struct chore *)m;

            if (e->done)
                e->done(e, a);
        } else if (m->kind == &ask_mail_kind) {
            app_ask(a, (struct ask_mail *)m);
            continue; /* taken */
        } else if (m->kind == &signal_mail_kind) {
            app_signal(a, ((struct signal_mail *)m)->signo);
        } else if (m->kind == &completer_mail_kind) {
            a->is_dirty = editor_news(a->editor) || a->is_dirty;
        } else if (m->kind == &statusline_mail_kind) {
            a->is_dirty = true;
        } else if (app_front_mail(a, m)) {
            continue; /* taken */
        }
        mail_free(m); /* a wake of the feed needs no more: events are looked for anyway */
    }
}

/* How long poll() may wait. */
static int app_patience(struct app *a)
{
    int64_t due_ms = app_due(a);
    int64_t left_ms;

    if (due_ms < 0)
        return -1;
    left_ms = due_ms - clock_mono_ms();
    if (left_ms <= 0)
        return 0;
    return (int)clock_real_ms(left_ms);
}

/* A terminal that is slow takes a little at a time. It is given a moment between two writes, so
 * that they are fewer and longer. */
static void app_wait(struct app *a)
{
    bool writes = !a->is_away && term_wants_write(a->term);
    bool rests = writes && clock_mono_ms() - a->flushed_ms < APP_REST_MS;
    int patience = app_patience(a);
    struct pollfd fds[] = {
        {.fd = mailbox_fd(a->mailbox), .events = POLLIN},
        {.fd = a->is_away ? -1 : term_fd(a->term),
         .events = (short)(POLLIN | (writes && !rests ? POLLOUT : 0))},
        {.fd = a->watch.fd, .events = POLLIN},
    };

    if (rests && (patience < 0 || patience > APP_REST_MS))
        patience = APP_REST_MS;
    if (poll(fds, ARRAY_LEN(fds), patience) < 0 && errno != EINTR)
        BUG("poll: %s", strerror(errno));
    if (fds[1].revents & POLLOUT) {
        term_flush(a->term);
        a->flushed_ms = clock_mono_ms();
    }
    if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
        app_read_keys(a);
    if (fds[2].revents & POLLIN)
        app_watch_read(a);
}

static void app_loop(struct app *a)
{
    while (!a->is_over) {
        app_wait(a);
        app_tick(a);
        app_take_mail(a);
        app_take_events(a);
        app_frame(a);
    }
}

/* ---- made and ended ---- */

struct chat *app_chat_new(struct app *a, bool is_agent)
{
    const struct term_able *able = term_able(a->term);
    struct chat_spec chat = {
        .dir = conf_dir(a->conf),
        .ascii = !able->unicode,
        .plain = able->is_plain,
        .spells_links = !able->links,
        .is_agent = is_agent,
        .verbose = app_verbose(a),
    };

    return chat_new(&chat);
}

static void app_make_parts(struct app *a)
{
    const struct term_able *able = term_able(a->term);
    struct completer_spec completer = {.dir = conf_dir(a->conf), .conf = a->conf, .to = a->mailbox};
    struct editor_spec editor = {
        .vim = str_is(conf_get_str(a->conf, "editorMode"), "vim"),
        .ascii = !able->unicode,
        .past = app_past,
        .past_arg = a,
    };

    a->screen = screen_new(a->term, app_theme(a));
    a->keyboard = keyboard_new();
    a->chat = app_chat_new(a, /*is_agent=*/false);
    a->completer = completer_new(&completer);
    editor.completer = able->is_plain ? NULL : a->completer; /* its list would not be seen */
    a->editor = editor_new(&editor);
}

static void app_init(struct app *a, const struct tui_spec *spec, struct tui_end *end)
{
    *a = (struct app){
        .spec = spec,
        .conf = spec->host->conf,
        .end = end,
        .mailbox = mailbox_new(),
        .crew = crew_new(),
        .commits = LINES_INIT,
        .region = LINES_INIT,
        .part = LINES_INIT,
        .own_status = LINES_INIT,
        .panel_log = PANEL_LOG_INIT,
        .resumes = BUF_INIT(ID_UUID_LEN + 1),
        .hint = BUF_INIT(APP_MAX_HINT),
        .titled = BUF_INIT(BUF_NO_LIMIT),
        .tail = BUF_INIT(BUF_NO_LIMIT),
        .frames_path = test_switch("TENAX_TEST_FRAMES"),
        .frame_bytes = APP_FRAME_BYTES,
        .is_dirty = true,
        .typed_ms = clock_mono_ms(),
        .watch.fd = -1,
    };
    a->agents.pill = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    a->viewed.name = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    a->viewed.hint = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    a->viewed.rule = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    a->figures.model = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    a->figures.title = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    a->figures.branch = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    app_front_init(a);
}

/* Restore the terminal first, so that the user can use it while an agent is still ending. */
static void app_release(struct app *a)
{
    app_panels_release(a); /* answers those who wait */
    screen_free(a->screen);
    term_close(a->term);
    signals_divert(/*fn=*/NULL, /*arg=*/NULL);
    mailbox_close(a->mailbox); /* a session that was just made may lie in it: its end takes time */
    app_unwatch(a);            /* no more asks arrive, so no one waits for an answer */
    crew_free(a->crew);        /* what runs there knows the session: before that goes */
    app_close(a);
    chores_free(a->chores);
    completer_free(a->completer);
    editor_free(a->editor);
    chat_free(a->chat);
    keyboard_free(a->keyboard);
    app_forget_sent(a);
    app_frames_write(a);
    vec_release(&a->sent);
    vec_release(&a->panels);
    strv_release(&a->past);
    lines_release(&a->commits);
    lines_release(&a->region);
    lines_release(&a->part);
    lines_release(&a->own_status);
    panel_log_release(&a->panel_log);
    buf_release(&a->resumes);
    buf_release(&a->hint);
    buf_release(&a->titled);
    buf_release(&a->tail);
    buf_release(&a->viewed.name);
    buf_release(&a->viewed.hint);
    buf_release(&a->viewed.rule);
    buf_release(&a->figures.model);
    buf_release(&a->figures.title);
    buf_release(&a->figures.branch);
    app_goal_release(&a->goal);
    app_agents_release(a);
    app_board_release(a);
    app_watch_end(a);
    mailbox_unref(a->mailbox);
}

static int app_take_terminal(struct app *a, struct err *err)
{
    CLEANUP(buf_release) struct buf log = BUF_INIT(BUF_NO_LIMIT);
    struct term_spec spec = {
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .environ = conf_environ(a->conf),
        .plain = a->spec->plain,
    };

    (void)file_mkdirs(conf_home(a->conf), 0700, /*err=*/NULL); /* a first start has none yet */
    buf_addf(&log, "%s/stderr.log", conf_home(a->conf));
    spec.log_path = buf_cstr(&log);
    if (term_open(&spec, &a->term, err) < 0)
        return -1;
    (void)ioctl(term_fd(a->term), FIONREAD, &a->early_bytes);
    return 0;
}

void tui_run(const struct tui_spec *spec, struct tui_end *ret)
{
    struct app a;

    *ret = (struct tui_end){0};
    app_init(&a, spec, ret);
    a.chores = chores_new(a.mailbox, &ret->failed);
    if (!a.chores || app_take_terminal(&a, &ret->failed) < 0) {
        app_quit(&a, /*code=*/1);
    } else {
        app_make_parts(&a);
        app_watch_begin(&a);
        signals_divert(app_on_signal, a.mailbox);
        if (cancel_is_set(spec->host->cancel)) /* a signal came before we listened */
            app_quit(&a, /*code=*/0);
        app_open_first(&a);
        if (spec->prompt.len)
            app_say(&a, spec->prompt, spec->prompt);
        app_frame(&a);
        app_loop(&a);
    }
    app_release(&a);
}
