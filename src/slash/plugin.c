/*
 * /plugin: lists plugins and changes them, with the arguments of `tenax plugin`. Shows what a
 * plugin can run and asks; without a user nothing is installed.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "host/host.h"
#include "host/plugins/plugins.h"
#include "slash/answer.h"

static int plugin_run(struct slash_call *call, struct err *err);

const struct slash_command slash_plugin_entry = {
    .name = "plugin",
    .aliases = "plugins",
    .hint = "[install|uninstall|enable|disable|update|details ID | marketplace …]",
    .summary = "Show, install, change and remove plugins",
    .more = "The arguments are those of `tenax plugin`. Changes count after `/reload-plugins`, or "
            "with the next session.",
    .run = plugin_run,
};

#define ROWS_MAX 200

static int confirm(void *arg, struct str title, struct str what, struct err *err)
{
    struct slash_call *call = arg;
    CLEANUP(buf_release) struct buf note = BUF_INIT(BUF_NO_LIMIT);
    struct choice choices[] = {{.label = STR_INIT("Cancel")}, {.label = STR_INIT("Continue")}};
    struct pick p = {.look = PICK_LIST, .title = title, .choices = choices, .count = 2};
    size_t chosen;

    if (!call->front)
        return err_set(err, ERR_DENIED,
                       "there is no user to ask here; use tenax plugin with --yes");
    buf_add(&note, what.len ? what : STR("It runs nothing by itself."));
    p.note = buf_str(&note);
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    return chosen == 1 ? 0 : err_set(err, ERR_DENIED, "not confirmed; nothing was changed");
}

/* ---- Words ---- */

static int enable(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                  struct err *err)
{
    return plugin_switch(job, id, true, ret, err);
}

static int disable(const struct plugin_job *job, struct str id, struct plugin_done *ret,
                   struct err *err)
{
    return plugin_switch(job, id, false, ret, err);
}

static const struct {
    const char *words;
    int (*fn)(const struct plugin_job *job, struct str what, struct plugin_done *ret,
              struct err *err);
} changes[] = {
    {"install", plugin_install},
    {"uninstall", plugin_uninstall},
    {"enable", enable},
    {"disable", disable},
    {"update", plugin_update},
    {"marketplace add", market_add},
    {"marketplace remove", market_remove},
    {"marketplace update", market_update},
};

static int change(struct slash_call *call, size_t i, struct str what, struct err *err)
{
    CLEANUP(plugin_done_release) struct plugin_done done = {0};
    struct plugin_job job = {
        .conf = host_conf(call->host), .cancel = call->cancel, .confirm = confirm, .arg = call};

    if (changes[i].fn(&job, what, &done, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "%s.\n", buf_cstr(&done.message));
    for (size_t k = 0; k < done.warnings.len; k++)
        slash_sayf(call, INK_YELLOW, "%s\n", done.warnings.ptr[k]);
    if (!str_starts(str_of(changes[i].words), STR("marketplace")))
        slash_say(call, INK_FAINT,
                  STR("It counts after /reload-plugins, or in the next session.\n"));
    return 0;
}

static int show(struct slash_call *call, struct str what, struct str id, struct err *err)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(SLASH_MAX_TEXT);
    const struct conf *conf = host_conf(call->host);
    int rc = str_is(what, "details") ? plugin_write_details(conf, id, NULL, &out, err)
             : str_is(what, "marketplace")
                 ? market_write_list(conf, NULL, &out, err)
                 : plugin_write_list(conf, str_is(what, "available"), NULL, &out, err);

    if (rc == 0)
        slash_say(call, INK_PLAIN, buf_str(&out));
    return rc;
}

static int by_words(struct slash_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf verb = BUF_INIT(1000);
    struct str first = slash_word(call->args);
    struct str rest = str_trim(str_from(call->args, first.len));

    buf_add(&verb, first);
    if (str_is(first, "marketplace") && rest.len) {
        struct str second = slash_word(rest);

        buf_addf(&verb, " %.*s", STR_ARG(second));
        rest = str_trim(str_from(rest, second.len));
    }
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        if (str_is(buf_str(&verb), changes[i].words) && rest.len)
            return change(call, i, rest, err);
    }
    if (str_is_word_of(first, "list available") || (str_is(first, "details") && rest.len))
        return show(call, first, rest, err);
    if (str_is(buf_str(&verb), "marketplace") || str_is(buf_str(&verb), "marketplace list"))
        return show(call, STR("marketplace"), STR(""), err);
    return err_set(err, ERR_BAD_INPUT,
                   "/plugin takes list, available, install SOURCE, uninstall, enable, disable, "
                   "update or details with an ID, or marketplace add, remove, update or list");
}

/* ---- The panel ---- */

static size_t change_row(const char *words)
{
    size_t i = 0;

    while (i < ARRAY_LEN(changes) && strcmp(changes[i].words, words) != 0)
        i++;
    return i;
}

/* Asks what to do with the chosen plugin. */
static int act_on(struct slash_call *call, const char *id, bool is_loaded, struct err *err)
{
    const char *const labels[] = {is_loaded ? "Disable" : "Enable", "Update", "Uninstall",
                                  "Details"};
    const char *const words[] = {is_loaded ? "disable" : "enable", "update", "uninstall", NULL};
    size_t chosen;

    if (slash_choose(call, id, labels, ARRAY_LEN(labels), &chosen, err) < 0)
        return -1;
    return words[chosen] ? change(call, change_row(words[chosen]), str_of(id), err)
                         : show(call, STR("details"), str_of(id), err);
}

static int panel(struct slash_call *call, struct err *err)
{
    const struct conf *conf = host_conf(call->host);
    const struct plugins *all = plugins_get(conf);
    CLEANUP(strv_release) struct strv ids = STRV_INIT;
    struct choice *choices = mem_zalloc(ROWS_MAX * sizeof(*choices));
    struct pick p = {.look = PICK_LIST, .title = STR_INIT("Plugins"), .choices = choices};
    size_t chosen = 0;
    int rc = plugin_installed(conf, &ids, err);

    VEC_EACH(&all->list, it) {
        if (!strv_has(&ids, str_of((*it)->id)))
            strv_adds(&ids, (*it)->id);
    }
    for (; rc == 0 && p.count < ids.len && p.count < ROWS_MAX; p.count++) {
        const struct plugin *loaded = plugins_find(all, str_of(ids.ptr[p.count]));

        choices[p.count].label = str_of(ids.ptr[p.count]);
        choices[p.count].detail = !loaded               ? STR("not in use")
                                  : loaded->description ? str_of(loaded->description)
                                                        : STR("in use");
    }
    if (rc == 0 && !p.count)
        rc = show(call, STR("list"), STR(""), err);
    else if (rc == 0)
        rc = slash_pick(call, &p, &chosen, err);
    if (rc == 0 && p.count)
        rc = act_on(call, ids.ptr[chosen], plugins_find(all, str_of(ids.ptr[chosen])), err);
    mem_freep(&choices);
    return rc;
}

static int plugin_run(struct slash_call *call, struct err *err)
{
    if (call->args.len)
        return by_words(call, err);
    return call->front ? panel(call, err) : show(call, STR("list"), STR(""), err);
}
