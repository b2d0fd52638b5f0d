/*
 * fake: a model server that plays a scenario (docs/scenarios.md) over real sockets, in the words of
 * every provider. tests/fake/README.md says how to use it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>

#include "base/err.h"
#include "base/file.h"
#include "host.h"
#include "llm/scenario/scenario.h"
#include "server.h"
#include "tls.h"

static const char usage[] =
    "usage: fake [--scenario FILE] [--host ADDRESS] [--port N] [--tls | --tls-port N]\n"
    "            [--ca-out FILE] [--record FILE] [--key KEY] [--lenient]\n"
    "Prints \"LISTENING <port>\" when ready, with --tls-port \"LISTENING <port> TLS <port>\".\n";

struct options {
    const char *scenario;
    const char *host;
    const char *ca_out;
    const char *record;
    const char *key;
    int64_t port;
    int64_t tls_port; /* -1: no second port */
    bool tls;
    bool lenient;
};

static int read_port(const char *text, int64_t *ret, struct err *err)
{
    if (str_to_i64(str_of(text), ret, err) < 0 || *ret < 0 || *ret > 65535)
        return err_set(err, ERR_BAD_INPUT, "not a port: '%s'", text);
    return 0;
}

static int read_options(int argc, char **argv, struct options *o, struct err *err)
{
    static const struct option known[] = {
        {"scenario", required_argument, NULL, 's'}, {"host", required_argument, NULL, 'h'},
        {"port", required_argument, NULL, 'p'},     {"tls", no_argument, NULL, 't'},
        {"tls-port", required_argument, NULL, 'T'}, {"ca-out", required_argument, NULL, 'c'},
        {"record", required_argument, NULL, 'r'},   {"key", required_argument, NULL, 'k'},
        {"lenient", no_argument, NULL, 'l'},        {NULL, 0, NULL, 0},
    };

    for (;;) {
        int c = getopt_long(argc, argv, "", known, NULL);

        if (c < 0)
            break;
        switch (c) {
        case 's':
            o->scenario = optarg;
            break;
        case 'h':
            o->host = optarg;
            break;
        case 'p':
            if (read_port(optarg, &o->port, err) < 0)
                return -1;
            break;
        case 't':
            o->tls = true;
            break;
        case 'T':
            if (read_port(optarg, &o->tls_port, err) < 0)
                return -1;
            break;
        case 'c':
            o->ca_out = optarg;
            break;
        case 'r':
            o->record = optarg;
            break;
        case 'k':
            o->key = optarg;
            break;
        case 'l':
            o->lenient = true;
            break;
        default:
            return err_set(err, ERR_BAD_INPUT, "unknown option");
        }
    }
    if (optind < argc)
        return err_set(err, ERR_BAD_INPUT, "unexpected argument '%s'", argv[optind]);
    return 0;
}

static int load(struct host *host, const struct options *o, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SCENARIO_MAX_BYTES);

    host->key = o->key;
    host->lenient = o->lenient;
    if (o->record && record_open(&host->record, o->record, err) < 0)
        return -1;
    if (!o->scenario)
        return 0;
    if (file_slurp(o->scenario, SCENARIO_MAX_BYTES, &text, err) < 0)
        return -1;
    return host_load(host, buf_str(&text), o->scenario, err);
}

static int serve(struct server *server, struct tls *tls, const struct options *o, struct err *err)
{
    int port, tls_port = 0;

    if (o->ca_out && tls_write_ca(tls, o->ca_out, err) < 0)
        return -1;
    if (server_listen(server, o->host, (int)o->port, o->tls, &port, err) < 0)
        return -1;
    if (o->tls_port >= 0 &&
        server_listen(server, o->host, (int)o->tls_port, true, &tls_port, err) < 0)
        return -1;
    if (tls_port)
        printf("LISTENING %d TLS %d\n", port, tls_port);
    else
        printf("LISTENING %d\n", port);
    fflush(stdout);
    return server_run(server, err);
}

static int run(struct host *host, const struct options *o, struct err *err)
{
    struct tls *tls = NULL;
    struct server *server = NULL;
    int r = -1;

    if (load(host, o, err) < 0)
        return -1;
    if (o->tls || o->tls_port >= 0 || o->ca_out) {
        tls = tls_new(err);
        if (!tls)
            return -1;
    }
    server = server_new(host, tls, err);
    if (server)
        r = serve(server, tls, o, err);
    server_free(server);
    tls_free(tls);
    return r;
}

/* Before any wait: SIGTERM is read from a descriptor. */
static void block_signals(void)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    struct options o = {.host = "127.0.0.1", .tls_port = -1};
    CLEANUP(buf_release) struct buf left = BUF_INIT(BUF_NO_LIMIT);
    static struct host host; /* the record's ring is large */
    struct err err = {0};
    int r;

    if (read_options(argc, argv, &o, &err) < 0) {
        fprintf(stderr, "fake: %s\n%s", err.text, usage);
        return 2;
    }
    block_signals();
    host_init(&host);
    r = run(&host, &o, &err);
    if (r < 0)
        fprintf(stderr, "fake: %s\n", err.text);
    else if (host_leftovers(&host, &left))
        fprintf(stderr, "%s", buf_cstr(&left));
    host_release(&host);
    return r < 0 ? 1 : 0;
}
