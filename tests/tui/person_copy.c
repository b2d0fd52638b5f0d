/*
 * An answer that is copied, wherever it can be put: tmux, the terminal, the desktop. The test
 * program is person.c.
 */
#include "person.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

static void check_file(const struct window *w, const char *name, const char *want)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, name);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};

    CHECK(file_slurp(path, BUF_NO_LIMIT, &text, &err) == 0, "%s", err.text);
    CHECK(str_is(buf_str(&text), want), "%s: '%s'", name, buf_cstr(&text));
}

static const char answers[] = "step\n  sticky\n  text To be copied.\n";

static void copy_last(struct window *w, const char *says)
{
    until_idle(w);
    window_type(w, "hi" ENTER);
    window_until(w, "To be copied.");
    until_idle(w);
    window_type(w, "/copy" ENTER);
    window_until(w, says);
    until_idle(w);
    window_type(w, CTRL_D);
}

/* By a sequence, where the terminal is known to take it; success cannot be detected. */
static void case_copy(void)
{
    struct window_spec spec = {.build = build, .scenario = answers};
    struct window w;

    window_open(&w, &spec);
    copy_last(&w, "13 bytes were sent to the terminal's clipboard (OSC 52).");
    window_until_raw(&w, "\x1b]52;c;VG8gYmUgY29waWVkLg==\x1b\\", 0);
    CHECK(window_end(&w) == 0, "exit code");
    window_close(&w);
}

/* A real tmux with default settings: it would not take the sequence. */
static void case_copy_tmux(void)
{
    struct window_spec spec = {.build = build, .scenario = answers, .shell = true};
    struct window w;

    if (!file_exists("/usr/bin/tmux")) {
        printf("skipped: no tmux\n");
        return;
    }
    window_open(&w, &spec);
    window_type(&w, "cd; tmux -S t -f /dev/null new \"$TENAX; tmux save-buffer copied\"" ENTER);
    copy_last(&w, "13 bytes are in tmux's buffer: prefix ] pastes them.");
    window_until(&w, "[exited]");
    check_file(&w, "home/copied", "To be copied.");
    window_type(&w, "exit" ENTER);
    (void)window_end(&w);
    window_close(&w);
}

/* A desktop program, which stays to serve the copied text: also when we are gone. */
static void case_copy_desktop(void)
{
    struct window_spec spec = {.build = build, .scenario = answers, .shell = true};
    CLEANUP(buf_release) struct buf pid = BUF_INIT(100);
    CLEANUP(mem_freep) char *path = NULL;
    struct err err = {0};
    struct window w;
    int64_t holder = 0;

    window_open(&w, &spec);
    put_file(&w, "home/bin/wl-copy",
             "#!/bin/sh\ncat > $HOME/copied; sleep 1000 < /dev/null & echo $! > $HOME/holder\n");
    window_type(&w, "cd; chmod 700 bin/wl-copy; PATH=$PWD/bin:$PATH KONSOLE_VERSION=1 "
                    "WAYLAND_DISPLAY=x $TENAX; touch over" ENTER);
    copy_last(&w, "13 bytes are in the clipboard (wl-copy).");
    window_until_file(&w, "home/over");
    check_file(&w, "home/copied", "To be copied.");
    path = path_join(w.top, "home/holder");
    CHECK(file_slurp(path, 100, &pid, &err) == 0, "%s", err.text);
    CHECK(str_to_i64(str_trim(buf_str(&pid)), &holder, &err) == 0 && holder > 1, "%s", err.text);
    CHECK(kill((pid_t)holder, SIGKILL) == 0, "the clipboard has ended with us");
    window_type(&w, "exit" ENTER);
    (void)window_end(&w);
    window_close(&w);
}

/* A picture out of the clipboard, or a file that is dropped on the window: a label in the prompt,
 * and the model gets the picture. */
static void case_image_pasted(void)
{
    struct window_spec spec = {
        .build = build, .scenario = "step\n  sticky\n  text I see.\n", .shell = true};
    CLEANUP(buf_release) struct buf dropped = BUF_INIT(4096);
    struct window w;

    window_open(&w, &spec);
    put_file(&w, "home/a picture.gif", "GIF89a\t\t\t\t and so on");
    put_file(&w, "home/bin/wl-paste", "#!/bin/sh\ncat \"$HOME/a picture.gif\"\n");
    window_type(&w, "chmod 700 $HOME/bin/wl-paste; PATH=$HOME/bin:$PATH WAYLAND_DISPLAY=x "
                    "$TENAX" ENTER);
    until_idle(&w);
    window_type(&w, "look at " CTRL_V);
    window_until_shown(&w, "look at [Image #1]");
    buf_addf(&dropped, "\x1b[200~%s/home/a\\ picture.gif\x1b[201~", w.top);
    window_type(&w, buf_cstr(&dropped));
    window_until_shown(&w, "look at [Image #1] [Image #2]");
    window_type(&w, ENTER);
    window_until(&w, "> look at [Image #1] [Image #2]");
    window_until(&w, "I see.");
    CHECK(!strstr(window_text(&w), "Not sent"), "%s", window_text(&w));
    until_idle(&w);
    window_type(&w, CTRL_D);
    window_until(&w, "Resume this session");
    window_type(&w, "grep -c '\"media_type\":\"image/gif\"' $HOME/.tenax/projects/*/*.jsonl" ENTER);
    window_until(&w, "\n1\n");
    window_type(&w, "exit" ENTER);
    (void)window_end(&w);
    window_close(&w);
}

const struct person_case person_copy[] = {
    {"image-pasted", case_image_pasted},
    {"copy", case_copy},
    {"copy-tmux", case_copy_tmux},
    {"copy-desktop", case_copy_desktop},
    {0},
};
