/*
 * policy: a document, key by key. Any thread.
 */
#include "conf/policy.h"

#include <string.h>

#include "base/buf.h"
#include "base/strv.h"
#include "conf/overlay.h"
#include "conf/settings_file.h"
#include "json/json.h"

#define POLICY_MAX ((size_t)2 << 20)

static const struct policy_row {
    const char *key;
    const char *value; /* the only one that forbids; NULL: any does */
    const char *as;    /* what it means here; NULL: itself */
} policy_rows[] = {
    {"permissions.deny", NULL, NULL},
    {"permissions.ask", NULL, NULL},
    {"permissions.disableBypassPermissionsMode", "\"disable\"", NULL},
    {"disableAutoMode", NULL, NULL},
    {"disableAllHooks", "true", "allowManagedHooksOnly"},
    {"allowManagedHooksOnly", "true", NULL},
    {"allowManagedPermissionRulesOnly", "true", NULL},
    {"allowManagedMcpServersOnly", "true", NULL},
    {"sandbox.allowUnsandboxedCommands", "false", NULL},
    {"sandbox.enabled", "true", NULL},
    {"sandbox.enabled", "\"on\"", NULL},
    {"sandbox.network.allowManagedDomainsOnly", "true", NULL},
    {"sandbox.network.deniedDomains", NULL, NULL},
    {"sandbox.filesystem.allowManagedReadPathsOnly", "true", NULL},
    {"sandbox.filesystem.denyRead", NULL, NULL},
    {"sandbox.filesystem.denyWrite", NULL, NULL},
    {"availableModels", NULL, NULL},
    {"deniedMcpServers", NULL, NULL},
    {"allowedMcpServers", NULL, NULL},
    {"blockedMarketplaces", NULL, NULL},
    {"strictKnownMarketplaces", NULL, NULL},
};

struct policy {
    struct buf *text;
    struct strv *dropped;
};

static const struct policy_row *policy_find(const char *key, struct str value)
{
    for (size_t i = 0; i < ARRAY_LEN(policy_rows); i++) {
        const struct policy_row *row = &policy_rows[i];

        if (strcmp(row->key, key) == 0 && (!row->value || str_is(value, row->value)))
            return row;
    }
    return NULL;
}

/* An overlay_fn. */
static int policy_take(void *arg, const char *key, const struct json *value, struct err *err)
{
    struct policy *p = arg;
    const struct policy_row *row = policy_find(key, json_raw(value));
    CLEANUP(buf_release) struct buf changed = BUF_INIT(POLICY_MAX);

    if (!row || !value) {
        strv_adds(p->dropped, key);
        return 0;
    }
    if (settings_text_set(buf_str(p->text), row->as ? row->as : key, json_raw(value), &changed,
                          err) < 0)
        return -1;
    buf_move(p->text, &changed);
    return 0;
}

int policy_filter(const struct json *settings, struct buf *ret, struct strv *ret_dropped,
                  struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(POLICY_MAX);
    struct policy p = {.text = &text, .dropped = ret_dropped};

    buf_adds(&text, "{}");
    if (overlay_each(settings, policy_take, &p, err) < 0)
        return -1;
    buf_add(ret, buf_str(&text));
    return 0;
}
