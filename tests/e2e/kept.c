/*
 * kept: reads the session as a resumed run would, by the same calls. Main thread.
 */
#include "kept.h"

#include <stdio.h>
#include <string.h>

#include "acked.h"
#include "agent/recall.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "llm/history.h"
#include "store/transcript/load.h"

void kept_release(struct kept *k)
{
    map_release(&k->active);
}

/* uuid → the offset of its line after the last boundary, counted from 1; before it: 0. */
static int list_chain(struct load *load, struct map *ret, struct err *err)
{
    bool is_behind = true;

    for (size_t i = load_count(load); i-- > 0;) {
        const struct load_entry *e = load_at(load, i);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *v;
        struct str line;

        if (load_read(load, e->offset, e->len, &line, err) < 0 ||
            json_parse(&arena, line, &v, /*ret_info=*/NULL, err) < 0)
            return -1;
        if (map_has(ret, json_get_str(v, "uuid")))
            return err_set(err, ERR_PROTOCOL, "the line %.*s is in the chain twice",
                           STR_ARG(json_get_str(v, "uuid")));
        if (e->flags & LOAD_BOUNDARY)
            is_behind = false;
        map_set(ret, json_get_str(v, "uuid"), is_behind ? ret : NULL);
    }
    return 0;
}

static int check_lines(const char *path, const struct acked *a, const struct map *active,
                       struct err *err)
{
    CLEANUP(map_release) struct map whole = MAP_INIT;
    struct load_spec spec = {.whole = true};
    struct load *load = NULL;
    int r;

    if (load_open(path, &spec, /*cancel=*/NULL, &load, err) < 0)
        return -1;
    r = list_chain(load, &whole, err);
    load_free(load);
    for (size_t i = 0; r == 0 && i < a->lines.len; i++) {
        struct str uuid = a->lines.ptr[i].uuid;

        if (a->lines.ptr[i].is_doubtful)
            continue;
        if (!map_has(&whole, uuid))
            r = err_set(err, ERR_PROTOCOL, "LOST: line %zu of %zu (%.*s, '%.*s') is not there", i,
                        a->lines.len, STR_ARG(uuid), STR_ARG(str_clip(a->lines.ptr[i].text, 40)));
        else if (map_get(&whole, uuid) && !map_has(active, uuid))
            r = err_set(err, ERR_PROTOCOL, "LOST: line %.*s is not told to a model", STR_ARG(uuid));
    }
    return r;
}

static int check_title(const struct load_facts *facts, const struct acked *a, struct err *err)
{
    struct str got = buf_str(&facts->title);

    for (int i = a->title; i <= a->title + 1 + (int)a->refused; i++) {
        CLEANUP(buf_release) struct buf title = BUF_INIT(256);

        if (i)
            course_title(i, &title);
        if (str_eq(got, buf_str(&title)))
            return 0;
    }
    return err_set(err, ERR_PROTOCOL, "LOST: the title is '%.*s' instead of number %d",
                   STR_ARG(got), a->title);
}

static int check_todos(struct str todos, const struct acked *a, int least, struct err *err)
{
    for (int i = least; i <= a->todos + 1; i++) {
        CLEANUP(buf_release) struct buf todo = BUF_INIT(256);

        if (i)
            course_todo(i - 1, &todo);
        if (i ? str_has(todos, buf_str(&todo)) : !todos.len)
            return 0;
    }
    return err_set(err, ERR_PROTOCOL, "LOST: the list of things to do is '%.*s' instead of %d",
                   STR_ARG(todos), a->todos);
}

/* Every message that was taken in is in the chain or still waits, and never both. One that came
 * when the turn it was to wait for was just over is not written as waiting: it is taken up at once,
 * and counts as acknowledged when it comes back. */
static int check_queue(const struct recall *recall, const struct acked *a, const struct map *active,
                       struct err *err)
{
    CLEANUP(map_release) struct map waits = MAP_INIT;
    bool may_be_on_its_way = recall->state == RECALL_COMPLETE;

    VEC_EACH(&recall->queued, in) {
        if (map_has(&waits, str_of(in->uuid)) || map_has(active, str_of(in->uuid)))
            return err_set(err, ERR_PROTOCOL, "the message %s would be said twice", in->uuid);
        map_set(&waits, str_of(in->uuid), in);
    }
    for (int i = 1; i <= a->taken; i++) {
        char uuid[ID_UUID_LEN + 1];

        course_uuid(i, uuid);
        if (a->said[i] || map_has(active, str_of(uuid)) || map_has(&waits, str_of(uuid)))
            continue;
        if (!may_be_on_its_way)
            return err_set(err, ERR_PROTOCOL, "LOST: message %d was taken in", i);
        may_be_on_its_way = false;
    }
    return 0;
}

static int check_loaded(struct load *load, const char *path, const struct acked *a, bool is_exact,
                        struct kept *ret, struct err *err)
{
    struct recall recall = RECALL_INIT;
    int r = list_chain(load, &ret->active, err);

    if (r == 0)
        r = recall_read(load, /*cancel=*/NULL, &recall, err);
    if (r == 0)
        r = history_check(recall.messages.ptr, recall.messages.len, err);
    if (r == 0 && recall.unused)
        r = err_set(err, ERR_PROTOCOL, "%zu lines are no messages", recall.unused);
    if (r == 0)
        r = check_lines(path, a, &ret->active, err);
    if (r == 0 && is_exact && a->refused)
        r = err_set(err, ERR_PROTOCOL, "a title was refused");
    if (r == 0)
        r = check_title(load_facts(load), a, err);
    if (r == 0)
        r = check_todos(buf_str(&recall.todos), a, is_exact ? a->todos : a->sure_todos, err);
    if (r == 0 && is_exact)
        r = check_queue(&recall, a, &ret->active, err);
    ret->messages = recall.messages.len;
    ret->queued = recall.queued.len;
    VEC_EACH(&recall.queued, in) {
        ret->compacts |= course_message_of(str_of(in->uuid)) == COURSE_COMPACT;
        ret->notices += in->is_notice;
    }
    ret->torn = load_facts(load)->skipped;
    ret->is_complete = recall.state == RECALL_COMPLETE;
    recall_release(&recall);
    return r;
}

int kept_check(const char *transcript, const struct acked *a, bool is_exact, struct kept *ret,
               struct err *err)
{
    struct load_spec spec = {0};
    struct load *load = NULL;
    int r;

    *ret = (struct kept){.exists = file_exists(transcript)};
    if (!ret->exists) {
        VEC_EACH(&a->lines, line) {
            if (!line->is_doubtful)
                return err_set(err, ERR_PROTOCOL, "LOST: there is no transcript");
        }
        return 0;
    }
    if (load_open(transcript, &spec, /*cancel=*/NULL, &load, err) < 0)
        return -1;
    r = check_loaded(load, transcript, a, is_exact, ret, err);
    load_free(load);
    return r;
}

/* ---- Files ---- */

static int check_file(const char *work, int round, unsigned acked, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf came = BUF_INIT(1 << 20);

    buf_addf(&path, "%s/", work);
    course_file_name(round, &path);
    if (file_exists(buf_cstr(&path)) && file_slurp(buf_cstr(&path), 1 << 20, &came, err) < 0)
        return -1;
    for (unsigned more = 0; more <= COURSE_ALL; more++) {
        CLEANUP(buf_release) struct buf want = BUF_INIT(1 << 20);

        course_file(round, acked | more, &want);
        if (str_eq(buf_str(&want), buf_str(&came)) && !want.len == !file_exists(buf_cstr(&path)))
            return 0;
    }
    return err_set(err, ERR_PROTOCOL, "LOST: '%s' (%zu bytes) is not what %#x has made of it",
                   buf_cstr(&path), came.len, acked);
}

static int check_effects(const char *work, const struct acked *a, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(work, "effects");
    CLEANUP(buf_release) struct buf text = BUF_INIT(65536);
    int times[COURSE_MESSAGES + 1] = {0};
    struct str rest;
    struct str line;

    if (file_exists(path) && file_slurp(path, 65536, &text, err) < 0)
        return -1;
    rest = buf_str(&text);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        int64_t n;

        if (str_to_i64(line, &n, err) < 0 || n < 1 || n > COURSE_MESSAGES || times[n]++)
            return err_set(err, ERR_PROTOCOL, "'%.*s' twice, or nonsense, in %s", STR_ARG(line),
                           path);
    }
    for (int i = 1; i <= COURSE_MESSAGES; i++) {
        if (a->effects[i] && !times[i])
            return err_set(err, ERR_PROTOCOL, "LOST: the command of message %d has no effect", i);
    }
    return 0;
}

int kept_files(const char *work, const struct acked *a, struct err *err)
{
    for (int i = 0; i < COURSE_ROUNDS; i++) {
        if (check_file(work, i, a->changes[i], err) < 0)
            return -1;
    }
    return check_effects(work, a, err);
}
