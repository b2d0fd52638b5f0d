/*
 * rule_wild: stars matched without recursion. Pure; any thread.
 */
#include "conf/rule_wild.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Only the last star is ever tried again, so hostile texts cost no more than length times length.
 */
bool rule_wild_match_to(struct str p, struct str t, bool boundary)
{
    struct str star = {0};
    struct str star_at = {0};

    for (;;) {
        if (p.len && p.ptr[0] == '*') {
            p = str_from(p, 1);
            star = p;
            star_at = t;
            if (!p.len)
                return true;
            continue;
        }
        if (!p.len && (!t.len || (boundary && is_blank(t.ptr[0]))))
            return true;
        if (p.len && t.len) {
            bool escaped = p.ptr[0] == '\\' && p.len > 1 && strchr("*()\\", p.ptr[1]);

            if (p.ptr[escaped] == t.ptr[0]) {
                p = str_from(p, 1 + escaped);
                t = str_from(t, 1);
                continue;
            }
        }
        if (!star.ptr || !star_at.len)
            return false;
        star_at = str_from(star_at, 1);
        t = star_at;
        p = star;
    }
}

bool rule_wild_match(struct str p, struct str t)
{
    return rule_wild_match_to(p, t, /*boundary=*/false);
}

bool rule_wild_has_star(struct str p)
{
    for (size_t i = 0; i < p.len; i++) {
        if (p.ptr[i] == '\\')
            i++;
        else if (p.ptr[i] == '*')
            return true;
    }
    return false;
}
