/*
 * Read: a file for the model: text with numbered lines, a picture, a notebook, a PDF. Its first
 * bytes decide its type, not its name. A text up to 10 MB is read whole (and remembered as seen);
 * of a larger one the lines asked for are picked out as it streams by. Runs on a tool thread; sees
 * only its call.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tool.h"
#include "base/err.h"
#include "base/file.h"
#include "base/image.h"
#include "base/pinned.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "sync/cancel.h"
#include "tools/entries.h"
#include "tools/line_window.h"
#include "tools/notebook.h"
#include "tools/pdf.h"
#include "tools/suggest.h"
#include "tools/textfile.h"

#define READ_MAX_LINES 2000
#define READ_MAX_SHOWN ((size_t)100 << 10)
#define READ_MAX_SCAN ((int64_t)4 << 30) /* bytes of a huge file that are looked through */
#define READ_CHUNK ((size_t)256 << 10)

static void tool_read_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret);
static void tool_read_expand(const struct tool_entry *e, struct workspace *w,
                             const struct json *args, struct buf *ret);
static int tool_read_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_read_entry = {
    .name = "Read",
    .text = tool_read_md,
    .schema = tool_read_schema,
    .specifier = ABOUT_PATH,
    .flags = TOOL_READ_ONLY | TOOL_CONCURRENT,
    .max_result = READ_MAX_SHOWN + ((size_t)4 << 10), /* it cuts by itself, at whole lines */
    .about = tool_read_about,
    .expand = tool_read_expand,
    .run = tool_read_run,
};

/* A file being read. */
struct reading {
    struct tool_call *call;
    struct tool_result *ret;
    const char *path; /* as it was named, absolute */
    char *real;       /* links followed */
    int fd;
    struct stat st;
    size_t first; /* lines asked for */
    size_t limit;
    bool is_part; /* offset or limit were given */
};

static void tool_read_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret)
{
    workspace_about_path(w, json_get_str(args, "file_path"), /*writes=*/false, arena, ret);
    (void)e;
}

static void tool_read_expand(const struct tool_entry *e, struct workspace *w,
                             const struct json *args, struct buf *ret)
{
    (void)e;
    tool_expand_path(w, args, "file_path", ret);
}

static void reading_write_data(struct reading *r, struct str content, size_t lines, size_t first,
                               size_t total)
{
    struct jw out;

    jw_init(&out, &r->ret->data, 0);
    jw_object(&out);
    jw_kcstr(&out, "type", "text");
    jw_key(&out, "file");
    jw_object(&out);
    jw_kcstr(&out, "filePath", r->path);
    jw_kstr(&out, "content", content);
    jw_ki64(&out, "numLines", (int64_t)lines);
    jw_ki64(&out, "startLine", (int64_t)first);
    jw_ki64(&out, "totalLines", (int64_t)total);
    jw_object_end(&out);
    jw_object_end(&out);
}

/* The lines, and what there is to say about them. encoding: NULL for plain UTF-8; counted: total is
 * that of the whole file. */
static void reading_show(struct reading *r, const struct line_window *w, const char *encoding,
                         bool counted)
{
    struct buf *text = &r->ret->text;
    size_t last = w->first + w->shown - 1;
    const char *least = counted ? "" : "at least ";

    reading_write_data(r, buf_str(&w->plain), w->shown, w->first, w->total);
    if (!w->total) {
        buf_adds(text, "The file is there but empty.");
        return;
    }
    if (!w->shown) {
        buf_addf(text, "Nothing to show: offset %zu is past the end, the file has %s%zu line%s.",
                 w->first, least, w->total, w->total == 1 ? "" : "s");
        return;
    }
    buf_add(text, buf_str(&w->numbered));
    if (last < w->total || !counted)
        buf_addf(text, "\n\n[Lines %zu-%zu of %s%zu are shown%s. Continue with offset %zu.]",
                 w->first, last, least, w->total, w->is_full ? ", 100 KB of them" : "", last + 1);
    if (w->bad_bytes)
        buf_addf(text,
                 "\n\n[%zu byte%s no UTF-8 and shown as \xef\xbf\xbd (the file may be Latin-1). "
                 "Edit keeps them as they are where old_string does not touch them.]",
                 w->bad_bytes, w->bad_bytes == 1 ? " is" : "s are");
    if (encoding)
        buf_addf(text, "\n\n[The file is %s; edits keep that.]", encoding);
}

static int reading_refuse_binary(struct reading *r, struct err *err)
{
    return err_set(
        err, ERR_BAD_INPUT,
        "'%s' is a binary file (%lld bytes) and cannot be shown as text. Look at it with "
        "Bash: file, xxd, strings",
        r->path, (long long)r->st.st_size);
}

static int reading_small_text(struct reading *r, struct err *err)
{
    CLEANUP(textfile_release) struct textfile file = {0};
    CLEANUP(line_window_release) struct line_window window;
    enum buffer_truth truth;
    size_t last;

    line_window_init(&window, r->first, r->limit, READ_MAX_SHOWN);
    if (textfile_load(r->real, &file, err) < 0)
        return -1;
    truth = textfile_take_buffer(&file, r->call->workspace, r->call->cancel);
    if (text_is_binary(file.text) && !r->call->sees_all)
        return reading_refuse_binary(r, err);
    line_window_feed(&window, file.text);
    line_window_end(&window);
    last = window.first + window.shown - 1;
    if (window.shown || !window.total)
        workspace_saw(r->call->workspace, r->real, &file.st, buf_str(&file.raw),
                      window.first > 1 || last < window.total || window.cut_lines);
    reading_show(r, &window, textfile_encoding(&file), /*counted=*/true);
    if (truth == BUFFER_CONFLICT)
        buf_adds(&r->ret->text,
                 "\n\n[The file has changed on disk, too: this is the user's unsaved text in the "
                 "editor. It cannot be edited until the user has saved or reloaded it.]");
    return 0;
}

static int reading_huge_text(struct reading *r, struct err *err)
{
    CLEANUP(line_window_release) struct line_window window;
    CLEANUP(mem_freep) char *chunk = mem_alloc(READ_CHUNK);
    int64_t done = 0;
    size_t mark;

    line_window_init(&window, r->first, r->limit, READ_MAX_SHOWN);
    if (!r->is_part)
        return err_set(
            err, ERR_TOO_BIG,
            "'%s' has %lld MB: Read parts of it with offset and limit, or search it with "
            "Grep",
            r->path, (long long)(r->st.st_size >> 20));
    if (lseek(r->fd, 0, SEEK_SET) < 0)
        return err_sys(err, ERR_IO, "'%s'", r->path);
    while (done < READ_MAX_SCAN) {
        ssize_t n = read(r->fd, chunk, READ_CHUNK);
        struct str bytes = {chunk, n > 0 ? (size_t)n : 0};

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, ERR_IO, "cannot read '%s'", r->path);
        if (cancel_check(r->call->cancel, err) < 0)
            return -1;
        if (!n)
            break;
        if (!done) {
            if (decode_mark(bytes, &mark) != ENCODING_UTF8)
                return err_set(err, ERR_TOO_BIG,
                               "'%s' is UTF-16 of %lld MB: convert it first (iconv)", r->path,
                               (long long)(r->st.st_size >> 20));
            if (text_is_binary(bytes) && !r->call->sees_all)
                return reading_refuse_binary(r, err);
            bytes = str_from(bytes, mark);
        }
        line_window_feed(&window, bytes);
        done += n;
    }
    line_window_end(&window);
    reading_show(r, &window, /*encoding=*/NULL, /*counted=*/done < READ_MAX_SCAN);
    return 0;
}

static int reading_image(struct reading *r, const char *type, struct err *err)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(IMAGE_MAX_BYTES);
    struct jw out;
    size_t width;
    size_t height;

    if (r->st.st_size > (off_t)IMAGE_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG,
                       "'%s' is a picture of %lld KB; the limit is %zu KB. Make it smaller first",
                       r->path, (long long)(r->st.st_size >> 10), IMAGE_MAX_BYTES >> 10);
    if (file_slurp_fd(r->fd, r->real, IMAGE_MAX_BYTES, &bytes, err) < 0)
        return -1;
    image_size(buf_str(&bytes), &width, &height);
    /* A provider refuses the whole request for one bad picture. */
    if (!width || !height)
        return err_set(err, ERR_BAD_INPUT, "'%s' begins like %s but is damaged", r->path, type);
    if (width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE)
        return err_set(err, ERR_TOO_BIG,
                       "'%s' has %zu x %zu pixels; the limit is %d on each side. Make it smaller "
                       "first",
                       r->path, width, height, IMAGE_MAX_SIDE);
    buf_addf(&r->ret->text, "%s, %zu x %zu pixels, %zu bytes.", type, width, height, bytes.len);
    jw_init(&out, &r->ret->data, 0);
    jw_object(&out);
    jw_kcstr(&out, "type", "image");
    jw_key(&out, "file");
    jw_object(&out);
    jw_kcstr(&out, "filePath", r->path);
    jw_kcstr(&out, "type", type);
    jw_ki64(&out, "originalSize", (int64_t)bytes.len);
    jw_object_end(&out);
    jw_object_end(&out);
    *vec_add(&r->ret->images) = (struct tool_image){.media_type = type};
    buf_move(&r->ret->images.ptr[r->ret->images.len - 1].bytes, &bytes);
    return 0;
}

static int reading_notebook(struct reading *r, struct err *err)
{
    CLEANUP(textfile_release) struct textfile file = {0};
    struct notebook nb;

    if (textfile_load(r->real, &file, err) < 0)
        return -1;
    (void)textfile_take_buffer(&file, r->call->workspace, r->call->cancel);
    if (notebook_parse(&nb, file.text, err) < 0)
        return err_prefix(err, "'%s'", r->path);
    notebook_show(&nb, READ_MAX_SHOWN, r->ret);
    workspace_saw(r->call->workspace, r->real, &file.st, buf_str(&file.raw), false);
    reading_write_data(r, buf_str(&r->ret->text), text_count_lines(buf_str(&r->ret->text)), 1,
                       text_count_lines(buf_str(&r->ret->text)));
    notebook_release(&nb);
    return 0;
}

static int reading_pdf(struct reading *r, struct err *err)
{
    CLEANUP(buf_release) struct buf pages = BUF_INIT(TOOL_MAX_TEXT);
    CLEANUP(line_window_release) struct line_window window;
    struct pdf_range range;

    line_window_init(&window, 1, SIZE_MAX, READ_MAX_SHOWN);
    if (pdf_range_parse(json_get_str(r->call->args, "pages"), &range, err) < 0 ||
        pdf_read(r->call, r->real, r->fd, range, &pages, err) < 0)
        return -1;
    line_window_feed(&window, buf_str(&pages));
    line_window_end(&window);
    if (!window.shown) {
        buf_adds(&r->ret->text, "These pages have no text (they may be scanned pictures).");
    } else {
        buf_add(&r->ret->text, buf_str(&window.plain));
        if (window.is_full)
            buf_addf(&r->ret->text, "\n\n[Cut at %zu KB: ask for fewer pages.]",
                     READ_MAX_SHOWN >> 10);
    }
    reading_write_data(r, buf_str(&window.plain), window.shown, 1, window.total);
    return 0;
}

static int reading_by_kind(struct reading *r, struct err *err)
{
    char head[16];
    ssize_t n = pread(r->fd, head, sizeof(head), 0);
    struct str start = {head, n > 0 ? (size_t)n : 0};
    const char *image = image_type(start);

    if (n < 0 && errno != EINVAL && errno != ESPIPE)
        return err_sys(err, ERR_IO, "cannot read '%s'", r->path);
    /* A script may begin like a picture: the judge sees its actual content. */
    if (r->call->sees_all)
        return r->st.st_size > (off_t)TEXTFILE_MAX ? reading_huge_text(r, err)
                                                   : reading_small_text(r, err);
    if (image)
        return reading_image(r, image, err);
    if (str_starts(start, STR("%PDF-")))
        return reading_pdf(r, err);
    if (json_get_str(r->call->args, "pages").len)
        return err_set(err, ERR_BAD_INPUT, "pages is for PDFs, and '%s' is none", r->path);
    if (r->st.st_size > (off_t)TEXTFILE_MAX)
        return reading_huge_text(r, err);
    if (str_ends(str_of(r->path), STR(".ipynb")) && r->st.st_size && !r->is_part)
        return reading_notebook(r, err);
    return reading_small_text(r, err);
}

static int reading_missing(struct reading *r)
{
    struct buf *text = &r->ret->text;

    workspace_forget(r->call->workspace, r->real);
    buf_addf(text, "'%s' does not exist.", r->path);
    suggest_path(r->call->workspace, r->path, text);
    r->ret->is_error = true;
    return 0;
}

/* -1: errno says why. */
static int reading_look(struct reading *r)
{
    CLEANUP(fd_closep) int fd = pinned_open(r->real, O_PATH);

    if (fd < 0 || fstat(fd, &r->st) < 0)
        return -1;
    if (S_ISLNK(r->st.st_mode)) {
        errno = ELOOP;
        return -1;
    }
    return 0;
}

static int reading_open(struct reading *r, struct err *err)
{
    if (reading_look(r) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return reading_missing(r);
        return textfile_fail(r->path, "look at", err);
    }
    if (S_ISDIR(r->st.st_mode))
        return err_set(err, ERR_BAD_INPUT,
                       "'%s' is a directory: list it with ls (Bash) or find files with Glob",
                       r->path);
    /* Before it is opened: that alone can block, or make a device do something. */
    if (!S_ISREG(r->st.st_mode))
        return err_set(err, ERR_BAD_INPUT, "'%s' is a device, pipe or socket, not a file", r->path);
    r->fd = pinned_open(r->real, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (r->fd < 0)
        return textfile_fail(r->path, "open", err);
    if (fstat(r->fd, &r->st) < 0)
        return err_sys(err, ERR_IO, "cannot look at '%s'", r->path);
    return reading_by_kind(r, err);
}

static int tool_read_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct str path = json_get_str(call->args, "file_path");
    CLEANUP(mem_freep) char *full = workspace_resolve(call->workspace, path);
    struct reading r = {.call = call, .ret = ret, .path = full, .fd = -1};
    int64_t offset = json_get_i64(call->args, "offset", 1);
    int rc;

    if (memchr(path.ptr, '\0', path.len))
        return err_set(err, ERR_BAD_INPUT, "file_path has a NUL character in it");
    r.first = offset > 1 ? (size_t)offset : 1;
    r.limit = (size_t)json_get_i64(call->args, "limit", READ_MAX_LINES);
    r.is_part = json_get(call->args, "offset") || json_get(call->args, "limit");
    r.real = tool_real_path(call, full);
    rc = reading_open(&r, err);
    fd_closep(&r.fd);
    mem_freep(&r.real);
    return rc;
}
