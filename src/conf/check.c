/*
 * check: walks a document along the rows of keys.def, so it goes only as deep as the table does,
 * however deep the document is. Values are never quoted in warnings, names only: settings hold keys
 * and tokens. Runs on whatever thread loads the settings.
 */
#include "conf/check.h"

#include <stdarg.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/keys.h"
#include "conf/source.h"
#include "json/json.h"

struct check_walk {
    struct check *c;
    const struct source *s;
    struct buf path;      /* dotted, of the object being walked */
    struct buf untrusted; /* keys left out because the folder is not trusted */
};

void check_release(struct check *c)
{
    strv_release(&c->warnings);
    map_release(&c->left_out);
    map_release(&c->said);
}

static struct str check_address(const struct json *const *v)
{
    return str_make((const char *)v, sizeof(*v));
}

bool check_is_left_out(const struct check *c, const struct json *v)
{
    return c->left_out.len && map_has(&c->left_out, check_address(&v));
}

static void check_leave_out(struct check *c, const struct json *v)
{
    map_set(&c->left_out, check_address(&v), NULL);
}

static void check_add(struct check *c, const char *line)
{
    if (c->warnings.len < CHECK_MAX_WARNINGS)
        strv_adds(&c->warnings, line);
    else
        c->unlisted++;
}

void check_deny(struct check *c, const struct json *v)
{
    check_leave_out(c, v);
}

void check_warn(struct check *c, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);
    va_list args;

    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    check_add(c, buf_cstr(&line));
}

static bool check_only_logs(const struct check_walk *w, bool quiet)
{
    return quiet && !w->s->ours;
}

/* Finding line and column takes as long as parsing the file: not for warnings that are not
 * shown. */
static bool check_is_heard(const struct check_walk *w, bool quiet)
{
    if (check_only_logs(w, quiet))
        return atomic_load(&log_enabled);
    return w->c->warnings.len < CHECK_MAX_WARNINGS;
}

/* "file:3:12: 'permissions.defaultMode' <what>". A file of Claude's is only logged when quiet. */
static void check_say(struct check_walk *w, const struct json *v, struct str name, bool quiet,
                      const char *fmt, ...) PRINTF_LIKE(5, 6);

static void check_say(struct check_walk *w, const struct json *v, struct str name, bool quiet,
                      const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT); /* a path and clipped names */
    va_list args;

    if (!check_is_heard(w, quiet)) {
        w->c->unlisted += !check_only_logs(w, quiet);
        return;
    }
    source_add_where(w->s, v, &line);
    buf_addf(&line, ": '%s%s%.*s' ", buf_cstr(&w->path), w->path.len ? "." : "",
             STR_ARG(str_clip(name, 80)));
    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    if (check_only_logs(w, quiet))
        log_debug("conf", "%s", buf_cstr(&line));
    else
        check_add(w->c, buf_cstr(&line));
}

static void check_unknown(struct check_walk *w, const struct key *parent, const struct json *v)
{
    struct str near =
        check_is_heard(w, /*quiet=*/true) ? key_suggest(parent, json_key(v)) : STR("");

    check_leave_out(w->c, v);
    if (near.len)
        check_say(w, v, json_key(v), true, "is not a setting; did you mean '%.*s'?", STR_ARG(near));
    else
        check_say(w, v, json_key(v), true, "is not a setting");
}

/* Elements that are not strings go, the others stay. */
static void check_elements(struct check_walk *w, const struct json *list)
{
    size_t i = 0;

    JSON_EACH(list, v) {
        bool has_nul = str_chr(json_str(v), '\0') != json_str(v).len;

        if (!json_is(v, JSON_STRING) || has_nul) {
            check_leave_out(w->c, v);
            check_say(w, v, json_key(list), false, "[%zu] %s; ignored", i,
                      has_nul ? "contains a NUL character" : "must be a string");
        }
        i++;
    }
}

/* Names that cannot be variables, and two that come too late to have an effect. */
static void check_variable(struct check_walk *w, const struct json *v)
{
    struct str name = json_key(v);

    if (!name.len || str_chr(name, '=') != name.len || str_chr(name, '\0') != name.len) {
        check_leave_out(w->c, v);
        check_say(w, v, name, false, "cannot be the name of a variable; ignored");
    } else if (str_is(name, "TENAX_HOME") || str_is(name, "CLAUDE_CONFIG_DIR")) {
        check_say(
            w, v, name, false,
            "reaches the programs tenax starts, but settings are already read by then; set it "
            "in the environment");
    }
}

/* Whether this level may set the key at all. */
static bool check_place(struct check_walk *w, const struct key *k, const struct json *v, bool later)
{
    const struct source *s = w->s;
    bool in_project = s->level == LEVEL_PROJECT || s->level == LEVEL_LOCAL;
    bool untrusted = (k->flags & KEY_TRUST) && in_project && !w->c->trusted;

    w->c->lacks_trust = w->c->lacks_trust || untrusted;
    if ((k->flags & KEY_MANAGED) && s->level != LEVEL_MANAGED) {
        check_say(w, v, json_key(v), false, "counts only in managed settings; ignored");
        return false;
    }
    if ((k->flags & KEY_OWN) && s->level == LEVEL_PROJECT) {
        check_say(w, v, json_key(v), later,
                  "does not count in a project's settings, only in your own; ignored");
        return false;
    }
    if ((k->flags & KEY_OURS) && !s->ours) {
        check_say(w, v, json_key(v), false, "counts only in tenax's own files; ignored");
        return false;
    }
    if (untrusted) {
        if (!later)
            buf_addf(&w->untrusted, "%s%s%s%.*s", w->untrusted.len ? ", " : "", buf_cstr(&w->path),
                     w->path.len ? "." : "", STR_ARG(json_key(v)));
        return false;
    }
    return true;
}

static void check_unused(struct check_walk *w, const struct key *k, const struct json *v)
{
    /* Administrators rely on it, in a file of Claude's, too. */
    bool is_missed = k->flags & KEY_MANAGED;

    if (is_missed && w->s->level != LEVEL_MANAGED)
        return; /* it would not count anyway, and that is reported */
    if (w->s->ours && map_has(&w->c->said, str_of(k->path)))
        return;
    if (k->flags & KEY_MOOT)
        check_say(w, v, json_key(v), true, "has no effect: %s", k->help);
    else
        check_say(w, v, json_key(v), !is_missed, "is known, but not used by this version yet");
    if (w->s->ours)
        map_set(&w->c->said, str_of(k->path), NULL);
}

/* later: a parent is not used yet, and that has been said. */
static void check_object(struct check_walk *w, const struct key *parent, const struct json *object,
                         bool later)
{
    size_t path_len = w->path.len;

    JSON_EACH(object, v) {
        const struct key *k = key_child(parent, json_key(v));
        CLEANUP(buf_release) struct buf reason = BUF_INIT(1024);
        bool unused = later;

        if (!k) {
            check_unknown(w, parent, v);
            continue;
        }
        if (!key_accepts(k, v, &reason)) {
            check_leave_out(w->c, v);
            check_say(w, v, json_key(v), false, "%s; ignored", buf_cstr(&reason));
            continue;
        }
        if (k->flags & (KEY_LATER | KEY_MOOT)) {
            unused = true;
            check_unused(w, k, v);
        }
        if (!check_place(w, k, v, unused)) {
            check_leave_out(w->c, v);
            continue;
        }
        if (strcmp(k->path, "env.*") == 0)
            check_variable(w, v);
        if ((k->types & KEY_STRINGS) && json_is(v, JSON_ARRAY))
            check_elements(w, v);
        if (json_is(v, JSON_OBJECT) && key_has_children(k)) {
            buf_addf(&w->path, "%s%.*s", path_len ? "." : "", STR_ARG(str_clip(json_key(v), 80)));
            check_object(w, k, v, unused);
            buf_cut(&w->path, path_len, w->path.len - path_len);
        }
    }
}

void check_source(struct check *c, const struct source *s)
{
    struct check_walk w = {.c = c, .s = s, .path = BUF_INIT(4096), .untrusted = BUF_INIT(1024)};

    check_object(&w, /*parent=*/NULL, s->root, /*later=*/false);
    if (w.untrusted.len || w.untrusted.over) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&line,
                 "%s: this folder is not trusted, so these are left out: %s%s; to use them: tenax "
                 "trust add, or --trust for one run",
                 s->name, buf_cstr(&w.untrusted), w.untrusted.over ? ", …" : "");
        check_add(c, buf_cstr(&line));
    }
    buf_release(&w.path);
    buf_release(&w.untrusted);
}

/* Names come from files that any program may have written; a terminal must not obey them. */
static void check_clean(char *line)
{
    for (unsigned char *at = (unsigned char *)line; *at; at++) {
        if (*at < 0x20 || *at == 0x7f)
            *at = '?';
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) /* the C1 controls */
            at[0] = at[1] = '?';
    }
}

void check_take_warnings(struct check *c, struct strv *ret)
{
    if (c->unlisted)
        strv_addf(&c->warnings, "and %zu more problems in settings files", c->unlisted);
    for (size_t i = 0; i < c->warnings.len; i++)
        check_clean(c->warnings.ptr[i]);
    *ret = c->warnings;
    c->warnings = (struct strv)STRV_INIT;
    c->unlisted = 0;
}
