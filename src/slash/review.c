/*
 * /review: the model reviews what has changed, or a pull request.
 */
#include "slash/answer.h"

static int review_run(struct slash_call *call, struct err *err);

const struct slash_command slash_review_entry = {
    .name = "review",
    .hint = "[<pull request> | what to look at]",
    .summary = "Have the model review your changes, or a pull request by its number",
    .more = "Without arguments it reviews uncommitted changes, or else what the current branch "
            "adds to the main one. A number is a pull request, read with `gh`. It changes nothing.",
    .gives_way = true,
    .run = review_run,
};

static const char how[] =
    "Read the changed code in its files, not only the diff, so that you see what calls it and what "
    "it calls. Change nothing and commit nothing.\n\n"
    "Report only what the author would want to fix before this is merged: wrong results, crashes, "
    "lost data, races, security problems, broken callers, missing error handling, missing tests "
    "for "
    "new behaviour. Check each finding against the code before you report it. Leave out style and "
    "anything you cannot point to.\n\n"
    "Answer with one sentence on what the change does, then the findings, the most serious first: "
    "`file:line`, what goes wrong and when, and how to fix it. If there is nothing to fix, say "
    "so.\n";

static bool is_number(struct str s)
{
    if (str_starts(s, STR("#")))
        s = str_from(s, 1);
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    }
    return s.len > 0;
}

static int review_run(struct slash_call *call, struct err *err)
{
    struct str what = slash_word(call->args);
    bool is_request = is_number(what);
    struct str rest = is_request ? str_trim(str_from(call->args, what.len)) : call->args;

    (void)err;
    if (is_request)
        buf_addf(&call->prompt,
                 "Review pull request %.*s. `gh pr view %.*s` has its description and `gh pr diff "
                 "%.*s` its changes; if gh is missing or not logged in, report that and stop.\n\n",
                 STR_ARG(what), STR_ARG(what), STR_ARG(what));
    else
        buf_adds(&call->prompt,
                 "Review the changes in this repository that are not committed: `git status` and "
                 "`git diff HEAD`, and new files that git does not track yet. If there are none, "
                 "review what the current branch adds to the main branch: `git diff "
                 "main...HEAD`, or whatever the main branch is called here.\n\n");
    buf_adds(&call->prompt, how);
    if (rest.len)
        buf_addf(&call->prompt, "\nPay special attention to: %.*s\n", STR_ARG(rest));
    return 0;
}
