/*
 * Encodings of the web: named by mark or label, or recognized; decode.c converts. Pure; any thread.
 */
#include "tools/web/charset.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/decode.h"

#define META_BYTES 2048 /* how far into a page its <meta> is looked for */
#define LABEL_BYTES 40

/* Labels that iconv does not know, or takes more narrowly than browsers do. */
static const struct {
    const char *label;
    const char *name;
} labels[] = {
    {"utf8", "UTF-8"},
    {"us-ascii", "WINDOWS-1252"},
    {"ascii", "WINDOWS-1252"},
    {"iso-8859-1", "WINDOWS-1252"},
    {"iso8859-1", "WINDOWS-1252"},
    {"latin1", "WINDOWS-1252"},
    {"latin-1", "WINDOWS-1252"},
    {"iso-8859-9", "WINDOWS-1254"},
    {"utf-16", "UTF-16LE"},
    {"shift_jis", "CP932"},
    {"shift-jis", "CP932"},
    {"sjis", "CP932"},
    {"x-sjis", "CP932"},
    {"windows-31j", "CP932"},
    {"euc-jp", "EUC-JP-MS"},
    {"x-euc-jp", "EUC-JP-MS"},
    {"gb2312", "GB18030"},
    {"gb_2312-80", "GB18030"},
    {"gbk", "GB18030"},
    {"x-gbk", "GB18030"},
    {"big5", "BIG5-HKSCS"},
    {"x-x-big5", "BIG5-HKSCS"},
    {"euc-kr", "UHC"},
    {"ks_c_5601-1987", "UHC"},
    {"ksc5601", "UHC"},
    {"windows-949", "UHC"},
};

/* charset=… of a <meta> near the start. */
static struct str meta_label(struct str bytes)
{
    struct str head = str_first(bytes, META_BYTES);
    struct str value;
    size_t len = 0;

    for (;;) {
        head = str_from(head, str_find_nocase(head, STR("<meta")));
        if (!head.len)
            return head;
        head = str_from(head, 5);
        value = str_first(head, str_chr(head, '>'));
        value = str_from(value, str_find_nocase(value, STR("charset=")));
        if (value.len)
            break;
    }
    value = str_from(value, 8);
    if (value.len && (value.ptr[0] == '"' || value.ptr[0] == '\''))
        value = str_from(value, 1);
    while (len < value.len && (str_is_alnum(value.ptr[len]) || value.ptr[len] == '-'))
        len++;
    return str_first(value, len);
}

/* Appends; false if the label is unknown. */
static bool add_labelled(struct str label, struct str bytes, struct buf *ret)
{
    char name[LABEL_BYTES];

    label = str_trim(label);
    if (!label.len || label.len >= sizeof(name))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        if (str_eq_nocase(label, str_of(labels[i].label)))
            return decode_named(labels[i].name, bytes, ret);
    }
    for (size_t i = 0; i < label.len; i++) { /* nothing that means more than a name to iconv */
        if (!str_is_alnum(label.ptr[i]) && !strchr("-_.:", label.ptr[i]))
            return false;
    }
    memcpy(name, label.ptr, label.len);
    name[label.len] = '\0';
    if (strcasecmp(name, "UTF-8") == 0) {
        decode_utf8(bytes, ret);
        return true;
    }
    return decode_named(name, bytes, ret);
}

bool charset_to_utf8(struct str bytes, struct str label, bool is_html, struct buf *ret)
{
    size_t mark_len;
    enum encoding e = decode_mark(bytes, &mark_len);

    if (!mark_len && !label.len && is_html) {
        label = meta_label(bytes);
        /* A <meta> that can be read as ASCII is not in UTF-16. */
        if (str_eq_nocase(str_first(label, 3), STR("utf")))
            label = STR("utf-8");
    }
    if (!mark_len && label.len) {
        bool known = add_labelled(label, bytes, ret);

        if (!known)
            decode_utf8(bytes, ret);
        return known;
    }
    if (!mark_len && !utf8_is_valid(bytes)) {
        e = decode_guess(bytes);
        if (e == ENCODING_UTF8)
            return decode_named("WINDOWS-1252", bytes, ret);
    }
    decode_from(e, str_from(bytes, mark_len), ret);
    return true;
}
