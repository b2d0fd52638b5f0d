/* code: keywords, strings, numbers, comments and names, language by language; from line to line;
 * the table is well formed; files find their language. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tui/markdown/code.h"
#include "tui/markdown/code_language.h"
#include "tui/screen/line.h"
#include "unit.h"

struct code_case {
    const char *language;
    const char *text;
    /* One letter for each byte: k(eyword) s(tring) n(umber) c(omment) N(ame), + - of changes, blank
     * for plain. */
    const char *look;
};

static const struct code_case code_cases[] = {
    {"c", "int x = 0x1f; // a", "kkk     nnnn  cccc"},
    {"c", "  #include <a.h>", "  kkkkkkkk      "},
    {"c", "f(\"a\\\"b\", 'c');", "N ssssss  sss  "},
    {"c", "/* a */ if", "ccccccc kk"},
    {"c", "/* a\nb */ if\n\"", "cccc|cccc kk|s"},
    {"c", "a /* b\n\nif */", "  cccc||ccccc"},
    {"C++", "auto p = nullptr;", "kkkk     nnnnnnn "},
    {"rust", "fn f<'a>(x: &'a str) { 'b' }", "kk   NN      NN kkk    sss  "},
    {"go", "x := `a\nif` + 1.5", "     ss|sss   nnn"},
    {"python", "@d\ndef f(x): # c", "NN|kkk N     ccc"},
    {"py", "x = \"\"\"a\ndef\n\"\"\" if", "    ssss|sss|sss kk"},
    {"js", "const s = `a${1}\nb` // c", "kkkkk     ssssss|ss cccc"},
    {"ts", "interface A { b: string }", "kkkkkkkkk        kkkkkk  "},
    {"java", "@Override public", "NNNNNNNNN kkkkkk"},
    {"bash", "if [ $x = \"a b\" ]; then # c", "kk   NN   sssss    kkkk ccc"},
    {"sh", "echo a#b ${x:-1} it's", "         NNNNNNN     "},
    {"json", "{\"a\": \"b\", \"c\": [1, true]}", " NNN  sss  NNN   n  nnnn  "},
    {"yaml", "key-a: true # c", "NNNNN  nnnn ccc"},
    {"yaml", "url: http://x#y", "NNN            "},
    {"toml", "name = \"x\" # c", "NNNN   sss ccc"},
    {"sql", "SELECT * FROM t WHERE a = 'x' -- c", "kkkkkk   kkkk   kkkkk     sss cccc"},
    {"html", "<a href=\"x\">if</a><!-- c\nd -->", "kk NNNN sss   kkk cccccc|ccccc"},
    {"html", "<a\nhref='x'>", "kk|NNNN sss "},
    {"css", "a { color: \"x\"; } /* c */", "    NNNNN  sss    ccccccc"},
    {"make", "all: $(X) # c", "NNN  NNNN ccc"},
    {"dockerfile", "FROM x AS y", "kkkk   kk  "},
    {"diff", "+a", "++"},
    {"diff", "-a", "--"},
    {"diff", "@@ -1 +1 @@", "NNNNNNNNNNN"},
    {"nothing", "int x; // \"a\"", "             "},
    {"", "int", "   "},
    {"c", "\"open", "sssss"},
    {"c", "'", "s"},
    {"c", "\\", " "},
};

static char letter(unsigned role)
{
    switch (role) {
    case ROLE_KEYWORD:
        return 'k';
    case ROLE_STRING:
        return 's';
    case ROLE_NUMBER:
        return 'n';
    case ROLE_COMMENT:
        return 'c';
    case ROLE_NAME:
        return 'N';
    case ROLE_ADDED:
        return '+';
    case ROLE_REMOVED:
        return '-';
    default:
        return ' ';
    }
}

static void add_look(struct line l, struct buf *ret)
{
    size_t n = 0;
    char c = ' ';

    for (size_t i = 0; i < l.text.len; i++) {
        while (n < l.span_count && l.spans[n].from <= i)
            c = letter(l.spans[n++].style.role);
        buf_addc(ret, c);
    }
}

static void looks(void **state)
{
    bool failed = false;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(code_cases); i++) {
        const struct code_case *c = &code_cases[i];
        CLEANUP(buf_release) struct buf look = BUF_INIT(BUF_NO_LIMIT);
        struct str rest = str_of(c->text);
        struct str line;
        int from = 0;

        while (str_cut(&rest, '\n', &line)) {
            CLEANUP(lines_release) struct lines out = LINES_INIT;

            code_draw(str_of(c->language), line, &from, &out);
            lines_end(&out);
            assert_true(str_eq(lines_at(&out, 0).text, line));
            if (line.ptr != c->text)
                buf_addc(&look, '|');
            add_look(lines_at(&out, 0), &look);
        }
        if (strcmp(buf_cstr(&look), c->look) != 0) {
            print_error("row %zu, %s:\n  %s\n  '%s', not\n  '%s'\n", i, c->language, c->text,
                        c->look, buf_cstr(&look));
            failed = true;
        }
    }
    assert_false(failed);
}

static void table_is_well_formed(void **state)
{
    (void)state;
    for (size_t i = 0; code_language_at(i); i++) {
        const struct code_language *l = code_language_at(i);
        struct str rest = str_of(l->names);
        struct str name;

        assert_non_null(l->files);
        assert_non_null(l->keywords);
        assert_non_null(l->constants);
        assert_non_null(l->quotes);
        assert_int_equal(!l->block_comment[0], !l->block_comment[1]);
        while (str_cut(&rest, ' ', &name)) {
            if (code_language_find(name) != l)
                fail_msg("'%.*s' belongs to two languages, or is too long", STR_ARG(name));
        }
        for (const char *c = l->keywords; (l->flags & CODE_NO_CASE) && *c; c++)
            assert_false(*c >= 'A' && *c <= 'Z');
    }
}

static void files(void **state)
{
    static const struct {
        const char *path, *language;
    } rows[] = {
        {"src/a.c", "c"},
        {"/x/y.test.tsx", "typescript"},
        {"Makefile", "make"},
        {"a/Dockerfile", "dockerfile"},
        {"x.unknown", ""},
        {"noext", ""},
        {"", ""},
        {"a.b/c", ""},
        {".bashrc", "sh"},
        {"meson.build", "meson"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str language = code_language(str_of(rows[i].path));

        if (!str_is(language, rows[i].language))
            fail_msg("'%s' is '%.*s'", rows[i].path, STR_ARG(language));
    }
}

UNIT_TEST(code)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks),
        cmocka_unit_test(table_is_well_formed),
        cmocka_unit_test(files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
