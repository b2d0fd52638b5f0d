/*
 * acp_tool: calls of tools as an editor shows them: a title, a kind, places, a diff, output. The
 * loop's thread.
 *
 * A diff is first what the call says that it will change, made from the file as it is on the disk;
 * at the end it is what has really changed, made from the result.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/event.h"
#include "agent/tool_about.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "proto/acp/acp_state.h"

static const struct {
    const char *tool, *kind;
} kinds[] = {
    {"Read", "read"},
    {"Edit", "edit"},
    {"MultiEdit", "edit"},
    {"Write", "edit"},
    {"NotebookEdit", "edit"},
    {"Bash", "execute"},
    {"Grep", "search"},
    {"Glob", "search"},
    {"WebFetch", "fetch"},
    {"WebSearch", "fetch"},
    {"Agent", "think"},
    {"Task", "think"},
    {"ExitPlanMode", "switch_mode"},
};

static const char *kind_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_is(name, kinds[i].tool))
            return kinds[i].kind;
    }
    return "other";
}

static void call_free(struct acp_call *c)
{
    if (!c)
        return;
    buf_release(&c->name);
    buf_release(&c->input);
    buf_release(&c->parent);
    buf_release(&c->output);
    buf_release(&c->step);
    mem_freep(&c);
}

void acp_free_calls(struct acp_view *v)
{
    MAP_EACH(&v->calls, it) {
        call_free(it->value);
    }
    map_release(&v->calls);
}

struct acp_call *acp_find_call(struct acp_view *v, struct str id)
{
    return map_get(&v->calls, id);
}

void acp_forget_call(struct acp_view *v, struct str id)
{
    call_free(map_remove(&v->calls, id));
}

static struct acp_call *call_new(struct acp_view *v, struct str id, struct str name,
                                 struct str input, const struct event *e)
{
    struct acp_call *c = mem_zalloc(sizeof(*c));

    buf_init(&c->name, 1024);
    buf_init(&c->input, ACP_MAX_TEXT);
    buf_init(&c->parent, 1024);
    buf_init(&c->output, 2 * ACP_MAX_OUTPUT);
    buf_init(&c->step, 1024);
    buf_add(&c->name, name);
    buf_add(&c->input, input);
    if (e->by.parent)
        buf_adds(&c->parent, e->by.parent);
    c->is_hidden = str_is(name, "TodoWrite");
    c->is_terminal = str_is(name, "Bash") && v->acp->shows_terminals;
    call_free(map_set(&v->calls, id, c));
    return c;
}

/* ---- Parts of it ---- */

static const char *dir_of(const struct acp_view *v)
{
    return conf_dir(host_conf(v->view->live->host));
}

static void write_title(struct jw *w, struct str name, const struct json *input, const char *dir)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(4096);
    struct str about = tool_about(input, dir);

    if (!str_is(name, "Bash")) {
        buf_add(&title, name);
        if (about.len)
            buf_addc(&title, ' ');
    }
    buf_add(&title, str_clip(about.len ? about : STR(""), 300));
    jw_kstr(w, "title", title.len ? buf_str(&title) : name);
}

static struct str path_of(const struct json *input)
{
    static const char *const names[] = {"file_path", "notebook_path", "path", "filePath"};
    struct str path = {0};

    for (size_t i = 0; i < ARRAY_LEN(names) && !path.len; i++)
        path = json_get_str(input, names[i]);
    return path;
}

/* Paths are absolute on this wire. */
static void full_path(struct str path, const char *dir, struct buf *ret)
{
    if (path.len && path.ptr[0] != '/')
        buf_addf(ret, "%s/", dir);
    buf_add(ret, path);
}

static void write_locations(struct jw *w, const struct json *input, int64_t line, const char *dir)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(ACP_MAX_TEXT);

    jw_key(w, "locations");
    jw_array(w);
    full_path(path_of(input), dir, &path);
    if (path.len) {
        jw_object(w);
        jw_kstr(w, "path", buf_str(&path));
        if (line > 0)
            jw_ki64(w, "line", line);
        jw_object_end(w);
    }
    jw_array_end(w);
}

void acp_write_text(struct jw *w, struct str text)
{
    jw_object(w);
    jw_kcstr(w, "type", "content");
    jw_key(w, "content");
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_object_end(w);
    jw_object_end(w);
}

/* old.ptr NULL: a new file. */
static void write_diff(struct jw *w, struct str path, struct str old, struct str new)
{
    jw_object(w);
    jw_kcstr(w, "type", "diff");
    jw_kstr(w, "path", path);
    if (old.ptr)
        jw_kstr(w, "oldText", old);
    else
        jw_kcstr(w, "oldText", NULL);
    jw_kstr(w, "newText", new);
    jw_object_end(w);
}

/* text with the first `old` of it (or all of them) replaced; false: it is not in it. */
static bool replace(struct buf *text, struct str old, struct str new, bool all)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(4 * ACP_MAX_DIFF);
    struct str rest = buf_str(text);
    bool found = false;

    while (old.len && (all || !found)) {
        size_t at = str_find(rest, old);

        if (at >= rest.len)
            break;
        buf_add(&out, str_first(rest, at));
        buf_add(&out, new);
        rest = str_from(rest, at + old.len);
        found = true;
    }
    buf_add(&out, rest);
    if (!found || out.over)
        return false;
    buf_move(text, &out);
    return true;
}

static bool replace_by(struct buf *text, const struct json *edit)
{
    return replace(text, json_get_str(edit, "old_string"), json_get_str(edit, "new_string"),
                   json_get_bool(edit, "replace_all", false));
}

/* What an edit will do, in the whole file where that is short; else the part that it names. */
static void write_edit(struct jw *w, struct str path, const struct json *input)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(ACP_MAX_DIFF);
    CLEANUP(buf_release) struct buf new = BUF_INIT(4 * ACP_MAX_DIFF);
    CLEANUP(mem_freep) char *name = mem_dup(path.ptr, path.len);
    const struct json *edits = json_get(input, "edits");
    bool fits =
        file_slurp(name, ACP_MAX_DIFF, &old, /*err=*/NULL) == 0 && utf8_is_valid(buf_str(&old));

    buf_add(&new, buf_str(&old));
    if (!edits)
        fits = fits && replace_by(&new, input);
    JSON_EACH(edits, edit) {
        fits = fits && replace_by(&new, edit);
    }
    if (fits) {
        write_diff(w, path, old.ptr ? buf_str(&old) : STR(""), buf_str(&new));
        return;
    }
    if (!edits)
        write_diff(w, path, json_get_str(input, "old_string"), json_get_str(input, "new_string"));
    JSON_EACH(edits, edit) {
        write_diff(w, path, json_get_str(edit, "old_string"), json_get_str(edit, "new_string"));
    }
}

static void write_write(struct jw *w, struct str path, const struct json *input)
{
    CLEANUP(buf_release) struct buf old = BUF_INIT(ACP_MAX_DIFF);
    CLEANUP(mem_freep) char *name = mem_dup(path.ptr, path.len);
    struct str was = {0};

    if (file_slurp(name, ACP_MAX_DIFF, &old, /*err=*/NULL) == 0 && utf8_is_valid(buf_str(&old)))
        was = old.ptr ? buf_str(&old) : STR("");
    write_diff(w, path, was, json_get_str(input, "content"));
}

/* What it will do. */
static void write_content(struct acp_view *v, struct jw *w, struct str id, struct str name,
                          const struct json *input)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(ACP_MAX_TEXT);

    full_path(path_of(input), dir_of(v), &path);
    jw_key(w, "content");
    jw_array(w);
    if (str_is(name, "Bash") && v->acp->shows_terminals) {
        jw_object(w);
        jw_kcstr(w, "type", "terminal");
        jw_kstr(w, "terminalId", id);
        jw_object_end(w);
    } else if (str_is(name, "Bash") && json_get_str(input, "description").len) {
        acp_write_text(w, json_get_str(input, "description"));
    } else if ((str_is(name, "Edit") || str_is(name, "MultiEdit")) && path.len) {
        write_edit(w, buf_str(&path), input);
    } else if (str_is(name, "Write") && path.len) {
        write_write(w, buf_str(&path), input);
    } else if (str_is(name, "ExitPlanMode")) {
        acp_write_text(w, json_get_str(input, "plan"));
    }
    jw_array_end(w);
}

static void write_call_with(struct acp_view *v, struct jw *w, struct str id, struct str name,
                            const struct json *input)
{
    jw_kstr(w, "toolCallId", id);
    write_title(w, name, input, dir_of(v));
    jw_kstr(w, "name", name);
    jw_kcstr(w, "kind", kind_of(name));
    jw_key(w, "rawInput");
    if (input)
        jw_json(w, input);
    else
        jw_raw(w, STR("{}"));
    write_content(v, w, id, name, input);
    write_locations(w, input, json_get_i64(input, "offset", 0), dir_of(v));
}

void acp_write_call(struct acp_view *v, struct jw *w, struct str id, struct str name,
                    struct str input)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *args = NULL;

    (void)json_parse(&arena, input, &args, /*ret_info=*/NULL, /*err=*/NULL);
    write_call_with(v, w, id, name, args);
}

/* _meta: whose call it is, and what a terminal is shown. */
static void meta_begin(struct jw *w, const struct acp_call *c)
{
    jw_key(w, "_meta");
    jw_object(w);
    jw_key(w, "claudeCode");
    jw_object(w);
    jw_kstr(w, "toolName", buf_str(&c->name));
    if (c->parent.len)
        jw_kstr(w, "parentToolUseId", buf_str(&c->parent));
    jw_object_end(w);
}

static void write_meta(struct jw *w, const struct acp_call *c)
{
    meta_begin(w, c);
    jw_object_end(w);
}

/* ---- What happens to it ---- */

/* The whole list, as editors want it. */
static void say_plan(struct acp_view *v, const struct json *input)
{
    struct acp_update u;
    struct jw *w = acp_begin(&u, v, "plan");

    jw_key(w, "entries");
    jw_array(w);
    JSON_EACH(json_get(input, "todos"), todo) {
        struct str status = json_get_str(todo, "status");
        struct str active = json_get_str(todo, "activeForm");
        bool is_now = str_is(status, "in_progress");

        jw_object(w);
        jw_kstr(w, "content", is_now && active.len ? active : json_get_str(todo, "content"));
        jw_kcstr(w, "priority", "medium");
        jw_kstr(w, "status", status);
        jw_object_end(w);
    }
    jw_array_end(w);
    acp_end(&u);
}

static struct acp_call *say_call(struct acp_view *v, const struct event *e, struct str id,
                                 struct str name, const struct json *input, const char *status)
{
    struct acp_call *c = call_new(v, id, name, json_raw(input), e);
    struct acp_update u;
    struct jw *w;

    if (c->is_hidden) {
        say_plan(v, input);
        return c;
    }
    w = acp_begin(&u, v, "tool_call");
    write_call_with(v, w, id, name, input);
    jw_kcstr(w, "status", status);
    meta_begin(w, c);
    if (c->is_terminal) {
        jw_key(w, "terminal_info");
        jw_object(w);
        jw_kstr(w, "terminal_id", id);
        jw_kcstr(w, "cwd", dir_of(v));
        jw_object_end(w);
    }
    jw_object_end(w);
    acp_end(&u);
    return c;
}

void acp_tool_said(struct acp_view *v, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *block = NULL;
    struct acp_call *c;

    if (json_parse(&arena, e->json, &block, /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        acp_find_call(v, e->id))
        return;
    c = say_call(v, e, e->id, e->name, json_get(block, "input"), "pending");
    buf_adds(&c->step, e->by.agent);
}

void acp_tools_settle(struct acp_view *v, const char *agent, bool is_void)
{
    MAP_EACH(&v->calls, it) {
        struct acp_call *c = it->value;
        struct acp_update u;
        struct jw *w;

        if (!str_is(buf_str(&c->step), agent))
            continue;
        buf_clear(&c->step);
        if (!is_void || c->is_done)
            continue;
        c->is_done = true;
        if (c->is_hidden)
            continue;
        w = acp_begin(&u, v, "tool_call_update");
        jw_kstr(w, "toolCallId", it->key);
        jw_kcstr(w, "status", "failed");
        write_meta(w, c);
        acp_end(&u);
    }
}

void acp_tool_started(struct acp_view *v, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct acp_call *c = acp_find_call(v, e->id);
    const struct json *input = NULL;
    const struct json *said = NULL;
    struct acp_update u;
    struct jw *w;

    (void)json_parse(&arena, e->json, &input, /*ret_info=*/NULL, /*err=*/NULL);
    if (!c) { /* a call not made by the model: a hook's, or one of an earlier process */
        c = say_call(v, e, e->id, e->name, input, "in_progress");
        c->is_running = true;
        return;
    }
    if (c->is_running || c->is_done)
        return;
    c->is_running = true;
    if (c->is_hidden)
        return;
    w = acp_begin(&u, v, "tool_call_update");
    (void)json_parse(&arena, buf_str(&c->input), &said, /*ret_info=*/NULL, /*err=*/NULL);
    if (!input || (said && json_equal(input, said))) {
        jw_kstr(w, "toolCallId", e->id);
    } else { /* a hook or the user has changed it */
        buf_clear(&c->input);
        buf_add(&c->input, e->json);
        write_call_with(v, w, e->id, e->name, input);
    }
    jw_kcstr(w, "status", "in_progress");
    write_meta(w, c);
    acp_end(&u);
}

/* The end of a long text, from the beginning of a line where that is near. */
static struct str tail_of(struct str text)
{
    struct str tail = text.len > ACP_MAX_OUTPUT ? str_from(text, text.len - ACP_MAX_OUTPUT) : text;

    while (tail.len && tail.len < text.len && ((unsigned char)tail.ptr[0] & 0xc0) == 0x80)
        tail = str_from(tail, 1);
    return tail;
}

static void write_terminal_output(struct jw *w, struct str id, struct str text)
{
    jw_key(w, "terminal_output");
    jw_object(w);
    jw_kstr(w, "terminal_id", id);
    jw_kstr(w, "data", text);
    jw_object_end(w);
}

void acp_tool_progress(struct acp_view *v, const struct event *e)
{
    struct acp_call *c = acp_find_call(v, e->id);
    int64_t now_ms = clock_mono_ms();
    struct str text = tail_of(e->text);
    struct acp_update u;
    struct jw *w;

    if (!c || c->is_done || c->is_hidden || e->ended || !text.len ||
        now_ms - c->shown_ms < ACP_PROGRESS_MS || str_eq(text, buf_str(&c->output)))
        return;
    c->shown_ms = now_ms;
    buf_clear(&c->output);
    buf_add(&c->output, text);
    w = acp_begin(&u, v, "tool_call_update");
    jw_kstr(w, "toolCallId", e->id);
    jw_kcstr(w, "status", "in_progress");
    if (c->is_terminal) {
        meta_begin(w, c);
        write_terminal_output(w, e->id, text);
        jw_object_end(w);
    } else {
        jw_key(w, "content");
        jw_array(w);
        acp_write_text(w, text);
        jw_array_end(w);
        write_meta(w, c);
    }
    acp_end(&u);
}

/* The lines of a hunk that one of both texts has. */
static void add_side(struct buf *out, const struct json *hunk, char not_this)
{
    JSON_EACH(json_get(hunk, "lines"), line) {
        struct str text = json_str(line);

        if (!text.len || text.ptr[0] == not_this || text.ptr[0] == '\\')
            continue;
        buf_add(out, str_from(text, 1));
        buf_addc(out, '\n');
    }
}

static struct str skip_lines(struct str text, int64_t lines)
{
    struct str line;

    while (lines-- > 0 && text.len)
        (void)str_cut(&text, '\n', &line);
    return text;
}

/* The old text with its hunks applied. */
static void patch_text(struct str old, const struct json *hunks, struct buf *ret)
{
    struct str rest = old;
    int64_t at = 1;

    JSON_EACH(hunks, hunk) {
        int64_t start = json_get_i64(hunk, "oldStart", 1);
        struct str behind;

        if (!json_get_i64(hunk, "oldLines", 0))
            start++; /* of a hunk that only adds it is the line before */
        behind = skip_lines(rest, start - at);
        buf_add(ret, str_first(rest, rest.len - behind.len));
        add_side(ret, hunk, '-');
        rest = skip_lines(behind, json_get_i64(hunk, "oldLines", 0));
        at = start + json_get_i64(hunk, "oldLines", 0);
    }
    buf_add(ret, rest);
    /* A last line without its end has got one above. */
    if (!rest.len && ret->len && old.len && old.ptr[old.len - 1] != '\n')
        buf_cut(ret, ret->len - 1, 1);
}

/* What a result says that has changed; false: nothing. */
static bool write_changes(struct jw *w, const struct json *data)
{
    const struct json *hunks = json_get(data, "structuredPatch");
    const struct json *original = json_get(data, "originalFile");
    struct str path = json_get_str(data, "filePath");
    CLEANUP(buf_release) struct buf new = BUF_INIT(4 * ACP_MAX_DIFF);

    if (!path.len || !hunks)
        return false;
    if (str_is(json_get_str(data, "type"), "create")) {
        write_diff(w, path, (struct str){0}, json_get_str(data, "content"));
        return true;
    }
    if (json_is(original, JSON_STRING)) {
        patch_text(json_str(original), hunks, &new);
        write_diff(w, path, json_str(original), buf_str(&new));
        return true;
    }
    JSON_EACH(hunks, hunk) {
        CLEANUP(buf_release) struct buf old = BUF_INIT(4 * ACP_MAX_DIFF);

        buf_clear(&new);
        add_side(&old, hunk, '+');
        add_side(&new, hunk, '-');
        write_diff(w, path, buf_str(&old), buf_str(&new));
    }
    return true;
}

/* A failed command says it at the beginning of its result. */
static int64_t exit_code(const struct event *e)
{
    static const struct str head = STR_INIT("Exit code ");
    struct str rest = str_from(e->text, head.len);
    int64_t code;

    if (str_starts(e->text, head) &&
        str_to_i64(str_first(rest, str_chr(rest, '\n')), &code, /*err=*/NULL) == 0)
        return code;
    return e->is_error ? 1 : 0;
}

void acp_tool_done(struct acp_view *v, const struct event *e)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct acp_call *c = acp_find_call(v, e->id);
    const struct json *data = NULL;
    const struct json *hunk;
    struct acp_update u;
    struct jw *w;

    if (!c || c->is_done)
        return;
    c->is_done = true;
    buf_clear(&c->step);
    if (c->is_hidden)
        return;
    (void)json_parse(&arena, e->data, &data, /*ret_info=*/NULL, /*err=*/NULL);
    w = acp_begin(&u, v, "tool_call_update");
    jw_kstr(w, "toolCallId", e->id);
    jw_kcstr(w, "status", e->is_error ? "failed" : "completed");
    if (!c->is_terminal) {
        jw_key(w, "content");
        jw_array(w);
        if ((e->is_error || !write_changes(w, data)) && e->text.len)
            acp_write_text(w, e->text);
        jw_array_end(w);
    }
    hunk = json_first(json_get(data, "structuredPatch"));
    if (hunk)
        write_locations(w, data, json_get_i64(hunk, "newStart", 1), dir_of(v));
    jw_key(w, "rawOutput");
    if (data)
        jw_json(w, data);
    else
        jw_str(w, e->text);
    meta_begin(w, c);
    if (c->is_terminal) {
        write_terminal_output(w, e->id, tail_of(e->text));
        jw_key(w, "terminal_exit");
        jw_object(w);
        jw_kstr(w, "terminal_id", e->id);
        jw_ki64(w, "exit_code", exit_code(e));
        jw_kcstr(w, "signal", NULL);
        jw_object_end(w);
    }
    jw_object_end(w);
    acp_end(&u);
}
