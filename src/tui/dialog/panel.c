/*
 * panel: what all panels share. UI thread.
 */
#include "tui/dialog/panel.h"

void panel_free(struct panel *p)
{
    if (p)
        p->kind->free(p);
}

void panel_log_release(struct panel_log *log)
{
    lines_release(&log->said);
}

void panel_log_forget(struct panel_log *log)
{
    lines_clear(&log->said);
}

/* How many of the first rows are as they were. */
static size_t same_rows(const struct lines *a, const struct lines *b, size_t most)
{
    size_t i = 0;

    while (i < most && i < lines_count(a) && str_eq(lines_at(a, i).text, lines_at(b, i).text))
        i++;
    return i;
}

void panel_log_show(struct panel_log *log, const struct lines *drawn, struct screen *s)
{
    size_t rows = lines_count(drawn) ? lines_count(drawn) - 1 : 0;
    size_t same = same_rows(&log->said, drawn, rows);
    struct lines news = LINES_INIT;

    for (size_t i = same; i < rows; i++)
        lines_add(&news, lines_at(drawn, i));
    if (lines_count(&news))
        screen_commit(s, &news);
    lines_clear(&log->said);
    for (size_t i = 0; i < rows; i++)
        lines_add(&log->said, lines_at(drawn, i));
    lines_release(&news);
}
