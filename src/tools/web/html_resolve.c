/*
 * Links made absolute, by the rules of RFC 3986 as far as pages need them. Pure; any thread.
 */
#include "base/buf.h"
#include "tools/web/html.h"

/* The length of "https:" at the start of a link; 0 when it has no scheme. */
static size_t scheme_len(struct str link)
{
    for (size_t i = 0; i < link.len; i++) {
        char c = link.ptr[i];

        if (c == ':')
            return i ? i + 1 : 0;
        if (!str_is_alnum(c) && (!i || (c != '+' && c != '-' && c != '.')))
            return 0;
    }
    return 0;
}

/* Where the path of a base begins: after "scheme://host". */
static size_t path_at(struct str base)
{
    size_t at = str_find(base, STR("://"));
    struct str rest = str_from(base, at + 3);
    size_t len = 0;

    while (len < rest.len && rest.ptr[len] != '/' && rest.ptr[len] != '?')
        len++;
    return at < base.len ? at + 3 + len : base.len;
}

/* Appends a path, "." and ".." taken out; never climbs above floor, the path's start in *ret. */
static void add_path(struct buf *ret, size_t floor, struct str path)
{
    struct str piece;

    while (str_cut(&path, '/', &piece)) {
        bool is_last = !path.ptr;

        if (str_is(piece, "..")) {
            size_t len = ret->len;

            if (len > floor + 1)
                len--;
            while (len > floor + 1 && ret->ptr[len - 1] != '/')
                len--;
            buf_cut(ret, len, ret->len - len);
        } else if (!str_is(piece, ".") && (piece.len || !is_last)) {
            buf_add(ret, piece);
            if (!is_last)
                buf_addc(ret, '/');
        }
    }
}

void html_resolve(struct str base, struct str link, struct buf *ret)
{
    struct str query;
    struct str path;
    size_t floor;
    size_t end;

    link = str_trim(link);
    base = str_first(base, str_chr(base, '#'));
    if (scheme_len(link) || !base.len) {
        buf_add(ret, link);
        return;
    }
    if (str_starts(link, STR("//"))) {
        buf_add(ret, str_first(base, scheme_len(base)));
        buf_add(ret, link);
        return;
    }
    end = 0;
    while (end < link.len && link.ptr[end] != '?' && link.ptr[end] != '#')
        end++;
    path = str_first(link, end);
    query = str_from(link, end);
    if (!link.len || link.ptr[0] == '#') {
        buf_add(ret, base);
        buf_add(ret, link);
        return;
    }
    base = str_first(base, str_chr(base, '?'));
    floor = ret->len + path_at(base);
    if (!path.len) { /* only another query */
        buf_add(ret, base);
        buf_add(ret, query);
        return;
    }
    buf_add(ret, str_first(base, path_at(base)));
    buf_addc(ret, '/');
    if (path.ptr[0] != '/') {
        struct str dir = str_from(base, path_at(base));

        while (dir.len && dir.ptr[dir.len - 1] != '/')
            dir.len--;
        add_path(ret, floor, str_from(dir, 1));
    } else {
        path = str_from(path, 1);
    }
    add_path(ret, floor, path);
    buf_add(ret, query);
}
