/*
 * definition_file: reads one definition from a file's frontmatter or a JSON object. Any thread.
 */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/frontmatter.h"
#include "guard/permit.h"
#include "json/json.h"
#include "json/jw.h"
#include "tasks/definition.h"

/* The file being read, for messages about problems. */
struct reading {
    struct definitions *list;
    const char *path; /* or "--agents" */
    struct str text;  /* of the file; empty if there is none */
};

/* The number of the line with this key, from 1. */
static int line_of(struct str text, struct str key)
{
    int line = 1;
    struct str rest = text;
    struct str one;

    while (key.len && rest.len && str_cut(&rest, '\n', &one)) {
        if (str_starts(one, key) && str_starts(str_trim(str_from(one, key.len)), STR(":")))
            return line;
        line++;
    }
    return 1;
}

static void say(struct reading *r, struct strv *to, struct str key, const char *what)
{
    if (r->text.len)
        strv_addf(to, "%s:%d: %s", r->path, line_of(r->text, key), what);
    else
        strv_addf(to, "%s: %s", r->path, what);
}

static void say_dropped(struct reading *r, const struct json *v, const char *wanted)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    buf_addf(&text, "%.*s is left out: %s", STR_ARG(json_key(v)), wanted);
    say(r, &r->list->problems, json_key(v), buf_cstr(&text));
}

/* Splits "Read, Agent(a, b)", or a list of such. */
static void split_names(struct str text, struct strv *ret)
{
    size_t depth = 0;
    size_t from = 0;

    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] == '(')
            depth++;
        if (i < text.len && text.ptr[i] == ')' && depth)
            depth--;
        if (i < text.len && (text.ptr[i] != ',' || depth))
            continue;
        if (str_trim(str_make(text.ptr + from, i - from)).len)
            strv_add(ret, str_trim(str_make(text.ptr + from, i - from)));
        from = i + 1;
    }
}

static bool read_names(struct reading *r, const struct json *v, struct strv *ret)
{
    if (json_is(v, JSON_STRING)) {
        split_names(json_str(v), ret);
        return true;
    }
    if (!json_is(v, JSON_ARRAY)) {
        say_dropped(r, v, "it must be a list of names");
        return false;
    }
    JSON_EACH(v, one) {
        if (json_is(one, JSON_STRING))
            split_names(json_str(one), ret);
    }
    return true;
}

/* "Agent(a, b)": limits the types that it may start. */
static void take_starts(struct definition *d)
{
    for (size_t i = 0; i < d->tools.len; i++) {
        struct str s = str_of(d->tools.ptr[i]);
        size_t open = str_chr(s, '(');
        struct str name = str_trim(str_first(s, open));

        if (open == s.len || !str_ends(s, STR(")")) ||
            (!str_is(name, "Agent") && !str_is(name, "Task")))
            continue;
        split_names(str_make(s.ptr + open + 1, s.len - open - 2), &d->starts);
        d->tools.ptr[i][name.len] = '\0';
    }
}

static void read_tools(struct reading *r, struct definition *d, const struct json *v)
{
    d->has_tools = read_names(r, v, &d->tools);
    take_starts(d);
    if (strv_has(&d->tools, STR("*")))
        d->has_tools = false;
}

static void read_disallowed(struct reading *r, struct definition *d, const struct json *v)
{
    (void)read_names(r, v, &d->disallowed);
}

static void read_skills(struct reading *r, struct definition *d, const struct json *v)
{
    (void)read_names(r, v, &d->skills);
}

static void read_model(struct reading *r, struct definition *d, const struct json *v)
{
    if (json_str(v).len)
        d->model = str_is(json_str(v), "inherit") ? STR("") : json_str(v);
    else
        say_dropped(r, v, "it must be a model's name, an alias, or inherit");
}

static void read_effort(struct reading *r, struct definition *d, const struct json *v)
{
    if (!effort_parse(json_str(v), &d->effort))
        say_dropped(r, v, "it must be low, medium, high, xhigh or max");
}

static void read_mode(struct reading *r, struct definition *d, const struct json *v)
{
    enum permit_mode mode;

    if (permit_mode_parse(json_str(v), &mode))
        d->mode = json_str(v);
    else
        say_dropped(r, v, "there is no such permission mode");
}

static void read_max_turns(struct reading *r, struct definition *d, const struct json *v)
{
    int64_t n;

    if (json_i64(v, &n) && n > 0)
        d->max_steps = n;
    else
        say_dropped(r, v, "it must be a number above 0");
}

static bool read_bool(struct reading *r, const struct json *v)
{
    if (!json_is(v, JSON_BOOL))
        say_dropped(r, v, "it must be true or false");
    return json_bool(v, false);
}

static void read_background(struct reading *r, struct definition *d, const struct json *v)
{
    d->in_background = read_bool(r, v);
}

static void read_omit(struct reading *r, struct definition *d, const struct json *v)
{
    d->omits_instructions = read_bool(r, v);
}

static void read_isolation(struct reading *r, struct definition *d, const struct json *v)
{
    d->in_worktree = str_is(json_str(v), "worktree");
    if (!d->in_worktree)
        say_dropped(r, v, "it must be worktree");
}

static void read_color(struct reading *r, struct definition *d, const struct json *v)
{
    (void)r;
    d->color = json_str(v);
}

static void read_initial_prompt(struct reading *r, struct definition *d, const struct json *v)
{
    (void)r;
    d->initial_prompt = json_str(v);
}

static void read_memory(struct reading *r, struct definition *d, const struct json *v)
{
    if (str_is_word_of(json_str(v), "user project local"))
        d->memory = json_str(v);
    else
        say_dropped(r, v, "it must be user, project or local");
}

static void read_hooks(struct reading *r, struct definition *d, const struct json *v)
{
    d->hooks = json_is(v, JSON_OBJECT) ? v : NULL;
    if (!d->hooks)
        say_dropped(r, v, "it must be an object");
}

static void write_servers(const struct json *servers, struct jw *w)
{
    JSON_EACH(servers, entry) {
        jw_key_str(w, json_key(entry));
        jw_json(w, entry);
    }
}

/* {"name": entry}, or a list of names and such objects. */
static void read_servers(struct reading *r, struct definition *d, const struct json *v)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    if (json_is(v, JSON_STRING)) {
        split_names(json_str(v), &d->server_names);
        return;
    }
    if (!json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY)) {
        say_dropped(r, v, "it must be a list of names, or an object of servers");
        return;
    }
    jw_init(&w, &text, 0);
    jw_object(&w);
    if (json_is(v, JSON_OBJECT))
        write_servers(v, &w);
    for (size_t i = 0; json_is(v, JSON_ARRAY) && i < json_len(v); i++) {
        if (json_is(json_at(v, i), JSON_STRING))
            split_names(json_str(json_at(v, i)), &d->server_names);
        else
            write_servers(json_at(v, i), &w);
    }
    jw_object_end(&w);
    if (json_parse(&r->list->arena, arena_str(&r->list->arena, buf_str(&text)), &d->servers,
                   /*ret_info=*/NULL, /*err=*/NULL) < 0 ||
        !json_len(d->servers))
        d->servers = NULL;
}

static const struct {
    const char *name;
    void (*read)(struct reading *r, struct definition *d,
                 const struct json *v); /* NULL = handled elsewhere */
    bool needs_trust;
} keys[] = {
    {"name", NULL, false},
    {"description", NULL, false},
    {"prompt", NULL, false},
    {"tools", read_tools, false},
    {"disallowedTools", read_disallowed, false},
    {"model", read_model, false},
    {"effort", read_effort, false},
    {"permissionMode", read_mode, true},
    {"maxTurns", read_max_turns, false},
    {"background", read_background, false},
    {"isolation", read_isolation, false},
    {"omitClaudeMd", read_omit, false},
    {"color", read_color, false},
    {"initialPrompt", read_initial_prompt, false},
    {"memory", read_memory, false},
    {"skills", read_skills, false},
    {"hooks", read_hooks, true},
    {"mcpServers", read_servers, true},
};

static void read_members(struct reading *r, struct definition *d, const struct json *object,
                         bool is_trusted)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    JSON_EACH(object, v) {
        size_t i = 0;

        while (i < ARRAY_LEN(keys) && !str_is(json_key(v), keys[i].name))
            i++;
        buf_clear(&text);
        if (i == ARRAY_LEN(keys)) {
            buf_addf(&text, "the key %.*s is unknown", STR_ARG(str_clip(json_key(v), 100)));
            say(r, &r->list->notes, json_key(v), buf_cstr(&text));
        } else if (keys[i].needs_trust && !is_trusted) {
            buf_addf(&text, "%s is left out: %s", keys[i].name,
                     d->source == DEFINITION_PLUGIN ? "an agent of a plugin may not have it"
                                                    : "the folder is not trusted");
            say(r, &r->list->notes, json_key(v), buf_cstr(&text));
        } else if (keys[i].read && !json_is(v, JSON_NULL)) {
            keys[i].read(r, d, v);
        }
    }
}

/* Joins all lines. */
static struct str one_line(struct arena *arena, struct str text)
{
    char *copy = (char *)arena_cstr(arena, str_trim(text));

    for (char *p = copy; *p; p++) {
        if ((unsigned char)*p < 0x20)
            *p = ' ';
    }
    return str_of(copy);
}

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!str_is_alnum(s.ptr[i]) && !strchr("-_", s.ptr[i]))
            return false;
    }
    return s.len > 0 && s.len <= 64;
}

static struct definition *definition_new(struct reading *r, struct str name, const struct json *v,
                                         struct str prompt, enum definition_source source,
                                         bool is_trusted)
{
    struct definition *d;
    struct str description = json_get_str(v, "description");

    if (!is_name(name)) {
        say(r, &r->list->problems, STR("name"),
            name.len ? "name must be of letters, digits, - and _, 64 at most" : "name is missing");
        return NULL;
    }
    if (!str_trim(description).len) {
        say(r, &r->list->problems, STR("description"), "description is missing");
        return NULL;
    }
    d = arena_zalloc(&r->list->arena, sizeof(*d));
    d->name = arena_cstr(&r->list->arena, name);
    d->description = one_line(&r->list->arena, description);
    d->prompt = arena_str(&r->list->arena, str_trim(prompt));
    d->source = source;
    read_members(r, d, v, is_trusted);
    return d;
}

/* Turns "line 3: …" of the YAML reader into "path:3: …". */
static void say_unreadable(struct reading *r, const struct err *err)
{
    struct str text = str_of(err->text);
    size_t at = str_find(text, STR("line "));
    struct str rest = str_from(text, at + 5);
    size_t digits = 0;
    int64_t line = 1;

    while (digits < rest.len && rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9')
        digits++;
    if (at < text.len && digits)
        (void)str_to_i64(str_first(rest, digits), &line, /*err=*/NULL);
    strv_addf(&r->list->problems, "%s:%" PRId64 ": %s", r->path, line, err->text);
}

struct definition *definition_read_file(struct definitions *l, const char *path,
                                        enum definition_source source, bool is_trusted)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(DEFINITION_MAX_FILE);
    struct reading r = {l, arena_cstr(&l->arena, str_of(path)), {0}};
    const struct json *front = NULL;
    struct definition *d;
    struct err err = {0};
    struct str body;

    if (file_slurp(path, DEFINITION_MAX_FILE, &text, &err) < 0) {
        strv_addf(&l->problems, "%s:1: %s", path, err.text);
        return NULL;
    }
    r.text = buf_str(&text);
    if (frontmatter_read(r.text, &l->arena, &front, &body, &err) < 0) {
        say_unreadable(&r, &err);
        return NULL;
    }
    d = definition_new(&r, json_get_str(front, "name"), front, body, source, is_trusted);
    if (d)
        d->path = r.path;
    return d;
}

struct definition *definition_read_json(struct definitions *l, struct str name,
                                        const struct json *v, enum definition_source source)
{
    struct reading r = {l, arena_cstr(&l->arena, name), {0}};

    return definition_new(&r, name, v, json_get_str(v, "prompt"), source, /*is_trusted=*/true);
}
