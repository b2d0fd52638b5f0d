/*
 * context: start git, read the instruction files while it runs, collect. Runs on the thread that
 * builds the session, and later on the agent's, between turns.
 */
#include "context/context.h"

#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "context/reminder.h"
#include "context/surroundings.h"
#include "json/json.h"

#define CONTEXT_MAX_TEXT ((size_t)4 << 20) /* far above what the parts allow */

/* The folders of a search; they live as long as it. */
struct places {
    struct instructions_spec spec;
    char *codex_home;
    struct strv folders;
    struct strv excludes;
    struct strv project_excludes;
};

static void places_release(struct places *p)
{
    mem_freep(&p->codex_home);
    strv_release(&p->folders);
    strv_release(&p->excludes);
    strv_release(&p->project_excludes);
}

/* The folder a variable names, else home/name. */
static char *place_of(const struct conf *conf, const char *variable, const char *home,
                      const char *name)
{
    const char *value = conf_env(conf, variable);

    return value && *value ? path_join(conf_dir(conf), value) : path_join(home, name);
}

static bool wants_source(const struct args *args, const char *name)
{
    return !args || !args->given[OPT_SETTING_SOURCES] ||
           strv_has(&args->values[OPT_SETTING_SOURCES], str_of(name));
}

/* A project's excludes apply to its own files alone. */
static void places_read_excludes(const struct conf *conf, struct places *ret)
{
    size_t i = 0;

    JSON_EACH(conf_get(conf, "claudeMdExcludes"), glob) {
        CLEANUP(buf_release) struct buf key = BUF_INIT(100);

        buf_addf(&key, "claudeMdExcludes.%zu", i++);
        strv_add(conf_is_project(conf, buf_cstr(&key)) ? &ret->project_excludes : &ret->excludes,
                 json_str(glob));
    }
}

static void places_find(const struct context_spec *from, struct places *ret)
{
    const char *home = conf_user_home(from->conf);
    bool is_compatible = conf_get_bool(from->conf, "claudeCompat", true);

    *ret = (struct places){
        .codex_home = place_of(from->conf, "CODEX_HOME", home, ".codex"),
    };
    if (from->folders)
        from->folders(from->arg, &ret->folders);
    places_read_excludes(from->conf, ret);
    ret->spec = (struct instructions_spec){
        .dir = from->dir,
        .user_home = home,
        .claude_home = is_compatible ? conf_claude_home(from->conf) : NULL,
        .tenax_home = conf_home(from->conf),
        .codex_home = ret->codex_home,
        .etc = from->etc,
        .no_user = !wants_source(from->args, "user"),
        .no_project = !wants_source(from->args, "project"),
        .no_local = !wants_source(from->args, "local"),
        .folders = &ret->folders,
        .excludes = &ret->excludes,
        .project_excludes = &ret->project_excludes,
        .veto = from->veto,
        .since_ms = from->since_ms,
    };
}

void context_release(struct context *c)
{
    buf_release(&c->text);
    strv_release(&c->notices);
    instructions_release(&c->instructions);
    instructions_release(&c->nested);
}

int context_instructions(const struct context_spec *spec, struct cancel *cancel,
                         struct instructions *ret, struct err *err)
{
    CLEANUP(places_release) struct places places = {0};

    places_find(spec, &places);
    return instructions_find(&places.spec, cancel, ret, err);
}

/* The instruction files as they are now, and today. */
static int context_look(struct context *c, const struct context_spec *spec, struct cancel *cancel,
                        struct err *err)
{
    struct instructions now;

    if (context_instructions(spec, cancel, &now, err) < 0)
        return -1;
    instructions_release(&c->instructions);
    c->instructions = now;
    strv_clear(&c->notices);
    strv_add_all(&c->notices, &now.notices);
    surroundings_today(c->today);
    return 0;
}

struct surroundings *context_begin(const struct context_spec *spec)
{
    struct surroundings_spec place = {
        .dir = spec->dir,
        .environ = spec->environ(spec->arg),
        .is_later = spec->is_later,
    };

    return surroundings_start(&place);
}

int context_gather(const struct context_spec *spec, struct surroundings *begun,
                   struct cancel *cancel, struct context *ret, struct err *err)
{
    CLEANUP(context_release) struct context c = {.text = BUF_INIT(CONTEXT_MAX_TEXT)};
    CLEANUP(buf_release) struct buf part = BUF_INIT(CONTEXT_MAX_TEXT);
    CLEANUP(buf_release) struct buf confinement = BUF_INIT(CONTEXT_MAX_TEXT);
    int rc = context_look(&c, spec, cancel, err);

    if (spec->describe)
        spec->describe(spec->arg, &confinement);
    if (rc == 0)
        rc = surroundings_write(begun, cancel, &part, err);
    surroundings_free(begun);
    if (rc < 0)
        return -1;
    reminder_add(&c.text, buf_str(&part));
    buf_clear(&part);
    reminder_add(&c.text, buf_str(&confinement));
    instructions_write(&c.instructions, &part);
    reminder_add(&c.text, buf_str(&part));
    if (buf_check(&c.text, NULL) < 0)
        BUG("the context is larger than its parts may be");
    *ret = c;
    c = (struct context){0};
    return 0;
}

int context_restore(const struct context_spec *spec, struct str text, struct cancel *cancel,
                    struct context *ret, struct buf *ret_news, struct err *err)
{
    CLEANUP(context_release) struct context c = {.text = BUF_INIT(BUF_NO_LIMIT)};
    CLEANUP(buf_release) struct buf all = BUF_INIT(CONTEXT_MAX_TEXT);
    CLEANUP(buf_release) struct buf block = BUF_INIT(CONTEXT_MAX_TEXT);
    CLEANUP(buf_release) struct buf today = BUF_INIT(64);

    if (context_look(&c, spec, cancel, err) < 0)
        return -1;
    buf_add(&c.text, text);
    instructions_write(&c.instructions, &all);
    reminder_add(&block, buf_str(&all));
    if (all.len && !str_has(text, buf_str(&block))) {
        buf_insert(&all, 0,
                   STR("The session is resumed. These are the current files; the parts shown "
                       "of them at its start no longer hold.\n\n"));
        reminder_add(ret_news, buf_str(&all));
    }
    buf_addf(&today, "\nToday: %s\n", c.today);
    if (!str_has(text, buf_str(&today)))
        reminder_date(ret_news, str_of(c.today));
    *ret = c;
    c = (struct context){0};
    return 0;
}

int context_news(struct context *c, const struct context_spec *spec, struct cancel *cancel,
                 struct buf *ret, struct err *err)
{
    CLEANUP(context_release) struct context now = {0};
    CLEANUP(buf_release) struct buf news = BUF_INIT(CONTEXT_MAX_TEXT);

    if (context_look(&now, spec, cancel, err) < 0)
        return -1;
    instructions_write_news(&c->instructions, &now.instructions, &news);
    reminder_add(ret, buf_str(&news));
    if (strcmp(c->today, now.today) != 0)
        reminder_date(ret, str_of(now.today));
    memcpy(c->today, now.today, sizeof(c->today));
    instructions_release(&c->instructions);
    c->instructions = now.instructions;
    now.instructions = (struct instructions){0};
    strv_release(&c->notices);
    c->notices = now.notices;
    now.notices = (struct strv)STRV_INIT;
    return 0;
}

int context_near(struct context *c, const struct context_spec *spec, const char *path,
                 struct cancel *cancel, struct buf *ret, struct err *err)
{
    CLEANUP(places_release) struct places places = {0};
    CLEANUP(buf_release) struct buf words = BUF_INIT(CONTEXT_MAX_TEXT);

    places_find(spec, &places);
    strv_clear(&c->nested.notices);
    if (instructions_near(&places.spec, &c->instructions, path, cancel, &c->nested, &words, err) <
        0)
        return -1;
    reminder_add(ret, buf_str(&words));
    strv_clear(&c->notices);
    strv_add_all(&c->notices, &c->nested.notices);
    return 0;
}
