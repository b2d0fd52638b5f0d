/* schema: each keyword, the words of each problem, and schemas that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/json.h"
#include "json/schema.h"
#include "unit.h"

static struct arena arena;

static int reset(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static const struct json *parsed(const char *text)
{
    const struct json *v = NULL;
    struct err err = {0};

    if (json_parse(&arena, str_of(text), &v, NULL, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return v;
}

struct check_case {
    const char *schema;
    const char *value;
    const char *problem; /* NULL when it fits */
};

static const struct check_case check_cases[] = {
    {"{}", "1", NULL},
    {"true", "1", NULL},
    {"false", "1", "the input is not allowed"},

    {"{'type':'string'}", "'x'", NULL},
    {"{'type':'string'}", "1", "the input must be a string, not the number 1"},
    {"{'type':'integer'}", "1", NULL},
    {"{'type':'integer'}", "1.0", NULL},
    {"{'type':'integer'}", "123456789012345678901234567890", NULL},
    {"{'type':'integer'}", "1.5", "the input must be an integer, not the number 1.5"},
    {"{'type':'integer'}", "'10'", "the input must be an integer, not the string \"10\""},
    {"{'type':'number'}", "1.5", NULL},
    {"{'type':'number'}", "null", "the input must be a number, not null"},
    {"{'type':'boolean'}", "true", NULL},
    {"{'type':'boolean'}", "'true'", "the input must be true or false, not the string \"true\""},
    {"{'type':'array'}", "{}", "the input must be an array, not an object"},
    {"{'type':'object'}", "[]", "the input must be an object, not an array"},
    {"{'type':'null'}", "false", "the input must be null, not false"},
    {"{'type':['string','null']}", "null", NULL},
    {"{'type':['string','null']}", "1", "the input must be a string or null, not the number 1"},
    {"{'type':['string','integer','null']}", "[]",
     "the input must be a string, an integer or null, not an array"},
    {"{'type':'thing'}", "1", NULL},
    {"{'type':[]}", "1", NULL},
    {"{'type':5}", "1", NULL},

    {"{'enum':['a','b',3]}", "'b'", NULL},
    {"{'enum':['a','b',3]}", "3.0", NULL},
    {"{'enum':['a','b',3]}", "'c'",
     "the input must be one of \"a\", \"b\", 3, not the string \"c\""},
    {"{'enum':[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]}", "99",
     "the input must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, "
     "19, \xe2\x80\xa6, not the number 99"},
    {"{'const':{'a':1}}", "{'a':1.0}", NULL},
    {"{'const':'x'}", "'y'", "the input must be \"x\", not the string \"y\""},

    {"{'required':['a','b']}", "{'a':null,'b':1}", NULL},
    {"{'required':['a','b']}", "{'b':1}", "'a' is required"},
    {"{'required':['a','b']}", "{}", "'a' is required; 'b' is required"},
    {"{'required':['a']}", "[]", NULL}, /* only objects have members */
    {"{'required':[1]}", "{}", NULL},

    {"{'properties':{'a':{'type':'string'}}}", "{'a':'x','b':1}", NULL},
    {"{'properties':{'a':{'type':'string'}}}", "{'a':1}", "'a' must be a string, not the number 1"},
    {"{'properties':{'a':{'properties':{'b':{'type':'null'}}}}}", "{'a':{'b':0}}",
     "'a.b' must be null, not the number 0"},
    {"{'properties':{'a':false}}", "{'a':1}", "'a' is not allowed"},
    {"{'properties':{'a':5}}", "{'a':1}", NULL},

    {"{'additionalProperties':true}", "{'a':1}", NULL},
    {"{'additionalProperties':false}", "{}", NULL},
    {"{'additionalProperties':false}", "{'a':1}", "'a' is not a known property"},
    {"{'properties':{'file_path':{},'limit':{}},'additionalProperties':false}", "{'filepath':1}",
     "'filepath' is not a known property (did you mean 'file_path'?)"},
    {"{'properties':{'file_path':{},'limit':{}},'additionalProperties':false}", "{'mode':1}",
     "'mode' is not a known property (known: 'file_path', 'limit')"},
    {"{'properties':{'a':{}},'additionalProperties':{'type':'integer'}}", "{'a':'','b':2}", NULL},
    {"{'properties':{'a':{}},'additionalProperties':{'type':'integer'}}", "{'a':'','b':''}",
     "'b' must be an integer, not the string \"\""},

    {"{'items':{'type':'string'}}", "['a','b']", NULL},
    {"{'items':{'type':'string'}}", "['a',1,'b',2]",
     "'[1]' must be a string, not the number 1; '[3]' must be a string, not the number 2"},
    {"{'properties':{'edits':{'items':{'required':['old']}}}}", "{'edits':[{'old':1},{}]}",
     "'edits[1].old' is required"},
    {"{'items':{}}", "{'a':1}", NULL},
    {"{'minItems':1}", "[]", "the input must have at least 1 item, not 0"},
    {"{'minItems':1,'maxItems':2}", "[1]", NULL},
    {"{'maxItems':2}", "[1,2,3]", "the input must have at most 2 items, not 3"},

    {"{'minLength':2}", "'\xc3\xa9\xc3\xa9'", NULL},
    {"{'minLength':3}", "'\xc3\xa9\xc3\xa9'", "the input must have at least 3 characters, not 2"},
    {"{'maxLength':1}", "'\xf0\x9f\x98\x80'", NULL},
    {"{'maxLength':1}", "'\\\\ud83d'", NULL},
    {"{'maxLength':0}", "'x'", "the input must have at most 0 characters, not 1"},
    {"{'minLength':'x'}", "''", NULL},

    {"{'minimum':1,'maximum':3}", "1", NULL},
    {"{'minimum':1,'maximum':3}", "3", NULL},
    {"{'minimum':1,'maximum':3}", "0", "the input must be at least 1, not 0"},
    {"{'minimum':1,'maximum':3}", "3.5", "the input must be at most 3, not 3.5"},
    {"{'exclusiveMinimum':0}", "0", "the input must be more than 0, not 0"},
    {"{'exclusiveMinimum':0}", "1e-300", NULL},
    {"{'exclusiveMaximum':1}", "1", "the input must be less than 1, not 1"},
    {"{'exclusiveMaximum':1}", "0.99", NULL},
    {"{'minimum':9007199254740993}", "9007199254740992",
     "the input must be at least 9007199254740993, not 9007199254740992"},
    {"{'maximum':5}", "1e999", "the input must be at most 5, not 1e999"},
    {"{'minimum':5}", "-1e999", "the input must be at least 5, not -1e999"},
    {"{'minimum':5}", "'x'", NULL},

    {"{'pattern':'^[a-z]+$'}", "'abc'", NULL},
    {"{'pattern':'^[a-z]+$'}", "'ab1'",
     "the input must match the pattern ^[a-z]+$, not the string \"ab1\""},
    {"{'pattern':'^[a-z]+$'}", "'ab\\\\n'", /* $ is the very end, as in JavaScript */
     "the input must match the pattern ^[a-z]+$, not the string \"ab\\n\""},
    {"{'pattern':'b'}", "'abc'", NULL}, /* not anchored */
    {"{'pattern':'^\\\\\\\\u00e9.$'}", "'\xc3\xa9\xf0\x9f\x98\x80'", NULL},
    {"{'pattern':'^a.c$'}", "'a\\\\ud83dc'",
     "the input must match the pattern ^a.c$, not the string \"a\xef\xbf\xbd"
     "c\""},
    {"{'pattern':'^(a'}", "'x'", NULL},
    {"{'pattern':'(a+)+$'}",
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'", NULL},
    {"{'pattern':'x'}", "5", NULL},

    {"{'$ref':'#/$defs/n','$defs':{'n':{'type':'integer'}}}", "'x'",
     "the input must be an integer, not the string \"x\""},
    {"{'$defs':{'a/b~':{'type':'null'}},'items':{'$ref':'#/$defs/a~1b~0'}}", "[null]", NULL},
    {"{'properties':{'a':{'anyOf':[{'type':'null'},{'type':'integer'}]},"
     "'b':{'$ref':'#/properties/a/anyOf/1'}}}",
     "{'b':'x'}", "'b' must be an integer, not the string \"x\""},
    {"{'$defs':{'a^%':{'type':'null'}},'items':{'$ref':'#/$defs/a%5e%25'}}", "[1]",
     "'[0]' must be null, not the number 1"},
    {"{'properties':{'next':{'$ref':'#'},'n':{'type':'integer'}},'required':['n']}",
     "{'n':1,'next':{'n':2,'next':{}}}", "'next.next.n' is required"},
    {"{'$ref':'#'}", "1", NULL}, /* says nothing, and ends */
    {"{'allOf':[{'required':['a']},{'required':['b']}]}", "{'a':1}", "'b' is required"},
    {"{'oneOf':[{'type':'string'},{'type':'null'}]}", "null", NULL},
    {"{'oneOf':[{'type':'string'},{'type':'null'}]}", "1",
     "the input must be a string or null, not the number 1"},
    {"{'oneOf':[{'minimum':1},{'minimum':2}]}", "3",
     "the input fits 2 of its forms, where it must fit one"},
    {"{'not':{'type':'string'}}", "1", NULL},
    {"{'not':{'type':'string'}}", "'x'", "the input must not fit {\"type\":\"string\"}"},
    {"{'minProperties':1}", "{}", "the input must have at least 1 item, not 0"},
    {"{'uniqueItems':true}", "[1,2,1]", "the input must not have 1 twice"},
    {"{'uniqueItems':true}", "[1,2]", NULL},
    {"{'anyOf':[{'type':'string'},{'type':'null'}]}", "null", NULL},
    {"{'anyOf':[{'type':'integer'},{'type':'null'}]}", "'10'",
     "the input must be an integer or null, not the string \"10\""},
    {"{'anyOf':[{'type':'string','minLength':3},{'type':'null'}]}", "'x'",
     "the input must have at least 3 characters, not 1"},
    {"{'anyOf':[{'type':['string','array']},{'type':'null'}]}", "1",
     "the input must be [\"string\",\"array\"] or null, not the number 1"},
    {"{'properties':{'x':{'anyOf':[{'properties':{'k':{'const':'a'}},'required':['p','q','r']},"
     "{'properties':{'k':{'const':'b'}},'required':['s']}]}}}",
     "{'x':{'k':'b'}}", "'x' fits none of its 2 forms, here is the nearest; 'x.s' is required"},
    {"{'anyOf':[]}", "1", NULL},
    {"{'anyOf':[true]}", "1", NULL},
    {"{'anyOf':[{'anyOf':[{'type':'string','pattern':'^x'}]}]}", "'y'",
     "the input must match the pattern ^x, not the string \"y\""},

    {"{'multipleOf':3}", "9", NULL},
    {"{'multipleOf':3}", "10", "the input must be a multiple of 3, not 10"},
    {"{'multipleOf':0.01}", "19.99", NULL},
    {"{'multipleOf':0.5}", "0.7", "the input must be a multiple of 0.5, not 0.7"},
    {"{'multipleOf':0}", "7", NULL}, /* makes no sense */
    {"{'multipleOf':-1}", "-9223372036854775808", NULL},

    {"{'patternProperties':{'^n_':{'type':'integer'}}}", "{'n_a':1,'x':'y'}", NULL},
    {"{'patternProperties':{'^n_':{'type':'integer'}}}", "{'n_a':'1'}",
     "'n_a' must be an integer, not the string \"1\""},
    {"{'patternProperties':{'^n_':{}},'additionalProperties':false}", "{'n_a':1}", NULL},
    {"{'patternProperties':{'^n_':{}},'additionalProperties':false}", "{'m':1}",
     "'m' is not a known property"},
    {"{'patternProperties':{'(':false}}", "{'m':1}", NULL},
    {"{'patternProperties':[false],'additionalProperties':false}", "{'m':1}",
     "'m' is not a known property"},
    {"{'propertyNames':{'maxLength':2}}", "{'ab':1}", NULL},
    {"{'propertyNames':{'maxLength':2}}", "{'abc':1}",
     "the input has the name \"abc\", which does not fit {\"maxLength\":2}"},
    {"{'propertyNames':{'enum':['a']}}", "{'a':1}", NULL},
    {"{'dependentRequired':{'a':['b']}}", "{'c':1}", NULL},
    {"{'dependentRequired':{'a':['b']}}", "{'a':1}", "'b' is required"},
    {"{'dependentSchemas':{'a':{'required':['b']}}}", "{'a':1}", "'b' is required"},
    {"{'dependentSchemas':{'a':{'required':['b']}}}", "{}", NULL},

    {"{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a',1,null]", NULL},
    {"{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a']", NULL},
    {"{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a','b']",
     "'[1]' must be an integer, not the string \"b\""},
    {"{'prefixItems':[{}],'items':{'type':'null'}}", "[1,null,2]",
     "'[2]' must be null, not the number 2"},
    {"{'prefixItems':[{}],'items':false}", "[1,2]", "'[1]' is not allowed"},
    {"{'contains':{'type':'null'}}", "[1,null]", NULL},
    {"{'contains':{'type':'null'}}", "[1]",
     "the input must have at least 1 that fit {\"type\":\"null\"}, not 0"},
    {"{'contains':{'type':'null'},'minContains':0}", "[1]", NULL},
    {"{'contains':{'type':'null'},'minContains':2}", "[null]",
     "the input must have at least 2 that fit {\"type\":\"null\"}, not 1"},
    {"{'contains':{'type':'null'},'maxContains':1}", "[null,null]",
     "the input must have at most 1 that fit {\"type\":\"null\"}, not 2"},
    {"{'minContains':2}", "[]", NULL}, /* says nothing alone */

    {"{'if':{'type':'string'}}", "1", NULL},
    {"{'if':{'required':['a']},'then':{'required':['b']},'else':{'required':['c']}}",
     "{'a':1,'b':2}", NULL},
    {"{'if':{'required':['a']},'then':{'required':['b']},'else':{'required':['c']}}", "{'a':1}",
     "'b' is required"},
    {"{'if':{'required':['a']},'then':{'required':['b']},'else':{'required':['c']}}", "{}",
     "'c' is required"},
    {"{'then':false}", "1", NULL},

    /* several at once, in the order of the table; at most eight */
    {"{'type':'object','properties':{'file_path':{'type':'string'},'limit':{'type':'integer'}},"
     "'required':['file_path']}",
     "{'limit':'10'}",
     "'file_path' is required; 'limit' must be an integer, not the string \"10\""},
    {"{'items':{'type':'null'}}", "[1,1,1,1,1,1,1,1,1,1]",
     "'[0]' must be null, not the number 1; '[1]' must be null, not the number 1; "
     "'[2]' must be null, not the number 1; '[3]' must be null, not the number 1; "
     "'[4]' must be null, not the number 1; '[5]' must be null, not the number 1; "
     "'[6]' must be null, not the number 1; '[7]' must be null, not the number 1"},
    {"{'type':'integer','minimum':5,'enum':[7]}", "'x'",
     "the input must be an integer, not the string \"x\""},
    {"{'type':'integer'}",
     "'0123456789012345678901234567890123456789012345678901234567890123456789'",
     "the input must be an integer, not the string "
     "\"012345678901234567890123456789012345678901234567890123456789\"\xe2\x80\xa6"},

    /* not schemas */
    {"5", "1", NULL},
    {"[]", "1", NULL},
};

/* Rows are written with ' for ". */
static char *quoted(const char *text)
{
    char *copy = arena_cstr(&arena, str_of(text));

    for (char *p = copy; *p; p++) {
        if (*p == '\'')
            *p = '"';
        if (p[0] == '\\' && p[1] == '\\')
            memmove(p, p + 1, strlen(p)); /* one level of escapes less */
    }
    return copy;
}

static void checks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(check_cases); i++) {
        const struct check_case *c = &check_cases[i];
        struct err err = {0};
        int r = schema_check(parsed(quoted(c->schema)), parsed(quoted(c->value)), &err);

        if ((r == 0) != !c->problem || strcmp(err.text, c->problem ? c->problem : "") != 0)
            fail_msg("%s on %s: %s", c->schema, c->value, err.text);
        assert_int_equal(err.code, c->problem ? ERR_BAD_INPUT : ERR_NONE);
    }
}

static void nothing_at_all(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(schema_check(NULL, NULL, &err), 0);
    assert_int_equal(schema_check(parsed("{\"type\":\"object\"}"), NULL, &err), -1);
    assert_string_equal(err.text, "the input must be an object, not null");
    assert_int_equal(schema_check(parsed("false"), NULL, NULL), -1);
}

/* {"items":{"items":…}} or {"anyOf":[{"anyOf":[…]}]}, around inner. */
static const struct json *nested(size_t depth, const char *open, const char *inner,
                                 const char *close)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < depth; i++)
        buf_adds(&text, open);
    buf_adds(&text, inner);
    for (size_t i = 0; i < depth; i++)
        buf_adds(&text, close);
    return parsed(arena_cstr(&arena, buf_str(&text)));
}

static void depth_is_limited(void **state)
{
    CLEANUP(buf_release) struct buf lines = BUF_INIT(10000);
    struct err err = {0};

    (void)state;
    assert_int_equal(schema_check(nested(63, "{\"items\":", "{\"type\":\"null\"}", "}"),
                                  nested(63, "[", "1", "]"), &err),
                     -1);
    assert_int_equal(schema_check(nested(500, "{\"items\":", "{\"type\":\"null\"}", "}"),
                                  nested(500, "[", "1", "]"), &err),
                     0);
    schema_unknown(nested(500, "{\"items\":", "{}", "}"), &lines);
    assert_true(str_ends(buf_str(&lines), STR("[]: (nested too deep to check)\n")));
}

/* Two alternatives at each of thirty levels: trying each of them twice would take 2^30 steps. */
static void alternatives_do_not_multiply(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(
        schema_check(nested(30, "{\"anyOf\":[{\"type\":\"null\"},", "{\"type\":\"null\"}", "]}"),
                     parsed("1"), &err),
        -1);
    assert_int_equal(
        schema_check(nested(30, "{\"anyOf\":[{\"minimum\":2},", "{\"minimum\":2}", "]}"),
                     parsed("1"), &err),
        -1);
    assert_true(str_ends(str_of(err.text), STR("the input must be at least 2, not 1")));
}

/* A schema that refers to itself twice at each level: the steps are limited, and it ends. */
static void references_do_not_multiply(void **state)
{
    (void)state;
    assert_int_equal(
        schema_check(parsed("{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}"), parsed("1"), NULL),
        0);
}

static void unknown_keywords(void **state)
{
    static const struct {
        const char *schema;
        const char *lines;
    } cases[] = {
        {"{}", ""},
        {"true", ""},
        {"{'type':'object','description':'d','title':'t','default':1,'format':'uri','$schema':'s',"
         "'examples':[],'x-vendor':1}",
         ""},
        {"{'contains':{},'unevaluatedItems':2}", "(top): unevaluatedItems\n"},
        {"{'properties':{'a':{'$ref':'#'},'b':{'items':{'odd':true}}}}", "b[]: odd\n"},
        {"{'$ref':'#/$defs/b','$defs':{'a':{'odd':1}}}",
         "(top): $ref (points to nothing in this schema)\na: odd\n"},
        {"{'anyOf':[{'$ref':'#/anyOf/1'},{}]}", ""},
        {"{'anyOf':[{'$ref':'#/anyOf/2'},{}]}", "(top): $ref (points to nothing in this schema)\n"},
        {"{'anyOf':[{'$ref':'#/anyOf/-1'},{}]}",
         "(top): $ref (points to nothing in this schema)\n"},
        {"{'$ref':'#/$defs/50%','$defs':{'50%':{}}}", ""},
        {"{'$ref':'other.json'}", "(top): $ref (points to nothing in this schema)\n"},
        {"{'allOf':[{'odd':1}],'oneOf':[{'odder':1}],'not':{'oddest':1}}",
         "(top): odd\n(top): odder\n(top): oddest\n"},
        {"{'if':{'odd':1},'then':{'odder':1},'else':{'oddest':1}}",
         "(top): odd\n(top): odder\n(top): oddest\n"},
        {"{'if':1}", "(top): if (its value has the wrong type)\n"},
        {"{'propertyNames':{'type':'string'}}", ""},
        {"{'propertyNames':{'odd':'a'}}", "(top): odd\n"},
        {"{'patternProperties':{'(':{},'b':{'odd':1}}}",
         "(top): patternProperties (missing closing parenthesis at offset 1)\nb: odd\n"},
        {"{'prefixItems':[{'odd':1}],'contains':{'odder':1},'dependentSchemas':{'a':{'oddest':1}}}",
         "[]: odd\n[]: odder\n(top): oddest\n"},
        {"{'additionalProperties':{'odd':[]}}", "*: odd\n"},
        {"{'properties':{'a':{'anyOf':[{'odd':1},{'properties':{'b':{'odder':1}}}]}}}",
         "a: odd\na.b: odder\n"},
        {"{'pattern':'(a'}", "(top): pattern (missing closing parenthesis at offset 2)\n"},
        {"{'properties':{'a':{'pattern':'[z-a]'}}}",
         "a: pattern (range out of order in character class at offset 3)\n"},
        {"{'type':'strin'}", "(top): type (no such type)\n"},
        {"{'type':['string','any']}", "(top): type (no such type)\n"},
        {"{'type':1,'enum':'a','minimum':'1','properties':[],'items':[{}]}",
         "(top): type (its value has the wrong type)\n(top): enum (its value has the wrong type)\n"
         "(top): minimum (its value has the wrong type)\n"
         "(top): properties (its value has the wrong type)\n"
         "(top): items (its value has the wrong type)\n"},
        {"5", "(top): (not a schema)\n"},
        {"{'properties':{'a':'string'}}", "a: (not a schema)\n"},
        {"{'items':{'items':{'odd':{}}}}", "[][]: odd\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_release) struct buf lines = BUF_INIT(10000);

        schema_unknown(parsed(quoted(cases[i].schema)), &lines);
        if (strcmp(buf_cstr(&lines), cases[i].lines) != 0)
            fail_msg("%s:\n%s", cases[i].schema, buf_cstr(&lines));
    }
}

/* Patterns that try to exhaust the compiler: each is refused or compiled, and none blocks. */
static void hostile_patterns(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf lines = BUF_INIT(10000);

    (void)state;
    buf_adds(&text, "{\"anyOf\":[{\"pattern\":\"");
    for (int i = 0; i < 3000; i++)
        buf_addc(&text, '(');
    for (int i = 0; i < 3000; i++)
        buf_addc(&text, ')');
    buf_adds(&text, "\"},{\"pattern\":\"");
    for (int i = 0; i < 20000; i++)
        buf_addc(&text, 'a');
    buf_adds(&text,
             "\"},{\"pattern\":\"((((((a{1,999}){1,999}){1,999}){1,999}){1,999}){1,999})\"}]}");
    schema_unknown(parsed(buf_cstr(&text)), &lines);
    assert_true(str_has(buf_str(&lines), STR("parentheses are too deeply nested")));
    assert_true(str_has(buf_str(&lines), STR("pattern string is longer than the limit")));
    assert_true(str_has(buf_str(&lines), STR("regular expression is too large")));
    assert_int_equal(schema_check(parsed(buf_cstr(&text)), parsed("\"x\""), NULL), 0);
}

UNIT_TEST(schema)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(checks, reset),
        cmocka_unit_test_teardown(nothing_at_all, reset),
        cmocka_unit_test_teardown(depth_is_limited, reset),
        cmocka_unit_test_teardown(alternatives_do_not_multiply, reset),
        cmocka_unit_test_teardown(references_do_not_multiply, reset),
        cmocka_unit_test_teardown(unknown_keywords, reset),
        cmocka_unit_test_teardown(hostile_patterns, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
