/*
 * The table of providers, and its changes by settings and environment. Constant data and slices of
 * the settings; any thread.
 */
#include "llm/door.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "conf/nearest.h"
#include "json/json.h"
#include "llm/auth.h"
#include "llm/dialect/dialect.h"
#include "net/net.h"

#define LOCAL_IDLE_MS ((int64_t)10 * 60 * 1000) /* to load a model, read a prompt */

static const struct door_row door_rows[] = {
    {
        .name = "anthropic",
        .also = "claude",
        .dialect = "anthropic",
        .base_url = "https://api.anthropic.com",
        .base_env = "ANTHROPIC_BASE_URL",
        .key_envs = {{"ANTHROPIC_AUTH_TOKEN", true}, {"ANTHROPIC_API_KEY", false}},
    },
    {
        .name = "openai",
        .dialect = "openai-responses",
        .base_url = "https://api.openai.com/v1",
        .base_env = "OPENAI_BASE_URL",
        .elsewhere = "openai-chat",
        .key_envs = {{"OPENAI_API_KEY", false}},
    },
    {
        .name = "gemini",
        .also = "google",
        .dialect = "gemini",
        .base_url = "https://generativelanguage.googleapis.com",
        .base_env = "GOOGLE_GEMINI_BASE_URL",
        .key_envs = {{"GEMINI_API_KEY", false}, {"GOOGLE_API_KEY", false}},
    },
    {
        .name = "deepseek",
        .dialect = "openai-chat",
        .base_url = "https://api.deepseek.com/v1",
        .base_env = "DEEPSEEK_BASE_URL",
        .key_envs = {{"DEEPSEEK_API_KEY", false}},
    },
    {
        .name = "xai",
        .dialect = "openai-chat",
        .base_url = "https://api.x.ai/v1",
        .base_env = "XAI_BASE_URL",
        .key_envs = {{"XAI_API_KEY", false}},
    },
    {
        .name = "zai",
        .dialect = "openai-chat",
        .base_url = "https://api.z.ai/api/paas/v4",
        .base_env = "ZAI_BASE_URL",
        .key_envs = {{"ZAI_API_KEY", false}},
    },
    {
        .name = "moonshotai",
        .also = "moonshot",
        .dialect = "openai-chat",
        .base_url = "https://api.moonshot.ai/v1",
        .base_env = "MOONSHOT_BASE_URL",
        .key_envs = {{"MOONSHOT_API_KEY", false}, {"KIMI_API_KEY", false}},
    },
    {
        .name = "openrouter",
        .dialect = "openai-chat",
        .base_url = "https://openrouter.ai/api/v1",
        .base_env = "OPENROUTER_BASE_URL",
        .key_envs = {{"OPENROUTER_API_KEY", false}},
    },
    {
        .name = "mistral",
        .dialect = "openai-chat",
        .base_url = "https://api.mistral.ai/v1",
        .base_env = "MISTRAL_BASE_URL",
        .key_envs = {{"MISTRAL_API_KEY", false}},
    },
    {
        .name = "groq",
        .dialect = "openai-chat",
        .base_url = "https://api.groq.com/openai/v1",
        .base_env = "GROQ_BASE_URL",
        .key_envs = {{"GROQ_API_KEY", false}},
    },
    {
        .name = "ollama",
        .dialect = "openai-chat",
        .base_url = "http://localhost:11434/v1",
        .base_env = "OLLAMA_BASE_URL",
        .no_key = true,
        .local = true,
        .key_envs = {{"OLLAMA_API_KEY", false}},
    },
    {
        .name = "llamacpp",
        .also = "llama.cpp",
        .dialect = "openai-chat",
        .base_url = "http://localhost:8080/v1",
        .base_env = "LLAMACPP_BASE_URL",
        .no_key = true,
        .local = true,
        .key_envs = {{"LLAMA_API_KEY", false}},
    },
    {
        .name = "lmstudio",
        .dialect = "openai-chat",
        .base_url = "http://localhost:1234/v1",
        .base_env = "LMSTUDIO_BASE_URL",
        .no_key = true,
        .local = true,
    },
    {
        .name = "scripted", /* "scripted/FILE": a scenario played without any network */
        .no_key = true,
    },
};

const struct door_row *door_row(size_t i)
{
    return i < ARRAY_LEN(door_rows) ? &door_rows[i] : NULL;
}

static const struct door_row *row_named(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(door_rows); i++) {
        const struct door_row *row = &door_rows[i];

        if (str_is(name, row->name) || (row->also && str_is(name, row->also)))
            return row;
    }
    return NULL;
}

static const struct json *settings_of(const struct conf *conf, struct str name)
{
    return json_get_key(conf_get(conf, "providers"), name);
}

void door_offer(const struct conf *conf, struct nearest *near)
{
    for (size_t i = 0; i < ARRAY_LEN(door_rows); i++) {
        nearest_offer(near, str_of(door_rows[i].name));
        if (door_rows[i].also)
            nearest_offer(near, str_of(door_rows[i].also));
    }
    JSON_EACH(conf_get(conf, "providers"), it)
        nearest_offer(near, json_key(it));
}

bool door_exists(const struct conf *conf, struct str name)
{
    return row_named(name) || settings_of(conf, name);
}

static int bad_setting(const struct door *d, const char *member, const char *wanted,
                       struct err *err)
{
    return err_set(err, ERR_BAD_INPUT, "settings: providers.%.*s.%s must be %s", STR_ARG(d->name),
                   member, wanted);
}

/* Gets a string member; it may be absent. */
static int string_member(const struct door *d, const char *member, struct str *ret, struct err *err)
{
    const struct json *v = json_get(d->settings, member);

    if (v && (!json_is(v, JSON_STRING) || !json_str(v).len))
        return bad_setting(d, member, "a text", err);
    *ret = json_str(v);
    return 0;
}

static int choose_base(const struct conf *conf, struct door *d, struct err *err)
{
    const char *from_env = d->row && d->row->base_env ? conf_env(conf, d->row->base_env) : NULL;
    struct str from_settings = {0};

    if (string_member(d, "baseUrl", &from_settings, err) < 0)
        return -1;
    if (from_env && from_env[0]) {
        d->base_url = str_trim(str_of(from_env));
        d->base_from = d->row->base_env;
    } else if (from_settings.len) {
        d->base_url = str_trim(from_settings);
        d->base_from = "baseUrl in settings";
    } else if (d->row) {
        d->base_url = str_of(d->row->base_url);
        return 0;
    } else {
        return bad_setting(d, "baseUrl", "given: tenax does not know this provider", err);
    }
    if (net_check_url(d->base_url, err) < 0)
        return err_prefix(err, "%s (for %.*s)", d->base_from, STR_ARG(d->name));
    if (str_chr(d->base_url, '?') < d->base_url.len)
        /* Does not quote the value, which is often a key. */
        return err_set(err, ERR_BAD_INPUT,
                       "%s (for %.*s): the URL has a query ('?…'), but the path of each request is "
                       "appended to it",
                       d->base_from, STR_ARG(d->name));
    return 0;
}

bool door_is_home(const struct door *d)
{
    struct str base = d->base_url;

    if (!d->row)
        return false;
    while (base.len && base.ptr[base.len - 1] == '/')
        base.len--;
    return str_is(base, d->row->base_url);
}

static int choose_dialect(struct door *d, struct err *err)
{
    struct str name = {0};

    if (string_member(d, "dialect", &name, err) < 0)
        return -1;
    if (!name.len && !d->row)
        name = STR("openai-chat");
    if (!name.len)
        name = str_of(d->row->elsewhere && !door_is_home(d) ? d->row->elsewhere : d->row->dialect);
    d->dialect = dialect_find(name);
    if (!d->dialect)
        return bad_setting(d, "dialect", "anthropic, openai-chat, openai-responses or gemini", err);
    return 0;
}

int door_open(const struct conf *conf, struct str name, struct door *ret, struct err *err)
{
    const struct door_row *row = row_named(name);
    struct door d = {.name = row ? str_of(row->name) : name, .row = row};
    const struct json *idle;
    struct str env = {0};

    d.settings = settings_of(conf, d.name);
    if (!d.settings)
        d.settings = settings_of(conf, name);
    if (!row && !d.settings)
        return err_set(err, ERR_NOT_FOUND, "there is no provider '%.*s'", STR_ARG(name));
    if (row && !row->dialect) {
        *ret = d;
        ret->no_key = true;
        return 0;
    }
    if (d.settings && !json_is(d.settings, JSON_OBJECT))
        return err_set(err, ERR_BAD_INPUT, "settings: providers.%.*s must be an object",
                       STR_ARG(d.name));
    if (choose_base(conf, &d, err) < 0 || choose_dialect(&d, err) < 0)
        return -1;

    d.idle_ms = conf_get_i64(conf, "idleTimeoutMs", row && row->local ? LOCAL_IDLE_MS : 0);
    idle = json_get(d.settings, "idleTimeoutMs");
    if (idle && (!json_i64(idle, &d.idle_ms) || d.idle_ms < 1))
        return bad_setting(&d, "idleTimeoutMs", "a number of milliseconds", err);
    if (string_member(&d, "keyEnv", &env, err) < 0)
        return -1;
    if (env.len >= sizeof(d.key_env) || str_chr(env, '\0') < env.len)
        return bad_setting(&d, "keyEnv", "the name of a variable", err);
    memcpy(d.key_env, env.ptr ? env.ptr : "", env.len);
    /* A server at another URL decides itself whether it needs a key; if the user names a variable
     * for one, it is needed. */
    d.no_key =
        json_get_bool(d.settings, "noKey", !env.len && ((row && row->no_key) || !door_is_home(&d)));
    d.bearer = json_get_bool(d.settings, "bearer", false);
    *ret = d;
    return 0;
}

struct door_key_env door_key_env(const struct door *d, size_t i)
{
    if (d->key_env[0] && i == 0)
        return (struct door_key_env){d->key_env, d->bearer};
    if (d->key_env[0] || !d->row || i >= DOOR_KEY_ENVS)
        return (struct door_key_env){0};
    return d->row->key_envs[i];
}

static void hide_variable(const struct conf *conf, const char *name)
{
    const char *value = name ? conf_env(conf, name) : NULL;

    if (value)
        secret_add(str_of(value));
}

/* Variables that settings give to commands can be anything: a "…KEY" may be a plain word or a file
 * name. */
static bool is_secret_variable(struct str name, struct str value)
{
    static const char *const ends[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"};
    bool is_named = false;
    bool has_digit = false;

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        is_named |= str_ends(name, str_of(ends[i]));
    for (size_t i = 0; i < value.len; i++)
        has_digit |= value.ptr[i] >= '0' && value.ptr[i] <= '9';
    return is_named && !str_starts(value, STR("/")) && (has_digit || !str_ends(name, STR("KEY")));
}

bool door_holds_key(struct str variable)
{
    for (size_t i = 0; i < ARRAY_LEN(door_rows); i++) {
        for (size_t k = 0; k < DOOR_KEY_ENVS; k++) {
            const char *name = door_rows[i].key_envs[k].name;

            if (name && str_is(variable, name))
                return true;
        }
    }
    return false;
}

void door_hide_keys(const struct conf *conf)
{
    for (size_t i = 0; i < ARRAY_LEN(door_rows); i++) {
        for (size_t k = 0; k < DOOR_KEY_ENVS; k++)
            hide_variable(conf, door_rows[i].key_envs[k].name);
    }
    JSON_EACH(conf_get(conf, "providers"), it) {
        CLEANUP(mem_freep)
        char *name = mem_dup(json_get_str(it, "keyEnv").ptr, json_get_str(it, "keyEnv").len);

        hide_variable(conf, name);
    }
    JSON_EACH(conf_get(conf, "env"), it) {
        if (is_secret_variable(json_key(it), json_str(it)))
            secret_add(json_str(it));
    }
    auth_hide_keys(conf_home(conf));
}

/* Headers whose name says that they have a key: "authorization", "x-api-key", "x-auth-token". */
static bool is_secret_name(struct str name)
{
    static const char *const parts[] = {"auth", "key", "token", "secret", "cookie"};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_find_nocase(name, str_of(parts[i])) < name.len)
            return true;
    }
    return false;
}

static int add_header(struct str name, struct str value, const char *from, struct strv *out,
                      struct err *err)
{
    if (!net_is_token(name))
        return err_set(err, ERR_BAD_INPUT, "%s: '%.*s' cannot be the name of a header", from,
                       STR_ARG(str_clip(name, 60)));
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return err_set(err, ERR_BAD_INPUT,
                           "%s: the value of %.*s has a line break or another control character",
                           from, STR_ARG(name));
    }
    if (is_secret_name(name)) {
        secret_add(value);
        secret_add(str_from(value, str_chr(value, ' ') + 1)); /* "Bearer …" */
    }
    strv_addf(out, "%.*s: %.*s", STR_ARG(name), STR_ARG(value));
    return 0;
}

int door_headers(const struct conf *conf, const struct door *d, struct strv *ret, struct err *err)
{
    const struct json *headers = json_get(d->settings, "headers");
    const char *custom = NULL;
    struct str rest, line;

    if (headers && !json_is(headers, JSON_OBJECT))
        return bad_setting(d, "headers", "an object of texts", err);
    JSON_EACH(headers, it) {
        if (!json_is(it, JSON_STRING))
            return bad_setting(d, "headers", "an object of texts", err);
        if (add_header(json_key(it), json_str(it), "headers in settings", ret, err) < 0)
            return -1;
    }

    if (str_is(d->name, "anthropic"))
        custom = conf_env(conf, "ANTHROPIC_CUSTOM_HEADERS");
    rest = str_of(custom);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        size_t colon;

        line = str_trim(line);
        colon = str_chr(line, ':');
        if (!line.len)
            continue;
        if (colon == line.len)
            return err_set(err, ERR_BAD_INPUT,
                           "ANTHROPIC_CUSTOM_HEADERS: each line must be 'Name: value'");
        if (add_header(str_trim(str_first(line, colon)), str_trim(str_from(line, colon + 1)),
                       "ANTHROPIC_CUSTOM_HEADERS", ret, err) < 0)
            return -1;
    }
    return 0;
}

void door_url(struct str base, struct str path, struct buf *ret)
{
    struct str first = path;
    size_t scheme = str_find(base, STR("://"));
    struct str host;

    while (base.len && base.ptr[base.len - 1] == '/')
        base.len--;
    host = scheme < base.len ? str_from(base, scheme + 3) : base;

    /* "/v1" of "/v1/messages" is omitted if the base ends with it. */
    first.len = path.len > 1 ? 1 + str_chr(str_from(path, 1), '/') : path.len;
    if (first.len < path.len && str_chr(host, '/') < host.len && str_ends(base, first))
        path = str_from(path, first.len);
    buf_add(ret, base);
    buf_add(ret, path);
}
