/*
 * Any bytes as a notebook: it is shown within its limit, and whatever is done to a cell leaves a
 * notebook with as many cells as it should have.
 */
#include "tools/notebook.h"

#include "agent/tool.h"
#include "base/err.h"
#include "fuzz.h"
#include "json/json.h"

#define MAX_SHOWN 4096

static void check_change(const struct notebook *nb, const struct notebook_change *change,
                         size_t cells)
{
    struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct buf id = BUF_INIT(BUF_NO_LIMIT);
    struct err err = {0};
    struct notebook after;

    if (notebook_edit(nb, change, &text, &id, &err) == 0) {
        FUZZ_CHECK(notebook_parse(&after, buf_str(&text), &err) == 0);
        FUZZ_CHECK(json_len(after.cells) == cells);
        if (change->mode == NOTEBOOK_REPLACE) {
            struct buf source = BUF_INIT(BUF_NO_LIMIT);
            size_t index;

            cell_add_source(notebook_find(&after, STR("cell-0"), &index), &source);
            FUZZ_CHECK(str_eq(buf_str(&source), change->source));
            buf_release(&source);
        }
        notebook_release(&after);
    } else {
        FUZZ_CHECK(err.text[0]);
    }
    buf_release(&text);
    buf_release(&id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct notebook_change changes[] = {
        {NOTEBOOK_REPLACE, NULL, NULL, STR_INIT("a\nb \"c\"\n")},
        {NOTEBOOK_REPLACE, NULL, "code", STR_INIT("x")},
        {NOTEBOOK_INSERT, NULL, "code", STR_INIT("x\ny")},
        {NOTEBOOK_INSERT, NULL, "markdown", STR_INIT("")},
        {NOTEBOOK_DELETE, NULL, NULL, STR_INIT("")},
    };
    struct str text = str_make((const char *)data, size);
    struct tool_result shown = TOOL_RESULT_INIT;
    struct err err = {0};
    struct notebook nb;
    size_t index;

    if (notebook_parse(&nb, text, &err) < 0) {
        tool_result_release(&shown);
        return 0;
    }
    notebook_show(&nb, MAX_SHOWN, &shown);
    FUZZ_CHECK(shown.text.len > 0 && shown.text.len < MAX_SHOWN + 300);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct notebook_change change = changes[i];
        size_t cells = json_len(nb.cells);

        if (change.mode == NOTEBOOK_INSERT) {
            check_change(&nb, &change, cells + 1);
            change.cell = notebook_find(&nb, STR("cell-0"), &index);
            check_change(&nb, &change, cells + 1);
            continue;
        }
        change.cell = notebook_find(&nb, STR("cell-0"), &index);
        if (change.cell)
            check_change(&nb, &change, cells - (change.mode == NOTEBOOK_DELETE));
    }
    tool_result_release(&shown);
    notebook_release(&nb);
    return 0;
}
