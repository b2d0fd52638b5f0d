/*
 * A server as a child process: one JSON text per line on standard input and output. Its standard
 * error is written to a log file of limited size.
 *
 * Its environment is the user's without what belongs to tenax and without keys of model providers;
 * a server from a repository gets only what programs need to run at all.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/sandbox.h"
#include "llm/door.h"
#include "mcp/server_conf.h"
#include "mcp/wire.h"
#include "net/net.h"
#include "proc/proc.h"
#include "sync/mailbox.h"

#define LEAVE_MS 500 /* with its input closed, before SIGTERM; and then before SIGKILL */
#define MAX_LOG ((off_t)1 << 20)

struct wire_stdio {
    struct wire wire;
    struct proc *proc;
    struct buf line;
    struct buf last;         /* of standard error, for explaining its end */
    struct sandbox_job *job; /* NULL: it is not confined */
    int log;
    unsigned noise;
    bool is_over;
};

static bool names_one_of(struct str name, const char *words)
{
    struct str rest = str_of(words);
    struct str word;

    while (str_cut(&rest, ' ', &word)) {
        if (str_ends(word, STR("*")) ? str_starts(name, str_first(word, word.len - 1))
            : word.ptr[0] == '*'     ? str_ends(name, str_from(word, 1))
                                     : str_eq(name, word))
            return true;
    }
    return false;
}

void wire_environment(const struct mcp_server *server, char *const *env, struct strv *ret)
{
    static const char harmless[] =
        "PATH HOME USER LOGNAME SHELL TERM LANG LC_* TZ TMPDIR XDG_* http_proxy https_proxy "
        "no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY SSL_CERT_* "
        "NODE_EXTRA_CA_CERTS";
    static const char ours[] = "TENAX_* CLAUDE_CODE_* CLAUDECODE MCP_CLIENT_SECRET";

    for (char *const *e = env; e && *e; e++) {
        struct str name = str_first(str_of(*e), str_chr(str_of(*e), '='));

        if (strv_has(&server->inherited, name) ||
            (server->inherits ? !names_one_of(name, ours) && !door_holds_key(name)
                              : names_one_of(name, harmless)))
            strv_adds(ret, *e);
    }
}

static void child_environment(const struct wire_spec *spec, struct strv *ret)
{
    const struct strv *own = &spec->server->env;

    wire_environment(spec->server, spec->env, ret);
    strv_addf(ret, "CLAUDE_PROJECT_DIR=%s", spec->dir);
    strv_addf(ret, "TENAX_PROJECT_DIR=%s", spec->dir);
    for (size_t i = 0; i < own->len; i++) {
        struct str name = str_first(str_of(own->ptr[i]), str_chr(str_of(own->ptr[i]), '='));
        size_t at = 0;

        while (at < ret->len &&
               !(str_starts(str_of(ret->ptr[at]), name) && ret->ptr[at][name.len] == '='))
            at++;
        if (at < ret->len) {
            free(ret->ptr[at]);
            ret->ptr[at] = mem_dup(own->ptr[i], strlen(own->ptr[i]));
        } else {
            strv_adds(ret, own->ptr[i]);
        }
    }
}

static void stdio_lost(struct wire_stdio *s, enum err_code code, const char *text)
{
    struct err err = {0};

    if (s->is_over)
        return;
    s->is_over = true;
    err_set(&err, code, "%s", text);
    s->wire.spec.lost(s->wire.spec.arg, &err);
}

static void take_line(struct wire_stdio *s, struct str line)
{
    line = str_trim(line);
    if (!line.len)
        return;
    if (line.ptr[0] == '{') {
        s->noise = 0;
        (void)s->wire.spec.message(s->wire.spec.arg, line);
    } else if (++s->noise >= WIRE_MAX_NOISE) {
        stdio_lost(s, ERR_PROTOCOL, "it writes lines that are no messages to standard output");
    }
}

static void take_output(struct wire_stdio *s, struct str bytes)
{
    while (bytes.len && !s->is_over) {
        size_t end = str_chr(bytes, '\n');

        if (end < bytes.len && !s->line.len) {
            take_line(s, str_first(bytes, end));
        } else {
            buf_add(&s->line, str_first(bytes, end));
            if (s->line.over) {
                stdio_lost(s, ERR_TOO_BIG, "it sent a message longer than 16 MB");
                return;
            }
            if (end < bytes.len) {
                take_line(s, buf_str(&s->line));
                buf_clear(&s->line);
            }
        }
        bytes = str_from(bytes, end + 1);
    }
}

static void take_stderr(struct wire_stdio *s, struct str bytes)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);
    struct stat st;

    if (s->last.len > 4000)
        buf_cut(&s->last, 0, s->last.len - 2000);
    buf_add(&s->last, str_first(bytes, 4000));
    buf_add(&clean, bytes);
    secret_scrub(&clean);
    if (s->log >= 0 && fstat(s->log, &st) == 0 && st.st_size < MAX_LOG)
        (void)fd_write_all(s->log, buf_str(&clean), NULL);
}

static void take_exit(struct wire_stdio *s, const struct proc_mail *m)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct str last = str_trim(buf_str(&s->last));
    size_t from = last.len;

    while (from && last.ptr[from - 1] != '\n')
        from--;
    last = str_clip(str_from(last, from), 200);
    if (m->how == PROC_SIGNALLED)
        buf_addf(&text, "it was ended by signal %d", m->code);
    else
        buf_addf(&text, "it ended with exit code %d", m->code);
    if (last.len)
        buf_addf(&text, ": %.*s", STR_ARG(last));
    stdio_lost(s, ERR_NETWORK, buf_cstr(&text));
}

static bool stdio_mail(struct wire *w, struct mail *mail)
{
    struct wire_stdio *s = (struct wire_stdio *)w;
    struct proc_mail *m = (struct proc_mail *)mail;

    if (mail->kind != &proc_mail_kind || m->proc != s->proc)
        return false;
    if (m->what == PROC_EXIT)
        take_exit(s, m);
    else if (m->fd == 2)
        take_stderr(s, buf_str(&m->bytes));
    else
        take_output(s, buf_str(&m->bytes));
    return true;
}

static int stdio_send(struct wire *w, struct str message, int64_t id, const struct strv *headers,
                      struct err *err)
{
    struct wire_stdio *s = (struct wire_stdio *)w;
    CLEANUP(buf_release) struct buf line = BUF_INIT(WIRE_MAX_MESSAGE);

    (void)id;
    (void)headers;
    buf_add(&line, message);
    buf_addc(&line, '\n');
    if (buf_check(&line, err) < 0)
        return -1;
    return proc_write(s->proc, buf_str(&line), err);
}

void wire_await(struct wire *w, int64_t until_ms,
                bool (*is_last)(struct wire *w, const struct mail *m))
{
    VEC(struct mail *) others = VEC_INIT;
    struct mail *m = NULL;
    bool done = false;

    while (!done && mailbox_take(w->spec.mail, /*cancel=*/NULL, until_ms, &m, NULL) == 0) {
        done = is_last(w, m);
        if (m->kind == &proc_mail_kind || m->kind == &net_mail_kind)
            mail_free(m);
        else
            vec_push(&others, m);
    }
    VEC_EACH(&others, it) {
        mailbox_send(w->spec.mail, *it);
    }
    vec_release(&others);
}

static bool is_exit(struct wire *w, const struct mail *mail)
{
    const struct proc_mail *m = (const struct proc_mail *)mail;

    return mail->kind == &proc_mail_kind && m->proc == ((struct wire_stdio *)w)->proc &&
           m->what == PROC_EXIT;
}

/* Closes its input, then terminates it, then kills it. */
static void stdio_free(struct wire *w)
{
    struct wire_stdio *s = (struct wire_stdio *)w;

    if (s->proc && !s->is_over && w->version[0]) { /* one that never spoke knows no farewell */
        proc_close_input(s->proc);
        wire_await(w, clock_mono_ms() + LEAVE_MS, is_exit);
    }
    proc_unref(s->proc);
    sandbox_job_free(s->job);
    fd_closep(&s->log);
    buf_release(&s->line);
    buf_release(&s->last);
    free(s);
}

static const struct wire_kind stdio_kind = {
    .send = stdio_send, .mail = stdio_mail, .free = stdio_free};

/* A server that wants to be confined does not run where nothing can confine it. */
static int enter_sandbox(const struct wire_spec *spec, struct sandbox_job **ret, struct strv *env,
                         struct err *err)
{
    CLEANUP(strv_release) struct strv inside = STRV_INIT;

    if (sandbox_enter(spec->sandbox, ret, err) < 0)
        return -1;
    if (!*ret)
        return err_set(err, ERR_UNSUPPORTED, "it wants a sandbox, and there is none: %s",
                       spec->sandbox ? sandbox_why_not(spec->sandbox) : "sandbox.enabled is false");
    sandbox_job_environ(*ret, strv_get(env), &inside);
    strv_clear(env);
    strv_add_all(env, &inside);
    return 0;
}

struct wire *wire_stdio_new(const struct wire_spec *spec, struct err *err)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    struct wire_stdio *s = mem_zalloc(sizeof(*s));
    struct proc_spec start = {
        .argv = (const char *const *)strv_get(&spec->server->argv),
        .dir = spec->server->cwd ? spec->server->cwd : spec->dir,
        .keep_stdin = true,
        .max_output = (size_t)1 << 62,
        .grace_ms = LEAVE_MS,
    };

    child_environment(spec, &env);
    if (spec->server->is_confined && enter_sandbox(spec, &s->job, &env, err) < 0) {
        free(s);
        return NULL;
    }
    start.confine = sandbox_job_confine(s->job);
    start.envp = (const char *const *)strv_get(&env);
    s->wire.kind = &stdio_kind;
    s->wire.spec = *spec;
    buf_init(&s->line, WIRE_MAX_MESSAGE);
    buf_init(&s->last, 16 << 10);
    s->log = spec->log
                 ? open(spec->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    s->proc = proc_start(&start, spec->mail, err);
    sandbox_job_started(s->job);
    if (!s->proc) {
        stdio_free(&s->wire);
        return NULL;
    }
    return &s->wire;
}
