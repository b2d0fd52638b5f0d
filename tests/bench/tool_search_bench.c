/*
 * tool_search_bench: what a thousand deferred tools cost.
 *
 *     tool_search_bench [TOOLS]
 *
 * A toolbox with so many (1000) tools of servers beside our own: making it, its index, a query, a
 * suggestion for a prompt, and the bytes of tools in a request with and without them. Nothing here
 * passes or fails.
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/extra.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "bench/bench.h"
#include "llm/dialect/dialect.h"
#include "llm/provider.h"
#include "tools/tools.h"

#define ROUNDS 200

static const char *const verbs[] = {"create", "list", "delete", "update", "search",
                                    "send",   "read", "export", "merge",  "close"};
static const char *const nouns[] = {"issue",  "message", "channel",  "document", "invoice",
                                    "branch", "event",   "customer", "report",   "pipeline"};
static const char *const services[] = {"tracker", "chat",  "drive",  "billing", "git",
                                       "mail",    "cloud", "design", "metrics", "crm"};

static struct provider provider = {.name = (char *)"anthropic", .dialect = &dialect_anthropic};

static double ms_since(int64_t start_us, int rounds)
{
    return (double)(clock_mono_us() - start_us) / 1e3 / rounds;
}

int main(int argc, char **argv)
{
    int64_t wanted = 1000;
    size_t count =
        argc > 1 && str_to_i64(str_of(argv[1]), &wanted, NULL) < 0 ? 1000 : (size_t)wanted;
    struct arena arena = ARENA_INIT;
    struct tool_entry *rows = arena_zalloc(&arena, count * sizeof(*rows));
    struct toolbox_spec spec = {.table = tools_table(),
                                .more = rows,
                                .more_count = count,
                                .defers = true,
                                .provider = &provider};
    const struct word_weights usual = {0.4, 0.6, 0.1};
    struct word_hit hits[5];
    struct toolbox *box = NULL, *all = NULL;
    struct err err = {0};
    int64_t start;
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        const char *verb = verbs[i % 10], *noun = nouns[i / 10 % 10],
                   *service = services[i / 100 % 10];

        buf_addf(&name, "mcp__%s__%s_%s_%zu", service, verb, noun, i);
        buf_addf(&text,
                 "%s a %s in the %s of the workspace. Takes the identifier of the %s and returns "
                 "what was changed, with a link to it. Fails when the %s does not exist or the "
                 "account has no access to project %zu.",
                 verb, noun, service, noun, noun, i);
        rows[i] = (struct tool_entry){
            .name = arena_cstr(&arena, buf_str(&name)),
            .text = arena_cstr(&arena, buf_str(&text)),
            .schema = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},"
                      "\"title\":{\"type\":\"string\",\"description\":\"What it is called\"}},"
                      "\"required\":[\"id\"]}",
            .server = service,
            .flags = TOOL_DEFERRED,
        };
    }
    start = clock_mono_us();
    if (toolbox_new(&spec, &box, &err) < 0)
        bench_die("toolbox", err.text);
    printf("%zu tools: toolbox %.2f ms", count, ms_since(start, 1));
    start = clock_mono_us();
    (void)toolbox_index(box);
    printf(", index %.2f ms", ms_since(start, 1));
    start = clock_mono_us();
    for (int i = 0; i < ROUNDS; i++)
        found += word_index_find(toolbox_index(box), STR("send a message to the chat channel"),
                                 STR(""), &usual, hits, 5, NULL);
    printf(", query %.3f ms", ms_since(start, ROUNDS));
    start = clock_mono_us();
    for (int i = 0; i < ROUNDS; i++)
        found += word_index_suggest(
            toolbox_index(box),
            STR("please look at the failing pipeline of project 77, then tell the billing people "
                "in the chat what the customer should do about the invoice"),
            &usual, hits, 3);
    printf(", suggestion %.3f ms (%zu found)\n", ms_since(start, ROUNDS), found);
    spec.defers = false;
    if (toolbox_new(&spec, &all, &err) < 0)
        bench_die("toolbox", err.text);
    printf("bytes of tools in a request: %zu deferred, %zu with all of them\n", toolbox_bytes(box),
           toolbox_bytes(all));
    toolbox_unref(box);
    toolbox_unref(all);
    arena_release(&arena);
    return 0;
}
