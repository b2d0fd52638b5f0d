/*
 * app_paste: pictures. A terminal passes on only text: for a file dropped on it the path, for a
 * picture in the clipboard nothing, so a desktop program is asked for it. Either is stored as a
 * file beside the session, which the model may read, and the prompt mentions it. UI thread, except
 * for the chore's run().
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/id.h"
#include "base/image.h"
#include "conf/conf.h"
#include "guard/workspace.h"
#include "host/chore.h"
#include "host/host.h"
#include "proc/foreground.h"
#include "tui/app/app.h"
#include "tui/editor/editor.h"

#define PASTE_MAX ((size_t)32 << 20) /* of a file that was dropped */

/* Programs by the variable that says they are of use. */
static const struct paster {
    const char *needs; /* NULL: nothing */
    const char *command;
} pasters[] = {
    {"WAYLAND_DISPLAY", "exec wl-paste --no-newline --type image/png >\"$1\""},
    {"DISPLAY", "exec xclip -selection clipboard -t image/png -o >\"$1\""},
    {NULL, "exec pngpaste \"$1\""},
};

struct paste_chore {
    struct chore chore;
    const struct conf *conf;
    struct cancel *cancel;
    char *dir;  /* of the session */
    char *from; /* a file that was dropped; NULL: the clipboard */
    char *path;
    bool has_program, is_there;
};

/* A picture that can be read at all: a program may write its complaint. */
static bool paste_is_image(const char *path)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char start[16];
    ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof(start));

    return n > 0 && image_type(str_make(start, (size_t)n));
}

static bool paste_with(struct paste_chore *p, const struct paster *with)
{
    CLEANUP(fd_closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const char *argv[] = {"sh", "-c", with->command, "sh", p->path, NULL};
    struct foreground f = {
        .argv = argv, .envp = conf_environ(p->conf), .input = fd, .cancel = p->cancel};
    int code = -1;

    if (foreground_run(&f, &code, /*err=*/NULL) < 0)
        return false;
    p->has_program |= code != 127; /* the shell's word for a command that is not there */
    return code == 0 && paste_is_image(p->path);
}

static bool paste_copy(const struct paste_chore *p)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(PASTE_MAX);

    return file_slurp(p->from, PASTE_MAX, &bytes, /*err=*/NULL) == 0 &&
           file_replace(p->path, buf_str(&bytes), 0600, /*err=*/NULL) == 0;
}

static void paste_run(struct chore *e)
{
    struct paste_chore *p = (struct paste_chore *)e;
    CLEANUP(buf_release) struct buf name = BUF_INIT(100);
    char id[ID_UUID_LEN + 1];

    id_uuid(id);
    buf_addf(&name, "%s.png", id); /* what it is, its first bytes say */
    p->path = path_join(p->dir, buf_cstr(&name));
    if (file_mkdirs(p->dir, 0700, /*err=*/NULL) < 0)
        return;
    if (p->from)
        p->is_there = paste_copy(p);
    for (size_t i = 0; !p->from && i < ARRAY_LEN(pasters) && !p->is_there; i++) {
        if (!pasters[i].needs || conf_env(p->conf, pasters[i].needs))
            p->is_there = paste_with(p, &pasters[i]);
    }
    if (!p->is_there)
        (void)unlink(p->path);
}

static void paste_done(struct chore *e, void *arg)
{
    struct paste_chore *p = (struct paste_chore *)e;
    struct app *a = arg;

    if (p->is_there)
        editor_image(a->editor, p->path);
    else if (p->from)
        editor_insert(a->editor, str_of(p->from));
    else if (p->has_program)
        app_hint(a, "There is no image in the clipboard");
    else
        app_hint(a, "Pasting images needs wl-paste, xclip or pngpaste. @path attaches a file");
    a->is_dirty = true;
}

static void paste_free(struct chore *e)
{
    struct paste_chore *p = (struct paste_chore *)e;

    mem_freep(&p->dir);
    mem_freep(&p->from);
    mem_freep(&p->path);
    mem_freep(&e);
}

/* from: a path, taken; NULL: the clipboard. False: there is no place for it. */
static bool paste_begin(struct app *a, char *from)
{
    struct paste_chore *p = chore_new(sizeof(*p), paste_run, paste_done, paste_free);
    struct err err = {0};

    p->from = from;
    p->conf = a->conf;
    p->cancel = a->spec->host->cancel;
    if (!app_host(a) || !*host_folder(app_host(a))) {
        paste_free(&p->chore);
        return false;
    }
    p->dir = path_join(host_folder(app_host(a)), WORKSPACE_IMAGES);
    if (chore_run_beside(a->session->crew, a->mailbox, p, &err) == 0)
        return true;
    app_hint(a, "%s", err.text);
    return false;
}

void app_paste_image(struct app *a)
{
    if (!paste_begin(a, /*from=*/NULL))
        app_hint(a, "This session is not saved, so no image can be pasted");
}

bool app_paste_drop(struct app *a, struct str pasted)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(64 << 10);
    struct stat st;
    char quote;

    pasted = str_trim(pasted);
    if (pasted.len > 4096 || str_chr(pasted, '\n') < pasted.len)
        return false;
    if (str_starts(pasted, STR("file://")))
        pasted = str_from(pasted, 7);
    quote = pasted.len > 2 && (pasted.ptr[0] == '\'' || pasted.ptr[0] == '"') ? pasted.ptr[0] : 0;
    if (quote && pasted.ptr[pasted.len - 1] == quote)
        pasted = str_make(pasted.ptr + 1, pasted.len - 2);
    for (size_t i = 0; i < pasted.len; i++) {
        if (pasted.ptr[i] == '\\' && !quote && i + 1 < pasted.len)
            i++; /* "My\ file.png" */
        buf_addc(&path, pasted.ptr[i]);
    }
    return str_starts(buf_str(&path), STR("/")) && stat(buf_cstr(&path), &st) == 0 &&
           S_ISREG(st.st_mode) && paste_is_image(buf_cstr(&path)) &&
           paste_begin(a, mem_dup(path.ptr, path.len));
}
