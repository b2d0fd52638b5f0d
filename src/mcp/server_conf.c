/*
 * Files are read in the order of their places and merged into one list; every entry is checked by
 * itself. Any thread.
 */
#include "mcp/server_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "json/json.h"
#include "json/jw.h"
#include "mcp/url_rule.h"
#include "net/net.h"

const char *mcp_scope_name(enum mcp_scope s)
{
    static const char *const names[] = {"managed", "dynamic", "local", "project", "user", "plugin"};

    return names[s];
}

bool mcp_scope_parse(struct str name, enum mcp_scope *ret_scope)
{
    for (enum mcp_scope s = MCP_LOCAL; s <= MCP_USER; s++) {
        if (str_is(name, mcp_scope_name(s))) {
            *ret_scope = s;
            return true;
        }
    }
    return false;
}

const char *mcp_type_name(enum mcp_type t)
{
    static const char *const names[] = {"stdio", "http", "sdk", "sse"};

    return names[t];
}

bool mcp_name_is_fine(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!str_is_alnum(name.ptr[i]) && name.ptr[i] != '_' && name.ptr[i] != '-')
            return false;
    }
    return name.len;
}

void mcp_server_release(struct mcp_server *s)
{
    mem_freep(&s->name);
    mem_freep(&s->file);
    mem_freep(&s->problem);
    mem_freep(&s->cwd);
    mem_freep(&s->url);
    mem_freep(&s->headers_helper);
    mem_freep(&s->oauth_client_id);
    mem_freep(&s->oauth_scopes);
    mem_freep(&s->oauth_metadata_url);
    strv_release(&s->argv);
    strv_release(&s->env);
    strv_release(&s->headers);
    strv_release(&s->inherited);
    strv_release(&s->allow);
    strv_release(&s->deny);
    buf_release(&s->entry);
}

void mcp_servers_release(struct mcp_servers *s)
{
    VEC_EACH(&s->list, one) {
        mcp_server_release(one);
    }
    vec_release(&s->list);
    strv_release(&s->notes);
}

const struct mcp_server *mcp_servers_find(const struct mcp_servers *s, struct str name)
{
    VEC_EACH(&s->list, one) {
        if (!one->hidden && str_is(name, one->name))
            return one;
    }
    return NULL;
}

/* ---- One entry ---- */

static char *copy(struct str s)
{
    return mem_dup(s.ptr, s.len);
}

/* The first problem counts. */
static void server_fails(struct mcp_server *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void server_fails(struct mcp_server *s, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1000);
    va_list args;

    if (s->problem)
        return;
    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    s->problem = copy(buf_str(&text));
    s->gate = MCP_BROKEN;
}

/* "${NAME}" and "${NAME:-default}"; a name without value and default is a problem. */
static void expand(struct mcp_server *s, const struct conf *conf, struct str text, struct buf *ret)
{
    while (text.len) {
        size_t at = str_find(text, STR("${"));
        size_t end;
        struct str inner;
        struct str name;
        const char *value;

        buf_add(ret, str_first(text, at));
        text = str_from(text, at);
        value = s->plugin ? plugin_variable(s->plugin, text, &end) : NULL;
        if (value) {
            buf_adds(ret, value);
            text = str_from(text, end);
            continue;
        }
        end = str_chr(text, '}');
        if (end >= text.len) {
            buf_add(ret, text);
            return;
        }
        inner = str_from(str_first(text, end), 2);
        text = str_from(text, end + 1);
        name = str_first(inner, str_find(inner, STR(":-")));
        {
            CLEANUP(mem_freep) char *key = copy(name);

            value = conf_env(conf, key);
        }
        if (value && (*value || name.len == inner.len))
            buf_adds(ret, value);
        else if (name.len < inner.len)
            buf_add(ret, str_from(inner, name.len + 2));
        else
            server_fails(s, "%.*s is not set", STR_ARG(name));
    }
}

static char *expanded(struct mcp_server *s, const struct conf *conf, const struct json *v,
                      const char *what)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(64 << 10);

    if (!json_is(v, JSON_STRING)) {
        server_fails(s, "%s is not a string", what);
        return NULL;
    }
    expand(s, conf, json_str(v), &text);
    if (buf_check(&text, NULL) < 0 || str_chr(buf_str(&text), '\0') < text.len)
        server_fails(s, "%s cannot be used", what);
    return copy(buf_str(&text));
}

static void read_names(struct mcp_server *s, const struct json *list, const char *what,
                       struct strv *ret)
{
    if (list && !json_is(list, JSON_ARRAY))
        server_fails(s, "%s is not a list", what);
    JSON_EACH(list, v) {
        if (json_is(v, JSON_STRING))
            strv_add(ret, json_str(v));
        else
            server_fails(s, "%s: an element is not a string", what);
    }
}

static void read_command(struct mcp_server *s, const struct json *entry, const struct conf *conf)
{
    CLEANUP(mem_freep) char *command = expanded(s, conf, json_get(entry, "command"), "command");
    const struct json *args = json_get(entry, "args");

    if (!command || !*command)
        server_fails(s, "command is missing");
    strv_adds(&s->argv, command ? command : "");
    if (args && !json_is(args, JSON_ARRAY))
        server_fails(s, "args is not a list");
    JSON_EACH(args, v) {
        CLEANUP(mem_freep) char *arg = expanded(s, conf, v, "an element of args");

        strv_adds(&s->argv, arg ? arg : "");
    }
    if (json_get(entry, "cwd"))
        s->cwd = expanded(s, conf, json_get(entry, "cwd"), "cwd");
}

static void read_pairs(struct mcp_server *s, const struct json *object, const char *what,
                       const char *between, const struct conf *conf, struct strv *ret)
{
    if (object && !json_is(object, JSON_OBJECT))
        server_fails(s, "%s is not an object", what);
    JSON_EACH(object, v) {
        struct str key = json_key(v);
        CLEANUP(mem_freep) char *value = expanded(s, conf, v, what);

        if (!key.len || str_chr(key, '=') < key.len || str_chr(key, '\0') < key.len)
            server_fails(s, "%s has an invalid name", what);
        if (between[0] == ':' && !net_is_token(key))
            server_fails(s, "'%.*s' is no name of a header", STR_ARG(key));
        if (between[0] == ':' && value && strpbrk(value, "\r\n"))
            server_fails(s, "the header '%.*s' has a line break", STR_ARG(key));
        strv_addf(ret, "%.*s%s%s", STR_ARG(key), between, value ? value : "");
    }
}

static void read_type(struct mcp_server *s, const struct json *entry)
{
    struct str type = json_get_str(entry, "type");

    if (!type.len)
        type = json_get(entry, "url") ? STR("http") : STR("stdio");
    if (str_is(type, "stdio"))
        s->type = MCP_STDIO;
    else if (str_is(type, "http") || str_is(type, "streamable-http"))
        s->type = MCP_HTTP;
    else if (str_is(type, "sse"))
        s->type = MCP_SSE;
    else if (str_is(type, "sdk"))
        s->type = MCP_SDK;
    else
        server_fails(s, "servers of type \"%.*s\" are not supported", STR_ARG(str_clip(type, 40)));
}

/* What is less than `least` counts as not said, as entries of others expect; then the variable of
 * the environment counts. */
static void read_ms(struct mcp_server *s, const struct json *entry, const struct conf *conf,
                    const char *key, const char *variable, int64_t least, int64_t *ret)
{
    const struct json *v = json_get(entry, key);
    const char *said = conf_env(conf, variable);

    if (v && !json_i64(v, ret))
        server_fails(s, "%s is not a number of milliseconds", key);
    if (*ret < least && (!said || str_to_i64(str_of(said), ret, NULL) < 0 || *ret < least))
        *ret = 0;
}

static void read_start(struct mcp_server *s, const struct json *entry)
{
    const struct json *inherit = json_get(entry, "inheritEnv");
    struct str start = json_get_str(entry, "start");

    s->inherits =
        s->scope != MCP_PROJECT && json_bool(inherit, true) && !json_is(inherit, JSON_ARRAY);
    if (json_is(inherit, JSON_ARRAY))
        read_names(s, inherit, "inheritEnv", &s->inherited);
    if (json_get(entry, "start") && !str_is_word_of(start, "eager lazy"))
        server_fails(s, "start is neither \"eager\" nor \"lazy\"");
    s->is_lazy = str_is(start, "lazy");
    s->is_confined = json_get_bool(entry, "sandbox", false);
    s->always_loads = json_get_bool(entry, "alwaysLoad", false);
}

static char *text_of(struct mcp_server *s, const struct json *v, const char *what)
{
    if (v && !json_is(v, JSON_STRING))
        server_fails(s, "%s is not a string", what);
    return json_str(v).len ? copy(json_str(v)) : NULL;
}

static void read_login(struct mcp_server *s, const struct json *entry)
{
    const struct json *oauth = json_get(entry, "oauth");
    int64_t port = json_get_i64(oauth, "callbackPort", 0);

    s->headers_helper = text_of(s, json_get(entry, "headersHelper"), "headersHelper");
    s->oauth_client_id = text_of(s, json_get(oauth, "clientId"), "oauth.clientId");
    s->oauth_scopes = text_of(s, json_get(oauth, "scopes"), "oauth.scopes");
    s->oauth_metadata_url =
        text_of(s, json_get(oauth, "clientMetadataUrl"), "oauth.clientMetadataUrl");
    if (port < 0 || port > 65535)
        server_fails(s, "oauth.callbackPort is no port");
    else
        s->oauth_port = (int)port;
}

void mcp_server_read(struct mcp_server *s, const struct json *entry, const struct conf *conf)
{
    struct jw w;
    struct err err = {0};
    const struct json *tools = json_get(entry, "tools");

    buf_init(&s->entry, MCP_MAX_FILE);
    jw_init(&w, &s->entry, 0);
    jw_json(&w, entry);
    sha256_hex(buf_str(&s->entry), s->digest);
    if (!json_is(entry, JSON_OBJECT)) {
        server_fails(s, "the entry is not an object");
        return;
    }
    read_type(s, entry);
    if (s->type == MCP_STDIO) {
        read_command(s, entry, conf);
    } else if (s->type != MCP_SDK) {
        s->url = expanded(s, conf, json_get(entry, "url"), "url");
        if (s->url && !s->problem && net_check_url(str_of(s->url), &err) < 0)
            server_fails(s, "url: %s", err.text);
    }
    read_pairs(s, json_get(entry, "env"), "env", "=", conf, &s->env);
    if (s->plugin) {
        strv_addf(&s->env, "CLAUDE_PLUGIN_ROOT=%s", s->plugin->root);
        strv_addf(&s->env, "CLAUDE_PLUGIN_DATA=%s", s->plugin->data);
    }
    read_pairs(s, json_get(entry, "headers"), "headers", ": ", conf, &s->headers);
    read_names(s, json_get(tools, "allow"), "tools.allow", &s->allow);
    read_names(s, json_get(tools, "deny"), "tools.deny", &s->deny);
    read_ms(s, entry, conf, "timeout", "MCP_TOOL_TIMEOUT", 1000, &s->timeout_ms);
    read_ms(s, entry, conf, "startTimeout", "MCP_TIMEOUT", 1, &s->start_ms);
    read_start(s, entry);
    read_login(s, entry);
}

static void add_part(struct buf *to, const char *text)
{
    buf_adds(to, text ? text : "");
    buf_addc(to, '\0');
}

void mcp_server_digest(const struct mcp_server *s, char ret_hex[SHA256_HEX + 1])
{
    CLEANUP(buf_release) struct buf all = BUF_INIT(BUF_NO_LIMIT);
    const struct strv *const lists[] = {&s->argv, &s->env, &s->headers};

    buf_add(&all, buf_str(&s->entry));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        add_part(&all, "");
        for (size_t k = 0; k < lists[i]->len; k++)
            add_part(&all, lists[i]->ptr[k]);
    }
    add_part(&all, s->url);
    add_part(&all, s->cwd);
    sha256_hex(buf_str(&all), ret_hex);
}

/* ---- All of them ---- */

struct loading {
    const struct mcp_sources *from;
    const struct conf *conf;
    struct mcp_servers *ret;
    struct arena arena;
};

/* One file, parsed; NULL when it is not there or cannot be used, which becomes a note. */
static const struct json *load_file(struct loading *l, const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MCP_MAX_FILE);
    const struct json *root = NULL;
    struct err err = {0};

    if (file_slurp(path, MCP_MAX_FILE, &text, &err) == 0 &&
        json_parse_copy(&l->arena, buf_str(&text), &root, NULL, &err) == 0) {
        if (json_is(root, JSON_OBJECT))
            return root;
        err_set(&err, ERR_BAD_INPUT, "not an object");
    }
    if (err.code != ERR_NOT_FOUND)
        strv_addf(&l->ret->notes, "%s: %s", path, err.text);
    return NULL;
}

/* A server that the settings speak of. */
static bool listed(const struct conf *conf, const char *key, const char *name)
{
    JSON_EACH(conf_get(conf, key), v) {
        if (str_is(json_str(v), name))
            return true;
    }
    return false;
}

/* A command word by word; a URL with stars for what may differ. */
static bool policy_matches(const struct json *rule, const struct mcp_server *s)
{
    const struct json *argv = json_get(rule, "serverCommand");
    struct str url = json_get_str(rule, "serverUrl");
    size_t i = 0;

    if (json_get(rule, "serverName"))
        return str_is(json_get_str(rule, "serverName"), s->name);
    if (argv) {
        JSON_EACH(argv, v) {
            if (i >= s->argv.len || !str_is(json_str(v), s->argv.ptr[i++]))
                return false;
        }
        return s->type == MCP_STDIO && i == s->argv.len;
    }
    return url.len && s->url && url_rule_matches(url, str_of(s->url));
}

/* What a list of policies says about a server. */
struct policy {
    bool has_match; /* any rule matches */
    bool has_own;   /* one that names its command, or its URL */
    bool wants_own; /* there are rules that name commands, or URLs, as it has one */
};

/* With only_managed, of a list that several levels have made, what the managed one says. */
static struct policy policy_of(const struct conf *conf, const char *key, bool only_managed,
                               const struct mcp_server *s)
{
    const char *own = s->type == MCP_STDIO ? "serverCommand" : "serverUrl";
    struct policy ret = {0};
    size_t i = 0;

    JSON_EACH(conf_get(conf, key), rule) {
        CLEANUP(buf_release) struct buf element = BUF_INIT(200);

        buf_addf(&element, "%s.%zu", key, i++);
        if (json_len(rule) != 1 || (only_managed && !conf_is_managed(conf, buf_cstr(&element))))
            continue; /* it says nothing, or too much */
        ret.wants_own = ret.wants_own || json_get(rule, own);
        if (!policy_matches(rule, s))
            continue;
        ret.has_match = true;
        ret.has_own = ret.has_own || json_get(rule, own);
    }
    return ret;
}

static void apply_policy(struct loading *l, struct mcp_server *s)
{
    bool only_managed = conf_get_bool(l->conf, "allowManagedMcpServersOnly", false);
    struct policy denied, allowed;

    if (s->gate == MCP_BROKEN)
        return;
    denied = policy_of(l->conf, "deniedMcpServers", /*only_managed=*/false, s);
    allowed = policy_of(l->conf, "allowedMcpServers", only_managed, s);
    if (denied.has_match) {
        s->gate = MCP_BLOCKED;
        s->problem = copy(STR("deniedMcpServers forbids it"));
    } else if (s->type != MCP_SDK && /* only a denial by name counts for these */
               (only_managed || conf_get(l->conf, "allowedMcpServers")) &&
               (allowed.wants_own ? !allowed.has_own : !allowed.has_match)) {
        s->gate = MCP_BLOCKED;
        s->problem = copy(STR("allowedMcpServers does not list it"));
    }
}

void mcp_approval(const struct mcp_server *s, struct buf *ret)
{
    buf_addf(ret, "mcp:%s:%s", s->name, s->digest);
}

/* The user has approved an entry of this name, and it says something else now. */
static bool has_changed(const struct loading *l, const struct mcp_server *s)
{
    CLEANUP(buf_release) struct buf any = BUF_INIT(1000);

    buf_addf(&any, "mcp:%s:", s->name);
    for (size_t i = 0; l->from->approved && i < l->from->approved->len; i++) {
        if (str_starts(str_of(l->from->approved->ptr[i]), buf_str(&any)))
            return true;
    }
    return false;
}

static void apply_project(struct loading *l, struct mcp_server *s)
{
    CLEANUP(buf_release) struct buf approval = BUF_INIT(1000);

    mcp_approval(s, &approval);
    if (s->gate != MCP_READY || s->scope != MCP_PROJECT)
        return;
    if (listed(l->conf, "disabledMcpjsonServers", s->name))
        s->gate = MCP_REJECTED;
    else if (!conf_is_trusted(l->conf))
        s->gate = MCP_UNAPPROVED;
    else if ((!l->from->is_headless || has_changed(l, s)) &&
             !conf_get_bool(l->conf, "enableAllProjectMcpServers", false) &&
             !listed(l->conf, "enabledMcpjsonServers", s->name) &&
             !(l->from->approved && strv_has(l->from->approved, buf_str(&approval))))
        s->gate = MCP_UNAPPROVED;
}

/* Those of a plugin have its name in theirs. */
static char *server_name(const struct plugin *plugin, struct str name)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(1000);

    if (plugin)
        buf_addf(&full, "plugin:%s:", plugin->name);
    buf_add(&full, str_clip(name, 200));
    return copy(buf_str(&full));
}

static void add_servers(struct loading *l, const struct json *servers, enum mcp_scope scope,
                        const char *file, const struct plugin *plugin)
{
    if (servers && !json_is(servers, JSON_OBJECT))
        strv_addf(&l->ret->notes, "%s: mcpServers is not an object", file);
    JSON_EACH(servers, entry) {
        struct mcp_server *s;
        CLEANUP(mem_freep) char *name = server_name(plugin, json_key(entry));
        bool hidden = mcp_servers_find(l->ret, str_of(name)) != NULL;

        if (l->ret->list.len >= MCP_MAX_SERVERS) {
            strv_addf(&l->ret->notes, "%s: more than %d MCP servers; the rest is left out", file,
                      MCP_MAX_SERVERS);
            return;
        }
        s = vec_add(&l->ret->list);
        *s = (struct mcp_server){.scope = scope, .hidden = hidden, .plugin = plugin};
        s->name = TAKE_PTR(name);
        s->file = copy(str_of(file));
        mcp_server_read(s, entry, l->conf);
        apply_policy(l, s);
        apply_project(l, s);
    }
}

static void add_all(struct loading *l, const struct json *servers, enum mcp_scope scope,
                    const char *file)
{
    add_servers(l, servers, scope, file, /*plugin=*/NULL);
}

static void load_plugins(struct loading *l)
{
    VEC_EACH(&plugins_get(l->conf)->list, it) {
        VEC_EACH(&(*it)->servers, object) {
            add_servers(l, object->value, MCP_PLUGIN, object->file, *it);
        }
    }
}

void mcp_server_add(struct mcp_server *ret, struct str name, const struct json *entry,
                    const struct conf *conf)
{
    struct mcp_servers none = {0};
    struct loading l = {.conf = conf, .ret = &none};

    *ret = (struct mcp_server){.scope = MCP_DYNAMIC};
    ret->name = copy(str_clip(name, 200));
    ret->file = copy(STR("the client"));
    mcp_server_read(ret, entry, conf);
    apply_policy(&l, ret);
}

static char *claude_json(const struct conf *conf)
{
    const char *home = conf_user_home(conf);
    CLEANUP(mem_freep) char *dot = path_join(home, ".claude");

    /* CLAUDE_CONFIG_DIR moves the file into that folder. */
    if (strcmp(conf_claude_home(conf), dot) != 0)
        return path_join(conf_claude_home(conf), ".claude.json");
    return path_join(home, ".claude.json");
}

static char *own_json(const struct conf *conf)
{
    return path_join(conf_home(conf), "mcp.json");
}

/* The folder with .git above the start folder, or that folder itself. */
static char *checkout_top(const char *dir)
{
    char *at = copy(str_of(dir));

    while (at[0] && strcmp(at, "/") != 0) {
        CLEANUP(mem_freep) char *git = path_join(at, ".git");
        char *up;

        if (file_exists(git))
            return at;
        up = path_dirname(at);
        free(at);
        at = up;
    }
    free(at);
    return copy(str_of(dir));
}

static void load_local(struct loading *l, const struct json *root, const char *file,
                       const char *top)
{
    const struct json *projects = json_get(root, "projects");
    const char *dir = conf_dir(l->conf);

    add_all(l, json_get(json_get(projects, dir), "mcpServers"), MCP_LOCAL, file);
    if (strcmp(dir, top) != 0)
        add_all(l, json_get(json_get(projects, top), "mcpServers"), MCP_LOCAL, file);
}

static void load_project(struct loading *l, const char *top)
{
    char *at = copy(str_of(conf_dir(l->conf)));

    for (;;) {
        CLEANUP(mem_freep) char *path = path_join(at, ".mcp.json");
        const struct json *root = file_exists(path) ? load_file(l, path) : NULL;
        char *up;

        if (root)
            add_all(l, json_get(root, "mcpServers"), MCP_PROJECT, path);
        if (strcmp(at, top) == 0 || strcmp(at, "/") == 0)
            break;
        up = path_dirname(at);
        free(at);
        at = up;
    }
    free(at);
}

/* --mcp-config takes files and JSON texts; an error in one of them ends the program. */
static int load_options(struct loading *l, struct err *err)
{
    const struct strv *given = conf_option(l->conf, OPT_MCP_CONFIG);

    for (size_t i = 0; given && i < given->len; i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(MCP_MAX_FILE);
        struct str one = str_trim(str_of(given->ptr[i]));
        const struct json *root = NULL;
        bool is_text = one.len && one.ptr[0] == '{';
        size_t from = l->ret->list.len;

        if (is_text)
            buf_add(&text, one);
        else if (file_slurp(given->ptr[i], MCP_MAX_FILE, &text, err) < 0)
            return err_prefix(err, "--mcp-config");
        if (json_parse_copy(&l->arena, buf_str(&text), &root, NULL, err) < 0)
            return err_prefix(err, "--mcp-config %s", is_text ? "" : given->ptr[i]);
        if (!json_is(json_get(root, "mcpServers"), JSON_OBJECT))
            return err_set(err, ERR_BAD_INPUT,
                           "--mcp-config %s: there is no object \"mcpServers\" in it",
                           is_text ? "" : given->ptr[i]);
        add_all(l, json_get(root, "mcpServers"), MCP_DYNAMIC, "--mcp-config");
        for (; from < l->ret->list.len; from++) {
            const struct mcp_server *s = &l->ret->list.ptr[from];

            if (s->gate == MCP_BROKEN &&
                str_find(buf_str(&s->entry), STR("\"type\":\"sdk\"")) == s->entry.len)
                return err_set(err, ERR_BAD_INPUT, "--mcp-config: the server \"%s\": %s", s->name,
                               s->problem);
        }
    }
    return 0;
}

/* Managed servers, and then no others. */
static bool load_managed(struct loading *l)
{
    static const char *const places[] = {"tenax", "claude-code"};

    for (size_t i = 0; i < 2; i++) {
        CLEANUP(mem_freep) char *dir = path_join(conf_etc(l->conf), places[i]);
        CLEANUP(mem_freep) char *path = path_join(dir, "managed-mcp.json");
        const struct json *root = file_exists(path) ? load_file(l, path) : NULL;

        if (root) {
            add_all(l, json_get(root, "mcpServers"), MCP_MANAGED, path);
            return true;
        }
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    const struct mcp_server *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order                    ? order
           : x->hidden != y->hidden ? x->hidden - y->hidden
                                    : (int)x->scope - (int)y->scope;
}

static int load_all(struct loading *l, const struct json *dynamic, struct err *err)
{
    CLEANUP(mem_freep) char *top = checkout_top(conf_dir(l->conf));
    CLEANUP(mem_freep) char *own = own_json(l->conf);
    CLEANUP(mem_freep) char *claudes = claude_json(l->conf);
    const struct json *ours = NULL;
    const struct json *theirs = NULL;

    if (load_managed(l))
        return 0;
    add_all(l, dynamic, MCP_DYNAMIC, "the client");
    if (load_options(l, err) < 0)
        return -1;
    if (conf_option(l->conf, OPT_STRICT_MCP_CONFIG))
        return 0;
    ours = load_file(l, own);
    if (conf_get_bool(l->conf, "claudeCompat", true))
        theirs = load_file(l, claudes);
    load_local(l, ours, own, top);
    load_local(l, theirs, claudes, top);
    load_project(l, top);
    add_all(l, json_get(ours, "mcpServers"), MCP_USER, own);
    add_all(l, json_get(theirs, "mcpServers"), MCP_USER, claudes);
    load_plugins(l);
    JSON_EACH(json_get(json_get(json_get(ours, "projects"), conf_dir(l->conf)), "disabled"), v) {
        VEC_EACH(&l->ret->list, s) {
            if (str_is(json_str(v), s->name) && s->gate == MCP_READY)
                s->gate = MCP_DISABLED;
        }
    }
    return 0;
}

int mcp_servers_load(const struct mcp_sources *from, struct mcp_servers *ret, struct err *err)
{
    struct loading l = {.from = from, .conf = from->conf, .ret = ret, .arena = ARENA_INIT};
    int r = load_all(&l, from->dynamic, err);

    arena_release(&l.arena);
    if (ret->list.len)
        qsort(ret->list.ptr, ret->list.len, sizeof(*ret->list.ptr), by_name);
    return r;
}

/* ---- Written ---- */

/* {"a":{"b":{...}}}: writes `from` with the member at path replaced (or taken out). */
static void write_with(struct jw *w, const struct json *from, const char *const *path,
                       const struct json *value)
{
    bool found = false;

    jw_object(w);
    JSON_EACH(from, v) {
        bool here = str_is(json_key(v), path[0]);

        found = found || here;
        if (here && !path[1] && !value)
            continue;
        jw_key_str(w, json_key(v));
        if (!here)
            jw_json(w, v);
        else if (path[1])
            write_with(w, json_is(v, JSON_OBJECT) ? v : NULL, path + 1, value);
        else
            jw_json(w, value);
    }
    if (!found && value) {
        jw_key(w, path[0]);
        if (path[1])
            write_with(w, NULL, path + 1, value);
        else
            jw_json(w, value);
    }
    jw_object_end(w);
}

int mcp_file_change(const char *path, mode_t mode, const char *const *keys, struct str value,
                    struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(MCP_MAX_FILE);
    CLEANUP(buf_release) struct buf out = BUF_INIT(MCP_MAX_FILE);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(fd_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct json *root = NULL;
    const struct json *put = NULL;
    const struct json *at;
    struct jw w;

    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_sys(err, ERR_IO, "cannot lock '%s'", dir);
    if (file_exists(path) && (file_slurp(path, MCP_MAX_FILE, &text, err) < 0 ||
                              json_parse(&arena, buf_str(&text), &root, NULL, err) < 0)) {
        return err_prefix(err, "%s", path);
    }
    if (value.len && json_parse(&arena, value, &put, NULL, err) < 0)
        return -1;
    at = root;
    for (size_t i = 0; keys[i]; i++)
        at = json_get(at, keys[i]);
    if (!value.len && !at) {
        return err_set(err, ERR_NOT_FOUND, "there is no such server in %s", path);
    }
    jw_init(&w, &out, JW_PRETTY);
    write_with(&w, root, keys, put);
    buf_addc(&out, '\n');
    return buf_check(&out, err) < 0 ? -1 : file_replace(path, buf_str(&out), mode, err);
}

int mcp_servers_write(const struct conf *conf, enum mcp_scope scope, struct str name,
                      struct str entry, struct buf *ret_path, struct err *err)
{
    CLEANUP(mem_freep) char *key = copy(name);
    CLEANUP(mem_freep) char *own = own_json(conf);
    CLEANUP(mem_freep) char *project = path_join(conf_dir(conf), ".mcp.json");
    const char *const of_project[] = {"mcpServers", key, NULL};
    const char *const of_local[] = {"projects", conf_dir(conf), "mcpServers", key, NULL};
    const char *path = scope == MCP_PROJECT ? project : own;

    if (scope != MCP_PROJECT && file_mkdirs(conf_home(conf), 0700, err) < 0)
        return -1;
    buf_adds(ret_path, path);
    return mcp_file_change(path, scope == MCP_PROJECT ? 0644 : 0600,
                           scope == MCP_LOCAL ? of_local : of_project, entry, err);
}

int mcp_servers_disable(const struct conf *conf, struct str name, bool off, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(MCP_MAX_FILE);
    CLEANUP(buf_release) struct buf list = BUF_INIT(MCP_MAX_FILE);
    CLEANUP(mem_freep) char *own = own_json(conf);
    const char *const keys[] = {"projects", conf_dir(conf), "disabled", NULL};
    const struct json *root = NULL;
    struct jw w;

    if (file_mkdirs(conf_home(conf), 0700, err) < 0)
        return -1;
    if (file_exists(own) && (file_slurp(own, MCP_MAX_FILE, &text, err) < 0 ||
                             json_parse(&arena, buf_str(&text), &root, NULL, err) < 0))
        return err_prefix(err, "%s", own);
    jw_init(&w, &list, 0);
    jw_array(&w);
    JSON_EACH(json_get(json_get(json_get(root, "projects"), conf_dir(conf)), "disabled"), v) {
        if (!str_eq(json_str(v), name))
            jw_json(&w, v);
    }
    if (off)
        jw_str(&w, name);
    jw_array_end(&w);
    return mcp_file_change(own, 0600, keys, buf_str(&list), err);
}
