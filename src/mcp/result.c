/*
 * Blocks in their order. Binary content goes to a file of the session, and its path into the text.
 * Runs on a tool thread.
 */
#include "mcp/result.h"

#include <stdlib.h>
#include <string.h>

#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/image.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"

struct reading {
    const char *server, *tool;
    struct tool_call *call;
    struct tool_result *ret;
    unsigned files;
};

static void new_line(struct buf *text)
{
    if (text->len && text->ptr[text->len - 1] != '\n')
        buf_addc(text, '\n');
}

/* The ending of a file's name by its type: "png" of "image/png". */
static struct str ending_of(struct str type)
{
    struct str name = str_from(type, str_chr(type, '/') + 1);

    for (size_t i = 0; i < name.len; i++) {
        if (!str_is_alnum(name.ptr[i]))
            name.len = i;
    }
    return name.len ? str_first(name, 8) : STR("bin");
}

static bool keep_file(struct reading *r, struct str bytes, struct str type, struct buf *ret_path)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(400);
    struct err err = {0};
    struct str id = r->call->id;

    buf_addf(&name, "mcp-%.*s-%u.%.*s", STR_ARG(str_first(id, 100)), ++r->files,
             STR_ARG(ending_of(type)));
    if (workspace_spill(r->call->workspace, buf_str(&name), ret_path, &err) == 0 &&
        file_replace(buf_cstr(ret_path), bytes, 0600, &err) == 0)
        return true;
    new_line(&r->ret->text);
    buf_addf(&r->ret->text, "[%.*s could not be kept: %s]\n", STR_ARG(str_clip(type, 100)),
             err.text);
    return false;
}

static void add_binary(struct reading *r, const char *kind, struct str data, struct str type)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(TOOL_MAX_TEXT);
    CLEANUP(buf_release) struct buf path = BUF_INIT(8192);
    const char *image;

    (void)buf_add_decoded(&bytes, data);
    image = image_type(buf_str(&bytes));
    if (!keep_file(r, buf_str(&bytes), type, &path))
        return;
    new_line(&r->ret->text);
    if (strcmp(kind, "Image") == 0 && image && bytes.len <= IMAGE_MAX_BYTES) {
        struct tool_image *i = vec_add(&r->ret->images);

        *i = (struct tool_image){.media_type = image, .bytes = BUF_INIT(IMAGE_MAX_BYTES)};
        buf_move(&i->bytes, &bytes);
        buf_addf(&r->ret->text, "[Image: source: %s]\n", buf_cstr(&path));
    } else {
        buf_addf(&r->ret->text, "[%s from %s] Binary content (%.*s, %zu bytes) saved to %s\n", kind,
                 r->server, STR_ARG(str_clip(type, 100)), bytes.len, buf_cstr(&path));
    }
}

static void add_resource(struct reading *r, const struct json *resource)
{
    CLEANUP(buf_release) struct buf kind = BUF_INIT(9000);
    struct str uri = str_clip(json_get_str(resource, "uri"), 4000);

    buf_addf(&kind, "Resource at %.*s", STR_ARG(uri));
    if (json_get(resource, "blob")) {
        add_binary(r, buf_cstr(&kind), json_get_str(resource, "blob"),
                   json_get_str(resource, "mimeType"));
        return;
    }
    new_line(&r->ret->text);
    buf_addf(&r->ret->text, "[Resource from %s at %.*s] ", r->server, STR_ARG(uri));
    buf_add(&r->ret->text, json_get_str(resource, "text"));
}

static void add_block(struct reading *r, const struct json *block)
{
    struct str type = json_get_str(block, "type");
    struct str mime = json_get_str(block, "mimeType");

    if (str_is(type, "text")) {
        new_line(&r->ret->text);
        buf_add(&r->ret->text, json_get_str(block, "text"));
    } else if (str_is(type, "image")) {
        add_binary(r, "Image", json_get_str(block, "data"), mime);
    } else if (str_is(type, "audio")) {
        add_binary(r, "Audio", json_get_str(block, "data"), mime);
    } else if (str_is(type, "resource")) {
        add_resource(r, json_get(block, "resource"));
    } else if (str_is(type, "resource_link")) {
        struct str about = json_get_str(block, "description");

        new_line(&r->ret->text);
        buf_addf(&r->ret->text, "[Resource link: %.*s] %.*s", STR_ARG(json_get_str(block, "name")),
                 STR_ARG(json_get_str(block, "uri")));
        if (about.len)
            buf_addf(&r->ret->text, " (%.*s)", STR_ARG(about));
    }
}

/* Whether a text of the content says the same as the structured answer already. */
static bool says_it(const struct json *content, const struct json *structured)
{
    JSON_EACH(content, block) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *same = NULL;

        if (str_is(json_get_str(block, "type"), "text") &&
            json_parse(&arena, json_get_str(block, "text"), &same, NULL, NULL) == 0 &&
            json_equal(same, structured))
            return true;
    }
    return false;
}

int mcp_result_read(const struct json *result, const char *server, const char *tool,
                    struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct reading r = {.server = server, .tool = tool, .call = call, .ret = ret};
    const struct json *content = json_get(result, "content");
    const struct json *structured = json_get(result, "structuredContent");
    struct jw w;

    JSON_EACH(content, block) {
        add_block(&r, block);
    }
    if (structured && !says_it(content, structured)) {
        new_line(&ret->text);
        jw_init(&w, &ret->text, 0);
        jw_json(&w, structured);
    }
    if (!ret->text.len && !ret->images.len)
        buf_addf(&ret->text, "(%s/%s returned nothing)", server, tool);
    ret->is_error = json_get_bool(result, "isError", false);
    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kjson(&w, "content", content);
    if (structured)
        jw_kjson(&w, "structuredContent", structured);
    jw_object_end(&w);
    return buf_check(&ret->text, err);
}
