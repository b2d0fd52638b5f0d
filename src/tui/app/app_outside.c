/*
 * app_outside: the terminal is given away for a while: to the shell after Ctrl-Z, to an editor
 * after Ctrl-G, to the demo. The loop keeps running, so that no agent waits for a reader; only keys
 * and frames pause. UI thread, except for what runs beside it.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "conf/conf.h"
#include "host/chore.h"
#include "host/host.h"
#include "proc/foreground.h"
#include "sync/mailbox.h"
#include "sync/signals.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/editor/editor.h"
#include "tui/screen/screen.h"
#include "tui/screen/term.h"

#define OUTSIDE_MAX_TEXT ((size_t)10 << 20)

static void outside_leave(struct app *a)
{
    screen_pause(a->screen);
    term_leave(a->term);
    a->is_away = true;
}

static void outside_return(struct app *a)
{
    struct err err = {0};

    a->is_away = false;
    a->is_dirty = true;
    buf_clear(&a->titled); /* another program may have changed the title */
    if (term_enter(a->term, &err) < 0) {
        app_quit(a, /*code=*/129);
        return;
    }
    screen_resume(a->screen);
}

/* ---- Ctrl-Z ---- */

void app_suspend(struct app *a)
{
    if (a->is_away) { /* the one who has the terminal was stopped, and we with it */
        signals_suspend();
        return;
    }
    outside_leave(a);
    signals_suspend();
    outside_return(a);
}

/* We were stopped and continued by another process, which may have left the terminal in any
 * state. */
void app_continued(struct app *a)
{
    if (a->is_away)
        return;
    outside_leave(a);
    outside_return(a);
}

/* ---- Ctrl-G ---- */

struct edit_chore {
    struct chore chore;
    char *const *environ;
    const char *program;
    const char *dir;
    struct cancel *cancel;
    struct buf text;
    struct err err;
    int result;
};

/* Through a shell, because $EDITOR may have arguments: "code --wait". */
static int edit_with(struct edit_chore *e, const char *path)
{
    CLEANUP(buf_release) struct buf command = BUF_INIT(BUF_NO_LIMIT);
    const char *argv[] = {"sh", "-c", NULL, "sh", path, NULL};
    struct foreground f = {.argv = argv, .envp = e->environ, .dir = e->dir, .cancel = e->cancel};
    CLEANUP(buf_release) struct buf text = BUF_INIT(OUTSIDE_MAX_TEXT);
    int code = 0;

    buf_addf(&command, "exec %s \"$1\"", e->program);
    argv[2] = buf_cstr(&command);
    if (foreground_run(&f, &code, &e->err) < 0)
        return -1;
    if (code)
        return err_set(&e->err, ERR_IO, "'%s' ended with %d; the text stays as it was", e->program,
                       code);
    if (file_slurp(path, OUTSIDE_MAX_TEXT, &text, &e->err) < 0)
        return -1;
    buf_move(&e->text, &text);
    return 0;
}

/* Whether there is something in the file that was not given to the editor. */
static bool edit_has_saved(const struct edit_chore *e, const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(OUTSIDE_MAX_TEXT);

    return file_slurp(path, OUTSIDE_MAX_TEXT, &text, /*err=*/NULL) < 0
               ? file_exists(path)
               : !str_eq(buf_str(&text), buf_str(&e->text));
}

static void edit_run(struct chore *chore)
{
    struct edit_chore *e = (struct edit_chore *)chore;
    char path[] = "/tmp/tenax-prompt-XXXXXX.md";
    CLEANUP(fd_closep) int fd = mkostemps(path, /*suffixlen=*/3, O_CLOEXEC);

    e->result = -1;
    if (fd < 0) {
        err_sys(&e->err, ERR_IO, "cannot make a file for the editor");
        return;
    }
    if (fd_write_all(fd, buf_str(&e->text), &e->err) == 0)
        e->result = edit_with(e, path);
    if (e->result < 0 && edit_has_saved(e, path))
        err_prefix(&e->err, "the saved text is in %s", path);
    else
        unlink(path);
}

static void edit_done(struct chore *chore, void *arg)
{
    struct edit_chore *e = (struct edit_chore *)chore;
    struct app *a = arg;

    outside_return(a);
    if (e->result < 0)
        chat_note(a->chat, ROLE_WARNING, str_of(e->err.text));
    else
        editor_set(a->editor, str_trim(buf_str(&e->text)));
}

static void edit_free(struct chore *chore)
{
    struct edit_chore *e = (struct edit_chore *)chore;

    buf_release(&e->text);
    mem_freep(&e);
}

static const char *edit_program(const struct conf *conf)
{
    const char *visual = conf_env(conf, "VISUAL");
    const char *editor = conf_env(conf, "EDITOR");

    if (visual && *visual)
        return visual;
    return editor && *editor ? editor : "vi";
}

void app_open_editor(struct app *a)
{
    struct edit_chore *e = chore_new(sizeof(*e), edit_run, edit_done, edit_free);
    struct err err = {0};

    e->environ = conf_environ(a->conf);
    e->program = edit_program(a->conf);
    e->dir = conf_dir(a->conf);
    e->cancel = a->spec->host->cancel;
    buf_init(&e->text, OUTSIDE_MAX_TEXT);
    editor_text(a->editor, &e->text);
    outside_leave(a);
    if (chore_run_beside(a->crew, a->mailbox, e, &err) < 0) {
        outside_return(a);
        chat_note(a->chat, ROLE_BAD, str_of(err.text));
    }
}

/* ---- the demo ---- */

struct demo_chore {
    struct chore chore;
    int (*demo)(void *arg, struct err *err);
    void *arg;
    struct err err;
    int result;
};

static void demo_run(struct chore *chore)
{
    struct demo_chore *d = (struct demo_chore *)chore;

    d->result = d->demo(d->arg, &d->err);
}

static void demo_done(struct chore *chore, void *arg)
{
    struct demo_chore *d = (struct demo_chore *)chore;
    struct app *a = arg;

    outside_return(a);
    if (d->result < 0)
        chat_note(a->chat, ROLE_BAD, str_of(d->err.text));
    app_first_choice(a, /*has_seen=*/d->result == 0);
}

static void demo_free(struct chore *chore)
{
    mem_freep(&chore);
}

void app_play_demo(struct app *a)
{
    struct demo_chore *d = chore_new(sizeof(*d), demo_run, demo_done, demo_free);
    struct err err = {0};

    d->demo = a->spec->demo;
    d->arg = a->spec->demo_arg;
    outside_leave(a);
    if (chore_run_beside(a->crew, a->mailbox, d, &err) < 0) {
        outside_return(a);
        chat_note(a->chat, ROLE_BAD, str_of(err.text));
        app_first_choice(a, /*has_seen=*/false);
    }
}
