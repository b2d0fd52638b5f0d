/*
 * Folders of agents, commands, skills, output styles and rules. Both homes at every level, as for
 * settings: Claude's first, then ours.
 *
 *   user      ~/.claude/NAME (or CLAUDE_CONFIG_DIR), then $TENAX_HOME/NAME
 *   project   .claude/NAME, then .tenax/NAME, in every folder from the top of the checkout down to
 *             where tenax was started
 *   managed   /etc/claude-code/NAME, then /etc/tenax/NAME
 *
 * Skills are also looked up in ~/.agents and .agents, before the two others of the level. Those of
 * plugins (conf/plugin.h) come first, as the user's; one may be a single file.
 *
 * Only existing places are listed, in that order. The caller decides which level takes precedence,
 * which depends on the kind (a skill of the user overrides the project's, an agent does not), and
 * how to treat untrusted folders (conf_is_trusted()). `claudeCompat: false` omits Claude's homes,
 * except the managed one; --setting-sources omits the levels it does not name.
 */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "conf/source.h"

struct arena;
struct conf;
struct plugin;

struct place {
    enum source_level level;
    bool ours;
    const char *path;  /* absolute; in the arena */
    const char *added; /* the folder of --add-dir that has it; or NULL */
    const char
        *near; /* the folder below the project that it applies to; NULL = the whole project */
    const struct plugin *plugin; /* its plugin; or NULL */
};

typedef VEC(struct place) place_vec;

/* The topmost folder of the project: the root of the checkout, else the working directory. */
const char *places_project(const struct conf *conf, struct arena *arena);
/* Whether a file of a place is a link to outside of its project or plugin: its content would be
 * sent to the model. project: from places_project(). */
bool places_leads_out(const struct place *at, const char *project, const char *path);
/* name: "agents", "skills", "output-styles", … */
void places_find(const struct conf *conf, const char *name, struct arena *arena, place_vec *ret);
/* Those in folders of --add-dir, as the project's: for kinds that such folders provide (commands,
 * skills). */
void places_find_added(const struct conf *conf, const char *name, struct arena *arena,
                       place_vec *ret);
