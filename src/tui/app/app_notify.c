/*
 * app_notify: notifies a user who is looking elsewhere. Some terminals report focus; with others
 * (tmux by default, screen, a console) only keys tell: a user who has not typed for a while counts
 * as away. UI thread.
 */
#include "base/clock.h"
#include "conf/conf.h"
#include "tui/app/app.h"
#include "tui/screen/term.h"

#define NOTIFY_AWAY_MS 6000 /* without a key */

static void notify_now(struct app *a)
{
    struct str channel = conf_get_str(a->conf, "preferredNotifChannel");
    bool is_chosen = channel.len && !str_is(channel, "auto");

    if (str_is(channel, "terminal_bell") || str_is(channel, "iterm2_with_bell"))
        term_bell(a->term);
    if (!str_is(channel, "terminal_bell"))
        term_notify(a->term, is_chosen, STR("tenax"), str_of(a->notice));
    a->notice = NULL;
}

void app_notify(struct app *a, const char *text)
{
    struct str channel = conf_get_str(a->conf, "preferredNotifChannel");

    if (str_is(channel, "notifications_disabled"))
        return;
    a->notice = text;
    a->notice_ms = clock_mono_ms();
    if (!channel.len || str_is(channel, "auto"))
        a->notice_ms = a->typed_ms + NOTIFY_AWAY_MS;
    app_notify_tick(a);
}

void app_notify_typed(struct app *a)
{
    a->typed_ms = clock_mono_ms();
    a->notice = NULL;
}

void app_notify_tick(struct app *a)
{
    const struct term_able *able = term_able(a->term);

    if (!a->notice)
        return;
    if (able->tells_focus && able->focused)
        a->notice = NULL;
    else if (able->tells_focus || a->notice_ms <= clock_mono_ms())
        notify_now(a);
}
