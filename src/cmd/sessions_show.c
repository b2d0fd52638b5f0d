/*
 * sessions show and export: facts and prompts of a session, or all of it as a document. Main
 * thread.
 */
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "cmd/cmd.h"
#include "cmd/sessions.h"
#include "host/export/export.h"
#include "host/export/export_style.h"
#include "json/json.h"
#include "json/jw.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/transcript/entry.h"
#include "store/transcript/load.h"

#define PROMPT_CHARS 100
#define DOCUMENT_MAX ((size_t)1 << 30)

/* A user message in the list. */
struct prompt {
    struct str uuid;
    struct str text;
    int64_t time_ms;
};

typedef VEC(struct prompt) prompt_vec;

static void load_freep(struct load **l)
{
    load_free(*l);
}

static struct str prompt_text(const struct json *content)
{
    if (json_is(content, JSON_STRING))
        return json_str(content);
    JSON_EACH(content, it) {
        if (json_get_str(it, "text").len)
            return json_get_str(it, "text");
    }
    return STR("");
}

static int show_prompts(const char *path, struct cancel *cancel, struct arena *arena,
                        prompt_vec *ret, struct err *err)
{
    CLEANUP(load_freep) struct load *load = NULL;
    const unsigned others = LOAD_META | LOAD_SUMMARY | LOAD_TOOL_RESULT;

    if (load_open(path, &(struct load_spec){.whole = true}, cancel, &load, err) < 0)
        return -1;
    for (size_t i = 0; i < load_count(load); i++) {
        const struct load_entry *e = load_at(load, i);
        const struct json *entry = NULL;
        struct str line;

        if (e->kind != ENTRY_USER || e->flags & others)
            continue;
        if (load_read(load, e->offset, e->len, &line, err) < 0)
            return -1;
        if (json_parse_copy(arena, line, &entry, /*ret_info=*/NULL, /*err=*/NULL) < 0)
            continue;
        vec_push(ret, ((struct prompt){
                          .uuid = json_get_str(entry, "uuid"),
                          .text = prompt_text(json_path(entry, "message.content")),
                          .time_ms = entry_time_parse(json_get_str(entry, "timestamp")),
                      }));
    }
    return 0;
}

static void add_fact(void *arg, const char *label, struct str value)
{
    if (!value.len)
        return;
    buf_addf(arg, "%-13s ", label);
    sessions_add_line(arg, value, SIZE_MAX);
    buf_addc(arg, '\n');
}

static void add_holder(struct buf *out, const struct holder *who)
{
    buf_addf(out, "Open          pid %lld on %s, since ", (long long)who->pid,
             buf_cstr(&who->host));
    export_time(out, who->since_ms);
    buf_addc(out, '\n');
}

static void show_text(const struct store_session *row, const char *path, const struct holder *who,
                      const prompt_vec *prompts, struct buf *out)
{
    CLEANUP(buf_release) struct buf size = BUF_INIT(100);

    sessions_add_size(&size, row->size);
    add_fact(out, "Title", index_name(row));
    export_facts(row, add_fact, out);
    add_fact(out, "Size", buf_str(&size));
    add_fact(out, "File", str_of(path));
    if (who)
        add_holder(out, who);
    if (prompts->len)
        buf_adds(out, "\nPrompts\n");
    VEC_EACH(prompts, p) {
        buf_addf(out, "  %.*s  ", STR_ARG(p->uuid));
        export_time(out, p->time_ms);
        buf_adds(out, "  ");
        sessions_add_line(out, p->text, PROMPT_CHARS);
        buf_addc(out, '\n');
    }
}

static void write_time(struct jw *w, const char *key, int64_t time_ms)
{
    char text[25];

    jw_key(w, key);
    if (time_ms <= 0) {
        jw_null(w);
        return;
    }
    entry_time(time_ms, text);
    jw_cstr(w, text);
}

void sessions_write(struct jw *w, const struct store_session *row, const char *path)
{
    jw_kstr(w, "id", row->id);
    jw_kstr(w, "name", index_name(row));
    jw_kstr(w, "title", row->title);
    jw_kstr(w, "aiTitle", row->ai_title);
    jw_kstr(w, "firstPrompt", row->first_prompt);
    jw_kstr(w, "cwd", row->cwd);
    jw_kstr(w, "branch", row->branch);
    write_time(w, "created", row->created_ms);
    write_time(w, "lastActivity", row->last_ms);
    jw_ki64(w, "messages", row->messages);
    jw_key(w, "costUSD");
    if (row->cost_usd >= 0)
        jw_double(w, row->cost_usd);
    else
        jw_null(w);
    jw_ki64(w, "size", row->size);
    jw_kcstr(w, "path", path);
}

static void show_json(const struct store_session *row, const char *path, const struct holder *who,
                      const prompt_vec *prompts, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    sessions_write(&w, row, path);
    jw_kbool(&w, "open", who != NULL);
    if (who) {
        jw_key(&w, "holder");
        jw_object(&w);
        jw_ki64(&w, "pid", who->pid);
        jw_kstr(&w, "host", buf_str(&who->host));
        jw_kstr(&w, "socket", buf_str(&who->socket));
        write_time(&w, "since", who->since_ms);
        jw_object_end(&w);
    }
    jw_key(&w, "prompts");
    jw_array(&w);
    VEC_EACH(prompts, p) {
        jw_object(&w);
        jw_kstr(&w, "uuid", p->uuid);
        write_time(&w, "time", p->time_ms);
        jw_kstr(&w, "text", p->text);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

int sessions_show(const struct sessions *s, const char *want)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(holder_release) struct holder who = {0};
    prompt_vec prompts = VEC_INIT;
    struct store_session row;
    struct err err = {0};
    bool is_open;

    if (sessions_find(s, want, &path, &err) < 0 ||
        index_read(buf_cstr(&path), s->cmd->cancel, &arena, &row, &err) < 0 ||
        show_prompts(buf_cstr(&path), s->cmd->cancel, &arena, &prompts, &err) < 0) {
        vec_release(&prompts);
        return sessions_failed(&err);
    }
    is_open = hold_look(s->home, row.id.ptr, &who, NULL) > 0;
    if (s->cmd->args.given[OPT_JSON])
        show_json(&row, buf_cstr(&path), is_open ? &who : NULL, &prompts, &out);
    else
        show_text(&row, buf_cstr(&path), is_open ? &who : NULL, &prompts, &out);
    vec_release(&prompts);
    return sessions_say(s, &out);
}

/* ---- export ---- */

struct export_to {
    const struct sessions *s;
    int code; /* why standard output is closed */
};

static int export_say(void *arg, struct str text, struct err *err)
{
    struct export_to *to = arg;
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    buf_add(&clean, text);
    secret_scrub(&clean);
    to->code = sessions_say(to->s, &clean);
    return to->code ? err_set(err, ERR_CANCELLED, "standard output is closed") : 0;
}

static int export_keep(void *arg, struct str text, struct err *err)
{
    buf_add(arg, text);
    return buf_check(arg, err);
}

static int export_to_file(const struct sessions *s, const char *path,
                          const struct store_session *row, enum export_format format,
                          const char *to)
{
    CLEANUP(buf_release) struct buf document = BUF_INIT(DOCUMENT_MAX);
    CLEANUP(mem_freep) char *full = path_join(s->cmd->dir, to);
    struct err err = {0};

    if (export_session(path, row, format, s->cmd->cancel, export_keep, &document, &err) < 0)
        return sessions_failed(&err);
    secret_scrub(&document);
    if (file_replace_like(full, buf_str(&document), /*like=*/NULL, &err) < 0)
        return sessions_failed(&err);
    say("wrote %s", full);
    return EXIT_OK;
}

int sessions_export(const struct sessions *s, const char *want)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const char *given = args_get(&s->cmd->args, OPT_FORMAT);
    const char *to = args_get(&s->cmd->args, OPT_OUTPUT);
    bool is_html = given ? str_is(str_of(given), "html") : to && str_ends(str_of(to), STR(".html"));
    enum export_format format = is_html ? EXPORT_HTML : EXPORT_MARKDOWN;
    struct export_to out = {.s = s};
    struct store_session row;
    struct err err = {0};

    if (sessions_find(s, want, &path, &err) < 0 ||
        index_read(buf_cstr(&path), s->cmd->cancel, &arena, &row, &err) < 0)
        return sessions_failed(&err);
    if (to)
        return export_to_file(s, buf_cstr(&path), &row, format, to);
    if (export_session(buf_cstr(&path), &row, format, s->cmd->cancel, export_say, &out, &err) < 0)
        return out.code ? out.code : sessions_failed(&err);
    return EXIT_OK;
}
