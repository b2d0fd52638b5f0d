/*
 * Any bytes as an answer of a chat server; the length chooses which.
 */
#include "decoder_fuzz.h"

#define MODEL(server, id)                                                                          \
    {                                                                                              \
        .provider = STR_INIT(server), .name = STR_INIT(id), .family = STR_INIT(id), .known = true, \
        .window = 1000, .images = true                                                             \
    }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct model models[] = {
        MODEL("openai", "gpt-5"),
        MODEL("deepseek", "deepseek-v4"),
        MODEL("mistral", "magistral"),
        MODEL("zai", "glm-5"),
    };

    return decoder_fuzz(&dialect_openai_chat, &models[size / 7 % ARRAY_LEN(models)], data, size);
}
