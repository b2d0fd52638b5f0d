/*
 * planted: a search for keys. Any thread.
 */
#include "planted.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define PLANTED_MAX_FILE ((size_t)64 << 20)
#define PLANTED_MAX_DEPTH 16

bool planted_is_in(struct str text)
{
    static const char *const names[] = {"sk-ant",    "sk",  "gm",  "gh",
                                        "sk-openai", "gsk", "tok", "own"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char key[64];

        snprintf(key, sizeof(key), "%s-e2e-0123456789", names[i]);
        if (str_has(text, str_of(key)))
            return true;
    }
    return false;
}

bool planted_may_be_in(const char *path)
{
    return str_ends(str_of(path), STR("/.tenax/auth.json")) || strstr(path, "/file-history/");
}

static bool planted_is_in_file(const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(PLANTED_MAX_FILE);

    return file_slurp(path, PLANTED_MAX_FILE, &text, /*err=*/NULL) == 0 &&
           planted_is_in(buf_str(&text));
}

static char *planted_find_in(const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    char *found = NULL;
    struct dirent *e;

    while (dir && !found && depth < PLANTED_MAX_DEPTH && ((void)(e = readdir(dir)), e)) {
        CLEANUP(mem_freep) char *path = path_join(folder, e->d_name);
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            found = planted_find_in(path, depth + 1);
        else if (S_ISREG(st.st_mode) && !planted_may_be_in(path) && planted_is_in_file(path))
            found = TAKE_PTR(path);
    }
    if (dir)
        closedir(dir);
    return found;
}

char *planted_find(const char *folder)
{
    return planted_find_in(folder, 0);
}
