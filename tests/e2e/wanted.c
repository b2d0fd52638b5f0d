/*
 * wanted: reads the scenario as lines, and walks the calls of the run beside it. Main thread.
 */
#include "wanted.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "said.h"

struct wanted {
    const struct said *said;
    size_t calls;   /* of the scenario so far */
    bool is_judged; /* the last of them */
    size_t line;
    size_t bad;
};

static void wanted_complain(struct wanted *w, const struct said_call *c, struct str line)
{
    printf("line %zu: call %zu, %.*s: wanted '%.*s', came (%s):\n%.*s\n", w->line, w->calls,
           STR_ARG(c->name), STR_ARG(line), c->is_error ? "error" : "ok",
           STR_ARG(str_clip(c->text, 2000)));
    w->bad++;
}

/* One comment after a call. */
static void wanted_judge(struct wanted *w, struct str line)
{
    const struct said_call *c = &w->said->calls.ptr[w->calls - 1];
    struct str text = line;
    struct str word;
    bool has;

    str_cut(&text, ':', &word);
    text = str_trim(text);
    has = str_has(c->text, text);
    if (str_is(word, "ok") || str_is(word, "error")) {
        w->is_judged = true;
        if (c->is_error != str_is(word, "error") || !has)
            wanted_complain(w, c, line);
    } else if ((str_is(word, "has") && !has) || (str_is(word, "not") && has)) {
        wanted_complain(w, c, line);
    }
}

static int wanted_next_call(struct wanted *w, struct err *err)
{
    if (w->calls && !w->is_judged)
        return err_set(err, ERR_BAD_INPUT,
                       "line %zu: the call before it has no '# ok:' or "
                       "'# error:'",
                       w->line);
    if (w->calls == w->said->calls.len)
        return err_set(err, ERR_PROTOCOL, "line %zu: the run made only %zu calls", w->line,
                       w->calls);
    w->calls++;
    w->is_judged = false;
    return 0;
}

int wanted_check(struct str scenario, const struct said *said, size_t *ret_calls, struct err *err)
{
    struct wanted w = {.said = said};
    struct str line;

    while (str_cut(&scenario, '\n', &line)) {
        line = str_trim(line);
        w.line++;
        if (str_starts(line, STR("call ")) && wanted_next_call(&w, err) < 0)
            return -1;
        if (w.calls && str_starts(line, STR("# ")))
            wanted_judge(&w, str_from(line, 2));
    }
    if (w.calls != said->calls.len)
        return err_set(err, ERR_PROTOCOL, "%zu calls in the scenario, %zu in the run", w.calls,
                       said->calls.len);
    if (w.bad)
        return err_set(err, ERR_PROTOCOL, "%zu results are not as wanted", w.bad);
    *ret_calls = w.calls;
    return 0;
}
