/*
 * attach: state that survives a compaction. Files are read again, so that the model sees the
 * current text, which its next edit has to match.
 */
#include "agent/compact/attach.h"

#include <string.h>
#include <sys/stat.h>

#include "agent/agent_state.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/utf8.h"
#include "context/called_skills.h"
#include "context/reminder.h"
#include "guard/workspace.h"
#include "llm/room.h"

#define ATTACH_MAX_SLURP ((size_t)1 << 20)

void attached_release(struct attached *s)
{
    vec_release(&s->blocks);
    strv_release(&s->forgotten);
    arena_release(&s->arena);
}

void attach_reminders(struct attached *s, struct str reminders)
{
    char uuid[ID_UUID_LEN + 1];

    if (!reminders.len)
        return;
    id_uuid(uuid);
    vec_push(&s->blocks, ((struct block){
                             .kind = BLOCK_TEXT,
                             .text = arena_str(&s->arena, reminders),
                             .entry = arena_str(&s->arena, str_of(uuid)),
                         }));
}

static void attach_context(struct agent *a, struct turn *t, struct attached *s)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);

    if (a->spec.again)
        a->spec.again(a->spec.news_arg, t->cancel, &text);
    agent_tell_loaded(a);
    attach_reminders(s, text.len ? buf_str(&text) : a->spec.context);
}

/* ---- Files ---- */

/* False if there is nothing to show. */
static bool file_show(struct agent *a, const char *path, size_t max, struct buf *ret)
{
    CLEANUP(buf_release) struct buf content = BUF_INIT(ATTACH_MAX_SLURP);
    struct str all;
    struct stat st;

    if (stat(path, &st) < 0 || file_slurp(path, ATTACH_MAX_SLURP, &content, /*err=*/NULL) < 0)
        return false;
    all = buf_str(&content);
    if (!all.len || !utf8_is_valid(all) || memchr(all.ptr, '\0', all.len))
        return false;
    workspace_saw(a->spec.workspace, path, &st, all,
                  /*partial=*/reminder_file(ret, path, all, max));
    return true;
}

/* Oldest first, to keep the order in which the files were read. */
static void attach_files(struct agent *a, const struct window_room *room, size_t first,
                         struct attached *s)
{
    struct workspace *w = a->spec.workspace;
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    size_t wanted = 0;
    size_t left = room->files_bytes;
    size_t last = 0; /* entries of the list considered so far */

    workspace_seen_paths(w, &paths);
    while (last < paths.len && wanted < ATTACH_MAX_FILES)
        wanted += !history_has_call(&a->history, first, "Read", str_of(paths.ptr[last++]));
    for (size_t i = paths.len; i-- > 0;) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);
        size_t max = room->file_bytes < left ? room->file_bytes : left;

        if (history_has_call(&a->history, first, "Read", str_of(paths.ptr[i])))
            continue;
        if (i >= last || !max || !file_show(a, paths.ptr[i], max, &text)) {
            strv_adds(&s->forgotten, paths.ptr[i]);
            continue;
        }
        left -= max < text.len ? max : text.len;
        attach_reminders(s, buf_str(&text));
    }
}

/* ---- Skills ---- */

/* Repeats the skills whose text was removed, most recent first. */
static void attach_skills(struct agent *a, const struct window_room *room, size_t first,
                          struct attached *s)
{
    CLEANUP(called_skills_release) struct called_skills skills = {0};
    size_t left = room->files_bytes;
    size_t kept;

    called_skills_find(&skills, &a->history, first, a->history.list.len);
    kept = skills.list.len; /* the model can still read these */
    called_skills_find(&skills, &a->history, 0, first);
    for (size_t i = kept; i < skills.list.len && i < kept + ATTACH_MAX_SKILLS && left; i++) {
        const struct called_skill *it = &skills.list.ptr[i];
        CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);
        size_t max = room->file_bytes < left ? room->file_bytes : left;

        if (it->again.len > left)
            continue;
        called_skill_repeat(it, max, &text);
        attach_reminders(s, buf_str(&text));
        left -= it->again.len ? it->again.len : str_clip(it->body, max).len;
    }
}

/* ---- Other state ---- */

static void attach_work(struct agent *a, struct attached *s)
{
    struct workspace *w = a->spec.workspace;
    CLEANUP(buf_release) struct buf todos = BUF_INIT(AGENT_MAX_TEXT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);
    CLEANUP(mem_freep) char *cwd = workspace_cwd(w);

    workspace_todos(w, &todos);
    reminder_todos(&text, buf_str(&todos));
    if (strcmp(cwd, workspace_dir(w)) != 0) {
        CLEANUP(buf_release) struct buf where = BUF_INIT(AGENT_MAX_TEXT);

        buf_addf(&where, "The working directory is now %s.", cwd);
        reminder_add(&text, buf_str(&where));
    }
    s->mode = permit_mode(a->spec.permit);
    reminder_plan(&text, /*was_on=*/false, s->mode == MODE_PLAN, a->spec.plan_steps);
    attach_reminders(s, buf_str(&text));
}

static void attach_hooks(struct agent *a, struct turn *t, struct attached *s)
{
    CLEANUP(buf_release) struct buf context = BUF_INIT(HOOK_MAX_TEXT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);

    turn_ask_start_hooks(a, t, STR("compact"), &context, /*ret_first=*/NULL);
    reminder_add(&text, buf_str(&context));
    attach_reminders(s, buf_str(&text));
}

static void attach_extra(struct agent *a, struct attached *s)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct extra_view view = agent_extra(a);

    extra_write_again(&view, &text);
    attach_reminders(s, buf_str(&text));
}

void attach_state(struct agent *a, struct turn *t, const struct window_room *room, size_t first,
                  struct attached *ret)
{
    attach_context(a, t, ret);
    attach_files(a, room, first, ret);
    attach_skills(a, room, first, ret);
    attach_work(a, ret);
    attach_extra(a, ret);
    attach_hooks(a, t, ret);
}

void attach_done(struct agent *a, const struct attached *s)
{
    a->told_mode = s->mode;
    for (size_t i = 0; i < s->forgotten.len; i++)
        workspace_forget(a->spec.workspace, s->forgotten.ptr[i]);
}
