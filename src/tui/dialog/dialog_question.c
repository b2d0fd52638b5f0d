/*
 * dialog_question: AskUserQuestion. A page for each question, its options and a row for one's own
 * words; with several questions Tab and the arrows go from one to the other and a last page shows
 * all answers before they are sent. UI thread.
 *
 * The answer is the input with a member "answers" that maps the text of a question to its answer: a
 * label, labels joined by ", ", or free text.
 */
#include "json/json.h"
#include "json/jw.h"
#include "tui/dialog/dialog_ask.h"
#include "tui/screen/keypress.h"

#define MAX_QUESTIONS 16 /* the schema has fewer; the rest is left unanswered */

struct question {
    struct dialog_page page;
    const struct json *is;
    size_t options; /* rows; the one after them is for free text */
    bool is_multi;
    struct buf words;  /* the text entered in that row */
    struct buf answer; /* empty: none yet */
};

/* The page of the dialog_ask is the last one: what will be sent. */
struct question_dialog {
    struct dialog_ask ask;
    struct question questions[MAX_QUESTIONS];
    size_t count;
    size_t at; /* count: the last page */
};

enum review_row {
    ROW_SEND,
    ROW_BACK,
};

static struct dialog_page *page_at(struct question_dialog *d)
{
    return d->at < d->count ? &d->questions[d->at].page : &d->ask.page;
}

/* ---- drawing ---- */

static void question_body(void *arg, const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(2 * DIALOG_MAX_TEXT);
    struct question *q = arg;
    struct str shown;

    dialog_text(v, ROLE_TEXT, json_get_str(q->is, "question"), ret);
    if (q->is_multi)
        dialog_text(v, ROLE_FAINT, STR("Several may be chosen: Space checks, Enter goes on."), ret);
    /* What the rows do not show when one comes back. */
    shown = q->is_multi ? buf_str(&q->words) : buf_str(&q->answer);
    if (shown.len) {
        buf_adds(&line, "Your answer: ");
        buf_add(&line, shown);
        dialog_text(v, ROLE_FAINT, buf_str(&line), ret);
    }
}

static void review_body(void *arg, const struct view *v, struct lines *ret)
{
    struct question_dialog *d = arg;

    for (size_t i = 0; i < d->count; i++) {
        struct question *q = &d->questions[i];

        dialog_text(v, ROLE_FAINT, json_get_str(q->is, "question"), ret);
        if (q->answer.len)
            dialog_text(v, ROLE_TEXT, buf_str(&q->answer), ret);
        else
            dialog_text(v, ROLE_WARNING, STR("(not answered)"), ret);
    }
}

static void question_draw(struct panel *p, const struct view *v, struct lines *ret,
                          struct screen_cursor *ret_cursor)
{
    struct question_dialog *d = (struct question_dialog *)p;

    dialog_page_draw(page_at(d), v, ret, ret_cursor);
}

/* ---- answers ---- */

static struct str label_of(const struct question *q, size_t row)
{
    return json_get_str(json_at(json_get(q->is, "options"), row), "label");
}

static void add_choice(struct buf *answer, struct str text)
{
    buf_adds(answer, answer->len ? ", " : "");
    buf_add(answer, text);
}

/* The checked options, and the free text with them. */
static void keep_checks(struct question *q)
{
    buf_clear(&q->answer);
    for (size_t i = 0; i < q->options; i++) {
        if (menu_is_checked(q->page.menu, i))
            add_choice(&q->answer, label_of(q, i));
    }
    if (q->words.len)
        add_choice(&q->answer, buf_str(&q->words));
}

static void take_answer(struct question *q)
{
    size_t row = menu_at(q->page.menu);

    if (row == q->options) {
        buf_clear(&q->words);
        dialog_page_words(&q->page, &q->words);
        dialog_page_close(&q->page);
    }
    if (q->is_multi) {
        keep_checks(q);
        if (!q->answer.len && row < q->options) { /* Enter alone chooses what it stands on */
            menu_check(q->page.menu, row, true);
            keep_checks(q);
        }
    } else {
        buf_clear(&q->answer);
        add_choice(&q->answer, row == q->options ? buf_str(&q->words) : label_of(q, row));
    }
    q->page.text_start = buf_str(&q->words);
}

static void go(struct question_dialog *d, size_t at)
{
    struct dialog_page *from = page_at(d);

    /* The page shows its checks: they are the answer, whichever key leaves it. */
    if (d->at < d->count && d->questions[d->at].is_multi)
        keep_checks(&d->questions[d->at]);

    d->at = at;
    if (at < d->count)
        dialog_page_changed(&d->questions[at].page);
    dialog_page_follow(page_at(d), from); /* one dialog, one beginning */
    dialog_page_changed(&d->ask.page);
    menu_move_to(d->ask.page.menu, ROW_SEND);
}

static enum panel_state answered(struct question_dialog *d)
{
    if (d->at < d->count) {
        take_answer(&d->questions[d->at]);
        if (d->count > 1) {
            go(d, d->at + 1);
            return PANEL_OPEN;
        }
    } else if (menu_at(d->ask.page.menu) == ROW_BACK) {
        go(d, 0);
        return PANEL_OPEN;
    }
    d->ask.is_done = true;
    return PANEL_DONE;
}

static enum panel_state question_key(struct panel *p, const struct keypress *k)
{
    struct question_dialog *d = (struct question_dialog *)p;
    bool writes = page_at(d)->editor;

    switch (dialog_page_key(page_at(d), k)) {
    case DIALOG_CHOSEN:
        return answered(d);
    case DIALOG_LEFT:
        return PANEL_LEFT;
    case DIALOG_EARLY:
        return PANEL_EARLY;
    case DIALOG_UNUSED:
        if (d->count < 2 || writes)
            break;
        if ((k->code == KEY_RIGHT || (k->code == KEY_TAB && !k->mods)) && d->at < d->count)
            go(d, d->at + 1);
        else if ((k->code == KEY_LEFT || keypress_is(k, "shift+tab")) && d->at)
            go(d, d->at - 1);
        break;
    case DIALOG_USED:
    case DIALOG_HELD:
        break;
    }
    return PANEL_OPEN;
}

static void question_answer(struct dialog_ask *ask, struct ask_answer *ret)
{
    struct question_dialog *d = (struct question_dialog *)ask;
    struct jw w;

    ret->allowed = ask->is_done;
    ret->interrupt = !ask->is_done;
    if (!ask->is_done)
        return;
    jw_init(&w, &ret->input, 0);
    jw_object(&w);
    JSON_EACH(ask->asked.input, m) {
        if (!str_is(json_key(m), "answers")) {
            jw_key_str(&w, json_key(m));
            jw_json(&w, m);
        }
    }
    jw_key(&w, "answers");
    jw_object(&w);
    for (size_t i = 0; i < d->count; i++) {
        struct question *q = &d->questions[i];

        if (q->answer.len) {
            jw_key_str(&w, json_get_str(q->is, "question"));
            jw_str(&w, buf_str(&q->answer));
        }
    }
    jw_object_end(&w);
    jw_object_end(&w);
}

/* ---- making it ---- */

static void question_free(struct panel *p)
{
    struct question_dialog *d = (struct question_dialog *)p;

    for (size_t i = 0; i < d->count; i++) {
        dialog_page_release(&d->questions[i].page);
        buf_release(&d->questions[i].words);
        buf_release(&d->questions[i].answer);
    }
    dialog_ask_free(p);
}

static void question_init(struct question *q, const struct json *is, size_t number, size_t count)
{
    CLEANUP(buf_release) struct buf title = BUF_INIT(1000);
    struct str header = json_get_str(is, "header");

    buf_add(&title, header.len ? str_clip(header, 200) : STR("Question"));
    if (count > 1)
        buf_addf(&title, " (%zu of %zu)", number + 1, count);
    q->is = is;
    q->is_multi = json_get_bool(is, "multiSelect", false);
    q->words = (struct buf)BUF_INIT(DIALOG_MAX_TEXT);
    q->answer = (struct buf)BUF_INIT(DIALOG_MAX_TEXT);
    dialog_page_init(&q->page, buf_str(&title),
                     MENU_NUMBERS | MENU_WHOLE | (q->is_multi ? MENU_CHECKS : 0));
    q->page.is_guarded = true;
    q->page.leave = "no answer";
    q->page.body = question_body;
    q->page.body_arg = q;
    if (count > 1)
        q->page.keys = STR("Tab next question");
    JSON_EACH(json_get(is, "options"), o) {
        menu_add(q->page.menu, &(struct menu_row){.label = json_get_str(o, "label"),
                                                  .detail = json_get_str(o, "description")});
        q->options++;
    }
    menu_add(q->page.menu, &(struct menu_row){.label = STR("Something else, in your own words"),
                                              .no_check = true});
    q->page.text_row = q->options;
    q->page.text_hint = STR("your answer");
}

static const struct panel_kind question_kind = {
    .name = "question",
    .takes_runs = true,
    .draw = question_draw,
    .key = question_key,
    .free = question_free,
};

struct dialog_ask *dialog_question_new(const struct ask *ask, const char *dir)
{
    struct question_dialog *d =
        dialog_ask_make(sizeof(*d), ask, dir, STR("Your answers"), MENU_NUMBERS | MENU_WHOLE);
    const struct json *list = json_get(d->ask.asked.input, "questions");
    size_t count = json_len(list) < MAX_QUESTIONS ? json_len(list) : MAX_QUESTIONS;

    JSON_EACH(list, q) {
        if (d->count == count)
            break;
        question_init(&d->questions[d->count], q, d->count, count);
        d->count++;
    }
    d->ask.page.leave = "no answer";
    d->ask.page.keys = STR("Shift-Tab back");
    dialog_ask_row(&d->ask, STR("Send them"), STR(""), 0, false);
    dialog_ask_row(&d->ask, STR("Change something"), STR(""), 0, false);
    dialog_ask_init(&d->ask, &question_kind, review_body, question_answer);
    return &d->ask;
}
