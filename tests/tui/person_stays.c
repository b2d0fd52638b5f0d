/*
 * Switching to another session fails: the running one continues, or is returned to, and gets the
 * later input. The test program is person.c.
 */
#include "person.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

/* Without messages there is nothing to come back to when there is nothing to go to. */
static void case_resume_nothing(void)
{
    struct window w;

    start(&w, "step\n  text Still here.\n");
    window_type(&w, "/resume 00000000-0000-4000-8000-000000000000" ENTER);
    window_until(&w, "00000000-0000-4000-8000-000000000000'");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Still here.");
    leave(&w);
}

/* A session that another process has cannot be gone to, and what runs here goes on. */
static void case_resume_held(void)
{
    struct window other;
    struct window w;

    start(&other, "step\n  text Noted.\n");
    window_type(&other, "remember the milk" ENTER);
    window_until(&other, "Noted.");
    start_lengthy(&w, other.top);
    window_type(&w, "/resume remember" ENTER);
    window_until(&w, "is open in another process");
    window_until(&w, "Esc interrupts");
    CHECK(!strstr(window_text(&w), "Interrupted."), "%s", window_text(&w));
    window_type(&w, ESC);
    leave(&w);
    leave(&other);
}

/* Nor to one that is gone when it is chosen: the running one continues, and gets the input. */
static void case_resume_gone(void)
{
    CLEANUP(mem_freep) char *pattern = NULL;
    glob_t found = {0};
    struct window w;

    start_held(&w,
               "step\n  if-prompt remember\n  text Noted.\n"
               "step\n  text one two\n  " WAITS "step\n  sticky\n  text Second answer.\n",
               "{" MAY_WAIT "}");
    pattern = path_join(w.top, "home/.tenax/projects/*/*.jsonl");
    window_type(&w, "remember the milk" ENTER);
    window_until(&w, "Noted.");
    until_idle(&w);
    CHECK(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1, "no session");
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "go" ENTER);
    window_until(&w, "one two");
    window_type(&w, "/resume" ENTER);
    window_until_shown(&w, "Enter choose");
    CHECK(unlink(found.gl_pathv[0]) == 0, "unlink");
    while (strstr(window_screen(&w), "Enter choose")) { /* a turn runs: it does not come to rest */
        window_type(&w, ENTER);
        window_wait(&w, 100);
    }
    window_until(&w, "no session is called");
    CHECK(!strstr(window_text(&w), "Interrupted."), "%s", window_text(&w));
    let_go(&w);
    window_until(&w, "Second answer.");
    CHECK(window_count(&w, "new session") == 1, "%s", window_text(&w));
    leave(&w);
    globfree(&found);
}

/* Where sessions are held is a file, or a folder again. */
static void break_holds(const struct window *w, bool is_broken)
{
    CLEANUP(mem_freep) char *run = path_join(w->top, "home/.tenax/run");
    CLEANUP(mem_freep) char *away = path_join(w->top, "home/.tenax/away");

    if (!is_broken)
        CHECK(unlink(run) == 0, "unlink");
    CHECK(rename(is_broken ? run : away, is_broken ? away : run) == 0, "rename");
    if (is_broken)
        put_file(w, "home/.tenax/run", "");
}

/* No new session can be started: the old one stays, and gets the later input. */
static void case_clear_fails(void)
{
    struct window w;

    start(&w, "step\n  if-prompt remember\n  text Noted.\n"
              "step\n  if-prompt \"and now\"\n  text So we stay.\nstep\n  text Anew.\n");
    window_type(&w, "remember the milk" ENTER);
    window_until(&w, "Noted.");
    until_idle(&w);
    break_holds(&w, true);
    window_type(&w, "/clear" ENTER "and now" ENTER);
    window_until(&w, "the session cannot be saved");
    window_until(&w, "So we stay.");
    until_idle(&w);
    CHECK(!window_count(&w, "new session"), "%s", window_text(&w));
    CHECK(sessions_with(&w, "and now") == 1 && sessions_with(&w, "the milk") == 1,
          "not said in the old one");
    break_holds(&w, false);
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Anew.");
    leave(&w);
}

/* A file saved before an edit cannot be copied, which shows only when the old session has ended: it
 * is resumed, and gets the later input. */
static void case_branch_fails(void)
{
    CLEANUP(mem_freep) char *pattern = NULL;
    CLEANUP(buf_release) struct buf kept = BUF_INIT(4096);
    struct str transcript;
    glob_t found = {0};
    struct window w;

    start(&w, "step\n  if-prompt remember\n  text Noted.\n"
              "step\n  if-prompt \"and now\"\n  text So we are back.\n");
    window_type(&w, "remember the milk" ENTER);
    window_until(&w, "Noted.");
    until_idle(&w);
    pattern = path_join(w.top, "home/.tenax/projects/*/*.jsonl");
    CHECK(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1, "no session");
    transcript = str_of(found.gl_pathv[0]);
    buf_addf(&kept, "%.*s/file-history/", STR_ARG(str_first(transcript, transcript.len - 6)));
    for (int i = 0; i < 64; i++)
        buf_addc(&kept, 'a');
    CHECK(file_mkdirs(buf_cstr(&kept), 0700, NULL) == 0, "mkdir");
    window_type(&w, "/branch" ENTER "and now" ENTER);
    window_until(&w, "so you are still in this session:");
    window_until(&w, "is a directory, not a file");
    window_until(&w, "So we are back.");
    until_idle(&w);
    CHECK(sessions_with(&w, "and now") == 1 && sessions_with(&w, "the milk") == 1,
          "not said in the old one");
    CHECK(window_count(&w, "> and now") == 1, "%s", window_text(&w));
    leave(&w);
    globfree(&found);
}

/* Nothing at all can be opened any more: the error says why, and how to continue when that has
 * changed. */
static void case_switch_fails(void)
{
    static const char *const args[] = {"--continue", NULL};
    struct window_spec spec = {
        .build = build,
        .scenario = "step\n  sticky\n  text Noted.\n",
        .settings = "{\"hooks\":{\"SessionEnd\":[{\"matcher\":\"resume\",\"hooks\":[{\"type\":"
                    "\"command\",\"command\":"
                    "\"mv ~/.tenax/run ~/.tenax/away; touch ~/.tenax/run\"}]}]}}",
    };
    struct window w;
    struct window next;

    window_open(&w, &spec);
    until_idle(&w);
    window_type(&w, "remember the milk" ENTER);
    window_until(&w, "Noted.");
    until_idle(&w);
    window_type(&w, "/branch" ENTER);
    CHECK(window_end(&w) == 2, "exit code");
    CHECK(window_count(&w, "the session cannot be saved") == 1, "%s", window_text(&w));
    CHECK(window_count(&w, "Resume this session with: tenax --resume ") == 1, "%s",
          window_text(&w));
    check_sane(&w);
    break_holds(&w, false);
    spec.settings = NULL;
    spec.home = w.top;
    spec.args = args;
    window_open(&next, &spec);
    window_until(&next, "remember the milk");
    leave(&next);
    window_close(&w);
}

const struct person_case person_stays[] = {
    {"resume-nothing", case_resume_nothing},
    {"resume-held", case_resume_held},
    {"resume-gone", case_resume_gone},
    {"clear-fails", case_clear_fails},
    {"branch-fails", case_branch_fails},
    {"switch-fails", case_switch_fails},
    {0},
};
