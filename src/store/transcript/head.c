/*
 * The beginning of a transcript: the first message, the first time, the first user text. Read
 * separately, because the scan examines only the beginnings of old lines. One thread.
 */
#include <string.h>

#include "store/transcript/facts.h"
#include "store/transcript/window.h"

#define MAX_HEAD ((uint64_t)32 << 20) /* bytes that are searched for a prompt */
#define MAX_PROMPT 500                /* bytes that are kept of it */

/* False for text in a user message that the user did not type. */
static bool is_typed(struct str text)
{
    static const struct str tags[] = {
        STR_INIT("<command-"),
        STR_INIT("<local-command-"),
        STR_INIT("<bash-"),
        STR_INIT("<system-reminder>"),
        STR_INIT("<task-notification>"),
        STR_INIT("<ide_"),
        STR_INIT("[Request interrupted"),
    };

    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        if (str_starts(text, tags[i]))
            return false;
    }
    return text.len > 0;
}

static void head_take_prompt(struct head *h, const struct line_source *source,
                             const struct entry_line *l)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(MAX_PROMPT * 4);

    if (l->kind != ENTRY_USER || h->prompt.len ||
        l->flags & (LOAD_META | LOAD_SUMMARY | LOAD_TOOL_RESULT))
        return;
    for (unsigned i = 0; i < l->text_count && !h->prompt.len; i++) {
        source_string(source, l->texts[i], MAX_PROMPT * 2, &text);
        if (is_typed(str_trim(buf_str(&text))))
            buf_add(&h->prompt, str_trim(str_clip(str_trim(buf_str(&text)), MAX_PROMPT)));
    }
}

int head_read(struct head *h, const struct line_source *source, uint64_t max_bytes, struct err *err)
{
    uint64_t end = source->size < max_bytes ? source->size : max_bytes;
    bool is_first = true;
    CLEANUP(window_release) struct window w;
    struct entry_line line;
    int n = 0;

    *h = (struct head){.prompt = BUF_INIT(MAX_PROMPT)};
    window_init(&w, source->fd, source->size, WINDOW_BYTES);
    window_seek(&w, 0, end < MAX_HEAD ? end : MAX_HEAD, /*is_inside=*/false, err);
    if (max_bytes < source->size)
        w.end = max_bytes; /* a longer line is cut; its beginning is enough */
    while (!h->prompt.len && (n = window_line(&w, err)) > 0) {
        bool is_entry = line_scan(&w, LINE_ALL, &line);
        bool is_cut = !w.has_more && !w.has_break && w.end < source->size;

        if ((!is_entry && !is_cut) || !entry_kind_is_link(line.kind))
            continue;
        if (is_first)
            h->is_agent = line.flags & LOAD_SIDECHAIN;
        is_first = false;
        if (!h->time.len && line.at_time.len)
            h->time = line.at_time;
        head_take_prompt(h, source, &line);
    }
    if (n < 0)
        head_release(h);
    return n < 0 ? -1 : 0;
}

void head_release(struct head *h)
{
    buf_release(&h->prompt);
}
