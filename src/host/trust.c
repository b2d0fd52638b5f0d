/*
 * trust: looks answers up in the store and in Claude Code's state file, from the folder upwards.
 * Any thread.
 */
#include "host/trust.h"

#include <string.h>
#include <unistd.h>

#include "agent/ask.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "json/json.h"
#include "json/jw.h"
#include "proc/tree.h"
#include "store/hold.h"
#include "store/store.h"

#define TRUST_MAX_STATE ((size_t)64 << 20) /* of ~/.claude.json */

void trust_answer_release(struct trust_answer *a)
{
    buf_release(&a->dir);
}

/* `projects` of Claude Code's state, or NULL. It is not our file, so errors in it are ignored. */
static const struct json *trust_read_claudes(const struct conf *conf, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TRUST_MAX_STATE);
    CLEANUP(mem_freep) char *usual = path_join(conf_user_home(conf), ".claude");
    CLEANUP(mem_freep) char *path = NULL;
    bool is_moved = strcmp(conf_claude_home(conf), usual) != 0;
    const struct json *root;
    struct err err = {0};

    if (!conf_get_bool(conf, "claudeCompat", true))
        return NULL;
    /* Next to Claude's folder, or inside the one that replaces it. */
    path = path_join(is_moved ? conf_claude_home(conf) : conf_user_home(conf), ".claude.json");
    if (file_slurp(path, TRUST_MAX_STATE, &text, &err) < 0 ||
        json_parse_copy(arena, buf_str(&text), &root, /*ret_info=*/NULL, &err) < 0) {
        log_debug("host", "no trust from %s: %s", path, err.text);
        return NULL;
    }
    return json_get(root, "projects");
}

static bool trust_store_exists(const struct conf *conf)
{
    CLEANUP(mem_freep) char *path = path_join(conf_home(conf), "state.db");

    return file_exists(path);
}

/* The answer for exactly this folder. */
static int trust_of(struct store *store, const struct json *claudes, struct str dir,
                    struct cancel *cancel, struct trust_answer *ret, struct err *err)
{
    bool trusted;
    int found = store ? store_trust_get(store, dir, &trusted, cancel, err) : 0;

    if (found < 0)
        return -1;
    if (found)
        ret->trust = trusted ? TRUST_YES : TRUST_NO;
    else if (json_get_bool(json_get_key(claudes, dir), "hasTrustDialogAccepted", false))
        ret->trust = TRUST_YES;
    ret->is_claudes = !found && ret->trust;
    if (ret->trust)
        buf_add(&ret->dir, dir);
    return 0;
}

static bool trust_covers(const struct conf *conf, struct str above)
{
    return !str_is(above, "/") && !str_is(above, conf_user_home(conf));
}

int trust_look(const struct conf *conf, const char *dir, struct cancel *cancel,
               struct trust_answer *ret, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(store_freep) struct store *store = NULL;
    const struct json *claudes = trust_read_claudes(conf, &arena);
    struct str at = str_of(dir);

    if (trust_store_exists(conf) && store_shared(conf_home(conf), cancel, &store, err) < 0)
        return -1;
    for (;;) {
        if ((at.len == strlen(dir) || trust_covers(conf, at)) &&
            trust_of(store, claudes, at, cancel, ret, err) < 0)
            return -1;
        if (ret->trust || at.len <= 1)
            return 0;
        while (at.len > 1 && at.ptr[at.len - 1] != '/')
            at.len--;
        if (at.len > 1)
            at.len--;
    }
}

int trust_set(const struct conf *conf, const char *dir, enum trust trust, struct cancel *cancel,
              struct err *err)
{
    CLEANUP(store_freep) struct store *store = NULL;
    struct store_trust row = {
        .dir = str_of(dir), .trusted = trust == TRUST_YES, .time_ms = clock_wall_ms()};

    if (trust == TRUST_UNKNOWN && !trust_store_exists(conf))
        return 0;
    if (store_shared(conf_home(conf), cancel, &store, err) < 0)
        return -1;
    if (trust == TRUST_UNKNOWN)
        return store_trust_remove(store, row.dir, cancel, err);
    if (trust == TRUST_YES && strcmp(dir, conf_dir(conf)) == 0 && conf_unapproved(conf)->len &&
        store_trust_approve(store, row.dir, conf_unapproved(conf), row.time_ms, cancel, err) < 0)
        return -1;
    return store_trust_set(store, &row, cancel, err) < 0 ? -1 : 1;
}

int trust_approve(struct conf *conf, struct cancel *cancel, struct err *err)
{
    CLEANUP(strv_release) struct strv digests = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(store_freep) struct store *store = NULL;

    if (!conf_unapproved(conf)->len || !trust_store_exists(conf))
        return 0;
    if (store_shared(conf_home(conf), cancel, &store, err) < 0 ||
        store_trust_approved(store, str_of(conf_dir(conf)), &digests, cancel, err) < 0)
        return -1;
    if (!digests.len)
        return 0;
    conf_approve(conf, &digests);
    return conf_refresh(conf, &notes, err);
}

int trust_refuse_agents(const struct conf *conf, const char *what, struct err *err)
{
    CLEANUP(strv_release) struct strv sessions = STRV_INIT;
    bool is_agents = false;

    hold_list(conf_home(conf), &sessions);
    for (size_t i = 0; i < sessions.len && !is_agents; i++) {
        CLEANUP(holder_release) struct holder holder = {0};

        is_agents = hold_seek(conf_home(conf), sessions.ptr[i], &holder, /*err=*/NULL) == 1 &&
                    holder.pid > 1 && tree_is_below(getpid(), (pid_t)holder.pid);
    }
    return is_agents
               ? err_set(err, ERR_DENIED,
                         "a command that a session runs cannot %s; run it in another terminal",
                         what)
               : 0;
}

bool trust_is_why(struct str warning)
{
    return str_has(warning, STR("not trusted")) || str_has(warning, STR("to approve it"));
}

static void trust_write_input(const struct conf *conf, bool again, struct buf *ret)
{
    const struct strv *warnings = conf_warnings(conf);
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kcstr(&w, "directory", conf_dir(conf));
    if (again)
        jw_kbool(&w, "again", true);
    jw_key(&w, "leftOut");
    jw_array(&w);
    for (size_t i = 0; i < warnings->len; i++) {
        if (trust_is_why(str_of(warnings->ptr[i])))
            jw_cstr(&w, warnings->ptr[i]);
    }
    jw_array_end(&w);
    jw_object_end(&w);
}

int trust_ask(const struct conf *conf, bool again, struct asker *asker, struct cancel *cancel,
              struct err *err)
{
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    CLEANUP(buf_release) struct buf input = BUF_INIT(ASK_MAX_ANSWER);
    struct ask ask = {
        .kind = ASK_TRUST,
        .tool_name = STR("trust"),
        .reason = STR("its settings can name programs to run and places to send your key to"),
        .reason_type = "other",
        .needs_person = true,
    };

    trust_write_input(conf, again, &input);
    ask.input = buf_str(&input);
    if (asker->put(asker, &ask, cancel, &answer, err) < 0)
        return -1;
    if (trust_set(conf, conf_dir(conf), answer.allowed ? TRUST_YES : TRUST_NO, cancel, err) < 0)
        return -1;
    return answer.allowed;
}
