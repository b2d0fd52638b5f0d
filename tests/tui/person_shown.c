/*
 * What a person is shown beside the conversation: answers of commands, figures, the title, what
 * the terminal is told while nobody looks. The test program is person.c.
 */
#include "person.h"

#include <string.h>

/* A command that is typed while the model answers is answered at once, as wide as the window. */
static void case_command_meanwhile(void)
{
    struct window w;
    const char *status;

    start(&w, "step\n  text First part.\n  text \"\\n\\none two three\"\n  pause 1000s\n");
    window_type(&w, "count" ENTER);
    window_until(&w, "three");
    window_type(&w, "/status" ENTER);
    window_until(&w, "Settings ");
    window_until(&w, "Transcript");
    status = strstr(window_text(&w), "> /status");
    CHECK(status && strstr(status, "missing)") && strstr(status, "one two three"),
          "the answer is cut, or behind what is being said:\n%s", window_text(&w));
    CHECK(strstr(window_text(&w), "First part.") < status, "%s", window_text(&w));
    window_type(&w, ESC);
    window_until(&w, "nterrupted");
    leave(&w);
}

const struct person_case person_shown[] = {
    {"command-meanwhile", case_command_meanwhile},
    {0},
};
