/*
 * resumed: the agent type, the mode, the worktree and the pull request of a resumed session. Runs
 * on the thread that opens the session.
 */
#include "host/record/resumed.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/session.h"
#include "json/json.h"
#include "store/transcript/load.h"

#define MAX_SHOWN 200
#define MAX_LINE ((size_t)1 << 20)

static void note_worktree(struct session *s, const struct conf *conf, struct strv *notes)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf line = BUF_INIT(MAX_LINE);
    const struct json *root = NULL;
    const char *path;
    struct str where;

    session_fact_line(s, &session_facts(s)->worktree, &line);
    if (!line.len || json_parse(&arena, buf_str(&line), &root, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    where = json_get_str(json_get_key(root, STR("worktreeSession")), "worktreePath");
    if (!where.len || str_is(where, conf_dir(conf)))
        return;
    path = arena_str(&arena, where).ptr;
    if (file_is_dir(path))
        strv_addf(notes,
                  "this session worked in the git worktree %.*s; it continues in this folder "
                  "(to continue there, start tenax in it)",
                  STR_ARG(str_clip(where, MAX_SHOWN)));
    else
        strv_addf(notes,
                  "this session worked in the git worktree %.*s, which is gone; it continues in "
                  "this folder",
                  STR_ARG(str_clip(where, MAX_SHOWN)));
}

static void note_pull_request(struct session *s, struct strv *notes)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf line = BUF_INIT(MAX_LINE);
    const struct json *root = NULL;
    struct str url;

    session_fact_line(s, &session_facts(s)->pr_link, &line);
    if (!line.len || json_parse(&arena, buf_str(&line), &root, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return;
    url = json_get_str(root, "prUrl");
    if (url.len)
        strv_addf(notes, "this session belongs to the pull request %.*s",
                  STR_ARG(str_clip(url, MAX_SHOWN)));
}

void resumed_note(struct session *s, const struct conf *conf, struct strv *notes)
{
    const struct load_facts *facts = session_facts(s);

    if (!facts)
        return;
    if (facts->mode.len && !str_is(buf_str(&facts->mode), "normal") &&
        !str_is(buf_str(&facts->mode), "coordinator"))
        strv_addf(notes,
                  "this session was in the mode '%.*s', which tenax does not have; it continues "
                  "as an ordinary session",
                  STR_ARG(str_clip(buf_str(&facts->mode), MAX_SHOWN)));
    note_worktree(s, conf, notes);
    note_pull_request(s, notes);
}
