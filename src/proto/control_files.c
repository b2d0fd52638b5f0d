/*
 * control_files: files and folders as a client sees them. The thread of the client's loop.
 */
#include "proto/control_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "guard/workspace.h"
#include "host/host.h"
#include "json/json.h"
#include "json/jw.h"
#include "proto/control.h"
#include "proto/peer.h"

#define READ_BYTES ((int64_t)1 << 20) /* of a file, by default */
#define READ_MOST ((int64_t)16 << 20)

/* At most max bytes of a regular file. 1: there is more. */
static int read_some(const char *path, size_t max, struct buf *ret, struct err *err)
{
    CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_NOT_FOUND, "cannot open '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_BAD_INPUT, "'%s' is no regular file", path);
    while (ret->len <= max) {
        char *room = buf_room(ret, 65536);
        ssize_t n = read(fd, room, 65536);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read '%s'", path);
        if (n == 0)
            return 0;
        buf_grown(ret, (size_t)n);
    }
    buf_cut(ret, max, ret->len - max);
    return 1;
}

int control_read_file(struct control_call *call, struct jw *w, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT((size_t)READ_MOST + 131072);
    struct str wanted = json_get_str(call->request, "path");
    CLEANUP(mem_freep) char *path = workspace_resolve(host_workspace(call->session->host), wanted);
    bool base64 = str_is(json_get_str(call->request, "encoding"), "base64");
    int64_t max = json_get_i64(call->request, "max_bytes", READ_BYTES);
    int more;

    if (!wanted.len)
        return err_set(err, ERR_BAD_INPUT, "path is missing");
    if (max < 0 || max > READ_MOST)
        max = READ_MOST;
    more = read_some(path, (size_t)max, &text, err);
    if (more < 0)
        return -1;
    jw_key(w, "contents");
    if (base64) {
        jw_str_begin(w);
        jw_str_base64(w, buf_str(&text));
        jw_str_end(w);
        jw_kcstr(w, "encoding", "base64");
    } else {
        jw_str(w, buf_str(&text));
        jw_kbool(w, "lossy", !utf8_is_valid(buf_str(&text)));
    }
    jw_kcstr(w, "absPath", path);
    jw_kbool(w, "truncated", more);
    return 0;
}

int control_seed_read_state(struct control_call *call, struct jw *w, struct err *err)
{
    struct workspace *ws = host_workspace(call->session->host);
    struct str wanted = json_get_str(call->request, "path");
    CLEANUP(mem_freep) char *path = workspace_resolve(ws, wanted);
    struct seen_file seen;
    double mtime = 0; /* stat() of JavaScript gives fractions of a millisecond */

    (void)w;
    if (!wanted.len)
        return err_set(err, ERR_BAD_INPUT, "path is missing");
    if (!json_double(json_get(call->request, "mtime"), &mtime) || mtime < 1 || mtime > 1e15)
        return err_set(err, ERR_BAD_INPUT, "mtime must be milliseconds since 1970");
    if (!workspace_seen(ws, path, &seen))
        workspace_recall_seen(ws, path, (int64_t)mtime);
    return 0;
}

int control_register_repo_root(struct control_call *call, struct jw *w, struct err *err)
{
    struct workspace *ws = host_workspace(call->session->host);
    struct str wanted = json_get_str(call->request, "directory");
    CLEANUP(mem_freep) char *path = workspace_resolve(ws, wanted);
    CLEANUP(mem_freep) char *real = workspace_real(path);
    CLEANUP(mem_freep) char *root = workspace_real(workspace_dir(ws));
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    size_t len = strlen(root);

    if (!wanted.len)
        return err_set(err, ERR_BAD_INPUT, "directory is missing");
    if (!file_is_dir(real))
        return err_set(err, ERR_NOT_FOUND, "'%s' is no folder", real);
    if (strncmp(real, root, len) != 0 || (real[len] != '/' && real[len] && strcmp(root, "/") != 0))
        return err_set(err, ERR_BAD_INPUT, "'%s' is not below '%s'", real, root);
    if (host_add_folder(call->session->host, str_of(real), /*save=*/false, "register_repo_root",
                        &warnings, err) < 0)
        return -1;
    jw_kcstr(w, "directory", real);
    return 0;
}
