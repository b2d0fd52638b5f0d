/*
 * rule_path: removes the anchor, then matches name by name. A path matches if it or a folder above
 * it does. Pure once parsed; any thread.
 */
#include "guard/rule_path.h"

#include <limits.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define RULE_PATH_MAX_STEPS 100000 /* per match: hostile patterns do not match */

/* Matches one name with a pattern without slashes: * ? [a-z] and backslash. */
static bool glob_set(struct str *pattern, char c)
{
    bool negate = pattern->len && (pattern->ptr[0] == '!' || pattern->ptr[0] == '^');
    bool found = false;
    bool first = true;
    struct str p = str_from(*pattern, negate);

    for (; p.len && (p.ptr[0] != ']' || first); first = false) {
        unsigned char from = (unsigned char)p.ptr[0];
        unsigned char to = from;

        if (p.len > 2 && p.ptr[1] == '-' && p.ptr[2] != ']') {
            to = (unsigned char)p.ptr[2];
            p = str_from(p, 2);
        }
        p = str_from(p, 1);
        found |= (unsigned char)c >= from && (unsigned char)c <= to;
    }
    *pattern = str_from(p, 1);
    return found != negate && c != '/';
}

static bool glob_steps(struct str p, struct str t, size_t *steps)
{
    struct str star = {0};
    struct str star_at = {0};
    bool deep = false;

    for (;;) {
        if (++*steps > RULE_PATH_MAX_STEPS)
            return false;
        if (str_starts(p, STR("**/"))) { /* any number of folders, including none */
            if (glob_steps(str_from(p, 3), t, steps))
                return true;
            while (t.len) {
                t = str_from(t, str_chr(t, '/') + 1);
                if (t.len && glob_steps(str_from(p, 3), t, steps))
                    return true;
            }
            return false;
        }
        if (p.len && p.ptr[0] == '*') {
            deep = str_starts(p, STR("**"));
            while (p.len && p.ptr[0] == '*')
                p = str_from(p, 1);
            star = p;
            star_at = t;
            if (!p.len)
                return deep || str_chr(t, '/') == t.len;
            continue;
        }
        if (!p.len && !t.len)
            return true;
        if (p.len && t.len) {
            struct str next = str_from(p, 1);
            bool same;

            if (p.ptr[0] == '?')
                same = t.ptr[0] != '/';
            else if (p.ptr[0] == '[' && str_chr(next, ']') < next.len)
                same = glob_set(&next, t.ptr[0]);
            else if (p.ptr[0] == '\\' && next.len) {
                same = next.ptr[0] == t.ptr[0];
                next = str_from(next, 1);
            } else
                same = p.ptr[0] == t.ptr[0];
            if (same) {
                p = next;
                t = str_from(t, 1);
                continue;
            }
        }
        /* Backtracks to the last star and extends it by one. */
        if (!star.ptr || !star_at.len || (star_at.ptr[0] == '/' && !deep))
            return false;
        star_at = str_from(star_at, 1);
        t = star_at;
        p = star;
    }
}

/* Matches the whole text, including "**". */
static bool rule_path_glob(struct str pattern, struct str text)
{
    size_t steps = 0;

    return glob_steps(pattern, text, &steps);
}

static struct str without_slashes(struct str s)
{
    while (s.len && s.ptr[s.len - 1] == '/')
        s.len--;
    return s;
}

static struct str real_of(struct arena *arena, struct str base)
{
    char real[PATH_MAX];
    const char *path = arena_cstr(arena, base.len ? base : STR("/"));

    return realpath(path, real) ? without_slashes(arena_str(arena, str_of(real))) : base;
}

/* These rule out most paths for most patterns. */
static void note_ends(struct rule_path *p)
{
    struct str s = p->pattern;

    if (!s.len || str_chr(s, '[') < s.len || str_chr(s, '\\') < s.len)
        return;
    if (s.ptr[0] != '*' && s.ptr[0] != '?')
        p->first = s.ptr[0];
    if (s.ptr[s.len - 1] != '*' && s.ptr[s.len - 1] != '?')
        p->last = s.ptr[s.len - 1];
}

int rule_path_parse(struct arena *arena, struct str text, enum rule_list list,
                    const struct rule_place *place, struct rule_path *ret, struct err *err)
{
    struct rule_path p = {0};
    bool bare = false;
    size_t slash;

    if (str_starts(text, STR("!")))
        return err_set(err, ERR_BAD_INPUT, "'!' does not turn a rule around; use another list");
    if (str_starts(text, STR("//"))) {
        p.base = STR("");
        text = str_from(text, 2);
    } else if (str_is(text, "~") || str_starts(text, STR("~/"))) {
        p.base = str_of(place->home);
        text = str_from(text, 2);
    } else if (str_starts(text, STR("/"))) {
        p.base = str_of(place->source);
        text = str_from(text, 1);
    } else {
        p.base = str_of(place->cwd);
        bare = !str_starts(text, STR("./"));
        text = str_from(text, bare ? 0 : 2);
    }
    p.base = without_slashes(arena_str(arena, p.base));
    p.real = real_of(arena, p.base);
    p.is_linked = !str_eq(p.base, p.real);

    text = without_slashes(text);
    slash = str_chr(text, '/');
    p.any_depth = bare && slash == text.len;
    /* A folder with everything below: at any depth for deny rules, only here for allow rules. */
    if (bare && list != RULE_ALLOW && str_is(str_from(text, slash), "/**"))
        p.any_depth = true;
    for (struct str rest = text, part; str_cut(&rest, '/', &part);) {
        if (str_is(part, "..") || str_is(part, "."))
            return err_set(err, ERR_BAD_INPUT,
                           "'%.*s' has a '.' or '..' in it; write the path itself",
                           STR_ARG(str_clip(text, 200)));
    }
    /* A pattern that matches a folder matches everything below, so this is redundant. */
    while (str_ends(text, STR("/**")))
        text = without_slashes(str_first(text, text.len - 3));
    p.pattern = arena_str(arena, str_is(text, "**") ? STR("") : text);
    note_ends(&p);
    *ret = p;
    return 0;
}

/* Whether it matches the path or a folder above it. */
static bool matches_or_above(const struct rule_path *p, struct str path)
{
    if (p->first && (!path.len || path.ptr[0] != p->first))
        return false;
    for (size_t end = 1; end <= path.len; end++) {
        if ((end == path.len || path.ptr[end] == '/') &&
            (!p->last || path.ptr[end - 1] == p->last) &&
            rule_path_glob(p->pattern, str_first(path, end)))
            return true;
    }
    return false;
}

static bool below(const struct rule_path *p, struct str base, struct str path)
{
    size_t slash;

    if (!str_starts(path, base) || (path.len > base.len && path.ptr[base.len] != '/'))
        return false;
    path = str_from(path, base.len + 1);
    if (!p->pattern.len)
        return true;
    for (;;) {
        if (matches_or_above(p, path))
            return true;
        slash = p->any_depth ? str_chr(path, '/') : path.len;
        if (slash == path.len)
            return false;
        path = str_from(path, slash + 1);
    }
}

bool rule_path_matches(const struct rule_path *p, struct str path)
{
    return below(p, p->base, path) || (p->is_linked && below(p, p->real, path));
}

static bool is_written_out(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (str_chr(STR("*?[\\"), name.ptr[i]) < 4)
            return false;
    }
    return true;
}

const char *rule_path_reach(const struct rule_path *p, struct arena *arena, size_t *ret_depth)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = p->any_depth ? STR("") : p->pattern;
    size_t depth = p->any_depth ? RULE_ANY_DEPTH : 0;
    struct str name;

    buf_add(&path, p->base);
    while (rest.len && is_written_out(str_first(rest, str_chr(rest, '/')))) {
        str_cut(&rest, '/', &name);
        buf_addf(&path, "/%.*s", STR_ARG(name));
    }
    if (str_has(rest, STR("**")))
        depth = RULE_ANY_DEPTH;
    while (depth != RULE_ANY_DEPTH && rest.len && str_cut(&rest, '/', &name))
        depth++;
    *ret_depth = depth;
    return arena_cstr(arena, path.len ? buf_str(&path) : STR("/"));
}
