/*
 * instruction_text: just enough markdown to recognize code. Lines are copied one by one, with
 * fences watched and comments left out; each run of lines without a blank one (a paragraph, within
 * which a code span must end) is then searched for imports. Pure; any thread.
 */
#include "context/instruction_text.h"

#include "base/utf8.h"

#define TEXT_MAX_TICKS 32  /* backticks that can open a code span */
#define TEXT_MAX_GLOB 1000 /* bytes of a glob; a longer one is left out */

void instruction_text_release(struct instruction_text *t)
{
    buf_release(&t->text);
    strv_release(&t->imports);
    strv_release(&t->paths);
}

/* Valid UTF-8, "\n" line ends, no byte order mark. */
static size_t text_clean(struct str raw, struct buf *ret)
{
    size_t bad = 0;

    if (str_starts(raw, STR("\xef\xbb\xbf")))
        raw = str_from(raw, 3);
    while (raw.len) {
        struct str good = str_first(raw, utf8_valid_len(raw));
        struct str line;

        raw = str_from(raw, good.len);
        while (good.len) {
            line = str_first(good, str_chr(good, '\r'));
            buf_add(ret, line);
            good = str_from(good, line.len);
            if (!good.len)
                break;
            if (good.len == 1 || good.ptr[1] != '\n')
                buf_addc(ret, '\n');
            good = str_from(good, 1);
        }
        if (raw.len) {
            buf_adds(ret, "\xef\xbf\xbd");
            raw = str_from(raw, 1);
            bad++;
        }
    }
    return bad;
}

/* Adds a glob; one with "{a,b}" becomes one for each. The list's limit ends the recursion. */
static void text_add_glob(struct strv *globs, struct str glob)
{
    size_t open = str_chr(glob, '{');
    size_t close = str_chr(glob, '}');
    struct str rest;
    struct str choice;

    if (globs->len >= INSTRUCTION_MAX_PATHS || !glob.len || glob.len > TEXT_MAX_GLOB)
        return;
    if (open > close || close == glob.len) {
        strv_add(globs, glob);
        return;
    }
    rest = str_make(glob.ptr + open + 1, close - open - 1);
    while (globs->len < INSTRUCTION_MAX_PATHS && str_cut(&rest, ',', &choice)) {
        CLEANUP(buf_release) struct buf one = BUF_INIT(TEXT_MAX_GLOB);

        buf_add(&one, str_first(glob, open));
        buf_add(&one, choice);
        buf_add(&one, str_from(glob, close + 1));
        text_add_glob(globs, buf_str(&one));
    }
}

/* The globs of one line of `paths`: "a, b", "[\"a\", 'b']" or "- a". Commas inside of braces
 * belong to the glob. */
static void text_add_globs(struct strv *globs, struct str line)
{
    size_t start = 0;
    int depth = 0;

    line = str_trim(line);
    if (str_starts(line, STR("- ")))
        line = str_from(line, 2);
    for (size_t i = 0; i <= line.len; i++) {
        struct str glob;
        char c = i < line.len ? line.ptr[i] : ',';

        depth += (c == '{') - (c == '}');
        if (i < line.len && (c != ',' || depth > 0))
            continue;
        glob = str_trim(str_make(line.ptr + start, i - start));
        while (glob.len && strchr("[\"' ", glob.ptr[0]))
            glob = str_from(glob, 1);
        while (glob.len && strchr("]\"' ", glob.ptr[glob.len - 1]))
            glob.len--;
        text_add_glob(globs, glob);
        start = i + 1;
    }
}

/* Cuts a leading "---" block off, and reads its `paths`. */
static void text_cut_frontmatter(struct instruction_text *t, struct str *io)
{
    CLEANUP(strv_release) struct strv globs = STRV_INIT;
    struct str rest = *io;
    struct str line;
    bool in_paths = false;
    bool has_paths = false;

    if (!str_cut(&rest, '\n', &line) || !str_is(str_trim(line), "---"))
        return;
    while (str_cut(&rest, '\n', &line)) {
        bool is_item = str_starts(str_trim(line), STR("- "));

        if (str_is(str_trim(line), "---")) {
            *io = rest;
            t->has_paths = has_paths;
            t->paths = globs;
            globs = (struct strv)STRV_INIT;
            return;
        }
        in_paths = (in_paths && is_item) || str_starts(line, STR("paths:"));
        has_paths = has_paths || in_paths;
        if (in_paths)
            text_add_globs(&globs, is_item ? line : str_from(line, strlen("paths:")));
    }
    /* never closed: not frontmatter, only a line across the page */
}

static size_t text_run(struct str s, char c)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] == c)
        n++;
    return n;
}

/* The line without up to three spaces of indentation. */
static struct str text_dedent(struct str line)
{
    size_t spaces = text_run(line, ' ');

    return str_from(line, spaces < 4 ? spaces : 0);
}

struct fence {
    char mark; /* '`' or '~'; 0: outside */
    size_t len;
};

/* Follows fences; true when the line is one, or stands inside one. */
static bool fence_step(struct fence *f, struct str line)
{
    struct str s = text_dedent(line);
    char mark = s.len ? s.ptr[0] : 0;
    size_t len = mark == '`' || mark == '~' ? text_run(s, mark) : 0;

    if (f->mark) {
        if (mark == f->mark && len >= f->len && !str_trim(str_from(s, len)).len)
            f->mark = 0;
        return true;
    }
    if (len < 3 || (mark == '`' && str_chr(str_from(s, len), '`') < s.len - len))
        return false;
    *f = (struct fence){.mark = mark, .len = len};
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* The word after an '@', as far as it can be a path. */
static void text_add_import(struct instruction_text *t, struct str word)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(4096);

    word = str_first(word, str_chr(word, '#'));
    while (word.len && strchr(".,;:!?)]}>\"'*_", word.ptr[word.len - 1]))
        word.len--;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\\' && i + 1 < word.len && word.ptr[i + 1] == ' ')
            i++;
        buf_addc(&path, word.ptr[i]);
    }
    if (path.over || !path.len || memchr(path.ptr, '\0', path.len))
        return;
    if (!str_is_alnum(path.ptr[0]) && !strchr("./~_-", path.ptr[0]))
        return;
    if (t->imports.len < INSTRUCTION_MAX_IMPORTS && !strv_has(&t->imports, buf_str(&path)))
        strv_add(&t->imports, buf_str(&path));
}

/* Position after the code span that opens at `at`; after the backticks alone when none closes. A
 * length that was not found is not searched twice, so the limit keeps this linear. */
static size_t text_skip_span(struct str s, size_t at)
{
    size_t len = text_run(str_from(s, at), '`');
    size_t i = at + len;

    while (len <= TEXT_MAX_TICKS && i < s.len) {
        size_t run = text_run(str_from(s, i), '`');

        if (run == len)
            return i + run;
        i += run ? run : 1;
    }
    return at + len;
}

static void text_scan_paragraph(struct instruction_text *t, struct str s)
{
    size_t i = 0;

    while (i < s.len) {
        size_t start = i + 1;

        if (s.ptr[i] == '`') {
            i = text_skip_span(s, i);
            continue;
        }
        if (s.ptr[i] != '@' || (i && !is_space(s.ptr[i - 1]))) {
            i++;
            continue;
        }
        i = start;
        while (i < s.len && !is_space(s.ptr[i]))
            i += s.ptr[i] == '\\' && i + 1 < s.len && s.ptr[i + 1] == ' ' ? 2 : 1;
        text_add_import(t, str_make(s.ptr + start, i - start));
    }
}

/* Where the last "-->" is. Looking for an end only before it keeps a file full of "<!--" cheap. */
static size_t text_last_comment(struct str s)
{
    for (size_t i = s.len; i >= 3; i--)
        if (memcmp(s.ptr + i - 3, "-->", 3) == 0)
            return i - 3;
    return 0;
}

/* Where the text continues after a comment that opens the line at `at`; 0 when there is none, or
 * one that never ends: a superfluous note is better than lost instructions. A blank rest of its
 * last line goes with it. */
static size_t text_skip_comment(struct str s, size_t at)
{
    struct str open = text_dedent(str_from(s, at));
    size_t end = s.len - open.len + strlen("<!--");
    size_t next;

    if (!str_starts(open, STR("<!--")))
        return 0;
    end += str_find(str_from(s, end), STR("-->"));
    if (end >= s.len)
        return 0;
    end += strlen("-->");
    next = end;
    while (next < s.len && (s.ptr[next] == ' ' || s.ptr[next] == '\t'))
        next++;
    if (next < s.len && s.ptr[next] != '\n')
        return end;
    return next < s.len ? next + 1 : next;
}

void instruction_text_read(struct instruction_text *ret, struct str raw, bool is_rule)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(BUF_NO_LIMIT);
    struct fence fence = {0};
    struct str s;
    size_t paragraph = 0; /* where it starts in the result */
    size_t last_comment;  /* no comment ends after this */

    *ret = (struct instruction_text){.text = BUF_INIT(BUF_NO_LIMIT)};
    ret->bad_bytes = text_clean(raw, &clean);
    s = buf_str(&clean);
    if (is_rule)
        text_cut_frontmatter(ret, &s);
    last_comment = text_last_comment(s);
    for (size_t at = 0; at < s.len;) {
        struct str line = str_from(s, at);
        size_t behind = !fence.mark && at < last_comment ? text_skip_comment(s, at) : 0;

        if (behind) {
            at = behind;
            continue;
        }
        line = str_first(line, str_chr(line, '\n'));
        at += line.len + 1;
        if (fence_step(&fence, line) || !str_trim(line).len) {
            text_scan_paragraph(ret, str_from(buf_str(&ret->text), paragraph));
            paragraph = ret->text.len + line.len + 1;
        }
        buf_add(&ret->text, line);
        buf_addc(&ret->text, '\n');
    }
    text_scan_paragraph(ret, str_from(buf_str(&ret->text), paragraph));
}
