/*
 * Any bytes as a scenario: refused with a place, or played to its end, every piece of every part
 * adding up to the part.
 */
#include "llm/scenario/scenario.h"

#include "base/err.h"
#include "fuzz.h"

static void check_pieces(const struct scenario_step *step, struct str text)
{
    size_t at = 0, total = 0;
    struct str piece;

    while (scenario_piece(step, text, &at, &piece)) {
        FUZZ_CHECK(piece.len > 0 && piece.ptr == text.ptr + total);
        total += piece.len;
    }
    FUZZ_CHECK(total == text.len);
}

static void play(const struct scenario *s)
{
    static struct scenario_cursor cursor; /* large */
    struct scenario_view view = {.prompt = STR("hello"), .result = STR("FAILED")};

    cursor = (struct scenario_cursor){0};
    for (size_t i = 0; i <= s->len; i++) {
        const struct scenario_step *step = scenario_next(s, &cursor, &view);
        struct llm_usage usage;

        if (!step)
            break;
        FUZZ_CHECK(scenario_stop(step) != STOP_NONE);
        scenario_usage(step, &view, &usage);
        FUZZ_CHECK(usage.thinking <= usage.output && usage.cache_write_1h <= usage.cache_write);
        for (size_t k = 0; k < step->fault_count; k++) {
            FUZZ_CHECK(step->faults[k].times >= 1);
            scenario_connection(s, &cursor, true);
            scenario_try(s, &cursor, step);
        }
        for (size_t k = 0; k < step->part_count; k++)
            check_pieces(step, step->parts[k].text);
        scenario_played(s, &cursor, step);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scenario *s = NULL;
    struct err err = {0};

    if (scenario_parse(str_make((const char *)data, size), "x", &s, &err) < 0) {
        FUZZ_CHECK(!s && err.text[0] == 'x' && err.text[1] == ':');
        return 0;
    }
    play(s);
    scenario_free(s);
    return 0;
}
