/*
 * The servers that speak chat completions, as a table. Pure.
 */
#include "llm/dialect/chat_server.h"

#include <stddef.h>

#include "base/mem.h"
#include "llm/model.h"

static const struct chat_server rows[] = {
    {"deepseek", "deepseek", SWITCH_TYPE, CHAT_CALLS_NEED_REASONING | CHAT_REASONING_WITH_CALLS},
    {"zai", "glm-", SWITCH_TYPE, CHAT_AUTO_CHOICE | CHAT_TOOL_STREAM | CHAT_SILENT_OVERFLOW},
    {"moonshotai", "kimi-", SWITCH_TYPE, CHAT_CALLS_NEED_REASONING},
    {"qwen", NULL, SWITCH_ENABLE},
    {"dashscope", NULL, SWITCH_ENABLE},
    {"mistral", "mistral", SWITCH_NONE, CHAT_SHORT_IDS},
    {"mistral", "magistral", SWITCH_NONE, CHAT_SHORT_IDS},
    {"mistral", "devstral", SWITCH_NONE, CHAT_SHORT_IDS},
    {"mistral", "codestral", SWITCH_NONE, CHAT_SHORT_IDS},
    {"openai", NULL, SWITCH_NONE, CHAT_FILES},
    {"openrouter", NULL, SWITCH_OBJECT, CHAT_FILES},
    {"llamacpp", NULL, SWITCH_TEMPLATE, CHAT_PROGRESS},
    {"llama.cpp", NULL, SWITCH_TEMPLATE, CHAT_PROGRESS},
    {"vllm", NULL, SWITCH_TEMPLATE},
    {"sglang", NULL, SWITCH_TEMPLATE},
};

/* Servers that are what they are whatever model they serve. */
static const struct chat_server plain = {NULL, NULL, SWITCH_NONE, 0};
static const char *const plain_providers[] = {"ollama", "lmstudio", "xai", "groq"};

const struct chat_server *chat_server_find(const struct model *model)
{
    struct str name = model->name;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_is(model->provider, rows[i].provider))
            return &rows[i];
    for (size_t i = 0; i < ARRAY_LEN(plain_providers); i++)
        if (str_is(model->provider, plain_providers[i]))
            return &plain;

    for (size_t i = str_chr(name, '/'); i < name.len; i = str_chr(name, '/'))
        name = str_from(name, i + 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].model && str_starts(name, str_of(rows[i].model)))
            return &rows[i];
    return &plain;
}
