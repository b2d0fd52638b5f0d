/*
 * The tokenizer: one pass, no state between tokens, every byte looked at once. Pure; any thread.
 */
#include "tools/web/html_tag.h"

#include <string.h>

#include "base/mem.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Up to and with `end`; all of s when it is not there. */
static size_t len_with(struct str s, struct str end)
{
    size_t at = str_find(s, end);

    return at < s.len ? at + end.len : s.len;
}

/* "<!-- … -->", "<!DOCTYPE …>", "<![CDATA[ … ]]>", "<? … >", "</ …>" without a name. */
static size_t declaration_len(struct str s)
{
    if (str_starts(s, STR("<!-->")))
        return 5;
    if (str_starts(s, STR("<!--")))
        return 4 + len_with(str_from(s, 4), STR("-->"));
    if (str_starts(s, STR("<![CDATA[")))
        return len_with(s, STR("]]>"));
    return len_with(s, STR(">"));
}

static void set_attribute(struct html_tag *tag, struct str name, struct str value)
{
    const struct {
        const char *name;
        struct str *to;
    } kept[] = {
        {"href", &tag->href},        {"src", &tag->src},   {"alt", &tag->alt},
        {"class", &tag->class_name}, {"role", &tag->role}, {"start", &tag->start},
    };

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        if (str_eq_nocase(name, str_of(kept[i].name)) && !kept[i].to->len)
            *kept[i].to = value;
    }
    if (str_eq_nocase(name, STR("hidden")) ||
        (str_eq_nocase(name, STR("aria-hidden")) && str_eq_nocase(value, STR("true"))))
        tag->is_hidden = true;
}

/* One attribute at `at`; the place after it. */
static size_t read_attribute(struct str s, size_t at, struct html_tag *tag)
{
    size_t start = at;
    struct str value = STR("");
    struct str name;

    while (at < s.len && !is_space(s.ptr[at]) && !strchr("=>/", s.ptr[at]))
        at++;
    if (at == start) /* a stray '=' */
        at++;
    name = str_first(str_from(s, start), at - start);
    start = at;
    while (at < s.len && is_space(s.ptr[at]))
        at++;
    if (at >= s.len || s.ptr[at] != '=') {
        set_attribute(tag, name, value);
        return start;
    }
    at++;
    while (at < s.len && is_space(s.ptr[at]))
        at++;
    if (at < s.len && (s.ptr[at] == '"' || s.ptr[at] == '\'')) {
        struct str rest = str_from(s, at + 1);

        value = str_first(rest, str_chr(rest, s.ptr[at]));
        at += value.len + 2;
    } else {
        start = at;
        while (at < s.len && !is_space(s.ptr[at]) && s.ptr[at] != '>')
            at++;
        value = str_first(str_from(s, start), at - start);
    }
    set_attribute(tag, name, value);
    return at;
}

size_t html_tag_read(struct str s, struct html_tag *ret)
{
    size_t at = 1;
    size_t start;

    *ret = (struct html_tag){0};
    if (s.len < 2)
        return 0;
    if (s.ptr[1] == '!' || s.ptr[1] == '?')
        return declaration_len(s);
    if (s.ptr[1] == '/') {
        ret->is_end = true;
        at++;
    }
    if (at >= s.len || !is_letter(s.ptr[at]))
        return ret->is_end && at < s.len ? declaration_len(s) : 0;

    start = at;
    while (at < s.len && !is_space(s.ptr[at]) && s.ptr[at] != '>' && s.ptr[at] != '/')
        at++;
    ret->name = str_first(str_from(s, start), at - start);
    while (at < s.len && s.ptr[at] != '>') {
        if (is_space(s.ptr[at]) || s.ptr[at] == '/')
            at++;
        else
            at = read_attribute(s, at, ret);
    }
    return at < s.len ? at + 1 : s.len;
}

size_t html_raw_len(struct str s, struct str name)
{
    size_t at = 0;

    for (;;) {
        size_t step = str_find(str_from(s, at), STR("</"));
        struct str after;

        at += step;
        if (at >= s.len)
            return s.len;
        after = str_from(s, at + 2);
        if (str_eq_nocase(str_first(after, name.len), name) &&
            (after.len == name.len || !str_is_alnum(after.ptr[name.len])))
            return at;
        at += 2;
    }
}
