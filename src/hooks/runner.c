/*
 * runner: selects an event's handlers and runs them: starts everything that matches, then waits on
 * one mailbox (work.h).
 *
 * run() is called by the agent and its call threads, several at once; each has its own mailbox, so
 * they share only immutable data.
 */
#include "hooks/runner.h"

#include "base/err.h"
#include "base/mem.h"
#include "guard/rule.h"
#include "hooks/async_hooks.h"
#include "hooks/point.h"
#include "hooks/registry.h"
#include "hooks/work.h"
#include "sync/crew.h"
#include "sync/mailbox.h"

struct runner {
    struct hook_runner hooks; /* must be first: the agent has a pointer to it */
    struct hook_registry *registry;
    struct work_place place;
};

/* --- selection ------------------------------------------------------------------------------ */

/* A command of the rule's tool that cannot be parsed, and so may run anything. */
static bool is_doubtful(const struct rule *only, const struct rule_subject *call)
{
    struct str text = rule_text(only);
    CLEANUP(rule_command_freep) struct rule_command *command = NULL;

    if (call->about != ABOUT_COMMAND || !str_eq(str_first(text, str_chr(text, '(')), call->tool))
        return false;
    command = rule_command_new(call->text);
    return rule_command_doubt(command);
}

/* "if" is about a call; without one, or with a call that cannot be parsed, the handler runs, since
 * it may be a guard. */
static bool is_meant(const struct handler_spec *h, const struct hook_input *in)
{
    return !h->only || !in->call || rule_matches(h->only, in->call) ||
           is_doubtful(h->only, in->call);
}

static bool is_repeated(const works *list, struct hook_handler *h)
{
    VEC_EACH(list, w) {
        if (hook_handler_same(w->handler, h))
            return true;
    }
    return false;
}

/* Gives all the same timeout: the longest one requested, within the limits. */
static void works_share(works *list, const struct hook_input *in)
{
    int64_t most = in->least_ms;

    VEC_EACH(list, w) {
        most = w->timeout_ms > most ? w->timeout_ms : most;
    }
    VEC_EACH(list, w) {
        w->timeout_ms = most < in->most_ms ? most : in->most_ms;
    }
}

/* For handlers that run once: whoever removes it from the registry runs it. */
static bool is_taken(struct runner *r, enum hook_event event, struct hook_handler *h)
{
    return !(hook_handler_spec(h)->flags & HANDLER_ONCE) ||
           hook_registry_remove(r->registry, event, h);
}

static void works_collect(works *list, struct runner *r, const struct hook_set *set,
                          const struct hook_input *in)
{
    VEC_EACH(&set->entries, e) {
        if (!hook_entry_matches(set, e, in->event, in->subject))
            continue;
        VEC_EACH(&e->handlers, h) {
            const struct handler_spec *spec = hook_handler_spec(*h);

            if (spec->flags & HANDLER_REFEREE || !is_meant(spec, in) ||
                (e->source != HOOK_SESSION && is_repeated(list, *h)) || !is_taken(r, in->event, *h))
                continue;
            works_add(list, *h, point_timeout_ms(in->event, spec));
        }
    }
    if (in->most_ms)
        works_share(list, in);
}

static bool runner_wants(struct hook_runner *self, enum hook_event event, struct str subject)
{
    struct runner *r = (struct runner *)self;
    CLEANUP(hook_set_unrefp) const struct hook_set *set = hook_registry_get(r->registry);

    if (event == HOOK_USER_PROMPT_SUBMIT && async_hooks_have_news(r->place.async_hooks))
        return true;
    VEC_EACH(&set->entries, e) {
        if (!hook_entry_matches(set, e, event, subject))
            continue;
        VEC_EACH(&e->handlers, h) {
            if (!(hook_handler_spec(*h)->flags & HANDLER_REFEREE))
                return true;
        }
    }
    return false;
}

static void runner_status(struct hook_runner *self, const struct hook_input *in, struct buf *ret)
{
    struct runner *r = (struct runner *)self;
    CLEANUP(hook_set_unrefp) const struct hook_set *set = hook_registry_get(r->registry);

    VEC_EACH(&set->entries, e) {
        if (!hook_entry_matches(set, e, in->event, in->subject))
            continue;
        VEC_EACH(&e->handlers, h) {
            const struct handler_spec *spec = hook_handler_spec(*h);

            if (spec->status.len && is_meant(spec, in)) {
                buf_add(ret, spec->status);
                return;
            }
        }
    }
}

/* --- run ------------------------------------------------------------------------------------ */

static int runner_run(struct hook_runner *self, const struct hook_input *in, struct cancel *cancel,
                      struct hook_outcome *io, struct err *err)
{
    struct runner *r = (struct runner *)self;
    const struct hook_set *set = hook_registry_get(r->registry);
    struct mailbox *mail = mailbox_new();
    works list = VEC_INIT;
    bool left;
    int rc;

    works_collect(&list, r, set, in);
    hook_set_unref(set);
    works_start(&list, &r->place, in, cancel, mail);
    if (in->event == HOOK_USER_PROMPT_SUBMIT)
        async_hooks_tell(r->place.async_hooks, io);
    rc = works_await(&list, in, mail, cancel, err);
    if (rc == 0)
        rc = works_merge(&list, in, io, err);
    if (rc < 0 && err && err->code == ERR_CANCELLED)
        left = false;
    else
        left = works_leave(&list, &r->place, in->event, mail);
    works_release(&list);
    if (!left)
        mailbox_close(mail);
    mailbox_unref(mail);
    return rc;
}

/* --- creation ------------------------------------------------------------------------------- */

struct runner *runner_new(const struct runner_spec *spec)
{
    struct runner *r = mem_zalloc(sizeof(*r));

    r->hooks =
        (struct hook_runner){.wants = runner_wants, .run = runner_run, .status = runner_status};
    r->registry = spec->registry;
    r->place.workspace = spec->workspace;
    program_place_init(&r->place.programs, spec->workspace, spec->conf);
    r->place.programs.session = spec->session;
    r->place.programs.entrypoint = spec->entrypoint;
    r->place.posts.conf = spec->conf;
    r->place.questions = (struct question_place){
        .conf = spec->conf,
        .model = spec->model,
        .model_arg = spec->model_arg,
        .spending = spec->spending,
    };
    r->place.crew = crew_new();
    r->place.async_hooks = async_hooks_new(&(struct async_hooks_spec){
        .workspace = spec->workspace,
        .wake = spec->wake,
        .wake_arg = spec->wake_arg,
        .watch = spec->watch,
    });
    return r;
}

void runner_mute(struct runner *r)
{
    async_hooks_mute(r->place.async_hooks);
}

void runner_free(struct runner *r)
{
    if (!r)
        return;
    crew_free(r->place.crew);
    async_hooks_free(r->place.async_hooks);
    program_place_release(&r->place.programs);
    mem_freep(&r);
}

void runner_set_net(struct runner *r, struct net *net)
{
    r->place.questions.net = net;
    r->place.posts.net = net;
}

struct hook_runner *runner_hooks(struct runner *r)
{
    return &r->hooks;
}
