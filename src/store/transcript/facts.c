/*
 * Facts. The scan only notes their positions; here the last one of each kind is read, and lists are
 * built. A fact that names another session belongs to that one: files that began as a copy of
 * another have such lines. One thread.
 */
#include "store/transcript/facts.h"

#include <string.h>

#include "base/arena.h"
#include "json/json.h"
#include "store/transcript/chain.h"
#include "store/transcript/window.h"

#define MAX_TEXT ((size_t)64 << 10) /* of a title or similar */
#define MAX_PATH_TEXT ((size_t)16 << 10)
#define MAX_SUMMARIES 64 /* examined at most, from the last one back */

struct merging {
    struct load_facts *f;
    const struct scan *s;
    const struct chain *chain;
    struct arena arena;
    uint64_t session;
    struct fact last[ENTRY_OTHER]; /* of each kind; len 0: none */
    VEC(struct fact) summaries;
    VEC(struct fact) queue;
};

static struct load_line line_of(const struct fact *fact)
{
    return (struct load_line){fact->offset, fact->len};
}

/* ---- the queue of prompts ---- */

struct queued {
    struct load_line line;
    struct uid id, content;
};

static struct uid content_of(const struct json *op)
{
    const struct json *content = json_get(op, "content");

    return uid_of(json_is(content, JSON_STRING) ? json_str(content) : json_raw(content));
}

/* The item that an operation means: by id, else by its text, else the first; len if none. If no
 * item has the id, it means the first item without an id: other programs write none, and the item
 * got one when it was used. */
static size_t queue_find(const struct queued *items, size_t len, struct uid id, struct uid content)
{
    size_t i = 0;

    if (!uid_is_none(id)) {
        while (i < len && !uid_eq(items[i].id, id))
            i++;
        for (size_t at = 0; i == len && at < len; at++)
            i = uid_is_none(items[at].id) ? at : i;
    } else if (!uid_is_none(content)) {
        while (i < len && !uid_eq(items[i].content, content))
            i++;
    }
    return i;
}

static void merge_queue(struct merging *m)
{
    VEC(struct queued) items = VEC_INIT;

    VEC_EACH(&m->queue, it) {
        const struct json *op;
        struct str name;
        struct uid id;
        struct uid content;
        size_t at;

        arena_reset(&m->arena);
        op = source_json(m->s->source, it->offset, it->len, &m->arena);
        name = json_get_str(op, "operation");
        id = uid_of(json_get_str(op, "uuid"));
        content = content_of(op);
        if (str_is(name, "enqueue")) {
            *vec_add(&items) = (struct queued){line_of(it), id, content};
        } else if (str_is(name, "dequeue") || str_is(name, "remove")) {
            at = queue_find(items.ptr, items.len, id, content);
            if (at < items.len) {
                items.len--;
                memmove(items.ptr + at, items.ptr + at + 1, (items.len - at) * sizeof(*items.ptr));
            }
        } else if (str_is(name, "popAll")) {
            items.len = 0;
        }
    }
    VEC_EACH(&items, it) {
        vec_push(&m->f->queue, it->line);
    }
    vec_release(&items);
}

/* ---- texts ---- */

static void set_text(struct buf *to, struct str text)
{
    buf_release(to);
    buf_init(to, MAX_TEXT);
    buf_add(to, str_clip(text, MAX_TEXT));
}

/* The member of the last line of this kind. */
static void merge_text(struct merging *m, enum entry_kind kind, const char *key, struct buf *to)
{
    const struct fact *last = &m->last[kind];

    arena_reset(&m->arena);
    if (last->len)
        set_text(to,
                 json_get_str(source_json(m->s->source, last->offset, last->len, &m->arena), key));
}

/* In old files a summary line describes the conversation up to a leaf; it may be in another
 * session's file. */
static void merge_summary(struct merging *m)
{
    size_t tries = 0;

    for (size_t i = m->summaries.len; i-- > 0 && tries < MAX_SUMMARIES; tries++) {
        const struct fact *fact = &m->summaries.ptr[i];
        const struct json *line;
        uint32_t leaf = 0;

        arena_reset(&m->arena);
        line = source_json(m->s->source, fact->offset, fact->len, &m->arena);
        if (m->chain) {
            leaf = chain_find(m->chain, uid_of(json_get_str(line, "leafUuid")));
            if (leaf == NODE_NONE || !(m->chain->nodes[leaf].marks & MARK_CHAIN))
                continue;
        }
        set_text(&m->f->ai_title, json_get_str(line, "summary"));
        if (m->f->ai_title.len)
            return;
    }
}

static void merge_words(struct merging *m)
{
    struct load_facts *f = m->f;

    merge_text(m, ENTRY_CUSTOM_TITLE, "customTitle", &f->title);
    merge_text(m, ENTRY_AI_TITLE, "aiTitle", &f->ai_title);
    if (!f->ai_title.len)
        merge_summary(m);
    merge_text(m, ENTRY_TAG, "tag", &f->tag);
    merge_text(m, ENTRY_MODE, "mode", &f->mode);
    merge_text(m, ENTRY_PERMISSION_MODE, "permissionMode", &f->permission_mode);
    merge_text(m, ENTRY_AGENT_SETTING, "agentSetting", &f->agent_setting);
    merge_text(m, ENTRY_AGENT_NAME, "agentName", &f->agent_name);
}

/* ---- messages ---- */

static int64_t time_at(const struct line_source *source, struct entry_span at)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(64);
    int64_t ms;

    source_string(source, at, 40, &text);
    ms = entry_time_parse(buf_str(&text));
    return ms < 0 ? 0 : ms;
}

static bool is_torn(const struct line_source *source)
{
    CLEANUP(buf_release) struct buf last = BUF_INIT(8);

    return source->size && source_read(source, source->size - 1, 1, &last, /*err=*/NULL) == 0 &&
           last.ptr[0] != '\n';
}

static void merge_messages(struct merging *m, const struct head *head, struct str name)
{
    const struct line_source *source = m->s->source;
    bool is_side = m->chain ? m->chain->is_agent : head->is_agent;
    struct newest newest = {0};
    struct load_facts *f = m->f;

    for (size_t i = 0; i < m->s->part_count; i++) {
        const struct scan_part *p = &m->s->parts[i];
        const struct newest *n = &p->newest[is_side];

        if (n->session.len) {
            newest.session = n->session;
            newest.session_hash = n->session_hash;
        }
        newest.cwd = n->cwd.len ? n->cwd : newest.cwd;
        newest.branch = n->branch.len ? n->branch : newest.branch;
        newest.time = n->time.len ? n->time : newest.time;
        f->messages += p->messages[is_side];
        f->skipped += p->skipped;
    }
    m->session = newest.session_hash;
    buf_init(&f->session, MAX_TEXT);
    buf_init(&f->cwd, MAX_PATH_TEXT);
    buf_init(&f->branch, MAX_TEXT);
    source_string(source, newest.session, WINDOW_TEXT, &f->session);
    source_string(source, newest.cwd, MAX_PATH_TEXT, &f->cwd);
    source_string(source, newest.branch, MAX_TEXT, &f->branch);
    if (!f->session.len) {
        if (str_ends(name, STR(".jsonl")))
            name.len -= 6;
        buf_add(&f->session, str_clip(name, MAX_TEXT));
    }
    f->size = source->size;
    f->is_torn = is_torn(source);
    f->first_ms = time_at(source, head->time);
    f->last_ms = time_at(source, newest.time);
    if (f->last_ms < f->first_ms)
        f->last_ms = f->first_ms;
    set_text(&f->first_prompt, buf_str(&head->prompt));
}

/* ---- all of it ---- */

static void merge_fact(struct merging *m, const struct fact *fact)
{
    struct load_facts *f = m->f;
    bool is_ours = !fact->session || !m->session || fact->session == m->session;
    bool is_agent = m->chain && m->chain->is_agent;

    if (!is_ours && fact->kind != ENTRY_SYSTEM && fact->kind != ENTRY_ATTACHMENT)
        return;
    switch ((enum entry_kind)fact->kind) {
    case ENTRY_SYSTEM:
        if (fact->flags & LOAD_BOUNDARY) {
            f->collapses.len = 0;
            m->last[ENTRY_COLLAPSE_SNAPSHOT].len = 0;
        }
        if (fact->flags & LINE_GOAL)
            f->goal_status = line_of(fact);
        if (fact->flags & LINE_TURN)
            f->last_turn = line_of(fact);
        break;
    case ENTRY_ATTACHMENT:
        f->goal_status = line_of(fact);
        break;
    case ENTRY_SUMMARY:
        vec_push(&m->summaries, *fact);
        break;
    case ENTRY_QUEUE_OPERATION:
        vec_push(&m->queue, *fact);
        break;
    case ENTRY_FILE_HISTORY:
        vec_push(&f->file_history, line_of(fact));
        break;
    case ENTRY_CONTENT_REPLACEMENT:
        if (is_agent || !(fact->flags & LINE_HAS_AGENT))
            vec_push(&f->replacements, line_of(fact));
        break;
    case ENTRY_COLLAPSE_COMMIT:
        vec_push(&f->collapses, line_of(fact));
        break;
    default:
        m->last[fact->kind] = *fact;
        break;
    }
}

void facts_merge(struct load_facts *ret, const struct scan *s, const struct chain *chain,
                 const struct head *head, struct str name)
{
    struct merging m = {.f = ret, .s = s, .chain = chain};

    merge_messages(&m, head, name);
    for (size_t i = 0; i < s->part_count; i++) {
        VEC_EACH(&s->parts[i].facts, it) {
            merge_fact(&m, it);
        }
    }
    merge_words(&m);
    merge_queue(&m);
    ret->worktree = line_of(&m.last[ENTRY_WORKTREE_STATE]);
    ret->pr_link = line_of(&m.last[ENTRY_PR_LINK]);
    ret->goal_terms = line_of(&m.last[ENTRY_GOAL_TERMS]);
    ret->goal_used = line_of(&m.last[ENTRY_GOAL_USED]);
    ret->collapse_snapshot = line_of(&m.last[ENTRY_COLLAPSE_SNAPSHOT]);
    vec_release(&m.summaries);
    vec_release(&m.queue);
    arena_release(&m.arena);
}

void load_facts_release(struct load_facts *f)
{
    struct buf *texts[] = {&f->session,         &f->cwd,           &f->branch,    &f->first_prompt,
                           &f->title,           &f->ai_title,      &f->tag,       &f->mode,
                           &f->permission_mode, &f->agent_setting, &f->agent_name};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_release(texts[i]);
    vec_release(&f->replacements);
    vec_release(&f->queue);
    vec_release(&f->file_history);
    vec_release(&f->collapses);
}
