/*
 * Prompts that were typed, for the arrow keys and the search of later sessions. Any thread.
 */
#include "base/arena.h"
#include "base/err.h"
#include "store/query.h"

struct prompt_add {
    const struct store_prompt *prompt;
    size_t keep;
};

/* 1: the project's last one says the same. */
static int prompt_repeats(struct store *s, const struct store_prompt *p, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s,
                   "SELECT 1 FROM prompt WHERE number="
                   "(SELECT max(number) FROM prompt WHERE project=?) AND text=?",
                   err) < 0)
        return -1;
    query_str(&q, p->project);
    query_str(&q, p->text);
    return query_step(&q, err);
}

static int prompt_insert(struct store *s, const struct store_prompt *p, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s, "INSERT INTO prompt(project, text, time_ms) VALUES(?,?,?)", err) < 0)
        return -1;
    query_str(&q, p->project);
    query_str(&q, p->text);
    query_i64(&q, p->time_ms);
    return query_do(&q, err);
}

static int prompt_trim(struct store *s, struct str project, size_t keep, struct err *err)
{
    CLEANUP(query_release) struct query q = {0};

    if (query_make(&q, s,
                   "DELETE FROM prompt WHERE project=$1 AND number<="
                   "(SELECT number FROM prompt WHERE project=$1 ORDER BY number DESC"
                   " LIMIT 1 OFFSET $2)",
                   err) < 0)
        return -1;
    query_str(&q, project);
    query_i64(&q, (int64_t)keep);
    return query_do(&q, err);
}

static int prompt_add(struct store *s, void *arg, struct err *err)
{
    const struct prompt_add *add = arg;
    int repeats = prompt_repeats(s, add->prompt, err);

    if (repeats < 0)
        return -1;
    if (!repeats && prompt_insert(s, add->prompt, err) < 0)
        return -1;
    return prompt_trim(s, add->prompt->project, add->keep, err);
}

int store_prompt_add(struct store *s, const struct store_prompt *p, size_t keep,
                     struct cancel *cancel, struct err *err)
{
    struct prompt_add add = {p, keep < STORE_MAX_PROMPTS ? keep : STORE_MAX_PROMPTS};

    if (p->text.len > STORE_MAX_PROMPT)
        return err_set(err, ERR_TOO_BIG, "a prompt of %zu bytes is not kept in the history",
                       p->text.len);
    return store_run(s, STORE_WRITE, STORE_PROMPTS, prompt_add, &add, cancel, err);
}

struct prompt_list {
    struct str project;
    size_t max;
    struct arena *arena;
    store_prompt_vec *rows;
};

static int prompt_list(struct store *s, void *arg, struct err *err)
{
    struct prompt_list *list = arg;
    CLEANUP(query_release) struct query q = {0};

    list->rows->len = 0;
    if (query_make(&q, s,
                   list->project.len ? "SELECT project, text, time_ms FROM prompt WHERE project=?"
                                       " ORDER BY number DESC LIMIT ?"
                                     : "SELECT project, text, time_ms FROM prompt"
                                       " ORDER BY number DESC LIMIT ?",
                   err) < 0)
        return -1;
    if (list->project.len)
        query_str(&q, list->project);
    query_i64(&q, (int64_t)list->max);
    for (;;) {
        int rc = query_step(&q, err);
        struct store_prompt *row;

        if (rc <= 0)
            return rc;
        row = vec_add(list->rows);
        row->project = query_get_str(&q, list->arena);
        row->text = query_get_str(&q, list->arena);
        row->time_ms = query_get_i64(&q);
    }
}

int store_prompts(struct store *s, struct str project, size_t max, struct arena *arena,
                  store_prompt_vec *ret, struct cancel *cancel, struct err *err)
{
    struct prompt_list list = {project, max < STORE_MAX_PROMPTS ? max : STORE_MAX_PROMPTS, arena,
                               ret};

    return store_run(s, STORE_READ, STORE_NOTHING, prompt_list, &list, cancel, err);
}
