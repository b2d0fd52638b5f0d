/*
 * /agents: lists and shows agent types, creates one from a draft by the model, changes and deletes
 * those in files of the user or the project. Changes apply to agents started afterwards.
 */
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/host.h"
#include "slash/answer.h"
#include "tasks/agents.h"
#include "tasks/definition.h"

#define AGENTS_MAX_NAME 64
#define AGENTS_MAX_WISH ((size_t)16 << 10)
#define AGENTS_TOKENS 4000
#define AGENTS_PREVIEW 2000

static int agents_run(struct slash_call *call, struct err *err);

const struct slash_command slash_agents_entry = {
    .name = "agents",
    .hint = "[show <name> | new <name> [what for] | edit <name> | remove <name>]",
    .summary = "List the types of agents, create one with the model's help, edit or remove it",
    .more = "`new` writes `.tenax/agents/NAME.md` in the project; in a terminal you choose the "
            "place and can edit the draft first. Only files of yours and of the project are "
            "edited and removed. `/tasks` lists the agents that run.",
    .run = agents_run,
};

static const char draft_words[] =
    "You write definitions of agents for a coding agent. A definition is a Markdown file: "
    "frontmatter between two lines of three dashes, then the agent's system prompt. Keys of the "
    "frontmatter: name (given), description (one or two sentences that tell the main agent when to "
    "use it), tools (comma-separated; only if it needs fewer than all: Read, Grep, Glob, Bash, "
    "Edit, Write, WebFetch, WebSearch). The prompt is addressed to the agent (\"You review…\"), "
    "says what to do, what to leave alone and what its report contains, in at most 30 lines. "
    "Answer with the file alone, without a code fence.";

static bool name_is_good(struct str name)
{
    if (!name.len || name.len > AGENTS_MAX_NAME || !isalnum((unsigned char)name.ptr[0]))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '-' && name.ptr[i] != '_')
            return false;
    }
    return true;
}

static bool may_change(const struct definition *d)
{
    return d->path && (d->source == DEFINITION_USER || d->source == DEFINITION_PROJECT);
}

static const struct definition *find(const struct definitions *l, struct str name, struct err *err)
{
    const struct definition *d = definitions_find(l, name);

    if (!d)
        (void)err_set(err, ERR_NOT_FOUND, "there is no agent type '%.*s'; /agents lists them",
                      STR_ARG(str_clip(name, AGENTS_MAX_NAME)));
    return d;
}

/* ---- Reading ---- */

static void write_whole(const struct definition *d, struct buf *ret)
{
    definition_write_line(d, ret);
    buf_addf(ret, "\n%s%s%s\n\n%.*s\n", definition_source_name(d->source), d->path ? ": " : "",
             d->path ? d->path : "", STR_ARG(d->prompt));
}

static void say_problems(struct slash_call *call, const struct definitions *l)
{
    for (size_t i = 0; i < l->problems.len; i++)
        slash_sayf(call, INK_YELLOW, "%s\n", l->problems.ptr[i]);
}

static void agents_list(struct slash_call *call, const struct definitions *l)
{
    VEC_EACH(&l->list, it) {
        const struct definition *d = *it;
        CLEANUP(buf_release) struct buf line = BUF_INIT(4096);

        slash_add_line(&line, d->description, 200);
        slash_sayf(call, d->shadowed_by ? INK_FAINT : INK_BOLD, "%s", d->name);
        slash_sayf(call, INK_FAINT, " (%s%s)\n", definition_source_name(d->source),
                   d->shadowed_by ? ", not used: another one has the name" : "");
        slash_sayf(call, INK_PLAIN, "    %s\n", buf_cstr(&line));
    }
    say_problems(call, l);
    slash_say(call, INK_FAINT, STR("New one: /agents new NAME what it is for\n"));
}

static int agents_show(struct slash_call *call, const struct definition *d)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(SLASH_MAX_TEXT);

    write_whole(d, &text);
    if (call->front)
        call->front->show(call->front->arg, str_of(d->name), buf_str(&text));
    else
        slash_say(call, INK_PLAIN, buf_str(&text));
    return 0;
}

/* ---- Changing ---- */

/* The problems of the file as it is now. */
static void say_check(struct slash_call *call, const char *path)
{
    CLEANUP(definitions_unrefp) struct definitions *l = agents_types(host_agents(call->host));
    bool is_wrong = false;

    for (size_t i = 0; i < l->problems.len; i++) {
        if (!str_starts(str_of(l->problems.ptr[i]), str_of(path)))
            continue;
        slash_sayf(call, INK_YELLOW, "%s\n", l->problems.ptr[i]);
        is_wrong = true;
    }
    if (!is_wrong)
        slash_say(call, INK_FAINT, STR("It counts for agents started from now on.\n"));
}

static int agents_save(struct slash_call *call, const char *path, const struct buf *text,
                       struct err *err)
{
    CLEANUP(mem_freep) char *folder = path_dirname(path);

    if (buf_check(text, err) < 0 || file_mkdirs(folder, 0755, err) < 0 ||
        file_replace(path, buf_str(text), 0644, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Wrote %s\n", path);
    say_check(call, path);
    return 0;
}

static int agents_edit(struct slash_call *call, const struct definition *d, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(DEFINITION_MAX_FILE);
    CLEANUP(buf_release) struct buf before = BUF_INIT(DEFINITION_MAX_FILE);

    if (!may_change(d))
        return err_set(err, ERR_UNSUPPORTED, "%s is %s and cannot be edited here", d->name,
                       definition_source_name(d->source));
    if (!call->front)
        return err_set(err, ERR_UNSUPPORTED, "edit %s with any editor; changes count at once",
                       d->path);
    if (file_slurp(d->path, DEFINITION_MAX_FILE, &before, err) < 0)
        return -1;
    buf_add(&text, buf_str(&before));
    if (call->front->edit(call->front->arg, str_of(d->path), &text, call->cancel, err) < 0)
        return -1;
    if (text.len && text.ptr[text.len - 1] != '\n')
        buf_addc(&text, '\n');
    if (str_eq(buf_str(&text), buf_str(&before))) {
        slash_sayf(call, INK_PLAIN, "%s is as it was.\n", d->path);
        return 0;
    }
    return agents_save(call, d->path, &text, err);
}

static int agents_remove(struct slash_call *call, const struct definition *d, struct err *err)
{
    static const char *const answers[] = {"Keep it", "Remove the file"};
    size_t removes = 1;

    if (!may_change(d))
        return err_set(err, ERR_UNSUPPORTED, "%s is %s and cannot be removed here", d->name,
                       definition_source_name(d->source));
    if (call->front && slash_choose(call, d->path, answers, ARRAY_LEN(answers), &removes, err) < 0)
        return -1;
    if (!removes)
        return err_set(err, ERR_CANCELLED, "Cancelled");
    if (unlink(d->path) < 0)
        return err_sys(err, ERR_IO, "cannot remove '%s'", d->path);
    slash_sayf(call, INK_PLAIN, "Removed %s\n", d->path);
    return 0;
}

/* ---- A new one ---- */

static void write_template(struct str name, struct str wish, struct buf *ret)
{
    buf_addf(ret,
             "---\nname: %.*s\ndescription: %.*s\ntools: Read, Grep, Glob, Bash\n---\n"
             "You are %.*s, an agent for one kind of task: %.*s\n\n"
             "Read before you judge, and report what you found with paths and line numbers.\n",
             STR_ARG(name), STR_ARG(str_first(wish, str_chr(wish, '\n'))), STR_ARG(name),
             STR_ARG(wish));
}

/* Models often put a fence around the file despite the instructions. */
static struct str without_fence(struct str text)
{
    text = str_trim(text);
    if (!str_starts(text, STR("```")))
        return text;
    text = str_from(text, str_chr(text, '\n') + 1);
    if (str_ends(text, STR("```")))
        text.len -= 3;
    return str_trim(text);
}

static int draft(struct slash_call *call, struct str name, struct str wish, struct buf *ret,
                 struct err *err)
{
    CLEANUP(buf_release) struct buf question = BUF_INIT(2 * AGENTS_MAX_WISH);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(buf_release) struct buf head = BUF_INIT(200);
    struct str text;

    buf_addf(&question, "The agent is called %.*s. What it is for:\n%.*s\n\nWrite its definition.",
             STR_ARG(name), STR_ARG(wish));
    if (host_ask_model(call->host, STR(draft_words), buf_str(&question), AGENTS_TOKENS,
                       call->cancel, &answer, err) < 0)
        return -1;
    text = without_fence(buf_str(&answer));
    buf_addf(&head, "\nname: %.*s\n", STR_ARG(name));
    if (!str_starts(text, STR("---\n")) || !str_has(text, buf_str(&head))) {
        slash_say(call, INK_YELLOW,
                  STR("The model's draft is no definition, so this is a template.\n"));
        write_template(name, wish, ret);
        return 0;
    }
    buf_add(ret, text);
    buf_addc(ret, '\n');
    return 0;
}

static char *place_of(struct slash_call *call, struct str name, bool is_users)
{
    const struct conf *conf = host_conf(call->host);
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&path, "%s%s/agents/%.*s.md", is_users ? conf_home(conf) : conf_dir(conf),
             is_users ? "" : "/.tenax", STR_ARG(name));
    return buf_take(&path);
}

/* Asks the user for name and purpose (unless given), the destination, and who writes it. */
static int ask_new(struct slash_call *call, struct buf *name, struct buf *wish, size_t *ret_place,
                   size_t *ret_how, struct err *err)
{
    static const char *const where[] = {"This project (.tenax/agents)", "All my projects"};
    static const char *const how[] = {"Let the model draft it", "Start from a template"};
    const struct slash_front *f = call->front;

    if (!name->len && f->edit(f->arg, STR("Name of the agent: letters, digits, dashes"), name,
                              call->cancel, err) < 0)
        return -1;
    if (!wish->len && f->edit(f->arg, STR("What is it for, and when is it to be used?"), wish,
                              call->cancel, err) < 0)
        return -1;
    if (slash_choose(call, "Where should it be available?", where, ARRAY_LEN(where), ret_place,
                     err) < 0)
        return -1;
    return slash_choose(call, "Who writes it?", how, ARRAY_LEN(how), ret_how, err);
}

static int agents_new_one(struct slash_call *call, struct str name_said, struct str wish_said,
                          struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf wish = BUF_INIT(AGENTS_MAX_WISH);
    CLEANUP(buf_release) struct buf text = BUF_INIT(DEFINITION_MAX_FILE);
    CLEANUP(mem_freep) char *path = NULL;
    size_t place = 0, how = 0;
    struct str good;

    buf_add(&name, str_clip(name_said, AGENTS_MAX_NAME + 1));
    buf_add(&wish, str_clip(wish_said, AGENTS_MAX_WISH));
    if (call->front && ask_new(call, &name, &wish, &place, &how, err) < 0)
        return -1;
    good = str_trim(buf_str(&name));
    if (!name_is_good(good))
        return err_set(err, ERR_BAD_INPUT,
                       "'%.*s' is no name for an agent: letters, digits, '-' and '_', at most %d",
                       STR_ARG(str_clip(good, AGENTS_MAX_NAME)), AGENTS_MAX_NAME);
    if (!str_trim(buf_str(&wish)).len)
        return err_set(err, ERR_BAD_INPUT, "say what it is for: /agents new %.*s WHAT IT IS FOR",
                       STR_ARG(good));
    path = place_of(call, good, place == 1);
    if (file_exists(path))
        return err_set(err, ERR_BUSY, "there is %s already; /agents edit %.*s", path,
                       STR_ARG(good));
    if (how)
        write_template(good, str_trim(buf_str(&wish)), &text);
    else if (draft(call, good, str_trim(buf_str(&wish)), &text, err) < 0)
        return -1;
    if (call->front &&
        call->front->edit(call->front->arg, str_of(path), &text, call->cancel, err) < 0)
        return -1;
    return agents_save(call, path, &text, err);
}

/* ---- As a menu ---- */

static int one_chosen(struct slash_call *call, const struct definition *d, struct err *err)
{
    static const char *const labels[] = {"Show it", "Edit it", "Remove it"};
    size_t what = 0;

    if (may_change(d) && slash_choose(call, d->name, labels, ARRAY_LEN(labels), &what, err) < 0)
        return -1;
    return what == 0   ? agents_show(call, d)
           : what == 1 ? agents_edit(call, d, err)
                       : agents_remove(call, d, err);
}

static int agents_choose(struct slash_call *call, const struct definitions *l, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf note = BUF_INIT(4096);
    struct choice *choices = arena_zalloc(&arena, sizeof(*choices) * (l->list.len + 1));
    struct pick p = {
        .look = PICK_SEARCH, .title = STR_INIT("Types of agents"), .choices = choices, .count = 1};
    size_t at;

    choices[0].label = STR("New agent");
    VEC_EACH(&l->list, it) {
        const struct definition *d = *it;
        CLEANUP(buf_release) struct buf detail = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf preview = BUF_INIT(SLASH_MAX_TEXT);

        buf_addf(&detail, "%s%s", definition_source_name(d->source),
                 d->shadowed_by ? ", not used: another one has the name" : "");
        write_whole(d, &preview);
        choices[p.count++] = (struct choice){
            .label = str_of(d->name),
            .detail = arena_str(&arena, buf_str(&detail)),
            .preview = arena_str(&arena, str_clip(buf_str(&preview), AGENTS_PREVIEW)),
        };
    }
    if (l->problems.len)
        buf_addf(&note, "%s", l->problems.ptr[0]);
    p.note = buf_str(&note);
    if (slash_pick(call, &p, &at, err) < 0)
        return -1;
    return at ? one_chosen(call, l->list.ptr[at - 1], err)
              : agents_new_one(call, STR(""), STR(""), err);
}

static int agents_run(struct slash_call *call, struct err *err)
{
    CLEANUP(definitions_unrefp) struct definitions *l = agents_types(host_agents(call->host));
    struct str verb = slash_word(call->args);
    struct str rest = str_trim(str_from(call->args, verb.len));
    struct str name = slash_word(rest);
    const struct definition *d;

    if (!verb.len && call->front)
        return agents_choose(call, l, err);
    if (!verb.len || (str_is(verb, "list") && !rest.len)) {
        agents_list(call, l);
        return 0;
    }
    if (str_is(verb, "new") && (name.len || call->front))
        return agents_new_one(call, name, str_trim(str_from(rest, name.len)), err);
    if (!name.len || name.len != rest.len || !str_is_word_of(verb, "show edit remove"))
        return err_set(err, ERR_BAD_INPUT, "usage: /agents %s", slash_agents_entry.hint);
    d = find(l, name, err);
    if (!d)
        return -1;
    return str_is(verb, "show")   ? agents_show(call, d)
           : str_is(verb, "edit") ? agents_edit(call, d, err)
                                  : agents_remove(call, d, err);
}
