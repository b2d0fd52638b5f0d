/*
 * confine_image: everything of a confinement that takes more than system calls, done in tenax:
 * paths looked at, the seccomp program. Runs on the thread that calls proc_start().
 */
#include "proc/confine_image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "proc/confine.h"
#include "proc/landlock.h"
#include "proc/private_dir.h"
#include "proc/proc.h"
#include "proc/syscall_filter.h"

/* As root: files of all owners can be handled, as builds and package managers do. Mounts and
 * Landlock still apply. */
#define IMAGE_ROOT_KEEPS                                                                           \
    (1ULL << CAP_CHOWN | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_FOWNER | 1ULL << CAP_FSETID)

uint64_t confine_capabilities(void)
{
    return geteuid() == 0 ? IMAGE_ROOT_KEEPS : 0;
}

bool confine_is_privileged(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    return syscall(SYS_capget, &head, data) == 0 && (data[0].effective & 1U << CAP_SYS_ADMIN);
}

static void image_add_steps(struct buf *image, const struct confine_map *m)
{
    struct confine_image *head = (struct confine_image *)image->ptr;
    size_t at = image->len;

    head->steps = at;
    head->step_count = m->steps.len;
    VEC_EACH(&m->steps, step) {
        const struct confine_image_step packed = {
            .what = step->what,
            .is_dir = step->is_dir,
            .has_inner = step->has_inner,
            .tree = -1,
        };

        buf_add(image, str_make((const char *)&packed, sizeof(packed)));
    }
    VEC_EACH(&m->steps, named) {
        struct confine_image_step *packed = (struct confine_image_step *)(image->ptr + at);

        packed->path = image->len;
        buf_add(image, str_make(named->path, strlen(named->path) + 1));
        at += sizeof(*packed);
    }
}

static void image_add_sockets(struct buf *image, const struct strv *list)
{
    struct confine_image *head = (struct confine_image *)image->ptr;

    head->sockets = image->len;
    head->socket_count = list->len;
    for (size_t i = 0; i < list->len; i++)
        buf_add(image, str_make(list->ptr[i], strlen(list->ptr[i]) + 1));
}

static size_t image_add_path(struct buf *image, const char *path)
{
    size_t at = image->len;

    buf_add(image, str_make(path, strlen(path) + 1));
    return at;
}

static void image_add_observed(struct buf *image, const char *const *list)
{
    size_t at = image->len;
    size_t count = 0;

    for (; list && list[count]; count++)
        image_add_path(image, list[count]);
    ((struct confine_image *)image->ptr)->observed = at;
    ((struct confine_image *)image->ptr)->observed_count = count;
}

/* As they are written and as what they lead to: a program gives the one, the kernel finds the
 * other. */
static void image_add_readable(struct buf *image, const struct confinement *c)
{
    const char *const *lists[] = {c->readable, c->write};
    size_t at = image->len;
    size_t count = 0;

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (const char *const *path = lists[l]; path && *path; path++) {
            CLEANUP(mem_freep) char *real = path_real(*path);

            image_add_path(image, *path);
            count++;
            if (strcmp(real, *path) != 0) {
                image_add_path(image, real);
                count++;
            }
        }
    }
    ((struct confine_image *)image->ptr)->is_trial = true;
    ((struct confine_image *)image->ptr)->readable = at;
    ((struct confine_image *)image->ptr)->readable_count = count;
}

/* By paths: a folder comes before its contents. */
static int image_cmp_overlays(const void *a, const void *b)
{
    return strcmp((*(const struct confine_overlay *const *)a)->at,
                  (*(const struct confine_overlay *const *)b)->at);
}

static void image_add_overlays(struct buf *image, const struct confinement *c)
{
    const struct confine_overlay *sorted[CONFINE_MAX_OVERLAYS];
    struct confine_image_overlay packed[CONFINE_MAX_OVERLAYS] = {0};
    size_t at = image->len;

    for (size_t i = 0; i < c->overlay_count; i++)
        sorted[i] = &c->overlays[i];
    qsort(sorted, c->overlay_count, sizeof(sorted[0]), image_cmp_overlays);
    buf_add(image, str_make((const char *)packed, c->overlay_count * sizeof(packed[0])));
    for (size_t i = 0; i < c->overlay_count; i++) {
        packed[i].at = image_add_path(image, sorted[i]->at);
        packed[i].upper = image_add_path(image, sorted[i]->upper);
        packed[i].work = image_add_path(image, sorted[i]->work);
        packed[i].lower = image->len;
        for (; sorted[i]->lower[packed[i].lower_count]; packed[i].lower_count++)
            image_add_path(image, sorted[i]->lower[packed[i].lower_count]);
    }
    memcpy(image->ptr + at, packed, c->overlay_count * sizeof(packed[0]));
    ((struct confine_image *)image->ptr)->overlays = at;
    ((struct confine_image *)image->ptr)->overlay_count = c->overlay_count;
}

static void image_align(struct buf *image)
{
    while (image->len % _Alignof(max_align_t))
        buf_addc(image, '\0');
}

static void image_set_namespaces(struct confine_image *head, const struct confinement *c)
{
    bool privileged = confine_is_privileged();

    if (head->mounts)
        head->namespaces |= CLONE_NEWNS | (head->is_view ? 0 : CLONE_NEWIPC);
    if (!head->is_view || c->own_processes) /* and mounts for its /proc */
        head->namespaces |= CLONE_NEWPID | CLONE_NEWNS;
    if (c->net != CONFINE_NET_OPEN)
        head->namespaces |= CLONE_NEWNET;
    head->is_sealed = c->net == CONFINE_NET_TRIAL;
    head->loopback = c->net == CONFINE_NET_PROXY || head->is_sealed;
    if (!privileged && head->namespaces && !c->private_dir)
        head->namespaces |= CLONE_NEWUSER;
}

static int kit_add(struct confine_kit *kit, enum confine_fd what, int fd, struct err *err)
{
    if (fd < 0)
        return 0;
    kit->fds[what] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return kit->fds[what] < 0 ? err_sys(err, ERR_IO, "cannot copy a descriptor for a command") : 0;
}

static int kit_add_fds(struct confine_kit *kit, const struct confinement *c, struct err *err)
{
    static const struct private_dir none = PRIVATE_DIR_INIT;
    const struct private_dir *d = c->private_dir ? c->private_dir : &none;

    if (kit_add(kit, CONFINE_PROXY, c->net == CONFINE_NET_PROXY ? c->proxy : -1, err) < 0 ||
        kit_add(kit, CONFINE_RECORDS, c->observe ? c->observe : -1, err) < 0 ||
        kit_add(kit, CONFINE_USER, d->user, err) < 0 ||
        kit_add(kit, CONFINE_MOUNTS, d->mounts, err) < 0)
        return -1;
    return kit_add(kit, CONFINE_ROOT, d->root, err);
}

/* A view: mounts where there is anything to mount, and nothing else. */
static void kit_by_view(struct confine_kit *kit, const struct confinement *c,
                        const struct confine_map *m)
{
    struct confine_image *head = (struct confine_image *)kit->image.ptr;

    head->is_view = true;
    head->mounts = c->overlay_count || m->steps.len || !m->all_writable;
    head->all_writable = m->all_writable;
}

static void kit_by_backend(struct confine_kit *kit, const struct confinement *c,
                           const struct confine_map *m, struct str filter)
{
    struct confine_image *head = (struct confine_image *)kit->image.ptr;
    const struct confine_backend *by = c->by ? c->by : confine_backend();

    head->mounts = true;
    head->all_writable = m->all_writable;
    head->capabilities = confine_capabilities();
    head->filter_len = (unsigned short)(filter.len / sizeof(struct sock_filter));
    if (!by->uses_landlock)
        return;
    if (!m->all_writable)
        head->rules = CONFINE_RULES_FILES;
    else if (landlock_abi() >= LANDLOCK_ABI_SCOPES)
        head->rules = CONFINE_RULES_SCOPES;
}

static int kit_fill(struct confine_kit *kit, const struct confinement *c,
                    const struct proc_spec *spec, const struct confine_map *m, struct str filter,
                    struct err *err)
{
    const struct confine_image empty = {.fds = {-1, -1, -1, -1, -1},
                                        .ruleset = -1,
                                        .listener = -1,
                                        .hand = {-1, -1},
                                        .asks = -1,
                                        .request = -1};
    struct confine_image *head;

    if (kit_add_fds(kit, c, err) < 0)
        return -1;
    buf_add(&kit->image, str_make((const char *)&empty, sizeof(empty)));
    if (c->is_view)
        kit_by_view(kit, c, m);
    else
        kit_by_backend(kit, c, m, filter);

    head = (struct confine_image *)kit->image.ptr;
    image_set_namespaces(head, c);
    head->terminal = spec->pty;
    for (int i = 0; i < CONFINE_FDS; i++)
        head->has_fd[i] = kit->fds[i] >= 0;
    if (head->filter_len) {
        image_align(&kit->image);
        head = (struct confine_image *)kit->image.ptr;
        head->filter = kit->image.len;
        buf_add(&kit->image, filter);
    }
    image_align(&kit->image);
    head = (struct confine_image *)kit->image.ptr;
    if (head->mounts)
        image_add_steps(&kit->image, m);
    image_add_sockets(&kit->image, &kit->sockets);
    if (c->observe)
        image_add_observed(&kit->image, c->observed);
    if (c->readable)
        image_add_readable(&kit->image, c);
    if (c->overlay_count) {
        image_align(&kit->image);
        image_add_overlays(&kit->image, c);
    }
    return 0;
}

static void kit_take_sockets(struct confine_kit *kit, const struct confinement *c,
                             struct confine_map *m)
{
    for (const char *const *path = c->sockets; !(c->unix_sockets && !c->readable) && path && *path;
         path++) {
        CLEANUP(mem_freep) char *real = confine_map_socket(m, *path);

        if (real)
            strv_adds(&kit->sockets, real);
    }
}

/* By the same list that decides whether a broker answers (confine_enter.c): without a broker, ASKED
 * would let every connect(2) through. */
static enum filter_unix kit_unix(const struct confine_kit *kit, const struct confinement *c)
{
    if (c->net == CONFINE_NET_TRIAL)
        return FILTER_UNIX_ASKED;
    if (c->unix_sockets && !c->readable)
        return FILTER_UNIX_OPEN;
    return kit->sockets.len ? FILTER_UNIX_ASKED : FILTER_UNIX_CLOSED;
}

int confine_kit_init(struct confine_kit *kit, const struct confinement *c,
                     const struct proc_spec *spec, struct err *err)
{
    struct confine_map map;
    struct str filter = STR("");
    int rc = 0;

    confine_map_init(&map, c);
    if (!c->is_view) {
        kit_take_sockets(kit, c, &map);
        rc = syscall_filter_get(c->net, kit_unix(kit, c), &filter, err);
    }
    if (rc == 0)
        rc = kit_fill(kit, c, spec, &map, filter, err);
    confine_map_release(&map);
    return rc;
}

int confine_kit_init_try(struct confine_kit *kit, const char *backend, struct err *err)
{
    const struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct confinement c = {.net = CONFINE_NET_NONE, .by = confine_backend_named(backend)};
    const struct proc_spec spec = {0};
    const struct confine_map map = {0};

    return kit_fill(kit, &c, &spec, &map, str_make((const char *)all, sizeof(all)), err);
}

int confine_kit_init_try_view(struct confine_kit *kit, struct err *err)
{
    const struct confinement c = {.is_view = true};
    const struct proc_spec spec = {0};
    const struct confine_map map = {0}; /* nothing is writable: there is something to mount */
    struct confine_image *head;

    if (kit_fill(kit, &c, &spec, &map, STR(""), err) < 0)
        return -1;
    head = (struct confine_image *)kit->image.ptr;
    head->mounts = false;
    return 0;
}

void confine_kit_close(struct confine_kit *kit)
{
    for (int i = 0; i < CONFINE_FDS; i++) {
        fd_closep(&kit->fds[i]);
        kit->fds[i] = -1;
    }
}

void confine_kit_release(struct confine_kit *kit)
{
    confine_kit_close(kit);
    buf_release(&kit->image);
    strv_release(&kit->sockets);
}
