/*
 * Instruction files: rows of trees, with the files that must be found, in order, and the notices.
 * Each row gets a fresh folder (@) with home/, etc/ and work/; the search starts in work/ unless it
 * says otherwise.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "context/instructions.h"
#include "sync/cancel.h"
#include "unit.h"

#define MAX_FILES 14

/* Content that stands for something else. */
#define A_DIRECTORY "<directory>"
#define A_FIFO "<fifo>"
#define UNREADABLE "<unreadable>"
#define TOO_BIG "<too big>"
#define BINARY "<binary>"
#define OWNED_BY_OTHER "<owned by somebody else>"
#define LINK_TO "-> "

struct find_case {
    const char *name;
    const char *files[MAX_FILES][2];
    const char *dir; /* NULL: "work" */
    const char *excludes[3];
    bool by_project; /* asks for it */
    const char *folders[2];
    bool no_claude;
    bool no_user;
    bool no_project;
    bool no_local;
    bool not_as_root; /* root can read everything; or: only root can make the tree */
    bool only_as_root;
    const char *expect;  /* paths below the tree, with ' ' between */
    const char *notices; /* each a part of one, in order, with '|' between; NULL: none */
};

static const struct find_case cases[] = {
    {.name = "nothing", .expect = ""},
    {.name = "a project's file", .files = {{"work/CLAUDE.md", "x"}}, .expect = "work/CLAUDE.md"},
    {.name = "every level, in order",
     .files = {{"etc/claude-code/CLAUDE.md", "1"},
               {"etc/tenax/CLAUDE.md", "2"},
               {"home/.claude/CLAUDE.md", "3"},
               {"home/.tenax/AGENTS.md", "4"},
               {"home/.claude/rules/a.md", "5"},
               {"home/.claude/rules/b/c.md", "6"},
               {"work/.git/HEAD", "ref: refs/heads/main\n"},
               {"work/CLAUDE.md", "7"},
               {"work/.claude/CLAUDE.md", "8"},
               {"work/CLAUDE.local.md", "9"},
               {"work/sub/CLAUDE.md", "a"},
               {"work/.claude/rules/z.md", "b"},
               {"work/sub/.claude/rules/y.md", "c"}},
     .dir = "work/sub",
     .expect = "etc/claude-code/CLAUDE.md etc/tenax/CLAUDE.md home/.claude/CLAUDE.md "
               "home/.tenax/AGENTS.md home/.claude/rules/a.md home/.claude/rules/b/c.md "
               "work/CLAUDE.md work/.claude/CLAUDE.md work/CLAUDE.local.md work/sub/CLAUDE.md "
               "work/.claude/rules/z.md work/sub/.claude/rules/y.md"},
    {.name = "the folders above count, those below do not",
     .files = {{"CLAUDE.md", "x"}, {"work/CLAUDE.md", "x"}, {"work/below/CLAUDE.md", "x"}},
     .expect = "CLAUDE.md work/CLAUDE.md"},
    {.name = "only some sources",
     .files = {{"etc/tenax/AGENTS.md", "m"},
               {"home/.claude/CLAUDE.md", "u"},
               {"work/CLAUDE.md", "p"},
               {"work/.claude/rules/r.md", "p"},
               {"work/CLAUDE.local.md", "l"}},
     .no_user = true,
     .no_project = true,
     .expect = "etc/tenax/AGENTS.md work/CLAUDE.local.md"},
    {.name = "no local source",
     .files = {{"work/CLAUDE.md", "p"}, {"work/CLAUDE.local.md", "l"}},
     .no_local = true,
     .expect = "work/CLAUDE.md"},
    {.name = "claudeCompat: false leaves .claude alone",
     .files = {{"home/.claude/CLAUDE.md", "x"},
               {"home/.claude/rules/r.md", "x"},
               {"home/.tenax/CLAUDE.md", "x"},
               {"work/CLAUDE.md", "x"},
               {"work/.claude/CLAUDE.md", "x"},
               {"work/.claude/rules/r.md", "x"}},
     .no_claude = true,
     .expect = "home/.tenax/CLAUDE.md work/CLAUDE.md"},

    /* AGENTS.md. */
    {.name = "AGENTS.md where there is no CLAUDE.md",
     .files = {{"work/.git/HEAD", "x"},
               {"work/AGENTS.md", "x"},
               {"work/a/CLAUDE.md", "x"},
               {"work/a/AGENTS.md", "x"},
               {"work/a/b/AGENTS.md", "x"},
               {"work/a/b/AGENTS.override.md", "x"}},
     .dir = "work/a/b",
     .expect = "work/AGENTS.md work/a/CLAUDE.md work/a/b/AGENTS.override.md"},
    {.name = "AGENTS.md only from the checkout down",
     .files = {{"AGENTS.md", "x"}, {"work/.git", "gitdir: /x"}, {"work/AGENTS.md", "x"}},
     .expect = "work/AGENTS.md"},
    {.name = "AGENTS.md without a checkout: the start directory alone",
     .files = {{"work/AGENTS.md", "x"}, {"work/a/AGENTS.md", "x"}},
     .dir = "work/a",
     .expect = "work/a/AGENTS.md"},
    {.name = "codex's own, when there is no other of the user's",
     .files = {{"home/.codex/AGENTS.md", "x"}},
     .expect = "home/.codex/AGENTS.md"},
    {.name = "codex's own gives way",
     .files = {{"home/.codex/AGENTS.md", "x"}, {"home/.tenax/AGENTS.md", "x"}},
     .expect = "home/.tenax/AGENTS.md"},
    {.name = "a link from one to the other is one file",
     .files = {{"work/AGENTS.md", "x"}, {"work/CLAUDE.md", LINK_TO "AGENTS.md"}},
     .expect = "work/CLAUDE.md"},

    /* Imports. */
    {.name = "imports follow their file, each once",
     .files = {{"work/CLAUDE.md", "@AGENTS.md @docs/a.md @docs/a.md"},
               {"work/AGENTS.md", "x"},
               {"work/docs/a.md", "@b.md @../AGENTS.md"},
               {"work/docs/b.md", "x"},
               {"work/.claude/rules/r.md", "@../../docs/b.md"}},
     .expect = "work/CLAUDE.md work/AGENTS.md work/docs/a.md work/docs/b.md "
               "work/.claude/rules/r.md"},
    {.name = "a cycle",
     .files = {{"work/CLAUDE.md", "@a.md @CLAUDE.md"},
               {"work/a.md", "@b.md"},
               {"work/b.md", "@a.md"}},
     .expect = "work/CLAUDE.md work/a.md work/b.md"},
    {.name = "five deep and no deeper",
     .files = {{"work/CLAUDE.md", "@1.md"},
               {"work/1.md", "@2.md"},
               {"work/2.md", "@3.md"},
               {"work/3.md", "@4.md"},
               {"work/4.md", "@5.md"},
               {"work/5.md", "@6.md"},
               {"work/6.md", "x"}},
     .expect = "work/CLAUDE.md work/1.md work/2.md work/3.md work/4.md work/5.md",
     .notices = "work/6.md' is imported more than 5 deep"},
    {.name = "what is not there",
     .files = {{"work/CLAUDE.md", "@no.md @alice @types/node @./rel"}},
     .expect = "work/CLAUDE.md",
     .notices = "imports 'no.md', which is not there|imports './rel', which is not there"},
    {.name = "a word that is a file after all",
     .files = {{"work/CLAUDE.md", "@Makefile @docs"},
               {"work/Makefile", "all:"},
               {"work/docs/x", ""}},
     .expect = "work/CLAUDE.md work/Makefile"},
    {.name = "a project does not reach outside",
     .files = {{"work/CLAUDE.md", "@../secret.txt @~/key.txt @link.md"},
               {"secret.txt", "x"},
               {"home/key.txt", "x"},
               {"work/link.md", LINK_TO "../secret.txt"}},
     .expect = "work/CLAUDE.md",
     .notices = "secret.txt', which is outside of the project|home/key.txt', which is outside|"
                "secret.txt', which is outside"},
    {.name = "an instruction file that is a link to outside",
     .files = {{"work/CLAUDE.md", LINK_TO "../secret.txt"}, {"secret.txt", "x"}},
     .expect = "",
     .notices = "work/CLAUDE.md' leads out of the project"},
    {.name = "a folder of rules that is a link to outside",
     .files = {{"home/notes/private.md", "x"}, {"work/.claude/rules", LINK_TO "../../home/notes"}},
     .expect = "",
     .notices = "rules/private.md' leads out of the project"},
    {.name = "the whole checkout is inside",
     .files = {{"work/.git/HEAD", "x"},
               {"work/a/CLAUDE.md", "@../docs/x.md"},
               {"work/docs/x.md", "x"}},
     .dir = "work/a",
     .expect = "work/a/CLAUDE.md work/docs/x.md"},
    {.name = "so are added folders",
     .files = {{"work/CLAUDE.md", "@../more/x.md"}, {"more/x.md", "x"}},
     .folders = {"more"},
     .expect = "work/CLAUDE.md more/x.md"},
    {.name = "the user's own may lead anywhere",
     .files = {{"home/.claude/CLAUDE.md", "@~/notes.md @../../else.md"},
               {"home/notes.md", "x"},
               {"else.md", "x"}},
     .expect = "home/.claude/CLAUDE.md home/notes.md else.md"},

    /* Rules. */
    {.name = "rules with paths wait; others do not; only .md",
     .files = {{"work/.claude/rules/a.md", "---\npaths: [\"*.c\"]\n---\nx"},
               {"work/.claude/rules/b.md", "---\nx: y\n---\nx"},
               {"work/.claude/rules/c.txt", "x"},
               {"work/.claude/rules/.d.md", "x"}},
     .expect = "work/.claude/rules/b.md"},
    {.name = "rules in a ring of links",
     .files = {{"work/.claude/rules/a/x.md", "x"}, {"work/.claude/rules/a/up", LINK_TO ".."}},
     .expect = "work/.claude/rules/a/x.md"},

    /* Excludes. */
    {.name = "excluded by glob and by path; the managed one stays",
     .files = {{"etc/tenax/CLAUDE.md", "x"},
               {"CLAUDE.md", "x"},
               {"work/CLAUDE.md", "@notes/n.md"},
               {"work/notes/n.md", "x"},
               {"work/.claude/rules/r.md", "x"}},
     .excludes = {"@/CLAUDE.md", "**/rules/**", "notes/*.md"},
     .expect = "etc/tenax/CLAUDE.md work/CLAUDE.md"},
    {.name = "a project leaves out files of its own, not the user's",
     .files = {{"home/.claude/CLAUDE.md", "x"},
               {"home/.claude/rules/r.md", "x"},
               {"work/CLAUDE.md", "x"},
               {"work/.claude/rules/r.md", "x"}},
     .excludes = {"**/CLAUDE.md", "**/rules/**"},
     .by_project = true,
     .expect = "home/.claude/CLAUDE.md home/.claude/rules/r.md"},

    /* Files that cannot be used. */
    {.name = "a directory in place of the file",
     .files = {{"work/CLAUDE.md", A_DIRECTORY}, {"work/AGENTS.md", "x"}},
     .expect = "",
     .notices = "work/CLAUDE.md' is a directory, not a file; left out"},
    {.name = "a pipe in place of the file",
     .files = {{"work/CLAUDE.md", A_FIFO}},
     .expect = "",
     .notices = "work/CLAUDE.md' is a device or pipe, not a file; left out"},
    {.name = "a link to nowhere", .files = {{"work/CLAUDE.md", LINK_TO "gone"}}, .expect = ""},
    {.name = "unreadable",
     .files = {{"work/CLAUDE.md", UNREADABLE}, {"work/CLAUDE.local.md", "x"}},
     .not_as_root = true,
     .expect = "work/CLAUDE.local.md",
     .notices = "cannot open"},
    {.name = "too big",
     .files = {{"work/CLAUDE.md", TOO_BIG}, {"work/CLAUDE.local.md", "x"}},
     .expect = "work/CLAUDE.local.md",
     .notices = "work/CLAUDE.md' has 4194305 bytes; the limit is 4194304; left out"},
    {.name = "binary",
     .files = {{"work/CLAUDE.md", BINARY},
               {"work/CLAUDE.local.md", "@x.png"},
               {"work/x.png", BINARY}},
     .expect = "work/CLAUDE.local.md",
     .notices = "work/CLAUDE.md' is not text; left out|work/x.png' is not text; left out"},
    {.name = "not UTF-8",
     .files = {{"work/CLAUDE.md", "caf\xe9"}},
     .expect = "work/CLAUDE.md",
     .notices = "work/CLAUDE.md' is not valid UTF-8; 1 bytes were replaced"},
    {.name = "somebody else's, above the checkout",
     .files = {{"CLAUDE.md", OWNED_BY_OTHER}, {"work/CLAUDE.md", OWNED_BY_OTHER}},
     .only_as_root = true,
     .expect = "work/CLAUDE.md",
     .notices = "CLAUDE.md' belongs to another user; left out"},
};

static char root[] = "/tmp/tenax-instructions-XXXXXX";

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void make_file(const char *name, const char *content)
{
    CLEANUP(mem_freep) char *path = path_join(root, name);
    CLEANUP(mem_freep) char *folder = path_dirname(path);
    struct str text = str_of(content);

    assert_int_equal(file_mkdirs(folder, 0700, NULL), 0);
    if (strcmp(content, A_DIRECTORY) == 0) {
        assert_int_equal(mkdir(path, 0700), 0);
    } else if (strcmp(content, A_FIFO) == 0) {
        assert_int_equal(mkfifo(path, 0600), 0);
    } else if (str_starts(text, STR(LINK_TO))) {
        assert_int_equal(symlink(content + strlen(LINK_TO), path), 0);
    } else if (strcmp(content, BINARY) == 0) {
        assert_int_equal(file_replace(path,
                                      STR("\x7f"
                                          "ELF\0\0"),
                                      0600, NULL),
                         0);
    } else {
        assert_int_equal(
            file_replace(path, text, strcmp(content, UNREADABLE) == 0 ? 0 : 0600, NULL), 0);
        if (strcmp(content, TOO_BIG) == 0)
            assert_int_equal(truncate(path, INSTRUCTIONS_MAX_FILE + 1), 0);
        if (strcmp(content, OWNED_BY_OTHER) == 0)
            assert_int_equal(chown(path, 12345, 12345), 0);
    }
}

static void make_tree(void)
{
    static const char *const folders[] = {"home", "etc", "work", "more"};

    memcpy(root + strlen(root) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, folders[i]);

        assert_int_equal(mkdir(path, 0700), 0);
    }
}

static void remove_tree(void)
{
    assert_int_equal(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The files found at the start, or (path not NULL) when that file is read. */
static int look(const struct find_case *c, const char *path, const struct instructions *known,
                struct cancel *cancel, struct instructions *io, struct buf *ret_words,
                struct err *err)
{
    CLEANUP(mem_freep) char *dir = path_join(root, c->dir ? c->dir : "work");
    CLEANUP(mem_freep) char *home = path_join(root, "home");
    CLEANUP(mem_freep) char *claude = path_join(home, ".claude");
    CLEANUP(mem_freep) char *tenax = path_join(home, ".tenax");
    CLEANUP(mem_freep) char *codex = path_join(home, ".codex");
    CLEANUP(mem_freep) char *etc = path_join(root, "etc");
    CLEANUP(strv_release) struct strv excludes = STRV_INIT;
    CLEANUP(strv_release) struct strv folders = STRV_INIT;
    struct instructions_spec spec = {
        .dir = dir,
        .user_home = home,
        .claude_home = c->no_claude ? NULL : claude,
        .tenax_home = tenax,
        .codex_home = codex,
        .etc = etc,
        .no_user = c->no_user,
        .no_project = c->no_project,
        .no_local = c->no_local,
        .folders = &folders,
        .excludes = c->by_project ? NULL : &excludes,
        .project_excludes = c->by_project ? &excludes : NULL,
    };

    for (size_t i = 0; i < ARRAY_LEN(c->excludes) && c->excludes[i]; i++)
        strv_addf(&excludes, "%s%s", c->excludes[i][0] == '@' ? root : "",
                  c->excludes[i] + (c->excludes[i][0] == '@'));
    for (size_t i = 0; i < ARRAY_LEN(c->folders) && c->folders[i]; i++)
        strv_addf(&folders, "%s/%s", root, c->folders[i]);
    if (path)
        return instructions_near(&spec, known, path, cancel, io, ret_words, err);
    return instructions_find(&spec, cancel, io, err);
}

static int find(const struct find_case *c, struct cancel *cancel, struct instructions *ret,
                struct err *err)
{
    return look(c, NULL, NULL, cancel, ret, NULL, err);
}

static void check_notices(const struct find_case *c, const struct instructions *found)
{
    struct str rest = str_of(c->notices);
    struct str want;
    size_t i = 0;

    while (c->notices && str_cut(&rest, '|', &want)) {
        if (i == found->notices.len || !str_has(str_of(found->notices.ptr[i]), want))
            fail_msg("%s: notice %zu is '%s', not '...%.*s...'", c->name, i,
                     i < found->notices.len ? found->notices.ptr[i] : "", STR_ARG(want));
        i++;
    }
    if (i < found->notices.len)
        fail_msg("%s: one notice too many: '%s'", c->name, found->notices.ptr[i]);
}

static void finds(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct find_case *c = &cases[i];
        CLEANUP(instructions_release) struct instructions found = {0};
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);

        if ((c->not_as_root && geteuid() == 0) || (c->only_as_root && geteuid() != 0))
            continue;
        make_tree();
        for (size_t k = 0; k < MAX_FILES && c->files[k][0]; k++)
            make_file(c->files[k][0], c->files[k][1]);
        assert_int_equal(find(c, NULL, &found, NULL), 0);
        VEC_EACH(&found.files, file) {
            buf_addf(&got, "%s%s", got.len ? " " : "", file->path + strlen(root) + 1);
        }
        if (!str_is(buf_str(&got), c->expect))
            fail_msg("%s:\nfound '%s'\nnot   '%s'", c->name, buf_cstr(&got), c->expect);
        check_notices(c, &found);
        remove_tree();
    }
}

static void total_is_limited(void **state)
{
    static const struct find_case nothing = {.name = "total"};
    CLEANUP(instructions_release) struct instructions found = {0};
    CLEANUP(buf_release) struct buf big = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *path = NULL;

    (void)state;
    make_tree();
    buf_adds(&big, "x");
    while (big.len < INSTRUCTIONS_MAX_TOTAL)
        buf_adds(&big, "\xc3\xa9");
    path = path_join(root, "work/CLAUDE.md");
    assert_int_equal(file_replace(path, buf_str(&big), 0600, NULL), 0);
    make_file("work/CLAUDE.local.md", "more");
    assert_int_equal(find(&nothing, NULL, &found, NULL), 0);
    assert_int_equal(found.files.len, 1);
    assert_int_equal(found.bytes, INSTRUCTIONS_MAX_TOTAL - 1); /* never inside a character */
    assert_true(str_has(buf_str(&found.files.ptr[0].text), STR("\n[cut: ")));
    assert_int_equal(found.notices.len, 2);
    assert_true(str_has(str_of(found.notices.ptr[0]), STR("limited to 256 KB")));
    assert_true(str_has(str_of(found.notices.ptr[1]), STR("too many")));
    remove_tree();
}

static void cancel_stops(void **state)
{
    static const struct find_case nothing = {.name = "cancel"};
    CLEANUP(cancel_unrefp) struct cancel *cancel = cancel_new(NULL);
    struct instructions found;
    struct err err = {0};

    (void)state;
    make_tree();
    make_file("work/CLAUDE.md", "x");
    cancel_set(cancel);
    assert_int_equal(find(&nothing, cancel, &found, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    remove_tree();
}

static void news(void **state)
{
    static const struct find_case nothing = {.name = "news"};
    CLEANUP(instructions_release) struct instructions before = {0};
    CLEANUP(instructions_release) struct instructions now = {0};
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    make_tree();
    make_file("CLAUDE.md", "stays");
    make_file("work/CLAUDE.md", "old @x.md");
    make_file("work/x.md", "goes");
    assert_int_equal(find(&nothing, NULL, &before, NULL), 0);
    instructions_write_news(&before, &before, &text);
    assert_int_equal(text.len, 0);
    make_file("work/CLAUDE.md", "new");
    assert_int_equal(find(&nothing, NULL, &now, NULL), 0);
    instructions_write_news(&before, &now, &text);
    assert_true(str_has(buf_str(&text), STR("\n\nnew\n\n")));
    assert_true(str_has(buf_str(&text), STR("x.md\n\nNo longer applies.")));
    assert_false(str_has(buf_str(&text), STR("stays")));
    remove_tree();
}

/* One session reads these files one after the other. */
static void near(void **state)
{
    static const struct {
        const char *read;
        const char *expect; /* the files the model gets, with ' ' between */
    } rows[] = {
        {"work/top.c", ""},
        {"work/a/b/x.c", "work/a/CLAUDE.md work/a/more.md work/a/b/AGENTS.md"},
        {"work/a/b/y.c", ""},
        {"work/src/x.ts", "home/.claude/rules/ts.md work/.claude/rules/src.md"},
        {"work/src/deep/y.tsx", ""},
        {"work/c/x.c", "work/c/.claude/rules/all.md"},
        {"work/c/in/x.h", "work/c/.claude/rules/h.md"},
        {"work/node_modules/m/x.c", ""},
        {"work/.hidden/x.c", ""},
        {"more/x.c", ""},
        {"work/bad/x.c", ""},
    };
    static const char *const files[][2] = {
        {"work/.git/HEAD", "x"},
        {"work/CLAUDE.md", "at the start"},
        {"work/a/CLAUDE.md", "@more.md"},
        {"work/a/more.md", "x"},
        {"work/a/b/AGENTS.md", "x"},
        {"home/.claude/rules/ts.md", "---\npaths: \"**/*.{ts,tsx}\"\n---\nx"},
        {"work/.claude/rules/src.md", "---\npaths:\n  - src/**\n---\nx"},
        {"work/.claude/rules/never.md", "---\npaths: lib/**\n---\nx"},
        {"work/c/.claude/rules/all.md", "x"},
        {"work/c/.claude/rules/h.md", "---\npaths: in/*.h\n---\nx"},
        {"work/node_modules/m/CLAUDE.md", "x"},
        {"work/.hidden/CLAUDE.md", "x"},
        {"more/CLAUDE.md", "x"},
        {"work/bad/CLAUDE.md", A_DIRECTORY},
    };
    static const struct find_case nothing = {.name = "near"};
    CLEANUP(instructions_release) struct instructions known = {0};
    CLEANUP(instructions_release) struct instructions io = {0};

    (void)state;
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        make_file(files[i][0], files[i][1]);
    assert_int_equal(find(&nothing, NULL, &known, NULL), 0);
    assert_int_equal(known.files.len, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(mem_freep) char *path = path_join(root, rows[i].read);
        CLEANUP(buf_release) struct buf words = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        size_t before = io.files.len;

        assert_int_equal(look(&nothing, path, &known, NULL, &io, &words, NULL), 0);
        for (size_t k = before; k < io.files.len; k++) {
            buf_addf(&got, "%s%s", got.len ? " " : "", io.files.ptr[k].path + strlen(root) + 1);
            assert_true(str_has(buf_str(&words), str_of(io.files.ptr[k].path)));
        }
        if (!str_is(buf_str(&got), rows[i].expect) || (words.len > 0) != (got.len > 0))
            fail_msg("%s: found '%s', not '%s'", rows[i].read, buf_cstr(&got), rows[i].expect);
    }
    assert_int_equal(io.notices.len, 1);
    assert_true(str_has(str_of(io.notices.ptr[0]), STR("bad/CLAUDE.md' is a directory")));
    remove_tree();
}

UNIT_TEST(instructions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),        cmocka_unit_test(total_is_limited),
        cmocka_unit_test(cancel_stops), cmocka_unit_test(news),
        cmocka_unit_test(near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
