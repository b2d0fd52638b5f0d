/*
 * Write: creates or replaces a file. The new text goes to a temporary file first, so that a full
 * disk or a cancel leaves the old content in place. What the model cannot see of an old file
 * (encoding, \r\n) is kept. Runs on a tool thread; sees only its call.
 */
#include "agent/tool.h"
#include "base/err.h"
#include "guard/patch.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/entries.h"
#include "tools/target.h"

static void tool_write_about(const struct tool_entry *e, struct workspace *w,
                             const struct json *args, struct arena *arena,
                             struct rule_subject *ret);
static void tool_write_expand(const struct tool_entry *e, struct workspace *w,
                              const struct json *args, struct buf *ret);
static int tool_write_check(struct tool_call *call, struct tool_result *ret, struct err *err);
static int tool_write_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_write_entry = {
    .name = "Write",
    .text = tool_write_md,
    .schema = tool_write_schema,
    .flags = TOOL_EDITS,
    .about = tool_write_about,
    .expand = tool_write_expand,
    .check = tool_write_check,
    .run = tool_write_run,
};

static void tool_write_about(const struct tool_entry *e, struct workspace *w,
                             const struct json *args, struct arena *arena, struct rule_subject *ret)
{
    workspace_about_path(w, json_get_str(args, "file_path"), /*writes=*/true, arena, ret);
    (void)e;
}

static void tool_write_expand(const struct tool_entry *e, struct workspace *w,
                              const struct json *args, struct buf *ret)
{
    (void)e;
    tool_expand_path(w, args, "file_path", ret);
}

/* Every line ends in \r\n. */
static bool text_is_dos(struct str text)
{
    bool any = false;

    for (size_t at = str_chr(text, '\n'); at < text.len;
         at += 1 + str_chr(str_from(text, at + 1), '\n')) {
        if (!at || text.ptr[at - 1] != '\r')
            return false;
        any = true;
    }
    return any;
}

static void add_dos(struct buf *out, struct str text)
{
    while (text.len) {
        size_t n = str_chr(text, '\n');

        buf_add(out, str_first(text, n));
        if (n < text.len)
            buf_adds(out, "\r\n");
        text = str_from(text, n + 1);
    }
}

static int write_over(struct tool_call *call, struct target *t, struct str content,
                      struct tool_result *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(patch_release) struct patch patch = {0};
    bool was_there = t->file.exists;
    size_t lines = text_count_lines(content);
    struct jw out;

    buf_add(&old, t->file.text);
    if (target_save(call, t, content, err) < 0)
        return -1;
    jw_init(&out, &ret->data, 0);
    jw_object(&out);
    jw_kcstr(&out, "type", was_there ? "update" : "create");
    jw_kstr(&out, "content", content);
    if (was_there)
        patch_make(&patch, buf_str(&old), content, 3);
    target_write_data(t, was_there ? &old : NULL, &patch, &out);
    target_end_data(&out, ret);
    buf_addf(&ret->text, "%s '%s' (%zu line%s).", was_there ? "Replaced" : "Created", t->path,
             lines, lines == 1 ? "" : "s");
    return 0;
}

/* What would be done: the file and its new text, which slices the arguments or `dos`. */
static int write_find(struct tool_call *call, struct target *ret_target, struct buf *dos,
                      struct str *ret_content, struct err *err)
{
    struct target *t = ret_target;
    struct str content = json_get_str(call->args, "content");

    if (str_ends(json_get_str(call->args, "file_path"), STR("/")))
        return err_set(err, ERR_BAD_INPUT, "file_path ends with '/': it must name a file");
    if (target_open(call, "file_path", t, err) < 0 || target_must_be_seen(call, t, err) < 0)
        return -1;
    if (text_is_dos(t->file.text) && !str_has(content, STR("\r"))) {
        add_dos(dos, content);
        if (buf_check(dos, err) < 0)
            return -1;
        content = buf_str(dos);
    }
    /* A mark that the model writes itself is not doubled. */
    if (t->file.has_mark && str_starts(content, STR("\xef\xbb\xbf")))
        content = str_from(content, 3);
    *ret_content = content;
    return target_may_become(t, content, err);
}

static int tool_write_check(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(target_release) struct target t = {0};
    CLEANUP(buf_release) struct buf dos = BUF_INIT(TEXTFILE_MAX * 2);
    struct str content;

    (void)ret;
    if (!target_may_look(call, "file_path"))
        return 0;
    return write_find(call, &t, &dos, &content, err);
}

static int tool_write_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    CLEANUP(target_release) struct target t = {0};
    CLEANUP(buf_release) struct buf dos = BUF_INIT(TEXTFILE_MAX * 2);
    struct str content;

    if (write_find(call, &t, &dos, &content, err) < 0)
        return -1;
    if (write_over(call, &t, content, ret, err) < 0)
        return -1;
    if (dos.len)
        buf_adds(&ret->text, " Its lines still end in \\r\\n.");
    target_end_text(&t, ret);
    return 0;
}
