/*
 * /sandbox: whether commands are confined, and the hosts they may reach; both can be changed.
 */
#include "guard/sandbox.h"

#include <string.h>

#include "base/err.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "slash/answer.h"

static int sandbox_cmd_run(struct slash_call *call, struct err *err);

const struct slash_command slash_sandbox_entry = {
    .name = "sandbox",
    .hint = "[on | auto | off | allow <host> | remove <host>]",
    .summary = "Show how commands are confined, switch the sandbox, or allow a host",
    .more =
        "`on` insists on a sandbox, `auto` uses one where the system has it, `off` runs commands "
        "without. `allow` lets confined commands reach a host (`*.example.org` for all below "
        "it). The choice is kept in your own settings; `on`, `auto` and `off` count from the "
        "next session on.",
    .run = sandbox_cmd_run,
};

#define HOSTS_KEY "sandbox.network.allowedDomains"

static const char *state_words(const struct sandbox *s)
{
    switch (sandbox_state(s)) {
    case SANDBOX_ON:
        return sandbox_frees_commands(s) ? "on; confined commands run without a question"
                                         : "on; confined commands ask as usual";
    case SANDBOX_MISSING:
        return "not available here, so commands run without it and ask";
    case SANDBOX_NEEDED:
        return "required but not available here, so no command runs";
    case SANDBOX_OFF:
        break;
    }
    return "off";
}

static void say_state(struct slash_call *call)
{
    const struct sandbox *s = host_sandbox(call->host);
    const struct json *hosts = conf_get(host_conf(call->host), HOSTS_KEY);

    slash_fact(call, "Sandbox", "%s", state_words(s));
    if (*sandbox_why_not(s))
        slash_fact(call, "Why", "%s", sandbox_why_not(s));
    slash_fact(call, "Network", "%s", json_len(hosts) ? "only these hosts:" : "none");
    JSON_EACH(hosts, host) {
        slash_fact(call, "", "%.*s", STR_ARG(json_str(host)));
    }
    slash_say(call, INK_FAINT, STR("`tenax sandbox` shows which files can be read and written.\n"));
}

static int set_state(struct slash_call *call, struct str word, struct err *err)
{
    if (slash_save_text(call, "sandbox.enabled", word, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Sandbox: %.*s, from the next session on. /clear begins one.\n",
               STR_ARG(word));
    return 0;
}

/* The list as it is, without this host, and with it at the end. */
static int change_hosts(struct slash_call *call, struct str host, bool add, struct err *err)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(SLASH_MAX_TEXT);
    const struct json *hosts = conf_get(host_conf(call->host), HOSTS_KEY);
    bool was_there = false;
    struct str value;
    struct jw w;

    if (!host.len || str_chr(host, ' ') < host.len || str_chr(host, '/') < host.len)
        return err_set(err, ERR_BAD_INPUT,
                       "that is not a host: name one as in example.org or "
                       "*.example.org");
    jw_init(&w, &json, 0);
    jw_array(&w);
    JSON_EACH(hosts, h) {
        if (str_eq_nocase(json_str(h), host))
            was_there = true;
        else
            jw_str(&w, json_str(h));
    }
    if (add)
        jw_str(&w, host);
    jw_array_end(&w);
    if (!add && !was_there)
        return err_set(err, ERR_NOT_FOUND, "%.*s is not among the allowed hosts", STR_ARG(host));
    value = buf_str(&json);
    if (slash_save(call, HOSTS_KEY, &value, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, add ? "Commands may reach %.*s\n" : "%.*s is no longer allowed\n",
               STR_ARG(host));
    return 0;
}

/* The row after the fixed ones is the first host. */
static int sandbox_pick(struct slash_call *call, struct err *err)
{
    static const char *const words[] = {"auto", "on", "off"};
    CLEANUP(buf_release) struct buf host = BUF_INIT(4096);
    const struct json *hosts = conf_get(host_conf(call->host), HOSTS_KEY);
    struct str now = conf_get_str(host_conf(call->host), "sandbox.enabled");
    struct choice choices[50] = {
        {.label = STR_INIT("Use a sandbox where there is one"), .detail = STR_INIT("auto")},
        {.label = STR_INIT("Always use a sandbox"),
         .detail = STR_INIT("on: without one no command runs")},
        {.label = STR_INIT("Run commands without a sandbox"), .detail = STR_INIT("off")},
        {.label = STR_INIT("Allow a host"), .detail = STR_INIT("that commands may reach")},
    };
    struct pick p = {
        .look = PICK_LIST, .title = STR_INIT("Sandbox"), .choices = choices, .count = 4};
    size_t chosen;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        choices[i].is_current = str_is(now, words[i]);
    JSON_EACH(hosts, h) {
        if (p.count < ARRAY_LEN(choices))
            choices[p.count++] = (struct choice){.label = json_str(h),
                                                 .detail = STR("allowed host; Enter removes it")};
    }
    p.note = str_of(state_words(host_sandbox(call->host)));
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    if (chosen < ARRAY_LEN(words))
        return set_state(call, str_of(words[chosen]), err);
    if (chosen > 3) {
        buf_add(&host, choices[chosen].label);
        return change_hosts(call, buf_str(&host), /*add=*/false, err);
    }
    if (call->front->edit(call->front->arg, STR("The host, such as registry.example.org"), &host,
                          call->cancel, err) < 0)
        return -1;
    return change_hosts(call, str_trim(buf_str(&host)), /*add=*/true, err);
}

static int sandbox_cmd_run(struct slash_call *call, struct err *err)
{
    struct str verb = slash_word(call->args);
    struct str rest = str_trim(str_from(call->args, verb.len));

    if (!verb.len && call->front)
        return sandbox_pick(call, err);
    if (!verb.len || (str_is(verb, "status") && !rest.len)) {
        say_state(call);
        return 0;
    }
    if (str_is_word_of(verb, "on auto off") && !rest.len)
        return set_state(call, verb, err);
    if (str_is_word_of(verb, "allow remove"))
        return change_hosts(call, rest, str_is(verb, "allow"), err);
    return err_set(err, ERR_BAD_INPUT, "usage: /sandbox %s", slash_sandbox_entry.hint);
}
