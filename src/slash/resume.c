/*
 * /resume: replaces this session by another one of this folder; without a front end it prints the
 * list and how to resume one.
 */
#include "base/arena.h"
#include "base/err.h"
#include "conf/conf.h"
#include "host/host.h"
#include "host/hub.h"
#include "host/project.h"
#include "slash/answer.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/store.h"

static int resume_run(struct slash_call *call, struct err *err);

const struct slash_command slash_resume_entry = {
    .name = "resume",
    .aliases = "continue",
    .hint = "[<words>]",
    .summary = "Resume another session of this folder",
    .run = resume_run,
};

#define RESUME_SHOWN 20 /* without a screen */
#define RESUME_MAX 1000 /* to choose from */
#define RESUME_NAME 80  /* characters */

static bool is_meant(const struct store_session *row, struct str words)
{
    return !words.len || str_find_nocase(index_name(row), words) < index_name(row).len ||
           str_find_nocase(row->first_prompt, words) < row->first_prompt.len ||
           str_find_nocase(row->branch, words) < row->branch.len || str_starts(row->id, words);
}

/* All but this one, newest first, that match the argument. */
static int find_rows(struct slash_call *call, struct index *ix, struct err *err)
{
    CLEANUP(store_freep) struct store *store = NULL;
    CLEANUP(buf_release) struct buf project = BUF_INIT(BUF_NO_LIMIT);
    const char *home = conf_home(host_conf(call->host));
    size_t kept = 0;

    project_key(str_of(conf_dir(host_conf(call->host))), &project);
    (void)hub_store(host_hub(call->host), home, call->cancel, &store, /*err=*/NULL); /* a cache */
    if (index_refresh(store, home, buf_str(&project), call->cancel, ix, err) < 0)
        return -1;
    for (size_t i = 0; i < ix->rows.len && kept < RESUME_MAX; i++) {
        struct store_session row = ix->rows.ptr[i];

        if (!str_is(row.id, host_session(call->host)) && is_meant(&row, call->args))
            ix->rows.ptr[kept++] = row;
    }
    ix->rows.len = kept;
    return 0;
}

static void add_preview(struct buf *out, const struct store_session *row)
{
    buf_addf(out, "%.*s\n\n", STR_ARG(str_clip(row->first_prompt, 2000)));
    buf_addf(out, "%lld messages, last ", (long long)row->messages);
    slash_add_age(out, row->last_ms);
    if (row->branch.len)
        buf_addf(out, ", branch %.*s", STR_ARG(row->branch));
    if (row->cost_usd >= 0)
        buf_addf(out, ", $%.2f", row->cost_usd);
    buf_addf(out, "\n%.*s", STR_ARG(row->id));
}

static bool is_held(const struct slash_call *call, const struct store_session *row)
{
    CLEANUP(buf_release) struct buf id = BUF_INIT(BUF_NO_LIMIT);

    buf_add(&id, row->id);
    return hold_look(conf_home(host_conf(call->host)), buf_cstr(&id), /*ret=*/NULL,
                     /*err=*/NULL) == 1;
}

/* Asks first, since running work ends with this session. */
static int resume_go(struct slash_call *call, const struct store_session *row, struct err *err)
{
    if (is_held(call, row))
        return err_set(err, ERR_BUSY, "session %.*s is open in another process; end that one first",
                       STR_ARG(row->id));
    if (slash_stop_work(call, err) < 0)
        return -1;
    buf_add(&call->session, row->id);
    call->after = AFTER_RESUME;
    return 0;
}

static int resume_pick(struct slash_call *call, const struct index *ix, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct choice *choices = arena_alloc(&arena, ix->rows.len * sizeof(*choices));
    struct pick p = {.look = PICK_SEARCH,
                     .title = STR_INIT("Sessions of this folder"),
                     .choices = choices,
                     .count = ix->rows.len};
    size_t chosen;

    for (size_t i = 0; i < ix->rows.len; i++) {
        const struct store_session *row = &ix->rows.ptr[i];
        CLEANUP(buf_release) struct buf label = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf age = BUF_INIT(100);
        CLEANUP(buf_release) struct buf preview = BUF_INIT(16 << 10);
        bool held = is_held(call, row);

        slash_add_line(&label, index_name(row), RESUME_NAME);
        if (held)
            buf_adds(&age, "open in another process");
        else
            slash_add_age(&age, row->last_ms);
        add_preview(&preview, row);
        choices[i] = (struct choice){.label = arena_str(&arena, buf_str(&label)),
                                     .detail = arena_str(&arena, buf_str(&age)),
                                     .preview = arena_str(&arena, buf_str(&preview)),
                                     .is_off = held};
    }
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    return resume_go(call, &ix->rows.ptr[chosen], err);
}

static int resume_run(struct slash_call *call, struct err *err)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;

    if (find_rows(call, &ix, err) < 0)
        return -1;
    if (!ix.rows.len) {
        slash_sayf(call, INK_PLAIN, "There is no other session of this folder%s%.*s%s.\n",
                   call->args.len ? " with '" : "", STR_ARG(str_clip(call->args, 80)),
                   call->args.len ? "'" : "");
        return 0;
    }
    if (call->front && call->args.len && ix.rows.len == 1)
        return resume_go(call, &ix.rows.ptr[0], err);
    if (call->front)
        return resume_pick(call, &ix, err);
    for (size_t i = 0; i < ix.rows.len && i < RESUME_SHOWN; i++) {
        const struct store_session *row = &ix.rows.ptr[i];
        CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
        CLEANUP(buf_release) struct buf age = BUF_INIT(100);

        slash_add_line(&name, index_name(row), RESUME_NAME);
        slash_add_age(&age, row->last_ms);
        slash_sayf(call, INK_CYAN, "%.*s", STR_ARG(row->id));
        slash_sayf(call, INK_FAINT, "  %-8s", buf_cstr(&age));
        slash_sayf(call, INK_PLAIN, "  %s\n", buf_cstr(&name));
    }
    slash_say(call, INK_FAINT, STR("To resume one: tenax --resume <id>\n"));
    return 0;
}
