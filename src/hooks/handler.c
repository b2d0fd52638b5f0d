/*
 * handler: a spec copied into an arena, with a reference count. Any thread.
 */
#include "hooks/handler.h"

#include <stdatomic.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/strv.h"
#include "guard/rule.h"

#define TITLE_BYTES 120

struct hook_handler {
    atomic_uint refs;
    struct arena arena;
    struct handler_spec spec;
    struct strv args, headers, allowed;
};

static const struct strv *keep_list(struct strv *mine, const struct strv *from)
{
    if (!from)
        return NULL;
    strv_add_all(mine, from);
    return mine;
}

struct hook_handler *hook_handler_new(const struct handler_spec *spec)
{
    struct hook_handler *h = mem_zalloc(sizeof(*h));
    struct str *const texts[] = {
        &h->spec.status, &h->spec.origin,      &h->spec.command,     &h->spec.shell,
        &h->spec.prompt, &h->spec.model,       &h->spec.id,          &h->spec.error_message,
        &h->spec.url,    &h->spec.plugin_root, &h->spec.plugin_data,
    };

    atomic_init(&h->refs, 1);
    h->spec = *spec;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_str(&h->arena, *texts[i]);
    h->spec.args = keep_list(&h->args, spec->args);
    h->spec.headers = keep_list(&h->headers, spec->headers);
    h->spec.allowed = keep_list(&h->allowed, spec->allowed);
    return h;
}

struct hook_handler *hook_handler_ref(struct hook_handler *h)
{
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void hook_handler_unref(struct hook_handler *h)
{
    if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (h->spec.arg_free)
        h->spec.arg_free(h->spec.arg);
    rule_free(h->spec.only);
    strv_release(&h->args);
    strv_release(&h->headers);
    strv_release(&h->allowed);
    arena_release(&h->arena);
    mem_freep(&h);
}

const struct handler_spec *hook_handler_spec(const struct hook_handler *h)
{
    return &h->spec;
}

const char *handler_type_name(enum handler_type type)
{
    static const char *const names[] = {
        [HANDLER_COMMAND] = "command",
        [HANDLER_HTTP] = "http",
        [HANDLER_PROMPT] = "prompt",
        [HANDLER_FUNCTION] = "function",
    };

    return names[type];
}

struct str hook_handler_title(const struct hook_handler *h)
{
    const struct str titles[] = {
        [HANDLER_COMMAND] = h->spec.command,
        [HANDLER_HTTP] = h->spec.url,
        [HANDLER_PROMPT] = h->spec.prompt,
        [HANDLER_FUNCTION] = h->spec.id,
    };
    struct str title = str_trim(titles[h->spec.type]);

    return str_clip(str_first(title, str_chr(title, '\n')), TITLE_BYTES);
}

static bool same_list(const struct strv *a, const struct strv *b)
{
    if (!a || !b || a->len != b->len)
        return a == b;
    for (size_t i = 0; i < a->len; i++) {
        if (!str_eq(str_of(a->ptr[i]), str_of(b->ptr[i])))
            return false;
    }
    return true;
}

static struct str condition(const struct handler_spec *s)
{
    return s->only ? rule_text(s->only) : STR("");
}

bool hook_handler_same(const struct hook_handler *a, const struct hook_handler *b)
{
    const struct handler_spec *x = &a->spec;
    const struct handler_spec *y = &b->spec;

    if (a == b)
        return true;
    return x->type == y->type && x->type != HANDLER_FUNCTION && str_eq(x->command, y->command) &&
           same_list(x->args, y->args) && str_eq(x->shell, y->shell) && str_eq(x->url, y->url) &&
           same_list(x->headers, y->headers) && same_list(x->allowed, y->allowed) &&
           str_eq(x->prompt, y->prompt) && str_eq(x->model, y->model) &&
           str_eq(condition(x), condition(y)) && str_eq(x->plugin_root, y->plugin_root);
}
