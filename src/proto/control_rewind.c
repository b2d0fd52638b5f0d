/*
 * control_rewind: a client goes back to before a message.
 *
 * rewind_files {user_message_id, dry_run?, force?} as the official SDK has it, and
 * rewind_conversation {user_message_id, files?, dry_run?, force?}, with the same answer and the
 * uuid of the line that undoes it. The answer is mailed when it is done; the thread of the client's
 * loop never waits.
 */
#include "proto/control_rewind.h"

#include "base/err.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/record/rewind.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"
#include "sync/mailbox.h"

#define ANSWER_MAX ((size_t)16 << 20)
#define REQUEST_ID_MAX 4096

static void write_changed(struct jw *w, const struct restore_plan *plan)
{
    int64_t added = 0;
    int64_t removed = 0;

    jw_key(w, "filesChanged");
    jw_array(w);
    VEC_EACH(&plan->rows, row) {
        if (!restore_does(row->what))
            continue;
        jw_str(w, row->path);
        added += (int64_t)row->added;
        removed += (int64_t)row->removed;
    }
    jw_array_end(w);
    jw_ki64(w, "insertions", added);
    jw_ki64(w, "deletions", removed);
}

static bool is_skipped(const struct restore_row *row)
{
    return !restore_does(row->what) && row->what != RESTORE_UNCHANGED;
}

static void write_skipped(struct jw *w, const struct restore_plan *plan)
{
    int64_t links = 0;

    jw_key(w, "filesSkipped");
    jw_array(w);
    VEC_EACH(&plan->rows, row) {
        links += row->is_link;
        if (!is_skipped(row))
            continue;
        jw_object(w);
        jw_kstr(w, "path", row->path);
        jw_kcstr(w, "action", restore_what_name(row->what));
        jw_kstr(w, "reason", row->why);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_ki64(w, "skippedLinks", links);
}

/* There was something to set back, and all of it was left alone. */
static bool is_in_vain(const struct restore_plan *plan)
{
    bool skipped = false;

    VEC_EACH(&plan->rows, row) {
        if (restore_does(row->what))
            return false;
        skipped |= is_skipped(row);
    }
    return skipped;
}

static void write_refused(struct jw *w, const struct err *why)
{
    jw_kbool(w, "canRewind", false);
    jw_kcstr(w, "error", why->text);
}

static void write_files(struct jw *w, const struct rewind *r)
{
    bool in_vain = is_in_vain(rewind_planned(r));

    jw_kbool(w, "canRewind", !in_vain);
    if (in_vain)
        jw_kcstr(w, "error", "no file could be restored; filesSkipped says why");
    write_changed(w, rewind_planned(r));
    write_skipped(w, rewind_planned(r));
}

/* ---- An answer that comes when it is done ---- */

struct waiting {
    struct mailbox *to;
    struct buf request_id;
    struct host_rewind what;
};

static void waiting_free(struct waiting *waiting)
{
    mailbox_unref(waiting->to);
    buf_release(&waiting->request_id);
    mem_freep(&waiting);
}

static void write_done(const struct waiting *waiting, struct jw *w, const struct rewind *r,
                       const char *line)
{
    if (waiting->what.files)
        write_files(w, r);
    else
        jw_kbool(w, "canRewind", true);
    if (waiting->what.conversation)
        jw_kcstr(w, "uuid", line);
}

/* The agent's thread, or the caller's. */
static void on_rewound(void *arg, struct rewind *r, const char *line, const struct err *err)
{
    CLEANUP(buf_release) struct buf body = BUF_INIT(ANSWER_MAX);
    struct waiting *waiting = arg;
    struct line_mail *m = line_mail_new();
    struct jw w;

    jw_init(&w, &body, JW_CLEAN);
    jw_object(&w);
    if (err)
        write_refused(&w, err);
    else
        write_done(waiting, &w, r, line);
    jw_object_end(&w);
    control_respond(buf_str(&waiting->request_id), buf_str(&body), /*err=*/NULL, &m->line);
    mailbox_send(waiting->to, &m->mail);
    waiting_free(waiting);
}

/* That it cannot be done is an answer, not a failure of the request. */
static int rewind_start(struct control_call *call, const struct host_rewind *what, struct jw *w)
{
    struct waiting *waiting = mem_zalloc(sizeof(*waiting));
    struct err why = {0};

    waiting->to = mailbox_ref(call->mailbox);
    waiting->what = *what;
    buf_init(&waiting->request_id, REQUEST_ID_MAX);
    buf_add(&waiting->request_id, str_clip(call->request_id, REQUEST_ID_MAX));
    if (host_rewind(call->session->host, what, on_rewound, waiting, &why) == 0)
        return 1;
    waiting_free(waiting);
    write_refused(w, &why);
    return 0;
}

static int rewind_plan_only(struct control_call *call, const struct host_rewind *what, struct jw *w)
{
    CLEANUP(rewind_freep) struct rewind *r = NULL;
    struct err why = {0};

    if (host_rewind_plan(call->session->host, what, &r, &why) < 0)
        write_refused(w, &why);
    else if (what->files)
        write_files(w, r);
    else
        jw_kbool(w, "canRewind", true);
    return 0;
}

static int rewind_asked(struct control_call *call, const struct host_rewind *what, struct jw *w)
{
    bool dry_run = json_get_bool(call->request, "dry_run", false);

    return dry_run ? rewind_plan_only(call, what, w) : rewind_start(call, what, w);
}

int control_rewind_files(struct control_call *call, struct jw *w, struct err *err)
{
    struct host_rewind what = {
        .message = json_get_str(call->request, "user_message_id"),
        .files = true,
        .force = json_get_bool(call->request, "force", false),
    };

    (void)err;
    return rewind_asked(call, &what, w);
}

int control_rewind_conversation(struct control_call *call, struct jw *w, struct err *err)
{
    struct host_rewind what = {
        .message = json_get_str(call->request, "user_message_id"),
        .conversation = true,
        .files = json_get_bool(call->request, "files", false),
        .force = json_get_bool(call->request, "force", false),
    };

    (void)err;
    return rewind_asked(call, &what, w);
}
