/*
 * Rounds that change nothing. Only what can be seen counts: the state of the workspace, which
 * checks pass, which criteria are met. A state that was there before is no progress either: going
 * back and forth ends, too. The permit is held.
 */
#include <string.h>

#include "base/clock.h"
#include "goal/inside.h"
#include "json/json.h"
#include "json/jw.h"

static size_t criteria_met(struct str json)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    size_t n = 0;

    if (!json.len || json_parse(&arena, json, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return 0;
    JSON_EACH(v, it) {
        n += str_is(json_get_str(it, "state"), "met");
    }
    return n;
}

static void stall_fingerprint(const struct ladder *l, char ret[static SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&all, "%s\n", l->state);
    VEC_EACH(&l->checks, it) {
        buf_addf(&all, "%s %d\n", buf_cstr(&it->command), it->code);
    }
    VEC_EACH(&l->changes, it) {
        buf_addf(&all, "%s %s\n", protect_what_name(it->what), it->path);
    }
    buf_addf(&all, "%zu\n", criteria_met(buf_str(&l->criteria)));
    sha256_hex(buf_str(&all), ret);
}

int stall_round(struct goal *g, const struct ladder *l)
{
    struct goal_memory *m = &g->memory;
    char print[SHA256_HEX + 1];
    struct str state = {print, GOAL_STATE_HEX};

    stall_fingerprint(l, print);
    if (!strv_has(&m->seen, state)) {
        struct strv kept = STRV_INIT;

        for (size_t i = m->seen.len >= GOAL_SEEN; i < m->seen.len; i++)
            strv_adds(&kept, m->seen.ptr[i]);
        strv_add(&kept, state);
        strv_release(&m->seen);
        m->seen = kept;
        m->stalls = 0;
        return 0;
    }
    return ++m->stalls;
}

/* Two ways to say the same: case, digits and punctuation do not count. */
static void normalise(struct str text, struct buf *ret)
{
    bool gap = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80) {
            if (gap && ret->len)
                buf_addc(ret, ' ');
            buf_addc(ret, c);
            gap = false;
        } else {
            gap = true;
        }
    }
}

int stall_blocker(struct goal *g, struct str reason)
{
    struct goal_memory *m = &g->memory;
    CLEANUP(buf_release) struct buf same = BUF_INIT(1 << 12);

    normalise(str_clip(reason, 1 << 11), &same);
    if (!m->blockers || !str_eq(buf_str(&same), buf_str(&m->blocker)) ||
        m->round > m->blocker_round + 1)
        m->blockers = 0;
    if (!m->blockers || m->round != m->blocker_round)
        m->blockers++;
    m->blocker_round = m->round;
    buf_clear(&m->blocker);
    buf_add(&m->blocker, buf_str(&same));
    return m->blockers;
}
