/*
 * The invariants of a conversation: kept by history.c, and noticed by history_check() when broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "llm/history.h"
#include "llm/message.h"
#include "unit.h"

/* "u:text", "a:text", "c:id" (a call), "r:id" (a result); a blank begins the next message. */
static struct message **messages_of(const char *text, size_t *ret_count)
{
    static struct message *list[32];
    struct str rest = str_of(text);
    struct str word;
    size_t n = 0;

    while (str_cut(&rest, ' ', &word)) {
        struct str part;
        struct message *m = NULL;

        while (str_cut(&word, ',', &part)) {
            struct str value = str_from(part, 2);
            struct block b = {.kind = BLOCK_TEXT, .text = value};

            if (part.ptr[0] == 'c')
                b = (struct block){.kind = BLOCK_TOOL_USE, .id = value, .name = STR("T")};
            if (part.ptr[0] == 'r')
                b = (struct block){.kind = BLOCK_TOOL_RESULT, .id = value};
            if (!m)
                m = message_new(
                    part.ptr[0] == 'u' || part.ptr[0] == 'r' ? ROLE_USER : ROLE_ASSISTANT, 2);
            message_add(m, &b);
        }
        list[n++] = m;
    }
    *ret_count = n;
    return list;
}

static const struct {
    const char *text;
    const char *error; /* NULL: valid */
} check_cases[] = {
    {"u:hi", NULL},
    {"u:hi a:ho u:x", NULL},
    {"u:hi a:ho,c:1,c:2 r:1,r:2,u:more a:end", NULL},
    {"a:ho", "message 0 has the wrong role"},
    {"u:hi u:ho", "message 1 has the wrong role"},
    {"u:hi c:1 u:x", "call 1 has no result"},
    {"u:hi c:1", "call 1 has no result"},
    {"u:hi c:1,c:2 r:2,r:1", "a result for 2 where 1 is due"},
    {"u:hi c:1 r:1,r:1", "a result for 1, which was not called"},
    {"u:hi c:1 r:1 c:1 r:1", "the id 1 is used twice"},
    {"u:hi c:1 u:x,r:1", "call 1 has no result"},
};

static void check(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(check_cases); i++) {
        size_t count;
        struct message **list = messages_of(check_cases[i].text, &count);
        struct err err = {0};
        int r = history_check(list, count, &err);

        if (check_cases[i].error ? r == 0 || strcmp(err.text, check_cases[i].error) != 0 : r < 0)
            fail_msg("%s: %s", check_cases[i].text, r < 0 ? err.text : "valid");
        for (size_t m = 0; m < count; m++)
            message_unref(list[m]);
    }
}

static struct message *reply_of(const char *id)
{
    struct message *m = message_new(ROLE_ASSISTANT, 2);
    struct block text = {.kind = BLOCK_TEXT, .text = STR("so")};
    struct block call = {.kind = BLOCK_TOOL_USE, .id = str_of(id), .name = STR("T")};

    message_add(m, &text);
    if (*id)
        message_add(m, &call);
    return m;
}

/* Results, a marker and the next input make one message; so does what follows a failed call. */
static void one_message_between_answers(void **state)
{
    struct history h = {0};
    struct block result = {.kind = BLOCK_TOOL_RESULT, .id = STR("t1")};
    struct message *reply = reply_of("t1");
    struct message *const *list;
    struct err err = {0};
    size_t count;

    (void)state;
    history_say_text(&h, STR("one"));
    list = history_messages(&h, &count);
    assert_int_equal(count, 1);
    history_say_text(&h, STR("two")); /* the first call failed */
    list = history_messages(&h, &count);
    assert_int_equal(count, 1);
    assert_int_equal(list[0]->len, 2);
    history_reply(&h, reply);
    message_unref(reply);
    history_answer(&h, &result);
    history_say_text(&h, STR("[interrupted]"));
    history_say_text(&h, STR("three"));
    list = history_messages(&h, &count);
    assert_int_equal(count, 3);
    assert_int_equal(list[2]->len, 3);
    assert_int_equal(list[2]->blocks[0].kind, BLOCK_TOOL_RESULT);
    if (history_check(list, count, &err) < 0)
        fail_msg("%s", err.text);
    assert_ptr_equal(history_last_reply(&h), list[1]);
    history_release(&h);
}

/* What the provider would not take is left out of results, newest first, and nowhere else. */
static void media_can_go(void **state)
{
    struct history_drops drops = {.list = VEC_INIT};
    struct block image = {.kind = BLOCK_IMAGE, .media_type = STR("image/png"), .data = STR("aGk=")};
    struct history h = {0};
    struct message *const *list;
    struct err err = {0};
    uint64_t epoch;
    size_t count;

    (void)state;
    image.entry = STR("u1");
    history_say_text(&h, STR("reminder"));
    history_say(&h, &(struct block){.kind = BLOCK_TEXT, .text = STR("look"), .entry = STR("u1")});
    history_say(&h, &image); /* the user's own stays */
    for (int i = 1; i <= 2; i++) {
        struct message *reply = reply_of(i == 1 ? "t1" : "t2");
        struct block parts[] = {{.kind = BLOCK_TEXT, .text = STR("seen")}, image};
        struct block result = {.kind = BLOCK_TOOL_RESULT,
                               .id = i == 1 ? STR("t1") : STR("t2"),
                               .content = parts,
                               .content_len = 2};

        (void)history_messages(&h, &count);
        history_reply(&h, reply);
        message_unref(reply);
        history_answer(&h, &result);
    }
    list = history_messages(&h, &count);
    epoch = h.epoch;
    assert_int_equal(history_newest_media(&h), MEDIA_OF_TOOL);
    assert_int_equal(history_drop_media(&h, MEDIA_OF_TOOL, &drops), 1);
    list = history_messages(&h, &count);
    assert_true(h.epoch && h.epoch != epoch); /* it did not only grow */
    assert_int_equal(list[2]->blocks[0].content[1].kind, BLOCK_IMAGE);
    assert_int_equal(list[4]->blocks[0].content_len, 1);
    assert_true(str_starts(list[4]->blocks[0].content[0].text, STR("seen\n[The image is left")));
    assert_int_equal(drops.list.len, 1);
    assert_true(str_is(drops.list.ptr[0].tool_use_id, "t2"));
    assert_true(str_starts(drops.list.ptr[0].text, STR("seen\n")));
    assert_int_equal(history_drop_media(&h, MEDIA_OF_TOOL, &drops), 1);
    assert_int_equal(list[2]->blocks[0].content[0].kind, BLOCK_TEXT);
    assert_int_equal(history_drop_media(&h, MEDIA_OF_TOOL, &drops), 0);
    assert_int_equal(list[0]->blocks[2].kind, BLOCK_IMAGE);
    assert_int_equal(history_newest_media(&h), MEDIA_OF_USER);
    drops.list.len = 0;
    assert_int_equal(history_drop_media(&h, MEDIA_OF_USER, &drops), 1);
    assert_int_equal(list[0]->blocks[2].kind, BLOCK_TEXT);
    assert_true(str_is(drops.list.ptr[0].entry, "u1"));
    assert_int_equal(drops.list.ptr[0].index, 1);
    assert_int_equal(history_newest_media(&h), MEDIA_NONE);
    if (history_check(list, count, &err) < 0)
        fail_msg("%s", err.text);
    vec_release(&drops.list);
    history_release(&h);
}

UNIT_TEST(history)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check),
        cmocka_unit_test(one_message_between_answers),
        cmocka_unit_test(media_can_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
