/*
 * briefing: the host's side of context/context.h.
 */
#include "host/briefing.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/recall.h"
#include "context/reminder.h"
#include "context/surroundings.h"
#include "guard/denied.h"
#include "guard/sandbox.h"
#include "guard/workspace.h"

/* ---- what context asks for ---- */

static bool parts_deny(void *arg, const char *path)
{
    const struct briefing_parts *p = arg;

    return p->permit && path_veto_has(permit_reading_veto(p->permit), path);
}

static char *const *parts_environ(void *arg)
{
    return workspace_environ(((struct briefing_parts *)arg)->workspace);
}

static void parts_folders(void *arg, struct strv *ret)
{
    workspace_dirs(((struct briefing_parts *)arg)->workspace, ret);
}

static void parts_describe(void *arg, struct buf *ret)
{
    sandbox_describe(((struct briefing_parts *)arg)->sandbox, ret);
}

struct context_spec briefing_spec(const struct conf *conf, const struct args *args,
                                  struct briefing_parts *parts)
{
    return (struct context_spec){
        .conf = conf,
        .args = args,
        .dir = workspace_dir(parts->workspace),
        .veto = {.denies = parts_deny, .arg = parts},
        .environ = parts_environ,
        .folders = parts_folders,
        .describe = parts_describe,
        .arg = parts,
    };
}

/* ---- a session's ---- */

void briefing_release(struct briefing *b)
{
    context_release(&b->context);
    buf_release(&b->changed);
    mem_freep(&b->read_file);
    strv_release(&b->lines);
}

/* known: the reminders of a resumed conversation; NULL = the same conversation as before. */
static void briefing_list(struct briefing *b, const struct str *known, struct buf *ret)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    if (!b->listing)
        return;
    b->listing(b->listing_arg, known, ret, &line);
    if (line.len)
        strv_add(&b->lines, buf_str(&line));
}

bool briefing_attachment(void *arg, struct buf *ret)
{
    struct briefing *b = arg;

    if (!b->lines.len)
        return false;
    buf_adds(ret, b->lines.ptr[0]);
    mem_freep(&b->lines.ptr[0]);
    memmove(b->lines.ptr, b->lines.ptr + 1, --b->lines.len * sizeof(b->lines.ptr[0]));
    return true;
}

static void briefing_say_notices(struct briefing *b)
{
    for (size_t i = 0; i < b->context.notices.len; i++)
        b->notice(b->notice_arg, str_of(b->context.notices.ptr[i]));
}

static bool goes_on(const struct recall *past)
{
    return past && past->messages.len;
}

/* The model knows the state at the start of the session; differences are reported before the next
 * input. */
static int briefing_look_again(struct briefing *b, const struct recall *past, struct cancel *cancel,
                               struct err *err)
{
    CLEANUP(buf_release) struct buf lost = BUF_INIT(BUF_NO_LIMIT);

    if (context_restore(&b->where, buf_str(&past->context), cancel, &b->context, &b->changed, err) <
        0)
        return -1;
    if (!past->lost.len)
        return 0;
    buf_addf(&lost,
             "tenax was stopped while these calls ran, and their results are lost. They may have "
             "taken effect or not: look before you do them again.%s",
             buf_cstr(&past->lost));
    reminder_add(&b->changed, buf_str(&lost));
    return 0;
}

struct surroundings *briefing_start(const struct briefing *b, const struct recall *past)
{
    return goes_on(past) ? NULL : context_begin(&b->where);
}

int briefing_gather(struct briefing *b, const struct recall *past, struct surroundings *around,
                    struct cancel *cancel, struct err *err)
{
    struct str known = goes_on(past) ? buf_str(&past->context) : STR("");

    if (goes_on(past) ? briefing_look_again(b, past, cancel, err)
                      : context_gather(&b->where, around, cancel, &b->context, err))
        return -1;
    briefing_list(b, &known, goes_on(past) ? &b->changed : &b->context.text);
    briefing_say_notices(b);
    return 0;
}

void briefing_restart(struct briefing *b, const struct recall *past, struct cancel *cancel)
{
    struct context old = b->context;

    b->context = (struct context){0};
    buf_clear(&b->changed);
    if (briefing_gather(b, past, briefing_start(b, past), cancel, /*err=*/NULL) < 0) {
        b->context = old; /* the session ends */
        return;
    }
    context_release(&old);
    if (!goes_on(past))
        buf_add(&b->changed, briefing_text(b));
}

struct str briefing_text(const struct briefing *b)
{
    return buf_str(&b->context.text);
}

/* Called before each input after the first. */
void briefing_news(void *arg, struct cancel *cancel, struct buf *ret)
{
    struct briefing *b = arg;

    if (b->changed.len)
        buf_move(ret, &b->changed);
    else if (context_news(&b->context, &b->where, cancel, ret, /*err=*/NULL) == 0)
        briefing_say_notices(b);
    briefing_list(b, /*known=*/NULL, ret);
}

/* Called after a file was read. */
void briefing_near(void *arg, const char *path, struct cancel *cancel, struct buf *ret)
{
    struct briefing *b = arg;

    mem_freep(&b->read_file);
    b->read_file = mem_dup(path, strlen(path));
    if (context_near(&b->context, &b->where, path, cancel, ret, /*err=*/NULL) == 0)
        briefing_say_notices(b);
}

/* Called after a compaction: the model then knows the current state. */
void briefing_again(void *arg, struct cancel *cancel, struct buf *ret)
{
    struct briefing *b = arg;
    struct context_spec where = b->where;
    struct context now = {0};

    where.is_later = true;
    if (context_gather(&where, context_begin(&where), cancel, &now, /*err=*/NULL) < 0)
        return;
    context_release(&b->context);
    b->context = now;
    b->told = b->told_nested = 0;
    b->is_compacted = true;
    briefing_say_notices(b);
    buf_add(ret, briefing_text(b));
}

/* The rule that a nested file belongs to, with its globs; NULL if it is not a rule. */
static const struct instruction_rule *find_rule(const struct instructions *in, const char *path)
{
    VEC_EACH(&in->rules, rule) {
        if (strcmp(rule->path, path) == 0)
            return rule;
    }
    return NULL;
}

/* One file at a time. */
bool briefing_loaded(void *arg, struct agent_loaded *ret)
{
    static const char *const kinds[] = {
        [INSTRUCTION_MANAGED] = "Managed",
        [INSTRUCTION_USER] = "User",
        [INSTRUCTION_PROJECT] = "Project",
        [INSTRUCTION_LOCAL] = "Local",
    };
    struct briefing *b = arg;
    const struct instructions *first = &b->context.instructions;
    const struct instructions *nested = &b->context.nested;
    const struct instruction_rule *rule = NULL;
    const struct instruction *file;
    bool is_nested = b->told >= first->files.len;

    if (is_nested && b->told_nested >= nested->files.len)
        return false;
    file = is_nested ? &nested->files.ptr[b->told_nested++] : &first->files.ptr[b->told++];
    if (is_nested)
        rule = find_rule(first, file->path);
    if (is_nested && !rule)
        rule = find_rule(nested, file->path);
    *ret = (struct agent_loaded){
        .path = file->path,
        .type = kinds[file->kind],
        .reason = file->importer    ? "include"
                  : rule            ? "path_glob_match"
                  : is_nested       ? "nested_traversal"
                  : b->is_compacted ? "compact"
                                    : "session_start",
        .parent = file->importer,
        .trigger = is_nested ? b->read_file : NULL,
        .globs = rule ? &rule->globs : NULL,
    };
    return true;
}
