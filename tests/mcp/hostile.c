/*
 * hostile: MCP servers that misbehave, one a row. Each must end as the row says, connected or with
 * a clear error, within its time, and leave no process behind.
 *
 *     hostile            runs all rows
 *     hostile ROW        only that one
 *     hostile serve ROW  is the server of that row
 *
 * What a server does is a script for each of the three requests it gets: lines to be written, in
 * which $ is the id of the request, and commands that begin with "!".
 */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "json/json.h"
#include "mcp/client.h"
#include "mcp/names.h"
#include "mcp/server_conf.h"
#include "proc/proc.h"

#define LONG_MS 60000  /* a busy machine has this long */
#define SHORT_MS 500   /* of rows that wait for a limit */
#define RELIST_MS 5000 /* the same, of a list that is read again */

#define R(result) "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":" result "}"
#define HELLO                                                                                      \
    R("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{"       \
      "\"name\":\"e\",\"version\":\"1\"}}")
#define TOOL "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}"
#define LIST R("{\"tools\":[" TOOL "]}")
#define FINE R("{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}")

#define CHANGED "{\"method\":\"notifications/tools/list_changed\"}"
#define NEWER                                                                                      \
    R("{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{"     \
      "\"tools\":{}}}")

struct row {
    const char *name;
    const char *hello, *list, *call; /* scripts; NULL: as a good server */
    const char *relist;              /* when the list is read again: the second time. NULL: as list.
                                      * From then on it has two tools, and that must be seen */
    const char *note;                /* a problem of its lists, for people */
    const char *probe;               /* of server/discover; NULL: it does not know that */
    const char *error;               /* it does not connect, and says this; NULL: it connects */
    const char *answer;              /* of the call, result or error; NULL: "fine" */
    int tools;                       /* that it has then; 0: one */
    bool is_short;                   /* it runs into a limit of time */
};

static const struct row rows[] = {
    {"good"},
    /* Never, or not yet. */
    {"silent from the start", .hello = "!hang", .error = "did not start within", .is_short = true},
    {"silent list", .list = "!hang", .error = "did not start within", .is_short = true},
    {"silent call", .call = "!hang", .answer = "no answer for", .is_short = true},
    {"progress for ever to another call", .call = "!chatter", .answer = "no answer for",
     .is_short = true},
    {"exits at once", .hello = "!exit", .error = "ended with exit code 7"},
    {"exits with the list", .list = "!exit", .error = "ended with exit code 7"},
    {"exits during the call", .call = "!exit", .answer = "may have taken effect"},
    {"is killed during the call", .call = "!kill", .answer = "may have taken effect"},
    {"closes its output and stays", .call = "!close\n!hang", .answer = "", .is_short = true},
    {"closes its input and stays", .call = "!deaf\n" FINE},
    {"half a message", .call = "!half\n!exit", .answer = "may have taken effect"},
    {"half a message and silence", .call = "!half\n!hang", .answer = "no answer for",
     .is_short = true},
    /* Lines. */
    {"an endless line", .hello = "!endless", .error = "longer than 16 MB"},
    {"an endless line during the call", .call = "!endless", .answer = "longer than 16 MB"},
    {"lines that are no messages", .hello = "!noise", .error = "no messages"},
    {"a few lines that are no messages", .hello = "warming up\n\n# ready\n" HELLO},
    {"lines with CR", .hello = HELLO "\r", .call = FINE "\r"},
    {"bytes that are no text", .hello = "\xff\xfe{\n{\xff}\n" HELLO},
    {"a NUL in a line", .call = "!nul\n" FINE},
    {"nesting without end", .call = "!deep\n" FINE},
    {"a message of many", .hello = "[" HELLO "]\n" HELLO},
    {"five megabytes to standard error", .hello = "!stderr\n" HELLO},
    /* Ids. */
    {"an answer to nothing first", .call = "{\"id\":77777,\"result\":{}}\n" FINE},
    {"an id that is text", .call = "{\"id\":\"$\",\"result\":{}}\n" FINE},
    {"an id that is null", .call = "{\"id\":null,\"result\":{}}\n" FINE},
    {"an id that is a list", .call = "{\"id\":[$],\"result\":{}}\n" FINE},
    {"an id below zero", .call = "{\"id\":-$,\"result\":{}}\n" FINE},
    {"an id without end", .call = "{\"id\":99999999999999999999999,\"result\":{}}\n" FINE},
    {"everything twice", .hello = HELLO "\n" HELLO, .list = LIST "\n" LIST, .call = FINE "\n" FINE},
    {"the list before it is asked for", .hello = HELLO "\n{\"id\":3,\"result\":{\"tools\":[]}}",
     .tools = -1},
    /* Answers. */
    {"an error for hello", .hello = "{\"id\":$,\"error\":{\"code\":1,\"message\":\"no\"}}",
     .error = "refuses to start: no"},
    {"an error for hello, then more",
     .hello = "{\"id\":$,\"error\":{\"code\":1,\"message\":\"no\"}}\n"
              "{\"id\":$,\"result\":{}}\n{\"method\":\"ping\",\"id\":9}",
     .error = "refuses to start: no"},
    {"an error with escapes", .hello = "{\"id\":$,\"error\":{\"message\":\"\\u001b[2Jno\"}}",
     .error = "no"},
    {"an error that is text", .hello = "{\"id\":$,\"error\":\"no\"}", .error = "refuses to start"},
    {"an unknown version", .hello = R("{\"protocolVersion\":\"1999-01-01\",\"capabilities\":{}}"),
     .error = "version that is not supported"},
    {"an unknown version, then more",
     .hello = R("{\"protocolVersion\":\"1999-01-01\",\"capabilities\":{}}") "\n" R(
         "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}"),
     .error = "version that is not supported"},
    {"a version that is a number", .hello = R("{\"protocolVersion\":7}"),
     .error = "version that is not supported"},
    {"hello without anything", .hello = R("{}"), .error = "version that is not supported"},
    {"hello that is a list", .hello = R("[]"), .error = "version that is not supported"},
    {"an error for the list",
     .list = "{\"id\":$,\"error\":{\"code\":-32603,\"message\":\"no \\u001b[2Jindex\"}}",
     .tools = -1, .note = "tools/list failed: no  [2Jindex"},
    {"a list that is none", .list = R("{\"tools\":{\"a\":1}}"), .tools = -1},
    {"tools that are none", .list = R("{\"tools\":[1,null,[],\"x\"," TOOL "]}")},
    {"pages without end", .list = R("{\"tools\":[],\"nextCursor\":\"more\"}"), .tools = -1},
    {"three thousand tools", .list = "!many", .tools = 2000,
     .note = "it lists 3000 tools; those after the first 2000 are left out"},
    {"a change before the list, which never comes", .hello = CHANGED "\n" HELLO, .list = "!hang",
     .error = "did not start within", .is_short = true},
    {"a second list that never comes", .relist = "!nothing", .call = CHANGED "\n" FINE},
    {"a second list that is an error", .relist = "{\"id\":$,\"error\":{\"message\":\"no\"}}",
     .call = CHANGED "\n" FINE},
    {"a cursor of a megabyte", .list = "!cursor", .note = "the cursor is too long"},
    {"a cursor of escapes", .list = "!escapes", .note = "too many pages", .tools = 200},
    {"a description of a megabyte", .list = "!wordy"},
    {"a schema without end", .list = "!schema"},
    {"a result that is text", .call = R("\"fine\""), .answer = "is no object"},
    {"no result at all", .call = "{\"id\":$}", .answer = "is no object"},
    {"result and error", .call = "{\"id\":$,\"result\":{},\"error\":{\"message\":\"both\"}}",
     .answer = "both"},
    {"an error without words", .call = "{\"id\":$,\"error\":{}}", .answer = ""},
    {"a result of ten megabytes", .call = "!large", .answer = "llllllll"},
    /* What it wants of us. */
    {"a model is asked for",
     .call = "{\"id\":1,\"method\":\"sampling/createMessage\",\"params\":{}}\n" FINE},
    {"a form is asked for",
     .call = "{\"id\":1,\"method\":\"elicitation/create\",\"params\":{}}\n" FINE},
    {"a thousand pings", .call = "!pings\n" FINE},
    {"an unknown method", .call = "{\"id\":{},\"method\":\"shell/run\"}\n" FINE},
    {"a thousand changes of the list", .call = "!changes\n" FINE},
    {"a cancellation of nothing",
     .call = "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n" FINE},
    {"strange notifications",
     .call = "{\"method\":\"notifications/progress\"}\n{\"method\":\"notifications/progress\","
             "\"params\":{\"progressToken\":{}}}\n{\"method\":\"\"}\n" FINE},
    /* The protocol without a handshake. */
    {"speaks the newer protocol", .probe = NEWER, .hello = "!exit"},
    {"a discovery that is a list", .probe = R("[]")},
    {"a discovery without an answer", .probe = "!nothing"},
    {"a discovery that ends it", .probe = "!exit"},
    {"a discovery of versions to come", .probe = R("{\"supportedVersions\":[\"2030-01-01\"]}")},
    {"only versions to come",
     .probe = "{\"id\":$,\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":["
              "\"2030-01-01\"]}}}",
     .error = "version that is not supported"},
    {"both protocols at once", .probe = NEWER "\n" HELLO},
    {"questions without end", .probe = NEWER,
     .call = R("{\"resultType\":\"input_required\",\"requestState\":\"s\"}"),
     .answer = "keeps asking"},
    {"a question that nobody can answer", .probe = NEWER,
     .call = R("{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":{\"method\":\"shell/"
               "run\"}}}"),
     .answer = "something that it does not get"},
    {"questions that are text", .probe = NEWER,
     .call = R("{\"resultType\":\"input_required\",\"inputRequests\":\"a\"}"),
     .answer = "keeps asking"},
    {"a question as a result of the older protocol",
     .call = R("{\"resultType\":\"input_required\",\"requestState\":\"s\"}"),
     .answer = "keeps asking"},
    {"a page before anything, again and again",
     .call =
         "{\"id\":$,\"error\":{\"code\":-32042,\"message\":\"a page\",\"data\":{\"elicitations\":["
         "{\"url\":\"x\"}]}}}",
     .answer = "a page"},
    /* Processes. */
    {"leaves a child behind", .hello = "!fork\n" HELLO},
    {"does not end when it is told to", .hello = "!stubborn\n" HELLO},
};

/* ---- The servers ---- */

static void put(const char *text, const char *id)
{
    for (; *text; text++) {
        if (*text == '$')
            fputs(id, stdout);
        else
            putchar(*text);
    }
    putchar('\n');
}

static void put_repeated(const char *before, const char *part, size_t n, const char *after,
                         const char *id)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&text, before);
    for (size_t i = 0; i < n; i++)
        buf_adds(&text, part);
    buf_adds(&text, after);
    put(buf_cstr(&text), id);
}

static void hang(void)
{
    fflush(stdout);
    for (;;)
        (void)pause();
}

static void do_fork(void)
{
    fflush(stdout);
    if (fork() == 0) {
        (void)setsid();
        hang();
    }
}

static void do_many(const char *id)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_adds(&text, "{\"id\":$,\"result\":{\"tools\":[");
    for (int i = 0; i < 3000; i++)
        buf_addf(&text, "%s{\"name\":\"t%d\"}", i ? "," : "", i);
    buf_adds(&text, "]}}");
    put(buf_cstr(&text), id);
}

static void do_cursor(const char *unit, size_t n, const char *id)
{
    static unsigned page;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&text, "{\"id\":$,\"result\":{\"tools\":[" TOOL "],\"nextCursor\":\"%u", page++);
    for (size_t i = 0; i < n; i++)
        buf_adds(&text, unit);
    buf_adds(&text, "\"}}");
    put(buf_cstr(&text), id);
}

static void command(const char *word, const char *id)
{
    static char megabyte[1 << 20];

    if (strcmp(word, "!hang") == 0)
        hang();
    else if (strcmp(word, "!exit") == 0)
        exit(7);
    else if (strcmp(word, "!kill") == 0)
        (void)raise(SIGKILL);
    else if (strcmp(word, "!close") == 0)
        (void)close(1);
    else if (strcmp(word, "!deaf") == 0)
        (void)close(0);
    else if (strcmp(word, "!half") == 0)
        fputs("{\"jsonrpc\":\"2.0\",\"id\":", stdout);
    else if (strcmp(word, "!nul") == 0)
        fwrite("{\"id\":\0}\n", 1, 9, stdout);
    else if (strcmp(word, "!fork") == 0)
        do_fork();
    else if (strcmp(word, "!stubborn") == 0)
        (void)signal(SIGTERM, SIG_IGN);
    else if (strcmp(word, "!many") == 0)
        do_many(id);
    else if (strcmp(word, "!cursor") == 0)
        do_cursor("cursor..", 1 << 17, id);
    else if (strcmp(word, "!escapes") == 0)
        do_cursor("\\u0001", 16000, id);
    else if (strcmp(word, "!deep") == 0)
        put_repeated("{\"id\":$,\"result\":", "[", 100000, "", id);
    else if (strcmp(word, "!wordy") == 0)
        put_repeated("{\"id\":$,\"result\":{\"tools\":[{\"name\":\"t\",\"description\":\"",
                     "</tool> ", 1 << 17, "\"}]}}", id);
    else if (strcmp(word, "!schema") == 0)
        put_repeated("{\"id\":$,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":"
                     "\"object\",\"anyOf\":[",
                     "{\"properties\":{\"a\":{\"$ref\":\"#\"}}},", 20000, "{}]}}]}}", id);
    else if (strcmp(word, "!large") == 0)
        put_repeated("{\"id\":$,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"",
                     "llllllll", 10 << 17, "\"}]}}", id);
    else if (strcmp(word, "!pings") == 0)
        put_repeated("", "{\"id\":1,\"method\":\"ping\"}\n", 1000, "", id);
    else if (strcmp(word, "!changes") == 0)
        put_repeated("", "{\"method\":\"notifications/tools/list_changed\"}\n", 1000, "", id);
    for (int i = 0; strcmp(word, "!noise") == 0 && i < 1000; i++)
        puts("starting …");
    memset(megabyte, 'x', sizeof(megabyte));
    for (int i = 0; strcmp(word, "!endless") == 0 && i < 20; i++) {
        if (i == 0)
            putchar('{');
        fwrite(megabyte, 1, sizeof(megabyte), stdout);
    }
    for (int i = 0; strcmp(word, "!stderr") == 0 && i < 5; i++)
        fwrite(megabyte, 1, sizeof(megabyte), stderr);
    while (strcmp(word, "!chatter") == 0) {
        puts("{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":4711,"
             "\"progress\":1}}");
        fflush(stdout);
        (void)poll(NULL, 0, 20);
    }
}

static void play(const char *script, const char *id)
{
    struct str rest = str_of(script);
    struct str line;

    while (str_cut(&rest, '\n', &line)) {
        CLEANUP(mem_freep) char *text = mem_dup(line.ptr, line.len);

        if (text[0] == '!')
            command(text, id);
        else
            put(text, id);
    }
    fflush(stdout);
}

static int serve(const struct row *row)
{
    char *line = NULL;
    size_t size = 0;
    int lists = 0;
    ssize_t n;

    while ((n = getline(&line, &size, stdin)) > 0) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf id = BUF_INIT(100);
        const struct json *m = NULL;
        struct str method;

        if (json_parse(&arena, str_trim(str_make(line, (size_t)n)), &m, NULL, NULL) < 0 ||
            !json_get(m, "id") || !json_get(m, "method"))
            continue;
        buf_add(&id, json_raw(json_get(m, "id")));
        method = json_get_str(m, "method");
        if (str_is(method, "server/discover") && row->probe)
            play(row->probe, buf_cstr(&id));
        else if (str_is(method, "initialize"))
            play(row->hello ? row->hello : HELLO, buf_cstr(&id));
        else if (str_is(method, "tools/list") && row->relist && lists++)
            play(lists == 2 ? row->relist : R("{\"tools\":[" TOOL ",{\"name\":\"u\"}]}"),
                 buf_cstr(&id));
        else if (str_is(method, "tools/list"))
            play(row->list ? row->list : LIST, buf_cstr(&id));
        else if (str_is(method, "tools/call"))
            play(row->call ? row->call : FINE, buf_cstr(&id));
        else
            play("{\"id\":$,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}", buf_cstr(&id));
    }
    free(line);
    while (row->hello && strstr(row->hello, "!stubborn"))
        (void)pause();
    return 0;
}

/* ---- The rows ---- */

static int failures;

static void fail(const struct row *row, const char *what, const char *text)
{
    fprintf(stderr, "%s: %s: %.300s\n", row->name, what, text);
    failures++;
}

static void check_call(const struct row *row, struct mcp_client *c)
{
    CLEANUP(buf_release) struct buf answer = BUF_INIT(32 << 20);
    const char *want = row->answer ? row->answer : "fine";
    struct mcp_request request = {.method = "tools/call",
                                  .params = STR("{\"name\":\"t\"}"),
                                  .timeout_ms = row->is_short ? SHORT_MS : LONG_MS};
    struct err err = {0};
    const char *got;

    if (mcp_client_call(c, &request, /*cancel=*/NULL, &answer, &err) < 0)
        got = err.text;
    else
        got = buf_cstr(&answer);
    if (!strstr(got, want))
        fail(row, "its call gave", got);
}

/* Each call says that the list has changed: what was wrong with one answer is over with the next.
 */
static void check_relist(const struct row *row, struct mcp_client *c)
{
    int64_t until_ms = clock_mono_ms() + 2 * LONG_MS;
    size_t tools = 0;

    while (tools != 2 && clock_mono_ms() < until_ms) {
        struct mcp_look look;

        check_call(row, c);
        mcp_client_look(c, &look);
        tools = look.lists->tools.len;
        mcp_lists_unref(look.lists);
        (void)poll(NULL, 0, 400); /* it is read when no change has come for a while */
    }
    if (tools != 2)
        fail(row, "its list was not read again", "");
}

static int64_t cpu_ms(void)
{
    struct rusage used;

    (void)getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

static void check_notes(const struct row *row, const struct mcp_lists *l)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);

    mcp_lists_problems(l, &notes);
    for (size_t i = 0; i < notes.len; i++)
        buf_addf(&all, "%s\n", notes.ptr[i]);
    if (row->note ? !str_has(buf_str(&all), str_of(row->note)) : all.len && !row->tools)
        fail(row, "its lists have the notes", buf_cstr(&all));
}

static void check_row(const struct row *row)
{
    char name[] = "evil";
    struct mcp_server server = {.name = name, .type = MCP_STDIO, .inherits = true};
    struct mcp_client_spec spec = {.server = &server, .dir = "/", .env = environ};
    int want_tools = row->tools ? row->tools : 1;
    struct mcp_client *c;
    struct mcp_look look;
    struct err err = {0};
    int64_t cpu_before;
    bool is_up;

    server.start_ms = row->relist ? RELIST_MS : row->is_short && row->error ? SHORT_MS : LONG_MS;
    cpu_before = cpu_ms();
    strv_adds(&server.argv, "/proc/self/exe");
    strv_adds(&server.argv, "serve");
    strv_adds(&server.argv, row->name);
    c = mcp_client_new(&spec, &err);
    if (!c) {
        fail(row, "no client", err.text);
        return;
    }
    is_up = mcp_client_wait(c, 2 * LONG_MS, /*cancel=*/NULL, &err) == 0;
    if (row->list && strcmp(row->list, "!hang") == 0 && cpu_ms() - cpu_before > SHORT_MS / 2)
        fail(row, "it did not sleep while it waited", "");
    mcp_client_look(c, &look);
    if (is_up != !row->error)
        fail(row, is_up ? "it connected" : "it did not connect", err.text);
    else if (!is_up && (!strstr(err.text, row->error) || strpbrk(err.text, "\x1b\n\r")))
        fail(row, "its error is", err.text);
    if (is_up && (int)look.lists->tools.len != (want_tools < 0 ? 0 : want_tools))
        fail(row, "its tools are not as many", "");
    if (is_up)
        check_notes(row, look.lists);
    mcp_lists_unref(look.lists);
    if (is_up && !row->error)
        check_call(row, c);
    if (is_up && row->relist)
        check_relist(row, c);
    mcp_client_free(c);
    strv_release(&server.argv);
}

/* Whatever a server calls its tools, none has the name of one of ours, and no two have the same. */
static void check_names(void)
{
    static const char *const odd[] = {"Bash",      "Read",
                                      "Agent",     "mcp__other__tool",
                                      "Ba sh",     "Ba.sh",
                                      "Ba_sh",     "../../etc/passwd",
                                      "Bash\n",    "\x1b[2JRead",
                                      "Čau",       "读",
                                      "__proto__", "",
                                      "_",         "SearchExtraTools"};
    struct mcp_named names[2 * ARRAY_LEN(odd)] = {{{0}}};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        names[i].server = i % 2 ? STR("Bash") : STR("my server");
        names[i].tool = str_of(odd[i / 2]);
    }
    mcp_names_make(names, ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *name = names[i].name;
        struct row row = {name};

        if (strncmp(name, "mcp__", 5) != 0)
            fail(&row, "a name like one of ours", odd[i / 2]);
        for (const char *p = name; *p; p++) {
            if (!str_is_alnum(*p) && *p != '_' && *p != '-')
                fail(&row, "a character that no name has", odd[i / 2]);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(name, names[k].name) == 0)
                fail(&row, "two tools have this name", odd[i / 2]);
        }
    }
}

/* Servers of ours that are still there. */
static int left_behind(void)
{
    CLEANUP(mem_freep) char *self = path_real("/proc/self/exe");
    DIR *proc = opendir("/proc");
    struct dirent *d;
    int count = 0;

    while (proc && (d = readdir(proc))) {
        CLEANUP(buf_release) struct buf link = BUF_INIT(1000);
        char target[4096];
        int64_t pid;
        ssize_t n;

        buf_addf(&link, "/proc/%s/exe", d->d_name);
        n = readlink(buf_cstr(&link), target, sizeof(target));
        if (str_to_i64(str_of(d->d_name), &pid, NULL) == 0 && pid != getpid() && n > 0 &&
            str_is(str_make(target, (size_t)n), self))
            count++;
    }
    if (proc)
        closedir(proc);
    return count;
}

static void check_left(void)
{
    static const struct row all = {"all of them"};
    int64_t until_ms = clock_mono_ms() + LONG_MS;

    while (left_behind() && clock_mono_ms() < until_ms)
        (void)poll(NULL, 0, 50);
    if (left_behind())
        fail(&all, "a process was left behind", "");
}

int main(int argc, char **argv)
{
    bool serves = argc > 2 && strcmp(argv[1], "serve") == 0;
    const char *only = serves ? argv[2] : argc > 1 ? argv[1] : NULL;
    size_t done = 0;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (only && strcmp(only, rows[i].name) != 0)
            continue;
        if (serves)
            return serve(&rows[i]);
        check_row(&rows[i]);
        done++;
    }
    if (!only)
        check_names();
    proc_shutdown();
    if (!only)
        check_left();
    printf("%zu rows, %d failures\n", done, failures);
    return failures || !done ? 1 : 0;
}
