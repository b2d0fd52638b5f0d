/*
 * Permission rules in one text, as options hold them. What a rule means is guard's (guard/rule.h).
 * Any thread.
 */
#include "conf/rule_list.h"

#include <string.h>

#include "base/mem.h"
#include "base/strv.h"
#include "conf/nearest.h"

void rule_list_split(struct str text, struct strv *ret)
{
    size_t depth = 0;
    size_t start = 0;

    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : ',';
        bool splits = c == ',' || c == ' ' || c == '\t' || c == '\n';

        if (splits && (!depth || i == text.len)) {
            struct str one = str_from(str_first(text, i), start);

            if (one.len)
                strv_add(ret, one);
            start = i + 1;
        }
        if (c == '\\')
            i++;
        depth += c == '(';
        depth -= c == ')' && depth;
    }
}

static bool is_rule_like(struct str text)
{
    struct str name = str_first(text, str_chr(text, '('));

    for (size_t i = 0; i < name.len; i++) {
        if (!str_is_alnum(name.ptr[i]) && !(name.ptr[i] && strchr("_-*", name.ptr[i])))
            return false;
    }
    return str_is_word_of(name, RULE_KNOWN_TOOLS) ? name.len == text.len || str_ends(text, STR(")"))
                                                  : str_starts(name, STR("mcp__"));
}

bool rule_list_is(struct str text)
{
    CLEANUP(strv_release) struct strv rules = STRV_INIT;

    rule_list_split(text, &rules);
    for (size_t i = 0; i < rules.len; i++) {
        if (!is_rule_like(str_of(rules.ptr[i])))
            return false;
    }
    return rules.len;
}
