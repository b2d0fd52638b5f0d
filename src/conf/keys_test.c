/*
 * keys: the table is sound, values are distinguished, and its flags about use are true: they are
 * compared with the program's sources and with docs/settings.md.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/keys.h"
#include "conf/keys_docs.h"
#include "conf/option.h"
#include "json/json.h"
#include "unit.h"

static struct str parent_path(const struct key *k)
{
    struct str path = str_of(k->path);

    while (path.len && path.ptr[path.len - 1] != '.')
        path.len--;
    return str_first(path, path.len ? path.len - 1 : 0);
}

static struct str last_part(const struct key *k)
{
    struct str parent = parent_path(k);

    return str_from(str_of(k->path), parent.len ? parent.len + 1 : 0);
}

/* The row or one above it is marked. */
static bool is_later(const struct key *k)
{
    for (; k; k = key_find(parent_path(k)))
        if (k->flags & (KEY_LATER | KEY_MOOT))
            return true;
    return false;
}

static void table(void **state)
{
    size_t count;
    const struct key *keys = key_table(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct key *k = &keys[i];
        struct str parent = parent_path(k);
        const struct key *above = parent.len ? key_find(parent) : NULL;
        struct str help = str_of(k->help);

        if (key_find(str_of(k->path)) != k)
            fail_msg("'%s' is listed twice", k->path);
        if (parent.len && (!above || above > k || !(above->types & KEY_OBJECT)))
            fail_msg("'%s' has no object above it", k->path);
        if (key_child(above, last_part(k)) != k)
            fail_msg("'%s' cannot be reached from its parent", k->path);
        if (above && !key_has_children(above))
            fail_msg("the members of '%s' do not follow it", above->path);
        if (!k->types || help.len < 5 || str_ends(help, STR(".")))
            fail_msg("'%s': types, and a help text without full stop", k->path);
        if (above && is_later(above) && (k->flags & KEY_LATER))
            fail_msg("'%s': the key above it is marked already", k->path);
        if (k->env && !(k->types & KEY_STRING))
            fail_msg("'%s': variables set strings only", k->path);
    }
}

static void options_name_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPT_COUNT; i++) {
        const struct option *o = &option_table()[i];
        const struct key *k = o->key ? key_find(str_of(o->key)) : NULL;

        if (o->key && !k)
            fail_msg("--%s sets '%s', which keys.def does not have", o->name, o->key);
        if (k && !(k->types & (KEY_STRING | KEY_STRINGS | KEY_BOOL)))
            fail_msg("--%s: an option cannot give '%s' a value", o->name, o->key);
        if (k && k->values && option_has_values(o) && strcmp(k->values, o->values) != 0)
            fail_msg("--%s and '%s' take different values", o->name, o->key);
    }
}

struct accept_case {
    const char *path;
    const char *json;
    const char *reason; /* NULL: accepted */
};

static const struct accept_case accept_cases[] = {
    {"model", "\"x\"", NULL},
    {"model", "\"\"", NULL},
    {"model", "1", "must be a string, not a number"},
    {"model", "null", "must be a string, not null"},
    {"model", "\"a\\u0000b\"", "must not contain a NUL character"},
    {"http2", "true", NULL},
    {"http2", "\"true\"", "must be a boolean, not a string"},
    {"http2", "[]", "must be a boolean, not a list"},
    {"idleTimeoutMs", "1", NULL},
    {"idleTimeoutMs", "1e3", NULL},
    {"idleTimeoutMs", "0", "must be between 1 and 86400000"},
    {"idleTimeoutMs", "-5", "must be between 1 and 86400000"},
    {"idleTimeoutMs", "1000.5", "must be an integer, not 1000.5"},
    {"idleTimeoutMs", "99999999999999999999", "must be an integer, not 99999999999999999999"},
    {"promptCaching", "\"1h\"", NULL},
    {"promptCaching", "{}", NULL},
    {"promptCaching", "\"2h\"", "must be one of: off 5m 1h"},
    {"promptCaching", "true", "must be a string or an object, not a boolean"},
    {"effortLevel", "\"hihg\"", "must be one of: low medium high xhigh max; did you mean high?"},
    {"effortLevel", "\"\"", "must be one of: low medium high xhigh max"},
    {"models.*.price.input", "0.25", NULL},
    {"models.*.price.input", "1", NULL},
    {"models.*.price.input", "\"1\"", "must be a number, not a string"},
    {"sandbox.enabled", "true", NULL},
    {"sandbox.enabled", "\"auto\"", NULL},
    {"sandbox.enabled", "\"yes\"", "must be one of: auto on off"},
    {"permissions.allow", "[1]", NULL}, /* elements are looked at elsewhere */
    {"permissions.allow", "\"Bash\"", "must be a list of strings, not a string"},
    {"hooks", "[]", "must be an object, not a list"},
};

static void accept(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(accept_cases); i++) {
        const struct accept_case *c = &accept_cases[i];
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf reason = BUF_INIT(1024);
        const struct json *v;
        bool ok;

        assert_int_equal(json_parse(&arena, str_of(c->json), &v, NULL, NULL), 0);
        ok = key_accepts(key_find(str_of(c->path)), v, &reason);
        if (ok != !c->reason || strcmp(buf_cstr(&reason), c->reason ? c->reason : "") != 0)
            fail_msg("%s = %s: '%s'", c->path, c->json, buf_cstr(&reason));
    }
}

static void children(void **state)
{
    const struct key *providers = key_find(STR("providers"));
    const struct key *one = key_child(providers, STR("any.name"));

    (void)state;
    assert_ptr_equal(one, key_find(STR("providers.*")));
    assert_ptr_equal(key_child(one, STR("baseUrl")), key_find(STR("providers.*.baseUrl")));
    assert_null(key_child(one, STR("baseURL")));
    assert_true(str_is(key_suggest(one, STR("baseURL")), "baseUrl"));
    assert_null(key_child(NULL, STR("baseUrl")));
    assert_null(key_child(NULL, STR("")));
    assert_null(key_child(NULL, STR("permissions.allow")));
    assert_true(str_is(key_suggest(NULL, STR("permisions")), "permissions"));
    assert_false(key_has_children(key_find(STR("model"))));
}

/* The text of every source file but the tests and this room's tables. */
static struct buf all_sources = BUF_INIT(BUF_NO_LIMIT);

static int gather(const char *path, const struct stat *st, int type, struct FTW *where)
{
    struct str name = str_of(path);
    CLEANUP(buf_release) struct buf text = {0};

    (void)st;
    (void)where;
    if (type != FTW_F || !str_ends(name, STR(".c")) || str_ends(name, STR("_test.c")))
        return 0;
    assert_int_equal(file_slurp(path, 4 << 20, &text, NULL), 0);
    buf_add(&all_sources, buf_str(&text));
    return 0;
}

/* Every conf_get…(x, "key") of the program names a row that is not marked as unused. */
static void check_reads(void)
{
    static const char *const readers[] = {"conf_get(", "conf_get_str(", "conf_get_bool(",
                                          "conf_get_i64(", "conf_origin("};

    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        struct str rest = buf_str(&all_sources);

        for (;;) {
            size_t at = str_find(rest, str_of(readers[i]));
            const struct key *k;
            struct str call;
            struct str key;

            if (at == rest.len)
                break;
            rest = str_from(rest, at + strlen(readers[i]));
            call = str_first(rest, str_chr(rest, ')'));
            key = str_from(call, str_chr(call, '"') + 1);
            key = str_first(key, str_chr(key, '"'));
            if (!key.len)
                continue; /* the key is a variable */
            k = key_find(key);
            if (!k)
                fail_msg("'%.*s' is read, but keys.def does not have it", STR_ARG(key));
            if (is_later(k))
                fail_msg("'%s' is read; drop its KEY_LATER", k->path);
        }
    }
}

static void use_is_true(void **state)
{
    const char *root = getenv("TENAX_SOURCE");
    CLEANUP(buf_release) struct buf docs = {0};
    CLEANUP(mem_freep) char *src = NULL;
    CLEANUP(mem_freep) char *page = NULL;
    size_t count;
    const struct key *keys = key_table(&count);

    (void)state;
    if (!root) {
        print_message("TENAX_SOURCE is not set: sources and docs are not compared\n");
        return;
    }
    src = path_join(root, "src");
    page = path_join(root, "docs/settings.md");
    assert_int_equal(nftw(src, gather, 16, FTW_PHYS), 0);
    assert_int_equal(file_slurp(page, 1 << 20, &docs, NULL), 0);
    check_reads();

    for (size_t i = 0; i < count; i++) {
        struct str name = last_part(&keys[i]);
        CLEANUP(buf_release) struct buf quoted = BUF_INIT(256);
        CLEANUP(buf_release) struct buf dotted = BUF_INIT(256);

        if (is_later(&keys[i]) || str_is(name, "*") || str_is(name, "$schema"))
            continue;
        /* A member by its name, or all the way from the top. */
        buf_addf(&quoted, "\"%.*s\"", STR_ARG(name));
        buf_addf(&dotted, "\"%s", keys[i].path);
        if (!str_has(buf_str(&all_sources), buf_str(&quoted)) &&
            !str_has(buf_str(&all_sources), buf_str(&dotted)))
            fail_msg("'%s' is read nowhere; mark it KEY_LATER", keys[i].path);
        if (!str_has(buf_str(&docs), name))
            fail_msg("'%s' is missing from docs/settings.md", keys[i].path);
    }
    buf_release(&all_sources);
}

/* docs/settings.md has the table of today: scripts/settings-docs puts it there. */
static void docs_are_true(void **state)
{
    const char *root = getenv("TENAX_SOURCE");
    CLEANUP(buf_release) struct buf want = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf docs = {0};
    CLEANUP(mem_freep) char *page = NULL;
    struct str table;

    (void)state;
    if (!root)
        return;
    page = path_join(root, "docs/settings.md");
    assert_int_equal(file_slurp(page, 1 << 20, &docs, NULL), 0);
    keys_write_docs(&want);
    table = buf_str(&docs);
    table = str_from(table, str_find(table, STR(KEYS_DOCS_BEGIN)) + strlen(KEYS_DOCS_BEGIN));
    table = str_first(table, str_find(table, STR(KEYS_DOCS_END)));
    if (!str_eq(table, buf_str(&want)))
        fail_msg("docs/settings.md does not have the keys of keys.def; run scripts/settings-docs");
}

UNIT_TEST(keys)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),       cmocka_unit_test(options_name_keys),
        cmocka_unit_test(accept),      cmocka_unit_test(children),
        cmocka_unit_test(use_is_true), cmocka_unit_test(docs_are_true),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
