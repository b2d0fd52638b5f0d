/*
 * TLS, proxies and what the environment says about both. Certificates are made here, for this run;
 * the environment is that of a child, which is this program again.
 */
#include "net/net.h"

#include <netdb.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/file.h"
#include "net/test_server.h"
#include "unit.h"

#define TEST_NAMES ".local.test"
#include "net/test_names.h"

static char *ca_dir;  /* a folder with just the certificate of the servers, under its hash */
static char *ca_path; /* that file */

/* A self-signed certificate for 127.0.0.1 and good.local.test. */
static SSL_CTX *make_identity(struct buf *ret_pem, unsigned long *ret_hash)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    BIO *pem = BIO_new(BIO_s_mem());
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1,DNS:good.local.test");
    char *text;
    long len;

    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    X509_add_ext(cert, names, -1);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
    *ret_hash = X509_subject_name_hash(cert);
    PEM_write_bio_X509(pem, cert);
    len = BIO_get_mem_data(pem, &text);
    buf_add(ret_pem, str_make(text, (size_t)len));
    BIO_free(pem);
    X509_EXTENSION_free(names);
    X509_free(cert);
    EVP_PKEY_free(key);
    return ctx;
}

static SSL_CTX *identity;

static void serve_ok(struct conn *c)
{
    while (conn_skip_request(c))
        conn_puts(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

static void start_tls(struct server *s, serve_fn serve)
{
    SSL_CTX_up_ref(identity);
    *s = (struct server){.serve = serve, .tls = identity};
    assert_int_equal(server_start_at(s, "127.0.0.1"), 0);
}

static void certificates(void **state)
{
    const struct {
        const char *what;
        const char *ca_file;
        const char *host;
        int code;
        const char *says;
    } rows[] = {
        {"trusted", ca_path, "127.0.0.1", ERR_NONE, ""},
        {"trusted by name", ca_path, "good.local.test", ERR_NONE, ""},
        {"another name", ca_path, "other.local.test", ERR_DENIED,
         "TLS certificate of other.local.test is not trusted (no alternative certificate subject "
         "name matches"},
        {"unknown authority", NULL, "127.0.0.1", ERR_DENIED,
         "TLS certificate of 127.0.0.1 is not trusted (self-signed certificate); set "
         "SSL_CERT_FILE"},
        {"no such file", "/nowhere/ca.pem", "127.0.0.1", ERR_DENIED,
         "cannot read the certificates in '/nowhere/ca.pem'; see SSL_CERT_FILE"},
    };
    struct server server;

    (void)state;
    start_tls(&server, serve_ok);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct net_options options = {.proxy = "", .ca_file = rows[i].ca_file};
        struct net *n = net_new(&options, NULL);
        struct answer a;

        fetch(n, "https", rows[i].host, server.port, &a);
        if (a.end.code != rows[i].code || !str_starts(str_of(a.end.text), str_of(rows[i].says)))
            fail_msg("%s: %s '%s'", rows[i].what, err_code_name(a.end.code), a.end.text);
        if (a.end.code == ERR_NONE) {
            assert_string_equal(buf_cstr(&a.body), "ok");
            assert_true(a.stats.tls_us > a.stats.connect_us);
            assert_true(a.stats.first_byte_us > a.stats.tls_us);
        }
        answer_release(&a);
        net_free(n);
    }
    server_stop(&server);
}

static void tls_to_a_plain_port(void **state)
{
    struct net_options options = {.proxy = "", .ca_file = ca_path};
    struct net_request r = {.method = "GET", .connect_ms = 200};
    char url[100];
    struct net *n = net_new(&options, NULL);
    struct server server;
    struct answer a;

    (void)state;
    server_start(&server, serve_ok, NULL);
    r.url = url_of(url, sizeof(url), "https", "127.0.0.1", server.port);
    /* The server waits for more of what it takes for a request: the handshake hangs. */
    fetch_with(n, &r, &a);
    assert_int_equal(a.end.code, ERR_TIMEOUT);
    answer_release(&a);
    net_free(n);
    server_stop(&server);
}

static void serve_smtp(struct conn *c)
{
    conn_puts(c, "220 mail.example.com ESMTP\r\n");
    conn_wait_close(c);
}

static void tls_to_something_else(void **state)
{
    struct net_options options = {.proxy = "", .ca_file = ca_path};
    struct net *n = net_new(&options, NULL);
    struct server server;
    struct answer a;

    (void)state;
    server_start(&server, serve_smtp, NULL);
    fetch(n, "https", "127.0.0.1", server.port, &a);
    assert_int_equal(a.end.code, ERR_NETWORK);
    assert_non_null(strstr(a.end.text, "TLS handshake with 127.0.0.1:"));
    assert_true(str_ends(str_of(a.end.text), STR("failed: wrong version number")));
    answer_release(&a);
    net_free(n);
    server_stop(&server);
}

/* Proxies: CONNECT makes a tunnel, anything else is answered by the proxy itself. */

struct relay {
    struct conn *client;
    int fd;
};

static void relay_main(void *arg)
{
    struct relay *r = arg;
    char bytes[4096];

    for (;;) {
        ssize_t n = recv(r->fd, bytes, sizeof(bytes), 0);

        if (n <= 0 || !conn_write(r->client, str_make(bytes, (size_t)n)))
            break;
    }
    shutdown(r->client->fd, SHUT_WR);
}

static void tunnel(struct conn *c, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CLEANUP(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct relay relay = {c, fd};
    struct thread *back;
    char bytes[4096];

    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return;
    conn_puts(c, "HTTP/1.1 200 Connected\r\nX-Proxy: 1\r\n\r\n");
    back = thread_start("relay", relay_main, &relay, NULL);
    for (;;) {
        ssize_t n = conn_read(c, bytes, sizeof(bytes));

        if (n <= 0 || send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
            break;
    }
    shutdown(fd, SHUT_RDWR);
    thread_join(back);
}

static void serve_proxy(struct conn *c)
{
    CLEANUP(buf_release) struct buf head = BUF_INIT(1 << 20);
    CLEANUP(buf_release) struct buf body = BUF_INIT(1 << 20);
    const char *mood = c->server->arg;

    while (conn_request(c, &head, &body)) {
        struct str line = str_first(buf_str(&head), str_chr(buf_str(&head), '\r'));

        if (str_is(str_of(mood), "wants a password") &&
            !str_has(buf_str(&head), STR("Proxy-Authorization: Basic"))) {
            conn_puts(c, "HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
                         "Content-Length: 0\r\n\r\n");
        } else if (str_starts(line, STR("CONNECT "))) {
            struct str target = str_from(line, 8);
            int64_t port = 0;

            target = str_first(target, str_chr(target, ' '));
            str_to_i64(str_from(target, str_chr(target, ':') + 1), &port, NULL);
            tunnel(c, (int)port);
            return;
        } else {
            conn_puts(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nvia proxy");
        }
    }
}

static void proxies(void **state)
{
    static const struct {
        const char *what;
        const char *mood;
        const char *scheme;
        const char *user;
        const char *no_proxy;
        int code;
        const char *body_or_text;
        bool via_proxy;
    } rows[] = {
        {"plain", "", "http", "", NULL, ERR_NONE, "via proxy", true},
        {"tunnel", "", "https", "", NULL, ERR_NONE, "ok", true},
        {"excepted", "", "https", "", "good.local.test", ERR_NONE, "ok", false},
        {"excepted domain", "", "https", "", "x.y,.local.test", ERR_NONE, "ok", false},
        {"all excepted", "", "https", "", "*", ERR_NONE, "ok", false},
        {"others excepted", "", "https", "", "127.0.0.1", ERR_NONE, "ok", true},
        {"password given", "wants a password", "https", "joe:hunter2@", NULL, ERR_NONE, "ok", true},
        {"password missing", "wants a password", "https", "", NULL, ERR_DENIED,
         "the proxy refuses to connect to good.local.test:", true},
    };
    struct server target;

    (void)state;
    start_tls(&target, serve_ok);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct net_options options = {.ca_file = ca_path, .no_proxy = rows[i].no_proxy};
        struct server proxy;
        struct net *n;
        struct answer a;
        char url[100];
        const char *got;

        server_start(&proxy, serve_proxy, (void *)(uintptr_t)rows[i].mood);
        snprintf(url, sizeof(url), "http://%s127.0.0.1:%d", rows[i].user, proxy.port);
        options.proxy = url;
        n = net_new(&options, NULL);
        fetch(n, rows[i].scheme, "good.local.test", target.port, &a);
        got = a.end.code == ERR_NONE ? buf_cstr(&a.body) : a.end.text;
        if (a.end.code != rows[i].code || !str_starts(str_of(got), str_of(rows[i].body_or_text)) ||
            (atomic_load(&proxy.accepted) > 0) != rows[i].via_proxy ||
            (rows[i].code == ERR_NONE && a.heads != 1))
            fail_msg("%s: %s '%s'", rows[i].what, err_code_name(a.end.code), got);
        answer_release(&a);
        net_free(n);
        server_stop(&proxy);
    }
    server_stop(&target);
}

/* http:// and https:// have variables of their own, and one program may ask both. */
static void each_scheme_has_its_proxy(void **state)
{
    struct server plain, proxy;
    char url[100];
    struct net_options options = {.proxy = url, .plain_proxy = "", .ca_file = ca_path};
    struct net *n;
    struct answer a;

    (void)state;
    server_start(&plain, serve_ok, NULL);
    server_start(&proxy, serve_ok, NULL);
    server_stop(&proxy);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", proxy.port);
    n = net_new(&options, NULL);
    fetch(n, "http", "127.0.0.1", plain.port, &a);
    assert_int_equal(a.end.code, ERR_NONE);
    answer_release(&a);
    fetch(n, "https", "good.local.test", plain.port, &a);
    assert_int_equal(a.end.code, ERR_NETWORK);
    assert_non_null(strstr(a.end.text, "the proxy"));
    answer_release(&a);
    net_free(n);
    server_stop(&plain);
}

static void proxy_faults_name_the_proxy_but_no_password(void **state)
{
    static const struct {
        const char *host;
        const char *says;
    } rows[] = {
        {"127.0.0.1", "cannot connect to the proxy 127.0.0.1:"},
        {"nowhere.test", "cannot resolve the host of the proxy (Could not resolve proxy: nowhere"},
    };
    struct server closed;

    (void)state;
    server_start(&closed, serve_ok, NULL);
    server_stop(&closed);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char url[100];
        struct net_options options = {.proxy = url};
        struct net *n;
        struct answer a;

        snprintf(url, sizeof(url), "http://joe:hunter2@%s:%d", rows[i].host, closed.port);
        n = net_new(&options, NULL);
        fetch(n, "https", "good.local.test", 443, &a);
        if (a.end.code != ERR_NETWORK || !str_starts(str_of(a.end.text), str_of(rows[i].says)) ||
            strstr(a.end.text, "hunter2"))
            fail_msg("row %zu: %s", i, a.end.text);
        answer_release(&a);
        net_free(n);
    }
}

/* The environment. */

static int run_child(const char *url)
{
    struct err err = {0};
    struct net *n = net_new(NULL, &err);
    struct net_request r = {.method = "GET", .url = url};
    struct answer a;

    if (!n)
        return 2;
    fetch_with(n, &r, &a);
    printf("%s%s\n", buf_cstr(&a.body), a.end.text);
    answer_release(&a);
    net_free(n);
    return 0;
}

static void run_with(char **env, const char *url, struct buf *out)
{
    char *argv[] = {(char *)"unit", (char *)"net_tls", (char *)(uintptr_t)url, NULL};
    posix_spawn_file_actions_t actions;
    int pipe_fds[2];
    int status;
    pid_t pid;

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, env), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    buf_clear(out);
    assert_int_equal(buf_add_fd(out, pipe_fds[0], NULL), 0);
    close(pipe_fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void the_environment_is_respected(void **state)
{
    const struct {
        const char *what;
        const char *scheme;
        const char *file;
        const char *dir;
        const char *proxy_variable;
        const char *no_proxy;
        const char *says;
    } rows[] = {
        {"nothing set", "https", NULL, NULL, NULL, NULL,
         "TLS certificate of good.local.test is not trusted (self-signed"},
        {"file", "https", ca_path, NULL, NULL, NULL, "ok\n"},
        {"folder", "https", NULL, ca_dir, NULL, NULL, "ok\n"},
        {"another folder", "https", NULL, "/nowhere", NULL, NULL,
         "TLS certificate of good.local.test is not trusted (self-signed"},
        {"folder, then file", "https", ca_path, "/nowhere", NULL, NULL, "ok\n"},
        {"http_proxy", "http", NULL, NULL, "http_proxy", NULL, "via proxy\n"},
        {"HTTPS_PROXY", "https", ca_path, NULL, "HTTPS_PROXY", NULL, "ok\n"},
        {"https_proxy and no_proxy", "https", ca_path, NULL, "https_proxy", "local.test", "ok\n"},
        {"all_proxy", "http", NULL, NULL, "all_proxy", NULL, "via proxy\n"},
    };
    struct server target;
    struct server proxy;

    (void)state;
    start_tls(&target, serve_ok);
    server_start(&proxy, serve_proxy, (void *)(uintptr_t) "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf out = BUF_INIT(10000);
        CLEANUP(strv_release) struct strv env = STRV_INIT;
        int before = atomic_load(&proxy.accepted);
        bool through;
        char url[100];

        if (rows[i].file)
            strv_addf(&env, "SSL_CERT_FILE=%s", rows[i].file);
        if (rows[i].dir)
            strv_addf(&env, "SSL_CERT_DIR=%s", rows[i].dir);
        if (rows[i].proxy_variable)
            strv_addf(&env, "%s=http://127.0.0.1:%d", rows[i].proxy_variable, proxy.port);
        if (rows[i].no_proxy)
            strv_addf(&env, "no_proxy=%s", rows[i].no_proxy);
        run_with(strv_get(&env),
                 url_of(url, sizeof(url), rows[i].scheme, "good.local.test", target.port), &out);
        through = atomic_load(&proxy.accepted) > before;
        if (!str_starts(buf_str(&out), str_of(rows[i].says)) ||
            through != (rows[i].proxy_variable && !rows[i].no_proxy))
            fail_msg("%s: %s", rows[i].what, buf_cstr(&out));
    }
    server_stop(&target);
    server_stop(&proxy);
}

/* A second connection to the same host resumes the TLS session of the first. */

struct resumed {
    atomic_int full;
    atomic_int resumed;
};

static void serve_once(struct conn *c)
{
    struct resumed *r = c->server->arg;

    atomic_fetch_add(SSL_session_reused(c->ssl) ? &r->resumed : &r->full, 1);
    conn_skip_request(c);
    conn_puts(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
}

static void tls_sessions_are_resumed(void **state)
{
    struct net_options options = {.proxy = "", .ca_file = ca_path};
    struct net *n = net_new(&options, NULL);
    struct resumed count = {0};
    struct server server;

    (void)state;
    start_tls(&server, serve_once);
    server.arg = &count;
    for (int i = 0; i < 3; i++) {
        struct answer a;

        fetch(n, "https", "good.local.test", server.port, &a);
        assert_string_equal(a.end.text, "");
        assert_false(a.stats.reused);
        answer_release(&a);
    }
    assert_int_equal(atomic_load(&count.full), 1);
    assert_int_equal(atomic_load(&count.resumed), 2);
    net_free(n);
    server_stop(&server);
}

static int write_identity(void **state)
{
    CLEANUP(buf_release) struct buf pem = BUF_INIT(100000);
    char dir[] = "/tmp/tenax-net-test-XXXXXX";
    unsigned long hash;
    char name[20];

    (void)state;
    identity = make_identity(&pem, &hash);
    if (!mkdtemp(dir))
        return -1;
    snprintf(name, sizeof(name), "%08lx.0", hash);
    ca_dir = mem_dup(dir, strlen(dir));
    ca_path = path_join(dir, name);
    return file_replace(ca_path, buf_str(&pem), 0600, NULL);
}

static int remove_identity(void **state)
{
    (void)state;
    unlink(ca_path);
    rmdir(ca_dir);
    free(ca_path);
    free(ca_dir);
    SSL_CTX_free(identity);
    return 0;
}

UNIT_TEST(net_tls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates),
        cmocka_unit_test(tls_to_a_plain_port),
        cmocka_unit_test(tls_to_something_else),
        cmocka_unit_test(proxies),
        cmocka_unit_test(each_scheme_has_its_proxy),
        cmocka_unit_test(proxy_faults_name_the_proxy_but_no_password),
        cmocka_unit_test(the_environment_is_respected),
        cmocka_unit_test(tls_sessions_are_resumed),
    };

    if (argc > 1)
        return run_child(argv[1]);
    return cmocka_run_group_tests(tests, write_identity, remove_identity);
}
