/*
 * The commands offered after "/". They are loaded when a session opens, and again when the user
 * begins to type one, because files of commands and skills may have been added. That reads folders,
 * so it is a chore. UI thread.
 */
#include "base/arena.h"
#include "base/mem.h"
#include "host/chore.h"
#include "slash/slash.h"
#include "tui/app/app.h"
#include "tui/complete/complete.h"
#include "tui/editor/editor.h"

struct commands_chore {
    struct chore chore;
    struct slash *slash;
    struct arena arena;
    slash_item_vec items;
};

void app_commands_take(struct app *a, const slash_item_vec *items)
{
    struct completer_command *commands = mem_zalloc((items->len + 1) * sizeof(*commands));
    size_t n = 0;

    VEC_EACH(items, it) {
        /* "[…]" of a user's own command is often a required argument */
        bool runs_bare = !it->is_own && str_starts(it->hint, STR("["));

        commands[n++] =
            (struct completer_command){it->name, it->aliases, it->hint, it->summary, runs_bare};
    }
    completer_commands(a->completer, commands, n);
    mem_freep(&commands);
}

static void commands_run(struct chore *e)
{
    struct commands_chore *c = (struct commands_chore *)e;

    slash_list(c->slash, &c->arena, &c->items);
}

static void commands_done(struct chore *e, void *arg)
{
    struct commands_chore *c = (struct commands_chore *)e;
    struct app *a = arg;

    a->asks_commands = false;
    if (!a->session || a->session->slash != c->slash)
        return;
    app_commands_take(a, &c->items);
    if (editor_commands_changed(a->editor))
        a->is_dirty = true;
}

static void commands_free(struct chore *e)
{
    struct commands_chore *c = (struct commands_chore *)e;

    vec_release(&c->items);
    arena_release(&c->arena);
    mem_freep(&c);
}

void app_commands_look(struct app *a)
{
    struct commands_chore *c;

    if (!a->session || a->asks_commands)
        return;
    a->asks_commands = true;
    c = chore_new(sizeof(*c), commands_run, commands_done, commands_free);
    c->slash = a->session->slash;
    chores_give(a->chores, c);
}
