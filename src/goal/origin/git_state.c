/*
 * git_state: small files read whole, and a few questions to git. Any thread.
 */
#include "goal/origin/git_state.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "goal/git/git.h"
#include "goal/origin/bytes_json.h"
#include "json/json.h"
#include "json/jw.h"

#define STATE_MS 20000
#define STATE_MAX_REFS ((size_t)16 << 20)
#define STATE_MAX_LIST ((size_t)256 << 20)
#define STATE_MAX_HOOKS 200
#define STATE_MAX_CONFIG ((size_t)4 << 20)
#define YOUNG_NS ((int64_t)50 * 1000 * 1000) /* time stamps move in smaller steps */

/* Below the folder of git, where each counts. */
static const char *const state_files[] = {
    "config",      "config.worktree",      "info/exclude", "info/attributes",
    "info/grafts", "info/sparse-checkout", "shallow",      "objects/info/alternates",
};

/* Below the user's home. */
static const char *const home_files[] = {
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
};

void git_state_release(struct git_state *s)
{
    VEC_EACH(&s->nested, it) {
        git_state_release(*it);
        mem_freep(it);
    }
    vec_release(&s->nested);
    vec_release(&s->files);
    vec_release(&s->pins);
    strv_release(&s->marked);
    arena_release(&s->arena);
    *s = (struct git_state)GIT_STATE_INIT;
}

static struct git git_for(const char *dir, char *const *env, struct cancel *cancel)
{
    return (struct git){
        .dir = dir, .environ = env, .deadline_ms = git_now_ms() + STATE_MS, .cancel = cancel};
}

/* ---- files ---- */

void git_file_read(struct arena *arena, const char *path, struct git_file *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(GIT_STATE_MAX_FILE);
    struct stat st;

    *ret = (struct git_file){.path = arena_str(arena, str_of(path))};
    if (stat(path, &st) < 0)
        return;
    ret->exists = true;
    ret->mode = st.st_mode & 0777;
    if (S_ISREG(st.st_mode) && file_slurp(path, GIT_STATE_MAX_FILE, &text, NULL) == 0)
        ret->content = arena_str(arena, buf_str(&text));
}

bool git_file_same(const struct git_file *a, const struct git_file *b)
{
    return a->exists == b->exists &&
           (!a->exists || (a->mode == b->mode && str_eq(a->content, b->content)));
}

static void add_path(struct git_state *s, const char *path)
{
    VEC_EACH(&s->files, f) {
        if (str_is(f->path, path))
            return;
    }
    git_file_read(&s->arena, path, vec_add(&s->files));
}

static void add_file(struct git_state *s, const char *folder, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);

    add_path(s, path);
}

static void add_hooks(struct git_state *s, const char *folder)
{
    CLEANUP(mem_freep) char *path = path_join(folder, "hooks");
    DIR *dir = opendir(path);
    const struct dirent *e;
    size_t count = 0;

    while (dir && count < STATE_MAX_HOOKS && (e = readdir(dir))) {
        if (e->d_name[0] == '.' || str_ends(str_of(e->d_name), STR(".sample")))
            continue;
        add_file(s, path, e->d_name);
        count++;
    }
    if (dir)
        closedir(dir);
}

static const char *home_of(char *const *env)
{
    for (; *env; env++) {
        if (strncmp(*env, "HOME=", 5) == 0)
            return *env + 5;
    }
    return path_home();
}

/* A path in a configuration file, relative to the folder that file is in. */
static void add_include(struct git_state *s, struct str from, struct str to, char *const *env)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    if (str_starts(to, STR("~/"))) {
        buf_addf(&path, "%s/", home_of(env));
        to = str_from(to, 2);
    } else if (!str_starts(to, STR("/"))) {
        path_walk(&path, from);
        path_walk(&path, STR(".."));
    }
    path_walk(&path, to);
    add_path(s, buf_cstr(&path));
}

/* Files that the configuration is spread over: those that others include, also before they exist.
 */
static void add_included(struct git_state *s, const struct git *git, char *const *env)
{
    static const char *const args[] = {"config", "--list", "--show-origin", "-z", NULL};
    CLEANUP(git_said_release) struct git_said said = {0};
    struct str rest, origin, key;

    if (git_run(git, args, STR(""), STATE_MAX_CONFIG, &said, /*err=*/NULL) < 0)
        return;
    rest = buf_str(&said.out);
    while (rest.len && str_cut(&rest, '\0', &origin) && str_cut(&rest, '\0', &key)) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        struct str name;

        if (!str_starts(origin, STR("file:")))
            continue;
        origin = str_from(origin, 5);
        if (!str_starts(origin, STR("/")))
            path_walk(&path, str_of(git->dir));
        path_walk(&path, origin);
        if (!str_starts(buf_str(&path), STR("/etc/"))) /* only root can change it */
            add_path(s, buf_cstr(&path));
        if (str_cut(&key, '\n', &name) && str_starts(name, STR("include")) &&
            str_ends(name, STR(".path")))
            add_include(s, buf_str(&path), key, env);
    }
}

static void add_files(struct git_state *s, const struct git *git, char *const *env)
{
    const struct str folders[] = {s->git_dir, s->common_dir};

    for (size_t i = 0; i < ARRAY_LEN(folders) && s->has_git; i++) {
        for (size_t j = 0; j < ARRAY_LEN(state_files); j++)
            add_file(s, folders[i].ptr, state_files[j]);
        add_hooks(s, folders[i].ptr);
    }
    for (size_t i = 0; i < ARRAY_LEN(home_files) && !s->dir.len; i++)
        add_file(s, home_of(env), home_files[i]);
    add_included(s, git, env);
}

const struct git_file *git_state_file(const struct git_state *s, const char *path)
{
    const struct git_file *found = NULL;

    VEC_EACH(&s->files, f) {
        if (str_is(f->path, path))
            return f;
    }
    for (size_t i = 0; !found && i < s->nested.len; i++)
        found = git_state_file(s->nested.ptr[i], path);
    return found;
}

/* ---- the index ---- */

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool has_variable(char *const *env, const char *name)
{
    for (; *env; env++) {
        if (strncmp(*env, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

static struct git_index look_at_index(const struct git_state *s, char *const *env)
{
    CLEANUP(mem_freep) char *path = path_join(s->git_dir.ptr, "index");
    struct timespec now;
    struct stat st;

    clock_gettime(CLOCK_REALTIME, &now);
    if (has_variable(env, "GIT_INDEX_FILE=") || stat(path, &st) < 0 ||
        ns_of(st.st_ctim) > ns_of(now) - YOUNG_NS)
        return (struct git_index){0};
    return (struct git_index){.size = st.st_size,
                              .mtime_ns = ns_of(st.st_mtim),
                              .ctime_ns = ns_of(st.st_ctim),
                              .ino = st.st_ino};
}

static bool is_same_index(const struct git_index *a, const struct git_index *b)
{
    return a->ctime_ns && a->ctime_ns == b->ctime_ns && a->mtime_ns == b->mtime_ns &&
           a->size == b->size && a->ino == b->ino;
}

/* ---- refs and marks ---- */

/* Whether a command has the name as a word, or as a part of "main..HEAD", "main:file", "main~1". */
static bool names_ref(struct str command, struct str name)
{
    size_t from = 0;

    for (;;) {
        struct str rest = str_from(command, from);
        size_t at = str_find(rest, name);
        char before, behind;

        if (at == rest.len)
            return false;
        before = from + at ? command.ptr[from + at - 1] : ' ';
        behind = at + name.len < rest.len ? rest.ptr[at + name.len] : ' ';
        if (!strchr("_-/", before) && !str_is_alnum(before) && !strchr("_-/", behind) &&
            !str_is_alnum(behind) &&
            (behind != '.' || str_starts(str_from(rest, at + name.len), STR(".."))))
            return true;
        from += at + 1;
    }
}

static bool has_pin(const struct git_state *s, struct str ref)
{
    VEC_EACH(&s->pins, p) {
        if (str_eq(p->ref, ref))
            return true;
    }
    return false;
}

static void pin_ref(struct git_state *s, struct str ref, struct str id, bool is_upstream,
                    const struct strv *checks)
{
    static const char *const prefixes[] = {"refs/heads/", "refs/tags/", "refs/remotes/", "refs/"};

    if (has_pin(s, ref))
        return;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        struct str prefix = str_of(prefixes[i]);

        for (size_t j = 0; str_starts(ref, prefix) && j < checks->len; j++) {
            struct str name = str_from(ref, prefix.len);

            if (i == 2 && str_ends(name, STR("/HEAD"))) /* "origin" means "origin/HEAD" */
                name = str_first(name, name.len - 5);
            if (!names_ref(str_of(checks->ptr[j]), name) && !is_upstream)
                continue;
            vec_push(&s->pins, ((struct git_pin){.ref = arena_str(&s->arena, ref),
                                                 .id = arena_str(&s->arena, id)}));
            return;
        }
    }
}

static bool asks_upstream(const struct strv *checks)
{
    for (size_t i = 0; i < checks->len; i++) {
        if (strstr(checks->ptr[i], "@{u") || strstr(checks->ptr[i], "@{push"))
            return true;
    }
    return false;
}

static int read_refs(struct git_state *s, const struct git *git, const struct strv *checks,
                     struct err *err)
{
    static const char *const args[] = {
        "for-each-ref", "--format=%(refname) %(objectname) %(if)%(HEAD)%(then)%(upstream)%(end)",
        NULL};
    CLEANUP(buf_release) struct buf out = {0};
    struct str upstream = STR("");
    struct str rest, line, ref, id;

    if (git_ask(git, args, STR(""), STATE_MAX_REFS, &out, err) < 0)
        return -1;
    for (int pass = 0; pass < 2; pass++) {
        rest = buf_str(&out);
        while (rest.len && str_cut(&rest, '\n', &line)) {
            if (!str_cut(&line, ' ', &ref) || !str_cut(&line, ' ', &id) ||
                str_starts(ref, STR("refs/tenax/")))
                continue;
            s->has_replace = s->has_replace || str_starts(ref, STR("refs/replace/"));
            if (pass == 0)
                upstream = line.len && asks_upstream(checks) ? line : upstream;
            else
                pin_ref(s, ref, id, str_eq(ref, upstream), checks);
        }
    }
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int git_state_marked(const char *dir, char *const *env, struct cancel *cancel, struct strv *ret,
                     struct err *err)
{
    static const char *const args[] = {"ls-files", "-v", "-z", NULL};
    CLEANUP(buf_release) struct buf out = {0};
    struct git git = git_for(dir, env, cancel);
    struct str rest, line;

    if (git_ask(&git, args, STR(""), STATE_MAX_LIST, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &line)) {
        if (line.len > 2 && (line.ptr[0] == 'S' || (line.ptr[0] >= 'a' && line.ptr[0] <= 'z')))
            strv_add(ret, str_from(line, 2));
    }
    if (ret->len)
        qsort(ret->ptr, ret->len, sizeof(*ret->ptr), by_text);
    return 0;
}

/* ---- taking ---- */

static int find_folders(struct git_state *s, const struct git *git, struct err *err)
{
    static const char *const args[] = {"rev-parse",        "--path-format=absolute", "--git-dir",
                                       "--git-common-dir", "--show-toplevel",        NULL};
    static const char *const head[] = {"rev-parse", "--quiet", "--verify", "HEAD^{commit}", NULL};
    CLEANUP(buf_release) struct buf out = {0};
    CLEANUP(git_said_release) struct git_said said = {0};
    struct str rest, line;

    if (git_ask(git, args, STR(""), 64 << 10, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    str_cut(&rest, '\n', &line);
    s->git_dir = arena_str(&s->arena, line);
    str_cut(&rest, '\n', &line);
    s->common_dir = arena_str(&s->arena, line);
    str_cut(&rest, '\n', &line);
    s->top = arena_str(&s->arena, line);
    if (git_run(git, head, STR(""), 64 << 10, &said, err) < 0)
        return -1;
    if (said.code == 0)
        s->head = arena_str(&s->arena, str_trim(buf_str(&said.out)));
    s->has_git = true;
    return 0;
}

static int take_nested(struct git_state *s, const char *dir, char *const *env,
                       const struct strv *checks, const struct strv *nested, struct cancel *cancel,
                       struct err *err)
{
    for (size_t i = 0; i < nested->len && s->nested.len < GIT_STATE_MAX_NESTED; i++) {
        CLEANUP(mem_freep) char *path = path_join(dir, nested->ptr[i]);
        struct git_state *it = mem_zalloc(sizeof(*it));

        path[strlen(path) - 1] = '\0'; /* the slash */
        *it = (struct git_state)GIT_STATE_INIT;
        it->dir = arena_str(&it->arena, str_of(path));
        vec_push(&s->nested, it);
        if (git_state_take(it, path, env, checks, /*nested=*/NULL, cancel, err) < 0)
            return -1;
    }
    return 0;
}

int git_state_take(struct git_state *s, const char *dir, char *const *env,
                   const struct strv *checks, const struct strv *nested, struct cancel *cancel,
                   struct err *err)
{
    struct git git = git_for(dir, env, cancel);
    struct err why = {0};

    if (find_folders(s, &git, &why) < 0 && why.code == ERR_CANCELLED)
        return err_set(err, ERR_CANCELLED, "%s", why.text);
    if (s->dir.len && s->has_git && !str_eq(s->dir, s->top))
        s->has_git = false; /* no repository after all: that is the one around it */
    add_files(s, &git, env);
    if (s->has_git) {
        s->index = look_at_index(s, env);
        if (read_refs(s, &git, checks, err) < 0 ||
            git_state_marked(dir, env, cancel, &s->marked, err) < 0)
            return -1;
    }
    return nested ? take_nested(s, dir, env, checks, nested, cancel, err) : 0;
}

int git_state_pin(struct git_state *s, const char *dir, char *const *env, const struct strv *texts,
                  struct cancel *cancel, struct err *err)
{
    struct git git = git_for(dir, env, cancel);

    if (s->has_git && read_refs(s, &git, texts, err) < 0)
        return -1;
    for (size_t i = 0; i < s->nested.len; i++) {
        struct git_state *it = s->nested.ptr[i];

        if (git_state_pin(it, it->dir.ptr, env, texts, cancel, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- comparing ---- */

/* Whether there are refs that replace objects: files, as git keeps them; only of another kind of
 * store must it be asked. */
static int find_replace(struct git_state *s, const struct git *git, struct err *err)
{
    CLEANUP(mem_freep) char *tables = path_join(s->common_dir.ptr, "reftable");
    CLEANUP(mem_freep) char *loose = path_join(s->common_dir.ptr, "refs/replace");
    CLEANUP(mem_freep) char *packed = path_join(s->common_dir.ptr, "packed-refs");
    CLEANUP(buf_release) struct buf text = {0};
    struct strv none = STRV_INIT;
    const struct dirent *e;
    DIR *dir;

    if (file_exists(tables))
        return read_refs(s, git, &none, err);
    dir = opendir(loose);
    while (dir && (e = readdir(dir)))
        s->has_replace = s->has_replace || e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    if (file_exists(packed) && file_slurp(packed, STATE_MAX_REFS, &text, err) < 0)
        return -1;
    s->has_replace = s->has_replace || str_has(buf_str(&text), STR(" refs/replace/"));
    return 0;
}

/* Reading the list of all files takes long, and the index seldom changes. */
static int find_marked(const struct git_state *was, struct git_state *now, const char *dir,
                       char *const *env, struct cancel *cancel, struct err *err)
{
    now->index = look_at_index(now, env);
    if (!is_same_index(&was->index, &now->index))
        return git_state_marked(dir, env, cancel, &now->marked, err);
    strv_add_all(&now->marked, &was->marked);
    return 0;
}

int git_state_compare(const struct git_state *s, const char *dir, char *const *env,
                      struct cancel *cancel, struct strv *ret, struct err *err)
{
    CLEANUP(git_state_release) struct git_state now = GIT_STATE_INIT;
    struct git git = git_for(dir, env, cancel);
    struct err why = {0};

    for (size_t i = 0; i < s->nested.len; i++) {
        const struct git_state *it = s->nested.ptr[i];

        if (file_exists(it->dir.ptr) && /* it may be gone, which the inventory shows */
            git_state_compare(it, it->dir.ptr, env, cancel, ret, err) < 0)
            return -1;
    }
    VEC_EACH(&s->files, was) {
        struct git_file is;

        git_file_read(&now.arena, was->path.ptr, &is);
        if (!git_file_same(was, &is))
            strv_add(ret, was->path);
    }
    if (!s->has_git)
        return 0;
    now.git_dir = s->git_dir;
    now.common_dir = s->common_dir;
    add_hooks(&now, s->common_dir.ptr);
    VEC_EACH(&now.files, is) {
        bool is_known = false;

        VEC_EACH(&s->files, was) {
            is_known = is_known || str_eq(was->path, is->path);
        }
        if (!is_known)
            strv_add(ret, is->path);
    }
    if (find_replace(&now, &git, &why) < 0 || find_marked(s, &now, dir, env, cancel, &why) < 0) {
        if (why.code == ERR_CANCELLED)
            return err_set(err, ERR_CANCELLED, "%s", why.text);
        strv_addf(ret, "the repository cannot be read any more: %s", why.text);
        return 0;
    }
    if (now.has_replace && !s->has_replace)
        strv_adds(ret, "refs/replace");
    for (size_t i = 0; i < now.marked.len; i++) {
        if (!strv_has(&s->marked, str_of(now.marked.ptr[i])))
            strv_addf(ret, "%.*s%s%s" GIT_STATE_MARKED, STR_ARG(s->dir), s->dir.len ? "/" : "",
                      now.marked.ptr[i]);
    }
    return 0;
}

/* ---- on disk ---- */

void git_state_write(const struct git_state *s, struct jw *w)
{
    jw_object(w);
    jw_kbool(w, "git", s->has_git);
    jw_key(w, "git_dir");
    bytes_write(w, s->git_dir);
    jw_key(w, "common_dir");
    bytes_write(w, s->common_dir);
    jw_key(w, "top");
    bytes_write(w, s->top);
    jw_kstr(w, "head", s->head);
    jw_kbool(w, "replace", s->has_replace);
    jw_key(w, "index");
    jw_object(w);
    jw_ki64(w, "size", s->index.size);
    jw_ki64(w, "mtime", s->index.mtime_ns);
    jw_ki64(w, "ctime", s->index.ctime_ns);
    jw_ki64(w, "ino", (int64_t)s->index.ino);
    jw_object_end(w);
    jw_key(w, "files");
    jw_array(w);
    VEC_EACH(&s->files, f) {
        jw_object(w);
        jw_key(w, "path");
        bytes_write(w, f->path);
        jw_kbool(w, "exists", f->exists);
        jw_ki64(w, "mode", f->mode);
        jw_key(w, "content");
        bytes_write(w, f->content);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_key(w, "pins");
    jw_object(w);
    VEC_EACH(&s->pins, p) {
        jw_kstr(w, p->ref.ptr, p->id);
    }
    jw_object_end(w);
    bytes_write_list(w, "marked", &s->marked);
    jw_key(w, "at");
    bytes_write(w, s->dir);
    jw_key(w, "nested");
    jw_array(w);
    for (size_t i = 0; i < s->nested.len; i++)
        git_state_write(s->nested.ptr[i], w);
    jw_array_end(w);
    jw_object_end(w);
}

int git_state_parse(struct git_state *s, const struct json *v, struct err *err)
{
    const struct json *index = json_get(v, "index");

    if (!json_is(v, JSON_OBJECT))
        return err_set(err, ERR_PROTOCOL, "the state of git cannot be read");
    s->has_git = json_get_bool(v, "git", false);
    s->git_dir = bytes_parse(&s->arena, json_get_str(v, "git_dir"));
    s->common_dir = bytes_parse(&s->arena, json_get_str(v, "common_dir"));
    s->top = bytes_parse(&s->arena, json_get_str(v, "top"));
    s->head = arena_str(&s->arena, json_get_str(v, "head"));
    s->has_replace = json_get_bool(v, "replace", false);
    s->index = (struct git_index){.size = json_get_i64(index, "size", 0),
                                  .mtime_ns = json_get_i64(index, "mtime", 0),
                                  .ctime_ns = json_get_i64(index, "ctime", 0),
                                  .ino = (uint64_t)json_get_i64(index, "ino", 0)};
    JSON_EACH(json_get(v, "files"), f) {
        vec_push(&s->files, ((struct git_file){
                                .path = bytes_parse(&s->arena, json_get_str(f, "path")),
                                .exists = json_get_bool(f, "exists", false),
                                .mode = (unsigned)json_get_i64(f, "mode", 0),
                                .content = bytes_parse(&s->arena, json_get_str(f, "content"))}));
    }
    JSON_EACH(json_get(v, "pins"), p) {
        vec_push(&s->pins, ((struct git_pin){.ref = arena_str(&s->arena, json_key(p)),
                                             .id = arena_str(&s->arena, json_str(p))}));
    }
    bytes_parse_list(json_get(v, "marked"), &s->marked);
    s->dir = bytes_parse(&s->arena, json_get_str(v, "at"));
    JSON_EACH(json_get(v, "nested"), n) {
        struct git_state *it = mem_zalloc(sizeof(*it));

        *it = (struct git_state)GIT_STATE_INIT;
        vec_push(&s->nested, it);
        if (s->nested.len > GIT_STATE_MAX_NESTED || git_state_parse(it, n, err) < 0)
            return err_set(err, ERR_PROTOCOL, "the state of git cannot be read");
    }
    return 0;
}
