/*
 * complete_match: names that match the typed text. The matcher's thread, which waits for questions
 * and for more names; the matches of the last question make the next one cheap.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "sync/cancel.h"
#include "tui/complete/complete_answer.h"
#include "tui/complete/complete_command.h"
#include "tui/complete/complete_names.h"
#include "tui/complete/completer.h"
#include "tui/complete/fuzzy.h"

#define LOOK_UP_EVERY 2048 /* names, before it looks for a newer question */
#define FOLDER_MAX 10000   /* entries of a folder that is named */

/* Those that fit the last question: when letters are added to it, others cannot fit. */
struct survivors {
    struct names *names; /* the list they refer to; lent with its own reference */
    size_t seen;         /* names that were looked at */
    struct buf query;
    VEC(uint32_t) at;
};

static void survivors_drop(struct survivors *s)
{
    names_unref(s->names);
    s->names = NULL;
    s->seen = 0;
    s->at.len = 0;
    buf_clear(&s->query);
}

/* A name: kept when it fits. */
static void survivors_look(struct survivors *s, struct answer *a, struct str query, size_t i)
{
    const struct name *n = names_at(s->names, i);
    struct found f = {.text = str_make(n->ptr, n->len)};

    if (!fuzzy_match(query, f.text, &f.score))
        return;
    f.goes_on = f.text.ptr[f.text.len - 1] == '/';
    vec_push(&s->at, (uint32_t)i);
    answer_offer(a, f);
}

static bool is_overtaken(struct completer *c, const struct answer *a)
{
    return atomic_load(&c->newest) != a->serial;
}

/* False: superseded by another question. */
static bool match_names(struct completer *c, struct survivors *s, struct names *names,
                        struct str query, struct answer *a)
{
    size_t count = names_count(names);
    uint64_t letters = fuzzy_letters(query);
    size_t from = 0;

    if (s->names == names && str_starts(query, buf_str(&s->query))) {
        size_t had = s->at.len;

        from = s->seen;
        s->at.len = 0; /* written over while it is read: what stays is never more */
        for (size_t i = 0; i < had; i++) {
            if (i % LOOK_UP_EVERY == 0 && is_overtaken(c, a)) {
                survivors_drop(s);
                return false;
            }
            survivors_look(s, a, query, s->at.ptr[i]);
        }
    } else {
        survivors_drop(s);
        s->names = names_ref(names);
    }
    for (size_t i = from; i < count; i++) {
        if (i % LOOK_UP_EVERY == 0 && is_overtaken(c, a)) {
            survivors_drop(s);
            return false;
        }
        if (!(letters & ~names_at(names, i)->letters))
            survivors_look(s, a, query, i);
    }
    s->seen = count;
    buf_clear(&s->query);
    buf_add(&s->query, query);
    return true;
}

/* "/etc/", "~/", "../": outside of the list, or spelled in another way: that folder alone. */
static bool names_folder(struct str query)
{
    return str_starts(query, STR("/")) || str_starts(query, STR("~/")) ||
           str_starts(query, STR("./")) || str_starts(query, STR("../"));
}

static void match_folder(struct completer *c, struct str query, struct answer *a)
{
    size_t slash = query.len;
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);
    struct str prefix;
    const char *home = getenv("HOME");
    const struct dirent *d;
    DIR *dir;

    while (query.ptr[slash - 1] != '/')
        slash--;
    prefix = str_first(query, slash);
    if (str_starts(prefix, STR("~/")) && home)
        buf_addf(&path, "%s/%.*s", home, STR_ARG(str_from(prefix, 2)));
    else if (str_starts(prefix, STR("/")))
        buf_add(&path, prefix);
    else
        buf_addf(&path, "%s/%.*s", c->dir, STR_ARG(prefix));
    dir = opendir(buf_cstr(&path));
    if (!dir)
        return;
    for (size_t i = 0; i < FOLDER_MAX && !is_overtaken(c, a); i++) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        struct found f = {0};

        d = readdir(dir);
        if (!d)
            break;
        f.goes_on = d->d_type == DT_DIR;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
            (d->d_name[0] == '.' && slash == query.len))
            continue;
        buf_addf(&text, "%.*s%s%s", STR_ARG(prefix), d->d_name, f.goes_on ? "/" : "");
        f.text = buf_str(&text);
        if (!fuzzy_match(query, f.text, &f.score))
            continue;
        f.text = arena_str(&a->arena, f.text);
        answer_offer(a, f);
    }
    closedir(dir);
}

/* Gives it out, unless it has been overtaken. */
static void matcher_answer(struct completer *c, struct answer *a)
{
    struct mail *m = NULL;

    gate_take(&c->gate);
    c->is_matching = false;
    if (c->asked == a->serial && !c->is_over) {
        struct answer *old = c->latest;

        c->latest = a;
        a = old;
        m = mem_zalloc(sizeof(*m));
        m->kind = &completer_mail_kind;
    }
    gate_give(&c->gate);
    answer_free(a);
    if (m)
        mailbox_send(c->to, m);
}

/* False: superseded by another question. */
static bool match_by_command(struct completer *c, struct str query, struct answer *a)
{
    struct cancel *cancel = cancel_new(c->cancel);
    bool is_done;

    gate_take(&c->gate);
    c->asking = cancel;
    gate_give(&c->gate);
    is_done = !is_overtaken(c, a) && complete_command_run(c->conf, c->dir, query, cancel, a);
    gate_take(&c->gate);
    c->asking = NULL;
    gate_give(&c->gate);
    cancel_unref(cancel);
    return is_done;
}

void completer_match(void *arg)
{
    struct completer *c = arg;
    struct survivors s = {.query = BUF_INIT(BUF_NO_LIMIT)};

    for (;;) {
        CLEANUP(mem_freep) char *question = NULL;
        struct names *names;
        struct answer *a;
        struct str query;
        bool is_done = true;

        gate_take(&c->gate);
        while (!c->is_over && !c->has_news)
            gate_wait(&c->gate, -1);
        if (c->is_over) {
            gate_give(&c->gate);
            break;
        }
        c->has_news = false;
        c->is_matching = true;
        question = mem_dup(c->question, strlen(c->question));
        names = c->names ? names_ref(c->names) : NULL;
        a = answer_new(c->asked);
        gate_give(&c->gate);

        query = str_of(question);
        a->by_name = !query.len;
        if (complete_command_is_set(c->conf))
            is_done = match_by_command(c, query, a);
        else if (names_folder(query))
            match_folder(c, query, a);
        else if (names)
            is_done = match_names(c, &s, names, query, a);
        if (is_done) {
            answer_settle(a, query);
            matcher_answer(c, a);
        } else {
            answer_free(a);
        }
        names_unref(names);
    }
    survivors_drop(&s);
    vec_release(&s.at);
    buf_release(&s.query);
}
