/*
 * shadow: pairs of folders that are searched one after the other, out of two traces. Any thread.
 */
#include "goal/origin/shadow.h"

#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/map.h"
#include "goal/origin/names.h"
#include "goal/origin/origin.h"

#define TEXTS_MAX 200 /* files that are searched for names */

static const struct str package = STR_INIT("/__init__.py");

/* Without its last part and the slash before it. */
static struct str folder_of(struct str path)
{
    struct str base = name_base(path);

    return str_first(path, path.len - base.len - (base.len < path.len));
}

static bool exists(struct str folder, struct str name)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct stat st;

    buf_addf(&path, "%.*s/%.*s", STR_ARG(folder), STR_ARG(name));
    return stat(buf_cstr(&path), &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- folders that are searched ---- */

static size_t common_end(struct str a, struct str b)
{
    size_t len = 0;
    size_t whole = 0;

    while (len < a.len && len < b.len && a.ptr[a.len - len - 1] == b.ptr[b.len - len - 1]) {
        len++;
        if ((len == a.len || a.ptr[a.len - len - 1] == '/') && len < b.len &&
            b.ptr[b.len - len - 1] == '/')
            whole = len;
    }
    return whole;
}

static void add_searched(struct shadow *p, struct str at, struct str there)
{
    for (size_t i = 0; i < p->at.len; i++) {
        if (str_is(at, p->at.ptr[i]) && str_is(there, p->there.ptr[i]))
            return;
    }
    strv_add(&p->at, at);
    strv_add(&p->there, there);
}

/* The name by which `other` was found is the longest that was looked for in vain, in the outermost
 * folder. */
static void add_pair(struct shadow *p, const struct map *missing, struct str other)
{
    const struct strv *names = map_get(missing, name_base(other));
    struct str best = STR("");
    size_t len = 0;

    for (size_t i = 0; names && i < names->len; i++) {
        struct str name = str_of(names->ptr[i]);
        size_t common = common_end(name, other);

        if (common > len || (common && common == len && name.len < best.len)) {
            best = name;
            len = common;
        }
    }
    /* It may be any end of that: "include/x.h" below the workspace and below /usr. */
    for (size_t n = name_base(other).len; len && n <= len; n++) {
        if (n == best.len || best.ptr[best.len - n - 1] == '/')
            add_searched(p, str_first(best, best.len - n - (n < best.len)),
                         str_first(other, other.len - n - 1));
    }
}

/* The folder in which a module is searched: that of its outermost package. Perl has no packages
 * that are seen from outside, so each folder above may be it. */
static void add_module(struct shadow *p, struct str other, bool is_perl)
{
    struct str folder = folder_of(other);

    while (folder.len && (is_perl || exists(folder, STR("__init__.py")))) {
        if (is_perl && !strv_has(&p->modules, folder))
            strv_add(&p->modules, folder);
        folder = folder_of(folder);
    }
    if (folder.len && !strv_has(&p->modules, folder))
        strv_add(&p->modules, folder);
}

static void add_read(struct shadow *p, const struct strv *list)
{
    for (size_t i = 0; i < list->len; i++) {
        CLEANUP(buf_release) struct buf source = BUF_INIT(BUF_NO_LIMIT);
        struct str other = str_of(list->ptr[i]);

        if (name_of_source(other, &source))
            other = buf_str(&source);
        map_set(p->read, other, p);
    }
}

static void add_missing(struct map *by_name, const struct strv *list)
{
    for (size_t i = 0; i < list->len; i++) {
        struct str path = str_of(list->ptr[i]);
        struct strv *names = map_get(by_name, name_base(path));

        if (!names) {
            names = mem_zalloc(sizeof(*names));
            map_set(by_name, name_base(path), names);
        }
        strv_add(names, path);
    }
}

static void add_texts(struct shadow *p)
{
    strv_add(&p->texts, p->command);
    for (size_t i = 0; i < p->trace->used.len && p->texts.len < TEXTS_MAX; i++) {
        struct str path = str_of(p->trace->used.ptr[i]);
        CLEANUP(mem_freep) char *full = path_join(p->o->dir, p->trace->used.ptr[i]);
        CLEANUP(buf_release) struct buf text = {0};

        if (inventory_find(&p->o->files, path) &&
            file_slurp(full, (size_t)INVENTORY_SMALL, &text, /*err=*/NULL) == 0)
            strv_add(&p->texts, buf_str(&text));
    }
}

void shadow_find(struct shadow *p, const struct origin *o, const struct origin_now *now,
                 struct str command, const struct trace *first, const struct trace *trace)
{
    struct map missing = MAP_INIT;

    *p = (struct shadow){.o = o, .now = now, .command = command, .first = first, .trace = trace};
    p->read = mem_zalloc(sizeof(*p->read));
    add_missing(&missing, &first->missing);
    add_missing(&missing, &trace->missing);
    add_read(p, &first->system);
    add_read(p, &first->outside);
    add_read(p, &trace->system);
    add_read(p, &trace->outside);
    MAP_EACH(p->read, it) {
        bool is_perl = str_ends(it->key, STR(".pm"));

        if (is_perl || str_ends(it->key, STR(".py")))
            add_module(p, it->key, is_perl);
        else
            add_pair(p, &missing, it->key);
    }
    add_texts(p);
    MAP_EACH(&missing, it) {
        strv_release(it->value);
        mem_freep(&it->value);
    }
    map_release(&missing);
}

void shadow_release(struct shadow *p)
{
    if (p->read)
        map_release(p->read);
    mem_freep(&p->read);
    strv_release(&p->at);
    strv_release(&p->there);
    strv_release(&p->modules);
    strv_release(&p->texts);
}

/* ---- one file ---- */

/* Whether what decides mentions the word; not as the end of a path, which names the file itself. */
static bool is_mentioned(const struct shadow *p, struct str word)
{
    for (size_t i = 0; i < p->texts.len; i++) {
        struct str text = str_of(p->texts.ptr[i]);

        for (size_t at = str_find(text, word); at < text.len; at = str_find(text, word)) {
            char before = at ? text.ptr[at - 1] : ' ';
            char behind = at + word.len < text.len ? text.ptr[at + word.len] : ' ';

            if (before != '/' && before != '.' && before != ':' && before != '_' &&
                !str_is_alnum(before) && behind != '_' && !str_is_alnum(behind))
                return true;
            text = str_from(text, at + word.len);
        }
    }
    return false;
}

/* Whether the check runs this very file, by its path. */
static bool is_run_by_path(const struct shadow *p, struct str path)
{
    CLEANUP(buf_release) struct buf named = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&named, "%s%.*s", str_chr(path, '/') < path.len ? "" : "./", STR_ARG(path));
    for (size_t i = 0; i < p->texts.len; i++) {
        if (str_has(str_of(p->texts.ptr[i]), buf_str(&named)))
            return true;
    }
    return false;
}

/* word: as what is called in source. */
static bool is_taken(const struct shadow *p, struct str path, struct str there, struct str name,
                     struct str word, struct buf *ret_why)
{
    CLEANUP(buf_release) struct buf other = BUF_INIT(BUF_NO_LIMIT);
    bool is_new_test = name_kind(path) == NAME_TEST;
    bool was_read;

    buf_addf(&other, "%.*s/%.*s", STR_ARG(there), STR_ARG(name));
    was_read = map_has(p->read, buf_str(&other)) && !str_ends(path, STR(".pm"));
    if (!was_read && (is_new_test || !exists(there, name) || !is_mentioned(p, word)))
        return false;
    buf_addf(ret_why, "it is read in place of %.*s", STR_ARG(buf_str(&other)));
    return true;
}

static bool python_searches(const struct shadow *p, struct str folder)
{
    CLEANUP(buf_release) struct buf init = BUF_INIT(BUF_NO_LIMIT);

    if (!folder.len)
        return true;
    for (size_t i = 0; i < p->trace->ran.len; i++) {
        if (str_eq(folder_of(str_of(p->trace->ran.ptr[i])), folder))
            return true;
    }
    buf_addf(&init, "%.*s%.*s", STR_ARG(folder), STR_ARG(package));
    return str_has(p->command, folder) && !inventory_find(&p->now->files, buf_str(&init));
}

static bool module_is_taken(const struct shadow *p, struct str path, struct buf *ret_why)
{
    bool is_perl = str_ends(path, STR(".pm"));
    size_t end = str_ends(path, package) ? package.len : sizeof(".py") - 1;
    struct str module = str_first(path, path.len - end);
    struct str folder = folder_of(module);

    for (;; folder = folder_of(folder)) {
        struct str name = str_from(module, folder.len + (folder.len > 0));
        CLEANUP(buf_release) struct buf file = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf init = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf word = BUF_INIT(BUF_NO_LIMIT);
        struct str rest = name;
        struct str part;

        while (rest.len && str_cut(&rest, '/', &part))
            buf_addf(&word, "%s%.*s", !word.len ? "" : is_perl ? "::" : ".", STR_ARG(part));
        buf_addf(&file, "%.*s%s", STR_ARG(name), is_perl ? ".pm" : ".py");
        buf_addf(&init, "%.*s%.*s", STR_ARG(name), STR_ARG(package));
        for (size_t i = 0; (is_perl || python_searches(p, folder)) && i < p->modules.len; i++) {
            struct str there = str_of(p->modules.ptr[i]);

            if (is_taken(p, path, there, buf_str(&file), buf_str(&word), ret_why) ||
                is_taken(p, path, there, buf_str(&init), buf_str(&word), ret_why))
                return true;
        }
        if (!folder.len)
            return false;
    }
}

static bool file_is_taken(const struct shadow *p, struct str path, struct buf *ret_why)
{
    for (size_t i = 0; i < p->at.len; i++) {
        struct str at = str_of(p->at.ptr[i]);
        struct str name;

        if (at.len && (!str_starts(path, at) || path.len <= at.len || path.ptr[at.len] != '/'))
            continue;
        name = str_from(path, at.len + (at.len > 0));
        if (is_taken(p, path, str_of(p->there.ptr[i]), name, name, ret_why))
            return true;
    }
    return false;
}

/* A module that was found elsewhere, and is not any more. */
static bool is_instead(const struct shadow *p, struct str path, struct buf *ret_why)
{
    const struct strv *lists[] = {&p->first->system, &p->first->outside};
    const struct strv *later[] = {&p->trace->system, &p->trace->outside};

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (size_t i = 0; i < lists[l]->len; i++) {
            struct str other = str_of(lists[l]->ptr[i]);

            if (!common_end(path, other) || trace_has(later[l], other))
                continue;
            buf_addf(ret_why, "it is read in place of %.*s", STR_ARG(other));
            return true;
        }
    }
    return false;
}

/* A program that is found first on a PATH: of one that ran, or that the check mentions. */
static bool program_is_taken(const struct shadow *p, struct str path, struct buf *ret_why)
{
    struct str name = name_base(path);

    if (!trace_has(&p->trace->ran, path) || is_run_by_path(p, path))
        return false;
    for (size_t i = 0; i < p->first->programs.len; i++) {
        if (!str_is(name, path_base(p->first->programs.ptr[i])))
            continue;
        buf_addf(ret_why, "it is run in place of %s", p->first->programs.ptr[i]);
        return true;
    }
    for (char *const *env = p->o->environ; env && *env; env++) {
        struct str folders = str_of(*env);
        struct str folder;

        if (!str_starts(folders, STR("PATH=")))
            continue;
        folders = str_from(folders, 5);
        while (folders.len && str_cut(&folders, ':', &folder)) {
            if (!folder.len || !exists(folder, name) || !is_mentioned(p, name))
                continue;
            buf_addf(ret_why, "it is run in place of %.*s/%.*s", STR_ARG(folder), STR_ARG(name));
            return true;
        }
    }
    return false;
}

/* Of a kind that programs search in several folders, unlike the modules of Node or Rust. */
static bool is_searched(struct str path)
{
    struct str name = name_base(path);
    size_t dot = name.len;

    while (dot && name.ptr[dot - 1] != '.')
        dot--;
    return !dot ||
           str_is_word_of(str_from(name, dot), "h hh hpp hxx inc pm pl rb lua tcl tm mk m4 cmake "
                                               "el sh bash zsh awk php hrl scm");
}

bool shadow_taken(const struct shadow *p, struct str path, struct buf *ret_why)
{
    if (program_is_taken(p, path, ret_why))
        return true;
    if (!trace_has(&p->trace->used, path))
        return false;
    if (str_ends(path, STR(".py")))
        return module_is_taken(p, path, ret_why);
    if (str_ends(path, STR(".pm")) && module_is_taken(p, path, ret_why))
        return true;
    return is_searched(path) && (file_is_taken(p, path, ret_why) || is_instead(p, path, ret_why));
}
