/*
 * history_file: a line in the shape that viewers of Claude Code's history read. Any thread.
 */
#include "store/history_file.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/secret.h"
#include "json/jw.h"
#include "store/transcript/transcript.h"

int history_file_add(const char *home, const struct history_line *line, struct err *err)
{
    CLEANUP(mem_freep) char *path = path_join(home, "history.jsonl");
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct jw w;

    jw_init(&w, &text, JW_CLEAN);
    jw_object(&w);
    jw_kstr(&w, "display", line->text);
    jw_kraw(&w, "pastedContents", STR("{}"));
    jw_ki64(&w, "timestamp", line->time_ms);
    jw_kstr(&w, "project", line->dir);
    jw_kstr(&w, "sessionId", line->session);
    jw_object_end(&w);
    buf_addc(&text, '\n');
    secret_scrub(&text);
    return transcript_add_line(path, buf_str(&text), /*durable=*/false, err);
}
