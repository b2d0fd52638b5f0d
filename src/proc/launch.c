/*
 * Getting a child ready: pipes or a pty, and the plan, with the list of files that its argv[0] may
 * mean. Runs on the thread that calls proc_start(); every descriptor made here is close-on-exec.
 */
#include "proc/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "proc/confine.h"
#include "proc/packet.h"
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

void launch_find_program(const char *name, const char *const *envp, struct strv *ret)
{
    struct str rest = launch_path_of(envp);
    struct str dir;

    if (strchr(name, '/')) {
        strv_adds(ret, name);
        return;
    }
    while (str_cut(&rest, ':', &dir)) {
        if (dir.len)
            strv_addf(ret, "%.*s/%s", STR_ARG(dir), name);
        else
            strv_addf(ret, "./%s", name); /* an empty part means the current directory */
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
    l->stdio[2] = l->stdio[1]; /* the child gets two of it */
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
    /* Written through a separate descriptor, so that closing one direction leaves the other. */
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

/* A plan begins with this; then come the pointers, as offsets into it and 0 for NULL: argv, envp,
 * paths, each followed by a NULL, and dir. Then the strings, and the confinement. */
struct launch_head {
    size_t args;
    size_t vars;
    size_t paths;
    sigset_t mask;
    bool pty;
    bool tell_dir;
    bool finishes;
    size_t confine; /* offset; 0: none */
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

static void launch_pack_string(struct buf *plan, size_t *at, const char *text)
{
    size_t offset = plan->len;

    if (text) {
        memcpy(plan->ptr + *at, &offset, sizeof(offset));
        buf_add(plan, str_make(text, strlen(text) + 1));
    }
    *at += sizeof(offset);
}

static void launch_pack_list(struct buf *plan, size_t *at, const char *const *list, size_t len)
{
    for (size_t i = 0; i < len; i++)
        launch_pack_string(plan, at, list[i]);
    launch_pack_string(plan, at, NULL);
}

static void launch_pack_image(struct buf *plan, const struct buf *image)
{
    while (plan->len % _Alignof(max_align_t))
        buf_addc(plan, '\0');
    ((struct launch_head *)plan->ptr)->confine = plan->len;
    buf_add(plan, buf_str(image));
}

static void launch_pack(const struct launch *l, const struct proc_spec *spec, struct buf *ret)
{
    const char *const *envp = spec->envp ? spec->envp : (const char *const *)environ;
    const char *const *argv = spec->argv;
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    struct launch_head head = {
        .args = launch_count(argv),
        .vars = launch_count(envp),
        .mask = *signals_original(),
        .pty = spec->pty,
        .tell_dir = spec->tell_dir,
        .finishes = spec->finishes,
    };
    size_t at = sizeof(head);
    size_t before_strings;

    launch_find_program(argv[0], envp, &paths);
    head.paths = paths.len;
    before_strings = at + launch_pointers(&head) * sizeof(size_t);
    memset(buf_room(ret, before_strings), 0, before_strings);
    buf_grown(ret, before_strings);
    memcpy(ret->ptr, &head, sizeof(head));
    launch_pack_list(ret, &at, argv, head.args);
    launch_pack_list(ret, &at, envp, head.vars);
    launch_pack_list(ret, &at, (const char *const *)strv_get(&paths), head.paths);
    launch_pack_string(ret, &at, l->dir);
    if (l->confined)
        launch_pack_image(ret, &l->kit.image);
}

static int launch_write_plan(struct launch *l, const struct proc_spec *spec, struct err *err)
{
    launch_pack(l, spec, &l->plan);
    if (l->plan.len <= LAUNCH_ROOM)
        return 0;
    l->file = memfd_create("tenax-launch", MFD_CLOEXEC);
    if (l->file < 0)
        return err_sys(err, ERR_IO, "cannot make a file in memory");
    return fd_write_all(l->file, buf_str(&l->plan), err);
}

/* From the folder that we are in, another path leads to what an overlay covers. */
static void launch_make_absolute(struct launch *l)
{
    CLEANUP(mem_freep) char *here = getcwd(NULL, 0);
    char *dir = here ? path_join(here, l->dir) : NULL;

    mem_freep(&l->dir);
    l->dir = dir;
}

/* Where a confined job is to be has to be said: its mounts lie over the folder that it would
 * inherit. */
static int launch_confine(struct launch *l, const struct proc_spec *spec, struct err *err)
{
    if (!l->dir)
        l->dir = getcwd(NULL, 0);
    else if (l->dir[0] != '/' && spec->confine->overlay_count)
        launch_make_absolute(l);
    if (!l->dir)
        return err_sys(err, ERR_IO, "the working folder is gone");
    return confine_kit_init(&l->kit, spec->confine, spec, err);
}

int launch_init(struct launch *l, const struct proc_spec *spec, struct launch_ends *ret,
                struct err *err)
{
    struct launch_ends ends = {-1, -1, -1};
    int rc;

    *l = (struct launch){
        .name = mem_dup(spec->argv[0], strlen(spec->argv[0])),
        .dir = spec->dir ? mem_dup(spec->dir, strlen(spec->dir)) : NULL,
        .plan = BUF_INIT(BUF_NO_LIMIT),
        .file = -1,
        .stdio = {-1, -1, -1},
        .confined = confine_is_asked(spec->confine),
        .kit = CONFINE_KIT_INIT,
    };
    if (l->confined && launch_confine(l, spec, err) < 0) {
        launch_release(l);
        return -1;
    }
    rc = spec->pty ? launch_terminal(l, spec, &ends, err) : launch_pipes(l, spec, &ends, err);
    if (rc == 0)
        rc = launch_write_plan(l, spec, err);
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

void launch_close(struct launch *l)
{
    if (l->stdio[2] == l->stdio[1])
        l->stdio[2] = -1; /* one, not two that are the same */
    for (int i = 0; i < 3; i++) {
        fd_closep(&l->stdio[i]);
        l->stdio[i] = -1;
    }
    fd_closep(&l->file);
    l->file = -1;
    buf_release(&l->plan);
    confine_kit_close(&l->kit);
}

void launch_release(struct launch *l)
{
    launch_close(l);
    confine_kit_release(&l->kit);
    mem_freep(&l->name);
    mem_freep(&l->dir);
}

/* ---- from tenax to the warden ---- */

#define LAUNCH_FDS 4 /* the child's three, and the file of the plan */

int launch_namespaces(const struct launch *l)
{
    const struct confine_image *image = (const struct confine_image *)l->kit.image.ptr;

    if (!l->confined || image->is_view) /* views are too rare */
        return 0;
    return image->namespaces;
}

/* Those that are needed, in a packet of their own. */
static int launch_send_kit(const struct launch *l, int socket)
{
    int fds[CONFINE_FDS];
    size_t count = 0;

    for (int i = 0; i < CONFINE_FDS; i++) {
        if (l->kit.fds[i] >= 0)
            fds[count++] = l->kit.fds[i];
    }
    return count ? packet_send(socket, fds, count) : 0;
}

int launch_send(const struct launch *l, int socket)
{
    const int fds[LAUNCH_FDS] = {l->stdio[0], l->stdio[1], l->stdio[2], l->file};
    int rc = l->file < 0 ? packet_send_with(socket, buf_str(&l->plan), fds, LAUNCH_FDS - 1)
                         : packet_send(socket, fds, LAUNCH_FDS);

    if (rc < 0)
        return -1;
    return l->confined ? launch_send_kit(l, socket) : 0;
}

static char *launch_map(int file)
{
    struct stat st;
    void *base;

    if (fstat(file, &st) < 0)
        return NULL;
    base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    return base == MAP_FAILED ? NULL : base;
}

static void launch_unpack(char *base, struct launch_plan *ret)
{
    const struct launch_head *head = (const struct launch_head *)base;
    char **pointers = (char **)(base + sizeof(*head));

    for (size_t i = 0; i < launch_pointers(head); i++) {
        if (pointers[i])
            pointers[i] = base + (uintptr_t)pointers[i];
    }
    *ret = (struct launch_plan){
        .argv = pointers,
        .envp = pointers + head->args + 1,
        .paths = pointers + head->args + 1 + head->vars + 1,
        .dir = pointers[launch_pointers(head) - 1],
        .mask = head->mask,
        .pty = head->pty,
        .tell_dir = head->tell_dir,
        .finishes = head->finishes,
        .confine = head->confine ? (struct confine_image *)(base + head->confine) : NULL,
    };
}

static int launch_receive_kit(int socket, struct confine_image *image)
{
    int fds[CONFINE_FDS] = {0};
    size_t count = 0;
    size_t at = 0;

    for (int i = 0; i < CONFINE_FDS; i++)
        count += image->has_fd[i];
    if (count && packet_receive(socket, fds, count) < 0)
        return -1;
    for (int i = 0; i < CONFINE_FDS; i++) {
        if (!image->has_fd[i])
            continue;
        image->fds[i] = fds[at++];
        fcntl(image->fds[i], F_SETFD, FD_CLOEXEC);
    }
    return 0;
}

int launch_receive(int socket, char room[static LAUNCH_ROOM], struct launch_plan *ret)
{
    int fds[LAUNCH_FDS];
    size_t count = LAUNCH_FDS;
    char *base = room;

    if (packet_receive_with(socket, room, LAUNCH_ROOM, fds, &count) < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        if ((size_t)i >= count || fds[i] != i) { /* they arrive in order, each as the lowest free */
            errno = EBADF;
            return -1;
        }
    }
    if (count == LAUNCH_FDS) {
        base = launch_map(fds[3]);
        close(fds[3]);
    }
    if (!base)
        return -1;
    launch_unpack(base, ret);
    return ret->confine ? launch_receive_kit(socket, ret->confine) : 0;
}
