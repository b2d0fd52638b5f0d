/*
 * Any bytes as the head of a request to the proxy. A head parsed and written anew must be parsed
 * again, the same way: for another proxy word for word, and the second time no byte differs. The
 * output is exactly one head: one empty line, at the end.
 */
#include "net/proxy_head.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "fuzz.h"

static void write_whole(const struct proxy_head *h, bool by_proxy, struct buf *to)
{
    buf_clear(to);
    proxy_head_write(h, by_proxy, to);
    buf_adds(to, "\r\n");
}

static void check_host(const struct proxy_head *h)
{
    struct host_name again;
    CLEANUP(buf_release) struct buf target = BUF_INIT(1000);
    int port = 0;

    proxy_head_target(h, &target);
    FUZZ_CHECK(host_port_parse(buf_str(&target), &again, &port, NULL) == 0);
    FUZZ_CHECK(strcmp(again.text, h->host.text) == 0 && port == h->port);
    FUZZ_CHECK(again.is_address == h->host.is_address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str head = str_make((const char *)data, size < 4096 ? size : 4096);
    CLEANUP(buf_release) struct buf first = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf second = BUF_INIT(BUF_NO_LIMIT);
    size_t len = proxy_head_len(head);
    struct proxy_head h;
    struct proxy_head again;
    struct err err = {0};

    (void)proxy_answer_status(head);
    FUZZ_CHECK(len <= head.len);
    if (len)
        head = str_first(head, len);
    if (proxy_head_parse(head, &h, &err)) {
        FUZZ_CHECK(err.text[0]);
        return 0;
    }
    FUZZ_CHECK(h.port > 0 && h.port < 65536 && h.body_bytes >= 0 && h.host.text[0]);
    check_host(&h);
    if (h.is_tunnel)
        return 0;
    write_whole(&h, /*by_proxy=*/true, &first);
    FUZZ_CHECK(proxy_head_len(buf_str(&first)) == first.len);
    FUZZ_CHECK(proxy_head_parse(buf_str(&first), &again, &err) == 0);
    FUZZ_CHECK(strcmp(again.host.text, h.host.text) == 0 && again.port == h.port);
    FUZZ_CHECK(again.body_bytes == h.body_bytes && str_eq(again.method, h.method));
    write_whole(&again, /*by_proxy=*/true, &second);
    FUZZ_CHECK(str_eq(buf_str(&first), buf_str(&second)));
    write_whole(&h, /*by_proxy=*/false, &second);
    FUZZ_CHECK(proxy_head_len(buf_str(&second)) == second.len);
    return 0;
}
