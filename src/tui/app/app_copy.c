/*
 * app_copy: text into a clipboard. Inside of tmux that is its buffer: it silently ignores clipboard
 * sequences of programs by default. A terminal that knows OSC 52 is sent the text, and where there
 * is none, or the text is too long for it, a program of the desktop takes it. On the thread of the
 * command that copies.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "proc/foreground.h"
#include "tui/app/app.h"

/* Programs by the variable that says they are of use; the first that takes it. */
static const struct copier {
    const char *needs; /* NULL: nothing */
    const char *argv[5];
    const char *says; /* where it is */
} copiers[] = {
    {"TMUX", {"tmux", "load-buffer", "-w", "-"}, "are in tmux's buffer: prefix ] pastes them"},
    {"TMUX", {"tmux", "load-buffer", "-"}, "are in tmux's buffer: prefix ] pastes them"},
    {"WAYLAND_DISPLAY", {"wl-copy"}, "are in the clipboard (wl-copy)"},
    {"DISPLAY", {"xclip", "-selection", "clipboard"}, "are in the clipboard (xclip)"},
    {"DISPLAY", {"xsel", "-i", "-b"}, "are in the clipboard (xsel)"},
    {NULL, {"pbcopy"}, "are in the clipboard (pbcopy)"},
};

#define COPY_IN_TMUX 2 /* of them */

/* A program may keep the text for others to fetch: it must outlive us, so it is no job. */
static bool copy_with(const struct app *a, const struct copier *c, struct str text,
                      struct cancel *cancel)
{
    CLEANUP(fd_closep) int fd = memfd_create("copy", MFD_CLOEXEC);
    struct foreground f = {
        .argv = c->argv, .envp = conf_environ(a->conf), .input = fd, .cancel = cancel};
    int code = -1;

    if (fd < 0 || fd_write_all(fd, text, /*err=*/NULL) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return false;
    return foreground_run(&f, &code, /*err=*/NULL) == 0 && code == 0;
}

static const char *copy_by(const struct app *a, size_t from, size_t to, struct str text,
                           struct cancel *cancel)
{
    for (size_t i = from; i < to; i++) {
        const struct copier *c = &copiers[i];

        if (c->needs && !conf_env(a->conf, c->needs))
            continue;
        if (copy_with(a, c, text, cancel))
            return c->says;
    }
    return NULL;
}

const char *app_copy(struct app *a, struct str text, struct cancel *cancel)
{
    const char *says = copy_by(a, 0, COPY_IN_TMUX, text, cancel);

    if (!says && app_front_osc52(a, text))
        says = "were sent to the terminal's clipboard (OSC 52)";
    if (!says)
        says = copy_by(a, COPY_IN_TMUX, ARRAY_LEN(copiers), text, cancel);
    return says;
}
