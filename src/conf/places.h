/*
 * Where things other than settings live: agents, commands, skills, output styles, rules. Both homes
 * at every level, as for settings: Claude's first and ours over it.
 *
 *   user      ~/.claude/NAME (or CLAUDE_CONFIG_DIR), then $TENAX_HOME/NAME
 *   project   .claude/NAME, then .tenax/NAME, in every folder from the top of the checkout down to
 *             where tenax was started
 *   managed   /etc/claude-code/NAME, then /etc/tenax/NAME
 *
 * Skills are also looked for in ~/.agents and .agents, before the two others of the level. Those of
 * plugins (conf/plugin.h) come first of all, as the user's; one may be a single file.
 *
 * Only what exists is listed, in that order; which level beats which depends on the kind (a skill
 * of the user's beats the project's, an agent's is beaten by it) and is decided by the caller, and
 * so is the handling of untrusted folders (conf_is_trusted()). `claudeCompat: false` leaves
 * Claude's homes out, except the managed one; --setting-sources the levels it does not name.
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
    const char *path;            /* absolute; in the arena */
    const char *added;           /* the folder of --add-dir that it lies in; NULL: none */
    const char *near;            /* the folder below the project that it is for; NULL: all of it */
    const struct plugin *plugin; /* whose it is; NULL: no plugin's */
};

typedef VEC(struct place) place_vec;

/* The topmost folder whose places are the project's: its checkout's, else the folder worked in. */
const char *places_project(const struct conf *conf, struct arena *arena);
/* Whether a file of a place leads out of the project or plugin that brings it: what it says would
 * go to the model. project: of places_project(). */
bool places_leads_out(const struct place *at, const char *project, const char *path);
/* name: "agents", "skills", "output-styles", … */
void places_find(const struct conf *conf, const char *name, struct arena *arena, place_vec *ret);
/* Those in folders of --add-dir, as the project's: for what these bring along (commands, skills).
 */
void places_find_added(const struct conf *conf, const char *name, struct arena *arena,
                       place_vec *ret);
