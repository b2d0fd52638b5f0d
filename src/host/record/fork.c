/*
 * Copies lines for a session with another id. Runs on the thread that creates the host.
 */
#include "host/record/fork.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "host/record/record_line.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/transcript/load.h"

#define FORK_MAX_TITLE 480 /* bytes of the old title */

/* {"sessionId":"new",…,"forkedFrom":{"sessionId":"old","messageUuid":…}} */
static void fork_line(const struct json *line, const char *session, struct buf *ret)
{
    struct str old = json_get_str(line, "sessionId");
    struct str uuid = json_get_str(line, "uuid");
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    JSON_EACH(line, member) {
        struct str key = json_key(member);

        if (str_is(key, "forkedFrom"))
            continue;
        jw_key_str(&w, key);
        if (str_is(key, "sessionId"))
            jw_cstr(&w, session);
        else
            jw_json(&w, member);
    }
    if (uuid.len) {
        jw_key(&w, "forkedFrom");
        jw_object(&w);
        jw_kstr(&w, "sessionId", old);
        jw_kstr(&w, "messageUuid", uuid);
        jw_object_end(&w);
    }
    jw_object_end(&w);
    buf_addc(ret, '\n');
}

static int fork_copy(struct load *load, uint64_t offset, uint32_t len, const char *session,
                     struct buf *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *line;
    struct str text;

    if (load_read(load, offset, len, &text, err) < 0)
        return -1;
    if (json_parse(&arena, text, &line, /*ret_info=*/NULL, /*err=*/NULL) == 0)
        fork_line(line, session, ret);
    return 0;
}

/* "title (fork)", as in the official SDK: --resume with the old title still means the old session.
 */
static void fork_title(const struct load_facts *facts, const char *session, struct buf *ret)
{
    static const struct str mark = STR_INIT(" (fork)");
    CLEANUP(buf_release) struct buf title = BUF_INIT(FORK_MAX_TITLE + mark.len);
    struct str old = buf_str(&facts->title);

    if (!old.len)
        return;
    if (str_ends(old, mark))
        old.len -= mark.len;
    buf_add(&title, str_clip(old, FORK_MAX_TITLE));
    buf_add(&title, mark);
    record_line_title(ret, str_of(session), buf_str(&title), /*by_model=*/false);
}

int fork_lines(struct load *load, const char *session, struct buf *ret, struct err *err)
{
    const struct load_facts *facts = load_facts(load);

    fork_title(facts, session, ret);
    VEC_EACH(&facts->replacements, line) {
        if (fork_copy(load, line->offset, line->len, session, ret, err) < 0)
            return -1;
    }
    VEC_EACH(&facts->file_history, line) {
        if (fork_copy(load, line->offset, line->len, session, ret, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < load_count(load); i++) {
        const struct load_entry *e = load_at(load, i);

        if (fork_copy(load, e->offset, e->len, session, ret, err) < 0)
            return -1;
    }
    return 0;
}
