/*
 * /memory: shows the instruction files of the model, and edits one.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "context/instructions.h"
#include "host/host.h"
#include "slash/answer.h"
#include "slash/memory_file.h"

static int memory_run(struct slash_call *call, struct err *err);

const struct slash_command slash_memory_entry = {
    .name = "memory",
    .hint = "",
    .summary = "List the files of instructions the model is given, or edit one",
    .run = memory_run,
};

static const char *const kinds[] = {
    [INSTRUCTION_MANAGED] = "managed",
    [INSTRUCTION_USER] = "yours",
    [INSTRUCTION_PROJECT] = "project",
    [INSTRUCTION_LOCAL] = "yours, here",
};

static int memory_edit(struct slash_call *call, const char *path, struct err *err)
{
    CLEANUP(memory_file_release) struct memory_file file = MEMORY_FILE_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(INSTRUCTIONS_MAX_FILE);
    bool same;

    if (memory_file_read(&file, path, err) < 0)
        return -1;
    buf_add(&text, buf_str(&file.text));
    if (call->front->edit(call->front->arg, str_of(path), &text, call->cancel, err) < 0)
        return -1;
    same = str_eq(buf_str(&file.text), buf_str(&text));
    if (text.len && text.ptr[text.len - 1] != '\n')
        buf_addc(&text, '\n');
    if (same || str_eq(buf_str(&file.text), buf_str(&text))) {
        slash_sayf(call, INK_PLAIN, "%s is as it was.\n", path);
        return 0;
    }
    if (memory_file_write(&file, &text, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Wrote %s; the model gets it with your next message.\n", path);
    return 0;
}

static int memory_pick(struct slash_call *call, const struct instructions *files, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(mem_freep) char *project = path_join(conf_dir(host_conf(call->host)), "CLAUDE.md");
    CLEANUP(mem_freep) char *user = path_join(conf_home(host_conf(call->host)), "CLAUDE.md");
    struct choice *choices = arena_alloc(&arena, (files->files.len + 2) * sizeof(*choices));
    struct pick p = {.look = PICK_LIST, .title = STR_INIT("Memory files"), .choices = choices};
    const char *const more[] = {project, user};
    const char *const what[] = {"a new file for this project", "a new file for all projects"};
    bool has[2] = {false, false};
    size_t chosen;

    VEC_EACH(&files->files, f) {
        choices[p.count++] = (struct choice){.label = str_of(f->path),
                                             .detail = str_of(kinds[f->kind]),
                                             .preview = str_clip(buf_str(&f->text), 2000),
                                             .is_off = f->kind == INSTRUCTION_MANAGED};
        for (size_t i = 0; i < ARRAY_LEN(more); i++)
            has[i] = has[i] || str_is(str_of(f->path), more[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        if (!has[i])
            choices[p.count++] =
                (struct choice){.label = str_of(more[i]), .detail = str_of(what[i])};
    }
    if (slash_pick(call, &p, &chosen, err) < 0)
        return -1;
    return memory_edit(call, arena_cstr(&arena, choices[chosen].label), err);
}

static int memory_run(struct slash_call *call, struct err *err)
{
    CLEANUP(instructions_release) struct instructions files = {0};

    if (host_instructions(call->host, call->cancel, &files, err) < 0)
        return -1;
    if (call->front)
        return memory_pick(call, &files, err);
    VEC_EACH(&files.files, f) {
        slash_sayf(call, INK_PLAIN, "%s", f->path);
        slash_sayf(call, INK_FAINT, "  %s, %zu bytes%s%s\n", kinds[f->kind], f->text.len,
                   f->importer ? ", imported by " : "", f->importer ? f->importer : "");
    }
    VEC_EACH(&files.rules, r) {
        slash_sayf(call, INK_PLAIN, "%s", r->path);
        slash_say(call, INK_FAINT, STR("  a rule for certain files\n"));
    }
    for (size_t i = 0; i < files.notices.len; i++)
        slash_sayf(call, INK_YELLOW, "%s\n", files.notices.ptr[i]);
    if (!files.files.len && !files.rules.len)
        slash_say(
            call, INK_PLAIN,
            STR("There are no memory files. /init has the model write one for this project.\n"));
    else
        slash_say(call, INK_FAINT, STR("Edit them with any editor; changes count at once.\n"));
    return 0;
}
