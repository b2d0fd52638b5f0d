/*
 * The parser: text in, tree in an arena out.
 *
 * One loop and an explicit stack of the open containers. A string is scanned once; as long as it
 * holds neither an escape nor an invalid byte it stays a slice of the input, else it is decoded
 * into a scratch buffer and copied. Any thread; nothing is shared between two calls.
 */
#include "json/json.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/node.h"
#include "json/scan.h"

struct parser {
    struct arena *arena;
    struct str text;
    const char *at;
    const char *end;
    struct buf scratch; /* a string while it is decoded */
    struct json_info info;
    struct err *err;
};

/* An open container. */
struct frame {
    struct json *node;
    struct json *last; /* its newest child */
    uint64_t seen;     /* one bit per key, chosen by mark_key() */
};

static void position(struct str text, const char *at, size_t *ret_line, size_t *ret_column)
{
    const char *line_start = text.ptr;
    size_t line = 1;

    for (;;) {
        const char *nl = memchr(line_start, '\n', (size_t)(at - line_start));

        if (!nl)
            break;
        line++;
        line_start = nl + 1;
    }
    *ret_line = line;
    *ret_column = (size_t)(at - line_start) + 1;
}

static int fail(struct parser *p, enum err_code code, const char *at, const char *what)
{
    size_t line;
    size_t column;

    position(p->text, at, &line, &column);
    return err_set(p->err, code, "line %zu, column %zu: %s", line, column, what);
}

static int fail_syntax(struct parser *p, const char *at, const char *what)
{
    return fail(p, ERR_BAD_INPUT, at, what);
}

/* "expected <what>, not 'x'" at the current position. */
static int fail_expected(struct parser *p, const char *what)
{
    struct str rest = {p->at, (size_t)(p->end - p->at)};
    size_t n = utf8_decode(rest, /*ret_code=*/NULL);
    unsigned char c;
    char text[160];

    if (!rest.len) {
        snprintf(text, sizeof(text), "expected %s, but the text ends here", what);
        return fail_syntax(p, p->at, text);
    }
    c = (unsigned char)rest.ptr[0];
    if (n == 0 || c < 0x20 || c == 0x7f)
        snprintf(text, sizeof(text), "expected %s, not byte 0x%02x", what, c);
    else
        snprintf(text, sizeof(text), "expected %s, not '%.*s'", what, (int)n, rest.ptr);
    return fail_syntax(p, p->at, text);
}

static inline void skip_space(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
        p->at++;
}

static inline bool next_is(const struct parser *p, char c)
{
    return p->at < p->end && *p->at == c;
}

/* Four hex digits at p->at. */
static int parse_hex4(struct parser *p, uint32_t *ret)
{
    uint32_t code = 0;

    for (int i = 0; i < 4; i++) {
        unsigned char c = p->at < p->end ? (unsigned char)*p->at : 0;
        unsigned char lower = c | 0x20;

        if (c >= '0' && c <= '9')
            code = code << 4 | (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            code = code << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return fail_expected(p, "four hex digits after \\u");
        p->at++;
    }
    *ret = code;
    return 0;
}

static bool is_high_surrogate(uint32_t code)
{
    return code >= 0xd800 && code < 0xdc00;
}

static bool is_low_surrogate(uint32_t code)
{
    return code >= 0xdc00 && code < 0xe000;
}

/* p->at is after "\u". A pair becomes one character; half a pair is kept as it is. Returns the
 * number of bytes written, or -1. */
static int parse_unicode_escape(struct parser *p, char out[4])
{
    uint32_t code = 0;

    if (parse_hex4(p, &code) < 0)
        return -1;
    if (is_high_surrogate(code) && p->end - p->at >= 2 && p->at[0] == '\\' && p->at[1] == 'u') {
        const char *second = p->at;
        uint32_t low = 0;

        p->at += 2;
        if (parse_hex4(p, &low) < 0)
            return -1;
        if (is_low_surrogate(low))
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        else
            p->at = second; /* a separate character */
    }
    if (code >= 0xd800 && code < 0xe000)
        p->info.lone_surrogates++;
    return (int)utf8_encode(code, out);
}

/* p->at is at the backslash. Returns as above. */
static int parse_escape(struct parser *p, char out[4])
{
    char c;

    if (p->end - p->at < 2)
        return fail_syntax(p, p->at, "the text ends inside an escape");
    c = p->at[1];
    switch (c) {
    case '"':
    case '\\':
    case '/':
        break;
    case 'b':
        c = '\b';
        break;
    case 'f':
        c = '\f';
        break;
    case 'n':
        c = '\n';
        break;
    case 'r':
        c = '\r';
        break;
    case 't':
        c = '\t';
        break;
    case 'u':
        p->at += 2;
        return parse_unicode_escape(p, out);
    default:
        return fail_syntax(p, p->at, "unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
    }
    p->at += 2;
    out[0] = c;
    return 1;
}

/* p->at is at the opening quote. */
static int parse_string(struct parser *p, struct str *ret)
{
    const char *open = p->at;
    const char *run = open + 1; /* start of the part not copied yet */
    const char *at = scan_valid(run, p->end);

    if (at < p->end && *at == '"') {
        *ret = str_make(run, (size_t)(at - run));
        p->at = at + 1;
        return 0;
    }

    buf_clear(&p->scratch);
    for (;;) {
        size_t n = (size_t)(at - run);
        char *out = buf_room(&p->scratch, n + 4);
        int more = 0;

        if (at == p->end)
            return fail_syntax(p, open, "this string is not closed");
        memcpy(out, run, n);
        out += n;
        p->at = at;
        if (*at == '\\') {
            more = parse_escape(p, out);
            if (more < 0)
                return -1;
        } else if ((unsigned char)*at < 0x20) {
            return fail_syntax(p, at,
                               *at == '\n' ? "a line break inside a string; write it as \\n"
                                           : "a raw control character inside a string");
        } else if (*at != '"') {
            more = (int)utf8_encode(0xfffd, out);
            p->info.bad_utf8++;
            p->at++;
        }
        buf_grown(&p->scratch, n + (size_t)more);
        if (*at == '"')
            break;
        run = p->at;
        at = scan_valid(run, p->end);
    }

    *ret = arena_str(p->arena, buf_str(&p->scratch));
    p->at++;
    return 0;
}

/* One digit at least. */
static int parse_digits(struct parser *p, const char *where)
{
    if (p->at == p->end || *p->at < '0' || *p->at > '9')
        return fail_expected(p, where);
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
        p->at++;
    return 0;
}

/* Checks the grammar only: what a number is worth is asked later, from its text. */
static int parse_number(struct parser *p)
{
    if (next_is(p, '-'))
        p->at++;
    if (next_is(p, '0')) {
        p->at++;
        if (p->at < p->end && *p->at >= '0' && *p->at <= '9')
            return fail_syntax(p, p->at - 1, "a number has no leading zeros");
    } else if (parse_digits(p, "a digit after '-'") < 0) {
        return -1;
    }
    if (next_is(p, '.')) {
        p->at++;
        if (parse_digits(p, "a digit after '.'") < 0)
            return -1;
    }
    if (next_is(p, 'e') || next_is(p, 'E')) {
        p->at++;
        if (next_is(p, '+') || next_is(p, '-'))
            p->at++;
        if (parse_digits(p, "a digit in the exponent") < 0)
            return -1;
    }
    return 0;
}

static int parse_word(struct parser *p, struct str word)
{
    if (!str_starts(str_make(p->at, (size_t)(p->end - p->at)), word))
        return fail_expected(p, "a value");
    p->at += word.len;
    return 0;
}

/* Anything but a container, into v. */
static int parse_scalar(struct parser *p, struct json *v)
{
    struct str s;

    switch (p->at < p->end ? *p->at : 0) {
    case '"':
        v->type = JSON_STRING;
        if (parse_string(p, &s) < 0)
            return -1;
        v->text = s.ptr;
        v->len = (uint32_t)s.len;
        return 0;
    case 't':
        v->type = JSON_BOOL;
        v->flags |= NODE_TRUE;
        return parse_word(p, STR("true"));
    case 'f':
        v->type = JSON_BOOL;
        return parse_word(p, STR("false"));
    case 'n':
        v->type = JSON_NULL;
        return parse_word(p, STR("null"));
    case '-':
    case '0' ... '9':
        v->type = JSON_NUMBER;
        return parse_number(p);
    default:
        return fail_expected(p, "a value");
    }
}

/* Two keys that are equal share a bit, so an object whose keys all got a fresh one has no
 * duplicate, and most objects are spared the comparison. */
static void mark_key(struct frame *f, struct str key)
{
    unsigned ends =
        key.len ? (unsigned char)key.ptr[0] * 7u + (unsigned char)key.ptr[key.len - 1] : 0;
    uint64_t bit = (uint64_t)1 << ((ends + key.len * 11) & 63);

    if (f->seen & bit)
        f->node->flags |= NODE_TWICE;
    f->seen |= bit;
}

/* Makes the next child of f's container and, in an object, reads its key and the colon. */
static int begin_child(struct parser *p, struct frame *f, struct json **ret)
{
    struct json *child = arena_new(p->arena, struct json);

    if (f->last)
        f->last->next = child;
    else
        f->node->first = child;
    f->last = child;
    f->node->len++;

    if (f->node->type == JSON_OBJECT) {
        struct str key;

        skip_space(p);
        if (!next_is(p, '"'))
            return fail_expected(p, "a key in double quotes");
        if (parse_string(p, &key) < 0)
            return -1;
        child->key = key.ptr;
        child->key_len = (uint32_t)key.len;
        mark_key(f, key);

        skip_space(p);
        if (!next_is(p, ':'))
            return fail_expected(p, "':' after a key");
        p->at++;
    }
    *ret = child;
    return 0;
}

static bool has_key(const struct json *list, struct str key)
{
    for (const struct json *v = list; v; v = v->next) {
        if (str_eq(node_key(v), key))
            return true;
    }
    return false;
}

static void drop_overridden(struct json *object)
{
    for (struct json **link = &object->first; *link;) {
        if (has_key((*link)->next, node_key(*link))) {
            *link = (*link)->next;
            object->len--;
        } else {
            link = &(*link)->next;
        }
    }
}

/* p->at is at the closing bracket. */
static void close_container(struct parser *p, struct json *v)
{
    size_t members = v->len;

    p->at++;
    v->raw_len = (uint32_t)(p->at - v->raw);
    if (v->type != JSON_OBJECT)
        return;
    if (v->len > NODE_MAX_WALK)
        json_table_build(v, p->arena);
    else if (v->flags & NODE_TWICE)
        drop_overridden(v);
    p->info.overridden += members - v->len;
}

static int parse_tree(struct parser *p, struct json *root)
{
    struct frame stack[JSON_MAX_DEPTH];
    struct frame *top = NULL; /* NULL while no container is open */
    struct json *v = root;

    for (;;) {
        /* A value is due, and v is the node for it. */
        skip_space(p);
        v->raw = p->at;
        if (next_is(p, '{') || next_is(p, '[')) {
            if (top == stack + JSON_MAX_DEPTH - 1)
                return fail(p, ERR_TOO_BIG, p->at, "nested deeper than 512");
            top = top ? top + 1 : stack;
            *top = (struct frame){.node = v};
            v->type = *p->at == '{' ? JSON_OBJECT : JSON_ARRAY;
            p->at++;
            skip_space(p);
            if (!next_is(p, v->type == JSON_OBJECT ? '}' : ']')) {
                if (begin_child(p, top, &v) < 0)
                    return -1;
                continue;
            }
        } else {
            if (parse_scalar(p, v) < 0)
                return -1;
            v->raw_len = (uint32_t)(p->at - v->raw);
        }

        /* It is complete: close containers that end after it, up to the next comma. */
        for (;;) {
            if (!top)
                return 0;
            skip_space(p);
            if (next_is(p, ',')) {
                p->at++;
                if (begin_child(p, top, &v) < 0)
                    return -1;
                break;
            }
            if (!next_is(p, top->node->type == JSON_OBJECT ? '}' : ']'))
                return fail_expected(p,
                                     top->node->type == JSON_OBJECT ? "',' or '}'" : "',' or ']'");
            close_container(p, top->node);
            top = top == stack ? NULL : top - 1;
        }
    }
}

static int parse_document(struct parser *p, struct json *root)
{
    if (str_starts(p->text, STR("\xef\xbb\xbf")))
        p->at += 3;
    if (parse_tree(p, root) < 0)
        return -1;
    skip_space(p);
    if (p->at < p->end)
        return fail_expected(p, "nothing more after the value");
    return 0;
}

int json_parse(struct arena *arena, struct str text, const struct json **ret,
               struct json_info *ret_info, struct err *err)
{
    struct parser p = {
        .arena = arena,
        .scratch = BUF_INIT(BUF_NO_LIMIT), /* three times the text at most */
        .err = err,
    };
    struct json *root;
    int r;

    if (text.len > JSON_MAX_TEXT)
        return err_set(err, ERR_TOO_BIG, "%zu bytes of JSON; at most %zu", text.len,
                       (size_t)JSON_MAX_TEXT);
    if (!text.len)
        text = STR(""); /* its pointer may be NULL */
    p.text = text;
    p.at = text.ptr;
    p.end = text.ptr + text.len;

    root = arena_new(arena, struct json);
    root->flags = NODE_ROOT;
    root->key = text.ptr;
    root->key_len = (uint32_t)text.len;
    r = parse_document(&p, root);
    buf_release(&p.scratch);
    if (r < 0)
        return -1;

    *ret = root;
    if (ret_info)
        *ret_info = p.info;
    return 0;
}

int json_parse_copy(struct arena *arena, struct str text, const struct json **ret,
                    struct json_info *ret_info, struct err *err)
{
    if (text.len > JSON_MAX_TEXT)
        return json_parse(arena, text, ret, ret_info, err); /* reports it */
    return json_parse(arena, arena_str(arena, text), ret, ret_info, err);
}

void json_where(const struct json *v, struct str text, size_t *ret_line, size_t *ret_column)
{
    *ret_line = 0;
    *ret_column = 0;
    if (v && v->raw >= text.ptr && v->raw <= text.ptr + text.len)
        position(text, v->raw, ret_line, ret_column);
}
