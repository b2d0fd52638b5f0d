/*
 * skill_search: rebuilds the index when the list of skills has changed.
 */
#include "slash/skill_search.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/strv.h"
#include "base/vec.h"
#include "context/reminder.h"
#include "context/word_index.h"
#include "json/jw.h"
#include "slash/own.h"
#include "slash/skill_listing.h"

#define WORDS_MAX ((size_t)2000) /* of an input */
#define SHOWN_MAX 3
#define LOOKED_AT 12 /* hits, some of which were suggested before */
#define SCORE_MIN 0.35
#define SCORE_TEXT 0.6
#define TEXT_MAX ((size_t)8 << 10)
#define SUGGESTED_MAX 500
#define SUGGESTED_KEPT 400

static const struct word_weights weights = {.keyword = 0.4, .tfidf = 0.6, .min_score = SCORE_MIN};

void skill_search_forget(struct skill_search *s)
{
    map_release(&s->suggested);
    s->suggested = (struct map)MAP_INIT;
}

void skill_search_release(struct skill_search *s)
{
    word_index_free(s->index);
    own_list_unref(s->of);
    map_release(&s->suggested);
}

static struct str when_to_use(const struct own_command *c)
{
    struct str rest = str_from(c->line, c->summary.len);

    return str_starts(c->line, c->summary) && str_starts(rest, STR(" - ")) ? str_from(rest, 3)
                                                                           : STR("");
}

static void make_index(struct skill_search *s, struct own_list *skills)
{
    VEC(struct word_item) items = VEC_INIT;

    if (s->of == skills)
        return;
    word_index_free(s->index);
    own_list_unref(s->of);
    s->of = own_list_ref(skills);
    VEC_EACH(&skills->commands, c) {
        *vec_add(&items) =
            (struct word_item){.name = c->name, .hint = when_to_use(c), .text = c->summary};
    }
    s->index = word_index_new_with(items.ptr, items.len, /*hint_match=*/0.7, /*hint_weight=*/2.0);
    vec_release(&items);
}

/* Whether it only prints text. */
static bool only_says(const struct own_command *c, struct str body)
{
    return !own_grants(c) && !c->forks && !c->model.len && !c->deny.len && body.len <= TEXT_MAX &&
           !str_has(body, STR("!`")) && !str_has(body, STR("```!")) && !str_has(body, STR("$")) &&
           !str_has(body, STR("@"));
}

/* The text of a skill that needs no call; empty: it does, or the model has it. */
static struct str text_of(const struct skill_search_spec *spec, const struct own_command *c,
                          struct arena *arena)
{
    struct str body;

    if (own_body(c, arena, &body, /*err=*/NULL) < 0 || !only_says(c, body) ||
        !spec->loads(spec->arg, c, body))
        return STR("");
    return body;
}

static void write_skill(struct jw *w, const struct own_command *c, double score, struct str text)
{
    jw_object(w);
    jw_kstr(w, "name", c->name);
    jw_key(w, "score");
    jw_double(w, score);
    jw_kstr(w, "line", c->line);
    if (text.len)
        jw_kstr(w, "content", text);
    jw_object_end(w);
}

static bool is_new(struct skill_search *s, const struct skill_search_spec *spec,
                   const struct own_command *c)
{
    if (!skill_is_listed(c, spec->seen, spec->is_trusted) || map_set(&s->suggested, c->name, s))
        return false;
    if (s->suggested.len > SUGGESTED_MAX) {
        while (s->suggested.len > SUGGESTED_KEPT)
            (void)map_remove(&s->suggested, s->suggested.entries[0].key);
    }
    return true;
}

void skill_search_say(struct skill_search *s, const struct skill_search_spec *spec,
                      struct buf *ret_block, struct buf *ret_attachment)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf full = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    struct word_hit hits[LOOKED_AT];
    size_t shown = 0;
    size_t count;
    struct jw w;

    make_index(s, spec->skills);
    count = word_index_find(s->index, str_clip(spec->words, WORDS_MAX), STR(""), &weights, hits,
                            LOOKED_AT, /*ret_total=*/NULL);
    jw_init(&w, &line, JW_CLEAN);
    jw_object(&w);
    jw_kcstr(&w, "type", "skill_discovery");
    jw_kcstr(&w, "source", "input");
    jw_key(&w, "skills");
    jw_array(&w);
    for (size_t i = 0; i < count && shown < SHOWN_MAX; i++) {
        const struct own_command *c = &spec->skills->commands.ptr[hits[i].item];
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct str text = STR("");

        if (!is_new(s, spec, c))
            continue;
        shown++;
        if (!full.len && hits[i].score >= SCORE_TEXT)
            text = text_of(spec, c, &arena);
        if (text.len)
            buf_addf(&full,
                     "The skill %.*s fits this so well that it is loaded; do not call it.\n%s%s%s"
                     "\n%.*s",
                     STR_ARG(c->name), c->is_skill ? "Base directory for this skill: " : "",
                     c->is_skill ? c->dir : "", c->is_skill ? "\n" : "", STR_ARG(text));
        else
            buf_addf(&said, "\n- %.*s: %.*s", STR_ARG(c->name), STR_ARG(c->line));
        write_skill(&w, c, hits[i].score, text);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    if (!shown)
        return;
    if (said.len) {
        buf_insert(&said, 0, STR("Skills that may fit this; call one with the Skill tool:"));
        reminder_add(ret_block, buf_str(&said));
    }
    if (full.len)
        reminder_add(ret_block, buf_str(&full));
    buf_add(ret_attachment, buf_str(&line));
}
