/*
 * chat: the queue of items for the scrollback, and the live region. An item is drawn when it is
 * taken, at the width of that moment; nothing else about it depends on the time. UI thread.
 */
#include "tui/chat/chat.h"

#include <string.h>

#include "agent/event.h"
#include "base/mem.h"
#include "base/secret.h"
#include "tui/chat/chat_state.h"
#include "tui/chat/hanging.h"
#include "tui/chat/tool_view.h"
#include "tui/markdown/markdown.h"
#include "tui/screen/width.h"

#define CHAT_MAX_TAIL 20000 /* rows of a block that is not finished: it is 16 KB at most */
#define CHAT_SAID_LINES 20  /* of what the user has said; more are folded */
#define CHAT_CALL_ROWS 6    /* of the output of one call that runs */

/* ---- Life ---- */

struct chat *chat_new(const struct chat_spec *spec)
{
    struct chat *c = mem_zalloc(sizeof(*c));

    c->ascii = spec->ascii;
    c->plain = spec->plain;
    c->spells_links = spec->spells_links || spec->plain;
    c->verbose = spec->verbose;
    c->is_agent = spec->is_agent;
    c->dir = spec->dir ? mem_dup(spec->dir, strlen(spec->dir)) : NULL;
    c->last_kind = ITEM_RULE;
    c->leads = (struct lines)LINES_INIT;
    c->scratch = (struct lines)LINES_INIT;
    c->tail = (struct lines)LINES_INIT;
    lines_puts(&c->leads, ROLE_TEXT, spec->plain ? "" : spec->ascii ? "* " : "● ");
    lines_end(&c->leads);
    lines_puts(&c->leads, ROLE_TEXT, spec->plain ? "" : "  ");
    lines_end(&c->leads);
    buf_init(&c->last_id, 1 << 10);
    buf_init(&c->raw, CHAT_MAX_ANSWER);
    buf_init(&c->held, CHAT_MAX_ANSWER);
    buf_init(&c->thought, CHAT_MAX_TEXT);
    buf_init(&c->retry, 1 << 14);
    buf_init(&c->hook, 1 << 12);
    buf_init(&c->hook_id, 1 << 10);
    buf_init(&c->wait, 1 << 14);
    buf_init(&c->told_goal, 1 << 14);
    buf_init(&c->active, 400);
    return c;
}

static void item_free(struct chat_item *it)
{
    markdown_free(it->markdown);
    buf_release(&it->text);
    event_unref(it->started);
    event_unref(it->done);
    mem_freep(&it);
}

void chat_free(struct chat *c)
{
    if (!c)
        return;
    while (c->first) {
        struct chat_item *it = c->first;

        c->first = it->next;
        item_free(it);
    }
    calls_clear(c);
    vec_release(&c->calls);
    strv_release(&c->said);
    strv_release(&c->asked);
    lines_release(&c->leads);
    lines_release(&c->scratch);
    lines_release(&c->tail);
    buf_release(&c->last_id);
    buf_release(&c->raw);
    buf_release(&c->held);
    buf_release(&c->thought);
    buf_release(&c->retry);
    buf_release(&c->hook);
    buf_release(&c->hook_id);
    buf_release(&c->wait);
    buf_release(&c->told_goal);
    buf_release(&c->active);
    event_unref(c->todos);
    mem_freep(&c->dir);
    mem_freep(&c);
}

/* ---- The queue ---- */

/* Things of one line that follow each other stay together, and so do a command and its answer. */
static bool stands_apart(enum item_kind before, enum item_kind kind)
{
    return !((kind == ITEM_NOTE || kind == ITEM_BRIEF) && before == kind) &&
           !(kind == ITEM_COMMAND && before == ITEM_SAID);
}

struct chat_item *chat_add(struct chat *c, enum item_kind kind)
{
    struct chat_item *it = mem_zalloc(sizeof(*it));

    it->kind = kind;
    it->has_gap = stands_apart(c->last_kind, kind);
    buf_init(&it->text, CHAT_MAX_TEXT);
    c->last_kind = kind;
    if (c->last)
        c->last->next = it;
    else
        c->first = it;
    c->last = it;
    return it;
}

struct chat_item *chat_add_text(struct chat *c, enum item_kind kind, enum style_role role,
                                const char *mark, struct str text)
{
    struct chat_item *it = chat_add(c, kind);

    it->role = role;
    it->mark = mark;
    buf_add(&it->text, str_clip(text, CHAT_MAX_TEXT));
    secret_scrub(&it->text);
    return it;
}

void chat_drop_step(struct chat *c)
{
    struct chat_item **at = &c->first;

    c->last = NULL;
    while (*at) {
        struct chat_item *it = *at;

        if (it->of_step && !it->is_shown) {
            *at = it->next;
            if (it == c->answer)
                c->answer = NULL;
            if (it == c->tail_of)
                c->tail_of = NULL;
            item_free(it);
            continue;
        }
        c->last = it;
        at = &it->next;
    }
}

void chat_said(struct chat *c, struct str text, struct str uuid)
{
    if (uuid.len)
        strv_add(&c->said, uuid);
    (void)chat_add_text(c, ITEM_SAID, ROLE_SAID, /*mark=*/NULL, text);
}

void chat_note(struct chat *c, enum style_role role, struct str text)
{
    (void)chat_add_text(c, ITEM_NOTE, role, /*mark=*/NULL, text);
}

void chat_rule(struct chat *c, struct str title)
{
    (void)chat_add_text(c, ITEM_RULE, ROLE_FAINT, /*mark=*/NULL, title);
}

/* ---- Items as lines ---- */

static void draw_behind(const struct view *v, struct style mark_style, const char *mark,
                        struct style style, struct str text, struct lines *ret)
{
    CLEANUP(hanging_release) struct hanging h = {0};

    hanging_init(&h, ret, v->cols, mark_style, mark, /*rest=*/NULL);
    hanging_text(&h, style, text);
}

/* The start of a text that is too long to scroll past; *ret_more: lines left out. One or two last
 * lines take no more room than the row that would replace them. */
static struct str said_start(struct str text, size_t *ret_more)
{
    size_t lines = 1;
    size_t cut = text.len;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n' && lines++ == CHAT_SAID_LINES)
            cut = i;
    }
    *ret_more = lines > CHAT_SAID_LINES + 2 ? lines - CHAT_SAID_LINES : 0;
    return *ret_more ? str_first(text, cut) : text;
}

static void draw_said(const struct chat *c, const struct chat_item *it, const struct view *v,
                      struct lines *ret)
{
    CLEANUP(hanging_release) struct hanging h = {0};
    size_t more = 0;
    struct str text = str_trim(buf_str(&it->text));

    if (!c->verbose)
        text = said_start(text, &more);
    hanging_init(&h, ret, v->cols, STYLE(ROLE_ACCENT), c->plain ? "You: " : "> ", /*rest=*/NULL);
    hanging_text(&h, STYLE(ROLE_SAID), text);
    if (more) {
        CLEANUP(buf_release) struct buf note = BUF_INIT(100);

        buf_addf(&note, "%s +%zu lines (Ctrl-O shows all)", c->ascii || c->plain ? "..." : "…",
                 more);
        hanging_text(&h, STYLE(ROLE_FAINT), buf_str(&note));
    }
}

static void draw_thought(const struct chat *c, const struct chat_item *it, const struct view *v,
                         struct lines *ret)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(100);
    const char *mark = c->plain ? "" : c->ascii ? "* " : "∴ ";

    buf_adds(&title, "Thought");
    if (it->elapsed_ms >= 1000) {
        buf_adds(&title, " for ");
        tool_view_elapsed(it->elapsed_ms, &title);
    }
    draw_behind(v, STYLE(ROLE_THOUGHT), mark, STYLE(ROLE_THOUGHT), buf_str(&title), ret);
    if (it->text.len)
        draw_behind(v, STYLE(ROLE_THOUGHT), "  ", STYLE_WITH(ROLE_THOUGHT, STYLE_ITALIC),
                    str_trim(buf_str(&it->text)), ret);
}

static void draw_rule(const struct chat *c, const struct chat_item *it, const struct view *v,
                      struct lines *ret)
{
    CLEANUP(lines_release) struct lines rule = LINES_INIT;
    const char *dash = c->ascii || c->plain ? "-" : "─";
    int cells = v->cols < 100 ? v->cols : 100;

    for (int i = 0; i < 2; i++)
        lines_puts(&rule, ROLE_FAINT, dash);
    if (it->text.len) {
        lines_puts(&rule, ROLE_FAINT, " ");
        lines_put(&rule, STYLE(ROLE_FAINT), buf_str(&it->text));
        lines_puts(&rule, ROLE_FAINT, " ");
    }
    for (int at = lines_column(&rule); at < cells && !c->plain; at++)
        lines_puts(&rule, ROLE_FAINT, dash);
    lines_end(&rule);
    lines_add_cut(ret, lines_at(&rule, 0), v->cols, v->ascii);
}

static void draw_markdown(const struct chat *c, struct str text, const char *mark,
                          const struct view *v, struct lines *ret)
{
    CLEANUP(lines_release) struct lines leads = LINES_INIT;

    lines_puts(&leads, ROLE_FAINT, mark);
    lines_end(&leads);
    lines_puts(&leads, ROLE_TEXT, c->plain ? "  " : "     ");
    lines_end(&leads);
    markdown_draw(text,
                  &(struct markdown_spec){
                      .ascii = c->ascii,
                      .spells_links = c->spells_links,
                      .first = lines_at(&leads, 0),
                      .rest = lines_at(&leads, 1),
                  },
                  v->cols, ret);
}

/* What a command answers may bring its colors along. */
static void draw_command(const struct chat *c, const struct chat_item *it, const struct view *v,
                         struct lines *ret)
{
    struct str rest = buf_str(&it->text);
    struct style style = STYLE(it->is_error ? ROLE_BAD : it->role);
    const char *mark = c->plain ? "  " : c->ascii ? "  |  " : "  ⎿  ";
    CLEANUP(hanging_release) struct hanging h = {0};
    struct str line;

    if (it->is_markdown) {
        draw_markdown(c, rest, mark, v, ret);
        return;
    }
    hanging_init(&h, ret, v->cols, STYLE(ROLE_FAINT), mark, /*rest=*/NULL);
    h.lists = true;
    while (rest.len && rest.ptr[rest.len - 1] == '\n')
        rest.len--;
    while (rest.len && str_cut(&rest, '\n', &line)) {
        if (it->is_colored)
            lines_put_ansi(&h.line, style, line);
        else
            hanging_put(&h, style, line);
        hanging_end(&h);
    }
}

/* Draws the finished rows of it that were not handed out before. */
static void item_draw(struct chat *c, struct chat_item *it, const struct view *v, struct lines *ret)
{
    switch (it->kind) {
    case ITEM_ANSWER:
        if (it->markdown)
            markdown_take(it->markdown, v->cols, v->rows, ret);
        break;
    case ITEM_SAID:
        draw_said(c, it, v, ret);
        break;
    case ITEM_THOUGHT:
        draw_thought(c, it, v, ret);
        break;
    case ITEM_CALL:
    case ITEM_BRIEF:
        calls_draw_done(c, it, v, ret);
        break;
    case ITEM_NOTE:
        draw_behind(v, STYLE(it->role), it->mark ? it->mark : "", STYLE(it->role),
                    buf_str(&it->text), ret);
        break;
    case ITEM_RULE:
        draw_rule(c, it, v, ret);
        break;
    case ITEM_COMMAND:
        draw_command(c, it, v, ret);
        break;
    }
}

/* The part that does not depend on the window's width: everything except spaces and the bars of
 * quotes. Returns the byte after so many of them, or counts them all. */
static size_t letters_pass(struct str row, size_t most, size_t *ret_count)
{
    size_t at = 0;

    for (*ret_count = 0; at < row.len && *ret_count < most;) {
        if (row.ptr[at] == ' ') {
            at++;
        } else if (str_starts(str_from(row, at), STR("\u2502"))) {
            at += STR("\u2502").len;
        } else {
            at++;
            ++*ret_count;
        }
    }
    return at;
}

static size_t letters_of(struct line l)
{
    size_t count;

    letters_pass(l.text, SIZE_MAX, &count);
    return count;
}

/* The rest of a row whose first letters stand already. */
static void hand_out_rest(struct line l, size_t skip, struct lines *ret)
{
    size_t indent = 0;
    size_t count;
    size_t from = letters_pass(l.text, skip, &count);

    while (from < l.text.len && ((unsigned char)l.text.ptr[from] & 0xc0) == 0x80)
        from++;
    while (from < l.text.len && l.text.ptr[from] == ' ')
        from++;
    while (indent < l.text.len && l.text.ptr[indent] == ' ')
        indent++;
    lines_put_part(ret, l, 0, indent);
    lines_put_part(ret, l, from, l.text.len);
    lines_end(ret);
}

/* The rows of an item with its gap, without the letters that are in the scrollback already. */
static void hand_out(const struct lines *rows, size_t *skip, bool *has_gap, struct lines *ret)
{
    if (!lines_count(rows))
        return;
    if (*has_gap && !*skip && str_trim(lines_at(rows, 0).text).len)
        lines_end(ret);
    *has_gap = false;
    if (!*skip) {
        lines_add_all(ret, rows);
        return;
    }
    for (size_t i = 0; i < lines_count(rows); i++) {
        struct line l = lines_at(rows, i);
        size_t letters = *skip ? letters_of(l) : 0;

        if (!*skip)
            lines_add(ret, l);
        else if (letters > *skip)
            hand_out_rest(l, *skip, ret);
        *skip -= letters < *skip ? letters : *skip;
    }
}

/* The rows of a streaming answer, except those already in the scrollback. */
static void tail_draw(struct chat *c, const struct view *v)
{
    struct chat_item *it = c->first;
    bool has_gap;
    size_t skip;

    lines_clear(&c->tail);
    c->tail_of = it;
    if (!it || !it->is_open || it->is_void || !it->markdown)
        return;
    lines_clear(&c->scratch);
    markdown_tail(it->markdown, v->cols, CHAT_MAX_TAIL, &c->scratch);
    has_gap = it->has_gap;
    skip = it->skip;
    hand_out(&c->scratch, &skip, &has_gap, &c->tail);
    c->tail_cols = v->cols;
}

/* The first rows of the tail stand in the scrollback from here on. */
static void tail_stands(struct chat *c, size_t rows)
{
    struct chat_item *it = c->first;

    for (size_t i = 0; i < rows; i++)
        it->skip += letters_of(lines_at(&c->tail, i));
    it->has_gap = false;
    it->is_shown = true;
    c->step_shown = true;
    lines_clear(&c->tail);
    c->tail_cols = 0;
}

/* A table is drawn anew with each of its rows; markdown.h knows what to do with a high one. */
static bool tail_has_boxes(const struct chat *c)
{
    return str_has(buf_str(&c->tail.text), STR("\u2500")) ||
           str_has(buf_str(&c->tail.text), STR("\u2502"));
}

/* A paragraph that is higher than its room is handed out from its beginning, row by row. */
static void take_overflow(struct chat *c, const struct view *v, struct lines *ret)
{
    size_t room = v->rows > 0 ? (size_t)v->rows : 0;
    size_t more;

    room -= c->below_rows < room ? c->below_rows : room;
    if (!room)
        return;
    tail_draw(c, v);
    more = lines_count(&c->tail) > room ? lines_count(&c->tail) - room : 0;
    if (more && tail_has_boxes(c))
        return;
    for (size_t i = 0; i < more; i++)
        lines_add(ret, lines_at(&c->tail, i));
    if (more)
        tail_stands(c, more);
}

/* A command that was typed while an answer comes in is answered between two parts of it, at once
 * and as wide as the window: below the answer its rows would be cut (app_frame.c). Where a part
 * stands half in the scrollback, its end comes first. */
static void take_beside(struct chat *c, struct chat_item *answer, const struct view *v,
                        struct lines *ret)
{
    struct chat_item *before = answer;

    for (struct chat_item *it = before->next; it && !answer->skip; it = before->next) {
        if (it->kind != ITEM_SAID && it->kind != ITEM_COMMAND) {
            before = it;
            continue;
        }
        lines_clear(&c->scratch);
        item_draw(c, it, v, &c->scratch);
        hand_out(&c->scratch, &it->skip, &it->has_gap, ret);
        answer->has_gap = true;
        before->next = it->next;
        if (c->last == it)
            c->last = before;
        item_free(it);
    }
}

void chat_take(struct chat *c, const struct view *v, struct lines *ret)
{
    c->tail_cols = 0;
    while (c->first && !c->first->is_void) {
        struct chat_item *it = c->first;

        lines_clear(&c->scratch);
        item_draw(c, it, v, &c->scratch);
        if (lines_count(&c->scratch)) {
            it->is_shown = true;
            c->step_shown |= it->of_step && it->kind == ITEM_ANSWER;
        }
        hand_out(&c->scratch, &it->skip, &it->has_gap, ret);
        if (it->is_open) {
            take_beside(c, it, v, ret);
            take_overflow(c, v, ret);
            return;
        }
        c->first = it->next;
        if (!c->first)
            c->last = NULL;
        lines_clear(&c->tail);
        c->tail_of = NULL;
        item_free(it);
    }
}

/* ---- What moves ---- */

/* The answer's tail: the last rows of it that fit. Gives how many they are when that is all. */
static size_t live_tail(struct chat *c, const struct view *v, size_t room, struct lines *ret)
{
    size_t count;

    if (c->tail_cols != v->cols)
        tail_draw(c, v);
    c->tail_cols = 0;
    count = lines_count(&c->tail);
    for (size_t i = count > room ? count - room : 0; i < count; i++)
        lines_add(ret, lines_at(&c->tail, i));
    return count > room ? 0 : count;
}

/* The items that wait after a streaming answer. */
static void live_waiting(struct chat *c, const struct view *v, struct lines *ret)
{
    for (struct chat_item *it = c->first; it; it = it->next) {
        bool has_gap = it->has_gap;
        size_t skip = 0;

        if (it->kind == ITEM_ANSWER) /* drawing it would take it */
            continue;
        lines_clear(&c->scratch);
        item_draw(c, it, v, &c->scratch);
        hand_out(&c->scratch, &skip, &has_gap, ret);
    }
}

/* Full thinking, as it streams in. */
static void live_thought(const struct chat *c, const struct view *v, struct lines *ret)
{
    CLEANUP(lines_release) struct lines rows = LINES_INIT;
    size_t n;

    if (!c->verbose || c->doing != DOING_THINK || !str_trim(buf_str(&c->thought)).len)
        return;
    draw_behind(v, STYLE(ROLE_THOUGHT), "  ", STYLE_WITH(ROLE_THOUGHT, STYLE_ITALIC),
                str_trim(buf_str(&c->thought)), &rows);
    n = lines_count(&rows);
    lines_end(ret);
    for (size_t i = n > CHAT_CALL_ROWS ? n - CHAT_CALL_ROWS : 0; i < n; i++)
        lines_add(ret, lines_at(&rows, i));
}

void chat_live(struct chat *c, const struct view *v, struct lines *ret, size_t *ret_text_rows)
{
    CLEANUP(lines_release) struct lines below = LINES_INIT;
    size_t rows = v->rows > 0 ? (size_t)v->rows : 0;
    size_t from;

    c->drawn_ms = v->now_ms;
    live_waiting(c, v, &below);
    live_thought(c, v, &below);
    calls_draw(c, v, rows / 2, &below);
    chat_status_draw(c, v, &below);
    todos_draw_live(c, v, rows / 3, &below);
    from = lines_count(&below) > rows ? lines_count(&below) - rows : 0;
    c->below_rows = lines_count(&below) - from;
    *ret_text_rows = live_tail(c, v, rows - (lines_count(&below) - from), ret);
    for (size_t i = from; i < lines_count(&below); i++)
        lines_add(ret, lines_at(&below, i));
}

/* The rows already in the scrollback belong to a void answer, and the reader cannot know that
 * yet. */
static void say_cut_off(struct chat *c)
{
    struct chat_item *rest = c->first;
    struct chat_item *last = c->last;
    enum item_kind last_kind = c->last_kind;
    struct chat_item *it;

    c->first = NULL;
    c->last = NULL;
    it = chat_add_text(c, ITEM_NOTE, ROLE_WARNING, /*mark=*/NULL, STR("[cut off]"));
    it->has_gap = false;
    it->next = rest;
    if (!last)
        return;
    c->last = last;
    c->last_kind = last_kind;
}

/* The answer may be complete already: the latest events are not drawn yet. */
void chat_lost(struct chat *c, size_t rows)
{
    size_t n = rows < lines_count(&c->tail) ? rows : lines_count(&c->tail);

    if (!n)
        return;
    if (c->tail_of) {
        tail_stands(c, n);
        return;
    }
    lines_clear(&c->tail);
    say_cut_off(c);
}

/* ---- For the app ---- */

void chat_set_verbose(struct chat *c, bool verbose)
{
    c->verbose = verbose;
}

bool chat_is_busy(const struct chat *c)
{
    return c->busy;
}

int64_t chat_due(const struct chat *c, int64_t now_ms)
{
    return c->plain ? -1 : status_due(c, c->drawn_ms ? c->drawn_ms : now_ms);
}

struct str chat_last_item(const struct chat *c)
{
    return buf_str(&c->last_id);
}
