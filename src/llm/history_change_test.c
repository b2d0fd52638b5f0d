/*
 * Later changes of conversations: where they may be cut, and the rest. A conversation is written as
 * in history_test.c: "u:text", "a:text", "c:id" (a call), "r:id" (a result), a blank begins the
 * next message; every block stands on a separate line, named e0, e1, …
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "llm/history.h"
#include "llm/message.h"
#include "unit.h"

static void history_of(struct history *h, const char *text)
{
    struct str rest = str_of(text);
    struct str word;
    int lines = 0;

    while (str_cut(&rest, ' ', &word)) {
        struct message *reply = NULL;
        struct str part;
        size_t count;

        while (str_cut(&word, ',', &part)) {
            struct str value = str_from(part, 2);
            struct block b = {.kind = BLOCK_TEXT, .text = value};
            struct block content = b;
            char entry[20];

            snprintf(entry, sizeof(entry), "e%d", lines++);
            if (part.ptr[0] == 'c')
                b = (struct block){.kind = BLOCK_TOOL_USE, .id = value, .name = STR("T")};
            if (part.ptr[0] == 'r')
                b = (struct block){
                    .kind = BLOCK_TOOL_RESULT, .id = value, .content = &content, .content_len = 1};
            b.entry = str_of(entry);
            if (part.ptr[0] == 'r')
                history_answer(h, &b);
            else if (part.ptr[0] == 'u')
                history_say(h, &b);
            else {
                if (!reply)
                    reply = message_new(ROLE_ASSISTANT, 2);
                message_add(reply, &b);
            }
        }
        if (!reply)
            continue;
        (void)history_messages(h, &count);
        history_reply(h, reply);
        message_unref(reply);
    }
}

static void written(struct history *h, struct buf *ret)
{
    history_seal(h);
    VEC_EACH(&h->list, it) {
        if (ret->len)
            buf_addc(ret, ' ');
        for (size_t i = 0; i < (*it)->len; i++) {
            const struct block *b = &(*it)->blocks[i];

            buf_addf(ret, "%s%c:%.*s", i ? "," : "",
                     b->kind == BLOCK_TOOL_USE      ? 'c'
                     : b->kind == BLOCK_TOOL_RESULT ? 'r'
                     : (*it)->role == ROLE_USER     ? 'u'
                                                    : 'a',
                     STR_ARG(b->id.len ? b->id : b->text));
        }
    }
}

/* The counts are those of a conversation that was always like this, and the rules hold. */
static void check_history(struct history *h, const char *row)
{
    size_t bytes = h->bytes;
    struct err err = {0};

    history_seal(h);
    if (h->list.len && history_check(h->list.ptr, h->list.len, &err) < 0)
        fail_msg("%s: %s", row, err.text);
    history_recount(h);
    if (h->bytes != bytes)
        fail_msg("%s: %zu bytes are counted, and there are %zu", row, bytes, h->bytes);
}

static const struct {
    const char *text;
    size_t max_bytes;
    const char *entries; /* of what stays */
    const char *left;    /* S stands for the summary */
} tail_cases[] = {
    {"u:one a:two u:three a:four", 1000, "e0 e1 e2 e3", "u:S,u:one a:two u:three a:four"},
    {"u:one a:two u:three a:four", 9, "e2 e3", "u:S,u:three a:four"},
    {"u:one a:two u:three a:four", 8, "e3", "u:S a:four"},
    {"u:one a:two u:three a:four", 3, "", "u:S"},
    /* text at the end is the task, however long */
    {"u:one a:two u:three", 0, "e2", "u:S,u:three"},
    {"u:one a:two u:three", 8, "e1 e2", "u:S a:two u:three"},
    /* results never without their calls, calls never without their results */
    {"u:go c:1 r:1 c:2 r:2", 1, "", "u:S"},
    {"u:go c:1 r:1 c:2 r:2", 2, "e3 e4", "u:S c:2 r:2"},
    {"u:go c:1 r:1 c:2 r:2", 3, "e3 e4", "u:S c:2 r:2"},
    {"u:go c:1 r:1,u:and c:2 r:2,u:more", 2, "", "u:S"},
    {"u:go c:1 r:1,u:and c:2 r:2,u:more", 7, "e4 e5 e6", "u:S c:2 r:2,u:more"},
    {"u:go a:x,c:1,c:2 r:1,r:2 a:done", 4, "e6", "u:S a:done"},
    {"u:go a:x,c:1,c:2 r:1,r:2 a:done", 9, "e1 e2 e3 e4 e5 e6", "u:S a:x,c:1,c:2 r:1,r:2 a:done"},
    {"u:only", 0, "e0", "u:S,u:only"},
};

static void tails(void **state)
{
    struct block summary = {.kind = BLOCK_TEXT, .text = STR("S"), .entry = STR("s")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tail_cases); i++) {
        CLEANUP(buf_release) struct buf lines = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf left = BUF_INIT(1000);
        CLEANUP(strv_release) struct strv entries = STRV_INIT;
        struct history h = {0};
        size_t first;
        size_t count;

        history_of(&h, tail_cases[i].text);
        (void)(h.draft ? history_messages(&h, &count) : NULL);
        h.epoch = 7;
        first = history_tail(&h, tail_cases[i].max_bytes);
        history_entries(&h, first, &entries);
        for (size_t k = 0; k < entries.len; k++)
            buf_addf(&lines, "%s%s", k ? " " : "", entries.ptr[k]);
        history_compact(&h, &summary, 1, first);
        written(&h, &left);
        if (!str_is(buf_str(&lines), tail_cases[i].entries) ||
            !str_is(buf_str(&left), tail_cases[i].left) || h.epoch)
            fail_msg("row %zu, %s: kept %s, left %s", i, tail_cases[i].text, buf_cstr(&lines),
                     buf_cstr(&left));
        check_history(&h, tail_cases[i].text);
        history_say_text(&h, STR("next")); /* and it goes on */
        check_history(&h, tail_cases[i].text);
        history_release(&h);
    }
}

static const struct {
    const char *text;
    const char *entries;
    const char *gone; /* NULL: refused */
    const char *left; /* or why it is refused */
} snip_cases[] = {
    {"u:one a:two u:three a:four", "e1 e2", "e1 e2", "u:one a:four"},
    {"u:one a:two u:three", "e1", "e1", "u:one,u:three"},
    {"u:one a:two u:three", "e2", "e2", "u:one a:two"},
    /* pairs stay together, whichever part is named, and answers whole */
    {"u:go a:x,c:1 r:1 a:done", "e3", "e3 e1 e2", "u:go a:done"},
    {"u:go a:x,c:1 r:1 a:done", "e1", "e1 e2 e3", "u:go a:done"},
    {"u:go c:1,c:2 r:1,r:2,u:by c:3 r:3", "e3", "e3 e1 e2 e4", "u:go,u:by c:3 r:3"},
    /* user text beside results can go alone */
    {"u:go c:1 r:1,u:by a:ok", "e3", "e3", "u:go c:1 r:1 a:ok"},
    {"u:one a:two u:three a:four", "e2", NULL,
     "the rest would not be a conversation: message 2 has the wrong role"},
    {"u:one a:two", "e0", NULL,
     "the rest would not be a conversation: message 0 has the wrong role"},
    {"u:one a:two", "e0 e1", NULL, "nothing of the conversation would be left"},
    {"u:one a:two", "e9", NULL, "the conversation has no message e9"},
};

static void snips(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(snip_cases); i++) {
        CLEANUP(buf_release) struct buf gone = BUF_INIT(1000);
        CLEANUP(buf_release) struct buf left = BUF_INIT(1000);
        CLEANUP(strv_release) struct strv entries = STRV_INIT;
        struct str rest = str_of(snip_cases[i].entries);
        struct history h = {0};
        struct err err = {0};
        struct str word;
        int r;

        history_of(&h, snip_cases[i].text);
        while (str_cut(&rest, ' ', &word))
            strv_add(&entries, word);
        r = history_snip_check(&h, &entries, &err);
        if (r < 0) {
            if (snip_cases[i].gone || strcmp(err.text, snip_cases[i].left) != 0)
                fail_msg("row %zu, %s: %s", i, snip_cases[i].text, err.text);
            written(&h, &left);
            assert_string_equal(buf_cstr(&left), snip_cases[i].text); /* nothing has changed */
            history_release(&h);
            continue;
        }
        for (size_t k = 0; k < entries.len; k++)
            buf_addf(&gone, "%s%s", k ? " " : "", entries.ptr[k]);
        h.epoch = 7;
        history_snip(&h, &entries);
        written(&h, &left);
        if (!snip_cases[i].gone || !str_is(buf_str(&gone), snip_cases[i].gone) ||
            !str_is(buf_str(&left), snip_cases[i].left) || h.epoch)
            fail_msg("row %zu, %s: gone %s, left %s", i, snip_cases[i].text, buf_cstr(&gone),
                     buf_cstr(&left));
        check_history(&h, snip_cases[i].text);
        history_release(&h);
    }
}

static void stubs(void **state)
{
    struct history h = {0};
    struct message *const *list;
    size_t count;

    (void)state;
    history_of(&h, "u:go c:1,c:2 r:1,r:2,u:and");
    history_stub(&h, STR("2"), STR("short"));
    check_history(&h, "stub");
    list = history_messages(&h, &count);
    assert_int_equal(count, 3);
    assert_true(str_is(list[2]->blocks[0].content[0].text, "1"));
    assert_true(str_is(list[2]->blocks[1].content[0].text, "short"));
    assert_true(str_is(list[2]->blocks[1].entry, "e4"));
    history_release(&h);
}

/* The draft is gone too; sizes of the old messages are not used again. */
static void replaces(void **state)
{
    struct history old = {0};
    struct history h = {0};
    struct message *const *list;
    CLEANUP(buf_release) struct buf left = BUF_INIT(4096);
    size_t count;

    (void)state;
    history_of(&old, "u:go a:done u:more");
    list = history_messages(&old, &count);
    history_of(&h, "u:go c:1 r:1 a:other u:draft");
    h.epoch = 7;
    history_replace(&h, list, count);
    history_release(&old);
    assert_int_equal(h.epoch, 0);
    check_history(&h, "replaced");
    history_say_text(&h, STR("next"));
    written(&h, &left);
    assert_string_equal(buf_cstr(&left), "u:go a:done u:more,u:next");
    history_replace(&h, NULL, 0);
    check_history(&h, "nothing");
    assert_int_equal(h.list.len, 0);
    history_release(&h);
}

UNIT_TEST(history_change)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),
        cmocka_unit_test(snips),
        cmocka_unit_test(stubs),
        cmocka_unit_test(replaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
