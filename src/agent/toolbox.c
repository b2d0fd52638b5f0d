/*
 * toolbox: texts and schemas are written once; the request's entries are slices of that. Any
 * thread.
 */
#include "agent/toolbox.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/nearest.h"
#include "guard/permit.h"
#include "guard/rule.h"
#include "json/json.h"
#include "json/jw.h"
#include "json/schema.h"
#include "llm/dialect/dialect.h"

#define TOOLBOX_MAX_SCHEMA ((size_t)1 << 20)

struct toolbox {
    atomic_int refs;
    struct toolbox *from; /* whose rows are among these; NULL: nobody's */
    struct arena arena;
    VEC(const struct tool_entry *) entries;
    VEC(const struct json *) schemas; /* of the entry with the same index */
    VEC(struct llm_tool) words;       /* the same */
    VEC(struct llm_tool) llm;         /* of those that are offered */
    struct map by_name;               /* to the entry's index, plus one */
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
    vec_release(&t->entries);
    vec_release(&t->schemas);
    vec_release(&t->words);
    vec_release(&t->llm);
    map_release(&t->by_name);
    arena_release(&t->arena);
    toolbox_unref(t->from);
    mem_freep(&t);
}

static int toolbox_check_room(const struct toolbox *t, const struct tool_entry *e, struct err *err)
{
    if (t->entries.len == TOOLBOX_MAX)
        return err_set(err, ERR_TOO_BIG, "there are more than %d tools", TOOLBOX_MAX);
    if (map_has(&t->by_name, str_of(e->name)))
        return err_set(err, ERR_BAD_INPUT, "two tools are named %s", e->name);
    return 0;
}

static void toolbox_put(struct toolbox *t, const struct tool_entry *e, const struct json *schema,
                        const struct llm_tool *words)
{
    vec_push(&t->entries, e);
    vec_push(&t->schemas, schema);
    map_set(&t->by_name, str_of(e->name), (void *)(uintptr_t)t->entries.len);
    if (e->flags & TOOL_OWED)
        t->owed = e;
    vec_push(&t->words, *words);
    if (!(e->flags & TOOL_HIDDEN))
        vec_push(&t->llm, *words);
}

static int toolbox_add(struct toolbox *t, const struct tool_entry *e, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TOOLBOX_MAX_SCHEMA);
    CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
    const struct json *schema;
    struct llm_tool llm = {0};
    struct jw w;

    if (toolbox_check_room(t, e, err) < 0)
        return -1;
    if (json_parse(&t->arena, str_of(e->schema), &schema, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "schema of %s", e->name);
    jw_init(&w, &text, JW_CLEAN);
    jw_json(&w, schema);
    if (buf_check(&text, err) < 0)
        return err_prefix(err, "schema of %s", e->name);
    jw_init(&w, &words, JW_CLEAN);
    jw_cstr(&w, e->text);
    llm.name = str_of(e->name);
    llm.description = str_of(e->text);
    llm.description_json = arena_str(&t->arena, buf_str(&words));
    llm.schema = arena_str(&t->arena, buf_str(&text));
    llm.is_clean = json_is(schema, JSON_OBJECT);
    toolbox_put(t, e, schema, &llm);
    return 0;
}

static int toolbox_add_copy(struct toolbox *t, const struct tool_entry *e, struct err *err)
{
    struct tool_entry *copy = arena_alloc(&t->arena, sizeof(*copy));

    *copy = *e;
    copy->name = arena_cstr(&t->arena, str_of(e->name));
    copy->text = arena_cstr(&t->arena, str_of(e->text));
    copy->schema = arena_cstr(&t->arena, str_of(e->schema));
    return toolbox_add(t, copy, err);
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
        return err_set(err, ERR_BAD_INPUT, "JSON schema: this part of it cannot be checked: %.*s",
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

static bool toolbox_wants(const struct toolbox_spec *spec, const struct tool_entry *e)
{
    struct str name = str_of(e->name);

    if (spec->only && !strv_has(spec->only, name))
        return false;
    if (spec->wants && !spec->wants(spec->wants_arg, e))
        return false;
    if (e->offered && !e->offered(e, spec->conf, spec->provider))
        return false;
    return !spec->permit || permit_offers(spec->permit, name);
}

/* Another's rows, with all that was made of them. */
static int toolbox_share(struct toolbox *t, const struct toolbox_spec *spec, struct err *err)
{
    if (!spec->from)
        return 0;
    t->from = toolbox_ref(spec->from);
    for (size_t i = 0; i < spec->from->entries.len; i++) {
        const struct tool_entry *e = spec->from->entries.ptr[i];

        if ((e->flags & TOOL_OWED) || !toolbox_wants(spec, e))
            continue;
        if (toolbox_check_room(t, e, err) < 0)
            return -1;
        toolbox_put(t, e, spec->from->schemas.ptr[i], &spec->from->words.ptr[i]);
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
        for (size_t k = 0; spec->from && k < spec->from->entries.len; k++)
            nearest_offer(&near, str_of(spec->from->entries.ptr[k]->name));
        if (known || rule_knows_tool(name)) /* a script may be written for more tools than ours */
            continue;
        if (near.best.len)
            return err_set(err, ERR_BAD_INPUT, "there is no tool '%.*s'; did you mean %.*s?",
                           STR_ARG(name), STR_ARG(near.best));
        return err_set(err, ERR_BAD_INPUT, "there is no tool '%.*s'", STR_ARG(name));
    }
    return 0;
}

static void toolbox_write_names(struct toolbox *t)
{
    CLEANUP(buf_release) struct buf names = BUF_INIT(TOOLBOX_MAX_SCHEMA);
    struct jw w;

    jw_init(&w, &names, 0);
    jw_array(&w);
    VEC_EACH(&t->entries, e) {
        if (!((*e)->flags & TOOL_HIDDEN)) /* Agent by the name that SDKs look for */
            jw_cstr(&w, strcmp((*e)->name, "Agent") == 0 ? "Task" : (*e)->name);
    }
    jw_array_end(&w);
    t->names = arena_str(&t->arena, buf_str(&names));
}

int toolbox_new(const struct toolbox_spec *spec, struct toolbox **ret, struct err *err)
{
    struct toolbox *t = mem_zalloc(sizeof(*t));

    atomic_init(&t->refs, 1);
    t->release = spec->release;
    t->release_arg = spec->release_arg;
    if (toolbox_check_only(spec, err) < 0)
        goto fail;
    if (toolbox_share(t, spec, err) < 0)
        goto fail;
    for (const struct tool_entry *const *e = spec->table; e && *e; e++) {
        if (toolbox_wants(spec, *e) && toolbox_add(t, *e, err) < 0)
            goto fail;
    }
    for (size_t i = 0; i < spec->more_count; i++) {
        if (toolbox_add_copy(t, &spec->more[i], err) < 0)
            goto fail;
    }
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
    uintptr_t at;

    if (str_is(name, "Task"))
        name = STR("Agent");
    at = (uintptr_t)map_get(&t->by_name, name);
    return at ? t->entries.ptr[at - 1] : NULL;
}

const struct json *toolbox_schema(const struct toolbox *t, const struct tool_entry *e)
{
    uintptr_t at = (uintptr_t)map_get(&t->by_name, str_of(e->name));

    return at ? t->schemas.ptr[at - 1] : NULL;
}

const struct tool_entry *toolbox_owed(const struct toolbox *t)
{
    return t->owed;
}

struct str toolbox_nearest(const struct toolbox *t, struct str name)
{
    struct nearest near;

    nearest_init(&near, name);
    VEC_EACH(&t->entries, e) {
        nearest_offer(&near, str_of((*e)->name));
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
