/*
 * Globs over paths: braces are multiplied out when a pattern is parsed, so only a flat list of
 * tokens is left to match.
 *
 * Most patterns in ignore files are names (`build`), endings (`*.o`) or plain paths; those are
 * recognised and compared as bytes. The rest is matched with two points to come back to, the last
 * `*` and the last `**`: a `*` cannot pass a slash, so an earlier one never has a choice left.
 */
#include "tools/search/glob_match.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "base/vec.h"

enum token_kind {
    TOKEN_BYTE,
    TOKEN_ONE,     /* ? */
    TOKEN_STAR,    /* any number of characters but slashes */
    TOKEN_FOLDERS, /* before a name: any number of folders, each with its slash */
    TOKEN_REST,    /* after a slash: everything below */
    TOKEN_CLASS,
};

struct range {
    uint32_t from, to;
};

struct token {
    enum token_kind kind;
    char byte;
    bool negated;
    size_t first, count; /* CLASS: its ranges */
};

enum form_kind {
    FORM_TOKENS,
    FORM_NAME,   /* the last part of the path is this */
    FORM_ENDING, /* the last part of the path ends so */
    FORM_PATH,   /* the whole path is this */
};

struct form {
    enum form_kind kind;
    struct buf text; /* of NAME, ENDING and PATH */
    VEC(struct token) tokens;
    VEC(struct range) ranges;
};

struct glob_match {
    VEC(struct form) forms;
};

/* How long the class that opens at `at` is, its brackets included; 0 when it is not closed. */
static size_t class_len(struct str p, size_t at)
{
    size_t i = at + 1;

    if (i < p.len && (p.ptr[i] == '!' || p.ptr[i] == '^'))
        i++;
    if (i < p.len && p.ptr[i] == ']') /* the first one is a member */
        i++;
    i += str_chr(str_from(p, i), ']');
    return i < p.len ? i + 1 - at : 0;
}

/* The bytes at `at` that braces and commas are not looked for in: an escape, a class, or one. */
static size_t unit_len(struct str p, size_t at)
{
    size_t len = 1;

    if (p.ptr[at] == '\\')
        len = 2;
    else if (p.ptr[at] == '[')
        len = class_len(p, at);
    return len && at + len <= p.len ? len : 1;
}

/* The next comma or closing brace of the group that `at` is inside of; p.len when there is none. */
static size_t choice_end(struct str p, size_t at)
{
    size_t depth = 0;

    for (size_t i = at; i < p.len; i += unit_len(p, i)) {
        char c = p.ptr[i];

        if (!depth && (c == ',' || c == '}'))
            return i;
        depth += c == '{';
        depth -= c == '}';
    }
    return p.len;
}

static size_t brace_start(struct str p)
{
    for (size_t i = 0; i < p.len; i += unit_len(p, i)) {
        if (p.ptr[i] == '{')
            return i;
    }
    return p.len;
}

static size_t brace_end(struct str p, size_t open)
{
    size_t i = choice_end(p, open + 1);

    while (i < p.len && p.ptr[i] == ',')
        i = choice_end(p, i + 1);
    return i;
}

/* `a{b,c{d,e}}` becomes ab, acd, ace. Worked off as a list: each pattern that still has a group
 * puts one for each of its choices at the end. */
static int multiply_out(struct str pattern, struct strv *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv todo = STRV_INIT;

    strv_add(&todo, pattern);
    for (size_t i = 0; i < todo.len; i++) {
        struct str p = str_of(todo.ptr[i]);
        size_t open = brace_start(p);
        size_t close = open < p.len ? brace_end(p, open) : 0;

        if (open == p.len) {
            strv_add(ret, p);
            continue;
        }
        if (close == p.len)
            return err_set(err, ERR_BAD_INPUT, "a '{' is not closed");
        for (size_t at = open + 1; at <= close;) {
            size_t end = choice_end(p, at);

            if (todo.len > (size_t)4 * GLOB_MATCH_MAX_FORMS)
                return err_set(err, ERR_TOO_BIG, "the braces stand for too many patterns");
            strv_addf(&todo, "%.*s%.*s%s", (int)open, p.ptr, (int)(end - at), p.ptr + at,
                      p.ptr + close + 1);
            at = end + 1;
        }
    }
    if (ret->len > GLOB_MATCH_MAX_FORMS)
        return err_set(err, ERR_TOO_BIG, "the braces stand for more than %d patterns",
                       GLOB_MATCH_MAX_FORMS);
    return 0;
}

/* One character, or one byte of invalid UTF-8. */
static size_t next_char(struct str s, uint32_t *ret)
{
    size_t n = utf8_decode(s, ret);

    if (n)
        return n;
    *ret = 0x110000 + (unsigned char)s.ptr[0]; /* equal to itself and to no character */
    return 1;
}

static size_t class_char(struct str p, uint32_t *ret)
{
    bool escaped = p.ptr[0] == '\\' && p.len > 1;

    return escaped + next_char(str_from(p, escaped), ret);
}

/* at is the '['; returns how many bytes the class takes. */
static size_t form_add_class(struct form *f, struct str p, size_t at, struct err *err)
{
    size_t len = class_len(p, at);
    struct token token = {.kind = TOKEN_CLASS, .first = f->ranges.len};
    struct str rest;

    if (!len) {
        err_set(err, ERR_BAD_INPUT, "a '[' is not closed");
        return 0;
    }
    rest = str_make(p.ptr + at + 1, len - 2);
    if (rest.len && (rest.ptr[0] == '!' || rest.ptr[0] == '^')) {
        token.negated = true;
        rest = str_from(rest, 1);
    }
    while (rest.len) {
        struct range range;

        rest = str_from(rest, class_char(rest, &range.from));
        range.to = range.from;
        if (rest.len > 1 && rest.ptr[0] == '-') {
            rest = str_from(rest, 1);
            rest = str_from(rest, class_char(rest, &range.to));
        }
        if (range.to < range.from) {
            err_set(err, ERR_BAD_INPUT, "a range in '[…]' ends before it begins");
            return 0;
        }
        vec_push(&f->ranges, range);
    }
    token.count = f->ranges.len - token.first;
    vec_push(&f->tokens, token);
    return len;
}

/* at is the first '*' of some; returns how many bytes were taken. */
static size_t form_add_stars(struct form *f, struct str p, size_t at)
{
    size_t end = at;
    bool after_slash = at == 0 || p.ptr[at - 1] == '/';
    struct token token = {.kind = TOKEN_STAR};

    while (end < p.len && p.ptr[end] == '*')
        end++;
    if (end - at == 2 && after_slash && end == p.len) {
        token.kind = TOKEN_REST;
    } else if (end - at == 2 && after_slash && p.ptr[end] == '/') {
        token.kind = TOKEN_FOLDERS;
        end++;
    }
    vec_push(&f->tokens, token);
    return end - at;
}

static int form_parse(struct form *f, struct str p, struct err *err)
{
    for (size_t i = 0; i < p.len;) {
        char c = p.ptr[i];
        size_t len = 1;

        if (c == '*') {
            len = form_add_stars(f, p, i);
        } else if (c == '?') {
            vec_push(&f->tokens, ((struct token){.kind = TOKEN_ONE}));
        } else if (c == '[') {
            len = form_add_class(f, p, i, err);
            if (!len)
                return -1;
        } else if (c == '\\' && i + 1 == p.len) {
            return err_set(err, ERR_BAD_INPUT, "a '\\' stands at the end");
        } else {
            if (c == '\\') {
                c = p.ptr[i + 1];
                len = 2;
            }
            vec_push(&f->tokens, ((struct token){.kind = TOKEN_BYTE, .byte = c}));
        }
        i += len;
    }
    return 0;
}

/* Looks whether bytes can be compared instead of tokens. */
static void form_simplify(struct form *f)
{
    size_t i = 0;
    bool anywhere = f->tokens.len && f->tokens.ptr[0].kind == TOKEN_FOLDERS;
    bool ending = false;

    if (anywhere) {
        i++;
        ending = f->tokens.len > 1 && f->tokens.ptr[1].kind == TOKEN_STAR;
        i += ending;
    }
    for (; i < f->tokens.len; i++) {
        const struct token *t = &f->tokens.ptr[i];

        if (t->kind != TOKEN_BYTE || (anywhere && t->byte == '/')) {
            buf_clear(&f->text);
            return;
        }
        buf_addc(&f->text, t->byte);
    }
    f->kind = ending ? FORM_ENDING : anywhere ? FORM_NAME : FORM_PATH;
}

void glob_match_free(struct glob_match *g)
{
    if (!g)
        return;
    VEC_EACH(&g->forms, f) {
        buf_release(&f->text);
        vec_release(&f->tokens);
        vec_release(&f->ranges);
    }
    vec_release(&g->forms);
    free(g);
}

static void glob_match_freep(struct glob_match **g)
{
    glob_match_free(*g);
}

int glob_match_parse(struct str pattern, struct glob_match **ret, struct err *err)
{
    CLEANUP(glob_match_freep) struct glob_match *g = mem_zalloc(sizeof(*g));
    CLEANUP(strv_release) struct strv forms = STRV_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(GLOB_MATCH_MAX_BYTES + 8);

    if (pattern.len > GLOB_MATCH_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "longer than %d bytes", GLOB_MATCH_MAX_BYTES);
    if (str_chr(pattern, '\0') < pattern.len)
        return err_set(err, ERR_BAD_INPUT, "a NUL byte is in it");
    if (str_chr(pattern, '/') == pattern.len)
        buf_adds(&text, "**/");
    buf_add(&text, str_starts(pattern, STR("/")) ? str_from(pattern, 1) : pattern);
    if (multiply_out(buf_str(&text), &forms, err) < 0)
        return -1;
    for (size_t i = 0; i < forms.len; i++) {
        struct form *f = vec_add(&g->forms);

        *f = (struct form){.text = BUF_INIT(GLOB_MATCH_MAX_BYTES + 8)};
        if (form_parse(f, str_of(forms.ptr[i]), err) < 0)
            return -1;
        form_simplify(f);
    }
    *ret = TAKE_PTR(g);
    return 0;
}

static bool class_fits(const struct form *f, const struct token *t, uint32_t c)
{
    for (size_t i = t->first; i < t->first + t->count; i++) {
        if (c >= f->ranges.ptr[i].from && c <= f->ranges.ptr[i].to)
            return !t->negated;
    }
    return t->negated;
}

/* Bytes of path that a token takes; 0 when it does not fit. Not for stars. */
static size_t token_take(const struct form *f, const struct token *t, struct str path)
{
    uint32_t c;
    size_t len;

    if (!path.len)
        return 0;
    if (t->kind == TOKEN_BYTE)
        return t->byte == path.ptr[0];
    if (path.ptr[0] == '/')
        return 0;
    len = next_char(path, &c);
    return t->kind == TOKEN_ONE || class_fits(f, t, c) ? len : 0;
}

/* A place to come back to: the token after a star, and where in the path it was last tried. */
struct retry {
    bool set;
    size_t token;
    size_t at;
};

/* Lets the last star take one more character, or the last folders one more folder. */
static bool form_retry(struct str path, struct retry *star, struct retry *folders,
                       size_t *ret_token, size_t *ret_at)
{
    if (star->set && star->at < path.len && path.ptr[star->at] != '/') {
        star->at++;
        *ret_token = star->token;
        *ret_at = star->at;
        return true;
    }
    star->set = false;
    if (!folders->set)
        return false;
    folders->at += str_chr(str_from(path, folders->at), '/') + 1;
    if (folders->at >= path.len) {
        folders->set = false;
        return false;
    }
    *ret_token = folders->token;
    *ret_at = folders->at;
    return true;
}

static bool form_fits(const struct form *f, struct str path)
{
    struct retry star = {0};
    struct retry folders = {0};
    size_t token = 0;
    size_t at = 0;

    for (;;) {
        const struct token *t = token < f->tokens.len ? &f->tokens.ptr[token] : NULL;
        size_t taken;

        if (!t && at == path.len)
            return true;
        if (t && t->kind == TOKEN_REST)
            return true;
        if (t && t->kind == TOKEN_STAR) {
            token++;
            star = (struct retry){true, token, at};
            continue;
        }
        if (t && t->kind == TOKEN_FOLDERS) {
            token++;
            folders = (struct retry){true, token, at};
            star.set = false;
            continue;
        }
        taken = t ? token_take(f, t, str_from(path, at)) : 0;
        if (taken) {
            token++;
            at += taken;
        } else if (!form_retry(path, &star, &folders, &token, &at)) {
            return false;
        }
    }
}

bool glob_match_fits(const struct glob_match *g, struct str path)
{
    const char *slash = memrchr(path.ptr, '/', path.len);
    struct str name = slash ? str_from(path, (size_t)(slash - path.ptr) + 1) : path;

    VEC_EACH(&g->forms, f) {
        struct str text = buf_str(&f->text);
        bool fits = false;

        switch (f->kind) {
        case FORM_NAME:
            fits = str_eq(name, text);
            break;
        case FORM_ENDING:
            fits = str_ends(name, text);
            break;
        case FORM_PATH:
            fits = str_eq(path, text);
            break;
        case FORM_TOKENS:
            fits = form_fits(f, path);
            break;
        }
        if (fits)
            return true;
    }
    return false;
}
