/*
 * Servers live in slots. A slot is added and never taken away, so that any thread may read the list
 * and rows of tools may point into it; one that is gone is only marked. Everything else that moves
 * is in the clients.
 */
#include "mcp/mcp.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/extra.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/room.h"
#include "mcp/client.h"
#include "mcp/known.h"
#include "mcp/names.h"
#include "mcp/resources.h"
#include "mcp/result.h"
#include "mcp/server_conf.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "sync/ticket.h"

#define MCP_MAX_ALL_TOOLS 10000
#define MCP_MAX_SLOTS 1024
#define MCP_RESULT_TOKENS 25000
#define MCP_RESULT_MAX_TOKENS (1000 * 1000)
#define MCP_RESULT_RAISED ((int64_t)500 * 1000) /* bytes that a tool may ask for */
#define START_DELAY_MS 20         /* many processes at once would hold up the first request */
#define SHOWN_TEXT ((size_t)1000) /* of a description that has changed */
#define MCP_MAX_SCHEMA ((size_t)64 << 10)

struct slot {
    struct mcp_server server;
    _Atomic(struct mcp_client *) client; /* NULL: it does not run */
    atomic_int gate;                     /* enum mcp_gate, as it is now */
    atomic_bool is_gone;
    bool is_of_client; /* the session's client brought it, and may take it away */
};

struct mcp {
    struct mcp_spec spec;
    struct slot *slots[MCP_MAX_SLOTS];
    atomic_size_t count;
    atomic_uint changes;            /* of the list */
    struct ticket changing;         /* held while the list is changed */
    VEC(struct mcp_client *) ended; /* that were stopped; rows may name them still */
    struct strv files;              /* logs and caches */
    struct mcp_known *known;
};

/* ---- Life ---- */

static const char *log_path(struct mcp *m, const struct mcp_server *s)
{
    CLEANUP(mem_freep) char *logs = path_join(conf_home(m->spec.conf), "logs/mcp");
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);

    if (file_mkdirs(logs, 0700, NULL) < 0)
        return NULL;
    for (const char *p = s->name; *p; p++)
        buf_addc(&name, str_is_alnum(*p) || *p == '-' ? *p : '_');
    strv_addf(&m->files, "%s/%s.log", logs, buf_cstr(&name));
    return m->files.ptr[m->files.len - 1];
}

static const char *cache_path(struct mcp *m, const struct mcp_server *s)
{
    char digest[SHA256_HEX + 1];

    if (s->type == MCP_SDK)
        return NULL;
    mcp_server_digest(s, digest);
    strv_addf(&m->files, "%s/cache/mcp/%s.json", conf_home(m->spec.conf), digest);
    return m->files.ptr[m->files.len - 1];
}

static struct mcp_client *start_client(struct mcp *m, const struct mcp_server *s,
                                       struct strv *ret_notes)
{
    struct err err = {0};
    struct mcp_client *c;
    struct mcp_client_spec spec = {
        .server = s,
        .dir = conf_dir(m->spec.conf),
        .env = conf_environ(m->spec.conf),
        .home = conf_home(m->spec.conf),
        .log = s->type == MCP_STDIO ? log_path(m, s) : NULL,
        .net = m->spec.net,
        .link = m->spec.link,
        .roots = m->spec.roots,
        .cache = cache_path(m, s),
        .is_lazy = s->is_lazy && !m->spec.starts_all,
        .delay_ms = m->spec.starts_all || s->type == MCP_SDK ? 0 : START_DELAY_MS,
        .sandbox = m->spec.sandbox,
        .ask = m->spec.ask,
        .can_sample = m->spec.can_sample,
        .said = m->spec.said,
        .done = m->spec.done,
        .arg = m->spec.arg,
    };

    c = mcp_client_new(&spec, &err);
    if (!c)
        strv_addf(ret_notes, "MCP server %s: %s", s->name, err.text);
    return c;
}

static void slot_start(struct mcp *m, struct slot *slot, struct strv *ret_notes)
{
    const struct mcp_server *s = &slot->server;
    bool can =
        s->type == MCP_STDIO || (s->type == MCP_SDK ? m->spec.link != NULL : m->spec.net != NULL);

    if (m->spec.only && strcmp(m->spec.only, s->name) != 0)
        return;
    if (!slot->is_gone && !s->hidden && slot->gate == MCP_READY && can && !slot->client)
        slot->client = start_client(m, s, ret_notes);
}

static void slot_stop(struct mcp *m, struct slot *slot)
{
    struct mcp_client *c = atomic_exchange(&slot->client, NULL);

    if (!c)
        return;
    mcp_client_stop(c);
    vec_push(&m->ended, c);
}

/* Takes the content of *s. NULL: there are too many. */
static struct slot *slot_add(struct mcp *m, struct mcp_server *s)
{
    size_t n = m->count;
    struct slot *slot;

    if (n == MCP_MAX_SLOTS) {
        mcp_server_release(s);
        return NULL;
    }
    slot = m->slots[n] = mem_zalloc(sizeof(*slot));
    slot->server = *s;
    slot->gate = (int)s->gate;
    *s = (struct mcp_server){0};
    m->count = n + 1;
    return slot;
}

int mcp_new(const struct mcp_spec *spec, struct strv *ret_notes, struct mcp **ret, struct err *err)
{
    CLEANUP(mcp_servers_release) struct mcp_servers servers = {0};
    CLEANUP(mem_freep) char *path = path_join(conf_home(spec->conf), "mcp-tools.json");
    struct mcp *m = mem_zalloc(sizeof(*m));

    m->spec = *spec;
    ticket_init(&m->changing);
    m->known = mcp_known_new(path);
    if (mcp_servers_load(&(struct mcp_sources){.conf = spec->conf,
                                               .dynamic = spec->dynamic,
                                               .approved = spec->approved,
                                               .is_headless = spec->is_headless},
                         &servers, err) < 0) {
        mcp_free(m);
        return -1;
    }
    strv_add_all(ret_notes, &servers.notes);
    VEC_EACH(&servers.list, s) {
        struct slot *slot;

        if (spec->only_dynamic && !json_get(spec->dynamic, s->name))
            continue;
        slot = slot_add(m, s);
        if (slot)
            slot_start(m, slot, ret_notes);
    }
    *ret = m;
    return 0;
}

static struct slot *slot_find(struct mcp *m, struct str name)
{
    size_t i = mcp_find(m, name);

    return i < m->count ? m->slots[i] : NULL;
}

static bool has_changed(const struct slot *slot, const struct json *entry)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MCP_MAX_FILE);
    struct jw w;

    jw_init(&w, &text, 0);
    jw_json(&w, entry);
    return !str_eq(buf_str(&text), buf_str(&slot->server.entry));
}

static void set_one(struct mcp *m, const struct json *entry, struct mcp_changes *ret)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct slot *before = slot_find(m, json_key(entry));
    struct mcp_server s;
    struct slot *slot;

    if (before && before->is_of_client && !has_changed(before, entry))
        return;
    mcp_server_add(&s, json_key(entry), entry, m->spec.conf);
    if (s.gate != MCP_READY) {
        strv_addf(&ret->errors, "%s=%s", s.name, s.problem ? s.problem : "it cannot be used");
        mcp_server_release(&s);
        return;
    }
    if (before) {
        before->is_gone = true;
        slot_stop(m, before);
    }
    slot = slot_add(m, &s);
    if (!slot) {
        strv_addf(&ret->errors, "%.*s=there are too many servers", STR_ARG(json_key(entry)));
        return;
    }
    slot->is_of_client = true;
    slot_start(m, slot, &notes);
    strv_adds(&ret->added, slot->server.name);
}

void mcp_changes_release(struct mcp_changes *c)
{
    strv_release(&c->added);
    strv_release(&c->removed);
    strv_release(&c->errors);
}

void mcp_set(struct mcp *m, const struct json *servers, struct sdk_link *link, struct net *net,
             struct mcp_changes *ret)
{
    (void)ticket_take(&m->changing, /*cancel=*/NULL, /*err=*/NULL);
    if (link)
        m->spec.link = link;
    if (net)
        m->spec.net = net;
    for (size_t i = 0; i < m->count; i++) {
        struct slot *slot = m->slots[i];

        if (slot->is_gone || !slot->is_of_client ||
            json_get_key(servers, str_of(slot->server.name)))
            continue;
        slot->is_gone = true;
        slot_stop(m, slot);
        strv_adds(&ret->removed, slot->server.name);
    }
    JSON_EACH(servers, entry) {
        set_one(m, entry, ret);
    }
    for (size_t i = 0; link && i < m->count; i++) /* those of --mcp-config that waited for it */
        slot_start(m, m->slots[i], &ret->errors);
    m->changes++;
    ticket_give(&m->changing);
}

void mcp_add_plugins(struct mcp *m, struct mcp_servers *from, struct net *net,
                     struct strv *ret_notes)
{
    (void)ticket_take(&m->changing, /*cancel=*/NULL, /*err=*/NULL);
    if (net)
        m->spec.net = net;
    VEC_EACH(&from->list, s) {
        struct slot *slot;

        if (!s->plugin || slot_find(m, str_of(s->name)))
            continue;
        slot = slot_add(m, s);
        if (slot)
            slot_start(m, slot, ret_notes);
    }
    m->changes++;
    ticket_give(&m->changing);
}

static void slot_set(struct mcp *m, struct slot *slot, enum mcp_gate gate, struct net *net)
{
    CLEANUP(strv_release) struct strv notes = STRV_INIT;

    (void)ticket_take(&m->changing, /*cancel=*/NULL, /*err=*/NULL);
    if (net)
        m->spec.net = net;
    slot->gate = (int)gate;
    if (gate == MCP_READY)
        slot_start(m, slot, &notes);
    else
        slot_stop(m, slot);
    m->changes++;
    ticket_give(&m->changing);
}

int mcp_toggle(struct mcp *m, size_t i, bool on, struct net *net, struct err *err)
{
    struct slot *slot = m->slots[i];
    enum mcp_gate gate = slot->gate;

    if (gate == MCP_READY || gate == MCP_DISABLED)
        slot_set(m, slot, on ? MCP_READY : MCP_DISABLED, net);
    else if (on)
        return err_set(err, ERR_DENIED, "it cannot be turned on: %s",
                       slot->server.problem ? slot->server.problem : "it is not approved");
    return 0;
}

void mcp_admit(struct mcp *m, size_t i, struct net *net)
{
    if (m->slots[i]->gate == MCP_UNAPPROVED)
        slot_set(m, m->slots[i], MCP_READY, net);
}

/* Each may take a second to go; together they take no longer. */
static void free_client(void *arg)
{
    mcp_client_free(arg);
}

void mcp_free(struct mcp *m)
{
    VEC(struct thread *) threads = VEC_INIT;

    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++) {
        if (m->slots[i]->client)
            vec_push(&m->ended, (struct mcp_client *)m->slots[i]->client);
    }
    VEC_EACH(&m->ended, c) {
        struct thread *t = thread_start("mcp end", free_client, *c, NULL);

        if (t)
            vec_push(&threads, t);
        else
            mcp_client_free(*c);
    }
    VEC_EACH(&threads, t) {
        thread_join(*t);
    }
    vec_release(&threads);
    vec_release(&m->ended);
    for (size_t i = 0; i < m->count; i++) {
        mcp_server_release(&m->slots[i]->server);
        free(m->slots[i]);
    }
    ticket_release(&m->changing);
    strv_release(&m->files);
    mcp_known_free(m->known);
    free(m);
}

size_t mcp_count(const struct mcp *m)
{
    return m->count;
}

const struct mcp_server *mcp_server_at(const struct mcp *m, size_t i)
{
    return &m->slots[i]->server;
}

struct mcp_client *mcp_client_at(const struct mcp *m, size_t i)
{
    return m->slots[i]->client;
}

bool mcp_is_hidden(const struct mcp *m, size_t i)
{
    return m->slots[i]->is_gone || m->slots[i]->server.hidden;
}

size_t mcp_find(const struct mcp *m, struct str name)
{
    size_t i = 0;

    while (i < mcp_count(m) && (mcp_is_hidden(m, i) || !str_is(name, mcp_server_at(m, i)->name)))
        i++;
    return i;
}

const char *mcp_status(const struct mcp *m, size_t i, struct buf *ret_why)
{
    static const char *const gates[] = {
        [MCP_UNAPPROVED] = "not approved yet",
        [MCP_REJECTED] = "rejected by disabledMcpjsonServers",
        [MCP_DISABLED] = "turned off",
    };
    const struct mcp_server *s = mcp_server_at(m, i);
    enum mcp_gate gate = (enum mcp_gate)m->slots[i]->gate;
    struct mcp_client *c = mcp_client_at(m, i);
    CLEANUP(strv_release) struct strv problems = STRV_INIT;
    struct mcp_look look;

    if (mcp_is_hidden(m, i)) {
        buf_adds(ret_why, "hidden by another server of this name");
        return "disabled";
    }
    if (gate == MCP_BROKEN || gate == MCP_BLOCKED) {
        buf_adds(ret_why, s->problem);
        return gate == MCP_BROKEN ? "failed" : "disabled";
    }
    if (gate != MCP_READY) {
        buf_adds(ret_why, gates[gate]);
        return "disabled";
    }
    if (!c) {
        buf_adds(ret_why, s->type == MCP_SDK ? "it lives in a client, and this session has none"
                                             : "there is no network");
        return "failed";
    }
    mcp_client_look(c, &look);
    buf_adds(ret_why, look.error);
    if (look.state == MCP_CONNECTED && look.lists)
        mcp_lists_problems(look.lists, &problems);
    for (size_t k = 0; k < problems.len; k++)
        buf_addf(ret_why, "%s%s", ret_why->len ? "; " : "", problems.ptr[k]);
    mcp_lists_unref(look.lists);
    return mcp_state_name(look.state);
}

uint64_t mcp_version(const struct mcp *m)
{
    uint64_t version = (uint64_t)m->changes << 32;

    for (size_t i = 0; i < m->count; i++) {
        struct mcp_client *c = mcp_client_at(m, i);

        version += c ? mcp_client_changes(c) : 0;
    }
    return version;
}

void mcp_roots_changed(struct mcp *m)
{
    for (size_t i = 0; i < m->count; i++) {
        struct mcp_client *c = mcp_client_at(m, i);

        if (c)
            mcp_client_roots_changed(c);
    }
}

void mcp_wait(struct mcp *m, int64_t ms, struct cancel *cancel)
{
    int64_t until_ms = clock_mono_ms() + ms;

    for (size_t i = 0; i < m->count; i++) {
        int64_t left_ms = until_ms - clock_mono_ms();
        struct mcp_client *c = mcp_client_at(m, i);

        if (c && left_ms > 0 && !cancel_is_set(cancel))
            (void)mcp_client_wait(c, left_ms, cancel, NULL);
    }
}

/* ---- Tools ---- */

struct mcp_tool {
    struct mcp_client *client;
    const char *server, *name; /* as the server calls them */
    struct mcp *mcp;
    const struct json *tool; /* of its list */
    bool is_refused;         /* it describes itself in another way than before */
};

struct mcp_tools {
    struct arena arena;
    VEC(struct tool_entry) rows;
    VEC(struct mcp_lists *) lists; /* references: rows point into them */
};

static void show_progress(void *arg, struct str text)
{
    struct tool_call *call = arg;

    if (call->progress)
        call->progress(call, text);
}

static int call_failed(const struct mcp_tool *t, const struct err *why, const struct mcp_server *s,
                       struct tool_result *ret)
{
    ret->is_error = true;
    if (why->code == ERR_TIMEOUT)
        buf_addf(&ret->text, "MCP server \"%s\" tool \"%s\" timed out after %llds", t->server,
                 t->name,
                 (long long)(((s->timeout_ms ? s->timeout_ms : MCP_CALL_MS) + 999) / 1000));
    else
        buf_adds(&ret->text, why->text);
    return 0;
}

static int mcp_tool_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    const struct mcp_tool *t = call->entry->arg;
    const struct mcp_server *s = mcp_client_server(t->client);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf params = BUF_INIT(TOOL_MAX_TEXT);
    CLEANUP(buf_release) struct buf meta = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(TOOL_MAX_TEXT);
    struct mcp_request request = {.method = "tools/call",
                                  .timeout_ms = s->timeout_ms,
                                  .progress = show_progress,
                                  .arg = call};
    const struct json *result = NULL;
    CLEANUP(buf_release) struct buf before = BUF_INIT(4096);
    struct err why = {0};
    struct jw w;

    if (t->is_refused)
        return err_set(err, ERR_DENIED,
                       "%s describes itself in another way than when it was allowed, and "
                       "mcp.onToolChange refuses that",
                       call->entry->name);
    if (mcp_known_differs(t->mcp->known, s, t->tool, &before))
        t->mcp->changes++; /* the next calls of it need no confirmation */
    mcp_known_keep(t->mcp->known, s, t->tool);
    jw_init(&w, &params, 0);
    jw_object(&w);
    jw_kcstr(&w, "name", t->name);
    jw_kjson(&w, "arguments", call->args);
    jw_object_end(&w);
    buf_adds(&meta, "\"claudecode/toolUseId\":");
    jw_init(&w, &meta, 0);
    jw_str(&w, call->id);
    if (buf_check(&params, err) < 0)
        return -1;
    request.params = buf_str(&params);
    request.meta = buf_str(&meta);
    if (mcp_client_call(t->client, &request, call->cancel, &answer, &why) < 0) {
        if (why.code == ERR_CANCELLED) {
            *err = why;
            return -1;
        }
        return call_failed(t, &why, s, ret);
    }
    if (json_parse(&arena, buf_str(&answer), &result, NULL, err) < 0)
        return -1;
    return mcp_result_read(result, t->server, t->name, call, ret, err);
}

/* Providers take no choice at the root of a schema: its branches' properties are united, and
 * required is what all of them require (of allOf: what any does). The server checks the rest. */
static void write_flat_schema(const struct json *schema, const char *choice, struct jw *w)
{
    const struct json *branches = json_get(schema, choice);
    bool is_all = strcmp(choice, "allOf") == 0;
    struct map seen = MAP_INIT;
    struct map required = MAP_INIT;

    jw_object(w);
    jw_kcstr(w, "type", "object");
    jw_key(w, "properties");
    jw_object(w);
    JSON_EACH(json_get(schema, "properties"), p) {
        map_set(&seen, json_key(p), &seen);
        jw_key_str(w, json_key(p));
        jw_json(w, p);
    }
    JSON_EACH(branches, b) {
        JSON_EACH(json_get(b, "properties"), p) {
            if (map_has(&seen, json_key(p)))
                continue;
            map_set(&seen, json_key(p), &seen);
            jw_key_str(w, json_key(p));
            jw_json(w, p);
        }
        JSON_EACH(json_get(b, "required"), name) {
            size_t times = (size_t)map_get(&required, json_str(name)) + 1;

            map_set(&required, json_str(name), (void *)times);
        }
    }
    jw_object_end(w);
    jw_key(w, "required");
    jw_array(w);
    JSON_EACH(json_get(schema, "required"), name) {
        map_set(&required, json_str(name), NULL);
        jw_str(w, json_str(name));
    }
    MAP_EACH(&required, it) {
        if (it->value && (is_all || (size_t)it->value == json_len(branches)))
            jw_str(w, it->key);
    }
    jw_array_end(w);
    JSON_EACH(schema, member) {
        if (!str_is_word_of(json_key(member), "type properties required anyOf oneOf allOf")) {
            jw_key_str(w, json_key(member));
            jw_json(w, member);
        }
    }
    jw_object_end(w);
    map_release(&seen);
    map_release(&required);
}

/* The schema as the server has it, an object's; NULL: it is none. ret_shown: another one for
 * providers, or NULL. */
static const char *schema_text(const struct json *schema, struct arena *arena,
                               const char **ret_shown)
{
    static const char *const choices[] = {"anyOf", "oneOf", "allOf"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(MCP_MAX_SCHEMA);
    CLEANUP(buf_release) struct buf flat = BUF_INIT(MCP_MAX_SCHEMA);
    struct str type = json_get_str(schema, "type");
    struct jw w;

    *ret_shown = NULL;
    if (!schema)
        return "{\"type\":\"object\"}";
    if (!json_is(schema, JSON_OBJECT) || (json_get(schema, "type") && !str_is(type, "object")))
        return NULL;
    jw_init(&w, &text, 0);
    if (type.len) {
        jw_json(&w, schema);
    } else {
        jw_object(&w);
        jw_kcstr(&w, "type", "object");
        JSON_EACH(schema, member) {
            jw_key_str(&w, json_key(member));
            jw_json(&w, member);
        }
        jw_object_end(&w);
    }
    for (size_t i = 0; i < ARRAY_LEN(choices) && !flat.len; i++) {
        if (!json_is(json_get(schema, choices[i]), JSON_ARRAY))
            continue;
        jw_init(&w, &flat, 0);
        write_flat_schema(schema, choices[i], &w);
        *ret_shown = arena_cstr(arena, buf_str(&flat));
    }
    return text.over || flat.over ? NULL : arena_cstr(arena, buf_str(&text));
}

static bool is_offered(const struct mcp_server *s, struct str name)
{
    return !strv_has(&s->deny, name) && (!s->allow.len || strv_has(&s->allow, name));
}

/* MAX_MCP_OUTPUT_TOKENS, which a tool may raise for itself. */
static size_t result_limit(const struct mcp *m, const struct json *tool)
{
    const char *tokens = conf_env(m->spec.conf, "MAX_MCP_OUTPUT_TOKENS");
    int64_t limit = MCP_RESULT_TOKENS;
    int64_t said = json_get_i64(json_get(tool, "_meta"), "anthropic/maxResultSizeChars", 0);

    if (tokens && (str_to_i64(str_of(tokens), &limit, NULL) < 0 || limit <= 0 ||
                   limit > MCP_RESULT_MAX_TOKENS))
        limit = MCP_RESULT_TOKENS;
    limit *= ROOM_TOKEN_BYTES;
    return (size_t)(said <= limit ? limit : said < MCP_RESULT_RAISED ? said : MCP_RESULT_RAISED);
}

static void add_words(struct buf *ret, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        buf_addc(ret, (unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f ? ' ' : text.ptr[i]);
}

/* A tool that has changed since it was let run, or whose server wants it. NULL: as others.
 * ret_or_warn: where nobody can be asked, saying so is enough. */
static const char *why_to_ask(struct mcp *m, struct mcp_tools *t, struct mcp_tool *tool,
                              bool *ret_or_warn, struct strv *ret_notes)
{
    CLEANUP(buf_release) struct buf before = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf text = BUF_INIT(8192);
    const struct mcp_server *s = mcp_client_server(tool->client);
    struct str policy = conf_get_str(m->spec.conf, "mcp.onToolChange");

    if (json_get_bool(json_get(tool->tool, "_meta"), "anthropic/requiresUserInteraction", false))
        return "its server wants each call to be confirmed";
    if (!mcp_known_differs(m->known, s, tool->tool, &before))
        return NULL;
    tool->is_refused = str_is(policy, "deny");
    if (tool->is_refused)
        return NULL;
    if (str_is(policy, "warn")) {
        strv_addf(ret_notes,
                  "MCP server %s: the tool %s describes itself in another way than when it was "
                  "allowed",
                  tool->server, tool->name);
        mcp_known_keep(m->known, s, tool->tool);
        return NULL;
    }
    *ret_or_warn = true;
    buf_adds(&text, "it describes itself in another way than when it was allowed. Before: ");
    add_words(&text, str_clip(buf_str(&before), SHOWN_TEXT));
    buf_adds(&text, " Now: ");
    add_words(&text, str_clip(json_get_str(tool->tool, "description"), SHOWN_TEXT));
    return arena_cstr(&t->arena, buf_str(&text));
}

static void add_row(struct mcp *m, struct mcp_tools *t, struct mcp_client *c,
                    const struct json *tool, const char *name, struct strv *ret_notes)
{
    const struct mcp_server *s = mcp_client_server(c);
    struct mcp_tool *arg = arena_new(&t->arena, struct mcp_tool);
    const char *shown;
    const char *schema = schema_text(json_get(tool, "inputSchema"), &t->arena, &shown);
    struct str hint = json_get_str(json_get(tool, "_meta"), "anthropic/searchHint");
    bool reads = json_get_bool(json_get(tool, "annotations"), "readOnlyHint", false);
    const char *must_ask;
    bool or_warn = false;

    if (!schema) {
        strv_addf(ret_notes,
                  "MCP server %s: the tool %.*s cannot be offered, because its schema is not one "
                  "of an object",
                  s->name, STR_ARG(str_clip(json_get_str(tool, "name"), 100)));
        return;
    }
    arg->mcp = m;
    arg->tool = tool;
    arg->client = c;
    arg->server = s->name;
    arg->name = arena_cstr(&t->arena, json_get_str(tool, "name"));
    must_ask = why_to_ask(m, t, arg, &or_warn, ret_notes);
    *vec_add(&t->rows) = (struct tool_entry){
        .name = arena_cstr(&t->arena, str_of(name)),
        .text = arena_cstr(&t->arena, str_clip(json_get_str(tool, "description"), EXTRA_MAX_TEXT)),
        .schema = schema,
        .shown_schema = shown,
        .hint = hint.len ? arena_cstr(&t->arena, str_clip(hint, MCP_MAX_TEXT)) : NULL,
        .server = s->name,
        .raw_name = arg->name,
        .flags = (reads ? TOOL_CONCURRENT : 0) | (s->always_loads ? 0 : TOOL_DEFERRED),
        .max_result = result_limit(m, tool),
        .must_ask = must_ask,
        .may_go_unasked = or_warn,
        .arg = arg,
        .run = mcp_tool_run,
    };
}

static void note_problems(const struct mcp_server *s, const struct mcp_lists *l,
                          struct strv *ret_notes)
{
    CLEANUP(strv_release) struct strv problems = STRV_INIT;

    mcp_lists_problems(l, &problems);
    for (size_t i = 0; i < problems.len; i++)
        strv_addf(ret_notes, "MCP server %s: %s", s->name, problems.ptr[i]);
}

struct mcp_tools *mcp_tools(struct mcp *m, struct strv *ret_notes)
{
    struct mcp_tools *t = mem_zalloc(sizeof(*t));
    VEC(struct mcp_named) names = VEC_INIT;
    VEC(const struct json *) tools = VEC_INIT;
    VEC(struct mcp_client *) owners = VEC_INIT;
    bool has_resources = false;
    size_t left_out = 0;

    for (size_t i = 0; i < m->count; i++) {
        struct mcp_client *c = mcp_client_at(m, i);
        struct map seen = MAP_INIT;
        struct mcp_look look;

        if (!c)
            continue;
        mcp_client_look(c, &look);
        if (!look.lists)
            continue;
        vec_push(&t->lists, look.lists);
        has_resources = has_resources || look.lists->has_resources;
        note_problems(mcp_client_server(c), look.lists, ret_notes);
        VEC_EACH(&look.lists->tools, tool) {
            struct str name = json_get_str(*tool, "name");

            if (!name.len || !is_offered(mcp_client_server(c), name))
                continue;
            if (map_has(&seen, name)) {
                strv_addf(ret_notes, "MCP server %s lists the tool %.*s twice; the first is used",
                          mcp_client_server(c)->name, STR_ARG(str_clip(name, 100)));
                continue;
            }
            map_set(&seen, name, c);
            if (tools.len >= MCP_MAX_ALL_TOOLS) {
                left_out++;
                continue;
            }
            vec_push(&tools, *tool);
            vec_push(&owners, c);
            *vec_add(&names) =
                (struct mcp_named){.server = str_of(mcp_client_server(c)->name), .tool = name};
        }
        map_release(&seen);
    }
    if (left_out)
        strv_addf(ret_notes, "MCP servers offer more than %d tools; %zu are left out",
                  MCP_MAX_ALL_TOOLS, left_out);
    mcp_names_make(names.ptr, names.len);
    for (size_t i = 0; i < tools.len; i++)
        add_row(m, t, owners.ptr[i], tools.ptr[i], names.ptr[i].name, ret_notes);
    if (has_resources) {
        struct tool_entry rows[MCP_RESOURCE_TOOLS];

        mcp_resource_tools(m, rows);
        for (size_t i = 0; i < MCP_RESOURCE_TOOLS; i++)
            vec_push(&t->rows, rows[i]);
    }
    vec_release(&names);
    vec_release(&tools);
    vec_release(&owners);
    return t;
}

const struct tool_entry *mcp_tools_rows(const struct mcp_tools *t, size_t *ret_count)
{
    *ret_count = t->rows.len;
    return t->rows.ptr;
}

void mcp_tools_free(void *arg)
{
    struct mcp_tools *t = arg;

    if (!t)
        return;
    VEC_EACH(&t->lists, l) {
        mcp_lists_unref(*l);
    }
    vec_release(&t->lists);
    vec_release(&t->rows);
    arena_release(&t->arena);
    free(t);
}

/* ---- Shown ---- */

static void write_tools(const struct mcp_lists *l, struct jw *w)
{
    jw_key(w, "tools");
    jw_array(w);
    VEC_EACH(&l->tools, tool) {
        const struct json *hints = json_get(*tool, "annotations");

        jw_object(w);
        jw_kstr(w, "name", json_get_str(*tool, "name"));
        jw_key(w, "annotations");
        jw_object(w);
        if (json_get(hints, "readOnlyHint"))
            jw_kbool(w, "readOnly", json_get_bool(hints, "readOnlyHint", false));
        if (json_get(hints, "destructiveHint"))
            jw_kbool(w, "destructive", json_get_bool(hints, "destructiveHint", false));
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}

void mcp_write(const struct mcp *m, bool tools, struct jw *w)
{
    jw_array(w);
    for (size_t i = 0; i < mcp_count(m); i++) {
        const struct mcp_server *s = mcp_server_at(m, i);
        CLEANUP(buf_release) struct buf why = BUF_INIT(2000);
        const char *status = mcp_status(m, i, &why);
        struct mcp_look look = {0};

        if (mcp_is_hidden(m, i))
            continue;
        jw_object(w);
        jw_kcstr(w, "name", s->name);
        jw_kcstr(w, "status", status);
        jw_kcstr(w, "source", s->type == MCP_SDK ? "sdk" : mcp_scope_name(s->scope));
        if (tools) {
            jw_kcstr(w, "scope", mcp_scope_name(s->scope));
            jw_kcstr(w, "transport", mcp_type_name(s->type));
            if (why.len)
                jw_kstr(w, "error", buf_str(&why));
            if (mcp_client_at(m, i))
                mcp_client_look(mcp_client_at(m, i), &look);
            if (look.lists) {
                jw_key(w, "serverInfo");
                jw_object(w);
                jw_kstr(w, "name", look.lists->server_name);
                jw_kstr(w, "version", look.lists->server_version);
                jw_object_end(w);
                write_tools(look.lists, w);
            }
            mcp_lists_unref(look.lists);
        }
        jw_object_end(w);
    }
    jw_array_end(w);
}
