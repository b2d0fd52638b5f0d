/*
 * The table of dialects. Constant; any thread.
 */
#include "llm/dialect/dialect.h"

static const struct dialect *const dialects[] = {
    &dialect_anthropic, &dialect_openai_chat, &dialect_openai_responses, &dialect_gemini, NULL,
};

const struct dialect *const *dialect_table(void)
{
    return dialects;
}

const struct dialect *dialect_find(struct str name)
{
    for (size_t i = 0; dialects[i]; i++) {
        if (str_is(name, dialects[i]->name))
            return dialects[i];
    }
    return NULL;
}
