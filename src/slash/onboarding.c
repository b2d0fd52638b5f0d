/*
 * /onboarding: repeats the questions of the first run. The questions are implemented elsewhere: the
 * theme's in /theme, trust in host/trust.h.
 */
#include <string.h>

#include "base/err.h"
#include "conf/conf.h"
#include "host/host.h"
#include "host/trust.h"
#include "slash/answer.h"
#include "slash/commands.h"

static int onboarding_run(struct slash_call *call, struct err *err);

const struct slash_command slash_onboarding_entry = {
    .name = "onboarding",
    .hint = "[status | theme | trust | reset]",
    .summary = "Show what of the first run is settled, or be asked again",
    .more = "`theme` and `trust` ask now. `reset` forgets the theme that was chosen and the answer "
            "about this folder, so that the next start asks about it.",
    .run = onboarding_run,
};

static void say_trust(struct slash_call *call, const struct trust_answer *answer)
{
    const char *dir = conf_dir(host_conf(call->host));
    struct str asked = buf_str(&answer->dir);

    if (answer->trust == TRUST_UNKNOWN)
        slash_fact(call, "Folder", "not decided yet (/onboarding trust)");
    else
        slash_fact(call, "Folder", "%s%s%.*s%s (/onboarding trust)",
                   answer->trust == TRUST_YES ? "trusted" : "not trusted",
                   str_is(asked, dir) ? "" : " with ",
                   STR_ARG(str_is(asked, dir) ? STR("") : asked),
                   answer->is_claudes ? ", as answered in Claude Code" : "");
}

static int onboarding_status(struct slash_call *call, struct err *err)
{
    CLEANUP(trust_answer_release) struct trust_answer answer = TRUST_ANSWER_INIT;
    CLEANUP(buf_release) struct buf provider = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    const struct conf *conf = host_conf(call->host);
    const char *key = host_key_source(call->host);
    struct str theme = conf_get_str(conf, "theme");
    int64_t window;

    if (trust_look(conf, conf_dir(conf), call->cancel, &answer, err) < 0)
        return -1;
    host_model(call->host, &provider, &name, &window);
    slash_fact(call, "Model", "%s of %s (/model)", buf_cstr(&name), buf_cstr(&provider));
    slash_fact(call, "Key", "%s (/login)", strcmp(key, "none") == 0 ? "none is needed" : key);
    slash_fact(call, "Theme", "%.*s (/onboarding theme)",
               STR_ARG(theme.len ? theme : STR("auto, nothing was chosen")));
    say_trust(call, &answer);
    return 0;
}

static int onboarding_theme(struct slash_call *call, struct err *err)
{
    call->args = STR("");
    return slash_theme_entry.run(call, err);
}

static int onboarding_trust(struct slash_call *call, struct err *err)
{
    const struct conf *conf = host_conf(call->host);
    int trusted;

    if (!call->front)
        return err_set(err, ERR_UNSUPPORTED,
                       "no one can be asked here; tenax trust add trusts a folder");
    if (conf_is_trusted(conf))
        return err_set(err, ERR_UNSUPPORTED,
                       "this folder is trusted, and stays so until this session ends; "
                       "/onboarding reset has the next start ask again");
    trusted = host_ask_trust(call->host, /*again=*/true, err);
    if (trusted < 0)
        return -1;
    slash_say(call, INK_PLAIN,
              trusted ? STR("Trusted: all of this folder's settings count now.\n")
                      : STR("Not trusted: this folder's settings count only as far as they can do "
                            "no harm.\n"));
    return 0;
}

static int onboarding_reset(struct slash_call *call, struct err *err)
{
    const struct conf *conf = host_conf(call->host);
    int forgotten = trust_set(conf, conf_dir(conf), TRUST_UNKNOWN, call->cancel, err);

    if (forgotten < 0 || slash_save(call, "theme", /*value=*/NULL, err) < 0)
        return -1;
    if (call->front)
        (void)call->front->set(call->front->arg, STR("theme"), STR(""));
    slash_say(call, INK_PLAIN,
              forgotten ? STR("Forgotten: the theme, and the answer about this folder. The next "
                              "start here asks about it.\n")
                        : STR("Forgotten: the theme. There was no answer about this very "
                              "folder.\n"));
    return 0;
}

static int onboarding_run(struct slash_call *call, struct err *err)
{
    static const struct {
        const char *name;
        int (*run)(struct slash_call *call, struct err *err);
    } parts[] = {
        {"", onboarding_status},     {"status", onboarding_status}, {"theme", onboarding_theme},
        {"trust", onboarding_trust}, {"reset", onboarding_reset},
    };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_is(call->args, parts[i].name))
            return parts[i].run(call, err);
    }
    return err_set(err, ERR_BAD_INPUT, "usage: /onboarding %s", slash_onboarding_entry.hint);
}
