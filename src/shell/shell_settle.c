/*
 * shell_settle: the last look at a text. Words were filled in with what their variables had been
 * set to last, in the order of the text; a branch that is not taken, a subshell, a loop's second
 * round or a function that is called later make that another value. Words that name such a variable
 * are not known after all. Any thread.
 */
#include "shell/shell_scan.h"

#define MAX_CHANGED 200  /* names; of a text with more, all are taken to change */
#define MAX_LOOKS 200000 /* at words, for names; the same */

void shell_variable_changes(struct shell *s, struct str name, bool taken)
{
    VEC_EACH(&s->changed, c) {
        if (str_eq(c->name, name)) {
            c->taken |= taken;
            return;
        }
    }
    if (s->changed.len <= MAX_CHANGED)
        vec_push(&s->changed, ((struct shell_changed){name, taken}));
}

/* The name behind the dollar sign at `at`: $x, ${x…}, ${#x}. */
static struct str name_at(struct str raw, size_t at)
{
    size_t start = at + 1;
    size_t end;

    if (start < raw.len && raw.ptr[start] == '{') {
        start++;
        if (start < raw.len && (raw.ptr[start] == '!' || raw.ptr[start] == '#'))
            start++;
    }
    end = start;
    while (end < raw.len && shell_is_name(raw.ptr[end]))
        end++;
    return str_first(str_from(raw, start), end - start);
}

/* Names one of them; only_taken: one whose values are not all in the text. */
static bool names_changed(struct shell *s, struct str raw, bool only_taken)
{
    for (size_t i = 0; i + 1 < raw.len; i++) {
        struct str name;

        if (raw.ptr[i] != '$')
            continue;
        name = name_at(raw, i);
        s->looks += s->changed.len;
        if (s->changed.len > MAX_CHANGED || s->looks > MAX_LOOKS)
            return true;
        VEC_EACH(&s->changed, c) {
            if (str_eq(c->name, name) && (c->taken || !only_taken))
                return true;
        }
    }
    return false;
}

/* y=$x-1: with x, y changes. */
static void follow(struct shell *s)
{
    size_t before;

    do {
        before = s->changed.len;
        VEC_EACH(&s->variables, v) {
            if (names_changed(s, v->raw, /*only_taken=*/false))
                shell_variable_changes(s, v->name, /*taken=*/true);
        }
    } while (s->changed.len > before && s->changed.len <= MAX_CHANGED && s->looks <= MAX_LOOKS);
}

/* "$x" alone is one of the values that the text gives to x, and those are all looked at. */
static void settle_word(struct shell *s, struct shell_word *w)
{
    if (w->expands && !w->unknown &&
        names_changed(s, w->raw, /*only_taken=*/shell_is_variable_alone(w->raw)))
        w->computed = true;
}

void shell_settle(struct shell *s)
{
    if (!s->changed.len)
        return;
    follow(s);
    VEC_EACH(&s->parts, p) {
        VEC_EACH(&p->words, w) {
            settle_word(s, w);
        }
    }
    VEC_EACH(&s->reads, r) {
        settle_word(s, r);
    }
    VEC_EACH(&s->writes, r) {
        settle_word(s, r);
    }
}
