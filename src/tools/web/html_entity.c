/*
 * Character references: numbers, and the names that pages really use (all of HTML 4's; of the two
 * thousand of HTML 5 only these). An unknown one stays as it is written. Pure; any thread.
 */
#include "tools/web/html.h"

#include <stdint.h>

#include "base/mem.h"
#include "base/utf8.h"

#define NAME_MAX_LEN 8

/* U+00A0 to U+00FF, in order. */
static const char latin[][NAME_MAX_LEN] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",
    "copy",   "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn",
    "sup2",   "sup3",   "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",
    "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde",
    "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave",
    "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde",
    "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",
    "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil",
    "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",   "eth",
    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml",
};

static const struct {
    char name[NAME_MAX_LEN + 1];
    uint32_t code;
} names[] = {
    {"amp", '&'},       {"lt", '<'},        {"gt", '>'},        {"quot", '"'},
    {"apos", '\''},     {"AMP", '&'},       {"LT", '<'},        {"GT", '>'},
    {"QUOT", '"'},      {"num", '#'},       {"lsqb", '['},      {"rsqb", ']'},
    {"lbrace", '{'},    {"rbrace", '}'},    {"lpar", '('},      {"rpar", ')'},
    {"colon", ':'},     {"comma", ','},     {"period", '.'},    {"semi", ';'},
    {"excl", '!'},      {"quest", '?'},     {"sol", '/'},       {"bsol", '\\'},
    {"lowbar", '_'},    {"ast", '*'},       {"equals", '='},    {"plus", '+'},
    {"dollar", '$'},    {"percnt", '%'},    {"commat", '@'},    {"grave", '`'},
    {"vert", '|'},      {"NewLine", '\n'},  {"Tab", '\t'},      {"OElig", 0x152},
    {"oelig", 0x153},   {"Scaron", 0x160},  {"scaron", 0x161},  {"Yuml", 0x178},
    {"fnof", 0x192},    {"circ", 0x2c6},    {"tilde", 0x2dc},   {"Alpha", 0x391},
    {"Beta", 0x392},    {"Gamma", 0x393},   {"Delta", 0x394},   {"Epsilon", 0x395},
    {"Zeta", 0x396},    {"Eta", 0x397},     {"Theta", 0x398},   {"Iota", 0x399},
    {"Kappa", 0x39a},   {"Lambda", 0x39b},  {"Mu", 0x39c},      {"Nu", 0x39d},
    {"Xi", 0x39e},      {"Omicron", 0x39f}, {"Pi", 0x3a0},      {"Rho", 0x3a1},
    {"Sigma", 0x3a3},   {"Tau", 0x3a4},     {"Upsilon", 0x3a5}, {"Phi", 0x3a6},
    {"Chi", 0x3a7},     {"Psi", 0x3a8},     {"Omega", 0x3a9},   {"alpha", 0x3b1},
    {"beta", 0x3b2},    {"gamma", 0x3b3},   {"delta", 0x3b4},   {"epsilon", 0x3b5},
    {"zeta", 0x3b6},    {"eta", 0x3b7},     {"theta", 0x3b8},   {"iota", 0x3b9},
    {"kappa", 0x3ba},   {"lambda", 0x3bb},  {"mu", 0x3bc},      {"nu", 0x3bd},
    {"xi", 0x3be},      {"omicron", 0x3bf}, {"pi", 0x3c0},      {"rho", 0x3c1},
    {"sigmaf", 0x3c2},  {"sigma", 0x3c3},   {"tau", 0x3c4},     {"upsilon", 0x3c5},
    {"phi", 0x3c6},     {"chi", 0x3c7},     {"psi", 0x3c8},     {"omega", 0x3c9},
    {"ensp", 0x2002},   {"emsp", 0x2003},   {"thinsp", 0x2009}, {"zwnj", 0x200c},
    {"zwj", 0x200d},    {"lrm", 0x200e},    {"rlm", 0x200f},    {"ndash", 0x2013},
    {"mdash", 0x2014},  {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"sbquo", 0x201a},
    {"ldquo", 0x201c},  {"rdquo", 0x201d},  {"bdquo", 0x201e},  {"dagger", 0x2020},
    {"Dagger", 0x2021}, {"bull", 0x2022},   {"hellip", 0x2026}, {"permil", 0x2030},
    {"prime", 0x2032},  {"Prime", 0x2033},  {"lsaquo", 0x2039}, {"rsaquo", 0x203a},
    {"oline", 0x203e},  {"frasl", 0x2044},  {"euro", 0x20ac},   {"image", 0x2111},
    {"weierp", 0x2118}, {"real", 0x211c},   {"trade", 0x2122},  {"alefsym", 0x2135},
    {"larr", 0x2190},   {"uarr", 0x2191},   {"rarr", 0x2192},   {"darr", 0x2193},
    {"harr", 0x2194},   {"crarr", 0x21b5},  {"lArr", 0x21d0},   {"uArr", 0x21d1},
    {"rArr", 0x21d2},   {"dArr", 0x21d3},   {"hArr", 0x21d4},   {"forall", 0x2200},
    {"part", 0x2202},   {"exist", 0x2203},  {"empty", 0x2205},  {"nabla", 0x2207},
    {"isin", 0x2208},   {"notin", 0x2209},  {"ni", 0x220b},     {"prod", 0x220f},
    {"sum", 0x2211},    {"minus", 0x2212},  {"lowast", 0x2217}, {"radic", 0x221a},
    {"prop", 0x221d},   {"infin", 0x221e},  {"ang", 0x2220},    {"and", 0x2227},
    {"or", 0x2228},     {"cap", 0x2229},    {"cup", 0x222a},    {"int", 0x222b},
    {"there4", 0x2234}, {"sim", 0x223c},    {"cong", 0x2245},   {"asymp", 0x2248},
    {"ne", 0x2260},     {"equiv", 0x2261},  {"le", 0x2264},     {"ge", 0x2265},
    {"sub", 0x2282},    {"sup", 0x2283},    {"nsub", 0x2284},   {"sube", 0x2286},
    {"supe", 0x2287},   {"oplus", 0x2295},  {"otimes", 0x2297}, {"perp", 0x22a5},
    {"sdot", 0x22c5},   {"lceil", 0x2308},  {"rceil", 0x2309},  {"lfloor", 0x230a},
    {"rfloor", 0x230b}, {"lang", 0x27e8},   {"rang", 0x27e9},   {"loz", 0x25ca},
    {"spades", 0x2660}, {"clubs", 0x2663},  {"hearts", 0x2665}, {"diams", 0x2666},
    {"check", 0x2713},  {"cross", 0x2717},
};

static size_t put(uint32_t code, char out[8], size_t *ret_len, size_t used)
{
    *ret_len = utf8_encode(code, out);
    return used;
}

static int digit_value(char c, int base)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Numbers from 0x80 on mean windows-1252, which has characters where Unicode has controls. */
static const uint16_t high_1252[32] = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

/* "&#123;", "&#x7b;"; the semicolon may be missing. */
static size_t number(struct str s, char out[8], size_t *ret_len)
{
    int base = s.len > 2 && (s.ptr[2] | 0x20) == 'x' ? 16 : 10;
    size_t start = base == 16 ? 3 : 2;
    size_t at = start;
    uint32_t code = 0;

    for (; at < s.len && digit_value(s.ptr[at], base) >= 0; at++) {
        if (code <= 0x10ffff)
            code = code * (uint32_t)base + (uint32_t)digit_value(s.ptr[at], base);
    }
    if (at == start)
        return 0;
    if (at < s.len && s.ptr[at] == ';')
        at++;
    if (code >= 0x80 && code < 0xa0)
        code = high_1252[code - 0x80];
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    return put(code, out, ret_len, at);
}

size_t html_entity(struct str s, char out[8], size_t *ret_len)
{
    struct str name;
    size_t len = 0;

    if (s.len < 3 || s.ptr[0] != '&')
        return 0;
    if (s.ptr[1] == '#')
        return number(s, out, ret_len);
    name = str_first(str_from(s, 1), NAME_MAX_LEN + 1);
    while (len < name.len && str_is_alnum(name.ptr[len]))
        len++;
    name = str_first(name, len);
    for (size_t i = 0; i < 5; i++) { /* old pages forget the semicolon of these */
        if (str_is(name, names[i].name))
            return put(names[i].code, out, ret_len,
                       len + 1 + (s.len > len + 1 && s.ptr[len + 1] == ';'));
    }
    if (s.len <= len + 1 || s.ptr[len + 1] != ';')
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(latin); i++) {
        if (str_is(name, latin[i]))
            return put(0xa0 + (uint32_t)i, out, ret_len, len + 2);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(name, names[i].name))
            return put(names[i].code, out, ret_len, len + 2);
    }
    return 0;
}
