/*
 * hook_terminal: checks what a hook's terminalSequence may send to the terminal. Anything else
 * could move the cursor, change colors or make the terminal type something. Any thread.
 */
#include "agent/hook.h"

/* Removes the number of an OSC and the following ';' from the front. */
static bool cut_number(struct str *rest)
{
    static const char *const numbers[] = {"0;", "1;", "2;", "9;", "99;", "777;"};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (str_starts(*rest, str_of(numbers[i]))) {
            *rest = str_from(*rest, str_of(numbers[i]).len);
            return true;
        }
    }
    return false;
}

/* Removes text up to and including BEL or ST. C1 control characters are not text, in UTF-8 neither.
 */
static bool cut_words(struct str *rest)
{
    for (size_t i = 0; i < rest->len; i++) {
        unsigned char c = (unsigned char)rest->ptr[i];
        unsigned char next = i + 1 < rest->len ? (unsigned char)rest->ptr[i + 1] : 0;

        if (c == '\a' || (c == '\033' && next == '\\')) {
            *rest = str_from(*rest, c == '\a' ? i + 1 : i + 2);
            return true;
        }
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0))
            return false;
    }
    return false;
}

bool hook_terminal_is_fine(struct str sequence)
{
    while (sequence.len) {
        if (sequence.ptr[0] == '\a') {
            sequence = str_from(sequence, 1);
            continue;
        }
        if (!str_starts(sequence, STR("\033]")))
            return false;
        sequence = str_from(sequence, 2);
        if (!cut_number(&sequence) || !cut_words(&sequence))
            return false;
    }
    return true;
}
