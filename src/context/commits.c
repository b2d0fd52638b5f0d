/*
 * commits: entries, newest first, each "<commit> <bytes>\n" and so many bytes. A torn one does not
 * count.
 */
#include "context/commits.h"

#include "base/buf.h"
#include "base/file.h"

#define COMMITS_ENTRIES 16
#define COMMITS_MAX_TEXT ((size_t)4 << 10)
#define COMMITS_MAX_BYTES (COMMITS_ENTRIES * (COMMITS_MAX_TEXT + 256))
#define COMMITS_LEAST_NAME 4 /* digits that git shows at least */

struct entry {
    struct str commit, log;
};

/* The next one; false at the end, or at an invalid one. */
static bool entry_cut(struct str *rest, struct entry *ret)
{
    struct str line;
    int64_t len;

    if (!str_cut(rest, '\n', &line))
        return false;
    ret->commit = str_first(line, str_chr(line, ' '));
    if (str_to_i64(str_from(line, ret->commit.len + 1), &len, /*err=*/NULL) < 0 || len < 0 ||
        (size_t)len > rest->len)
        return false;
    ret->log = str_first(*rest, (size_t)len);
    *rest = str_from(*rest, (size_t)len);
    return true;
}

static void entry_write(const struct entry *e, struct buf *ret)
{
    buf_addf(ret, "%.*s %zu\n", STR_ARG(e->commit), e->log.len);
    buf_add(ret, e->log);
}

bool commits_recall(const char *path, const char *commit, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct entry e;
    struct str rest;

    if (file_slurp(path, COMMITS_MAX_BYTES, &text, /*err=*/NULL) < 0)
        return false;
    rest = buf_str(&text);
    while (entry_cut(&rest, &e)) {
        if (!str_is(e.commit, commit))
            continue;
        buf_add(ret, e.log);
        return true;
    }
    return false;
}

void commits_keep(const char *path, const char *commit, struct str log)
{
    CLEANUP(buf_release) struct buf old = {0};
    CLEANUP(buf_release) struct buf now = BUF_INIT(COMMITS_MAX_BYTES);
    struct entry e = {str_of(commit), log};
    struct str shown = str_first(log, str_chr(log, ' '));
    struct str rest;

    if (shown.len < COMMITS_LEAST_NAME || !str_starts(e.commit, shown) ||
        log.len > COMMITS_MAX_TEXT)
        return;
    entry_write(&e, &now);
    (void)file_slurp(path, COMMITS_MAX_BYTES, &old, /*err=*/NULL);
    rest = buf_str(&old);
    for (size_t n = 1; n < COMMITS_ENTRIES && entry_cut(&rest, &e);) {
        if (str_is(e.commit, commit))
            continue;
        entry_write(&e, &now);
        n++;
    }
    (void)file_overwrite(path, buf_str(&now), 0600, /*err=*/NULL);
}
