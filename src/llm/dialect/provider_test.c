/* Selection: environment, settings and flag in; provider, door, key and model out. No network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "llm/auth.h"
#include "llm/dialect/dialect.h"
#include "llm/door.h"
#include "llm/provider.h"
#include "proc/proc.h"
#include "unit.h"

static char root[] = "/tmp/tenax-provider-XXXXXX";
static char *home;

static const struct {
    const char *env;      /* lines */
    const char *settings; /* user settings; NULL: none */
    const char *stored;   /* "provider key"; NULL: none */
    const char *want;     /* --model */
    /* What comes of it: */
    const char *provider; /* NULL: an error */
    const char *dialect, *base_url, *model;
    enum key_source source;
    const char *source_name;
    const char *key;
    bool bearer;
    const char *note;  /* part of a note; NULL: there is none */
    const char *error; /* part of the message */
    enum err_code code;
} rows[] = {
    /* Whichever key is in the environment, in order. */
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nOPENAI_API_KEY=sk-oai-222",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-sonnet-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "OPENAI_API_KEY=sk-oai-222\nGEMINI_API_KEY=g-333",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-6-sol",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},
    {.env = "GOOGLE_API_KEY=g-333",
     .provider = "gemini",
     .dialect = "gemini",
     .base_url = "https://generativelanguage.googleapis.com",
     .model = "gemini-3.1-pro-preview",
     .source = KEY_ENV,
     .source_name = "GOOGLE_API_KEY",
     .key = "g-333"},
    {.env = "DEEPSEEK_API_KEY=d-444",
     .provider = "deepseek",
     .dialect = "openai-chat",
     .base_url = "https://api.deepseek.com/v1",
     .model = "deepseek-v4-pro",
     .source = KEY_ENV,
     .source_name = "DEEPSEEK_API_KEY",
     .key = "d-444"},
    /* A token is a token, and wins over a key. */
    {.env = "ANTHROPIC_AUTH_TOKEN=tok-555\nANTHROPIC_API_KEY=sk-ant-111",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-sonnet-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_AUTH_TOKEN",
     .key = "tok-555",
     .bearer = true,
     .note = "both set; using ANTHROPIC_AUTH_TOKEN"},
    {.env = "ANTHROPIC_API_KEY=  sk-ant-111\n",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-sonnet-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "ANTHROPIC_API_KEY=\nOPENAI_API_KEY=sk-oai-222", /* empty is not set */
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-6-sol",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},
    {.env = "ANTHROPIC_API_KEY=sk ant",
     .error = "the key from ANTHROPIC_API_KEY has a space",
     .code = ERR_BAD_INPUT},

    /* Base URLs. */
    {.env = "ANTHROPIC_BASE_URL=https://gw.example/anthropic/\nANTHROPIC_API_KEY=sk-ant-111",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://gw.example/anthropic",
     .model = "claude-sonnet-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "OPENAI_BASE_URL=http://localhost:8000", /* no key, no path: a local server */
     .want = "qwen3-coder",
     .provider = "openai",
     .dialect = "openai-chat",
     .base_url = "http://localhost:8000/v1",
     .model = "qwen3-coder",
     .source = KEY_NOT_NEEDED,
     .note = "assuming a window of 128000 and answers of up to 8192 tokens"},
    {.env = "OPENAI_BASE_URL=https://api.openai.com/v1/\nOPENAI_API_KEY=sk-oai-222",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-6-sol",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},
    {.env = "OPENAI_BASE_URL=https://proxy.example/v1\nOPENAI_API_KEY=sk-oai-222",
     .settings = "{\"providers\":{\"openai\":{\"dialect\":\"openai-responses\"}}}",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://proxy.example/v1",
     .model = "gpt-6-sol",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},
    {.env = "ANTHROPIC_BASE_URL=not a url\nANTHROPIC_API_KEY=sk-ant-111",
     .error = "ANTHROPIC_BASE_URL",
     .code = ERR_BAD_INPUT},
    {.env = "OPENAI_BASE_URL=ftp://x/v1\nOPENAI_API_KEY=k-12345678",
     .error = "OPENAI_BASE_URL",
     .code = ERR_BAD_INPUT},
    {.env = "GEMINI_API_KEY=g-333",
     .settings = "{\"providers\":{\"gemini\":{\"baseUrl\":\"localhost\"}}}",
     .error = "baseUrl in settings (for gemini)",
     .code = ERR_BAD_INPUT},

    /* --model in all its forms. */
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nOPENAI_API_KEY=sk-oai-222",
     .want = "openai/gpt-5-mini",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-5-mini",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nOPENAI_API_KEY=sk-oai-222",
     .want = "gpt-5.3-codex",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-5.3-codex",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111",
     .want = "opus[1m]",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-opus-5-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nANTHROPIC_DEFAULT_OPUS_MODEL=claude-opus-4-8",
     .want = "anthropic/opus",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-opus-4-8",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nANTHROPIC_DEFAULT_SONNET_MODEL=glm-4.7",
     .provider = "anthropic", /* no model is named: the default is a sonnet */
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "glm-4.7",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111",
     .note = "glm-4.7 is not in the table of models"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nANTHROPIC_DEFAULT_SONNET_MODEL=claude-sonnet-4-5[1m]",
     .want = "sonnet",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-sonnet-4-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "DEEPSEEK_API_KEY=d-444", /* an alias that several have: the one that is set up */
     .want = "flash",
     .provider = "deepseek",
     .dialect = "openai-chat",
     .base_url = "https://api.deepseek.com/v1",
     .model = "deepseek-flash",
     .source = KEY_ENV,
     .source_name = "DEEPSEEK_API_KEY",
     .key = "d-444"},
    {.env = "GEMINI_API_KEY=g-333",
     .want = "google/flash",
     .provider = "gemini",
     .dialect = "gemini",
     .base_url = "https://generativelanguage.googleapis.com",
     .model = "gemini-3.8-flash",
     .source = KEY_ENV,
     .source_name = "GEMINI_API_KEY",
     .key = "g-333"},
    {.env = "OPENROUTER_API_KEY=or-666",
     .want = "openrouter/meta-llama/llama-4",
     .provider = "openrouter",
     .dialect = "openai-chat",
     .base_url = "https://openrouter.ai/api/v1",
     .model = "meta-llama/llama-4",
     .source = KEY_ENV,
     .source_name = "OPENROUTER_API_KEY",
     .key = "or-666",
     .note = "not in the table of models"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111",
     .want = "claude-haiku-4-5-fast",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-haiku-4-5-fast",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111",
     .note = "a relative of claude-haiku-4-5, price unknown"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111", /* an alias with a letter lost */
     .want = "anthropic/sonet",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "sonet",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111",
     .note = "not in the table of models (did you mean sonnet?); assuming"},
    {.env = "", /* local servers need no key, but a model */
     .want = "ollama/qwen3:8b",
     .provider = "ollama",
     .dialect = "openai-chat",
     .base_url = "http://localhost:11434/v1",
     .model = "qwen3:8b",
     .source = KEY_NOT_NEEDED,
     .note = "assuming a window of 32768"},
    {.env = "", .want = "ollama", .error = "--model ollama/NAME", .code = ERR_BAD_INPUT},
    {.env = "", .want = "antropic/opus", .error = "did you mean anthropic?", .code = ERR_BAD_INPUT},
    {.env = "", .want = "Qwen/Qwen3", .error = "after its provider", .code = ERR_BAD_INPUT},
    {.env = "", .want = "openai/", .error = "no model after", .code = ERR_BAD_INPUT},
    {.env = "",
     .want = "openai/gpt-5",
     .error = "no key for openai (chosen by --model): set OPENAI_API_KEY, or run 'tenax auth login "
              "openai'",
     .code = ERR_AUTH},
    {.env = "", .error = "no provider is set up: set ANTHROPIC_API_KEY", .code = ERR_AUTH},

    /* Environment and settings name a model; the flag beats both. */
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nANTHROPIC_MODEL=claude-opus-5",
     .settings = "{\"model\":\"haiku\"}",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-opus-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nANTHROPIC_MODEL=claude-opus-5",
     .settings = "{\"model\":\"haiku\"}",
     .want = "sonnet",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-sonnet-5",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nOPENAI_API_KEY=sk-oai-222\nANTHROPIC_MODEL=our-own",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "our-own",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_API_KEY",
     .key = "sk-ant-111",
     .note = "not in the table of models"},
    {.env = "OPENAI_API_KEY=sk-oai-222",
     .settings = "{\"model\":\"opus\"}",
     .error = "settings.json:1:",
     .code = ERR_AUTH},
    {.env = "OPENAI_API_KEY=sk-oai-222",
     .settings = "{\"model\":\"default\"}",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-6-sol",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},

    /* A model that is newer than the table: its maker's, where that one can be asked. */
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nOPENAI_API_KEY=sk-oai-222",
     .want = "gpt-9-nova",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-9-nova",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222",
     .note = "not in the table of models"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111",
     .stored = "gemini g-stored-1",
     .settings = "{\"model\":\"gemini-9-flash\"}",
     .provider = "gemini",
     .dialect = "gemini",
     .base_url = "https://generativelanguage.googleapis.com",
     .model = "gemini-9-flash",
     .source = KEY_STORED,
     .source_name = "auth.json",
     .key = "g-stored-1",
     .note = "not in the table of models"},
    {.env = "OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=sk-oai-222",
     .want = "claude-opus-9", /* no other provider is set up */
     .provider = "openai",
     .dialect = "openai-chat",
     .base_url = "http://127.0.0.1:9/v1",
     .model = "claude-opus-9",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222",
     .note = "not in the table of models"},

    /* A gateway has the models of other vendors. */
    {.env = "ANTHROPIC_BASE_URL=http://127.0.0.1:9/anthropic\nANTHROPIC_AUTH_TOKEN=tok-555\n"
            "ANTHROPIC_MODEL=kimi-k2.6",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "http://127.0.0.1:9/anthropic",
     .model = "kimi-k2.6",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_AUTH_TOKEN",
     .key = "tok-555",
     .bearer = true,
     .note = "a relative of kimi-k2.6"},
    {.env = "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nANTHROPIC_AUTH_TOKEN=tok-555\n"
            "ANTHROPIC_MODEL=gpt-5.4\nOPENAI_API_KEY=sk-oai-222",
     .provider = "anthropic", /* not at OpenAI: not requested from it */
     .dialect = "anthropic",
     .base_url = "http://127.0.0.1:9",
     .model = "gpt-5.4",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_AUTH_TOKEN",
     .key = "tok-555",
     .bearer = true,
     .note = "a relative of gpt-5.4"},
    {.env = "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nANTHROPIC_AUTH_TOKEN=tok-555\n"
            "ANTHROPIC_MODEL=bedrock/our-claude",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "http://127.0.0.1:9",
     .model = "bedrock/our-claude",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_AUTH_TOKEN",
     .key = "tok-555",
     .bearer = true,
     .note = "not in the table of models"},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111\nANTHROPIC_MODEL=bedrock/our-claude",
     .error = "$ANTHROPIC_MODEL: there is no provider 'bedrock'", /* nor a gateway */
     .code = ERR_BAD_INPUT},
    {.env = "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nANTHROPIC_AUTH_TOKEN=tok-555",
     .settings = "{\"model\":\"glm-4.7\"}",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "http://127.0.0.1:9",
     .model = "glm-4.7",
     .source = KEY_ENV,
     .source_name = "ANTHROPIC_AUTH_TOKEN",
     .key = "tok-555",
     .bearer = true,
     .note = "a relative of glm-4.7"},
    {.env =
         "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nANTHROPIC_AUTH_TOKEN=tok-555\nZAI_API_KEY=z-666",
     .want = "glm-4.7", /* its maker has a key */
     .provider = "zai",
     .dialect = "openai-chat",
     .base_url = "https://api.z.ai/api/paas/v4",
     .model = "glm-4.7",
     .source = KEY_ENV,
     .source_name = "ZAI_API_KEY",
     .key = "z-666"},
    {.env = "ANTHROPIC_BASE_URL=http://127.0.0.1:9\nANTHROPIC_AUTH_TOKEN=tok-555",
     .want = "flash", /* an alias belongs to one provider */
     .error = "no key for gemini",
     .code = ERR_AUTH},
    {.env = "ANTHROPIC_API_KEY=sk-ant-111", /* no gateway */
     .want = "glm-4.7",
     .error = "no key for zai",
     .code = ERR_AUTH},

    /* Providers of the settings. */
    {.env = "LOCAL_KEY=lk-777",
     .settings = "{\"providers\":{\"local\":{\"baseUrl\":\"http://127.0.0.1:9/v1\",\"keyEnv\":"
                 "\"LOCAL_KEY\",\"headers\":{\"x-team\":\"a\"}}},\"models\":{\"local/qwen\":{"
                 "\"window\":9999}}}",
     .want = "qwen",
     .provider = "local",
     .dialect = "openai-chat",
     .base_url = "http://127.0.0.1:9/v1",
     .model = "qwen",
     .source = KEY_ENV,
     .source_name = "LOCAL_KEY",
     .key = "lk-777"},
    {.env = "",
     .settings = "{\"providers\":{\"local\":{\"dialect\":\"anthropic\",\"baseUrl\":"
                 "\"http://127.0.0.1:9\"}}}",
     .want = "local/claude-sonnet-5",
     .provider = "local",
     .dialect = "anthropic",
     .base_url = "http://127.0.0.1:9",
     .model = "claude-sonnet-5",
     .source = KEY_NOT_NEEDED,
     .note = "a relative of claude-sonnet-5"},
    {.env = "",
     .settings = "{\"providers\":{\"local\":{\"dialect\":\"anthropic\"}}}",
     .want = "local/x",
     .error = "providers.local.baseUrl must be given",
     .code = ERR_BAD_INPUT},
    {.env = "OPENAI_API_KEY=sk-oai-222",
     .settings = "{\"providers\":{\"openai\":{\"headers\":{\"x-a\":\"b\\r\\nx-c: d\"}}}}",
     .error = "the value of x-a has a line break",
     .code = ERR_BAD_INPUT},
    {.env = "OPENAI_API_KEY=sk-oai-222",
     .settings = "{\"providers\":{\"openai\":{\"headers\":{\"x a\":\"b\"}}}}",
     .error = "'x a' cannot be the name of a header",
     .code = ERR_BAD_INPUT},
    {.env = "OPENAI_API_KEY=sk-oai-222",
     .settings = "{\"models\":{\"openai/gpt-6-sol\":{\"price\":{\"input\":-1}}}}",
     .error = "price",
     .code = ERR_BAD_INPUT},

    /* Keys from elsewhere. */
    {.env = "",
     .stored = "gemini g-stored-1",
     .provider = "gemini",
     .dialect = "gemini",
     .base_url = "https://generativelanguage.googleapis.com",
     .model = "gemini-3.1-pro-preview",
     .source = KEY_STORED,
     .source_name = "auth.json",
     .key = "g-stored-1"},
    {.env = "GEMINI_API_KEY=g-333",
     .stored = "gemini g-stored-1",
     .provider = "gemini",
     .dialect = "gemini",
     .base_url = "https://generativelanguage.googleapis.com",
     .model = "gemini-3.1-pro-preview",
     .source = KEY_ENV,
     .source_name = "GEMINI_API_KEY",
     .key = "g-333"},
    {.env = "HELPED=yes",
     .settings = "{\"apiKeyHelper\":\"echo key-$HELPED-888\"}",
     .stored = "anthropic a-stored-1",
     .provider = "anthropic",
     .dialect = "anthropic",
     .base_url = "https://api.anthropic.com",
     .model = "claude-sonnet-5",
     .source = KEY_HELPER,
     .source_name = "apiKeyHelper",
     .key = "key-yes-888"},
    {.env = "OPENAI_API_KEY=sk-oai-222", /* Claude's helper is for Claude's door only */
     .settings = "{\"apiKeyHelper\":\"echo never-asked\",\"model\":\"openai/gpt-5\"}",
     .provider = "openai",
     .dialect = "openai-responses",
     .base_url = "https://api.openai.com/v1",
     .model = "gpt-5",
     .source = KEY_ENV,
     .source_name = "OPENAI_API_KEY",
     .key = "sk-oai-222"},
    {.env = "",
     .settings = "{\"apiKeyHelper\":\"echo no vault here >&2; exit 3\"}",
     .error = "apiKeyHelper failed (exit code 3): no vault here",
     .code = ERR_AUTH},
    {.env = "",
     .settings = "{\"apiKeyHelper\":\"true\"}",
     .error = "the key from apiKeyHelper is empty",
     .code = ERR_AUTH},
};

static struct conf *load(const char *env_lines, const char *settings, struct strv *env)
{
    CLEANUP(mem_freep) char *path = path_join(home, "settings.json");
    struct str rest = str_of(env_lines), line;
    struct conf *conf = NULL;
    struct err err = {0};

    strv_addf(env, "HOME=%s", root);
    strv_addf(env, "TENAX_HOME=%s", home);
    strv_adds(env, "PATH=/usr/bin:/bin");
    while (rest.len && str_cut(&rest, '\n', &line))
        strv_add(env, line);
    remove(path);
    if (settings)
        assert_int_equal(file_replace(path, str_of(settings), 0600, &err), 0);

    struct conf_sources from = {
        .dir = root, .environ = strv_get(env), .etc = root, .trusted = true};
    if (conf_load(&from, &conf, &err) < 0)
        fail_msg("%s", err.text);
    return conf;
}

static void test_select(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(strv_release) struct strv env = STRV_INIT;
        CLEANUP(provider_release) struct provider p = {0};
        CLEANUP(conf_unrefp) struct conf *conf = load(rows[i].env, rows[i].settings, &env);
        CLEANUP(mem_freep) char *auth = path_join(home, "auth.json");
        struct err err = {0};
        int r;

        print_message("row %zu: %s, %s, --model %s\n", i, rows[i].env,
                      rows[i].settings ? rows[i].settings : "no settings",
                      rows[i].want ? rows[i].want : "not given");
        remove(auth);
        if (rows[i].stored) {
            struct str key = str_of(rows[i].stored), name;

            str_cut(&key, ' ', &name);
            assert_int_equal(auth_set(home, name, key, &err), 0);
        }
        r = provider_select(conf, str_of(rows[i].want), NULL, &p, &err);
        if (!rows[i].provider) {
            assert_int_equal(r, -1);
            print_message("    %s\n", err.text);
            assert_non_null(strstr(err.text, rows[i].error));
            assert_int_equal(err.code, rows[i].code);
            assert_null(p.name);
            continue;
        }
        if (r < 0)
            fail_msg("%s", err.text);
        assert_string_equal(p.name, rows[i].provider);
        assert_string_equal(p.dialect->name, rows[i].dialect);
        assert_string_equal(p.base_url, rows[i].base_url);
        assert_true(str_is(p.model.name, rows[i].model));
        assert_true(str_is(p.model.provider, rows[i].provider));
        assert_int_equal(p.source, rows[i].source);
        assert_string_equal(p.source_name ? p.source_name : "",
                            rows[i].source_name ? rows[i].source_name : "");
        assert_string_equal(p.key ? p.key : "", rows[i].key ? rows[i].key : "");
        assert_int_equal(p.bearer, rows[i].bearer);
        for (size_t n = 0; n < p.notes.len; n++)
            print_message("    note: %s\n", p.notes.ptr[n]);
        assert_int_equal(p.notes.len, rows[i].note ? 1 : 0);
        if (rows[i].note)
            assert_non_null(strstr(p.notes.ptr[0], rows[i].note));
    }
}

static const struct {
    const char *env;
    const char *now;
    const char *small; /* NULL: none is known */
} small_rows[] = {
    {"", "anthropic/claude-opus-5", "anthropic/claude-haiku-4-5"},
    {"", "openai/gpt-9", "openai/gpt-5.4-mini"},
    {"", "ollama/qwen3", NULL},
    {"ANTHROPIC_DEFAULT_HAIKU_MODEL=glm-air", "anthropic/glm-5", "anthropic/glm-air"},
    {"ANTHROPIC_DEFAULT_HAIKU_MODEL=claude-haiku-4-5[1m]", "anthropic/claude-opus-5",
     "anthropic/claude-haiku-4-5"},
    {"ANTHROPIC_BASE_URL=http://127.0.0.1:9", "anthropic/claude-opus-5",
     "anthropic/claude-haiku-4-5"},
    {"ANTHROPIC_BASE_URL=http://127.0.0.1:9", "anthropic/kimi-k2.6", NULL},
    {"ANTHROPIC_BASE_URL=http://127.0.0.1:9\nANTHROPIC_DEFAULT_HAIKU_MODEL=kimi-small",
     "anthropic/kimi-k2.6", "anthropic/kimi-small"},
    {"OPENAI_BASE_URL=http://127.0.0.1:9/v1", "openai/qwen3-coder", NULL},
};

static void test_small(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(small_rows); i++) {
        CLEANUP(strv_release) struct strv env = STRV_INIT;
        CLEANUP(conf_unrefp) struct conf *conf = load(small_rows[i].env, NULL, &env);
        CLEANUP(buf_release) struct buf small = BUF_INIT(1000);
        bool found = provider_small(conf, str_of(small_rows[i].now), &small);

        print_message("row %zu: %s\n", i, small_rows[i].now);
        assert_int_equal(found, small_rows[i].small != NULL);
        assert_string_equal(buf_cstr(&small), found ? small_rows[i].small : "");
    }
}

static void test_headers(void **state)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(provider_release) struct provider p = {0};
    struct conf *conf;
    struct err err = {0};

    (void)state;
    /* The variable holds several lines, so it does not fit the table. */
    strv_adds(&env, "ANTHROPIC_CUSTOM_HEADERS=x-one: 1\n\n  X-Two :  two: 2 \n");
    conf = load("ANTHROPIC_API_KEY=sk-ant-111",
                "{\"providers\":{\"anthropic\":{\"headers\":{\"x-team\":\"a\"},\"idleTimeoutMs\":"
                "5000}}}",
                &env);
    assert_int_equal(provider_select(conf, (struct str){0}, NULL, &p, &err), 0);
    assert_int_equal(p.headers.len, 3);
    assert_string_equal(p.headers.ptr[0], "x-team: a");
    assert_string_equal(p.headers.ptr[1], "x-one: 1");
    assert_string_equal(p.headers.ptr[2], "X-Two: two: 2");
    assert_int_equal(p.idle_ms, 5000);
    conf_unref(conf);

    strv_clear(&env);
    strv_adds(&env, "ANTHROPIC_CUSTOM_HEADERS=no colon here");
    conf = load("ANTHROPIC_API_KEY=sk-ant-111", NULL, &env);
    provider_release(&p);
    assert_int_equal(provider_select(conf, (struct str){0}, NULL, &p, &err), -1);
    assert_non_null(strstr(err.text, "ANTHROPIC_CUSTOM_HEADERS"));
    conf_unref(conf);
}

/* Whose idleTimeoutMs counts: the provider's, else everybody's, else that of the provider's row. */
static void test_idle(void **state)
{
    static const struct {
        const char *model, *settings;
        int64_t want;
    } idles[] = {
        {"anthropic", "{}", 0},
        {"anthropic", "{\"idleTimeoutMs\":7000}", 7000},
        {"anthropic",
         "{\"idleTimeoutMs\":7000,\"providers\":{\"anthropic\":{\"idleTimeoutMs\":9000}}}", 9000},
        {"ollama/x", "{}", 600000},
        {"ollama/x", "{\"idleTimeoutMs\":7000}", 7000},
        {"ollama/x", "{\"providers\":{\"ollama\":{\"idleTimeoutMs\":9000}}}", 9000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(idles); i++) {
        CLEANUP(strv_release) struct strv env = STRV_INIT;
        CLEANUP(provider_release) struct provider p = {0};
        CLEANUP(conf_unrefp)
        struct conf *conf = load("ANTHROPIC_API_KEY=sk-ant-111", idles[i].settings, &env);
        struct err err = {0};

        if (provider_select(conf, str_of(idles[i].model), NULL, &p, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        if (p.idle_ms != idles[i].want)
            fail_msg("row %zu: %lld ms", i, (long long)p.idle_ms);
    }
}

static const struct {
    const char *base, *path, *want;
} urls[] = {
    {"https://h", "/v1/messages", "https://h/v1/messages"},
    {"https://h/", "/v1/messages", "https://h/v1/messages"},
    {"https://h/v1", "/v1/messages", "https://h/v1/messages"},
    {"https://h/v1//", "/v1/messages", "https://h/v1/messages"},
    {"https://h/api/anthropic", "/v1/messages", "https://h/api/anthropic/v1/messages"},
    {"https://h/apiv1", "/v1/messages", "https://h/apiv1/v1/messages"},
    {"https://h/v1", "/chat/completions", "https://h/v1/chat/completions"},
    {"https://h/v1beta", "/v1beta/models/x:g?alt=sse", "https://h/v1beta/models/x:g?alt=sse"},
    {"https://v1", "/v1/messages", "https://v1/v1/messages"}, /* a host, not a path */
    {"https://h/chat", "/chat", "https://h/chat/chat"},       /* nothing would be left */
};

static void test_url(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(1000);

        door_url(str_of(urls[i].base), str_of(urls[i].path), &got);
        print_message("row %zu: %s + %s = %s\n", i, urls[i].base, urls[i].path, buf_cstr(&got));
        assert_string_equal(buf_cstr(&got), urls[i].want);
    }
}

static int set_up(void **state)
{
    struct err err = {0};

    (void)state;
    if (!mkdtemp(root))
        return -1;
    home = path_join(root, "home");
    return file_mkdirs(home, 0700, &err);
}

static int tear_down(void **state)
{
    static const char *const names[] = {"home/settings.json", "home/auth.json", "home", ""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, names[i]);

        remove(path);
    }
    mem_freep(&home);
    proc_shutdown();
    return 0;
}

UNIT_TEST(provider)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select), cmocka_unit_test(test_small), cmocka_unit_test(test_headers),
        cmocka_unit_test(test_idle),   cmocka_unit_test(test_url),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
