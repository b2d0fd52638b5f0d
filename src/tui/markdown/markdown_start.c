/*
 * markdown_start: one small recognizer for each kind of block, after CommonMark 0.31 and GitHub's
 * tables. UI thread.
 */
#include "tui/markdown/markdown_start.h"

#include "base/mem.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* How many times c stands at the start. */
static size_t run_of(struct str s, char c)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] == c)
        n++;
    return n;
}

int cursor_indent(const struct cursor *c)
{
    int column = c->column + c->owed;

    for (size_t i = c->at; i < c->line.len && is_space(c->line.ptr[i]); i++)
        column += c->line.ptr[i] == '\t' ? 4 - column % 4 : 1;
    return column - c->column;
}

void cursor_skip(struct cursor *c, int columns)
{
    while (columns > 0) {
        if (!c->owed) {
            if (c->at == c->line.len)
                return;
            c->owed = c->line.ptr[c->at] == '\t' ? 4 - c->column % 4 : 1;
            c->at++;
        }
        c->owed--;
        c->column++;
        columns--;
    }
}

struct str cursor_text(const struct cursor *c)
{
    struct str s = str_from(c->line, c->at);

    while (s.len && is_space(*s.ptr))
        s = str_from(s, 1);
    return s;
}

int markdown_start_heading(struct str s, struct str *ret_text)
{
    size_t level = run_of(s, '#');
    struct str text = str_from(s, level);
    struct str bare;

    if (level < 1 || level > 6 || (text.len && !is_space(*text.ptr)))
        return 0;
    text = str_trim(text);
    bare = text;
    while (bare.len && bare.ptr[bare.len - 1] == '#')
        bare.len--;
    if (!bare.len || (bare.len < text.len && is_space(bare.ptr[bare.len - 1])))
        text = str_trim(bare);
    *ret_text = text;
    return (int)level;
}

int markdown_start_underline(struct str s)
{
    s = str_trim(s);
    if (!s.len || (*s.ptr != '=' && *s.ptr != '-') || run_of(s, *s.ptr) != s.len)
        return 0;
    return *s.ptr == '=' ? 1 : 2;
}

bool markdown_start_rule(struct str s)
{
    size_t count = 0;

    if (!s.len || !char_is_of(*s.ptr, "-*_"))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == *s.ptr)
            count++;
        else if (!is_space(s.ptr[i]))
            return false;
    }
    return count >= 3;
}

size_t markdown_start_fence(struct str s, struct str *ret_language)
{
    char c = s.len ? *s.ptr : 0;
    size_t len = run_of(s, c);
    struct str info;
    size_t end = 0;

    if ((c != '`' && c != '~') || len < 3)
        return 0;
    info = str_trim(str_from(s, len));
    if (c == '`' && str_chr(info, '`') < info.len)
        return 0;
    /* {.python .numberLines}, rust,ignore: the name alone. */
    while (info.len && (*info.ptr == '{' || *info.ptr == '.'))
        info = str_from(info, 1);
    while (end < info.len && !is_space(info.ptr[end]) && !char_is_of(info.ptr[end], ",{}:"))
        end++;
    *ret_language = str_first(info, end);
    return len;
}

bool markdown_start_fence_end(struct str s, char fence, size_t len)
{
    size_t n = run_of(s, fence);

    return n >= len && !str_trim(str_from(s, n)).len;
}

bool markdown_start_item(struct str s, struct list_marker *ret)
{
    size_t n = 0;
    int number = 0;

    if (!s.len)
        return false;
    if (char_is_of(*s.ptr, "-+*")) {
        *ret = (struct list_marker){1, -1, *s.ptr};
    } else {
        while (n < s.len && n < 9 && s.ptr[n] >= '0' && s.ptr[n] <= '9')
            number = number * 10 + (s.ptr[n++] - '0');
        if (!n || n == s.len || (s.ptr[n] != '.' && s.ptr[n] != ')'))
            return false;
        *ret = (struct list_marker){n + 1, number, s.ptr[n]};
    }
    return s.len == ret->len || is_space(s.ptr[ret->len]);
}

/* Tags that begin a block wherever they stand. */
static const char block_tags[] =
    "address article aside base basefont blockquote body caption center col colgroup dd details "
    "dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 "
    "head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option "
    "p param search section summary table tbody td tfoot th thead title tr track ul";

static const struct {
    const char *start, *end;
} html_marks[] = {
    {"<!--", "-->"},        {"<?", "?>"},
    {"<![CDATA[", "]]>"},   {"<!", ">"},
    {"<pre", "</pre>"},     {"<script", "</script>"},
    {"<style", "</style>"}, {"<textarea", "</textarea>"},
};

bool markdown_start_html(struct str s, bool in_paragraph, const char **ret_end)
{
    struct str tag = str_from(s, 1);
    char name[16];
    size_t n = 0;

    if (s.len < 2 || *s.ptr != '<')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(html_marks); i++) {
        struct str start = str_of(html_marks[i].start);
        char behind = s.len > start.len ? s.ptr[start.len] : ' ';

        if (!str_eq_nocase(str_first(s, start.len), start))
            continue;
        if (is_letter(start.ptr[1]) && !is_space(behind) && behind != '>')
            continue;
        *ret_end = html_marks[i].end;
        return true;
    }
    if (*tag.ptr == '/')
        tag = str_from(tag, 1);
    while (n < tag.len && (str_is_alnum(tag.ptr[n]) || tag.ptr[n] == '-')) {
        if (n < sizeof(name))
            name[n] = tag.ptr[n] >= 'A' && tag.ptr[n] <= 'Z' ? tag.ptr[n] + 32 : tag.ptr[n];
        n++;
    }
    if (!n || !is_letter(*tag.ptr))
        return false;
    if (n < tag.len && !is_space(tag.ptr[n]) && tag.ptr[n] != '/' && tag.ptr[n] != '>')
        return false;
    *ret_end = NULL;
    if (n <= sizeof(name) && str_is_word_of(str_make(name, n), block_tags))
        return true;
    /* Any other tag, when the line is that tag and nothing else. */
    tag = str_trim(tag);
    return !in_paragraph && str_chr(tag, '>') == tag.len - 1 && str_chr(tag, '<') == tag.len;
}

static bool cell_is_delimiter(struct str cell)
{
    if (cell.len && *cell.ptr == ':')
        cell = str_from(cell, 1);
    if (cell.len && cell.ptr[cell.len - 1] == ':')
        cell.len--;
    return cell.len && run_of(cell, '-') == cell.len;
}

bool markdown_start_delimiter(struct str s, size_t cells)
{
    struct str rest = s;
    struct str cell;
    size_t n;

    if (str_chr(s, '|') == s.len)
        return false;
    n = markdown_cells(s, NULL, 0);
    if (n != cells)
        return false;
    rest = str_trim(rest);
    if (str_starts(rest, STR("|")))
        rest = str_from(rest, 1);
    if (str_ends(rest, STR("|")))
        rest.len--;
    while (str_cut(&rest, '|', &cell)) {
        if (!cell_is_delimiter(str_trim(cell)))
            return false;
    }
    return true;
}

bool markdown_start_link(struct str s, struct str *ret_label, struct str *ret_target)
{
    struct str label;
    struct str rest;
    size_t end = 1;

    s = str_trim(s);
    if (s.len < 5 || *s.ptr != '[' || s.ptr[1] == '^') /* [^1] is a footnote */
        return false;
    while (end < s.len && s.ptr[end] != ']' && s.ptr[end] != '[' && s.ptr[end] != '\\')
        end++;
    label = str_first(str_from(s, 1), end - 1);
    if (!str_starts(str_from(s, end), STR("]:")) || !str_trim(label).len)
        return false;
    rest = str_trim(str_from(s, end + 2));
    if (str_starts(rest, STR("<"))) {
        end = str_chr(rest, '>');
        if (end == rest.len)
            return false;
        *ret_target = str_from(str_first(rest, end), 1);
        rest = str_from(rest, end + 1);
    } else {
        end = 0;
        while (end < rest.len && (unsigned char)rest.ptr[end] > ' ')
            end++;
        *ret_target = str_first(rest, end);
        rest = str_from(rest, end);
    }
    rest = str_trim(rest);
    *ret_label = label;
    if (rest.len)
        return rest.len > 1 && char_is_of(*rest.ptr, "\"'(") &&
               rest.ptr[rest.len - 1] == (*rest.ptr == '(' ? ')' : *rest.ptr);
    return ret_target->len && str_chr(*ret_target, '<') == ret_target->len;
}

/* The position after the code that begins here with backticks; only after these when it is not
 * closed. */
static size_t cell_code_end(struct str row, size_t at)
{
    size_t len = run_of(str_from(row, at), '`');
    size_t i = at + len;

    while (i < row.len) {
        size_t n = run_of(str_from(row, i), '`');

        if (n == len)
            return i + n;
        i += n ? n : 1;
    }
    return at + len;
}

size_t markdown_cells(struct str row, struct str *ret, size_t max)
{
    size_t count = 0;
    size_t from = 0;
    size_t i = 0;

    row = str_trim(row);
    if (str_starts(row, STR("|")))
        row = str_from(row, 1);
    if (str_ends(row, STR("|")) && !str_ends(row, STR("\\|")))
        row.len--; /* closes the row */
    while (i <= row.len) {
        if (i < row.len && row.ptr[i] == '\\' && i + 1 < row.len) {
            i += 2;
        } else if (i < row.len && row.ptr[i] == '`') {
            i = cell_code_end(row, i);
        } else if (i < row.len && row.ptr[i] != '|') {
            i++;
        } else {
            if (count < max)
                ret[count] = str_trim(count + 1 == max ? str_from(row, from)
                                                       : str_first(str_from(row, from), i - from));
            count++;
            i++;
            from = i;
        }
    }
    return count;
}
