/*
 * agents: lists the agent types that a session in this folder could start with their sources, and
 * reports errors in their files. Main thread.
 */
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "json/jw.h"
#include "tasks/definition.h"

static int agents_run(struct cmd *c);

const struct command cmd_agents = {
    .usage =
        {
            .name = "agents",
            .args = "[list | show NAME | check [FILE]]",
            .words = "list show check",
            .summary = "List, show or check types of agents",
            .options = (const enum option_id[]){OPT_JSON, OPT_TRUST, OPT_AGENTS, OPT_COUNT},
        },
    .run = agents_run,
};

static void write_names(struct jw *w, const char *key, const struct strv *names)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < names->len; i++)
        jw_cstr(w, names->ptr[i]);
    jw_array_end(w);
}

static void write_one(struct jw *w, const struct definition *d, bool whole)
{
    jw_object(w);
    jw_kcstr(w, "name", d->name);
    jw_kstr(w, "description", d->description);
    jw_kcstr(w, "source", definition_source_name(d->source));
    if (d->path)
        jw_kcstr(w, "path", d->path);
    if (d->shadowed_by)
        jw_kcstr(w, "shadowed_by",
                 d->shadowed_by->path ? d->shadowed_by->path
                                      : definition_source_name(d->shadowed_by->source));
    if (d->has_tools)
        write_names(w, "tools", &d->tools);
    if (d->disallowed.len)
        write_names(w, "disallowedTools", &d->disallowed);
    if (d->model.len)
        jw_kstr(w, "model", d->model);
    if (d->mode.len)
        jw_kstr(w, "permissionMode", d->mode);
    if (d->max_steps)
        jw_ki64(w, "maxTurns", d->max_steps);
    if (d->in_background)
        jw_kbool(w, "background", true);
    if (d->in_worktree)
        jw_kcstr(w, "isolation", "worktree");
    if (whole)
        jw_kstr(w, "prompt", d->prompt);
    jw_object_end(w);
}

static void list_json(const struct definitions *l, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    jw_key(&w, "agents");
    jw_array(&w);
    VEC_EACH(&l->list, it) {
        write_one(&w, *it, /*whole=*/false);
    }
    jw_array_end(&w);
    write_names(&w, "errors", &l->problems);
    write_names(&w, "notes", &l->notes);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

static void list_text(const struct definitions *l, struct buf *out)
{
    VEC_EACH(&l->list, it) {
        const struct definition *d = *it;

        buf_addf(out, "%s (%s%s%s)%s\n    %.*s\n", d->name, definition_source_name(d->source),
                 d->path ? ", " : "", d->path ? d->path : "",
                 d->shadowed_by ? ": not used, another one has the name" : "",
                 STR_ARG(str_clip(d->description, 300)));
    }
}

static int agents_list(struct cmd *c, const struct definitions *l, struct buf *out)
{
    if (c->args.given[OPT_JSON])
        list_json(l, out);
    else
        list_text(l, out);
    for (size_t i = 0; i < l->problems.len; i++)
        say("%s", l->problems.ptr[i]);
    return l->problems.len ? EXIT_FAILED : EXIT_OK;
}

static int agents_show(struct cmd *c, const struct definitions *l, struct str name, struct buf *out)
{
    const struct definition *d = definitions_find(l, name);
    struct jw w;

    if (!d) {
        say("agents: there is no agent type '%.*s'; tenax agents lists them",
            STR_ARG(str_clip(name, 64)));
        return EXIT_FAILED;
    }
    if (c->args.given[OPT_JSON]) {
        jw_init(&w, out, JW_PRETTY);
        write_one(&w, d, /*whole=*/true);
        buf_addc(out, '\n');
        return EXIT_OK;
    }
    definition_write_line(d, out);
    buf_addf(out, "\n%s%s%s\n\n%.*s\n", definition_source_name(d->source), d->path ? ": " : "",
             d->path ? d->path : "", STR_ARG(d->prompt));
    return EXIT_OK;
}

/* Checks one file, or all of them. */
static int agents_check(struct cmd *c, struct definitions *l, const char *file, struct buf *out)
{
    size_t before = l->problems.len;
    size_t notes = l->notes.len;

    if (file) {
        CLEANUP(mem_freep) char *path = path_join(c->dir, file);
        struct definition *d = definition_read_file(l, path, DEFINITION_USER, /*is_trusted=*/true);

        if (d)
            definitions_add(l, d);
    } else {
        before = notes = 0;
    }
    for (size_t i = before; i < l->problems.len; i++)
        say("%s", l->problems.ptr[i]);
    for (size_t i = notes; i < l->notes.len; i++)
        buf_addf(out, "%s\n", l->notes.ptr[i]);
    if (l->problems.len > before)
        return EXIT_FAILED;
    buf_adds(out,
             file ? "The file is a definition of an agent.\n" : "All definitions are usable.\n");
    return EXIT_OK;
}

static int agents_run(struct cmd *c)
{
    CLEANUP(definitions_unrefp) struct definitions *l = NULL;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT); /* definitions are bounded */
    const struct strv *words = &c->args.words;                    /* "agents", verb, operand */
    const char *verb = words->len > 1 ? words->ptr[1] : "list";
    const char *operand = words->len > 2 ? words->ptr[2] : NULL;
    struct err err = {0};
    int code = cmd_conf(c, &conf);
    int written = EXIT_OK;

    if (code)
        return code;
    if (definitions_read(conf, STR(""), /*has_built_in=*/true, &l, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    if (strcmp(verb, "list") == 0 && words->len <= 2) {
        code = agents_list(c, l, &out);
    } else if (strcmp(verb, "show") == 0 && words->len == 3) {
        code = agents_show(c, l, str_of(operand), &out);
    } else if (strcmp(verb, "check") == 0 && words->len <= 3) {
        code = agents_check(c, l, operand, &out);
    } else {
        say("agents: expected list, show NAME or check [FILE]");
        return EXIT_USAGE;
    }
    if (isatty(STDOUT_FILENO))
        (void)say_live(buf_str(&out), c->cancel, &written);
    else
        (void)say_out(buf_str(&out), c->cancel, &written);
    return written ? written : code;
}
