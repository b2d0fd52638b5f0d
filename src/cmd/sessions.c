/*
 * sessions: lists, shows, exports, renames and removes stored sessions.
 *
 * Everything here works on files of sessions that may be open elsewhere: reading never disturbs
 * them, a title is appended as any line is, and removing one that is open is refused. Main thread.
 */
#include "cmd/sessions.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "host/project.h"
#include "json/jw.h"
#include "store/index.h"
#include "store/remove.h"
#include "store/store.h"
#include "store/transcript/entry.h"
#include "store/transcript/find.h"
#include "store/transcript/transcript.h"

#define TITLE_MAX 500 /* bytes */
#define DAY_MS ((int64_t)24 * 3600 * 1000)

static int sessions_run(struct cmd *c);

const struct command cmd_sessions = {
    .usage =
        {
            .name = "sessions",
            .args = "list | show ID | export ID | rename ID TITLE | rm ID...",
            .words = "list show export rename rm",
            .only_words = true,
            .summary = "List, show, export, rename or remove sessions",
            .details = "ID is an id or its beginning, a title or a part of it, or a .jsonl file.",
            .options = (const enum option_id[]){OPT_ALL, OPT_OLDER_THAN, OPT_FORMAT, OPT_OUTPUT,
                                                OPT_JSON, OPT_COUNT},
        },
    .run = sessions_run,
};

/* ---- What the parts share ---- */

/* The state store; NULL when it cannot be opened, which is no obstacle. Its warnings are
 * printed. */
static struct store *sessions_store(const struct sessions *s)
{
    CLEANUP(mem_freep) char *projects = path_join(s->home, "projects");
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    struct store *store = NULL;
    struct err err = {0};

    if (!file_is_dir(projects))
        return NULL; /* nothing to remember: make nothing */
    if (store_shared(s->home, s->cmd->cancel, &store, &err) < 0) {
        say_error(&err);
        return NULL;
    }
    store_warnings(store, &warnings);
    for (size_t i = 0; i < warnings.len; i++)
        say("%s", warnings.ptr[i]);
    return store;
}

int sessions_refresh(const struct sessions *s, struct index *ret, struct err *err)
{
    CLEANUP(store_freep) struct store *store = NULL;
    struct str project = s->cmd->args.given[OPT_ALL] ? STR("") : buf_str(&s->project);

    index_begin(ret, s->home, project, s->cmd->cancel);
    store = sessions_store(s);
    return index_refresh(store, s->home, project, s->cmd->cancel, ret, err);
}

int sessions_find(const struct sessions *s, const char *want, struct buf *ret_path, struct err *err)
{
    struct find_scope scope = {
        .home = s->home,
        .dir = s->cmd->dir,
        .project = buf_str(&s->project),
    };

    return find_session(&scope, str_of(want), s->cmd->cancel, ret_path, err);
}

/* Whether eight bytes are all ASCII and no controls: none has its highest bit, is below a space, or
 * is DEL. */
static bool are_plain(const char *eight)
{
    const uint64_t each = 0x0101010101010101;
    uint64_t x;

    memcpy(&x, eight, sizeof(x));
    return !((x | (x - each * ' ') | (x + each)) & (each << 7));
}

/* How many characters from here on are printable ASCII, at most max. */
static size_t plain_run(struct str text, size_t max)
{
    size_t end = text.len < max ? text.len : max;
    size_t n = 0;

    while (n + 8 <= end && are_plain(text.ptr + n))
        n += 8;
    while (n < end && text.ptr[n] >= ' ' && text.ptr[n] < 0x7f)
        n++;
    return n;
}

void sessions_add_line(struct buf *out, struct str text, size_t max_chars)
{
    size_t chars = 0;

    text = str_trim(text);
    while (text.len && chars < max_chars) {
        size_t run = plain_run(text, max_chars - chars);
        uint32_t code = 0;
        size_t len = run ? run : utf8_decode(text, &code);

        if (run || (code >= 0xa0 && !utf8_turns_text(code)))
            buf_add(out, str_first(text, len));
        else /* it would do something, or is broken */
            buf_addc(out, ' ');
        text = str_from(text, len ? len : 1);
        chars += run ? run : 1;
    }
    if (text.len)
        buf_adds(out, "…");
}

void sessions_add_size(struct buf *out, int64_t bytes)
{
    static const char *const units[] = {" B", " KB", " MB", " GB", " TB"};
    int64_t tenths = bytes * 10;
    size_t unit = 0;

    while (tenths >= 10000 && unit + 1 < ARRAY_LEN(units)) {
        tenths = (tenths + 512) / 1024;
        unit++;
    }
    if (unit > 1 && tenths < 100) {
        buf_addi(out, tenths / 10);
        buf_addc(out, '.');
        buf_addi(out, tenths % 10);
    } else {
        buf_addi(out, (tenths + 5) / 10);
    }
    buf_adds(out, units[unit]);
}

int sessions_say(const struct sessions *s, const struct buf *out)
{
    int code = EXIT_OK;

    (void)say_out(buf_str(out), s->cmd->cancel, &code);
    return code;
}

int sessions_failed(const struct err *err)
{
    if (err->code == ERR_CANCELLED && cmd_signal_code())
        return cmd_signal_code();
    say_error(err);
    return EXIT_FAILED;
}

/* ---- rename ---- */

static int sessions_check_title(struct str title, struct err *err)
{
    if (!title.len || title.len > TITLE_MAX)
        return err_set(err, ERR_BAD_INPUT, "a title has 1 to %d bytes", TITLE_MAX);
    for (size_t i = 0; i < title.len; i++) {
        if ((unsigned char)title.ptr[i] < ' ')
            return err_set(err, ERR_BAD_INPUT, "a title is one line, without control characters");
    }
    return utf8_is_valid(title) ? 0 : err_set(err, ERR_BAD_INPUT, "a title is UTF-8");
}

static int sessions_write_title(const char *path, struct str title, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(8 * TITLE_MAX);
    struct str name = str_of(path_base(path));
    struct transcript *t = transcript_new(path, SYNC_ALWAYS);
    struct jw w;
    int rc;

    jw_init(&w, &line, 0);
    entry_begin_fact(&w, ENTRY_CUSTOM_TITLE);
    jw_kstr(&w, "customTitle", title);
    jw_kstr(&w, "sessionId", str_first(name, ID_UUID_LEN));
    jw_object_end(&w);
    buf_addc(&line, '\n');
    rc = transcript_fact(t, buf_str(&line), err);
    transcript_free(t);
    return rc;
}

static int sessions_rename(const struct sessions *s, const char *want, const char *given)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct str title = str_trim(str_of(given));
    struct err err = {0};

    if (sessions_check_title(title, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    if (sessions_find(s, want, &path, &err) < 0)
        return sessions_failed(&err);
    if (!index_is_ours(s->home, buf_cstr(&path))) {
        say("'%s' is not in %s/projects: tenax does not write there", buf_cstr(&path), s->home);
        return EXIT_FAILED;
    }
    if (sessions_write_title(buf_cstr(&path), title, &err) < 0)
        return sessions_failed(&err);
    say("session %.8s is now called '%.*s'", path_base(buf_cstr(&path)), STR_ARG(title));
    return EXIT_OK;
}

/* ---- rm ---- */

static int sessions_rm_one(const struct sessions *s, const char *path)
{
    struct err err = {0};

    if (remove_session(s->home, path, &err) < 0)
        return sessions_failed(&err);
    say("removed session %.*s", ID_UUID_LEN, path_base(path));
    return EXIT_OK;
}

/* All are found before one is removed: a word that fits nothing stops it in time. */
static int sessions_rm_named(const struct sessions *s, const struct strv *words)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    int code = EXIT_OK;

    for (size_t i = 2; i < words->len; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        struct err err = {0};

        if (sessions_find(s, words->ptr[i], &path, &err) < 0)
            return sessions_failed(&err);
        strv_add(&paths, buf_str(&path));
    }
    for (size_t i = 0; i < paths.len; i++) {
        int one = sessions_rm_one(s, paths.ptr[i]);

        code = one ? one : code;
    }
    return code;
}

static int sessions_rm_old(const struct sessions *s, int64_t days)
{
    CLEANUP(index_release) struct index ix = INDEX_INIT;
    int64_t before_ms = clock_wall_ms() - days * DAY_MS;
    int code = EXIT_OK;
    struct err err = {0};

    if (sessions_refresh(s, &ix, &err) < 0)
        return sessions_failed(&err);
    VEC_EACH(&ix.rows, row) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        int one;

        if (row->last_ms >= before_ms)
            continue;
        index_path(row, s->home, &path);
        one = sessions_rm_one(s, buf_cstr(&path));
        code = one ? one : code;
    }
    return code;
}

static int sessions_usage(void)
{
    say("usage: tenax sessions list [--all] [--json] | show ID [--json] | export ID [--format "
        "md|html] [-o FILE] | rename ID TITLE | rm ID... | rm --older-than DAYS [--all]");
    return EXIT_USAGE;
}

static int sessions_rm(const struct sessions *s)
{
    const struct strv *words = &s->cmd->args.words;
    const char *days = args_get(&s->cmd->args, OPT_OLDER_THAN);
    struct err err = {0};
    int64_t n;
    int code;

    if ((words->len > 2) == (days != NULL))
        return sessions_usage();
    if (days && (str_to_i64(str_of(days), &n, &err) < 0 || n < 0 || n > 36500)) {
        say("--older-than: '%s' is no number of days", days);
        return EXIT_USAGE;
    }
    code = days ? sessions_rm_old(s, n) : sessions_rm_named(s, words);
    if (code == EXIT_OK) { /* their rows go too */
        CLEANUP(index_release) struct index ix = INDEX_INIT;

        (void)sessions_refresh(s, &ix, NULL);
    }
    return code;
}

/* ---- Which ---- */

/* Options that only one verb has a use for. */
static bool sessions_options_fit(const struct args *args, struct str verb)
{
    static const struct {
        enum option_id id;
        const char *verbs;
    } rows[] = {
        {OPT_FORMAT, "export"}, {OPT_OUTPUT, "export"},  {OPT_OLDER_THAN, "rm"},
        {OPT_ALL, "list rm"},   {OPT_JSON, "list show"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (args->given[rows[i].id] && !str_is_word_of(verb, rows[i].verbs)) {
            say("'sessions %.*s' does not take --%s", STR_ARG(str_clip(verb, 40)),
                option_table()[rows[i].id].name);
            return false;
        }
    }
    return true;
}

static int sessions_dispatch(const struct sessions *s)
{
    const struct strv *words = &s->cmd->args.words; /* "sessions", verb, … */
    struct str verb = words->len > 1 ? str_of(words->ptr[1]) : STR("list");

    if (!sessions_options_fit(&s->cmd->args, verb))
        return EXIT_USAGE;
    if (str_is(verb, "list") && words->len <= 2)
        return sessions_list(s);
    if (str_is(verb, "show") && words->len == 3)
        return sessions_show(s, words->ptr[2]);
    if (str_is(verb, "export") && words->len == 3)
        return sessions_export(s, words->ptr[2]);
    if (str_is(verb, "rename") && words->len == 4)
        return sessions_rename(s, words->ptr[2], words->ptr[3]);
    if (str_is(verb, "rm"))
        return sessions_rm(s);
    return sessions_usage();
}

static int sessions_run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct sessions s = {.cmd = c, .project = BUF_INIT(BUF_NO_LIMIT)};
    int code = cmd_conf(c, &conf);

    if (code)
        return code;
    s.conf = conf;
    s.home = conf_home(conf);
    project_key(str_of(c->dir), &s.project);
    code = sessions_dispatch(&s);
    buf_release(&s.project);
    return code;
}
