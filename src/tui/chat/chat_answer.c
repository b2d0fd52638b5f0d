/*
 * An answer as it streams in, and what becomes of it when its step is void.
 *
 * The unseen part of a void step is dropped. If rows of it are in the scrollback already, a retry
 * continues after them as long as it repeats the same text; if it turns out to differ, a note says
 * this and it is shown from its beginning. UI thread.
 */
#include "base/secret.h"
#include "tui/chat/chat_state.h"
#include "tui/markdown/markdown.h"

static void answer_open(struct chat *c)
{
    struct chat_item *it = chat_add(c, ITEM_ANSWER);

    it->is_open = true;
    it->of_step = true;
    it->markdown = markdown_new(&(struct markdown_spec){
        .ascii = c->ascii,
        .spells_links = c->spells_links,
        .first = lines_at(&c->leads, 0),
        .rest = lines_at(&c->leads, 1),
    });
    c->answer = it;
}

/* What may be the beginning of a secret is held back until more has come. */
static void answer_feed(struct chat *c, struct str text)
{
    CLEANUP(buf_release) struct buf clean = BUF_INIT(CHAT_MAX_ANSWER);
    size_t n;

    buf_add(&c->held, text);
    n = c->held.len - secret_tail(buf_str(&c->held));
    buf_add(&clean, str_first(buf_str(&c->held), n));
    buf_cut(&c->held, 0, n);
    secret_scrub(&clean);
    if (clean.len)
        markdown_add(c->answer->markdown, buf_str(&clean));
}

static void answer_show(struct chat *c, struct str text)
{
    if (!c->answer) {
        while (text.len && (text.ptr[0] == '\n' || text.ptr[0] == ' ' || text.ptr[0] == '\r'))
            text = str_from(text, 1); /* an answer begins with words */
        if (!text.len)
            return;
        answer_open(c);
    }
    answer_feed(c, text);
}

static void answer_close(struct chat *c)
{
    struct chat_item *it = c->answer;

    if (!it)
        return;
    if (c->held.len) {
        secret_scrub(&c->held);
        markdown_add(it->markdown, buf_str(&c->held));
        buf_clear(&c->held);
    }
    markdown_end(it->markdown);
    it->is_open = false;
    it->is_void = false;
    c->answer = NULL;
}

/* The rest of it is never shown. */
static void answer_abandon(struct chat *c)
{
    struct chat_item *it = c->answer;

    buf_clear(&c->held);
    if (!it)
        return;
    markdown_free(it->markdown);
    it->markdown = NULL;
    it->is_open = false;
    it->is_void = false;
    c->answer = NULL;
}

void answer_begins(struct chat *c)
{
    if (c->repeating)
        return;
    buf_clear(&c->raw);
    c->step_shown = false;
    for (struct chat_item *it = c->first; it; it = it->next)
        it->of_step = false;
}

/* The new try is another answer than the one that has been seen. */
static void answer_differs(struct chat *c)
{
    CLEANUP(buf_release) struct buf same = BUF_INIT(CHAT_MAX_ANSWER);

    buf_add(&same, str_first(buf_str(&c->raw), c->again));
    answer_abandon(c);
    c->repeating = false;
    (void)chat_add_text(c, ITEM_NOTE, ROLE_WARNING, /*mark=*/NULL,
                        STR("[cut off; a new answer begins]"));
    buf_clear(&c->raw);
    buf_add(&c->raw, buf_str(&same));
    answer_show(c, buf_str(&same));
}

/* It says what the last try had said: that goes on where it stopped. */
static void answer_goes_on(struct chat *c)
{
    c->repeating = false;
    if (c->answer)
        c->answer->is_void = false;
}

/* Removes from *text the part shown before. */
static void answer_skip_repeated(struct chat *c, struct str *text)
{
    struct str left = str_from(buf_str(&c->raw), c->again);
    size_t same = 0;

    while (same < left.len && same < text->len && left.ptr[same] == text->ptr[same])
        same++;
    c->again += same;
    *text = str_from(*text, same);
    if (c->again == c->raw.len)
        answer_goes_on(c);
    else if (text->len)
        answer_differs(c);
}

void answer_add(struct chat *c, struct str text)
{
    if (c->repeating)
        answer_skip_repeated(c, &text);
    if (!text.len)
        return;
    buf_add(&c->raw, text);
    answer_show(c, text);
}

void answer_block_ends(struct chat *c)
{
    if (!c->repeating)
        answer_close(c);
}

void answer_void(struct chat *c)
{
    if (!c->step_shown) {
        answer_abandon(c);
        chat_drop_step(c);
        buf_clear(&c->raw);
        c->repeating = false;
        return;
    }
    c->repeating = true;
    c->again = 0;
    if (c->answer)
        c->answer->is_void = true;
}

void answer_step_ends(struct chat *c)
{
    if (c->repeating) /* the new try is shorter */
        answer_differs(c);
    answer_close(c);
}

void answer_turn_ends(struct chat *c)
{
    if (c->repeating) /* no try was complete */
        answer_abandon(c);
    else
        answer_close(c);
    c->repeating = false;
}
