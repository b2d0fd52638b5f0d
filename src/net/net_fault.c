/*
 * Errors in helpful words: the server, the problem, and what to do about it if possible. curl's own
 * texts are used for details only; of a URL only host and port are shown. Runs on the network
 * thread.
 */
#include <errno.h>
#include <stdarg.h>

#include "base/err.h"
#include "base/secret.h"
#include "net/net_stream.h"

void net_fault_set(struct net_end *end, int code, const char *fmt, ...)
{
    va_list args;

    end->code = code;
    va_start(args, fmt);
    vsnprintf(end->text, sizeof(end->text), fmt, args);
    va_end(args);
    for (char *p = end->text; *p; p++) { /* a server may have had a say in it */
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    }
    secret_scrub_text(end->text, sizeof(end->text));
}

/* "Connection refused" → "connection refused", but "SSL ..." stays. */
static const char *lower_first(char *text)
{
    if (text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z')
        text[0] = (char)(text[0] - 'A' + 'a');
    return text;
}

/* The system's reason, else curl's. */
static const char *reason(const struct net_stream *s, CURLcode code, char *out, size_t size)
{
    long os_errno = 0;
    char space[128];

    curl.easy_getinfo(s->easy, CURLINFO_OS_ERRNO, &os_errno);
    if (os_errno)
        snprintf(out, size, "%s", strerror_r((int)os_errno, space, sizeof(space)));
    else
        snprintf(out, size, "%s", s->curl_text[0] ? s->curl_text : curl.easy_strerror(code));
    return lower_first(out);
}

/* curl's text without what stands before the interesting part. */
static const char *tls_reason(const struct net_stream *s)
{
    static const char *const leads[] = {"SSL certificate problem: ", "SSL: "};
    const char *text = s->curl_text[0] ? s->curl_text : "no details";
    const char *last = strstr(text, "::"); /* "error:0A00010B:SSL routines::wrong version number" */

    for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
        if (str_starts(str_of(text), str_of(leads[i])))
            return text + strlen(leads[i]);
    }
    return last ? last + 2 : text;
}

/* Whom curl tried to reach, which may have been a proxy: "host:port". */
static void peer_name(const struct net_stream *s, char *out, size_t size)
{
    struct str lead = STR("Failed to connect to ");
    struct str text = str_of(s->curl_text);
    struct str rest = str_from(text, lead.len);
    struct str host;
    struct str port;

    if (str_starts(text, lead) && str_cut(&rest, ' ', &host) && str_starts(rest, STR("port ")) &&
        host.len < 256) {
        rest = str_from(rest, 5);
        str_cut(&rest, ' ', &port);
        if (!str_eq(host, s->url.host) && !str_has(s->url.host, host)) {
            snprintf(out, size, "the proxy %.*s:%.*s", STR_ARG(host), STR_ARG(port));
            return;
        }
    }
    snprintf(out, size, "%.*s:%d", STR_ARG(s->url.host), s->url.port);
}

static void fault_connect_timeout(const struct net_stream *s, struct net_end *ret)
{
    double seconds = (double)s->request.connect_ms / 1000;
    curl_off_t resolved = 0;
    char *ip = NULL; /* known once the TCP connection stands */
    char peer[300];

    curl.easy_getinfo(s->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved);
    curl.easy_getinfo(s->easy, CURLINFO_PRIMARY_IP, &ip);
    peer_name(s, peer, sizeof(peer));
    if (!resolved)
        net_fault_set(ret, ERR_TIMEOUT, "cannot resolve host '%.*s' within %.1f s",
                      STR_ARG(s->url.host), seconds);
    else
        net_fault_set(ret, ERR_TIMEOUT, "cannot connect to %s within %.1f s%s", peer, seconds,
                      ip && *ip ? " (the handshake got no answer)" : "");
}

static void fault_lost(const struct net_stream *s, CURLcode code, struct net_end *ret)
{
    char text[CURL_ERROR_SIZE];
    long proxy_status = 0;

    curl.easy_getinfo(s->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
    if (!s->connected && proxy_status >= 300) {
        net_fault_set(ret, proxy_status >= 500 ? ERR_NETWORK : ERR_DENIED,
                      "the proxy refuses to connect to %.*s:%d (status %ld%s)",
                      STR_ARG(s->url.host), s->url.port, proxy_status,
                      proxy_status == 407 ? ": it wants a user name and password" : "");
        return;
    }
    net_fault_set(ret, ERR_NETWORK, "the connection to %.*s broke%s: %s", STR_ARG(s->url.host),
                  s->head_sent ? " in the middle of the answer" : "",
                  reason(s, code, text, sizeof(text)));
}

void net_fault(const struct net_stream *s, CURLcode code, struct net_end *ret)
{
    char text[CURL_ERROR_SIZE];
    char peer[300];

    if (s->found_private && (code == CURLE_COULDNT_CONNECT || code == CURLE_ABORTED_BY_CALLBACK)) {
        net_fault_set(ret, ERR_DENIED, "%.*s is at a private address", STR_ARG(s->url.host));
        return;
    }
    /* "Unsupported proxy 'http://name:password@…'" */
    if (str_has(str_of(s->curl_text), STR("roxy")) && str_has(str_of(s->curl_text), STR("://"))) {
        net_fault_set(ret, ERR_BAD_INPUT,
                      "this libcurl cannot use the proxy; see https_proxy and all_proxy");
        return;
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        net_fault_set(ret, ERR_NETWORK, "cannot resolve host '%.*s'", STR_ARG(s->url.host));
        break;
    case CURLE_COULDNT_RESOLVE_PROXY:
        net_fault_set(ret, ERR_NETWORK, "cannot resolve the host of the proxy (%s)", s->curl_text);
        break;
    case CURLE_COULDNT_CONNECT:
        peer_name(s, peer, sizeof(peer));
        net_fault_set(ret, ERR_NETWORK, "cannot connect to %s: %s", peer,
                      reason(s, code, text, sizeof(text)));
        break;
    case CURLE_OPERATION_TIMEDOUT:
        fault_connect_timeout(s, ret);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        net_fault_set(ret, ERR_DENIED,
                      "TLS certificate of %.*s is not trusted (%s); set SSL_CERT_FILE if it is "
                      "signed by an authority of your own",
                      STR_ARG(s->url.host), tls_reason(s));
        break;
    case CURLE_SSL_CACERT_BADFILE:
        net_fault_set(ret, ERR_DENIED, "cannot read the certificates in '%s'; see SSL_CERT_FILE",
                      s->config->ca_file ? s->config->ca_file : "the system's bundle");
        break;
    case CURLE_SSL_CONNECT_ERROR:
        net_fault_set(ret, ERR_NETWORK, "TLS handshake with %.*s:%d failed: %s",
                      STR_ARG(s->url.host), s->url.port, tls_reason(s));
        break;
    case CURLE_GOT_NOTHING:
        net_fault_set(ret, ERR_NETWORK, "%.*s:%d closed the connection without an answer",
                      STR_ARG(s->url.host), s->url.port);
        break;
    case CURLE_PARTIAL_FILE:
        net_fault_set(ret, ERR_NETWORK, "%.*s closed the connection in the middle of the answer",
                      STR_ARG(s->url.host));
        break;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        fault_lost(s, code, ret);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL: /* the scheme was checked: this is curl on HTTP/0.9 */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        net_fault_set(ret, ERR_PROTOCOL, "%.*s:%d does not speak proper HTTP: %s",
                      STR_ARG(s->url.host), s->url.port, s->curl_text);
        break;
    case CURLE_OUT_OF_MEMORY: /* memory does not run out here: curl keeps 100 KB of a header line */
        net_fault_set(ret, ERR_TOO_BIG, "a header line of the answer of %.*s is too long",
                      STR_ARG(s->url.host));
        break;
    case CURLE_BAD_CONTENT_ENCODING:
        net_fault_set(ret, ERR_PROTOCOL, "the answer of %.*s is not encoded as it says: %s",
                      STR_ARG(s->url.host), s->curl_text);
        break;
    case CURLE_URL_MALFORMAT:
        net_fault_set(ret, ERR_BAD_INPUT, "the URL of %.*s does not make sense: %s",
                      STR_ARG(s->url.host), s->curl_text);
        break;
    default:
        net_fault_set(ret, ERR_NETWORK, "the request to %.*s failed: %s", STR_ARG(s->url.host),
                      reason(s, code, text, sizeof(text)));
        break;
    }
}
