/*
 * What an MCP server answers, line by line: each request of a client gets the next line, in which $
 * is the id of that request. The client ends connected or with a reason, whatever they hold, and is
 * gone when it is freed. After a first line "modern" it begins with the protocol that has no
 * handshake, and calls a tool, whose result may be questions.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "fuzz.h"
#include "mcp/client.h"
#include "mcp/sdk_link.h"
#include "mcp/server_conf.h"
#include "sync/mailbox.h"

struct script {
    struct sdk_link link;
    struct str rest; /* touched by the client's thread alone */
};

static void script_open(struct sdk_link *self, const char *server, struct mailbox *to)
{
    (void)self;
    (void)server;
    (void)to;
}

static void script_close(struct sdk_link *self, struct mailbox *to)
{
    (void)self;
    (void)to;
}

static int script_send(struct sdk_link *self, const char *server, struct str message, int64_t id,
                       struct mailbox *to, struct err *err)
{
    struct script *s = (struct script *)self;
    struct sdk_mail *m;
    struct str line;

    (void)server;
    (void)message;
    (void)err;
    if (!id)
        return 0;
    m = sdk_mail_new(id);
    if (!s->rest.len || !str_cut(&s->rest, '\n', &line)) {
        err_set(&m->err, ERR_NETWORK, "there is no more");
    } else {
        for (size_t i = 0; i < line.len; i++) {
            if (line.ptr[i] == '$')
                buf_addi(&m->json, id);
            else
                buf_addc(&m->json, line.ptr[i]);
        }
        if (!str_has(line, STR("$"))) { /* an answer to something else: and then none */
            struct sdk_mail *none = sdk_mail_new(id);

            mailbox_send(to, &m->mail);
            err_set(&none->err, ERR_NETWORK, "there is no answer");
            m = none;
        }
    }
    mailbox_send(to, &m->mail);
    return 0;
}

/* The file that says which protocol the server spoke the last time: it can be read alone. */
static const char *modern_cache(void)
{
    static char path[40];
    char text[200];
    int fd;

    if (path[0])
        return path;
    fd = memfd_create("cache", MFD_CLOEXEC);
    snprintf(text, sizeof(text), "{\"at\":%" PRId64 ",\"era\":\"modern\"}", clock_wall_ms());
    FUZZ_CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

static int answer_all(void *arg, const char *server, struct str method, const struct json *params,
                      struct cancel *cancel, struct buf *ret, struct err *err)
{
    (void)arg;
    (void)server;
    (void)method;
    (void)params;
    (void)cancel;
    (void)err;
    buf_adds(ret, "{\"action\":\"accept\"}");
    return 0;
}

static void call(struct mcp_client *c)
{
    CLEANUP(buf_release) struct buf answer = BUF_INIT(1 << 20);
    struct mcp_request request = {
        .method = "tools/call", .params = STR("{\"name\":\"t\"}"), .timeout_ms = 100};
    struct err err = {0};

    if (mcp_client_call(c, &request, /*cancel=*/NULL, &answer, &err) < 0)
        FUZZ_CHECK(err.text[0]);
    else
        FUZZ_CHECK(answer.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script s = {.link = {script_open, script_close, script_send},
                       .rest = str_make((const char *)data, size)};
    char name[] = "fuzz";
    struct mcp_server server = {.name = name, .type = MCP_SDK, .start_ms = 100};
    struct mcp_client_spec spec = {.server = &server, .dir = "/", .link = &s.link};
    bool is_modern = str_starts(s.rest, STR("modern\n"));
    struct mcp_client *c;
    struct mcp_look look;
    struct err err = {0};

    if (is_modern) {
        s.rest = str_from(s.rest, 7);
        spec.cache = modern_cache();
        spec.ask = answer_all;
    }
    c = mcp_client_new(&spec, NULL);
    FUZZ_CHECK(c);
    if (mcp_client_wait(c, 60000, /*cancel=*/NULL, &err) < 0)
        FUZZ_CHECK(err.text[0]);
    mcp_client_look(c, &look);
    FUZZ_CHECK((look.state == MCP_CONNECTED) == !look.error[0]);
    FUZZ_CHECK(look.state != MCP_CONNECTED || look.lists);
    mcp_lists_unref(look.lists);
    if (is_modern && look.state == MCP_CONNECTED)
        call(c);
    mcp_client_free(c);
    return 0;
}
