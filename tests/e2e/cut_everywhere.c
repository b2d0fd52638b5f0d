/*
 * cut_everywhere: an answer cut after each of its bytes, in every dialect, over real sockets. Every
 * call must end with the whole answer, heard once.
 *
 *     cut_everywhere FAKE
 *
 * The scenario has a step per byte, each with its fault; a server plays STEPS of them, then the
 * next one starts. A dialect is done when the cuts lie beyond the end of the answer.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "llm/dialect/dialect.h"
#include "llm/dialect/heard_check.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "net/net.h"
#include "net/retry.h"
#include "proc/proc.h"

#define STEPS 1000 /* a scenario holds 1024 */
#define UNCUT 100  /* so many whole answers in a row: the end is passed */
#define LEAST 1000 /* bytes an answer should have for this to mean something */
#define MOST 20000

static const char answer[] = "  think Somebody wants to see what happens to a stream that is cut.\n"
                             "  text Caf\xc3\xa9, na\xc3\xafve, \xe4\xb8\x96\xe7\x95\x8c: every "
                             "byte of this may be the last one that arrives.\n"
                             "  call Bash {\"command\": \"ls -l \\\"a file\\\"\"}\n";
static const char words[] = "Caf\xc3\xa9, na\xc3\xafve, \xe4\xb8\x96\xe7\x95\x8c: every byte of "
                            "this may be the last one that arrives.";

static const struct row {
    const char *dialect;
    const char *provider;
    const char *model;
    const char *tail;
} rows[] = {
    {"anthropic", "anthropic", "claude-sonnet-5", ""},
    {"openai-chat", "deepseek", "deepseek-v4-pro", "/v1"},
    {"openai-responses", "openai", "gpt-5", "/v1"},
    {"gemini", "gemini", "gemini-3-flash-preview", ""},
};

static int check(const struct llm_call_result *result, const struct heard_check *h, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(65536);

    message_text(result->message, &text);
    if (strcmp(buf_cstr(&text), words) != 0)
        return err_set(err, ERR_PROTOCOL, "the message says '%s'", buf_cstr(&text));
    if (strcmp(buf_cstr(&h->text), words) != 0)
        return err_set(err, ERR_PROTOCOL, "the listener heard '%s'", buf_cstr(&h->text));
    if (message_count(result->message, BLOCK_TOOL_USE) != 1 || result->stop != STOP_TOOL_USE)
        return err_set(err, ERR_PROTOCOL, "the call is not there");
    return 0;
}

/* One call; *ret_attempts says how many attempts it took. */
static int call(struct net *net, struct provider *provider, int *ret_attempts, struct err *err)
{
    static const struct retry_policy quick = {
        .max_tries = 3, .first_ms = 1, .cap_ms = 1, .asked_cap_ms = 1};
    struct message *message = message_user_text(STR("hi"));
    struct llm_request request = {
        .model = &provider->model, .messages = &message, .message_count = 1, .show_thinking = true};
    struct llm_call_options options = {.provider = provider, .retry = &quick};
    struct llm_call_result result = {0};
    struct heard_check h = {.text = BUF_INIT(65536)};
    int rc =
        llm_call_run(net, &options, &request, /*cancel=*/NULL, heard_check_fn, &h, &result, err);

    if (rc == 0)
        rc = check(&result, &h, err);
    *ret_attempts = result.attempts;
    llm_call_result_release(&result);
    message_unref(message);
    buf_release(&h.text);
    return rc;
}

static int write_scenario(const char *file, int first, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);

    buf_adds(&text, "chunk 64\n");
    for (int at = first; at < first + STEPS; at++)
        buf_addf(&text, "step\n  fault %s %d\n%s", at % 3 ? "cut" : "reset", at, answer);
    if (buf_check(&text, err) < 0)
        return -1;
    return file_replace(file, buf_str(&text), 0600, err);
}

static int start_server(const char *fake, const char *file, struct mailbox *mb, struct proc **ret,
                        char port[16], struct err *err)
{
    struct proc_spec spec = {.argv = (const char *const[]){fake, "--scenario", file, NULL}};
    CLEANUP(buf_release) struct buf said = BUF_INIT(4096);
    bool over = false;

    *ret = proc_start(&spec, mb, err);
    while (*ret && !over) {
        struct mail *m;

        if (mailbox_take(mb, /*cancel=*/NULL, clock_mono_ms() + 60000, &m, err) < 0)
            return -1;
        over = ((struct proc_mail *)m)->what == PROC_EXIT;
        buf_add(&said, buf_str(&((struct proc_mail *)m)->bytes));
        mail_free(m);
        if (strchr(buf_cstr(&said), '\n') &&
            sscanf(buf_cstr(&said), "LISTENING %15[0-9]", port) == 1)
            return 0;
    }
    return *ret ? err_set(err, ERR_IO, "the server ended: %s", buf_cstr(&said)) : -1;
}

/* Cuts at `first` and the STEPS - 1 bytes after it; *uncut counts whole answers in a row. */
static int run_steps(struct net *net, const struct row *row, const char *port, int first,
                     int *uncut, int *last, struct err *err)
{
    CLEANUP(provider_release)
    struct provider provider = {.dialect = dialect_find(str_of(row->dialect)), .source = KEY_ENV};
    CLEANUP(buf_release) struct buf url = BUF_INIT(100);

    buf_addf(&url, "http://127.0.0.1:%s%s", port, row->tail);
    provider.name = mem_dup(row->provider, strlen(row->provider));
    provider.base_url = buf_take(&url);
    provider.key = mem_dup("sk-0123456789", 13);
    model_find(str_of(provider.name), str_of(row->model), &provider.model);
    for (int at = first; at < first + STEPS && *uncut < UNCUT; at++) {
        int attempts;

        if (call(net, &provider, &attempts, err) < 0)
            return err_prefix(err, "cut at byte %d", at);
        *uncut = attempts == 1 ? *uncut + 1 : 0;
        *last = attempts == 1 ? *last : at;
    }
    return 0;
}

static int run_row(struct net *net, const struct row *row, const char *fake, const char *file,
                   struct err *err)
{
    int64_t start_ms = clock_mono_ms();
    int first = 1;
    int uncut = 0;
    int last = 0; /* the last place where a cut mattered */
    int rc = 0;

    for (; rc == 0 && uncut < UNCUT && first < MOST; first += STEPS) {
        struct mailbox *mb = mailbox_new();
        struct proc *server = NULL;
        char port[16];

        rc = write_scenario(file, first, err);
        if (rc == 0)
            rc = start_server(fake, file, mb, &server, port, err);
        if (rc == 0)
            rc = run_steps(net, row, port, first, &uncut, &last, err);
        proc_unref(server);
        mailbox_close(mb);
        mailbox_unref(mb);
    }
    if (rc < 0)
        return -1;
    if (last < LEAST || uncut < UNCUT)
        return err_set(err, ERR_BAD_INPUT, "the answer is too short or too long for this test");
    printf("%s: whole, wherever it was cut, up to byte %d (%.1f s)\n", row->dialect, last,
           (double)(clock_mono_ms() - start_ms) / 1000);
    return 0;
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tenax-cut-XXXXXX";
    CLEANUP(mem_freep) char *file = NULL;
    struct err err = {0};
    struct net *net = net_new(&(struct net_options){.proxy = ""}, &err);
    int failed = 0;

    if (argc != 2 || !net || !mkdtemp(dir))
        return 2;
    file = path_join(dir, "scenario");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (run_row(net, &rows[i], argv[1], file, &err) < 0) {
            printf("%s: %s\n", rows[i].dialect, err.text);
            failed++;
        }
    }
    unlink(file);
    rmdir(dir);
    net_free(net);
    proc_shutdown();
    return failed ? 1 : 0;
}
