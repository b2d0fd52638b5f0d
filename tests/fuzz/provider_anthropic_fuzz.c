/*
 * Any bytes as an answer of the Messages API.
 */
#include "decoder_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct model model = {
        .provider = STR_INIT("anthropic"),
        .name = STR_INIT("claude-opus-5"),
        .family = STR_INIT("claude-opus-5"),
        .max_output = 1000,
        .images = true,
    };

    return decoder_fuzz(&dialect_anthropic, &model, data, size);
}
