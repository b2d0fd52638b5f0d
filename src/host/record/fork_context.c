/*
 * fork_context: writing the line, and following it. Runs on the thread that starts the fork.
 */
#include "host/record/fork_context.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agent/recall.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "host/record/record.h"
#include "host/session.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/message.h"
#include "store/transcript/load.h"

#define TYPE_NAME "fork-context-ref"
#define LINE_MAX_BYTES 4096

void fork_context_write(const struct fork_context *c, const struct recall *knows, struct buf *ret)
{
    struct str last = {0};
    struct jw w;

    for (size_t i = knows->messages.len; i-- > 0 && !last.len;) {
        const struct message *m = knows->messages.ptr[i];

        if (m->len)
            last = m->blocks[m->len - 1].entry;
    }
    if (!last.len)
        return;
    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", TYPE_NAME);
    jw_kcstr(&w, "agentId", c->agent);
    jw_kcstr(&w, "parentSessionId", c->session);
    if (c->parent)
        jw_kcstr(&w, "parentAgentId", c->parent);
    jw_kstr(&w, "parentLastUuid", last);
    jw_ki64(&w, "contextLength", (int64_t)knows->messages.len);
    jw_object_end(&w);
    buf_addc(ret, '\n');
}

/* The first line, if it is such a line; else NULL. */
static const struct json *first_line(const char *path, struct arena *arena)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = arena_alloc(arena, LINE_MAX_BYTES);
    ssize_t n = fd < 0 ? 0 : pread(fd, bytes, LINE_MAX_BYTES, 0);
    struct str text = str_make(bytes, n > 0 ? (size_t)n : 0);
    const struct json *line = NULL;

    text = str_first(text, str_chr(text, '\n'));
    if (json_parse(arena, text, &line, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        !str_is(json_get_str(line, "type"), TYPE_NAME))
        return NULL;
    return line;
}

/* Two messages of the user in a row are one. */
static void join(struct recall *before, struct recall *io)
{
    struct message *last =
        before->messages.len ? before->messages.ptr[before->messages.len - 1] : NULL;

    for (size_t i = 0; i < io->messages.len; i++) {
        struct message *m = io->messages.ptr[i];

        if (i || !last || last->role != ROLE_USER || m->role != ROLE_USER) {
            vec_push(&before->messages, m);
            continue;
        }
        for (size_t b = 0; b < m->len; b++)
            message_add(last, &m->blocks[b]);
        message_unref(m);
    }
    vec_release(&io->messages);
    io->messages.ptr = before->messages.ptr;
    io->messages.len = before->messages.len;
    io->messages.cap = before->messages.cap;
    before->messages.ptr = NULL;
    before->messages.len = before->messages.cap = 0;
    buf_add(&before->extra, buf_str(&io->extra));
    buf_clear(&io->extra);
    buf_add(&io->extra, buf_str(&before->extra));
}

int fork_context_read(const char *path, const struct session *s, struct cancel *cancel,
                      struct recall *io, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(recall_release) struct recall before = RECALL_INIT;
    CLEANUP(buf_release) struct buf from = BUF_INIT(BUF_NO_LIMIT);
    const struct json *line = first_line(path, &arena);
    struct str parent = json_get_str(line, "parentAgentId");
    struct load_spec spec = {.leaf = json_get_str(line, "parentLastUuid")};
    struct load *load = NULL;
    int rc;

    if (!line)
        return 0;
    if (!str_is(json_get_str(line, "parentSessionId"), session_id(s)))
        return err_set(err, ERR_NOT_FOUND, "it was forked from another session");
    if (parent.len)
        record_agent_path(session_folder(s), arena_cstr(&arena, parent), &from);
    else
        buf_adds(&from, session_path(s));
    if (load_open(buf_cstr(&from), &spec, cancel, &load, err) < 0)
        return err_prefix(err, "the conversation it was forked from");
    rc = recall_read_fork(load, cancel, &before, err);
    load_free(load);
    if (rc == 0)
        join(&before, io);
    return rc;
}
