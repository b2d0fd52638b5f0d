/*
 * A user in front of tenax: whole sessions through a real terminal (window.h).
 *
 *     person BUILD CASE
 */
#include "person.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

const char *build;

void until_idle(struct window *w)
{
    window_until_shown(w, "say what to do");
}

void put_file(const struct window *w, const char *name, const char *text)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    struct err err = {0};

    CHECK(file_mkdirs(dir, 0700, &err) == 0, "%s", err.text);
    CHECK(file_replace(path, str_of(text), 0600, &err) == 0, "%s", err.text);
}

void start(struct window *w, const char *scenario)
{
    struct window_spec spec = {.build = build, .scenario = scenario};

    window_open(w, &spec);
    until_idle(w);
}

void answer(struct window *w, const char *key)
{
    window_until_shown(w, "Enter choose");
    window_settle(w, 400);
    window_type(w, key);
}

void leave(struct window *w)
{
    until_idle(w);
    window_type(w, CTRL_D);
    CHECK(window_end(w) == 0, "exit code");
    CHECK(strstr(window_text(w), "tenax --resume "), "it does not say how to go on:\n%s",
          window_text(w));
    window_close(w);
}

void check_sane(struct window *w)
{
    struct str raw = buf_str(&w->raw);
    struct termios t;
    static const char *const pairs[][2] = {
        {"\x1b[?2004h", "\x1b[?2004l"},
        {"\x1b[?1004h", "\x1b[?1004l"},
        {"\x1b[?1049h", "\x1b[?1049l"},
        {"\x1b[?25l", "\x1b[?25h"},
    };

    CHECK(tcgetattr(w->fd, &t) == 0, "tcgetattr");
    CHECK(t.c_lflag & ICANON && t.c_lflag & ECHO && t.c_lflag & ISIG, "the terminal is still raw");
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        const char *on = NULL;
        const char *off = NULL;

        for (const char *at = raw.ptr; at; at = strstr(at + 1, pairs[i][0]))
            on = strncmp(at, pairs[i][0], strlen(pairs[i][0])) == 0 ? at : on;
        for (const char *at = raw.ptr; at; at = strstr(at + 1, pairs[i][1]))
            off = strncmp(at, pairs[i][1], strlen(pairs[i][1])) == 0 ? at : off;
        CHECK(!on || (off && off > on), "mode %s was not taken back", pairs[i][0] + 1);
    }
}

struct found sessions_search(struct window *w, const char *text)
{
    CLEANUP(mem_freep) char *pattern = path_join(w->top, "home/.tenax/projects/*/*.jsonl");
    struct found n = {0};
    glob_t files = {0};

    (void)glob(pattern, 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        CLEANUP(buf_release) struct buf lines = BUF_INIT(BUF_NO_LIMIT);
        const char *at;
        struct err err = {0};

        CHECK(file_slurp(files.gl_pathv[i], BUF_NO_LIMIT, &lines, &err) == 0, "%s", err.text);
        at = strstr(buf_cstr(&lines), text);
        n.sessions += at != NULL;
        for (; at; at = strstr(at + 1, text))
            n.times++;
    }
    globfree(&files);
    return n;
}

size_t sessions_with(struct window *w, const char *text)
{
    return sessions_search(w, text).sessions;
}

void until_kept(struct window *w, size_t n)
{
    while (sessions_search(w, "\"operation\":\"enqueue\"").times < n)
        window_wait(w, 20);
}

const char endless[] = "step\n  text one two three four\n  pause 1000s\n  text seventeen\n"
                       "step\n  text Second answer.\n";

const char held[] = "step\n  text one two\n  " WAITS "step\n  text Second answer.\n"
                    "step\n  text Third answer.\n";

void start_held(struct window *w, const char *scenario, const char *settings)
{
    struct window_spec spec = {.build = build, .scenario = scenario, .settings = settings};

    window_open(w, &spec);
    put_file(w, "work/waits", "until test -e go; do sleep 0.05; done\n");
    until_idle(w);
}

void let_go(const struct window *w)
{
    put_file(w, "work/go", "");
}

void check_made(struct window *w, bool is_made)
{
    CLEANUP(mem_freep) char *path = path_join(w->top, "work/made");

    CHECK(file_exists(path) == is_made, "the file is %s", is_made ? "not there" : "there");
}

static const char lengthy[] = "step\n  if-prompt \"waiting words\"\n  text Along it went.\n"
                              "step\n  if-prompt lengthy\n  call Bash {\"command\": \"sleep 60\"}\n"
                              "step\n  sticky\n  text Hello.\n";

void start_lengthy(struct window *w, const char *home)
{
    struct window_spec spec = {.build = build,
                               .scenario = lengthy,
                               .settings = "{\"permissions\":{\"allow\":[\"Bash\"]}}",
                               .home = home};

    window_open(w, &spec);
    window_until(w, "say what to do");
    window_type(w, "a lengthy job" ENTER);
    window_until(w, "sleep 60");
}

static const struct person_case *const themes[] = {
    person_alone, person_quiet,    person_copy,  person_starts,  person_turns,
    person_ends,  person_switches, person_stays, person_outside, person_much,
    person_shown, person_asked,    person_agents};

int main(int argc, char **argv)
{
    bool found = false;

    CHECK(argc == 3, "usage: person BUILD CASE|all");
    build = argv[1];
    for (size_t i = 0; i < ARRAY_LEN(themes); i++) {
        for (const struct person_case *c = themes[i]; c->name; c++) {
            if (strcmp(argv[2], c->name) != 0 && strcmp(argv[2], "all") != 0)
                continue;
            found = true;
            c->run();
            printf("%s: ok\n", c->name);
            fflush(stdout);
        }
    }
    CHECK(found, "no such case: %s", argv[2]);
    return 0;
}
