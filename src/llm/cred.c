/*
 * Finds keys, in order of precedence. Only the helper takes time: at the start tenax waits for it;
 * during a session it runs while the call that needs it keeps serving its mailbox. Runs on the
 * thread that owns the provider.
 */
#include "llm/cred.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "json/json.h"
#include "llm/auth.h"
#include "llm/door.h"
#include "llm/provider.h"
#include "proc/proc.h"
#include "sync/mailbox.h"

#define HELPER_TIMEOUT_MS 30000
#define HELPER_TTL_MS ((int64_t)5 * 60 * 1000)
#define HELPER_MAX_OUTPUT ((size_t)64 << 10)

static const char *const source_names[] = {
    [KEY_NONE] = "none",     [KEY_ENV] = "environment",       [KEY_HELPER] = "helper",
    [KEY_STORED] = "stored", [KEY_NOT_NEEDED] = "not needed",
};

const char *key_source_name(enum key_source s)
{
    return source_names[s];
}

void cred_release(struct provider *p)
{
    if (p->key)
        explicit_bzero(p->key, strlen(p->key));
    mem_freep(&p->key);
    mem_freep(&p->source_name);
    mem_freep(&p->helper);
}

static int cred_set(struct provider *p, struct str value, const char *where, struct err *err)
{
    value = str_trim(value);
    if (auth_check_key(value, where, err) < 0)
        return -1;
    secret_add(value);
    if (p->key)
        explicit_bzero(p->key, strlen(p->key));
    mem_freep(&p->key);
    p->key = mem_dup(value.ptr, value.len);
    p->key_at_ms = clock_mono_ms();
    return 0;
}

static void cred_from(struct provider *p, enum key_source source, const char *name)
{
    p->source = source;
    mem_freep(&p->source_name);
    p->source_name = mem_dup(name, strlen(name));
}

/* The first variable that is set and not empty; *ret_second names another one that is set too. */
static struct door_key_env set_variable(const struct conf *conf, const struct door *d,
                                        const char **ret_second)
{
    struct door_key_env found = {0};

    *ret_second = NULL;
    for (size_t i = 0;; i++) {
        struct door_key_env env = door_key_env(d, i);
        const char *value = env.name ? conf_env(conf, env.name) : NULL;

        if (!env.name)
            return found;
        if (!value || !str_trim(str_of(value)).len)
            continue;
        if (!found.name)
            found = env;
        else if (!*ret_second)
            *ret_second = env.name;
    }
}

static struct str helper_of(const struct conf *conf, const struct door *d)
{
    struct str own = json_get_str(d->settings, "apiKeyHelper");

    return own.len || !str_is(d->name, "anthropic") ? own : conf_get_str(conf, "apiKeyHelper");
}

bool cred_is_configured(const struct conf *conf, const struct door *d)
{
    const char *second;

    return set_variable(conf, d, &second).name || helper_of(conf, d).len;
}

static int64_t helper_ttl_ms(const struct conf *conf)
{
    const char *text = conf_env(conf, "CLAUDE_CODE_API_KEY_HELPER_TTL_MS");
    int64_t ms;

    if (!text || str_to_i64(str_trim(str_of(text)), &ms, /*err=*/NULL) < 0 || ms < 0)
        return HELPER_TTL_MS;
    return ms;
}

static void helper_spec(const struct conf *conf, const char *const argv[static 4],
                        struct proc_spec *ret)
{
    *ret = (struct proc_spec){
        .argv = argv,
        .envp = (const char *const *)conf_environ(conf),
        .dir = conf_dir(conf),
        .max_output = HELPER_MAX_OUTPUT,
        .timeout_ms = HELPER_TIMEOUT_MS,
    };
}

/* Takes the helper's output as the key, or sets an error that shows what went wrong. */
static int helper_said(struct provider *p, enum proc_how how, int code, struct str out,
                       struct str errors, struct err *err)
{
    struct str first = str_trim(errors);

    secret_add(str_trim(out)); /* before any of it could get into an error */
    first = str_clip(str_first(first, str_chr(first, '\n')), 200);
    if (how == PROC_TIMED_OUT)
        return err_set(err, ERR_AUTH, "apiKeyHelper took longer than %d seconds",
                       HELPER_TIMEOUT_MS / 1000);
    if (how != PROC_EXITED || code != 0)
        return err_set(err, ERR_AUTH, "apiKeyHelper failed (%s %d)%s%.*s",
                       how == PROC_EXITED ? "exit code" : "signal", code, first.len ? ": " : "",
                       STR_ARG(first));
    if (cred_set(p, out, "apiKeyHelper", err) < 0) {
        if (err)
            err->code = ERR_AUTH;
        return -1;
    }
    return 0;
}

static int helper_run(struct provider *p, struct cancel *cancel, struct err *err)
{
    const char *const argv[] = {"/bin/sh", "-c", p->helper, NULL};
    CLEANUP(proc_result_release) struct proc_result result = {0};
    struct proc_spec spec;

    helper_spec(p->conf, argv, &spec);
    if (proc_run(&spec, cancel, &result, err) < 0)
        return err_prefix(err, "apiKeyHelper");
    return helper_said(p, result.how, result.code, buf_str(&result.out), buf_str(&result.err), err);
}

int cred_find(const struct conf *conf, const struct door *d, struct cancel *cancel,
              struct provider *p, struct err *err)
{
    CLEANUP(buf_release) struct buf stored = {0};
    const char *second;
    struct door_key_env env = set_variable(conf, d, &second);
    struct str helper = helper_of(conf, d);
    struct err why = {0};

    if (env.name) {
        if (second)
            strv_addf(&p->notes, "%s and %s are both set; using %s", env.name, second, env.name);
        cred_from(p, KEY_ENV, env.name);
        p->bearer = env.bearer;
        return cred_set(p, str_of(conf_env(conf, env.name)), env.name, err);
    }
    if (helper.len) {
        cred_from(p, KEY_HELPER, "apiKeyHelper");
        p->helper = mem_dup(helper.ptr, helper.len);
        p->helper_ttl_ms = helper_ttl_ms(conf);
        return helper_run(p, cancel, err);
    }
    if (auth_get(conf_home(conf), d->name, &stored, &p->notes, &why) == 0) {
        cred_from(p, KEY_STORED, "auth.json");
        return cred_set(p, buf_str(&stored), "auth.json", err);
    }
    if (why.code == ERR_NOT_FOUND)
        return 0;
    if (err)
        *err = why;
    return -1;
}

bool cred_is_stale(const struct provider *p)
{
    return p->source == KEY_HELPER && clock_mono_ms() - p->key_at_ms >= p->helper_ttl_ms;
}

struct cred_asking {
    struct proc *proc;
    struct buf out;
    struct buf errors;
};

struct cred_asking *cred_ask(const struct provider *p, struct mailbox *to, struct err *err)
{
    const char *const argv[] = {"/bin/sh", "-c", p->helper, NULL};
    struct cred_asking *a;
    struct proc_spec spec;
    struct proc *proc;

    helper_spec(p->conf, argv, &spec);
    proc = proc_start(&spec, to, err);
    if (!proc) {
        err_prefix(err, "apiKeyHelper");
        return NULL;
    }
    a = mem_zalloc(sizeof(*a));
    a->proc = proc;
    buf_init(&a->out, HELPER_MAX_OUTPUT);
    buf_init(&a->errors, HELPER_MAX_OUTPUT);
    return a;
}

bool cred_asking_owns(const struct cred_asking *a, const struct mail *m)
{
    return a && m->kind == &proc_mail_kind && ((const struct proc_mail *)m)->proc == a->proc;
}

int cred_asking_mail(struct cred_asking *a, struct mail *m, struct provider *p, struct err *err)
{
    struct proc_mail *mail = (struct proc_mail *)m;

    if (mail->what == PROC_OUTPUT) {
        buf_add(mail->fd == 1 ? &a->out : &a->errors, buf_str(&mail->bytes));
        return 0;
    }
    if (helper_said(p, mail->how, mail->code, buf_str(&a->out), buf_str(&a->errors), err) < 0)
        return -1;
    return 1;
}

void cred_asking_free(struct cred_asking *a)
{
    if (!a)
        return;
    proc_unref(a->proc);
    if (a->out.ptr)
        explicit_bzero(a->out.ptr, a->out.len);
    buf_release(&a->out);
    buf_release(&a->errors);
    mem_freep(&a);
}
