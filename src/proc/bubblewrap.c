/*
 * bubblewrap: the steps of a confinement, as arguments. Any thread.
 */
#include "proc/bubblewrap.h"

#include <unistd.h>

#include "base/err.h"
#include "base/strv.h"
#include "proc/confine_image.h"
#include "proc/confine_map.h"
#include "proc/launch.h"
#include "proc/proc.h"

const char *bubblewrap_path(void)
{
    static const char *const places[] = {"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (access(places[i], X_OK) == 0)
            return places[i];
    }
    return NULL;
}

/* It makes one by itself for everybody but root; root of a container may have no other right. */
bool bubblewrap_needs_user(void)
{
    return geteuid() == 0 && !confine_is_privileged();
}

static void bubblewrap_add(struct strv *argv, const char *option, const char *a, const char *b)
{
    strv_adds(argv, option);
    if (a)
        strv_adds(argv, a);
    if (b)
        strv_adds(argv, b);
}

static void bubblewrap_add_step(struct strv *argv, const struct confine_step *step)
{
    switch (step->what) {
    case STEP_PIN:
        if (step->is_link)
            break; /* bwrap would follow it; it is kept already (confine_mounts.h) */
        /* fall through */
    case STEP_WRITE:
        bubblewrap_add(argv, "--bind", step->path, step->path);
        break;
    case STEP_SHOW:
    case STEP_READ_ONLY:
        bubblewrap_add(argv, "--ro-bind", step->path, step->path);
        break;
    case STEP_HIDE:
        if (!step->is_dir) {
            bubblewrap_add(argv, "--ro-bind", "/dev/null", step->path);
            break;
        }
        bubblewrap_add(argv, "--perms", step->has_inner ? "0755" : "0000", NULL);
        bubblewrap_add(argv, "--tmpfs", step->path, NULL);
        break;
    }
}

static void bubblewrap_add_rights(struct strv *argv)
{
    static const char *const kept[] = {"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"};

    bubblewrap_add(argv, "--cap-drop", "ALL", NULL);
    for (size_t i = 0; geteuid() == 0 && i < ARRAY_LEN(kept); i++)
        bubblewrap_add(argv, "--cap-add", kept[i], NULL);
}

int bubblewrap_argv(const struct confine_map *m, const struct proc_spec *spec, bool own_pids,
                    struct strv *ret, struct err *err)
{
    const char *path = bubblewrap_path();

    if (!path)
        return err_set(err, ERR_UNSUPPORTED, "bwrap is not installed");
    /* bwrap itself would say so on standard error, in the command's place. */
    if (launch_check_program(spec, err) < 0)
        return -1;
    strv_adds(ret, path);
    bubblewrap_add(ret, m->all_writable ? "--bind" : "--ro-bind", "/", "/");
    if (!m->all_writable)
        bubblewrap_add(ret, "--dev", "/dev", NULL);
    else
        bubblewrap_add(ret, "--dev-bind", "/dev", "/dev");
    bubblewrap_add(ret, "--unshare-ipc", NULL, NULL);
    if (bubblewrap_needs_user())
        bubblewrap_add(ret, "--unshare-user", NULL, NULL);
    if (own_pids) {
        bubblewrap_add(ret, "--unshare-pid", NULL, NULL);
        bubblewrap_add(ret, "--proc", "/proc", NULL);
    }
    VEC_EACH(&m->steps, step) {
        bubblewrap_add_step(ret, step);
    }
    VEC_EACH(&m->steps, hidden) {
        if (hidden->what == STEP_HIDE && hidden->is_dir)
            bubblewrap_add(ret, "--remount-ro", hidden->path, NULL);
    }
    bubblewrap_add_rights(ret);
    strv_adds(ret, "--seccomp");
    strv_addf(ret, "%d", CONFINE_FILTER_FD);
    if (spec->dir)
        bubblewrap_add(ret, "--chdir", spec->dir, NULL);
    strv_adds(ret, "--");
    for (const char *const *arg = spec->argv; *arg; arg++)
        strv_adds(ret, *arg);
    return 0;
}
