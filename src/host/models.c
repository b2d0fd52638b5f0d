/*
 * models: a list that is built once, and the name of the model in use, which may change. No
 * requests to providers.
 */
#include "host/models.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/nearest.h"
#include "json/json.h"

void models_init(struct models *m)
{
    *m = (struct models){0};
    lock_init(&m->lock);
}

void models_release(struct models *m)
{
    for (size_t i = 0; i < m->count; i++)
        provider_release(&m->list[i]);
    mem_freep(&m->key_source);
    mem_freep(&m->provider);
    mem_freep(&m->name);
    lock_release(&m->lock);
}

/* "anthropic/claude-sonnet-5", "claude-sonnet-5", "sonnet". */
static bool models_is_named(const struct model *m, struct str name)
{
    size_t slash = str_chr(name, '/');

    if (slash < name.len && str_eq(str_first(name, slash), m->provider))
        name = str_from(name, slash + 1);
    return str_eq(name, m->name) || str_eq(model_alias(m->provider, name), m->name);
}

int models_check(const struct conf *conf, const struct model *m, struct err *err)
{
    const struct json *list = conf_get(conf, "availableModels");

    if (!json_len(list))
        return 0;
    JSON_EACH(list, name) {
        if (models_is_named(m, json_str(name)))
            return 0;
    }
    return err_set(err, ERR_DENIED, "%.*s/%.*s is not among availableModels (%.*s)",
                   STR_ARG(m->provider), STR_ARG(m->name),
                   STR_ARG(conf_origin(conf, "availableModels")));
}

static int models_add(struct models *m, const struct conf *conf, struct str want,
                      struct cancel *cancel, struct strv *ret_notes, struct err *err)
{
    struct provider *p = &m->list[m->count];

    if (m->count == MODELS_MAX)
        return err_set(err, ERR_TOO_BIG, "more than %d fallback models", MODELS_MAX - 1);
    if (provider_select(conf, want, cancel, p, err) < 0)
        return m->count ? err_prefix(err, "fallback model") : -1;
    m->count++;
    if (models_check(conf, &p->model, err) < 0)
        return m->count > 1 ? err_prefix(err, "fallback model") : -1;
    strv_add_all(ret_notes, &p->notes);
    return 0;
}

/* Checks before any request whether a cost limit can be enforced. */
static int models_check_prices(const struct models *m, struct err *err)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct model *model = &m->list[i].model;

        if (!model_price_known(model))
            return err_set(err, ERR_UNSUPPORTED,
                           "--max-budget-usd: the price of %.*s/%.*s is unknown, so the cap cannot "
                           "be kept; add it under \"models\" in settings.json",
                           STR_ARG(model->provider), STR_ARG(model->name));
    }
    return 0;
}

void models_none(struct models *m, const struct conf *conf)
{
    struct provider *p = &m->list[m->count++];

    p->name = mem_dup("none", 4);
    p->model_name = mem_dup("none", 4);
    p->source = KEY_NOT_NEEDED;
    p->conf = conf_ref(conf);
    p->model.provider = str_of(p->name);
    p->model.name = str_of(p->model_name);
    models_note(m, &p->model);
    m->key_source = mem_dup("none", 4);
}

int models_choose(struct models *m, const struct conf *conf, struct str want, double max_usd,
                  struct cancel *cancel, struct strv *ret_notes, struct err *err)
{
    const char *source;

    if (models_add(m, conf, want, cancel, ret_notes, err) < 0)
        return -1;
    JSON_EACH(conf_get(conf, "fallbackModel"), name) {
        if (models_add(m, conf, json_str(name), cancel, ret_notes, err) < 0)
            return -1;
    }
    models_note(m, &m->list[0].model);
    source = m->list[0].source_name ? m->list[0].source_name : "none";
    m->key_source = mem_dup(source, strlen(source));
    return max_usd > 0 ? models_check_prices(m, err) : 0;
}

/* Whether the dialect's requests give such a model a token budget for thinking. */
static bool models_by_budget(const struct provider *p)
{
    if (p->dialect == &dialect_openai_responses)
        return false;
    return p->dialect != &dialect_anthropic || p->model.thinking == MODEL_THINKS_BUDGET;
}

static bool models_can_be_off(const struct model *m)
{
    bool by_effort = m->thinking == MODEL_THINKS_EFFORT;

    return m->thinking != MODEL_THINKS_ALWAYS &&
           !(by_effort && effort_fit(m->efforts, EFFORT_NONE) > EFFORT_MINIMAL);
}

void models_note_thinking(const struct models *m, enum thinking thinking, enum effort effort,
                          struct strv *ret_notes)
{
    const struct provider *p = &m->list[0];
    const struct model *model = &p->model;
    bool knows_efforts = model->efforts || model->thinking == MODEL_THINKS_BUDGET ||
                         model->thinking == MODEL_THINKS_ALWAYS;

    if (!p->dialect || !model->known)
        return;
    if (thinking == THINKING_BUDGET && !models_by_budget(p))
        strv_addf(ret_notes,
                  "a limit of thinking tokens does nothing with %s, which decides itself%s",
                  p->model_name, model->efforts ? "; use --effort" : "");
    if (thinking == THINKING_OFF && !models_can_be_off(model))
        strv_addf(ret_notes, "thinking cannot be switched off with %s", p->model_name);
    if (effort != EFFORT_UNSET && effort != EFFORT_NONE && !knows_efforts)
        strv_addf(ret_notes, "an effort does nothing with %s, which has none", p->model_name);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether two names differ only in digits: a different version is not a misspelling. */
static bool models_same_letters(struct str a, struct str b)
{
    for (;;) {
        while (a.len && !is_letter(a.ptr[0]))
            a = str_from(a, 1);
        while (b.len && !is_letter(b.ptr[0]))
            b = str_from(b, 1);
        if (!a.len || !b.len)
            return a.len == b.len;
        if (a.ptr[0] != b.ptr[0])
            return false;
        a = str_from(a, 1);
        b = str_from(b, 1);
    }
}

/* Names that resemble no other are not reported: they may be custom models. */
static void models_note_name(const char *key, struct str name, struct strv *ret_notes)
{
    size_t slash = str_chr(name, '/');
    struct str provider = slash < name.len ? str_first(name, slash) : STR("");
    struct str word = slash < name.len ? str_from(name, slash + 1) : name;
    struct nearest near;
    struct model m;

    nearest_init(&near, word);
    if (!provider.len || str_is(provider, "anthropic"))
        nearest_offer_words(&near, "default fable opus sonnet haiku");
    for (size_t i = 0; model_at(i, &m); i++) {
        if (provider.len && !str_eq(m.provider, provider))
            continue;
        if (models_same_letters(m.name, word))
            return;
        nearest_offer(&near, m.name);
    }
    if (near.best.len && !models_same_letters(near.best, word))
        strv_addf(ret_notes, "settings: %s names '%.*s', which is no model; did you mean '%.*s'?",
                  key, STR_ARG(str_clip(name, 80)), STR_ARG(near.best));
}

void models_note_names(const struct conf *conf, struct strv *ret_notes)
{
    static const char *const keys[] = {"models", "modelOverrides", "promptCaching"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct json *names = conf_get(conf, keys[i]);

        if (!json_is(names, JSON_OBJECT))
            continue;
        JSON_EACH(names, it) {
            models_note_name(keys[i], json_key(it), ret_notes);
        }
    }
}

bool models_need_net(const struct models *m)
{
    for (size_t i = 0; i < m->count; i++) {
        if (m->list[i].dialect)
            return true;
    }
    return false;
}

void models_replace_first(struct models *m, struct provider *first)
{
    struct provider old;

    lock_take(&m->lock);
    old = m->list[0];
    m->list[0] = *first;
    lock_give(&m->lock);
    *first = (struct provider){0};
    provider_release(&old);
}

size_t models_copy(struct models *m, struct provider *ret, size_t room)
{
    size_t count;

    lock_take(&m->lock);
    count = m->count < room ? m->count : room;
    for (size_t i = 0; i < count; i++)
        provider_copy(&m->list[i], &ret[i]);
    lock_give(&m->lock);
    return count;
}

void models_want(struct models *m, struct buf *ret)
{
    lock_take(&m->lock);
    buf_addf(ret, "%s/", m->provider);
    buf_adds(ret, m->list[0].scenario ? m->list[0].scenario
                                      : m->name); /* can be used to select it again */
    lock_give(&m->lock);
}

void models_note(struct models *m, const struct model *in_use)
{
    lock_take(&m->lock);
    mem_freep(&m->provider);
    mem_freep(&m->name);
    m->provider = mem_dup(in_use->provider.ptr, in_use->provider.len);
    m->name = mem_dup(in_use->name.ptr, in_use->name.len);
    m->window = in_use->window;
    m->in_use = *in_use;
    m->in_use.provider = m->in_use.name = m->in_use.family = m->in_use.like = STR("");
    lock_give(&m->lock);
}

void models_figures(struct models *m, struct model *ret)
{
    lock_take(&m->lock);
    *ret = m->in_use;
    lock_give(&m->lock);
}

void models_now(struct models *m, struct buf *ret_provider, struct buf *ret_name,
                int64_t *ret_window)
{
    lock_take(&m->lock);
    buf_adds(ret_provider, m->provider);
    buf_adds(ret_name, m->name);
    *ret_window = m->window;
    lock_give(&m->lock);
}
