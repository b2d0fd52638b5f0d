/*
 * mentioned: a path is decided about as if Read were called with it. Any thread.
 */
#include "host/mentioned.h"

#include "base/arena.h"
#include "base/file.h"
#include "context/mention.h"
#include "guard/buffers.h"
#include "guard/permit.h"
#include "guard/tool_flags.h"
#include "guard/workspace.h"

struct mentioned {
    struct workspace *workspace;
    struct permit *permit;
    struct cancel *cancel; /* for requests to an editor */
};

static const char *why_refused(const struct mentioned *m, const struct rule_subject *subject,
                               bool is_pasted)
{
    struct permit_answer answer;

    permit_check(m->permit, subject, TOOL_READ_ONLY, &answer);
    if (answer.verdict == PERMIT_ALLOW || (is_pasted && answer.verdict == PERMIT_ASK))
        return NULL;
    return answer.verdict == PERMIT_DENY ? "a rule keeps it from being read"
                                         : "reading it needs permission";
}

static bool mentioned_find(void *arg, struct str path, struct arena *arena,
                           struct mention_found *ret)
{
    const struct mentioned *m = arg;
    struct rule_subject subject = {.tool = STR("Read")};

    workspace_about_path(m->workspace, path, /*writes=*/false, arena, &subject);
    if (!file_exists(subject.real))
        return false;
    ret->path = arena_cstr(arena, subject.text);
    ret->real = subject.real;
    ret->is_pasted = workspace_has_image(m->workspace, subject.real);
    ret->refused = why_refused(m, &subject, ret->is_pasted);
    return true;
}

static bool mentioned_is_lent(void *arg, const char *real)
{
    return buffers_serve(((struct mentioned *)arg)->workspace, real);
}

static bool mentioned_unsaved(void *arg, const char *real, const struct stat *st, struct str disk,
                              struct buf *ret)
{
    const struct mentioned *m = arg;

    return buffers_read(m->workspace, real, st, disk, m->cancel, ret) != BUFFER_NONE;
}

static void mentioned_saw(void *arg, const char *real, const struct stat *st, struct str content,
                          bool is_partial)
{
    workspace_saw(((struct mentioned *)arg)->workspace, real, st, content, is_partial);
}

void mentioned_add(struct workspace *w, struct permit *p, bool takes_images, struct str words,
                   struct cancel *cancel, struct mentions *ret)
{
    struct mentioned m = {.workspace = w, .permit = p, .cancel = cancel};
    struct mention_spec spec = {
        .find = mentioned_find,
        .is_lent = mentioned_is_lent,
        .unsaved = mentioned_unsaved,
        .saw = mentioned_saw,
        .arg = &m,
        .takes_images = takes_images,
    };

    mention_files(&spec, words, ret);
}
