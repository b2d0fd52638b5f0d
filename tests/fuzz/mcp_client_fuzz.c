/*
 * What an MCP server answers, line by line: each request of a client gets the next line, in which $
 * is the id of that request. The client ends connected or with a reason, whatever they hold, and is
 * gone when it is freed.
 */
#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script s = {.link = {script_open, script_close, script_send},
                       .rest = str_make((const char *)data, size)};
    char name[] = "fuzz";
    struct mcp_server server = {.name = name, .type = MCP_SDK, .start_ms = 100};
    struct mcp_client_spec spec = {.server = &server, .dir = "/", .link = &s.link};
    struct mcp_client *c = mcp_client_new(&spec, NULL);
    struct mcp_look look;
    struct err err = {0};

    FUZZ_CHECK(c);
    if (mcp_client_wait(c, 60000, /*cancel=*/NULL, &err) < 0)
        FUZZ_CHECK(err.text[0]);
    mcp_client_look(c, &look);
    FUZZ_CHECK((look.state == MCP_CONNECTED) == !look.error[0]);
    FUZZ_CHECK(look.state != MCP_CONNECTED || look.lists);
    mcp_lists_unref(look.lists);
    mcp_client_free(c);
    return 0;
}
