/*
 * tool_output: recognizes the reference's structured results by their members. Pure.
 */
#include "llm/tool_output.h"

#include "base/buf.h"
#include "base/str.h"
#include "json/json.h"
#include "json/jw.h"

static void add_line(struct buf *to, struct str text)
{
    if (text.len && to->len && to->ptr[to->len - 1] != '\n')
        buf_addc(to, '\n');
    buf_add(to, text);
}

/* Adds a text or content blocks; false if it is neither. */
static bool add_content(const struct json *v, struct buf *ret)
{
    bool any = false;

    if (json_is(v, JSON_STRING)) {
        add_line(ret, json_str(v));
        return true;
    }
    if (!json_is(v, JSON_ARRAY))
        return false;
    JSON_EACH(v, block) {
        if (!json_is(json_get(block, "text"), JSON_STRING))
            continue;
        add_line(ret, json_get_str(block, "text"));
        any = true;
    }
    return any;
}

void tool_output_text(const struct json *output, struct buf *ret)
{
    const struct json *out = json_get(output, "stdout");
    const struct json *err = json_get(output, "stderr");
    struct jw w;

    if (json_is(out, JSON_STRING) || json_is(err, JSON_STRING)) {
        add_line(ret, json_str(out));
        add_line(ret, json_str(err));
        return;
    }
    if (add_content(output, ret) || add_content(json_get(output, "content"), ret) ||
        add_content(json_path(output, "file.content"), ret) ||
        add_content(json_get(output, "text"), ret) || add_content(json_get(output, "result"), ret))
        return;
    jw_init(&w, ret, 0);
    jw_json(&w, output);
}
