/*
 * search_text: letter by letter, each as its small one. ASCII alone goes by the byte. Pure.
 */
#include "tui/editor/search_text.h"

#include <utf8proc.h>

#include "base/utf8.h"

/* The letter at the front, and its bytes; one byte that is none stands for itself. */
static uint32_t search_letter(struct str s, size_t *ret_len)
{
    uint32_t code;
    size_t len = utf8_decode(s, &code);

    *ret_len = len ? len : 1;
    return len ? code : UINT32_MAX - (unsigned char)s.ptr[0];
}

static uint32_t search_small(uint32_t letter)
{
    return letter > 0x10ffff ? letter : (uint32_t)utf8proc_tolower((utf8proc_int32_t)letter);
}

/* *ret_ascii: there is nothing but ASCII in it. */
static bool search_has_capital(struct str query, bool *ret_ascii)
{
    bool has_capital = false;
    size_t len;

    *ret_ascii = true;
    for (size_t at = 0; at < query.len; at += len) {
        uint32_t letter = search_letter(str_from(query, at), &len);

        has_capital = has_capital || search_small(letter) != letter;
        *ret_ascii = *ret_ascii && letter < 0x80;
    }
    return has_capital;
}

/* Bytes of the text that are the query, at its front; 0: it is not there. */
static size_t search_matches(struct str text, struct str query)
{
    size_t at = 0;
    size_t len;
    size_t query_len;

    for (size_t i = 0; i < query.len; i += query_len, at += len) {
        if (at >= text.len || search_small(search_letter(str_from(text, at), &len)) !=
                                  search_letter(str_from(query, i), &query_len))
            return 0;
    }
    return at;
}

static size_t search_letters(struct str text, struct str query, size_t *ret_len)
{
    size_t len;

    for (size_t at = 0; at < text.len; at += len) {
        *ret_len = search_matches(str_from(text, at), query);
        if (*ret_len)
            return at;
        (void)search_letter(str_from(text, at), &len);
    }
    return text.len;
}

size_t search_text_find(struct str text, struct str query, size_t *ret_len)
{
    size_t len = query.len;
    bool is_ascii;
    size_t at;

    if (search_has_capital(query, &is_ascii))
        at = str_find(text, query);
    else if (is_ascii)
        at = str_find_nocase(text, query);
    else
        at = search_letters(text, query, &len);
    if (ret_len)
        *ret_len = len;
    return at;
}
