/*
 * cancels FAKE_MCP: what waits for an MCP server stops when it is cancelled, wherever it waits: for
 * the connection, for the list, for the answer of a call. The server is notified of a cancelled
 * call, whose progress was shown before.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "mcp/client.h"
#include "mcp/server_conf.h"
#include "proc/proc.h"
#include "sync/cancel.h"
#include "sync/thread.h"

#define PROMPT_MS 200    /* within this time a cancelled wait is over */
#define LONGEST_MS 20000 /* the same on a machine that does other things, too */
#define ROUNDS 10        /* one of them has to be prompt */

struct row {
    const char *name, *kind;
    bool calls; /* the call is under way when it is cancelled, else it waits for the server */
    bool waits; /* for the server alone */
};

static const struct row rows[] = {
    {"while it connects", "silent"},
    {"while it is waited for", "silent", .waits = true},
    {"while it lists its tools", "mutelist"},
    {"while it works", "", .calls = true},
};

static int failures;

static void fail(const struct row *row, const char *what, const char *text)
{
    fprintf(stderr, "%s: %s: %.500s\n", row->name, what, text);
    failures++;
}

/* A wait of another thread. */
struct wait {
    const struct row *row;
    struct mcp_client *client;
    struct cancel *cancel;
    struct gate gate;
    bool is_running; /* for row->calls: its progress was shown */
    struct buf progress;
    struct err err;
    int result;
    int64_t over_ms;
};

static void on_progress(void *arg, struct str text)
{
    struct wait *w = arg;

    gate_take(&w->gate);
    buf_add(&w->progress, text);
    w->is_running = true;
    gate_wake(&w->gate);
    gate_give(&w->gate);
}

static void wait_run(void *arg)
{
    struct wait *w = arg;
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
    struct mcp_request request = {.method = "tools/call",
                                  .params = STR("{\"name\":\"slow\",\"arguments\":{}}"),
                                  .progress = on_progress,
                                  .arg = w};

    w->result = w->row->waits ? mcp_client_wait(w->client, LONGEST_MS * 10, w->cancel, &w->err)
                              : mcp_client_call(w->client, &request, w->cancel, &answer, &w->err);
    w->over_ms = clock_mono_ms();
}

static void await_progress(struct wait *w)
{
    int64_t until_ms = clock_mono_ms() + LONGEST_MS;

    gate_take(&w->gate);
    while (!w->is_running && clock_mono_ms() < until_ms)
        (void)gate_wait(&w->gate, until_ms);
    gate_give(&w->gate);
}

/* The server writes what it is told to its standard error, which is the log. */
static void check_told(const struct row *row, const char *log)
{
    int64_t until_ms = clock_mono_ms() + LONGEST_MS;
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

    do {
        buf_clear(&text);
        (void)file_slurp(log, 1 << 20, &text, NULL);
        if (str_has(buf_str(&text), STR("cancelled")))
            return;
        (void)poll(NULL, 0, 10);
    } while (clock_mono_ms() < until_ms);
    fail(row, "the server was not told", buf_cstr(&text));
}

/* How long the wait went on after it was cancelled. */
static int64_t play(const struct row *row, const char *fake, const char *log)
{
    char name[] = "slow";
    struct mcp_server server = {
        .name = name, .type = MCP_STDIO, .inherits = true, .start_ms = LONGEST_MS * 10};
    struct mcp_client_spec spec = {.server = &server, .dir = "/", .env = environ, .log = log};
    struct wait w = {
        .row = row, .cancel = cancel_new(NULL), .progress = BUF_INIT(4096), .err = {0}};
    struct thread *thread;
    int64_t begun_ms;

    (void)unlink(log);
    gate_init(&w.gate);
    strv_adds(&server.argv, fake);
    strv_adds(&server.argv, row->kind);
    w.client = mcp_client_new(&spec, &w.err);
    thread = w.client ? thread_start("wait", wait_run, &w, &w.err) : NULL;
    if (!thread) {
        fail(row, "it cannot start", w.err.text);
        return 0;
    }
    if (row->calls)
        await_progress(&w);
    begun_ms = clock_mono_ms();
    cancel_set(w.cancel);
    thread_join(thread);
    if (w.result == 0 || w.err.code != ERR_CANCELLED)
        fail(row, "it ended with", w.err.text);
    if (row->calls && !str_is(buf_str(&w.progress), "1/2"))
        fail(row, "its progress was", buf_cstr(&w.progress));
    if (row->calls)
        check_told(row, log);
    mcp_client_free(w.client);
    strv_release(&server.argv);
    buf_release(&w.progress);
    gate_release(&w.gate);
    cancel_unref(w.cancel);
    return w.over_ms - begun_ms;
}

int main(int argc, char **argv)
{
    char log[] = "/tmp/cancels-XXXXXX";
    CLEANUP(mem_freep) char *fake = argc > 1 ? path_real(argv[1]) : NULL;
    int fd = mkstemp(log);

    if (!fake || fd < 0)
        return 2;
    close(fd);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t best_ms = LONGEST_MS;

        for (int n = 0; n < ROUNDS && best_ms > PROMPT_MS; n++) {
            int64_t ms = play(&rows[i], fake, log);

            if (ms > LONGEST_MS)
                fail(&rows[i], "it went on", "for too long");
            best_ms = ms < best_ms ? ms : best_ms;
        }
        printf("%s: %d ms\n", rows[i].name, (int)best_ms);
        if (best_ms > PROMPT_MS)
            fail(&rows[i], "it is not prompt", "");
    }
    proc_shutdown();
    (void)unlink(log);
    return failures ? 1 : 0;
}
