/*
 * The tools of one session. Texts and schemas are written once; the request's entries are slices
 * of that. Immutable after toolbox_new(), so any thread may look.
 */
#include "agent/toolbox.h"

#include "agent/permit.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/nearest.h"
#include "conf/rule.h"
#include "json/json.h"
#include "json/jw.h"
#include "json/schema.h"
#include "llm/dialect.h"

#define TOOLBOX_MAX_SCHEMA ((size_t)1 << 20)

struct toolbox {
    struct arena arena;
    VEC(const struct tool_entry *) entries;
    VEC(const struct json *) schemas; /* of the entry with the same index */
    VEC(struct llm_tool) llm;
    struct tool_entry structured; /* name NULL: none */
    struct str names;
};

void toolbox_free(struct toolbox *t)
{
    if (!t)
        return;
    vec_release(&t->entries);
    vec_release(&t->schemas);
    vec_release(&t->llm);
    arena_release(&t->arena);
    mem_freep(&t);
}

static int toolbox_add(struct toolbox *t, const struct tool_entry *e, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TOOLBOX_MAX_SCHEMA);
    CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
    const struct json *schema;
    struct llm_tool *llm;
    struct jw w;

    if (json_parse(&t->arena, str_of(e->schema), &schema, /*ret_info=*/NULL, err) < 0)
        return err_prefix(err, "schema of %s", e->name);
    jw_init(&w, &text, JW_CLEAN);
    jw_json(&w, schema);
    if (buf_check(&text, err) < 0)
        return err_prefix(err, "schema of %s", e->name);
    jw_init(&w, &words, JW_CLEAN);
    jw_cstr(&w, e->text);
    vec_push(&t->entries, e);
    vec_push(&t->schemas, schema);
    llm = vec_add(&t->llm);
    llm->name = str_of(e->name);
    llm->description = str_of(e->text);
    llm->description_json = arena_str(&t->arena, buf_str(&words));
    llm->schema = arena_str(&t->arena, buf_str(&text));
    llm->is_clean = json_is(schema, JSON_OBJECT);
    return 0;
}

static int toolbox_add_structured(struct toolbox *t, struct str schema, struct err *err)
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
    t->structured = (struct tool_entry){
        .name = "StructuredOutput",
        .text = "Gives the final answer in the form that was asked for. Call it exactly once, "
                "when everything else is done; your turn ends with it.",
        .schema = arena_cstr(&t->arena, schema),
        .flags = TOOL_FREE,
    };
    return toolbox_add(t, &t->structured, err);
}

static bool toolbox_wants(const struct toolbox_spec *spec, const struct tool_entry *e)
{
    struct str name = str_of(e->name);

    if (spec->only && !strv_has(spec->only, name))
        return false;
    if (e->offered && !e->offered(spec->conf, spec->provider))
        return false;
    return !spec->permit || permit_offers(spec->permit, name);
}

static int toolbox_check_only(const struct toolbox_spec *spec, struct err *err)
{
    for (size_t i = 0; spec->only && i < spec->only->len; i++) {
        struct str name = str_of(spec->only->ptr[i]);
        bool known = false;
        struct nearest near;

        nearest_init(&near, name);
        for (const struct tool_entry *const *e = spec->table; *e; e++) {
            known = known || str_is(name, (*e)->name);
            nearest_offer(&near, str_of((*e)->name));
        }
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
        jw_cstr(&w, (*e)->name);
    }
    jw_array_end(&w);
    t->names = arena_str(&t->arena, buf_str(&names));
}

int toolbox_new(const struct toolbox_spec *spec, struct toolbox **ret, struct err *err)
{
    struct toolbox *t;

    if (toolbox_check_only(spec, err) < 0)
        return -1;
    t = mem_zalloc(sizeof(*t));
    for (const struct tool_entry *const *e = spec->table; *e; e++) {
        if (toolbox_wants(spec, *e) && toolbox_add(t, *e, err) < 0)
            goto fail;
    }
    if (spec->output_schema.len && toolbox_add_structured(t, spec->output_schema, err) < 0)
        goto fail;
    toolbox_write_names(t);
    *ret = t;
    return 0;
fail:
    toolbox_free(t);
    return -1;
}

const struct llm_tool *toolbox_llm(const struct toolbox *t, size_t *ret_count)
{
    *ret_count = t->llm.len;
    return t->llm.ptr;
}

const struct tool_entry *toolbox_find(const struct toolbox *t, struct str name)
{
    if (str_is(name, "Task"))
        name = STR("Agent");
    VEC_EACH(&t->entries, e) {
        if (str_is(name, (*e)->name))
            return *e;
    }
    return NULL;
}

const struct json *toolbox_schema(const struct toolbox *t, const struct tool_entry *e)
{
    for (size_t i = 0; i < t->entries.len; i++) {
        if (t->entries.ptr[i] == e)
            return t->schemas.ptr[i];
    }
    return NULL;
}

const struct tool_entry *toolbox_structured(const struct toolbox *t)
{
    return t->structured.name ? &t->structured : NULL;
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
