/*
 * agent_memory: the folder, and what the model is told about it.
 */
#include "host/agent_memory.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "conf/conf.h"
#include "context/reminder.h"
#include "guard/workspace.h"

#define MEMORY_FILE "MEMORY.md"
#define MEMORY_MAX_FILE ((size_t)1 << 20)
#define MEMORY_SHOWN ((size_t)24 << 10) /* bytes of it that the model is given */

/* Types of plugins have a colon in their name. */
static void add_file_name(struct str type, struct buf *ret)
{
    for (size_t i = 0; i < type.len; i++)
        buf_addc(ret, type.ptr[i] == ':' || type.ptr[i] == '/' ? '-' : type.ptr[i]);
}

static void write_folder(const struct conf *conf, struct str scope, struct str type,
                         struct buf *ret)
{
    if (str_is(scope, "user"))
        buf_addf(ret, "%s/agent-memory/", conf_home(conf));
    else
        buf_addf(ret, "%s/.tenax/agent-memory%s/", conf_dir(conf),
                 str_is(scope, "local") ? "-local" : "");
    add_file_name(type, ret);
}

void agent_memory_open(const struct conf *conf, struct workspace *w, struct str scope,
                       struct str type, struct buf *ret)
{
    CLEANUP(buf_release) struct buf dir = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf file = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(MEMORY_MAX_FILE);
    CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);

    if (!scope.len)
        return;
    write_folder(conf, scope, type, &dir);
    if (file_mkdirs(buf_cstr(&dir), 0700, /*err=*/NULL) < 0)
        return;
    workspace_add_own(w, buf_cstr(&dir));
    buf_addf(&file, "%s/" MEMORY_FILE, buf_cstr(&dir));
    buf_addf(&words,
             "Your memory is the folder %s. It stays between sessions, and you may read and write "
             "files there without asking. Keep in " MEMORY_FILE " what will help you next time: "
             "short, true, without secrets; put details into other files and name them there.",
             buf_cstr(&dir));
    if (file_slurp(buf_cstr(&file), MEMORY_MAX_FILE, &text, /*err=*/NULL) == 0 && text.len) {
        struct str shown = str_clip(buf_str(&text), MEMORY_SHOWN);

        buf_addf(&words, "\n\n" MEMORY_FILE ":\n%.*s", STR_ARG(shown));
        if (shown.len < text.len)
            buf_adds(&words, "\n[The rest is left out: shorten the file.]");
    }
    reminder_add(ret, buf_str(&words));
}
