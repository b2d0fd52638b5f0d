/*
 * acp_content: the content blocks of a prompt as a message of the user. Pure.
 */
#include <string.h>

#include "base/err.h"
#include "json/json.h"
#include "llm/message.h"
#include "proto/acp/acp_state.h"

/* "%20" is a blank; false: it is no "file://" with a path of this machine. */
static bool file_path(struct str uri, struct buf *ret)
{
    static const char digits[] = "0123456789abcdef";
    struct str rest;

    if (!str_starts(uri, STR("file://")))
        return false;
    rest = str_from(uri, strlen("file://"));
    if (str_starts(rest, STR("localhost/")))
        rest = str_from(rest, strlen("localhost"));
    if (!rest.len || rest.ptr[0] != '/')
        return false;
    for (size_t i = 0; i < rest.len; i++) {
        const char *high = NULL;
        const char *low = NULL;

        if (rest.ptr[i] == '%' && i + 2 < rest.len) {
            high = strchr(digits, rest.ptr[i + 1] | 0x20);
            low = strchr(digits, rest.ptr[i + 2] | 0x20);
        }
        if (high && low && *high && *low) {
            buf_addc(ret, (char)((high - digits) << 4 | (low - digits)));
            i += 2;
        } else {
            buf_addc(ret, rest.ptr[i]);
        }
    }
    return memchr(ret->ptr, '\0', ret->len) == NULL;
}

static void add_text(struct message *m, struct str text)
{
    struct block b = {.kind = BLOCK_TEXT, .text = text};

    if (text.len)
        (void)message_add(m, &b);
}

static int add_image(struct message *m, struct str data, struct str type, struct err *err)
{
    struct block b = {.kind = BLOCK_IMAGE, .data = data, .media_type = type};

    if (!data.len || !str_starts(type, STR("image/")))
        return err_set(err, ERR_BAD_INPUT, "an image needs data and an image type");
    (void)message_add(m, &b);
    return 0;
}

/* A file is mentioned: it goes along as it is now. */
static int add_link(struct message *m, const struct json *block, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(ACP_MAX_TEXT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(ACP_MAX_TEXT);
    struct str uri = json_get_str(block, "uri");
    size_t mark = str_find(uri, STR("#L"));

    if (!uri.len)
        return err_set(err, ERR_BAD_INPUT, "a resource_link needs a uri");
    if (file_path(str_first(uri, str_chr(uri, '#')), &path))
        buf_addf(&text, " @\"%.*s%.*s\" ", STR_ARG(buf_str(&path)), STR_ARG(str_from(uri, mark)));
    else
        buf_addf(&text, "[%.*s](%.*s)", STR_ARG(json_get_str(block, "name")), STR_ARG(uri));
    add_text(m, buf_str(&text));
    return 0;
}

static int add_resource(struct message *m, const struct json *block, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(ACP_MAX_TEXT);
    const struct json *r = json_get(block, "resource");
    struct str uri = json_get_str(r, "uri");
    struct str type = json_get_str(r, "mimeType");

    if (!uri.len)
        return err_set(err, ERR_BAD_INPUT, "a resource needs a uri");
    if (json_is(json_get(r, "text"), JSON_STRING)) {
        buf_addf(&text, "<context ref=\"%.*s\">\n%.*s\n</context>", STR_ARG(uri),
                 STR_ARG(json_get_str(r, "text")));
        if (buf_check(&text, err) < 0)
            return err_prefix(err, "resource");
        add_text(m, buf_str(&text));
        return 0;
    }
    if (str_starts(type, STR("image/")))
        return add_image(m, json_get_str(r, "blob"), type, err);
    return err_set(err, ERR_BAD_INPUT, "a resource must have text, or be an image");
}

static int add_block(struct message *m, const struct json *block, struct err *err)
{
    struct str type = json_get_str(block, "type");

    if (str_is(type, "text")) {
        if (!json_is(json_get(block, "text"), JSON_STRING))
            return err_set(err, ERR_BAD_INPUT, "a text block needs a text");
        add_text(m, json_get_str(block, "text"));
        return 0;
    }
    if (str_is(type, "image"))
        return add_image(m, json_get_str(block, "data"), json_get_str(block, "mimeType"), err);
    if (str_is(type, "resource_link"))
        return add_link(m, block, err);
    if (str_is(type, "resource"))
        return add_resource(m, block, err);
    return err_set(err, ERR_BAD_INPUT, "content of type \"%.*s\" cannot be sent",
                   STR_ARG(str_clip(type, 60)));
}

int acp_content(const struct json *prompt, struct message **ret, struct err *err)
{
    CLEANUP(message_unrefp) struct message *m = message_new(ROLE_USER, json_len(prompt));

    if (!json_is(prompt, JSON_ARRAY))
        return err_set(err, ERR_BAD_INPUT, "prompt must be a list of content blocks");
    JSON_EACH(prompt, block) {
        if (add_block(m, block, err) < 0)
            return -1;
    }
    if (!m->len)
        return err_set(err, ERR_BAD_INPUT, "the prompt is empty");
    *ret = TAKE_PTR(m);
    return 0;
}
