/*
 * options: how a goal is set (argument.h). One row per option says its name, whether it takes a
 * value and what reads it; the JSON form is what the store keeps. Any thread.
 */
#include "base/arena.h"
#include "base/err.h"
#include "conf/nearest.h"
#include "goal/argument/argument.h"
#include "goal/check.h"
#include "json/json.h"
#include "json/jw.h"

#define MAX_PROTECT 1000 /* globs */
#define MAX_GLOB ((size_t)4 << 10)

const char *goal_referee_name(enum goal_referee r)
{
    static const char *const names[] = {
        [REFEREE_JUDGE] = "judge", [REFEREE_SELF] = "self", [REFEREE_CHECKS] = "checks"};

    return names[r];
}

static bool goal_referee_parse(struct str name, enum goal_referee *ret)
{
    for (enum goal_referee r = REFEREE_JUDGE; r <= REFEREE_CHECKS; r++) {
        if (str_is(name, goal_referee_name(r))) {
            *ret = r;
            return true;
        }
    }
    return false;
}

const char *goal_limit_name(enum goal_limit l)
{
    static const char *const names[] = {
        [LIMIT_TOKENS] = "token budget",
        [LIMIT_COST] = "cost limit",
        [LIMIT_TURNS] = "step limit",
        [LIMIT_DEADLINE] = "deadline",
    };

    return names[l];
}

void goal_options_release(struct goal_options *o)
{
    strv_release(&o->checks);
    strv_release(&o->protect);
    strv_release(&o->keep);
    *o = (struct goal_options){0};
}

static int option_check(struct goal_options *o, struct str value, int64_t now_ms, struct err *err)
{
    struct str command = str_trim(value);

    (void)now_ms;
    if (!command.len)
        return err_set(err, ERR_BAD_INPUT, "the command is empty");
    if (command.len > CHECK_MAX_COMMAND)
        return err_set(err, ERR_TOO_BIG, "the command has more than %zu bytes", CHECK_MAX_COMMAND);
    if (o->checks.len == CHECK_MAX)
        return err_set(err, ERR_TOO_BIG, "a goal has at most %d checks", CHECK_MAX);
    strv_add(&o->checks, command);
    return 0;
}

static int option_protect(struct goal_options *o, struct str value, int64_t now_ms, struct err *err)
{
    struct str glob = str_trim(value);

    (void)now_ms;
    if (str_eq_nocase(glob, STR("none"))) {
        o->protect_none = true;
        return 0;
    }
    if (!glob.len)
        return err_set(err, ERR_BAD_INPUT, "the glob is empty; 'none' turns protection off");
    if (glob.len > MAX_GLOB)
        return err_set(err, ERR_TOO_BIG, "the glob has more than %zu bytes", MAX_GLOB);
    if (o->protect.len == MAX_PROTECT)
        return err_set(err, ERR_TOO_BIG, "there are more than %d globs", MAX_PROTECT);
    strv_add(&o->protect, glob);
    return 0;
}

static int option_keep(struct goal_options *o, struct str value, int64_t now_ms, struct err *err)
{
    struct str glob = str_trim(value);

    (void)now_ms;
    if (!glob.len || glob.len > MAX_GLOB)
        return err_set(err, ERR_BAD_INPUT, "give a path or a glob of ignored files, such as dist/");
    if (o->keep.len == MAX_PROTECT)
        return err_set(err, ERR_TOO_BIG, "there are more than %d globs", MAX_PROTECT);
    strv_add(&o->keep, glob);
    return 0;
}

static int option_check_in(struct goal_options *o, struct str value, int64_t now_ms,
                           struct err *err)
{
    struct str word = str_trim(value);

    (void)now_ms;
    if (!str_is(word, "room") && !str_is(word, "workspace"))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is neither room nor workspace",
                       STR_ARG(str_clip(word, 60)));
    o->in_workspace = str_is(word, "workspace");
    return 0;
}

static int option_budget(struct goal_options *o, struct str value, int64_t now_ms, struct err *err)
{
    (void)now_ms;
    return goal_read_tokens(value, &o->token_budget, err);
}

static int option_max_turns(struct goal_options *o, struct str value, int64_t now_ms,
                            struct err *err)
{
    int64_t turns;

    (void)now_ms;
    if (str_to_i64(str_trim(value), &turns, err) < 0)
        return -1;
    if (turns <= 0 || turns > GOAL_MAX_NUMBER)
        return err_set(err, ERR_BAD_INPUT, "%lld is not a number of steps: 1 or more",
                       (long long)turns);
    o->max_turns = turns;
    return 0;
}

static int option_max_cost(struct goal_options *o, struct str value, int64_t now_ms,
                           struct err *err)
{
    (void)now_ms;
    return goal_read_usd(value, &o->max_cost_usd, err);
}

static int option_deadline(struct goal_options *o, struct str value, int64_t now_ms,
                           struct err *err)
{
    if (goal_read_deadline(value, now_ms, &o->deadline_ms, err) < 0)
        return -1;
    o->lasts_ms = 0;
    (void)goal_read_duration(str_trim(value), &o->lasts_ms, /*err=*/NULL);
    return 0;
}

static int option_referee(struct goal_options *o, struct str value, int64_t now_ms, struct err *err)
{
    (void)now_ms;
    if (!goal_referee_parse(value, &o->referee))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is none of judge, self, checks",
                       STR_ARG(str_clip(value, 60)));
    o->has_referee = true;
    return 0;
}

static int option_on_deny(struct goal_options *o, struct str value, int64_t now_ms, struct err *err)
{
    (void)now_ms;
    if (!str_is_word_of(value, "block skip"))
        return err_set(err, ERR_BAD_INPUT, "'%.*s' is neither block nor skip",
                       STR_ARG(str_clip(value, 60)));
    o->on_deny_skip = str_is(value, "skip");
    return 0;
}

static int option_auto_resume(struct goal_options *o, struct str value, int64_t now_ms,
                              struct err *err)
{
    (void)value;
    (void)now_ms;
    (void)err;
    o->auto_resume = true;
    return 0;
}

static const struct goal_option {
    const char *name;
    bool takes_value;
    int (*set)(struct goal_options *o, struct str value, int64_t now_ms, struct err *err);
} option_rows[] = {
    {"check", true, option_check},
    {"protect", true, option_protect},
    {"keep", true, option_keep},
    {"check-in", true, option_check_in},
    {"budget", true, option_budget},
    {"max-turns", true, option_max_turns},
    {"max-cost", true, option_max_cost},
    {"deadline", true, option_deadline},
    {"referee", true, option_referee},
    {"on-deny", true, option_on_deny},
    {"auto-resume", false, option_auto_resume},
};

static const struct goal_option *option_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(option_rows); i++) {
        if (str_is(name, option_rows[i].name))
            return &option_rows[i];
    }
    return NULL;
}

bool goal_option_is_known(struct str name)
{
    return option_find(name) != NULL;
}

bool goal_option_takes_value(struct str name)
{
    const struct goal_option *row = option_find(name);

    return row && row->takes_value;
}

const char *goal_option_nearest(struct str name)
{
    struct nearest near;

    nearest_init(&near, name);
    for (size_t i = 0; i < ARRAY_LEN(option_rows); i++)
        nearest_offer(&near, str_of(option_rows[i].name));
    return near.best.len ? near.best.ptr : NULL; /* a row's name: it has its end */
}

int goal_option_set(struct goal_options *o, struct str name, struct str value, int64_t now_ms,
                    struct err *err)
{
    const struct goal_option *row = option_find(name);

    if (!row)
        return err_set(err, ERR_NOT_FOUND, "there is no option --%.*s",
                       STR_ARG(str_clip(name, 60)));
    if (str_chr(value, '\0') < value.len)
        return err_set(err, ERR_BAD_INPUT, "--%s: the value has a NUL byte", row->name);
    if (row->set(o, value, now_ms, err) < 0)
        return err_prefix(err, "--%s", row->name);
    return 0;
}

/* ---- JSON ---- */

void goal_write_list(struct jw *w, const char *key, const struct strv *list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->len; i++)
        jw_cstr(w, list->ptr[i]);
    jw_array_end(w);
}

void goal_options_write(const struct goal_options *o, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    if (o->checks.len)
        goal_write_list(&w, "checks", &o->checks);
    if (o->protect.len)
        goal_write_list(&w, "protect", &o->protect);
    if (o->keep.len)
        goal_write_list(&w, "keep", &o->keep);
    if (o->protect_none)
        jw_kbool(&w, "protect_none", true);
    if (o->in_workspace)
        jw_kcstr(&w, "check_in", "workspace");
    if (o->token_budget)
        jw_ki64(&w, "token_budget", o->token_budget);
    if (o->max_turns)
        jw_ki64(&w, "max_turns", o->max_turns);
    if (o->max_cost_usd > 0) {
        jw_key(&w, "max_cost_usd");
        jw_double(&w, o->max_cost_usd);
    }
    if (o->deadline_ms)
        jw_ki64(&w, "deadline_ms", o->deadline_ms);
    if (o->lasts_ms)
        jw_ki64(&w, "lasts_ms", o->lasts_ms);
    if (o->has_referee)
        jw_kcstr(&w, "referee", goal_referee_name(o->referee));
    if (o->on_deny_skip)
        jw_kcstr(&w, "on_deny", "skip");
    if (o->auto_resume)
        jw_kbool(&w, "auto_resume", true);
    jw_object_end(&w);
}

/* Each element goes through the option's own reader, so that its limits hold here, too. */
static int read_list(const struct json *list, const char *name, struct goal_options *o,
                     struct err *err)
{
    if (list && !json_is(list, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "not an array");
    JSON_EACH(list, item) {
        if (!json_is(item, JSON_STRING))
            return err_set(err, ERR_BAD_INPUT, "not an array of strings");
        if (goal_option_set(o, str_of(name), json_str(item), 0, err) < 0)
            return -1;
    }
    return 0;
}

static int read_number(const struct json *v, int64_t *ret, struct err *err)
{
    int64_t n;

    if (!v)
        return 0;
    if (!json_i64(v, &n) || n < 0 || n > GOAL_MAX_NUMBER)
        return err_set(err, ERR_BAD_INPUT, "not a whole number from 0 on");
    *ret = n;
    return 0;
}

static int read_usd(const struct json *v, double *ret, struct err *err)
{
    double usd;

    if (!v)
        return 0;
    if (!json_double(v, &usd) || !(usd >= 0 && usd <= GOAL_MAX_USD))
        return err_set(err, ERR_BAD_INPUT, "not an amount of money");
    *ret = usd;
    return 0;
}

static int read_flag(const struct json *v, bool *ret, struct err *err)
{
    if (v && !json_is(v, JSON_BOOL))
        return err_set(err, ERR_BAD_INPUT, "neither true nor false");
    *ret = *ret || json_bool(v, false);
    return 0;
}

/* An option whose value is a word. */
static int read_word(const struct json *v, const char *name, struct goal_options *o,
                     struct err *err)
{
    if (!v)
        return 0;
    if (!json_is(v, JSON_STRING))
        return err_set(err, ERR_BAD_INPUT, "not a string");
    return goal_option_set(o, str_of(name), json_str(v), 0, err);
}

static int read_key(const struct json *v, struct goal_options *o, struct err *err)
{
    struct str key = json_key(v);

    if (json_is(v, JSON_NULL))
        return 0;
    if (str_is(key, "checks"))
        return read_list(v, "check", o, err);
    if (str_is(key, "protect"))
        return read_list(v, "protect", o, err);
    if (str_is(key, "keep"))
        return read_list(v, "keep", o, err);
    if (str_is(key, "check_in"))
        return read_word(v, "check-in", o, err);
    if (str_is(key, "protect_none"))
        return read_flag(v, &o->protect_none, err);
    if (str_is(key, "token_budget"))
        return read_number(v, &o->token_budget, err);
    if (str_is(key, "max_turns"))
        return read_number(v, &o->max_turns, err);
    if (str_is(key, "max_cost_usd"))
        return read_usd(v, &o->max_cost_usd, err);
    if (str_is(key, "deadline_ms"))
        return read_number(v, &o->deadline_ms, err);
    if (str_is(key, "lasts_ms"))
        return read_number(v, &o->lasts_ms, err);
    if (str_is(key, "referee"))
        return read_word(v, "referee", o, err);
    if (str_is(key, "on_deny"))
        return read_word(v, "on-deny", o, err);
    if (str_is(key, "auto_resume"))
        return read_flag(v, &o->auto_resume, err);
    return 0;
}

int goal_options_read(struct str json, struct goal_options *ret, struct err *err)
{
    CLEANUP(goal_options_release) struct goal_options o = {0};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root;

    if (json_parse(&arena, json, &root, NULL, err) < 0)
        return err_prefix(err, "the goal's options");
    if (!json_is(root, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "the goal's options are not an object");
    JSON_EACH(root, v) {
        struct str key = json_key(v);

        if (read_key(v, &o, err) < 0)
            return err_prefix(err, "%.*s of the goal's options", STR_ARG(str_clip(key, 60)));
    }
    goal_options_release(ret);
    *ret = o;
    o = (struct goal_options){0};
    return 0;
}
