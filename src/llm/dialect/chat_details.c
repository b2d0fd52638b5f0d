/*
 * Assembles reasoning_details from pieces. Runs on the thread of the agent that made the call.
 */
#include "llm/dialect/chat_details.h"

#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/reply.h"

#define MAX_MEMBERS 32

static const char *const text_keys[] = {"text", "summary", "data"};

void chat_details_release(struct chat_details *d)
{
    VEC_EACH(&d->list, it) {
        buf_release(&it->text);
        vec_release(&it->members);
    }
    vec_release(&d->list);
    arena_release(&d->arena);
}

static const char *text_key_of(const struct json *piece)
{
    for (size_t i = 0; i < ARRAY_LEN(text_keys); i++)
        if (json_is(json_get(piece, text_keys[i]), JSON_STRING))
            return text_keys[i];
    return NULL;
}

static void set_member(struct chat_details *d, struct chat_detail *detail, struct str key,
                       struct str json)
{
    struct str kept = arena_str(&d->arena, json);

    d->bytes += key.len + json.len;
    VEC_EACH(&detail->members, m) {
        if (str_eq(m->key, key)) {
            m->json = kept;
            return;
        }
    }
    if (detail->members.len < MAX_MEMBERS)
        vec_push(&detail->members, ((struct chat_member){arena_str(&d->arena, key), kept}));
}

/* The object that this piece belongs to: the last one, or a new one. NULL if there are too many. */
static struct chat_detail *find(struct chat_details *d, const struct json *piece)
{
    struct str type = json_get_str(piece, "type");
    int64_t index = json_get_i64(piece, "index", -1);
    struct chat_detail *last = d->list.len ? &d->list.ptr[d->list.len - 1] : NULL;
    struct chat_detail *made;

    /* Encrypted pieces are complete; two are never merged. */
    if (last && str_eq(last->type, type) && last->index == index &&
        !(last->text_key && strcmp(last->text_key, "data") == 0))
        return last;
    if (d->list.len == REPLY_MAX_BLOCKS)
        return NULL;
    made = vec_add(&d->list);
    *made = (struct chat_detail){
        .type = arena_str(&d->arena, type), .index = index, .text = BUF_INIT(REPLY_MAX_BYTES)};
    return made;
}

int chat_details_add(struct chat_details *d, const struct json *piece, struct str *ret_text,
                     struct err *err)
{
    struct chat_detail *detail = find(d, piece);
    const char *text_key = text_key_of(piece);
    struct str text = text_key ? json_get_str(piece, text_key) : STR("");

    if (!detail || d->bytes + text.len > REPLY_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "the reasoning is longer than %zu MB or %d parts",
                       REPLY_MAX_BYTES >> 20, REPLY_MAX_BLOCKS);
    if (text_key)
        detail->text_key = text_key;
    d->bytes += text.len;
    buf_add(&detail->text, text);
    JSON_EACH(piece, it) {
        if (json_type(it) != JSON_NULL && !(text_key && str_is(json_key(it), text_key)))
            set_member(d, detail, json_key(it), json_raw(it));
    }
    *ret_text = text_key && strcmp(text_key, "data") != 0 ? text : STR("");
    return 0;
}

void chat_details_write(const struct chat_details *d, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, 0);
    jw_array(&w);
    VEC_EACH(&d->list, it) {
        jw_object(&w);
        VEC_EACH(&it->members, m) {
            jw_key_str(&w, m->key);
            jw_raw(&w, m->json);
        }
        if (it->text_key)
            jw_kstr(&w, it->text_key, buf_str(&it->text));
        jw_object_end(&w);
    }
    jw_array_end(&w);
}
