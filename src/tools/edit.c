/*
 * Edit: one replacement in a file the model has read. The file is changed in memory and replaced
 * whole, so that nothing is ever half done. Runs on a tool thread; sees only its call.
 */
#include "tools/edit.h"

#include "agent/tool.h"
#include "base/err.h"
#include "guard/patch.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/edit_match.h"
#include "tools/entries.h"
#include "tools/target.h"

#define EDIT_CONTEXT 3 /* lines shown around a change */

static void tool_edit_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret);
static void tool_edit_expand(const struct tool_entry *e, struct workspace *w,
                             const struct json *args, struct buf *ret);
static int tool_edit_check(struct tool_call *call, struct tool_result *ret, struct err *err);
static int tool_edit_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_edit_entry = {
    .name = "Edit",
    .text = tool_edit_md,
    .schema = tool_edit_schema,
    .specifier = ABOUT_PATH,
    .flags = TOOL_EDITS,
    .about = tool_edit_about,
    .expand = tool_edit_expand,
    .check = tool_edit_check,
    .run = tool_edit_run,
};

static void tool_edit_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret)
{
    workspace_about_path(w, json_get_str(args, "file_path"), /*writes=*/true, arena, ret);
    (void)e;
}

static void tool_edit_expand(const struct tool_entry *e, struct workspace *w,
                             const struct json *args, struct buf *ret)
{
    (void)e;
    tool_expand_path(w, args, "file_path", ret);
}

struct edit edit_from(const struct json *args)
{
    return (struct edit){
        .old = json_get_str(args, "old_string"),
        .new = json_get_str(args, "new_string"),
        .all = json_get_bool(args, "replace_all", false),
    };
}

/* One edit, from text into ret_text; the reason in ret_why when it cannot be made. */
static int edit_one(const struct edit *e, bool is_first, struct str text, struct buf *ret_text,
                    size_t *ret_places, struct buf *ret_why)
{
    if (str_eq(e->old, e->new)) {
        buf_adds(ret_why, "old_string and new_string are the same.");
        return -1;
    }
    if (e->old.len)
        return edit_match_apply(text, e, ret_text, ret_places, ret_why);
    if (text.len || !is_first) {
        buf_adds(ret_why, is_first
                              ? "old_string is empty, and the file is not: say what to replace."
                              : "old_string is empty; only the first edit may create a file.");
        return -1;
    }
    buf_add(ret_text, e->new);
    *ret_places = 1;
    return 0;
}

static int edit_all(const struct edit *edits, size_t count, struct str text, struct buf *ret_text,
                    size_t *ret_places, struct tool_result *ret)
{
    CLEANUP(buf_release) struct buf now = BUF_INIT(TEXTFILE_MAX * 4);
    CLEANUP(buf_release) struct buf why = BUF_INIT(TOOL_MAX_TEXT);

    buf_add(&now, text);
    *ret_places = 0;
    for (size_t i = 0; i < count; i++) {
        struct buf next = BUF_INIT(TEXTFILE_MAX * 4);
        size_t places = 0;
        int rc = edit_one(&edits[i], i == 0, buf_str(&now), &next, &places, &why);

        if (rc == 0 && next.over) {
            buf_adds(&why, "the file would become too large.");
            rc = -1;
        }
        if (rc < 0) {
            buf_release(&next);
            if (count > 1)
                buf_addf(&ret->text, "Nothing was changed: edit %zu of %zu failed%s. ", i + 1,
                         count, i ? " (after the ones before it)" : "");
            buf_add(&ret->text, buf_str(&why));
            ret->is_error = true;
            return -1;
        }
        *ret_places += places;
        buf_move(&now, &next);
    }
    buf_move(ret_text, &now);
    return 0;
}

static void edit_write_data(struct tool_call *call, const struct target *t, const struct buf *old,
                            const struct patch *patch, struct tool_result *ret)
{
    const struct json *edits = json_get(call->args, "edits");
    struct jw out;

    jw_init(&out, &ret->data, 0);
    jw_object(&out);
    target_write_data(t, old, patch, &out);
    if (edits) {
        jw_kjson(&out, "edits", edits);
    } else {
        jw_kstr(&out, "oldString", json_get_str(call->args, "old_string"));
        jw_kstr(&out, "newString", json_get_str(call->args, "new_string"));
        jw_kbool(&out, "replaceAll", json_get_bool(call->args, "replace_all", false));
    }
    jw_kbool(&out, "userModified", false);
    target_end_data(&out, ret);
}

/* What would be done: the file, its new text, and in how many places it differs. When it cannot be
 * done, ret says why (1) or err (-1). */
static int edit_find(struct tool_call *call, const struct edit *edits, size_t count,
                     struct target *ret_target, struct buf *ret_text, size_t *ret_places,
                     struct tool_result *ret, struct err *err)
{
    struct target *t = ret_target;

    if (target_open(call, "file_path", t, err) < 0)
        return -1;
    if (edits[0].old.len && target_must_exist(call, t, err) < 0)
        return -1;
    if (target_must_be_seen(call, t, err) < 0)
        return -1;
    if (t->file.is_lossy)
        return err_set(err, ERR_BAD_INPUT,
                       "'%s' is damaged %s: an edit would change more than was asked for", t->path,
                       encoding_name(t->file.encoding));
    if (edit_all(edits, count, t->file.text, ret_text, ret_places, ret) < 0) {
        if (str_ends(str_of(t->path), STR(".ipynb")))
            buf_adds(&ret->text, " Cells of a notebook are changed with NotebookEdit.");
        return 1;
    }
    return target_may_become(t, buf_str(ret_text), err);
}

static int edit_save(struct tool_call *call, struct target *t, struct str text, size_t places,
                     struct tool_result *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(patch_release) struct patch patch = {0};
    bool was_there = t->file.exists;

    buf_add(&old, t->file.text);
    if (target_save(call, t, text, err) < 0)
        return -1;
    patch_make(&patch, buf_str(&old), text, EDIT_CONTEXT);
    edit_write_data(call, t, was_there ? &old : NULL, &patch, ret);
    if (!old.len) {
        buf_addf(&ret->text, "%s '%s'.", was_there ? "Filled" : "Created", t->path);
        target_end_text(t, ret);
        return 0;
    }
    buf_addf(&ret->text, "Changed '%s' in %zu place%s. It now reads:", t->path, places,
             places == 1 ? "" : "s");
    target_show(&patch, ret);
    target_end_text(t, ret);
    return 0;
}

int edit_file(struct tool_call *call, const struct edit *edits, size_t count, bool only_look,
              struct tool_result *ret, struct err *err)
{
    CLEANUP(target_release) struct target t = {0};
    CLEANUP(buf_release) struct buf text = BUF_INIT(TEXTFILE_MAX * 4);
    size_t places;
    int found;

    if (only_look && !target_may_look(call, "file_path"))
        return 0;
    found = edit_find(call, edits, count, &t, &text, &places, ret, err);
    if (found || only_look)
        return found < 0 ? -1 : 0;
    return edit_save(call, &t, buf_str(&text), places, ret, err);
}

static int tool_edit_check(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct edit e = edit_from(call->args);

    return edit_file(call, &e, 1, /*only_look=*/true, ret, err);
}

static int tool_edit_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct edit e = edit_from(call->args);

    return edit_file(call, &e, 1, /*only_look=*/false, ret, err);
}
