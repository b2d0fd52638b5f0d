/*
 * /logout: forgets a stored key. The session keeps the one it has.
 */
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/host.h"
#include "llm/auth.h"
#include "llm/door.h"
#include "slash/answer.h"

static int logout_run(struct slash_call *call, struct err *err);

const struct slash_command slash_logout_entry = {
    .name = "logout",
    .hint = "[<provider>]",
    .summary = "Forget a stored API key",
    .more = "The running session keeps its key; the next one needs another. A key in a variable "
            "is not stored, so unset the variable instead.",
    .run = logout_run,
};

static int logout_pick(struct slash_call *call, const struct strv *stored, struct str *ret,
                       struct err *err)
{
    struct choice choices[20] = {0};
    struct pick p = {.look = PICK_LIST, .title = STR_INIT("Forget which key?"), .choices = choices};
    size_t chosen;

    for (; p.count < stored->len && p.count < ARRAY_LEN(choices); p.count++)
        choices[p.count].label = str_of(stored->ptr[p.count]);
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    *ret = choices[chosen].label;
    return 0;
}

/* Mentions a variable that still provides a key. */
static void say_variable(struct slash_call *call, struct str provider)
{
    const struct conf *conf = host_conf(call->host);
    struct door door;
    struct door_key_env env;

    if (door_open(conf, provider, &door, /*err=*/NULL) < 0)
        return;
    for (size_t i = 0; env = door_key_env(&door, i), env.name; i++) {
        const char *value = conf_env(conf, env.name);

        if (value && *value)
            slash_sayf(call, INK_YELLOW, "%s is set and is used: unset it to be logged out.\n",
                       env.name);
    }
}

static int logout_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv stored = STRV_INIT;
    const char *home = conf_home(host_conf(call->host));
    struct str provider = call->args;

    if (auth_list(home, &stored, err) < 0)
        return -1;
    if (!stored.len) {
        slash_say(call, INK_PLAIN, STR("No key is stored.\n"));
        return 0;
    }
    if (!provider.len && stored.len == 1)
        provider = str_of(stored.ptr[0]);
    if (!provider.len && !call->front)
        return err_set(err, ERR_BAD_INPUT, "several keys are stored; usage: /logout %s",
                       slash_logout_entry.hint);
    if (!provider.len && logout_pick(call, &stored, &provider, err) < 0)
        return -1;
    if (auth_remove(home, provider, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN,
               "Removed the stored key of %.*s. This session keeps it until it "
               "ends.\n",
               STR_ARG(provider));
    say_variable(call, provider);
    return 0;
}
