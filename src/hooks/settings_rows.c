/*
 * settings_rows: lists handlers as written in files, for the user.
 */
#include "hooks/settings.h"
#include "json/json.h"

/* The name that the user knows, on one line. */
static struct str row_title(const struct json *handler)
{
    static const char *const titles[] = {"command", "url", "prompt", "tool"};
    struct str what = STR("");

    for (size_t i = 0; i < ARRAY_LEN(titles) && !what.len; i++) {
        what = str_trim(json_get_str(handler, titles[i]));
        what = str_first(what, str_chr(what, '\n'));
    }
    return what;
}

static struct str row_limit(const struct settings_row *row, enum hook_limit limit)
{
    if (row->is_managed || limit == HOOK_LIMIT_NONE)
        return STR("");
    return limit == HOOK_LIMIT_DISABLED ? STR("disableAllHooks") : STR("allowManagedHooksOnly");
}

void settings_rows_add(struct settings_rows *rows, const struct settings_row *like,
                       const struct json *handler, enum hook_limit limit)
{
    struct arena *arena = &rows->arena;
    struct str why_not = like->why_not.len ? like->why_not : row_limit(like, limit);

    vec_push(&rows->list, ((struct settings_row){
                              .event = arena_str(arena, like->event),
                              .matcher = arena_str(arena, like->matcher),
                              .type = arena_str(arena, like->type),
                              .what = arena_str(arena, row_title(handler)),
                              .origin = arena_str(arena, like->origin),
                              .is_managed = like->is_managed,
                              .why_not = arena_str(arena, why_not),
                          }));
}

void settings_rows_release(struct settings_rows *rows)
{
    vec_release(&rows->list);
    arena_release(&rows->arena);
}
