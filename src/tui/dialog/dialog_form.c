/*
 * dialog_form: what a server wants to know (MCP's elicitation): a row for each field of its schema,
 * "send" and "decline" below them. UI thread.
 *
 * The ask's input is {"mcp_server_name", "message", "requested_schema"} or, for a page to be
 * opened, {…, "mode": "url", "url"}. The answer's input is {"action": "accept" | "decline" |
 * "cancel", "content"?}. Fields are texts, numbers, booleans, one of several (enum, or oneOf with
 * const and title), any of several (an array of these); input is checked against the schema before
 * it is sent.
 */
#include <inttypes.h>

#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "json/schema.h"
#include "tui/dialog/dialog_ask.h"
#include "tui/screen/keypress.h"

#define MAX_FIELDS 100
#define MAX_CHOICES 500

enum field_kind {
    FIELD_TEXT,
    FIELD_NUMBER,
    FIELD_BOOL,
    FIELD_ONE, /* of choices */
    FIELD_ANY,
};

struct field {
    struct str name, title;
    const struct json *is;      /* its schema */
    const struct json *choices; /* an array: texts, or {const, title} */
    enum field_kind kind;
    bool is_required;
    struct buf text;  /* TEXT, NUMBER: as typed */
    size_t at;        /* ONE: MENU_NOWHERE: none */
    bool *is_checked; /* ANY: each choice; the arena's */
    int yes;          /* BOOL: -1: not said */
};

/* A row of the menu: a field, one choice of FIELD_ANY, or one of the buttons. */
struct form_row {
    struct field *field; /* NULL: ROW_SEND, ROW_DECLINE */
    size_t choice;
};

struct form {
    struct dialog_ask ask;
    VEC(struct field) fields;
    VEC(struct form_row) rows;
    struct buf problem;
    const struct json *schema;
    bool is_declined;
};

/* ---- fields ---- */

static struct str choice_value(const struct json *c)
{
    return json_is(c, JSON_STRING) ? json_str(c) : json_get_str(c, "const");
}

static struct str choice_title(const struct json *c)
{
    struct str title = json_get_str(c, "title");

    return title.len ? title : choice_value(c);
}

static const struct json *find_choices(const struct json *schema)
{
    static const char *const names[] = {"enum", "oneOf", "anyOf"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct json *list = json_get(schema, names[i]);

        if (json_is(list, JSON_ARRAY) && json_len(list) && json_len(list) <= MAX_CHOICES)
            return list;
    }
    return NULL;
}

static bool has_value(const struct json *list, struct str value)
{
    JSON_EACH(list, v) {
        if (str_eq(json_str(v), value))
            return true;
    }
    return false;
}

static void field_default(struct form *f, struct field *field)
{
    const struct json *d = json_get(field->is, "default");
    size_t i = 0;

    if (field->kind == FIELD_TEXT)
        buf_add(&field->text, json_str(d));
    if (field->kind == FIELD_NUMBER)
        buf_add(&field->text, json_number(d));
    if (field->kind == FIELD_BOOL && json_is(d, JSON_BOOL))
        field->yes = json_bool(d, false);
    if (field->kind == FIELD_ANY)
        field->is_checked =
            arena_alloc(&f->ask.asked.arena, sizeof(bool) * (json_len(field->choices) + 1));
    JSON_EACH(field->choices, c) {
        if (field->kind == FIELD_ANY)
            field->is_checked[i] = has_value(d, choice_value(c));
        else if (json_is(d, JSON_STRING) && str_eq(json_str(d), choice_value(c)))
            field->at = i;
        i++;
    }
}

static void add_field(struct form *f, const struct json *is)
{
    struct field *field = vec_add(&f->fields);
    struct str type = json_get_str(is, "type");
    struct str title = json_get_str(is, "title");

    *field = (struct field){.name = json_key(is),
                            .title = title.len ? title : json_key(is),
                            .is = is,
                            .at = MENU_NOWHERE,
                            .yes = -1,
                            .text = BUF_INIT(DIALOG_MAX_TEXT)};
    field->is_required = has_value(json_get(f->schema, "required"), field->name);
    field->choices = find_choices(is);
    if (str_is(type, "array")) {
        field->kind = FIELD_ANY;
        field->choices = find_choices(json_get(is, "items"));
    } else if (field->choices) {
        field->kind = FIELD_ONE;
    } else if (str_is(type, "boolean")) {
        field->kind = FIELD_BOOL;
    } else if (str_is(type, "number") || str_is(type, "integer")) {
        field->kind = FIELD_NUMBER;
    }
    field_default(f, field);
}

/* ---- rows ---- */

static void value_text(const struct field *field, struct buf *ret)
{
    switch (field->kind) {
    case FIELD_BOOL:
        buf_adds(ret, field->yes < 0 ? "(yes or no)" : field->yes ? "yes" : "no");
        break;
    case FIELD_ONE:
        buf_add(ret, field->at == MENU_NOWHERE ? STR("(choose)")
                                               : choice_title(json_at(field->choices, field->at)));
        break;
    default:
        buf_add(ret, field->text.len ? buf_str(&field->text) : STR("(empty)"));
    }
}

static void add_row(struct form *f, struct field *field, size_t choice, struct str label,
                    bool no_check)
{
    struct str about = field && no_check ? json_get_str(field->is, "description") : STR("");

    vec_push(&f->rows, ((struct form_row){.field = field, .choice = choice}));
    menu_add(f->ask.page.menu,
             &(struct menu_row){.label = label, .detail = about, .no_check = no_check});
    if (!no_check)
        menu_check(f->ask.page.menu, f->rows.len - 1, field->is_checked[choice]);
}

static void add_field_rows(struct form *f, struct field *field)
{
    CLEANUP(buf_release) struct buf label = BUF_INIT(2 * DIALOG_MAX_TEXT);
    size_t i = 0;

    if (field->kind != FIELD_ANY) {
        buf_addf(&label, "%.*s%s: ", STR_ARG(field->title), field->is_required ? "*" : "");
        value_text(field, &label);
        add_row(f, field, 0, buf_str(&label), true);
        return;
    }
    JSON_EACH(field->choices, c) {
        buf_clear(&label);
        buf_addf(&label, "%.*s: %.*s", STR_ARG(field->title), STR_ARG(choice_title(c)));
        add_row(f, field, i++, buf_str(&label), false);
    }
}

/* The menu as the fields are now, the cursor on this row. */
static void make_rows(struct form *f, size_t at)
{
    menu_free(f->ask.page.menu);
    f->ask.page.menu = menu_new(MENU_WHOLE | MENU_CHECKS);
    f->rows.len = 0;
    VEC_EACH(&f->fields, field) {
        add_field_rows(f, field);
    }
    add_row(f, NULL, 0, STR("Send"), true);
    add_row(f, NULL, 1, STR("Decline"), true);
    menu_move_to(f->ask.page.menu, at);
}

static struct form_row *row_here(struct form *f)
{
    return &f->rows.ptr[menu_at(f->ask.page.menu)];
}

static bool takes_words(const struct form_row *r)
{
    return r->field && (r->field->kind == FIELD_TEXT || r->field->kind == FIELD_NUMBER);
}

/* ---- the answer ---- */

static void write_field(const struct field *field, struct jw *w)
{
    size_t i = 0;

    switch (field->kind) {
    case FIELD_TEXT:
        if (field->text.len) {
            jw_key_str(w, field->name);
            jw_str(w, buf_str(&field->text));
        }
        break;
    case FIELD_NUMBER:
        if (field->text.len) {
            double n = 0;

            jw_key_str(w, field->name);
            if (str_to_double(buf_str(&field->text), &n, NULL) == 0)
                jw_double(w, n);
            else
                jw_str(
                    w,
                    buf_str(&field->text)); /* validation against the schema reports the problem */
        }
        break;
    case FIELD_BOOL:
        if (field->yes >= 0) {
            jw_key_str(w, field->name);
            jw_bool(w, field->yes);
        }
        break;
    case FIELD_ONE:
        if (field->at != MENU_NOWHERE) {
            jw_key_str(w, field->name);
            jw_str(w, choice_value(json_at(field->choices, field->at)));
        }
        break;
    case FIELD_ANY:
        jw_key_str(w, field->name);
        jw_array(w);
        JSON_EACH(field->choices, c) {
            if (field->is_checked[i++])
                jw_str(w, choice_value(c));
        }
        jw_array_end(w);
    }
}

static void write_content(const struct form *f, struct jw *w)
{
    jw_object(w);
    VEC_EACH(&f->fields, field) {
        write_field(field, w);
    }
    jw_object_end(w);
}

/* Whether it can be sent; else f->problem says why not. */
static bool check(struct form *f)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(buf_release) struct buf text = BUF_INIT(ASK_MAX_ANSWER);
    const struct json *v;
    struct err err = {0};
    struct jw w;

    jw_init(&w, &text, 0);
    write_content(f, &w);
    buf_clear(&f->problem);
    if (buf_check(&text, &err) < 0 || json_parse(&arena, buf_str(&text), &v, NULL, &err) < 0 ||
        (f->schema && schema_check(f->schema, v, &err) < 0))
        buf_adds(&f->problem, err.text);
    dialog_page_changed(&f->ask.page);
    return !f->problem.len;
}

static void form_answer(struct dialog_ask *d, struct ask_answer *ret)
{
    struct form *f = (struct form *)d;
    struct jw w;

    ret->allowed = d->is_done && !f->is_declined;
    jw_init(&w, &ret->input, 0);
    jw_object(&w);
    jw_kcstr(&w, "action", ret->allowed ? "accept" : d->is_done ? "decline" : "cancel");
    if (ret->allowed && f->schema) {
        jw_key(&w, "content");
        write_content(f, &w);
    }
    jw_object_end(&w);
}

/* ---- keys ---- */

static size_t turn(size_t at, size_t count, bool back)
{
    if (at == MENU_NOWHERE)
        return back ? count - 1 : 0;
    return (at + (back ? count - 1 : 1)) % count;
}

/* The next of its values. */
static bool change(struct form_row *r, bool back)
{
    if (!r->field)
        return false;
    if (r->field->kind == FIELD_BOOL)
        r->field->yes = r->field->yes < 0 ? !back : !r->field->yes;
    else if (r->field->kind == FIELD_ONE)
        r->field->at = turn(r->field->at, json_len(r->field->choices), back);
    else
        return false;
    return true;
}

static enum panel_state form_chosen(struct form *f)
{
    struct form_row *r = row_here(f);
    size_t at = menu_at(f->ask.page.menu);

    if (takes_words(r)) {
        buf_clear(&r->field->text);
        dialog_page_words(&f->ask.page, &r->field->text);
        dialog_page_close(&f->ask.page);
        make_rows(f, at + 1);
        return PANEL_OPEN;
    }
    if (r->field) {
        make_rows(f, change(r, /*back=*/false) ? at : at + 1);
        return PANEL_OPEN;
    }
    f->is_declined = r->choice == 1;
    if (!f->is_declined && !check(f))
        return PANEL_OPEN;
    f->ask.is_done = true;
    return PANEL_DONE;
}

static enum panel_state form_key(struct panel *p, const struct keypress *k)
{
    struct form *f = (struct form *)p;
    struct dialog_page *page = &f->ask.page;
    struct form_row *r = row_here(f);
    size_t at = menu_at(page->menu);
    enum dialog_act act;

    page->text_row = takes_words(r) ? at : MENU_NOWHERE;
    page->text_start = takes_words(r) ? buf_str(&r->field->text) : STR("");
    act = dialog_page_key(page, k);
    r = row_here(f);
    if (r->field && r->field->kind == FIELD_ANY)
        r->field->is_checked[r->choice] = menu_is_checked(page->menu, menu_at(page->menu));
    if (act == DIALOG_CHOSEN)
        return form_chosen(f);
    if (act == DIALOG_UNUSED && !page->editor) {
        bool back = k->code == KEY_LEFT;

        if ((back || k->code == KEY_RIGHT) && change(r, back))
            make_rows(f, at);
        else if (k->code == KEY_TAB)
            menu_move_to(page->menu, k->mods & MOD_SHIFT ? (at ? at - 1 : 0) : at + 1);
    }
    if (act == DIALOG_EARLY)
        return PANEL_EARLY;
    return act == DIALOG_LEFT ? PANEL_LEFT : PANEL_OPEN;
}

/* ---- the panel ---- */

static void form_body(void *arg, const struct view *v, struct lines *ret)
{
    struct form *f = arg;

    dialog_text(v, ROLE_TEXT, json_get_str(f->ask.asked.input, "message"), ret);
    if (json_get_str(f->ask.asked.input, "url").len) {
        dialog_text(v, ROLE_FAINT, STR("It wants this page to be opened:"), ret);
        dialog_text(v, ROLE_LINK, json_get_str(f->ask.asked.input, "url"), ret);
    }
    if (f->problem.len)
        dialog_text(v, ROLE_BAD, buf_str(&f->problem), ret);
}

static void form_free(struct panel *p)
{
    struct form *f = (struct form *)p;

    VEC_EACH(&f->fields, field) {
        buf_release(&field->text);
    }
    vec_release(&f->fields);
    vec_release(&f->rows);
    buf_release(&f->problem);
    dialog_ask_free(p);
}

static const struct panel_kind form_kind = {
    .name = "form",
    .takes_runs = true,
    .draw = dialog_ask_draw,
    .key = form_key,
    .free = form_free,
};

struct dialog_ask *dialog_form_new(const struct ask *ask, const char *dir)
{
    struct form *f = dialog_ask_make(sizeof(*f), ask, dir, STR(""), MENU_WHOLE);
    CLEANUP(buf_release) struct buf title = BUF_INIT(1000);
    struct str server = json_get_str(f->ask.asked.input, "mcp_server_name");

    f->problem = (struct buf)BUF_INIT(64 << 10);
    f->schema = json_get(f->ask.asked.input, "requested_schema");
    buf_addf(&title, "%.*s asks", STR_ARG(server.len ? str_clip(server, 200) : STR("A server")));
    f->ask.page.title = arena_str(&f->ask.page.arena, buf_str(&title));
    f->ask.page.leave = "cancel";
    f->ask.page.keys = STR("arrows change a choice");
    f->ask.page.text_optional = true;
    JSON_EACH(json_get(f->schema, "properties"), is) {
        if (f->fields.len < MAX_FIELDS)
            add_field(f, is);
    }
    make_rows(f, 0);
    dialog_ask_init(&f->ask, &form_kind, form_body, form_answer);
    return &f->ask;
}
