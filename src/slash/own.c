/*
 * own: the files that are commands, found and their frontmatter read. Any thread.
 */
#include "slash/own.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "conf/frontmatter.h"
#include "conf/places.h"
#include "conf/plugin.h"
#include "json/json.h"
#include "slash/slash.h"

/* ---- Life ---- */

struct own_list *own_list_ref(struct own_list *l)
{
    atomic_fetch_add(&l->refs, 1);
    return l;
}

void own_list_unref(struct own_list *l)
{
    if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
        return;
    VEC_EACH(&l->commands, c) {
        strv_release(&c->allow);
        strv_release(&c->deny);
        strv_release(&c->names);
        strv_release(&c->paths);
    }
    vec_release(&l->commands);
    vec_release(&l->stamps);
    strv_release(&l->notes);
    arena_release(&l->arena);
    mem_freep(&l);
}

void own_list_unrefp(struct own_list **l)
{
    own_list_unref(*l);
}

const struct own_command *own_find(const struct own_list *l, struct str name)
{
    VEC_EACH(&l->commands, c) {
        if (str_eq(c->name, name))
            return c;
    }
    VEC_EACH(&l->commands, c) {
        if (c->alias.len && str_eq(c->alias, name))
            return c;
    }
    return NULL;
}

bool own_grants(const struct own_command *c)
{
    return c->allow.len || c->hooks;
}

static const struct own_command *find_path(const struct own_list *l, const char *path)
{
    VEC_EACH(&l->commands, c) {
        if (strcmp(c->path, path) == 0)
            return c;
    }
    return NULL;
}

void own_changed(const struct own_list *from, const struct own_list *to, struct strv *ret_paths)
{
    VEC_EACH(&to->commands, c) {
        const struct own_command *old = find_path(from, c->path);

        if (!old || !str_eq(old->text, c->text))
            strv_adds(ret_paths, c->path);
    }
    VEC_EACH(&from->commands, c) {
        if (!find_path(to, c->path))
            strv_adds(ret_paths, c->path);
    }
}

/* ---- Stamps ---- */

static void stamp(struct own_list *l, const char *path)
{
    struct own_stamp s = {.path = arena_cstr(&l->arena, str_of(path))};
    struct stat st;

    if (stat(path, &st) == 0) {
        s.mtime = st.st_mtim;
        s.size = st.st_size;
        s.is_folder = S_ISDIR(st.st_mode);
    }
    vec_push(&l->stamps, s);
}

static bool stamp_holds(const struct own_stamp *s)
{
    struct stat st = {0};

    if (stat(s->path, &st) < 0)
        memset(&st, 0, sizeof(st));
    return st.st_mtim.tv_sec == s->mtime.tv_sec && st.st_mtim.tv_nsec == s->mtime.tv_nsec &&
           st.st_size == s->size;
}

/* Those of a folder with a file that was read, as the project's. */
static void places_near(const struct conf *conf, const struct strv *near, const char *name,
                        struct arena *arena, place_vec *ret)
{
    static const char *const homes[] = {".agents", ".claude", ".tenax"};
    bool claudes = conf_get_bool(conf, "claudeCompat", true);

    for (size_t i = 0; near && i < near->len; i++) {
        for (size_t k = 0; k < ARRAY_LEN(homes); k++) {
            CLEANUP(mem_freep) char *home = path_join(near->ptr[i], homes[k]);
            CLEANUP(mem_freep) char *path = path_join(home, name);

            if ((claudes || k == ARRAY_LEN(homes) - 1) && file_is_dir(path))
                vec_push(ret, ((struct place){.level = LEVEL_PROJECT,
                                              .path = arena_cstr(arena, str_of(path)),
                                              .near = arena_cstr(arena, str_of(near->ptr[i]))}));
        }
    }
}

static void places_of(const struct conf *conf, const struct strv *near, struct arena *arena,
                      place_vec *ret)
{
    places_find_added(conf, "commands", arena, ret);
    places_find(conf, "commands", arena, ret);
    places_find_added(conf, "skills", arena, ret);
    places_find(conf, "skills", arena, ret);
    places_near(conf, near, "skills", arena, ret);
}

bool own_is_fresh(const struct own_list *l, const struct conf *conf, const struct strv *near)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    place_vec places = VEC_INIT;
    bool fresh = l->plugins == plugins_get(conf);

    places_of(conf, near, &arena, &places);
    VEC_EACH(&l->stamps, s) {
        fresh = fresh && stamp_holds(s);
    }
    /* A folder that was not there before. */
    VEC_EACH(&places, p) {
        bool known = false;

        VEC_EACH(&l->stamps, s) {
            known = known || strcmp(s->path, p->path) == 0;
        }
        fresh = fresh && known;
    }
    vec_release(&places);
    return fresh;
}

/* ---- One file ---- */

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!str_is_alnum(s.ptr[i]) && !strchr("-_.:", s.ptr[i]))
            return false;
    }
    return s.len > 0 && s.len <= 200;
}

/* "Bash(git add *), Read" or a list of such. */
static void add_rules(const struct json *v, struct strv *ret)
{
    struct str rest = json_str(v);
    size_t depth = 0;
    size_t from = 0;

    if (json_is(v, JSON_ARRAY)) {
        JSON_EACH(v, one) {
            if (json_str(one).len)
                strv_add(ret, str_trim(json_str(one)));
        }
        return;
    }
    for (size_t i = 0; i <= rest.len; i++) {
        char c = i < rest.len ? rest.ptr[i] : ',';

        depth += c == '(';
        depth -= c == ')' && depth;
        /* Rules are separated by commas, or by spaces outside of parentheses. */
        if ((c != ',' && c != ' ' && c != '\n') || (depth && i < rest.len))
            continue;
        if (i > from)
            strv_add(ret, str_first(str_from(rest, from), i - from));
        from = i + 1;
    }
}

/* "file line", "file, line" or a list. */
static void add_names(const struct json *v, struct strv *ret)
{
    struct str rest = json_str(v);
    struct str part;
    struct str word;

    JSON_EACH(json_is(v, JSON_ARRAY) ? v : NULL, one) {
        strv_add(ret, json_str(one));
    }
    while (rest.len && str_cut(&rest, ',', &part)) {
        while (part.len && str_cut(&part, ' ', &word)) {
            if (word.len)
                strv_add(ret, word);
        }
    }
}

/* "[file] [line]", which YAML may have parsed as a list. */
static struct str read_hint(struct arena *arena, const struct json *v)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);

    if (!json_is(v, JSON_ARRAY))
        return str_clip(json_str(v), 200);
    JSON_EACH(v, one) {
        buf_addf(&text, "%s%.*s", text.len ? ", " : "[", STR_ARG(str_clip(json_str(one), 100)));
    }
    if (text.len)
        buf_addc(&text, ']');
    return arena_str(arena, buf_str(&text));
}

/* The description and when to use it; otherwise the first line with text. */
static struct str read_summary(struct arena *arena, const struct json *front, struct str body)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str description = str_trim(json_get_str(front, "description"));
    struct str when = str_trim(json_get_str(front, "when_to_use"));
    struct str line;

    while (!description.len && str_cut(&body, '\n', &line)) {
        line = str_trim(line);
        while (str_starts(line, STR("#")))
            line = str_trim(str_from(line, 1));
        description = line;
    }
    buf_add(&text, description);
    if (when.len)
        buf_addf(&text, "%s%.*s", text.len ? " " : "", STR_ARG(when));
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < 0x20)
            text.ptr[i] = ' ';
    }
    return arena_str(arena, str_clip(buf_str(&text), OWN_MAX_SUMMARY));
}

/* Its text in the list of skills. */
static struct str read_line(struct arena *arena, const struct json *front, struct str summary)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str description = str_trim(json_get_str(front, "description"));
    struct str when = str_trim(json_get_str(front, "when_to_use"));

    if (!description.len || !when.len)
        return summary;
    buf_addf(&text, "%.*s - %.*s", STR_ARG(description), STR_ARG(when));
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < 0x20)
            text.ptr[i] = ' ';
    }
    return arena_str(arena, str_clip(buf_str(&text), OWN_MAX_SUMMARY));
}

/* Settings have the last word: "on", "name-only", "user-invocable-only", "off". */
static void apply_override(const struct conf *conf, struct own_command *c)
{
    const struct json *all = conf_get(conf, "skillOverrides");
    CLEANUP(mem_freep) char *name = mem_dup(c->name.ptr, c->name.len);
    struct str how = json_get_str(all, name);

    if (str_is(how, "on"))
        c->is_users = c->is_broken;
    c->is_name_only = str_is(how, "name-only");
    c->is_users = c->is_users || str_is(how, "user-invocable-only") || str_is(how, "off");
    c->is_hidden = c->is_hidden || str_is(how, "off");
}

/* Precedence of commands with the same name. */
static int rank(const struct own_command *c)
{
    static const int levels[] = {[LEVEL_PROJECT] = 0,
                                 [LEVEL_LOCAL] = 0,
                                 [LEVEL_USER] = 1,
                                 [LEVEL_FLAG] = 1,
                                 [LEVEL_MANAGED] = 2};

    return c->plugin ? -1 : 2 * levels[c->level] + c->is_skill;
}

/* Adds it, or notes why not. */
static void keep(struct own_list *l, struct own_command *c)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    const struct slash_command *built_in;
    struct own_command *other = NULL;

    buf_addf(&text, "/%.*s", STR_ARG(c->name));
    VEC_EACH(&l->commands, o) {
        if (str_eq(o->name, c->name))
            other = o;
    }
    built_in = slash_find(buf_str(&text), /*ret_args=*/NULL);
    if (built_in && !(built_in->gives_way && str_is(c->name, built_in->name))) {
        strv_addf(&l->notes, "%s is not used: /%.*s is built in", c->path, STR_ARG(c->name));
    } else if (other && rank(other) > rank(c)) {
        strv_addf(&l->notes, "%s is not used: /%.*s is %s", c->path, STR_ARG(c->name), other->path);
    } else if (other) {
        struct own_command lost = *other;

        strv_addf(&l->notes, "%s is not used: /%.*s is %s", other->path, STR_ARG(c->name), c->path);
        *other = *c;
        *c = lost;
    } else if (l->commands.len >= OWN_MAX_COMMANDS) {
        strv_addf(&l->notes, "%s is not used: more than %d commands", c->path, OWN_MAX_COMMANDS);
    } else {
        vec_push(&l->commands, *c);
        return;
    }
    strv_release(&c->allow);
    strv_release(&c->deny);
    strv_release(&c->names);
    strv_release(&c->paths);
}

/* The text after a frontmatter that does not parse. */
static struct str body_behind(struct str text)
{
    size_t end = str_find(str_from(text, 3), STR("\n---"));
    struct str rest;
    struct str line;

    if (!str_starts(text, STR("---")) || end + 3 >= text.len)
        return text;
    rest = str_from(text, end + 4);
    (void)str_cut(&rest, '\n', &line);
    return rest;
}

/* Accepts true and false, also as strings. */
static bool says(const struct json *v, bool what)
{
    return json_is(v, JSON_STRING) ? str_is(json_str(v), what ? "true" : "false")
                                   : v && json_bool(v, !what) == what;
}

/* In the compilers' format: FILE:LINE. */
static void note_broken(struct own_list *l, const char *path, struct str why)
{
    static const struct str at = STR_INIT("frontmatter, line ");
    struct str line = STR("1");

    if (str_starts(why, at)) {
        why = str_from(why, at.len);
        line = str_first(why, str_find(why, STR(": ")));
        why = str_trim(str_from(why, line.len + 1));
    }
    strv_addf(&l->notes, "%s:%.*s: %.*s; it grants nothing, and only you can run it", path,
              STR_ARG(line), STR_ARG(why));
}

/* Its frontmatter, into c. One that does not parse grants nothing. */
static void read_front(struct own_list *l, const struct conf *conf, struct str text,
                       struct own_command *c)
{
    const struct json *front = NULL;
    struct err err = {0};
    struct str body;

    if (frontmatter_read(text, &l->arena, &front, &body, &err) < 0) {
        note_broken(l, c->path, str_of(err.text));
        c->is_broken = c->is_users = true;
        c->summary = read_summary(&l->arena, NULL, body_behind(text));
        c->line = c->summary;
        return;
    }
    c->hint = read_hint(&l->arena, json_get(front, "argument-hint"));
    c->summary = read_summary(&l->arena, front, body);
    c->line = read_line(&l->arena, front, c->summary);
    c->is_hidden = says(json_get(front, "user-invocable"), false);
    c->is_users = json_get(front, "disable-model-invocation") &&
                  !says(json_get(front, "disable-model-invocation"), false);
    c->forks = str_is(json_get_str(front, "context"), "fork");
    c->agent = json_get_str(front, "agent");
    c->model = json_get_str(front, "model");
    if (str_is(c->model, "inherit"))
        c->model = STR("");
    (void)effort_parse(json_get_str(front, "effort"), &c->effort);
    if (c->is_skill && !c->plugin && is_name(json_get_str(front, "name")) &&
        !str_eq(json_get_str(front, "name"), c->name))
        c->alias = json_get_str(front, "name");
    add_rules(json_get(front, "allowed-tools"), &c->allow);
    add_rules(json_get(front, "disallowed-tools"), &c->deny);
    add_names(json_get(front, "arguments"), &c->names);
    add_names(json_get(front, "paths"), &c->paths);
    c->shell = json_get_str(front, "shell");
    c->hooks = json_get(front, "hooks");
    if (c->is_hidden && c->is_users)
        strv_addf(&l->notes,
                  "%s: neither you nor the model may call it (user-invocable: false and "
                  "disable-model-invocation: true)",
                  c->path);
    apply_override(conf, c);
}

static void take_file(struct own_list *l, const struct conf *conf, const struct place *at,
                      const char *path, struct str name, bool is_skill)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(OWN_MAX_FILE);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct own_command c = {.level = at->level, .is_skill = is_skill, .plugin = at->plugin};
    CLEANUP(buf_release) struct buf full = BUF_INIT(4096);
    struct err err = {0};

    stamp(l, path);
    buf_addf(&full, "%s%s%.*s", at->plugin ? at->plugin->name : "", at->plugin ? ":" : "",
             STR_ARG(name));
    if (!is_name(buf_str(&full))) {
        strv_addf(&l->notes,
                  "%s is not used: its name may only have letters, digits and -_.:", path);
        return;
    }
    if (places_leads_out(at, l->project, path)) {
        strv_addf(&l->notes, "%s is not used: it is a link that leads out of the %s", path,
                  at->plugin ? "plugin" : "project");
        return;
    }
    if (file_slurp(path, OWN_MAX_FILE, &text, &err) < 0) {
        strv_addf(&l->notes, "%s is not used: %s", path, err.text);
        return;
    }
    c.path = arena_cstr(&l->arena, str_of(path));
    c.dir = arena_cstr(&l->arena, str_of(dir));
    c.name = arena_str(&l->arena, buf_str(&full));
    if (at->near)
        c.near = arena_cstr(&l->arena, str_of(at->path));
    if (l->keeps_texts)
        c.text = arena_str(&l->arena, buf_str(&text));
    read_front(l, conf, buf_str(&text), &c);
    keep(l, &c);
}

/* ---- Folders ---- */

static int is_entry(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Names in order, so that lists are the same every time; false: it cannot be read. */
static bool list_folder(struct own_list *l, const char *path, struct strv *ret)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, is_entry, alphasort);

    for (int i = 0; i < n; i++) {
        if (l->entries++ < OWN_MAX_ENTRIES)
            strv_adds(ret, names[i]->d_name);
        free(names[i]); /* scandir()'s own */
    }
    free(names);
    return n >= 0;
}

static void take_commands(struct own_list *l, const struct conf *conf, const struct place *at,
                          const char *folder, struct str prefix, unsigned depth)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    stamp(l, folder);
    if (!list_folder(l, folder, &names))
        return;
    for (size_t i = 0; i < names.len; i++) {
        CLEANUP(mem_freep) char *path = path_join(folder, names.ptr[i]);
        CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
        struct str file = str_of(names.ptr[i]);

        buf_add(&name, prefix);
        if (file_is_dir(path)) {
            buf_addf(&name, "%s:", names.ptr[i]);
            if (depth < OWN_MAX_DEPTH)
                take_commands(l, conf, at, path, buf_str(&name), depth + 1);
        } else if (str_ends(file, STR(".md"))) {
            buf_add(&name, str_first(file, file.len - 3));
            take_file(l, conf, at, path, buf_str(&name), /*is_skill=*/false);
        }
    }
}

/* A place of a plugin may be the folder of a single skill. */
static bool take_one(struct own_list *l, const struct conf *conf, const struct place *at)
{
    CLEANUP(mem_freep) char *path = path_join(at->path, "SKILL.md");

    if (!at->plugin || !file_exists(path))
        return false;
    take_file(l, conf, at, path, str_of(path_base(at->path)), /*is_skill=*/true);
    return true;
}

/* A place of a plugin may be a single file. */
static bool take_command(struct own_list *l, const struct conf *conf, const struct place *at)
{
    struct str file = str_of(path_base(at->path));

    if (!at->plugin || !str_ends(file, STR(".md")) || file_is_dir(at->path))
        return false;
    take_file(l, conf, at, at->path, str_first(file, file.len - 3), /*is_skill=*/false);
    return true;
}

static void take_skills(struct own_list *l, const struct conf *conf, const struct place *at)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    stamp(l, at->path);
    if (take_one(l, conf, at) || !list_folder(l, at->path, &names))
        return;
    for (size_t i = 0; i < names.len; i++) {
        CLEANUP(mem_freep) char *folder = path_join(at->path, names.ptr[i]);
        CLEANUP(mem_freep) char *path = path_join(folder, "SKILL.md");

        if (!file_is_dir(folder))
            continue;
        stamp(l, folder);
        if (file_exists(path))
            take_file(l, conf, at, path, str_of(names.ptr[i]), /*is_skill=*/true);
    }
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct own_command *)a)->name, ((const struct own_command *)b)->name);
}

struct own_list *own_read(const struct conf *conf, const struct strv *near, bool keeps_texts)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *project = path_real(places_project(conf, &arena));
    struct own_list *l = mem_zalloc(sizeof(*l));
    place_vec commands = VEC_INIT;
    place_vec skills = VEC_INIT;

    atomic_store(&l->refs, 1);
    l->keeps_texts = keeps_texts;
    l->plugins = plugins_get(conf);
    l->project = arena_cstr(&l->arena, str_of(project));
    if (conf_get_bool(conf, "disableSlashCommands", false))
        return l;
    places_find_added(conf, "commands", &arena, &commands); /* the project's own take precedence */
    places_find(conf, "commands", &arena, &commands);
    places_find_added(conf, "skills", &arena, &skills);
    places_find(conf, "skills", &arena, &skills);
    places_near(conf, near, "skills", &arena, &skills);
    VEC_EACH(&commands, at) {
        if (!take_command(l, conf, at))
            take_commands(l, conf, at, at->path, STR(""), 0);
    }
    VEC_EACH(&skills, at) {
        take_skills(l, conf, at);
    }
    if (l->entries > OWN_MAX_ENTRIES)
        strv_addf(&l->notes, "only the first %d files of commands and skills are looked at",
                  OWN_MAX_ENTRIES);
    if (l->commands.len)
        qsort(l->commands.ptr, l->commands.len, sizeof(l->commands.ptr[0]), by_name);
    VEC_EACH(&l->commands, c) { /* an alias that is also a name, or another's alias, is none */
        if (!c->alias.len)
            continue;
        VEC_EACH(&l->commands, o) {
            if (o != c && (str_eq(o->name, c->alias) || str_eq(o->alias, c->alias)))
                c->alias = STR("");
        }
    }
    vec_release(&commands);
    vec_release(&skills);
    return l;
}

int own_body(const struct own_command *c, struct arena *arena, struct str *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(OWN_MAX_FILE);
    const struct json *front = NULL;

    struct str all;

    if (!c->text.ptr && file_slurp(c->path, OWN_MAX_FILE, &text, err) < 0)
        return -1;
    all = arena_str(arena, c->text.ptr ? c->text : buf_str(&text));
    if (c->is_broken) {
        *ret = body_behind(all);
        return 0;
    }
    return frontmatter_read(all, arena, &front, ret, err);
}
