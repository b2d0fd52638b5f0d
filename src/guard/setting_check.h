/*
 * Test helper for permissions: builds settings, folders and rules of a session from JSON.
 *
 *     CLEANUP(setting_release) struct setting s;
 *     setting_load(&s, root, work, "{'permissions':{'deny':['Bash']}}", options);
 *
 * The home directory is root/h, and the machine's settings are ignored. Include after cmocka.h.
 */
#pragma once

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "guard/permit.h"
#include "guard/workspace.h"

#define SETTING_MAX_OPTIONS 8

struct setting {
    struct conf *conf;
    struct workspace *workspace;
    struct permit *permit; /* NULL = failed, see err */
    struct strv warnings;
    struct err err;
};

static inline void setting_release(struct setting *s)
{
    permit_free(s->permit);
    workspace_unref(s->workspace);
    conf_unref(s->conf);
    strv_release(&s->warnings);
}

/* settings: JSON with ' for "; options: NULL-terminated; may be NULL. */
static inline void setting_load(struct setting *s, const char *root, const char *work,
                                const char *settings, const char *const *options)
{
    CLEANUP(args_release) struct args args = {0};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *text = mem_dup(settings, strlen(settings));
    char *argv[3 + SETTING_MAX_OPTIONS] = {(char *)"tenax", (char *)"--settings", text};
    struct conf_sources from = {.dir = work, .args = &args, .etc = "/nonexistent", .trusted = true};
    int argc = 3;

    *s = (struct setting){0};
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    for (; options && *options; options++) {
        assert_true(argc < 3 + SETTING_MAX_OPTIONS);
        argv[argc++] = (char *)*options;
    }
    assert_int_equal(args_parse(argc, argv, &args, &s->err), 0);
    strv_addf(&env, "HOME=%s/h", root);
    from.environ = strv_get(&env);
    assert_int_equal(conf_load(&from, &s->conf, &s->err), 0);
    s->workspace = workspace_new(work, root, strv_get(&env));
    (void)permit_new(s->conf, s->workspace, &s->warnings, &s->permit, &s->err);
}
