/*
 * Other programs talk to the user's session. The test program is person.c.
 */
#include "person.h"

#include <glob.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

/* `tenax goal …` in another terminal; the process with the session must have been notified. */
static void goal_outside(struct window *w, const char *verb)
{
    const char *const args[] = {"goal", verb, NULL};
    struct window_spec spec = {.build = build, .args = args, .home = w->top};
    struct window other;

    window_open(&other, &spec);
    CHECK(window_end(&other) == 0, "goal %s: %s", verb, window_text(&other));
    CHECK(!strstr(window_text(&other), "could not be told"), "goal %s: %s", verb,
          window_text(&other));
    window_close(&other);
}

/* What another terminal does to the goal is seen and done at once, also in a window where nothing
 * moves, and in the session that came after another. */
static void case_goal_outside(void)
{
    CLEANUP(mem_freep) char *go = NULL;
    struct window w;

    start_held(&w,
               "step\n  text Hello.\n"
               "step\n  text One two.\n  " WAITS
               "step\n  text On it goes.\n  call Bash {\"command\": \"touch made\"}\n"
               "step\n  sticky\n  pace 500ms\n  text This takes its time, as some things do.\n",
               "{" MAY_WAIT "}");
    window_type(&w, "hello" ENTER);
    window_until(&w, "Hello.");
    window_type(&w, "/goal made is there --check 'test -e made'" ENTER);
    window_until(&w, "One two");
    goal_outside(&w, "pause");
    window_until(&w, "goal paused");
    let_go(&w);
    window_until(&w, "say what to do");
    window_settle(&w, 300);
    goal_outside(&w, "resume");
    window_until(&w, "On it goes.");
    answer(&w, "1");
    window_until(&w, "This takes");
    goal_outside(&w, "clear");
    window_until(&w, "goal cleared from outside");
    window_until_gone(&w, "context · goal");
    window_type(&w, ESC);
    window_until(&w, "say what to do");

    go = path_join(w.top, "work/go");
    CHECK(unlink(go) == 0, "unlink");
    window_type(&w, "/clear" ENTER);
    window_until(&w, "new session");
    window_type(&w, "/goal more is there --check 'test -e more'" ENTER);
    window_until(&w, "check: test -e more");
    goal_outside(&w, "pause");
    while (window_count(&w, "goal paused from outside") < 2) /* after an answer that had begun */
        window_wait(&w, 50);
    let_go(&w);
    window_settle(&w, 300);
    leave(&w);
}

/* A command that waits for the person keeps another terminal waiting, which then does it itself:
 * once, not again when the person has answered. */
static void case_goal_outside_once(void)
{
    struct window w;

    start(&w, "step\n  sticky\n  pace 200ms\n  text This takes its time, as some things do.\n");
    window_type(&w, "/goal one is there --check 'test -e one'" ENTER);
    window_until(&w, "This takes");
    goal_outside(&w, "pause");
    window_until(&w, "goal paused");
    until_idle(&w);
    window_type(&w, "/goal two is there --check 'test -e two'" ENTER);
    window_until(&w, "Current goal: one is there");
    goal_outside(&w, "clear");
    answer(&w, "2");
    window_until(&w, "check: test -e two");
    window_type(&w, "/goal pause" ENTER); /* after any waiting input */
    window_until(&w, "Goal paused");
    leave(&w);
}

/* A program in front of the control socket. */
static int connect_from_outside(struct window *w)
{
    CLEANUP(mem_freep) char *pattern = path_join(w->top, "home/.tenax/run/*.sock");
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    glob_t found = {0};

    while (glob(pattern, 0, NULL, &found) != 0)
        window_wait(w, 20);
    CHECK(strlen(found.gl_pathv[0]) < sizeof(at.sun_path), "%s", found.gl_pathv[0]);
    memcpy(at.sun_path, found.gl_pathv[0], strlen(found.gl_pathv[0]));
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
    globfree(&found);
    return fd;
}

static void say_to(int fd, const char *lines)
{
    CHECK(write(fd, lines, strlen(lines)) == (ssize_t)strlen(lines), "write");
}

static void say_from_outside(struct window *w, const char *lines)
{
    int fd = connect_from_outside(w);

    say_to(fd, lines);
    close(fd);
}

/* Reads until it has come; text NULL: until the other side closes. */
static void hear_until(struct window *w, int fd, struct buf *heard, const char *text)
{
    while (!text || !strstr(buf_cstr(heard), text)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char bytes[4096];
        ssize_t n;

        if (poll(&p, 1, 10) == 0) {
            window_wait(w, 10);
            continue;
        }
        n = read(fd, bytes, sizeof(bytes));
        CHECK(n > 0 || !text, "closed before '%s':\n%s", text, buf_cstr(heard));
        if (n <= 0)
            return;
        buf_add(heard, str_make(bytes, (size_t)n));
    }
}

/* Input from a program after a command that leaves the session goes to the next one, like the
 * user's; and that session can be resumed. */
static void case_client_behind(void)
{
#define SAYS(text) "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"
    struct window w;

    start(&w, "step\n  if-prompt \"new start\"\n  text Gladly.\nstep\n  text Hello.\n");
    window_type(&w, "hi" ENTER);
    window_until(&w, "Hello.");
    until_idle(&w);
    say_from_outside(&w, SAYS("/clear") SAYS("a new start"));
    window_until(&w, "Gladly.");
    window_until(&w, "new session");
    CHECK(sessions_with(&w, "a new start") == 1, "it is not in one session");
    leave(&w);
}

/* A program that was asked for permission is notified that the answer is not needed any more, when
 * the session is left; then it has to connect again. */
static void case_client_left(void)
{
    CLEANUP(buf_release) struct buf heard = BUF_INIT(BUF_NO_LIMIT);
    struct window w;
    int fd;

    start(&w, "step\n  if-prompt \"do it\"\n  call Bash {\"command\":\"touch made\"}\n"
              "step\n  if-prompt hello\n  text Gladly.\nstep\n  text A pity.\n");
    fd = connect_from_outside(&w);
    say_to(fd, "{\"type\":\"control_request\",\"request_id\":\"o\",\"request\":"
               "{\"subtype\":\"observe\",\"answer_asks\":true}}\n");
    hear_until(&w, fd, &heard, "\"request_id\":\"o\"");
    window_type(&w, "do it" ENTER);
    hear_until(&w, fd, &heard, "can_use_tool");
    say_to(fd, SAYS("/clear"));
    hear_until(&w, fd, &heard, NULL);
    CHECK(strstr(buf_cstr(&heard), "control_cancel_request"), "%s", buf_cstr(&heard));
    close(fd);
    window_until(&w, "new session");
    say_from_outside(&w, SAYS("hello"));
    window_until(&w, "Gladly.");
    leave(&w);
}

const struct person_case person_outside[] = {
    {"goal-outside", case_goal_outside},
    {"goal-outside-once", case_goal_outside_once},
    {"client-behind", case_client_behind},
    {"client-left", case_client_left},
    {0},
};
