/*
 * AskUserQuestion: questions with options for the user at a front end.
 *
 * The questions go out as they are; they come back with a member `answers` that maps the text of a
 * question to its answer: a label, several (a list, or one text), or the user's own text. A hook
 * may have put `answers` into the input already: then the user is not asked. Without a user, the
 * model is asked to decide by itself, which is not a failure. Runs on a tool thread, which waits as
 * long as the user needs.
 */
#include "agent/tool.h"
#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"
#include "json/jw.h"
#include "tools/entries.h"
#include "tools/user_ask.h"

static int tool_ask_user_question_run(struct tool_call *call, struct tool_result *ret,
                                      struct err *err);

const struct tool_entry tool_ask_user_question_entry = {
    .name = "AskUserQuestion",
    .text = tool_ask_user_question_md,
    .schema = tool_ask_user_question_schema,
    .flags = TOOL_PERSON | TOOL_READ_ONLY,
    .run = tool_ask_user_question_run,
};

/* Answers are found by the question's text, so it must be one question's alone. */
static int check_unique(const struct json *questions, struct err *err)
{
    JSON_EACH(questions, a) {
        struct str text = json_get_str(a, "question");

        for (const struct json *b = json_next(a); b; b = json_next(b)) {
            if (str_eq(text, json_get_str(b, "question")))
                return err_set(err, ERR_BAD_INPUT, "two questions have the same text: \"%.*s\"",
                               STR_ARG(str_clip(text, 200)));
        }
    }
    return 0;
}

/* Some front ends name an answer by the question's header. */
static const struct json *find_answer(const struct json *answers, const struct json *question)
{
    const struct json *v = json_get_key(answers, json_get_str(question, "question"));

    return v ? v : json_get_key(answers, json_get_str(question, "header"));
}

static void add_answer(struct buf *out, const struct json *answer)
{
    bool first = true;

    if (json_is(answer, JSON_STRING)) {
        buf_add(out, json_str(answer));
        return;
    }
    JSON_EACH(answer, it) {
        if (!json_is(it, JSON_STRING))
            continue;
        buf_adds(out, first ? "" : ", ");
        buf_add(out, json_str(it));
        first = false;
    }
}

static void add_answers(struct tool_result *ret, const struct json *questions,
                        const struct json *answers, struct str response)
{
    CLEANUP(buf_release) struct buf said = BUF_INIT(ASK_MAX_ANSWER);
    bool any = response.len > 0;

    JSON_EACH(questions, q) {
        buf_clear(&said);
        add_answer(&said, find_answer(answers, q));
        any = any || said.len;
        buf_add(&ret->text, json_get_str(q, "question"));
        buf_adds(&ret->text, "\n→ ");
        buf_add(&ret->text, said.len ? buf_str(&said) : STR("(not answered)"));
        buf_addc(&ret->text, '\n');
    }
    if (response.len) {
        buf_adds(&ret->text, "The user says: ");
        buf_add(&ret->text, response);
        buf_addc(&ret->text, '\n');
    }
    if (!any)
        buf_adds(&ret->text, "The user chose nothing. Decide yourself and say what you assume.\n");
    buf_cut(&ret->text, ret->text.len - 1, 1); /* the last line ends here */
}

static void write_data(struct tool_result *ret, const struct json *questions,
                       const struct json *answers, struct str response)
{
    struct jw w;

    jw_init(&w, &ret->data, 0);
    jw_object(&w);
    jw_kjson(&w, "questions", questions);
    jw_key(&w, "answers");
    if (json_is(answers, JSON_OBJECT))
        jw_json(&w, answers);
    else
        jw_raw(&w, STR("{}"));
    if (response.len)
        jw_kstr(&w, "response", response);
    jw_object_end(&w);
}

static int tool_ask_user_question_run(struct tool_call *call, struct tool_result *ret,
                                      struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(ask_answer_release) struct ask_answer answer = ASK_ANSWER_INIT;
    const struct json *questions = json_get(call->args, "questions");
    const struct json *input = call->args;
    struct err why = {0};

    if (check_unique(questions, err) < 0)
        return -1;
    if (!json_is(json_get(input, "answers"), JSON_OBJECT)) {
        if (user_ask(call, ASK_QUESTION, "the model has a question", "other", &answer, &why) < 0) {
            if (why.code != ERR_UNSUPPORTED)
                return err_set(err, why.code, "%s", why.text);
            buf_adds(&ret->text,
                     "No user is here to answer now. Decide yourself, prefer steps that are "
                     "easy to undo, and say in your answer what you assumed.");
            write_data(ret, questions, NULL, STR(""));
            return 0;
        }
        if (!answer.allowed) {
            user_ask_refused(ret, &answer, "The user did not answer the questions.");
            return 0;
        }
        if (answer.input.len &&
            json_parse(&arena, buf_str(&answer.input), &input, /*ret_info=*/NULL, err) < 0)
            return err_prefix(err, "the answer");
    }
    add_answers(ret, questions, json_get(input, "answers"), json_get_str(input, "response"));
    write_data(ret, questions, json_get(input, "answers"), json_get_str(input, "response"));
    return 0;
}
