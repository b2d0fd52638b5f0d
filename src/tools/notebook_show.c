/*
 * notebook_show: a notebook as a model reads it. Pictures among the outputs are decoded and checked
 * before they are passed on: a provider refuses the whole request for one that is none. Runs on
 * tool threads.
 */
#include <string.h>

#include "agent/tool.h"
#include "base/image.h"
#include "json/json.h"
#include "tools/notebook.h"

#define SHOW_MAX_OUTPUT ((size_t)10 << 10) /* bytes of the text of one output */
#define SHOW_MAX_IMAGES 10

/* Strings of nbformat: one, or a list of lines. */
static void add_joined(const struct json *value, struct buf *ret)
{
    buf_add(ret, json_str(value));
    JSON_EACH(value, line) {
        buf_add(ret, json_str(line));
    }
}

/* Without the colours of a terminal. */
static void add_uncoloured(struct str text, struct buf *ret)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\x1b' && i + 1 < text.len && text.ptr[i + 1] == '[') {
            i += 2;
            while (i < text.len && text.ptr[i] >= ' ' && text.ptr[i] <= '?')
                i++;
            continue; /* over the letter that ends it */
        }
        buf_addc(ret, text.ptr[i]);
    }
}

static void show_output_text(struct str text, struct buf *out)
{
    CLEANUP(buf_release) struct buf plain = BUF_INIT(BUF_NO_LIMIT);
    struct str shown;

    add_uncoloured(text, &plain);
    shown = str_clip(buf_str(&plain), SHOW_MAX_OUTPUT);
    buf_add(out, shown);
    if (shown.len < plain.len)
        buf_addf(out, "… [cut: %zu bytes more]", plain.len - shown.len);
    if (shown.len && shown.ptr[shown.len - 1] != '\n')
        buf_addc(out, '\n');
}

static bool show_image(const struct json *data, struct tool_result *ret, struct buf *out)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(IMAGE_MAX_BYTES * 2);
        CLEANUP(buf_release) struct buf bytes = BUF_INIT(IMAGE_MAX_BYTES);
        const struct json *value = json_get(data, types[i]);
        const char *type;

        if (!value)
            continue;
        add_joined(value, &text);
        type = buf_add_decoded(&bytes, buf_str(&text)) ? image_type(buf_str(&bytes)) : NULL;
        if (!type || ret->images.len == SHOW_MAX_IMAGES) {
            buf_addf(out, "[a picture that is %s]\n",
                     type ? "not shown: ten are" : "damaged or too large");
            return true;
        }
        buf_addf(out, "[picture %zu]\n", ret->images.len + 1);
        *vec_add(&ret->images) = (struct tool_image){.media_type = type};
        buf_move(&ret->images.ptr[ret->images.len - 1].bytes, &bytes);
        return true;
    }
    return false;
}

static void show_output(const struct json *output, struct tool_result *ret, struct buf *out)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str type = json_get_str(output, "output_type");
    const struct json *data = json_get(output, "data");

    if (str_is(type, "stream")) {
        add_joined(json_get(output, "text"), &text);
    } else if (str_is(type, "error")) {
        buf_addf(&text, "%.*s: %.*s\n", STR_ARG(json_get_str(output, "ename")),
                 STR_ARG(json_get_str(output, "evalue")));
        JSON_EACH(json_get(output, "traceback"), line) {
            buf_add(&text, json_str(line));
            buf_addc(&text, '\n');
        }
    } else if (!show_image(data, ret, out)) {
        add_joined(json_get(data, "text/plain"), &text);
        if (!text.len && json_first(data))
            buf_addf(&text, "[%.*s]", STR_ARG(json_key(json_first(data))));
    }
    show_output_text(buf_str(&text), out);
}

static void show_cell(const struct json *cell, size_t index, struct tool_result *ret,
                      struct buf *out)
{
    CLEANUP(buf_release) struct buf source = BUF_INIT(BUF_NO_LIMIT);
    struct str id = json_get_str(cell, "id");
    int64_t run = json_get_i64(cell, "execution_count", -1);

    if (id.len)
        buf_addf(out, "<cell id=\"%.*s\"", STR_ARG(id));
    else
        buf_addf(out, "<cell id=\"cell-%zu\"", index);
    buf_addf(out, " type=\"%.*s\"", STR_ARG(json_get_str(cell, "cell_type")));
    if (run >= 0)
        buf_addf(out, " run=\"%lld\"", (long long)run);
    buf_adds(out, ">\n");
    cell_add_source(cell, &source);
    buf_add(out, buf_str(&source));
    if (source.len && source.ptr[source.len - 1] != '\n')
        buf_addc(out, '\n');
    if (json_len(json_get(cell, "outputs"))) {
        buf_adds(out, "<output>\n");
        JSON_EACH(json_get(cell, "outputs"), output) {
            show_output(output, ret, out);
        }
        buf_adds(out, "</output>\n");
    }
    buf_adds(out, "</cell>\n");
}

void notebook_show(const struct notebook *nb, size_t max_bytes, struct tool_result *ret)
{
    size_t index = 0;

    JSON_EACH(nb->cells, cell) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        size_t images = ret->images.len;

        show_cell(cell, index, ret, &text);
        if (ret->text.len + text.len > max_bytes) {
            while (ret->images.len > images)
                buf_release(&ret->images.ptr[--ret->images.len].bytes);
            buf_addf(&ret->text,
                     "<cell id=\"cell-%zu\"> and the %zu after it are not shown: %zu "
                     "KB is the limit. Use Grep, or Bash with jq, to see them.\n",
                     index, json_len(nb->cells) - index - 1, max_bytes >> 10);
            return;
        }
        buf_add(&ret->text, buf_str(&text));
        index++;
    }
    if (!index)
        buf_adds(&ret->text, "The notebook has no cells.\n");
}
