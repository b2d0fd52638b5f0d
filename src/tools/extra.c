/*
 * The texts about deferred tools, and the settings of their search. Descriptions and names come
 * from servers: they are truncated, reduced to one line where necessary, and escaped so that they
 * cannot close the element around them.
 */
#include "agent/extra.h"

#include <stdlib.h>
#include <string.h>

#include "agent/tool.h"
#include "base/buf.h"
#include "conf/conf.h"
#include "json/json.h"
#include "json/jw.h"

#define EXTRA_PERCENT 10
#define EXTRA_MAX_LINE 200 /* bytes of a description's first sentence */
#define EXTRA_MAX_PARAMETERS 30

/* ---- Settings ---- */

static double share(const struct conf *conf, const char *key, const char *variable,
                    double otherwise)
{
    const char *text = variable ? conf_env(conf, variable) : NULL;
    double value = otherwise;

    if (!text || str_to_double(str_of(text), &value, /*err=*/NULL) < 0)
        (void)json_double(conf_get(conf, key), &value);
    return value >= 0 && value <= 1 ? value : otherwise;
}

/* Parses "true", "false", "auto", "auto:15". Returns false for anything else, which is ignored. */
static bool mode_parse(struct str text, struct extra_settings *ret)
{
    int64_t percent = EXTRA_PERCENT;

    text = str_trim(text);
    if (str_is_word_of(text, "true 1 yes on")) {
        ret->mode = EXTRA_ON;
    } else if (str_is_word_of(text, "false 0 no off")) {
        ret->mode = EXTRA_OFF;
    } else if (str_is(text, "auto") ||
               (str_starts(text, STR("auto:")) &&
                str_to_i64(str_from(text, 5), &percent, /*err=*/NULL) == 0 && percent >= 0 &&
                percent <= 100)) {
        ret->mode = percent == 0 ? EXTRA_ON : percent == 100 ? EXTRA_OFF : EXTRA_AUTO;
        ret->percent = (int)percent;
    } else {
        return false;
    }
    return true;
}

static bool mode_of_settings(const struct conf *conf, struct extra_settings *ret)
{
    static const char *const variables[] = {"TENAX_TOOL_SEARCH", "ENABLE_TOOL_SEARCH",
                                            "ENABLE_SEARCH_EXTRA_TOOLS"};
    const struct json *v = conf_get(conf, "toolSearch");

    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *text = conf_env(conf, variables[i]);

        if (text && *text && mode_parse(str_of(text), ret))
            return true;
    }
    if (json_is(v, JSON_OBJECT))
        v = json_get(v, "mode");
    if (json_is(v, JSON_BOOL)) {
        ret->mode = json_bool(v, true) ? EXTRA_ON : EXTRA_OFF;
        return true;
    }
    return mode_parse(json_str(v), ret);
}

void extra_settings_read(const struct conf *conf, struct extra_settings *ret)
{
    double sum;
    const char *plain = conf_env(conf, "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS");

    *ret = (struct extra_settings){.mode = EXTRA_ON, .percent = EXTRA_PERCENT};
    ret->weights.keyword =
        share(conf, "toolSearch.keywordWeight", "SEARCH_EXTRA_TOOLS_WEIGHT_KEYWORD", 0.4);
    ret->weights.tfidf =
        share(conf, "toolSearch.tfidfWeight", "SEARCH_EXTRA_TOOLS_WEIGHT_TFIDF", 0.6);
    sum = ret->weights.keyword + ret->weights.tfidf;
    ret->weights.keyword = sum > 0 ? ret->weights.keyword / sum : 0.4;
    ret->weights.tfidf = sum > 0 ? ret->weights.tfidf / sum : 0.6;
    ret->weights.min_score =
        share(conf, "toolSearch.minScore", "SEARCH_EXTRA_TOOLS_DISPLAY_MIN_SCORE", 0.1);
    ret->prefetch = conf_get_bool(conf, "toolSearch.prefetch", true);
    ret->prefetch_min = share(conf, "toolSearch.prefetchMinScore", NULL, 0.35);
    if (!mode_of_settings(conf, ret) && plain && strcmp(plain, "1") == 0)
        ret->mode = EXTRA_OFF;
}

void extra_servers_release(struct extra_servers *s)
{
    vec_release(&s->list);
    arena_release(&s->arena);
}

struct str extra_short_name(const struct tool_entry *e)
{
    struct str rest = str_of(e->name);
    size_t end;

    if (!e->server || !str_starts(rest, STR("mcp__")))
        return rest;
    rest = str_from(rest, 5);
    /* The server part has as many characters as the server's name; special ones became underscores.
     */
    end = strlen(e->server);
    if (rest.len > end + 2 && str_starts(str_from(rest, end), STR("__")))
        return str_from(rest, end + 2);
    return str_of(e->name);
}

static struct str first_sentence(struct str text)
{
    text = str_trim(text);
    text = str_first(text, str_chr(text, '\n'));
    text = str_first(text, str_find(text, STR(". ")));
    if (text.len > EXTRA_MAX_LINE)
        text = str_clip(text, EXTRA_MAX_LINE);
    else if (text.len && text.ptr[text.len - 1] == '.')
        text.len--;
    return text;
}

/* Appends the text as one line. */
static void add_plain(struct buf *ret, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_addc(ret, (unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f ? ' ' : text.ptr[i]);
}

static bool is_required(const struct json *schema, struct str name)
{
    JSON_EACH(json_get(schema, "required"), v) {
        if (str_eq(json_str(v), name))
            return true;
    }
    return false;
}

static const char *schema_of(const struct tool_entry *e)
{
    return e->shown_schema ? e->shown_schema : e->schema;
}

void extra_write_line(const struct tool_entry *e, struct buf *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *schema = NULL;
    size_t n = 0;

    add_plain(ret, first_sentence(str_of(e->text)));
    if (json_parse(&arena, str_of(schema_of(e)), &schema, NULL, NULL) < 0)
        return;
    JSON_EACH(json_get(schema, "properties"), p) {
        struct str name = str_clip(json_key(p), 100);

        if (n == EXTRA_MAX_PARAMETERS) {
            buf_adds(ret, ", …");
            return;
        }
        buf_adds(ret, n++ ? ", " : ". Parameters: ");
        add_plain(ret, name);
        if (is_required(schema, json_key(p)))
            buf_addc(ret, '*');
    }
}

/* Appends the text so that nothing in it closes the element. */
static void add_inside(struct buf *ret, struct str text)
{
    static const char tag[] = "</tool";

    for (;;) {
        size_t at = str_find_nocase(text, STR("</tool"));

        buf_add(ret, str_first(text, at));
        if (at == text.len)
            return;
        buf_adds(ret, "&lt;");
        buf_add(ret, str_first(str_from(text, at + 1), sizeof(tag) - 2));
        text = str_from(text, at + sizeof(tag) - 1);
    }
}

void extra_write_entry(const struct tool_entry *e, struct buf *ret)
{
    buf_addf(ret, "<tool name=\"%s\"", e->name);
    if (e->server) {
        buf_adds(ret, " server=\"");
        for (const char *p = e->server; *p; p++)
            buf_addc(ret, strchr("\"<>&\n\r", *p) ? '_' : *p);
        buf_addc(ret, '"');
    }
    buf_adds(ret, ">\n");
    add_inside(ret, str_clip(str_trim(str_of(e->text)), EXTRA_MAX_TEXT));
    buf_addc(ret, '\n');
    add_inside(ret, str_of(schema_of(e)));
    buf_adds(ret, "\n</tool>\n");
}

void extra_write_states(const struct extra_servers *servers, struct buf *ret)
{
    static const char *const before[] = {
        [EXTRA_CONNECTING] = "Still connecting: ",
        [EXTRA_NEEDS_LOGIN] = "Needs login: ",
        [EXTRA_FAILED] = "Failed: ",
    };
    static const char *const after[] = {
        [EXTRA_CONNECTING] = ".", [EXTRA_NEEDS_LOGIN] = " (user: /mcp).", [EXTRA_FAILED] = "."};

    for (enum extra_state state = EXTRA_CONNECTING; state < EXTRA_CONNECTED; state++) {
        size_t n = 0;

        VEC_EACH(&servers->list, s) {
            if (s->state != state)
                continue;
            buf_adds(ret, n++ ? ", " : ret->len && ret->ptr[ret->len - 1] == '.' ? " " : "");
            buf_adds(ret, n == 1 ? before[state] : "");
            add_plain(ret, str_clip(s->name, 100));
            if (s->code.len)
                buf_addf(ret, " (%.*s)", STR_ARG(s->code));
        }
        if (n)
            buf_adds(ret, after[state]);
    }
}

void extra_name_tool(struct str name, struct buf *io_data)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(2 * TOOL_MAX_TEXT);
    struct str old = buf_str(io_data);
    struct jw w;

    if (!old.len || (old.ptr[0] != '{' && old.ptr[0] != '['))
        return;
    if (old.ptr[0] == '[')
        buf_addf(&data, "{\"content\":%.*s,", STR_ARG(old));
    else
        buf_addf(&data, "%.*s%s", STR_ARG(str_first(old, old.len - 1)), old.len > 2 ? "," : "");
    buf_adds(&data, "\"tool_name\":");
    jw_init(&w, &data, JW_CLEAN);
    jw_str(&w, name);
    buf_addc(&data, '}');
    buf_move(io_data, &data);
}
