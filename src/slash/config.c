/*
 * /config: shows the settings and their sources; changes one in the user's own file.
 */
#include "conf/conf.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/keys.h"
#include "conf/setting.h"
#include "conf/source.h"
#include "host/host.h"
#include "slash/answer.h"

static int config_run(struct slash_call *call, struct err *err);

const struct slash_command slash_config_entry = {
    .name = "config",
    .aliases = "settings",
    .hint = "[get | set | unset <key> …]",
    .summary = "Show the settings and where each comes from, or change one of yours",
    .more = "Changes go to your own file, `~/.tenax/settings.json`, and count at once where they "
            "can. `tenax config` also changes those of the project.",
    .run = config_run,
};

/* The settings changed most often, with their choices. */
static const struct {
    const char *key, *unset, *says; /* what holds when it is not set; what it is */
} common[] = {
    {"theme", "auto", "Colors of the terminal"},
    {"editorMode", "normal", "Keys of the prompt: normal or vim"},
    {"effortLevel", "auto", "How hard the model thinks"},
    {"permissions.defaultMode", "default", "Permission mode of new sessions"},
    {"autoCompactEnabled", "true", "Compact the conversation automatically when it is long"},
    {"alwaysThinkingEnabled", "auto", "Think before every answer"},
    {"respectGitignore", "true", "Leave out files that git ignores when searching"},
    {"includeCoAuthoredBy", "true", "Name tenax in commits and pull requests"},
    {"offerFreshSession", "true", "Offer a new session after a long pause"},
    {"verbose", "false", "Show thinking and results in full"},
};
#define CONFIG_MAX_VALUES 16

static void say_row(void *arg, const char *path, struct str value, struct str origin)
{
    const char *unused = setting_unused(path);
    struct slash_call *call = arg;

    slash_sayf(call, INK_CYAN, "%s", path);
    slash_sayf(call, INK_PLAIN, " = %.*s", STR_ARG(value));
    slash_sayf(call, INK_FAINT, "  (%.*s)%s%s\n", STR_ARG(origin), unused ? "; " : "",
               unused ? unused : "");
}

/* Applies settings that are not read on demand. */
static void config_apply(struct slash_call *call, const char *key)
{
    const struct conf *conf = host_conf(call->host);
    const struct key *row = key_find(str_of(key));
    struct str value = conf_get_str(conf, key);
    enum effort effort = EFFORT_UNSET;

    if (str_is(str_of(key), "effortLevel")) {
        (void)effort_parse(value, &effort);
        host_set_effort(call->host, effort);
    }
    if (row && row->types & KEY_BOOL)
        value = conf_get_bool(conf, key, false) ? STR("true") : STR("false");
    if (call->front) /* empty: no longer set, so the default */
        (void)call->front->set(call->front->arg, str_of(key), value);
}

static int config_set(struct slash_call *call, const char *key, char *const *words, size_t count,
                      struct err *err)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(SOURCE_MAX_BYTES);
    const struct key *row = setting_row(str_of(key), err);
    struct str value;

    if (!row || setting_value(key, row, words, count, &json, err) < 0)
        return -1;
    value = buf_str(&json);
    if (slash_save(call, key, &value, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "%s = %.*s\n", key, STR_ARG(value));
    config_apply(call, key);
    return 0;
}

static int config_pick_value(struct slash_call *call, const char *key, struct err *err)
{
    const struct key *row = key_find(str_of(key));
    const struct json *set = conf_get(host_conf(call->host), key);
    struct str rest = row->types & KEY_BOOL ? STR("true false") : str_of(row->values);
    struct choice choices[CONFIG_MAX_VALUES] = {0};
    struct pick p = {
        .look = PICK_LIST, .title = str_of(key), .note = str_of(row->help), .choices = choices};
    CLEANUP(mem_freep) char *word = NULL;
    struct str now = conf_get_str(host_conf(call->host), key);
    struct str value;
    size_t chosen;

    if (set && row->types & KEY_BOOL)
        now = conf_get_bool(host_conf(call->host), key, false) ? STR("true") : STR("false");
    while (p.count < CONFIG_MAX_VALUES && str_cut(&rest, ' ', &value)) {
        choices[p.count].label = value;
        choices[p.count].is_current =
            now.len ? str_eq(value, now) : str_is(value, "auto") || str_is(value, "default");
        if (choices[p.count].is_current)
            p.at = p.count;
        p.count++;
    }
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    word = mem_dup(choices[chosen].label.ptr, choices[chosen].label.len);
    return config_set(call, key, &word, 1, err);
}

/* Its value now, and what it is. */
static void config_detail(struct slash_call *call, size_t i, struct buf *ret)
{
    const struct conf *conf = host_conf(call->host);
    const struct key *row = key_find(str_of(common[i].key));
    struct str value = conf_get_str(conf, common[i].key);

    if (!conf_get(conf, common[i].key))
        value = str_of(common[i].unset);
    else if (row->types & KEY_BOOL)
        value = conf_get_bool(conf, common[i].key, false) ? STR("true") : STR("false");
    buf_addf(ret, "%-18.*s%s", STR_ARG(value), common[i].says);
}

static int config_pick(struct slash_call *call, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct choice choices[ARRAY_LEN(common)] = {0};
    struct pick p = {.look = PICK_LIST,
                     .title = STR_INIT("Settings"),
                     .note = STR_INIT("/config list shows all that are set, and where"),
                     .choices = choices,
                     .count = ARRAY_LEN(common)};
    size_t chosen;

    for (size_t i = 0; i < ARRAY_LEN(common); i++) {
        CLEANUP(buf_release) struct buf detail = BUF_INIT(4096);

        config_detail(call, i, &detail);
        choices[i].label = str_of(common[i].key);
        choices[i].detail = arena_str(&arena, buf_str(&detail));
    }
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    return config_pick_value(call, common[chosen].key, err);
}

static int config_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    const struct conf *conf = host_conf(call->host);
    struct str verb;

    slash_words(call->args, &words);
    verb = words.len ? str_of(words.ptr[0]) : STR("list");
    if (!words.len && call->front)
        return config_pick(call, err);
    if (str_is(verb, "list") && words.len <= 1) {
        setting_each(conf, /*key=*/NULL, say_row, call);
        if (!call->text.len)
            slash_say(call, INK_PLAIN, STR("Nothing is set; all settings have their defaults.\n"));
        return 0;
    }
    if (str_is(verb, "get") && words.len == 2) {
        if (!setting_row(str_of(words.ptr[1]), err))
            return -1;
        if (!conf_get(conf, words.ptr[1])) {
            slash_sayf(call, INK_PLAIN, "'%s' is not set\n", words.ptr[1]);
            return 0;
        }
        setting_each(conf, words.ptr[1], say_row, call);
        return 0;
    }
    if (str_is(verb, "set") && words.len >= 3)
        return config_set(call, words.ptr[1], words.ptr + 2, words.len - 2, err);
    if (str_is(verb, "unset") && words.len == 2) {
        if (!setting_row(str_of(words.ptr[1]), err) ||
            slash_save(call, words.ptr[1], /*value=*/NULL, err) < 0)
            return -1;
        slash_sayf(call, INK_PLAIN, "'%s' is no longer set in your own file\n", words.ptr[1]);
        config_apply(call, words.ptr[1]);
        return 0;
    }
    return err_set(err, ERR_BAD_INPUT, "usage: /config %s", slash_config_entry.hint);
}
