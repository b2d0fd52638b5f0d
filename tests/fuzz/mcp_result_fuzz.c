/*
 * Any result of an MCP tool becomes a result for the model: with a text, and with data that are
 * JSON. Files cannot be written here, which is said in the text.
 */
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/image.h"
#include "fuzz.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "mcp/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(tool_result_release) struct tool_result result = TOOL_RESULT_INIT;
    static struct workspace *workspace;
    struct tool_call call = {.id = STR("toolu_1")};
    const struct json *answer;
    const struct json *back;
    struct err err = {0};

    if (!workspace)
        workspace = workspace_new("/", "/proc/none", /*environ=*/NULL);
    call.workspace = workspace;
    if (json_parse(&arena, str_make((const char *)data, size), &answer, NULL, NULL) < 0)
        return 0;
    if (mcp_result_read(answer, "server", "tool", &call, &result, &err) < 0) {
        FUZZ_CHECK(err.text[0]);
        return 0;
    }
    FUZZ_CHECK(result.text.len);
    FUZZ_CHECK(!result.data.len ||
               json_parse(&arena, buf_str(&result.data), &back, NULL, NULL) == 0);
    VEC_EACH(&result.images, image) {
        FUZZ_CHECK(image->bytes.len <= IMAGE_MAX_BYTES);
    }
    return 0;
}
