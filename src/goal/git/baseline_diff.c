/*
 * baseline_diff: the changes from a state, in a limited number of bytes. Of a diff that is too long
 * each file gets a fair share: short ones stay whole, the rest is divided among long ones. Any
 * thread; waits for git.
 */
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "goal/git/baseline.h"
#include "goal/git/git.h"
#include "goal/git/staging.h"

#define DIFF_MAX_STAT ((size_t)16 << 20)  /* bytes read of it */
#define DIFF_MAX_HUNKS ((size_t)32 << 20) /* the same */
#define DIFF_LEAST 240                    /* bytes; a file with less is left out and named */
#define DIFF_NOTE 200                     /* bytes kept free for notes about omissions */
#define DIFF_MAX_FILES 200                /* lines of a plan */

/* ---- lines of a stat ---- */

/* Lines of new files, or of all others, as long as they fit; gives how many did not. */
static size_t add_stat_lines(struct str lines, bool new, size_t max, struct buf *ret)
{
    struct str line;
    size_t left_out = 0;

    while (lines.len && str_cut(&lines, '\n', &line)) {
        if (str_has(line, STR(" (new")) != new)
            continue;
        if (left_out || ret->len + line.len > max) {
            left_out++;
            continue;
        }
        buf_add(ret, line);
        buf_addc(ret, '\n');
    }
    return left_out;
}

/* As many lines as fit; always the last, which sums up. Existing files come first: an edit cannot
 * be hidden after a thousand new files. */
static void cut_stat(struct str all, size_t max, struct buf *ret)
{
    struct str sum = str_trim(all);
    struct str lines;
    size_t left_out;
    size_t room;

    buf_init(ret, BUF_NO_LIMIT);
    if (all.len <= max) {
        buf_add(ret, all);
        return;
    }
    lines = sum;
    while (lines.len && lines.ptr[lines.len - 1] != '\n')
        lines.len--;
    sum = str_from(sum, lines.len);
    room = max > sum.len + 60 ? max - sum.len - 60 : 0;
    left_out = add_stat_lines(lines, /*new=*/false, room, ret);
    left_out += add_stat_lines(lines, /*new=*/true, left_out ? 0 : room, ret);
    buf_addf(ret, " … %zu more files\n ", left_out);
    buf_add(ret, str_trim(sum));
    buf_addc(ret, '\n');
}

/* ---- fair shares ---- */

struct section {
    struct str text;  /* of one file, from "diff --git" on */
    size_t share;     /* bytes it may have */
    struct str title; /* for naming it */
};

typedef VEC(struct section) section_vec;

static bool is_new_file(const struct section *s)
{
    struct str head = str_first(s->text, str_find(s->text, STR("\n@@ ")));

    return str_has(head, STR("\nnew file mode "));
}

/* New files after the others; returns their number. */
static size_t put_new_last(section_vec *v)
{
    section_vec sorted = VEC_INIT;
    size_t old = 0;

    for (int pass = 0; pass < 2; pass++) {
        VEC_EACH(v, s) {
            if (is_new_file(s) == (pass == 1))
                vec_push(&sorted, *s);
        }
        old = pass == 0 ? sorted.len : old;
    }
    vec_release(v);
    *v = sorted;
    return old;
}

/* No line of a hunk begins with a letter, so this one always begins a file. */
static void find_sections(struct str all, section_vec *ret)
{
    static const struct str mark = STR_INIT("diff --git ");
    size_t start = 0;

    while (start < all.len) {
        struct str rest = str_from(all, start);
        size_t next = str_find(rest, STR("\ndiff --git "));
        struct section s = {.text = str_first(rest, next < rest.len ? next + 1 : rest.len)};

        s.title = str_first(s.text, str_chr(s.text, '\n'));
        if (str_starts(s.title, mark))
            s.title = str_from(s.title, mark.len);
        vec_push(ret, s);
        start += s.text.len;
    }
}

/* The largest share that all together may have; gives what they leave. */
static size_t give_shares(struct section *v, size_t count, size_t max)
{
    size_t open = count;
    size_t left = max;
    bool changed = true;

    while (open && changed) {
        size_t each = left / open;

        changed = false;
        for (size_t i = 0; i < count; i++) {
            struct section *s = &v[i];

            if (!s->share && s->text.len <= each) { /* takes less than it may: the rest is free */
                s->share = s->text.len;
                left -= s->share;
                open--;
                changed = true;
            }
        }
        if (!changed) {
            for (size_t i = 0; i < count; i++) {
                if (v[i].share)
                    continue;
                v[i].share = each;
                left -= each;
            }
        }
    }
    return left;
}

static void add_section(const struct section *s, struct buf *ret)
{
    struct str shown = s->text;

    if (s->share < s->text.len) {
        shown = str_first(s->text, s->share > 60 ? s->share - 60 : s->share);
        while (shown.len && shown.ptr[shown.len - 1] != '\n')
            shown.len--;
    }
    buf_add(ret, shown);
    if (shown.len < s->text.len)
        buf_addf(ret, "… %zu more bytes of this file's diff are left out\n",
                 s->text.len - shown.len);
}

/* All files are taken for text, whatever attributes say of them: they are easily written. Those
 * that are none lose their hunks here. */
static void leave_out_binary(struct buf *all)
{
    section_vec v = VEC_INIT;
    struct buf kept = BUF_INIT(BUF_NO_LIMIT);

    if (str_chr(buf_str(all), '\0') == all->len)
        return;
    find_sections(buf_str(all), &v);
    VEC_EACH(&v, s) {
        struct str head = str_first(s->text, str_find(s->text, STR("\n@@ ")));

        if (str_chr(s->text, '\0') == s->text.len) {
            buf_add(&kept, s->text);
            continue;
        }
        buf_add(&kept, head);
        buf_adds(&kept, "\nBinary content differs\n");
    }
    vec_release(&v);
    buf_move(all, &kept);
}

static void cut_hunks(struct str all, bool unread, size_t max, struct buf *ret)
{
    section_vec v = VEC_INIT;
    size_t room = max > DIFF_NOTE ? max - DIFF_NOTE : 0;
    size_t old, for_old, count;

    buf_init(ret, BUF_NO_LIMIT);
    if (all.len <= max && !unread) {
        buf_add(ret, all);
        return;
    }
    find_sections(all, &v);
    old = put_new_last(&v);
    for_old = old < v.len ? room - room / 4 : room; /* they may take most, and come first */
    old = old < for_old / DIFF_LEAST ? old : for_old / DIFF_LEAST;
    room = room - for_old + give_shares(v.ptr, old, for_old);
    count = old + room / DIFF_LEAST < v.len ? old + room / DIFF_LEAST : v.len;
    give_shares(v.ptr + old, count - old, room);
    for (size_t i = 0; i < count; i++)
        add_section(&v.ptr[i], ret);
    if (v.len > count) {
        size_t limit = ret->len < max ? max - ret->len : 0;
        size_t named = 0;

        buf_addf(ret, "… the diffs of %zu more files are left out:", v.len - count);
        for (size_t i = count; i < v.len && named + v.ptr[i].title.len + 70 < limit; i++) {
            buf_addf(ret, " %.*s;", STR_ARG(v.ptr[i].title));
            named += v.ptr[i].title.len + 2;
        }
        buf_addc(ret, '\n');
    }
    if (unread)
        buf_adds(ret, "… the diff is too long to be read to its end\n");
    vec_release(&v);
}

/* ---- between two states ---- */

static int diff_ask(const struct git *g, const char *how, const char *more, const char *from,
                    const char *to, size_t max, struct git_said *ret, struct err *err)
{
    const char *const args[] = {"diff-tree",     "-r",         "-M", how, more, "--no-ext-diff",
                                "--no-textconv", "--no-color", from, to,  NULL};

    if (git_run(g, args, STR(""), max, ret, err) < 0)
        return -1;
    return ret->code ? git_failed(ret, "diff-tree", err) : 0;
}

int baseline_diff_trees(const struct git *git, const char *from, const char *to,
                        struct buf *ret_stat, size_t max_stat, struct buf *ret_hunks,
                        size_t max_hunks, struct err *err)
{
    CLEANUP(git_said_release) struct git_said stat = {0};
    CLEANUP(git_said_release) struct git_said hunks = {0};

    if (ret_stat && diff_ask(git, "--stat=120,90", "--compact-summary", from, to, DIFF_MAX_STAT,
                             &stat, err) < 0)
        return -1;
    if (ret_hunks && diff_ask(git, "-p", "--text", from, to, DIFF_MAX_HUNKS, &hunks, err) < 0)
        return -1;
    if (ret_stat) {
        buf_release(ret_stat);
        cut_stat(buf_str(&stat.out), max_stat, ret_stat);
    }
    if (ret_hunks) {
        buf_release(ret_hunks);
        leave_out_binary(&hunks.out);
        cut_hunks(buf_str(&hunks.out), hunks.cut, max_hunks, ret_hunks);
    }
    return 0;
}

/* ---- the plan of an undo ---- */

static void add_plan_line(struct str status, struct str path, struct buf *ret)
{
    buf_adds(ret, str_is(status, "A")   ? "remove     "
                  : str_is(status, "D") ? "bring back "
                                        : "restore    ");
    for (size_t i = 0; i < path.len; i++)
        buf_addc(ret, (unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7f ? '?' : path.ptr[i]);
    buf_addc(ret, '\n');
}

int baseline_undo_plan(const struct baseline *b, const char *commit, struct cancel *cancel,
                       struct buf *ret_list, size_t *ret_count, struct err *err)
{
    struct git git = staging_git(b, git_now_ms() + BASELINE_TIMEOUT_MS, cancel);
    char tree[GIT_ID];
    const char *const args[] = {"diff-tree",    "-r",   "-z", "--name-status",
                                "--no-renames", commit, tree, NULL};
    CLEANUP(buf_release) struct buf out = {0};
    struct buf list = BUF_INIT(BUF_NO_LIMIT);
    struct str rest;
    struct str status;
    struct str path;
    size_t count = 0;

    if (baseline_check_commit(commit, err) < 0 ||
        staging_tree(b, git.deadline_ms, cancel, tree, err) < 0 ||
        git_ask(&git, args, STR(""), STAGING_MAX_LIST, &out, err) < 0)
        return -1;
    rest = buf_str(&out);
    while (rest.len && str_cut(&rest, '\0', &status) && str_cut(&rest, '\0', &path)) {
        if (count++ < DIFF_MAX_FILES)
            add_plan_line(status, path, &list);
    }
    if (count > DIFF_MAX_FILES)
        buf_addf(&list, "and %zu more\n", count - DIFF_MAX_FILES);
    buf_move(ret_list, &list);
    *ret_count = count;
    return 0;
}
