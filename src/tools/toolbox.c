/*
 * toolbox: texts and schemas are generated once; the request's entries are slices of them. Any
 * thread.
 */
#include "agent/toolbox.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/nearest.h"
#include "context/word_index.h"
#include "guard/permit.h"
#include "guard/rule.h"
#include "json/json.h"
#include "json/jw.h"
#include "json/schema.h"
#include "llm/dialect/dialect.h"
#include "sync/thread.h"

#define TOOLBOX_MAX_SCHEMA ((size_t)1 << 20)

struct toolbox_row {
    const struct tool_entry *entry;
    const struct json *schema; /* checks the input */
    struct llm_tool llm;       /* as sent; for a deferred tool only the name */
    bool is_deferred;
};

struct toolbox {
    atomic_int refs;
    uint64_t serial;
    struct toolbox *from; /* source of shared rows, or NULL */
    struct arena arena;
    VEC(struct toolbox_row) rows;
    VEC(struct llm_tool) llm;             /* in the request */
    VEC(const struct tool_entry *) extra; /* deferred */
    struct map aliases;                   /* alias → name */
    struct map by_name;                   /* row index + 1 */
    struct gate gate;                     /* guards the fields below */
    struct word_index *index;
    const struct tool_entry *owed;
    struct str names;
    void (*release)(void *arg);
    void *release_arg;
};

struct toolbox *toolbox_ref(struct toolbox *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void toolbox_unref(struct toolbox *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (t->release)
        t->release(t->release_arg);
    vec_release(&t->rows);
    vec_release(&t->llm);
    vec_release(&t->extra);
    word_index_free(t->index);
    gate_release(&t->gate);
    map_release(&t->by_name);
    map_release(&t->aliases);
    arena_release(&t->arena);
    toolbox_unref(t->from);
    mem_freep(&t);
}

static int toolbox_put(struct toolbox *t, const struct toolbox_row *row, struct err *err)
{
    const struct tool_entry *e = row->entry;

    if (t->rows.len == TOOLBOX_MAX)
        return err_set(err, ERR_TOO_BIG, "there are more than %d tools", TOOLBOX_MAX);
    if (map_has(&t->by_name, str_of(e->name)))
        return err_set(err, ERR_BAD_INPUT, "two tools are named %s", e->name);
    vec_push(&t->rows, *row);
    map_set(&t->by_name, str_of(e->name), (void *)(uintptr_t)t->rows.len);
    if (e->flags & TOOL_OWED)
        t->owed = e;
    if (row->is_deferred)
        vec_push(&t->extra, e);
    else if (!(e->flags & TOOL_HIDDEN))
        vec_push(&t->llm, row->llm);
    return 0;
}

/* A built-in tool that was asked for by name is part of the request. */
static bool is_deferred(const struct toolbox_spec *spec, const struct tool_entry *e)
{
    return spec->defers && e->flags & TOOL_DEFERRED && (e->server || !spec->only);
}

/* Limits that the model need not know: what exceeds them is refused with a reason. */
static bool is_only_checked(const struct json *v)
{
    static const char names[] = "minLength maxLength minItems maxItems";
    struct str key = json_key(v);

    return (json_is(v, JSON_NUMBER) && str_is_word_of(key, names)) ||
           (str_is(key, "minimum") && str_is_word_of(json_number(v), "0 1")) ||
           (str_is(key, "additionalProperties") && str_is(json_raw(v), "false"));
}

#define SHOWN_MAX_DEPTH 32

/* The schema as the request has it. */
static void write_shown(struct jw *w, const struct json *v, int depth)
{
    bool is_object = json_is(v, JSON_OBJECT);

    if (depth == SHOWN_MAX_DEPTH || (!is_object && !json_is(v, JSON_ARRAY))) {
        jw_json(w, v);
        return;
    }
    if (is_object)
        jw_object(w);
    else
        jw_array(w);
    JSON_EACH(v, it) {
        if (is_object && is_only_checked(it))
            continue;
        if (is_object)
            jw_key_str(w, json_key(it));
        write_shown(w, it, depth + 1);
    }
    if (is_object)
        jw_object_end(w);
    else
        jw_array_end(w);
}

static int toolbox_add(struct toolbox *t, const struct toolbox_spec *spec,
                       const struct tool_entry *e, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TOOLBOX_MAX_SCHEMA);
    CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
    struct toolbox_row row = {.entry = e, .llm = {.name = str_of(e->name)}};
    const struct json *shown;
    struct jw w;

    row.is_deferred = is_deferred(spec, e);
    if (json_parse(&t->arena, str_of(e->schema), &row.schema, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "schema of %s", e->name);
    shown = row.schema;
    if (row.is_deferred)
        return toolbox_put(t, &row, err);
    if (e->shown_schema &&
        json_parse(&t->arena, str_of(e->shown_schema), &shown, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "schema of %s", e->name);
    jw_init(&w, &text, JW_CLEAN);
    if (e->server || e->flags & TOOL_OWED) /* others have written it */
        jw_json(&w, shown);
    else
        write_shown(&w, shown, 0);
    if (buf_check(&text, err) < 0)
        return err_prefix(err, "schema of %s", e->name);
    jw_init(&w, &words, JW_CLEAN);
    jw_cstr(&w, e->text);
    row.llm.description = str_of(e->text);
    row.llm.description_json = arena_str(&t->arena, buf_str(&words));
    row.llm.schema = arena_str(&t->arena, buf_str(&text));
    row.llm.is_clean = json_is(shown, JSON_OBJECT);
    return toolbox_put(t, &row, err);
}

static const char *copy_of(struct toolbox *t, const char *text)
{
    return text ? arena_cstr(&t->arena, str_of(text)) : NULL;
}

static int toolbox_add_copy(struct toolbox *t, const struct toolbox_spec *spec,
                            const struct tool_entry *e, struct err *err)
{
    struct tool_entry *copy = arena_alloc(&t->arena, sizeof(*copy));

    *copy = *e;
    copy->name = copy_of(t, e->name);
    copy->text = copy_of(t, e->text);
    copy->schema = copy_of(t, e->schema);
    copy->shown_schema = copy_of(t, e->shown_schema);
    copy->hint = copy_of(t, e->hint);
    copy->server = copy_of(t, e->server);
    copy->raw_name = copy_of(t, e->raw_name);
    return toolbox_add(t, spec, copy, err);
}

int tool_structured(struct str schema, struct arena *arena, struct tool_entry *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena scratch = ARENA_INIT;
    CLEANUP(buf_release) struct buf unknown = BUF_INIT(4096);
    const struct json *v;

    if (json_parse(&scratch, schema, &v, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "JSON schema");
    if (!json_is(v, JSON_OBJECT) || !str_is(json_get_str(v, "type"), "object"))
        return err_set(err, ERR_BAD_INPUT, "JSON schema: its \"type\" must be \"object\"");
    schema_unknown(v, &unknown);
    if (unknown.len)
        return err_set(err, ERR_BAD_INPUT, "JSON schema: unsupported part: %.*s",
                       STR_ARG(str_first(buf_str(&unknown), str_chr(buf_str(&unknown), '\n'))));
    *ret = (struct tool_entry){
        .name = "StructuredOutput",
        .text = "Gives the final answer in the form that was asked for. Call it exactly once, "
                "when everything else is done; your turn ends with it.",
        .schema = arena_cstr(arena, schema),
        .flags = TOOL_FREE | TOOL_FINAL | TOOL_OWED,
    };
    return 0;
}

#define TOOL_PAIR (TOOL_FINDS | TOOL_EXECUTES)

/* searches: there are or may be deferred tools. */
static bool toolbox_wants(const struct toolbox_spec *spec, const struct tool_entry *e,
                          bool searches)
{
    struct str name = str_of(e->name);

    if (!(searches && e->flags & TOOL_PAIR) && spec->only && !strv_has(spec->only, name))
        return false;
    if (spec->wants && !(searches && e->flags & TOOL_PAIR) && !spec->wants(spec->wants_arg, e))
        return false;
    if (e->offered && !e->offered(e, spec->conf, spec->provider))
        return false;
    return !spec->permit || permit_offers(spec->permit, name);
}

static bool is_shown_here(const struct toolbox_spec *spec, const struct toolbox_row *row)
{
    return spec->shows_built_in && row->is_deferred && !row->entry->server;
}

/* Takes rows of another toolbox with everything computed for them. */
static int toolbox_share(struct toolbox *t, const struct toolbox_spec *spec, struct err *err)
{
    bool searches = false;

    if (!spec->from)
        return 0;
    t->from = toolbox_ref(spec->from);
    VEC_EACH(&spec->from->rows, row) {
        searches = searches || (row->is_deferred && !is_shown_here(spec, row) &&
                                toolbox_wants(spec, row->entry, false));
    }
    VEC_EACH(&spec->from->rows, row) {
        int rc;

        if ((row->entry->flags & TOOL_OWED) || !toolbox_wants(spec, row->entry, searches))
            continue;
        rc = is_shown_here(spec, row) ? toolbox_add(t, spec, row->entry, err)
                                      : toolbox_put(t, row, err);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int toolbox_check_only(const struct toolbox_spec *spec, struct err *err)
{
    for (size_t i = 0; spec->only && i < spec->only->len; i++) {
        struct str name = str_of(spec->only->ptr[i]);
        bool known = spec->from && toolbox_find(spec->from, name);
        struct nearest near;

        nearest_init(&near, name);
        for (const struct tool_entry *const *e = spec->table; e && *e; e++) {
            known = known || str_is(name, (*e)->name);
            nearest_offer(&near, str_of((*e)->name));
        }
        for (size_t k = 0; spec->from && k < spec->from->rows.len; k++)
            nearest_offer(&near, str_of(spec->from->rows.ptr[k].entry->name));
        if (known ||
            rule_knows_tool(name)) /* a script may be written for a program with more tools */
            continue;
        if (near.best.len)
            return err_set(err, ERR_BAD_INPUT, "there is no tool '%.*s'; did you mean %.*s?",
                           STR_ARG(name), STR_ARG(near.best));
        return err_set(err, ERR_BAD_INPUT, "there is no tool '%.*s'", STR_ARG(name));
    }
    return 0;
}

static void toolbox_take_aliases(struct toolbox *t, const struct toolbox_spec *spec)
{
    if (spec->from) {
        MAP_EACH(&spec->from->aliases, it) {
            map_set(&t->aliases, it->key, it->value); /* `from` lives as long as this */
        }
    }
    for (size_t i = 0; spec->aliases && i + 1 < spec->aliases->len; i += 2)
        map_set(&t->aliases, str_of(spec->aliases->ptr[i]),
                arena_cstr(&t->arena, str_of(spec->aliases->ptr[i + 1])));
}

static void toolbox_write_names(struct toolbox *t)
{
    CLEANUP(buf_release) struct buf names = BUF_INIT(TOOLBOX_MAX_SCHEMA);
    struct jw w;

    jw_init(&w, &names, 0);
    jw_array(&w);
    VEC_EACH(&t->rows, row) {
        const char *name = row->entry->name;

        if (!(row->entry->flags & TOOL_HIDDEN)) /* Agent under the name that SDKs expect */
            jw_cstr(&w, strcmp(name, "Agent") == 0 ? "Task" : name);
    }
    jw_array_end(&w);
    t->names = arena_str(&t->arena, buf_str(&names));
}

/* Our own tools first. */
static int by_server(const void *a, const void *b)
{
    const struct tool_entry *one = *(const struct tool_entry *const *)a;
    const struct tool_entry *two = *(const struct tool_entry *const *)b;
    int r = str_cmp(str_of(one->server), str_of(two->server));

    return r ? r : str_cmp(str_of(one->name), str_of(two->name));
}

static atomic_uint_fast64_t serials;

int toolbox_new(const struct toolbox_spec *spec, struct toolbox **ret, struct err *err)
{
    struct toolbox *t = mem_zalloc(sizeof(*t));

    atomic_init(&t->refs, 1);
    gate_init(&t->gate);
    t->serial = atomic_fetch_add(&serials, 1) + 1;
    t->release = spec->release;
    t->release_arg = spec->release_arg;
    if (toolbox_check_only(spec, err) < 0)
        goto fail;
    if (toolbox_share(t, spec, err) < 0)
        goto fail;
    for (const struct tool_entry *const *e = spec->table; e && *e; e++) {
        if ((*e)->flags & TOOL_PAIR && !spec->defers)
            continue;
        if (toolbox_wants(spec, *e, spec->searches) && toolbox_add(t, spec, *e, err) < 0)
            goto fail;
    }
    for (size_t i = 0; i < spec->more_count; i++) {
        const struct tool_entry *e = &spec->more[i];

        if (e->server && spec->permit && !permit_offers(spec->permit, str_of(e->name)))
            continue;
        if (toolbox_add_copy(t, spec, e, err) < 0)
            goto fail;
    }
    if (t->extra.len)
        qsort(t->extra.ptr, t->extra.len, sizeof(*t->extra.ptr), by_server);
    toolbox_take_aliases(t, spec);
    toolbox_write_names(t);
    *ret = t;
    return 0;
fail:
    toolbox_unref(t);
    return -1;
}

const struct llm_tool *toolbox_llm(const struct toolbox *t, size_t *ret_count)
{
    *ret_count = t->llm.len;
    return t->llm.ptr;
}

const struct tool_entry *toolbox_find(const struct toolbox *t, struct str name)
{
    const char *meant = map_get(&t->aliases, name);
    uintptr_t at;

    if (meant)
        name = str_of(meant);
    if (str_is(name, "Task"))
        name = STR("Agent");
    if (str_is(name, "ListMcpResources"))
        name = STR("ListMcpResourcesTool");
    if (str_is(name, "ReadMcpResource"))
        name = STR("ReadMcpResourceTool");
    at = (uintptr_t)map_get(&t->by_name, name);
    return at ? t->rows.ptr[at - 1].entry : NULL;
}

const struct json *toolbox_schema(const struct toolbox *t, const struct tool_entry *e)
{
    uintptr_t at = (uintptr_t)map_get(&t->by_name, str_of(e->name));

    return at ? t->rows.ptr[at - 1].schema : NULL;
}

const struct tool_entry *toolbox_owed(const struct toolbox *t)
{
    return t->owed;
}

struct str toolbox_nearest(const struct toolbox *t, struct str name)
{
    struct nearest near;

    nearest_init(&near, name);
    VEC_EACH(&t->rows, row) {
        nearest_offer(&near, str_of(row->entry->name));
    }
    return near.best;
}

struct str toolbox_names(const struct toolbox *t)
{
    return t->names;
}

size_t toolbox_bytes(const struct toolbox *t)
{
    size_t n = 0;

    VEC_EACH(&t->llm, tool) {
        n += tool->name.len + tool->description.len + tool->schema.len;
    }
    return n;
}

const struct tool_entry *const *toolbox_extra(const struct toolbox *t, size_t *ret_count)
{
    *ret_count = t->extra.len;
    return t->extra.ptr;
}

bool toolbox_is_extra(const struct toolbox *t, const struct tool_entry *e)
{
    uintptr_t at = (uintptr_t)map_get(&t->by_name, str_of(e->name));

    return at && t->rows.ptr[at - 1].is_deferred;
}

uint64_t toolbox_serial(const struct toolbox *t)
{
    return t->serial;
}

bool toolbox_searches(const struct toolbox *t)
{
    VEC_EACH(&t->rows, row) {
        if (row->entry->flags & TOOL_FINDS)
            return true;
    }
    return false;
}

static struct word_index *make_index(struct toolbox *t)
{
    struct arena arena = ARENA_INIT;
    struct word_item *items = arena_zalloc(&arena, (t->extra.len + 1) * sizeof(*items));
    struct word_index *index;

    for (size_t i = 0; i < t->extra.len; i++) {
        const struct tool_entry *e = t->extra.ptr[i];
        CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);

        items[i] = (struct word_item){.name = str_of(e->name),
                                      .hint = str_of(e->hint),
                                      .text = str_of(e->text),
                                      .group = str_of(e->server)};
        if (e->server &&
            e->raw_name) { /* invalid characters were replaced in the name for the model */
            buf_addf(&name, "%s %s", e->server, e->raw_name);
            items[i].name = arena_str(&arena, buf_str(&name));
        }
    }
    index = word_index_new(items, t->extra.len);
    arena_release(&arena);
    return index;
}

const struct word_index *toolbox_index(struct toolbox *t)
{
    const struct word_index *index;

    gate_take(&t->gate);
    if (!t->index)
        t->index = make_index(t);
    index = t->index;
    gate_give(&t->gate);
    return index;
}
