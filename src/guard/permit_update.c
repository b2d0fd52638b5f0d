/*
 * permit_update: changes that come with an answer, and the suggestions that lead to them. Both
 * speak the PermissionUpdate of the agent SDK. Any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "guard/permit.h"
#include "guard/permit_save.h"
#include "guard/permit_state.h"
#include "guard/protected.h"
#include "guard/tool_flags.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"

/* --- updates -------------------------------------------------------------------------------- */

/* {"toolName":"Bash","ruleContent":"ls *"} → "Bash(ls *)". */
static int update_rule_text(const struct json *rule, struct buf *ret, struct err *err)
{
    struct str tool = json_get_str(rule, "toolName");
    struct str content = json_get_str(rule, "ruleContent");

    if (!tool.len)
        return err_set(err, ERR_BAD_INPUT, "a rule has no toolName");
    buf_add(ret, tool);
    if (content.len) {
        buf_addc(ret, '(');
        buf_add(ret, content);
        buf_addc(ret, ')');
    }
    return buf_check(ret, err);
}

/* What stands elsewhere stays: an update speaks of one place. */
static void state_remove(const struct permit *p, struct permit_state *s, enum rule_list list,
                         enum permit_destination to, const struct str *text)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->rules.len; i++) {
        struct permit_rule *r = s->rules.ptr[i];
        bool goes = r->list == list && (!text || str_eq(rule_text(r->rule), *text)) &&
                    permit_rule_is_at(p, r, to);

        if (goes)
            permit_rule_unref(r);
        else
            s->rules.ptr[kept++] = r;
    }
    s->rules.len = kept;
}

/* Rules on their way into a state. */
struct rule_batch {
    VEC(struct permit_rule *) rules;
};

static void rule_batch_release(struct rule_batch *b)
{
    VEC_EACH(&b->rules, r) {
        permit_rule_unref(*r);
    }
    vec_release(&b->rules);
}

static int rule_batch_parse(struct rule_batch *b, const struct permit *p, const struct json *rules,
                            enum rule_list list, const char *source, struct err *err)
{
    JSON_EACH(rules, rule) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);
        struct permit_rule *r;

        if (update_rule_text(rule, &text, err) < 0 ||
            permit_rule_new(p, buf_str(&text), list, source, /*source_dir=*/NULL, &r, err) < 0)
            return -1;
        vec_push(&b->rules, r);
    }
    return 0;
}

/* An update in progress: rules that could not be saved count for the session. */
struct update {
    struct permit *permit;
    const struct json *json;
    enum permit_destination to;
    struct strv *warnings;
};

static void update_warn(struct update *u, const struct err *why)
{
    strv_addf(u->warnings, "a permission update for %s counts for this session only: %s",
              permit_destination_name(u->to), why->text);
    u->to = TO_SESSION;
}

static void update_save_rules(struct update *u, enum rule_list list, enum permit_change change,
                              const struct rule_batch *batch)
{
    CLEANUP(strv_release) struct strv texts = STRV_INIT;
    CLEANUP(buf_release) struct buf key = BUF_INIT(100);
    struct err err = {0};

    VEC_EACH(&batch->rules, r) {
        strv_add(&texts, rule_text((*r)->rule));
    }
    buf_addf(&key, "permissions.%s", permit_list_name(list));
    if (permit_save_list(u->permit, u->to, buf_cstr(&key), change, &texts, &err) == 0)
        return;
    update_warn(u, &err);
    VEC_EACH(&batch->rules, r) {
        free((*r)->source);
        (*r)->source = mem_dup("session", 7);
    }
}

/* Ends the batch of permit_begin(), with these rules beside the existing ones. */
static int batch_commit(struct rule_batch *b, struct permit *p, struct permit_state *s,
                        struct err *err)
{
    int rc = 0;

    while (b->rules.len && rc == 0)
        rc = permit_state_add(s, b->rules.ptr[--b->rules.len], err);
    if (rc < 0)
        permit_abandon(p, s);
    else
        permit_commit(p, s);
    return rc;
}

static int update_rules(struct update *u, enum permit_change change, struct err *err)
{
    CLEANUP(rule_batch_release) struct rule_batch batch = {0};
    const struct json *rules = json_get(u->json, "rules");
    struct permit *p = u->permit;
    struct permit_state *s;
    enum rule_list list;

    if (!permit_list_parse(json_get_str(u->json, "behavior"), &list))
        return err_set(err, ERR_BAD_INPUT, "behavior is not allow, deny or ask");
    if (!json_is(rules, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "rules is not a list");
    if (rule_batch_parse(&batch, p, rules, list, permit_destination_name(u->to), err) < 0)
        return -1;
    update_save_rules(u, list, change, &batch);

    s = permit_begin(p);
    if (change == CHANGE_REPLACE)
        state_remove(p, s, list, u->to, /*text=*/NULL);
    if (change == CHANGE_REMOVE) {
        VEC_EACH(&batch.rules, r) {
            struct str text = rule_text((*r)->rule);

            state_remove(p, s, list, u->to, &text);
        }
        permit_commit(p, s);
        return 0;
    }
    return batch_commit(&batch, p, s, err);
}

static int update_mode(struct update *u, struct err *err)
{
    struct str name = json_get_str(u->json, "mode");
    struct err unsaved = {0};
    enum permit_mode mode;

    if (!permit_mode_parse(name, &mode))
        return err_set(err, ERR_BAD_INPUT, "there is no permission mode '%.*s'",
                       STR_ARG(str_clip(name, 100)));
    if (permit_set_mode(u->permit, mode, err) < 0)
        return -1;
    if (permit_save_mode(u->permit, u->to, mode, &unsaved) < 0)
        update_warn(u, &unsaved);
    return 0;
}

static int update_folders(struct update *u, enum permit_change change, struct err *err)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    const struct json *list = json_get(u->json, "directories");
    struct workspace *workspace = u->permit->workspace;
    struct err unsaved = {0};

    if (!json_is(list, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "directories is not a list");
    JSON_EACH(list, v) {
        CLEANUP(mem_freep) char *path = NULL;

        if (!json_str(v).len)
            return err_set(err, ERR_BAD_INPUT, "directories has something that is no path");
        path = workspace_resolve(workspace, json_str(v));
        if (change == CHANGE_ADD && !file_is_dir(path))
            return err_set(err, ERR_BAD_INPUT, "%s is not a folder", path);
        strv_adds(&paths, path);
    }
    for (size_t i = 0; i < paths.len; i++) {
        if (change == CHANGE_ADD)
            workspace_add_dir(workspace, paths.ptr[i]);
        else
            workspace_remove_dir(workspace, paths.ptr[i]);
    }
    if (permit_save_list(u->permit, u->to, "permissions.additionalDirectories", change, &paths,
                         &unsaved) < 0)
        update_warn(u, &unsaved);
    return 0;
}

static int update_one(struct permit *p, const struct json *json, struct strv *ret_warnings,
                      struct err *err)
{
    struct update u = {.permit = p, .json = json, .warnings = ret_warnings};
    struct str type = json_get_str(json, "type");
    struct str to = json_get_str(json, "destination");

    if (!permit_destination_parse(to, &u.to))
        return err_set(err, ERR_BAD_INPUT, "there is no destination '%.*s'",
                       STR_ARG(str_clip(to, 100)));
    if (str_is(type, "addRules"))
        return update_rules(&u, CHANGE_ADD, err);
    if (str_is(type, "replaceRules"))
        return update_rules(&u, CHANGE_REPLACE, err);
    if (str_is(type, "removeRules"))
        return update_rules(&u, CHANGE_REMOVE, err);
    if (str_is(type, "setMode"))
        return update_mode(&u, err);
    if (str_is(type, "addDirectories"))
        return update_folders(&u, CHANGE_ADD, err);
    if (str_is(type, "removeDirectories"))
        return update_folders(&u, CHANGE_REMOVE, err);
    return err_set(err, ERR_BAD_INPUT, "there is no permission update '%.*s'",
                   STR_ARG(str_clip(type, 100)));
}

int permit_update(struct permit *p, const struct json *updates, struct strv *ret_warnings,
                  struct err *err)
{
    if (!json_is(updates, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "permission updates are not a list");
    if (p->of)
        return permit_update(p->of, updates, ret_warnings, err);
    JSON_EACH(updates, u) {
        if (update_one(p, u, ret_warnings, err) < 0)
            return -1;
    }
    return 0;
}

/* --- lent ----------------------------------------------------------------------------------- */

static int batch_add_text(struct rule_batch *b, const struct permit *p, const char *text,
                          enum rule_list list, bool is_limit, struct err *err)
{
    struct permit_rule *r;

    if (permit_rule_new(p, str_of(text), list, PERMIT_LENT, /*source_dir=*/NULL, &r, err) < 0)
        return -1;
    r->is_limit = is_limit;
    vec_push(&b->rules, r);
    return 0;
}

int permit_lend(struct permit *p, const struct strv *allow, const struct strv *deny,
                const struct strv *only, struct strv *ret_warnings, struct err *err)
{
    CLEANUP(rule_batch_release) struct rule_batch batch = {0};

    for (size_t i = 0; i < deny->len; i++) {
        if (batch_add_text(&batch, p, deny->ptr[i], RULE_DENY, /*is_limit=*/false, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < only->len; i++) {
        if (batch_add_text(&batch, p, only->ptr[i], RULE_ALLOW, /*is_limit=*/true, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < allow->len; i++) {
        struct err unclear = {0};

        if (batch_add_text(&batch, p, allow->ptr[i], RULE_ALLOW, /*is_limit=*/false, &unclear) < 0)
            strv_adds(ret_warnings, unclear.text);
    }
    return batch_commit(&batch, p, permit_begin(p), err);
}

void permit_return(struct permit *p)
{
    struct permit_state *s = permit_begin(p);
    size_t kept = 0;

    for (size_t i = 0; i < s->rules.len; i++) {
        struct permit_rule *r = s->rules.ptr[i];

        if (strcmp(r->source, PERMIT_LENT) == 0)
            permit_rule_unref(r);
        else
            s->rules.ptr[kept++] = r;
    }
    s->rules.len = kept;
    permit_commit(p, s);
}

/* --- suggestions ---------------------------------------------------------------------------- */

static void suggest_mode(struct jw *w, const char *mode)
{
    jw_object(w);
    jw_kcstr(w, "type", "setMode");
    jw_kcstr(w, "mode", mode);
    jw_kcstr(w, "destination", "session");
    jw_object_end(w);
}

static void suggest_folder(struct jw *w, const char *path)
{
    CLEANUP(mem_freep) char *dir = path_dirname(path);

    jw_object(w);
    jw_kcstr(w, "type", "addDirectories");
    jw_key(w, "directories");
    jw_array(w);
    jw_cstr(w, dir);
    jw_array_end(w);
    jw_kcstr(w, "destination", "session");
    jw_object_end(w);
}

/* contents NULL: the whole tool. */
static void suggest_rules(struct jw *w, struct str tool, const struct strv *contents,
                          const char *destination)
{
    jw_object(w);
    jw_kcstr(w, "type", "addRules");
    jw_key(w, "rules");
    jw_array(w);
    for (size_t i = 0; i < (contents ? contents->len : 1); i++) {
        jw_object(w);
        jw_kstr(w, "toolName", tool);
        if (contents)
            jw_kcstr(w, "ruleContent", contents->ptr[i]);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_kcstr(w, "behavior", "allow");
    jw_kcstr(w, "destination", destination);
    jw_object_end(w);
}

static void suggest_path(struct permit *p, struct jw *w, const struct rule_subject *s)
{
    CLEANUP(mem_freep) char *path = mem_dup(s->text.ptr, s->text.len);
    CLEANUP(strv_release) struct strv content = STRV_INIT;
    bool inside = workspace_contains(p->workspace, path);

    if (s->writes) {
        if (!inside)
            suggest_folder(w, path);
        suggest_mode(w, permit_mode_name(MODE_ACCEPT_EDITS));
    } else if (!inside) {
        CLEANUP(mem_freep) char *dir = path_dirname(path);

        strv_addf(&content, "/%s/**", strcmp(dir, "/") == 0 ? "" : dir);
        suggest_rules(w, STR("Read"), &content, "session");
    }
}

/* Rules saved in an untrusted folder would not be read again. */
static const char *suggest_place(struct permit *p)
{
    CLEANUP(permit_state_unrefp) struct permit_state *s = permit_state_ref(p);

    return s->no_grants ? "session" : "localSettings";
}

void permit_suggest(struct permit *p, const struct rule_subject *subject, unsigned flags,
                    struct buf *ret)
{
    CLEANUP(strv_release) struct strv contents = STRV_INIT;
    CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
    const char *place = suggest_place(p);
    struct jw w;

    if (flags & TOOL_PERSON)
        return;
    if (subject->about == ABOUT_PATH && subject->writes && protected_path(subject->text))
        return; /* no rule would help */
    jw_init(&w, &json, 0);
    jw_array(&w);
    switch (subject->about) {
    case ABOUT_PATH:
        suggest_path(p, &w, subject);
        break;
    case ABOUT_COMMAND:
    case ABOUT_HOST:
        if (rule_suggest(subject, &contents))
            suggest_rules(&w, subject->tool, &contents, place);
        break;
    default:
        suggest_rules(&w, subject->tool, /*contents=*/NULL, place);
    }
    jw_array_end(&w);
    if (!str_is(buf_str(&json), "[]") && buf_check(&json, NULL) == 0)
        buf_add(ret, buf_str(&json));
}

void permit_write(struct permit *p, struct buf *ret)
{
    CLEANUP(permit_state_unrefp) struct permit_state *s = permit_state_ref(p);
    struct jw w;

    jw_init(&w, ret, 0);
    jw_array(&w);
    VEC_EACH(&s->rules, r) {
        jw_object(&w);
        jw_kcstr(&w, "behavior", permit_list_name((*r)->list));
        jw_kstr(&w, "rule", rule_text((*r)->rule));
        jw_kcstr(&w, "source", (*r)->source);
        jw_object_end(&w);
    }
    jw_array_end(&w);
}
