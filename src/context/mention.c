/*
 * mention: text in, reminders, images and a line for the user out. The caller decides about a path
 * with its links followed; it is then opened where it led to (base/pinned.h). Any thread.
 */
#include "context/mention.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/image.h"
#include "base/pinned.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "context/reminder.h"

struct mention {
    const struct mention_spec *spec;
    struct strv done; /* paths, links followed, with the lines of them */
    struct mentions *ret;
};

/* One of them. */
struct named {
    struct str name;     /* as it was written */
    int64_t first, last; /* lines, from 1; 0: all of it */
    struct mention_found at;
    int fd;
    struct stat st;
};

void mentions_release(struct mentions *m)
{
    buf_release(&m->reminders);
    buf_release(&m->told);
    VEC_EACH(&m->images, image) {
        buf_release(&image->data);
    }
    vec_release(&m->images);
}

size_t mention_path_len(struct str s)
{
    size_t i = 0;

    while (i < s.len && !strchr(" \t\r\n`'\"<>|*,;()[]{}", s.ptr[i]))
        i++;
    while (i && strchr(".:!?", s.ptr[i - 1]))
        i--;
    return i;
}

/* The path at the start of s, which follows "@"; empty: there is none. */
static struct str read_path(struct str s)
{
    size_t end;

    if (!str_starts(s, STR("\"")))
        return str_first(s, mention_path_len(s));
    s = str_from(s, 1);
    s = str_first(s, str_chr(s, '\n'));
    end = str_chr(s, '"');
    return end < s.len ? str_first(s, end) : STR("");
}

/* Takes "#L10", "#L10-20" or "#L10-L20" off the end of a path; false: it has none. */
static bool cut_lines(struct str *path, int64_t *ret_first, int64_t *ret_last)
{
    size_t at = str_find(*path, STR("#L"));
    struct str last = str_from(*path, at + 2);
    struct str first;

    if (at >= path->len)
        return false;
    (void)str_cut(&last, '-', &first);
    if (str_starts(last, STR("L")))
        last = str_from(last, 1);
    if (str_to_i64(first, ret_first, /*err=*/NULL) < 0 || *ret_first < 1)
        return false;
    *ret_last = *ret_first;
    if (str_from(*path, at + 2 + first.len).len &&
        (str_to_i64(last, ret_last, /*err=*/NULL) < 0 || *ret_last < *ret_first))
        return false;
    *path = str_first(*path, at);
    return true;
}

/* ---- notes about it ---- */

static void say_sent(struct mention *m, const struct named *f, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void say_sent(struct mention *m, const struct named *f, const char *fmt, ...)
{
    va_list args;

    if (f->at.is_pasted) /* the prompt shows it */
        return;
    buf_addf(&m->ret->told, "Sent %.*s (", STR_ARG(f->name));
    va_start(args, fmt);
    buf_addv(&m->ret->told, fmt, args);
    va_end(args);
    buf_adds(&m->ret->told, ")\n");
}

static void say_not_sent(struct mention *m, const struct named *f, const char *why)
{
    buf_addf(&m->ret->told, "Not sent: %.*s (%s)\n", STR_ARG(f->name), why);
}

/* The model gets it as well. */
static void add_note(struct mention *m, const struct named *f, const char *why)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&out, "The user names this file: %s\n(It does not go along: %s.)", f->at.path, why);
    reminder_add(&m->ret->reminders, buf_str(&out));
    say_not_sent(m, f, why);
}

/* ---- text ---- */

static size_t count_lines(struct str text)
{
    size_t n = text.len && text.ptr[text.len - 1] != '\n';

    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    return n;
}

static void say_lines(struct mention *m, const struct named *f, const char *which, struct str text)
{
    size_t n = count_lines(text);

    say_sent(m, f, "%s%zu line%s, %zu bytes", which, n, n == 1 ? "" : "s", text.len);
}

/* Its bytes up to max, and one byte more to detect the rest. */
static void read_bytes(int fd, size_t max, struct buf *ret)
{
    char chunk[4 << 10];
    ssize_t n = 1;

    while (n > 0 && ret->len <= max) {
        n = read(fd, chunk, sizeof(chunk));
        if (n > 0)
            buf_add(ret, str_make(chunk, (size_t)n));
    }
}

/* Its text as an editor has it, where that counts; else its bytes up to max and one more. */
static void read_text(struct mention *m, const struct named *f, size_t max, struct buf *ret)
{
    CLEANUP(buf_release) struct buf disk = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf buffer = BUF_INIT(MENTION_MAX_BUFFER);
    const struct mention_spec *from = m->spec;

    if (f->st.st_size > (off_t)MENTION_MAX_BUFFER || !from->is_lent(from->arg, f->at.real)) {
        read_bytes(f->fd, max, ret);
        return;
    }
    read_bytes(f->fd, MENTION_MAX_BUFFER, &disk);
    if (utf8_is_valid(buf_str(&disk)) && !str_starts(buf_str(&disk), STR("\xef\xbb\xbf")) &&
        from->unsaved(from->arg, f->at.real, &f->st, buf_str(&disk), &buffer))
        buf_move(&disk, &buffer);
    buf_add(ret, str_first(buf_str(&disk), max + 1));
}

static bool is_text(struct str text)
{
    return utf8_is_valid(text) && str_chr(text, '\0') >= text.len;
}

/* Up to the last whole line that fits. */
static struct str whole_lines(struct str text, size_t max)
{
    if (text.len <= max)
        return text;
    text = str_clip(text, max);
    while (text.len && text.ptr[text.len - 1] != '\n')
        text.len--;
    return text;
}

static void add_text(struct mention *m, const struct named *f)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(2 * MENTION_MAX_FILE);
    struct str text;
    bool is_cut;

    read_text(m, f, MENTION_MAX_FILE, &bytes);
    is_cut = bytes.len > MENTION_MAX_FILE;
    if (!is_text(str_clip(buf_str(&bytes), MENTION_MAX_FILE))) {
        add_note(m, f, "it is not text");
        return;
    }
    m->spec->saw(m->spec->arg, f->at.real, &f->st, str_clip(buf_str(&bytes), MENTION_MAX_FILE),
                 is_cut);
    text = whole_lines(buf_str(&bytes), MENTION_MAX_FILE);
    buf_addf(&out, "The user names this file: %s\n\n%.*s%s", f->at.path, STR_ARG(text),
             is_cut ? "\n[Only the beginning is here; Read has the rest.]" : "");
    reminder_add(&m->ret->reminders, buf_str(&out));
    say_lines(m, f, is_cut ? "the first " : "", text);
}

/* The lines [first, last] of a text. */
static struct str cut_out(struct str text, int64_t first, int64_t last)
{
    struct str rest = text;
    struct str line;
    size_t from;

    for (int64_t i = 1; i < first && rest.len; i++)
        (void)str_cut(&rest, '\n', &line);
    from = text.len - rest.len;
    for (int64_t i = first; i <= last && rest.len; i++)
        (void)str_cut(&rest, '\n', &line);
    return str_first(str_from(text, from), text.len - rest.len - from);
}

static void add_lines(struct mention *m, const struct named *f)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(2 * MENTION_MAX_FILE);
    struct str lines;
    struct str text;

    read_text(m, f, MENTION_MAX_SCAN, &bytes);
    lines = cut_out(buf_str(&bytes), f->first, f->last);
    text = whole_lines(lines, MENTION_MAX_FILE);
    if (!text.len || !is_text(text)) {
        add_note(m, f, lines.len ? "it is not text" : "it has no such lines");
        return;
    }
    m->spec->saw(m->spec->arg, f->at.real, &f->st, text, /*is_partial=*/true);
    buf_addf(&out,
             "The user names lines of this file: %s\nThese are the lines %" PRId64 " to %zu:"
             "\n\n%.*s%s",
             f->at.path, f->first, (size_t)f->first + count_lines(text) - 1, STR_ARG(text),
             text.len < lines.len ? "\n[Only the beginning is here; Read has the rest.]" : "");
    reminder_add(&m->ret->reminders, buf_str(&out));
    say_lines(m, f, "", text);
}

/* ---- pictures ---- */

static const char *image_kind(int fd)
{
    char start[16];
    ssize_t n = pread(fd, start, sizeof(start), 0);

    return n > 0 ? image_type(str_make(start, (size_t)n)) : NULL;
}

static void add_image(struct mention *m, const struct named *f, const char *type)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct mention_image *image;
    size_t width;
    size_t height;

    read_bytes(f->fd, IMAGE_MAX_BYTES, &bytes);
    image_size(buf_str(&bytes), &width, &height);
    if (!m->spec->takes_images) {
        add_note(m, f, "the model takes no images");
    } else if (bytes.len > IMAGE_MAX_BYTES || width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE) {
        add_note(m, f, "the picture is too large");
    } else if (!width || !height) { /* a provider refuses the whole request for it */
        add_note(m, f, "the picture is damaged");
    } else {
        image = vec_add(&m->ret->images);
        *image = (struct mention_image){.media_type = type, .data = BUF_INIT(BUF_NO_LIMIT)};
        buf_add_base64(&image->data, buf_str(&bytes));
        say_sent(m, f, "%s, %zu x %zu pixels, %zu bytes", type, width, height, bytes.len);
    }
}

/* ---- folders ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_folder(struct mention *m, const struct named *f)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    DIR *dir = fdopendir(fcntl(f->fd, F_DUPFD_CLOEXEC, 0));

    while (dir && names.len <= MENTION_MAX_NAMES) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
        const struct dirent *d = readdir(dir);

        if (!d)
            break;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        buf_addf(&name, "%s%s", d->d_name, d->d_type == DT_DIR ? "/" : "");
        strv_add(&names, buf_str(&name));
    }
    if (dir)
        closedir(dir);
    if (names.len)
        qsort(names.ptr, names.len, sizeof(names.ptr[0]), by_name);
    buf_addf(&out, "The user names this folder: %s\n\n", f->at.path);
    for (size_t i = 0; i < names.len && i < MENTION_MAX_NAMES; i++)
        buf_addf(&out, "%s\n", names.ptr[i]);
    if (names.len > MENTION_MAX_NAMES)
        buf_adds(&out, "[There are more.]");
    reminder_add(&m->ret->reminders, buf_str(&out));
    say_sent(m, f, "a folder, %zu names%s",
             names.len > MENTION_MAX_NAMES ? MENTION_MAX_NAMES : names.len,
             names.len > MENTION_MAX_NAMES ? " of more" : "");
}

/* ---- one after the other ---- */

static void add_opened(struct mention *m, struct named *f)
{
    const char *image;

    if (fstat(f->fd, &f->st) < 0)
        return;
    if (S_ISDIR(f->st.st_mode)) {
        add_folder(m, f);
        return;
    }
    if (!S_ISREG(f->st.st_mode))
        return;
    image = image_kind(f->fd);
    if (image)
        add_image(m, f, image);
    else if (f->first)
        add_lines(m, f);
    else
        add_text(m, f);
}

/* Whether it was named before. */
static bool is_again(struct mention *m, const struct named *f)
{
    CLEANUP(buf_release) struct buf key = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&key, "%s#%" PRId64 "-%" PRId64, f->at.real, f->first, f->last);
    if (strv_has(&m->done, buf_str(&key)))
        return true;
    strv_add(&m->done, buf_str(&key));
    return false;
}

static void add_path(struct mention *m, struct str name)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct named f = {.name = name};
    struct str path = name;
    bool is_there = m->spec->find(m->spec->arg, path, &arena, &f.at);

    if (!is_there && cut_lines(&path, &f.first, &f.last))
        is_there = m->spec->find(m->spec->arg, path, &arena, &f.at);
    if (!is_there || is_again(m, &f))
        return;
    if (f.at.refused) {
        say_not_sent(m, &f, f.at.refused);
        return;
    }
    if (m->done.len > MENTION_MAX_FILES) {
        add_note(m, &f, "there are too many");
        return;
    }
    f.fd = pinned_open(f.at.real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f.fd < 0)
        return;
    add_opened(m, &f);
    close(f.fd);
}

void mention_files(const struct mention_spec *spec, struct str words, struct mentions *ret)
{
    struct mention m = {.spec = spec, .ret = ret};

    for (size_t i = 0; i < words.len; i++) {
        struct str path;

        if (words.ptr[i] != '@' || (i && !strchr(" \t\n([\"'", words.ptr[i - 1])))
            continue;
        path = read_path(str_from(words, i + 1));
        if (path.len)
            add_path(&m, path);
        i += path.len;
    }
    strv_release(&m.done);
}
