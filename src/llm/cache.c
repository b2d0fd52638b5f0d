/*
 * cache: variables first, then the setting. Any thread.
 */
#include "llm/cache.h"

#include "conf/conf.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/event.h"
#include "llm/model.h"

/* DISABLE_PROMPT_CACHING, or its variant for the model's family. Users of Claude Code set it where
 * a gateway rejects cache marks. */
static bool cache_is_disabled(const struct conf *conf, const struct model *model)
{
    static const char *const names[][2] = {
        {"DISABLE_PROMPT_CACHING", ""},
        {"DISABLE_PROMPT_CACHING_HAIKU", "haiku"},
        {"DISABLE_PROMPT_CACHING_SONNET", "sonnet"},
        {"DISABLE_PROMPT_CACHING_OPUS", "opus"},
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = conf_env(conf, names[i][0]);

        if (value && str_is_word_of(str_of(value), "1 true yes on") &&
            str_has(model->name, str_of(names[i][1])))
            return true;
    }
    return false;
}

enum cache_ttl cache_wanted(const struct conf *conf, const struct model *model)
{
    struct str ttl = conf_get_str(conf, "promptCaching");
    const struct json *per_model = conf_get(conf, "promptCaching");

    if (cache_is_disabled(conf, model))
        return CACHE_OFF;
    if (json_is(per_model, JSON_OBJECT)) {
        ttl = json_str(json_get_key(per_model, model->name));
        if (!ttl.len)
            ttl = json_get_str(per_model, "default");
    }
    if (str_is(ttl, "off"))
        return CACHE_OFF;
    return str_is(ttl, "1h") ? CACHE_1H : CACHE_5M;
}

void cache_write_past(const struct conf *conf, const struct model *model, int64_t tokens,
                      int64_t seconds, struct jw *w)
{
    enum cache_ttl ttl = cache_wanted(conf, model);
    struct llm_usage usage = {.cache_write = tokens,
                              .cache_write_1h = ttl == CACHE_1H ? tokens : 0};
    double usd;

    if (ttl == CACHE_OFF)
        return;
    if (seconds >= 0)
        jw_kbool(w, "prompt_cache_likely_expired", seconds >= (ttl == CACHE_1H ? 3600 : 300));
    if (!tokens || model_cost_usd(model, &usage, &usd, /*err=*/NULL) < 0)
        return;
    jw_key(w, "estimated_cache_write_usd");
    jw_double(w, usd);
}
