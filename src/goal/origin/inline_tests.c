/*
 * inline_tests: tests that stand in the source they test, as in Rust. The file is the work, so it
 * is not protected; its tests are. Each block of the baseline must still be there, line by line.
 * Any thread; waits for git.
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "goal/origin/origin.h"

#define INLINE_MAX ((size_t)1 << 20)

/* How tests begin in a kind of file. A block ends with the brace that closes it, or, where blocks
 * are indented, before the next line that is not. */
static const struct {
    const char *end;        /* of the file's name */
    const char *attributes; /* "#[x]" before a function; NULL: none */
    const char *starts[2];
    bool is_indented;
} kinds[] = {
    {".rs", "test rstest test_case quickcheck proptest", {NULL}, false},
    {".zig", NULL, {"test \"", "test {"}, false},
    {".d", NULL, {"unittest {", "unittest{"}, false},
    {".py", NULL, {"def test", "class Test"}, true},
};

/* "#[tokio::test(flavor = "x")]": the last part of the path. */
static bool is_attribute(struct str line, const char *names)
{
    struct str name;

    if (!names || !str_starts(line, STR("#[")))
        return false;
    name = str_from(line, 2);
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '(' || name.ptr[i] == ']')
            name = str_first(name, i);
    }
    while (str_find(name, STR("::")) < name.len)
        name = str_from(name, str_find(name, STR("::")) + 2);
    return str_is_word_of(name, names);
}

static bool begins(size_t kind, struct str line)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds[kind].starts) && kinds[kind].starts[i]; i++) {
        if (str_starts(line, str_of(kinds[kind].starts[i])))
            return true;
    }
    return is_attribute(line, kinds[kind].attributes);
}

static size_t indent_of(struct str line)
{
    size_t n = 0;

    while (n < line.len && (line.ptr[n] == ' ' || line.ptr[n] == '\t'))
        n++;
    return n;
}

static int count_braces(struct str line)
{
    int depth = 0;

    for (size_t i = 0; i < line.len; i++)
        depth += line.ptr[i] == '{' ? 1 : line.ptr[i] == '}' ? -1 : 0;
    return depth;
}

/* One block, its lines without the blanks around them. `line` is its first; rest moves past it. */
static void take_block(size_t kind, struct str line, struct str *rest, struct buf *ret)
{
    size_t indent = indent_of(line);
    int depth = count_braces(line);
    bool is_open = str_chr(line, '{') < line.len;

    buf_addf(ret, "%.*s\n", STR_ARG(str_trim(line)));
    while (rest->len && (kinds[kind].is_indented || !is_open || depth > 0)) {
        struct str before = *rest;

        str_cut(rest, '\n', &line);
        if (kinds[kind].is_indented && str_trim(line).len && indent_of(line) <= indent) {
            *rest = before;
            return;
        }
        depth += count_braces(line);
        is_open = is_open || str_chr(line, '{') < line.len;
        if (str_trim(line).len)
            buf_addf(ret, "%.*s\n", STR_ARG(str_trim(line)));
    }
}

/* The blocks of a file, each as one text. Attributes above the one that makes a test count, too. */
static void find_blocks(size_t kind, struct str text, struct strv *ret)
{
    CLEANUP(buf_release) struct buf above = BUF_INIT(BUF_NO_LIMIT);
    struct str line;

    while (text.len && str_cut(&text, '\n', &line)) {
        struct str plain = str_trim(line);

        if (begins(kind, plain)) {
            CLEANUP(buf_release) struct buf block = BUF_INIT(BUF_NO_LIMIT);

            buf_add(&block, buf_str(&above));
            take_block(kind, line, &text, &block);
            strv_add(ret, buf_str(&block));
            buf_clear(&above);
        } else if (str_starts(plain, STR("#[")) || str_starts(plain, STR("@"))) {
            buf_addf(&above, "%.*s\n", STR_ARG(plain));
        } else {
            buf_clear(&above);
        }
    }
}

static int read_baseline(const struct origin *o, struct str path, struct cancel *cancel,
                         struct buf *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);
    const char *const args[] = {"cat-file", "blob", NULL, NULL};
    const char *argv[ARRAY_LEN(args)];
    struct tree t = origin_tree(o);
    struct git git = tree_git(&t, cancel);

    buf_addf(&name, "%s:./%.*s", o->tree, STR_ARG(path));
    memcpy(argv, args, sizeof(args));
    argv[2] = buf_cstr(&name);
    return git_ask(&git, argv, STR(""), INLINE_MAX, ret, err);
}

static size_t kind_of(struct str path)
{
    size_t kind = 0;

    while (kind < ARRAY_LEN(kinds) && !str_ends(path, str_of(kinds[kind].end)))
        kind++;
    return kind;
}

/* The tests that changed and new files have now: one may have moved with its function. */
static void find_present(const struct origin *o, const struct origin_now *now, struct strv *ret)
{
    VEC_EACH(&now->changes, c) {
        CLEANUP(buf_release) struct buf text = {0};
        CLEANUP(mem_freep) char *full = NULL;
        size_t kind = kind_of(change_entry(c)->path);

        if (!c->is || c->is->type != INVENTORY_FILE || kind == ARRAY_LEN(kinds))
            continue;
        full = path_join(o->dir, c->is->path.ptr);
        if (file_slurp(full, INLINE_MAX, &text, /*err=*/NULL) == 0)
            find_blocks(kind, buf_str(&text), ret);
    }
}

/* 1: all tests of the file are still there. */
static int has_all(const struct origin *o, struct str path, const struct strv *present,
                   struct cancel *cancel, struct err *err)
{
    CLEANUP(strv_release) struct strv blocks = STRV_INIT;
    CLEANUP(buf_release) struct buf text = {0};
    size_t kind = kind_of(path);
    struct err why = {0};

    if (read_baseline(o, path, cancel, &text, &why) < 0)
        return why.code == ERR_CANCELLED ? err_set(err, ERR_CANCELLED, "%s", why.text) : 1;
    if (kinds[kind].is_indented && !str_has(buf_str(&text), STR("unittest")) &&
        !str_has(buf_str(&text), STR("pytest")))
        return 1;
    find_blocks(kind, buf_str(&text), &blocks);
    for (size_t i = 0; i < blocks.len; i++) {
        if (!strv_has(present, str_of(blocks.ptr[i])))
            return 0;
    }
    return 1;
}

int origin_inline_tests(const struct origin *o, const struct origin_now *now, struct cancel *cancel,
                        objection_vec *ret, struct err *err)
{
    CLEANUP(strv_release) struct strv present = STRV_INIT;

    if (o->has_tree)
        find_present(o, now, &present);
    VEC_EACH(&now->changes, c) {
        int r;

        if (!o->has_tree || !c->was || !(c->was->flags & INVENTORY_TREE) ||
            c->was->flags & (INVENTORY_PROTECTED | INVENTORY_NESTED) ||
            c->was->type != INVENTORY_FILE || c->was->size > (int64_t)INLINE_MAX ||
            kind_of(c->was->path) == ARRAY_LEN(kinds))
            continue;
        r = has_all(o, c->was->path, &present, cancel, err);
        if (r < 0)
            return -1;
        if (r == 0)
            objection_add(ret, c->is ? OBJECTION_CHANGED : OBJECTION_GONE, c->was->path,
                          "a test in it is not what it was");
    }
    return 0;
}
