/*
 * tale_judge: what the judge of a tale was given. The requests that tests/fake recorded must stay
 * below the judge's ceiling and show what the row names in its place: a claim among the claims, a
 * print among the prints. Main thread.
 */
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"
#include "tale.h"

#define JUDGE_CEILING ((size_t)32000 * 4) /* bytes: four a token */

/* Whether a block whose title has `where` shows `what` on a separate line. The numbers of blocks
 * must follow each other: a forged title would break the order. */
static int find_in_case(struct str text, const struct shown *shown, bool *ret_found,
                        struct err *err)
{
    struct str line;
    int64_t block = 0;
    bool is_there = false;

    *ret_found = false;
    while (str_cut(&text, '\n', &line)) {
        char mark[24];
        int n = snprintf(mark, sizeof(mark), "## %lld. ", (long long)block + 1);

        if (str_starts(line, STR("## ")) && !str_is(line, "## End of the material")) {
            if (!str_starts(line, str_make(mark, (size_t)n)))
                return err_set(err, ERR_PROTOCOL, "a title out of order: %.*s", STR_ARG(line));
            block++;
            is_there = str_has(line, str_of(shown->where));
            continue;
        }
        n = snprintf(mark, sizeof(mark), "%lld", (long long)block);
        if (is_there && str_starts(line, str_make(mark, (size_t)n)) &&
            str_has(str_from(line, (size_t)n + 2), str_of(shown->what)))
            *ret_found = true;
    }
    return 0;
}

static void add_texts(const struct json *content, struct buf *ret)
{
    buf_add(ret, json_str(content));
    JSON_EACH(content, block) {
        buf_add(ret, json_get_str(block, "text"));
        add_texts(json_get(block, "content"), ret);
        buf_addc(ret, '\n');
    }
}

/* Whether one of the requests shows it. */
static int check_shown(const struct tale *t, size_t i, struct str record, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct shown *shown = &t->shown[i];
    struct str line;

    while (str_cut(&record, '\n', &line)) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        const struct json *request = NULL;
        bool is_found = false;

        if (!line.len)
            continue;
        if (json_parse(&arena, line, &request, /*ret_info=*/NULL, err) < 0)
            return -1;
        JSON_EACH(json_path(request, "body.messages"), message) {
            buf_clear(&text);
            add_texts(json_get(message, "content"), &text);
            if (message == json_first(json_path(request, "body.messages")) &&
                !(i == 0 && t->look)) {
                if (find_in_case(buf_str(&text), shown, &is_found, err) < 0)
                    return -1;
            } else if (i == 0 && t->look) {
                is_found |= str_has(buf_str(&text), str_of(shown->what));
            }
            if (is_found)
                return 0;
        }
    }
    return err_set(err, ERR_PROTOCOL, "the judge was not shown '%s' under '%s'", shown->what,
                   t->look ? t->look : shown->where);
}

/* Whatever the session has come to, the judge is given no more than its ceiling. */
static int check_ceiling(struct str record, struct err *err)
{
    struct str line;

    while (str_cut(&record, '\n', &line)) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        const struct json *request = NULL;

        if (line.len && json_parse(&arena, line, &request, /*ret_info=*/NULL, err) < 0)
            return -1;
        JSON_EACH(json_path(request, "body.messages"), message) {
            add_texts(json_get(message, "content"), &text);
        }
        if (text.len > JUDGE_CEILING)
            return err_set(err, ERR_PROTOCOL, "the judge was given %zu bytes", text.len);
    }
    return 0;
}

int play_judge_requests(const struct play *p, int64_t *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;
    struct str line;

    *ret = 0;
    if (stage_record(p->stage, &record, err) < 0)
        return -1;
    rest = buf_str(&record);
    while (str_cut(&rest, '\n', &line))
        *ret += line.len > 0;
    return 0;
}

int play_check_judge(const struct play *p, struct err *err)
{
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);
    const struct tale *t = p->tale;

    if (!t->shown[0].what)
        return 0;
    if (stage_record(p->stage, &record, err) < 0 || check_ceiling(buf_str(&record), err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(t->shown) && t->shown[i].what; i++) {
        if (t->shown[i].where && check_shown(t, i, buf_str(&record), err) < 0)
            return -1;
    }
    return 0;
}
