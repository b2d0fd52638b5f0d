/*
 * Completion. The UI thread asks and reads answers; one thread matches (complete_match.c), another
 * makes the list of files while the first already matches the known ones (the lister, and the
 * walk's own threads). One gate guards their shared state: the newest question, the list, the
 * newest answer. A superseded question is abandoned within a few thousand names.
 */
#include "tui/complete/complete.h"

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
#include "tools/search/walk.h"
#include "tui/complete/complete_answer.h"
#include "tui/complete/complete_command.h"
#include "tui/complete/complete_names.h"
#include "tui/complete/complete_slash.h"
#include "tui/complete/completer.h"
#include "tui/complete/fuzzy.h"

#define LIST_AGE_MS 5000      /* an older list is made anew */
#define LIST_TIMEOUT_MS 30000 /* and so long it may take */
#define GROWN_FIRST 500 /* names, until matches of a growing list are shown; then twice that */

static void completer_mail_free(struct mail *m)
{
    free(m);
}

const struct mail_kind completer_mail_kind = {"completions", completer_mail_free};

/* --- the completer --------------------------------------------------------------------------- */

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
    vec_release(&c->resources);
    arena_release(&c->resource_arena);
    free(c->typed);
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
                                   .runs_bare = commands[i].runs_bare,
                               }));
    }
}

void completer_resources(struct completer *c, const struct completer_resource *resources,
                         size_t count)
{
    arena_reset(&c->resource_arena);
    c->resources.len = 0;
    for (size_t i = 0; i < count; i++) {
        vec_push(&c->resources, ((struct completer_resource){
                                    .name = arena_str(&c->resource_arena, resources[i].name),
                                    .summary = arena_str(&c->resource_arena, resources[i].summary),
                                    .goes_on = resources[i].goes_on,
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

/* --- asking ---------------------------------------------------------------------------------- */

/* Adds the resources that fit to files that do. */
static void offer_resources(const struct completer *c, struct answer *a)
{
    struct str typed = str_of(c->typed);

    if (!c->resources.len)
        return;
    VEC_EACH(&c->resources, r) {
        struct found f = {
            .text = r->name, .detail = r->summary, .goes_on = r->goes_on, .is_resource = true};

        if (fuzzy_match(typed, f.text, &f.score))
            answer_offer(a, f);
    }
    answer_settle(a, typed);
}

/* Until the matcher is done: the shown matches that still fit. */
static struct answer *narrow(struct completer *c, struct str typed)
{
    struct answer *a = answer_new(c->serial);

    a->by_name = !typed.len;
    for (size_t i = 0; i < c->shown->count; i++) {
        struct found f = c->shown->items[i];

        if (!f.is_resource && fuzzy_match(typed, f.text, &f.score))
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

        c->matcher = thread_start("completer", completer_match, c, &err);
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
        free(c->typed);
        c->typed = mem_dup(typed.ptr, typed.len);
        offer_resources(c, a);
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
    if (c->is_file)
        offer_resources(c, a);
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
