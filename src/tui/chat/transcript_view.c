/*
 * transcript_view: the lines of a transcript's file (transcript_file.h) in a pager. UI thread.
 */
#include "tui/chat/transcript_view.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "tui/chat/transcript_entry.h"
#include "tui/chat/transcript_file.h"
#include "tui/pager/pager.h"

#define VIEW_BACK_LINES 400 /* a call is looked for in so many above its result */
#define VIEW_BACK_BYTES ((uint64_t)4 << 20)
#define VIEW_CALL STR("\"type\":\"tool_use\"")
#define VIEW_RESULT STR("\"type\":\"tool_result\"")

struct transcript_view {
    struct panel panel;
    struct transcript_file file;
    struct pager pager;
};

static uint64_t source_end(void *arg)
{
    return transcript_file_end(arg);
}

static bool source_next(void *arg, uint64_t at, uint64_t *ret)
{
    return transcript_file_next(arg, at, ret);
}

static bool source_prev(void *arg, uint64_t at, uint64_t *ret)
{
    return transcript_file_prev(arg, at, ret);
}

/* Where a result stands in its file. */
struct view_place {
    struct transcript_file *file;
    uint64_t at;
};

static bool place_find(void *arg, struct str id, struct buf *ret)
{
    const struct view_place *p = arg;
    CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 10);
    bool is_apart = false;
    uint64_t at = p->at;

    buf_addf(&bytes, "\"id\":\"%.*s\"", STR_ARG(str_clip(id, 512)));
    for (size_t i = 0; i < VIEW_BACK_LINES && transcript_file_prev(p->file, at, &at); i++) {
        struct str line;
        struct str rest;

        if (p->at - at > VIEW_BACK_BYTES || !transcript_file_line(p->file, at, &line))
            return false;
        rest = str_from(line, str_find(line, VIEW_CALL));
        if (rest.len && str_has(line, buf_str(&bytes))) {
            is_apart |= str_has(str_from(rest, VIEW_CALL.len), VIEW_CALL);
            if (is_apart)
                buf_add(ret, line);
            return is_apart;
        }
        is_apart |= rest.len || str_has(line, VIEW_RESULT);
    }
    return false;
}

static void source_draw(void *arg, uint64_t at, const struct view *v, struct lines *ret)
{
    CLEANUP(buf_release) struct buf copy = BUF_INIT(BUF_NO_LIMIT); /* of a file's line */
    struct view_place place = {arg, at};
    struct transcript_calls calls = {place_find, &place};
    struct str line;

    if (transcript_file_line(arg, at, &line)) {
        buf_add(&copy, line); /* looking for a call reads others */
        transcript_entry_draw(buf_str(&copy), &calls, v, ret);
        return;
    }
    lines_puts(ret, ROLE_WARNING, "[a line that cannot be shown]");
    lines_end(ret);
}

/* Letters and digits stand in JSON as they are. */
static bool source_may_have(void *arg, uint64_t at, struct str word)
{
    char text[100];
    struct str line;

    if (!transcript_file_line(arg, at, &line))
        return false;
    snprintf(text, sizeof(text), "%.*s", STR_ARG(word)); /* its beginning will do */
    return strcasestr(line.ptr, text);
}

static const struct pager_source transcript_source = {
    .end = source_end,
    .next = source_next,
    .prev = source_prev,
    .draw = source_draw,
    .may_have = source_may_have,
};

static void view_draw(struct panel *p, const struct view *v, struct lines *ret,
                      struct screen_cursor *ret_cursor)
{
    pager_draw(&((struct transcript_view *)p)->pager, v, ret, ret_cursor);
}

static enum panel_state view_key(struct panel *p, const struct keypress *k)
{
    return pager_key(&((struct transcript_view *)p)->pager, k);
}

static int64_t view_due(struct panel *p)
{
    return pager_due(&((struct transcript_view *)p)->pager);
}

static void view_free(struct panel *p)
{
    struct transcript_view *t = (struct transcript_view *)p;

    pager_release(&t->pager);
    transcript_file_release(&t->file);
    mem_freep(&t);
}

static const struct panel_kind transcript_view_kind = {
    .name = "transcript",
    .is_full = true,
    .draw = view_draw,
    .key = view_key,
    .due = view_due,
    .free = view_free,
};

/* The line of a call, or of that uuid. */
static bool find_line(struct transcript_file *f, struct str at, uint64_t *ret)
{
    static const char *const keys[] = {"id", "uuid"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        CLEANUP(buf_release) struct buf bytes = BUF_INIT(1 << 10);

        buf_addf(&bytes, "\"%s\":\"%.*s\"", keys[i], STR_ARG(str_clip(at, 512)));
        if (transcript_file_find_last(f, buf_str(&bytes), ret))
            return true;
    }
    return false;
}

struct panel *transcript_view_new(const char *path, struct str at, struct err *err)
{
    struct transcript_view *t = mem_zalloc(sizeof(*t));
    uint64_t place;

    t->panel.kind = &transcript_view_kind;
    if (transcript_file_open(&t->file, path, err) < 0) {
        transcript_file_release(&t->file);
        mem_freep(&t);
        return NULL;
    }
    pager_init(&t->pager, &transcript_source, &t->file, STR("Transcript"));
    if (at.len && find_line(&t->file, at, &place))
        pager_go(&t->pager, place);
    return &t->panel;
}
