/*
 * The user is asked: what counts as an answer, and how the question is shown.
 */
#include <string.h>

#include "person.h"

static const char one_call[] = "step\n  text I will touch a file.\n"
                               "  call Bash {\"command\": \"touch made\"}\n"
                               "step\n  text That is all.\n"
                               "step\n  text What now?\n";

/* Key by key, except the first two: a letter is an answer when no other follows for a moment, which
 * passes soon on a busy machine. */
static void type_slowly(struct window *w, const char *text)
{
    char first[] = {text[0], text[1], '\0'};

    window_type(w, first);
    for (const char *c = text + 2; *c; c++) {
        char key[] = {*c, '\0'};

        (void)window_wait(w, 20);
        window_type(w, key);
    }
}

static void until_asked(struct window *w)
{
    window_type(w, "go" ENTER);
    window_until_shown(w, "Enter choose");
    window_settle(w, 400);
}

/* Words that have every answer in them, and Enter: they are there afterwards, and nothing else has
 * happened. */
static void case_typed_words(void)
{
    struct window w;

    start(&w, one_call);
    until_asked(&w);
    type_slowly(&w, "yes, try any 1 of 2" ENTER);
    window_until_shown(&w, "What you type goes to your prompt.");
    window_type(&w, "\x1b[200~1\r\x1b[201~"); /* a paste */
    window_settle(&w, 1200);
    CHECK(strstr(window_screen(&w), "1. Yes"), "it was answered:\n%s", window_text(&w));
    check_made(&w, false);
    window_type(&w, "1");
    window_until(&w, "That is all.");
    check_made(&w, true);
    window_until_shown(&w, "yes, try any 1 of 21");
    window_settle(
        &w, 400); /* in a turn that is still ending Ctrl-C would interrupt it and keep the draft */
    window_type(&w, CTRL_C);
    window_until_gone(&w, "of 21");
    leave(&w);
}

/* One letter alone is an answer. */
static void case_typed_letter(void)
{
    struct window w;

    start(&w, one_call);
    until_asked(&w);
    window_type(&w, "y");
    window_until(&w, "That is all.");
    check_made(&w, true);
    leave(&w);
}

/* A status line of one's own may have any number of lines: the first ones are shown, and below a
 * question fewer. In a window that cannot show it, it is not answered. */
static void case_asked_below_much(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = one_call,
        .settings = "{\"statusLine\":{\"type\":\"command\",\"command\":\"seq -f 'row %02g.' 30\"}}",
    };
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "say what to do");
    window_until_shown(&w, "row 01.");
    CHECK(strstr(window_screen(&w), "row 06."), "%s", window_text(&w));
    CHECK(!strstr(window_screen(&w), "row 07."), "%s", window_text(&w));
    until_asked(&w);
    CHECK(strstr(window_screen(&w), "\ntouch made\n"), "%s", window_text(&w));
    CHECK(strstr(window_screen(&w), "4. No"), "%s", window_text(&w));
    CHECK(strstr(window_screen(&w), "row 01."), "%s", window_text(&w));
    window_resize(&w, 40, 3);
    window_until_shown(&w, "Make the window larger");
    window_settle(&w, 400);
    window_type(&w, ENTER "y");
    window_settle(&w, 400);
    check_made(&w, false);
    window_resize(&w, 80, 24);
    answer(&w, "1");
    window_until(&w, "That is all.");
    check_made(&w, true);
    window_type(&w, CTRL_C);
    leave(&w);
}

/* Ctrl-Z in front of a question and in the transcript: fg comes back to it. */
static void case_suspend_asked(void)
{
    struct window_spec spec = {.build = build, .scenario = one_call, .shell = true};
    struct window w;

    window_open(&w, &spec);
    window_type(&w, "PS1='ready$ '" ENTER);
    window_until(&w, "\nready$");
    window_type(&w, "$TENAX" ENTER);
    until_idle(&w);
    until_asked(&w);
    window_type(&w, CTRL_Z);
    window_until_shown(&w, "Stopped");
    CHECK(!strstr(window_screen(&w), "Enter choose"), "%s", window_text(&w));
    window_type(&w, "fg" ENTER);
    answer(&w, "1");
    window_until(&w, "That is all.");
    until_idle(&w);
    window_type(&w, CTRL_O);
    window_until_shown(&w, "q close");
    window_type(&w, CTRL_Z);
    window_until_shown(&w, "Stopped");
    window_type(&w, "fg" ENTER);
    window_until_shown(&w, "q close");
    window_type(&w, "q");
    window_until_shown(&w, "say what to do");
    window_type(&w, CTRL_D);
    window_until(&w, "tenax --resume ");
    window_until_shown(&w, "ready$");
    window_type(&w, "exit" ENTER);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

#define ASKS_FIRST "── Read /etc/passwd ──"
#define ASKS_SECOND "── Read /etc/group ──"

/* Yes to the one, no to the other. Gives which it was. */
static bool answer_read(struct window *w)
{
    bool is_first = strstr(window_screen(w), ASKS_FIRST);
    bool is_second = strstr(window_screen(w), ASKS_SECOND);

    CHECK(is_first != is_second, "not one question:\n%s", window_text(w));
    window_type(w, is_first ? "1" : "3");
    if (is_second) {
        window_until_shown(w, "Enter send");
        window_type(w, "no" ENTER);
    }
    return is_first;
}

/* Two calls that ask at the same time: one question after the other, and each has its own answer.
 */
static void case_asked_twice(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  call Read {\"file_path\": \"/etc/passwd\"}\n"
                    "  call Read {\"file_path\": \"/etc/group\"}\n"
                    "step\n  if-result \"root:x:0:0\"\n  text One of them was read.\n",
        .settings = "{\"hooks\":{\"Notification\":[{\"matcher\":\"permission_prompt\",\"hooks\":[{"
                    "\"type\":\"command\",\"command\":"
                    "\"mkdir $HOME/asked-once || mkdir $HOME/asked-twice\"}]}]}}",
    };
    struct window w;

    window_open(&w, &spec);
    window_until(&w, "say what to do");
    until_asked(&w);
    window_until_file(&w, "home/asked-twice");
    window_until_shown(&w, answer_read(&w) ? ASKS_SECOND : ASKS_FIRST);
    window_settle(&w, 400);
    answer_read(&w);
    window_until(&w, "One of them was read.");
    leave(&w);
}

/* /model: the chosen model answers. */
static void case_model_chosen(void)
{
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  sticky\n  text I am the first.\n",
        .settings = "{\"models\":{\"scripted/other\":{}}}",
    };
    struct window w;

    window_open(&w, &spec);
    put_file(&w, "work/other", "step\n  text I am the other one.\n");
    window_until(&w, "say what to do");
    window_type(&w, "/model" ENTER);
    window_until_shown(&w, "type to search");
    window_type(&w, "other" ENTER);
    window_until_shown(&w, "This session and later ones");
    window_type(&w, ENTER);
    window_until(&w, "Model: ");
    window_type(&w, "who?" ENTER);
    window_until(&w, "I am the other one.");
    leave(&w);
}

/* A goal in the place of another. */
static void case_goal_replaced(void)
{
    struct window w;

    start(&w, endless);
    window_type(&w, "/goal the old one --check false" ENTER);
    window_until(&w, "Goal set: the old one");
    window_type(&w, "/goal the new one --check false" ENTER);
    window_until_shown(&w, "Current goal: the old one");
    window_type(&w, "2");
    window_until(&w, "Goal set: the new one");
    window_type(&w, "/goal clear" ENTER);
    window_until(&w, "Goal cleared: the new one");
    window_type(&w, ESC);
    leave(&w);
}

const struct person_case person_asked[] = {
    {"typed-words", case_typed_words},           {"typed-letter", case_typed_letter},
    {"asked-below-much", case_asked_below_much}, {"suspend-asked", case_suspend_asked},
    {"asked-twice", case_asked_twice},           {"model-chosen", case_model_chosen},
    {"goal-replaced", case_goal_replaced},       {0},
};
