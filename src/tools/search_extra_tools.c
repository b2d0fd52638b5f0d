/*
 * SearchExtraTools: finds tools that are not part of the request. Runs on a tool thread; sees only
 * its call. Waits for servers that still connect when they may have a match.
 */
#include <string.h>

#include "agent/extra.h"
#include "agent/tool.h"
#include "agent/toolbox.h"
#include "base/err.h"
#include "base/strv.h"
#include "conf/nearest.h"
#include "guard/rule.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "tools/entries.h"

#define SEARCH_DEFAULT 5
#define SEARCH_MAX 20
#define SEARCH_NEAR 3

static int tool_search_extra_tools_run(struct tool_call *call, struct tool_result *ret,
                                       struct err *err);

const struct tool_entry tool_search_extra_tools_entry = {
    .name = "SearchExtraTools",
    .text = tool_search_extra_tools_md,
    .schema = tool_search_extra_tools_schema,
    .flags = TOOL_FREE | TOOL_READ_ONLY | TOOL_CONCURRENT | TOOL_FINDS,
    .run = tool_search_extra_tools_run,
};

struct search {
    struct tool_call *call;
    struct toolbox *box; /* a reference */
    const char *mode;    /* "select", "discover", "words" */
    struct str query;    /* without the mode */
    struct buf required; /* words after a "+" */
    struct buf words;    /* the others */
    size_t max;
    struct word_hit hits[SEARCH_MAX];
    size_t count, total;
    struct strv missing, loaded, off;
};

static void search_release(struct search *s)
{
    toolbox_unref(s->box);
    buf_release(&s->required);
    buf_release(&s->words);
    strv_release(&s->missing);
    strv_release(&s->loaded);
    strv_release(&s->off);
}

static void search_read(struct search *s)
{
    struct str query = str_trim(json_get_str(s->call->args, "query"));
    struct str word;

    s->mode = "words";
    s->max = (size_t)json_get_i64(s->call->args, "max_results", SEARCH_DEFAULT);
    if (str_starts(query, STR("select:"))) {
        s->mode = "select";
        query = str_from(query, 7);
    } else if (str_starts(query, STR("discover:"))) {
        s->mode = "discover";
        query = str_from(query, 9);
    }
    s->query = str_trim(query);
    for (struct str rest = s->query; str_cut(&rest, ' ', &word);) {
        struct buf *to = str_starts(word, STR("+")) ? &s->required : &s->words;

        buf_add(to, str_from(word, to == &s->required));
        buf_addc(to, ' ');
    }
}

/* The row of this name, whatever its case. */
static const struct tool_entry *find_any_case(const struct search *s, struct str name)
{
    const struct tool_entry *e = toolbox_find(s->box, name);
    size_t count;
    const struct tool_entry *const *extra = toolbox_extra(s->box, &count);

    for (size_t i = 0; !e && i < count; i++) {
        if (str_eq_nocase(str_of(extra[i]->name), name))
            e = extra[i];
    }
    return e;
}

static void search_select(struct search *s)
{
    size_t count;
    const struct tool_entry *const *extra = toolbox_extra(s->box, &count);
    struct str name;

    strv_clear(&s->missing);
    strv_clear(&s->loaded);
    strv_clear(&s->off);
    s->count = 0;
    for (struct str rest = s->query; str_cut(&rest, ',', &name);) {
        const struct tool_entry *e = find_any_case(s, str_trim(name));
        size_t at = 0;

        name = str_trim(name);
        if (!name.len)
            continue;
        while (e && at < count && extra[at] != e)
            at++;
        if (!e && rule_knows_tool(name) && !str_starts(name, STR("mcp__")))
            strv_add(&s->off, name);
        else if (!e)
            strv_add(&s->missing, str_clip(name, 200));
        else if (at == count)
            strv_adds(&s->loaded, e->name);
        else if (s->count < SEARCH_MAX)
            s->hits[s->count++] = (struct word_hit){.item = at, .score = 1};
    }
    s->total = s->count;
}

static void search_words(struct search *s, const struct extra_settings *settings)
{
    s->count = word_index_find(toolbox_index(s->box), buf_str(&s->words), buf_str(&s->required),
                               &settings->weights, s->hits,
                               s->max < SEARCH_MAX ? s->max : SEARCH_MAX, &s->total);
}

static void search_run(struct search *s, const struct extra_settings *settings)
{
    if (strcmp(s->mode, "select") == 0)
        search_select(s);
    else
        search_words(s, settings);
}

/* Once more, when a server that connects may have the missing tool. */
static int search_again(struct search *s, const struct extra_settings *settings, struct err *err)
{
    struct extra_source *source = s->call->extra;
    CLEANUP(buf_release) struct buf names = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < s->missing.len; i++)
        buf_addf(&names, "%s%s", i ? " " : "", s->missing.ptr[i]);
    if (!source || (strcmp(s->mode, "select") == 0 ? !s->missing.len : s->count > 0))
        return 0;
    source->await(source, buf_str(&names), s->call->cancel);
    if (cancel_check(s->call->cancel, err) < 0)
        return -1;
    toolbox_unref(s->box);
    s->box = source->toolbox(source);
    search_run(s, settings);
    return 0;
}

/* ---- The answer ---- */

static void add_list(struct buf *ret, const char *before, const struct strv *names,
                     const char *after)
{
    for (size_t i = 0; i < names->len; i++)
        buf_addf(ret, "%s%s", i ? ", " : before, names->ptr[i]);
    if (names->len)
        buf_adds(ret, after);
}

/* Names like the first one that was not found. */
static void add_near(const struct search *s, struct buf *ret)
{
    static const struct word_weights weights = {0.4, 0.6, 0.1};
    size_t count;
    const struct tool_entry *const *extra = toolbox_extra(s->box, &count);
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    struct word_hit hits[SEARCH_NEAR];
    struct nearest near;
    size_t found;

    if (!s->missing.len)
        return;
    nearest_init(&near, str_of(s->missing.ptr[0]));
    for (size_t i = 0; i < count; i++)
        nearest_offer(&near, str_of(extra[i]->name));
    if (near.best.len)
        strv_add(&names, near.best);
    found = word_index_find(toolbox_index(s->box), str_of(s->missing.ptr[0]), STR(""), &weights,
                            hits, SEARCH_NEAR, NULL);
    for (size_t i = 0; i < found && names.len < SEARCH_NEAR; i++) {
        if (!strv_has(&names, str_of(extra[hits[i].item]->name)))
            strv_adds(&names, extra[hits[i].item]->name);
    }
    add_list(ret, " Similar names: ", &names, ".");
}

static void answer_text(const struct search *s, const struct extra_servers *servers,
                        struct buf *ret)
{
    size_t count;
    const struct tool_entry *const *extra = toolbox_extra(s->box, &count);
    bool in_full = strcmp(s->mode, "words") != 0;

    if (s->count)
        buf_addf(ret, "Found %zu of %zu extra tools for \"%.*s\":\n", s->total, count,
                 STR_ARG(str_clip(s->query, 200)));
    for (size_t i = 0; i < s->count; i++) {
        const struct tool_entry *e = extra[s->hits[i].item];

        if (in_full) {
            extra_write_entry(e, ret);
            continue;
        }
        buf_addf(ret, "%zu. %s (%.2f): ", i + 1, e->name, s->hits[i].score);
        extra_write_line(e, ret);
        buf_addc(ret, '\n');
    }
    if (s->count && in_full)
        buf_adds(ret, "Call: ExecuteExtraTool {\"tool_name\":\"…\",\"params\":{…}}.\n");
    else if (s->count)
        buf_adds(ret, "Call: ExecuteExtraTool {\"tool_name\":\"…\",\"params\":{…}}. Schemas: "
                      "SearchExtraTools {\"query\":\"select:NAME\"}.\n");
    else if (!s->missing.len && !s->loaded.len && !s->off.len)
        buf_addf(ret, "No extra tool matches \"%.*s\" (%zu available).\n",
                 STR_ARG(str_clip(s->query, 200)), count);
    for (size_t i = 0; i < s->loaded.len; i++)
        buf_addf(ret, "%s is already loaded: call it directly.\n", s->loaded.ptr[i]);
    for (size_t i = 0; i < s->off.len; i++)
        buf_addf(ret,
                 "%s is switched off: this session does not offer it; the user can change that "
                 "with --tools, permissions or settings.\n",
                 s->off.ptr[i]);
    add_list(ret, "Not found: ", &s->missing, ".");
    add_near(s, ret);
    if (s->missing.len)
        buf_addc(ret, '\n');
    extra_write_states(servers, ret);
    while (ret->len && ret->ptr[ret->len - 1] == '\n')
        buf_cut(ret, ret->len - 1, 1);
}

static void write_servers(const struct extra_servers *servers, enum extra_state state,
                          const char *key, struct jw *w)
{
    jw_key(w, key);
    jw_array(w);
    VEC_EACH(&servers->list, server) {
        if (server->state == state)
            jw_str(w, server->name);
    }
    jw_array_end(w);
}

static void answer_data(const struct search *s, const struct extra_servers *servers,
                        struct buf *ret)
{
    size_t count;
    const struct tool_entry *const *extra = toolbox_extra(s->box, &count);
    struct jw w;

    jw_init(&w, ret, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "mode", s->mode);
    jw_kstr(&w, "query", json_get_str(s->call->args, "query"));
    jw_key(&w, "matches");
    jw_array(&w);
    for (size_t i = 0; i < s->count; i++) {
        jw_object(&w);
        jw_kcstr(&w, "name", extra[s->hits[i].item]->name);
        jw_key(&w, "score");
        jw_double(&w, s->hits[i].score);
        if (extra[s->hits[i].item]->server)
            jw_kcstr(&w, "server", extra[s->hits[i].item]->server);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_ki64(&w, "total", (int64_t)count);
    jw_key(&w, "missing");
    jw_array(&w);
    for (size_t i = 0; i < s->missing.len; i++)
        jw_cstr(&w, s->missing.ptr[i]);
    jw_array_end(&w);
    write_servers(servers, EXTRA_CONNECTING, "pending", &w);
    write_servers(servers, EXTRA_FAILED, "failed", &w);
    jw_object_end(&w);
}

static int tool_search_extra_tools_run(struct tool_call *call, struct tool_result *ret,
                                       struct err *err)
{
    CLEANUP(search_release)
    struct search s = {
        .call = call, .required = BUF_INIT(BUF_NO_LIMIT), .words = BUF_INIT(BUF_NO_LIMIT)};
    CLEANUP(extra_servers_release) struct extra_servers servers = {0};
    struct extra_settings settings;

    if (!call->toolbox)
        return err_set(err, ERR_UNSUPPORTED, "there are no extra tools here");
    extra_settings_read(call->conf, &settings);
    s.box = toolbox_ref(call->toolbox);
    search_read(&s);
    search_run(&s, &settings);
    if (search_again(&s, &settings, err) < 0)
        return -1;
    if (call->extra)
        call->extra->servers(call->extra, &servers);
    answer_text(&s, &servers, &ret->text);
    answer_data(&s, &servers, &ret->data);
    return 0;
}
