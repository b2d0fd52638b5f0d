/*
 * pager_search: from part to part, in slices; once around, then it is not there. UI thread.
 */
#include "tui/pager/pager_search.h"

#include "base/mem.h"
#include "base/vec.h"
#include "tui/editor/search_text.h"

#define SEARCH_BYTES ((uint64_t)16 << 20) /* of the source in one slice */
#define SEARCH_DRAWN 100                  /* parts drawn in one slice */

/* ---- Text ---- */

/* The longest run of letters and digits: however a source writes its text down, these stay. */
static struct str longest_word(struct str query)
{
    struct str best = STR("");
    size_t from = 0;

    for (size_t i = 0; i <= query.len; i++) {
        if (i < query.len && str_is_alnum(query.ptr[i]))
            continue;
        if (i - from > best.len)
            best = str_first(str_from(query, from), i - from);
        from = i + 1;
    }
    return best;
}

/* Rows as one text, without their prefixes, joined by spaces. */
struct joined {
    struct buf text;
    VEC(size_t) starts;
};

static void join_rows(const struct lines *part, struct joined *ret)
{
    buf_init(&ret->text, BUF_NO_LIMIT);
    for (size_t i = 0; i < lines_count(part); i++) {
        vec_push(&ret->starts, ret->text.len);
        buf_add(&ret->text, str_trim(lines_at(part, i).text));
        buf_addc(&ret->text, ' ');
    }
}

static size_t row_of(const struct joined *j, size_t at)
{
    size_t low = 0;
    size_t high = j->starts.len;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (j->starts.ptr[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first row with a match after `after` (-1: any), or, backward, the last one before `before`.
 * -1: none. */
static int64_t match_row(const struct lines *part, struct str query, int64_t after, int64_t before)
{
    struct joined j = {0};
    int64_t last = -1;
    size_t at = 0;

    join_rows(part, &j);
    for (;;) {
        struct str rest = str_from(buf_str(&j.text), at);
        size_t n = search_text_find(rest, query, NULL);
        int64_t row;

        if (n >= rest.len)
            break;
        row = (int64_t)row_of(&j, at + n);
        at += n + 1;
        if (before >= 0 && row >= before)
            break;
        if (row > after || before >= 0)
            last = row;
        if (before < 0 && row > after)
            break;
    }
    buf_release(&j.text);
    vec_release(&j.starts);
    return last;
}

/* ---- The search ---- */

static void search_ends(struct pager *p, const char *message)
{
    p->searching = false;
    buf_clear(&p->message);
    buf_adds(&p->message, message);
    p->searched = p->source->end(p->arg);
}

static void search_found(struct pager *p, uint64_t at, size_t row)
{
    p->found = at;
    p->found_row = row;
    p->has_found = true;
    search_ends(p, p->wrapped ? "from the other end" : "");
    pager_show_row(p, at, row);
}

/* In the current part; after and before as above. */
static bool search_part(struct pager *p, int64_t after, int64_t before)
{
    int64_t row = match_row(pager_part(p, p->search_at), buf_str(&p->query), after, before);

    if (row < 0)
        return false;
    search_found(p, p->search_at, (size_t)row);
    return true;
}

void pager_search(struct pager *p, bool backward)
{
    if (!p->query.len || !p->source->end(p->arg))
        return;
    p->searching = true;
    p->search_back = backward;
    p->wrapped = false;
    p->from = p->search_at = p->has_found ? p->found : p->top;
    buf_clear(&p->message);
    buf_adds(&p->message, "searching");
    /* The rest of the part where it begins. */
    if (backward)
        (void)search_part(p, -1, (int64_t)(p->has_found ? p->found_row : p->row));
    else
        (void)search_part(p, p->has_found ? (int64_t)p->found_row : (int64_t)p->row - 1, -1);
}

/* On to the next part; false: once around. */
static bool search_step(struct pager *p)
{
    uint64_t at = 0;
    bool moved = p->search_back ? p->source->prev(p->arg, p->search_at, &at)
                                : p->source->next(p->arg, p->search_at, &at);

    if (!moved) {
        if (p->wrapped)
            return false;
        p->wrapped = true;
        if (p->search_back)
            (void)p->source->prev(p->arg, p->source->end(p->arg), &at);
        else
            at = 0;
    }
    p->search_at = at;
    return !(p->wrapped && (p->search_back ? at < p->from : at > p->from));
}

void pager_search_on(struct pager *p)
{
    struct str word = longest_word(buf_str(&p->query));
    uint64_t passed = 0;
    size_t drawn = 0;

    while (p->searching && passed < SEARCH_BYTES && drawn < SEARCH_DRAWN) {
        uint64_t was = p->search_at;

        if (!search_step(p)) {
            search_ends(p, "not found");
            return;
        }
        passed += p->search_at > was ? p->search_at - was : was - p->search_at;
        if (word.len && p->source->may_have && !p->source->may_have(p->arg, p->search_at, word))
            continue;
        drawn++;
        if (search_part(p, -1, p->search_back ? INT64_MAX : -1))
            return;
    }
}

/* ---- Marks ---- */

/* A piece of a line in its own styles, or marked. */
static void put_piece(struct line l, size_t from, size_t to, bool marked, struct lines *ret)
{
    for (size_t i = 0; i < l.span_count || i == 0; i++) {
        size_t begin = l.span_count ? l.spans[i].from : 0;
        size_t end = i + 1 < l.span_count ? l.spans[i + 1].from : l.text.len;
        struct style style = l.span_count ? l.spans[i].style : STYLE(ROLE_TEXT);

        begin = begin > from ? begin : from;
        end = end < to ? end : to;
        if (begin >= end)
            continue;
        style.link = 0; /* of another list */
        lines_put(ret, marked ? STYLE(ROLE_MATCH) : style,
                  str_first(str_from(l.text, begin), end - begin));
    }
}

void pager_mark(const struct pager *p, struct line l, struct lines *ret)
{
    struct str query = str_trim(buf_str(&p->query));
    size_t at = 0;

    if (!query.len || p->typing || search_text_find(l.text, query, NULL) >= l.text.len) {
        lines_add(ret, l);
        return;
    }
    for (;;) {
        size_t len;
        size_t n = search_text_find(str_from(l.text, at), query, &len);

        if (at + n >= l.text.len)
            break;
        put_piece(l, at, at + n, /*marked=*/false, ret);
        put_piece(l, at + n, at + n + len, /*marked=*/true, ret);
        at += n + len;
    }
    put_piece(l, at, l.text.len, /*marked=*/false, ret);
    lines_end(ret);
}
