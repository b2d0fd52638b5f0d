/*
 * screen_log: a prompt that is only ever continued, shortened from its end, or blanked out and
 * written again. UI thread.
 */
#include "tui/screen/screen_log.h"

#include "base/buf.h"
#include "tui/screen/paint.h"
#include "tui/screen/width.h"

static struct str screen_log_prompt(const struct screen_log *log)
{
    return lines_count(&log->prompt) ? lines_at(&log->prompt, 0).text : (struct str){0};
}

void screen_log_erase(struct screen_log *log, struct buf *out)
{
    int width = width_of(screen_log_prompt(log));

    lines_clear(&log->prompt);
    if (!width)
        return;
    buf_addc(out, '\r');
    for (int i = 0; i < width; i++)
        buf_addc(out, ' ');
    buf_addc(out, '\r');
}

void screen_log_draw(struct screen_log *log, const struct paint *paint, const struct lines *commits,
                     const struct lines *region, int cols)
{
    CLEANUP(lines_release) struct lines next = LINES_INIT;
    struct str old;
    struct str text = {0};

    if (lines_count(region)) {
        lines_add_cut(&next, lines_at(region, lines_count(region) - 1), cols,
                      !paint->able->unicode);
        text = lines_at(&next, 0).text;
    }
    if (lines_count(commits))
        screen_log_erase(log, paint->out);
    for (size_t i = 0; i < lines_count(commits); i++) {
        paint_text(paint, lines_at(commits, i).text);
        buf_adds(paint->out, "\r\n");
    }
    old = screen_log_prompt(log);
    if (str_starts(text, old)) {
        paint_text(paint, str_from(text, old.len));
    } else if (str_starts(old, text)) {
        for (int i = width_of(str_from(old, text.len)); i > 0; i--)
            buf_adds(paint->out, "\b \b");
    } else {
        screen_log_erase(log, paint->out);
        paint_text(paint, text);
    }
    lines_clear(&log->prompt);
    lines_add_all(&log->prompt, &next);
}
