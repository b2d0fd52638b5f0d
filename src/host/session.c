/*
 * session: finds, locks and loads it. Runs on the thread that creates the host.
 */
#include "host/session.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/recall.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/project.h"
#include "host/record/dropped_turn.h"
#include "host/record/fork.h"
#include "host/record/record.h"
#include "host/record/rewind.h"
#include "host/socket/handover.h"
#include "json/jw.h"
#include "llm/message.h"
#include "store/files/file_change.h"
#include "store/files/file_history.h"
#include "store/hold.h"
#include "store/index.h"
#include "store/remove.h"
#include "store/transcript/entry.h"
#include "store/transcript/find.h"
#include "store/transcript/load.h"
#include "store/transcript/transcript.h"
#include "sync/thread.h"

#define SESSION_KEPT_DAYS 30
#define SESSION_MAX_TITLE 500

struct session {
    const struct conf *conf;
    struct cancel *cancel; /* the process's */
    char id[ID_UUID_LEN + 1];
    char forked_from[ID_UUID_LEN + 1]; /* "" = not a fork of ours */
    char *path, *folder;
    const char *source;
    void (*on_wait)(const char *text);
    bool is_kept;
    bool made_folder; /* not saved and newly created: removed at the end */
    struct hold *hold;
    struct load *load;
    struct recall recall;
    bool is_recalled;
    struct buf seed; /* lines of a fork */
    struct file_changes changes;
    struct record *record;
    struct sweep *sweep; /* deletes old sessions, once a day */

    struct lock naming; /* guards the fields below */
    bool is_named;      /* a title was set since it was opened */
    struct buf title;   /* for the start; or empty */
    struct buf name;    /* set since it was opened; or empty */
    struct buf ai_name; /* made by a model since then; or empty */
};

void session_free(struct session *s)
{
    if (!s)
        return;
    sweep_end(s->sweep);
    record_free(s->record);
    if (!s->is_kept && s->made_folder)
        project_forget(s->folder);
    hold_give(s->hold);
    load_free(s->load);
    recall_release(&s->recall);
    buf_release(&s->seed);
    buf_release(&s->title);
    buf_release(&s->name);
    buf_release(&s->ai_name);
    lock_release(&s->naming);
    file_changes_release(&s->changes);
    mem_freep(&s->path);
    mem_freep(&s->folder);
    mem_freep(&s);
}

/* ---- Selection ---- */

/* "…/projects/<key>/<id>" and the same with ".jsonl". */
static void session_place(struct session *s)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    project_session_dir(str_of(conf_home(s->conf)), str_of(conf_dir(s->conf)), str_of(s->id),
                        &path);
    s->folder = mem_dup(path.ptr, path.len);
    buf_adds(&path, ".jsonl");
    s->path = mem_dup(path.ptr, path.len);
}

/* Uses the resumed file; the session's folder is next to it, wherever that is. */
static int session_adopt(struct session *s, const char *path, struct err *err)
{
    struct str name = str_of(path_base(path));

    if (!index_is_session(name))
        return err_set(err, ERR_BAD_INPUT,
                       "'%s' is not named <uuid>.jsonl, so nothing can be added to it; "
                       "--fork-session continues in a new file",
                       path);
    memcpy(s->id, name.ptr, ID_UUID_LEN);
    s->path = mem_dup(path, strlen(path));
    s->folder = mem_dup(path, strlen(path) - strlen(".jsonl"));
    return 0;
}

static int session_hold(struct session *s, struct err *err)
{
    CLEANUP(buf_release) struct buf socket = BUF_INIT(BUF_NO_LIMIT);
    struct err why = {0};

    if (!s->is_kept)
        return 0;
    buf_addf(&socket, "%s/run/%d.sock", conf_home(s->conf), (int)getpid());
    if (handover_take(conf_home(s->conf), s->id, buf_cstr(&socket), s->on_wait, s->cancel, &s->hold,
                      &why) == 0)
        return 0;
    if (why.code == ERR_BUSY || why.code == ERR_CANCELLED)
        return err_set(err, why.code, "%s", why.text);
    return err_set(err, why.code,
                   "the session cannot be saved: %s (--no-session-persistence works without "
                   "keeping anything)",
                   why.text);
}

static int session_check_unused(const struct session *s, struct err *err)
{
    if (!file_exists(s->path))
        return 0;
    return err_set(err, ERR_BAD_INPUT, "session %s exists already; --resume %s continues it", s->id,
                   s->id);
}

static int session_new(struct session *s, const char *id, struct err *err)
{
    if (id)
        memcpy(s->id, id, ID_UUID_LEN);
    else
        id_uuid(s->id);
    session_place(s);
    s->made_folder = !file_exists(s->folder);
    if ((id && session_check_unused(s, err) < 0) || session_hold(s, err) < 0)
        return -1;
    /* check again: another process may have used the id in the meantime */
    return id ? session_check_unused(s, err) : 0;
}

/* ---- Resuming ---- */

bool session_resumes(const struct session_spec *spec)
{
    return spec->continues || spec->resume;
}

static int check_spec(const struct session_spec *spec, struct err *err)
{
    const char *only = spec->forks   ? "fork-session"
                       : spec->at    ? "resume-session-at"
                       : spec->drops ? "resume-drops-turn"
                                     : NULL;

    if (spec->continues && spec->resume)
        return err_set(err, ERR_BAD_INPUT, "--continue and --resume do not go together");
    if (only && !session_resumes(spec))
        return err_set(err, ERR_BAD_INPUT, "--%s needs --resume or --continue", only);
    if (spec->id && session_resumes(spec) && !spec->forks)
        return err_set(err, ERR_BAD_INPUT,
                       "--session-id with --resume or --continue needs --fork-session");
    return 0;
}

/* Whether a goal of the session is stored below goals/. */
static bool session_has_goal(const struct session *s, const char *id)
{
    CLEANUP(mem_freep) char *goals = path_join(conf_home(s->conf), "goals");
    DIR *d = opendir(goals);
    bool has = false;

    for (struct dirent *e = d ? readdir(d) : NULL; e && !has; e = readdir(d)) {
        CLEANUP(mem_freep) char *folder = path_join(goals, e->d_name);
        CLEANUP(mem_freep) char *owner = path_join(folder, "session");
        CLEANUP(buf_release) struct buf text = {0};

        has = file_slurp(owner, 256, &text, NULL) == 0 && str_is(str_trim(buf_str(&text)), id);
    }
    if (d)
        closedir(d);
    return has;
}

/* Finds a session's folder whose transcript was deleted. want: the start of its id; empty = the
 * newest. False if there is none. */
static bool session_find_folder(const struct session *s, struct str project, struct str want,
                                struct buf *ret_path)
{
    CLEANUP(buf_release) struct buf dir = BUF_INIT(BUF_NO_LIMIT);
    struct timespec newest = {0};
    DIR *d;

    buf_addf(&dir, "%s/projects/%.*s", conf_home(s->conf), STR_ARG(project));
    d = opendir(buf_cstr(&dir));
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        struct stat st;

        buf_addf(&path, "%s/%s.jsonl", buf_cstr(&dir), e->d_name);
        if (!id_is_uuid(str_of(e->d_name)) || !str_starts(str_of(e->d_name), want) ||
            !session_has_goal(s, e->d_name) || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
            !S_ISDIR(st.st_mode) || file_exists(buf_cstr(&path)) ||
            (ret_path->len && st.st_mtim.tv_sec <= newest.tv_sec))
            continue;
        newest = st.st_mtim;
        buf_clear(ret_path);
        buf_add(ret_path, buf_str(&path));
    }
    if (d)
        closedir(d);
    return ret_path->len;
}

/* The messages are gone; the rest (a goal in the store) is resumed with an empty transcript. */
static int session_begin_anew(const char *path, struct strv *ret_notes, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(4096);
    struct jw w;

    jw_init(&w, &line, 0);
    entry_begin_fact(&w, ENTRY_TAG);
    jw_kcstr(&w, "tag", "");
    jw_kstr(&w, "sessionId", str_first(str_of(path_base(path)), ID_UUID_LEN));
    jw_object_end(&w);
    buf_addc(&line, '\n');
    if (transcript_add_line(path, buf_str(&line), /*durable=*/true, err) < 0)
        return -1;
    strv_addf(ret_notes,
              "the transcript of session %.8s was removed: its messages are lost, its goal is not",
              path_base(path));
    return 0;
}

/* is_free: with `continues`, the newest session that no other process holds. */
static int session_find_past(const struct session *s, const struct session_spec *spec, bool is_free,
                             struct cancel *cancel, struct strv *ret_notes, struct buf *ret_path,
                             struct err *err)
{
    const char *want = spec->resume;
    struct find_scope scope = {.home = conf_home(s->conf), .dir = conf_dir(s->conf)};
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);

    project_key(str_of(conf_dir(s->conf)), &key);
    scope.project = buf_str(&key);
    if ((spec->continues ? find_newest(&scope, is_free, ret_path, err)
                         : find_session(&scope, str_of(want), cancel, ret_path, err)) == 0)
        return 0;
    if ((err && err->code != ERR_NOT_FOUND) || (want && strlen(want) < 4) ||
        !session_find_folder(s, buf_str(&key), str_of(want ? want : ""), ret_path))
        return -1;
    err_clear(err);
    return session_begin_anew(buf_cstr(ret_path), ret_notes, err);
}

/* Loads the changes that tools have made to files. */
static int session_read_changes(struct session *s, struct err *err)
{
    const struct load_facts *facts = load_facts(s->load);

    VEC_EACH(&facts->file_history, line) {
        struct str text;

        if (load_read(s->load, line->offset, line->len, &text, err) < 0)
            return -1;
        file_changes_add(&s->changes, text, line->offset, str_of(conf_dir(s->conf)));
    }
    return 0;
}

static void session_note_queue(const struct session *s, struct strv *ret_notes)
{
    size_t n = s->recall.queued.len;
    CLEANUP(buf_release) struct buf note = BUF_INIT(1 << 10);

    buf_addf(&note, "%zu %s when the session ended, and %s sent first", n,
             n == 1 ? "message waited" : "messages waited", n == 1 ? "is" : "are");
    if (n)
        strv_add(ret_notes, buf_str(&note));
}

static int session_read(struct session *s, const char *path, const struct session_spec *spec,
                        struct cancel *cancel, struct strv *ret_notes, struct err *err)
{
    struct load_spec load = {.leaf = str_of(spec->at ? spec->at : spec->drops),
                             .is_before = !spec->at && spec->drops};

    if (spec->at && spec->drops &&
        dropped_turn_check(path, load.leaf, str_of(spec->drops), cancel, err) < 0)
        return -1;
    if (load_open(path, &load, cancel, &s->load, err) < 0)
        return -1;
    strv_add_all(ret_notes, load_warnings(s->load));
    if (recall_read(s->load, cancel, &s->recall, err) < 0)
        return -1;
    s->is_recalled = true;
    session_note_queue(s, ret_notes);
    return session_read_changes(s, err);
}

/* Waiting input belongs to the old session and is sent there. */
static void session_leave_queue(struct session *s)
{
    VEC_EACH(&s->recall.queued, in) {
        message_unref(in->message);
    }
    s->recall.queued.len = 0;
}

/* Any file may be forked; saved files are looked for only beside one with a session's name. */
static int session_fork(struct session *s, const char *path, struct err *err)
{
    CLEANUP(mem_freep) char *folder = NULL;

    if (fork_lines(s->load, s->id, &s->seed, err) < 0)
        return -1;
    if (!index_is_session(str_of(path_base(path))))
        return 0;
    memcpy(s->forked_from, path_base(path), ID_UUID_LEN);
    folder = mem_dup(path, strlen(path) - strlen(".jsonl"));
    return file_history_copy(folder, s->folder, err);
}

/* Finds and locks a session. Locks it before reading, since another process could add lines.
 * --continue skips a session that is in use. */
static int session_take_past(struct session *s, const struct session_spec *spec,
                             struct cancel *cancel, struct strv *ret_notes, struct buf *ret_path,
                             struct err *err)
{
    struct err why = {0};

    if (session_find_past(s, spec, /*is_free=*/false, cancel, ret_notes, ret_path, err) < 0 ||
        session_adopt(s, buf_cstr(ret_path), err) < 0)
        return -1;
    if (session_hold(s, &why) == 0)
        return 0;
    if (why.code != ERR_BUSY || !spec->continues)
        return err_set(err, why.code, "%s", why.text);
    mem_freep(&s->path);
    mem_freep(&s->folder);
    buf_clear(ret_path);
    if (session_find_past(s, spec, /*is_free=*/true, cancel, ret_notes, ret_path, err) < 0 ||
        session_adopt(s, buf_cstr(ret_path), err) < 0)
        return -1;
    return session_hold(s, err);
}

static int session_resume(struct session *s, const struct session_spec *spec, struct cancel *cancel,
                          struct strv *ret_notes, struct err *err)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    bool forks = spec->forks;

    s->source = forks ? "fork" : "resume";
    if (forks ? session_find_past(s, spec, /*is_free=*/false, cancel, ret_notes, &path, err) < 0 ||
                    session_new(s, spec->id, err) < 0
              : session_take_past(s, spec, cancel, ret_notes, &path, err) < 0)
        return -1;
    if (session_read(s, buf_cstr(&path), spec, cancel, ret_notes, err) < 0)
        return -1;
    if (forks || !s->is_kept)
        session_leave_queue(s);
    return forks && s->is_kept ? session_fork(s, buf_cstr(&path), err) : 0;
}

int session_open(const struct conf *conf, const struct session_spec *spec, struct cancel *cancel,
                 struct strv *ret_notes, struct session **ret, struct err *err)
{
    struct session *s = mem_zalloc(sizeof(*s));
    int r;

    s->conf = conf;
    s->cancel = cancel;
    s->source = "startup";
    s->is_kept = !spec->is_unkept;
    s->on_wait = spec->on_wait;
    s->recall = (struct recall)RECALL_INIT;
    buf_init(&s->seed, BUF_NO_LIMIT);
    buf_init(&s->title, BUF_NO_LIMIT);
    lock_init(&s->naming);
    buf_init(&s->name, BUF_NO_LIMIT); /* session_rename() has the limit */
    buf_init(&s->ai_name, SESSION_MAX_TITLE);
    r = check_spec(spec, err);
    if (r == 0)
        r = session_resumes(spec) ? session_resume(s, spec, cancel, ret_notes, err)
                                  : session_new(s, spec->id, err);
    if (r < 0) {
        session_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

/* ---- Access ---- */

const char *session_id(const struct session *s)
{
    return s->id;
}

const char *session_path(const struct session *s)
{
    return s->path;
}

const char *session_folder(const struct session *s)
{
    return s->folder;
}

void session_log_folder(const struct session *s, struct buf *ret)
{
    buf_addf(ret, "%s/events/%s", conf_home(s->conf), s->id);
}

bool session_is_kept(const struct session *s)
{
    return s->is_kept;
}

const char *session_source(const struct session *s)
{
    return s->source;
}

struct recall *session_recall(struct session *s)
{
    return s->is_recalled ? &s->recall : NULL;
}

const struct load_facts *session_facts(const struct session *s)
{
    return s->load ? load_facts(s->load) : NULL;
}

bool session_goal_line(struct session *s, struct str *ret)
{
    const struct load_facts *facts = session_facts(s);

    return facts && facts->goal_status.len &&
           load_read(s->load, facts->goal_status.offset, facts->goal_status.len, ret,
                     /*err=*/NULL) == 0;
}

void session_fact_line(struct session *s, const struct load_line *line, struct buf *ret)
{
    struct str text;

    if (line->len && load_read(s->load, line->offset, line->len, &text, /*err=*/NULL) == 0)
        buf_add(ret, text);
}

const char *session_forked_from(const struct session *s)
{
    return s->forked_from[0] ? s->forked_from : NULL;
}

static enum transcript_sync session_sync(const struct conf *conf)
{
    struct str how = conf_get_str(conf, "fsync");

    if (str_is(how, "always"))
        return SYNC_ALWAYS;
    return str_is(how, "never") ? SYNC_NEVER : SYNC_TURN;
}

/* Applies the title that was chosen before there was a file to write it to. */
static void session_take_title(struct session *s)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(BUF_NO_LIMIT);

    lock_take(&s->naming);
    buf_add(&title, buf_str(&s->title));
    buf_clear(&s->title);
    if (title.len) {
        s->is_named = true;
        buf_clear(&s->name);
        buf_add(&s->name, buf_str(&title));
    }
    lock_give(&s->naming);
    if (title.len)
        (void)record_title(s->record, buf_str(&title), /*err=*/NULL);
}

struct record *session_begin(struct session *s, struct workspace *w, struct asker *asker,
                             const char *entrypoint, session_notice_fn notice, void *notice_arg)
{
    struct record_spec spec = {
        .path = s->path,
        .session = s->id,
        .entrypoint = entrypoint,
        .sync = session_sync(s->conf),
        .workspace = w,
        .asker = asker,
        .folder = s->folder,
        .notice = notice,
        .notice_arg = notice_arg,
        .changes = &s->changes,
        .leaf = s->load ? load_leaf(s->load) : STR(""),
        .seed = buf_str(&s->seed),
    };

    if (s->is_kept && !s->record) {
        s->record = record_new(&spec);
        transcript_patience(record_transcript(s->record), /*max_wait_ms=*/-1, s->cancel);
        s->sweep = sweep_begin(conf_home(s->conf),
                               conf_get_i64(s->conf, "cleanupPeriodDays", SESSION_KEPT_DAYS),
                               clock_wall_ms());
        session_take_title(s);
    }
    return s->record;
}

struct record *session_begin_agent(struct session *s, const char *path, const char *agent_id,
                                   struct str seed, struct workspace *w, struct asker *asker,
                                   const char *entrypoint, session_notice_fn notice,
                                   void *notice_arg)
{
    struct record_spec spec = {
        .path = path,
        .session = s->id,
        .agent_id = agent_id,
        .seed = seed,
        .entrypoint = entrypoint,
        .sync = session_sync(s->conf),
        .workspace = w,
        .asker = asker,
        .folder = s->folder,
        .notice = notice,
        .notice_arg = notice_arg,
    };
    struct record *r = record_new(&spec);

    transcript_patience(record_transcript(r), /*max_wait_ms=*/-1, s->cancel);
    return r;
}

void session_mode(struct session *s, struct str mode)
{
    if (s->record)
        (void)record_mode(s->record, mode, /*err=*/NULL); /* not worth ending a turn for */
}

void session_agent_type(struct session *s, struct str name)
{
    if (s->record)
        (void)record_agent_type(s->record, name, /*err=*/NULL); /* --agent can still name it */
}

void session_coordinator(struct session *s, bool on)
{
    if (s->record)
        (void)record_coordinator(
            s->record, on, /* the mode applies anyway */ NULL); /* the mode counts all the same */
}

int session_check_title(struct str title, struct err *err)
{
    title = str_trim(title);
    if (!title.len || title.len > SESSION_MAX_TITLE || str_chr(title, '\n') < title.len)
        return err_set(err, ERR_BAD_INPUT, "a title is one line of at most %d bytes",
                       SESSION_MAX_TITLE);
    return 0;
}

int session_rename(struct session *s, struct str title, struct err *err)
{
    title = str_trim(title);
    if (session_check_title(title, err) < 0)
        return -1;
    if (!s->is_kept)
        return err_set(err, ERR_UNSUPPORTED, "this session is not saved");
    if (!s->record)
        return err_set(err, ERR_UNSUPPORTED, "the session has not begun yet");
    lock_take(&s->naming);
    s->is_named = true;
    buf_clear(&s->name);
    buf_add(&s->name, title);
    lock_give(&s->naming);
    return record_title(s->record, title, err);
}

void session_name(struct session *s, struct buf *ret)
{
    const struct load_facts *facts = session_facts(s);

    lock_take(&s->naming);
    if (s->name.len)
        buf_add(ret, buf_str(&s->name));
    else if (s->title.len)
        buf_add(ret, buf_str(&s->title));
    else if (facts && facts->title.len)
        buf_add(ret, buf_str(&facts->title));
    else if (s->ai_name.len)
        buf_add(ret, buf_str(&s->ai_name));
    else if (facts)
        buf_add(ret, buf_str(&facts->ai_title));
    lock_give(&s->naming);
}

void session_title(struct session *s, struct str title)
{
    const struct load_facts *facts = session_facts(s);
    bool begun;

    title = str_trim(title);
    if (!s->is_kept || !title.len || (facts && (facts->title.len || facts->ai_title.len)))
        return;
    lock_take(&s->naming);
    begun = s->record && !s->is_named;
    if (!s->record) {
        buf_clear(&s->title);
        buf_add(&s->title, title);
    }
    lock_give(&s->naming);
    if (begun)
        (void)session_rename(s, title, /*err=*/NULL); /* not worth failing for */
}

void session_ai_title(struct session *s, struct str title)
{
    if (!s->record)
        return;
    lock_take(&s->naming);
    buf_clear(&s->ai_name);
    buf_add(&s->ai_name, title);
    lock_give(&s->naming);
    (void)record_ai_title(s->record, title, /*err=*/NULL); /* not worth failing for */
}

/* ---- Rewinding ---- */

static int session_find_place(struct session *s, const struct session_rewind *what,
                              struct cancel *cancel, struct rewind **ret,
                              const struct rewind_point **ret_to, struct err *err)
{
    CLEANUP(rewind_freep) struct rewind *r = NULL;

    if (!s->is_kept)
        return err_set(err, ERR_UNSUPPORTED, "this session is not saved");
    if (!file_exists(s->path))
        return err_set(err, ERR_NOT_FOUND, "this session has no messages yet");
    if (rewind_open(s->path, s->folder, cancel, &r, err) < 0 ||
        rewind_find(r, what->message, ret_to, err) < 0)
        return -1;
    *ret = TAKE_PTR(r);
    return 0;
}

int session_rewind_plan(struct session *s, const struct session_rewind *what, struct cancel *cancel,
                        struct rewind **ret, struct err *err)
{
    const struct rewind_point *to;

    if (session_find_place(s, what, cancel, ret, &to, err) < 0)
        return -1;
    (void)rewind_plan(*ret, to, what->force);
    return 0;
}

static int session_read_past(struct rewind *r, const struct rewind_point *to, struct cancel *cancel,
                             struct recall *ret, struct err *err)
{
    struct load *load = NULL;
    int rc;

    if (rewind_load(r, to, &load, err) < 0)
        return -1;
    rc = recall_read(load, cancel, ret, err);
    load_free(load);
    return rc;
}

int session_rewind(struct session *s, struct record *record, const struct session_rewind *what,
                   struct cancel *cancel, struct session_rewound *io, struct err *err)
{
    CLEANUP(rewind_freep) struct rewind *r = NULL;
    const struct rewind_point *to;
    struct entry_head head;
    struct rewind_order order = {
        .files = what->files,
        .conversation = what->conversation,
        .force = what->force,
        .transcript = record ? record_transcript(record) : NULL,
        .history = record ? record_files(record) : NULL,
        .head = &head,
    };

    if (session_find_place(s, what, cancel, &r, &to, err) < 0)
        return -1;
    if (!record || record_forgets(record))
        return err_set(err, ERR_UNSUPPORTED, "the session is no longer saved");
    if (io->past && session_read_past(r, to, cancel, io->past, err) < 0)
        return -1;
    rewind_head(r, &head);
    if (rewind_do(r, to, &order, io->line, err) < 0)
        return -1;
    if (what->moves)
        record_go_on_from(record, str_of(io->line));
    snprintf(io->message, sizeof(io->message), "%.*s", STR_ARG(to->uuid));
    if (io->text)
        rewind_text(to, &order, io->text);
    io->rewind = TAKE_PTR(r);
    return 0;
}
