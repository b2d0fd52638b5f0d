/*
 * /effort: sets how much the model thinks. Confirming writes the user's settings and applies to
 * this session at once; a variable that is set takes precedence over the settings, and is reported.
 */
#include "llm/effort.h"

#include <string.h>

#include "base/err.h"
#include "conf/conf.h"
#include "host/host.h"
#include "llm/model.h"
#include "slash/answer.h"

static int effort_run(struct slash_call *call, struct err *err);

const struct slash_command slash_effort_entry = {
    .name = "effort",
    .hint = "[low … max | auto | status]",
    .summary = "Choose how hard the model thinks",
    .more =
        "Without an argument a slider is shown where there is a screen. `auto` (or `unset`) leaves "
        "it to the model, `status` (or `current`) says what counts. The choice is written to your "
        "settings (`effortLevel`); `TENAX_EFFORT` in the environment wins over them.",
    .run = effort_run,
};

static const char *const levels[] = {"low", "medium", "high", "xhigh", "max"};
#define LEVELS ARRAY_LEN(levels)

/* The variable that decides, with its value; NULL: none is set. */
static const char *effort_variable(const struct conf *conf, const char **ret_value)
{
    static const char *const names[] = {"TENAX_EFFORT", "CLAUDE_CODE_EFFORT_LEVEL"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = conf_env(conf, names[i]);

        enum effort level;

        if (value && effort_parse(str_of(value), &level)) {
            *ret_value = value;
            return names[i];
        }
    }
    return NULL;
}

static void effort_say(struct slash_call *call)
{
    const struct conf *conf = host_conf(call->host);
    enum effort now = host_effort(call->host);
    const char *value = NULL;
    const char *variable = effort_variable(conf, &value);
    struct model model;
    enum effort fit;

    host_figures(call->host, &model);
    fit = effort_fit(model.efforts, now);
    slash_sayf(call, INK_PLAIN, "Effort: %s", now == EFFORT_UNSET ? "auto" : effort_name(now));
    if (!model.efforts)
        slash_say(call, INK_PLAIN, STR(" (this model knows no levels of it)"));
    else if (fit != now)
        slash_sayf(call, INK_PLAIN, " (the model takes %s)", effort_name(fit));
    slash_say(call, INK_PLAIN, STR("\n"));
    if (variable)
        slash_sayf(call, INK_YELLOW, "%s=%s is set: it wins over the settings at every start.\n",
                   variable, value);
}

/* The environment was set for this run on purpose, or by a script that wraps tenax. */
static bool effort_is_overridden(struct slash_call *call)
{
    const char *value = NULL;
    const char *variable = effort_variable(host_conf(call->host), &value);

    if (!variable)
        return false;
    slash_sayf(call, INK_YELLOW,
               "%s=%s is set and wins, so the effort stays as it is. To change it, unset %s and "
               "start tenax again.\n",
               variable, value, variable);
    return true;
}

static int effort_set(struct slash_call *call, struct str name, struct err *err)
{
    enum effort wanted = EFFORT_UNSET;
    bool automatic = str_is_word_of(name, "auto unset");

    if (str_is(name, "ultracode"))
        return err_set(err, ERR_UNSUPPORTED,
                       "ultracode is xhigh and workflows of many agents; tenax has no workflows "
                       "yet, so /effort xhigh is what there is of it");
    if (!automatic &&
        (!str_is_word_of(name, "low medium high xhigh max") || !effort_parse(name, &wanted)))
        return err_set(err, ERR_BAD_INPUT,
                       "there is no effort '%.*s': low, medium, high, xhigh, "
                       "max, or auto",
                       STR_ARG(str_clip(name, 40)));
    if (effort_is_overridden(call))
        return 0;
    if (automatic ? slash_save(call, "effortLevel", /*value=*/NULL, err) < 0
                  : slash_save_text(call, "effortLevel", name, err) < 0)
        return -1;
    host_set_effort(call->host, wanted);
    effort_say(call);
    return 0;
}

static int effort_slide(struct slash_call *call, struct err *err)
{
    struct choice choices[LEVELS] = {0};
    struct pick p = {
        .look = PICK_SLIDER,
        .title = STR_INIT("Effort"),
        .low = STR_INIT("Faster"),
        .high = STR_INIT("Smarter"),
        .choices = choices,
        .count = ARRAY_LEN(choices),
    };
    const char *value = NULL;
    const char *variable = effort_variable(host_conf(call->host), &value);
    CLEANUP(buf_release) struct buf note = BUF_INIT(1000);
    enum effort now = host_effort(call->host);
    struct model model;
    size_t chosen;

    host_figures(call->host, &model);
    for (size_t i = 0; i < LEVELS; i++) {
        choices[i].label = str_of(levels[i]);
        choices[i].is_off = !model.efforts;
        choices[i].is_current = now != EFFORT_UNSET && strcmp(levels[i], effort_name(now)) == 0;
        if (choices[i].is_current)
            p.at = i;
    }
    if (now == EFFORT_UNSET)
        p.at = 2; /* what most models do by themselves */
    if (!model.efforts)
        buf_adds(&note, "This model knows no levels of effort.");
    else if (variable)
        buf_addf(&note, "%s=%s is set and wins over the settings.", variable, value);
    p.note = buf_str(&note);
    if (slash_pick(call, &p, &chosen, err) < 0) {
        if (err->code == ERR_CANCELLED)
            return err_set(err, ERR_CANCELLED, "Effort unchanged");
        return -1;
    }
    return effort_set(call, str_of(levels[chosen]), err);
}

static int effort_run(struct slash_call *call, struct err *err)
{
    if (str_is_word_of(call->args, "current status")) {
        effort_say(call);
        return 0;
    }
    if (call->args.len)
        return effort_set(call, call->args, err);
    if (call->front)
        return effort_slide(call, err);
    effort_say(call);
    slash_say(call, INK_FAINT, STR("To change it: /effort low|medium|high|xhigh|max|auto\n"));
    return 0;
}
