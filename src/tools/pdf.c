/*
 * pdf: one run of pdftotext. It ends every page with a form feed, which is how pages are counted:
 * one more than allowed is asked for, to learn whether there are more. It is given the file by our
 * descriptor, since the path may lead to another one. Runs on a tool thread.
 */
#include "tools/pdf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/tool.h"
#include "base/err.h"
#include "base/strv.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "proc/proc.h"

#define PDF_MAX_TEXT ((size_t)8 << 20)

int pdf_range_parse(struct str text, struct pdf_range *ret, struct err *err)
{
    struct str rest = str_trim(text);
    struct str part;
    int64_t first = 0;
    int64_t last;

    if (!rest.len) {
        *ret = (struct pdf_range){0};
        return 0;
    }
    str_cut(&rest, '-', &part);
    if (str_to_i64(str_trim(part), &first, NULL) < 0 || first < 1 || first > 1000000)
        return err_set(err, ERR_BAD_INPUT, "pages must be like \"3\" or \"1-5\", not \"%.*s\"",
                       STR_ARG(text));
    last = rest.ptr ? first + PDF_MAX_PAGES - 1 : first;
    if (str_trim(rest).len && (str_to_i64(str_trim(rest), &last, NULL) < 0 || last < first))
        return err_set(err, ERR_BAD_INPUT, "pages must be like \"3\" or \"1-5\", not \"%.*s\"",
                       STR_ARG(text));
    if (last - first >= PDF_MAX_PAGES)
        return err_set(err, ERR_TOO_BIG,
                       "pages asks for %lld pages; at most %d can be read at once",
                       (long long)(last - first + 1), PDF_MAX_PAGES);
    *ret = (struct pdf_range){(size_t)first, (size_t)last};
    return 0;
}

static int pdf_run(struct tool_call *call, const char *path, int fd, size_t first, size_t last,
                   struct proc_result *ret, struct err *err)
{
    char open_file[64];
    char from[24];
    char to[24];
    const char *argv[] = {"pdftotext", "-layout", "-enc",    "UTF-8", "-f", from,
                          "-l",        to,        open_file, "-",     NULL};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    struct proc_spec spec = {
        .argv = argv,
        .dir = "/",
        .max_output = PDF_MAX_TEXT,
        .timeout_ms = PDF_TIMEOUT_MS,
    };

    sandbox_outside_environ(call->sandbox, workspace_environ(call->workspace), &env);
    spec.envp = (const char *const *)strv_get(&env);
    snprintf(open_file, sizeof(open_file), "/proc/%ld/fd/%d", (long)getpid(), fd);
    snprintf(from, sizeof(from), "%zu", first);
    snprintf(to, sizeof(to), "%zu", last);
    if (proc_run(&spec, call->cancel, ret, err) == 0)
        return 0;
    if (err && err->code == ERR_NOT_FOUND)
        return err_set(err, ERR_UNSUPPORTED,
                       "'%s' is a PDF, and pdftotext, which reads them, is not installed (Debian: "
                       "poppler-utils)",
                       path);
    return -1;
}

int pdf_read(struct tool_call *call, const char *path, int fd, struct pdf_range range,
             struct buf *ret_text, struct err *err)
{
    CLEANUP(proc_result_release) struct proc_result result = {0};
    bool asked = range.first;
    size_t page = asked ? range.first : 1;
    struct str rest;
    size_t pages = 0;

    if (pdf_run(call, path, fd, page, asked ? range.last : PDF_MAX_UNASKED + 1, &result, err) < 0)
        return -1;
    if (result.how != PROC_EXITED || result.code)
        return err_set(err, ERR_BAD_INPUT, "pdftotext cannot read pages %zu-%zu of '%s': %.*s",
                       page, asked ? range.last : (size_t)PDF_MAX_UNASKED, path,
                       STR_ARG(str_first(str_trim(buf_str(&result.err)), 200)));
    rest = buf_str(&result.out);
    for (size_t i = 0; i < rest.len; i++)
        pages += rest.ptr[i] == '\f';
    if (!asked && pages > PDF_MAX_UNASKED)
        return err_set(
            err, ERR_TOO_BIG,
            "'%s' has more than %d pages: say which with pages, such as \"1-%d\" (at most "
            "%d at once)",
            path, PDF_MAX_UNASKED, PDF_MAX_UNASKED, PDF_MAX_PAGES);
    while (rest.len) {
        size_t n = str_chr(rest, '\f');

        buf_addf(ret_text, "%s--- page %zu ---\n", page > (asked ? range.first : 1) ? "\n" : "",
                 page);
        buf_add(ret_text, str_first(rest, n));
        rest = str_from(rest, n + 1);
        page++;
    }
    return 0;
}
