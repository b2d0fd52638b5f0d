/*
 * /model: which model answers, from the next call on.
 */
#include "llm/model.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/host.h"
#include "json/json.h"
#include "llm/auth.h"
#include "llm/door.h"
#include "slash/answer.h"

static int model_run(struct slash_call *call, struct err *err);

const struct slash_command slash_model_entry = {
    .name = "model",
    .hint = "[<name> [--save]]",
    .summary = "Choose the model; --save keeps the choice for later sessions",
    .more = "A name is `PROVIDER/NAME`, a name, or an alias; `default` is the one the session "
            "started with.",
    .run = model_run,
};

#define MODEL_MAX_ROWS 300

struct rows {
    struct arena arena;
    VEC(struct choice) list;
    size_t at;
};

static void rows_release(struct rows *r)
{
    vec_release(&r->list);
    arena_release(&r->arena);
}

static bool has_key(const struct conf *conf, struct str provider)
{
    CLEANUP(strv_release) struct strv stored = STRV_INIT;
    struct door door;
    struct door_key_env env;

    if (door_open(conf, provider, &door, /*err=*/NULL) < 0)
        return false;
    if (door.no_key)
        return door.row && !door.row->local;
    for (size_t i = 0; env = door_key_env(&door, i), env.name; i++) {
        const char *value = conf_env(conf, env.name);

        if (value && *value)
            return true;
    }
    (void)auth_list(conf_home(conf), &stored, /*err=*/NULL);
    return strv_has(&stored, provider);
}

static void rows_add(struct rows *r, struct str provider, struct str name, const struct model *m,
                     struct str now)
{
    CLEANUP(buf_release) struct buf label = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf detail = BUF_INIT(1000);
    struct choice c = {0};

    if (r->list.len >= MODEL_MAX_ROWS)
        return;
    buf_add(&label, provider);
    if (provider.len)
        buf_addc(&label, '/');
    buf_add(&label, name);
    if (m) {
        CLEANUP(buf_release) struct buf window = BUF_INIT(100);

        slash_add_count(&window, m->window);
        buf_addf(&detail, "%7s", buf_cstr(&window));
        if (model_price_known(m))
            buf_addf(&detail, "   $%g / $%g", m->price.input, m->price.output);
    }
    c.label = arena_str(&r->arena, buf_str(&label));
    c.detail = arena_str(&r->arena, buf_str(&detail));
    c.is_current = str_eq(c.label, now);
    if (c.is_current)
        r->at = r->list.len;
    vec_push(&r->list, c);
}

/* Short names of the current provider: "sonnet" and the model that it means. */
static void rows_add_aliases(struct rows *r, struct str provider)
{
    static const char *const names[] = {"default", "fable", "opus", "sonnet", "haiku", "gpt"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str alias = str_of(names[i]);
        struct str name = i ? model_alias(provider, alias) : model_default(provider);
        CLEANUP(buf_release) struct buf detail = BUF_INIT(1000);

        if (!name.len || str_eq(name, alias))
            continue;
        buf_addf(&detail, "%.*s/%.*s", STR_ARG(provider), STR_ARG(name));
        vec_push(&r->list, ((struct choice){.label = alias,
                                            .detail = arena_str(&r->arena, buf_str(&detail))}));
    }
}

/* Short names first; then, newest first, the models of providers with a key, those described in the
 * settings, and the current one. */
static void rows_find(struct slash_call *call, struct rows *r, struct str now)
{
    const struct conf *conf = host_conf(call->host);
    struct str last = STR("");
    bool usable = false;
    bool found = false;
    size_t count = 0;
    struct model m;

    rows_add_aliases(r, str_first(now, str_chr(now, '/')));
    while (model_at(count, &m))
        count++;
    while (count-- && model_at(count, &m)) {
        if (!str_eq(m.provider, last))
            usable = has_key(conf, m.provider);
        last = m.provider;
        if (usable)
            rows_add(r, m.provider, m.name, &m, now);
    }
    JSON_EACH(conf_get(conf, "models"), entry) {
        rows_add(r, STR(""), json_key(entry), /*m=*/NULL, now);
    }
    VEC_EACH(&r->list, c) {
        found = found || c->is_current;
    }
    if (!found) {
        r->at = r->list.len;
        rows_add(r, STR(""), now, /*m=*/NULL, now);
    }
}

static int model_set(struct slash_call *call, struct str name, bool save, struct err *err)
{
    CLEANUP(buf_release) struct buf sent = BUF_INIT(4096);

    if (host_set_model(call->host, name, &sent, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Model: %s\n", buf_cstr(&sent));
    if (!save)
        return 0;
    if (slash_save_text(call, "model", name, err) < 0)
        return -1;
    slash_say(call, INK_FAINT, STR("Kept for later sessions.\n"));
    return 0;
}

static int model_pick(struct slash_call *call, const struct rows *r, struct err *err)
{
    static const char *const scopes[] = {"This session", "This session and later ones"};
    struct pick p = {
        .look = PICK_SEARCH,
        .title = STR_INIT("Model"),
        .note = STR_INIT("Context in tokens; price of a million tokens in / out"),
        .choices = r->list.ptr,
        .count = r->list.len,
        .at = r->at,
    };
    size_t chosen;
    size_t scope;

    if (slash_pick(call, &p, &chosen, err) < 0 ||
        slash_choose(call, "Use it for", scopes, ARRAY_LEN(scopes), &scope, err) < 0)
        return -1;
    return model_set(call, r->list.ptr[chosen].label, scope == 1, err);
}

static int model_run(struct slash_call *call, struct err *err)
{
    CLEANUP(rows_release) struct rows rows = {0};
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(buf_release) struct buf now = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf name = BUF_INIT(4096);
    int64_t window;

    slash_words(call->args, &words);
    if (words.len > 2 || (words.len == 2 && !str_is(str_of(words.ptr[1]), "--save")))
        return err_set(err, ERR_BAD_INPUT, "usage: /model %s", slash_model_entry.hint);
    if (words.len)
        return model_set(call, str_of(words.ptr[0]), words.len == 2, err);
    host_model(call->host, &now, &name, &window);
    buf_addf(&now, "/%s", buf_cstr(&name));
    rows_find(call, &rows, buf_str(&now));
    if (call->front)
        return model_pick(call, &rows, err);
    VEC_EACH(&rows.list, c) {
        slash_sayf(call, INK_GREEN, "%s ", c->is_current ? "*" : " ");
        slash_sayf(call, c->is_current ? INK_BOLD : INK_PLAIN, "%.*s", STR_ARG(c->label));
        slash_sayf(call, INK_FAINT, "%s%.*s\n", c->detail.len ? "  " : "", STR_ARG(c->detail));
    }
    slash_say(call, INK_FAINT, STR("To change it: /model <name> [--save]\n"));
    return 0;
}
