/*
 * app_watch: changes in settings files apply at once. The folders of the files are watched (an
 * inotify descriptor in the loop's poll(), so nothing wakes up without a write), and for a missing
 * folder its parent. Changed files are read on another thread, because hooks may be asked about
 * them, and those take their time. Folders of commands and skills are watched for the same hooks.
 * UI thread.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "host/chore.h"
#include "host/host.h"
#include "tui/app/app.h"
#include "tui/editor/editor.h"
#include "tui/status/statusline.h"

#define WATCH_WHAT (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR)
/* A folder that is watched for another one to appear may be one of settings, too. */
#define WATCH_WAY (IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_MASK_ADD)

#define WATCH_OWN (WATCH_WHAT | IN_CREATE | IN_MASK_ADD)

/* The folder, or while it is not there the nearest one above it. */
static void watch_folder(struct app *a, const char *path)
{
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    uint32_t what = WATCH_WHAT | IN_MASK_ADD;

    while (inotify_add_watch(a->watch.fd, folder, what) < 0) {
        char *above;

        if (errno != ENOENT) {
            log_debug("tui", "%s is not watched: %s", folder, strerror(errno));
            return;
        }
        above = path_dirname(folder);
        mem_freep(&folder);
        folder = above;
        what = WATCH_WAY;
    }
}

/* Of a session before this one they stay watched: a look too much is cheap. */
void app_watch_session(struct app *a)
{
    CLEANUP(strv_release) struct strv folders = STRV_INIT;

    if (a->watch.fd < 0 || !a->session)
        return;
    slash_own_folders(a->session->slash, &folders);
    a->watch.own.len = 0;
    for (size_t i = 0; i < folders.len; i++) {
        int id = inotify_add_watch(a->watch.fd, folders.ptr[i], WATCH_OWN);

        if (id >= 0)
            vec_push(&a->watch.own, id);
    }
}

static void watch_folders(struct app *a)
{
    for (size_t i = 0; i < a->watch.paths.len; i++) {
        watch_folder(a, a->watch.paths.ptr[i]);
        watch_folder(a, a->watch.paths.ptr[i]); /* it may have come before the one above was */
    }
    app_watch_session(a);
}

/* Where a link leads to is written without a trace beside the link. */
static void watch_links(struct strv *paths)
{
    for (size_t i = 0, n = paths->len; i < n; i++) {
        CLEANUP(mem_freep) char *real = path_real(paths->ptr[i]);

        if (strcmp(real, paths->ptr[i]) != 0)
            strv_adds(paths, real);
    }
}

void app_watch_begin(struct app *a)
{
    a->watch.is_vim = str_is(conf_get_str(a->conf, "editorMode"), "vim");
    conf_paths(a->conf, &a->watch.paths);
    watch_links(&a->watch.paths);
    a->watch.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (a->watch.fd >= 0)
        watch_folders(a);
}

void app_watch_end(struct app *a)
{
    fd_closep(&a->watch.fd);
    strv_release(&a->watch.paths);
    vec_release(&a->watch.own);
}

/* ---- what has changed ---- */

struct settings_chore {
    struct chore chore;
    struct host *host;
};

static void settings_run(struct chore *e)
{
    host_reload(((struct settings_chore *)e)->host);
}

static void settings_look(struct app *a);

/* Vim's keys may have been chosen for this session alone: only a change counts. */
static void settings_done(struct chore *e, void *arg)
{
    struct app *a = arg;
    bool is_vim = str_is(conf_get_str(a->conf, "editorMode"), "vim");

    a->watch.is_read = false;
    if (a->watch.is_stale)
        settings_look(a);
    if (((struct settings_chore *)e)->host != app_host(a))
        return;
    if (is_vim != a->watch.is_vim)
        editor_set_vim(a->editor, is_vim);
    a->watch.is_vim = is_vim;
    app_look(a);
    app_status_happened(a, STATUS_SETTINGS);
    watch_folders(a);
}

static void settings_free(struct chore *e)
{
    mem_freep(&e);
}

static void settings_look(struct app *a)
{
    struct settings_chore *s;
    struct err err = {0};

    a->watch.is_stale = a->watch.is_read;
    if (!app_host(a) || a->watch.is_read)
        return;
    s = chore_new(sizeof(*s), settings_run, settings_done, settings_free);
    s->host = app_host(a);
    a->watch.is_read = true;
    if (chore_run_beside(a->session->crew, a->mailbox, s, &err) < 0) {
        a->watch.is_read = false;
        log_debug("tui", "settings are not read: %s", err.text);
    }
}

/* Other files are written in the same folders all the time. */
static bool is_settings(const struct app *a, const char *name)
{
    for (size_t i = 0; i < a->watch.paths.len; i++) {
        if (strcmp(path_base(a->watch.paths.ptr[i]), name) == 0)
            return true;
    }
    return false;
}

/* A folder of that name leads to settings. */
static bool is_on_the_way(const struct app *a, const char *name)
{
    CLEANUP(buf_release) struct buf part = BUF_INIT(NAME_MAX + 3);

    buf_addf(&part, "/%s/", name);
    for (size_t i = 0; i < a->watch.paths.len; i++) {
        if (str_has(str_of(a->watch.paths.ptr[i]), buf_str(&part)))
            return true;
    }
    return false;
}

/* A folder that leads to settings came, or one that was watched has gone. */
static bool is_other_way(const struct app *a, const struct inotify_event *e)
{
    if (e->mask & IN_IGNORED)
        return true;
    return e->mask & IN_ISDIR && e->len && is_on_the_way(a, e->name);
}

/* A command, or a folder that has some. */
static bool is_own(const struct app *a, const struct inotify_event *e)
{
    VEC_EACH(&a->watch.own, id) {
        if (*id == e->wd)
            return e->mask & IN_ISDIR || str_ends(str_of(e->name), STR(".md"));
    }
    return false;
}

/* A file that was only created says nothing yet: it will be written. */
static bool is_change(const struct app *a, const struct inotify_event *e)
{
    if (e->mask & IN_Q_OVERFLOW)
        return true;
    if (!e->len || (e->mask & IN_CREATE && !(e->mask & IN_ISDIR)))
        return false;
    return is_settings(a, e->name) || is_own(a, e);
}

void app_watch_read(struct app *a)
{
    char bytes[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)]
        __attribute__((aligned(__alignof__(struct inotify_event))));
    bool changed = false;
    bool moved = false;

    for (;;) {
        ssize_t n = read(a->watch.fd, bytes, sizeof(bytes));

        if (n <= 0)
            break;
        for (const char *at = bytes; at < bytes + n;) {
            const struct inotify_event *e = (const struct inotify_event *)at;

            changed = changed || is_change(a, e);
            moved = moved || is_other_way(a, e);
            at += sizeof(*e) + e->len;
        }
    }
    if (moved)
        watch_folders(a);
    if (changed || moved) /* writes to the new folder were not reported */
        settings_look(a);
}
