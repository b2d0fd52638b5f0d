/*
 * outside: examines PATH component by component. Any thread.
 */
#include "proc/outside.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"

#define OUTSIDE_USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

static bool is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    while (len > 1 && dir[len - 1] == '/')
        len--;
    return len > 1 && strncmp(path, dir, len) == 0 && (!path[len] || path[len] == '/');
}

/* By its name, which may be a link that commands can replace, and by its target. */
static bool is_safe(struct str folder, const struct strv *dirs)
{
    CLEANUP(buf_release) struct buf named = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *real = NULL;

    if (!str_starts(folder, STR("/")))
        return false;
    path_walk(&named, folder);
    real = path_real(buf_cstr(&named));
    for (size_t i = 0; i < dirs->len; i++) {
        CLEANUP(mem_freep) char *dir = path_real(dirs->ptr[i]);

        if (is_in(buf_cstr(&named), dirs->ptr[i]) || is_in(buf_cstr(&named), dir) ||
            is_in(real, dir))
            return false;
    }
    return true;
}

static void add_path(struct str path, const struct strv *dirs, struct strv *ret)
{
    CLEANUP(buf_release) struct buf kept = BUF_INIT(BUF_NO_LIMIT);
    struct str folder;

    while (str_cut(&path, ':', &folder)) {
        if (is_safe(folder, dirs))
            buf_addf(&kept, "%s%.*s", kept.len ? ":" : "", STR_ARG(folder));
    }
    strv_addf(ret, "PATH=%s", kept.len ? buf_cstr(&kept) : OUTSIDE_USUAL_PATH);
}

void outside_environ(char *const *given, const struct strv *dirs, struct strv *ret)
{
    for (; given && *given; given++) {
        struct str variable = str_of(*given);

        if (str_starts(variable, STR("PATH=")))
            add_path(str_from(variable, 5), dirs, ret);
        else
            strv_add(ret, variable);
    }
}
