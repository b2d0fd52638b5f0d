/*
 * Grep: text in files. Reads the arguments, has an engine search (grep_search.h), writes one page
 * of what it found. Runs on a tool thread and the search's threads; sees only its call.
 */
#include "tools/search/grep.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>
#include <unistd.h>

#include "agent/tool.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "guard/denied.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "json/json.h"
#include "json/jw.h"
#include "proc/outside.h"
#include "proc/proc.h"
#include "tools/background.h"
#include "tools/entries.h"
#include "tools/search/glob_match.h"
#include "tools/search/grep_pattern.h"
#include "tools/search/grep_results.h"
#include "tools/search/grep_search.h"
#include "tools/search/grep_types.h"
#include "tools/search/search_root.h"

#define GREP_DEFAULT_LIMIT 250
#define GREP_COLUMNS 500
#define GREP_TIMEOUT_MS 60000
#define GREP_PAGE_BYTES ((size_t)28000) /* below TOOL_MAX_RESULT, with room for a last sentence */

static void tool_grep_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret);
static int tool_grep_run(struct tool_call *call, struct tool_result *ret, struct err *err);

const struct tool_entry tool_grep_entry = {
    .name = "Grep",
    .text = tool_grep_md,
    .schema = tool_grep_schema,
    .flags = TOOL_READ_ONLY | TOOL_CONCURRENT,
    .about = tool_grep_about,
    .run = tool_grep_run,
};

static void tool_grep_about(const struct tool_entry *e, struct workspace *w,
                            const struct json *args, struct arena *arena, struct rule_subject *ret)
{
    struct str path = json_get_str(args, "path");

    (void)e;
    workspace_about_path(w, path.len ? path : STR("."), /*writes=*/false, arena, ret);
}

/* --- engines --------------------------------------------------------------------------------- */

/* The configured choice: "rg", "builtin"; empty: none. The variable is before the settings. */
static struct str grep_wanted(const struct conf *conf)
{
    const char *forced = conf ? conf_env(conf, "TENAX_GREP") : NULL;
    struct str set = conf ? conf_get_str(conf, "grepEngine") : STR("");

    if (forced && *forced)
        return str_of(forced);
    return str_is(set, "ripgrep") ? STR("rg") : str_is(set, "built-in") ? STR("builtin") : STR("");
}

/* Where it is installed; a tool without settings (a test) does not check. */
static bool grep_uses_ripgrep(const struct conf *conf)
{
    return conf && !str_is(grep_wanted(conf), "builtin");
}

void grep_engine_name(const struct conf *conf, struct cancel *cancel, struct buf *ret)
{
    CLEANUP(strv_release) struct strv dirs = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    struct proc_spec spec = {
        .argv = (const char *const[]){"rg", "-P", "--version", NULL},
        .timeout_ms = 5000,
    };
    struct proc_result r = {0};
    uint32_t jit = 0;
    char version[64] = "";

    strv_adds(&dirs, conf_dir(conf));
    outside_environ(conf_environ(conf), &dirs, &env);
    spec.envp = (const char *const *)strv_get(&env);
    if (grep_uses_ripgrep(conf) && proc_run(&spec, cancel, &r, NULL) == 0) {
        struct str said = buf_str(&r.out);
        bool there = r.how == PROC_EXITED && r.code == 0;

        if (there)
            buf_addf(ret, "%.*s, with -P", STR_ARG(str_first(said, str_chr(said, '\n'))));
        proc_result_release(&r);
        if (there)
            return;
    }
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    pcre2_config(PCRE2_CONFIG_JIT, &jit);
    version[strcspn(version, " ")] = '\0';
    buf_addf(ret, "built in (PCRE2 %s%s)", version, jit ? ", JIT" : ", no JIT: slower");
    if (str_is(grep_wanted(conf), "rg"))
        buf_adds(ret,
                 "; ripgrep is asked for (TENAX_GREP or grepEngine), but there is no rg with -P");
}

static bool is_in_path(const char *path, const char *name)
{
    struct str rest = str_of(path ? path : "");
    struct str folder;

    while (rest.len && str_cut(&rest, ':', &folder)) {
        CLEANUP(buf_release) struct buf file = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&file, "%.*s/%s", STR_ARG(folder), name);
        if (folder.len && access(buf_cstr(&file), X_OK) == 0)
            return true;
    }
    return false;
}

void grep_note(const struct conf *conf, struct strv *notes)
{
    if (str_is(grep_wanted(conf), "rg") && !is_in_path(conf_env(conf, "PATH"), "rg"))
        strv_adds(notes, "ripgrep is asked for (TENAX_GREP or grepEngine) and is not in PATH, so "
                         "Grep uses the built-in search; install ripgrep, or ask for "
                         "\"built-in\"");
}

/* --- arguments ------------------------------------------------------------------------------- */

/* Several globs may stand in one argument, between blanks or commas; not inside braces. */
static int globs_split(struct str text, struct strv *ret, struct err *err)
{
    size_t start = 0;
    int depth = 0;

    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : ' ';

        depth += c == '{';
        depth -= c == '}' && depth > 0;
        if (i < text.len && (depth || (c != ' ' && c != ',' && c != '\n')))
            continue;
        if (i > start) {
            struct str glob = str_make(text.ptr + start, i - start);
            struct glob_match *g = NULL;

            if (str_starts(glob, STR("./")))
                glob = str_from(glob, 1);
            if (glob_match_parse(str_starts(glob, STR("!")) ? str_from(glob, 1) : glob, &g, err) <
                0)
                return err_prefix(err, "the glob '%.*s' is invalid", STR_ARG(str_first(glob, 80)));
            glob_match_free(g);
            strv_add(ret, glob);
        }
        start = i + 1;
    }
    return 0;
}

static enum grep_mode grep_mode(const struct json *args)
{
    struct str mode = json_get_str(args, "output_mode");

    if (str_is(mode, "content"))
        return GREP_CONTENT;
    return str_is(mode, "count") ? GREP_COUNT : GREP_FILES;
}

static size_t grep_number(const struct json *args, const char *key, size_t otherwise)
{
    int64_t n = json_get_i64(args, key, (int64_t)otherwise);

    return n < 0 ? 0 : (size_t)n;
}

static struct grep_page grep_page(const struct json *args, const struct grep_job *job)
{
    size_t limit = grep_number(args, "head_limit", GREP_DEFAULT_LIMIT);
    struct grep_page page = {
        .skip = grep_number(args, "offset", 0),
        .limit = limit ? limit : (size_t)1 << 40,
        .max_bytes = json_get(args, "head_limit") ? TOOL_MAX_TEXT / 2 : GREP_PAGE_BYTES,
        .gaps = job->before || job->after,
    };

    return page;
}

/* --- the answer ------------------------------------------------------------------------------ */

static void grep_write_data(const struct grep_search *s, const struct grep_results *results,
                            const struct grep_page *page, const struct grep_summary *sum,
                            struct tool_result *ret)
{
    static const char *const modes[] = {"files_with_matches", "count", "content"};
    struct jw out;

    jw_init(&out, &ret->data, 0);
    jw_object(&out);
    jw_kcstr(&out, "mode", modes[s->job.mode]);
    jw_ki64(&out, "numFiles", (int64_t)sum->files);
    jw_key(&out, "filenames");
    jw_array(&out);
    for (size_t i = page->skip; s->job.mode == GREP_FILES && i < page->skip + sum->shown; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&path, "%.*s%s", STR_ARG(page->prefix), grep_results_path(results, i));
        jw_str(&out, buf_str(&path));
    }
    jw_array_end(&out);
    if (s->job.mode != GREP_FILES)
        jw_kstr(&out, "content", buf_str(&ret->text));
    if (s->job.mode == GREP_CONTENT)
        jw_ki64(&out, "numLines", (int64_t)sum->shown);
    if (s->job.mode == GREP_COUNT)
        jw_ki64(&out, "numMatches", (int64_t)sum->matches);
    jw_object_end(&out);
}

/* What the list alone does not say. */
static void grep_explain(const struct grep_search *s, const struct grep_results *results,
                         const struct grep_page *page, const struct grep_summary *sum,
                         struct buf *out)
{
    const char *unit = s->job.mode == GREP_CONTENT ? "lines" : "files";

    if (!sum->files)
        buf_adds(out, "No matches.\n");
    else if (!sum->shown)
        buf_addf(out, "(Nothing after offset %zu.)\n", page->skip);
    if (sum->shown && (sum->left || sum->more))
        buf_addf(out, "(%s%zu more %s: offset %zu goes on.)\n", sum->more ? "at least " : "",
                 sum->left, unit, page->skip + sum->shown);
    if (s->job.mode == GREP_COUNT && sum->files > 1)
        buf_addf(out, "(%zu matches in %zu files.)\n", sum->matches, sum->files);
    if (!sum->files && !s->job.multiline && grep_pattern_has_newline(s->job.pattern))
        buf_adds(out, "(The pattern asks for \\n, but lines are matched one by one: set "
                      "multiline.)\n");
    if (sum->faults)
        buf_addf(out, "(%zu %s not searched: %.*s.)\n", sum->faults,
                 sum->faults == 1 ? "file was" : "files were",
                 STR_ARG(grep_results_first_fault(results)));
}

/* What a judge is shown must not depend on a program that the agent may have put into PATH.
 * A command in the background could put links in the place of folders just before they are looked
 * into, which ripgrep would follow, as it would one in the place of a file that is named. */
static bool grep_is_for_ripgrep(struct tool_call *call, const struct grep_search *s)
{
    int64_t last_ms;

    return grep_uses_ripgrep(call->conf) && !s->root_is_file && !s->all &&
           !background_running(call->workspace, /*names=*/NULL, &last_ms);
}

static int grep_search(struct tool_call *call, const struct grep_search *s,
                       struct grep_results *results, struct walk_report *ret, struct err *err)
{
    int rc = grep_is_for_ripgrep(call, s) ? grep_search_ripgrep(s, results, err) : 1;

    return rc > 0 ? grep_search_built_in(s, results, ret, err) : rc;
}

static int grep_run(struct tool_call *call, struct grep_search *s, const struct search_root *root,
                    struct tool_result *ret, struct err *err)
{
    CLEANUP(walk_report_release) struct walk_report report = {0};
    CLEANUP(buf_release) struct buf prefix = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *dir = root->is_file ? path_dirname(root->path) : NULL;
    struct grep_page page = grep_page(call->args, &s->job);
    struct grep_results *results;
    struct grep_summary sum;

    s->job.max_lines = page.skip + page.limit + 1;
    search_prefix(call, dir ? dir : root->path, &prefix);
    page.prefix = buf_str(&prefix);
    results = grep_results_new(s->job.mode, page.skip + page.limit, GREP_KEEP_BYTES);
    if (grep_search(call, s, results, &report, err) < 0) {
        grep_results_free(results);
        return -1;
    }
    grep_results_write(results, &page, &ret->text, &sum);
    grep_write_data(s, results, &page, &sum, ret);
    grep_explain(s, results, &page, &sum, &ret->text);
    search_explain(&report, &ret->text);
    grep_results_free(results);
    return 0;
}

static int tool_grep_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    const struct json *args = call->args;
    CLEANUP(grep_pattern_freep) struct grep_pattern *pattern = NULL;
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(search_root_release) struct search_root root = {0};
    CLEANUP(denied_freep)
    struct denied *denied = call->permit ? denied_new(call->permit, DENIED_READ) : NULL;
    size_t around = grep_number(args, "-C", 0);
    struct grep_search s = {
        .pattern = json_get_str(args, "pattern"),
        .caseless = json_get_bool(args, "-i", false),
        .globs = &globs,
        .all = call->sees_all,
        .git = search_respects_git(call),
        .denied = denied,
        .timeout_ms = GREP_TIMEOUT_MS,
        .cancel = call->cancel,
        .job =
            {
                .mode = grep_mode(args),
                .multiline = json_get_bool(args, "multiline", false),
                .numbers = json_get_bool(args, "-n", true),
                .before = grep_number(args, "-B", around),
                .after = grep_number(args, "-A", around),
                .max_columns = GREP_COLUMNS,
                .binary = call->sees_all,
            },
    };

    if (search_root(call, json_get_str(args, "path"), /*files=*/true, &root, err) < 0 ||
        globs_split(json_get_str(args, "glob"), &globs, err) < 0 ||
        (json_get_str(args, "type").len &&
         grep_type_globs(json_get_str(args, "type"), &s.type_globs, err) < 0) ||
        grep_pattern_new(s.pattern, s.caseless, s.job.multiline, &pattern, err) < 0)
        return -1;
    sandbox_outside_environ(call->sandbox, workspace_environ(call->workspace), &env);
    s.environ = strv_get(&env);
    s.root = root.real;
    s.root_is_file = root.is_file;
    s.job.pattern = pattern;
    for (size_t i = 0; i < globs.len; i++)
        s.hidden = s.hidden || search_names_hidden(str_of(globs.ptr[i]));
    return grep_run(call, &s, &root, ret, err);
}
