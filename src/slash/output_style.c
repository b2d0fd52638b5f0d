/*
 * /output-style: how the model works with the user and writes.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "context/style.h"
#include "host/host.h"
#include "slash/answer.h"

static int output_style_run(struct slash_call *call, struct err *err);

const struct slash_command slash_output_style_entry = {
    .name = "output-style",
    .hint = "[<name>]",
    .summary = "Choose how the model writes its answers",
    .more = "Styles are built in, or Markdown files in `.claude/output-styles`; the choice is kept "
            "in your own settings. It counts from the next session on: `/clear` begins one.",
    .run = output_style_run,
};

#define STYLE_MAX_ROWS 100

static const struct {
    const char *name, *says;
} built_in[] = {
    {"default", "short answers, gets the work done"},
    {"Proactive", "decides more by itself and asks less"},
    {"Concise", "as few words as possible"},
    {"Explanatory", "explains its choices and the code as it goes"},
    {"Learning", "leaves small parts of the work to you, with hints"},
};

static struct str style_says(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(built_in); i++) {
        if (str_eq_nocase(name, str_of(built_in[i].name)))
            return str_of(built_in[i].says);
    }
    return STR("");
}

static int style_set(struct slash_call *call, const struct strv *names, struct str name,
                     struct err *err)
{
    for (size_t i = 0; i < names->len; i++) {
        if (!str_eq_nocase(name, str_of(names->ptr[i])))
            continue;
        if (slash_save_text(call, "outputStyle", str_of(names->ptr[i]), err) < 0)
            return -1;
        slash_sayf(call, INK_PLAIN,
                   "Output style: %s, from the next session on. /clear begins one.\n",
                   names->ptr[i]);
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "there is no output style '%.*s'; /output-style lists them",
                   STR_ARG(str_clip(name, 80)));
}

static int output_style_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct str now = conf_get_str(host_conf(call->host), "outputStyle");
    struct choice choices[STYLE_MAX_ROWS] = {0};
    struct pick p = {.look = PICK_LIST, .title = STR_INIT("Output style"), .choices = choices};
    size_t chosen;

    style_names(host_conf(call->host), &names);
    if (call->args.len)
        return style_set(call, &names, call->args, err);
    for (; p.count < names.len && p.count < STYLE_MAX_ROWS; p.count++) {
        struct choice *c = &choices[p.count];

        c->label = str_of(names.ptr[p.count]);
        c->detail = style_says(c->label);
        c->is_current = str_eq_nocase(c->label, now.len ? now : STR("default"));
        if (c->is_current)
            p.at = p.count;
    }
    if (call->front)
        return slash_pick(call, &p, &chosen, err) < 0
                   ? -1
                   : style_set(call, &names, choices[chosen].label, err);
    for (size_t i = 0; i < p.count; i++) {
        slash_sayf(call, choices[i].is_current ? INK_BOLD : INK_PLAIN, "%s %-14.*s",
                   choices[i].is_current ? "*" : " ", STR_ARG(choices[i].label));
        slash_sayf(call, INK_FAINT, "  %.*s\n", STR_ARG(choices[i].detail));
    }
    return 0;
}
