/*
 * What completion offers beside files: commands and resources of servers. Commands are loaded when
 * a session opens, and again when the user begins to type one, because files of commands and skills
 * may have been added. That reads folders, so it is a chore. UI thread.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "host/chore.h"
#include "host/mcp.h"
#include "json/json.h"
#include "mcp/client.h"
#include "mcp/mcp.h"
#include "mcp/server_conf.h"
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

struct resources {
    struct arena arena;
    VEC(struct completer_resource) list;
};

/* A URI has no other characters; what has could look like something else. */
static bool is_uri(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    }
    return text.len;
}

static void add_resources(struct resources *r, const char *server, const struct json *const *ptr,
                          size_t count, const char *member)
{
    for (size_t i = 0; i < count; i++) {
        struct str uri = json_get_str(ptr[i], member);
        struct str about = json_get_str(ptr[i], "description");
        struct str fixed = str_first(uri, str_chr(uri, '{')); /* of a template */
        CLEANUP(buf_release) struct buf name = BUF_INIT(8192);

        buf_addf(&name, "%s:%.*s", server, STR_ARG(fixed));
        if (!is_uri(fixed) || name.over)
            continue;
        if (!about.len)
            about = json_get_str(ptr[i], "name");
        *vec_add(&r->list) = (struct completer_resource){
            .name = arena_str(&r->arena, buf_str(&name)),
            .summary = arena_str(&r->arena, str_first(about, str_chr(about, '\n'))),
            .goes_on = fixed.len < uri.len,
        };
    }
}

void app_resources_look(struct app *a)
{
    const struct mcp *m = a->session ? host_mcp(app_host(a)) : NULL;
    struct resources all = {.arena = ARENA_INIT};

    for (size_t i = 0; m && i < mcp_count(m); i++) {
        struct mcp_client *c = mcp_client_at(m, i);
        const char *server = mcp_server_at(m, i)->name;
        struct mcp_look look;

        if (!c || mcp_is_hidden(m, i))
            continue;
        mcp_client_look(c, &look);
        if (look.lists) {
            add_resources(&all, server, look.lists->resources.ptr, look.lists->resources.len,
                          "uri");
            add_resources(&all, server, look.lists->templates.ptr, look.lists->templates.len,
                          "uriTemplate");
        }
        mcp_lists_unref(look.lists);
    }
    completer_resources(a->completer, all.list.ptr, all.list.len);
    vec_release(&all.list);
    arena_release(&all.arena);
}
