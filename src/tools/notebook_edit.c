/*
 * NotebookEdit: replaces, inserts or deletes one cell of a notebook; everything else in the file
 * stays as it is, byte for byte. Runs on a tool thread; sees only its call.
 */

#include "agent/tool.h"
#include "base/err.h"
#include "guard/patch.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/entries.h"
#include "tools/notebook.h"
#include "tools/target.h"

static void tool_notebook_edit_about(const struct tool_entry *e, struct workspace *w,
                                     const struct json *args, struct arena *arena,
                                     struct rule_subject *ret);
static void tool_notebook_edit_expand(const struct tool_entry *e, struct workspace *w,
                                      const struct json *args, struct buf *ret);
static int tool_notebook_edit_check(struct tool_call *call, struct tool_result *ret,
                                    struct err *err);
static int tool_notebook_edit_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_notebook_edit_entry = {
    .name = "NotebookEdit",
    .text = tool_notebook_edit_md,
    .schema = tool_notebook_edit_schema,
    .flags = TOOL_EDITS,
    .about = tool_notebook_edit_about,
    .expand = tool_notebook_edit_expand,
    .check = tool_notebook_edit_check,
    .run = tool_notebook_edit_run,
};

static void tool_notebook_edit_about(const struct tool_entry *e, struct workspace *w,
                                     const struct json *args, struct arena *arena,
                                     struct rule_subject *ret)
{
    workspace_about_path(w, json_get_str(args, "notebook_path"), /*writes=*/true, arena, ret);
    (void)e;
}

static void tool_notebook_edit_expand(const struct tool_entry *e, struct workspace *w,
                                      const struct json *args, struct buf *ret)
{
    (void)e;
    tool_expand_path(w, args, "notebook_path", ret);
}

/* The change that the arguments ask for; checks that they fit together. */
static int change_from(const struct json *args, const struct notebook *nb,
                       struct notebook_change *ret, size_t *ret_index, struct err *err)
{
    struct str mode = json_get_str(args, "edit_mode");
    struct str type = json_get_str(args, "cell_type");
    struct str id = json_get_str(args, "cell_id");

    *ret = (struct notebook_change){.mode = NOTEBOOK_REPLACE,
                                    .source = json_get_str(args, "new_source")};
    if (str_is(mode, "insert"))
        ret->mode = NOTEBOOK_INSERT;
    else if (str_is(mode, "delete"))
        ret->mode = NOTEBOOK_DELETE;
    if (type.len)
        ret->type = str_is(type, "code") ? "code" : "markdown";

    if (ret->mode == NOTEBOOK_INSERT && !ret->type)
        return err_set(err, ERR_BAD_INPUT, "insert needs cell_type: code or markdown");
    if (ret->mode != NOTEBOOK_INSERT && !id.len)
        return err_set(err, ERR_BAD_INPUT, "cell_id is required to replace or delete a cell");
    if (id.len) {
        ret->cell = notebook_find(nb, id, ret_index);
        if (!ret->cell)
            return err_set(err, ERR_NOT_FOUND,
                           "there is no cell '%.*s': the notebook has %zu, cell-0 to cell-%zu",
                           STR_ARG(str_clip(id, 100)), json_len(nb->cells),
                           json_len(nb->cells) ? json_len(nb->cells) - 1 : 0);
    }
    return 0;
}

/* What would be done, and with which texts. */
struct plan {
    struct target target;
    struct notebook nb; /* of `old` */
    struct notebook_change change;
    struct buf old, text;
    struct buf id; /* of the cell, for the model */
};

#define PLAN_INIT                                                                                  \
    {                                                                                              \
        .old = BUF_INIT(BUF_NO_LIMIT), .text = BUF_INIT(TEXTFILE_MAX * 2),                         \
        .id = BUF_INIT(BUF_NO_LIMIT)                                                               \
    }

static void plan_release(struct plan *p)
{
    notebook_release(&p->nb);
    target_release(&p->target);
    buf_release(&p->old);
    buf_release(&p->text);
    buf_release(&p->id);
}

static int plan_make(struct tool_call *call, struct plan *p, struct err *err)
{
    struct target *t = &p->target;
    size_t index = 0;

    if (target_open(call, "notebook_path", t, err) < 0 || target_must_exist(call, t, err) < 0)
        return -1;
    if (!str_ends(str_of(t->path), STR(".ipynb")))
        return err_set(err, ERR_BAD_INPUT, "'%s' is not a notebook (.ipynb): use Edit", t->path);
    if (target_must_be_seen(call, t, err) < 0)
        return -1;
    buf_add(&p->old, t->file.text); /* the notebook points into it, and saving lets the other go */
    if (notebook_parse(&p->nb, buf_str(&p->old), err) < 0 ||
        change_from(call->args, &p->nb, &p->change, &index, err) < 0 ||
        notebook_edit(&p->nb, &p->change, &p->text, &p->id, err) < 0)
        return err_prefix(err, "'%s'", t->path);
    if (p->change.mode != NOTEBOOK_INSERT)
        buf_add(&p->id, json_get_str(call->args, "cell_id"));
    else if (!p->id.len)
        buf_addf(&p->id, "cell-%zu", p->change.cell ? index + 1 : 0);
    return target_may_become(t, buf_str(&p->text), err);
}

static void plan_report(struct tool_call *call, const struct plan *p, struct tool_result *ret)
{
    static const char *const done[] = {"Replaced", "Inserted", "Deleted"};
    static const char *const modes[] = {"replace", "insert", "delete"};
    CLEANUP(patch_release) struct patch patch = {0};
    struct jw out;

    patch_make(&patch, buf_str(&p->old), buf_str(&p->text), 3);
    jw_init(&out, &ret->data, 0);
    jw_object(&out);
    target_write_data(&p->target, &p->old, &patch, &out);
    jw_kstr(&out, "cell_id", buf_str(&p->id));
    jw_kcstr(&out, "edit_mode", modes[p->change.mode]);
    jw_kstr(&out, "new_source", json_get_str(call->args, "new_source"));
    target_end_data(&out, ret);
    buf_addf(&ret->text, "%s cell '%.*s' of '%s'.", done[p->change.mode], STR_ARG(buf_str(&p->id)),
             p->target.path);
}

static int tool_notebook_edit_check(struct tool_call *call, struct tool_result *ret,
                                    struct err *err)
{
    CLEANUP(plan_release) struct plan p = PLAN_INIT;

    (void)ret;
    if (!target_may_look(call, "notebook_path"))
        return 0;
    return plan_make(call, &p, err);
}

static int tool_notebook_edit_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(plan_release) struct plan p = PLAN_INIT;

    if (plan_make(call, &p, err) < 0 || target_save(call, &p.target, buf_str(&p.text), err) < 0)
        return -1;
    plan_report(call, &p, ret);
    target_end_text(&p.target, ret);
    return 0;
}
