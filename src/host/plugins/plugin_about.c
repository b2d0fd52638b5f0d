/*
 * plugin_about: what a plugin can run, its parts, and lists of plugins. Any thread.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "conf/conf.h"
#include "conf/frontmatter.h"
#include "conf/plugin.h"
#include "host/plugins/plugin_fetch.h"
#include "host/plugins/plugin_state.h"
#include "host/plugins/plugins.h"
#include "json/json.h"
#include "json/jw.h"

#define FILE_MAX ((size_t)1 << 20)
#define FILES_MAX 1000 /* of one part */
#define TOKEN_CHARS 4

/* ---- The files of a part ---- */

struct part_file {
    struct arena arena;
    struct str name; /* "greet", "web:test" */
    const char *path;
    const struct json *front; /* NULL = invalid */
    const char *why;          /* then */
};

typedef void (*part_fn)(void *arg, const struct part_file *f);

static int is_entry(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static void part_file(const char *path, struct str name, part_fn fn, void *arg)
{
    struct part_file f = {.arena = ARENA_INIT, .name = name, .path = path};
    CLEANUP(buf_release) struct buf text = BUF_INIT(FILE_MAX);
    struct err err = {0};
    struct str body;

    if (file_slurp(path, FILE_MAX, &text, &err) < 0 ||
        frontmatter_read(buf_str(&text), &f.arena, &f.front, &body, &err) < 0) {
        f.front = NULL;
        f.why = err.text;
    }
    fn(arg, &f);
    arena_release(&f.arena);
}

/* Markdown files of a folder and its subfolders; for skills the SKILL.md of each. */
static void part_folder(const char *dir, struct str prefix, bool is_skills, int depth, part_fn fn,
                        void *arg)
{
    struct dirent **names = NULL;
    int n = depth > 8 ? -1 : scandir(dir, &names, is_entry, alphasort);

    for (int i = 0; i < n; i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, names[i]->d_name);
        CLEANUP(mem_freep) char *skill = path_join(path, "SKILL.md");
        CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
        struct str file = str_of(names[i]->d_name);

        buf_addf(&name, "%.*s%.*s", STR_ARG(prefix), STR_ARG(file));
        if (i < FILES_MAX && is_skills && file_exists(skill)) {
            part_file(skill, buf_str(&name), fn, arg);
        } else if (i < FILES_MAX && !is_skills && file_is_dir(path)) {
            buf_addc(&name, ':');
            part_folder(path, buf_str(&name), is_skills, depth + 1, fn, arg);
        } else if (i < FILES_MAX && !is_skills && str_ends(file, STR(".md"))) {
            part_file(path, str_first(buf_str(&name), name.len - 3), fn, arg);
        }
        free(names[i]); /* allocated by scandir() */
    }
    free(names);
}

static void part_each(const struct plugin *p, enum plugin_part part, part_fn fn, void *arg)
{
    const struct strv *paths = &p->paths[part];

    for (size_t i = 0; i < paths->len; i++) {
        CLEANUP(mem_freep) char *skill = path_join(paths->ptr[i], "SKILL.md");
        struct str base = str_of(path_base(paths->ptr[i]));

        if (file_is_dir(paths->ptr[i]) && part == PLUGIN_SKILLS && file_exists(skill))
            part_file(skill, base, fn, arg);
        else if (file_is_dir(paths->ptr[i]))
            part_folder(paths->ptr[i], STR(""), part == PLUGIN_SKILLS, 0, fn, arg);
        else
            part_file(paths->ptr[i],
                      str_first(base, str_ends(base, STR(".md")) ? base.len - 3 : base.len), fn,
                      arg);
    }
}

/* ---- What can run ---- */

/* On one line and never truncated: a hidden rest could be run without being seen. */
static void add_text(struct buf *ret, struct str text)
{
    bool is_blank = false;

    text = str_trim(text);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c <= 0x20 || c == 0x7f) {
            is_blank = true;
            continue;
        }
        if (is_blank)
            buf_addc(ret, ' ');
        is_blank = false;
        buf_addc(ret, text.ptr[i]);
    }
}

/* Whether the object has only these members; otherwise it is shown as JSON. */
static bool has_only(const struct json *object, const char *members)
{
    JSON_EACH(object, member) {
        if (!str_is_word_of(json_key(member), members))
            return false;
    }
    return true;
}

static void add_hooks(const struct plugin *p, struct buf *ret)
{
    VEC_EACH(&p->hooks, object) {
        JSON_EACH(object->value, event) {
            JSON_EACH(event, group) {
                JSON_EACH(json_get(group, "hooks"), hook) {
                    bool is_plain = str_is(json_get_str(hook, "type"), "command") &&
                                    has_only(hook, "type command timeout statusMessage");

                    buf_adds(ret, "hook at ");
                    add_text(ret, json_key(event));
                    buf_adds(ret, ": ");
                    add_text(ret, is_plain ? json_get_str(hook, "command") : json_raw(hook));
                    buf_addc(ret, '\n');
                }
            }
        }
    }
}

static void add_servers(const struct plugin *p, struct buf *ret)
{
    VEC_EACH(&p->servers, object) {
        JSON_EACH(object->value, server) {
            buf_adds(ret, "MCP server ");
            add_text(ret, json_key(server));
            buf_adds(ret, ": ");
            if (has_only(server, "type url") || has_only(server, "type command args")) {
                add_text(ret, json_get_str(server, "url"));
                add_text(ret, json_get_str(server, "command"));
                JSON_EACH(json_get(server, "args"), arg) {
                    buf_addc(ret, ' ');
                    add_text(ret, json_str(arg));
                }
            } else {
                add_text(ret, json_raw(server));
            }
            buf_addc(ret, '\n');
        }
    }
}

static void add_programs(const struct plugin *p, struct buf *ret)
{
    struct dirent **names = NULL;
    int n = p->bin ? scandir(p->bin, &names, is_entry, alphasort) : 0;

    for (int i = 0; i < n; i++) {
        if (i < FILES_MAX) {
            buf_adds(ret, "program for Bash: ");
            add_text(ret, str_of(names[i]->d_name));
            buf_addc(ret, '\n');
        }
        free(names[i]); /* allocated by scandir() */
    }
    free(names);
}

static void add_grants(void *arg, const struct part_file *f)
{
    struct buf *ret = arg;
    const struct json *tools = json_get(f->front, "allowed-tools");
    bool has_hooks = json_get(f->front, "hooks");

    if (!tools && !has_hooks)
        return;
    buf_adds(ret, "/");
    add_text(ret, f->name);
    if (tools)
        buf_adds(ret, " grants: ");
    add_text(ret, json_str(tools));
    JSON_EACH(json_is(tools, JSON_ARRAY) ? tools : NULL, one) {
        add_text(ret, json_str(one));
        buf_addc(ret, ' ');
    }
    if (has_hooks)
        buf_adds(ret, " brings hooks");
    buf_addc(ret, '\n');
}

void plugin_add_surface(const struct plugin *p, struct buf *ret)
{
    add_hooks(p, ret);
    add_servers(p, ret);
    add_programs(p, ret);
    part_each(p, PLUGIN_SKILLS, add_grants, ret);
    part_each(p, PLUGIN_COMMANDS, add_grants, ret);
}

void plugin_surface_digest(const struct plugin *p, char *ret)
{
    static const char *const folders[] = {"bin", "hooks", "scripts"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    char hash[SHA256_HEX + 1];

    plugin_add_surface(p, &text);
    plugin_digest(p, hash);
    buf_adds(&text, hash);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = path_join(p->root, folders[i]);
        char folder[FETCH_HASH + 1] = "";

        if (file_is_dir(path))
            (void)fetch_copy(path, NULL, NULL, folder, /*err=*/NULL);
        buf_addf(&text, " %s", folder);
    }
    sha256_hex(buf_str(&text), ret);
}

/* ---- Lists ---- */

struct plugin_row {
    const char *id, *version, *description, *path;
    struct str scope;
    const char *status, *problem;
};

static const char *problem_of(const struct plugins *all, const char *id)
{
    VEC_EACH(&all->problems, it) {
        if (strcmp(it->id, id) == 0)
            return it->text;
    }
    return NULL;
}

static void write_row(const struct plugin_row *r, struct jw *w, struct buf *ret)
{
    if (!w) {
        buf_addf(ret, "%-28s %-9s %s%s%.*s%s\n", r->id, r->status, r->version ? r->version : "",
                 r->scope.len ? (r->version ? ", " : "") : "", STR_ARG(r->scope),
                 r->scope.len ? " scope" : "");
        if (r->description)
            buf_addf(ret, "    %s\n", r->description);
        if (r->problem)
            buf_addf(ret, "    ! %s\n", r->problem);
        return;
    }
    jw_object(w);
    jw_kcstr(w, "id", r->id);
    jw_kcstr(w, "status", r->status);
    if (r->version)
        jw_kcstr(w, "version", r->version);
    if (r->description)
        jw_kcstr(w, "description", r->description);
    if (r->scope.len)
        jw_kstr(w, "scope", r->scope);
    if (r->path)
        jw_kcstr(w, "path", r->path);
    if (r->problem)
        jw_kcstr(w, "error", r->problem);
    jw_object_end(w);
}

static void write_loaded(const struct conf *conf, const struct plugins *all, const struct plugin *p,
                         struct jw *w, struct buf *ret)
{
    bool is_inline = strcmp(p->market, "inline") == 0;
    enum plugin_scope scope = is_inline ? SCOPE_ANY : scope_of(conf, str_of(p->id));

    write_row(&(struct plugin_row){.id = p->id,
                                   .version = p->version,
                                   .description = p->description,
                                   .path = p->root,
                                   .scope = str_of(plugin_scope_name(scope)),
                                   .status = is_inline ? "this run" : "enabled",
                                   .problem = problem_of(all, p->id)},
              w, ret);
}

static void write_installed(const struct conf *conf, const struct plugins *all, struct arena *arena,
                            const struct json *record, struct jw *w, struct buf *ret)
{
    const char *id = arena_cstr(arena, json_key(record));
    const char *problem = problem_of(all, id);
    struct str version = json_get_str(record, "version");

    if (plugins_find(all, str_of(id)))
        return;
    write_row(&(struct plugin_row){.id = id,
                                   .version = version.len ? arena_cstr(arena, version) : NULL,
                                   .path = arena_cstr(arena, json_get_str(record, "path")),
                                   .scope = str_of(plugin_scope_name(scope_of(conf, str_of(id)))),
                                   .status = problem ? "error" : "disabled",
                                   .problem = problem},
              w, ret);
}

/* Problems of plugins that are neither loaded nor installed. */
static void write_problems(const struct plugins *all, const struct json *installed, struct jw *w,
                           struct buf *ret)
{
    VEC_EACH(&all->problems, it) {
        if (!plugins_find(all, str_of(it->id)) && !json_get(installed, it->id))
            write_row(&(struct plugin_row){.id = it->id, .status = "error", .problem = it->text}, w,
                      ret);
    }
}

static int write_available(const struct conf *conf, struct jw *w, struct buf *ret, struct err *err)
{
    struct plugin_job job = {.conf = conf};
    CLEANUP(strv_release) struct strv markets = STRV_INIT;

    if (market_names(conf, &markets, err) < 0)
        return -1;
    for (size_t i = 0; i < markets.len; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct market m = {0};

        if (market_find(&job, &arena, str_of(markets.ptr[i]), &m, /*err=*/NULL) < 0)
            continue;
        JSON_EACH(json_get(m.manifest, "plugins"), entry) {
            CLEANUP(buf_release) struct buf id = BUF_INIT(1000);
            CLEANUP(buf_release) struct buf about = BUF_INIT(4000);
            struct str version = str_clip(json_get_str(entry, "version"), 40);

            if (!plugin_name_is_fine(json_get_str(entry, "name")))
                continue;
            buf_addf(&id, "%.*s@%s", STR_ARG(json_get_str(entry, "name")), markets.ptr[i]);
            add_text(&about, json_get_str(entry, "description"));
            if (!plugin_is_known(conf, buf_str(&id)))
                write_row(&(struct plugin_row){.id = buf_cstr(&id),
                                               .version =
                                                   version.len ? arena_cstr(&arena, version) : NULL,
                                               .description = about.len ? buf_cstr(&about) : NULL,
                                               .status = "available"},
                          w, ret);
        }
    }
    return 0;
}

int plugin_write_list(const struct conf *conf, bool is_available, struct jw *w, struct buf *ret,
                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct plugins *all = plugins_get(conf);
    const struct json *root = plugin_state(conf, "installed.json", &arena, err);
    const struct json *installed = json_get(root, "plugins");
    size_t before = ret->len;
    int rc = 0;

    if (!root)
        return -1;
    if (w)
        jw_array(w);
    VEC_EACH(&all->list, it) {
        write_loaded(conf, all, *it, w, ret);
    }
    JSON_EACH(installed, record) {
        write_installed(conf, all, &arena, record, w, ret);
    }
    write_problems(all, installed, w, ret);
    if (is_available)
        rc = write_available(conf, w, ret, err);
    if (w)
        jw_array_end(w);
    else if (ret->len == before)
        buf_adds(ret, "No plugins are installed. Install one with: tenax plugin install SOURCE\n");
    return rc;
}

int market_write_list(const struct conf *conf, struct jw *w, struct buf *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct plugin_job job = {.conf = conf};

    if (market_names(conf, &names, err) < 0)
        return -1;
    if (w)
        jw_array(w);
    for (size_t i = 0; i < names.len; i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct market m = {0};
        struct err why = {0};
        bool is_fine = market_find(&job, &arena, str_of(names.ptr[i]), &m, &why) == 0;
        size_t n = is_fine ? json_len(json_get(m.manifest, "plugins")) : 0;

        if (w) {
            jw_object(w);
            jw_kcstr(w, "name", names.ptr[i]);
            jw_kstr(w, "source", m.source);
            jw_ki64(w, "plugins", (int64_t)n);
            if (!is_fine)
                jw_kcstr(w, "error", why.text);
            jw_object_end(w);
        } else {
            buf_addf(ret, "%-28s %zu plugin%s, %.*s\n", names.ptr[i], n, n == 1 ? "" : "s",
                     STR_ARG(m.source));
            if (!is_fine)
                buf_addf(ret, "    ! %s\n", why.text);
        }
    }
    if (w)
        jw_array_end(w);
    else if (!names.len)
        buf_adds(ret, "No marketplaces are known. Add one with: tenax plugin marketplace add "
                      "SOURCE\n");
    return 0;
}

/* ---- A single plugin ---- */

struct details {
    const struct plugin *plugin;
    const char *part;
    struct jw *w;
    struct buf *ret;
    size_t listed; /* characters that are added to every session */
};

static void add_part(void *arg, const struct part_file *f)
{
    struct details *d = arg;
    struct str about = json_get_str(f->front, "description");
    size_t chars = f->name.len + about.len + json_get_str(f->front, "when_to_use").len + 6;

    if (!json_get_bool(f->front, "disable-model-invocation", false))
        d->listed += chars;
    if (d->w) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(4096);

        buf_addf(&name, "%s:%.*s", d->plugin->name, STR_ARG(f->name));
        jw_object(d->w);
        jw_kcstr(d->w, "part", d->part);
        jw_kstr(d->w, "name", buf_str(&name));
        jw_ki64(d->w, "tokens", (int64_t)(chars / TOKEN_CHARS));
        jw_object_end(d->w);
        return;
    }
    buf_addf(d->ret, "  %-8s %s:%.*s, about %zu tokens\n", d->part, d->plugin->name,
             STR_ARG(f->name), chars / TOKEN_CHARS);
}

/* A plugin that is not enabled is loaded for this. */
static const struct plugin *find_any(const struct conf *conf, struct str id, struct plugins *list,
                                     struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct plugin *p = plugins_find(plugins_get(conf), id);
    CLEANUP(mem_freep) char *path = NULL;
    struct plugin_record r = {0};
    struct plugin *made;
    struct str name;
    struct str market;

    if (p || record_need(conf, &arena, id, &r, err) < 0)
        return p;
    strv_release(&r.scopes);
    (void)plugin_id_split(id, &name, &market);
    path = mem_dup(r.path.ptr, r.path.len);
    made = plugin_read(list, path, name, market);
    if (made)
        vec_push(&list->list, made);
    else
        err_set(err, ERR_BAD_INPUT, "%s", list->problems.ptr[0].text);
    return made;
}

int plugin_write_details(const struct conf *conf, struct str id, struct jw *w, struct buf *ret,
                         struct err *err)
{
    static const char *const parts[] = {"command", "skill", "agent", "style"};
    CLEANUP(plugins_freep) struct plugins *list = plugins_new();
    CLEANUP(buf_release) struct buf surface = BUF_INIT(BUF_NO_LIMIT);
    const struct plugin *p = find_any(conf, id, list, err);
    struct details d = {.plugin = p, .w = w, .ret = ret};
    struct str rest;
    struct str line;

    if (!p)
        return -1;
    plugin_add_surface(p, &surface);
    if (w) {
        jw_object(w);
        jw_kcstr(w, "id", p->id);
        jw_kcstr(w, "path", p->root);
        jw_kcstr(w, "version", p->version ? p->version : "");
        jw_key(w, "parts");
        jw_array(w);
    } else {
        buf_addf(ret, "%s%s%s\n  in %s\n", p->id, p->version ? " " : "",
                 p->version ? p->version : "", p->root);
    }
    for (enum plugin_part part = 0; part < PLUGIN_PARTS; part++) {
        d.part = parts[part];
        part_each(p, part, add_part, &d);
    }
    rest = buf_str(&surface);
    if (w) {
        jw_array_end(w);
        jw_ki64(w, "tokens", (int64_t)(d.listed / TOKEN_CHARS));
        jw_key(w, "runs");
        jw_array(w);
    }
    while (rest.len && str_cut(&rest, '\n', &line)) {
        if (w)
            jw_str(w, line);
        else
            buf_addf(ret, "  %.*s\n", STR_ARG(line));
    }
    if (w) {
        jw_array_end(w);
        jw_object_end(w);
        return 0;
    }
    for (size_t i = 0; i < p->unused.len; i++)
        buf_addf(ret, "  not used by tenax: %s\n", p->unused.ptr[i]);
    buf_addf(ret, "  costs about %zu tokens in each session that lists it\n",
             d.listed / TOKEN_CHARS);
    return 0;
}

static void check_part(void *arg, const struct part_file *f)
{
    if (!f->front)
        strv_addf(arg, "%s: %s", f->path, f->why);
}

int plugin_validate(const char *path, struct strv *ret_problems, struct err *err)
{
    CLEANUP(plugins_freep) struct plugins *list = plugins_new();
    CLEANUP(mem_freep) char *market = path_join(path, ".claude-plugin/marketplace.json");
    struct plugin *p;

    if (!file_is_dir(path))
        return err_set(err, ERR_NOT_FOUND, "there is no folder %s", path);
    if (file_exists(market))
        return market_validate(path, ret_problems, err);
    p = plugin_read(list, path, STR(""), STR("path"));
    if (p)
        vec_push(&list->list, p);
    VEC_EACH(&list->problems, it) {
        strv_adds(ret_problems, it->text);
    }
    for (enum plugin_part part = 0; p && part < PLUGIN_PARTS; part++)
        part_each(p, part, check_part, ret_problems);
    return 0;
}

#define NOTES_MAX 5

void plugins_note(const struct conf *conf, struct strv *ret_notes)
{
    const struct plugins *all = plugins_get(conf);

    for (size_t i = 0; i < all->problems.len && i < NOTES_MAX; i++)
        strv_addf(ret_notes, "Plugin %s: %s", all->problems.ptr[i].id, all->problems.ptr[i].text);
    if (all->problems.len > NOTES_MAX)
        strv_addf(ret_notes, "%zu more problems with plugins; tenax plugin list shows them",
                  all->problems.len - NOTES_MAX);
}
