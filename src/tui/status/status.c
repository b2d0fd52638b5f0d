/*
 * status: the built-in line, and the row that stands below a line of the user's own. Parts in the
 * order of their place, each with how much it matters; those that matter least go first when the
 * window is narrow, and a long goal is shortened before anything goes. UI thread.
 */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "tui/screen/width.h"
#include "tui/status/statusline.h"

#define MAX_PARTS 9
#define MIN_GOAL 8 /* cells of a goal that are worth being shown */
#define FULL_PERCENT 80

struct status_part {
    char text[256];
    enum style_role role;
    int rank; /* the higher, the sooner it goes */
};

struct parts {
    struct status_part list[MAX_PARTS];
    size_t len;
};

static void add(struct parts *p, int rank, enum style_role role, struct str text)
{
    struct status_part *part = &p->list[p->len++];

    text = str_clip(text, sizeof(part->text) - 1);
    part->rank = rank;
    part->role = role;
    if (text.len)
        memcpy(part->text, text.ptr, text.len);
    part->text[text.len] = '\0';
}

static void addf(struct parts *p, int rank, enum style_role role, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

static void addf(struct parts *p, int rank, enum style_role role, const char *fmt, ...)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1024);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    add(p, rank, role, buf_str(&text));
}

static const struct {
    const char *mode, *words;
    enum style_role role;
} modes[] = {
    {"acceptEdits", "accept edits on", ROLE_MODE_EDITS},
    {"plan", "plan mode on", ROLE_MODE_PLAN},
    {"auto", "auto mode on", ROLE_MODE_EDITS},
    {"dontAsk", "don't ask on", ROLE_MODE_PLAN},
    {"bypassPermissions", "permissions off", ROLE_MODE_BYPASS},
};

/* What decides about the next call and what goes on besides. Of the default mode there is nothing
 * to say. */
static void add_state(const struct status *s, struct parts *p)
{
    bool is_default = true;

    if (s->tasks)
        addf(p, 6, ROLE_FAINT, "%zu task%s", s->tasks, s->tasks == 1 ? "" : "s");
    for (size_t i = 0; s->mode && i < ARRAY_LEN(modes); i++) {
        if (strcmp(modes[i].mode, s->mode) != 0)
            continue;
        add(p, 0, modes[i].role, str_of(modes[i].words));
        is_default = false;
    }
    if (s->coordinates)
        add(p, 1, ROLE_MODE_PLAN, STR("coordinator"));
    if (s->team.len)
        add(p, 2, ROLE_ACCENT, s->team);
    if (s->goal.len)
        add(p, 1, ROLE_GOAL, s->goal);
    else if (!s->hint.len)
        addf(p, 8, ROLE_FAINT, "%s", is_default ? "? for shortcuts" : "Shift-Tab to change");
}

static void add_facts(const struct status *s, struct parts *p)
{
    if (s->vim)
        addf(p, 3, ROLE_ACCENT, "%s", s->vim);
    if (s->model.len)
        add(p, 4, ROLE_FAINT, s->model);
    if (s->context_percent >= 0)
        addf(p, 2, s->context_percent >= FULL_PERCENT ? ROLE_WARNING : ROLE_FAINT, "%d%% context",
             s->context_percent);
    if (!isnan(s->usd) && s->usd > 0)
        addf(p, 5, ROLE_FAINT, s->usd < 0.995 ? "$%.3f" : "$%.2f", s->usd);
    if (s->branch.len)
        add(p, 7, ROLE_FAINT, s->branch);
}

static int parts_width(const struct parts *p, int dot)
{
    int width = 0;

    for (size_t i = 0; i < p->len; i++)
        width += width_of(str_of(p->list[i].text)) + (i ? dot : 0);
    return width;
}

static void drop(struct parts *p, size_t i)
{
    p->len--;
    memmove(&p->list[i], &p->list[i + 1], (p->len - i) * sizeof(p->list[0]));
}

/* The goal comes last and is cut at the end of the line. */
static void fit(struct parts *p, int cols, int dot)
{
    for (;;) {
        bool ends_in_goal = p->len && p->list[p->len - 1].role == ROLE_GOAL;
        int spare = ends_in_goal ? width_of(str_of(p->list[p->len - 1].text)) - MIN_GOAL : 0;
        size_t worst = 0;

        if (p->len <= 1 || parts_width(p, dot) - (spare > 0 ? spare : 0) <= cols)
            return;
        for (size_t i = 1; i < p->len; i++) {
            if (p->list[i].rank > p->list[worst].rank)
                worst = i;
        }
        drop(p, worst);
    }
}

static void draw_parts(struct parts *p, const struct view *v, struct lines *ret)
{
    struct lines line = LINES_INIT;
    struct str dot = str_of(v->ascii || v->plain ? ", " : " · ");

    fit(p, v->cols, width_of(dot));
    for (size_t i = 0; i < p->len; i++) {
        if (i)
            lines_put(&line, STYLE(ROLE_FAINT), dot);
        lines_puts(&line, p->list[i].role, p->list[i].text);
    }
    lines_end(&line);
    lines_add_cut(ret, lines_at(&line, 0), v->cols, v->ascii);
    lines_release(&line);
}

void status_draw(const struct status *s, const struct view *v, struct lines *ret)
{
    struct parts p = {0};

    if (s->hint.len)
        add(&p, 2, ROLE_FAINT, s->hint);
    else
        add_facts(s, &p);
    add_state(s, &p);
    draw_parts(&p, v, ret);
}

void status_draw_state(const struct status *s, const struct view *v, struct lines *ret)
{
    struct parts p = {0};

    add_state(s, &p);
    draw_parts(&p, v, ret);
}
