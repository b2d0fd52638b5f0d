/*
 * mcp: a pretend MCP server on standard input and output, well behaved or not: fake-mcp [KIND]
 *
 *   resources tools none, resources manual and logo, instructions
 *   prompts   tools none, prompts greet (name, about) and talk
 *   (none)    tools echo, add, fail, image, both, a.b, a_b, "a b", env, big, die, slow (answers 10
 * s later, with progress) noise     writes lines that are no messages all the time      silent
 * answers nothing exits     ends with code 3 and a word about it                huge     sends a
 * message of 20 MB ids       answers with ids that nobody asked for, first       twice    answers
 * everything twice cursors   its list of tools has no end                        schemas  tools
 * whose schemas cannot be offered, and one late      connects after 300 ms refuses  answers
 * initialize with an error
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "json/jw.h"

static const char *kind = "";

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

static void list_tools(struct str id)
{
    if (strcmp(kind, "cursors") == 0) {
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

static void call(struct str id, const struct json *params)
{
    struct str name = json_get_str(params, "name");
    const struct json *args = json_get(params, "arguments");

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
                 "progress\",\"params\":{\"progressToken\":%s,"
                 "\"progress\":1,\"total\":2}}",
                 id.ptr ? "1" : "0");
        put(buf_str(&line));
        if (poll(&in, 1, 10 * 1000) == 0) /* a cancelled call wants no answer */
            answer(id, "\"result\":{\"content\":[]}");
    } else if (str_is(name, "add")) {
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
    if (strcmp(kind, "silent") == 0 || !id.len || !method.len)
        return;
    if (strcmp(kind, "huge") == 0) {
        for (int i = 0; i < 20 << 10; i++)
            fprintf(stdout, "%s%01023d", i ? "" : "{", 0);
        putchar('\n');
        fflush(stdout);
    }
    if (strcmp(kind, "refuses") == 0)
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
    else if (str_is(method, "prompts/list"))
        answer(id, "\"result\":{\"prompts\":[{\"name\":\"greet\",\"description\":\"Greets\","
                   "\"arguments\":[{\"name\":\"name\",\"required\":true},{\"name\":\"about\"}]},"
                   "{\"name\":\"talk\"}]}");
    else if (str_is(method, "prompts/get"))
        get_prompt(id, json_get(m, "params"));
    else if (str_is(method, "resources/list"))
        answer(id, "\"result\":{\"resources\":[{\"uri\":\"test://manual\",\"name\":\"manual\"},{"
                   "\"uri\":\"test://logo\",\"name\":\"logo\",\"mimeType\":\"image/png\"}]}");
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
    if (strcmp(kind, "exits") == 0) {
        fputs("the database is missing\n", stderr);
        return 3;
    }
    if (strcmp(kind, "late") == 0)
        (void)poll(NULL, 0, 300);
    for (int i = 0; strcmp(kind, "noise") == 0 && i < 200; i++)
        puts("starting …");
    fflush(stdout);
    while ((n = getline(&line, &size, stdin)) > 0)
        take(str_trim(str_make(line, (size_t)n)));
    free(line);
    return 0;
}
