/*
 * driver: runs one case file against the real binary and the pretend model.
 *
 *     driver BUILD_DIR FILE.test
 *
 * Exit 0: all as expected. 1: something differs, and is printed. 77: skipped, with the reason. Main
 * thread; the server and the script are children of proc.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "case.h"
#include "match.h"
#include "planted.h"
#include "proc/proc.h"

#define DRIVER_RUN_MS 120000
#define DRIVER_SERVER_MS 60000
#define DRIVER_SKIPPED 77
#define DRIVER_MAX_OUTPUT ((size_t)64 << 20)

/* One run of a case through one dialect. */
struct run {
    const struct test_case *test;
    const char *build;
    struct str dialect;
    const char *model;
    char dir[64];  /* everything of this run */
    char base[64]; /* the server's URL */
    char port[16];
    struct strv files; /* files of the test, which may stay */
    bool is_kept;      /* sessions may stay too */
    struct proc *server;
    struct mailbox *mail;
    struct buf complaints; /* of the server at its end: steps that were never played */
};

struct dialect_env {
    const char *name;
    const char *model;
    const char *base_env; /* NAME={BASE}… */
    const char *key_env;
};

static const struct dialect_env dialect_envs[] = {
    {"anthropic", "anthropic/claude-sonnet-5", "ANTHROPIC_BASE_URL={BASE}",
     "ANTHROPIC_API_KEY=sk-ant-e2e-0123456789"},
    {"openai-chat", "openai/gpt-5", "OPENAI_BASE_URL={BASE}/v1",
     "OPENAI_API_KEY=sk-e2e-0123456789"},
    {"openai-responses", "openai/gpt-5", "OPENAI_BASE_URL={BASE}/v1",
     "OPENAI_API_KEY=sk-e2e-0123456789"},
    {"gemini", "gemini/gemini-2.5-flash", "GOOGLE_GEMINI_BASE_URL={BASE}",
     "GEMINI_API_KEY=gm-e2e-0123456789"},
};

static void fill(const struct run *r, struct str text, struct buf *out)
{
    char home[96];
    char scenario[96];
    const struct {
        const char *name;
        const char *value;
    } places[] = {
        {"{BASE}", r->base}, {"{PORT}", r->port},   {"{HOME}", home},
        {"{DIR}", r->dir},   {"{MODEL}", r->model}, {"{SCENARIO}", scenario},
    };

    snprintf(home, sizeof(home), "%s/home", r->dir);
    snprintf(scenario, sizeof(scenario), "%s/scenario", r->dir);
    while (text.len) {
        size_t next = str_chr(text, '{');
        bool known = false;

        buf_add(out, str_first(text, next));
        text = str_from(text, next);
        if (str_starts(text, STR("{DIALECT}"))) {
            buf_add(out, r->dialect);
            text = str_from(text, strlen("{DIALECT}"));
            continue;
        }
        for (size_t i = 0; i < ARRAY_LEN(places) && !known && text.len; i++) {
            known = str_starts(text, str_of(places[i].name));
            if (known) {
                buf_adds(out, places[i].value);
                text = str_from(text, strlen(places[i].name));
            }
        }
        if (!known && text.len) {
            buf_addc(out, '{');
            text = str_from(text, 1);
        }
    }
}

/* The text of a section with the placeholders filled in; empty when there is none. */
static void section_text(const struct run *r, const char *head, struct buf *out)
{
    const struct section *s = case_find(r->test, head);

    if (s)
        fill(r, s->text, out);
}

static int put_file(struct run *r, const char *name, struct str text, struct err *err)
{
    CLEANUP(buf_release) struct buf home = BUF_INIT(200);
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(mem_freep) char *folder = NULL;

    buf_addf(&home, "%s/home", r->dir);
    path = path_join(buf_cstr(&home), name);
    folder = path_dirname(path);
    strv_adds(&r->files, path);
    if (file_mkdirs(folder, 0700, err) < 0)
        return -1;
    return file_replace(path, text, 0600, err);
}

static int put_files(struct run *r, struct err *err)
{
    if (str_is(r->dialect, "openai-responses") &&
        put_file(r, ".tenax/settings.json",
                 STR("{\"providers\": {\"openai\": {\"dialect\": \"openai-responses\"}}}\n"),
                 err) < 0)
        return -1;
    VEC_EACH(&r->test->sections, s) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_MAX_OUTPUT);
        CLEANUP(buf_release) struct buf name = BUF_INIT(4096);

        if (!str_starts(s->head, STR("file ")))
            continue;
        fill(r, s->text, &text);
        fill(r, str_trim(str_from(s->head, 5)), &name);
        if (put_file(r, buf_cstr(&name), buf_str(&text), err) < 0)
            return -1;
    }
    return 0;
}

/* Waits for "LISTENING <port>" on the server's output. */
static int server_port(struct run *r, struct err *err)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(65536);
    int64_t deadline = clock_mono_ms() + DRIVER_SERVER_MS;

    for (;;) {
        struct mail *m;
        struct proc_mail *p;
        char *at;

        if (mailbox_take(r->mail, /*cancel=*/NULL, deadline, &m, err) < 0)
            return err_prefix(err, "the server did not start");
        p = (struct proc_mail *)m;
        if (p->what == PROC_EXIT) {
            mail_free(m);
            proc_unref(r->server);
            r->server = NULL; /* no server to wait for */
            return err_set(err, ERR_IO, "the server ended: %s", buf_cstr(&said));
        }
        buf_add(&said, buf_str(&p->bytes));
        mail_free(m);
        at = strstr(buf_cstr(&said), "LISTENING ");
        if (at && strchr(at, '\n') && sscanf(at, "LISTENING %15[0-9]", r->port) == 1)
            return 0;
    }
}

static int server_start(struct run *r, bool tls, struct err *err)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    struct proc_spec spec = {.merge_stderr = true};

    strv_addf(&argv, "%s/tests/fake/fake", r->build);
    strv_adds(&argv, "--scenario");
    strv_addf(&argv, "%s/scenario", r->dir);
    strv_adds(&argv, "--record");
    strv_addf(&argv, "%s/record", r->dir);
    if (tls) {
        strv_adds(&argv, "--tls");
        strv_adds(&argv, "--ca-out");
        strv_addf(&argv, "%s/ca.pem", r->dir);
    }
    spec.argv = (const char *const *)strv_get(&argv);
    r->server = proc_start(&spec, r->mail, err);
    if (!r->server || server_port(r, err) < 0)
        return -1;
    snprintf(r->base, sizeof(r->base), "%s://localhost:%s", tls ? "https" : "http", r->port);
    return 0;
}

/* Ends the server and waits until all it recorded is on disk and its last words are heard. */
static void server_stop(struct run *r)
{
    int64_t deadline = clock_mono_ms() + DRIVER_SERVER_MS;
    bool over = !r->server;

    if (r->server)
        proc_signal(r->server, SIGTERM);
    while (!over) {
        struct mail *m;
        struct proc_mail *p;

        if (mailbox_take(r->mail, /*cancel=*/NULL, deadline, &m, /*err=*/NULL) < 0)
            break;
        p = (struct proc_mail *)m;
        over = p->what == PROC_EXIT;
        buf_add(&r->complaints, buf_str(&p->bytes));
        mail_free(m);
    }
    proc_unref(r->server);
    r->server = NULL;
}

static const struct dialect_env *env_of(struct str dialect)
{
    for (size_t i = 0; i < ARRAY_LEN(dialect_envs); i++) {
        if (str_is(dialect, dialect_envs[i].name))
            return &dialect_envs[i];
    }
    return NULL;
}

/* NAME=value replaces, NAME alone removes. */
static void env_set(struct strv *env, const char *entry)
{
    size_t name = strcspn(entry, "=");
    struct strv kept = STRV_INIT;

    for (size_t i = 0; i < env->len; i++) {
        if (strncmp(env->ptr[i], entry, name) != 0 || env->ptr[i][name] != '=')
            strv_adds(&kept, env->ptr[i]);
    }
    if (entry[name] == '=')
        strv_adds(&kept, entry);
    strv_release(env);
    *env = kept;
}

static void env_add(const struct run *r, struct strv *env, struct str text)
{
    CLEANUP(buf_release) struct buf filled = BUF_INIT(65536);
    struct str rest;
    struct str line;

    fill(r, text, &filled);
    rest = buf_str(&filled);
    while (str_cut(&rest, '\n', &line)) {
        CLEANUP(mem_freep) char *entry = mem_dup(line.ptr, line.len);

        if (line.len)
            env_set(env, entry);
    }
}

static void make_env(const struct run *r, bool trusted, struct strv *env)
{
    const struct dialect_env *d = env_of(r->dialect);
    const struct section *own = case_find(r->test, "env");
    static const char *const passed[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};

    strv_addf(env, "HOME=%s/home", r->dir);
    strv_addf(env, "TMPDIR=%s/tmp", r->dir);
    strv_addf(env, "PATH=%s/src:%s/tests/fake:/usr/bin:/bin", r->build, r->build);
    strv_adds(env, "TERM=xterm");
    strv_adds(env, PLANTED_TOKEN);
    strv_adds(env, "TENAX_TEST_IDS=1");
    strv_adds(env, "TENAX_TEST_SANDBOX=none"); /* the same everywhere; some cases unset it */
    strv_addf(env, "MODEL=%s", r->model);
    strv_addf(env, "DIALECT=%.*s", STR_ARG(r->dialect));
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        if (getenv(passed[i]))
            strv_addf(env, "%s=%s", passed[i], getenv(passed[i]));
    }
    if (d) {
        env_add(r, env, str_of(d->base_env));
        env_add(r, env, str_of(d->key_env));
    }
    if (trusted)
        strv_addf(env, "SSL_CERT_FILE=%s/ca.pem", r->dir);
    if (own)
        env_add(r, env, own->text);
}

/* Is the path, or what it is in, expected to stay? */
static bool may_stay(const struct run *r, const char *path, struct str left)
{
    char full[600];
    struct str rest = left;
    struct str line;

    if (strv_has(&r->files, str_of(path)))
        return true;
    if (r->is_kept && strstr(path, "/.tenax/events/"))
        return true;
    if (r->is_kept && strstr(path, "/.tenax/projects/") &&
        (str_ends(str_of(path), STR(".jsonl")) || strstr(path, "/file-history/") ||
         str_ends(str_of(path), STR(".meta.json")) || str_ends(str_of(path), STR(".output")) ||
         str_ends(str_of(path), STR("/.last-sweep"))))
        return true; /* the session, and files before they were changed */
    while (str_cut(&rest, '\n', &line)) {
        struct str want;

        line = str_trim(line);
        if (!line.len)
            continue;
        snprintf(full, sizeof(full), "%s/home/%.*s", r->dir, STR_ARG(line));
        want = str_of(full);
        if (str_ends(want, STR("*")) ? str_starts(str_of(path), str_first(want, want.len - 1))
                                     : str_is(str_of(path), full))
            return true;
    }
    return false;
}

/* TSAN's own file, which stays when a process is killed while it starts. */
static bool is_of_tsan(const char *name)
{
    return strncmp(name, "tsan.rodata.", strlen("tsan.rodata.")) == 0;
}

static bool check_left(const struct run *r, const char *folder, struct str left, int depth)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    bool good = true;

    if (!dir || depth > 16) {
        if (dir)
            closedir(dir);
        return true;
    }
    while ((void)(e = readdir(dir)), e) {
        CLEANUP(mem_freep) char *path = path_join(folder, e->d_name);
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            good = check_left(r, path, left, depth + 1) && good;
        } else if (!is_of_tsan(e->d_name) && !may_stay(r, path, left)) {
            printf("left behind: %s\n", path);
            good = false;
        }
    }
    closedir(dir);
    return good;
}

/* Does the case say that a secret may be there: "stdout", "stderr", or a file below its folder? */
static bool may_hold_secret(struct str allowed, struct str place)
{
    struct str rest = allowed;
    struct str line;

    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len && (str_eq(line, place) || (str_ends(line, STR("*")) &&
                                                 str_starts(place, str_first(line, line.len - 1)))))
            return true;
    }
    return false;
}

static bool check_secret_in(struct str allowed, struct str place, struct str text)
{
    if (!planted_is_in(text) || may_hold_secret(allowed, place))
        return true;
    printf("a secret is in %.*s\n", STR_ARG(place));
    return false;
}

/* No file written by tenax, or by its children, holds a planted key, except the file for keys and
 * the case's own files. */
static bool check_secret_files(const struct run *r, const char *folder, struct str allowed,
                               int depth)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    bool good = true;

    while (dir && depth < 16 && ((void)(e = readdir(dir)), e)) {
        CLEANUP(mem_freep) char *path = path_join(folder, e->d_name);
        CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_MAX_OUTPUT);
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            good = check_secret_files(r, path, allowed, depth + 1) && good;
        else if (S_ISREG(st.st_mode) && !strv_has(&r->files, str_of(path)) &&
                 !planted_may_be_in(path) &&
                 file_slurp(path, DRIVER_MAX_OUTPUT, &text, /*err=*/NULL) == 0)
            good =
                check_secret_in(allowed, str_of(path + strlen(r->dir) + 1), buf_str(&text)) && good;
    }
    if (dir)
        closedir(dir);
    return good;
}

static bool check_secrets(const struct run *r, const struct proc_result *result)
{
    static const char *const folders[] = {"home", "tmp", "work"};
    CLEANUP(buf_release) struct buf allowed = BUF_INIT(65536);
    bool good;

    section_text(r, "secrets", &allowed);
    good = check_secret_in(buf_str(&allowed), STR("stdout"), buf_str(&result->out));
    good = check_secret_in(buf_str(&allowed), STR("stderr"), buf_str(&result->err)) && good;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *folder = path_join(r->dir, folders[i]);

        good = check_secret_files(r, folder, buf_str(&allowed), 0) && good;
    }
    return good;
}

static bool check_code(const struct test_case *test, const struct proc_result *result)
{
    struct str words = STR("");
    int64_t want = 0;

    if (case_words(test, "exit", &words))
        (void)str_to_i64(words, &want, /*err=*/NULL);
    if (result->how == PROC_EXITED && result->code == want)
        return true;
    printf("exit code: expected %d, came %d%s\n", (int)want, result->code,
           result->how == PROC_TIMED_OUT   ? " (timed out)"
           : result->how == PROC_SIGNALLED ? " (signal)"
                                           : "");
    return false;
}

/* A script that finds that the case cannot be shown here says why and exits with 77. */
static bool is_skipped(const struct test_case *test, const struct proc_result *result)
{
    return result->how == PROC_EXITED && result->code == DRIVER_SKIPPED && !case_find(test, "exit");
}

static bool check_server(const struct run *r)
{
    if (!r->complaints.len)
        return true;
    printf("the server says:\n%s", buf_cstr(&r->complaints));
    return false;
}

static bool check_requests(const struct run *r)
{
    CLEANUP(buf_release) struct buf want = BUF_INIT(DRIVER_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf got = BUF_INIT(DRIVER_MAX_OUTPUT);
    char head[64];
    char path[96];
    struct err err = {0};

    snprintf(head, sizeof(head), "requests %.*s", STR_ARG(r->dialect));
    if (!case_find(r->test, head) && !case_find(r->test, "requests"))
        return true;
    section_text(r, case_find(r->test, head) ? head : "requests", &want);
    snprintf(path, sizeof(path), "%s/record", r->dir);
    if (file_slurp(path, DRIVER_MAX_OUTPUT, &got, &err) < 0 && err.code != ERR_NOT_FOUND) {
        printf("the server's record: %s\n", err.text);
        return false;
    }
    return match_requests(buf_str(&want), buf_str(&got));
}

static bool check_text(const struct run *r, const struct proc_result *result)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(DRIVER_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf lines = BUF_INIT(DRIVER_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf err_lines = BUF_INIT(DRIVER_MAX_OUTPUT);
    bool good = true;

    section_text(r, "stdout", &out);
    section_text(r, "output", &lines);
    section_text(r, "stderr", &err_lines);
    if (case_find(r->test, "stdout"))
        good = match_exact("stdout", buf_str(&out), buf_str(&result->out));
    good = match_lines("stdout", buf_str(&lines), buf_str(&result->out)) && good;
    good = match_lines("stderr", buf_str(&err_lines), buf_str(&result->err)) && good;
    if (!good && result->err.len)
        printf("--- stderr\n%s---\n", buf_cstr(&result->err));
    return good;
}

static bool run_script(struct run *r, bool trusted, bool *ret_skipped)
{
    CLEANUP(buf_release) struct buf script = BUF_INIT(65536);
    CLEANUP(buf_release) struct buf input = BUF_INIT(DRIVER_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf left = BUF_INIT(65536);
    CLEANUP(proc_result_release) struct proc_result result = {0};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(buf_release) struct buf work = BUF_INIT(200);
    CLEANUP(buf_release) struct buf temp = BUF_INIT(200);
    CLEANUP(buf_release) struct buf home = BUF_INIT(200);
    struct err err = {0};
    struct proc_spec spec = {.timeout_ms = DRIVER_RUN_MS, .max_output = DRIVER_MAX_OUTPUT};
    bool good;

    make_env(r, trusted, &env);
    section_text(r, "run", &script);
    section_text(r, "stdin", &input);
    section_text(r, "left", &left);
    buf_addf(&work, "%s/work", r->dir);
    buf_addf(&temp, "%s/tmp", r->dir);
    buf_addf(&home, "%s/home", r->dir);
    r->is_kept = !strstr(buf_cstr(&script), "--no-session-persistence");
    spec.argv = (const char *const[]){"/bin/sh", "-c", buf_cstr(&script), NULL};
    spec.envp = (const char *const *)strv_get(&env);
    spec.dir = buf_cstr(&work);
    spec.input = buf_str(&input);
    spec.pty = case_find(r->test, "pty") != NULL;
    if (proc_run(&spec, /*cancel=*/NULL, &result, &err) < 0) {
        printf("the script could not be run: %s\n", err.text);
        return false;
    }
    server_stop(r);
    if (is_skipped(r->test, &result)) {
        printf("skipped: %s", buf_cstr(&result.out));
        *ret_skipped = true;
        return true;
    }
    good = check_code(r->test, &result);
    good = check_text(r, &result) && good;
    good = check_requests(r) && good;
    good = check_server(r) && good;
    good = check_left(r, buf_cstr(&home), buf_str(&left), 0) && good;
    good = check_left(r, buf_cstr(&temp), buf_str(&left), 0) && good;
    good = check_secrets(r, &result) && good;
    return good;
}

static int prepare(struct run *r, struct err *err)
{
    static const char *const folders[] = {"home", "tmp", "work"};
    CLEANUP(buf_release) struct buf scenario = BUF_INIT(DRIVER_MAX_OUTPUT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(200);

    snprintf(r->dir, sizeof(r->dir), "/tmp/tenax-e2e-XXXXXX");
    if (!mkdtemp(r->dir))
        return err_sys(err, ERR_IO, "mkdtemp");
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *folder = path_join(r->dir, folders[i]);

        if (file_mkdirs(folder, 0700, err) < 0)
            return -1;
    }
    section_text(r, "scenario", &scenario);
    buf_addf(&path, "%s/scenario", r->dir);
    return file_replace(buf_cstr(&path), buf_str(&scenario), 0600, err);
}

static void remove_dir(const char *dir)
{
    const char *argv[] = {"rm", "-rf", "--", dir, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_result result = {0};

    (void)proc_run(&spec, /*cancel=*/NULL, &result, /*err=*/NULL);
    proc_result_release(&result);
}

static bool run_dialect(const struct test_case *test, const char *build, struct str dialect,
                        bool *ret_skipped)
{
    const struct dialect_env *d = env_of(dialect);
    struct run r = {
        .test = test,
        .build = build,
        .dialect = dialect,
        .model = d ? d->model : "anthropic/claude-sonnet-5",
        .mail = mailbox_new(),
        .complaints = BUF_INIT(65536),
    };
    struct str serve = STR("");
    bool tls = case_words(test, "serve", &serve) && str_starts(serve, STR("tls"));
    bool trusted = tls && !str_has(serve, STR("untrusted"));
    struct err err = {0};
    bool good;

    if (prepare(&r, &err) < 0 ||
        (case_find(test, "scenario") && !case_find(test, "no server") &&
         server_start(&r, tls, &err) < 0) ||
        put_files(&r, &err) < 0) {
        printf("%.*s: %s\n", STR_ARG(dialect), err.text);
        good = false;
    } else {
        good = run_script(&r, trusted, ret_skipped);
        if (!good)
            printf("=== failed: %s (%.*s)\n", test->file, STR_ARG(dialect));
    }
    server_stop(&r);
    mailbox_close(r.mail);
    mailbox_unref(r.mail);
    remove_dir(r.dir);
    strv_release(&r.files);
    buf_release(&r.complaints);
    return good;
}

int main(int argc, char **argv)
{
    struct test_case test;
    struct str dialects = STR("anthropic");
    struct str dialect;
    struct err err = {0};
    char build[4096];
    bool good = true;
    bool skipped = false;

    if (argc != 3 || !realpath(argv[1], build)) {
        fprintf(stderr, "usage: driver BUILD_DIR FILE.test\n");
        return 2;
    }
    if (case_load(argv[2], &test, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    (void)case_words(&test, "dialects", &dialects);
    while (str_cut(&dialects, ' ', &dialect)) {
        if (dialect.len)
            good = run_dialect(&test, build, dialect, &skipped) && good;
    }
    case_release(&test);
    proc_shutdown();
    return !good ? 1 : skipped ? DRIVER_SKIPPED : 0;
}
