/*
 * budget: limits the results of one message. If the full text of a result cannot be written to a
 * file, the result stays as it is: too long is better than lost. Agent thread.
 */
#include "agent/compact/budget.h"

#include <stdlib.h>

#include "agent/agent_state.h"
#include "agent/journal.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "guard/workspace.h"
#include "llm/room.h"

#define BUDGET_PREVIEW ((size_t)2000) /* bytes of the result in its stub */
#define BUDGET_WORTH ((size_t)2 * BUDGET_PREVIEW)

struct sized {
    const struct block *result;
    size_t bytes;
    size_t order;
};

static int largest_first(const void *a, const void *b)
{
    const struct sized *x = a;
    const struct sized *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->order < y->order ? -1 : 1;
}

/* Writes the full result to a file and its beginning into the stub. */
static int budget_stub(struct agent *a, const struct block *result, struct buf *ret,
                       struct err *err)
{
    CLEANUP(buf_release) struct buf whole = BUF_INIT(AGENT_MAX_TEXT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

    for (size_t i = 0; i < result->content_len; i++)
        buf_add(&whole, result->content[i].text);
    if (workspace_spill(a->spec.workspace, result->id, &path, err) < 0 ||
        file_replace(buf_cstr(&path), buf_str(&whole), 0600, err) < 0)
        return -1;
    buf_addf(ret,
             "[This result has %zu bytes: together with the others of this step too much to show. "
             "The whole is in %s. It begins:]\n",
             whole.len, buf_cstr(&path));
    buf_add(ret, str_clip(buf_str(&whole), BUDGET_PREVIEW));
    return 0;
}

int budget_apply(struct agent *a, const struct window_room *room, struct err *err)
{
    struct journal *journal = a->spec.journal;
    const struct message *draft = a->history.draft;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    VEC(struct sized) results = VEC_INIT;
    VEC(struct journal_replacement) list = VEC_INIT;
    size_t total = 0;
    int r = 0;

    for (size_t i = 0; draft && i < draft->len; i++) {
        struct sized s = {&draft->blocks[i], block_text_bytes(&draft->blocks[i]), i};

        total += s.bytes;
        if (s.bytes > BUDGET_WORTH)
            vec_push(&results, s);
    }
    if (total > room->results_bytes && results.len)
        qsort(results.ptr, results.len, sizeof(results.ptr[0]), largest_first);
    for (size_t i = 0; i < results.len && total > room->results_bytes; i++) {
        const struct block *b = results.ptr[i].result;
        CLEANUP(buf_release) struct buf stub = BUF_INIT(BUDGET_PREVIEW + 8192);
        struct err why = {0};

        if (budget_stub(a, b, &stub, &why) < 0) {
            log_debug("agent", "a result stays long: %s", why.text);
            continue;
        }
        vec_push(&list, ((struct journal_replacement){
                            .entry = arena_str(&arena, b->entry),
                            .tool_use_id = arena_str(&arena, b->id),
                            .stub = arena_str(&arena, buf_str(&stub)),
                        }));
        total -= results.ptr[i].bytes - stub.len;
    }
    if (journal && list.len)
        r = journal->replaced(journal, list.ptr, list.len, err);
    VEC_EACH(&list, it) {
        if (r == 0)
            history_stub(&a->history, it->tool_use_id, it->stub);
    }
    vec_release(&results);
    vec_release(&list);
    return r;
}
