#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tui/complete/complete.h"
#include "tui/editor/editor.h"
#include "tui/editor/editor_state.h"
#include "tui/screen/keypress.h"
#include "tui/screen/line.h"
#include "tui/screen/width.h"
#include "unit.h"

/* --- keys as words --------------------------------------------------------------------------- */

static enum editor_act press(struct editor *e, const struct keypress *k)
{
    return editor_key(e, k, 0);
}

/* Keys by name with spaces between them; 'text' is typed, <text> is pasted. The act
 * of the last one. */
static enum editor_act type(struct editor *e, const char *keys)
{
    enum editor_act act = EDITOR_NOTHING;

    while (*keys) {
        const char *end = strchr(keys, ' ');
        size_t len = end ? (size_t)(end - keys) : strlen(keys);
        struct keypress k = {0};

        if ((*keys == '\'' || *keys == '<') && keys[1]) {
            char *text;

            end = strchr(keys + 1, *keys == '<' ? '>' : '\'');
            len = (size_t)(end + 1 - keys);
            text = mem_dup(keys + 1, len - 2);
            k.code = *keys == '<' ? KEY_PASTE : KEY_TEXT;
            k.text = str_of(text);
            act = press(e, &k);
            free(text);
        } else {
            if (!keypress_parse(str_make(keys, len), &k))
                fail_msg("no key: %s", keys);
            act = press(e, &k);
        }
        keys += len;
        while (*keys == ' ')
            keys++;
    }
    return act;
}

/* The text with a mark where the cursor is; folded pastes as their labels, newlines as ~. */
static void show(struct editor *e, struct buf *ret)
{
    const struct editor_text *t = &e->text;

    for (size_t at = 0; at <= t->bytes.len; at++) {
        size_t number;
        const struct editor_paste *p = editor_text_folded(t, at, &number);

        if (at == t->cursor)
            buf_addc(ret, '|');
        if (at == t->bytes.len)
            break;
        if (p) {
            editor_text_label(p, number, ret);
            at += EDITOR_FOLD_CHAR - 1;
        } else {
            buf_addc(ret, t->bytes.ptr[at] == '\n' ? '~' : t->bytes.ptr[at]);
        }
    }
}

static const char *const prompts[] = {"newest prompt", "make it build", "two\nlines", "Öldest"};

static bool past(void *arg, size_t i, struct str *ret)
{
    (void)arg;
    if (i >= ARRAY_LEN(prompts))
        return false;
    *ret = str_of(prompts[i]);
    return true;
}

struct edit_case {
    const char *keys;
    const char *shown;
};

static void check_cases(const struct edit_case *rows, size_t count, bool vim)
{
    size_t failed = 0;

    for (size_t i = 0; i < count; i++) {
        struct editor *e = editor_new(&(struct editor_spec){.vim = vim, .past = past});
        CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);

        type(e, rows[i].keys);
        show(e, &shown);
        if (!str_is(buf_str(&shown), rows[i].shown))
            print_error("row %zu: %s: %s instead of %s\n", i, rows[i].keys, buf_cstr(&shown),
                        rows[i].shown);
        failed += !str_is(buf_str(&shown), rows[i].shown);
        editor_free(e);
    }
    assert_int_equal(failed, 0);
}

/* --- without vim ----------------------------------------------------------------------------- */

static const struct edit_case edit_cases[] = {
    {"'hello'", "hello|"},
    {"'hello' left left", "hel|lo"},
    {"'hello' home 'x' end 'y'", "xhelloy|"},
    {"'hello' ctrl+a 'x' ctrl+e 'y'", "xhelloy|"},
    {"'hello' ctrl+b ctrl+b ctrl+f", "hell|o"},
    {"'hello' backspace backspace", "hel|"},
    {"'hello' ctrl+h", "hell|"},
    {"'hello' home delete ctrl+d", "|llo"},
    {"backspace delete left right up down", "|"},
    /* characters are graphemes */
    {"'e\xcc\x81x' left left", "|e\xcc\x81x"},
    {"'ae\xcc\x81' backspace", "a|"},
    {"'\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb!' left left",
     "|\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb!"},
    {"'\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa' backspace", "|"},
    {"'\xe4\xbd\xa0\xe5\xa5\xbd' left delete", "\xe4\xbd\xa0|"},
    /* words */
    {"'one two-three' alt+b", "one two-|three"},
    {"'one two-three' alt+b alt+b alt+b", "|one two-three"},
    {"'one two' home alt+f", "one| two"},
    {"'one two' home ctrl+right ctrl+right", "one two|"},
    {"'one two' ctrl+left alt+left", "|one two"},
    {"'one two-three' ctrl+w", "one |"},
    {"'one two-three' alt+backspace", "one two-|"},
    {"'one two' home alt+d", "| two"},
    {"'\xc3\xa9t\xc3\xa9 \xe4\xbd\xa0\xe5\xa5\xbd' alt+b",
     "\xc3\xa9t\xc3\xa9 |\xe4\xbd\xa0\xe5\xa5\xbd"},
    {"'one two-three' ctrl+backspace", "one two-|"},
    {"'one two-three' home ctrl+delete ctrl+delete", "|-three"},
    /* the kill ring */
    {"'one two' ctrl+w ctrl+y", "one two|"},
    {"'one two' ctrl+w ctrl+w ctrl+y", "one two|"},
    {"'one two' home alt+d alt+d 'x' ctrl+y", "xone two|"},
    {"'one two' ctrl+a ctrl+k 'x' ctrl+y", "xone two|"},
    {"'one' ctrl+u 'two' ctrl+u ctrl+y alt+y", "one|"},
    {"'one' ctrl+u 'two' ctrl+u 'three' ctrl+u ctrl+y alt+y alt+y alt+y", "three|"},
    {"'a\nb' up ctrl+e ctrl+k", "a|b"},
    {"'a\nb' ctrl+a ctrl+u", "a|b"},
    {"'abc' left ctrl+u", "|c"},
    {"'ab' ctrl+t", "ba|"},
    {"'abc' left ctrl+t", "acb|"},
    {"'abc' home ctrl+t", "|abc"},
    /* undo */
    {"'one two' ctrl+_", "|"},
    {"'one' 'x' backspace ctrl+_", "onex|"},
    {"'one ' 'two' ctrl+_", "one |"},
    {"'one ' 'two' ctrl+_ ctrl+_", "|"},
    {"'one ' 'two' ctrl+_ alt+_", "one two|"},
    {"'one' ctrl+w ctrl+x ctrl+u", "one|"},
    {"'one two' ctrl+/", "|"},
    {"'one ' 'two' ctrl+_ ctrl+_ ctrl+x ctrl+r", "one |"},
    {"'one' ctrl+_ 'x' alt+_", "x|"},
    {"'one' left 'x' ctrl+_", "on|e"},
    {"'one' up ctrl+_", "one|"},
    /* lines */
    {"'one\\' enter 'two'", "one~two|"},
    {"'one' alt+enter 'two' shift+enter 'three' ctrl+j 'four'", "one~two~three~four|"},
    {"'one\nthree' up", "one|~three"},
    {"'one\nthree' up down", "one~three|"},
    {"'three\no\nthree' up up", "three|~o~three"},
    {"'a\nb\nc' ctrl+home 'x' ctrl+end 'y'", "xa~b~cy|"},
    {"'a\nb\nc' alt+< 'x' alt+> 'y'", "xa~b~cy|"},
    {"'one' ctrl+enter 'two'", "one~two|"},
    {"'one\nthree' ctrl+p", "one|~three"},
    {"'one\nthree' ctrl+p ctrl+n", "one~three|"},
    {"'0\n1\n2\n3\n4\n5\n6\n7\n8\n9\na\nb' pageup", "0~1|~2~3~4~5~6~7~8~9~a~b"},
    {"'0\n1\n2\n3\n4\n5\n6\n7\n8\n9\na\nb' ctrl+home pagedown", "0~1~2~3~4~5~6~7~8~9~|a~b"},
    {"'one\ntwo' pageup pageup", "one|~two"},
    {"'a\nb' home backspace", "a|b"},
    /* what comes from outside */
    {"<dos\r\nline>", "dos~line|"},
    {"<a\tb\x01\x1b"
     "c>",
     "a\tbc|"},
    {"'x' <a\nb\nc> 'y'", "xa~b~cy|"},
    {"<\xff>", "\xef\xbf\xbd|"},
    {"'\xf4\x8f\x80\x80'", "\xef\xbf\xbd|"}, /* what stands for pastes inside */
    /* folded pastes */
    {"'see ' <1\n2\n3\n4\n5\n> 'x'", "see [Pasted text #1 +5 lines]x|"},
    {"<1\n2\n3\n4\n5> left 'x' right 'y'", "x[Pasted text #1 +5 lines]y|"},
    {"<1\n2\n3\n4\n5> backspace", "|"},
    {"<1\n2\n3\n4\n5> backspace ctrl+_", "[Pasted text #1 +5 lines]|"},
    {"<1\n2\n3\n4\n5> ' ' <1\n2\n3\n4\n5\n6>",
     "[Pasted text #1 +5 lines] [Pasted text #2 +6 lines]|"},
    {"'a' <1\n2\n3\n4\n5> 'b' alt+b alt+b alt+b", "|a[Pasted text #1 +5 lines]b"},
    {"<1\n2\n3\n4\n5> '\xcc\x81' left left", "|[Pasted text #1 +5 lines]\xcc\x81"},
    {"<1\n2\n3\n4\n5> ctrl+w ctrl+y ctrl+y", "[Pasted text #1 +5 lines][Pasted text #1 +5 lines]|"},
    /* earlier prompts */
    {"'draft' up", "newest prompt|"},
    {"'draft' up up up", "two~lines|"},
    {"'draft' up up up up up up", "Öldest|"},
    {"'draft' up up down down", "draft|"},
    {"'draft' up up up down", "make it build|"},
    {"'draft' up up up left up", "two|~lines"},
    {"'x' alt+p alt+p alt+n", "newest prompt|"},
    {"'draft' ctrl+p ctrl+p ctrl+n", "newest prompt|"},
    {"'a\nb' ctrl+up", "newest prompt|"}, /* from the last row as well */
    {"'a\nb' ctrl+up ctrl+up ctrl+up left ctrl+down", "make it build|"},
    {"'a\nb' ctrl+up ctrl+down", "a~b|"},
    {"<1\n2\n3\n4\n5> up down", "[Pasted text #1 +5 lines]|"},
    {"'draft' up ctrl+_", "draft|"},
    /* search */
    {"ctrl+r 'make' enter", "make it build|"},
    {"ctrl+r 'e' ctrl+r enter", "make it build|"},
    {"ctrl+r 'e' ctrl+r ctrl+r ctrl+r ctrl+s enter", "two~lines|"},
    {"ctrl+r 'e' up enter", "make it build|"},
    {"ctrl+r 'e' up up up down enter", "two~lines|"},
    {"ctrl+r 'make' tab", "make it build|"},
    {"'draft' ctrl+r 'make' esc", "draft|"},
    {"'draft' ctrl+r 'nothing like it' enter", "draft|"},
    {"ctrl+r 'öld' enter", "Öldest|"},
    {"ctrl+r 'Make' enter", "|"},
    {"ctrl+r 'makx' backspace enter", "make it build|"},
    {"ctrl+r 'make' left 'X'", "make it builX|d"},
    {"'draft' ctrl+r 'make' enter ctrl+_", "draft|"},
    /* put aside */
    {"'later' ctrl+s 'now' ctrl+u ctrl+s", "later|"},
};

static void edits(void **state)
{
    (void)state;
    check_cases(edit_cases, ARRAY_LEN(edit_cases), /*vim=*/false);
}

/* --- vim ------------------------------------------------------------------------------------- */

static const struct edit_case vim_cases[] = {
    {"'hello' esc", "hell|o"},
    {"'hello' esc '0'", "|hello"},
    {"'hello' esc '0x'", "|ello"},
    {"'hello' esc '02x'", "|llo"},
    {"'hello' esc 'X'", "hel|o"},
    {"'one two three' esc '0wdw'", "one |three"},
    {"'one two three' esc '0dw'", "|two three"},
    {"'one two three' esc '02dw'", "|three"},
    {"'one two three' esc '0d2w'", "|three"},
    {"'one two' esc 'bdw'", "one| "},
    {"'one two' esc '0wD'", "one| "},
    {"'one two' esc '0cwx' esc", "|x two"},
    {"'one two' esc '0wCx' esc", "one |x"},
    {"'a b c' esc '02cwx' esc", "|x c"},
    {"'one-two three' esc '0dW'", "|three"},
    {"'one-two' esc '0dw'", "|-two"},
    {"'one two' esc '0de'", "| two"},
    {"'one-two three' esc '0Wx'", "one-two |hree"},
    {"'one two-three' esc 'Bx'", "one |wo-three"},
    {"'one-two three' esc '0Ex'", "one-tw| three"},
    {"'one two' esc '0ex'", "on| two"},
    {"'one-two' esc '0ex'", "on|-two"},
    {"'one two' esc 'db'", "one |o"},
    {"'one two' esc '0d$'", "|"},
    {"'one two' esc 'd0'", "|o"},
    {"'  one' esc 'd^'", "  |e"},
    {"'a,b,c' esc '0fb'", "a,|b,c"},
    {"'a,b,c' esc '0df,'", "|b,c"},
    {"'a,b,c' esc '0dt,'", "|,b,c"},
    {"'a,b,c,d' esc '0f,;x'", "a,b|c,d"},
    {"'a,b,c,d' esc '0f,;,x'", "a|b,c,d"},
    {"'a,b,c,d' esc 'T,x'", "a,b,c|,"},
    {"'a,b,c' esc 'F,x'", "a,b|c"},
    {"'a\nb\n\nc\nd' esc '{'", "a~b~|~c~d"},
    {"'a\nb\n\nc\nd' esc 'gg}'", "a~b~|~c~d"},
    {"'one two' esc 'diw'", "one| "},
    {"'one two three' esc '0wdaw'", "one |three"},
    {"'one two three' esc '0wciwx' esc", "one |x three"},
    {"'say \"hello you\" now' esc '0di\"'", "say \"|\" now"},
    {"'say \"hello you\" now' esc '0da\"'", "say |now"},
    {"<say 'hello you' now> esc '0di' '", "say '|' now"},
    {"<say 'hello you' now> esc '0da' '", "say |now"},
    {"'say `hello you` now' esc '0di`'", "say `|` now"},
    {"'say `hello you` now' esc '0da`'", "say |now"},
    {"'one a-b two' esc '0wdiW'", "one | two"},
    {"'one a-b two' esc '0wdaW'", "one |two"},
    {"'a\nb\n\nc' esc 'ggdip'", "|~c"},
    {"'one two three four' esc '0w2daw'", "one |four"},
    {"'one two three four' esc '0wd2aw'", "one |four"},
    {"'one two three' esc '0wd2aw'", "on|e"},           /* no space after: the one before */
    {"'one two three' esc '0wd3aw'", "one |two three"}, /* there are not so many */
    {"'one  two three' esc '03ld2aw'", "on|e"},
    {"'one two three' esc '0c2iwx'", "x|two three"},
    {"'one two three' esc '0d3iw'", "| three"},
    {"'one two three' esc '0wd9iw'", "one |two three"},
    {"'a.b c.d e' esc '02daW'", "|e"},
    {"'a.b c' esc '02daw'", "|b c"},
    {"'one two three four' esc '02daw.'", "|"},
    {"'one two three' esc '0v2awd'", "|three"},
    {"'a\nb\n\nc' esc 'ggdap'", "|c"},
    {"'a\n\nb\n\nc' esc 'ggd2ap'", "|c"},
    {"'a\n\nb\n\nc' esc 'gg3dip'", "|~c"},
    {"'a\n\nb' esc 'ggd2ap'", "|"},
    {"'a\n\nb' esc 'ggd3ap'", "|a~~b"},
    {"'f(a, (b), c)' esc '0fbd2i('", "f(|)"},
    {"'f(a, (b), c)' esc '0fb2da('", "|f"},
    {"'f(a, (b), c)' esc '05ld2i('", "f(|)"},
    {"'f(a, (b), c)' esc '0fbd3i('", "f(a, (|b), c)"},
    {"'f(a, (b), c)' esc '0fbdi('", "f(a, (|), c)"},
    {"'f(a, (b), c)' esc '0fadi('", "f(|)"},
    {"'f(a, (b), c)' esc '0fada('", "|f"},
    {"'{x}' esc 'di{'", "{|}"},
    {"'[x]' esc '0ci[y' esc", "[|y]"},
    {"'a <b c> d' esc '0fbdi<'", "a <|> d"},
    {"'a <b c> d' esc '0fbda<'", "a | d"},
    {"'a [b] {c}' esc '0fbda[fcda{'", "a | "},
    {"'a\nb\nc' esc 'ggdd'", "|b~c"},
    {"'a\nb\nc' esc 'dd'", "a~|b"},
    {"'a\nb\nc' esc 'gg2dd'", "|c"},
    {"'a\nb\nc' esc 'ggdG'", "|"},
    {"'a\nb\nc' esc 'ggdj'", "|c"},
    {"'a\nb\nc' esc 'ggyyjp'", "a~b~|a~c"},
    {"'a\nb\nc' esc 'ggyyGP'", "a~b~|a~c"},
    {"'a\nb\nc' esc 'ggYjp'", "a~b~|a~c"},
    {"'a\nb' esc 'ggddp'", "b~|a"},
    {"'one two' esc '0dwp'", "tone| wo"},
    {"'one two' esc '0dwP'", "one| two"},
    {"'abc' esc '0x$p'", "bc|a"},
    {"'ab' esc 'yl3p'", "abbb|b"},
    {"'abc' esc '0rx'", "|xbc"},
    {"'abc' esc '02rx'", "x|xc"},
    {"'abc' esc '0~~'", "AB|c"},
    {"'a\nb' esc 'ggJ'", "a| b"},
    {"'a\n  b' esc 'ggJ'", "a| b"},
    {"'abc' esc 'u'", "|"},
    {"'abc' esc 'oxyz' esc 'u'", "ab|c"},
    {"'abc' esc 'oxyz' esc 'u' ctrl+r", "abc~xy|z"},
    {"'abc def' esc '0cwxy z' esc 'u'", "|abc def"},
    {"'abc' esc 'Oup' esc", "u|p~abc"},
    {"'abc' esc 'Ix' esc", "|xabc"},
    {"'abc' esc '0ax' esc", "a|xbc"},
    {"'abc' esc '0Ax' esc", "abc|x"},
    {"'abc' esc '0sx' esc", "|xbc"},
    {"'abc' esc 'Sx' esc", "|x"},
    {"'a b c d' esc '0dw.'", "|c d"},
    {"'a b c d' esc '0cwx' esc 'w.'", "x |x c d"},
    {"'a b c d' esc '0x..'", "| c d"},
    {"'a' esc 'Ab' esc '..'", "abb|b"},
    {"'a\nb' esc '>>'", "a~    |b"},
    {"'a\nb' esc 'gg>j'", "    |a~    b"},
    {"'    a' esc '<<'", "|a"},
    {"'hello' esc '0vld'", "|llo"},
    {"'hello' esc '0v$y$p'", "hellohell|o"},
    {"'hello world' esc '0viwd'", "| world"},
    {"'a\nb\nc' esc 'ggVjd'", "|c"},
    {"'a\nb\nc' esc 'ggVy' 'Gp'", "a~b~c~|a"},
    {"'hello' esc '0vlU'", "|HEllo"},
    {"'HELLO' esc '0vlu'", "|heLLO"},
    {"'hELLO' esc '0vl~'", "|HeLLO"},
    {"'a\nb\nc' esc 'ggVjJ'", "a| b~c"},
    {"'one two' esc '0yiwwviwp'", "one on|e"},
    {"'one two x' esc '0yiwwviwp'", "one on|e x"},
    {"'a\nb' esc '\"ayy\"ap'", "a~b~|b"}, /* the name of a register is no command */
    {"'a b c' esc '0v\"+y$\"+p'", "a b c|a"},
    {"'one two' esc '0yiwwviwpp'", "one onetw|o"}, /* what stood there is cut */
    {"'one two' esc '0yiwwviwPp'", "one oneon|e"}, /* but not by P */
    {"'a\nbc' esc 'ggyyj0vp'", "a~~|a~c"},         /* lines among characters */
    {"'a\nb\nc' esc 'ggyyjVp'", "a~|a~c"},         /* lines for lines */
    {"'ab\ncd' esc '0ylkVp'", "|c~cd"},            /* characters for lines */
    {"'a\nb\n\nc' esc 'ggvipyGp'", "a~b~~c~|a~b"}, /* vip is of lines */
    {"'a\nb\n\nc' esc 'ggjyip'", "|a~b~~c"},
    {"'a\nb\n\nc' esc 'ggcipx' esc", "|x~~c"},
    {"'a\nb\n\nc' esc 'ggcapx' esc", "|x~c"},
    {"'a\nb\n\nc' esc 'ggd}'", "|~c"},
    {"'a\nb\n\nc' esc 'ggc}x' esc", "|x~~c"},
    {"'ab\n\nc' esc 'gg0ld}'", "|a~~c"},
    {"'ab\n\nc' esc 'gg0lc}x' esc", "a|x~~c"},
    {"'a\n  b\nc' esc 'G0db'", "a~|c"},
    {"'f {\n  a\n  b\n}' esc 'kdi{'", "f {~|}"},
    {"'f {\n  a\n  b\n}' esc 'kci{x' esc", "f {~|x~}"},
    {"'f {a\n}' esc 'ggfadi{'", "f |{~}"},
    {"'{\n}' esc 'di{'", "{~|}"},
    {"'a\n  b\nc' esc '2Gd2w'", "|a"},
    {"'hello' esc '0vlrx'", "|xxllo"},
    {"'a\nb\nc' esc 'ggvJ'", "a| b~c"},
    {"'hello' esc '0vlcx' esc", "|xllo"},
    {"'hello' esc '0vlod'", "|llo"},
    {"'hello' esc 'v' esc", "hell|o"},
    {"'a\nb\nc' esc 'k'", "a~|b~c"},
    {"'abc\nd\nefg' esc 'kk'", "ab|c~d~efg"},
    {"'abc\nd' esc 'G0'", "abc~|d"},
    {"'a\nb\nc' esc '2G'", "a~|b~c"},
    {"'draft' esc 'k'", "newest promp|t"},
    {"'draft' esc 'kj'", "draf|t"},
    {"'a (b c) d' esc '0f(%'", "a (b c|) d"},
    {"'a (b c) d' esc '0f(d%'", "a | d"},
    {"'abc' esc '0' right right", "ab|c"},
    {"'abc' esc '0' delete", "|bc"},
    {"'abc' esc 'd' esc 'x'", "a|b"},
    {"'abc' esc '0yyp'", "abc~|abc"},
    {"<1\n2\n3\n4\n5> esc 'x'", "|"},
    {"'one' esc '/make' enter", "make it buil|d"},
};

static void vim(void **state)
{
    (void)state;
    check_cases(vim_cases, ARRAY_LEN(vim_cases), /*vim=*/true);
}

/* --- acts ------------------------------------------------------------------------------------ */

static void acts(void **state)
{
    static const struct {
        const char *keys;
        bool vim;
        enum editor_act act;
    } rows[] = {
        {"'x' enter", false, EDITOR_SEND},      {"enter", false, EDITOR_UNUSED},
        {"'x\\' enter", false, EDITOR_NOTHING}, {"up", false, EDITOR_QUEUE},
        {"'x' up", false, EDITOR_NOTHING},      {"esc", false, EDITOR_UNUSED},
        {"ctrl+c", false, EDITOR_UNUSED},       {"ctrl+l", false, EDITOR_UNUSED},
        {"ctrl+o", false, EDITOR_UNUSED},       {"shift+tab", false, EDITOR_UNUSED},
        {"tab", false, EDITOR_UNUSED},          {"ctrl+d", false, EDITOR_UNUSED},
        {"'x' ctrl+d", false, EDITOR_NOTHING},  {"ctrl+g", false, EDITOR_OPEN},
        {"ctrl+x ctrl+e", false, EDITOR_OPEN},  {"focus-in", false, EDITOR_UNUSED},
        {"ctrl+z", false, EDITOR_UNUSED},       {"esc esc", false, EDITOR_UNUSED},
        {"ctrl+r esc", false, EDITOR_NOTHING},  {"ctrl+r ctrl+c", false, EDITOR_NOTHING},
        {"esc", true, EDITOR_NOTHING},          {"esc esc", true, EDITOR_UNUSED},
        {"'x' esc enter", true, EDITOR_SEND},   {"'x' esc ctrl+g", true, EDITOR_OPEN},
        {"esc 'k'", true, EDITOR_QUEUE},        {"'x' esc 'd' esc", true, EDITOR_NOTHING},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct editor *e = editor_new(&(struct editor_spec){.vim = rows[i].vim, .past = past});
        enum editor_act act = type(e, rows[i].keys);

        if (act != rows[i].act)
            fail_msg("row %zu: %s: %d instead of %d", i, rows[i].keys, (int)act, (int)rows[i].act);
        editor_free(e);
    }
}

static void modes(void **state)
{
    struct editor *e = editor_new(&(struct editor_spec){.past = past});
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    assert_int_equal(editor_mode(e), EDITOR_PROMPT);
    type(e, "'!ls'");
    assert_int_equal(editor_mode(e), EDITOR_SHELL);
    editor_set(e, STR("# note"));
    assert_int_equal(editor_mode(e), EDITOR_MEMORY);
    editor_set(e, STR("/help"));
    assert_int_equal(editor_mode(e), EDITOR_COMMAND);
    assert_null(editor_vim_mode(e));
    editor_set_vim(e, true);
    assert_string_equal(editor_vim_mode(e), "INSERT");
    assert_true(editor_wants_escape(e));
    type(e, "esc");
    assert_string_equal(editor_vim_mode(e), "NORMAL");
    assert_false(editor_wants_escape(e));
    type(e, "'V'");
    assert_string_equal(editor_vim_mode(e), "VISUAL LINE");
    editor_take(e, &text);
    assert_string_equal(buf_cstr(&text), "/help");
    assert_true(editor_is_empty(e));
    assert_string_equal(editor_vim_mode(e), "INSERT");
    editor_free(e);
}

/* Taken: whole, pastes unfolded; then it is the newest prompt. */
static void taken(void **state)
{
    struct editor *e = editor_new(&(struct editor_spec){.past = past});
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    type(e, "'see ' <1\n2\n3\n4\n5> '!'");
    editor_text(e, &text);
    assert_string_equal(buf_cstr(&text), "see 1\n2\n3\n4\n5!");
    buf_clear(&text);
    editor_take(e, &text);
    assert_string_equal(buf_cstr(&text), "see 1\n2\n3\n4\n5!");
    assert_true(editor_is_empty(e));
    assert_int_equal(type(e, "up"), EDITOR_QUEUE);
    editor_older(e);
    type(e, "up");
    show(e, &shown);
    assert_string_equal(buf_cstr(&shown), "newest prompt|");
    type(e, "down");
    buf_clear(&text);
    editor_text(e, &text);
    assert_string_equal(buf_cstr(&text), "see 1\n2\n3\n4\n5!");
    buf_clear(&shown);
    show(e, &shown); /* the paste is folded again, whichever way one came there */
    assert_string_equal(buf_cstr(&shown), "see [Pasted text #1 +5 lines]!|");
    type(e, "up down ctrl+c ctrl+u ctrl+r '5!' enter");
    buf_clear(&shown);
    show(e, &shown);
    assert_string_equal(buf_cstr(&shown), "see [Pasted text #1 +5 lines]!|");
    editor_free(e);
}

/* Text cut out of one text is put into the next one unchanged: a paste is not taken for another one
 * that has its number now. */
static void cut_and_taken(void **state)
{
    struct editor *e = editor_new(&(struct editor_spec){.past = past});
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    type(e, "<a\na\na\na\na> ctrl+u 'x'");
    editor_take(e, &text);
    buf_clear(&text);
    type(e, "<b\nb\nb\nb\nb> ctrl+y");
    editor_text(e, &text);
    assert_string_equal(buf_cstr(&text), "b\nb\nb\nb\nba\na\na\na\na");
    editor_free(e);
}

/* More than is remembered of one step: all of it is forgotten, and the text is as it was typed. */
static void too_much_to_undo(void **state)
{
    struct editor *e = editor_new(&(struct editor_spec){.vim = true, .past = past});
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    while (text.len < ((size_t)8 << 20))
        buf_adds(&text, "0123456789");
    editor_set(e, buf_str(&text));
    for (int i = 0; i < 4; i++)
        type(e, "ctrl+u ctrl+y");
    editor_text(e, &got);
    assert_true(str_eq(buf_str(&got), buf_str(&text)));
    editor_free(e);
}

/* No prompt comes twice, whatever its source. */
static void no_repetitions(void **state)
{
    struct editor *e = editor_new(&(struct editor_spec){.past = past});
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    static const char *const said[] = {"make it build", "new", "new", "other", "new"};
    static const char *const walked[] = {
        "new|", "other|", "make it build|", "newest prompt|", "two~lines|", "Öldest|", "Öldest|"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        editor_set(e, str_of(said[i]));
        editor_take(e, &text);
        editor_older(e);
        editor_set(e, STR(""));
    }
    for (size_t i = 0; i < ARRAY_LEN(walked); i++) {
        CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);

        editor_older(e);
        show(e, &shown);
        assert_string_equal(buf_cstr(&shown), walked[i]);
    }
    editor_free(e);
}

/* --- back to the beginning ------------------------------------------------------------------- */

static const char *const any_keys[] = {
    "'a'",
    "' '",
    "'word '",
    "'~'",
    "'\xc3\xa9'",
    "'\xcc\x81'",
    "left",
    "right",
    "up",
    "down",
    "home",
    "end",
    "ctrl+k",
    "ctrl+u",
    "ctrl+w",
    "ctrl+y",
    "alt+y",
    "alt+b",
    "alt+f",
    "alt+d",
    "ctrl+t",
    "backspace",
    "delete",
    "alt+enter",
    "ctrl+s",
    "<two\nlines>",
    "ctrl+r",
    "enter",
    "esc",
    "<1\n2\n3\n4\n5\n6>",
    "'\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb'",
    "'dw'",
    "'dd'",
    "'p'",
    "'u'",
    "'.'",
    "'cw'",
    "'o'",
    "'V'",
    "'>>'",
    "'J'",
    "'~'",
    "'ggdG'",
    "'i'",
    "'3x'",
};

static void undo_all(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct editor *e = editor_new(&(struct editor_spec){.vim = round % 2, .past = past});
        CLEANUP(buf_release) struct buf was = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf is = BUF_INIT(BUF_NO_LIMIT);

        editor_set(e, STR("the beginning\nof it"));
        editor_text_clear(&e->text);
        editor_text_insert(&e->text, STR("the beginning\nof it"));
        e->text.log.done = e->text.log.changes.len = e->text.log.text.len = 0;
        for (unsigned i = 0; i < 100; i++) {
            seed = seed * 1103515245u + 12345u;
            type(e, any_keys[(seed >> 16) % ARRAY_LEN(any_keys)]);
            assert_true(e->text.cursor <= e->text.bytes.len);
        }
        editor_text(e, &was);
        while (editor_text_undo(&e->text))
            ;
        editor_text(e, &is);
        assert_string_equal(buf_cstr(&is), "the beginning\nof it");
        while (editor_text_redo(&e->text))
            ;
        buf_clear(&is);
        editor_text(e, &is);
        if (e->text.log.done == e->text.log.changes.len && round % 2 == 0)
            assert_true(is.len > 0 || was.len == 0);
        editor_free(e);
    }
}

/* --- drawn ----------------------------------------------------------------------------------- */

struct draw_case {
    const char *keys;
    int cols, rows;
    const char *drawn; /* a line each; | is the cursor */
};

static const struct draw_case draw_cases[] = {
    {"", 40, 5, "> |ask something\n"},
    {"", 8, 5, "> |ask s\n"},
    {"'hello'", 40, 5, "> hello|\n"},
    {"'one\ntwo' up", 40, 5, "> one|\n  two\n"},
    {"'the quick brown fox'", 13, 5, "> the quick \n  brown fox|\n"},
    {"'abcdefghijklm'", 10, 5, "> abcdefg\n  hijklm|\n"},
    {"'abcdefg'", 10, 5, "> abcdefg|\n"},
    {"'abcdefg '", 10, 5, "> abcdefg\n   |\n"},
    {"'abcdefg h'", 10, 5, "> abcdefg \n  h|\n"},
    {"'1\n2\n3\n4\n5'", 10, 3, "^ 3\n  4\n  5|\n"},
    {"'1\n2\n3\n4\n5' up up up", 10, 3, "> 1\n  2|\nv 3\n"},
    {"'1\n2\n3\n4\n5' up up up up", 10, 3, "> 1|\n  2\nv 3\n"},
    {"'\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\xe5\xa5\xbd'", 10, 3,
     "> \xe4\xbd\xa0\xe5\xa5\xbd\xe4\xbd\xa0\n  \xe5\xa5\xbd|\n"},
    {"'x' <1\n2\n3\n4\n5>", 40, 3, "> x[Pasted text #1 +5 lines]|\n"},
    {"'x' <1\n2\n3\n4\n5>", 20, 3, "> x\n  [Pasted text #1 +|\n"},
    {"<a\tb\tc>", 40, 3, "> a   b   c|\n"},
    {"'x\xe2\x80\xaey'", 40, 3, "> x?y|\n"}, /* turns text around */
    {"'hello'", 4, 3, "hel\nlo|\n"},
    {"'\xe4\xbd\xa0'", 2, 3, "?|\n"},
    {"ctrl+r 'make'", 60, 5,
     "> make it build\nsearch: make|   Ctrl-R older, Enter takes it, Esc back\n"},
    {"ctrl+r 'make'", 60, 1, "search: make|   make it build\n"},
    {"ctrl+r 'make' 'x'", 30, 5, "> make it build\nno match: makex|\n"},
};

static void draw(struct editor *e, int cols, int rows, struct buf *ret)
{
    struct lines lines = LINES_INIT;
    struct screen_cursor cursor = {0};
    struct view v = {.cols = cols, .rows = rows, .ascii = true};

    editor_draw(e, &v, STR("ask something"), &lines, &cursor);
    assert_true(cursor.shown && cursor.row < lines_count(&lines));
    assert_true((int)lines_count(&lines) <= rows);
    for (size_t i = 0; i < lines_count(&lines); i++) {
        struct line l = lines_at(&lines, i);
        int col = 0;

        assert_true(line_width(l) <= cols);
        for (size_t at = 0; i == cursor.row && at < l.text.len && col < cursor.col;) {
            int cells;
            size_t len = width_next(str_from(l.text, at), &cells);

            col += cells;
            buf_add(ret, str_make(l.text.ptr + at, len));
            l.text = str_from(l.text, at + len);
        }
        if (i == cursor.row) {
            assert_int_equal(col, cursor.col);
            buf_addc(ret, '|');
        }
        buf_add(ret, l.text);
        buf_addc(ret, '\n');
    }
    lines_release(&lines);
}

static void drawn(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(draw_cases); i++) {
        const struct draw_case *c = &draw_cases[i];
        struct editor *e = editor_new(&(struct editor_spec){.past = past});
        CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

        draw(e, c->cols, c->rows, &out);
        type(e, c->keys);
        buf_clear(&out);
        draw(e, c->cols, c->rows, &out);
        if (!str_is(buf_str(&out), c->drawn))
            fail_msg("row %zu: %s:\n%sinstead of\n%s", i, c->keys, buf_cstr(&out), c->drawn);
        editor_free(e);
    }
}

/* A text of a megabyte: the cost of a key and a frame depends on the visible part only. */
static void long_text(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct editor *e = editor_new(&(struct editor_spec){.past = past});

    (void)state;
    for (int lines = 0; lines < 2; lines++) {
        buf_clear(&text);
        while (text.len < (1 << 20))
            buf_adds(&text, lines ? "a line of some words\n" : "some words and \xc3\xa9 ");
        editor_set(e, buf_str(&text));
        for (int i = 0; i < 200; i++) {
            type(e, "'x' left up");
            buf_clear(&out);
            draw(e, 80, 20, &out);
            assert_true(out.len < 4000);
        }
        type(e, "ctrl+home");
        buf_clear(&out);
        draw(e, 80, 20, &out);
        assert_true(str_starts(buf_str(&out), STR("> |")));
    }
    editor_free(e);
}

/* Text that does not fit is not inserted, which is shown until the next key. */
static void too_long(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct editor *e = editor_new(&(struct editor_spec){.past = past});
    struct keypress k = {.code = KEY_PASTE};

    (void)state;
    while (text.len < KEY_MAX_PASTE + 100)
        buf_adds(&text, "a line of a very long paste\n");
    for (size_t i = 0; i < EDITOR_MAX_FOLDED / KEY_MAX_PASTE + 1; i++) { /* each another one */
        k.text = str_first(str_from(buf_str(&text), i), KEY_MAX_PASTE);
        press(e, &k);
    }
    draw(e, 60, 5, &out);
    assert_true(str_ends(buf_str(&out), STR("\ntoo long: not put in\n")));
    assert_true(str_has(buf_str(&out), STR("#3 ")) && !str_has(buf_str(&out), STR("#4 ")));
    type(e, "ctrl+w ctrl+w ctrl+w ctrl+w ctrl+w ctrl+w");
    k.text = STR("the beginning of it");
    k.was_cut = true;
    press(e, &k);
    buf_clear(&out);
    draw(e, 60, 5, &out);
    assert_true(str_has(buf_str(&out), STR("the rest is missing")));
    type(e, "left");
    buf_clear(&out);
    draw(e, 60, 5, &out);
    assert_false(str_has(buf_str(&out), STR("missing")));
    editor_free(e);
}

/* --- completion ------------------------------------------------------------------------------ */

static const struct completer_command commands[] = {
    {STR_INIT("help"), STR_INIT("commands"), STR_INIT(""), STR_INIT("what there is")},
    {STR_INIT("/goal"), STR_INIT(""), STR_INIT("[condition]"), STR_INIT("work until it holds")},
    {STR_INIT("model"), STR_INIT(""), STR_INIT("[name]"), STR_INIT("another model")},
    {STR_INIT("memory"), STR_INIT("notes keeps"), STR_INIT(""), STR_INIT("what is remembered")},
};

static void completed(void **state)
{
    static const struct {
        const char *keys;
        enum editor_act act;
        const char *shown;
    } rows[] = {
        {"'/he' enter", EDITOR_SEND, "/help |"},
        {"'/go' enter", EDITOR_NOTHING, "/goal |"},
        {"'/go' tab", EDITOR_NOTHING, "/goal |"},
        {"'/he' tab", EDITOR_NOTHING, "/help |"},
        {"'/goal' enter", EDITOR_SEND, "/goal|"},
        {"'/' down tab", EDITOR_NOTHING, "/goal |"},
        {"'/' up tab", EDITOR_NOTHING, "/memory |"},
        {"'/m' down tab", EDITOR_NOTHING, "/memory |"},
        {"'/zz' enter", EDITOR_SEND, "/zz|"},
        {"'/he' esc enter", EDITOR_SEND, "/he|"},
        {"'/he' esc 'l' enter", EDITOR_SEND, "/hel|"},
        {"'/he' esc tab tab", EDITOR_NOTHING, "/help |"},
        {"'/goal x' enter", EDITOR_SEND, "/goal x|"},
        {"'x /he' enter", EDITOR_SEND, "x /he|"},
        {"'/hx' left tab", EDITOR_NOTHING, "/help |"},
        {"'/he' tab ctrl+_", EDITOR_NOTHING, "/he|"},
        /* letters in the middle of a name are perhaps a slip: completed, to be looked at */
        {"'/elp' enter", EDITOR_NOTHING, "/help |"},
        {"'/elp' enter enter", EDITOR_SEND, "/help |"},
        {"'/elp' up enter", EDITOR_SEND, "/help |"},
        {"'/hx' left enter", EDITOR_NOTHING, "/help |"},
        {"'/notes' enter", EDITOR_SEND, "/notes|"},
        {"'/note' enter", EDITOR_SEND, "/memory |"},
        {"'/keeps' tab", EDITOR_NOTHING, "/memory |"},
    };
    struct mailbox *mb = mailbox_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct completer *c = completer_new(&(struct completer_spec){
            .dir = "/nonexistent", .to = mb, .commands = commands, .command_count = 4});
        struct editor *e = editor_new(&(struct editor_spec){.past = past, .completer = c});
        CLEANUP(buf_release) struct buf shown = BUF_INIT(BUF_NO_LIMIT);
        enum editor_act act = type(e, rows[i].keys);

        show(e, &shown);
        if (act != rows[i].act || !str_is(buf_str(&shown), rows[i].shown))
            fail_msg("row %zu: %s: %s (%d)", i, rows[i].keys, buf_cstr(&shown), (int)act);
        editor_free(e);
        completer_free(c);
    }
    mailbox_close(mb);
    mailbox_unref(mb);
}

/* A command that was typed whole and sent closes its list, but not that of the next one. */
static void completed_again(void **state)
{
    struct mailbox *mb = mailbox_new();
    struct completer *c = completer_new(&(struct completer_spec){
        .dir = "/nonexistent", .to = mb, .commands = commands, .command_count = 4});
    struct editor *e = editor_new(&(struct editor_spec){.past = past, .completer = c});
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    assert_int_equal(type(e, "'/goal' enter"), EDITOR_SEND);
    editor_take(e, &text);
    buf_clear(&text);
    type(e, "'/he' tab");
    editor_text(e, &text);
    assert_string_equal(buf_cstr(&text), "/help ");
    editor_free(e);
    completer_free(c);
    mailbox_unref(mb);
}

static void list_drawn(void **state)
{
    struct mailbox *mb = mailbox_new();
    struct completer *c = completer_new(&(struct completer_spec){
        .dir = "/nonexistent", .to = mb, .commands = commands, .command_count = 4});
    struct editor *e = editor_new(&(struct editor_spec){.completer = c});
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    type(e, "'/m' down");
    draw(e, 60, 10, &out);
    assert_string_equal(buf_cstr(&out), "> /m|\n"
                                        "  /model   [name]  another model\n"
                                        "> /memory  what is remembered\n");
    assert_true(editor_wants_escape(e));
    buf_clear(&out);
    draw(e, 12, 2, &out);
    assert_string_equal(buf_cstr(&out), "> /m|\n"
                                        "> /memory\n");
    editor_free(e);
    completer_free(c);
    mailbox_close(mb);
    mailbox_unref(mb);
}

UNIT_TEST(editor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits),
        cmocka_unit_test(vim),
        cmocka_unit_test(acts),
        cmocka_unit_test(modes),
        cmocka_unit_test(taken),
        cmocka_unit_test(no_repetitions),
        cmocka_unit_test(undo_all),
        cmocka_unit_test(drawn),
        cmocka_unit_test(long_text),
        cmocka_unit_test(too_long),
        cmocka_unit_test(completed),
        cmocka_unit_test(completed_again),
        cmocka_unit_test(list_drawn),
        cmocka_unit_test(cut_and_taken),
        cmocka_unit_test(too_much_to_undo),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
