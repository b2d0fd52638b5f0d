/*
 * wait: the awaited condition, as the user writes it, as the store keeps it and as a status line
 * shows it. The idea: everything needed to recognise the end (which process, which state of a file)
 * is recorded here, once, so that a wait means the same after a restart. Any thread.
 */
#include "goal/wait/wait.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"
#include "goal/argument/argument.h"
#include "goal/argument/word.h"
#include "goal/report/display.h"
#include "json/json.h"
#include "json/jw.h"
#include "proc/tree.h"

#define MINUTE_MS ((int64_t)60 * 1000)
#define SHOWN 80 /* bytes of a path or a command in a description */

static const char *const wait_names[] = {
    [WAIT_PROCESS] = "process",       [WAIT_FILE] = "file",
    [WAIT_COMMAND] = "command",       [WAIT_TIME] = "time",
    [WAIT_BACKGROUND] = "background", [WAIT_QUOTA] = "quota",
    [WAIT_RETRY] = "retry",
};

const char *wait_on_name(enum wait_on on)
{
    return wait_names[on];
}

void wait_release(struct wait *w)
{
    buf_release(&w->text);
}

void wait_begin(struct wait *w, enum wait_on on, int64_t now_ms)
{
    wait_release(w);
    *w = (struct wait)WAIT_INIT;
    w->on = on;
    w->file_mtime_ns = -1;
    w->file_size = -1;
    w->since_ms = now_ms;
    wait_checked_in(w, now_ms);
}

void wait_checked_in(struct wait *w, int64_t now_ms)
{
    static const int minutes[] = {30, 60, 120};

    /* What ends by the clock alone needs no check-in. */
    if (w->on != WAIT_PROCESS && w->on != WAIT_FILE && w->on != WAIT_COMMAND &&
        w->on != WAIT_BACKGROUND)
        return;
    if (w->check_in_ms)
        w->check_ins++;
    w->check_in_ms = now_ms + minutes[w->check_ins < 2 ? w->check_ins : 2] * MINUTE_MS;
}

int64_t wait_next_ms(const struct wait *w)
{
    if (!w->until_ms || !w->check_in_ms)
        return w->until_ms + w->check_in_ms;
    return w->until_ms < w->check_in_ms ? w->until_ms : w->check_in_ms;
}

/* ---- As the user writes it ---- */

/* The number in "4242" and "pid 4242"; false for everything else. */
static bool wait_names_pid(struct str text, struct str *ret)
{
    if (str_eq_nocase(str_first(text, 3), STR("pid")) && text.len > 4 &&
        (text.ptr[3] == ' ' || text.ptr[3] == ':' || text.ptr[3] == '\t'))
        text = str_trim(str_from(text, 4));
    *ret = text;
    return word_is_number(text);
}

static int wait_parse_pid(struct str number, struct wait *w, struct err *err)
{
    struct tree_proc p;
    int64_t pid;

    if (str_to_i64(number, &pid, /*err=*/NULL) < 0 || pid > INT_MAX || pid <= 0)
        return err_set(err, ERR_NOT_FOUND, "there is no process %.*s",
                       STR_ARG(str_first(number, SHOWN)));
    if (pid == getpid())
        return err_set(err, ERR_BAD_INPUT, "process %" PRId64 " is this very program", pid);
    if (!tree_look((pid_t)pid, &p))
        return err_set(err, ERR_NOT_FOUND,
                       "there is no process %" PRId64 "; for a time write its unit: %" PRId64 "s",
                       pid, pid);
    if (!tree_is_alive(&p))
        return err_set(err, ERR_NOT_FOUND, "process %" PRId64 " has ended already", pid);
    w->pid = pid;
    w->pid_start = p.start;
    return 0;
}

/* A path where it may stand alone: no blanks, nothing that means something to a shell. */
static bool is_plain_path(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] <= ' ' || strchr("|&;<>()$`\"'*?[]{}!\\=", s.ptr[i]))
            return false;
    }
    return str_chr(s, '/') < s.len;
}

void wait_file_now(struct str path, const char *dir, int64_t *ret_mtime_ns, int64_t *ret_size)
{
    CLEANUP(mem_freep) char *given = mem_dup(path.ptr, path.len);
    CLEANUP(mem_freep) char *home = path_expand_home(given);
    CLEANUP(mem_freep) char *whole = path_join(dir, home);
    struct stat st;
    bool is_there = stat(whole, &st) == 0;

    *ret_mtime_ns =
        is_there ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : (int64_t)-1;
    *ret_size = is_there ? (int64_t)st.st_size : -1;
}

static int wait_check_text(struct str text, struct err *err)
{
    if (!text.len)
        return err_set(err, ERR_BAD_INPUT,
                       "what to wait for is missing: a process (4242), a time (90s, 2h30m), a file "
                       "(build/done) or a command that will succeed");
    if (text.len >= WAIT_MAX_TEXT)
        return err_set(err, ERR_TOO_BIG, "what to wait for is longer than %zu bytes",
                       WAIT_MAX_TEXT);
    if (!utf8_is_valid(text) || str_chr(text, '\0') < text.len)
        return err_set(err, ERR_BAD_INPUT, "what to wait for is not plain text");
    return 0;
}

/* Digits and units and nothing else: meant as a time, right or wrong ("90m1h", "9000d"). */
static bool is_like_duration(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((s.ptr[i] < '0' || s.ptr[i] > '9') && !strchr("dhmsDHMS ", s.ptr[i]))
            return false;
    }
    return s.len && s.ptr[0] >= '0' && s.ptr[0] <= '9';
}

int wait_parse(struct str text, const char *dir, int64_t now_ms, struct wait *ret, struct err *err)
{
    struct wait w = WAIT_INIT;
    struct str number;
    int64_t ms;

    text = str_trim(text);
    if (wait_check_text(text, err) < 0)
        return -1;
    if (wait_names_pid(text, &number)) {
        wait_begin(&w, WAIT_PROCESS, now_ms);
        if (wait_parse_pid(number, &w, err) < 0)
            return -1;
    } else if (goal_read_duration(text, &ms, /*err=*/NULL) == 0) {
        wait_begin(&w, WAIT_TIME, now_ms);
        w.until_ms = now_ms + ms;
    } else if (is_like_duration(text)) {
        return goal_read_duration(text, &ms, err);
    } else {
        int64_t mtime_ns;
        int64_t size;

        wait_file_now(text, dir, &mtime_ns, &size);
        wait_begin(&w, size >= 0 || is_plain_path(text) ? WAIT_FILE : WAIT_COMMAND, now_ms);
        if (w.on == WAIT_FILE) {
            w.file_mtime_ns = mtime_ns;
            w.file_size = size;
        }
        buf_add(&w.text, text);
    }
    wait_release(ret);
    *ret = w;
    return 0;
}

/* ---- As the store keeps it ---- */

void wait_write(const struct wait *w, struct buf *ret)
{
    struct jw out;

    jw_init(&out, ret, 0);
    jw_object(&out);
    jw_kcstr(&out, "on", wait_on_name(w->on));
    if (w->on == WAIT_PROCESS) {
        jw_ki64(&out, "pid", w->pid);
        jw_ki64(&out, "pid_start", (int64_t)w->pid_start);
    }
    if (w->text.len)
        jw_kstr(&out, "text", buf_str(&w->text));
    if (w->on == WAIT_FILE) {
        jw_ki64(&out, "file_mtime_ns", w->file_mtime_ns);
        jw_ki64(&out, "file_size", w->file_size);
    }
    jw_ki64(&out, "until_ms", w->until_ms);
    jw_ki64(&out, "since_ms", w->since_ms);
    jw_ki64(&out, "check_in_ms", w->check_in_ms);
    jw_ki64(&out, "check_ins", w->check_ins);
    jw_object_end(&out);
}

static bool wait_read_on(struct str name, enum wait_on *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(wait_names); i++) {
        if (str_is(name, wait_names[i])) {
            *ret = (enum wait_on)i;
            return true;
        }
    }
    return false;
}

/* A member that is missing is `otherwise`; one that is no integer from `least` on is an error. */
static int wait_read_number(const struct json *v, const char *key, int64_t least, int64_t otherwise,
                            int64_t *ret, struct err *err)
{
    const struct json *member = json_get(v, key);

    *ret = otherwise;
    if (member && (!json_i64(member, ret) || *ret < least))
        return err_set(err, ERR_BAD_INPUT, "a wait has an invalid %s", key);
    return 0;
}

static int wait_read_members(const struct json *v, struct wait *w, struct err *err)
{
    struct str text = json_get_str(v, "text");
    int64_t start;
    int64_t check_ins;

    if (!json_is(v, JSON_OBJECT) || !wait_read_on(json_get_str(v, "on"), &w->on))
        return err_set(err, ERR_BAD_INPUT, "it does not say what to wait for");
    if (wait_read_number(v, "pid", 1, 0, &w->pid, err) < 0 ||
        wait_read_number(v, "pid_start", 0, 0, &start, err) < 0 ||
        wait_read_number(v, "file_mtime_ns", INT64_MIN, -1, &w->file_mtime_ns, err) < 0 ||
        wait_read_number(v, "file_size", -1, -1, &w->file_size, err) < 0 ||
        wait_read_number(v, "until_ms", 0, 0, &w->until_ms, err) < 0 ||
        wait_read_number(v, "since_ms", 0, 0, &w->since_ms, err) < 0 ||
        wait_read_number(v, "check_in_ms", 0, 0, &w->check_in_ms, err) < 0 ||
        wait_read_number(v, "check_ins", 0, 0, &check_ins, err) < 0)
        return -1;
    if (w->on == WAIT_PROCESS && (!w->pid || w->pid > INT_MAX))
        return err_set(err, ERR_BAD_INPUT, "it names no process");
    if ((w->on == WAIT_FILE || w->on == WAIT_COMMAND) && !text.len)
        return err_set(err, ERR_BAD_INPUT, "it names no %s", wait_on_name(w->on));
    if (text.len && wait_check_text(text, err) < 0)
        return -1;
    w->pid_start = (uint64_t)start;
    w->check_ins = check_ins > INT_MAX ? INT_MAX : (int)check_ins;
    buf_add(&w->text, text);
    return 0;
}

int wait_read(struct str json, struct wait *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(wait_release) struct wait w = WAIT_INIT;
    const struct json *v;

    if (json_parse(&arena, json, &v, /*ret_info=*/NULL, err) < 0 ||
        wait_read_members(v, &w, err) < 0)
        return err_prefix(err, "a stored wait");
    wait_release(ret);
    *ret = w;
    buf_init(&w.text, 0);
    return 0;
}

/* ---- As people see it ---- */

/* One line, however long or odd it is. */
static void wait_show_text(struct str text, struct buf *ret)
{
    struct str shown = str_clip(text, SHOWN);

    for (size_t i = 0; i < shown.len; i++)
        buf_addc(ret,
                 (unsigned char)shown.ptr[i] < ' ' || shown.ptr[i] == 0x7f ? ' ' : shown.ptr[i]);
    if (shown.len < text.len)
        buf_adds(ret, "…");
}

static void wait_show_left(const char *what, int64_t left_ms, struct buf *ret)
{
    buf_adds(ret, what);
    buf_adds(ret, ", ");
    goal_show_elapsed((left_ms + 999) / 1000, ret);
    buf_adds(ret, " left");
}

void wait_describe(const struct wait *w, int64_t now_ms, struct buf *ret)
{
    int64_t left_ms = w->until_ms > now_ms ? w->until_ms - now_ms : 0;

    switch (w->on) {
    case WAIT_PROCESS:
        buf_addf(ret, "pid %" PRId64, w->pid);
        return;
    case WAIT_FILE:
        buf_adds(ret, "file ");
        wait_show_text(buf_str(&w->text), ret);
        return;
    case WAIT_COMMAND:
        buf_adds(ret, "command ");
        wait_show_text(buf_str(&w->text), ret);
        return;
    case WAIT_TIME:
        wait_show_left("timer", left_ms, ret);
        return;
    case WAIT_QUOTA:
        wait_show_left("quota reset", left_ms, ret);
        return;
    case WAIT_RETRY:
        wait_show_left("next try", left_ms, ret);
        return;
    case WAIT_BACKGROUND:
        if (w->text.len)
            wait_show_text(buf_str(&w->text), ret);
        else
            buf_adds(ret, "background commands");
        return;
    }
}
