/*
 * One request on its easy handle: the options it is given, and curl's callbacks turned into mail.
 *
 * Bytes are collected while the loop works through one round of events and mailed once per round,
 * so that a chunked stream of small events does not cost a mail and a wake-up for every chunk. The
 * network thread runs all of it, except net_stream_new(), _ref() and _drop().
 */
#include "net/net_stream.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/address.h"

#define CONNECT_MS (15 * 1000)
#define IDLE_MS (90 * 1000)
#define BODY_MAX ((size_t)256 << 20)
#define HEAD_MAX ((size_t)256 << 10)
#define UPLOAD_MIN ((size_t)64 << 10)
#define UPLOAD_MAX ((size_t)1 << 20)

void net_request_release(struct net_request *r)
{
    strv_release(&r->headers);
    buf_release(&r->body);
    *r = (struct net_request){0};
}

struct net_stream *net_stream_new(struct net *n, struct net_config *config,
                                  struct net_request *request, const struct url *url,
                                  struct mailbox *to)
{
    struct net_stream *s = mem_zalloc(sizeof(*s));
    const char *old_url = request->url;

    atomic_init(&s->refs, 1);
    s->net = n;
    s->config = config;
    s->to = mailbox_ref(to);
    s->queued_us = -clock_mono_us();
    s->request = *request;
    s->request.url = mem_dup(request->url, strlen(request->url));
    s->request.method = mem_dup(request->method, strlen(request->method));
    if (!s->request.connect_ms)
        s->request.connect_ms = CONNECT_MS;
    if (!s->request.idle_ms)
        s->request.idle_ms = IDLE_MS;
    if (!s->request.max_bytes)
        s->request.max_bytes = BODY_MAX;
    s->url = *url;
    s->url.host.ptr = s->request.url + (url->host.ptr - old_url);
    *request = (struct net_request){0};
    return s;
}

struct net_stream *net_stream_ref(struct net_stream *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

static void net_stream_release_request(struct net_stream *s)
{
    mem_freep(&s->headers);
    mem_freep(&s->request.url);
    mem_freep(&s->request.method);
    net_request_release(&s->request);
}

void net_stream_drop(struct net_stream *s)
{
    struct net *n;

    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
        return;
    n = s->net;
    net_stream_release_request(s);
    strv_release(&s->head);
    mailbox_unref(s->to);
    free(s);
    net_free_if_last(n);
}

/* The connect limit is curl's; ours begin after it and rest while the stream is paused. */
static int64_t net_stream_deadline_ms(const struct net_stream *s)
{
    int64_t idle_until_ms = INT64_MAX;

    if (atomic_load(&s->paused))
        return INT64_MAX;
    if (s->connected)
        idle_until_ms = s->last_byte_ms + s->request.idle_ms;
    return idle_until_ms < s->total_until_ms ? idle_until_ms : s->total_until_ms;
}

/* Has the loop look at it when its time may be up. */
static void net_stream_watch(const struct net_stream *s)
{
    int64_t deadline_ms = net_stream_deadline_ms(s);

    if (deadline_ms < s->notes->look_at_ms)
        s->notes->look_at_ms = deadline_ms;
}

/* Callbacks. */

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct net_stream *s = arg;

    (void)purpose;
    if (s->request.public_only && !s->by_proxy && !address_is_public(&address->addr)) {
        s->found_private = true; /* the name may have another address */
        return CURL_SOCKET_BAD;
    }
    /* curl's own sockets would be inherited by every child the program starts. */
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static int on_connected(void *arg, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    struct net_stream *s = arg;

    (void)local_ip;
    (void)remote_port;
    (void)local_port;
    /* A connection that another stream has left open saw no on_open_socket() for this one. */
    if (s->request.public_only && !s->by_proxy && !address_text_is_public(remote_ip)) {
        s->found_private = true;
        return CURL_PREREQFUNC_ABORT;
    }
    s->connected = true;
    s->config->ca_dir_lacks = s->config->ca_dir_lacks || s->dir_failed;
    s->last_byte_ms = clock_mono_ms();
    net_stream_watch(s);
    return CURL_PREREQFUNC_OK;
}

static void net_stream_send_head(struct net_stream *s)
{
    struct net_mail *m = net_mail_new(s, NET_HEAD);

    m->headers = s->head;
    m->mail.bytes += s->head_bytes;
    s->head = (struct strv)STRV_INIT;
    s->head_sent = true;
    net_mail_send(s, m);
}

static void add_header_line(struct strv *head, struct str line)
{
    size_t name_len = str_chr(line, ':');
    char *text;

    if ((line.ptr[0] == ' ' || line.ptr[0] == '\t') && head->len) { /* folded: goes on above */
        char **last = &head->ptr[head->len - 1];
        struct str more = str_trim(line);
        size_t len = strlen(*last);

        *last = mem_realloc(*last, len + 1 + more.len + 1);
        (*last)[len] = ' ';
        memcpy(*last + len + 1, more.ptr, more.len);
        (*last)[len + 1 + more.len] = '\0';
        return;
    }
    if (name_len == line.len)
        return;
    strv_add(head, line);
    text = head->ptr[head->len - 1];
    for (size_t i = 0; i < name_len; i++) {
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char)(text[i] - 'A' + 'a');
    }
}

/* "HTTP/1.1 200 OK", "HTTP/2 200": the start of an answer, perhaps an informational one (1xx). */
static void start_head(struct net_stream *s, struct str line)
{
    struct str code = str_first(str_from(line, str_chr(line, ' ') + 1), 3);
    int64_t status = 0;

    str_to_i64(code, &status, NULL);
    s->status = (int)status;
    strv_clear(&s->head);
}

static size_t on_header(char *ptr, size_t size, size_t count, void *arg)
{
    struct net_stream *s = arg;
    size_t len = size * count;
    struct str line = str_make(ptr, len);

    s->last_byte_ms = clock_mono_ms();
    if (s->head_sent) /* a trailer */
        return len;
    s->head_bytes += len;
    if (s->head_bytes > HEAD_MAX) {
        net_fault_set(&s->end, ERR_TOO_BIG, "the header of the answer is longer than %zu KB",
                      HEAD_MAX >> 10);
        return 0;
    }
    while (line.len && (line.ptr[line.len - 1] == '\n' || line.ptr[line.len - 1] == '\r'))
        line.len--;
    if (str_starts(line, STR("HTTP/")))
        start_head(s, line);
    else if (line.len)
        add_header_line(&s->head, line);
    else if (s->status >= 200)
        net_stream_send_head(s);
    return len;
}

/*
 * True when too much is unread. `paused` is set first and `unread` read again after it, while
 * net_used() lowers `unread` first and reads `paused` after it: one of the two notices.
 */
static bool net_stream_pause(struct net_stream *s)
{
    if (atomic_load(&s->unread) <= NET_PAUSE_BYTES)
        return false;
    atomic_store(&s->paused, true);
    if (atomic_load(&s->unread) <= NET_PAUSE_BYTES / 2) {
        atomic_store(&s->paused, false);
        return false;
    }
    s->paused_ms = clock_mono_ms();
    return true;
}

static size_t on_body(char *ptr, size_t size, size_t count, void *arg)
{
    struct net_stream *s = arg;
    size_t len = size * count;

    if (atomic_load(&s->cancelled))
        return CURL_WRITEFUNC_ERROR;
    s->last_byte_ms = clock_mono_ms();
    if (len > s->request.max_bytes - s->body_bytes) {
        net_fault_set(&s->end, ERR_TOO_BIG, "the answer is longer than %zu bytes",
                      s->request.max_bytes);
        return CURL_WRITEFUNC_ERROR;
    }
    if (net_stream_pause(s)) /* curl keeps these bytes and offers them again */
        return CURL_WRITEFUNC_PAUSE;
    s->body_bytes += len;
    atomic_fetch_add(&s->unread, len);
    if (!s->bytes) {
        s->bytes = net_mail_new(s, NET_BYTES);
        buf_init(&s->bytes->bytes, BUF_NO_LIMIT); /* NET_PAUSE_BYTES bounds it */
        s->next_dirty = s->notes->dirty;
        s->notes->dirty = s;
    }
    buf_add(&s->bytes->bytes, str_make(ptr, len));
    return len;
}

void net_stream_flush(struct net_stream *s)
{
    struct net_mail *m = TAKE_PTR(s->bytes);

    if (!m)
        return;
    m->mail.bytes += m->bytes.len;
    net_mail_send(s, m);
}

/* Opening. */

/* curl only reads these nodes, so they can point at our own lines: nothing is copied, and a key is
 * in memory once. */
static struct curl_slist *net_stream_headers(const struct net_request *r)
{
    static char no_expect[] = "Expect:"; /* waiting for "100 Continue" costs up to a second */
    static char no_type[] = "Content-Type:";
    struct curl_slist *list = mem_zalloc((r->headers.len + 2) * sizeof(*list));
    bool has_type = false;
    size_t n = 0;

    for (size_t i = 0; i < r->headers.len; i++) {
        struct str line = str_of(r->headers.ptr[i]);

        has_type = has_type || str_eq_nocase(str_first(line, 13), str_of(no_type));
        /* To curl "name:" means "do not send it", and "name;" is the empty value. */
        if (!str_trim(str_from(line, str_chr(line, ':') + 1)).len)
            memcpy(r->headers.ptr[i] + str_chr(line, ':'), ";", 2);
        list[n++].data = r->headers.ptr[i];
    }
    list[n++].data = no_expect;
    if (!has_type)
        list[n++].data = no_type;
    for (size_t i = 0; i + 1 < n; i++)
        list[i].next = &list[i + 1];
    return list;
}

static void net_stream_set_method(const struct net_stream *s, CURL *easy)
{
    const struct net_request *r = &s->request;
    bool is_post = str_is(str_of(r->method), "POST");

    if (is_post || r->body.len) {
        curl.easy_setopt(easy, CURLOPT_POST, 1L);
        curl.easy_setopt(easy, CURLOPT_POSTFIELDS, buf_cstr(&r->body)); /* sent from there */
        curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
        /* 64 KB at a time otherwise, with a wait for the socket between them. */
        if (r->body.len > UPLOAD_MIN)
            curl.easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE,
                             (long)(r->body.len < UPLOAD_MAX ? r->body.len : UPLOAD_MAX));
    } else if (str_is(str_of(r->method), "HEAD")) {
        curl.easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
    if (!is_post)
        curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
}

/*
 * Reading the system's bundle takes 30 ms and 0.9 MB; a directory with hashed names is read only
 * for the one authority that is asked for. So the directory comes first, where there is one. Never
 * both at once: then curl 7.88 parses the whole bundle again for each connection.
 */
static void net_stream_set_certificates(const struct net_stream *s)
{
    const struct net_config *c = s->config;
    const char *dir = s->by_dir ? c->ca_dir : NULL;
    const char *file = s->by_dir ? NULL : c->ca_file;

    if (!dir && !file)
        return;
    curl.easy_setopt(s->easy, CURLOPT_CAPATH, dir);
    curl.easy_setopt(s->easy, CURLOPT_CAINFO, file);
    curl.easy_setopt(s->easy, CURLOPT_PROXY_CAPATH, dir);
    curl.easy_setopt(s->easy, CURLOPT_PROXY_CAINFO, file);
}

static void net_stream_set_connection(struct net_stream *s, CURL *easy)
{
    const struct net_config *c = s->config;
    const char *proxy = s->url.tls ? c->proxy : c->plain_proxy;

    curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     (long)(c->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    curl.easy_setopt(easy, CURLOPT_PIPEWAIT, c->http2 ? 1L : 0L);
    curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Else removing a handle waits for its resolver thread, and all streams with it. */
    curl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    curl.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, s);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
    curl.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl.easy_setopt(easy, CURLOPT_SHARE, c->share);
    if (s->request.public_only) { /* whose address is checked must not be left to curl */
        proxy = net_config_proxy(c, &s->url);
        s->by_proxy = *proxy;
        curl.easy_setopt(easy, CURLOPT_PROXY, proxy);
        curl.easy_setopt(easy, CURLOPT_NOPROXY, "");
        return;
    }
    if (proxy)
        curl.easy_setopt(easy, CURLOPT_PROXY, proxy);
    if (c->no_proxy)
        curl.easy_setopt(easy, CURLOPT_NOPROXY, c->no_proxy);
}

static void net_stream_set_callbacks(struct net_stream *s, CURL *easy)
{
    curl.easy_setopt(easy, CURLOPT_PRIVATE, s);
    curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, s->curl_text);
    curl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connected);
    curl.easy_setopt(easy, CURLOPT_PREREQDATA, s);
    curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl.easy_setopt(easy, CURLOPT_HEADERDATA, s);
    curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.easy_setopt(easy, CURLOPT_WRITEDATA, s);
}

int net_stream_open(struct net_stream *s, CURLM *multi, struct net_notes *notes)
{
    int64_t now_ms = clock_mono_ms();
    CURLMcode code;

    s->notes = notes;
    s->queued_us += clock_mono_us();
    s->last_byte_ms = now_ms;
    s->total_until_ms = s->request.total_ms ? now_ms + s->request.total_ms : INT64_MAX;
    s->headers = net_stream_headers(&s->request);
    s->easy = curl.easy_init();
    if (!s->easy)
        BUG("curl_easy_init() failed");
    curl.easy_setopt(s->easy, CURLOPT_URL, s->request.url);
    curl.easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->headers);
    curl.easy_setopt(s->easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    curl.easy_setopt(s->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)s->request.connect_ms);
    net_stream_set_method(s, s->easy);
    net_stream_set_connection(s, s->easy);
    s->by_dir = s->config->ca_dir && !s->config->ca_dir_lacks;
    net_stream_set_certificates(s);
    net_stream_set_callbacks(s, s->easy);
    net_stream_watch(s);
    if (s->request.public_only && !address_host_may_be_public(s->url.host)) {
        s->found_private = true;
        net_stream_done(s, CURLE_COULDNT_CONNECT);
        return -1;
    }
    code = curl.multi_add_handle(multi, s->easy);
    if (code == CURLM_OK)
        return 0;
    net_fault_set(&s->end, ERR_NETWORK, "%s", curl.multi_strerror(code));
    net_stream_done(s, CURLE_FAILED_INIT);
    return -1;
}

bool net_stream_try_ca_file(struct net_stream *s, CURLM *multi, CURLcode code)
{
    if (code != CURLE_PEER_FAILED_VERIFICATION || !s->by_dir || !s->config->ca_file)
        return false;
    s->by_dir = false;
    s->dir_failed = true;
    s->curl_text[0] = '\0';
    net_stream_set_certificates(s);
    curl.multi_remove_handle(multi, s->easy);
    return curl.multi_add_handle(multi, s->easy) == CURLM_OK;
}

/* Running. */

CURLcode net_stream_resume(struct net_stream *s)
{
    int64_t now_ms;

    if (!atomic_load(&s->paused) || atomic_load(&s->unread) > NET_PAUSE_BYTES / 2)
        return CURLE_OK;
    now_ms = clock_mono_ms();
    s->last_byte_ms = now_ms;
    if (s->total_until_ms < INT64_MAX)
        s->total_until_ms += now_ms - s->paused_ms;
    atomic_store(&s->paused, false);
    net_stream_watch(s);
    return curl.easy_pause(s->easy, CURLPAUSE_CONT); /* calls on_body(), which may pause again */
}

/* A large body goes out without a callback that would tell: curl is asked when time seems up. */
static bool net_stream_has_sent(struct net_stream *s)
{
    curl_off_t sent = 0;

    curl.easy_getinfo(s->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (sent == s->sent_bytes)
        return false;
    s->sent_bytes = sent;
    return true;
}

bool net_stream_expired(struct net_stream *s, int64_t now_ms)
{
    if (now_ms < net_stream_deadline_ms(s)) {
        net_stream_watch(s);
        return false;
    }
    if (now_ms >= s->total_until_ms) {
        net_fault_set(&s->end, ERR_TIMEOUT, "no complete answer from %.*s within %.1f s",
                      STR_ARG(s->url.host), (double)s->request.total_ms / 1000);
    } else if (net_stream_has_sent(s)) {
        s->last_byte_ms = now_ms;
        net_stream_watch(s);
        return false;
    } else {
        net_fault_set(&s->end, ERR_TIMEOUT, "%.*s sent nothing for %.1f s", STR_ARG(s->url.host),
                      (double)s->request.idle_ms / 1000);
    }
    net_stream_done(s, CURLE_OPERATION_TIMEDOUT);
    return true;
}

static void net_stream_count(struct net_stream *s)
{
    static const CURLINFO marks[] = {CURLINFO_NAMELOOKUP_TIME_T, CURLINFO_CONNECT_TIME_T,
                                     CURLINFO_APPCONNECT_TIME_T, CURLINFO_STARTTRANSFER_TIME_T};
    int64_t *const times[] = {&s->stats.dns_us, &s->stats.connect_us, &s->stats.tls_us,
                              &s->stats.first_byte_us};
    curl_off_t sent = 0;
    curl_off_t received = 0;
    long connects = 0;

    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        curl_off_t us = 0;

        curl.easy_getinfo(s->easy, marks[i], &us);
        *times[i] = us ? us + s->queued_us : 0;
    }
    curl.easy_getinfo(s->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    curl.easy_getinfo(s->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    curl.easy_getinfo(s->easy, CURLINFO_NUM_CONNECTS, &connects);
    s->stats.sent_bytes = (size_t)sent;
    s->stats.received_bytes = (size_t)received;
    s->stats.reused = s->connected && connects == 0;
}

void net_stream_done(struct net_stream *s, CURLcode code)
{
    struct net_mail *m;

    if (s->bytes)
        BUG("the end of a stream would overtake its bytes");
    net_stream_count(s);
    m = net_mail_new(s, NET_END);
    m->end = s->end;
    if (code == CURLE_OK && !s->head_sent) /* curl is content with half a head */
        code = CURLE_PARTIAL_FILE;
    if (m->end.code == ERR_NONE && code != CURLE_OK)
        net_fault(s, code, &m->end);
    m->end.before_head = !s->head_sent;
    if (!s->head_sent)
        m->status = 0; /* not that of an informational answer */
    atomic_store(&s->ended, true);
    net_mail_send(s, m);
}

void net_stream_close(struct net_stream *s, CURLM *multi)
{
    curl.multi_remove_handle(multi, s->easy);
    curl.easy_cleanup(s->easy);
    s->easy = NULL;
    net_stream_release_request(s);
    strv_release(&s->head);
    mailbox_unref(TAKE_PTR(s->to)); /* else mail still in it would keep it alive through us */
}

void net_stream_stats(const struct net_stream *s, struct net_stats *ret)
{
    *ret = s->stats;
}
