/*
 * git_config: one pass over the bytes. git parses characters, not lines: a setting may follow its
 * section's header on the same line, and a value may continue on the next line. Any thread.
 */
#include "guard/git_config.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define GIT_CONFIG_MAX_FILE ((size_t)256 << 10)
#define GIT_CONFIG_MAX_FILES 50

struct reader {
    struct str rest;
    struct buf section, key, value;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

/* '\0' at the end. */
static char peek(const struct reader *r)
{
    return r->rest.len ? r->rest.ptr[0] : '\0';
}

static char take(struct reader *r)
{
    char c = peek(r);

    r->rest = str_from(r->rest, r->rest.len ? 1 : 0);
    return c;
}

static void skip_line(struct reader *r)
{
    while (r->rest.len && take(r) != '\n')
        ;
}

/* After "[": the name in lower case, quoted parts unchanged. */
static void read_section(struct reader *r)
{
    bool is_quoted = false;

    buf_clear(&r->section);
    while (r->rest.len && peek(r) != '\n') {
        char c = take(r);

        if (c == ']' && !is_quoted)
            return;
        if (c == '"')
            is_quoted = !is_quoted;
        if (c == '\\' && is_quoted && r->rest.len)
            c = take(r);
        buf_addc(&r->section, is_quoted ? c : lower(c));
    }
}

static char unescaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
}

/* Up to the end of the line; unquoted spaces at both ends are removed. */
static void read_value(struct reader *r)
{
    bool is_quoted = false;
    size_t end = 0; /* length of the kept part */

    buf_clear(&r->value);
    while (r->rest.len) {
        char c = take(r);

        if (c == '\r' && peek(r) == '\n')
            continue;
        if (c == '\n')
            break;
        if (!is_quoted && (c == '#' || c == ';')) {
            skip_line(r);
            break;
        }
        if (c == '"') {
            is_quoted = !is_quoted;
            end = r->value.len;
            continue;
        }
        if (c == '\\') {
            c = take(r);
            if (c == '\r' && peek(r) == '\n')
                c = take(r);
            if (c == '\n')
                continue;
            c = unescaped(c);
        } else if (!is_quoted && (c == ' ' || c == '\t')) {
            if (r->value.len)
                buf_addc(&r->value, c);
            continue;
        }
        buf_addc(&r->value, c);
        end = r->value.len;
    }
    buf_cut(&r->value, end, r->value.len - end);
}

static void read_setting(struct reader *r, git_config_fn fn, void *arg)
{
    struct git_setting setting;

    buf_clear(&r->key);
    while (str_is_alnum(peek(r)) || peek(r) == '-')
        buf_addc(&r->key, lower(take(r)));
    while (peek(r) == ' ' || peek(r) == '\t')
        (void)take(r);
    buf_clear(&r->value);
    if (peek(r) == '=') {
        (void)take(r);
        read_value(r);
    } else {
        buf_adds(&r->value, "true");
        skip_line(r);
    }
    setting = (struct git_setting){
        .section = buf_str(&r->section), .key = buf_str(&r->key), .value = buf_str(&r->value)};
    if (setting.key.len)
        fn(arg, &setting);
}

void git_config_each(struct str text, git_config_fn fn, void *arg)
{
    struct reader r = {.rest = text,
                       .section = BUF_INIT(GIT_CONFIG_MAX_FILE),
                       .key = BUF_INIT(GIT_CONFIG_MAX_FILE),
                       .value = BUF_INIT(GIT_CONFIG_MAX_FILE)};

    if (str_starts(r.rest, STR("\xef\xbb\xbf")))
        r.rest = str_from(r.rest, 3);
    while (r.rest.len) {
        char c = peek(&r);

        if (c == '[') {
            (void)take(&r);
            read_section(&r);
        } else if (c == '#' || c == ';') {
            skip_line(&r);
        } else if (str_is_alnum(c)) {
            read_setting(&r, fn, arg);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            (void)take(&r);
        } else {
            skip_line(&r);
        }
    }
    buf_release(&r.section);
    buf_release(&r.key);
    buf_release(&r.value);
}

/* ---- files ---- */

struct adder {
    struct git_config *to;
    const char *file, *home;
};

/* "~/x" is in the home directory; others are relative to the file. */
static char *included_path(const struct adder *a, struct str value)
{
    CLEANUP(mem_freep) char *dir = path_dirname(a->file);
    CLEANUP(mem_freep) char *name = NULL;
    CLEANUP(mem_freep) char *path = NULL;
    bool is_home = str_starts(value, STR("~/"));

    if (!value.len || str_chr(value, '\0') < value.len)
        return NULL;
    value = str_from(value, is_home ? 2 : 0);
    name = mem_dup(value.ptr, value.len);
    path = path_join(is_home ? a->home : dir, name);
    return path_real(path);
}

/* A git_config_fn. */
static void add_setting(void *arg, const struct git_setting *setting)
{
    const struct adder *a = arg;
    bool includes =
        str_is(setting->section, "include") || str_starts(setting->section, STR("includeif "));

    if (includes && str_is(setting->key, "path")) {
        CLEANUP(mem_freep) char *path = included_path(a, setting->value);

        if (!path || strv_has(&a->to->included, str_of(path)) ||
            a->to->included.len >= GIT_CONFIG_MAX_FILES)
            return;
        strv_adds(&a->to->included, path);
        git_config_add(a->to, path, a->home); /* recursion is limited by the number of files */
    } else if (str_is(setting->section, "core") && str_is(setting->key, "hookspath")) {
        strv_add(&a->to->hooks, setting->value);
    }
}

void git_config_add(struct git_config *c, const char *file, const char *home)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(GIT_CONFIG_MAX_FILE);
    struct adder a = {.to = c, .file = file, .home = home};

    if (file_slurp(file, GIT_CONFIG_MAX_FILE, &text, /*err=*/NULL) == 0)
        git_config_each(buf_str(&text), add_setting, &a);
}

void git_config_release(struct git_config *c)
{
    strv_release(&c->included);
    strv_release(&c->hooks);
}
