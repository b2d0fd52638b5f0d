#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tui/screen/keypress.h"
#include "unit.h"

#define LATE ((int64_t)10000)

/* One key as a word: its name; text in quotes, what comes with it in brackets. */
static void describe(const struct keypress *k, struct buf *out)
{
    static const char *const replies[] = {"device", "mode",       "kitty",
                                          "cursor", "background", "other"};

    if (k->code == KEY_TEXT && out->len && out->ptr[out->len - 1] == '\'') {
        out->len--; /* text goes on: where reads cut it does not matter */
        buf_addf(out, "%.*s'", STR_ARG(k->text));
        return;
    }
    if (out->len)
        buf_addc(out, ' ');
    if (k->code == KEY_TEXT) {
        buf_addf(out, "'%.*s'", STR_ARG(k->text));
    } else if (k->code == KEY_REPLY) {
        buf_addf(out, "%s[%d,%d,%.*s]", replies[k->reply], k->args[0], k->args[1],
                 STR_ARG(k->text));
    } else {
        keypress_name(k, out);
        if (k->code == KEY_PASTE)
            buf_addf(out, "[%.*s]", STR_ARG(k->text));
    }
}

/* Pieces of `step` bytes, from memory that is gone afterwards. */
static void type(struct str bytes, size_t step, struct buf *out)
{
    struct keyboard *k = keyboard_new();
    struct keypress key;

    for (size_t at = 0; at < bytes.len; at += step) {
        struct str piece = str_first(str_from(bytes, at), step);
        CLEANUP(mem_freep) char *copy = mem_dup(piece.ptr, piece.len);

        keyboard_feed(k, str_make(copy, piece.len), 0);
        memset(copy, '#', piece.len);
        while (keyboard_next(k, &key))
            describe(&key, out);
    }
    keyboard_tick(k, LATE);
    while (keyboard_next(k, &key))
        describe(&key, out);
    keyboard_free(k);
}

struct key_case {
    struct str in;
    const char *out;
};

static const struct key_case key_cases[] = {
    /* plain typing */
    {STR_INIT("abc"), "'abc'"},
    {STR_INIT("caf\xc3\xa9 \xf0\x9f\x98\x80"), "'caf\xc3\xa9 \xf0\x9f\x98\x80'"},
    {STR_INIT("a\rb\n"), "'a' enter 'b' ctrl+j"},
    {STR_INIT("\t\x7f\x08"), "tab backspace ctrl+h"},
    {STR_INIT("\x01\x1a"), "ctrl+a ctrl+z"},
    {STR_INIT("\0"), "ctrl+space"},
    {STR_INIT("\x1c\x1d\x1e\x1f"), "ctrl+\\ ctrl+] ctrl+^ ctrl+_"},
    /* invalid UTF-8 is shown, and never a control sequence */
    {STR_INIT("\xff"), "'\xef\xbf\xbd'"},
    {STR_INIT("\x9b"
              "A"),
     "'\xef\xbf\xbd"
     "A'"},
    {STR_INIT("caf\xe9!"), "'caf\xef\xbf\xbd!'"},
    {STR_INIT("\xe2\x82"), "'\xef\xbf\xbd\xef\xbf\xbd'"},
    {STR_INIT("\xe2\x82"
              "A"),
     "'\xef\xbf\xbd\xef\xbf\xbd"
     "A'"},
    {STR_INIT("x\xc2\x9b"
              "A"),
     "'xA'"}, /* C1, spelled out */
    /* Escape and Alt */
    {STR_INIT("\033"), "esc"},
    {STR_INIT("\033\033"), "esc esc"},
    {STR_INIT("\033\033\033"), "esc esc esc"},
    {STR_INIT("\033b\033F"), "alt+b alt+shift+f"},
    {STR_INIT("\033\r\033\x7f\033\t"), "alt+enter alt+backspace alt+tab"},
    {STR_INIT("\033\x08"), "ctrl+alt+h"},
    {STR_INIT("\033 "), "alt+space"},
    {STR_INIT("\033\xc3\xa9"), "alt+\xc3\xa9"},
    {STR_INIT("\033["), "alt+["},
    {STR_INIT("\033O"), "alt+shift+o"},
    {STR_INIT("\033]"), "alt+]"},
    {STR_INIT("\033P"), "alt+shift+p"},
    {STR_INIT("\033\033["), "esc alt+["},
    {STR_INIT("\033\033x"), "esc alt+x"},
    {STR_INIT("\033\033[A"), "alt+up"},
    {STR_INIT("\033\033OA"), "alt+up"},
    {STR_INIT("\033\033Op"), "alt+0"},
    {STR_INIT("\033\033[I"), "esc focus-in"},
    {STR_INIT("\033\033[200~x\033[201~"), "esc paste[x]"},
    {STR_INIT("\033\xff"), "esc '\xef\xbf\xbd'"},
    /* arrows and their like */
    {STR_INIT("\033[A\033[B\033[C\033[D"), "up down right left"},
    {STR_INIT("\033OA\033OB\033OC\033OD"), "up down right left"},
    {STR_INIT("\033[H\033[F\033OH\033OF"), "home end home end"},
    {STR_INIT("\033[1~\033[4~\033[7~\033[8~"), "home end home end"},
    {STR_INIT("\033[2~\033[3~\033[5~\033[6~"), "insert delete pageup pagedown"},
    {STR_INIT("\033[Z"), "shift+tab"},
    {STR_INIT("\033[1;5C\033[1;3D\033[1;2A"), "ctrl+right alt+left shift+up"},
    {STR_INIT("\033[1;6B\033[1;9H"), "ctrl+shift+down super+home"},
    {STR_INIT("\033[3;5~\033[5;3~"), "ctrl+delete alt+pageup"},
    {STR_INIT("\033[;5A"), "ctrl+up"},
    {STR_INIT("\033O5A\033O1;5P"), "ctrl+up ctrl+f1"},
    /* function keys, also of the linux console and rxvt */
    {STR_INIT("\033OP\033OQ\033OR\033OS"), "f1 f2 f3 f4"},
    {STR_INIT("\033[11~\033[15~\033[17~\033[24~"), "f1 f5 f6 f12"},
    {STR_INIT("\033[[A\033[[E"), "f1 f5"},
    {STR_INIT("\033[1;5R"), "ctrl+f3"},
    {STR_INIT("\033[25~\033[34~"), "f13 f20"},
    {STR_INIT("\033[a\033Oa\033[3$\033[3^\033[3@"),
     "shift+up ctrl+up shift+delete ctrl+delete ctrl+shift+delete"},
    /* keypads */
    {STR_INIT("\033Op\033Ok\033OM"), "'0+' enter"},
    {STR_INIT("\033On\033Ot\033Ou"), "'.45'"},
    /* modifyOtherKeys */
    {STR_INIT("\033[27;2;13~\033[27;5;9~"), "shift+enter ctrl+tab"},
    {STR_INIT("\033[27;5;105~\033[27;5;109~"), "tab enter"},
    {STR_INIT("\033[27;6;65~\033[27;3;97~"), "ctrl+shift+a alt+a"},
    {STR_INIT("\033[27;2;65~\033[27;5;95~"), "'A' ctrl+_"},
    /* kitty */
    {STR_INIT("\033[97;5u\033[97;6u"), "ctrl+a ctrl+shift+a"},
    {STR_INIT("\033[13;2u\033[9;2u\033[27u\033[127;5u"),
     "shift+enter shift+tab esc ctrl+backspace"},
    {STR_INIT("\033[91;5u"), "esc"},
    {STR_INIT("\033[97;1:1u\033[97;1:2u\033[97;1:3u"), "'aa'"},
    {STR_INIT("\033[1;1:3A\033[1;5:2A"), "ctrl+up"},
    {STR_INIT("\033[97:65;2u"), "'A'"},
    {STR_INIT("\033[97;2u"), "'A'"},
    {STR_INIT("\033[97;1;228u\033[97;;97:98u"), "'\xc3\xa4"
                                                "ab'"},
    {STR_INIT("\033[1089::99;5u"), "ctrl+c"}, /* a Russian keyboard */
    {STR_INIT("\033[45:95;6u\033[45;6u"), "ctrl+_ ctrl+_"},
    {STR_INIT("\033[57414u\033[57400u\033[57419;5u\033[57376u"), "enter '1' ctrl+up f13"},
    {STR_INIT("\033[57358u\033[57441;2u"), ""}, /* Caps Lock, Shift by itself */
    {STR_INIT("\033[97;69u"), "ctrl+a"},        /* Caps Lock is on */
    /* paste */
    {STR_INIT("\033[200~two\rlines\033[201~x"), "paste[two\nlines] 'x'"},
    {STR_INIT("\033[200~dos\r\nmac\r\x01\x1b[31m\ttab\x7f\033[201~"), "paste[dos\nmac\n[31m\ttab]"},
    {STR_INIT("\033[200~a\033[200~b\033[201~c"), "paste[ab] 'c'"},
    {STR_INIT("\033[200~a\033[20\033\033[201~"), "paste[a[20]"},
    {STR_INIT("\033[200~\xff\xe2\x82\033[201~"), "paste[\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd]"},
    {STR_INIT("\033[200~\033[201~"), "paste[]"},
    {STR_INIT("\033[200~never ends\r"), ""},
    {STR_INIT("\033[201~x"), "'x'"},
    /* reports and answers */
    {STR_INIT("\033[I\033[O"), "focus-in focus-out"},
    {STR_INIT("\033[?62;4c"), "device[62,4,]"},
    {STR_INIT("\033[?2026;2$y"), "mode[2026,2,]"},
    {STR_INIT("\033[?1u"), "kitty[1,0,]"},
    {STR_INIT("\033[24;80R"), "cursor[24,80,]"},
    {STR_INIT("\033[1;40R"), "cursor[1,40,]"},
    {STR_INIT("\033]11;rgb:1/2/3\a"), "background[0,0,rgb:1/2/3]"},
    {STR_INIT("\033]11;rgb:1/2/3\033\\x"), "background[0,0,rgb:1/2/3] 'x'"},
    {STR_INIT("\033]10;rgb:1/2/3\a"), "other[0,0,10;rgb:1/2/3]"},
    {STR_INIT("\033P>|xterm(1)\033\\"), "other[0,0,>|xterm(1)]"},
    {STR_INIT("\033[>41;1c\033[8;24;80t\033[?997;1n"), "other[41,1,] other[8,24,] other[997,1,]"},
    /* garbage */
    {STR_INIT("\033[12;\003"), "ctrl+c"},
    {STR_INIT("\033[12;"), ""},
    {STR_INIT("\033]half\rx"), "enter 'x'"},
    {STR_INIT("\033[999~\033[1Wx"), "'x'"},
    {STR_INIT("\033[<0;1;1Mx\033[M !!y"), "other[0,1,] 'xy'"},
    {STR_INIT("\033[1;2;3;4;5;6;7;8;9;10;11Ax"), "shift+up 'x'"},
    {STR_INIT("\033[1:2:3:4:5:6;5Ax"), "ctrl+up 'x'"},
    {STR_INIT("\033[99999999999999999999ux"), "'x'"},
};

static void cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(key_cases); i++) {
        for (size_t step = 1; step <= key_cases[i].in.len; step++) {
            CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

            type(key_cases[i].in, step, &out);
            if (!str_is(buf_str(&out), key_cases[i].out))
                fail_msg("row %zu, pieces of %zu: %s instead of %s", i, step, buf_cstr(&out),
                         key_cases[i].out);
        }
    }
}

/* Anything longer than any sequence is skipped, and then keys are keys again. */
static void overlong(void **state)
{
    static const struct {
        const char *start, *fill, *end;
    } rows[] = {
        {"\033[", "1;", "Ax"},
        {"\033]11;", "long ", "\ax"},
        {"\033]11;", "long ", "\033\\x"},
        {"\033P", "long ", "\x03x"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (size_t step = 1; step < 8000; step = step * 3 + 1) {
            CLEANUP(buf_release) struct buf in = BUF_INIT(BUF_NO_LIMIT);
            CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

            buf_adds(&in, rows[i].start);
            while (in.len < 6000)
                buf_adds(&in, rows[i].fill);
            buf_adds(&in, rows[i].end);
            type(buf_str(&in), step, &out);
            if (!str_is(buf_str(&out), i == 3 ? "ctrl+c 'x'" : "'x'"))
                fail_msg("row %zu, pieces of %zu: %s", i, step, buf_cstr(&out));
        }
    }
}

static void by_time(void **state)
{
    struct keyboard *k = keyboard_new();
    struct keypress key;

    (void)state;
    assert_int_equal(keyboard_due(k), -1);
    keyboard_feed(k, STR("\033"), 1000);
    assert_false(keyboard_next(k, &key));
    assert_int_equal(keyboard_due(k), 1000 + KEY_ESCAPE_MS);
    keyboard_tick(k, 1000);
    assert_false(keyboard_next(k, &key));
    keyboard_tick(k, 1000 + KEY_ESCAPE_MS);
    assert_true(keyboard_next(k, &key));
    assert_true(keypress_is(&key, "esc"));
    assert_int_equal(keyboard_due(k), -1);

    /* Not polled in time: an Esc key is not joined with the next key, a cut sequence is. */
    keyboard_feed(k, STR("\033"), 1200);
    assert_false(keyboard_next(k, &key));
    keyboard_feed(k, STR("x"), 1200 + KEY_ESCAPE_MS);
    assert_true(keyboard_next(k, &key) && keypress_is(&key, "esc"));
    assert_true(keyboard_next(k, &key) && key.code == KEY_TEXT && str_is(key.text, "x"));
    keyboard_feed(k, STR("\033"), 1300);
    assert_false(keyboard_next(k, &key));
    keyboard_feed(k, STR("\033[A"), 1300 + KEY_ESCAPE_MS);
    assert_true(keyboard_next(k, &key) && keypress_is(&key, "esc"));
    assert_true(keyboard_next(k, &key) && keypress_is(&key, "up"));
    keyboard_feed(k, STR("\033"), 1400);
    assert_false(keyboard_next(k, &key));
    keyboard_feed(k, STR("[A"), 1500);
    assert_true(keyboard_next(k, &key) && keypress_is(&key, "up"));
    keyboard_feed(k, STR("\033"), 1600);
    assert_false(keyboard_next(k, &key));
    keyboard_feed(k, STR("x"), 1601);
    assert_true(keyboard_next(k, &key) && keypress_is(&key, "alt+x"));

    keyboard_feed(k, STR("\033[1;"), 2000); /* a slow line: this is no lone ESC */
    assert_false(keyboard_next(k, &key));
    keyboard_tick(k, 2100);
    assert_false(keyboard_next(k, &key));
    keyboard_feed(k, STR("5A"), 2200);
    assert_true(keyboard_next(k, &key));
    assert_true(keypress_is(&key, "ctrl+up"));

    keyboard_feed(k, STR("\033[200~half"), 3000);
    assert_false(keyboard_next(k, &key));
    assert_int_equal(keyboard_due(k), -1); /* pastes take the time they take */
    keyboard_feed(k, STR("\033[201~"), 9000);
    assert_true(keyboard_next(k, &key));
    assert_true(str_is(key.text, "half"));
    keyboard_free(k);
}

static void long_paste(void **state)
{
    CLEANUP(buf_release) struct buf in = BUF_INIT(BUF_NO_LIMIT);
    struct keyboard *k = keyboard_new();
    struct keypress key = {0};
    size_t seen = 0;

    (void)state;
    buf_adds(&in, "\033[200~");
    while (in.len < KEY_MAX_PASTE + 100000)
        buf_adds(&in, "a line of text, with \xc3\xa9 in it\r");
    buf_adds(&in, "\033[201~");
    for (size_t at = 0; at < in.len; at += 65536) {
        keyboard_feed(k, str_first(str_from(buf_str(&in), at), 65536), 0);
        while (keyboard_next(k, &key)) {
            seen++;
            assert_int_equal(key.code, KEY_PASTE);
            assert_true(key.was_cut);
            assert_true(key.text.len <= KEY_MAX_PASTE);
            assert_true(key.text.len > KEY_MAX_PASTE - 100000);
        }
    }
    assert_int_equal(seen, 1);
    keyboard_free(k);
}

static void names(void **state)
{
    static const char *const rows[] = {
        "a",      "ctrl+c",  "alt+shift+b", "shift+tab", "enter", "f12",   "ctrl+f1", "space",
        "ctrl++", "alt+esc", "super+x",     "\xc3\xa9",  "+",     "alt+ ", "pageup",  "ctrl+space",
    };
    struct keypress k;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(buf_release) struct buf name = BUF_INIT(100);

        assert_true(keypress_parse(str_of(rows[i]), &k));
        keypress_name(&k, &name);
        assert_string_equal(buf_cstr(&name), i == 13 ? "alt+space" : rows[i]);
        assert_true(keypress_is(&k, rows[i]));
        assert_false(keypress_is(&k, "ctrl+y"));
    }
    assert_false(keypress_parse(STR(""), &k));
    assert_false(keypress_parse(STR("ctrl+nonsense"), &k));
}

UNIT_TEST(keyboard)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),      cmocka_unit_test(overlong), cmocka_unit_test(by_time),
        cmocka_unit_test(long_paste), cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
