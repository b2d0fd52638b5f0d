/*
 * Any keys into the editor, vim or not, drawn at any size in between. The first byte chooses the
 * editor, each further one a key or a size. At all times: the cursor is in the text, at the start
 * of a character, and on the screen; no row is wider than it may be, and there are no more than
 * asked for. In the end, undoing everything gives back the beginning.
 */
#include "tui/editor/editor.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "sync/mailbox.h"
#include "tui/complete/complete.h"
#include "tui/editor/editor_move.h"
#include "tui/editor/editor_state.h"
#include "tui/screen/keypress.h"

#define MOST_KEYS 400

static const char *const names[] = {
    "left",   "right",     "up",          "down",           "home",      "end",    "enter",
    "tab",    "backspace", "esc",         "delete",         "alt+enter", "ctrl+a", "ctrl+b",
    "ctrl+d", "ctrl+e",    "ctrl+f",      "ctrl+h",         "ctrl+j",    "ctrl+k", "ctrl+n",
    "ctrl+p", "ctrl+r",    "ctrl+s",      "ctrl+t",         "ctrl+u",    "ctrl+w", "ctrl+x",
    "ctrl+y", "ctrl+_",    "alt+y",       "alt+b",          "alt+f",     "alt+d",  "alt+backspace",
    "alt+_",  "ctrl+left", "ctrl+right",  "ctrl+home",      "ctrl+end",  "pageup", "pagedown",
    "alt+p",  "alt+n",     "shift+enter", "ctrl+backspace", "ctrl+g",    "esc",
};

static const char *const texts[] = {
    "\xcc\x81",
    "e\xcc\x81",
    "\xe4\xbd\xa0\xe5\xa5\xbd",
    "\xe2\x80\x8d",
    "\xef\xb8\x8f",
    "\xf0\x9f\x87\xa9",
    "\xf0\x9f\x91\xa9",
    "\xe2\x80\xae",
    "\xf4\x8f\x80\x80",
    "a word ",
    "\xe2\x80\xa8",
    "\xd8\x80",
    "dw",
    "ggdG",
    "ciw",
    "@a",
};

static const char *const pastes[] = {
    "two\nlines", "1\n2\n3\n4\n5\n6", "\ttabs\tin\tit", "\xff\x1b[31m\r\n", "(a [b] {c} \"d\")",
};

static const char *const prompts[] = {"newest", "two\nlines", "\xe4\xbd\xa0 wide", "/old"};

static bool past(void *arg, size_t i, struct str *ret)
{
    (void)arg;
    if (i >= ARRAY_LEN(prompts))
        return false;
    *ret = str_of(prompts[i]);
    return true;
}

static void check(struct editor *e)
{
    struct str text = editor_text_str(&e->text);

    FUZZ_CHECK(e->text.cursor <= text.len);
    FUZZ_CHECK(utf8_is_valid(text));
    FUZZ_CHECK(utf8_is_valid(str_first(text, e->text.cursor)));
    FUZZ_CHECK(editor_is_empty(e) == !text.len);
}

static void draw(struct editor *e, int cols, int rows)
{
    struct lines lines = LINES_INIT;
    struct screen_cursor cursor = {0};
    struct view v = {.cols = cols, .rows = rows, .ascii = cols & 1};

    editor_draw(e, &v, STR("a hint"), &lines, &cursor);
    FUZZ_CHECK(lines_count(&lines) >= 1 && lines_count(&lines) <= (size_t)rows);
    FUZZ_CHECK(cursor.shown && cursor.row < lines_count(&lines));
    FUZZ_CHECK(cursor.col >= 0 && cursor.col < cols);
    for (size_t i = 0; i < lines_count(&lines); i++)
        FUZZ_CHECK(line_width(lines_at(&lines, i)) <= cols);
    lines_release(&lines);
}

static void press(struct editor *e, uint8_t byte)
{
    struct keypress k = {.code = KEY_TEXT};
    char typed = (char)byte;

    if (byte >= 0x20 && byte < 0x7f) {
        k.text = str_make(&typed, 1);
    } else if (byte >= 0x80 && byte < 0x80 + ARRAY_LEN(names)) {
        FUZZ_CHECK(keypress_parse(str_of(names[byte - 0x80]), &k));
    } else if (byte >= 0xc0 && byte < 0xc0 + ARRAY_LEN(texts)) {
        k.text = str_of(texts[byte - 0xc0]);
    } else if (byte >= 0xe0 && byte < 0xe0 + ARRAY_LEN(pastes)) {
        k.code = KEY_PASTE;
        k.text = str_of(pastes[byte - 0xe0]);
    } else {
        FUZZ_CHECK(keypress_parse(STR("esc"), &k));
    }
    editor_key(e, &k, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct completer_command commands[] = {
        {STR_INIT("help"), STR_INIT("commands"), STR_INIT(""), STR_INIT("what there is")},
        {STR_INIT("goal"), STR_INIT(""), STR_INIT("[condition]"), STR_INIT("work until it holds")},
    };
    struct mailbox *mb;
    struct completer *c;
    struct editor *e;

    if (size < 1 || size > MOST_KEYS)
        return 0;
    mb = mailbox_new();
    /* A folder that is not there: no files, and the same every time. */
    c = completer_new(&(struct completer_spec){
        .dir = "/nonexistent", .to = mb, .commands = commands, .command_count = 2});
    e = editor_new(&(struct editor_spec){
        .vim = data[0] & 1, .past = past, .completer = data[0] & 2 ? c : NULL});
    for (size_t i = 1; i < size; i++) {
        if (data[i] < 0x20)
            draw(e, data[i] & 1 ? 1 + (data[i] >> 1) : 10 + data[i] * 3, 1 + data[i] % 9);
        else
            press(e, data[i]);
        check(e);
    }
    draw(e, 80, 24);
    while (editor_text_undo(&e->text))
        check(e);
    FUZZ_CHECK(editor_is_empty(e));
    while (editor_text_redo(&e->text))
        check(e);
    editor_free(e);
    completer_free(c);
    mailbox_close(mb);
    mailbox_unref(mb);
    return 0;
}
