/*
 * driver: plays a script (tests/data/NAME.screen) on a real terminal, once for each size and theme,
 * and compares the screen with NAME.golden.
 *
 *     driver BUILD FILE [80-dark]
 *
 * UPDATE_SCREENS=1 writes the golden file anew. tests/tui/README.md describes both.
 */
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "glass.h"
#include "play.h"
#include "script.h"

#define DRIVER_ROWS 24
#define DRIVER_MAX ((size_t)64 << 20)
#define DRIVER_QUIET_MS 400 /* a recorded screen has come to rest */

struct driver_theme {
    const char *name;
    const char *term, *more; /* TERM, and one more variable */
    const char *background;
    const char *option;
};

static const struct driver_theme driver_themes[] = {
    {"dark", "TERM=xterm-256color", "COLORTERM=truecolor", "rgb:1e1e/1e1e/2e2e", NULL},
    {"light", "TERM=xterm-256color", "COLORTERM=truecolor", "rgb:fafa/fafa/fafa", NULL},
    {"16", "TERM=xterm", "COLORFGBG=15;0", "rgb:0000/0000/0000", NULL},
    {"plain", "TERM=xterm", "NO_COLOR=1", "rgb:0000/0000/0000", "--plain"},
};

struct driver {
    const char *build;
    struct script script, golden;
    struct buf fresh; /* what the golden file shall be */
    bool updates;
    int cols, rows;
    const struct driver_theme *theme;
    struct play play;
    struct strv masks;
};

/* --- The screen --- */

/* What differs from run to run, by patterns: each letter becomes '#'. */
static void driver_mask(const struct driver *d, struct buf *text, size_t from)
{
    for (size_t i = 0; i < d->masks.len; i++) {
        regex_t re;
        regmatch_t at;
        size_t start = from;

        if (regcomp(&re, d->masks.ptr[i], REG_EXTENDED | REG_NEWLINE) != 0)
            play_fail((struct play *)&d->play, "bad pattern '%s'", d->masks.ptr[i]);
        while (start < text->len && regexec(&re, buf_cstr(text) + start, 1, &at, 0) == 0 &&
               at.rm_eo > at.rm_so) {
            memset(text->ptr + start + at.rm_so, '#', (size_t)(at.rm_eo - at.rm_so));
            start += (size_t)at.rm_eo;
        }
        regfree(&re);
    }
}

static void driver_screen(const struct driver *d, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_MAX);
    struct glass_cursor cursor = glass_cursor(d->play.glass);
    struct str rest;
    struct str row;
    int number = 0;

    glass_text(d->play.glass, &text);
    driver_mask(d, &text, 0);
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &row)) {
        size_t at;

        buf_addf(ret, "|%.*s\n~", STR_ARG(row));
        at = ret->len;
        glass_looks(d->play.glass, number++, ret);
        if (ret->len == at)
            buf_cut(ret, at - 1, 1);
        else
            buf_addc(ret, '\n');
    }
    if (cursor.visible)
        buf_addf(ret, "cursor %d,%d\n", cursor.row, cursor.col);
}

static void driver_scrollback(const struct driver *d, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_MAX);
    struct str rest;
    struct str row;

    glass_scrollback(d->play.glass, &text);
    driver_mask(d, &text, 0);
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &row))
        buf_addf(ret, "|%.*s\n", STR_ARG(row));
}

static void driver_compare(struct driver *d, struct str name,
                           void (*show)(const struct driver *d, struct buf *ret))
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf got = BUF_INIT(DRIVER_MAX);
    const struct script_section *want;
    int64_t until = clock_mono_ms() + PLAY_PATIENCE_MS;

    buf_addf(&head, "%.*s %d %s", STR_ARG(name), d->cols, d->theme->name);
    if (d->updates) {
        play_calm(&d->play, DRIVER_QUIET_MS);
        show(d, &got);
        buf_addf(&d->fresh, "%%%% %s\n%s\n", buf_cstr(&head), buf_cstr(&got));
        return;
    }
    want = script_find(&d->golden, buf_str(&head));
    if (!want)
        play_fail(&d->play, "no golden '%s': UPDATE_SCREENS=1 writes it", buf_cstr(&head));
    for (;;) {
        buf_clear(&got);
        show(d, &got);
        if (str_eq(str_trim(buf_str(&got)), str_trim(want->text)))
            return;
        if (clock_mono_ms() > until)
            break;
        play_pump(&d->play, 100);
    }
    play_fail(&d->play, "'%s' is not what it should be\n--- wanted\n%.*s--- got\n%s---",
              buf_cstr(&head), STR_ARG(want->text), buf_cstr(&got));
}

/* --- The commands of a script --- */

static void driver_size(struct driver *d, struct str text, int *ret_cols, int *ret_rows)
{
    struct str cols;
    int64_t n = 0;

    if (!str_cut(&text, 'x', &cols) || str_to_i64(cols, &n, NULL) < 0 || n < 2 || n > 500)
        play_fail(&d->play, "no size");
    *ret_cols = (int)n;
    if (text.ptr && str_to_i64(text, &n, NULL) == 0 && n >= 2 && n <= 200)
        *ret_rows = (int)n;
}

/* All of a line in one write: two that mean something together come together. An Esc is read alone,
 * else it would be a part of the key that comes next. */
static void driver_keys(struct driver *d, struct str names)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(4096);
    struct str name;
    bool escapes = false;

    while (str_cut(&names, ' ', &name)) {
        size_t before = bytes.len;

        if (!name.len)
            continue;
        if (!script_key(name, &bytes))
            play_fail(&d->play, "no key is called '%.*s'", STR_ARG(name));
        if (escapes)
            play_fail(&d->play, "esc ends its line");
        escapes = str_is(str_from(buf_str(&bytes), before), "\033");
    }
    play_type(&d->play, buf_str(&bytes));
    if (escapes)
        play_until_read(&d->play);
}

static void driver_signal(struct driver *d, struct str name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"TERM", SIGTERM}, {"HUP", SIGHUP},   {"INT", SIGINT},   {"SEGV", SIGSEGV},
                   {"ABRT", SIGABRT}, {"TSTP", SIGTSTP}, {"CONT", SIGCONT}, {"KILL", SIGKILL}};

    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        if (str_is(name, signals[i].name)) {
            if (d->play.pid > 0)
                kill(d->play.pid, signals[i].number);
            return;
        }
    }
    play_fail(&d->play, "no signal is called '%.*s'", STR_ARG(name));
}

static void driver_raw(struct driver *d, struct str text, bool never)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(DRIVER_MAX);
    int64_t until = clock_mono_ms() + PLAY_PATIENCE_MS;

    script_unescape(text, &bytes);
    while (str_has(glass_raw(d->play.glass), buf_str(&bytes)) == never) {
        if (never || clock_mono_ms() > until)
            play_fail(&d->play, "raw '%.*s'%s", STR_ARG(text), never ? " was written" : "");
        play_pump(&d->play, 100);
    }
}

static void driver_exit(struct driver *d, struct str code)
{
    int64_t want = 0;
    int got = play_end(&d->play);

    if (code.len && str_to_i64(code, &want, NULL) < 0)
        play_fail(&d->play, "no number");
    if (got != (int)want)
        play_fail(&d->play, "exit %d, not %d", got, (int)want);
    play_check_end(&d->play);
}

/* "paste <<END": the lines up to that word. */
static void driver_paste(struct driver *d, struct str arg, struct str *rest)
{
    struct str end = str_starts(arg, STR("<<")) ? str_from(arg, 2) : (struct str){0};
    CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_MAX);
    struct str line;

    buf_adds(&text, "\033[200~");
    if (!end.len)
        script_unescape(arg, &text);
    for (bool first = true; end.len && str_cut(rest, '\n', &line) && !str_eq(line, end);
         first = false) {
        d->play.line++;
        buf_addf(&text, "%s%.*s", first ? "" : "\r", STR_ARG(line));
    }
    buf_adds(&text, "\033[201~");
    play_type(&d->play, buf_str(&text));
}

static void driver_command(struct driver *d, struct str word, struct str arg, struct str *rest)
{
    struct play *p = &d->play;

    if (str_is(word, "type")) {
        play_type(p, arg);
    } else if (str_is(word, "key")) {
        driver_keys(d, arg);
    } else if (str_is(word, "paste")) {
        driver_paste(d, arg, rest);
    } else if (str_is(word, "wait") || str_is(word, "gone")) {
        play_wait(p, arg, str_is(word, "gone"));
    } else if (str_is(word, "calm")) {
        play_calm(p, DRIVER_QUIET_MS);
    } else if (str_is(word, "resize")) {
        int cols = glass_cols(p->glass);
        int rows = glass_rows(p->glass);

        driver_size(d, arg, &cols, &rows);
        play_resize(p, cols, rows);
    } else if (str_is(word, "screen")) {
        driver_compare(d, arg, driver_screen);
    } else if (str_is(word, "scrollback")) {
        driver_compare(d, arg, driver_scrollback);
    } else if (str_is(word, "raw") || str_is(word, "never")) {
        driver_raw(d, arg, str_is(word, "never"));
    } else if (str_is(word, "signal")) {
        driver_signal(d, arg);
    } else if (str_is(word, "exit")) {
        driver_exit(d, arg);
    } else {
        play_fail(p, "what is '%.*s'?", STR_ARG(word));
    }
}

/* "[80] …", "[!plain] …": only there. The line without it; empty: not here. */
static struct str driver_only(const struct driver *d, struct str line)
{
    char cols[16];
    struct str only;
    bool turned;
    bool is;

    if (!str_starts(line, STR("[")))
        return line;
    only = str_make(line.ptr + 1, str_chr(line, ']') - 1);
    line = str_trim(str_from(line, only.len + 2));
    turned = str_starts(only, STR("!"));
    only = str_from(only, turned);
    snprintf(cols, sizeof(cols), "%d", d->cols);
    is = str_is(only, cols) || (str_is(only, d->theme->name) && !str_is(only, "16")) ||
         (str_is(only, "ansi") && strcmp(d->theme->name, "16") == 0);
    return is != turned ? line : (struct str){0};
}

static void driver_script(struct driver *d, const struct script_section *s)
{
    struct str rest = s->text;
    struct str line;

    d->play.line = s->line;
    while (rest.len && str_cut(&rest, '\n', &line)) {
        size_t word;

        d->play.line++;
        line = driver_only(d, line);
        if (!line.len || line.ptr[0] == '#')
            continue;
        word = str_chr(line, ' ');
        driver_command(d, str_first(line, word), str_from(line, word + 1), &rest);
    }
}

/* --- One run --- */

static void driver_fill(const struct driver *d, struct str text, struct buf *ret)
{
    const struct {
        struct str name;
        const char *value;
    } places[] = {{STR("{HOME}"), d->play.dir}, {STR("{BUILD}"), d->build}, {STR("{"), "{"}};

    while (text.len) {
        size_t at = str_chr(text, '{');

        buf_add(ret, str_first(text, at));
        text = str_from(text, at);
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
            if (!str_starts(text, places[i].name))
                continue;
            buf_adds(ret, places[i].value);
            text = str_from(text, places[i].name.len);
            break;
        }
    }
}

static void driver_put_file(struct driver *d, struct str path, struct str text)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf filled = BUF_INIT(DRIVER_MAX);
    CLEANUP(mem_freep) char *dir = NULL;
    struct err err;

    buf_addf(&name, "%s/%.*s", d->play.dir, STR_ARG(path));
    dir = path_dirname(buf_cstr(&name));
    driver_fill(d, text, &filled);
    if (file_mkdirs(dir, 0700, &err) < 0 ||
        file_replace(buf_cstr(&name), buf_str(&filled), 0600, &err) < 0)
        play_fail(&d->play, "%s", err.text);
}

static void driver_add_lines(struct driver *d, const char *head, struct strv *to)
{
    const struct script_section *s = script_first(&d->script, head);
    struct str rest = s ? s->text : (struct str){0};
    struct str line;

    while (rest.len && str_cut(&rest, '\n', &line)) {
        CLEANUP(buf_release) struct buf filled = BUF_INIT(DRIVER_MAX);

        driver_fill(d, line, &filled);
        if (filled.len)
            strv_add(to, buf_str(&filled));
    }
}

static void driver_argv(struct driver *d)
{
    const struct script_section *program = script_first(&d->script, "program");
    struct strv *argv = &d->play.argv;

    if (program) {
        struct str name = script_rest(program->head);

        strv_addf(argv, "%s%s%.*s", name.ptr[0] == '/' ? "" : d->build,
                  name.ptr[0] == '/' ? "" : "/", STR_ARG(name));
    } else {
        strv_addf(argv, "%s/src/tenax", d->build);
        if (script_first(&d->script, "scenario"))
            strv_addf(argv, "--model=scripted/%s/scenario", d->play.dir);
    }
    driver_add_lines(d, "options", argv);
    if (d->theme->option)
        strv_adds(argv, d->theme->option);
}

/* Of a variable that is set twice the last one counts. */
static void driver_keep_last(struct strv *env)
{
    for (size_t i = env->len; i-- > 0;) {
        struct str name = str_first(str_of(env->ptr[i]), str_chr(str_of(env->ptr[i]), '=') + 1);

        for (size_t k = 0; k < i; k++) {
            if (str_starts(str_of(env->ptr[k]), name))
                env->ptr[k][0] = '_'; /* another name */
        }
    }
}

static void driver_run(struct driver *d)
{
    const struct script_section *steps = script_first(&d->script, "script");
    const struct script_section *scenario = script_first(&d->script, "scenario");

    if (!steps)
        play_fail(&d->play, "there is no 'script'");
    play_stage(&d->play);
    strv_adds(&d->play.env, d->theme->term);
    strv_adds(&d->play.env, d->theme->more);
    d->play.background = str_of(d->theme->background);
    driver_add_lines(d, "env", &d->play.env);
    driver_keep_last(&d->play.env);
    if (scenario)
        driver_put_file(d, STR("scenario"), scenario->text);
    VEC_EACH(&d->script.sections, s) {
        if (str_starts(s->head, STR("file ")))
            driver_put_file(d, script_rest(s->head), s->text);
    }
    driver_argv(d);
    play_start(&d->play, d->cols, d->rows);
    driver_script(d, steps);
    play_stop(&d->play);
}

static const struct driver_theme *driver_theme(struct driver *d, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(driver_themes); i++) {
        if (str_is(name, driver_themes[i].name))
            return &driver_themes[i];
    }
    play_fail(&d->play, "no theme is called '%.*s'", STR_ARG(name));
}

static struct str driver_words(const struct driver *d, const char *head, struct str instead)
{
    const struct script_section *s = script_first(&d->script, head);

    return s ? script_rest(s->head) : instead;
}

static void driver_matrix(struct driver *d, const char *only)
{
    struct str sizes = driver_words(d, "sizes", STR("80"));
    struct str size;
    char name[100];

    while (str_cut(&sizes, ' ', &size)) {
        struct str themes = driver_words(d, "themes", STR("dark"));
        struct str theme;

        while (str_cut(&themes, ' ', &theme)) {
            if (!size.len || !theme.len)
                continue;
            d->rows = DRIVER_ROWS;
            driver_size(d, size, &d->cols, &d->rows);
            d->theme = driver_theme(d, theme);
            snprintf(name, sizeof(name), "%d-%s", d->cols, d->theme->name);
            if (only && strcmp(only, name) != 0)
                continue;
            printf("%s\n", name);
            fflush(stdout);
            d->play = (struct play){.name = d->script.file};
            driver_run(d);
        }
    }
}

int main(int argc, char **argv)
{
    struct driver d = {.fresh = BUF_INIT(DRIVER_MAX)};
    CLEANUP(buf_release) struct buf golden = BUF_INIT(4096);
    struct err err = {0};
    char build[PATH_MAX];

    if (argc < 3 || !realpath(argv[1], build)) /* the program is started in another folder */
        return 2;
    d.build = build;
    d.updates = getenv("UPDATE_SCREENS");
    d.play.name = argv[2];
    if (script_load(argv[2], &d.script, &err) < 0)
        play_fail(&d.play, "%s", err.text);
    buf_addf(&golden, "%.*s.golden", (int)strlen(argv[2]) - (int)sizeof("screen"), argv[2]);
    if (!d.updates && file_exists(buf_cstr(&golden)) &&
        script_load(buf_cstr(&golden), &d.golden, &err) < 0)
        play_fail(&d.play, "%s", err.text);
    strv_adds(&d.masks, "tenax-play-[0-9]"); /* play.c */
    driver_add_lines(&d, "mask", &d.masks);
    driver_matrix(&d, argc > 3 ? argv[3] : NULL);
    if (d.updates && argc == 3 && d.fresh.len &&
        file_replace(buf_cstr(&golden), buf_str(&d.fresh), 0644, &err) < 0)
        play_fail(&d.play, "%s", err.text);
    script_release(&d.script);
    script_release(&d.golden);
    buf_release(&d.fresh);
    strv_release(&d.masks);
    return 0;
}
