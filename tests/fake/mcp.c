/*
 * mcp: a pretend MCP server on standard input and output, well behaved or not: fake-mcp [KIND]
 *
 * - none: tools echo, add, fail, image, both, a.b, a_b, "a b", env, big, die, slow (answers after
 *   two minutes, with progress)
 * - resources: tools none, resources manual and logo, a template of pages, instructions
 * - prompts: tools none, prompts greet (name, about) and talk
 * - modern: speaks 2026-07-28 alone; tools echo, grow, and ask, which wants a form first
 * - grows: tool grow, prompt greet; after a call of grow also tool grown and prompt talk, and the
 *   client is notified: by modern only if it listens
 * - asks: tools sample, form, page, need_page, roots, log: each asks the client, and answers with
 *   what it got
 * - permits: tool decide, for --permission-prompt-tool: it allows what has "yes" in it, with
 * another command, and denies what has "no" in it; connects after 300 ms
 * - rug FILE: one tool, whose description is the content of the file
 * - noise: writes lines that are no messages all the time
 * - silent: answers nothing; mutelist: does not answer tools/list
 * - exits: ends with code 3 and a word about it
 * - huge: sends a message of 20 MB
 * - ids: answers with ids that nobody asked for, first; twice: answers everything twice
 * - cursors: its list of tools has no end; thrice: lists a tool three times; nolist: answers
 *   tools/list with an error; schemas: tools whose schemas cannot be offered, and one
 * - late: connects after 300 ms; refuses: answers initialize with an error
 *
 * Cancellations and changes of the roots that it is notified of go to standard error.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "json/json.h"
#include "json/jw.h"

static const char *kind = "";
static bool has_grown, has_listener;

static void put(struct str line)
{
    fwrite(line.ptr, 1, line.len, stdout);
    putchar('\n');
    if (strcmp(kind, "twice") == 0) {
        fwrite(line.ptr, 1, line.len, stdout);
        putchar('\n');
    }
    fflush(stdout);
}

static void answer(struct str id, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void answer(struct str id, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    va_list args;

    if (strcmp(kind, "ids") == 0)
        put(STR("{\"jsonrpc\":\"2.0\",\"id\":77777,\"result\":{}}"));
    buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,", STR_ARG(id));
    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    buf_addc(&line, '}');
    put(buf_str(&line));
}

#define TOOL(name, about, schema)                                                                  \
    "{\"name\":\"" name "\",\"description\":\"" about "\",\"inputSchema\":" schema "}"
#define ANY "{\"type\":\"object\",\"properties\":{}}"

static const char *rug_file;

static void list_rug(struct str id)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf json = BUF_INIT(1 << 20);
    struct jw w;

    (void)file_slurp(rug_file, 1 << 20, &text, NULL);
    jw_init(&w, &json, 0);
    jw_str(&w, str_trim(buf_str(&text)));
    answer(id,
           "\"result\":{\"tools\":[{\"name\":\"add\",\"description\":%s,\"inputSchema\":" ANY
           "},{\"name\":\"careful\",\"inputSchema\":" ANY
           ",\"_meta\":{\"anthropic/requiresUserInteraction\":true}}]}",
           buf_cstr(&json));
}

#define GROWN TOOL("grown", "Was added", ANY)

static void list_tools(struct str id)
{
    if (strcmp(kind, "asks") == 0) {
        answer(id, "\"result\":{\"tools\":[%s,%s,%s,%s,%s,%s,%s]}",
               TOOL("sample", "Asks a model", ANY), TOOL("form", "Asks a form", ANY),
               TOOL("page", "Opens a page", ANY), TOOL("script", "Opens a script", ANY),
               TOOL("need_page", "Needs a page first", ANY), TOOL("roots", "Asks for folders", ANY),
               TOOL("log", "Complains", ANY));
    } else if (strcmp(kind, "modern") == 0) {
        answer(id, "\"result\":{\"resultType\":\"complete\",\"tools\":[%s,%s,%s%s]}",
               TOOL("echo", "Says the same", ANY), TOOL("ask", "Asks a form", ANY),
               TOOL("grow", "Adds a tool", ANY), has_grown ? "," GROWN : "");
    } else if (strcmp(kind, "grows") == 0) {
        answer(id, "\"result\":{\"tools\":[%s%s]}", TOOL("grow", "Adds a tool", ANY),
               has_grown ? "," GROWN : "");
    } else if (strcmp(kind, "rug") == 0) {
        list_rug(id);
    } else if (strcmp(kind, "permits") == 0) {
        answer(id, "\"result\":{\"tools\":[%s]}", TOOL("decide", "Decides", ANY));
    } else if (strcmp(kind, "thrice") == 0) {
        answer(id, "\"result\":{\"tools\":[%s,%s,%s,%s]}", TOOL("add", "Adds", ANY),
               TOOL("add", "Adds, too", ANY), TOOL("add", "Also adds", ANY), TOOL("a.b", "A", ANY));
    } else if (strcmp(kind, "nolist") == 0) {
        answer(id, "\"error\":{\"code\":-32603,\"message\":\"the index is broken\"}");
    } else if (strcmp(kind, "cursors") == 0) {
        answer(id, "\"result\":{\"tools\":[],\"nextCursor\":\"more\"}");
    } else if (strcmp(kind, "schemas") == 0) {
        answer(
            id, "\"result\":{\"tools\":[%s,%s,%s]}",
            TOOL("text", "A schema of a string", "{\"type\":\"string\"}"),
            TOOL("choice", "One of two",
                 "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]},"
                 "{\"properties\":{\"b\":{\"type\":\"string\"}},\"required\":[\"b\"]}]}"),
            "{\"name\":\"none\",\"description\":\"No schema at all\"}");
    } else {
        answer(id, "\"result\":{\"tools\":[%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s]}",
               TOOL("echo", "Says the same",
                    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},"
                    "\"required\":[\"text\"]}"),
               TOOL("add", "Adds", ANY), TOOL("fail", "Fails", ANY),
               TOOL("image", "A picture", ANY), TOOL("both", "Text and structure", ANY),
               TOOL("a.b", "With a dot", ANY), TOOL("a_b", "With a line", ANY),
               TOOL("a b", "With a blank", ANY), TOOL("env", "Its environment", ANY),
               TOOL("big", "A megabyte", ANY), TOOL("die", "Ends the server", ANY),
               TOOL("slow", "Takes its time", ANY));
    }
}

#define PIXEL                                                                                      \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"                                \
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

static void say_env(struct str id)
{
    CLEANUP(buf_release) struct buf names = BUF_INIT(1 << 20);

    for (char **e = environ; *e; e++)
        buf_addf(&names, "%.*s ", (int)str_chr(str_of(*e), '='), *e);
    answer(id, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}", buf_cstr(&names));
}

static void say_text(struct str id, struct str text)
{
    CLEANUP(buf_release) struct buf json = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    jw_init(&w, &json, 0);
    jw_str(&w, text);
    answer(id, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":%s}]}", buf_cstr(&json));
}

/* Sends a request to the client and waits for the answer to it, whatever else comes. */
static void ask_client(const char *method, const char *params, struct buf *ret)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    char *text = NULL;
    size_t size = 0;
    ssize_t n;

    buf_addf(&line, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\",\"params\":%s}", method,
             params);
    put(buf_str(&line));
    while (!ret->len && (n = getline(&text, &size, stdin)) > 0) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *m = NULL;

        if (json_parse(&arena, str_trim(str_make(text, (size_t)n)), &m, NULL, NULL) == 0 &&
            str_is(json_get_str(m, "id"), "q"))
            buf_add(ret, json_raw(json_get(m, json_get(m, "result") ? "result" : "error")));
    }
    free(text);
}

#define FORM                                                                                       \
    "{\"message\":\"Which one?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"        \
    "\"colour\":{\"type\":\"string\",\"default\":\"green\"}}}}"
#define PAGE                                                                                       \
    "{\"mode\":\"url\",\"message\":\"Open "                                                        \
    "it\",\"url\":\"http://localhost:9/x\",\"elicitationId\":"                                     \
    "\"e1\"}"

static void call_asking(struct str id, struct str name)
{
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
    static bool was_told;

    if (str_is(name, "need_page") && !was_told) {
        was_told = true;
        answer(id, "\"error\":{\"code\":-32042,\"message\":\"a page first\",\"data\":{"
                   "\"elicitations\":[" PAGE "]}}");
        put(STR(
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{"
            "\"elicitationId\":\"e1\"}}"));
        return;
    }
    if (str_is(name, "need_page")) {
        buf_adds(&got, "the page was there");
    } else if (str_is(name, "log")) {
        put(STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":"
                "\"error\",\"data\":\"the disk\\u001b[31m is full\"}}"));
        buf_adds(&got, "logged");
    } else if (str_is(name, "sample")) {
        ask_client("sampling/createMessage",
                   "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
                   "\"Name a colour.\"}}],\"maxTokens\":50}",
                   &got);
    } else if (str_is(name, "roots")) {
        ask_client("roots/list", "{}", &got);
    } else if (str_is(name, "script")) {
        ask_client("elicitation/create",
                   "{\"mode\":\"url\",\"message\":\"x\",\"url\":\"javascript:alert(1)\","
                   "\"elicitationId\":\"e2\"}",
                   &got);
    } else {
        ask_client("elicitation/create", str_is(name, "page") ? PAGE : FORM, &got);
    }
    say_text(id, buf_str(&got));
}

static void call_permits(struct str id, const struct json *args)
{
    struct str command = json_get_str(json_get(args, "input"), "command");

    if (!json_get_str(args, "tool_use_id").len || !str_is(json_get_str(args, "tool_name"), "Bash"))
        say_text(id, STR("who asks?"));
    else if (str_has(command, STR("yes")))
        say_text(id, STR("{\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"touch done; echo "
                         "changed\"}}"));
    else if (str_has(command, STR("no")))
        say_text(id, STR("{\"behavior\":\"deny\",\"message\":\"not on a Friday\"}"));
    else
        say_text(id, STR("perhaps"));
}

static void call_grow(struct str id, struct str name)
{
    if (str_is(name, "grown")) {
        say_text(id, STR("it has grown"));
        return;
    }
    has_grown = true;
    say_text(id, STR("it grows"));
    if (strcmp(kind, "modern") != 0 || has_listener)
        put(STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"));
    if (strcmp(kind, "modern") != 0)
        put(STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}"));
}

/* The form comes as a result; the request that brings the answers must have the state. */
static void call_modern(struct str id, const struct json *params)
{
    const struct json *got = json_get(params, "inputResponses");

    if (!json_get(json_get(params, "_meta"), "io.modelcontextprotocol/protocolVersion"))
        answer(id, "\"error\":{\"code\":-32602,\"message\":\"who are you?\"}");
    else if (str_starts(json_get_str(params, "name"), STR("grow")))
        call_grow(id, json_get_str(params, "name"));
    else if (!str_is(json_get_str(params, "name"), "ask"))
        say_text(id, json_get_str(json_get(params, "arguments"), "text"));
    else if (got && str_is(json_get_str(params, "requestState"), "s1"))
        say_text(id, json_raw(got));
    else
        answer(id,
               "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"s1\","
               "\"inputRequests\":{\"first\":{\"method\":\"elicitation/create\",\"params\":" FORM
               "},\"second\":{\"method\":\"roots/list\"}}}");
}

static void call(struct str id, const struct json *params)
{
    struct str name = json_get_str(params, "name");
    const struct json *args = json_get(params, "arguments");

    if (strcmp(kind, "asks") == 0) {
        call_asking(id, name);
        return;
    }
    if (strcmp(kind, "modern") == 0) {
        call_modern(id, params);
        return;
    }
    if (strcmp(kind, "grows") == 0) {
        call_grow(id, name);
        return;
    }
    if (strcmp(kind, "permits") == 0) {
        call_permits(id, args);
        return;
    }
    if (str_is(name, "echo")) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
        struct jw w;

        jw_init(&w, &text, 0);
        jw_str(&w, json_get_str(args, "text"));
        answer(id, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":%s}]}", buf_cstr(&text));
    } else if (str_is(name, "fail")) {
        answer(id, "\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"it "
                   "does not work\"}]}");
    } else if (str_is(name, "image")) {
        answer(id, "\"result\":{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/"
                   "png\",\"data\":\"" PIXEL "\"},"
                   "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"AAEC\"}]}");
    } else if (str_is(name, "both")) {
        answer(id, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"plain\"}],"
                   "\"structuredContent\":{\"n\":42}}");
    } else if (str_is(name, "env")) {
        say_env(id);
    } else if (str_is(name, "big")) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

        for (int i = 0; i < 1 << 17; i++)
            buf_adds(&text, "1234567 ");
        answer(id, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}",
               buf_cstr(&text));
    } else if (str_is(name, "die")) {
        exit(9);
    } else if (str_is(name, "slow")) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(1000);
        struct pollfd in = {.fd = 0, .events = POLLIN};

        buf_addf(&line,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                 "progress\",\"params\":{\"progressToken\":%.*s,"
                 "\"progress\":1,\"total\":2}}",
                 STR_ARG(json_raw(json_get(json_get(params, "_meta"), "progressToken"))));
        put(buf_str(&line));
        if (poll(&in, 1, 120 * 1000) == 0) /* a cancelled call wants no answer */
            answer(id, "\"result\":{\"content\":[]}");
    } else if (str_is(name, "add") || str_is(name, "careful")) {
        answer(id, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%" PRId64 "\"}]}",
               json_get_i64(args, "a", 0) + json_get_i64(args, "b", 0));
    } else if (str_starts(name, STR("a"))) {
        answer(id, "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"this is %.*s\"}]}",
               STR_ARG(name));
    } else {
        answer(id, "\"error\":{\"code\":-32602,\"message\":\"no such tool\"}");
    }
}

static void read_resource(struct str id, const struct json *params)
{
    struct str uri = json_get_str(params, "uri");

    if (str_is(uri, "test://manual"))
        answer(id,
               "\"result\":{\"contents\":[{\"uri\":\"test://manual\",\"text\":\"Turn it off and "
               "on again.\"}]}");
    else if (str_is(uri, "test://logo"))
        answer(id, "\"result\":{\"contents\":[{\"uri\":\"test://logo\",\"mimeType\":\"image/"
                   "png\",\"blob\":\"" PIXEL "\"}]}");
    else
        answer(id, "\"error\":{\"code\":-32002,\"message\":\"Resource not found\"}");
}

static void get_prompt(struct str id, const struct json *params)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    const struct json *args = json_get(params, "arguments");
    struct jw w;

    if (str_is(json_get_str(params, "name"), "talk")) {
        answer(id, "\"result\":{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                   "\"text\":\"ping\"}},{\"role\":\"assistant\",\"content\":{\"type\":\"text\","
                   "\"text\":\"pong\"}}]}");
        return;
    }
    jw_init(&w, &text, 0);
    jw_str_begin(&w);
    jw_str_part(&w, STR("Greet "));
    jw_str_part(&w, json_get_str(args, "name"));
    jw_str_part(&w, STR(", about "));
    jw_str_part(&w, json_get_str(args, "about"));
    jw_str_end(&w);
    answer(id,
           "\"result\":{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
           "\"text\":%s}}]}",
           buf_cstr(&text));
}

static void take_listener(void)
{
    has_listener = true;
    put(STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
            "\"params\":{\"notifications\":{\"toolsListChanged\":true}}}"));
}

static void take(struct str line)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *m = NULL;
    struct str method;
    struct str id;

    if (json_parse(&arena, line, &m, NULL, NULL) < 0)
        return;
    method = json_get_str(m, "method");
    id = json_get(m, "id") ? json_raw(json_get(m, "id")) : STR("");
    if (str_is(method, "notifications/cancelled"))
        fprintf(stderr, "cancelled %.*s\n",
                STR_ARG(json_raw(json_get(json_get(m, "params"), "requestId"))));
    if (str_is(method, "notifications/roots/list_changed"))
        fprintf(stderr, "roots changed\n");
    if (strcmp(kind, "mutelist") == 0 && str_is(method, "tools/list"))
        return;
    if (strcmp(kind, "silent") == 0 || !id.len || !method.len)
        return;
    if (strcmp(kind, "huge") == 0) {
        for (int i = 0; i < 20 << 10; i++)
            fprintf(stdout, "%s%01023d", i ? "" : "{", 0);
        putchar('\n');
        fflush(stdout);
    }
    if (strcmp(kind, "modern") == 0 && str_is(method, "server/discover"))
        answer(id, "\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
                   "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"fake\",\"version\":"
                   "\"2\"}}");
    else if (strcmp(kind, "modern") == 0 && str_is(method, "subscriptions/listen"))
        take_listener();
    else if (strcmp(kind, "modern") == 0 && str_is(method, "initialize"))
        answer(id, "\"error\":{\"code\":-32601,\"message\":\"not any more\"}");
    else if (strcmp(kind, "refuses") == 0)
        answer(id, "\"error\":{\"code\":-32600,\"message\":\"not today\"}");
    else if (str_is(method, "initialize") && strcmp(kind, "resources") == 0)
        answer(id,
               "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"resources\":{}"
               "},\"instructions\":\"Read the manual first.\",\"serverInfo\":{\"name\":\"fake\","
               "\"version\":\"1\"}}");
    else if (str_is(method, "initialize") && strcmp(kind, "prompts") == 0)
        answer(id,
               "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"prompts\":{}},"
               "\"serverInfo\":{\"name\":\"fake\",\"version\":\"1\"}}");
    else if (str_is(method, "initialize") && strcmp(kind, "grows") == 0)
        answer(id, "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"prompts\":{"
                   "\"listChanged\":true},\"tools\":{\"listChanged\":true}},\"serverInfo\":{"
                   "\"name\":\"fake\",\"version\":\"1\"}}");
    else if (str_is(method, "prompts/list") && strcmp(kind, "grows") == 0)
        answer(id, "\"result\":{\"prompts\":[{\"name\":\"greet\"}%s]}",
               has_grown ? ",{\"name\":\"talk\"}" : "");
    else if (str_is(method, "prompts/list"))
        answer(id, "\"result\":{\"prompts\":[{\"name\":\"greet\",\"description\":\"Greets\","
                   "\"arguments\":[{\"name\":\"name\",\"required\":true},{\"name\":\"about\"}]},"
                   "{\"name\":\"talk\"}]}");
    else if (str_is(method, "prompts/get"))
        get_prompt(id, json_get(m, "params"));
    else if (str_is(method, "resources/list"))
        answer(id, "\"result\":{\"resources\":[{\"uri\":\"test://manual\",\"name\":\"manual\"},{"
                   "\"uri\":\"test://logo\",\"name\":\"logo\",\"mimeType\":\"image/png\"}]}");
    else if (str_is(method, "resources/templates/list"))
        answer(id,
               "\"result\":{\"resourceTemplates\":[{\"uriTemplate\":\"test://page/{n}\",\"name\":"
               "\"page\",\"description\":\"A page of the manual\"}]}");
    else if (str_is(method, "resources/read"))
        read_resource(id, json_get(m, "params"));
    else if (str_is(method, "initialize"))
        answer(id, "\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
                   "\"serverInfo\":{\"name\":\"fake\",\"version\":\"1\"}}");
    else if (str_is(method, "tools/list"))
        list_tools(id);
    else if (str_is(method, "tools/call"))
        call(id, json_get(m, "params"));
    else
        answer(id, "\"error\":{\"code\":-32601,\"message\":\"no such method\"}");
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;

    kind = argc > 1 ? argv[1] : "";
    rug_file = argc > 2 ? argv[2] : "/dev/null";
    if (strcmp(kind, "exits") == 0) {
        fputs("the database is missing\n", stderr);
        return 3;
    }
    if (strcmp(kind, "late") == 0 || strcmp(kind, "permits") == 0)
        (void)poll(NULL, 0, 300);
    for (int i = 0; strcmp(kind, "noise") == 0 && i < 200; i++)
        puts("starting …");
    fflush(stdout);
    while ((n = getline(&line, &size, stdin)) > 0)
        take(str_trim(str_make(line, (size_t)n)));
    free(line);
    return 0;
}
