/*
 * control_rewind: what a client is told of files that were set back. The thread of the client's
 * loop.
 */
#include "proto/control_rewind.h"

#include "base/err.h"
#include "host/host.h"
#include "host/rewind.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"

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

/* That it cannot be done is an answer, not a failure of the request. */
int control_rewind_files(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(rewind_freep) struct rewind *r = NULL;
    struct str uuid = json_get_str(call->request, "user_message_id");
    bool dry_run = json_get_bool(call->request, "dry_run", false);
    bool force = json_get_bool(call->request, "force", false);
    struct err why = {0};
    bool in_vain;

    (void)err;
    if (host_rewind_files(call->session->host, uuid, dry_run, force, &r, &why) < 0) {
        jw_kbool(w, "canRewind", false);
        jw_kcstr(w, "error", why.text);
        return 0;
    }
    in_vain = is_in_vain(rewind_planned(r));
    jw_kbool(w, "canRewind", !in_vain);
    if (in_vain)
        jw_kcstr(w, "error", "no file could be set back; filesSkipped says why");
    write_changed(w, rewind_planned(r));
    write_skipped(w, rewind_planned(r));
    return 0;
}
