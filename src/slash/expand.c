/*
 * expand: the file is cut into text, commands and names of files first, and only then filled in.
 */
#include "slash/expand.h"

#include <string.h>

#include "agent/event.h"
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "conf/plugin.h"
#include "context/called_skills.h"
#include "context/mention.h"
#include "guard/permit.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"
#include "hooks/registry.h"
#include "hooks/settings.h"
#include "host/host.h"
#include "llm/effort.h"
#include "slash/answer.h"
#include "slash/own.h"
#include "slash/shell.h"

/* ---- Values ---- */

static bool is_word_char(char c)
{
    return str_is_alnum(c) || c == '_';
}

static void add_nth(const struct expand_values *v, size_t n, struct buf *ret)
{
    if (n < v->words->len)
        buf_adds(ret, v->words->ptr[n]);
}

/* Digits at the start; false: none. */
static bool read_index(struct str s, size_t *ret, size_t *ret_len)
{
    size_t n = 0;
    size_t i = 0;

    for (; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
        n = n < 10000 ? n * 10 + (size_t)(s.ptr[i] - '0')
                      : n; /* longer than any real command line */
    *ret = n;
    *ret_len = i;
    return i > 0;
}

/* "${NAME}" at the start of s: its value and length; NULL: not ours. */
static const char *find_braced(struct str s, const struct expand_values *v, size_t *ret_len)
{
    const struct {
        struct str name;
        const char *value;
    } rows[] = {
        {STR("${CLAUDE_SESSION_ID}"), v->session},
        {STR("${CLAUDE_EFFORT}"), v->effort},
        {STR("${CLAUDE_SKILL_DIR}"), v->dir},
        {STR("${CLAUDE_PROJECT_DIR}"), v->project},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_starts(s, rows[i].name)) {
            *ret_len = rows[i].name.len;
            return rows[i].value ? rows[i].value : "";
        }
    }
    return v->plugin ? plugin_variable(v->plugin, s, ret_len) : NULL;
}

/* How many bytes at the "$" s begins with were filled in; 0: it is only a dollar. */
static size_t fill_one(struct str s, const struct expand_values *v, bool *io_used, struct buf *ret)
{
    static const struct str all = STR_INIT("$ARGUMENTS");
    const char *value;
    size_t len = 0;
    size_t n;

    if (str_starts(s, all)) {
        struct str rest = str_from(s, all.len);

        if (rest.len > 2 && rest.ptr[0] == '[' && read_index(str_from(rest, 1), &n, &len) &&
            len + 1 < rest.len && rest.ptr[len + 1] == ']') {
            add_nth(v, n, ret);
            *io_used = true;
            return all.len + len + 2;
        }
        if (rest.len && is_word_char(rest.ptr[0]))
            return 0;
        buf_add(ret, v->arguments);
        *io_used = true;
        return all.len;
    }
    if (read_index(str_from(s, 1), &n, &len) &&
        (len + 1 == s.len || !is_word_char(s.ptr[len + 1]))) { /* "$5k" is money */
        add_nth(v, n, ret);
        *io_used = true;
        return len + 1;
    }
    value = find_braced(s, v, &len);
    if (value) {
        buf_adds(ret, value);
        return len;
    }
    for (len = 1; len < s.len && is_word_char(s.ptr[len]); len++) {
    }
    for (n = 0; n < v->names->len; n++) {
        if (str_is(str_from(str_first(s, len), 1), v->names->ptr[n])) {
            add_nth(v, n, ret);
            *io_used = true;
            return len;
        }
    }
    return 0;
}

void expand_values(struct str text, const struct expand_values *v, bool *io_used, struct buf *ret)
{
    while (text.len) {
        size_t dollar = str_chr(text, '$');
        size_t len;

        buf_add(ret, str_first(text, dollar));
        text = str_from(text, dollar);
        if (!text.len)
            return;
        len = fill_one(text, v, io_used, ret);
        if (!len) {
            buf_addc(ret, '$');
            len = 1;
        }
        text = str_from(text, len);
    }
}

/* ---- Commands and files ---- */

struct expansion {
    struct slash_call *call;
    const struct own_command *command;
    struct expand_values values;
    struct permit *permit; /* for the commands that it may run; made for the first `!` */
    bool used;
    size_t commands;
    struct strv files;
};

/* Permissions and folder of the calling agent, else of the session. */
static struct permit *expansion_permit(const struct expansion *x)
{
    return x->call->tool ? x->call->tool->permit : host_permit(x->call->host);
}

static struct workspace *expansion_workspace(const struct expansion *x)
{
    return x->call->tool ? x->call->tool->workspace : host_workspace(x->call->host);
}

/* A project's file may do what the folder is trusted with. */
static bool is_trusted(const struct expansion *x)
{
    return x->command->level != LEVEL_PROJECT || conf_is_trusted(host_conf(x->call->host));
}

static int check_leave(struct expansion *x, struct str command, struct err *err)
{
    struct rule_subject subject = {.tool = STR("Bash"), .about = ABOUT_COMMAND, .text = command};
    CLEANUP(strv_release) struct strv warnings = STRV_INIT; /* the turn reports them */
    struct permit_answer answer;

    if (!is_trusted(x))
        return err_set(err, ERR_DENIED,
                       "%s runs commands, and the folder it is in is not trusted (tenax trust)",
                       x->command->path);
    if (!x->permit) {
        x->permit = permit_copy(expansion_permit(x));
        if (permit_lend(x->permit, &x->call->allow, &x->call->deny, &x->call->only, &warnings,
                        err) < 0)
            return -1;
    }
    permit_check(x->permit, &subject, /*flags=*/0, &answer);
    if (answer.verdict == PERMIT_ALLOW)
        return 0;
    return err_set(err, ERR_DENIED,
                   "/%.*s would run `%.*s`, which is not allowed: %s. Its allowed-tools, or your "
                   "permissions, may allow it",
                   STR_ARG(x->command->name), STR_ARG(str_clip(command, 200)), answer.reason);
}

static int run_command(struct expansion *x, struct str text, struct buf *ret, struct err *err)
{
    CLEANUP(shell_result_release) struct shell_result r = SHELL_RESULT_INIT;
    CLEANUP(buf_release) struct buf command = BUF_INIT(SLASH_MAX_TEXT);
    struct shell_place at = {
        .workspace = expansion_workspace(x),
        .sandbox = x->call->tool ? x->call->tool->sandbox : host_sandbox(x->call->host),
        .conf = host_conf(x->call->host),
    };

    if (!sandbox_in_force(at.sandbox, expansion_permit(x)))
        at.sandbox = NULL;

    expand_values(text, &x->values, &x->used, &command);
    if (++x->commands > EXPAND_MAX_COMMANDS)
        return err_set(err, ERR_TOO_BIG, "/%.*s runs more than %d commands",
                       STR_ARG(x->command->name), EXPAND_MAX_COMMANDS);
    if (x->command->shell.len && !str_is(x->command->shell, "bash"))
        return err_set(err, ERR_UNSUPPORTED, "/%.*s wants its commands run by %.*s; only bash is",
                       STR_ARG(x->command->name), STR_ARG(str_clip(x->command->shell, 40)));
    if (check_leave(x, buf_str(&command), err) < 0 ||
        shell_run(&at, buf_str(&command), /*by_user=*/false, x->call->cancel, &r, err) < 0)
        return -1;
    if (r.code)
        return err_set(
            err, ERR_IO, "/%.*s: `%.*s` failed with exit code %d: %.*s", STR_ARG(x->command->name),
            STR_ARG(str_clip(buf_str(&command), 200)), r.code,
            STR_ARG(str_clip(str_trim(r.err.len ? buf_str(&r.err) : buf_str(&r.out)), 500)));
    buf_add(ret, str_trim(buf_str(&r.out)));
    return 0;
}

/* After the text, when it is a file that may be read without asking; else it stays a word. */
static void add_file(struct expansion *x, struct str name, struct buf *ret)
{
    struct workspace *w = expansion_workspace(x);
    CLEANUP(mem_freep) char *path = workspace_resolve(w, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(EXPAND_MAX_FILE);
    struct rule_subject subject = {.tool = STR("Read"), .about = ABOUT_PATH, .text = str_of(path)};
    struct permit_answer answer;
    struct err err = {0};

    if (strv_has(&x->files, str_of(path)) || !file_exists(path) || file_is_dir(path))
        return;
    permit_check(expansion_permit(x), &subject, TOOL_READ_ONLY, &answer);
    if (answer.verdict != PERMIT_ALLOW)
        return;
    strv_adds(&x->files, path);
    if (x->files.len > EXPAND_MAX_FILES)
        err_set(&err, ERR_TOO_BIG, "these are more than %d files", EXPAND_MAX_FILES);
    else if (file_slurp(path, EXPAND_MAX_FILE, &text, &err) == 0 && !utf8_is_valid(buf_str(&text)))
        err_set(&err, ERR_BAD_INPUT, "no text");
    else if (!err.code && ret->len + text.len > EXPAND_MAX_ALL)
        err_set(&err, ERR_TOO_BIG, "the files before it have filled the %d MB there are",
                EXPAND_MAX_ALL >> 20);
    if (err.code)
        buf_addf(ret, "\n\n<file path=\"%s\">\n(not shown: %s)\n</file>", path, err.text);
    else
        buf_addf(ret, "\n\n<file path=\"%s\">\n%.*s\n</file>", path, STR_ARG(buf_str(&text)));
}

/* The length of "!`…`", or at the start of a line of a block "```!", at the start of s; its inside
 * in *ret; 0: none. */
static size_t command_len(struct str s, bool starts_line, struct str *ret)
{
    size_t end;

    if (starts_line && str_starts(s, STR("```!\n"))) {
        end = str_find(s, STR("\n```"));
        if (end == s.len)
            return 0;
        *ret = str_trim(str_first(str_from(s, 5), end < 5 ? 0 : end - 5));
        return ret->len ? end + 4 : 0;
    }
    if (!str_starts(s, STR("!`")))
        return 0;
    end = str_chr(str_from(s, 2), '`');
    if (end == s.len - 2)
        return 0;
    *ret = str_first(str_from(s, 2), end);
    return end + 3;
}

static int expand_body(struct expansion *x, struct str body, struct buf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf files = BUF_INIT(SLASH_MAX_TEXT);
    size_t from = 0; /* of text that was not filled in yet */
    size_t i = 0;

    while (i < body.len) {
        struct str rest = str_from(body, i);
        struct str inside;
        bool starts_word = !i || strchr(" \t\n(", body.ptr[i - 1]);
        bool starts_line = !i || body.ptr[i - 1] == '\n';
        size_t len = starts_word ? command_len(rest, starts_line, &inside) : 0;

        if (len) {
            expand_values(str_first(str_from(body, from), i - from), &x->values, &x->used, ret);
            if (run_command(x, inside, ret, err) < 0)
                return -1;
            i += len;
            from = i;
        } else if (rest.ptr[0] == '@' && starts_word && mention_path_len(str_from(rest, 1))) {
            CLEANUP(buf_release) struct buf name = BUF_INIT(64 << 10);

            len = mention_path_len(str_from(rest, 1)) + 1;
            expand_values(str_from(str_first(rest, len), 1), &x->values, &x->used, &name);
            add_file(x, buf_str(&name), &files);
            i += len;
        } else {
            i++;
        }
    }
    expand_values(str_from(body, from), &x->values, &x->used, ret);
    if (!x->used && x->values.arguments.len)
        buf_addf(ret, "\n\nARGUMENTS: %.*s", STR_ARG(x->values.arguments));
    buf_add(ret, buf_str(&files));
    return buf_check(ret, err);
}

/* The frontmatter's grants apply if the file is trusted: the user's own, or of a trusted project.
 */
static void take_grants(struct slash_call *call, const struct own_command *c)
{
    bool vouched = c->level != LEVEL_PROJECT || conf_is_trusted(host_conf(call->host));

    if (vouched)
        strv_add_all(&call->allow, &c->allow);
    strv_add_all(&call->deny, &c->deny);
    call->model = c->model;
    call->effort = c->effort;
}

/* From the first call to the end of the session. A command is known by its file, a skill by its
 * folder. One that cannot be had keeps the command back: it may be a guard. */
static int take_hooks(const struct expansion *x, struct err *err)
{
    CLEANUP(strv_release) struct strv warnings = STRV_INIT;
    const struct own_command *c = x->command;
    struct skill_hooks skill = {
        .hooks = c->hooks,
        .root = c->is_skill ? c->dir : c->path,
        .file = c->path,
        .plugin = c->plugin,
    };
    struct host *host = x->call->host;

    if (!c->hooks) {
        hook_registry_remove_skill(host_hooks(host), skill.root); /* it may have had some */
        return 0;
    }
    if (!is_trusted(x))
        return err_set(err, ERR_DENIED,
                       "%s brings hooks, and the folder it is in is not trusted (tenax trust)",
                       c->path);
    if (settings_read_skill(host_conf(host), &skill, host_hooks(host), &warnings, err) < 0)
        return err_prefix(err, "%s", c->path);
    for (size_t i = 0; i < warnings.len; i++)
        host_notice(host, LEVEL_WARNING, str_of(warnings.ptr[i]));
    return 0;
}

int expand_command(struct slash_call *call, const struct own_command *c, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv words = STRV_INIT;
    const struct conf *conf = host_conf(call->host);
    enum effort effort = host_effort(call->host);
    struct expansion x = {
        .call = call,
        .command = c,
        .values =
            {
                .arguments = call->args,
                .words = &words,
                .names = &c->names,
                .session = host_session(call->host),
                .effort = effort_name(effort),
                .dir = c->dir,
                .project = conf_dir(conf),
                .plugin = c->plugin,
            },
    };
    struct str body = STR("");
    size_t head;
    int rc;

    slash_words(call->args, &words);
    call->is_skill = c->is_skill;
    take_grants(call, c);
    if (c->is_skill)
        buf_addf(&call->prompt, CALLED_SKILL_BASE "%s\n\n", c->dir);
    head = call->prompt.len;
    rc = own_body(c, &arena, &body, err);
    if (rc == 0)
        rc = expand_body(&x, body, &call->prompt, err);
    permit_free(x.permit);
    strv_release(&x.files);
    if (rc == 0 && !str_trim(str_from(buf_str(&call->prompt), head)).len)
        rc = err_set(err, ERR_BAD_INPUT, "%s is empty: there is nothing to send", c->path);
    return rc == 0 ? take_hooks(&x, err) : -1;
}
