/*
 * frontmatter: events of libyaml, converted to JSON and parsed by our own parser. Pure; any thread.
 */
#include "conf/frontmatter.h"

#include <string.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"

#define FRONTMATTER_MAX_JSON (8 * FRONTMATTER_MAX)

struct reading {
    yaml_parser_t parser;
    struct jw w;
    struct buf json;
    /* Per open collection: a mapping that waits for a key. */
    bool is_map[FRONTMATTER_MAX_DEPTH];
    bool wants_key[FRONTMATTER_MAX_DEPTH];
    unsigned depth;
    unsigned documents;
};

static bool is_number(struct str s)
{
    size_t i = s.len > 1 && s.ptr[0] == '-';

    if (s.len > 18 || s.len == i || (s.ptr[i] == '0' && s.len > i + 1))
        return false;
    for (; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    }
    return true;
}

static void write_scalar(struct reading *r, const yaml_event_t *e)
{
    struct str s = str_make((const char *)e->data.scalar.value, e->data.scalar.length);
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (plain && str_is_word_of(s, "true True TRUE"))
        jw_bool(&r->w, true);
    else if (plain && str_is_word_of(s, "false False FALSE"))
        jw_bool(&r->w, false);
    else if (plain && (!s.len || str_is_word_of(s, "null Null NULL ~")))
        jw_null(&r->w);
    else if (plain && is_number(s))
        jw_raw(&r->w, s);
    else
        jw_str(&r->w, s);
}

/* A value is complete: in a mapping a key comes next. */
static void value_done(struct reading *r)
{
    if (r->depth && r->is_map[r->depth - 1])
        r->wants_key[r->depth - 1] = true;
}

static int fail_at(const yaml_event_t *e, const char *what, struct err *err)
{
    return err_set(err, ERR_BAD_INPUT, "frontmatter, line %zu: %s", e->start_mark.line + 2, what);
}

static int begin(struct reading *r, const yaml_event_t *e, bool is_map, struct err *err)
{
    if (r->depth == FRONTMATTER_MAX_DEPTH)
        return fail_at(e, "nested too deep", err);
    if (!r->depth && !is_map)
        return fail_at(e, "it must have keys, 'name: value'", err);
    if (r->depth && r->wants_key[r->depth - 1])
        return fail_at(e, "a key must be a word", err);
    r->is_map[r->depth] = is_map;
    r->wants_key[r->depth] = is_map;
    r->depth++;
    if (is_map)
        jw_object(&r->w);
    else
        jw_array(&r->w);
    return 0;
}

static int take_event(struct reading *r, const yaml_event_t *e, struct err *err)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        if (!r->depth)
            return fail_at(e, "it must have keys, 'name: value'", err);
        if (r->wants_key[r->depth - 1]) {
            jw_key_str(&r->w, str_make((const char *)e->data.scalar.value, e->data.scalar.length));
            r->wants_key[r->depth - 1] = false;
            return 0;
        }
        write_scalar(r, e);
        value_done(r);
        return 0;
    case YAML_MAPPING_START_EVENT:
        return begin(r, e, /*is_map=*/true, err);
    case YAML_SEQUENCE_START_EVENT:
        return begin(r, e, /*is_map=*/false, err);
    case YAML_MAPPING_END_EVENT:
        jw_object_end(&r->w);
        r->depth--;
        value_done(r);
        return 0;
    case YAML_SEQUENCE_END_EVENT:
        jw_array_end(&r->w);
        r->depth--;
        value_done(r);
        return 0;
    case YAML_ALIAS_EVENT:
        return fail_at(e, "aliases are not taken", err);
    case YAML_DOCUMENT_START_EVENT:
        return r->documents++ ? fail_at(e, "more than one document", err) : 0;
    default:
        return 0;
    }
}

static int read_events(struct reading *r, struct err *err)
{
    bool done = false;

    while (!done) {
        yaml_event_t e;
        int rc;

        if (!yaml_parser_parse(&r->parser, &e))
            return err_set(err, ERR_BAD_INPUT, "frontmatter, line %zu: %s",
                           r->parser.problem_mark.line + 2,
                           r->parser.problem ? r->parser.problem : "no YAML");
        done = e.type == YAML_STREAM_END_EVENT;
        rc = take_event(r, &e, err);
        yaml_event_delete(&e);
        if (rc < 0)
            return -1;
    }
    return buf_check(&r->json, err);
}

static int read_yaml(struct str yaml, struct arena *arena, const struct json **ret, struct err *err)
{
    struct reading r = {.json = BUF_INIT(FRONTMATTER_MAX_JSON)};
    int rc;

    if (!yaml_parser_initialize(&r.parser))
        return err_set(err, ERR_TOO_BIG, "no memory for frontmatter");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)yaml.ptr, yaml.len);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    jw_init(&r.w, &r.json, JW_CLEAN);
    rc = read_events(&r, err);
    yaml_parser_delete(&r.parser);
    if (rc == 0 && !r.json.len)
        buf_adds(&r.json, "{}"); /* comments alone */
    if (rc == 0)
        rc = json_parse(arena, arena_str(arena, buf_str(&r.json)), ret, /*ret_info=*/NULL, err);
    buf_release(&r.json);
    return rc;
}

/* "key: value" where the value is no YAML, as people write it: "argument-hint: [file] [line]",
 * "description: fix: all of it". Every such value in quotes; the rest as it is. */
static void quote_values(struct str yaml, struct buf *ret)
{
    struct str line;

    while (str_cut(&yaml, '\n', &line)) {
        size_t colon = str_find(line, STR(": "));
        struct str value = str_trim(str_from(line, colon + 1));

        if (colon == line.len || !str_is_alnum(line.ptr[0]) || !value.len ||
            strchr("\"'|>", value.ptr[0])) {
            buf_addf(ret, "%.*s\n", STR_ARG(line));
            continue;
        }
        buf_addf(ret, "%.*s: '", STR_ARG(str_first(line, colon)));
        for (size_t i = 0; i < value.len; i++)
            buf_addf(ret, "%s%c", value.ptr[i] == '\'' ? "'" : "", value.ptr[i]);
        buf_adds(ret, "'\n");
    }
}

static int read_loosely(struct str yaml, struct arena *arena, const struct json **ret,
                        struct err *err)
{
    CLEANUP(buf_release) struct buf quoted = BUF_INIT(4 * FRONTMATTER_MAX);

    if (read_yaml(yaml, arena, ret, err) == 0)
        return 0;
    quote_values(yaml, &quoted);
    if (read_yaml(buf_str(&quoted), arena, ret, /*err=*/NULL) < 0)
        return -1; /* with the first error */
    err_clear(err);
    return 0;
}

/* The first line, without its end; *io is what follows. */
static struct str cut_line(struct str *io)
{
    size_t end = str_chr(*io, '\n');
    struct str line = str_first(*io, end);

    *io = str_from(*io, end + 1);
    if (str_ends(line, STR("\r")))
        line.len--;
    return line;
}

int frontmatter_read(struct str text, struct arena *arena, const struct json **ret_json,
                     struct str *ret_body, struct err *err)
{
    struct str rest = text;
    struct str yaml;

    if (str_starts(rest, STR("\xef\xbb\xbf")))
        rest = str_from(rest, 3);
    *ret_body = rest;
    if (!str_is(cut_line(&rest), "---"))
        return json_parse(arena, STR("{}"), ret_json, /*ret_info=*/NULL, err);
    yaml.ptr = rest.ptr;
    for (;;) {
        const char *at = rest.ptr;

        if (!rest.len) /* never closed: only a line across the page */
            return json_parse(arena, STR("{}"), ret_json, /*ret_info=*/NULL, err);
        if (str_is(cut_line(&rest), "---")) {
            yaml.len = (size_t)(at - yaml.ptr);
            break;
        }
    }
    if (yaml.len > FRONTMATTER_MAX)
        return err_set(err, ERR_TOO_BIG, "frontmatter is longer than %zu KB",
                       FRONTMATTER_MAX >> 10);
    if (read_loosely(yaml, arena, ret_json, err) < 0)
        return -1;
    *ret_body = rest;
    return 0;
}
