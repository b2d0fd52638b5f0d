/*
 * note: writes text after "#" to a memory file that the user chooses. The row is not listed.
 */
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "context/instructions.h"
#include "host/host.h"
#include "slash/answer.h"
#include "slash/memory_file.h"

static int note_run(struct slash_call *call, struct err *err);

const struct slash_command slash_note_entry = {
    .name = "#",
    .hint = "<note>",
    .summary = "Keep a note in a memory file",
    .run = note_run,
};

enum {
    NOTE_PROJECT,
    NOTE_LOCAL,
    NOTE_USER,
    NOTE_PLACES
};

struct places {
    char *path[NOTE_PLACES];
};

static void places_release(struct places *p)
{
    for (size_t i = 0; i < NOTE_PLACES; i++)
        mem_freep(&p->path[i]);
}

/* The project's is the one that is there; AGENTS.md where there is none but that. */
static void places_find(const struct conf *conf, struct places *ret)
{
    CLEANUP(mem_freep) char *agents = path_join(conf_dir(conf), "AGENTS.md");

    ret->path[NOTE_PROJECT] = path_join(conf_dir(conf), "CLAUDE.md");
    if (!file_exists(ret->path[NOTE_PROJECT]) && file_exists(agents)) {
        mem_freep(&ret->path[NOTE_PROJECT]);
        ret->path[NOTE_PROJECT] = TAKE_PTR(agents);
    }
    ret->path[NOTE_LOCAL] = path_join(conf_dir(conf), "CLAUDE.local.md");
    ret->path[NOTE_USER] = path_join(conf_home(conf), "CLAUDE.md");
}

static int note_pick(struct slash_call *call, const struct places *p, size_t *ret, struct err *err)
{
    static const char *const labels[] = {
        [NOTE_PROJECT] = "For this project",
        [NOTE_LOCAL] = "For me in this project",
        [NOTE_USER] = "For me everywhere",
    };
    struct choice choices[NOTE_PLACES] = {0};
    struct pick pick = {.look = PICK_LIST,
                        .title = STR_INIT("Where to keep the note"),
                        .note = call->args,
                        .choices = choices,
                        .count = NOTE_PLACES};

    for (size_t i = 0; i < NOTE_PLACES; i++) {
        choices[i].label = str_of(labels[i]);
        choices[i].detail = str_of(p->path[i]);
    }
    return slash_pick(call, &pick, ret, err);
}

static int note_run(struct slash_call *call, struct err *err)
{
    CLEANUP(places_release) struct places places = {0};
    CLEANUP(buf_release) struct buf text = BUF_INIT(INSTRUCTIONS_MAX_FILE);
    CLEANUP(memory_file_release) struct memory_file file = MEMORY_FILE_INIT;
    size_t at = NOTE_PROJECT;
    const char *path;

    if (!call->args.len)
        return err_set(err, ERR_BAD_INPUT, "which note?");
    places_find(host_conf(call->host), &places);
    if (call->front && note_pick(call, &places, &at, err) < 0)
        return -1;
    path = places.path[at];
    if (memory_file_read(&file, path, err) < 0)
        return -1;
    buf_add(&text, buf_str(&file.text));
    if (text.len && text.ptr[text.len - 1] != '\n')
        buf_addc(&text, '\n');
    buf_addf(&text, "- %.*s\n", STR_ARG(call->args));
    if (memory_file_write(&file, &text, err) < 0)
        return -1;
    slash_sayf(call, INK_PLAIN, "Kept in %s\n", path);
    return 0;
}
