/*
 * target: what Write, Edit, MultiEdit and NotebookEdit do alike. Runs on a tool thread.
 */
#include "tools/target.h"

#include <string.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/utf8.h"
#include "guard/buffers.h"
#include "guard/patch.h"
#include "guard/permit.h"
#include "guard/rule.h"
#include "guard/tool_flags.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "sync/wait.h"
#include "tools/suggest.h"

#define SHOW_MAX_LINES 120
#define SHOW_MAX_LINE 500 /* bytes */

bool target_may_look(struct tool_call *call, const char *key)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct rule_subject subject = {.tool = STR("Read")};
    struct permit_answer answer;

    workspace_about_path(call->workspace, json_get_str(call->args, key), /*writes=*/false, &arena,
                         &subject);
    if (!subject.real || !buffers_serve(call->workspace, subject.real) || !call->permit)
        return true;
    permit_check(call->permit, &subject, TOOL_READ_ONLY, &answer);
    return answer.verdict == PERMIT_ALLOW;
}

int target_open(struct tool_call *call, const char *key, struct target *ret, struct err *err)
{
    CLEANUP(target_release) struct target t = {0};
    CLEANUP(mem_freep) char *real = NULL;
    struct str path = json_get_str(call->args, key);

    if (!path.len)
        return err_set(err, ERR_BAD_INPUT, "%s is empty", key);
    if (memchr(path.ptr, '\0', path.len))
        return err_set(err, ERR_BAD_INPUT, "%s has a NUL character in it", key);
    t.path = workspace_resolve(call->workspace, path);
    real = tool_real_path(call, t.path);
    if (textfile_load(real, &t.file, err) < 0)
        return -1;
    if (textfile_take_buffer(&t.file, call->workspace, call->cancel) == BUFFER_CONFLICT)
        return err_set(err, ERR_BAD_INPUT,
                       t.file.exists
                           ? "'%s' has changed in the editor and on disk, and an edit would lose "
                             "one of the changes: ask the user to save or reload it first"
                           : "'%s' is a new file that the user has not saved yet: ask for it to be "
                             "saved first",
                       t.path);
    *ret = t;
    t = (struct target){0}; /* NOLINT: released at the end of the scope */
    return 0;
}

void target_release(struct target *t)
{
    mem_freep(&t->path);
    textfile_release(&t->file);
}

int target_must_exist(struct tool_call *call, const struct target *t, struct err *err)
{
    CLEANUP(buf_release) struct buf hint = BUF_INIT(BUF_NO_LIMIT);
    struct seen_file seen;

    if (t->file.exists)
        return 0;
    suggest_path(call->workspace, t->path, &hint);
    if (workspace_seen(call->workspace, t->file.path, &seen))
        return err_set(err, ERR_NOT_FOUND,
                       "'%s' is gone: it was deleted or moved since it was read.%s", t->path,
                       buf_cstr(&hint));
    return err_set(err, ERR_NOT_FOUND, "'%s' does not exist.%s", t->path, buf_cstr(&hint));
}

static bool target_has_changed(const struct target *t, const struct seen_file *seen)
{
    const struct timespec *mtime = &t->file.st.st_mtim;

    /* The time alone proves nothing: git checkout and touch move it, and two writes can share it.
     */
    if (!seen->recalled_ms)
        return seen->hash != seen_hash(buf_str(&t->file.raw));
    /* But nothing else is known about files seen before a resume. */
    return (int64_t)mtime->tv_sec * 1000 + mtime->tv_nsec / 1000000 > seen->recalled_ms;
}

int target_must_be_seen(struct tool_call *call, const struct target *t, struct err *err)
{
    struct seen_file seen;

    if (!t->file.exists || !t->file.raw.len)
        return 0;
    if (!workspace_seen(call->workspace, t->file.path, &seen))
        return err_set(err, ERR_BAD_INPUT, "'%s' has not been read yet: Read it first", t->path);
    if (target_has_changed(t, &seen))
        return err_set(err, ERR_BAD_INPUT,
                       "'%s' has changed since it was read (by the user, a command or a "
                       "formatter): Read it again, then make the change",
                       t->path);
    return 0;
}

int target_may_become(const struct target *t, struct str text, struct err *err)
{
    CLEANUP(buf_release) struct buf raw = BUF_INIT(BUF_NO_LIMIT); /* text is limited */

    if (t->file.encoding != ENCODING_UTF8 && encode_to(t->file.encoding, text, &raw, err) < 0)
        return err_prefix(err, "'%s'", t->path);
    if (!str_has(text, STR(SECRET_HIDDEN)) || str_has(t->file.text, STR(SECRET_HIDDEN)) ||
        !secret_is_in(t->file.text))
        return 0;
    return err_set(err, ERR_BAD_INPUT,
                   "'%s' holds a key, which was shown as " SECRET_HIDDEN
                   ": leave that line alone, and change others with Edit",
                   t->path);
}

/* The editor writes, so that its buffer has the text, too. Its formatter may have a say. */
static int target_save_buffer(struct tool_call *call, struct target *t, struct str text,
                              struct err *err)
{
    CLEANUP(textfile_release) struct textfile now = {0};
    bool is_there;

    if (text.len > TEXTFILE_MAX)
        return err_set(err, ERR_TOO_BIG, "'%s' would have more than %zu MB", t->path,
                       TEXTFILE_MAX >> 20);
    if (buffers_write(call->workspace, t->file.path, text, call->cancel, err) < 0)
        return err_prefix(err, "the editor cannot write '%s'", t->path);
    is_there = textfile_load(t->file.path, &now, /*err=*/NULL) == 0 && now.exists;
    if (!buffers_wrote(call->workspace, t->file.path, text, is_there ? now.text : STR("")))
        t->note = is_there
                      ? "The file on disk differs from what was written: the editor has formatted "
                        "it, or not saved it yet. Commands see the file on disk."
                      : "The editor has not saved the file: it is not on disk yet.";
    t->file.exists = is_there;
    t->file.st = now.st;
    buf_clear(&t->file.raw);
    buf_add(&t->file.raw, text);
    t->file.text = buf_str(&t->file.raw);
    return 0;
}

int target_save(struct tool_call *call, struct target *t, struct str text, struct err *err)
{
    struct stat now;
    bool exists = stat(t->file.path, &now) == 0;

    if (exists != t->file.exists || (exists && (now.st_size != t->file.st.st_size ||
                                                now.st_mtim.tv_sec != t->file.st.st_mtim.tv_sec ||
                                                now.st_mtim.tv_nsec != t->file.st.st_mtim.tv_nsec)))
        return err_set(err, ERR_BAD_INPUT,
                       "'%s' is being changed by another process: Read it again", t->path);
    wait_point(WAIT_WRITE, call->cancel);
    if (cancel_check(call->cancel, err) < 0)
        return -1;
    if (t->file.encoding == ENCODING_UTF8 && !t->file.has_mark && utf8_is_valid(text) &&
        buffers_serve_writes(call->workspace, t->file.path)) {
        if (target_save_buffer(call, t, text, err) < 0)
            return -1;
    } else if (textfile_save(&t->file, text, err) < 0) {
        return -1;
    }
    workspace_saw(call->workspace, t->file.path, &t->file.st, buf_str(&t->file.raw), false);
    return 0;
}

void target_write_data(const struct target *t, const struct buf *original,
                       const struct patch *patch, struct jw *out)
{
    jw_kcstr(out, "filePath", t->path);
    if (!original)
        jw_kcstr(out, "originalFile", NULL);
    else if (original->len <= TARGET_MAX_ORIGINAL)
        jw_kstr(out, "originalFile", buf_str(original));
    jw_key(out, "structuredPatch");
    patch_write(patch, out);
}

void target_end_text(const struct target *t, struct tool_result *ret)
{
    if (t->note)
        buf_addf(&ret->text, "\n\n[%s]", t->note);
}

void target_end_data(struct jw *out, struct tool_result *ret)
{
    jw_object_end(out);
    if (ret->data.over)
        buf_clear(&ret->data);
}

void target_show(const struct patch *patch, struct tool_result *ret)
{
    size_t left = SHOW_MAX_LINES;
    size_t shown_to = 0;

    VEC_EACH(&patch->hunks, hunk) {
        if (shown_to && hunk->new_at > shown_to)
            buf_adds(&ret->text, "\n     …");
        for (size_t i = hunk->new_at; i < hunk->new_at + hunk->new_len; i++) {
            struct str line = patch->news.ptr[i];
            struct str start;

            if (!left--) {
                buf_adds(&ret->text, "\n(more changes are not shown)");
                return;
            }
            if (line.len && line.ptr[line.len - 1] == '\r')
                line.len--;
            start = str_clip(line, SHOW_MAX_LINE);
            buf_addf(&ret->text, "\n%6zu\t", i + 1);
            buf_add(&ret->text, start);
            if (start.len < line.len)
                buf_adds(&ret->text, "…");
        }
        shown_to = hunk->new_at + hunk->new_len;
    }
}
