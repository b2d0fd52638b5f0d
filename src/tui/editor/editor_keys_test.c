/* docs/keys.md and the editor: every key that is named there does something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "tui/editor/editor_state.h"
#include "tui/screen/keypress.h"
#include "unit.h"

static bool past(void *arg, size_t i, struct str *ret)
{
    static const char *const prompts[] = {"newest prompt", "make it build", "oldest"};

    (void)arg;
    if (i >= ARRAY_LEN(prompts))
        return false;
    *ret = str_of(prompts[i]);
    return true;
}

/* Keys by name with spaces between them. The act of the last one. */
static enum editor_act press(struct editor *e, struct str names)
{
    enum editor_act act = EDITOR_UNUSED;
    struct str name;

    while (names.len && str_cut(&names, ' ', &name)) {
        struct keypress k = {0};

        if (!keypress_parse(name, &k))
            fail_msg("no key: %.*s", STR_ARG(name));
        act = editor_key(e, &k, 0);
    }
    return act;
}

/* Each character as a key of vim's. */
static void press_letters(struct editor *e, struct str letters)
{
    for (size_t i = 0; i < letters.len; i++) {
        struct keypress k = {.code = KEY_TEXT, .text = str_make(letters.ptr + i, 1)};

        editor_key(e, &k, 0);
    }
}

/* All that a key can change, as text. */
static void look(const struct editor *e, struct buf *ret)
{
    const struct editor_kills *kills = &e->kills;
    const struct editor_kill *newest = kills->count ? &kills->ring[kills->count - 1] : NULL;
    const char *mode = editor_vim_mode(e);

    buf_clear(ret);
    editor_text(e, ret);
    buf_addf(ret, "\ncursor %zu, %s, %d, waits %d", e->text.cursor, mode ? mode : "",
             editor_wants_escape(e), e->vim.wait);
    if (newest)
        buf_addf(ret, ", cut '%.*s'", (int)newest->len, newest->text);
}

/* --- without vim ----------------------------------------------------------------------------- */

/* The app's, or of a list that is open: the editor leaves them alone. */
static const char *const of_others[] = {"esc",    "esc esc",       "ctrl+c",    "ctrl+o",
                                        "ctrl+z", "ctrl+l",        "ctrl+v",    "shift+tab",
                                        "tab",    "ctrl+x ctrl+k", "shift+down"};

static bool is_of_others(struct str names)
{
    for (size_t i = 0; i < ARRAY_LEN(of_others); i++) {
        if (str_is(names, of_others[i]))
            return true;
    }
    return false;
}

/* In the middle of a text, with something cut and something to undo; then these keys. */
static bool does_something(struct str names, const char *first)
{
    struct editor *e = editor_new(&(struct editor_spec){.past = past});
    CLEANUP(buf_release) struct buf before = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf after = BUF_INIT(BUF_NO_LIMIT);
    enum editor_act act;
    bool does;

    editor_set(e, STR("one two three\nfour five six seven\neight nine ten"));
    press(e, STR("up ctrl+a alt+f alt+d left alt+d"));
    press(e, str_of(first));
    look(e, &before);
    act = press(e, names);
    look(e, &after);
    does = act == EDITOR_SEND || act == EDITOR_OPEN ||
           (act == EDITOR_NOTHING && !str_eq(buf_str(&before), buf_str(&after)));
    if (is_of_others(names))
        does = act == EDITOR_UNUSED;
    editor_free(e);
    return does;
}

/* In the search every key is one, for the text that was found if not for the search. */
static bool searches(struct str names)
{
    struct editor *e = editor_new(&(struct editor_spec){.past = past});
    enum editor_act act;

    press(e, STR("ctrl+r e"));
    act = press(e, names);
    editor_free(e);
    return act == EDITOR_NOTHING;
}

/* "Ctrl-X Ctrl-U", "Page Up" as tables of keys have them. */
static void add_names(struct str said, struct buf *ret)
{
    for (size_t i = 0; i < said.len; i++) {
        struct str so_far = buf_str(ret);
        bool joins =
            said.ptr[i] == '-' && (str_ends(so_far, STR("ctrl")) || str_ends(so_far, STR("alt")) ||
                                   str_ends(so_far, STR("shift")));

        if (said.ptr[i] == ' ' && str_ends(so_far, STR("page")))
            continue;
        buf_addc(ret, joins ? '+' : (char)tolower((unsigned char)said.ptr[i]));
    }
}

/* Text in backquotes and in brackets is no name of a key. */
static void drop_remarks(struct str cell, struct buf *ret)
{
    char until = 0;

    for (size_t i = 0; i < cell.len; i++) {
        char c = cell.ptr[i];

        if (until)
            until = c == until ? 0 : until;
        else if (c == '`' || c == '(')
            until = c == '(' ? ')' : '`';
        else
            buf_addc(ret, c);
    }
}

/* The first cell of a row: "Alt-D, Ctrl-Delete · Ctrl-U". How many keys it names. */
static size_t check_cell(struct str cell)
{
    static const char search[] = "in the search: ";
    static const char dot[] = "·";
    static const char *const situations[] = {"", "ctrl+_", "ctrl+y", "ctrl+up"};
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    bool in_search = str_starts(cell, STR(search));
    struct str rest;
    struct str said;
    size_t count = 0;

    drop_remarks(str_from(cell, in_search ? strlen(search) : 0), &text);
    rest = buf_str(&text);
    while (rest.len) {
        size_t comma = str_find(rest, STR(", "));
        size_t point = str_find(rest, STR(dot));
        size_t end = comma < point ? comma : point;
        CLEANUP(buf_release) struct buf names = BUF_INIT(BUF_NO_LIMIT);
        bool does = false;

        said = str_trim(str_first(rest, end));
        rest = str_from(rest, end + (comma < point ? 2 : strlen(dot)));
        if (!said.len)
            continue;
        add_names(said, &names);
        for (size_t i = 0; !in_search && i < ARRAY_LEN(situations); i++)
            does = does || does_something(buf_str(&names), situations[i]);
        if (in_search ? !searches(buf_str(&names)) : !does)
            fail_msg("docs/keys.md: %.*s does nothing", STR_ARG(said));
        count++;
    }
    return count;
}

/* --- vim ------------------------------------------------------------------------------------- */

/* Between all kinds of brackets and quotes, after a search and a change; then these keys. */
static bool vim_does_something(struct str first, struct str keys)
{
    struct editor *e = editor_new(&(struct editor_spec){.vim = true, .past = past});
    CLEANUP(buf_release) struct buf before = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf after = BUF_INIT(BUF_NO_LIMIT);
    bool does;

    editor_set(e, STR("!first\n\n  x \"'`<{[(one x-y two)]}>`'\" x\n\nlast"));
    press(e, STR("esc"));
    press_letters(e, STR("ggxjj0fx;"));
    press_letters(e, first);
    look(e, &before);
    press_letters(e, keys);
    look(e, &after);
    does = !str_eq(buf_str(&before), buf_str(&after));
    editor_free(e);
    return does;
}

/* The second cell of a row: keys in backquotes, of which there are two around one of them. */
static size_t check_vim_cell(struct str kind, struct str cell)
{
    struct str first = str_is(kind, "selecting") ? STR("vl") : STR("");
    size_t count = 0;

    for (;;) {
        CLEANUP(buf_release) struct buf keys = BUF_INIT(BUF_NO_LIMIT);
        struct str mark = STR("`");

        cell = str_from(cell, str_find(cell, mark));
        if (!cell.len)
            return count;
        if (str_starts(cell, STR("``")))
            mark = STR("``");
        cell = str_from(cell, mark.len);
        if (str_is(kind, "objects")) /* of an operator */
            buf_addc(&keys, 'd');
        buf_add(&keys, str_trim(str_first(cell, str_find(cell, mark))));
        cell = str_from(cell, str_find(cell, mark) + mark.len);
        if (!vim_does_something(first, buf_str(&keys)))
            fail_msg("docs/keys.md, vim, %.*s: %s does nothing", STR_ARG(kind), buf_cstr(&keys));
        count++;
    }
}

/* --- the page -------------------------------------------------------------------------------- */

static void documented(void **state)
{
    const char *root = getenv("TENAX_SOURCE");
    CLEANUP(buf_release) struct buf docs = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *page = NULL;
    struct str rest;
    struct str line;
    bool is_vim = false;
    size_t count = 0;
    size_t vim_count = 0;

    (void)state;
    if (!root) {
        print_message("TENAX_SOURCE is not set: docs are not compared\n");
        return;
    }
    page = path_join(root, "docs/keys.md");
    assert_int_equal(file_slurp(page, 1 << 20, &docs, NULL), 0);
    rest = buf_str(&docs);
    while (rest.len && str_cut(&rest, '\n', &line)) {
        struct str cell = {0};
        bool is_row = str_starts(line, STR("| "));

        is_vim = is_vim || str_is(line, "## Vim");
        line = str_from(line, 2);
        if (!is_row || !str_cut(&line, '|', &cell))
            continue;
        cell = str_trim(cell);
        if (is_vim)
            vim_count += check_vim_cell(cell, line);
        else if (!str_is(cell, "key") && !str_is(cell, "character"))
            count += check_cell(cell);
    }
    assert_true(count > 60 && vim_count > 60);
}

/* A page that names an unknown key would be noticed. */
static void not_bound(void **state)
{
    (void)state;
    assert_false(does_something(STR("ctrl+q"), ""));
    assert_false(does_something(STR("ctrl+x ctrl+q"), ""));
    assert_false(vim_does_something(STR(""), STR("Q")));
    assert_false(vim_does_something(STR(""), STR("diq")));
    assert_false(vim_does_something(STR("vl"), STR("Q")));
}

UNIT_TEST(editor_keys)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documented),
        cmocka_unit_test(not_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
