/*
 * rule_wild: stars matched without recursion. Pure; any thread.
 */
#include "guard/rule_wild.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Only the last star is retried, so hostile texts cost at most length times length. Every command
 * is compared with every rule: plain pointers are used, because function calls would cost more than
 * the work. */
bool rule_wild_match_to(struct str pattern, struct str text, bool boundary)
{
    const char *p = pattern.ptr;
    const char *p_end = p + pattern.len;
    const char *t = text.ptr;
    const char *t_end = t + text.len;
    const char *star = NULL; /* the position after it */
    const char *star_at = NULL;

    for (;;) {
        if (p < p_end && *p == '*') {
            star = ++p;
            star_at = t;
            if (p == p_end)
                return true;
            continue;
        }
        if (p == p_end && (t == t_end || (boundary && is_blank(*t))))
            return true;
        if (p < p_end && t < t_end) {
            bool escaped = *p == '\\' && p_end - p > 1 && strchr("*()\\", p[1]);

            if (p[escaped] == *t) {
                p += 1 + escaped;
                t++;
                continue;
            }
        }
        if (!star || star_at == t_end)
            return false;
        t = ++star_at;
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
