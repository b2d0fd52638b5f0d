/*
 * permit: a state that is replaced as a whole, and how it is computed from the settings. Any
 * thread; the lock is held only for the replacement, never while a path is examined.
 */
#include "guard/permit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "guard/permit_save.h"
#include "guard/permit_state.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "json/json.h"

static const char *const mode_names[] = {
    [MODE_DEFAULT] = "default",  [MODE_ACCEPT_EDITS] = "acceptEdits",
    [MODE_PLAN] = "plan",        [MODE_AUTO] = "auto",
    [MODE_DONT_ASK] = "dontAsk", [MODE_BYPASS] = "bypassPermissions",
};

static const char *const list_names[] = {
    [RULE_ALLOW] = "allow", [RULE_ASK] = "ask", [RULE_DENY] = "deny"};

const char *permit_mode_name(enum permit_mode m)
{
    return mode_names[m];
}

bool permit_mode_parse(struct str name, enum permit_mode *ret)
{
    if (str_is(name, "manual"))
        name = STR("default");
    for (size_t i = 0; i < ARRAY_LEN(mode_names); i++) {
        if (str_is(name, mode_names[i])) {
            *ret = (enum permit_mode)i;
            return true;
        }
    }
    return false;
}

const char *permit_list_name(enum rule_list list)
{
    return list_names[list];
}

bool permit_list_parse(struct str name, enum rule_list *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(list_names); i++) {
        if (str_is(name, list_names[i])) {
            *ret = (enum rule_list)i;
            return true;
        }
    }
    return false;
}

/* --- the state ------------------------------------------------------------------------------ */

static struct permit_state *permit_state_new(void)
{
    struct permit_state *s = mem_zalloc(sizeof(*s));

    atomic_init(&s->refs, 1);
    return s;
}

static void permit_state_share(struct permit_state *s, struct permit_rule *r)
{
    atomic_fetch_add(&r->refs, 1);
    vec_push(&s->rules, r);
}

static struct permit_state *permit_state_copy(const struct permit_state *from)
{
    struct permit_state *s = permit_state_new();

    s->mode = from->mode;
    s->before_plan = from->before_plan;
    s->never_bypass = from->never_bypass;
    s->never_auto = from->never_auto;
    s->no_grants = from->no_grants;
    s->only_managed = from->only_managed;
    VEC_EACH(&from->rules, r) {
        permit_state_share(s, *r);
    }
    return s;
}

/* A mode that the settings forbid now is reset. */
static void permit_state_fit_mode(struct permit_state *s)
{
    if ((s->never_bypass && s->mode == MODE_BYPASS) || (s->never_auto && s->mode == MODE_AUTO))
        s->mode = MODE_DEFAULT;
}

/* A branch uses the current rules of the other permit and its own. The lock must be held. */
static void permit_merge(struct permit *p, struct permit_state *base)
{
    struct permit_state *s = permit_state_copy(base);
    size_t kept = 0;

    /* What a command or skill grants is for the agent that called it, but what it forbids holds for
     * the agents that this one starts, too. */
    VEC_EACH(&s->rules, r) {
        if ((*r)->list == RULE_ALLOW && !(*r)->is_limit && strcmp((*r)->source, PERMIT_LENT) == 0)
            permit_rule_unref(*r);
        else
            s->rules.ptr[kept++] = *r;
    }
    s->rules.len = kept;
    VEC_EACH(&p->state->rules, r) {
        permit_state_share(s, *r);
    }
    if (p->has_mode) {
        s->mode = p->state->mode;
        s->before_plan = p->state->before_plan;
        permit_state_fit_mode(s);
    }
    p->base = base;
    p->merged = s;
}

struct permit_state *permit_state_ref(struct permit *p)
{
    struct permit_state *base = p->of ? permit_state_ref(p->of) : NULL;
    struct permit_state *old = NULL;
    struct permit_state *old_base = base;
    struct permit_state *s;

    lock_take(&p->lock);
    if (base && (p->base != base || !p->merged)) {
        old = p->merged;
        old_base = p->base;
        permit_merge(p, base);
    }
    s = base ? p->merged : p->state;
    atomic_fetch_add(&s->refs, 1);
    lock_give(&p->lock);
    permit_state_unref(old);
    permit_state_unref(old_base);
    return s;
}

void permit_state_unref(struct permit_state *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    VEC_EACH(&s->rules, r) {
        permit_rule_unref(*r);
    }
    vec_release(&s->rules);
    free(s);
}

void permit_state_unrefp(struct permit_state **s)
{
    permit_state_unref(*s);
}

struct permit_state *permit_begin(struct permit *p)
{
    lock_take(&p->lock);
    return permit_state_copy(p->state);
}

void permit_commit(struct permit *p, struct permit_state *s)
{
    struct permit_state *old = p->state;
    struct permit_state *merged = TAKE_PTR(p->merged);
    bool changed = old->mode != s->mode;
    enum permit_mode mode = s->mode;

    p->state = s;
    lock_give(&p->lock);
    permit_state_unref(old);
    permit_state_unref(merged);
    if (changed && p->on_mode)
        p->on_mode(mode, p->on_mode_arg);
}

void permit_abandon(struct permit *p, struct permit_state *s)
{
    lock_give(&p->lock);
    permit_state_unref(s);
}

/* ERR_DENIED, see permit_set_mode(). */
static int permit_state_set_mode(const struct permit *p, struct permit_state *s,
                                 enum permit_mode mode, struct err *err)
{
    if (mode == MODE_BYPASS && s->never_bypass)
        return err_set(
            err, ERR_DENIED,
            "bypassPermissions is forbidden by permissions.disableBypassPermissionsMode");
    if (mode == MODE_BYPASS && !p->may_bypass)
        return err_set(err, ERR_DENIED,
                       "this run may not go to bypassPermissions; start it with "
                       "--allow-dangerously-skip-permissions");
    if (mode == MODE_AUTO && s->never_auto)
        return err_set(err, ERR_DENIED, "the mode auto is forbidden by disableAutoMode");
    if (mode == MODE_PLAN && s->mode != MODE_PLAN)
        s->before_plan = s->mode;
    s->mode = mode;
    return 0;
}

int permit_rule_new(const struct permit *p, struct str text, enum rule_list list,
                    const char *source, const char *source_dir, struct permit_rule **ret,
                    struct err *err)
{
    const char *dir = workspace_dir(p->workspace);
    struct rule_place place = {
        .source = source_dir ? source_dir : dir, .cwd = dir, .home = p->home};
    struct permit_rule *r;
    struct rule *rule;

    if (rule_parse(text, list, &place, &rule, err) < 0)
        return -1;
    r = mem_zalloc(sizeof(*r));
    atomic_init(&r->refs, 1);
    r->rule = rule;
    r->list = list;
    r->source = mem_dup(source, strlen(source));
    *ret = r;
    return 0;
}

void permit_rule_unref(struct permit_rule *r)
{
    if (atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    rule_free(r->rule);
    free(r->source);
    free(r);
}

int permit_state_add(struct permit_state *s, struct permit_rule *r, struct err *err)
{
    VEC_EACH(&s->rules, old) {
        if ((*old)->list == r->list && (*old)->is_limit == r->is_limit &&
            str_eq(rule_text((*old)->rule), rule_text(r->rule)) &&
            strcmp((*old)->source, r->source) == 0) {
            permit_rule_unref(r);
            return 0;
        }
    }
    if (s->rules.len >= PERMIT_MAX_RULES) {
        permit_rule_unref(r);
        return err_set(err, ERR_TOO_BIG, "there are more than %d permission rules",
                       PERMIT_MAX_RULES);
    }
    vec_push(&s->rules, r);
    return 0;
}

/* --- computed from the settings --------------------------------------------------------------- */

/* The folder that "/x" means in a rule of this origin: the project for its settings, the start
 * directory for local ones and options, else the folder of the file. */
char *permit_source_dir(const struct conf *conf, struct str origin, const char *home)
{
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(mem_freep) char *dir = NULL;
    char *above;

    if (!str_starts(origin, STR("/")) && !str_starts(origin, STR("~/")))
        return mem_dup(conf_dir(conf), strlen(conf_dir(conf)));
    for (int i = 0; i < 2; i++) { /* :line:column */
        while (origin.len && origin.ptr[origin.len - 1] >= '0' && origin.ptr[origin.len - 1] <= '9')
            origin.len--;
        if (origin.len && origin.ptr[origin.len - 1] == ':')
            origin.len--;
    }
    if (origin.ptr[0] == '~') {
        CLEANUP(mem_freep) char *rest = mem_dup(origin.ptr + 2, origin.len - 2);

        path = path_join(home, rest);
    } else {
        path = mem_dup(origin.ptr, origin.len);
    }
    dir = path_dirname(path);
    if (strcmp(path_base(path), "settings.local.json") == 0)
        return mem_dup(conf_dir(conf), strlen(conf_dir(conf)));
    above = path_dirname(dir);
    if (strcmp(above, conf_dir(conf)) == 0 && strcmp(above, home) != 0 &&
        (strcmp(path_base(dir), ".claude") == 0 || strcmp(path_base(dir), ".tenax") == 0))
        return above;
    free(above);
    return TAKE_PTR(dir);
}

/* In a file of Claude's an unknown name may be a tool of Claude Code. */
static void permit_warn_of_tool(const struct rule *r, struct str origin, bool is_claudes,
                                struct strv *ret_warnings)
{
    struct str near;

    if (!rule_names_nobody(r, &near) || (is_claudes && !near.len))
        return;
    strv_addf(ret_warnings, "%.*s: the rule %.*s counts for nothing: there is no such tool%s%.*s%s",
              STR_ARG(origin), STR_ARG(str_clip(rule_text(r), 100)),
              near.len ? "; did you mean '" : "", STR_ARG(near), near.len ? "'?" : "");
}

static void permit_add_list(struct permit *p, struct permit_state *s, const struct conf *conf,
                            const char *key, enum rule_list list, struct strv *ret_warnings)
{
    size_t i = 0;

    JSON_EACH(conf_get(conf, key), v) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(100);
        CLEANUP(mem_freep) char *dir = NULL;
        CLEANUP(mem_freep) char *source = NULL;
        struct permit_rule *rule;
        struct str origin;
        struct err err = {0};

        buf_addf(&path, "%s.%zu", key, i++);
        origin = conf_origin(conf, buf_cstr(&path));
        if (list == RULE_ALLOW && s->only_managed && !conf_is_managed(conf, buf_cstr(&path))) {
            strv_addf(ret_warnings,
                      "%.*s: this permission rule is left out: only managed settings allow here",
                      STR_ARG(origin));
            continue;
        }
        dir = permit_source_dir(conf, origin, p->home);
        source = str_starts(origin, STR("--")) && !str_starts(origin, STR("--settings"))
                     ? mem_dup("cliArg", 6)
                     : mem_dup(origin.ptr, origin.len);
        if (permit_rule_new(p, json_str(v), list, source, dir, &rule, &err) < 0) {
            strv_addf(ret_warnings, "%.*s: this permission rule is left out: %s", STR_ARG(origin),
                      err.text);
            continue;
        }
        rule->is_managed = conf_is_managed(conf, buf_cstr(&path));
        permit_warn_of_tool(rule->rule, origin, conf_is_claudes(conf, buf_cstr(&path)),
                            ret_warnings);
        if (permit_state_add(s, rule, &err) < 0)
            strv_addf(ret_warnings, "%.*s: this permission rule is left out: %s", STR_ARG(origin),
                      err.text);
    }
}

/* Replaces the folders from the settings. */
static void permit_set_folders(struct permit *p, const struct conf *conf, struct strv *ret_warnings)
{
    struct strv before = p->folders;
    size_t i = 0;

    p->folders = (struct strv)STRV_INIT;
    JSON_EACH(conf_get(conf, "permissions.additionalDirectories"), v) {
        CLEANUP(mem_freep) char *path = workspace_resolve(p->workspace, json_str(v));
        CLEANUP(buf_release) struct buf key = BUF_INIT(100);
        struct stat st;

        buf_addf(&key, "permissions.additionalDirectories.%zu", i++);
        if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            strv_addf(ret_warnings, "%.*s: %s is not a folder; left out",
                      STR_ARG(conf_origin(conf, buf_cstr(&key))), path);
        else
            strv_adds(&p->folders, path);
    }
    for (i = 0; i < before.len; i++) {
        if (!strv_has(&p->folders, str_of(before.ptr[i])))
            workspace_remove_dir(p->workspace, before.ptr[i]);
    }
    for (i = 0; i < p->folders.len; i++)
        workspace_add_dir(p->workspace, p->folders.ptr[i]);
    strv_release(&before);
}

/* Deny rules in a skipped file are unknown. */
static void permit_ask_for_all(struct permit *p, struct permit_state *s)
{
    struct permit_rule *rule;

    if (permit_rule_new(p, STR("*"), RULE_ASK, "a settings file that is left out",
                        /*source_dir=*/NULL, &rule, /*err=*/NULL) == 0)
        (void)permit_state_add(s, rule, /*err=*/NULL);
}

static void permit_add_lists(struct permit *p, struct permit_state *s, const struct conf *conf,
                             struct strv *ret_warnings)
{
    s->never_bypass =
        str_is(conf_get_str(conf, "permissions.disableBypassPermissionsMode"), "disable");
    s->never_auto = str_is(conf_get_str(conf, "disableAutoMode"), "disable") ||
                    conf_get_bool(conf, "disableAutoMode", false);
    s->no_grants = !conf_is_trusted(conf);
    s->only_managed = conf_get_bool(conf, "allowManagedPermissionRulesOnly", false);
    if (conf_lacks_file(conf))
        permit_ask_for_all(p, s);
    permit_add_list(p, s, conf, "permissions.deny", RULE_DENY, ret_warnings);
    permit_add_list(p, s, conf, "permissions.ask", RULE_ASK, ret_warnings);
    permit_add_list(p, s, conf, "permissions.allow", RULE_ALLOW, ret_warnings);
}

static int permit_first_mode(struct permit *p, struct permit_state *s, const struct conf *conf,
                             struct err *err)
{
    struct str name = conf_get_str(conf, "permissions.defaultMode");
    enum permit_mode mode = MODE_DEFAULT;

    if (name.len && !permit_mode_parse(name, &mode))
        return err_set(err, ERR_BAD_INPUT, "there is no permission mode '%.*s'",
                       STR_ARG(str_clip(name, 100)));
    if (conf_option(conf, OPT_DANGEROUSLY_SKIP_PERMISSIONS))
        mode = MODE_BYPASS;
    p->may_bypass =
        mode == MODE_BYPASS || conf_option(conf, OPT_ALLOW_DANGEROUSLY_SKIP_PERMISSIONS);
    if (permit_state_set_mode(p, s, mode, err) < 0)
        return -1;
    s->before_plan = MODE_DEFAULT;
    return 0;
}

int permit_new(const struct conf *conf, struct workspace *w, struct strv *ret_warnings,
               struct permit **ret, struct err *err)
{
    struct permit *p = mem_zalloc(sizeof(*p));
    const char *home = conf_user_home(conf);
    struct permit_state *s = permit_state_new();

    lock_init(&p->lock);
    p->state = s; /* not shared yet, so it can be modified */
    p->workspace = workspace_ref(w);
    p->home = mem_dup(home, strlen(home));
    permit_find_files(p, conf);
    permit_set_folders(p, conf, ret_warnings);
    permit_add_lists(p, s, conf, ret_warnings);
    if (permit_first_mode(p, s, conf, err) < 0) {
        permit_free(p);
        return -1;
    }
    *ret = p;
    return 0;
}

/* The rules are computed before the lock is taken, because that examines folders. */
void permit_reload(struct permit *p, const struct conf *conf, struct strv *ret_warnings)
{
    CLEANUP(permit_state_unrefp) struct permit_state *made = permit_state_new();
    struct permit_state *s;
    size_t kept;

    permit_set_folders(p, conf, ret_warnings);
    permit_add_lists(p, made, conf, ret_warnings);
    s = permit_begin(p);
    kept = 0;
    VEC_EACH(&s->rules, r) {
        if (strcmp((*r)->source, "session") == 0 || strcmp((*r)->source, PERMIT_LENT) == 0)
            s->rules.ptr[kept++] = *r;
        else
            permit_rule_unref(*r);
    }
    s->rules.len = kept;
    VEC_EACH(&made->rules, r) {
        permit_state_share(s, *r);
    }
    s->never_bypass = made->never_bypass;
    s->never_auto = made->never_auto;
    s->no_grants = made->no_grants;
    s->only_managed = made->only_managed;
    permit_state_fit_mode(s);
    permit_commit(p, s);
}

static struct permit *permit_like(const struct permit *p, struct workspace *w, struct sandbox *s,
                                  struct permit_state *state)
{
    struct permit *like = mem_zalloc(sizeof(*like));

    like->workspace = workspace_ref(w);
    like->sandbox = s;
    like->home = mem_dup(p->home, strlen(p->home));
    like->may_bypass = p->may_bypass;
    lock_init(&like->lock);
    like->state = state;
    return like;
}

struct permit *permit_copy(struct permit *p)
{
    return permit_like(p, p->workspace, p->sandbox, permit_state_ref(p));
}

struct permit *permit_branch(struct permit *p, struct workspace *w, struct sandbox *s)
{
    struct permit *branch = permit_like(p, w, s, permit_state_new());

    branch->of = p;
    return branch;
}

void permit_set_read_only(struct permit *p, permit_spares_fn spares, void *arg)
{
    p->is_read_only = true;
    p->spares = spares;
    p->spares_arg = arg;
}

bool permit_is_read_only(const struct permit *p)
{
    return p->is_read_only;
}

void permit_free(struct permit *p)
{
    if (!p)
        return;
    permit_state_unref(p->state);
    permit_state_unref(p->base);
    permit_state_unref(p->merged);
    strv_release(&p->folders);
    workspace_unref(p->workspace);
    lock_release(&p->lock);
    for (size_t i = 0; i < ARRAY_LEN(p->files); i++)
        free(p->files[i]);
    free(p->home);
    free(p);
}

/* --- modes ---------------------------------------------------------------------------------- */

enum permit_mode permit_mode(struct permit *p)
{
    CLEANUP(permit_state_unrefp) struct permit_state *s = permit_state_ref(p);

    return s->mode;
}

enum permit_mode permit_mode_before_plan(struct permit *p)
{
    CLEANUP(permit_state_unrefp) struct permit_state *s = permit_state_ref(p);

    return s->before_plan;
}

int permit_set_mode(struct permit *p, enum permit_mode mode, struct err *err)
{
    CLEANUP(permit_state_unrefp) struct permit_state *now = permit_state_ref(p);
    struct permit_state *s = permit_begin(p);

    if (p->of) { /* its settings are those of the other permit */
        s->never_bypass = now->never_bypass;
        s->never_auto = now->never_auto;
        s->mode = now->mode;
    }
    if (permit_state_set_mode(p, s, mode, err) < 0) {
        permit_abandon(p, s);
        return -1;
    }
    p->has_mode = true;
    permit_commit(p, s);
    return 0;
}

void permit_follow_mode(struct permit *p)
{
    struct permit_state *s = permit_begin(p);

    p->has_mode = false;
    permit_commit(p, s);
}

void permit_set_sandbox(struct permit *p, struct sandbox *s)
{
    p->sandbox = s;
    sandbox_set_permit(s, p);
}

void permit_on_mode(struct permit *p, void (*fn)(enum permit_mode mode, void *arg), void *arg)
{
    p->on_mode = fn;
    p->on_mode_arg = arg;
}

bool permit_offers(struct permit *p, struct str tool)
{
    CLEANUP(permit_state_unrefp) struct permit_state *s = permit_state_ref(p);

    VEC_EACH(&s->rules, r) {
        if ((*r)->list == RULE_DENY && rule_covers_tool((*r)->rule, tool))
            return false;
    }
    return true;
}
