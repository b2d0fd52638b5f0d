/*
 * Any bytes as an answer of the Responses API.
 */
#include "decoder_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct model model = {
        .provider = STR_INIT("openai"),
        .name = STR_INIT("gpt-5"),
        .family = STR_INIT("gpt-5"),
        .thinking = MODEL_THINKS_EFFORT,
        .images = true,
    };

    return decoder_fuzz(&dialect_openai_responses, &model, data, size);
}
