/*
 * Any bytes as an answer of Gemini.
 */
#include "decoder_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct model model = {
        .provider = STR_INIT("gemini"),
        .name = STR_INIT("gemini-3-pro"),
        .family = STR_INIT("gemini-3"),
        .thinking = MODEL_THINKS_EFFORT,
        .images = true,
    };

    return decoder_fuzz(&dialect_gemini, &model, data, size);
}
