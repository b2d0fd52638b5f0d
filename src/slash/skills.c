/*
 * /skills: which skills and commands there are, who may call them, what each costs in the list that
 * the model gets, and errors in the others.
 */
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "slash/answer.h"
#include "slash/own.h"
#include "slash/skill_listing.h"

#define TOKEN_CHARS 4

static int skills_run(struct slash_call *call, struct err *err);

const struct slash_command slash_skills_entry = {
    .name = "skills",
    .hint = "",
    .summary = "List the skills and who may call them",
    .run = skills_run,
};

static void say_who(struct slash_call *call, const struct own_command *c, const struct strv *seen,
                    bool is_trusted)
{
    if (c->is_hidden && c->is_users)
        slash_say(call, INK_YELLOW, STR("switched off"));
    else if (c->is_hidden)
        slash_say(call, INK_PLAIN, STR("the model only"));
    else if (c->is_users)
        slash_say(call, INK_PLAIN, STR("you only"));
    else if (c->level == LEVEL_PROJECT && !is_trusted)
        slash_say(call, INK_YELLOW, STR("you only: the folder is not trusted"));
    else if (!skill_is_listed(c, seen, is_trusted))
        slash_sayf(call, INK_PLAIN, "listed once a file like %s was read",
                   c->paths.len ? c->paths.ptr[0] : "?");
    else
        slash_sayf(call, INK_PLAIN, "you and the model, about %zu tokens in the list",
                   (c->name.len + c->line.len + 4) / TOKEN_CHARS);
    if (own_grants(c))
        slash_sayf(call, INK_PLAIN, "; %s", c->hooks ? "brings hooks" : "grants permissions");
    slash_say(call, INK_PLAIN, STR("\n"));
}

static int skills_run(struct slash_call *call, struct err *err)
{
    CLEANUP(own_list_unrefp) struct own_list *own = slash_own(call->slash);
    CLEANUP(strv_release) struct strv seen = STRV_INIT;
    bool is_trusted = conf_is_trusted(host_conf(call->host));

    (void)err;
    workspace_seen_paths(host_workspace(call->host), &seen);
    VEC_EACH(&own->commands, c) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(4096);

        slash_add_line(&line, c->summary, 100);
        slash_sayf(call, INK_CYAN, "/%.*s", STR_ARG(c->name));
        if (c->alias.len)
            slash_sayf(call, INK_FAINT, " (also /%.*s)", STR_ARG(c->alias));
        slash_sayf(call, INK_PLAIN, "  %s\n    ", buf_cstr(&line));
        say_who(call, c, &seen, is_trusted);
        slash_sayf(call, INK_FAINT, "    %s\n", c->path);
    }
    if (!own->commands.len)
        slash_say(
            call, INK_PLAIN,
            STR("There are no skills. A skill is a file .claude/skills/NAME/SKILL.md here, or "
                "in your home.\n"));
    for (size_t i = 0; i < own->notes.len; i++)
        slash_sayf(call, INK_YELLOW, "%s\n", own->notes.ptr[i]);
    return 0;
}
