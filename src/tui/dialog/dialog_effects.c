/*
 * dialog_effects: what a command that ran on trial would change: one row for each file, and the
 * lines of text files under it. Rows of files that decide what programs run come first and are
 * marked. UI thread.
 */
#include "base/buf.h"
#include "json/json.h"
#include "tui/dialog/dialog_ask.h"
#include "tui/diff/diff_view.h"

#define MAX_TEXT ((size_t)16 << 10)
#define MAX_PATCH_ROWS 6000 /* of all files; they share it evenly */
#define MIN_PATCH_ROWS 40   /* of one file */

static const struct {
    const char *change, *verb;
    char mark;
} changes[] = {
    {"created", "create", '+'}, {"modified", "change", '~'},     {"renamed", "rename", '>'},
    {"deleted", "delete", '-'}, {"mode", "change mode of", '~'}, {"touched", "touch", '~'},
};

/* Below the folder that is worked in by its rest; what could move a cursor is written out. */
static void add_path(struct str path, const char *dir, struct buf *ret)
{
    struct str base = str_of(dir);

    if (base.len && str_starts(path, base) && path.len > base.len && path.ptr[base.len] == '/')
        path = str_from(path, base.len + 1);
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];

        if (c == '\n')
            buf_adds(ret, "\\n");
        else if (c < ' ' || c == 0x7f)
            buf_addf(ret, "\\x%02x", c);
        else
            buf_addc(ret, (char)c);
    }
}

static void add_kind(const struct json *e, struct buf *ret)
{
    struct str type = json_get_str(e, "type");
    struct str mode = json_get_str(e, "mode");
    struct str old = json_get_str(e, "oldMode");
    int64_t files = json_get_i64(e, "files", 0);

    if (json_get(e, "replaces"))
        buf_addf(ret, ", in place of a %.*s", STR_ARG(json_get_str(e, "replaces")));
    if (json_get(e, "target"))
        buf_addf(ret, " -> %.*s", STR_ARG(str_clip(json_get_str(e, "target"), 200)));
    else if (!str_is(type, "file"))
        buf_addf(ret, " (%.*s)", STR_ARG(type));
    if (files)
        buf_addf(ret, " with %lld file%s", (long long)files, files == 1 ? "" : "s");
    if (json_get_bool(e, "binary", false))
        buf_addf(ret, " (binary, %lld bytes)",
                 (long long)json_get_i64(e, json_get(e, "size") ? "size" : "oldSize", 0));
    if (mode.len && old.len && !str_eq(mode, old))
        buf_addf(ret, ", mode %.*s to %.*s", STR_ARG(old), STR_ARG(mode));
    else if (mode.len && !old.len && str_is(type, "file") && !str_is(mode, "0644"))
        buf_addf(ret, ", mode %.*s", STR_ARG(mode));
}

static void draw_change(const struct view *v, const struct json *e, const char *dir,
                        size_t max_rows, struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_TEXT);
    struct str change = json_get_str(e, "change");
    struct str from = json_get_str(e, "from");
    bool is_protected = json_get_bool(e, "protected", false);
    struct diff_view how = {.patch = json_get(e, "structuredPatch"),
                            .path = json_get_str(e, "path"),
                            .cols = v->cols,
                            .max_rows = max_rows,
                            .is_cut = true,
                            .ascii = v->ascii};

    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        if (str_is(change, changes[i].change))
            buf_addf(&text, "%c %s ", changes[i].mark, changes[i].verb);
    }
    if (from.len) {
        add_path(from, dir, &text);
        buf_adds(&text, " to ");
    }
    add_path(json_get_str(e, "path"), dir, &text);
    add_kind(e, &text);
    if (is_protected)
        buf_adds(&text, "  (decides what programs run)");
    dialog_text(v, is_protected ? ROLE_BAD : ROLE_TEXT, buf_str(&text), ret);
    if (how.patch && json_len(how.patch))
        diff_view_draw(&how, ret);
}

static void draw_wanted(const struct view *v, const struct json *effects, const char *dir,
                        struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_TEXT);
    const struct json *wanted = json_get(effects, "wanted");
    struct str what = json_get_str(wanted, "what");
    struct str address = json_get_str(wanted, "address");
    bool has_run = json_get_bool(effects, "ran", false);

    if (has_run)
        buf_adds(&text, "It has run, but could not connect to ");
    else if (str_is(what, "file"))
        buf_adds(&text, "It was stopped when it read ");
    else if (str_is(what, "program"))
        buf_adds(&text, "It was stopped when it ran ");
    else
        buf_adds(&text, "It was stopped when it connected to ");
    add_path(json_get_str(wanted, "name"), dir, &text);
    if (address.len)
        buf_addf(&text, " at the private address %.*s", STR_ARG(str_clip(address, 100)));
    buf_adds(&text, has_run ? "." : ". Nothing has been changed.");
    if (str_is(what, "address"))
        buf_adds(&text, " This does not go through the proxy: it would get the whole network.");
    dialog_text(v, ROLE_BAD, buf_str(&text), ret);
}

void dialog_effects(const struct view *v, const struct json *effects, const char *dir,
                    struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_TEXT);
    const struct json *list = json_get(effects, "changes");
    size_t max_rows;
    int64_t omitted = json_get_i64(effects, "omitted", 0);

    dialog_text(v, ROLE_TEXT, STR(""), ret);
    if (json_get(effects, "wanted")) {
        draw_wanted(v, effects, dir, ret);
        return;
    }
    buf_addf(&text, "It has run on trial. Its changes: %.*s",
             STR_ARG(json_get_str(effects, "summary")));
    dialog_text(v, ROLE_FAINT, buf_str(&text), ret);
    max_rows = MAX_PATCH_ROWS / (json_len(list) ? json_len(list) : 1);
    if (max_rows < MIN_PATCH_ROWS)
        max_rows = MIN_PATCH_ROWS;
    JSON_EACH(list, e) {
        draw_change(v, e, dir, max_rows, ret);
    }
    if (!omitted)
        return;
    buf_clear(&text);
    buf_addf(&text, "and %lld more", (long long)omitted);
    dialog_text(v, ROLE_FAINT, buf_str(&text), ret);
}
