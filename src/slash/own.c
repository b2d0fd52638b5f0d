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
    return NULL;
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

static void places_of(const struct conf *conf, struct arena *arena, place_vec *ret)
{
    places_find_added(conf, "commands", arena, ret);
    places_find(conf, "commands", arena, ret);
    places_find_added(conf, "skills", arena, ret);
    places_find(conf, "skills", arena, ret);
}

bool own_is_fresh(const struct own_list *l, const struct conf *conf)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    place_vec places = VEC_INIT;
    bool fresh = true;

    places_of(conf, &arena, &places);
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
        /* Between rules stands a comma, or a space where no parenthesis is open. */
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

/* "[file] [line]"; YAML may have made a list of it. */
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

/* The description, with when to use it; else the first line that says something. */
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

/* What a file asks for beside its words, and this version does not do. Keys that only describe are
 * not among them, nor is disable-model-invocation: no model invokes any. */
static struct str read_unused(struct arena *arena, const struct json *front)
{
    static const char *const keys[] = {"context", "agent", "paths"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(100);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (json_get(front, keys[i]))
            buf_addf(&text, "%s%s", text.len ? ", " : "", keys[i]);
    }
    return arena_str(arena, buf_str(&text));
}

/* Which of two of one name counts. */
static int rank(const struct own_command *c)
{
    static const int levels[] = {[LEVEL_PROJECT] = 0,
                                 [LEVEL_LOCAL] = 0,
                                 [LEVEL_USER] = 1,
                                 [LEVEL_FLAG] = 1,
                                 [LEVEL_MANAGED] = 2};

    return 2 * levels[c->level] + c->is_skill;
}

/* Takes it, or says why not. */
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
}

static void take_file(struct own_list *l, const struct place *at, const char *path, struct str name,
                      bool is_skill)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(OWN_MAX_FILE);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    const struct json *front = NULL;
    struct own_command c = {.level = at->level, .is_skill = is_skill};
    struct err err = {0};
    struct str body;

    stamp(l, path);
    if (!is_name(name)) {
        strv_addf(&l->notes, "%s is not used: its name is no word", path);
        return;
    }
    if (places_leads_out(at, l->project, path)) {
        strv_addf(&l->notes, "%s is not used: it is a link out of the project", path);
        return;
    }
    if (file_slurp(path, OWN_MAX_FILE, &text, &err) < 0 ||
        frontmatter_read(buf_str(&text), &l->arena, &front, &body, &err) < 0) {
        strv_addf(&l->notes, "%s is not used: %s", path, err.text);
        return;
    }
    if (l->keeps_texts)
        c.text = arena_str(&l->arena, buf_str(&text));
    c.name = arena_str(&l->arena, name);
    c.path = arena_cstr(&l->arena, str_of(path));
    c.dir = arena_cstr(&l->arena, str_of(dir));
    c.hint = read_hint(&l->arena, json_get(front, "argument-hint"));
    c.summary = read_summary(&l->arena, front, body);
    c.is_hidden = !json_get_bool(front, "user-invocable", true);
    c.model = json_get_str(front, "model");
    if (str_is(c.model, "inherit"))
        c.model = STR("");
    (void)effort_parse(json_get_str(front, "effort"), &c.effort);
    add_rules(json_get(front, "allowed-tools"), &c.allow);
    add_rules(json_get(front, "disallowed-tools"), &c.deny);
    add_names(json_get(front, "arguments"), &c.names);
    c.shell = json_get_str(front, "shell");
    c.hooks = json_get(front, "hooks");
    c.unused = read_unused(&l->arena, front);
    if (c.unused.len)
        strv_addf(&l->notes, "%s: not used by this version: %.*s", path, STR_ARG(c.unused));
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

static void take_commands(struct own_list *l, const struct place *at, const char *folder,
                          struct str prefix, unsigned depth)
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
                take_commands(l, at, path, buf_str(&name), depth + 1);
        } else if (str_ends(file, STR(".md"))) {
            buf_add(&name, str_first(file, file.len - 3));
            take_file(l, at, path, buf_str(&name), /*is_skill=*/false);
        }
    }
}

static void take_skills(struct own_list *l, const struct place *at)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;

    stamp(l, at->path);
    if (!list_folder(l, at->path, &names))
        return;
    for (size_t i = 0; i < names.len; i++) {
        CLEANUP(mem_freep) char *folder = path_join(at->path, names.ptr[i]);
        CLEANUP(mem_freep) char *path = path_join(folder, "SKILL.md");

        if (!file_is_dir(folder))
            continue;
        stamp(l, folder);
        if (file_exists(path))
            take_file(l, at, path, str_of(names.ptr[i]), /*is_skill=*/true);
    }
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct own_command *)a)->name, ((const struct own_command *)b)->name);
}

struct own_list *own_read(const struct conf *conf, bool keeps_texts)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *project = path_real(places_project(conf, &arena));
    struct own_list *l = mem_zalloc(sizeof(*l));
    place_vec commands = VEC_INIT;
    place_vec skills = VEC_INIT;

    atomic_store(&l->refs, 1);
    l->keeps_texts = keeps_texts;
    l->project = arena_cstr(&l->arena, str_of(project));
    if (conf_get_bool(conf, "disableSlashCommands", false))
        return l;
    places_find_added(conf, "commands", &arena, &commands); /* the project's own beat these */
    places_find(conf, "commands", &arena, &commands);
    places_find_added(conf, "skills", &arena, &skills);
    places_find(conf, "skills", &arena, &skills);
    VEC_EACH(&commands, at) {
        take_commands(l, at, at->path, STR(""), 0);
    }
    VEC_EACH(&skills, at) {
        take_skills(l, at);
    }
    if (l->entries > OWN_MAX_ENTRIES)
        strv_addf(&l->notes, "only the first %d files of commands and skills are looked at",
                  OWN_MAX_ENTRIES);
    if (l->commands.len)
        qsort(l->commands.ptr, l->commands.len, sizeof(l->commands.ptr[0]), by_name);
    vec_release(&commands);
    vec_release(&skills);
    return l;
}

int own_body(const struct own_command *c, struct arena *arena, struct str *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(OWN_MAX_FILE);
    const struct json *front = NULL;

    if (c->text.ptr)
        return frontmatter_read(arena_str(arena, c->text), arena, &front, ret, err);
    if (file_slurp(c->path, OWN_MAX_FILE, &text, err) < 0)
        return -1;
    return frontmatter_read(arena_str(arena, buf_str(&text)), arena, &front, ret, err);
}
