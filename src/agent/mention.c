/*
 * mention: words in, reminders out. A path is decided about as for Read, with its links followed,
 * and then opened where it led to (base/pinned.h). Any thread.
 */
#include "agent/mention.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/permit.h"
#include "agent/reminder.h"
#include "agent/tool.h"
#include "agent/workspace.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/pinned.h"
#include "base/strv.h"
#include "base/utf8.h"

struct mention {
    struct workspace *workspace;
    struct permit *permit;
    struct strv done; /* paths, links followed */
    struct buf *ret;
};

size_t mention_path_len(struct str s)
{
    size_t i = 0;

    while (i < s.len && !strchr(" \t\r\n`'\"<>|*,;()[]{}", s.ptr[i]))
        i++;
    while (i && strchr(".:!?", s.ptr[i - 1]))
        i--;
    return i;
}

/* The path at the start of s, which stands behind "@"; empty: there is none. */
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

/* The text up to the last whole line that fits. */
static void add_text(struct mention *m, const char *path, struct str text, bool is_cut)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(2 * MENTION_MAX_FILE);
    struct str end = STR("");

    if (is_cut) {
        while (text.len && text.ptr[text.len - 1] != '\n')
            text.len--;
        end = STR("\n[Only the beginning is here; Read has the rest.]");
    }
    buf_addf(&out, "The user names this file: %s\n\n%.*s%.*s", path, STR_ARG(text), STR_ARG(end));
    reminder_add(m->ret, buf_str(&out));
}

static void add_note(struct mention *m, const char *path, const char *note)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&out, "The user names this file: %s\n(It does not go along: %s.)", path, note);
    reminder_add(m->ret, buf_str(&out));
}

static void add_file(struct mention *m, const char *path, const char *real, int fd,
                     const struct stat *st)
{
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    char chunk[4 << 10];
    struct str text;
    ssize_t n = 1;

    while (n > 0 && bytes.len <= MENTION_MAX_FILE) {
        n = read(fd, chunk, sizeof(chunk));
        if (n > 0)
            buf_add(&bytes, str_make(chunk, (size_t)n));
    }
    text = str_clip(buf_str(&bytes), MENTION_MAX_FILE);
    if (!utf8_is_valid(text) || str_chr(text, '\0') < text.len) {
        add_note(m, path, "it is no text");
        return;
    }
    workspace_saw(m->workspace, real, st, text, text.len < bytes.len);
    add_text(m, path, text, text.len < bytes.len);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_folder(struct mention *m, const char *path, int fd)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(strv_release) struct strv names = STRV_INIT;
    DIR *dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));

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
    buf_addf(&out, "The user names this folder: %s\n\n", path);
    for (size_t i = 0; i < names.len && i < MENTION_MAX_NAMES; i++)
        buf_addf(&out, "%s\n", names.ptr[i]);
    if (names.len > MENTION_MAX_NAMES)
        buf_adds(&out, "[There are more.]");
    reminder_add(m->ret, buf_str(&out));
}

static void add_path(struct mention *m, struct str name)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct rule_subject subject = {.tool = STR("Read")};
    struct permit_answer answer;
    struct stat st;
    int fd;

    tool_about_path(m->workspace, name, /*writes=*/false, &arena, &subject);
    if (strv_has(&m->done, str_of(subject.real)) || !file_exists(subject.real))
        return;
    permit_check(m->permit, &subject, TOOL_READ_ONLY, &answer);
    if (answer.verdict != PERMIT_ALLOW)
        return;
    strv_adds(&m->done, subject.real);
    if (m->done.len > MENTION_MAX_FILES) {
        add_note(m, arena_cstr(&arena, subject.text), "there are too many");
        return;
    }
    fd = pinned_open(subject.real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        add_folder(m, arena_cstr(&arena, subject.text), fd);
    else if (S_ISREG(st.st_mode))
        add_file(m, arena_cstr(&arena, subject.text), subject.real, fd, &st);
    close(fd);
}

void mention_files(struct workspace *w, struct permit *p, struct str words, struct buf *ret)
{
    struct mention m = {.workspace = w, .permit = p, .ret = ret};

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
