/*
 * News: what is told, and what is known to run because of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/news.h"
#include "base/buf.h"
#include "base/mem.h"
#include "guard/workspace.h"
#include "json/jw.h"
#include "unit.h"

static void tell(struct workspace *w, const char *id, const char *what, enum news_status status)
{
    struct news *n = mem_zalloc(sizeof(*n));

    n->status = status;
    n->task_id = mem_dup(id, strlen(id));
    n->what = mem_dup(what, strlen(what));
    news_tell(w, n);
}

static const struct {
    const char *id;
    enum news_status status;
    const char *running; /* ids, in order */
} rows[] = {
    {"a", NEWS_RUNNING, "a"},     {"b", NEWS_RUNNING, "a b"}, {"c", NEWS_RUNNING, "a b c"},
    {"b", NEWS_COMPLETED, "a c"}, {"b", NEWS_KILLED, "a c"},  {"x", NEWS_FAILED, "a c"},
    {"a", NEWS_FAILED, "c"},      {"d", NEWS_RUNNING, "c d"}, {"c", NEWS_KILLED, "d"},
    {"d", NEWS_COMPLETED, ""},    {"e", NEWS_RUNNING, "e"},
};

static void what_runs(void **state)
{
    char *none[] = {NULL};
    struct workspace *w = workspace_new("/", "/nowhere", none);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf wanted = BUF_INIT(1000);
        struct str rest = str_of(rows[i].running);
        struct str id;
        struct jw out;

        tell(w, rows[i].id, "\"what\"", rows[i].status);
        jw_init(&out, &got, 0);
        news_write_running(w, &out);
        buf_addc(&wanted, '[');
        while (rest.len && str_cut(&rest, ' ', &id))
            buf_addf(&wanted,
                     "%s{\"id\":\"%.*s\",\"type\":\"shell\",\"status\":\"running\","
                     "\"description\":\"\\\"what\\\"\"}",
                     wanted.len > 1 ? "," : "", STR_ARG(id));
        buf_addc(&wanted, ']');
        if (strcmp(buf_cstr(&got), buf_cstr(&wanted)) != 0)
            fail_msg("row %zu: %s", i, buf_cstr(&got));
    }
    workspace_unref(w);
}

UNIT_TEST(news)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
