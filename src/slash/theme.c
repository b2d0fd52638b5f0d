/*
 * /theme: the colors of the terminal UI. The UI knows its themes and takes a name or does not.
 */
#include "base/err.h"
#include "conf/conf.h"
#include "conf/keys.h"
#include "host/host.h"
#include "slash/answer.h"

static int theme_run(struct slash_call *call, struct err *err);

const struct slash_command slash_theme_entry = {
    .name = "theme",
    .in_terminal = true,
    .hint = "[<name>]",
    .summary = "Choose the colors of the terminal",
    .run = theme_run,
};

#define THEME_MAX 16

static int theme_set(struct slash_call *call, struct str name, struct err *err)
{
    if (!str_is_word_of(name, key_find(STR("theme"))->values))
        return err_set(err, ERR_BAD_INPUT, "there is no theme '%.*s': %s",
                       STR_ARG(str_clip(name, 40)), key_find(STR("theme"))->values);
    if (call->front && !call->front->set(call->front->arg, STR("theme"), name))
        return err_set(err, ERR_UNSUPPORTED, "this terminal cannot have the theme '%.*s'",
                       STR_ARG(name));
    if (slash_save_text(call, "theme", name, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Theme: %.*s\n", STR_ARG(name));
    return 0;
}

static int theme_run(struct slash_call *call, struct err *err)
{
    struct str now = conf_get_str(host_conf(call->host), "theme");
    struct str rest = str_of(key_find(STR("theme"))->values);
    struct choice choices[THEME_MAX] = {0};
    struct pick p = {.look = PICK_THEME, .title = STR_INIT("Theme"), .choices = choices};
    struct str name;
    size_t chosen;

    if (call->args.len)
        return theme_set(call, call->args, err);
    while (p.count < THEME_MAX && str_cut(&rest, ' ', &name)) {
        choices[p.count].label = name;
        choices[p.count].is_current = now.len ? str_eq(name, now) : str_is(name, "auto");
        if (choices[p.count].is_current)
            p.at = p.count;
        p.count++;
    }
    if (call->front) {
        if (slash_pick(call, &p, &chosen, err) < 0)
            return -1;
        return theme_set(call, choices[chosen].label, err);
    }
    for (size_t i = 0; i < p.count; i++)
        slash_sayf(call, choices[i].is_current ? INK_BOLD : INK_PLAIN, "%s %.*s\n",
                   choices[i].is_current ? "*" : " ", STR_ARG(choices[i].label));
    return 0;
}
