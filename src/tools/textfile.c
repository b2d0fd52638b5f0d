/*
 * textfile: the outside of a file (links, mode, encoding) is remembered next to its text. Runs on
 * tool threads; one file serves one call.
 */
#include "tools/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pinned.h"
#include "base/utf8.h"

#define BINARY_PROBE 8192 /* bytes */

const char *textfile_encoding(const struct textfile *f)
{
    if (f->encoding != ENCODING_UTF8)
        return encoding_name(f->encoding);
    return f->has_mark ? "UTF-8 with a byte order mark" : NULL;
}

static int textfile_decode(struct textfile *f, size_t mark, struct err *err)
{
    CLEANUP(buf_release) struct buf again = BUF_INIT(TEXTFILE_MAX * 2);
    struct str bytes = str_from(buf_str(&f->raw), mark);

    decode_from(f->encoding, bytes, &f->decoded);
    if (buf_check(&f->decoded, err) < 0)
        return -1;
    f->text = buf_str(&f->decoded);
    f->is_lossy = encode_to(f->encoding, f->text, &again, /*err=*/NULL) < 0 ||
                  !str_eq(buf_str(&again), bytes);
    return 0;
}

int textfile_fail(const char *path, const char *what, struct err *err)
{
    if (errno == ELOOP)
        return err_set(err, ERR_IO,
                       "'%s' leads elsewhere now, or in a circle: there is a link in its place. "
                       "Nothing was done",
                       path);
    return err_sys(err, errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "cannot %s '%s'", what, path);
}

/* Opened only to be looked at: that alone can block, or make a device do something. */
static int textfile_look(struct textfile *f, struct err *err)
{
    CLEANUP(fd_closep) int fd = pinned_open(f->path, O_PATH);

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &f->st) < 0)
        return textfile_fail(f->path, "look at", err);
    f->exists = true;
    if (S_ISLNK(f->st.st_mode)) {
        errno = ELOOP;
        return textfile_fail(f->path, "look at", err);
    }
    if (S_ISDIR(f->st.st_mode))
        return err_set(err, ERR_BAD_INPUT, "'%s' is a directory, not a file", f->path);
    if (!S_ISREG(f->st.st_mode))
        return err_set(err, ERR_BAD_INPUT, "'%s' is a device, pipe or socket, not a file", f->path);
    return 0;
}

static int textfile_slurp(struct textfile *f, struct err *err)
{
    CLEANUP(fd_closep) int fd = pinned_open(f->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return textfile_fail(f->path, "open", err);
    return file_slurp_fd(fd, f->path, TEXTFILE_MAX, &f->raw, err);
}

int textfile_load(const char *path, struct textfile *ret, struct err *err)
{
    CLEANUP(textfile_release)
    struct textfile f = {.raw = BUF_INIT(TEXTFILE_MAX), .decoded = BUF_INIT(TEXTFILE_MAX * 2)};
    size_t mark;

    f.path = mem_dup(path, strlen(path));
    if (textfile_look(&f, err) < 0)
        return -1;
    if (f.exists) {
        if (textfile_slurp(&f, err) < 0)
            return -1;
        f.encoding = decode_mark(buf_str(&f.raw), &mark);
        f.has_mark = mark;
        f.text = str_from(buf_str(&f.raw), mark);
        if (!mark && !utf8_is_valid(f.text) && !text_is_binary(f.text))
            f.encoding = decode_guess(f.text);
        if (f.encoding != ENCODING_UTF8 && textfile_decode(&f, mark, err) < 0)
            return -1;
    }
    *ret = f;
    f = (struct textfile){0};
    return 0;
}

enum buffer_truth textfile_take_buffer(struct textfile *f, struct workspace *w,
                                       struct cancel *cancel)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(TEXTFILE_MAX);
    struct str disk = buf_str(&f->raw);
    enum buffer_truth truth;

    if (!buffers_serve(w, f->path) || f->encoding != ENCODING_UTF8 || f->has_mark ||
        !utf8_is_valid(disk) || text_is_binary(disk))
        return BUFFER_NONE;
    truth = buffers_read(w, f->path, f->exists ? &f->st : NULL, disk, cancel, &text);
    if (truth != BUFFER_NONE) {
        buf_move(&f->raw, &text);
        f->text = buf_str(&f->raw);
    }
    return truth;
}

void textfile_release(struct textfile *f)
{
    mem_freep(&f->path);
    buf_release(&f->raw);
    buf_release(&f->decoded);
    *f = (struct textfile){0};
}

int textfile_save(struct textfile *f, struct str text, struct err *err)
{
    CLEANUP(buf_release) struct buf raw = BUF_INIT(TEXTFILE_MAX);
    CLEANUP(fd_closep) int at = -1;
    const char *name = path_base(f->path);

    if ((f->has_mark && encode_to(f->encoding, STR("\xef\xbb\xbf"), &raw, err) < 0) ||
        encode_to(f->encoding, text, &raw, err) < 0)
        return err_prefix(err, "'%s'", f->path);
    if (raw.over)
        return err_set(err, ERR_TOO_BIG, "'%s' would be larger than %zu MB", f->path,
                       TEXTFILE_MAX >> 20);
    at = pinned_folder(f->path, /*makes=*/!f->exists);
    if (at < 0)
        return textfile_fail(f->path, "write", err);
    /* A rename asks the folder only; that the file may not be written must count too. */
    if (f->exists && faccessat(at, name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, ERR_IO, "cannot write '%s'", f->path);
    if (file_replace_at(at, name, buf_str(&raw), f->exists ? &f->st : NULL, err) < 0)
        return -1;
    if (fstatat(at, name, &f->st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, ERR_IO, "'%s' was written and is gone", f->path);
    f->exists = true;
    f->text = (struct str){0};
    buf_move(&f->raw, &raw);
    return 0;
}

bool text_is_binary(struct str text)
{
    size_t controls = 0;

    text = str_first(text, BINARY_PROBE);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (!c)
            return true;
        /* Escape sequences, form feeds and backspaces do occur in logs. */
        controls += c < 0x20 && !strchr("\t\n\v\f\r\b\x1b", c);
    }
    return controls * 20 > text.len;
}

size_t text_count_lines(struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; n++)
        i += str_chr(str_from(text, i), '\n') + 1;
    return n;
}
