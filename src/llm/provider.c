/*
 * Chooses the provider and model of a run from flags, environment, settings and stored keys. First
 * it chooses (a provider's name and a model's), then it opens that one door and finds its key, so
 * that a problem with another provider cannot stop the run. Runs on the thread that will own the
 * provider.
 */
#include "llm/provider.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/nearest.h"
#include "json/json.h"
#include "llm/auth.h"
#include "llm/cred.h"
#include "llm/dialect/dialect.h"
#include "llm/door.h"
#include "llm/scenario/scripted.h"

struct provider_choice {
    struct str provider;
    struct str model; /* empty = the provider's default */
    struct str from;  /* "--model", …; empty = none was named */
};

void provider_release(struct provider *p)
{
    cred_release(p);
    mem_freep(&p->name);
    mem_freep(&p->base_url);
    mem_freep(&p->model_name);
    mem_freep(&p->sent_as);
    mem_freep(&p->scenario);
    strv_release(&p->headers);
    strv_release(&p->notes);
    scripted_free(p->script);
    conf_unref(p->conf);
    *p = (struct provider){0};
}

static char *dup_text(const char *text)
{
    return text ? mem_dup(text, strlen(text)) : NULL;
}

/* Moves a slice of a string to the copy of that string; other slices are in static memory. */
static void slice_moves(struct str *s, const char *from, const char *to)
{
    if (from && s->ptr >= from && s->ptr <= from + strlen(from))
        s->ptr = to + (s->ptr - from);
}

void provider_copy(const struct provider *p, struct provider *ret)
{
    struct str *slices[] = {&ret->model.provider, &ret->model.name, &ret->model.sent_as,
                            &ret->model.family, &ret->model.like};

    *ret = *p;
    ret->name = dup_text(p->name);
    ret->base_url = dup_text(p->base_url);
    ret->key = dup_text(p->key);
    ret->source_name = dup_text(p->source_name);
    ret->helper = dup_text(p->helper);
    ret->model_name = dup_text(p->model_name);
    ret->sent_as = dup_text(p->sent_as);
    ret->scenario = dup_text(p->scenario);
    ret->headers = ret->notes = (struct strv)STRV_INIT;
    strv_add_all(&ret->headers, &p->headers);
    strv_add_all(&ret->notes, &p->notes);
    ret->conf = conf_ref(p->conf);
    ret->script = scripted_ref(p->script);
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        slice_moves(slices[i], p->name, ret->name);
        slice_moves(slices[i], p->model_name, ret->model_name);
        slice_moves(slices[i], p->sent_as, ret->sent_as);
    }
}

/* Whether the provider is configured: a key or base URL in the environment, or a helper. One with
 * invalid settings counts, so that the user sees the error. */
static bool is_set_up(const struct conf *conf, struct str name)
{
    struct door d;

    if (door_open(conf, name, &d, /*err=*/NULL) < 0)
        return true;
    return cred_is_configured(conf, &d) ||
           (d.row && d.row->base_env && d.base_from == d.row->base_env);
}

/* No provider was named: the first one that is configured, else the first one with a stored key. */
static int default_provider(const struct conf *conf, struct str *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv stored = STRV_INIT;

    for (size_t i = 0; door_row(i); i++) {
        struct str name = str_of(door_row(i)->name);

        if (door_row(i)->dialect && is_set_up(conf, name)) {
            *ret = name;
            return 0;
        }
    }
    JSON_EACH(conf_get(conf, "providers"), it) {
        if (is_set_up(conf, json_key(it))) {
            *ret = json_key(it);
            return 0;
        }
    }
    if (auth_list(conf_home(conf), &stored, err) < 0)
        return -1;
    for (size_t i = 0; door_row(i); i++) {
        if (strv_has(&stored, str_of(door_row(i)->name))) {
            *ret = str_of(door_row(i)->name);
            return 0;
        }
    }
    JSON_EACH(conf_get(conf, "providers"), it) {
        if (strv_has(&stored, json_key(it))) {
            *ret = json_key(it);
            return 0;
        }
    }
    return err_set(
        err, ERR_AUTH,
        "no provider is set up: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, "
        "or run 'tenax auth login'");
}

/* The provider with a model of this name; of several, the first one that is configured. Empty if
 * there is none. */
static struct str provider_with(const struct conf *conf, struct str model, bool loosely)
{
    struct str first = {0};

    for (size_t i = 0; door_row(i); i++) {
        struct str name = str_of(door_row(i)->name);

        if (!model_is_listed(name, model, loosely))
            continue;
        if (is_set_up(conf, name))
            return name;
        if (!first.len)
            first = name;
    }
    return first;
}

/* The same among models that the settings describe together with their provider: "local/qwen". */
static struct str provider_in_settings(const struct conf *conf, struct str model)
{
    JSON_EACH(conf_get(conf, "models"), it) {
        struct str key = json_key(it);
        size_t slash = str_chr(key, '/');

        if (slash < key.len && str_eq(str_from(key, slash + 1), model) &&
            door_exists(conf, str_first(key, slash)))
            return str_first(key, slash);
    }
    return (struct str){0};
}

/* Whether it can be used, with a key from any source. */
static bool can_be_asked(const struct conf *conf, struct str name)
{
    CLEANUP(strv_release) struct strv stored = STRV_INIT;
    struct door d;

    if (is_set_up(conf, name) || (door_open(conf, name, &d, /*err=*/NULL) == 0 && d.no_key))
        return true;
    return auth_list(conf_home(conf), &stored, /*err=*/NULL) == 0 && strv_has(&stored, name);
}

/* Who makes models of that name, of those that can be asked: of one that is newer than the table.
 */
static struct str provider_by_make(const struct conf *conf, struct str model)
{
    for (size_t i = 0; door_row(i); i++) {
        struct str name = str_of(door_row(i)->name);

        if (model_is_kin(name, model) && can_be_asked(conf, name))
            return name;
    }
    return (struct str){0};
}

/* Whether another server replaces this vendor (ANTHROPIC_BASE_URL). */
static bool is_gateway(const struct conf *conf, struct str name)
{
    struct door d;

    return door_open(conf, name, &d, /*err=*/NULL) == 0 && d.base_from && !door_is_home(&d);
}

/*
 * A gateway may have models of any vendor: some vendors ask users to set ANTHROPIC_BASE_URL, a
 * token and ANTHROPIC_MODEL=theirs. So a name from this variable is meant for the gateway, and so
 * is a name of a provider without a key. An alias belongs to one provider only.
 */
static void choose_gateway(const struct conf *conf, struct provider_choice *c)
{
    static const char *const names[] = {"anthropic", "openai"};
    bool is_alias = !str_eq(model_alias(c->provider, c->model), c->model);

    if (is_alias)
        return;
    if (str_is(c->from, "$ANTHROPIC_MODEL") && is_gateway(conf, STR("anthropic"))) {
        c->provider = STR("anthropic");
        return;
    }
    if (!c->provider.len || can_be_asked(conf, c->provider))
        return;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (is_gateway(conf, str_of(names[i]))) {
            c->provider = str_of(names[i]);
            return;
        }
    }
}

static int no_such_provider(const struct conf *conf, struct str name,
                            const struct provider_choice *c, struct err *err)
{
    struct nearest near;

    nearest_init(&near, name);
    door_offer(conf, &near);
    if (near.best.len)
        return err_set(err, ERR_BAD_INPUT, "%.*s: there is no provider '%.*s'; did you mean %.*s?",
                       STR_ARG(c->from), STR_ARG(name), STR_ARG(near.best));
    return err_set(err, ERR_BAD_INPUT,
                   "%.*s: there is no provider '%.*s'; a model's name with a slash in it goes "
                   "after its provider, as in openrouter/vendor/model",
                   STR_ARG(c->from), STR_ARG(name));
}

/* Claude Code's settings request the long window as "opus[1m]"; our model table knows the window.
 */
static struct str without_window(struct str name)
{
    return str_ends(name, STR("[1m]")) ? str_first(name, name.len - 4) : name;
}

/* Turns the user's name of a model into a provider and a name. */
static int choose_named(const struct conf *conf, struct str want, struct provider_choice *c,
                        struct err *err)
{
    size_t slash;

    want = without_window(want);
    slash = str_chr(want, '/');
    if (slash < want.len) {
        c->provider = str_first(want, slash);
        c->model = str_from(want, slash + 1);
        /* Gateways have names such as "bedrock/claude", which must not be split. */
        if (!door_exists(conf, c->provider) && str_is(c->from, "$ANTHROPIC_MODEL") &&
            is_gateway(conf, STR("anthropic"))) {
            c->provider = STR("anthropic");
            c->model = want;
        }
        if (!door_exists(conf, c->provider))
            return no_such_provider(conf, c->provider, c, err);
        if (!c->model.len)
            return err_set(err, ERR_BAD_INPUT, "%.*s: no model after '%.*s'", STR_ARG(c->from),
                           STR_ARG(want));
        return 0;
    }
    if (door_exists(conf, want)) {
        c->provider = want;
        return 0;
    }

    c->model = want;
    c->provider = provider_in_settings(conf, want);
    if (c->provider.len)
        return 0;
    c->provider = provider_with(conf, want, /*loosely=*/false);
    if (!c->provider.len)
        c->provider = provider_with(conf, want, /*loosely=*/true);
    choose_gateway(conf, c);
    if (!c->provider.len && str_is(c->from, "$ANTHROPIC_MODEL"))
        c->provider = STR("anthropic");
    if (!c->provider.len)
        c->provider = provider_by_make(conf, want);
    return c->provider.len ? 0 : default_provider(conf, &c->provider, err);
}

static int choose(const struct conf *conf, struct str want, struct provider_choice *c,
                  struct err *err)
{
    c->from = STR("--model");
    want = str_trim(want);
    if (!want.len) { /* flag, environment and settings, already in their order of precedence */
        want = str_trim(conf_get_str(conf, "model"));
        c->from = conf_origin(conf, "model");
    }
    if (want.len && !str_is(want, "default"))
        return choose_named(conf, want, c, err);
    c->from = (struct str){0};
    return default_provider(conf, &c->provider, err);
}

static int no_key(const struct door *d, const struct provider_choice *c, struct err *err)
{
    CLEANUP(buf_release) struct buf names = BUF_INIT(1000);

    for (size_t i = 0; door_key_env(d, i).name; i++)
        buf_addf(&names, "%s%s", i ? " or " : "set ", door_key_env(d, i).name);
    return err_set(err, ERR_AUTH, "no key for %.*s%s%.*s%s: %s%srun 'tenax auth login %.*s'",
                   STR_ARG(d->name), c->from.len ? " (chosen by " : "", STR_ARG(c->from),
                   c->from.len ? ")" : "", buf_cstr(&names), names.len ? ", or " : "",
                   STR_ARG(d->name));
}

/* The environment may redefine Claude's aliases (ANTHROPIC_DEFAULT_SONNET_MODEL), as gateways ask
 * their users to. The default is a sonnet. */
static struct str resolve_alias(const struct conf *conf, struct str provider, struct str name)
{
    static const char *const moved[][2] = {
        {"fable", "ANTHROPIC_DEFAULT_FABLE_MODEL"},    {"opus", "ANTHROPIC_DEFAULT_OPUS_MODEL"},
        {"sonnet", "ANTHROPIC_DEFAULT_SONNET_MODEL"},  {"haiku", "ANTHROPIC_DEFAULT_HAIKU_MODEL"},
        {"default", "ANTHROPIC_DEFAULT_SONNET_MODEL"},
    };

    for (size_t i = 0; str_is(provider, "anthropic") && i < ARRAY_LEN(moved); i++) {
        struct str to = str_of(str_is(name, moved[i][0]) ? conf_env(conf, moved[i][1]) : NULL);

        to = without_window(str_trim(to));
        if (to.len)
            return to;
    }
    return model_alias(provider, name);
}

/* The model is used anyway: it may be newer than the table. */
static void note_stranger(struct provider *p)
{
    CLEANUP(buf_release) struct buf meant = BUF_INIT(200);
    struct nearest near;

    nearest_init(&near, str_of(p->model_name));
    model_offer(str_of(p->name), &near);
    if (near.best.len)
        buf_addf(&meant, " (did you mean %.*s?)", STR_ARG(near.best));
    strv_addf(&p->notes,
              "%s/%s is not in the table of models%s; assuming a window of %" PRId64
              " and answers of up to %" PRId64 " tokens, price unknown",
              p->name, p->model_name, buf_cstr(&meant), p->model.window, p->model.max_output);
}

static void note_model(struct provider *p)
{
    const struct model *m = &p->model;

    if (m->known)
        return;
    if (m->like.len)
        strv_addf(&p->notes,
                  "%s/%s is not in the table of models; taking it for a relative of %.*s, price "
                  "unknown",
                  p->name, p->model_name, STR_ARG(m->like));
    else
        note_stranger(p);
}

/* By full or short name, since a gateway may use another name. */
static void set_override(const struct conf *conf, struct str full_name, struct provider *p)
{
    const struct json *overrides = conf_get(conf, "modelOverrides");
    struct str name = json_str(json_get_key(overrides, full_name));

    if (!name.len)
        name = json_str(json_get_key(overrides, str_of(p->model_name)));
    name = str_trim(name);
    if (!name.len)
        return;
    p->sent_as = mem_dup(name.ptr, name.len);
    p->model.sent_as = str_of(p->sent_as);
}

static int set_model(const struct conf *conf, const struct door *d, struct str name,
                     struct provider *p, struct err *err)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    const struct json *models = conf_get(conf, "models");
    const struct json *entry;

    p->model_name = mem_dup(name.ptr, name.len);
    model_find(str_of(p->name), str_of(p->model_name), &p->model);
    /* Another server with OpenAI's API has other models, and supports only the common features. */
    if (!p->model.known && d->row && d->row->elsewhere && d->base_from) {
        model_find((struct str){0}, str_of(p->model_name), &p->model);
        p->model.provider = str_of(p->name);
    }
    buf_addf(&key, "%s/%s", p->name, p->model_name);
    entry = json_get_key(models, buf_str(&key));
    if (!entry)
        entry = json_get_key(models, name);
    if (model_configure(&p->model, entry, err) < 0)
        return -1;
    set_override(conf, buf_str(&key), p);
    note_model(p);
    return 0;
}

static int open_scripted(const struct conf *conf, const struct door *d,
                         const struct provider_choice *c, struct provider *p, struct err *err)
{
    CLEANUP(mem_freep) char *file = mem_dup(c->model.ptr, c->model.len);
    CLEANUP(mem_freep) char *expanded = path_expand_home(file);

    if (!c->model.len)
        return err_set(err, ERR_BAD_INPUT, "scripted needs a scenario: --model scripted/FILE");
    p->source = KEY_NOT_NEEDED;
    p->scenario = path_join(conf_dir(conf), expanded);
    if (scripted_open(p->scenario, &p->script, err) < 0)
        return -1;
    if (set_model(conf, d, str_of(path_base(p->scenario)), p, err) < 0)
        return -1;
    strv_clear(&p->notes); /* no notes about a scenario that is not in the table */
    return 0;
}

/* A bare host with an OpenAI dialect: all servers have it under /v1. */
static char *full_base_url(const struct door *d)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(BUF_NO_LIMIT);
    struct str base = d->base_url;
    size_t host = str_find(base, STR("://")) + 3;

    while (base.len && base.ptr[base.len - 1] == '/')
        base.len--;
    buf_add(&url, base);
    if (str_starts(str_of(d->dialect->name), STR("openai")) &&
        str_chr(str_from(base, host), '/') == str_from(base, host).len)
        buf_adds(&url, "/v1");
    return buf_take(&url);
}

static int provider_open(const struct conf *conf, const struct provider_choice *c,
                         struct cancel *cancel, struct provider *p, struct err *err)
{
    struct str model;
    struct door d;

    if (door_open(conf, c->provider, &d, err) < 0)
        return -1;
    p->name = mem_dup(d.name.ptr, d.name.len);
    p->conf = conf_ref(conf);
    p->idle_ms = d.idle_ms;
    p->dialect = d.dialect;
    if (!d.dialect)
        return open_scripted(conf, &d, c, p, err);

    if (!c->model.len && !model_default(d.name).len)
        return err_set(err, ERR_BAD_INPUT, "%s has no default model: name one with --model %s/NAME",
                       p->name, p->name);
    model = resolve_alias(conf, d.name, c->model.len ? c->model : STR("default"));
    p->base_url = full_base_url(&d);
    if (door_headers(conf, &d, &p->headers, err) < 0 || cred_find(conf, &d, cancel, p, err) < 0)
        return -1;
    if (p->source == KEY_NONE && !d.no_key)
        return no_key(&d, c, err);
    if (p->source == KEY_NONE)
        p->source = KEY_NOT_NEEDED;
    return set_model(conf, &d, model, p, err);
}

int provider_select(const struct conf *conf, struct str want, struct cancel *cancel,
                    struct provider *ret, struct err *err)
{
    CLEANUP(provider_release) struct provider p = {0};
    struct provider_choice c = {0};

    door_hide_keys(conf);
    if (choose(conf, want, &c, err) < 0 || provider_open(conf, &c, cancel, &p, err) < 0)
        return -1;
    *ret = p;
    p = (struct provider){0};
    return 0;
}

static bool has_header(const struct strv *headers, struct str line)
{
    struct str name = str_first(line, str_chr(line, ':'));

    for (size_t i = 0; i < headers->len; i++) {
        struct str other = str_of(headers->ptr[i]);

        if (str_eq_nocase(str_first(other, str_chr(other, ':')), name))
            return true;
    }
    return false;
}

void provider_headers(const struct provider *p, const struct llm_request *request, struct strv *out)
{
    CLEANUP(strv_release) struct strv own = STRV_INIT;

    strv_adds(&own, "content-type: application/json");
    strv_adds(&own, request->no_stream ? "accept: application/json" : "accept: text/event-stream");
    strv_adds(&own, "user-agent: tenax/" TENAX_VERSION);
    p->dialect->headers(request, str_of(p->key), p->bearer, &own);
    /* A helper may print a key or a token; Claude Code tries both. */
    if (p->source == KEY_HELPER && p->dialect == &dialect_anthropic)
        strv_addf(&own, "authorization: Bearer %s", p->key);

    for (size_t i = 0; i < own.len; i++) {
        if (!has_header(&p->headers, str_of(own.ptr[i])))
            strv_adds(out, own.ptr[i]);
    }
    strv_add_all(out, &p->headers);
}

bool provider_small(const struct conf *conf, struct str now, struct buf *ret)
{
    struct str haiku = str_trim(str_of(conf_env(conf, "ANTHROPIC_DEFAULT_HAIKU_MODEL")));
    struct str provider = str_first(now, str_chr(now, '/'));
    struct str small = model_alias(provider, STR("small"));

    if (str_is(provider, "anthropic") && haiku.len)
        small = without_window(haiku);
    else if (is_gateway(conf, provider) && !model_is_kin(provider, str_from(now, provider.len + 1)))
        return false; /* a server with other models need not have the vendor's */
    if (str_is(small, "small"))
        return false;
    buf_addf(ret, "%.*s/%.*s", STR_ARG(provider), STR_ARG(small));
    return true;
}
