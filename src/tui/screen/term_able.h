/*
 * What a terminal can do, as far as the environment tells: known at once, without a question.
 */
#pragma once

#include <stdbool.h>

#include "tui/screen/term.h"

struct term_guess {
    struct term_able able;
    bool asks;       /* questions can be sent */
    bool other_keys; /* xterm's modifyOtherKeys is of use */
};

void term_guess(char *const *env, bool plain, struct term_guess *ret);
/* "rgb:ffff/ffff/ffff": whether it is a light color. False: no such text. */
bool term_parse_background(struct str text, bool *ret_light);
