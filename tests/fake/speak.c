/* What all speakers share: walking a step's parts, opaque texts, ids, and the table. */
#include "speak.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "json/json.h"

static const struct speaker *const speakers[] = {
    &speak_anthropic,
    &speak_chat,
    &speak_responses,
    &speak_gemini,
};

const struct speaker *speaker_find(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(speakers); i++) {
        if (speakers[i]->takes(path))
            return speakers[i];
    }
    return NULL;
}

const struct speaker *speaker_of_list(struct str path, bool anthropic)
{
    if (!str_ends(path, STR("/models")))
        return NULL;
    if (str_has(path, STR("/v1beta")))
        return &speak_gemini;
    return anthropic ? &speak_anthropic : &speak_chat;
}

struct str error_type(const struct error_name *names, int status, struct str given)
{
    if (given.len)
        return given;
    while (names->status && names->status != status)
        names++;
    return str_of(names->type); /* the last row is for the rest */
}

int ask_refuse(struct err *err, const char *fmt, ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return err_set(err, ERR_BAD_INPUT, "%s", text);
}

size_t each_text(const struct json *content, struct scenario_viewer *v, text_fn fn)
{
    size_t n = 0;

    if (json_is(content, JSON_STRING)) {
        fn(v, json_str(content));
        return 1;
    }
    JSON_EACH(content, it) {
        if (!json_is(json_get(it, "text"), JSON_STRING))
            continue;
        fn(v, json_get_str(it, "text"));
        n++;
    }
    return n;
}

/* ---- walking the parts ---- */

static void passage_open(struct tell *t, const struct scenario_part *part, size_t index,
                         size_t calls)
{
    buf_clear(&t->now.text);
    t->now.kind = part->kind;
    t->now.name = part->name;
    t->now.index = index;
    t->now.calls = calls;
    t->now.serial = t->answer->serial;
}

bool tell(struct tell *t, const struct teller *fns)
{
    const struct answer *a = t->answer;
    size_t limit = a->error ? (size_t)a->error->at : a->step->part_count;
    size_t index = 0, calls = 0;
    bool open = false;

    buf_init(&t->now.text, BUF_NO_LIMIT);
    for (size_t i = 0; i < limit; i++) {
        const struct scenario_part *part = &a->step->parts[i];
        struct str piece;
        size_t at = 0;

        if (part->kind == PART_PAUSE) {
            tape_wait(t->tape, part->ms);
            continue;
        }
        if (!open || part->kind != t->now.kind || part->kind == PART_CALL) {
            if (open)
                fns->close(t);
            passage_open(t, part, index++, calls);
            calls += part->kind == PART_CALL;
            fns->open(t);
            open = true;
        }
        while (scenario_piece(a->step, part->text, &at, &piece)) {
            fns->piece(t, piece);
            buf_add(&t->now.text, piece);
            tape_wait(t->tape, a->step->pace_ms);
        }
    }
    /* An error strikes in the middle of the output. */
    if (open && !a->error)
        fns->close(t);
    buf_release(&t->now.text);
    return !a->error;
}

void passages_make(const struct answer *a, passages *ret)
{
    struct passage *now = NULL;
    size_t calls = 0;

    for (size_t i = 0; i < a->step->part_count; i++) {
        const struct scenario_part *part = &a->step->parts[i];

        if (part->kind == PART_PAUSE)
            continue;
        if (!now || part->kind != now->kind || part->kind == PART_CALL) {
            now = vec_add(ret);
            *now = (struct passage){
                .kind = part->kind,
                .name = part->name,
                .index = ret->len - 1,
                .calls = calls,
                .serial = a->serial,
            };
            buf_init(&now->text, BUF_NO_LIMIT);
            calls += part->kind == PART_CALL;
        }
        buf_add(&now->text, part->text);
    }
}

void passages_release(passages *p)
{
    VEC_EACH(p, it)
        buf_release(&it->text);
    vec_release(p);
}

/* ---- opaque texts and ids ---- */

void opaque_make(const char *vendor, struct str of, struct buf *out)
{
    char text[80];
    int n =
        snprintf(text, sizeof(text), "opaque-%s-%016llx", vendor, (unsigned long long)str_hash(of));

    buf_add_base64(out, str_make(text, (size_t)n));
}

bool opaque_is_good(const char *vendor, struct str of, struct str given)
{
    CLEANUP(buf_release) struct buf good = BUF_INIT(200);

    opaque_make(vendor, of, &good);
    return str_eq(given, buf_str(&good));
}

bool opaque_is_ours(const char *vendor, struct str given)
{
    CLEANUP(buf_release) struct buf any = BUF_INIT(200);

    opaque_make(vendor, STR(""), &any);
    /* The hash at the end differs; three bytes are four letters, and the prefix decides enough. */
    return given.len == any.len && str_starts(given, str_first(buf_str(&any), 12));
}

void jw_kid(struct jw *w, const char *key, const char *prefix, uint64_t serial, size_t index)
{
    char id[80];

    snprintf(id, sizeof(id), "%s%020llu%04zu", prefix, (unsigned long long)serial, index);
    jw_kcstr(w, key, id);
}

int64_t usage_prompt(const struct llm_usage *u)
{
    return u->input + u->cache_read + u->cache_write;
}
