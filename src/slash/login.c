/*
 * /login: lists keys, and how to add one. A key is never typed here: input of a session is stored.
 */
#include "base/strv.h"
#include "conf/conf.h"
#include "host/host.h"
#include "llm/auth.h"
#include "llm/door.h"
#include "slash/answer.h"

static int login_run(struct slash_call *call, struct err *err);

const struct slash_command slash_login_entry = {
    .name = "login",
    .hint = "",
    .summary = "Show which keys are found, and how to give one",
    .run = login_run,
};

static void say_door(struct slash_call *call, const struct door_row *row, const struct strv *stored)
{
    const struct conf *conf = host_conf(call->host);
    const char *found = NULL;

    if (!row->dialect || row->no_key)
        return;
    for (size_t i = 0; i < DOOR_KEY_ENVS && row->key_envs[i].name; i++) {
        const char *value = conf_env(conf, row->key_envs[i].name);

        if (!found && value && *value)
            found = row->key_envs[i].name;
    }
    if (!found && strv_has(stored, str_of(row->name)))
        found = "stored by tenax auth login";
    slash_sayf(call, INK_BOLD, "%-12s", row->name);
    if (found)
        slash_sayf(call, INK_GREEN, "%s\n", found);
    else
        slash_sayf(call, INK_FAINT, "none%s%s%s\n", row->key_envs[0].name ? " (" : "",
                   row->key_envs[0].name ? row->key_envs[0].name : "",
                   row->key_envs[0].name ? ", or tenax auth login)" : "");
}

static int login_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv stored = STRV_INIT;
    const struct door_row *row;

    if (auth_list(conf_home(host_conf(call->host)), &stored, err) < 0)
        return -1;
    slash_fact(call, "In use", "%s", host_key_source(call->host));
    for (size_t i = 0; row = door_row(i), row; i++)
        say_door(call, row, &stored);
    slash_say(call, INK_PLAIN,
              STR("To give a key: run `tenax auth login anthropic` (or openai, gemini, …) in a "
                  "shell, where it is not shown and kept in a private file; or set the variable. A "
                  "key typed here would stand in the transcript.\n"));
    return 0;
}
