/*
 * draft: the data recorded before a goal is set, column by column. Any thread; runs checks and
 * reads the workspace, so the goal is not held except where draft.h requires it.
 */
#include "goal/draft.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"
#include "goal/origin/room.h"
#include "json/json.h"
#include "json/jw.h"

/* A long objective's line: its beginning, how long it is, where it is. */
#define REFERENCE_OPENS "… ("
#define REFERENCE_NAMES " characters, kept in "

void draft_init(struct draft *d)
{
    *d = (struct draft){
        .text = BUF_INIT(DRAFT_MAX_OBJECTIVE),
        .objective = BUF_INIT(DRAFT_MAX_OBJECTIVE),
        .checks = BUF_INIT(GOAL_MAX_TEXT),
        .protect = BUF_INIT(GOAL_MAX_TEXT),
        .baseline = BUF_INIT(GOAL_MAX_TEXT),
        .options = BUF_INIT(GOAL_MAX_TEXT),
        .file = BUF_INIT(1 << 12),
        .doubt = BUF_INIT(CHECK_MAX * (CHECK_MAX_COMMAND + 1024)),
    };
    ladder_init(&d->first);
    id_uuid(d->goal_id);
}

void draft_release(struct draft *d)
{
    buf_release(&d->text);
    buf_release(&d->objective);
    buf_release(&d->checks);
    buf_release(&d->protect);
    buf_release(&d->baseline);
    buf_release(&d->options);
    buf_release(&d->file);
    buf_release(&d->doubt);
    ladder_release(&d->first);
    strv_release(&d->weak_checks);
    strv_release(&d->notes);
    origin_free(d->origin);
}

size_t goal_count_points(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

int draft_text(struct goal *g, struct draft *d, struct str text, bool may_keep,
               const char **ret_code, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1 << 10);
    CLEANUP(mem_freep) char *path = NULL;
    struct str line;
    size_t n;

    text = str_trim(text);
    if (!text.len)
        return err_set(err, ERR_BAD_INPUT, "a goal needs a condition: /goal all tests pass");
    if (!utf8_is_valid(text) || memchr(text.ptr, '\0', text.len))
        return err_set(err, ERR_BAD_INPUT, "the condition is not valid UTF-8 text");
    n = goal_count_points(text);
    buf_add(&d->text, text);
    if (n <= GOAL_MAX_OBJECTIVE) {
        buf_add(&d->objective, text);
        return 0;
    }
    *ret_code = "too_long";
    if (!may_keep || text.len > DRAFT_MAX_OBJECTIVE)
        return err_set(err, ERR_TOO_BIG, "a condition has at most %d characters; this one has %zu",
                       GOAL_MAX_OBJECTIVE, n);
    *ret_code = "";
    buf_addf(&name, "goal-%s.md", d->goal_id);
    path = path_join(g->spec.folder, buf_cstr(&name));
    if (file_mkdirs(g->spec.folder, 0700, err) < 0 || file_replace(path, text, 0600, err) < 0)
        return -1;
    buf_adds(&d->file, path);
    line = str_first(text, str_chr(text, '\n'));
    buf_addf(&d->objective, "%.*s" REFERENCE_OPENS "%zu" REFERENCE_NAMES "%s)",
             STR_ARG(str_clip(line, 200)), n, path);
    return 0;
}

/* Before any work a check may take half of the time there is, so that some is left for the work. */
static int64_t draft_check_ms(const struct draft *d)
{
    int64_t half = (d->deadline_ms - clock_wall_ms()) / 2;

    if (!d->deadline_ms || half >= CHECK_TIMEOUT_MS)
        return 0;
    return half > 1 ? half : 1;
}

/* Runs one check in its own clean room, before any work; without a room in the workspace. */
static int draft_check(struct goal *g, struct draft *d, const char *command,
                       const struct goal_options *o, struct cancel *cancel, struct err *err)
{
    CLEANUP(buf_release) struct buf why = BUF_INIT(1 << 12);
    struct check_result *r = vec_add(&d->first.checks);
    struct check_spec spec = {
        .command = str_of(command),
        .dir = g->spec.dir,
        .environ = g->spec.environ,
        .timeout_ms = draft_check_ms(d),
        .sandbox = goal_sandbox(g),
    };
    const char *complaint;
    int rc = 0;

    *r = (struct check_result){0};
    if (!o->in_workspace)
        rc = goal_room(g, d->origin, /*now=*/NULL, /*hides_built=*/false, /*on_disk=*/false, cancel,
                       &spec.room, &why, err);
    if (rc == 0)
        rc = check_run(&spec, cancel, r, err);
    d->origin->has_room = d->origin->has_room || spec.room;
    room_free(spec.room);
    if (rc < 0) {
        d->first.checks.len--;
        return -1;
    }
    if (why.len && !d->says_weaker)
        strv_addf(&d->notes, "verdicts are weaker here: there is no clean room (%s)",
                  buf_cstr(&why));
    d->says_weaker = d->says_weaker || why.len;
    complaint = check_complaint(r);
    if (complaint) {
        strv_addf(&d->notes, "the check '%s' cannot be run as it is: %s. Is it right?", command,
                  complaint);
        buf_addf(&d->doubt, "%s`%s`: %s", d->doubt.len ? "; " : "", command, complaint);
    }
    return origin_add_check(d->origin, command, /*now=*/NULL, &r->trace, &r->touched, cancel, err);
}

int draft_checks(struct goal *g, struct draft *d, const struct goal_options *o,
                 struct cancel *cancel, struct err *err)
{
    struct jw w;

    if (o->checks.len > CHECK_MAX)
        return err_set(err, ERR_TOO_BIG, "a goal has at most %d checks", CHECK_MAX);
    jw_init(&w, &d->checks, 0);
    jw_array(&w);
    for (size_t i = 0; i < o->checks.len; i++) {
        const char *command = o->checks.ptr[i];
        bool passed;

        if (!str_trim(str_of(command)).len)
            return err_set(err, ERR_BAD_INPUT, "a check needs a command");
        if (strlen(command) > CHECK_MAX_COMMAND)
            return err_set(err, ERR_TOO_BIG, "a check has at most %zu bytes", CHECK_MAX_COMMAND);
        if (draft_check(g, d, command, o, cancel, err) < 0)
            return -1;
        passed = d->first.checks.ptr[i].passed;
        if (passed)
            strv_adds(&d->weak_checks, command);
        jw_object(&w);
        jw_kcstr(&w, "command", command);
        jw_kbool(&w, "weak", passed);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    return buf_check(&d->checks, err);
}

int draft_origin(struct goal *g, struct draft *d, const struct goal_options *o,
                 struct cancel *cancel, struct err *err)
{
    CLEANUP(mem_freep) char *folder = goal_folder(g, d->goal_id);
    CLEANUP(mem_freep) char *path = NULL;
    struct origin_spec spec = {
        .dir = g->spec.dir,
        .folder = folder,
        .environ = g->spec.environ,
        .globs = &o->protect,
        .keep = &o->keep,
        .checks = &o->checks,
        .protects_nothing = o->protect_none,
    };

    if (file_mkdirs(folder, 0700, err) < 0)
        return -1;
    path = path_join(folder, "session"); /* the folder goes with it (store/remove.h) */
    if (file_replace(path, str_of(g->spec.session), 0600, err) < 0)
        return -1;
    return origin_take(&spec, cancel, &d->origin, &d->notes, err);
}

int draft_protect(struct draft *d, struct err *err)
{
    d->protected_files = origin_count(d->origin);
    return goal_write_origin(d->origin, &d->protect, err);
}

int draft_baseline(struct goal *g, struct draft *d, struct cancel *cancel, struct err *err)
{
    struct baseline b = goal_baseline(g);
    char commit[GIT_ID], tree[GIT_ID];
    struct err why = {0};
    struct jw w;

    if (baseline_keep(&b, "base", STR("where the goal began"), cancel, commit, tree, &why) < 0) {
        if (why.code == ERR_CANCELLED)
            return err_set(err, ERR_CANCELLED, "%s", why.text);
        if (why.code != ERR_UNSUPPORTED)
            strv_addf(&d->notes, "there will be no diff and no way back: %s", why.text);
        return 0;
    }
    jw_init(&w, &d->baseline, 0);
    jw_object(&w);
    jw_kcstr(&w, "commit", commit);
    jw_kcstr(&w, "tree", tree);
    jw_object_end(&w);
    return 0;
}

static void write_options(struct draft *d, struct str how, int64_t tokens_at_start, struct str via)
{
    char sha256[SHA256_HEX + 1];
    struct jw w;

    jw_init(&w, &d->options, 0);
    jw_object(&w);
    jw_kraw(&w, "how", how.len ? how : STR("{}"));
    jw_ki64(&w, "tokens_at_start", tokens_at_start);
    jw_kstr(&w, "via", via);
    if (d->file.len) {
        sha256_hex(buf_str(&d->text), sha256);
        jw_kstr(&w, "file", buf_str(&d->file));
        jw_kcstr(&w, "sha256", sha256);
    }
    jw_object_end(&w);
}

void draft_options(struct goal *g, struct draft *d, const struct goal_options *o, const char *via)
{
    CLEANUP(buf_release) struct buf how = BUF_INIT(GOAL_MAX_TEXT);

    goal_options_write(o, &how);
    write_options(d, buf_str(&how), g->session_output, str_of(via));
}

/* A reference's parts: how long the text is and the name of its file. */
static bool read_reference(struct str objective, int64_t *ret_points, struct str *ret_name)
{
    struct str rest = objective, points;

    if (!str_ends(rest, STR(".md)")))
        return false;
    rest = str_first(rest, rest.len - 1);
    rest = str_from(rest, str_find(rest, STR(REFERENCE_OPENS)) + strlen(REFERENCE_OPENS));
    points = str_first(rest, str_find(rest, STR(REFERENCE_NAMES)));
    rest = str_from(rest, points.len + strlen(REFERENCE_NAMES));
    if (str_to_i64(points, ret_points, /*err=*/NULL) < 0)
        return false;
    while (str_cut(&rest, '/', ret_name)) {
    }
    return str_starts(*ret_name, STR("goal-"));
}

bool draft_refer(struct goal *g, struct draft *d, struct str objective)
{
    CLEANUP(mem_freep) char *name = NULL, *path = NULL;
    struct str base;
    int64_t points;

    if (!read_reference(objective, &points, &base))
        return false;
    name = mem_dup(base.ptr, base.len);
    path = path_join(g->spec.folder, name);
    buf_adds(&d->file, path);
    if (file_slurp(path, DRAFT_MAX_OBJECTIVE, &d->text, /*err=*/NULL) < 0 ||
        (int64_t)goal_count_points(buf_str(&d->text)) != points)
        buf_clear(&d->text);
    write_options(d, STR(""), g->session_output, STR("transcript"));
    return true;
}

/* A file of the old text is no longer named, or it would be the goal again after a restart. */
int goal_reword(struct goal *g, struct str old_options, struct str text, bool may_keep,
                struct buf *ret_objective, struct buf *ret_options, const char **ret_code,
                struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(draft_release) struct draft d;
    const struct json *v = NULL;

    draft_init(&d);
    if (draft_text(g, &d, text, may_keep, ret_code, err) < 0)
        return -1;
    if (old_options.len)
        (void)json_parse(&arena, old_options, &v, /*ret_info=*/NULL, /*err=*/NULL);
    write_options(&d, json_raw(json_get(v, "how")), json_get_i64(v, "tokens_at_start", 0),
                  json_get_str(v, "via"));
    buf_add(ret_objective, buf_str(&d.objective));
    buf_add(ret_options, buf_str(&d.options));
    return 0;
}
