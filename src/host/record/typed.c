/*
 * typed: finds the tags.
 */
#include "host/record/typed.h"

#include <string.h>

#include "base/buf.h"

/* The content of the first <tag>…</tag>; false if there is none. */
static bool find_tag(struct str text, const char *open, const char *close, struct str *ret)
{
    size_t at = str_find(text, str_of(open)) + strlen(open);
    size_t end;

    if (at > text.len)
        return false;
    end = str_find(str_from(text, at), str_of(close));
    if (at + end >= text.len)
        return false;
    *ret = str_first(str_from(text, at), end);
    return true;
}

bool typed_find(struct str text, struct buf *ret)
{
    struct str name;
    struct str args;

    if (str_starts(text, STR("<bash-input>")) &&
        find_tag(text, "<bash-input>", "</bash-input>", &name)) {
        buf_addf(ret, "!%.*s", STR_ARG(name));
        return true;
    }
    if (!str_starts(text, STR("<command-")) ||
        !find_tag(text, "<command-name>", "</command-name>", &name))
        return false;
    buf_add(ret, name);
    if (find_tag(text, "<command-args>", "</command-args>", &args) && args.len)
        buf_addf(ret, " %.*s", STR_ARG(args));
    return true;
}
