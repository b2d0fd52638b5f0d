/*
 * project: names of folders, and deleting them. Any thread.
 */
#include "host/project.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"

#define KEY_MAX 200

static uint32_t hash_unit(uint32_t hash, uint32_t unit)
{
    return hash * 31 + unit;
}

static void add_base36(struct buf *out, uint64_t n)
{
    char digits[16];
    size_t len = 0;

    do {
        digits[len++] = "0123456789abcdefghijklmnopqrstuvwxyz"[n % 36];
        n /= 36;
    } while (n);
    while (len)
        buf_addc(out, digits[--len]);
}

/* Lengths are in UTF-16 units, for compatibility with other programs. */
void project_key(struct str dir, struct buf *ret)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);
    uint32_t hash = 0;

    while (dir.len) {
        uint32_t code = 0xfffd;
        size_t len = utf8_decode(dir, &code);

        if (code >= 0x10000) {
            hash = hash_unit(hash, 0xd800 + ((code - 0x10000) >> 10));
            hash = hash_unit(hash, 0xdc00 + ((code - 0x10000) & 0x3ff));
            buf_adds(&key, "--");
        } else {
            hash = hash_unit(hash, code);
            buf_addc(&key, code < 0x80 && str_is_alnum((char)code) ? (char)code : '-');
        }
        dir = str_from(dir, len ? len : 1);
    }
    buf_add(ret, str_first(buf_str(&key), KEY_MAX));
    if (key.len > KEY_MAX) {
        int64_t signed_hash = (int32_t)hash;

        buf_addc(ret, '-');
        add_base36(ret, (uint64_t)(signed_hash < 0 ? -signed_hash : signed_hash));
    }
}

void project_session_dir(struct str home, struct str dir, struct str session, struct buf *ret)
{
    buf_add(ret, home);
    buf_adds(ret, "/projects/");
    project_key(dir, ret);
    buf_addc(ret, '/');
    buf_add(ret, session);
}

void project_forget(const char *session_dir)
{
    CLEANUP(mem_freep) char *outputs = path_join(session_dir, "tool-results");
    CLEANUP(mem_freep) char *project = path_dirname(session_dir);
    DIR *d = opendir(outputs);

    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        (void)unlinkat(dirfd(d), e->d_name, 0); /* fails for "." and ".." */
    if (d)
        closedir(d);
    (void)rmdir(outputs);
    (void)rmdir(session_dir);
    (void)rmdir(project);
}
