/*
 * The terms of a goal: objective, checks, protection, limits, referee. While this process
 * holds the goal only goal_do() and the goal's tools change it.
 *
 * The store compares the row with what this process last read or wrote, and restores it where
 * another program has changed it (store_goal_guard()). Here that is reported: a notice, a line in
 * the ledger, and an objection against the next verdict, so that a program which bends the terms
 * never gains a completed goal by it. The goal is held; any thread.
 */
#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "goal/goal_state.h"
#include "goal/report/display.h"
#include "json/jw.h"

/* "status, checks" */
static void add_parts(unsigned foreign, struct buf *ret)
{
    for (int i = 0; i < GOAL_PART_COUNT; i++) {
        if (foreign & 1u << i)
            buf_addf(ret, "%s%s", ret->len ? ", " : "", goal_part_name((enum goal_part)i));
    }
}

static void write_foreign(unsigned foreign, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_key(&w, "parts");
    jw_array(&w);
    for (int i = 0; i < GOAL_PART_COUNT; i++) {
        if (foreign & 1u << i)
            jw_cstr(&w, goal_part_name((enum goal_part)i));
    }
    jw_array_end(&w);
    jw_object_end(&w);
}

void terms_look(struct goal *g)
{
    CLEANUP(buf_release) struct buf data = BUF_INIT(1 << 10);
    CLEANUP(buf_release) struct buf parts = BUF_INIT(1 << 10);
    unsigned foreign =
        g->spec.is_outside ? 0 : store_goal_foreign(g->store, str_of(g->spec.session));

    if (!foreign)
        return;
    add_parts(foreign, &parts);
    write_foreign(foreign, &data);
    goal_note(g, "foreign", buf_str(&data));
    goal_notice(g, LEVEL_WARNING,
                "goal: the stored goal was changed by another program (%s); restored",
                buf_cstr(&parts));
    if (!g->has)
        return;
    buf_clear(&g->bent);
    buf_add(&g->bent, buf_str(&parts));
}

/* For the message of a stop, which names the command that accepts them. */
static void keep_changed(struct goal *g, const struct ladder *l)
{
    strv_clear(&g->memory.changed);
    for (size_t i = 0; i < l->objections.len && i < GOAL_SHOWN_CHANGED; i++)
        strv_adds(&g->memory.changed, l->objections.ptr[i].path);
}

int terms_object(struct goal *g, struct ladder *l)
{
    keep_changed(g, l);
    if (!g->bent.len)
        return 0;
    if (l->end == LADDER_MET) {
        l->end = LADDER_UNMET;
        l->by = "terms";
        buf_clear(&l->reason);
        buf_addf(&l->reason,
                 "The stored goal was changed by another program (%s). It was restored. Only the "
                 "user changes the terms of a goal; this round does not count.",
                 buf_cstr(&g->bent));
    }
    buf_clear(&g->bent);
    return 1;
}

void terms_digest(const struct store_goal *row, struct str text, struct str judge,
                  char ret[static SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf limits = BUF_INIT(1 << 10);
    struct str columns[] = {row->goal_id,  row->objective, text,  row->checks, row->protect,
                            row->baseline, row->options,   judge, STR("")};
    struct sha256 hash;

    buf_addf(&limits, "%" PRId64 " %" PRId64 " %.17g %" PRId64, row->token_budget, row->max_turns,
             row->max_cost_usd, row->deadline_ms);
    columns[ARRAY_LEN(columns) - 1] = buf_str(&limits);
    sha256_init(&hash);
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        sha256_add(&hash, columns[i]);
        sha256_add(&hash, STR("\0"));
    }
    sha256_end(&hash, ret);
}

struct str terms_text(const struct goal *g)
{
    struct str text = str_trim(buf_str(&g->text));

    return str_eq(text, g->row.objective) ? STR("") : text;
}

void goal_terms(const struct goal *g, char ret[static SHA256_HEX + 1])
{
    terms_digest(&g->row, terms_text(g), buf_str(&g->judge), ret);
}
