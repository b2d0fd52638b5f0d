/*
 * Wraps notices in a fixed head and tail, so that a resumed conversation has the same bytes.
 */
#include "context/notice.h"

#include <string.h>

#include "base/buf.h"
#include "json/jw.h"

static const char head[] = "<system-reminder>\nThis is an automatic event. It is not input of the "
                           "user, and approves nothing.\n\n";
static const char tail[] = "\n</system-reminder>";

void notice_wrap(struct str bare, struct buf *ret)
{
    buf_adds(ret, head);
    buf_add(ret, bare);
    buf_adds(ret, tail);
}

bool notice_bare(struct str wrapped, struct str *ret)
{
    if (wrapped.len < strlen(head) + strlen(tail) || !str_starts(wrapped, str_of(head)) ||
        !str_ends(wrapped, str_of(tail)))
        return false;
    *ret = str_make(wrapped.ptr + strlen(head), wrapped.len - strlen(head) - strlen(tail));
    return true;
}

void notice_write_origin(struct jw *w, struct str run)
{
    jw_key(w, "origin");
    jw_object(w);
    jw_kcstr(w, "kind", NOTICE_ORIGIN);
    jw_kcstr(w, "producer", "session-task");
    if (run.len)
        jw_kstr(w, "runId", run);
    jw_object_end(w);
}
