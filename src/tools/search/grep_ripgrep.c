/*
 * The other engine: `rg -P`, its output taken apart and put into the same results.
 *
 * It is given our globs for types, so that its version does not matter, and its lines have a NUL
 * after the path, so that names are unambiguous. Tool thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pinned.h"
#include "base/strv.h"
#include "guard/denied.h"
#include "proc/proc.h"
#include "tools/decode.h"
#include "tools/search/grep_pattern.h"
#include "tools/search/grep_results.h"
#include "tools/search/grep_search.h"

#define MAX_OUTPUT ((size_t)64 << 20)
#define RG_TIMEOUT_MS 10000

/* Reads ripgrep's lines, file by file. */
struct reader {
    const struct grep_search *search;
    struct grep_results *results;
    struct grep_matcher *matcher; /* where in a long line the match is */
    const char *dir;
    struct grep_found found; /* of the file in hand; no path: none */
    bool gap;                /* lines were left out before the next one */
};

static void rg_arguments(const struct grep_search *s, struct strv *ret)
{
    static const char *const always[] = {"rg",     "-P",           "--no-config", "--color=never",
                                         "--null", "--no-heading", "-H",          "--no-messages"};
    struct str types = s->type_globs;
    struct str glob;

    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        strv_adds(ret, always[i]);
    strv_adds(ret, s->job.mode == GREP_FILES ? "-l" : s->job.mode == GREP_COUNT ? "-c" : "-n");
    if (s->caseless)
        strv_adds(ret, "-i");
    if (s->job.multiline) {
        strv_adds(ret, "-U");
        strv_adds(ret, "--multiline-dotall");
    }
    if (s->job.mode == GREP_CONTENT) {
        strv_addf(ret, "-B%zu", s->job.before);
        strv_addf(ret, "-A%zu", s->job.after);
    }
    if (s->hidden) {
        strv_adds(ret, "--hidden");
        strv_adds(ret, "--glob=!.git");
    }
    if (!s->git)
        strv_adds(ret, "--no-ignore-vcs");
    for (size_t i = 0; s->globs && i < s->globs->len; i++)
        strv_addf(ret, "--glob=%s", s->globs->ptr[i]);
    while (types.len && str_cut(&types, ' ', &glob))
        strv_addf(ret, "--type-add=tenax:%.*s", STR_ARG(glob));
    if (s->type_globs.len)
        strv_adds(ret, "--type=tenax");
    strv_adds(ret, "-e");
    strv_add(ret, s->pattern);
    strv_adds(ret, "./");
}

static void reader_file_end(struct reader *r)
{
    CLEANUP(mem_freep) char *full = NULL;
    struct stat st;

    if (!r->found.path)
        return;
    full = path_join(r->dir, r->found.path);
    if (stat(full, &st) == 0)
        r->found.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (denied_has(r->search->denied, full))
        grep_found_release(&r->found);
    else
        grep_results_add(r->results, &r->found);
    r->found = (struct grep_found){0};
}

static void reader_file(struct reader *r, struct str path)
{
    if (str_starts(path, STR("./")))
        path = str_from(path, 2);
    if (r->found.path && str_eq(str_of(r->found.path), path))
        return;
    reader_file_end(r);
    r->found.path = mem_dup(path.ptr, path.len);
    buf_init(&r->found.text, MAX_OUTPUT);
}

/* "12:text" or "12-text" */
static void reader_content(struct reader *r, struct str line)
{
    const struct grep_job *job = &r->search->job;
    CLEANUP(buf_release) struct buf clean = BUF_INIT(4 * MAX_OUTPUT);
    struct grep_span match = {0};
    size_t digits = 0;
    char mark;

    while (digits < line.len && line.ptr[digits] >= '0' && line.ptr[digits] <= '9')
        digits++;
    if (digits == line.len)
        return;
    mark = line.ptr[digits];
    if (r->found.lines >= job->max_lines) {
        r->found.cut = true;
        return;
    }
    if (r->gap && r->found.lines) /* between files it is not ours to write */
        buf_addf(&r->found.text, "%c\n", GREP_LINE_GAP);
    r->gap = false;
    buf_addc(&r->found.text, mark);
    if (job->numbers)
        buf_add(&r->found.text, str_first(line, digits + 1));
    decode_utf8(str_from(line, digits + 1), &clean);
    if (job->max_columns && clean.len > job->max_columns && mark == GREP_LINE_MATCH) {
        grep_matcher_text(r->matcher, buf_str(&clean), /*is_ascii=*/false);
        (void)grep_matcher_match(r->matcher, 0, &match, NULL);
    }
    grep_line_clip(buf_str(&clean), match.start, job->max_columns, &r->found.text);
    buf_addc(&r->found.text, '\n');
    r->found.lines++;
    r->found.count += mark == GREP_LINE_MATCH;
}

static void reader_line(struct reader *r, struct str line)
{
    size_t nul = str_chr(line, '\0');
    struct str rest = str_from(line, nul + 1);
    int64_t count = 0;

    if (r->search->job.mode == GREP_CONTENT && str_is(line, "--")) {
        r->gap = true;
        return;
    }
    if (nul == line.len)
        return; /* a remark about a binary file */
    reader_file(r, str_first(line, nul));
    if (r->search->job.mode == GREP_CONTENT)
        reader_content(r, rest);
    else if (str_to_i64(rest, &count, NULL) == 0)
        r->found.count = (size_t)count;
}

static void reader_all(struct reader *r, struct str out)
{
    /* With -l every path ends in NUL and there are no lines. */
    char end = r->search->job.mode == GREP_FILES ? '\0' : '\n';

    while (out.len) {
        size_t len = str_chr(out, end);
        struct str line = str_first(out, len);

        if (end == '\0') {
            reader_file(r, line);
            r->found.count = 1;
        } else {
            reader_line(r, line);
        }
        out = str_from(out, len + 1);
    }
    reader_file_end(r);
}

int grep_search_ripgrep(const struct grep_search *s, struct grep_results *results, struct err *err)
{
    CLEANUP(strv_release) struct strv argv = STRV_INIT;
    CLEANUP(fd_closep) int at = pinned_open(s->root, O_PATH | O_DIRECTORY);
    struct reader r = {.search = s, .results = results, .dir = s->root};
    char dir[64]; /* searches the open folder, even if its path now leads elsewhere */
    struct proc_spec spec = {
        .envp = (const char *const *)s->environ,
        .dir = dir,
        .max_output = MAX_OUTPUT,
        /* It waits where an ignore file is a named pipe; the built-in engine does not. */
        .timeout_ms = s->timeout_ms < RG_TIMEOUT_MS ? s->timeout_ms : RG_TIMEOUT_MS,
    };
    struct proc_result p = {0};
    struct err why = {0};
    bool good;

    if (at < 0)
        return 1;
    snprintf(dir, sizeof(dir), "/proc/%d/fd/%d", getpid(), at);
    rg_arguments(s, &argv);
    spec.argv = (const char *const *)strv_get(&argv);
    if (proc_run(&spec, s->cancel, &p, &why) < 0)
        return why.code == ERR_CANCELLED ? err_set(err, why.code, "%s", why.text) : 1;
    good = p.how == PROC_EXITED && p.code <= 1 && !p.dropped;
    if (good) {
        r.matcher = grep_matcher_new(s->job.pattern);
        reader_all(&r, buf_str(&p.out));
        grep_matcher_free(r.matcher);
    }
    proc_result_release(&p);
    return good ? 0 : 1;
}
