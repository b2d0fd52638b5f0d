/*
 * trust: which answer counts for a folder, and the effect of a new one.
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

#include "agent/ask.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/trust.h"
#include "unit.h"

static char tree[64];
static struct strv env;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    snprintf(tree, sizeof(tree), "/tmp/tenax-trust-XXXXXX");
    env = (struct strv)STRV_INIT;
    if (!mkdtemp(tree))
        return -1;
    strv_addf(&env, "HOME=%s/home", tree);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    strv_release(&env);
    return nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static char *in_tree(const char *name)
{
    return path_join(tree, name);
}

static void put(const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = in_tree(name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);

    assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
    assert_int_equal(file_replace(path, str_of(text), 0644, NULL), 0);
}

static struct conf *load(bool trusted)
{
    CLEANUP(mem_freep) char *dir = in_tree("work");
    struct conf_sources from = {
        .dir = dir, .environ = strv_get(&env), .etc = tree, .trusted = trusted};
    struct conf *conf;

    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    return conf;
}

static void expect(const struct conf *conf, const char *name, enum trust trust, const char *by)
{
    CLEANUP(trust_answer_release) struct trust_answer a = TRUST_ANSWER_INIT;
    CLEANUP(mem_freep) char *dir = in_tree(name);
    CLEANUP(mem_freep) char *whose = in_tree(by ? by : "");

    assert_int_equal(trust_look(conf, dir, /*cancel=*/NULL, &a, NULL), 0);
    if (a.trust != trust || !str_is(buf_str(&a.dir), by ? whose : ""))
        fail_msg("%s: %d by '%s'", name, a.trust, buf_cstr(&a.dir));
}

static void set(const struct conf *conf, const char *name, enum trust trust, int rc)
{
    CLEANUP(mem_freep) char *dir = in_tree(name);

    assert_int_equal(trust_set(conf, dir, trust, /*cancel=*/NULL, NULL), rc);
}

static void nearest_counts(void **state)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(mem_freep) char *db = in_tree("home/.tenax/state.db");

    (void)state;
    put("work/x", "");
    conf = load(true);
    expect(conf, "work", TRUST_UNKNOWN, NULL);
    set(conf, "work", TRUST_UNKNOWN, 0);
    assert_false(file_exists(db)); /* nothing is made in order to look */
    set(conf, "work", TRUST_YES, 1);
    expect(conf, "work", TRUST_YES, "work");
    expect(conf, "work/a/b", TRUST_YES, "work");
    expect(conf, "works", TRUST_UNKNOWN, NULL);
    set(conf, "work/a", TRUST_NO, 1);
    expect(conf, "work/a/b", TRUST_NO, "work/a");
    expect(conf, "work/c", TRUST_YES, "work");
    set(conf, "work/a", TRUST_UNKNOWN, 1);
    expect(conf, "work/a/b", TRUST_YES, "work");
    set(conf, "home", TRUST_YES, 1);
    expect(conf, "home", TRUST_YES, "home");
    expect(conf, "home/clone", TRUST_UNKNOWN, NULL);
}

static void claudes_count(void **state)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(conf_unrefp) struct conf *alone = NULL;
    CLEANUP(mem_freep) char *text = NULL;
    struct buf json = BUF_INIT(4096);

    (void)state;
    buf_addf(&json,
             "{\"projects\":{\"%s/work\":{\"hasTrustDialogAccepted\":true},\"%s/other\":"
             "{\"hasTrustDialogAccepted\":false},\"%s/odd\":3}}",
             tree, tree, tree);
    text = buf_take(&json);
    put("work/x", "");
    put("home/.claude.json", text);
    conf = load(true);
    expect(conf, "work/sub", TRUST_YES, "work");
    expect(conf, "other", TRUST_UNKNOWN, NULL);
    expect(conf, "odd", TRUST_UNKNOWN, NULL);
    set(conf, "work", TRUST_NO, 1); /* ours beats it */
    expect(conf, "work/sub", TRUST_NO, "work");
    set(conf, "work", TRUST_UNKNOWN, 1);
    put("home/.claude.json", "{\"projects\":");
    expect(conf, "work", TRUST_UNKNOWN, NULL);
    put("home/.claude.json", text);
    put("home/.tenax/settings.json", "{\"claudeCompat\":false}");
    alone = load(true);
    expect(alone, "work", TRUST_UNKNOWN, NULL);
}

struct person {
    struct asker asker;
    bool says;
    bool is_away;
    struct buf asked;
};

static int user_ask_put(struct asker *self, const struct ask *ask, struct cancel *cancel,
                        struct ask_answer *ret, struct err *err)
{
    struct person *p = (struct person *)self;

    (void)cancel;
    if (p->is_away)
        return err_set(err, ERR_UNSUPPORTED, "nobody is here");
    assert_int_equal(ask->kind, ASK_TRUST);
    buf_clear(&p->asked);
    buf_add(&p->asked, ask->input);
    ret->allowed = p->says;
    return 0;
}

static void asked(void **state)
{
    struct person p = {.asker.put = user_ask_put, .asked = BUF_INIT(1 << 20), .is_away = true};
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct err err = {0};

    (void)state;
    put("work/.claude/settings.json", "{\"env\":{\"A\":\"b\"}}");
    conf = load(false);
    assert_int_equal(trust_ask(conf, /*again=*/false, &p.asker, /*cancel=*/NULL, &err), -1);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    expect(conf, "work", TRUST_UNKNOWN, NULL);
    p.is_away = false;
    assert_int_equal(trust_ask(conf, /*again=*/false, &p.asker, /*cancel=*/NULL, NULL), 0);
    expect(conf, "work", TRUST_NO, "work");
    p.says = true;
    assert_int_equal(trust_ask(conf, /*again=*/false, &p.asker, /*cancel=*/NULL, NULL), 1);
    expect(conf, "work", TRUST_YES, "work");
    assert_true(str_has(buf_str(&p.asked), STR("these are left out: env")));
    buf_release(&p.asked);
}

UNIT_TEST(trust)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nearest_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(claudes_count, setup, teardown),
        cmocka_unit_test_setup_teardown(asked, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
