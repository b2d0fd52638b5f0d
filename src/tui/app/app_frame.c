/*
 * app_frame: one frame, from top to bottom: what moves in the conversation, what waits to be said,
 * a panel or the editor, and the status. At most 60 of them in a second, none when nothing has
 * changed; smaller and twice as many while a stream is faster than that, so that no key waits for a
 * long one. UI thread.
 */
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "sync/mailbox.h"
#include "tui/app/app.h"
#include "tui/chat/chat.h"
#include "tui/editor/editor.h"
#include "tui/screen/keypress.h"
#include "tui/screen/reflow.h"
#include "tui/screen/screen.h"
#include "tui/screen/term.h"
#include "tui/screen/width.h"

#define FRAME_MS 16
#define FRAME_BEHIND_MS 8  /* while more has come than was shown */
#define FRAME_WORK_US 2000 /* of the thread's own time: so much of a stream is shown at once */
#define FRAME_LEAST ((size_t)8 << 10)
#define FRAME_MOST ((size_t)512 << 10)
#define FRAME_QUEUE_ROWS 3
#define FRAME_SLOW_MS 300   /* a command that has not answered by then is shown as running */
#define FRAME_ROOMY_ROWS 8  /* of the window: there is room for a rule */
#define FRAME_PANEL_ROWS 12 /* that a question has before the status has more than one */
#define FRAME_LEAST_ROWS 6  /* of the window: fewer, and a question has all of them */
#define FRAME_LOW_ROWS 12   /* of the window: lower, rows are cut to any length */
/* Least rows that the live view keeps in the smallest window, however full it gets: 79 cells of
 * running work, 59 of the status. */
#define FRAME_LEAST_LIVE 4
#define FRAME_LEAST_BELOW 3

void app_view(struct app *a, struct view *ret)
{
    const struct term_able *able = term_able(a->term);

    *ret = (struct view){
        .cols = screen_cols(a->screen),
        .rows = screen_rows(a->screen),
        .now_ms = clock_mono_ms(),
        .ascii = !able->unicode,
        .plain = able->is_plain,
    };
}

/* ---- parts ---- */

static size_t frame_waiting(const struct app *a)
{
    size_t n = 0;

    VEC_EACH(&a->sent, s) {
        n += !s->is_shown;
    }
    return n;
}

/* A command that takes its time: the conversation knows nothing of it before it has answered. */
static const struct sent *frame_command(const struct app *a)
{
    VEC_EACH(&a->sent, s) {
        if (!s->is_kept)
            return s->is_shown && !chat_is_busy(a->chat) ? s : NULL;
    }
    return NULL;
}

/* What it has said last, a row for a line. */
static void frame_tail(struct app *a, const struct view *v, struct lines *ret)
{
    struct str rest = buf_str(&a->tail);
    struct str line;

    while (rest.len && !v->plain && str_cut(&rest, '\n', &line)) {
        struct lines row = LINES_INIT;

        lines_puts(&row, ROLE_FAINT, "    ");
        lines_put(&row, STYLE(ROLE_FAINT), line);
        lines_end(&row);
        lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
        lines_release(&row);
    }
}

static void frame_running(struct app *a, const struct view *v, struct lines *ret)
{
    const struct sent *s = frame_command(a);
    struct lines row = LINES_INIT;

    if (!s || v->now_ms - s->sent_ms < FRAME_SLOW_MS)
        return;
    lines_puts(&row, ROLE_ACCENT, v->ascii ? "... " : "… ");
    lines_put(&row, STYLE(ROLE_FAINT), str_first(str_of(s->text), str_chr(str_of(s->text), ' ')));
    lines_puts(&row, ROLE_FAINT, " is running (Esc to interrupt)");
    lines_end(&row);
    lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
    lines_release(&row);
    frame_tail(a, v, ret);
}

/* What will be said next, a row each. */
static void frame_queue(struct app *a, const struct view *v, struct lines *ret)
{
    size_t left = frame_waiting(a);
    size_t rows = 0;

    frame_running(a, v, ret);
    VEC_EACH(&a->sent, s) {
        struct lines row = LINES_INIT;

        if (s->is_shown)
            continue;
        if (rows == FRAME_QUEUE_ROWS && left > 1) {
            lines_putf(&row, STYLE(ROLE_FAINT), "  %s %zu more", v->ascii ? "..." : "…", left);
        } else {
            lines_puts(&row, ROLE_FAINT, v->ascii ? "> " : "› ");
            lines_put(&row, STYLE(ROLE_FAINT), str_first(str_of(s->shown), 1000));
        }
        lines_end(&row);
        lines_add_cut(ret, lines_at(&row, 0), v->cols, v->ascii);
        lines_release(&row);
        left--;
        if (rows++ == FRAME_QUEUE_ROWS)
            break;
    }
    if (rows) {
        lines_puts(ret, ROLE_FAINT, "  Up to edit");
        lines_end(ret);
    }
}

/* Separates the draft from the information about the session. It stands below the draft: above, it
 * would keep the terminal's own cursor out of the draft (screen.h), because it breaks into many
 * rows when the window gets narrower. */
static void frame_rule(const struct view *v, struct lines *ret)
{
    for (int i = 0; i < v->cols; i++)
        lines_puts(ret, ROLE_FAINT, v->ascii ? "-" : "─");
    lines_end(ret);
}

/* What the empty editor says. Few words: the row breaks when the window is halved, or not at all.
 */
static struct str frame_hint(const struct app *a)
{
    if (app_is_viewing(a))
        return buf_str(&a->viewed.hint);
    if (a->is_changing)
        return STR("one moment, please");
    if (app_is_working(a))
        return STR("Esc interrupts, say something to add to it");
    return STR("say what to do");
}

/* ---- the frame ---- */

/* The draft, and the rule and the list of completions after it: rows of a frame. */
struct frame_draft {
    size_t from, to;
    size_t list_from, list_to;
};

/* How many of the status are shown: the editor, and even more so a question, has most of them. */
static int frame_status_rows(const struct view *v, bool is_asked)
{
    int most = v->rows / 3;

    if (is_asked && v->rows < FRAME_LEAST_ROWS)
        return 0;
    if (is_asked && most > v->rows - FRAME_PANEL_ROWS)
        most = v->rows - FRAME_PANEL_ROWS;
    return most > 1 ? most : 1;
}

/* The draft, the rule, and what the editor shows after its text. */
static void frame_editor(struct app *a, const struct lines *editor, bool has_rule,
                         const struct view *v, struct frame_draft *d)
{
    size_t text = editor_text_rows(a->editor) ? editor_text_rows(a->editor) : 1;

    for (size_t i = 0; i < text; i++)
        lines_add(&a->part, lines_at(editor, i));
    d->list_from = lines_count(&a->part);
    if (has_rule)
        frame_rule(v, &a->part);
    for (size_t i = text; i < lines_count(editor); i++)
        lines_add(&a->part, lines_at(editor, i));
    d->list_to = lines_count(&a->part);
}

/* Puts the lower parts together in a->part: a panel or the editor with the queue, then the status.
 * *ret_cursor's row and *ret_draft count from the first of them. */
static void frame_lower(struct app *a, const struct view *v, struct screen_cursor *ret_cursor,
                        struct frame_draft *ret_draft)
{
    struct panel *panel = app_panel(a);
    struct lines below = LINES_INIT;
    struct view part = *v;
    bool has_rule;

    part.rows = frame_status_rows(v, panel != NULL);
    lines_clear(&a->part);
    *ret_cursor = (struct screen_cursor){0};
    *ret_draft = (struct frame_draft){0};
    if (!v->plain) {
        app_status_draw(a, &part, &below);
        part.rows = panel ? 0 : v->rows / 3 - (int)lines_count(&below);
        app_agents_draw(a, &part, &below);
    }
    part.rows = v->rows - (int)lines_count(&below);
    if (panel) {
        panel->kind->draw(panel, &part, &a->part, ret_cursor);
        if (v->plain)
            panel_log_show(&a->panel_log, &a->part, a->screen);
    } else {
        struct lines queue = LINES_INIT;
        struct lines editor = LINES_INIT;

        part.rows = v->rows / 3;
        app_board_draw(a, &part, &queue);
        frame_queue(a, v, &queue);
        part.rows = v->rows - (int)lines_count(&below);
        part.rows -= (int)lines_count(&queue);
        if (part.rows < 3) { /* a low window: what one writes goes first */
            lines_clear(&queue);
            part.rows = v->rows - (int)lines_count(&below);
        }
        if (part.rows < 1) {
            lines_clear(&below);
            part.rows = 1;
        }
        has_rule = part.rows >= FRAME_ROOMY_ROWS && !v->plain;
        if (has_rule) /* and a blank row above the draft */
            lines_end(&queue);
        part.rows = v->rows - (int)lines_count(&below) - (int)lines_count(&queue) - has_rule;
        editor_draw(a->editor, &part, frame_hint(a), &editor, ret_cursor);
        lines_add_all(&a->part, &queue);
        ret_cursor->row += lines_count(&queue);
        ret_draft->from = lines_count(&queue);
        ret_draft->to = ret_draft->from + editor_text_rows(a->editor);
        frame_editor(a, &editor, has_rule, v, ret_draft);
        lines_release(&queue);
        lines_release(&editor);
    }
    lines_add_all(&a->part, &below);
    lines_release(&below);
}

/* A rule, when another conversation comes to the screen. */
static void frame_switch(struct app *a, const struct view *v)
{
    struct chat *c;

    if (!a->viewed.rule.len)
        return;
    c = app_chat_new(a, /*is_agent=*/false);
    chat_rule(c, buf_str(&a->viewed.rule));
    chat_take(c, v, &a->commits);
    chat_free(c);
    buf_clear(&a->viewed.rule);
}

/* Of a conversation that was going on already, a window full: the transcript has the rest. */
static void frame_enter(struct app *a, const struct view *v)
{
    CLEANUP(lines_release) struct lines all = LINES_INIT;
    size_t most = v->rows > 6 ? (size_t)v->rows - 4 : 2;
    size_t from;

    chat_take(a->viewed.chat, v, &all);
    from = lines_count(&all) > most ? lines_count(&all) - most : 0;
    if (from) {
        lines_putf(&a->commits, STYLE(ROLE_FAINT), "%s %zu earlier lines (Ctrl-O)",
                   v->ascii || v->plain ? "..." : "…", from);
        lines_end(&a->commits);
    }
    for (size_t i = from; i < lines_count(&all); i++)
        lines_add(&a->commits, lines_at(&all, i));
    a->viewed.is_first = false;
}

static void frame_commit(struct app *a, const struct view *v)
{
    lines_clear(&a->commits);
    frame_switch(a, v);
    if (a->viewed.is_first && !a->viewed.is_coming)
        frame_enter(a, v);
    else if (!a->viewed.is_coming)
        chat_take(app_shown(a), v, &a->commits);
    if (lines_count(&a->commits))
        screen_commit(a->screen, &a->commits);
}

/* The editor's row while nothing is written: a hint, whose parts can be missed. */
static bool frame_is_hint(const struct frame_draft *draft, size_t row)
{
    return row == draft->from && draft->from == draft->to;
}

/* A list of completions is short-lived but must be readable, and a rule whose length changed with
 * the rows above it would look broken. */
static bool frame_is_whole(const struct view *window, const struct frame_draft *draft, size_t row)
{
    return row >= draft->list_from && row < draft->list_to && window->rows >= FRAME_LOW_ROWS;
}

/* The least number of rows of the smallest window that a row may be cut to. The user must be able
 * to read running work, and a window may become narrower: only in a low one, where little fits
 * anyway, are rows cut further. */
static size_t frame_least(const struct view *window, const struct frame_draft *draft, size_t row)
{
    if (frame_is_whole(window, draft, row))
        return (size_t)window->cols / REFLOW_COLS + 1;
    if (window->rows < FRAME_LOW_ROWS || frame_is_hint(draft, row))
        return 1;
    return row < draft->from ? FRAME_LEAST_LIVE : FRAME_LEAST_BELOW;
}

/* Rows of the smallest window that a row may take when `most` is the limit. */
static size_t frame_limit(const struct view *window, const struct frame_draft *draft, size_t most,
                          size_t row)
{
    size_t least = frame_least(window, draft, row);

    return most > least ? most : least;
}

/* How many the frame takes below its text, when all but the draft is cut to `most` of them. */
static size_t frame_narrow_rows(const struct app *a, const struct view *window,
                                const struct frame_draft *draft, size_t most)
{
    size_t rows = 0;

    for (size_t i = a->text_rows; i < lines_count(&a->region); i++) {
        size_t broken = reflow_line(lines_at(&a->region, i), REFLOW_COLS);
        size_t limit = frame_limit(window, draft, most, i);
        bool is_draft = i >= draft->from && i < draft->to;

        if (frame_is_whole(window, draft, i))
            broken = 1; /* nothing that is cut elsewhere makes room for it */
        rows += broken > limit && !is_draft ? limit : broken;
    }
    return rows;
}

/* The most rows of the smallest window that one of our own rows may take so that the whole region
 * fits. The draft and questions to the user are never cut; if they and the readable minimum need
 * too much, nothing else is cut either. */
static size_t frame_most(const struct app *a, const struct view *window,
                         const struct frame_draft *draft)
{
    size_t room = screen_room(a->screen, a->text_rows, lines_count(&a->region));
    size_t full = (size_t)window->cols / REFLOW_COLS + 1;
    size_t most = full;

    if (app_panel(a))
        return full;
    while (most && frame_narrow_rows(a, window, draft, most) > room)
        most--;
    return most ? most : full;
}

/* Cells of a row. That of the waiting cursor is never dropped, so it must fit alone. */
static int frame_cells(const struct app *a, const struct view *window,
                       const struct frame_draft *draft, size_t most, size_t row)
{
    int cells;

    if (row < a->text_rows || (row >= draft->from && row < draft->to))
        return window->cols;
    most = frame_limit(window, draft, most, row);
    if (row == 0 && most > REFLOW_ROWS)
        most = REFLOW_ROWS;
    cells = (int)most * REFLOW_COLS - 1;
    return cells < window->cols ? cells : window->cols;
}

/* A rule has no end that could be missing, and a hint is shown in whole parts. */
static void frame_add_cut(struct lines *to, struct line l, int cells, bool is_hint, bool ascii)
{
    if (is_hint)
        l.text = width_first_parts(l.text, cells);
    else if (str_ends(l.text, STR("─")) || str_ends(l.text, STR("--")))
        l.text = width_first(l.text, cells);
    lines_add_cut(to, l, cells, ascii);
}

/* A window that is made narrow breaks rows, and those that no longer fit then are in the scrollback
 * for good (reflow.h). So they are cut where that helps, and can still be read. */
static void frame_shorten(struct app *a, const struct view *window, const struct frame_draft *draft)
{
    size_t most;

    if (window->plain)
        return;
    most = frame_most(a, window, draft);
    lines_clear(&a->part);
    for (size_t i = 0; i < lines_count(&a->region); i++)
        frame_add_cut(&a->part, lines_at(&a->region, i), frame_cells(a, window, draft, most, i),
                      !app_panel(a) && frame_is_hint(draft, i), window->ascii);
    lines_clear(&a->region);
    lines_add_all(&a->region, &a->part);
}

static void frame_inline(struct app *a, struct view *v)
{
    const struct view window = *v;
    struct screen_cursor cursor;
    struct frame_draft draft;
    size_t lost = screen_lost(a->screen);

    if (lost)
        chat_lost(app_shown(a), lost);
    if (v->plain) /* a panel prints its rows after the text that opened it */
        frame_commit(a, v);
    frame_lower(a, v, &cursor, &draft);
    v->rows -= (int)lines_count(&a->part);
    frame_commit(a, v);

    lines_clear(&a->region);
    a->text_rows = 0;
    if (v->rows > 0 && !a->viewed.is_coming)
        chat_live(app_shown(a), v, &a->region, &a->text_rows);
    cursor.row += lines_count(&a->region);
    draft.from += lines_count(&a->region);
    draft.to += lines_count(&a->region);
    draft.list_from += lines_count(&a->region);
    draft.list_to += lines_count(&a->region);
    cursor.calm = chat_due(app_shown(a), v->now_ms) < 0;
    lines_add_all(&a->region, &a->part);
    frame_shorten(a, &window, &draft);
    screen_settled(a->screen, a->text_rows);
    screen_draw(a->screen, &a->region, cursor);
}

static void frame_full(struct app *a, struct panel *panel, const struct view *v)
{
    struct screen_cursor cursor = {0};

    lines_clear(&a->region);
    panel->kind->draw(panel, v, &a->region, &cursor);
    if (v->plain)
        panel_log_show(&a->panel_log, &a->region, a->screen);
    cursor.calm = true;
    screen_draw(a->screen, &a->region, cursor);
}

/* How much of a stream the next frame can show in its time. Less at once when this one took too
 * long, more by and by: a table is dearer than prose. */
static void frame_learn(struct app *a, int64_t us)
{
    size_t fits;

    if (a->taken < FRAME_LEAST / 2) /* it was about something else */
        return;
    fits = a->taken * FRAME_WORK_US / (size_t)(us > 0 ? us : 1);
    fits = fits > FRAME_MOST ? FRAME_MOST : fits;
    if (fits > a->frame_bytes)
        fits = a->frame_bytes + (fits - a->frame_bytes) / 4;
    a->frame_bytes = fits < FRAME_LEAST ? FRAME_LEAST : fits;
}

/* What the thread has done since the last frame. */
static void frame_measure(struct app *a)
{
    struct timespec t;
    int64_t us;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    frame_learn(a, us - a->work_us);
    if (a->frames_path)
        vec_push(&a->frames, ((struct app_frame_cost){(uint32_t)(us - a->work_us), a->taken}));
    a->work_us = us;
}

static int64_t frame_next_ms(const struct app *a)
{
    return a->framed_ms + (a->is_behind ? FRAME_BEHIND_MS : FRAME_MS);
}

bool app_frame_is_due(const struct app *a)
{
    return clock_mono_ms() >= frame_next_ms(a);
}

void app_frame(struct app *a)
{
    struct panel *panel = app_panel(a);
    bool full = panel && panel->kind->is_full;
    struct view v;

    if (a->is_away || a->is_over || term_wants_write(a->term))
        return;
    if (!a->is_dirty || !app_frame_is_due(a))
        return;
    if (screen_is_full(a->screen) != full)
        screen_full(a->screen, full);
    (void)screen_look(a->screen);
    if (screen_due(a->screen) >= 0) /* drawn then */
        return;
    app_view(a, &v);
    app_agents_refresh(a);
    app_board_tick(a);
    if (full)
        frame_full(a, panel, &v);
    else
        frame_inline(a, &v);
    a->is_dirty = false;
    a->is_behind = a->more_events;
    a->framed_ms = clock_mono_ms();
    app_title(a);
    frame_measure(a);
    a->taken = 0;
}

/* ---- when the next one is due ---- */

static int64_t sooner(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

int64_t app_due(struct app *a)
{
    int64_t now_ms = clock_mono_ms();
    struct panel *panel = app_panel(a);
    int64_t rows_ms = sooner(app_agents_due(a, now_ms), app_board_due(a));
    int64_t moves_ms = sooner(chat_due(app_shown(a), now_ms), rows_ms);
    int64_t due_ms = keyboard_due(a->keyboard);
    const struct sent *slow = frame_command(a);
    int64_t slow_ms = slow ? slow->sent_ms + FRAME_SLOW_MS : -1;
    int64_t held_ms = screen_due(a->screen);
    int64_t next_ms = frame_next_ms(a);

    if (a->is_away)
        return -1;
    if (term_wants_write(a->term))
        return due_ms; /* nothing is drawn before it has read its input */
    if (panel)
        moves_ms = sooner(moves_ms, panel->kind->due ? panel->kind->due(panel) : -1);
    if ((moves_ms >= 0 && moves_ms <= now_ms) || (slow_ms > a->framed_ms && slow_ms <= now_ms))
        a->is_dirty = true;
    if (a->is_dirty || a->more_events || (moves_ms >= 0 && moves_ms < next_ms))
        moves_ms = next_ms; /* never sooner: no need to wake up early for it */
    if (moves_ms >= 0 && moves_ms < held_ms)
        moves_ms = held_ms;
    due_ms = sooner(due_ms, moves_ms);
    if (a->hint.len)
        due_ms = sooner(due_ms, a->hint_until_ms);
    if (a->notice)
        due_ms = sooner(due_ms, a->notice_ms);
    if (slow_ms > now_ms)
        due_ms = sooner(due_ms, slow_ms);
    return due_ms;
}

/* One line per frame: the thread's processor time since the one before, in microseconds, and the
 * bytes of events that it shows. */
void app_frames_write(struct app *a)
{
    FILE *to = a->frames_path ? fopen(a->frames_path, "we") : NULL;

    if (to) {
        VEC_EACH(&a->frames, f) {
            fprintf(to, "%u %zu\n", f->us, f->bytes);
        }
        fclose(to);
    }
    vec_release(&a->frames);
}
