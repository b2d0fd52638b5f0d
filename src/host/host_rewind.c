/*
 * Going back in a session that is open. Any thread.
 */
#include "host/inside.h"
#include "host/session.h"

int host_rewind_files(struct host *h, struct str uuid, bool dry_run, bool force,
                      struct rewind **ret, struct err *err)
{
    struct agent *a = host_hold_building(h); /* whoever builds the agent makes the record, too */
    int rc;

    rc = session_rewind_files(h->session, dry_run ? NULL : host_record(h), uuid, force, h->cancel,
                              ret, err);
    host_built(h, a);
    return rc;
}
