/*
 * Feeds files, or the files of folders, to a fuzz target: the corpus as an ordinary test.
 *
 *     json_parse_replay FILE|FOLDER...
 */
#include <dirent.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "fuzz.h"

#define REPLAY_MAX_BYTES ((size_t)16 << 20)

/* From memory of exactly the input's size, so that a sanitizer sees a read past its end. */
static int replay_file(const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(REPLAY_MAX_BYTES);
    CLEANUP(mem_freep) uint8_t *exact = NULL;
    struct err err = {0};

    if (file_slurp(path, REPLAY_MAX_BYTES, &text, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    exact = mem_alloc(text.len ? text.len : 1);
    if (text.len)
        memcpy(exact, text.ptr, text.len);
    fprintf(stderr, "%s\n", path); /* the last line names the culprit when it aborts */
    LLVMFuzzerTestOneInput(exact, text.len);
    return 0;
}

static int replay_folder(const char *path, size_t *count)
{
    DIR *dir = opendir(path);
    int r = 0;

    if (!dir) {
        fprintf(stderr, "cannot open '%s'\n", path);
        return -1;
    }
    for (struct dirent *e = readdir(dir); e && r == 0; e = readdir(dir)) {
        CLEANUP(mem_freep) char *file = path_join(path, e->d_name);

        if (e->d_name[0] == '.')
            continue;
        r = replay_file(file);
        (*count)++;
    }
    closedir(dir);
    return r;
}

int main(int argc, char **argv)
{
    size_t count = 0;

    for (int i = 1; i < argc; i++) {
        if (file_is_dir(argv[i])) {
            if (replay_folder(argv[i], &count) < 0)
                return 1;
        } else if (replay_file(argv[i]) < 0) {
            return 1;
        } else {
            count++;
        }
    }
    printf("%zu inputs\n", count);
    return count ? 0 : 1; /* an empty corpus proves nothing */
}
