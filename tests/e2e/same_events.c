/*
 * same_events: one conversation of two calls with tools through all four dialects, over real
 * sockets. The events and the usage must be the same to the letter for all of them.
 *
 *     same_events FAKE
 *
 * The server is strict: a lost signature, an unanswered call or an id it did not give is a 400.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "llm/llm_call.h"
#include "llm/message.h"
#include "llm/provider.h"
#include "net/net.h"
#include "proc/proc.h"

static const char scenario[] = "chunk 3\n"
                               "step\n"
                               "  think Let me look around.\n"
                               "  text Two things at once: caf\xc3\xa9.\n"
                               "  call Bash {\"command\": \"ls -l\"}\n"
                               "  call Read {\"file_path\": \"a.c\", \"limit\": 10}\n"
                               "  usage input=120 output=41 cache_read=30 thinking=9\n"
                               "step\n"
                               "  if-result \"int main\"\n"
                               "  text All is well.\n"
                               "  usage input=80 output=6 cache_read=120\n";

static const char expected[] = "0 thinking [Let me look around.]\n"
                               "1 text [Two things at once: caf\xc3\xa9.]\n"
                               "2 tool_use Bash [{\"command\":\"ls -l\"}]\n"
                               "3 tool_use Read [{\"file_path\":\"a.c\",\"limit\":10}]\n"
                               "tool_use in=120 out=41 read=30 write=0\n"
                               "0 text [All is well.]\n"
                               "end_turn in=80 out=6 read=120 write=0\n";

static const struct llm_tool tools[] = {
    {STR_INIT("Bash"), STR_INIT("Runs a command."),
     STR_INIT("{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"}},"
              "\"required\":[\"command\"]}")},
    {STR_INIT("Read"), STR_INIT("Reads a file."),
     STR_INIT("{\"type\":\"object\",\"properties\":{\"file_path\":{\"type\":\"string\"},"
              "\"limit\":{\"type\":\"integer\"}},\"required\":[\"file_path\"]}")},
};

struct dialect_row {
    const char *name;
    const char *model;
    const char *base; /* of the variable, before the port */
    const char *tail;
    const char *key;
    const char *settings;
};

static const struct dialect_row rows[] = {
    {"anthropic", "anthropic/claude-sonnet-5", "ANTHROPIC_BASE_URL", "",
     "ANTHROPIC_API_KEY=sk-ant-e2e-0123456789", "{}"},
    {"openai-chat", "deepseek/deepseek-v4-pro", "DEEPSEEK_BASE_URL", "/v1",
     "DEEPSEEK_API_KEY=sk-e2e-0123456789", NULL},
    {"openai-responses", "openai/gpt-5", "OPENAI_BASE_URL", "/v1",
     "OPENAI_API_KEY=sk-e2e-0123456789",
     "{\"providers\":{\"openai\":{\"dialect\":\"openai-responses\"}}}"},
    {"gemini", "gemini/gemini-3-flash-preview", "GOOGLE_GEMINI_BASE_URL", "",
     "GEMINI_API_KEY=gm-e2e-0123456789", "{}"},
};

static const char *const kinds[] = {"text",        "thinking", "redacted", "tool_use",
                                    "tool_result", "image",    "document", "other"};

/* The same input however a vendor spaced it. */
static void add_compact(struct buf *out, struct str text, bool json)
{
    bool quoted = false;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"')
            quoted = !quoted;
        if (!json || quoted || text.ptr[i] != ' ')
            buf_addc(out, text.ptr[i]);
    }
}

static int write_event(const struct llm_event *ev, void *arg, struct err *err)
{
    struct buf *out = arg;

    (void)err;
    if (ev->kind == LLM_BLOCK_STOP) {
        bool call = ev->block->kind == BLOCK_TOOL_USE;

        buf_addf(out, "%zu %s", ev->index, kinds[ev->block->kind]);
        if (call)
            buf_addf(out, " %.*s", STR_ARG(ev->block->name));
        buf_adds(out, " [");
        add_compact(out, call ? ev->block->input : ev->block->text, call);
        buf_adds(out, "]\n");
    } else if (ev->kind == LLM_MESSAGE_DELTA) {
        buf_addf(out, "%s in=%lld out=%lld read=%lld write=%lld\n", llm_stop_name(ev->stop),
                 (long long)ev->usage.input, (long long)ev->usage.output,
                 (long long)ev->usage.cache_read, (long long)ev->usage.cache_write);
    } else if (ev->kind == LLM_RETRY) {
        buf_addf(out, "retry: %.*s\n", STR_ARG(ev->text));
    }
    return 0;
}

static struct message *results_for(const struct message *answer)
{
    struct message *m = message_new(ROLE_USER, answer->len);

    for (size_t i = 0; i < answer->len; i++) {
        struct block text = {.kind = BLOCK_TEXT, .text = STR("a.c\nint main(void)\n")};
        struct block result = {.kind = BLOCK_TOOL_RESULT,
                               .id = answer->blocks[i].id,
                               .name = answer->blocks[i].name,
                               .content = &text,
                               .content_len = 1};

        if (answer->blocks[i].kind == BLOCK_TOOL_USE)
            message_add(m, &result);
    }
    return m;
}

/* Two calls, the second with the results of the first. */
static int converse(struct net *net, struct provider *provider, struct buf *out, struct err *err)
{
    struct message *messages[3] = {message_user_text(STR("Look at a.c."))};
    struct llm_request request = {
        .model = &provider->model,
        .system = STR("Be brief."),
        .tools = tools,
        .tool_count = ARRAY_LEN(tools),
        .messages = messages,
        .message_count = 1,
        .show_thinking = true,
    };
    struct llm_call_options options = {.provider = provider};
    struct llm_call_result result = {0};
    int rc = llm_call_run(net, &options, &request, /*cancel=*/NULL, write_event, out, &result, err);

    if (rc == 0) {
        messages[1] = message_ref(result.message);
        messages[2] = results_for(result.message);
        request.message_count = 3;
        llm_call_result_release(&result);
        rc = llm_call_run(net, &options, &request, /*cancel=*/NULL, write_event, out, &result, err);
    }
    llm_call_result_release(&result);
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        message_unref(messages[i]);
    return rc;
}

/* A provider as a user would set it up: by environment and settings. */
static int run_row(const struct dialect_row *row, const char *dir, const char *port,
                   struct buf *out, struct err *err)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(provider_release) struct provider provider = {0};
    CLEANUP(buf_release) struct buf settings = BUF_INIT(4096);
    CLEANUP(mem_freep) char *file = path_join(dir, "settings.json");
    char *argv[] = {(char *)"tenax", (char *)"--settings", file, NULL};
    struct args args = {0};
    struct net_options options = {.proxy = ""};
    struct net *net;
    int rc;

    strv_addf(&env, "HOME=%s", dir);
    strv_addf(&env, "%s=http://127.0.0.1:%s%s", row->base, port, row->tail);
    strv_adds(&env, row->key);
    if (row->settings)
        buf_adds(&settings, row->settings);
    else
        buf_addf(&settings,
                 "{\"providers\":{\"deepseek\":{\"baseUrl\":\"http://127.0.0.1:%s/v1\"}}}", port);
    if (file_replace(file, buf_str(&settings), 0600, err) < 0 ||
        args_parse(3, argv, &args, err) < 0)
        return -1;
    rc = conf_load(
        &(struct conf_sources){
            .dir = dir, .environ = strv_get(&env), .args = &args, .etc = dir, .trusted = true},
        &conf, err);
    if (rc == 0)
        rc = provider_select(conf, str_of(row->model), /*cancel=*/NULL, &provider, err);
    net = rc == 0 ? net_new(&options, err) : NULL;
    if (net)
        rc = converse(net, &provider, out, err);
    net_free(net);
    args_release(&args);
    unlink(file);
    return net ? rc : -1;
}

static int start_server(const char *fake, const char *file, struct mailbox *mb, struct proc **ret,
                        char port[16], struct err *err)
{
    struct proc_spec spec = {
        .argv = (const char *const[]){fake, "--scenario", file, NULL},
        .merge_stderr = true,
    };
    CLEANUP(buf_release) struct buf said = BUF_INIT(4096);

    *ret = proc_start(&spec, mb, err);
    if (!*ret)
        return -1;
    for (;;) {
        struct mail *m;
        bool over;
        char *at;

        if (mailbox_take(mb, /*cancel=*/NULL, clock_mono_ms() + 60000, &m, err) < 0)
            return -1;
        over = ((struct proc_mail *)m)->what == PROC_EXIT;
        buf_add(&said, buf_str(&((struct proc_mail *)m)->bytes));
        mail_free(m);
        at = strstr(buf_cstr(&said), "LISTENING ");
        if (at && strchr(at, '\n') && sscanf(at, "LISTENING %15[0-9]", port) == 1)
            return 0;
        if (over)
            return err_set(err, ERR_IO, "the server ended: %s", buf_cstr(&said));
    }
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tenax-same-XXXXXX";
    CLEANUP(mem_freep) char *file = NULL;
    struct err err = {0};
    int failed = 0;

    if (argc != 2 || !mkdtemp(dir))
        return 2;
    file = path_join(dir, "scenario");
    if (file_replace(file, str_of(scenario), 0600, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(65536);
        struct mailbox *mb = mailbox_new();
        struct proc *server = NULL;
        char port[16];
        int rc = start_server(argv[1], file, mb, &server, port, &err);

        if (rc == 0)
            rc = run_row(&rows[i], dir, port, &out, &err);
        if (rc < 0) {
            printf("%s: %s\n", rows[i].name, err.text);
            failed++;
        }
        if (strcmp(buf_cstr(&out), expected) != 0) {
            printf("%s:\n%s--- expected\n%s", rows[i].name, buf_cstr(&out), expected);
            failed++;
        }
        proc_unref(server);
        mailbox_close(mb);
        mailbox_unref(mb);
    }
    unlink(file);
    rmdir(dir);
    proc_shutdown();
    return failed ? 1 : 0;
}
