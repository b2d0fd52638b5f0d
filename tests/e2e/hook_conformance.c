/*
 * hook_conformance: every event, every field, every exit code, with real scripts, against the real
 * program.
 *
 *     hook_conformance BUILD_DIR WORKERS [NAME]
 *
 * A run plays a scripted model in a fresh folder with one hook (hook_rows.c), and compares tenax's
 * output, the hook's input and the transcript with the row. First each event with exit codes 0, 1
 * and 2, then the rows. No processes or files may be left. NAME: only rows with this in their name.
 *
 * The runs are shared out among workers, processes with a stage each. Main thread of each.
 */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "hook_rows.h"
#include "stage.h"

#define LIMIT_MS 120000
#define ALONE_MS 10000
#define MAX_TEXT ((size_t)64 << 20)
#define BIG_BYTES ((size_t)1100000)
#define SESSION "0a0a0a0a-1111-4222-8333-444444444444"

/* A run in the making: a row over the stimulus of its event. */
struct play {
    struct stage *stage;
    const struct stimulus *to;
    const struct hook_row *row;
    struct buf name;
    struct buf said, told, kept; /* what came of it */
    int code;
};

/* ---- Scripts ---- */

/* What a script says, run in the folder. */
static int ask_script(const struct stage *s, const char *script, struct buf *ret, struct err *err)
{
    char home[128];
    char work[128];
    int status = 0;
    int fds[2];
    pid_t pid;

    snprintf(home, sizeof(home), "HOME=%s/home", s->dir);
    snprintf(work, sizeof(work), "%s/work", s->dir);
    if (pipe(fds) < 0)
        return err_sys(err, ERR_IO, "no pipe");
    pid = fork();
    if (pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        execlp("env", "env", "-C", work, home, "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    if (pid > 0)
        (void)buf_add_fd(ret, fds[0], /*err=*/NULL);
    close(fds[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid ? 0 : err_sys(err, ERR_IO, "no script");
}

/* ---- Prepared ---- */

/* ' stands for ". */
static char *quoted(const char *text)
{
    char *copy = mem_dup(text, strlen(text));

    for (char *at = copy; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    return copy;
}

static int put(const struct play *p, const char *folder, const char *name, struct str text,
               mode_t mode, struct err *err)
{
    CLEANUP(mem_freep) char *dir = NULL;
    char path[256];

    snprintf(path, sizeof(path), "%s/%s/%s", p->stage->dir, folder, name);
    dir = path_dirname(path);
    return file_mkdirs(dir, 0700, err) < 0 ? -1 : file_replace(path, text, mode, err);
}

static int put_scenario(const struct play *p, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_TEXT);
    CLEANUP(mem_freep) char *said = quoted(p->row->scenario ? p->row->scenario : p->to->scenario);

    if (strcmp(said, "big") == 0) {
        buf_adds(&text, "step\n  call Write {\"file_path\": \"big.txt\", \"content\": \"");
        for (size_t i = 0; i < BIG_BYTES; i += 10)
            buf_adds(&text, "0123456789");
        buf_adds(&text, "\"}\nstep\n  sticky\n  text nothing\n");
    } else {
        buf_adds(&text, said);
    }
    return put(p, "work", "scenario", buf_str(&text), 0600, err);
}

/* The hook stores its input, then acts as the row says. */
static int put_script(const struct play *p, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_TEXT);
    CLEANUP(mem_freep) char *out = quoted(p->row->out ? p->row->out : "");
    const char *words = p->row->err ? p->row->err : "";

    buf_adds(&text, "cat >> $CLAUDE_PROJECT_DIR/told\n");
    if (p->row->body)
        buf_addf(&text, "%s\n", p->row->body);
    else
        buf_addf(&text,
                 "cat $CLAUDE_PROJECT_DIR/out.json\ncat $CLAUDE_PROJECT_DIR/words >&2\nexit %d\n",
                 p->row->code);
    if (put(p, "work", "hook.sh", buf_str(&text), 0700, err) < 0 ||
        put(p, "work", "out.json", str_of(out), 0600, err) < 0 ||
        put(p, "work", "words", str_of(words), 0600, err) < 0 ||
        put(p, "work", "say", STR("#!/bin/sh\necho \"$@\" > said\n"), 0700, err) < 0)
        return -1;
    return 0;
}

/* Answers that rows may refer to. */
static int put_answers(const struct play *p, struct err *err)
{
    static const char *const words[] = {"allow", "deny", "ask"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        char name[32];
        char text[200];

        snprintf(name, sizeof(name), "%s.json", words[i]);
        snprintf(text, sizeof(text),
                 "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":"
                 "\"%s\",\"permissionDecisionReason\":\"MARK\"}}",
                 words[i]);
        if (put(p, "work", name, str_of(text), 0600, err) < 0)
            return -1;
    }
    return 0;
}

static int put_settings(const struct play *p, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_TEXT);
    CLEANUP(mem_freep) char *hooks = quoted(p->row->hooks ? p->row->hooks : "");
    CLEANUP(mem_freep) char *more = quoted(p->row->more ? p->row->more : "");
    CLEANUP(mem_freep) char *settings = quoted(p->row->settings ? p->row->settings : "");
    int64_t count = 1;

    buf_adds(&text, "{\"hooks\":");
    if (hooks[0] == '{') {
        buf_adds(&text, hooks);
    } else {
        (void)str_to_i64(str_of(hooks), &count, /*err=*/NULL); /* so many of it */
        buf_addf(&text, "{\"%s\":[{\"hooks\":[", p->to->event);
        for (int i = 0; i < count; i++)
            buf_addf(&text,
                     "%s{\"type\":\"command\",\"command\":\"sh $CLAUDE_PROJECT_DIR/hook.sh %d\"%s}",
                     i ? "," : "", i, more);
        buf_adds(&text, "]}]}");
    }
    buf_addf(&text, "%s}", settings);
    return put(p, "home/.tenax", "settings.json", buf_str(&text), 0600, err);
}

static int prepare(const struct play *p, struct err *err)
{
    char home[128];

    if (stage_sweep(p->stage, err) < 0)
        return -1;
    snprintf(home, sizeof(home), "%s/home/.tenax", p->stage->dir);
    if (file_mkdirs(home, 0700, err) < 0 || put_scenario(p, err) < 0 || put_script(p, err) < 0 ||
        put_answers(p, err) < 0)
        return -1;
    if (p->row->setup) {
        CLEANUP(buf_release) struct buf ignored = BUF_INIT(MAX_TEXT);

        return ask_script(p->stage, p->row->setup, &ignored, err);
    }
    if (p->to->file) {
        struct str text = str_of(p->to->file);
        struct str name;

        str_cut(&text, '\n', &name);
        CLEANUP(mem_freep) char *path = mem_dup(name.ptr, name.len);

        return put(p, "work", path, text, 0600, err);
    }
    return 0;
}

/* ---- Played ---- */

static int play_once(const struct play *p, const char *prompt, bool again, struct stage_result *ret,
                     struct err *err)
{
    const char *const *options = p->row->options[0] ? p->row->options : p->to->options;
    const char *args[25] = {"--trust", "-p", prompt, again ? "--resume" : "--session-id", SESSION};
    char model[128];
    size_t n = 5;

    snprintf(model, sizeof(model), "scripted/%s/work/scenario", p->stage->dir);
    args[n++] = "--model";
    args[n++] = model;
    args[n++] = "--output-format";
    args[n++] = "stream-json";
    args[n++] = "--verbose";
    for (size_t i = 0; i < 6 && options[i]; i++)
        args[n++] = options[i];
    return stage_play(p->stage, args, /*extra=*/NULL, LIMIT_MS, ret, err);
}

static void read_all(const struct stage *s, const char *pattern, struct buf *ret)
{
    char path[256];
    glob_t found;

    snprintf(path, sizeof(path), "%s/%s", s->dir, pattern);
    if (glob(path, 0, /*errfunc=*/NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_TEXT);

        if (file_slurp(found.gl_pathv[i], MAX_TEXT, &text, /*err=*/NULL) == 0)
            buf_add(ret, buf_str(&text));
    }
    globfree(&found);
}

static int play(struct play *p, struct err *err)
{
    CLEANUP(stage_result_release) struct stage_result before = {0};
    CLEANUP(stage_result_release) struct stage_result run = {0};
    const char *prompt = p->row->prompt ? p->row->prompt : p->to->prompt ? p->to->prompt : "go";

    if (prepare(p, err) < 0)
        return -1;
    if (p->to->before && play_once(p, p->to->before, /*again=*/false, &before, err) < 0)
        return -1;
    if (put_settings(p, err) < 0 || play_once(p, prompt, p->to->before, &run, err) < 0)
        return -1;
    if (run.is_stuck)
        return err_set(err, ERR_TIMEOUT, "it does not end");
    buf_add(&p->said, buf_str(&run.out));
    buf_add(&p->said, buf_str(&run.err));
    p->code = run.code;
    read_all(p->stage, "work/told", &p->told);
    read_all(p->stage, "home/.tenax/projects/*/*.jsonl", &p->kept);
    return stage_alone(p->stage, ALONE_MS, err);
}

/* ---- Judged ---- */

static int check_words(const char *where, const struct buf *text, const char *const *wanted,
                       struct err *err)
{
    for (size_t i = 0; i < HOOK_WANTED && wanted[i]; i++) {
        CLEANUP(mem_freep) char *word = quoted(wanted[i]);
        bool never = word[0] == '!';

        if (str_has(buf_str(text), str_of(word + never)) == never)
            return err_set(err, ERR_PROTOCOL, "%s has %s%s", where, never ? "" : "no ",
                           word + never);
    }
    return 0;
}

static int check(struct play *p, struct err *err)
{
    const struct hook_row *row = p->row;
    CLEANUP(buf_release) struct buf shown = BUF_INIT(MAX_TEXT);

    if (p->code != row->exit)
        return err_set(err, ERR_PROTOCOL, "exit code %d", p->code);
    if (check_words("what it said", &p->said, row->said, err) < 0 ||
        check_words("what the hook was told", &p->told, row->told, err) < 0 ||
        check_words("the transcript", &p->kept, row->kept, err) < 0)
        return -1;
    if (row->after && ask_script(p->stage, row->after, &shown, err) < 0)
        return -1;
    if (row->shows && strcmp(buf_cstr(&shown), row->shows) != 0)
        return err_set(err, ERR_PROTOCOL, "the script says: %s", buf_cstr(&shown));
    return stage_is_tidy(p->stage, err);
}

/* ---- All of them ---- */

static const struct stimulus *find_stimulus(const char *event)
{
    for (size_t i = 0; i < stimulus_count; i++) {
        if (strcmp(stimuli[i].event, event) == 0)
            return &stimuli[i];
    }
    return NULL;
}

/* An exit code at an event, as a row. */
static void code_row(const struct stimulus *to, int code, struct hook_row *ret)
{
    static char event[64];
    static char trouble[80];
    size_t n = 0;

    snprintf(event, sizeof(event), "'hook_event_name':'%s'", to->event);
    snprintf(trouble, sizeof(trouble),
             "%s hook error: sh $CLAUDE_PROJECT_DIR/hook.sh 0: exit code 1: WHY", to->event);
    *ret = (struct hook_row){
        .event = to->event,
        .err = code ? "WHY" : NULL,
        .code = code,
        .told = {"'session_id':'" SESSION "'", "'transcript_path':'/", "'cwd':'/",
                 "'permission_mode':'", event, to->told},
        .exit = code == 2 ? to->two_exit : to->exit,
    };
    ret->said[n++] = code == 2 ? to->two : to->undisturbed;
    if (code == 2 && to->two_not)
        ret->said[n++] = to->two_not;
    if (code == 1 && strcmp(to->event, "SessionEnd") != 0) /* no one is left to notify then */
        ret->said[n++] = trouble;
}

static bool show(struct stage *s, const struct hook_row *row, const char *name, const char *only)
{
    struct play p = {
        .stage = s,
        .to = find_stimulus(row->event),
        .row = row,
        .name = BUF_INIT(200),
        .said = BUF_INIT(MAX_TEXT),
        .told = BUF_INIT(MAX_TEXT),
        .kept = BUF_INIT(MAX_TEXT),
    };
    struct err err = {0};
    bool ok = true;

    buf_addf(&p.name, "%s: %s", row->event, name);
    if (!only || strstr(buf_cstr(&p.name), only)) {
        ok = play(&p, &err) == 0 && check(&p, &err) == 0;
        if (!ok)
            printf("FAILED %s: %s\n--- said\n%.20000s\n--- told\n%.4000s\n---\n", buf_cstr(&p.name),
                   err.text, buf_cstr(&p.said), buf_cstr(&p.told));
    }
    buf_release(&p.name);
    buf_release(&p.said);
    buf_release(&p.told);
    buf_release(&p.kept);
    return ok;
}

static int worker(const char *build, int number, int workers, const char *only)
{
    size_t codes = stimulus_count * 3;
    struct stage s;
    struct err err = {0};
    size_t failed = 0;
    size_t runs = 0;

    if (stage_open(&s, build, /*dialect=*/NULL, &err) < 0) {
        printf("FAILED: %s\n", err.text);
        return 1;
    }
    for (size_t i = (size_t)number; i < codes + hook_row_count; i += (size_t)workers) {
        struct hook_row row;
        char name[32];

        runs++;
        if (i >= codes) {
            failed += !show(&s, &hook_rows[i - codes], hook_rows[i - codes].name, only);
            continue;
        }
        code_row(&stimuli[i / 3], (int)(i % 3), &row);
        snprintf(name, sizeof(name), "exit code %d", row.code);
        failed += !show(&s, &row, name, only);
    }
    printf("%zu runs, %zu failed\n", runs, failed);
    stage_close(&s);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    int64_t workers = 0;
    int failed = 0;
    int status;

    if (argc < 3 || str_to_i64(str_of(argv[2]), &workers, /*err=*/NULL) < 0 || workers < 1) {
        fprintf(stderr, "usage: hook_conformance BUILD_DIR WORKERS [NAME]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < workers; i++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(worker(argv[1], i, (int)workers, argc > 3 ? argv[3] : NULL));
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += status != 0;
    return failed ? 1 : 0;
}
