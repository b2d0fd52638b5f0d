/*
 * path_glob: the same idea twice, over the letters of a name and over the names of a path: on a
 * mismatch only the last star can help, by taking one more. Pure; any thread.
 */
#include "base/path_glob.h"

/* A name and a glob without '/'. On a mismatch only the last '*' can help, by taking one more. */
static bool glob_name(struct str glob, struct str name)
{
    size_t g = 0;
    size_t n = 0;
    size_t star = glob.len + 1; /* where to continue after the last '*', and with what */
    size_t mark = 0;

    while (n < name.len) {
        if (g < glob.len && glob.ptr[g] == '*') {
            star = ++g;
            mark = n;
        } else if (g < glob.len && (glob.ptr[g] == '?' || glob.ptr[g] == name.ptr[n])) {
            g++;
            n++;
        } else if (star <= glob.len) {
            g = star;
            n = ++mark;
        } else {
            return false;
        }
    }
    while (g < glob.len && glob.ptr[g] == '*')
        g++;
    return g == glob.len;
}

/* The same over names: `**` is the star, a name is the letter. */
bool path_glob_match(struct str glob, struct str path)
{
    struct str last_glob = {0};
    struct str last_path = {0};
    bool has_star = false;

    if (str_starts(glob, STR("/")))
        glob = str_from(glob, 1);
    else
        has_star = true;
    if (!glob.len)
        return false;
    path = str_from(path, 1);
    last_glob = glob;
    last_path = path;
    while (path.len) {
        struct str want = str_first(glob, str_chr(glob, '/'));
        struct str name = str_first(path, str_chr(path, '/'));

        if (str_is(want, "**")) {
            glob = str_from(glob, want.len + 1);
            has_star = true;
            last_glob = glob;
            last_path = path;
            if (!glob.len)
                return true;
        } else if (glob.len && glob_name(want, name)) {
            glob = str_from(glob, want.len + 1);
            path = str_from(path, name.len + 1);
        } else if (has_star) {
            last_path = str_from(last_path, str_chr(last_path, '/') + 1);
            path = last_path;
            glob = last_glob;
        } else {
            return false;
        }
    }
    return !glob.len || str_is(glob, "**");
}
