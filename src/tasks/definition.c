/*
 * definition: collects the agent types from all sources. Any thread.
 */
#include "tasks/definition.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "conf/places.h"
#include "conf/plugin.h"
#include "json/json.h"
#include "tasks/words.h"

struct definition_stamp {
    const char *path;
    struct timespec mtime;
    off_t size;
};

const char *definition_source_name(enum definition_source s)
{
    static const char *const names[] = {"built-in", "plugin", "user", "project", "flag", "managed"};

    return names[s];
}

/* ---- Creation and release ---- */

struct definitions *definitions_ref(struct definitions *l)
{
    atomic_fetch_add(&l->refs, 1);
    return l;
}

void definitions_unref(struct definitions *l)
{
    if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
        return;
    VEC_EACH(&l->list, it) {
        strv_release(&(*it)->tools);
        strv_release(&(*it)->disallowed);
        strv_release(&(*it)->starts);
        strv_release(&(*it)->skills);
        strv_release(&(*it)->server_names);
    }
    vec_release(&l->list);
    vec_release(&l->stamps);
    strv_release(&l->problems);
    strv_release(&l->notes);
    arena_release(&l->arena);
    mem_freep(&l);
}

void definitions_unrefp(struct definitions **l)
{
    definitions_unref(*l);
}

const struct definition *definitions_find(const struct definitions *l, struct str name)
{
    VEC_EACH(&l->list, it) {
        if (str_is(name, (*it)->name) && !(*it)->shadowed_by)
            return *it;
    }
    return NULL;
}

/* Of several with the same name the highest source wins, then the latest one. */
void definitions_add(struct definitions *l, struct definition *d)
{
    VEC_EACH(&l->list, it) {
        struct definition *other = *it;

        if (strcmp(other->name, d->name) != 0 || other->shadowed_by)
            continue;
        if (other->source > d->source)
            d->shadowed_by = other;
        else
            other->shadowed_by = d;
    }
    vec_push(&l->list, d);
}

/* ---- Files ---- */

static void stamp(struct definitions *l, const char *path)
{
    struct definition_stamp s = {.path = arena_cstr(&l->arena, str_of(path))};
    struct stat st;

    if (stat(path, &st) == 0) {
        s.mtime = st.st_mtim;
        s.size = st.st_size;
    }
    vec_push(&l->stamps, s);
}

static bool stamp_holds(const struct definition_stamp *s)
{
    struct stat st = {0};

    if (stat(s->path, &st) < 0)
        memset(&st, 0, sizeof(st));
    return st.st_mtim.tv_sec == s->mtime.tv_sec && st.st_mtim.tv_nsec == s->mtime.tv_nsec &&
           st.st_size == s->size;
}

static void places_of(const struct conf *conf, struct arena *arena, place_vec *ret)
{
    places_find_added(conf, "agents", arena, ret);
    places_find(conf, "agents", arena, ret);
}

bool definitions_are_fresh(const struct definitions *l, const struct conf *conf)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    place_vec places = VEC_INIT;
    bool fresh = l->plugins == plugins_get(conf);

    places_of(conf, &arena, &places);
    VEC_EACH(&l->stamps, s) {
        fresh = fresh && stamp_holds(s);
    }
    VEC_EACH(&places, p) { /* a folder that is new */
        bool known = false;

        VEC_EACH(&l->stamps, s) {
            known = known || strcmp(s->path, p->path) == 0;
        }
        fresh = fresh && known;
    }
    vec_release(&places);
    return fresh;
}

static int is_entry(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* What is being collected, and its source. */
struct taking {
    const struct place *place;
    enum definition_source source;
    bool is_trusted;
};

static void take_file(struct definitions *l, const struct taking *t, const char *path)
{
    const struct plugin *plugin = t->place->plugin;
    struct definition *d;

    stamp(l, path);
    if (plugin && places_leads_out(t->place, plugin->root, path)) {
        strv_addf(&l->problems, "%s:1: it is a link that leads out of the plugin", path);
        return;
    }
    d = definition_read_file(l, path, t->source, t->is_trusted);
    if (d && plugin) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(1000);

        buf_addf(&name, "%s:%s", plugin->name, d->name);
        d->name = arena_cstr(&l->arena, buf_str(&name));
    }
    if (d)
        definitions_add(l, d);
}

static void take_folder(struct definitions *l, const struct taking *t, const char *folder,
                        unsigned depth)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, is_entry, alphasort);

    stamp(l, folder);
    for (int i = 0; i < n; i++) {
        CLEANUP(mem_freep) char *path = path_join(folder, names[i]->d_name);
        bool is_file = str_ends(str_of(names[i]->d_name), STR(".md"));

        free(names[i]); /* allocated by scandir() */
        if (l->entries++ >= DEFINITION_MAX_ENTRIES || l->list.len >= DEFINITION_MAX)
            continue;
        if (file_is_dir(path)) {
            if (depth < DEFINITION_MAX_DEPTH)
                take_folder(l, t, path, depth + 1);
        } else if (is_file) {
            take_file(l, t, path);
        }
    }
    free(names); /* allocated by scandir() */
}

static void take_places(struct definitions *l, const struct conf *conf)
{
    static const enum definition_source sources[] = {
        [LEVEL_USER] = DEFINITION_USER,       [LEVEL_PROJECT] = DEFINITION_PROJECT,
        [LEVEL_LOCAL] = DEFINITION_PROJECT,   [LEVEL_FLAG] = DEFINITION_FLAG,
        [LEVEL_MANAGED] = DEFINITION_MANAGED,
    };
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    place_vec places = VEC_INIT;

    l->plugins = plugins_get(conf);
    places_of(conf, &arena, &places);
    VEC_EACH(&places, p) {
        struct taking t = {.place = p, .source = sources[p->level]};

        if (p->plugin)
            t.source = DEFINITION_PLUGIN;
        t.is_trusted = !p->plugin && (t.source != DEFINITION_PROJECT || conf_is_trusted(conf));
        if (p->plugin && !file_is_dir(p->path))
            take_file(l, &t, p->path);
        else
            take_folder(l, &t, p->path, 0);
    }
    vec_release(&places);
    if (l->entries > DEFINITION_MAX_ENTRIES)
        strv_addf(&l->problems, "only the first %d files of agents are looked at",
                  DEFINITION_MAX_ENTRIES);
}

/* ---- JSON ---- */

static int take_object(struct definitions *l, struct str text, const char *from, struct err *err)
{
    const struct json *v;

    if (json_parse_copy(&l->arena, text, &v, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "%s", from);
    if (!json_is(v, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT,
                       "%s: it must be an object: {\"name\":{\"description\","
                       "\"prompt\"}}",
                       from);
    JSON_EACH(v, one) {
        size_t before = l->problems.len;
        struct definition *d = definition_read_json(l, json_key(one), one, DEFINITION_FLAG);

        if (!d)
            return err_set(err, ERR_BAD_INPUT, "%s: %s", from,
                           l->problems.len > before ? l->problems.ptr[before] : "not an agent");
        definitions_add(l, d);
    }
    return 0;
}

/* --agents: JSON, or the name of a file with it. */
static int take_option(struct definitions *l, const struct conf *conf, struct err *err)
{
    const struct strv *given = conf_option(conf, OPT_AGENTS);
    CLEANUP(buf_release) struct buf text = BUF_INIT(DEFINITION_MAX_FILE);

    if (!given || !given->len)
        return 0;
    if (str_starts(str_trim(str_of(given->ptr[given->len - 1])), STR("{"))) {
        buf_adds(&text, given->ptr[given->len - 1]);
    } else {
        CLEANUP(mem_freep) char *expanded = path_expand_home(given->ptr[given->len - 1]);
        CLEANUP(mem_freep) char *path = path_join(conf_dir(conf), expanded);

        if (file_slurp(path, DEFINITION_MAX_FILE, &text, err) < 0)
            return err_prefix(err, "--agents");
    }
    return take_object(l, buf_str(&text), "--agents", err);
}

/* ---- Built in ---- */

#define SEARCHES "Agent, Edit, MultiEdit, Write, NotebookEdit"

static const struct {
    const char *name, *description, *prompt;
    const char *tools, *disallowed; /* or NULL */
    bool is_read_only;
} built_in[] = {
    {"general-purpose",
     "Researches and does tasks of several steps. Use it when no other type fits.",
     agent_general_purpose_md, NULL, NULL, false},
    {"Explore",
     "Searches the codebase fast and changes nothing. Say how thorough: quick, medium or thorough.",
     agent_explore_md, NULL, SEARCHES, true},
    {"Plan", "Plans a change in steps, with risks and the files that matter, and changes nothing.",
     agent_plan_md, NULL, SEARCHES, true},
    {"verifier", "Tries to break a claim about the project by running it: PASS, FAIL or PARTIAL.",
     agent_verifier_md, "Read, Glob, Grep, LSP, Bash", NULL, true},
};

static void add_names(struct strv *to, const char *names)
{
    struct str rest = str_of(names ? names : "");
    struct str one;

    while (rest.len && str_cut(&rest, ',', &one))
        strv_add(to, str_trim(one));
}

static void take_built_in(struct definitions *l)
{
    for (size_t i = 0; i < ARRAY_LEN(built_in); i++) {
        struct definition *d = arena_zalloc(&l->arena, sizeof(*d));

        d->name = built_in[i].name;
        d->description = str_of(built_in[i].description);
        d->prompt = str_of(built_in[i].prompt);
        d->is_read_only = built_in[i].is_read_only;
        d->changes_ignored = strcmp(d->name, "verifier") == 0;
        d->omits_instructions = d->is_read_only && !d->changes_ignored;
        d->has_tools = built_in[i].tools != NULL;
        add_names(&d->tools, built_in[i].tools);
        add_names(&d->disallowed, built_in[i].disallowed);
        definitions_add(l, d);
    }
}

struct definitions *definitions_of_workers(void)
{
    struct definitions *l = mem_zalloc(sizeof(*l));
    struct definition *d = arena_zalloc(&l->arena, sizeof(*d));

    atomic_init(&l->refs, 1);
    d->name = "worker";
    d->description = STR("Does one task in the background and reports. It knows its prompt alone.");
    d->prompt = str_of(agent_general_purpose_md);
    d->is_worker = true;
    d->in_background = true;
    add_names(&d->disallowed, "Agent, SendMessage");
    definitions_add(l, d);
    return l;
}

/* ---- All ---- */

static int by_name(const void *a, const void *b)
{
    const struct definition *x = *(struct definition *const *)a;
    const struct definition *y = *(struct definition *const *)b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->shadowed_by != NULL) - (y->shadowed_by != NULL);
}

int definitions_read(const struct conf *conf, struct str more, bool has_built_in,
                     struct definitions **ret, struct err *err)
{
    struct definitions *l = mem_zalloc(sizeof(*l));

    atomic_init(&l->refs, 1);
    if (has_built_in)
        take_built_in(l);
    take_places(l, conf);
    if (take_option(l, conf, err) < 0 || (more.len && take_object(l, more, "agents", err) < 0)) {
        definitions_unref(l);
        return -1;
    }
    if (l->list.len)
        qsort(l->list.ptr, l->list.len, sizeof(l->list.ptr[0]), by_name);
    *ret = l;
    return 0;
}

void definition_write_line(const struct definition *d, struct buf *ret)
{
    buf_addf(ret, "- %s: %.*s (Tools: ", d->name, STR_ARG(str_clip(d->description, 1000)));
    if (!d->has_tools)
        buf_adds(ret, d->disallowed.len ? "all but " : "all");
    for (size_t i = 0; i < (d->has_tools ? d->tools.len : d->disallowed.len); i++)
        buf_addf(ret, "%s%s", i ? ", " : "", d->has_tools ? d->tools.ptr[i] : d->disallowed.ptr[i]);
    buf_addc(ret, ')');
}
