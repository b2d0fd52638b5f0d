/*
 * Hostile text in every place of a case, and as an answer.
 *
 * A case is valid UTF-8, keeps to its ceiling, and has lines of three kinds only: material with the
 * number of the block it stands in, notes of ours in that block, and words of ours, which are the
 * same whatever the material says. An answer that is taken has a reason, and never says ok beside a
 * criterion that does not hold. The first two bytes choose the ceiling and the number of results.
 */
#include "goal/judge/judge.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "goal/check.h"
#include "json/json.h"

#define ITEMS 6

static const char *const our_words[] = {
    "",
    "## End of the material",
    "A goal is to be judged. Below are numbered",
    "Judge the condition of block 1, all of it",
    "The goal has no checks.",
    "There is no diff: the workspace is not under git",
    "The diff is missing, which does not mean",
    "9 more changed files are not listed.",
    "3 earlier calls, which name nothing of that kind, are not shown: 3 of ",
    "The diff is empty: no file that git would see",
    "There are no results of tools: the agent has",
    "The agent has said nothing about its work.",
    "A block is left out for want of room.",
    "1 checks are left out for want of room.",
};

static const char *const our_titles[] = {
    "The condition, as the user wrote it: this is what you judge",
    "What tenax itself noticed: settle this first",
    "Changed files that the check reads",
    "Files that are part of the check and that the agent may change",
    "Changed files that are protected",
    "Other changed files",
    ("Calls of the agent since the goal was set that touched tests, configuration, ignored files, "
     "git's state or files outside the workspace"),
    "NO DIFF could be made, and this is why",
    "A check, run by tenax itself: passed (exit code 0, 0.0 s)",
    "Files that differ from when the goal was set, as git sees them",
    "The same as a diff",
    "Processes of the agent that still run",
    "A claim: what the agent says it has done",
    "Why the verdict before this one was: not met",
    "Criteria of the verdict before: use the same texts again",
};

static const char *const our_notes[] = {
    "the command:",
    "its output:",
    "called with:",
    "printed:",
    "printed nothing",
    "cut here: ",
    "2 more calls of this kind are lost",
};

static bool is_one_of(struct str line, const char *const *words, size_t count, bool whole)
{
    for (size_t i = 0; i < count; i++) {
        struct str word = str_of(words[i]);

        if (str_eq(line, word) || (!whole && word.len && str_starts(line, word)))
            return true;
    }
    return false;
}

static bool is_call_title(struct str title)
{
    struct str rest = str_from(title, 10);

    if (!str_starts(title, STR("A call of ")))
        return false;
    if (!str_starts(rest, STR("a tool by"))) {
        size_t at = 0;

        while (at < rest.len &&
               (str_is_alnum(rest.ptr[at]) || rest.ptr[at] == '_' || rest.ptr[at] == '-'))
            at++;
        rest = str_from(rest, at);
        return str_is(rest, " by the agent, and what it printed") ||
               str_is(rest, " by the agent, and what it printed (it failed)");
    }
    return true;
}

/* Digits at the front of a line; 0: none. */
static size_t take_number(struct str *line)
{
    size_t n = 0;
    size_t at = 0;

    while (at < line->len && at < 9 && line->ptr[at] >= '0' && line->ptr[at] <= '9')
        n = n * 10 + (size_t)(line->ptr[at++] - '0');
    *line = str_from(*line, at);
    return n;
}

static bool is_visible(struct str line)
{
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static void check_line(struct str line, size_t *block)
{
    struct str rest = line;
    size_t number;

    FUZZ_CHECK(is_visible(line));
    if (is_one_of(line, our_words, ARRAY_LEN(our_words), /*whole=*/false))
        return;
    if (str_starts(line, STR("## "))) {
        rest = str_from(line, 3);
        FUZZ_CHECK(take_number(&rest) == *block + 1);
        FUZZ_CHECK(str_starts(rest, STR(". ")));
        rest = str_from(rest, 2);
        FUZZ_CHECK(is_one_of(rest, our_titles, ARRAY_LEN(our_titles), /*whole=*/true) ||
                   is_call_title(rest));
        ++*block;
        return;
    }
    number = take_number(&rest);
    if (str_is(rest, " older results of tools are left out for want of room."))
        return;
    FUZZ_CHECK(number == *block && rest.len >= 2 && rest.ptr[1] == ' ');
    if (rest.ptr[0] == '#')
        FUZZ_CHECK(is_one_of(str_from(rest, 2), our_notes, ARRAY_LEN(our_notes), false));
    else
        FUZZ_CHECK(rest.ptr[0] == '|' || rest.ptr[0] == '+');
}

static void check_case(struct str text, int64_t tokens, size_t items)
{
    struct check_result check = {
        .command = BUF_INIT(1 << 20), .tail = BUF_INIT(1 << 20), .passed = true, .bytes = text.len};
    struct judge_item list[ITEMS];
    struct buf out = BUF_INIT(8 << 20);
    struct str half = str_from(text, text.len / 2);
    const struct judge_change changes[] = {{text, half, STR("the check reads it")},
                                           {half, text, STR("protected")},
                                           {half, half, text}};
    const struct judge_left_out left_out = {text, 3};
    struct judge_case c = {
        .objective = text,
        .objections = half,
        .part_of_check = text,
        .changes = changes,
        .change_count = ARRAY_LEN(changes),
        .changes_left_out = 9,
        .diff_error = text.len % 3 ? half : STR(""),
        .touched = list,
        .touched_count = items,
        .touched_left_out = 2,
        .left_out = &left_out,
        .left_out_count = 1,
        .checks = &check,
        .check_count = 1,
        .diff_stat = half,
        .diff_hunks = text,
        .has_baseline = text.len % 2,
        .claim = half,
        .items = list,
        .item_count = items,
        .services = half,
        .last_reason = text,
        .criteria = text,
    };
    struct str rest;
    struct str line;
    size_t block = 0;

    buf_add(&check.command, half);
    buf_add(&check.tail, text);
    for (size_t i = 0; i < items; i++)
        list[i] = (struct judge_item){text, half, i % 3 ? text : half, i % 2};
    judge_case_write(&c, tokens, &out);
    FUZZ_CHECK(!out.over && out.len <= (tokens < 2048 ? 8192 : (size_t)tokens * 4));
    FUZZ_CHECK(utf8_is_valid(buf_str(&out)));
    rest = buf_str(&out);
    while (str_cut(&rest, '\n', &line))
        check_line(line, &block);
    FUZZ_CHECK(block >= 1);
    FUZZ_CHECK(str_ends(buf_str(&out), STR("Then give your verdict.\n")));
    check_result_release(&check);
    buf_release(&out);
}

static void check_read(struct str text)
{
    struct judge_verdict v = JUDGE_VERDICT_INIT;
    struct arena arena = ARENA_INIT;
    const struct json *criteria = NULL;
    struct err err = {0};

    if (judge_read_text(text, &v, &err) < 0) {
        FUZZ_CHECK(err.code == ERR_PROTOCOL && !v.ok && !v.reason.len && !v.criteria.len);
    } else {
        FUZZ_CHECK(v.reason.len && v.reason.len <= JUDGE_MAX_REASON && !v.reason.over);
        FUZZ_CHECK(utf8_is_valid(buf_str(&v.reason)));
        FUZZ_CHECK(!(v.ok && v.impossible));
        FUZZ_CHECK(str_has(text, STR("\"ok\"")) || str_has(text, STR("\\u")));
        if (v.criteria.len)
            FUZZ_CHECK(json_parse(&arena, buf_str(&v.criteria), &criteria, NULL, &err) == 0);
        FUZZ_CHECK(json_len(criteria) <= JUDGE_MAX_CRITERIA);
        JSON_EACH(criteria, it) {
            FUZZ_CHECK(json_get_str(it, "text").len);
            FUZZ_CHECK(!v.ok || str_is(json_get_str(it, "state"), "met"));
        }
    }
    arena_release(&arena);
    judge_verdict_release(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = str_make((const char *)data, size);

    if (size < 2 || size > 4096)
        return 0;
    check_read(str_from(bytes, 2));
    check_case(str_from(bytes, 2), (int64_t)data[0] * 64 + 1, data[1] % (ITEMS + 1));
    return 0;
}
