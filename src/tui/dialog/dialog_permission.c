/*
 * dialog_permission: may this call run? Shows the command whole, or the change as a diff, why it
 * must be asked, and the exact rule that "always" would add and where it is kept.
 *
 * Rows keep their numbers: "always" is shown, but off, where no rule can be suggested, so that 3
 * and 4 never mean something else. What leaves the sandbox, or touches files that decide what
 * programs run, has "no" under the cursor. UI thread.
 */
#include "base/buf.h"
#include "json/json.h"
#include "json/jw.h"
#include "tui/dialog/dialog_ask.h"
#include "tui/diff/diff_view.h"
#include "tui/markdown/code.h"
#include "tui/screen/keypress.h"
#include "tui/screen/width.h"

#define MAX_VALUE ((size_t)64 << 10) /* of a member that is shown */
#define TITLE_CELLS 3                /* in front of a title */
#define MAX_ABOUT 2                  /* rows of what the model says about a command */
#define SHORT_ROWS 12                /* more, and the reason comes first */

enum permission_row {
    ROW_YES,
    ROW_ALWAYS,
    ROW_SAY,
    ROW_NO,
    ROW_SESSION, /* of what a command on trial wanted: always, but not kept */
};

struct permission {
    struct dialog_ask ask;
    bool leaves_sandbox;
    bool is_edit;
    bool accepts_edits;           /* Shift-Tab */
    struct diff_preview *preview; /* NULL: it is no change of a file, or all of it is drawn */
    size_t before;                /* rows of the text in front of it */
};

static bool is_edit_tool(struct str tool)
{
    return str_is_word_of(tool, "Edit MultiEdit Write NotebookEdit");
}

/* ---- the title ---- */

static struct str relative(struct str path, const char *dir)
{
    struct str base = str_of(dir);

    if (base.len && str_starts(path, base) && path.len > base.len && path.ptr[base.len] == '/')
        return str_from(path, base.len + 1);
    return path;
}

/* "mcp__server__tool" */
static bool add_server_tool(struct str tool, struct buf *ret)
{
    struct str rest = str_from(tool, 5);
    size_t at = str_find(rest, STR("__"));

    if (!str_starts(tool, STR("mcp__")) || at == rest.len)
        return false;
    buf_addf(ret, "Use %.*s of the server %.*s", STR_ARG(str_from(rest, at + 2)),
             STR_ARG(str_first(rest, at)));
    return true;
}

static void make_title(const struct asked *a, bool leaves_sandbox, struct buf *ret)
{
    struct str path = json_get_str(a->input, "file_path");

    if (!path.len)
        path = json_get_str(a->input, "notebook_path");
    if (leaves_sandbox)
        buf_adds(ret, "Command outside the sandbox");
    else if (str_is(a->tool, "Bash"))
        buf_adds(ret, "Run a command");
    else if (path.len)
        buf_addf(ret, "%.*s %.*s", STR_ARG(a->tool), STR_ARG(relative(path, a->dir)));
    else if (str_is(a->tool, "WebFetch"))
        buf_adds(ret, "Fetch a page");
    else if (!add_server_tool(a->tool, ret))
        buf_addf(ret, "Use %.*s", STR_ARG(a->tool));
}

/* ---- what would be done ---- */

static void draw_code(const struct view *v, struct str language, struct str text, struct lines *ret)
{
    struct lines line = LINES_INIT;
    struct wrap how = {.cells = v->cols, .anywhere = true};
    struct str row;
    int state = 0;

    line.shows_all = true;
    while (str_cut(&text, '\n', &row)) {
        lines_clear(&line);
        code_draw(language, row, &state, &line);
        lines_end(&line);
        lines_wrap(ret, lines_at(&line, 0), &how);
    }
    lines_release(&line);
}

static void draw_member(const struct view *v, const struct json *m, struct lines *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(2 * MAX_VALUE);
    struct str value = json_is(m, JSON_STRING) ? json_str(m) : json_raw(m);

    buf_addf(&text, "%.*s: ", STR_ARG(str_clip(json_key(m), 200)));
    if (str_chr(value, '\n') < value.len)
        buf_addc(&text, '\n');
    buf_add(&text, str_clip(value, MAX_VALUE));
    if (value.len > MAX_VALUE)
        buf_addf(&text, "\n(%zu more bytes)", value.len - MAX_VALUE);
    dialog_text(v, ROLE_TEXT, buf_str(&text), ret);
}

/* The model's own words about its command never push it out of sight. */
static void draw_about(const struct view *v, struct str about, struct lines *ret)
{
    struct lines rows = LINES_INIT;

    dialog_text(v, ROLE_FAINT, str_first(about, str_chr(about, '\n')), &rows);
    for (size_t i = 0; i < lines_count(&rows) && i < MAX_ABOUT; i++)
        lines_add(ret, lines_at(&rows, i));
    lines_release(&rows);
}

/* A change is only found here, and drawn later. */
static void draw_call(struct permission *p, const struct view *v, struct lines *ret)
{
    const struct asked *a = &p->ask.asked;
    struct str command = json_get_str(a->input, "command");
    struct diff_view how = {
        .path = json_get_str(a->input, "file_path"), .cols = v->cols, .ascii = v->ascii};

    if (str_is(a->tool, "Bash") && command.len) {
        struct str about = json_get_str(a->input, "description");

        if (about.len)
            draw_about(v, about, ret);
        draw_code(v, STR("bash"), command, ret);
        if (json_get_bool(a->input, "run_in_background", false))
            dialog_text(v, ROLE_FAINT, STR("It would run in the background."), ret);
        if (a->effects)
            dialog_effects(v, a->effects, a->dir, ret);
        return;
    }
    /* The title is cut at its end, where the file's name is. */
    if (width_of(p->ask.page.title) + TITLE_CELLS > v->cols)
        dialog_text(v, ROLE_TEXT, p->ask.page.title, ret);
    p->preview = diff_preview_new(a->tool, a->input, a->dir, &how);
    if (p->preview)
        return;
    JSON_EACH(a->input, m) {
        draw_member(v, m, ret);
    }
}

static void draw_why(const struct permission *p, const struct view *v, struct lines *ret)
{
    const struct asked *a = &p->ask.asked;
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_VALUE);

    if (a->reason.len) {
        buf_addf(&text, "Why: %.*s", STR_ARG(a->reason));
        if (a->blocked_path.len && !str_has(a->reason, a->blocked_path))
            buf_addf(&text, " (%.*s)", STR_ARG(a->blocked_path));
        dialog_text(v, ROLE_FAINT, buf_str(&text), ret);
    }
}

static void drop_preview(struct permission *p)
{
    diff_preview_free(p->preview);
    p->preview = NULL;
}

/* A long change is drawn by permission_more(). */
static void permission_body(void *arg, const struct view *v, struct lines *ret)
{
    struct permission *p = arg;
    struct lines call = LINES_INIT;
    size_t rows;

    if (p->leaves_sandbox)
        dialog_text(v, ROLE_BAD,
                    STR("It would run OUTSIDE the sandbox: it can read and change every file of "
                        "yours and reach the network."),
                    ret);
    drop_preview(p);
    draw_call(p, v, &call);
    rows = lines_count(&call) + (p->preview ? diff_preview_rows(p->preview) : 0);
    if (p->preview && rows <= SHORT_ROWS) {
        diff_preview_draw(p->preview, SIZE_MAX, &call);
        drop_preview(p);
    }
    if (rows > SHORT_ROWS)
        draw_why(p, v, ret);
    lines_add_all(ret, &call);
    if (rows <= SHORT_ROWS)
        draw_why(p, v, ret);
    p->before = lines_count(ret);
    lines_release(&call);
}

static size_t permission_more(void *arg, size_t rows, struct lines *ret)
{
    struct permission *p = arg;

    if (!p->preview)
        return lines_count(ret);
    if (rows > p->before)
        diff_preview_draw(p->preview, rows - p->before, ret);
    return p->before + diff_preview_rows(p->preview);
}

/* ---- what can be answered ---- */

static void add_rules(const struct json *update, struct buf *ret)
{
    JSON_EACH(json_get(update, "rules"), rule) {
        struct str content = json_get_str(rule, "ruleContent");

        buf_adds(ret, ret->len ? ", " : "");
        buf_add(ret, json_get_str(rule, "toolName"));
        if (content.len)
            buf_addf(ret, "(%.*s)", STR_ARG(content));
    }
}

static void add_folders(const struct json *update, struct buf *ret)
{
    JSON_EACH(json_get(update, "directories"), dir) {
        buf_adds(ret, ret->len ? ", " : "");
        buf_add(ret, json_str(dir));
    }
}

static const char *place_name(struct str destination)
{
    if (str_is(destination, "localSettings"))
        return "kept in .tenax/settings.local.json, for you in this project";
    if (str_is(destination, "projectSettings"))
        return "kept in .tenax/settings.json, for everybody in this project";
    if (str_is(destination, "userSettings"))
        return "kept in your own settings.json, for all projects";
    return "until this session ends";
}

/* What all the updates together would do; false: nothing that can be said. */
static bool describe_always(const struct json *updates, struct buf *ret, struct str *ret_place)
{
    CLEANUP(buf_release) struct buf rules = BUF_INIT(MAX_VALUE);
    CLEANUP(buf_release) struct buf folders = BUF_INIT(MAX_VALUE);
    struct str mode = STR("");

    JSON_EACH(updates, u) {
        struct str type = json_get_str(u, "type");

        if (str_is(type, "addRules") && str_is(json_get_str(u, "behavior"), "allow"))
            add_rules(u, &rules);
        else if (str_is(type, "addDirectories"))
            add_folders(u, &folders);
        else if (str_is(type, "setMode"))
            mode = json_get_str(u, "mode");
        else
            return false;
        if (ret_place->len && !str_eq(*ret_place, json_get_str(u, "destination")))
            return false; /* cannot be said in one row */
        *ret_place = json_get_str(u, "destination");
    }
    if (rules.over || folders.over)
        return false;
    if (!rules.len && !folders.len && !mode.len)
        return false;
    buf_adds(ret, "Yes, and from now on");
    if (rules.len)
        buf_addf(ret, " always allow %s", buf_cstr(&rules));
    if (folders.len)
        buf_addf(ret, "%s work in %s", rules.len ? "," : "", buf_cstr(&folders));
    if (str_is(mode, "acceptEdits"))
        buf_addf(ret, "%s accept edits", rules.len || folders.len ? " and" : "");
    else if (mode.len)
        buf_addf(ret, "%s use the mode %.*s", rules.len || folders.len ? " and" : "",
                 STR_ARG(mode));
    return buf_check(ret, NULL) == 0;
}

static struct str yes_label(const struct permission *p)
{
    if (p->leaves_sandbox)
        return STR("Yes, this once, outside the sandbox");
    if (json_get(p->ask.asked.effects, "wanted"))
        return STR("Yes, run it again with that");
    if (p->ask.asked.effects)
        return STR("Yes, make these changes");
    return STR("Yes");
}

/* A file or a host that a command on trial wanted, and a rule that is kept would allow. */
static bool has_session_row(const struct permission *p)
{
    bool is_kept = false;

    JSON_EACH(p->ask.asked.suggestions, u) {
        is_kept = is_kept || !str_is(json_get_str(u, "destination"), "session");
    }
    return is_kept && json_get(p->ask.asked.effects, "wanted");
}

/* The suggestions, for this session alone. */
static void add_session_rules(const struct json *suggestions, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_array(&w);
    JSON_EACH(suggestions, u) {
        jw_object(&w);
        JSON_EACH(u, m) {
            jw_key_str(&w, json_key(m));
            if (str_is(json_key(m), "destination"))
                jw_cstr(&w, "session");
            else
                jw_raw(&w, json_raw(m));
        }
        jw_object_end(&w);
    }
    jw_array_end(&w);
}

static void add_rows(struct permission *p)
{
    CLEANUP(buf_release) struct buf always = BUF_INIT(MAX_VALUE);
    struct str place = STR("");
    bool can = p->ask.asked.suggestions && !p->leaves_sandbox &&
               describe_always(p->ask.asked.suggestions, &always, &place);

    dialog_ask_row(&p->ask, yes_label(p), STR(""), 'y', false);
    if (can)
        dialog_ask_row(&p->ask, buf_str(&always), str_of(place_name(place)), 0, false);
    else
        dialog_ask_row(&p->ask, STR("Always (no rule can cover this)"), STR(""), 0, true);
    dialog_ask_row(&p->ask, STR("No, and say what to do instead"), STR(""), 0, false);
    dialog_ask_row(&p->ask, STR("No, and stop"), STR(""), 'n', false);
    if (has_session_row(p) && can)
        dialog_ask_row(&p->ask, STR("Yes, until this session ends"), STR("not kept"), 0, false);
}

static enum panel_state permission_key(struct panel *panel, const struct keypress *k)
{
    struct permission *p = (struct permission *)panel;

    /* Through the page first: it may be too early for any key. */
    if (p->is_edit && !p->ask.page.editor && keypress_is(k, "shift+tab") &&
        dialog_page_key(&p->ask.page, k) == DIALOG_UNUSED) {
        p->accepts_edits = true;
        p->ask.is_done = true;
        return PANEL_DONE;
    }
    return dialog_ask_key(panel, k);
}

static void permission_answer(struct dialog_ask *d, struct ask_answer *ret)
{
    struct permission *p = (struct permission *)d;
    size_t row = d->is_done ? menu_at(d->page.menu) : ROW_NO;

    if (p->accepts_edits) {
        ret->allowed = true;
        dialog_ask_mode("acceptEdits", ret);
        return;
    }
    ret->allowed = row == ROW_YES || row == ROW_ALWAYS || row == ROW_SESSION;
    if (row == ROW_ALWAYS)
        buf_add(&ret->permissions, json_raw(d->asked.suggestions));
    if (row == ROW_SESSION)
        add_session_rules(d->asked.suggestions, &ret->permissions);
    if (row == ROW_SAY) {
        buf_adds(&ret->message, "The user does not want this call to be made. They say: ");
        dialog_page_words(&d->page, &ret->message);
    }
    ret->interrupt = row == ROW_NO;
}

static void permission_free(struct panel *panel)
{
    drop_preview((struct permission *)panel);
    dialog_ask_free(panel);
}

static const struct panel_kind permission_kind = {
    .name = "permission",
    .takes_runs = true,
    .draw = dialog_ask_draw,
    .key = permission_key,
    .due = dialog_ask_due,
    .wake = dialog_ask_wake,
    .free = permission_free,
};

struct dialog_ask *dialog_permission_new(const struct ask *ask, const char *dir)
{
    struct permission *p =
        dialog_ask_make(sizeof(*p), ask, dir, STR(""), MENU_NUMBERS | MENU_WHOLE);
    CLEANUP(buf_release) struct buf title = BUF_INIT(MAX_VALUE);
    struct asked *a = &p->ask.asked;
    bool is_danger;

    p->leaves_sandbox = json_get_bool(a->input, "dangerouslyDisableSandbox", false);
    p->is_edit = is_edit_tool(a->tool) && !str_is(a->reason_type, "safetyCheck");
    is_danger = p->leaves_sandbox || str_is(a->reason_type, "safetyCheck");
    make_title(a, p->leaves_sandbox, &title);
    p->ask.page.title = arena_str(&p->ask.page.arena, buf_str(&title));
    if (is_danger)
        p->ask.page.title_role = ROLE_BAD;
    if (p->is_edit)
        p->ask.page.keys = STR("Shift-Tab yes, and accept edits");
    p->ask.page.text_row = ROW_SAY;
    p->ask.page.text_hint = STR("what to do instead");
    add_rows(p);
    if (is_danger)
        menu_move_to(p->ask.page.menu, ROW_NO);
    dialog_ask_init(&p->ask, &permission_kind, permission_body, permission_answer);
    p->ask.page.more = permission_more;
    return &p->ask;
}
