/*
 * mcp login, logout: a browser is started for the user, who logs in there. The browser is not
 * waited for, and may outlive us.
 */
#include "cmd/mcp_login.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "mcp/client.h"
#include "mcp/oauth.h"
#include "mcp/reach.h"
#include "mcp/server_conf.h"
#include "mcp/token.h"
#include "net/net.h"
#include "proc/foreground.h"
#include "sync/thread.h"

static struct {
    struct net *net;
    const struct conf *conf;
} with;

void mcp_login_use(struct net *net, const struct conf *conf)
{
    with.net = net;
    with.conf = conf;
}

/* ---- The browser ---- */

struct browser {
    struct strv argv;
};

static void browser_run(void *arg)
{
    struct browser *b = arg;
    CLEANUP(fd_closep) int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct foreground f = {
        .argv = (const char *const *)strv_get(&b->argv), .envp = environ, .input = nothing};
    int code;

    if (nothing > 0)
        (void)foreground_run(&f, &code, NULL); /* the address was printed, too */
    strv_release(&b->argv);
    mem_freep(&b);
}

static int open_browser(void *arg, const char *url, struct err *err)
{
    struct cmd *c = arg;
    const char *said = conf_env(with.conf, "BROWSER");
    struct str rest = str_of(said && *said ? said : "xdg-open");
    struct str word;
    struct browser *b;
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);

    buf_addf(&text, "Log in at this address:\n\n  %s\n\n", url);
    (void)fd_write_all(STDERR_FILENO, buf_str(&text), NULL);
    if (c->args.given[OPT_NO_BROWSER])
        return 0;
    b = mem_zalloc(sizeof(*b));
    while (str_cut(&rest, ' ', &word)) {
        if (word.len)
            strv_add(&b->argv, word);
    }
    strv_adds(&b->argv, url);
    if (thread_start_loose("browser", browser_run, b, err) == 0)
        return 0;
    strv_release(&b->argv);
    mem_freep(&b);
    return -1;
}

static int read_pasted(void *arg, struct buf *ret, struct err *err)
{
    (void)fd_write_all(STDERR_FILENO,
                       STR("Then paste the address that the browser ends at, and press Enter: "),
                       NULL);
    return cmd_read_line(arg, ret, err);
}

/* ---- Logins ---- */

static int log_in(struct cmd *c, const struct mcp_server *s, const char *scope, struct err *err)
{
    struct oauth o = {
        .net = with.net, .home = conf_home(with.conf), .server = s, .cancel = c->cancel};
    struct oauth_login login = {
        .client_secret = conf_env(with.conf, "MCP_CLIENT_SECRET"),
        .scope = str_of(scope),
        .open = open_browser,
        .pasted = c->args.given[OPT_NO_BROWSER] ? read_pasted : NULL,
        .arg = c,
    };

    return oauth_login(&o, &login, err);
}

int mcp_login_again(struct cmd *c, struct mcp_client *client, struct err *err)
{
    const struct mcp_server *s = mcp_client_server(client);
    CLEANUP(buf_release) struct buf scope = BUF_INIT(TOKEN_MAX);
    int r;

    mcp_reach_scope(client, conf_home(with.conf), &scope);
    r = log_in(c, s, buf_cstr(&scope), err);
    if (r == 0)
        mcp_client_reconnect(client);
    return r;
}

static int login_failed(const struct err *err)
{
    say_error(err);
    return EXIT_FAILED;
}

int mcp_login(struct cmd *c, const struct mcp_server *s)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    struct err err = {0};
    int code = EXIT_OK;

    if (!s->url) {
        say("%s has no address to log in to: logins belong to servers behind a URL", s->name);
        return EXIT_FAILED;
    }
    if (log_in(c, s, "", &err) < 0)
        return login_failed(&err);
    buf_addf(&text, "Logged in to %s.\n", s->name);
    (void)say_live(buf_str(&text), c->cancel, &code);
    return code;
}

int mcp_logout(struct cmd *c, const struct mcp_server *s)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    CLEANUP(fd_closep) int lock = -1;
    struct mcp_token token = MCP_TOKEN_INIT;
    const char *home = conf_home(with.conf);
    struct err err = {0};
    int code = EXIT_OK;
    bool had = mcp_token_load(home, s, &token, NULL) == 0;

    mcp_token_release(&token);
    lock = had ? mcp_token_lock(home, c->cancel, &err) : -1;
    if (had && (lock < 0 || mcp_token_save(home, s, NULL, &err) < 0))
        return login_failed(&err);
    buf_addf(&text, "%s %s.\n", had ? "Logged out of" : "There is no login to remove for", s->name);
    (void)say_live(buf_str(&text), c->cancel, &code);
    return code;
}
