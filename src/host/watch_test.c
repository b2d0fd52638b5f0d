#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "guard/workspace.h"
#include "hooks/handler.h"
#include "hooks/registry.h"
#include "host/watch.h"
#include "unit.h"

static char root[] = "/tmp/tenax-watch-XXXXXX";

static void note(void *arg, const char *path, const char *event)
{
    buf_addf(arg, "%s %s;", path_base(path), event);
}

static void assert_told(struct watch *w, const char *expected)
{
    CLEANUP(buf_release) struct buf told = BUF_INIT(1000);

    watch_look(w, note, &told);
    assert_string_equal(buf_cstr(&told), expected);
}

static void put(const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);

    assert_int_equal(file_replace(path, str_of(text), 0600, NULL), 0);
}

static void drop(const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);

    assert_int_equal(unlink(path), 0);
}

static void add_hook(struct hook_registry *hooks, const char *matcher)
{
    struct handler_spec spec = {.type = HANDLER_COMMAND, .command = STR("true")};
    struct hook_handler *handler = hook_handler_new(&spec);
    struct hook_entry where = {
        .event = HOOK_FILE_CHANGED, .source = HOOK_SETTINGS, .matcher = matcher};

    assert_int_equal(hook_registry_add(hooks, &where, handler, NULL), 0);
    hook_handler_unref(handler);
}

static void looks(void **state)
{
    char *const no_environ[] = {NULL};
    CLEANUP(strv_release) struct strv asked = STRV_INIT;
    struct hook_registry *hooks = hook_registry_new(HOOK_LIMIT_NONE);
    struct workspace *workspace;
    struct watch *w;

    (void)state;
    assert_non_null(mkdtemp(root));
    workspace = workspace_new(root, root, no_environ);
    w = watch_new(hooks, workspace);
    put("a.env", "1");
    assert_told(w, ""); /* no watcher */
    add_hook(hooks, "a.env| b.env |^c.*");
    assert_told(w, ""); /* as they are from now on */
    assert_told(w, "");
    put("a.env", "2");
    put("b.env", "1");
    put("c.env", "1");
    assert_told(w, "a.env change;b.env add;");
    assert_told(w, "");
    drop("a.env");
    assert_told(w, "a.env unlink;");

    strv_adds(&asked, "c.env");
    watch_ask(w, &asked);
    assert_told(w, "");
    put("c.env", "22");
    put("b.env", "22");
    assert_told(w, "b.env change;c.env change;");
    strv_clear(&asked);
    watch_ask(w, &asked); /* the last word counts */
    put("c.env", "333");
    assert_told(w, "");

    watch_free(w);
    hook_registry_free(hooks);
    workspace_unref(workspace);
    drop("b.env");
    drop("c.env");
    assert_int_equal(rmdir(root), 0);
}

UNIT_TEST(watch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
