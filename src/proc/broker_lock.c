/*
 * broker_lock: flock(2) of a confined job, called by the warden in its place.
 *
 * A readable file can be locked, and the holder of the lock stops every program outside that waits
 * for it. So a job locks only what it may write: files that it opened on a mount that is not
 * read-only. The lock belongs to the open file, which the warden has a copy of; so it does not
 * matter what the program does with its descriptor. Waiting requests are retried every few
 * milliseconds. Runs in the warden.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "proc/broker.h"
#include "proc/confine_image.h"

#define LOCK_AGAIN_MS 5
#define LOCK_MAX_WAITING 64

/* A warden serves one confined job: this is all of its state. id 0: free. */
static struct lock_waiting {
    uint64_t id;
    int file;
    int operation;
} lock_waiting[LOCK_MAX_WAITING];
static size_t lock_count;

/* Pipes and other nameless files are not shared with others. */
static bool lock_is_allowed(int file)
{
    struct statfs fs;
    struct stat st;

    if (fstat(file, &st) < 0 || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
        return false;
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return true;
    return fstatfs(file, &fs) == 0 && !((unsigned long)fs.f_flags & ST_RDONLY);
}

static void lock_send(const struct confine_image *image, uint64_t id, int error)
{
    struct seccomp_notif_resp answer = {.id = id, .error = -error};

    ioctl(image->asks, SECCOMP_IOCTL_NOTIF_SEND,
          &answer); /* fails when the process no longer waits */
}

/* False: there are too many. */
static bool lock_wait(uint64_t id, int file, int operation)
{
    for (size_t i = 0; i < LOCK_MAX_WAITING; i++) {
        if (lock_waiting[i].id)
            continue;
        lock_waiting[i] = (struct lock_waiting){id, file, operation};
        lock_count++;
        return true;
    }
    return false;
}

void broker_lock_answer(const struct confine_image *image, const struct seccomp_notif *asked)
{
    int operation = (int)asked->data.args[1];
    int file = broker_take_file((pid_t)asked->pid, (int)asked->data.args[0]);
    int rc = file < 0 ? errno : 0;

    /* Its number may belong to another process now. */
    if (rc == 0 && ioctl(image->asks, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked->id) < 0)
        rc = ESRCH;
    else if (rc == 0 && operation != LOCK_UN && !lock_is_allowed(file))
        rc = ENOLCK;
    else if (rc == 0)
        rc = flock(file, operation | LOCK_NB) < 0 ? errno : 0;
    if (rc == EWOULDBLOCK && !(operation & LOCK_NB)) {
        if (lock_wait(asked->id, file, operation))
            return;
        rc = ENOLCK;
    }
    if (file >= 0)
        close(file);
    lock_send(image, asked->id, rc);
}

int broker_lock_pause_ms(void)
{
    return lock_count ? LOCK_AGAIN_MS : -1;
}

void broker_lock_again(const struct confine_image *image)
{
    for (size_t i = 0; lock_count && i < LOCK_MAX_WAITING; i++) {
        struct lock_waiting *w = &lock_waiting[i];
        bool waits;
        int rc;

        if (!w->id)
            continue;
        waits = image->asks >= 0 && ioctl(image->asks, SECCOMP_IOCTL_NOTIF_ID_VALID, &w->id) == 0;
        rc = waits && flock(w->file, w->operation | LOCK_NB) < 0 ? errno : 0;
        if (waits && rc == EWOULDBLOCK)
            continue;
        close(w->file);
        if (waits)
            lock_send(image, w->id, rc);
        w->id = 0;
        lock_count--;
    }
}
