/*
 * /rewind: go back to before a message. With a front end its dialog is opened; without, the
 * messages are listed, and one is chosen by its number.
 */
#include "host/record/rewind.h"

#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "host/host.h"
#include "slash/answer.h"
#include "sync/cancel.h"
#include "sync/thread.h"

static int rewind_run(struct slash_call *call, struct err *err);

const struct slash_command slash_rewind_entry = {
    .name = "rewind",
    .aliases = "checkpoint undo",
    .hint = "[<number> [files | conversation]]",
    .summary = "Go back to before a message: the files, the conversation, or both",
    .run = rewind_run,
};

/* ---- Going back, and waiting for it ---- */

struct going {
    struct gate gate;
    bool done;
    struct buf text; /* why not */
    enum err_code code;
};

static void going_done(void *arg, struct rewind *r, const char *line, const struct err *err)
{
    struct going *g = arg;

    (void)r;
    (void)line;
    gate_take(&g->gate);
    g->done = true;
    if (err) {
        g->code = err->code;
        buf_adds(&g->text, err->text);
    }
    gate_wake(&g->gate);
    gate_give(&g->gate);
}

int slash_go_back(struct slash_call *call, struct str message, bool files, bool conversation,
                  struct err *err)
{
    struct going g = {.text = BUF_INIT(4096)};
    struct host_rewind what = {.message = message, .files = files, .conversation = conversation};
    int rc;

    gate_init(&g.gate);
    rc = host_rewind(call->host, &what, going_done, &g, err);
    gate_take(&g.gate);
    while (rc == 0 && !g.done) /* the agent's thread does it between two turns: now */
        gate_wait(&g.gate, /*deadline_ms=*/-1);
    gate_give(&g.gate);
    if (rc == 0 && g.code)
        rc = err_set(err, g.code, "%s", buf_cstr(&g.text));
    if (rc == 0)
        slash_sayf(call, INK_PLAIN, "Went back: %s. /rewind undoes it, too.\n",
                   files && conversation ? "files and conversation"
                   : files               ? "the files"
                                         : "the conversation");
    gate_release(&g.gate);
    buf_release(&g.text);
    return rc;
}

/* ---- The command ---- */

static void rewind_list(struct slash_call *call, const struct rewind *points)
{
    slash_say(call, INK_BOLD, STR("Where one can go back to\n"));
    for (size_t i = 0; i < rewind_count(points); i++) {
        const struct rewind_point *p = rewind_at(points, i);
        CLEANUP(buf_release) struct buf line = BUF_INIT(1000);

        buf_addf(&line, "%3zu  ", i + 1);
        slash_add_age(&line, p->time_ms);
        buf_addf(&line, "  %s", p->is_undo ? "(undo) " : "");
        slash_add_line(&line, p->text, 60);
        if (p->files)
            buf_addf(&line, "  [%zu file%s changed since]", p->files, p->files == 1 ? "" : "s");
        slash_sayf(call, INK_PLAIN, "%s\n", buf_cstr(&line));
    }
    slash_say(call, INK_FAINT, STR("/rewind <number> goes back to before it.\n"));
}

static int rewind_run(struct slash_call *call, struct err *err)
{
    CLEANUP(rewind_freep) struct rewind *points = NULL;
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    const char *path = host_transcript(call->host);
    const struct rewind_point *to = NULL;
    struct str what;

    if (!*path || !file_exists(path))
        return err_set(err, ERR_NOT_FOUND, "the session has no messages yet");
    slash_words(call->args, &words);
    if (call->front && !words.len) {
        if (host_in_turn(call->host)) /* rather than after the choice */
            return err_set(err, ERR_BUSY, "a turn is running; interrupt it, or wait for its end");
        call->after = AFTER_REWIND;
        return 0;
    }
    if (rewind_open(path, host_folder(call->host), call->cancel, &points, err) < 0)
        return -1;
    if (!words.len) {
        rewind_list(call, points);
        return 0;
    }
    what = words.len > 1 ? str_of(words.ptr[1]) : STR("both");
    if (words.len > 2 || !str_is_word_of(what, "files conversation both"))
        return err_set(err, ERR_BAD_INPUT, "usage: /rewind %s", slash_rewind_entry.hint);
    if (rewind_find(points, str_of(words.ptr[0]), &to, err) < 0)
        return -1;
    return slash_go_back(call, to->uuid, !str_is(what, "conversation"), !str_is(what, "files"),
                         err);
}
