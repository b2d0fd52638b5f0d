/*
 * doctor: checks of the installation, as a list of findings.
 */
#include "host/doctor.h"

#include <inttypes.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "conf/conf.h"
#include "host/connect.h"
#include "llm/dialect/dialect.h"
#include "llm/door.h"
#include "llm/provider.h"
#include "net/net.h"
#include "proc/confine.h"
#include "proc/kernel.h"
#include "store/store.h"
#include "tools/search/grep.h"

#define DOCTOR_REACH_MS 10000

const char *health_name(enum health h)
{
    static const char *const names[] = {"ok", "warning", "problem"};

    return names[h];
}

void doctor_release(struct doctor *d)
{
    vec_release(&d->findings);
    arena_release(&d->arena);
}

PRINTF_LIKE(4, 5)
static void doctor_add(struct doctor *d, enum health health, const char *area, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    secret_scrub(&text);
    vec_push(&d->findings, ((struct finding){health, area, arena_str(&d->arena, buf_str(&text))}));
}

static void doctor_kernel(struct doctor *d)
{
    struct kernel k;

    kernel_probe(&k);
    doctor_add(d, HEALTH_OK, "kernel", "Linux %s", k.release);
    if (k.landlock_abi)
        doctor_add(d, HEALTH_OK, "kernel", "Landlock, version %d", k.landlock_abi);
    else
        doctor_add(d, HEALTH_WARN, "kernel",
                   "no Landlock: commands can write to named pipes outside of their folders");
    if (!k.seccomp)
        doctor_add(d, HEALTH_WARN, "kernel", "no seccomp: commands cannot be kept off the network");
    if (!k.pidfd || !k.close_range)
        doctor_add(d, HEALTH_BAD, "kernel", "%s is missing: Linux 5.9 or newer is needed",
                   k.pidfd ? "close_range" : "pidfd_open");
    doctor_add(d, k.user_namespaces ? HEALTH_OK : HEALTH_WARN, "kernel",
               k.user_namespaces ? "user namespaces"
                                 : "no user namespaces: only root can have a sandbox");
}

static void doctor_confinement(struct doctor *d)
{
    const struct confine_backend *by = confine_backend();
    bool is_none = strcmp(by->name, "none") == 0;

    doctor_add(d, is_none ? HEALTH_WARN : HEALTH_OK, "sandbox", "%s: %s", by->name, by->what);
    for (size_t i = 0; i < confine_backend_count; i++) {
        const char *why = "";

        /* One backend is enough; to explain that there is none, all are tested. */
        if (is_none && !confine_works(&confine_backends[i], &why))
            doctor_add(d, HEALTH_WARN, "sandbox", "%s does not work here: %s",
                       confine_backends[i].name, why);
    }
    if (is_none)
        doctor_add(d, HEALTH_WARN, "sandbox",
                   "to have one: Linux 5.12 or newer and user namespaces (in a container, let it "
                   "make them; in a chroot, make its folder a mount point: mount --bind DIR DIR); "
                   "until then commands ask");
}

/* Where the checks of a goal are confirmed. */
static void doctor_room(struct doctor *d)
{
    const char *why = "";

    if (!confine_overlay_works(&why))
        doctor_add(d, HEALTH_WARN, "goals",
                   "checks are confirmed in a copy of the workspace, because no overlay can be "
                   "mounted: %s. Verdicts are weaker",
                   why);
    else if (!confine_observe_works(&why))
        doctor_add(d, HEALTH_WARN, "goals",
                   "checks are confirmed in a clean room, but cannot be observed: %s", why);
    else
        doctor_add(d, HEALTH_OK, "goals", "checks are confirmed in a clean room and observed");
}

static void doctor_libraries(struct doctor *d, struct net *net, const struct err *net_err)
{
    char pcre[64] = "";
    struct err err = {0};
    struct str sqlite;

    if (net)
        doctor_add(d, HEALTH_OK, "library", "%s", net_library(net));
    else
        doctor_add(d, HEALTH_BAD, "library", "%s", net_err->text);
    pcre2_config(PCRE2_CONFIG_VERSION, pcre);
    doctor_add(d, HEALTH_OK, "library", "PCRE2 %s", pcre);
    if (store_library(&sqlite, &err) == 0)
        doctor_add(d, HEALTH_OK, "library", "SQLite %.*s", STR_ARG(sqlite));
    else
        doctor_add(d, HEALTH_WARN, "library", "%s", err.text);
}

static void doctor_home(struct doctor *d, const struct conf *conf)
{
    const char *home = conf_home(conf);

    if (!file_exists(home))
        doctor_add(d, HEALTH_OK, "home", "%s (made when something is stored)", home);
    else if (access(home, W_OK) < 0)
        doctor_add(d, HEALTH_BAD, "home", "%s cannot be written", home);
    else
        doctor_add(d, HEALTH_OK, "home", "%s", home);
    for (size_t i = 0; i < conf_files(conf)->len; i++)
        doctor_add(d, HEALTH_OK, "settings", "%s", conf_files(conf)->ptr[i]);
    for (size_t i = 0; i < conf_warnings(conf)->len; i++)
        doctor_add(d, HEALTH_WARN, "settings", "%s", conf_warnings(conf)->ptr[i]);
}

static void doctor_search(struct doctor *d, const struct conf *conf, struct cancel *cancel)
{
    CLEANUP(buf_release) struct buf engine = BUF_INIT(200);

    grep_engine_name(conf, cancel, &engine);
    doctor_add(d, HEALTH_OK, "search", "%s", buf_cstr(&engine));
}

static void doctor_provider(struct doctor *d, const struct conf *conf, const struct provider *p)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(200);
    const struct model *m = &p->model;
    bool named = conf_get_str(conf, "model").len > 0;
    struct str by = named ? conf_origin(conf, "model") : str_of(p->name);

    for (size_t i = 0; i < p->notes.len; i++)
        doctor_add(d, HEALTH_WARN, "provider", "%s", p->notes.ptr[i]);
    if (!p->dialect) {
        doctor_add(d, HEALTH_OK, "provider", "scripted: plays %s, no network", p->scenario);
        return;
    }
    doctor_add(d, HEALTH_OK, "provider", "%s (%s) at %s", p->name, p->dialect->name, p->base_url);
    doctor_add(d, m->known ? HEALTH_OK : HEALTH_WARN, "model",
               "%.*s%s: window %" PRId64 ", output up to %" PRId64 " tokens, price %s; %s%.*s",
               STR_ARG(m->name), m->known ? "" : " (not in the table; safe defaults)", m->window,
               m->max_output, model_price_known(m) ? "known" : "unknown",
               named ? "named by " : "the default of ", STR_ARG(by));
    if (p->key && *p->key)
        secret_mask(str_of(p->key), &key);
    doctor_add(d, HEALTH_OK, "key", "%s%s%s%s%s", key_source_name(p->source),
               p->source_name ? " " : "", p->source_name ? p->source_name : "", key.len ? ": " : "",
               buf_cstr(&key));
}

/* Waits for the head of the answer, or its end. */
static int doctor_wait(struct mailbox *mb, struct cancel *cancel, struct net_mail **ret,
                       struct err *err)
{
    int64_t deadline = clock_mono_ms() + DOCTOR_REACH_MS + 1000;

    for (;;) {
        struct mail *m;

        if (mailbox_take(mb, cancel, deadline, &m, err) < 0)
            return -1;
        *ret = (struct net_mail *)m;
        if ((*ret)->what != NET_BYTES)
            return 0;
        mail_free(m);
    }
}

/* Requests the list of models: free, and it needs the key like a call. */
static void doctor_ask_models(const struct provider *p, struct buf *ret_url, struct strv *headers)
{
    bool is_gemini = p->dialect == &dialect_gemini;
    bool is_anthropic = p->dialect == &dialect_anthropic;
    struct llm_request as_if = {.model = &p->model, .no_stream = true};

    door_url(str_of(p->base_url),
             str_of(is_gemini      ? "/v1beta/models"
                    : is_anthropic ? "/v1/models"
                                   : "/models"),
             ret_url);
    provider_headers(p, &as_if, headers);
}

static void doctor_status(struct doctor *d, const struct provider *p, const struct net_mail *m,
                          int64_t took_us)
{
    struct str type = net_mail_header(&m->headers, "content-type");

    doctor_add(d, HEALTH_OK, "network", "%s answers (HTTP %d, %.1f ms)", p->base_url, m->status,
               (double)took_us / 1000);
    if (m->status == 401 || m->status == 403)
        doctor_add(d, HEALTH_BAD, "key", "%s %s (HTTP %d)", p->base_url,
                   p->source == KEY_NOT_NEEDED ? "wants a key" : "refuses the key", m->status);
    else if (m->status >= 300 && m->status < 400)
        doctor_add(d, HEALTH_BAD, "network",
                   "that is a redirect, which is not followed, so that the key stays where it was "
                   "sent; is the base URL right?");
    else if (m->status < 300 && str_starts(type, STR("text/html")))
        doctor_add(d, HEALTH_BAD, "network", "that is a web page; is the base URL right?");
}

static int doctor_reach(struct doctor *d, struct net *net, const struct provider *p,
                        struct cancel *cancel, struct err *ret_err)
{
    CLEANUP(buf_release) struct buf url = BUF_INIT(BUF_NO_LIMIT);
    struct mailbox *mb = mailbox_new();
    struct net_request request = {
        .method = "GET",
        .connect_ms = DOCTOR_REACH_MS,
        .idle_ms = DOCTOR_REACH_MS,
        .total_ms = DOCTOR_REACH_MS,
    };
    int64_t start = clock_mono_us();
    struct net_mail *m = NULL;
    struct err err = {0};
    struct net_stream *s;
    int rc = 0;

    doctor_ask_models(p, &url, &request.headers);
    request.url = buf_cstr(&url);
    s = net_start(net, &request, mb, &err);
    if (!s) {
        doctor_add(d, HEALTH_BAD, "network", "%s", err.text);
    } else if (doctor_wait(mb, cancel, &m, &err) < 0) {
        rc = err.code == ERR_CANCELLED ? err_set(ret_err, ERR_CANCELLED, "%s", err.text) : 0;
        doctor_add(d, HEALTH_BAD, "network", "%s does not answer: %s", p->base_url, err.text);
    } else if (m->what == NET_END && m->end.code) {
        doctor_add(d, HEALTH_BAD, "network", "%s", m->end.text);
    } else {
        doctor_status(d, p, m, clock_mono_us() - start);
    }
    if (m)
        mail_free(&m->mail);
    net_stream_unref(s);
    net_request_release(&request);
    mailbox_close(mb);
    mailbox_unref(mb);
    return rc;
}

/* Checks what the settings lead to: model, key, network. */
static int doctor_ways(struct doctor *d, const struct conf *conf, struct str model,
                       struct cancel *cancel, struct err *err)
{
    CLEANUP(provider_release) struct provider provider = {0};
    struct err net_err = {0};
    struct err bad = {0};
    bool selected = provider_select(conf, model, cancel, &provider, &bad) == 0;
    struct net *net = connect_net(conf, &net_err);
    int rc = 0;

    if (net && net_ready(net, &net_err) < 0) {
        net_free(net);
        net = NULL;
    }
    doctor_libraries(d, net, &net_err);
    doctor_search(d, conf, cancel);
    if (selected)
        doctor_provider(d, conf, &provider);
    else
        doctor_add(d, HEALTH_BAD, "provider", "%s", bad.text);
    if (selected && provider.dialect && net)
        rc = doctor_reach(d, net, &provider, cancel, err);
    net_free(net);
    return rc;
}

int doctor_look(struct doctor *d, const struct conf *conf, const struct err *why, struct str model,
                struct cancel *cancel, struct err *err)
{
    doctor_kernel(d);
    doctor_confinement(d);
    doctor_room(d);
    if (!conf) {
        doctor_add(d, HEALTH_BAD, "settings", "%s", why->text);
        return 0;
    }
    doctor_home(d, conf);
    return doctor_ways(d, conf, model, cancel, err);
}

bool doctor_is_healthy(const struct doctor *d)
{
    VEC_EACH(&d->findings, f) {
        if (f->health == HEALTH_BAD)
            return false;
    }
    return true;
}

void doctor_write(const struct doctor *d, struct buf *out)
{
    buf_adds(out, "tenax " TENAX_VERSION "\n");
    VEC_EACH(&d->findings, f) {
        buf_addf(out, "%-8s %-9s %.*s\n", health_name(f->health), f->area, STR_ARG(f->text));
    }
    buf_adds(out, doctor_is_healthy(d) ? "Ready.\n" : "Not ready: see the problems above.\n");
}
