/*
 * auth: stores, lists and removes keys. A key is typed without echo or piped in; it is never an
 * argument, which `ps` and the shell's history would show. Main thread.
 */
#include <errno.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "conf/nearest.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/auth.h"
#include "llm/door.h"

static int auth_run(struct cmd *c);

const struct command cmd_auth = {
    .usage =
        {
            .name = "auth",
            .args = "login [PROVIDER] | status | logout PROVIDER",
            .words = "login status logout",
            .only_words = true,
            .summary = "Store, list or delete API keys",
            .details = "Keys are stored in a private file.",
            .options = (const enum option_id[]){OPT_JSON, OPT_COUNT},
        },
    .run = auth_run,
};

static int auth_usage(void)
{
    say("usage: tenax auth login [PROVIDER] | status | logout PROVIDER "
        "(PROVIDER: anthropic, openai, gemini, or a name from settings)");
    return EXIT_USAGE;
}

static int auth_read_key(struct cmd *c, const char *provider, struct buf *key, struct err *err)
{
    struct termios shown;
    struct termios hidden;
    bool typed = tcgetattr(STDIN_FILENO, &shown) == 0;
    int rc;

    if (typed) {
        CLEANUP(buf_release) struct buf ask = BUF_INIT(200);

        hidden = shown;
        hidden.c_lflag &= ~(tcflag_t)ECHO;
        hidden.c_lflag |= ECHONL;
        /* These keys would leave the terminal without echo. */
        hidden.c_cc[VQUIT] = _POSIX_VDISABLE;
        hidden.c_cc[VSUSP] = _POSIX_VDISABLE;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
        buf_addf(&ask, "Key for %s (not shown): ", provider);
        (void)fd_write_all(STDERR_FILENO, buf_str(&ask), NULL);
    }
    rc = cmd_read_line(c, key, err);
    if (typed) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
        if (rc < 0)
            (void)fd_write_all(STDERR_FILENO, STR("\n"), NULL);
    }
    return rc;
}

static int auth_login(struct cmd *c, const struct conf *conf, const char *provider)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(AUTH_MAX_KEY + 2);
    CLEANUP(buf_release) struct buf masked = BUF_INIT(200);
    struct err err = {0};

    if (auth_read_key(c, provider, &key, &err) < 0) {
        if (err.code == ERR_CANCELLED)
            return cmd_signal_code();
        say_error(&err);
        return EXIT_FAILED;
    }
    if (auth_set(conf_home(conf), str_of(provider), str_trim(buf_str(&key)), &err) < 0) {
        say_error(&err);
        return err.code == ERR_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
    }
    secret_mask(str_trim(buf_str(&key)), &masked);
    say("stored the key for %s: %s", provider, buf_cstr(&masked));
    return EXIT_OK;
}

/* "tenax auth login" on a terminal asks the user for the provider. */
static int auth_ask_provider(struct cmd *c, struct buf *ret_provider, struct err *err)
{
    (void)fd_write_all(STDERR_FILENO,
                       STR("Provider (anthropic, openai, gemini, or a name from settings): "),
                       NULL);
    if (cmd_read_line(c, ret_provider, err) < 0)
        return -1;
    if (!str_trim(buf_str(ret_provider)).len)
        return err_set(err, ERR_BAD_INPUT, "no provider was named");
    return 0;
}

static void auth_say_unknown(const struct conf *conf, const char *provider)
{
    struct nearest near;

    nearest_init(&near, str_of(provider));
    door_offer(conf, &near);
    if (near.best.len)
        say("no provider is called '%s'; did you mean %.*s?", provider, STR_ARG(near.best));
    else
        say("no provider is called '%s'; add it under \"providers\" in settings.json first",
            provider);
}

static int auth_login_named(struct cmd *c, const struct conf *conf, const char *provider)
{
    CLEANUP(mem_freep) char *name = NULL;
    struct err err = {0};
    struct door door;

    if (door_open(conf, str_of(provider), &door, &err) < 0) {
        if (err.code == ERR_NOT_FOUND)
            auth_say_unknown(conf, provider);
        else
            say_error(&err);
        return EXIT_USAGE;
    }
    if (!door.dialect) {
        say("%s needs no key", provider);
        return EXIT_USAGE;
    }
    name = mem_dup(door.name.ptr, door.name.len); /* "google" is gemini, where it is looked for */
    return auth_login(c, conf, name);
}

static int auth_login_asked(struct cmd *c, const struct conf *conf)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(200);
    CLEANUP(mem_freep) char *provider = NULL;
    struct err err = {0};
    struct str name;

    if (auth_ask_provider(c, &line, &err) < 0) {
        if (err.code == ERR_CANCELLED)
            return cmd_signal_code();
        say_error(&err);
        return EXIT_USAGE;
    }
    name = str_trim(buf_str(&line));
    provider = mem_dup(name.ptr, name.len);
    return auth_login_named(c, conf, provider);
}

static int auth_logout(const struct conf *conf, const char *provider)
{
    struct str name = str_of(provider);
    struct err err = {0};
    struct door door;
    bool found = door_open(conf, name, &door, /*err=*/NULL) == 0 &&
                 auth_remove(conf_home(conf), door.name, /*err=*/NULL) == 0;

    /* As it is written: of a provider that the settings no longer have. */
    if (!found && auth_remove(conf_home(conf), name, &err) < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    say("forgot the key for %s", provider);
    return EXIT_OK;
}

static int auth_masked(const struct conf *conf, const char *provider, struct buf *ret_masked,
                       struct err *err)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(AUTH_MAX_KEY + 1);
    CLEANUP(strv_release) struct strv notes = STRV_INIT;

    if (auth_get(conf_home(conf), str_of(provider), &key, &notes, err) < 0)
        return -1;
    for (size_t i = 0; i < notes.len; i++)
        say("%s", notes.ptr[i]);
    buf_init(ret_masked, 200);
    secret_mask(buf_str(&key), ret_masked);
    return 0;
}

/* A key in a variable, which takes precedence over a stored one. */
typedef void (*auth_variable_fn)(struct str provider, struct str variable, void *arg);

static void auth_variable(const struct conf *conf, struct str provider, struct str name,
                          auth_variable_fn fn, void *arg)
{
    CLEANUP(mem_freep) char *variable = mem_dup(name.ptr, name.len);
    const char *value = name.len ? conf_env(conf, variable) : NULL;

    if (value && *value)
        fn(provider, name, arg);
}

static void auth_variables(const struct conf *conf, auth_variable_fn fn, void *arg)
{
    const struct door_row *row;

    for (size_t i = 0; (row = door_row(i)); i++) {
        for (size_t k = 0; k < DOOR_KEY_ENVS && row->key_envs[k].name; k++)
            auth_variable(conf, str_of(row->name), str_of(row->key_envs[k].name), fn, arg);
    }
    JSON_EACH(conf_get(conf, "providers"), p)
        auth_variable(conf, json_key(p), json_get_str(p, "keyEnv"), fn, arg);
}

static void write_variable(struct str provider, struct str variable, void *arg)
{
    struct jw *w = arg;

    jw_object(w);
    jw_kstr(w, "provider", provider);
    jw_kstr(w, "variable", variable);
    jw_object_end(w);
}

static void show_variable(struct str provider, struct str variable, void *arg)
{
    struct buf *out = arg;

    buf_addf(out, "%-12.*s in the environment: %.*s\n", STR_ARG(provider), STR_ARG(variable));
}

/* An auth_variable_fn: the first variable that is set. */
static void note_variable(struct str provider, struct str variable, void *arg)
{
    struct str *ret = arg;

    (void)provider;
    if (!ret->len)
        *ret = variable;
}

/* Whether a model can be used, in the format of Claude Code's status. */
static void write_login(struct jw *w, const struct conf *conf, const struct strv *names)
{
    struct str variable = {0};
    bool has_key;

    auth_variables(conf, note_variable, &variable);
    has_key = variable.len || names->len;
    jw_kbool(w, "loggedIn", has_key);
    jw_kcstr(w, "authMethod", has_key ? "api_key" : "none");
    jw_kcstr(w, "apiProvider", "firstParty");
    if (has_key)
        jw_kstr(w, "apiKeySource", variable.len ? variable : str_of(names->ptr[0]));
}

static int auth_status_json(const struct conf *conf, const struct strv *names, struct buf *out,
                            struct err *err)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    write_login(&w, conf, names);
    jw_key(&w, "stored");
    jw_array(&w);
    for (size_t i = 0; i < names->len; i++) {
        CLEANUP(buf_release) struct buf masked = {0};

        if (auth_masked(conf, names->ptr[i], &masked, err) < 0)
            return -1;
        jw_object(&w);
        jw_kcstr(&w, "provider", names->ptr[i]);
        jw_kstr(&w, "key", buf_str(&masked));
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_key(&w, "environment");
    jw_array(&w);
    auth_variables(conf, write_variable, &w);
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
    return 0;
}

static int auth_status_text(const struct conf *conf, const struct strv *names, struct buf *out,
                            struct err *err)
{
    auth_variables(conf, show_variable, out);
    if (!names->len)
        buf_adds(out, "No stored keys. `tenax auth login PROVIDER` stores one.\n");
    for (size_t i = 0; i < names->len; i++) {
        CLEANUP(buf_release) struct buf masked = {0};

        if (auth_masked(conf, names->ptr[i], &masked, err) < 0)
            return -1;
        buf_addf(out, "%-12s %s\n", names->ptr[i], buf_cstr(&masked));
    }
    return 0;
}

static int auth_status(const struct cmd *c, const struct conf *conf)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 20);
    struct err err = {0};
    int code = EXIT_OK;
    int rc = auth_list(conf_home(conf), &names, &err);

    if (rc == 0 && c->args.given[OPT_JSON])
        rc = auth_status_json(conf, &names, &out, &err);
    else if (rc == 0)
        rc = auth_status_text(conf, &names, &out, &err);
    if (rc < 0) {
        say_error(&err);
        return EXIT_FAILED;
    }
    (void)say_out(buf_str(&out), c->cancel, &code);
    return code;
}

static int auth_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    const struct strv *words = &c->args.words; /* "auth", verb, provider */
    struct str verb = words->len > 1 ? str_of(words->ptr[1]) : STR("status");
    const char *provider = words->len > 2 ? words->ptr[2] : NULL;
    int code = cmd_conf(c, &conf);

    if (code)
        return code;
    if (words->len > 3)
        return auth_usage();
    if (str_is(verb, "status") && !provider)
        return auth_status(c, conf);
    if (!provider && str_is(verb, "login") && isatty(STDIN_FILENO))
        return auth_login_asked(c, conf);
    if (!provider)
        return auth_usage();
    if (str_is(verb, "login"))
        return auth_login_named(c, conf, provider);
    if (str_is(verb, "logout"))
        return auth_logout(conf, provider);
    return auth_usage();
}
