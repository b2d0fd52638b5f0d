/*
 * Getting a child ready: pipes or a pty, and the list of files that its argv[0] may mean. Runs on
 * the thread that calls proc_start(); every descriptor made here is close-on-exec.
 */
#include "proc/launch.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "proc/proc.h"
#include "sync/signals.h"

#define LAUNCH_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static struct str launch_path_of(const char *const *envp)
{
    for (; *envp; envp++) {
        if (str_starts(str_of(*envp), STR("PATH=")))
            return str_of(*envp + 5);
    }
    return STR(LAUNCH_DEFAULT_PATH);
}

static void launch_find_program(struct launch *l)
{
    const char *name = l->argv[0];
    struct str rest = launch_path_of(l->envp);
    struct str dir;

    if (strchr(name, '/')) {
        strv_adds(&l->paths, name);
        return;
    }
    while (str_cut(&rest, ':', &dir)) {
        if (dir.len)
            strv_addf(&l->paths, "%.*s/%s", STR_ARG(dir), name);
        else
            strv_addf(&l->paths, "./%s", name); /* an empty part means the current directory */
    }
}

/* A pipe of which our end does not block. */
static int launch_pipe(int *ret_ours, int *ret_theirs, bool we_read, struct err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_sys(err, ERR_IO, "cannot make a pipe");
    *ret_ours = fds[we_read ? 0 : 1];
    *ret_theirs = fds[we_read ? 1 : 0];
    fcntl(*ret_ours, F_SETFL, O_NONBLOCK);
    return 0;
}

static int launch_pipes(struct launch *l, const struct proc_spec *spec, struct launch_ends *ends,
                        struct err *err)
{
    if (spec->keep_stdin || spec->input.len) {
        if (launch_pipe(&ends->in, &l->stdio[0], /*we_read=*/false, err) < 0)
            return -1;
    } else {
        l->stdio[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (l->stdio[0] < 0)
            return err_sys(err, ERR_IO, "cannot open /dev/null");
    }
    if (launch_pipe(&ends->out, &l->stdio[1], /*we_read=*/true, err) < 0)
        return -1;
    if (!spec->merge_stderr)
        return launch_pipe(&ends->err, &l->stdio[2], /*we_read=*/true, err);
    l->stdio[2] = fcntl(l->stdio[1], F_DUPFD_CLOEXEC, 3);
    if (l->stdio[2] < 0)
        return err_sys(err, ERR_IO, "cannot copy a descriptor");
    return 0;
}

static int launch_terminal(struct launch *l, const struct proc_spec *spec, struct launch_ends *ends,
                           struct err *err)
{
    struct winsize size = {
        .ws_row = spec->rows ? spec->rows : 24,
        .ws_col = spec->cols ? spec->cols : 80,
    };
    char name[64];

    ends->out = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ends->out < 0 || grantpt(ends->out) < 0 || unlockpt(ends->out) < 0 ||
        ptsname_r(ends->out, name, sizeof(name)) != 0)
        return err_sys(err, ERR_IO, "cannot make a terminal");
    fcntl(ends->out, F_SETFL, O_NONBLOCK);
    ioctl(ends->out, TIOCSWINSZ, &size);
    /* Written through a descriptor of its own, so that closing one way leaves the other. */
    ends->in = fcntl(ends->out, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3; i++) {
        l->stdio[i] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (l->stdio[i] < 0)
            return err_sys(err, ERR_IO, "cannot open the terminal %s", name);
    }
    if (ends->in < 0)
        return err_sys(err, ERR_IO, "cannot copy a descriptor");
    return 0;
}

int launch_init(struct launch *l, const struct proc_spec *spec, struct launch_ends *ret,
                struct err *err)
{
    struct launch_ends ends = {-1, -1, -1};
    int rc;

    *l = (struct launch){
        .argv = spec->argv,
        .envp = spec->envp ? spec->envp : (const char *const *)environ,
        .dir = spec->dir,
        .mask = *signals_original(),
        .pty = spec->pty,
        .tell_dir = spec->tell_dir,
        .stdio = {-1, -1, -1},
    };
    launch_find_program(l);
    rc = l->pty ? launch_terminal(l, spec, &ends, err) : launch_pipes(l, spec, &ends, err);
    if (rc < 0) {
        fd_closep(&ends.in);
        fd_closep(&ends.out);
        fd_closep(&ends.err);
        launch_release(l);
        return -1;
    }
    *ret = ends;
    return 0;
}

/* An image begins with this; then come the pointers, as offsets into the image and 0 for NULL:
 * argv, envp, paths, each with a NULL behind it, and dir. Then the strings. */
struct launch_head {
    size_t args;
    size_t vars;
    size_t paths;
    sigset_t mask;
    bool pty;
    bool tell_dir;
};

static size_t launch_pointers(const struct launch_head *head)
{
    return head->args + 1 + head->vars + 1 + head->paths + 1 + 1;
}

static size_t launch_count(const char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

static void launch_pack_string(struct buf *image, size_t *at, const char *text)
{
    size_t offset = image->len;

    if (text) {
        memcpy(image->ptr + *at, &offset, sizeof(offset));
        buf_add(image, str_make(text, strlen(text) + 1));
    }
    *at += sizeof(offset);
}

static void launch_pack_list(struct buf *image, size_t *at, const char *const *list, size_t len)
{
    for (size_t i = 0; i < len; i++)
        launch_pack_string(image, at, list[i]);
    launch_pack_string(image, at, NULL);
}

int launch_pack(const struct launch *l)
{
    CLEANUP(buf_release) struct buf image = BUF_INIT(BUF_NO_LIMIT);
    int fd = memfd_create("tenax-launch", MFD_CLOEXEC);
    const struct launch_head head = {
        .args = launch_count(l->argv),
        .vars = launch_count(l->envp),
        .paths = l->paths.len,
        .mask = l->mask,
        .pty = l->pty,
        .tell_dir = l->tell_dir,
    };
    size_t at = sizeof(head);
    size_t before_strings = at + launch_pointers(&head) * sizeof(size_t);

    if (fd < 0)
        return -1;
    memset(buf_room(&image, before_strings), 0, before_strings);
    buf_grown(&image, before_strings);
    memcpy(image.ptr, &head, sizeof(head));
    launch_pack_list(&image, &at, l->argv, head.args);
    launch_pack_list(&image, &at, l->envp, head.vars);
    launch_pack_list(&image, &at, (const char *const *)strv_get(&l->paths), head.paths);
    launch_pack_string(&image, &at, l->dir);
    if (fd_write_all(fd, buf_str(&image), /*err=*/NULL) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int launch_unpack(struct launch *ret, int image, const int stdio[static 3])
{
    const struct launch_head *head;
    struct stat st;
    char **pointers;
    char *base;

    if (fstat(image, &st) < 0)
        return -1;
    base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, image, 0);
    if (base == MAP_FAILED)
        return -1;
    head = (const struct launch_head *)base;
    pointers = (char **)(base + sizeof(*head));
    for (size_t i = 0; i < launch_pointers(head); i++) {
        if (pointers[i])
            pointers[i] = base + (uintptr_t)pointers[i];
    }
    ret->argv = (const char *const *)pointers;
    ret->envp = ret->argv + head->args + 1;
    ret->paths.ptr = pointers + head->args + 1 + head->vars + 1;
    ret->paths.len = head->paths;
    ret->dir = ret->paths.ptr[head->paths + 1];
    ret->mask = head->mask;
    ret->pty = head->pty;
    ret->tell_dir = head->tell_dir;
    memcpy(ret->stdio, stdio, sizeof(ret->stdio));
    return 0;
}

void launch_close(struct launch *l)
{
    for (int i = 0; i < 3; i++) {
        fd_closep(&l->stdio[i]);
        l->stdio[i] = -1;
    }
}

void launch_release(struct launch *l)
{
    launch_close(l);
    strv_release(&l->paths);
}
