/*
 * Prompts of MCP servers: one is requested when it is typed; its messages become the prompt for the
 * model, in order. The server's text is for the model only and never runs a command.
 */
#include "slash/mcp_prompt.h"

#include "base/arena.h"
#include "base/err.h"
#include "host/host.h"
#include "host/mcp.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/names.h"
#include "mcp/reach.h"
#include "mcp/server_conf.h"
#include "slash/answer.h"

static int prompt_run(struct slash_call *call, struct err *err);

const struct slash_command slash_mcp_prompt_entry = {
    .name = "mcp prompt",
    .hint = "",
    .summary = "A prompt of an MCP server",
    .run = prompt_run,
};

/* All prompts of the servers that are connected, named as tools are. */
struct prompts {
    VEC(struct mcp_named) names;
    VEC(const struct json *) prompts;
    VEC(struct mcp_client *) clients;
    VEC(struct mcp_lists *) lists; /* references */
};

static void prompts_release(struct prompts *p)
{
    VEC_EACH(&p->lists, l) {
        mcp_lists_unref(*l);
    }
    vec_release(&p->names);
    vec_release(&p->prompts);
    vec_release(&p->clients);
    vec_release(&p->lists);
}

static void prompts_get(struct host *h, struct prompts *ret)
{
    struct mcp *m = host_mcp(h);

    for (size_t i = 0; m && i < mcp_count(m); i++) {
        struct mcp_client *c = mcp_client_at(m, i);
        struct mcp_look look;

        if (!c || mcp_is_hidden(m, i))
            continue;
        mcp_client_look(c, &look);
        if (!look.lists)
            continue;
        vec_push(&ret->lists, look.lists);
        VEC_EACH(&look.lists->prompts, prompt) {
            struct str name = json_get_str(*prompt, "name");

            if (!name.len)
                continue;
            vec_push(&ret->prompts, *prompt);
            vec_push(&ret->clients, c);
            *vec_add(&ret->names) =
                (struct mcp_named){.server = str_of(mcp_server_at(m, i)->name), .tool = name};
        }
    }
    mcp_names_make(ret->names.ptr, ret->names.len);
}

/* prompts.len: there is none. */
static size_t prompts_find(const struct prompts *p, struct str name)
{
    size_t i = 0;

    while (i < p->prompts.len && !str_is(name, p->names.ptr[i].name))
        i++;
    return i;
}

bool mcp_prompt_is(struct host *h, struct str name, struct cancel *cancel)
{
    CLEANUP(prompts_release) struct prompts p = {0};

    if (!str_starts(name, STR("mcp__")) || !host_mcp(h))
        return false;
    mcp_reach_await(host_mcp(h), name, cancel);
    prompts_get(h, &p);
    return prompts_find(&p, name) < p.prompts.len;
}

static void add_hint(const struct json *prompt, struct buf *ret)
{
    JSON_EACH(json_get(prompt, "arguments"), a) {
        bool needed = json_get_bool(a, "required", false);

        buf_adds(ret, ret->len ? " " : "");
        buf_addc(ret, needed ? '<' : '[');
        slash_add_line(ret, json_get_str(a, "name"), 40);
        buf_addc(ret, needed ? '>' : ']');
    }
}

void mcp_prompt_list(struct host *h, struct arena *arena, slash_item_vec *ret)
{
    CLEANUP(prompts_release) struct prompts p = {0};

    prompts_get(h, &p);
    for (size_t i = 0; i < p.prompts.len; i++) {
        CLEANUP(buf_release) struct buf hint = BUF_INIT(2000);
        CLEANUP(buf_release) struct buf about = BUF_INIT(2000);

        add_hint(p.prompts.ptr[i], &hint);
        slash_add_line(&about, json_get_str(p.prompts.ptr[i], "description"), 200);
        buf_addf(&about, "%s(MCP)", about.len ? " " : "");
        vec_push(ret, ((struct slash_item){.name = arena_str(arena, str_of(p.names.ptr[i].name)),
                                           .hint = arena_str(arena, buf_str(&hint)),
                                           .summary = arena_str(arena, buf_str(&about)),
                                           .is_own = true}));
    }
}

/* Each argument gets a word, the last one all that are left. */
static int write_arguments(const struct json *prompt, const struct strv *words, struct jw *w,
                           struct err *err)
{
    const struct json *list = json_get(prompt, "arguments");
    size_t at = 0;

    jw_object(w);
    JSON_EACH(list, a) {
        CLEANUP(buf_release) struct buf value = BUF_INIT(SLASH_MAX_TEXT);

        if (at == words->len && json_get_bool(a, "required", false)) {
            CLEANUP(buf_release) struct buf hint = BUF_INIT(2000);

            add_hint(prompt, &hint);
            return err_set(err, ERR_BAD_INPUT, "it takes: %s", buf_cstr(&hint));
        }
        if (at == words->len)
            continue;
        buf_adds(&value, words->ptr[at++]);
        while (!json_next(a) && at < words->len)
            buf_addf(&value, " %s", words->ptr[at++]);
        jw_key_str(w, json_get_str(a, "name"));
        jw_str(w, buf_str(&value));
    }
    jw_object_end(w);
    return 0;
}

static void add_message(const struct json *message, size_t count, struct buf *ret)
{
    const struct json *content = json_get(message, "content");
    struct str type = json_get_str(content, "type");

    if (ret->len)
        buf_adds(ret, "\n\n");
    if (count > 1)
        buf_addf(ret,
                 "%s: ", str_is(json_get_str(message, "role"), "assistant") ? "Assistant" : "User");
    if (str_is(type, "text"))
        buf_add(ret, json_get_str(content, "text"));
    else if (str_is(type, "resource") && json_get(json_get(content, "resource"), "text"))
        buf_add(ret, json_get_str(json_get(content, "resource"), "text"));
    else
        buf_addf(ret, "[%.*s]", STR_ARG(str_clip(type, 40)));
}

static int prompt_run(struct slash_call *call, struct err *err)
{
    CLEANUP(prompts_release) struct prompts p = {0};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    CLEANUP(buf_release) struct buf params = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(SLASH_MAX_TEXT);
    struct mcp_request request = {.method = "prompts/get"};
    struct str name = slash_word(call->args);
    const struct json *result = NULL;
    const struct json *messages;
    struct jw w;
    size_t i;

    prompts_get(call->host, &p);
    i = prompts_find(&p, name);
    if (i == p.prompts.len)
        return err_set(err, ERR_NOT_FOUND, "there is no prompt %.*s any more", STR_ARG(name));
    slash_words(str_trim(str_from(call->args, name.len)), &words);
    jw_init(&w, &params, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "name", p.names.ptr[i].tool);
    jw_key(&w, "arguments");
    if (write_arguments(p.prompts.ptr[i], &words, &w, err) < 0)
        return -1;
    jw_object_end(&w);
    request.params = buf_str(&params);
    if (buf_check(&params, err) < 0 ||
        mcp_client_call(p.clients.ptr[i], &request, call->cancel, &answer, err) < 0 ||
        json_parse(&arena, buf_str(&answer), &result, NULL, err) < 0)
        return err_prefix(err, "%.*s", STR_ARG(name));
    messages = json_get(result, "messages");
    JSON_EACH(messages, m) {
        add_message(m, json_len(messages), &call->prompt);
    }
    if (!str_trim(buf_str(&call->prompt)).len)
        return err_set(err, ERR_PROTOCOL, "%.*s is empty", STR_ARG(name));
    return buf_check(&call->prompt, err);
}
