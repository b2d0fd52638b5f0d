/*
 * /context: what fills the window, as a grid of a hundred squares and a list.
 *
 * The whole is what the provider has counted for the last call; its parts are measured here and
 * estimates.
 */
#include "host/host.h"

#include <inttypes.h>
#include <limits.h>

#include "context/instructions.h"
#include "llm/room.h"
#include "slash/answer.h"

static int context_run(struct slash_call *call, struct err *err);

const struct slash_command slash_context_entry = {
    .name = "context",
    .hint = "",
    .summary = "Show what fills the model's window",
    .run = context_run,
};

#define GRID_SIDE 10
#define GRID_CELLS (GRID_SIDE * GRID_SIDE)
#define GRID_COLS (2 * GRID_SIDE - 1) /* with a space between its squares */
#define LIST_COLS 45                  /* the longest row of the list */
#define LIST_ROW 2                    /* row of the grid where the list next to it begins */

struct context_part {
    const char *name;
    const char *sign;
    enum ink ink;
    int64_t tokens;
};

enum {
    PART_SYSTEM,
    PART_TOOLS,
    PART_FILES,
    PART_MESSAGES,
    PART_FREE,
    PART_BUFFER,
    PART_COUNT
};

static void parts_of(const struct host_fill *fill, struct context_part parts[static PART_COUNT])
{
    static const struct context_part rows[PART_COUNT] = {
        [PART_SYSTEM] = {"System prompt", "◆", INK_MAGENTA, 0},
        [PART_TOOLS] = {"Tools", "■", INK_CYAN, 0},
        [PART_FILES] = {"Memory files", "▲", INK_YELLOW, 0},
        [PART_MESSAGES] = {"Messages", "●", INK_BLUE, 0},
        [PART_FREE] = {"Free", "·", INK_FAINT, 0},
        [PART_BUFFER] = {"Kept free for compaction", "▒", INK_FAINT, 0},
    };
    int64_t used = fill->system + fill->tools + fill->instructions + fill->messages;
    int64_t buffer = fill->compact_at ? fill->window - fill->compact_at : 0;
    int64_t rest = fill->window - used - buffer;

    for (size_t i = 0; i < PART_COUNT; i++)
        parts[i] = rows[i];
    parts[PART_SYSTEM].tokens = fill->system;
    parts[PART_TOOLS].tokens = fill->tools;
    parts[PART_FILES].tokens = fill->instructions;
    parts[PART_MESSAGES].tokens = fill->messages;
    parts[PART_FREE].tokens = rest > 0 ? rest : 0;
    parts[PART_BUFFER].tokens = buffer + (rest < 0 ? rest : 0);
    if (parts[PART_BUFFER].tokens < 0)
        parts[PART_BUFFER].tokens = 0;
}

/* The part that square i belongs to: every part with tokens has at least one square. */
static size_t part_at(const struct context_part parts[static PART_COUNT], int64_t window, size_t i)
{
    size_t cells[PART_COUNT] = {0};
    size_t taken = 0;
    size_t at = 0;

    for (size_t p = 0; p < PART_COUNT; p++) {
        if (p == PART_FREE || !parts[p].tokens)
            continue;
        cells[p] = (size_t)(parts[p].tokens * GRID_CELLS / window);
        cells[p] = cells[p] ? cells[p] : 1;
        taken += cells[p];
    }
    cells[PART_FREE] = taken < GRID_CELLS ? GRID_CELLS - taken : 0;
    for (size_t p = 0; p < PART_COUNT; p++) {
        at += cells[p];
        if (i < at)
            return p;
    }
    return PART_BUFFER;
}

static void say_part(struct slash_call *call, const struct context_part *p, int64_t window)
{
    CLEANUP(buf_release) struct buf count = BUF_INIT(100);

    slash_add_count(&count, p->tokens);
    slash_say(call, p->ink, str_of(p->sign));
    slash_sayf(call, INK_PLAIN, " %s: %s (%.1f%%)", p->name, buf_cstr(&count),
               window ? (double)p->tokens * 100 / (double)window : 0);
}

static void say_grid_row(struct slash_call *call,
                         const struct context_part parts[static PART_COUNT], int64_t window,
                         size_t row, bool is_tight)
{
    for (size_t col = 0; col < GRID_SIDE; col++) {
        const struct context_part *p =
            &parts[part_at(parts, window ? window : 1, row * GRID_SIDE + col)];

        slash_say(call, INK_PLAIN, col && !is_tight ? STR(" ") : STR(""));
        slash_say(call, p->ink, str_of(p->sign));
    }
}

/* The list is next to the grid if there is room, otherwise below it. */
static void say_grid(struct slash_call *call, const struct context_part parts[static PART_COUNT],
                     int64_t window)
{
    int cols = call->front && call->front->cols ? call->front->cols(call->front->arg) : INT_MAX;
    bool is_beside = cols >= GRID_COLS + 2 + LIST_COLS;

    for (size_t row = 0; row < GRID_SIDE; row++) {
        say_grid_row(call, parts, window, row, /*is_tight=*/cols < GRID_COLS);
        if (is_beside && row >= LIST_ROW && row - LIST_ROW < PART_COUNT) {
            slash_say(call, INK_PLAIN, STR("  "));
            say_part(call, &parts[row - LIST_ROW], window);
        }
        slash_say(call, INK_PLAIN, STR("\n"));
    }
    for (size_t i = 0; i < PART_COUNT && !is_beside; i++) {
        say_part(call, &parts[i], window);
        slash_say(call, INK_PLAIN, STR("\n"));
    }
}

static void say_files(struct slash_call *call)
{
    CLEANUP(instructions_release) struct instructions files = {0};

    if (host_instructions(call->host, call->cancel, &files, /*err=*/NULL) < 0 || !files.files.len)
        return;
    slash_say(call, INK_BOLD, STR("\nMemory files\n"));
    VEC_EACH(&files.files, f) {
        CLEANUP(buf_release) struct buf count = BUF_INIT(100);

        slash_add_count(&count, (int64_t)(f->text.len / ROOM_TOKEN_BYTES));
        slash_sayf(call, INK_PLAIN, "  %s  ", f->path);
        slash_sayf(call, INK_FAINT, "about %s tokens\n", buf_cstr(&count));
    }
}

static int context_run(struct slash_call *call, struct err *err)
{
    CLEANUP(buf_release) struct buf provider = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    CLEANUP(buf_release) struct buf used = BUF_INIT(100);
    CLEANUP(buf_release) struct buf window = BUF_INIT(100);
    struct context_part parts[PART_COUNT];
    struct host_fill fill;
    int64_t all;
    int64_t ignored;

    if (host_fill(call->host, call->cancel, &fill, err) < 0)
        return -1;
    host_model(call->host, &provider, &name, &ignored);
    parts_of(&fill, parts);
    all = fill.used ? fill.used : fill.system + fill.tools + fill.instructions;
    slash_add_count(&used, all);
    slash_add_count(&window, fill.window);
    slash_say(call, INK_BOLD, STR("Context"));
    slash_sayf(call, INK_PLAIN, "  %s · %s of %s tokens (%.0f%%)%s\n", buf_cstr(&name),
               buf_cstr(&used), buf_cstr(&window),
               fill.window ? (double)all * 100 / (double)fill.window : 0,
               fill.used ? "" : ", estimated: nothing was sent yet");
    say_grid(call, parts, fill.window);
    if (fill.compact_at)
        slash_sayf(call, INK_FAINT,
                   "Compacted by itself at %" PRId64 " tokens; /compact does it now.\n",
                   fill.compact_at);
    else
        slash_say(call, INK_FAINT, STR("Compacted only when you ask for it: /compact.\n"));
    say_files(call);
    return 0;
}
