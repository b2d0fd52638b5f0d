/*
 * Completion. The UI thread asks and reads answers; one thread matches (the matcher), another makes
 * the list of files while the first already matches what is there (the lister, and the walk's own
 * threads). What they share is behind one gate: the newest question, the list, the newest answer. A
 * question that is overtaken by another is given up within a few thousand names.
 */
#include "tui/complete.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sync/cancel.h"
#include "sync/thread.h"
#include "tools/walk.h"
#include "tui/complete_answer.h"
#include "tui/complete_command.h"
#include "tui/complete_names.h"
#include "tui/complete_slash.h"
#include "tui/fuzzy.h"

#define LIST_AGE_MS 5000      /* an older list is made anew */
#define LIST_TIMEOUT_MS 30000 /* and so long it may take */
#define LOOK_UP_EVERY 2048    /* names, before the matcher looks for a newer question */
#define GROWN_FIRST 500  /* names, until matches of a growing list are shown; then twice that */
#define FOLDER_MAX 10000 /* entries of a folder that is named */

static void completer_mail_free(struct mail *m)
{
    free(m);
}

const struct mail_kind completer_mail_kind = {"completions", completer_mail_free};

/* --- the completer --------------------------------------------------------------------------- */

struct completer {
    char *dir;
    const struct conf *conf; /* or NULL */
    struct mailbox *to;
    struct cancel *cancel;
    /* the UI thread's */
    struct arena command_arena;
    VEC(struct completer_command) commands;
    struct answer *shown;
    unsigned serial; /* of the last question */
    bool is_file;    /* it was about files */
    struct thread *matcher;
    struct thread *lister;
    /* everybody's */
    struct gate gate; /* guards what follows */
    char *question;
    unsigned asked; /* its serial */
    bool has_news;  /* for the matcher: a question, or more names */
    bool is_matching;
    bool is_over;
    struct names *names; /* NULL: none yet */
    bool is_listing;
    int64_t listed_ms;     /* when the list was complete; -1: never */
    struct answer *latest; /* for the UI thread; NULL: taken */
    atomic_uint newest;    /* asked, to be looked at without the gate */
    struct cancel *asking; /* the command that is run for a question; NULL: none */
};

struct completer *completer_new(const struct completer_spec *spec)
{
    struct completer *c = mem_zalloc(sizeof(*c));

    c->dir = mem_dup(spec->dir, strlen(spec->dir));
    c->conf = spec->conf;
    c->to = mailbox_ref(spec->to);
    c->cancel = cancel_new(NULL);
    c->shown = answer_new(0);
    c->listed_ms = -1;
    gate_init(&c->gate);
    completer_commands(c, spec->commands, spec->command_count);
    return c;
}

void completer_free(struct completer *c)
{
    if (!c)
        return;
    cancel_set(c->cancel);
    gate_take(&c->gate);
    c->is_over = true;
    atomic_store(&c->newest, 0);
    gate_wake(&c->gate);
    gate_give(&c->gate);
    thread_join(c->matcher);
    thread_join(c->lister);
    answer_free(c->shown);
    answer_free(c->latest);
    names_unref(c->names);
    free(c->question);
    gate_release(&c->gate);
    vec_release(&c->commands);
    arena_release(&c->command_arena);
    cancel_unref(c->cancel);
    mailbox_unref(c->to);
    free(c->dir);
    free(c);
}

void completer_commands(struct completer *c, const struct completer_command *commands, size_t count)
{
    arena_reset(&c->command_arena);
    c->commands.len = 0;
    for (size_t i = 0; i < count; i++) {
        struct str name = commands[i].name;

        if (str_starts(name, STR("/")))
            name = str_from(name, 1);
        vec_push(&c->commands, ((struct completer_command){
                                   .name = arena_str(&c->command_arena, name),
                                   .aliases = arena_str(&c->command_arena, commands[i].aliases),
                                   .hint = arena_str(&c->command_arena, commands[i].hint),
                                   .summary = arena_str(&c->command_arena, commands[i].summary),
                               }));
    }
}

/* --- files: the list ------------------------------------------------------------------------- */

struct listing {
    struct completer *completer;
    struct names *names;
    bool is_seen;        /* the matcher reads it while it grows */
    atomic_size_t count; /* files so far */
    atomic_size_t next;  /* at so many the matcher is woken */
};

static void matcher_wake(struct completer *c)
{
    gate_take(&c->gate);
    c->has_news = true;
    gate_wake(&c->gate);
    gate_give(&c->gate);
}

/* walk_fn */
static bool listing_file(int root_fd, const char *path, unsigned worker, void *arg)
{
    struct listing *l = arg;
    size_t count = atomic_fetch_add(&l->count, 1) + 1;
    size_t next = atomic_load(&l->next);

    (void)root_fd;
    (void)worker;
    if (!names_add_path(l->names, str_of(path)))
        return false;
    if (l->is_seen && count >= next && atomic_compare_exchange_strong(&l->next, &next, next * 2))
        matcher_wake(l->completer);
    return true;
}

/* thread_fn: the lister */
static void lister_run(void *arg)
{
    struct completer *c = arg;
    struct listing l = {.completer = c, .names = names_new(), .next = GROWN_FIRST};
    CLEANUP(walk_report_release) struct walk_report report = {0};
    struct err err = {0};
    struct walk walk = {
        .root = c->dir,
        .hidden = true,
        .git = true,
        .timeout_ms = LIST_TIMEOUT_MS,
        .cancel = c->cancel,
        .fn = listing_file,
        .arg = &l,
    };
    struct names *old;

    gate_take(&c->gate);
    l.is_seen = !c->names; /* the first list is better than none while it grows */
    if (l.is_seen)
        c->names = names_ref(l.names);
    gate_give(&c->gate);
    (void)walk_run(&walk, &report, &err); /* a folder that cannot be read has no files */
    gate_take(&c->gate);
    old = c->names;
    c->names = l.names;
    c->is_listing = false;
    c->listed_ms = clock_mono_ms();
    c->has_news = true;
    gate_wake(&c->gate);
    gate_give(&c->gate);
    names_unref(old);
}

/* --- files: matching ------------------------------------------------------------------------- */

/* Those that fit the last question: when letters are added to it, others cannot fit. */
struct survivors {
    struct names *names; /* of which they are places; lent by a reference of its own */
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

/* False: another question has come meanwhile. */
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

/* False: another question has come meanwhile. */
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

/* thread_fn: the matcher */
static void matcher_run(void *arg)
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

/* --- asking ---------------------------------------------------------------------------------- */

/* Until the matcher has looked, what is shown already and still fits. */
static struct answer *narrow(struct completer *c, struct str typed)
{
    struct answer *a = answer_new(c->serial);

    a->by_name = !typed.len;
    for (size_t i = 0; i < c->shown->count; i++) {
        struct found f = c->shown->items[i];

        if (fuzzy_match(typed, f.text, &f.score))
            answer_offer(a, f);
    }
    answer_settle(a, typed);
    return a;
}

static void start_listing(struct completer *c)
{
    struct err err = {0};

    thread_join(TAKE_PTR(c->lister)); /* it is done: is_listing is false */
    c->lister = thread_start("files", lister_run, c, &err);
    if (!c->lister) {
        gate_take(&c->gate);
        c->is_listing = false;
        gate_give(&c->gate);
    }
}

static void ask_files(struct completer *c, struct str typed)
{
    bool by_command = complete_command_is_set(c->conf);
    struct cancel *overtaken;
    bool lists;

    gate_take(&c->gate);
    overtaken = c->asking ? cancel_ref(c->asking) : NULL;
    free(c->question);
    c->question = mem_dup(typed.ptr, typed.len);
    c->asked = c->serial;
    atomic_store(&c->newest, c->serial);
    c->has_news = true;
    lists = !by_command && !c->is_listing &&
            (c->listed_ms < 0 || clock_mono_ms() - c->listed_ms > LIST_AGE_MS);
    c->is_listing |= lists;
    gate_wake(&c->gate);
    gate_give(&c->gate);
    if (overtaken)
        cancel_set(overtaken);
    cancel_unref(overtaken);
    if (lists)
        start_listing(c);
    if (!c->matcher) {
        struct err err = {0};

        c->matcher = thread_start("completer", matcher_run, c, &err);
    }
}

void completer_ask(struct completer *c, char kind, struct str typed)
{
    struct answer *a;

    c->serial++;
    if (kind == '/') {
        c->is_file = false;
        a = answer_new(c->serial);
        complete_slash(c->commands.ptr, c->commands.len, typed, a);
    } else {
        if (!c->is_file) { /* commands are not files */
            answer_free(c->shown);
            c->shown = answer_new(c->serial);
        }
        c->is_file = true;
        a = narrow(c, typed);
        ask_files(c, typed);
    }
    answer_free(c->shown);
    c->shown = a;
}

bool completer_news(struct completer *c)
{
    struct answer *a;
    bool differs;

    gate_take(&c->gate);
    a = TAKE_PTR(c->latest);
    gate_give(&c->gate);
    if (!a)
        return false;
    if (a->serial != c->serial) {
        answer_free(a);
        return false;
    }
    differs = !answer_eq(a, c->shown);
    answer_free(c->shown);
    c->shown = a;
    return differs;
}

size_t completer_count(const struct completer *c)
{
    return c->shown->count;
}

struct completion completer_at(const struct completer *c, size_t i)
{
    const struct found *f = &c->shown->items[i];

    return (struct completion){f->text, f->alias, f->detail, f->at, f->at_count, f->goes_on};
}

bool completer_is_looking(const struct completer *c)
{
    struct completer *mine = (struct completer *)c; /* the gate is taken, nothing else */
    bool looks;

    if (!c->is_file)
        return false;
    gate_take(&mine->gate);
    looks = c->is_listing || c->has_news || c->is_matching || c->latest;
    gate_give(&mine->gate);
    return looks;
}
