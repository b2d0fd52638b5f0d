/*
 * statusline: a thread that waits for reasons, starts the command, and keeps its last good text.
 *
 * The thread has one mailbox for all: what happened (from the UI thread), what the command prints
 * (from proc), and the times of the plan. It exists from the first time a command is set; with no
 * timer it sleeps until something happens. The UI thread and it share the text, under a lock.
 */
#include "tui/status/statusline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "hooks/handler.h"
#include "hooks/program.h"
#include "hooks/registry.h"
#include "hooks/settings.h"
#include "host/host.h"
#include "json/json.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "tui/status/statusline_input.h"
#include "tui/status/statusline_plan.h"

#define MIN_INTERVAL_MS 1000
#define MAX_INTERVAL_MS ((int64_t)24 * 3600 * 1000)
#define MAX_PADDING 100
#define MAX_ROWS 50

/* The settings, as they are now. */
struct line_settings {
    struct str command; /* empty: nothing runs */
    int64_t interval_ms;
    int padding;
};

/* A reason to run it; to the thread. */
struct reason_mail {
    struct mail mail;
    enum status_reason why;
    struct statusline_seen seen;
};

struct statusline {
    struct statusline_place place;
    struct mailbox *to;

    /* The UI thread's. */
    struct line_settings settings;
    struct thread *thread;

    /* Shared. */
    struct mailbox *mail;
    struct cancel *cancel;
    struct lock lock; /* of: */
    struct buf text;  /* lines, a newline between them */
    bool has_result;

    /* The thread's. */
    struct statusline_plan plan;
    struct statusline_seen seen;
    struct buf command; /* what runs, or ran last */
    struct proc *proc;  /* NULL: nothing runs */
    struct buf out;
    bool tells; /* the next result is logged: the command is new */
};

static void reason_free(struct mail *m)
{
    mem_freep(&m);
}

static const struct mail_kind reason_mail_kind = {.name = "status reason", .free = reason_free};
const struct mail_kind statusline_mail_kind = {.name = "status line", .free = reason_free};

/* ---- settings ---- */

static int64_t read_interval(const struct conf *conf)
{
    double seconds = 0;

    if (!json_double(conf_get(conf, "statusLine.refreshInterval"), &seconds) || !(seconds > 0))
        return 0;
    if (seconds * 1000 > (double)MAX_INTERVAL_MS)
        return MAX_INTERVAL_MS;
    return seconds * 1000 < MIN_INTERVAL_MS ? MIN_INTERVAL_MS : (int64_t)(seconds * 1000);
}

/* A command that may not run is treated as absent; the gates are those of hooks. An untrusted
 * folder has no say in it: its settings leave statusLine out (keys.def), and a warning at the start
 * of every session says this and what to do. */
static void read_settings(const struct conf *conf, struct line_settings *ret)
{
    struct str type = conf_get_str(conf, "statusLine.type");
    struct str command = str_trim(conf_get_str(conf, "statusLine.command"));
    int64_t padding = conf_get_i64(conf, "statusLine.padding", 0);

    *ret = (struct line_settings){0};
    if ((type.len && !str_is(type, "command")) || !command.len || command.len > HANDLER_MAX_TEXT ||
        str_chr(command, '\0') < command.len)
        return;
    if (settings_limit(conf) != HOOK_LIMIT_NONE && !conf_is_managed(conf, "statusLine.command"))
        return;
    ret->command = command;
    ret->interval_ms = read_interval(conf);
    ret->padding = padding < 0 ? 0 : padding > MAX_PADDING ? MAX_PADDING : (int)padding;
}

/* ---- the thread ---- */

static void set_text(struct statusline *s, struct str text)
{
    struct mail *m;
    bool is_same;

    lock_take(&s->lock);
    is_same = s->has_result && str_eq(buf_str(&s->text), text);
    s->has_result = true;
    if (!is_same) {
        buf_clear(&s->text);
        buf_add(&s->text, text);
    }
    lock_give(&s->lock);
    if (is_same)
        return;
    m = mem_zalloc(sizeof(*m));
    m->kind = &statusline_mail_kind;
    m->bytes = sizeof(*m);
    mailbox_send(s->to, m);
}

/* Trimmed, and so is each line; empty ones are dropped. */
static void take_output(struct statusline *s)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(STATUSLINE_MAX_OUTPUT);
    struct str rest = buf_str(&s->out);
    struct str line;

    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (!line.len)
            continue;
        if (text.len)
            buf_addc(&text, '\n');
        buf_add(&text, line);
    }
    set_text(s, buf_str(&text));
}

static void stop_run(struct statusline *s)
{
    proc_unref(s->proc);
    s->proc = NULL;
}

static void run_ended(struct statusline *s, const struct proc_mail *m)
{
    static const char *const how[] = {[PROC_EXITED] = "exited",
                                      [PROC_SIGNALLED] = "was killed by signal",
                                      [PROC_TIMED_OUT] = "took too long",
                                      [PROC_KILLED] = "was ended",
                                      [PROC_NOT_STARTED] = "could not be started"};

    if (s->tells || m->how != PROC_EXITED || m->code)
        log_debug("tui", "status line: %s: %s %d, after %lld ms: %.*s", buf_cstr(&s->command),
                  how[m->how], m->code, (long long)m->wall_ms,
                  STR_ARG(str_clip(buf_str(&s->out), 1000)));
    s->tells = false;
    if (m->how == PROC_EXITED && m->code == 0)
        take_output(s);
    stop_run(s);
}

static void add_size(struct strv *env)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
        return;
    strv_addf(env, "COLUMNS=%u", size.ws_col);
    strv_addf(env, "LINES=%u", size.ws_row);
}

static void start_run(struct statusline *s)
{
    CLEANUP(buf_release) struct buf input = BUF_INIT(1 << 20);
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    int64_t timeout_ms = s->place.timeout_ms ? s->place.timeout_ms : STATUSLINE_TIMEOUT_MS;
    struct hook_handler *h = hook_handler_new(
        &(struct handler_spec){.type = HANDLER_COMMAND, .command = buf_str(&s->command)});
    struct program_place place;
    struct program_input in = {0};
    struct err err = {0};

    stop_run(s); /* a newer one ends the older */
    add_size(&env);
    buf_clear(&s->out);
    s->place.write(s->place.arg, &s->seen, &input);
    program_place_init(&place, s->place.workspace, s->place.conf);
    place.more_env = &env;
    in.text = buf_str(&input);
    s->proc = program_start(&place, h, timeout_ms, &in, s->mail, &err);
    if (!s->proc)
        log_debug("tui", "status line: %s", err.text);
    program_place_release(&place);
    hook_handler_unref(h);
}

/* What the files say now. */
static void look(struct statusline *s)
{
    struct line_settings now;
    bool is_other;

    read_settings(s->place.conf, &now);
    is_other = !str_eq(now.command, buf_str(&s->command));
    if (is_other) {
        buf_clear(&s->command);
        buf_add(&s->command, now.command);
        s->tells = true;
    }
    if (now.command.len) {
        statusline_plan_settings(&s->plan, clock_mono_ms(), now.interval_ms, is_other);
        return;
    }
    stop_run(s);
    statusline_plan_stop(&s->plan);
    lock_take(&s->lock);
    buf_clear(&s->text);
    s->has_result = false;
    lock_give(&s->lock);
}

static void take_mail(struct statusline *s, struct mail *m)
{
    if (m->kind == &reason_mail_kind) {
        struct reason_mail *r = (struct reason_mail *)m;

        s->seen = r->seen;
        if (r->why != STATUS_SETTINGS)
            statusline_plan_happened(&s->plan, clock_mono_ms());
        look(s);
    } else if (m->kind == &proc_mail_kind) {
        struct proc_mail *p = (struct proc_mail *)m;

        if (p->proc != s->proc) /* of one that was ended */
            return;
        if (p->what == PROC_EXIT)
            run_ended(s, p);
        else if (p->fd == 1)
            buf_add(&s->out, str_first(buf_str(&p->bytes), STATUSLINE_MAX_OUTPUT - s->out.len));
    }
}

static void statusline_thread(void *arg)
{
    struct statusline *s = arg;

    look(s);
    for (;;) {
        int64_t next = statusline_plan_next(&s->plan);
        struct mail *m = NULL;
        struct err err = {0};

        if (mailbox_take(s->mail, s->cancel, next, &m, &err) < 0 && err.code == ERR_CANCELLED)
            break;
        if (m) {
            take_mail(s, m);
            mail_free(m);
        }
        if (statusline_plan_step(&s->plan, clock_mono_ms())) {
            if (s->place.reload)
                s->place.reload(s->place.arg);
            look(s);
            if (s->command.len)
                start_run(s);
        }
    }
    stop_run(s);
}

/* ---- the UI thread ---- */

static void send_reason(struct statusline *s, enum status_reason why, const struct status *now)
{
    struct reason_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &reason_mail_kind;
    m->mail.bytes = sizeof(*m);
    m->why = why;
    m->seen.usd = now ? now->usd : NAN;
    snprintf(m->seen.vim, sizeof(m->seen.vim), "%s", now && now->vim ? now->vim : "");
    mailbox_send(s->mail, &m->mail);
}

/* The thread begins with the first command there is. */
static void begin(struct statusline *s)
{
    struct err err = {0};

    if (s->thread || !s->settings.command.len)
        return;
    s->thread = thread_start("statusline", statusline_thread, s, &err);
    if (!s->thread)
        log_debug("tui", "status line: %s", err.text);
}

struct statusline *statusline_new_at(const struct statusline_place *place, struct mailbox *to)
{
    struct statusline *s = mem_zalloc(sizeof(*s));

    s->place = *place;
    s->to = mailbox_ref(to);
    s->mail = mailbox_new();
    s->cancel = cancel_new(NULL);
    lock_init(&s->lock);
    s->text = (struct buf)BUF_INIT(STATUSLINE_MAX_OUTPUT);
    s->out = (struct buf)BUF_INIT(STATUSLINE_MAX_OUTPUT);
    s->command = (struct buf)BUF_INIT(HANDLER_MAX_TEXT + 1);
    s->plan = (struct statusline_plan)STATUSLINE_PLAN_INIT;
    s->seen.usd = NAN;
    read_settings(place->conf, &s->settings);
    begin(s);
    return s;
}

static void write_of_host(void *arg, const struct statusline_seen *seen, struct buf *ret)
{
    statusline_input(arg, seen, ret);
}

static void reload_host(void *arg)
{
    host_reload(arg);
}

struct statusline *statusline_new(const struct statusline_spec *spec)
{
    struct statusline_place place = {
        .conf = host_conf(spec->host),
        .workspace = host_workspace(spec->host),
        .write = write_of_host,
        .reload = reload_host,
        .arg = spec->host,
    };

    return statusline_new_at(&place, spec->to);
}

void statusline_free(struct statusline *s)
{
    if (!s)
        return;
    cancel_set(s->cancel);
    thread_join(s->thread);
    mailbox_close(s->mail);
    mailbox_unref(s->mail);
    mailbox_unref(s->to);
    cancel_unref(s->cancel);
    lock_release(&s->lock);
    buf_release(&s->text);
    buf_release(&s->out);
    buf_release(&s->command);
    mem_freep(&s);
}

void statusline_happened(struct statusline *s, enum status_reason why, const struct status *now)
{
    read_settings(s->place.conf, &s->settings);
    if (s->thread)
        send_reason(s, why, now);
    else
        begin(s);
}

bool statusline_is_on(const struct statusline *s)
{
    return s->settings.command.len > 0;
}

bool statusline_has_text(struct statusline *s)
{
    bool has;

    lock_take(&s->lock);
    has = s->has_result;
    lock_give(&s->lock);
    return has;
}

static void draw_line(const struct view *v, int padding, struct str text, struct lines *ret)
{
    struct lines line = LINES_INIT;

    lines_spaces(&line, STYLE(ROLE_FAINT), padding);
    lines_put_ansi(&line, STYLE(ROLE_FAINT), text);
    lines_end(&line);
    lines_add_cut(ret, lines_at(&line, 0), v->cols - padding, v->ascii);
    lines_release(&line);
}

void statusline_draw(struct statusline *s, const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(STATUSLINE_MAX_OUTPUT);
    int padding = 2 * s->settings.padding < v->cols ? s->settings.padding : 0;
    struct str rest;
    struct str line;
    bool has_result;

    if (!statusline_is_on(s))
        return;
    lock_take(&s->lock);
    has_result = s->has_result;
    buf_add(&text, buf_str(&s->text));
    lock_give(&s->lock);
    rest = buf_str(&text);
    if (!has_result) {
        lines_end(ret); /* its row is kept free, so that nothing jumps */
        return;
    }
    for (int rows = 0; rest.len && rows < v->rows && rows < MAX_ROWS; rows++) {
        if (str_cut(&rest, '\n', &line))
            draw_line(v, padding, line, ret);
    }
}
