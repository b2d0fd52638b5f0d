/* The Anthropic dialect: requests by the field, streams cut anywhere, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "json/json.h"
#include "json/jw.h"
#include "llm/dialect/dialect.h"
#include "llm/event_check.h"
#include "llm/message.h"
#include "llm/model.h"
#include "llm/reply.h"
#include "net/sse.h"
#include "unit.h"

#define OURS "{\"provider\":\"anthropic\",\"model\":\"claude-opus-5\"}"
#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

static const struct model opus = {
    .provider = STR_INIT("anthropic"),
    .name = STR_INIT("claude-opus-5"),
    .family = STR_INIT("claude-opus-5"),
    .known = true,
    .max_output = 128000,
    .default_output = 32000,
    .thinking = MODEL_THINKS_ADAPTIVE,
    .efforts = 1u << EFFORT_LOW | 1u << EFFORT_MEDIUM | 1u << EFFORT_HIGH | 1u << EFFORT_XHIGH |
               1u << EFFORT_MAX,
    .images = true,
    .tools = true,
};

/* Requests */

static void expect_json(const char *label, const struct json *got, const char *expect)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *want = NULL;
    struct err err = {0};

    if (expect && json_parse(&arena, str_of(expect), &want, NULL, &err) < 0)
        fail_msg("%s: the test's own JSON: %s", label, err.text);
    if (!expect ? got != NULL : !json_equal(got, want))
        fail_msg("%s:\n%.*s\nexpected:\n%s", label, STR_ARG(json_raw(got)),
                 expect ? expect : "(absent)");
}

static struct message *message_from(const char *text)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *v = NULL;
    struct message *m = NULL;
    struct err err = {0};

    if (json_parse_copy(&arena, str_of(text), &v, NULL, &err) < 0 || message_parse(v, &m, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return m;
}

struct talk {
    struct message *messages[16];
    size_t len;
};

static void talk_release(struct talk *t)
{
    for (size_t i = 0; i < t->len; i++)
        message_unref(t->messages[i]);
}

/* Texts of messages, NULL at the end. */
static void talk_fill(struct talk *t, const char *const *texts)
{
    while (texts[t->len]) {
        t->messages[t->len] = message_from(texts[t->len]);
        t->len++;
    }
}

#define HELLO "{\"role\":\"user\",\"content\":\"hello\"}"

static void test_minimal(void **state)
{
    CLEANUP(talk_release) struct talk t = {0};
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(strv_release) struct strv headers = STRV_INIT;
    struct llm_request req = {.model = &opus, .messages = t.messages, .message_count = 1};
    struct buf path = BUF_INIT(100);
    const struct json *v = NULL;

    (void)state;
    talk_fill(&t, (const char *const[]){HELLO, NULL});
    assert_int_equal(dialect_anthropic.body(&req, &body, NULL), 0);
    assert_int_equal(json_parse(&arena, buf_str(&body), &v, NULL, NULL), 0);
    expect_json("minimal", v,
                "{\"model\":\"claude-opus-5\",\"max_tokens\":32000,\"stream\":true,"
                "\"thinking\":{\"type\":\"adaptive\"},"
                "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                "\"hello\"" MARK "}]}]}");

    dialect_anthropic.path(&req, &path);
    assert_string_equal(buf_cstr(&path), "/v1/messages");
    buf_release(&path);
    dialect_anthropic.headers(&req, STR("sk-1"), false, &headers);
    dialect_anthropic.headers(&req, STR("tok"), true, &headers);
    dialect_anthropic.headers(&req, STR(""), false, &headers);
    assert_int_equal(headers.len, 5);
    assert_string_equal(headers.ptr[0], "anthropic-version: 2023-06-01");
    assert_string_equal(headers.ptr[1], "x-api-key: sk-1");
    assert_string_equal(headers.ptr[3], "authorization: Bearer tok");
    assert_string_equal(headers.ptr[4], "anthropic-version: 2023-06-01");
}

static void test_everything(void **state)
{
    static const struct llm_tool tools[] = {
        {STR_INIT("Bash"), STR_INIT("runs \"it\""), STR_INIT("{\"type\":\"object\"}")},
        {STR_INIT("Todo"), STR_INIT(""), STR_INIT("")},
    };
    CLEANUP(talk_release) struct talk t = {0};
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct llm_request req = {
        .model = &opus,
        .system = STR("Be brief."),
        .tools = tools,
        .tool_count = 2,
        .messages = t.messages,
        .message_count = 1,
        .tail = STR("the goal"),
        .max_tokens = 1000000,
        .effort = EFFORT_MAX,
        .show_thinking = true,
        .cache = CACHE_1H,
        .no_parallel_calls = true,
        .output_schema = STR("{\"type\":\"object\",\"properties\":{}}"),
        .user_id = STR("u-1"),
        .no_stream = true,
    };
    const struct json *v = NULL;

    (void)state;
    talk_fill(&t, (const char *const[]){HELLO, NULL});
    assert_int_equal(dialect_anthropic.body(&req, &body, NULL), 0);
    assert_int_equal(json_parse(&arena, buf_str(&body), &v, NULL, NULL), 0);
#define MARK_1H "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}"
    expect_json(
        "everything", v,
        "{\"model\":\"claude-opus-5\",\"max_tokens\":128000,\"stream\":false,"
        "\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"},"
        "\"output_config\":{\"effort\":\"max\",\"format\":{\"type\":\"json_schema\",\"schema\":"
        "{\"type\":\"object\",\"properties\":{}}}},"
        "\"metadata\":{\"user_id\":\"u-1\"},"
        "\"tool_choice\":{\"type\":\"auto\",\"disable_parallel_tool_use\":true},"
        "\"tools\":[{\"name\":\"Bash\",\"description\":\"runs \\\"it\\\"\",\"input_schema\":"
        "{\"type\":\"object\"}},{\"name\":\"Todo\",\"input_schema\":{\"type\":\"object\","
        "\"properties\":{}}," MARK_1H "}],"
        "\"system\":[{\"type\":\"text\",\"text\":\"Be brief.\"," MARK_1H "}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
        "\"hello\"," MARK_1H "},{\"type\":\"text\",\"text\":\"the goal\"}]}]}");
}

static void test_search(void **state)
{
    static char a[] = "a.org";
    static char b[] = "b.org";
    static char *names[] = {a, b, NULL};
    static const struct strv domains = {names, 2, 2};
    static const struct {
        struct llm_search search;
        const char *expect;
    } rows[] = {
        {{.max_uses = 5, .allowed = &domains},
         "[{\"type\":\"web_search_20250305\",\"name\":\"web_search\",\"max_uses\":5,"
         "\"allowed_domains\":[\"a.org\",\"b.org\"]}]"},
        {{.blocked = &domains},
         "[{\"type\":\"web_search_20250305\",\"name\":\"web_search\","
         "\"blocked_domains\":[\"a.org\",\"b.org\"]}]"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(talk_release) struct talk t = {0};
        CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct llm_request req = {
            .model = &opus, .search = &rows[i].search, .messages = t.messages, .message_count = 1};
        const struct json *v = NULL;

        talk_fill(&t, (const char *const[]){HELLO, NULL});
        assert_int_equal(dialect_anthropic.body(&req, &body, NULL), 0);
        assert_int_equal(json_parse(&arena, buf_str(&body), &v, NULL, NULL), 0);
        expect_json("search", json_get(v, "tools"), rows[i].expect);
        assert_null(json_get(v, "tool_choice"));
    }
}

static const struct {
    const char *label;
    enum model_thinking model;
    enum thinking thinking;
    int64_t budget, max_tokens;
    enum effort effort;
    bool show;
    enum tool_choice choice;
    const char *expect_thinking, *expect_config, *expect_choice; /* NULL: absent */
} think_rows[] = {
    {"adaptive", MODEL_THINKS_ADAPTIVE, THINKING_DEFAULT, 0, 0, EFFORT_UNSET, false, CHOICE_AUTO,
     "{\"type\":\"adaptive\"}", NULL, NULL},
    {"adaptive takes no budget", MODEL_THINKS_ADAPTIVE, THINKING_BUDGET, 5000, 0, EFFORT_HIGH, true,
     CHOICE_AUTO, "{\"type\":\"adaptive\",\"display\":\"summarized\"}", "{\"effort\":\"high\"}",
     NULL},
    {"adaptive off", MODEL_THINKS_ADAPTIVE, THINKING_OFF, 0, 0, EFFORT_UNSET, true, CHOICE_AUTO,
     "{\"type\":\"disabled\"}", NULL, NULL},
    {"off and max do not go together", MODEL_THINKS_ADAPTIVE, THINKING_OFF, 0, 0, EFFORT_MAX, false,
     CHOICE_AUTO, "{\"type\":\"disabled\"}", "{\"effort\":\"high\"}", NULL},
    {"effort none is off", MODEL_THINKS_ADAPTIVE, THINKING_DEFAULT, 0, 0, EFFORT_NONE, false,
     CHOICE_AUTO, "{\"type\":\"disabled\"}", NULL, NULL},
    {"minimal is low here", MODEL_THINKS_ADAPTIVE, THINKING_DEFAULT, 0, 0, EFFORT_MINIMAL, false,
     CHOICE_AUTO, "{\"type\":\"adaptive\"}", "{\"effort\":\"low\"}", NULL},
    {"a forced call ends thinking", MODEL_THINKS_ADAPTIVE, THINKING_DEFAULT, 0, 0, EFFORT_UNSET,
     false, CHOICE_NAMED, "{\"type\":\"disabled\"}", NULL, "{\"type\":\"tool\",\"name\":\"Bash\"}"},
    {"none may think", MODEL_THINKS_ADAPTIVE, THINKING_DEFAULT, 0, 0, EFFORT_UNSET, false,
     CHOICE_NONE, "{\"type\":\"adaptive\"}", NULL, "{\"type\":\"none\"}"},
    {"budget by default", MODEL_THINKS_BUDGET, THINKING_DEFAULT, 0, 0, EFFORT_UNSET, false,
     CHOICE_AUTO, "{\"type\":\"enabled\",\"budget_tokens\":16384}", NULL, NULL},
    {"budget by effort", MODEL_THINKS_BUDGET, THINKING_DEFAULT, 0, 0, EFFORT_LOW, true, CHOICE_AUTO,
     "{\"type\":\"enabled\",\"budget_tokens\":4096}", "{\"effort\":\"low\"}", NULL},
    {"budget as asked", MODEL_THINKS_BUDGET, THINKING_BUDGET, 7000, 0, EFFORT_UNSET, false,
     CHOICE_AUTO, "{\"type\":\"enabled\",\"budget_tokens\":7000}", NULL, NULL},
    {"budget below the least", MODEL_THINKS_BUDGET, THINKING_BUDGET, 5, 0, EFFORT_UNSET, false,
     CHOICE_AUTO, "{\"type\":\"enabled\",\"budget_tokens\":1024}", NULL, NULL},
    {"budget below max_tokens", MODEL_THINKS_BUDGET, THINKING_BUDGET, 7000, 5000, EFFORT_UNSET,
     false, CHOICE_AUTO, "{\"type\":\"enabled\",\"budget_tokens\":4999}", NULL, NULL},
    {"no room for a budget", MODEL_THINKS_BUDGET, THINKING_DEFAULT, 0, 1024, EFFORT_UNSET, false,
     CHOICE_AUTO, NULL, NULL, NULL},
    {"budget off", MODEL_THINKS_BUDGET, THINKING_OFF, 0, 0, EFFORT_UNSET, false, CHOICE_ANY, NULL,
     NULL, "{\"type\":\"any\"}"},
    {"always, unseen", MODEL_THINKS_ALWAYS, THINKING_OFF, 0, 0, EFFORT_XHIGH, false, CHOICE_ANY,
     NULL, "{\"effort\":\"xhigh\"}", NULL},
    {"always, seen", MODEL_THINKS_ALWAYS, THINKING_DEFAULT, 0, 0, EFFORT_UNSET, true, CHOICE_AUTO,
     "{\"type\":\"adaptive\",\"display\":\"summarized\"}", NULL, NULL},
    {"not at all", MODEL_THINKS_NOT, THINKING_BUDGET, 7000, 0, EFFORT_UNSET, true, CHOICE_AUTO,
     NULL, NULL, NULL},
};

static void test_thinking(void **state)
{
    static const struct llm_tool tool = {STR_INIT("Bash"), STR_INIT(""), STR_INIT("")};
    CLEANUP(talk_release) struct talk t = {0};

    (void)state;
    talk_fill(&t, (const char *const[]){HELLO, NULL});
    for (size_t i = 0; i < ARRAY_LEN(think_rows); i++) {
        CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct model model = opus;
        struct llm_request req = {
            .model = &model,
            .tools = &tool,
            .tool_count = 1,
            .messages = t.messages,
            .message_count = t.len,
            .max_tokens = think_rows[i].max_tokens,
            .effort = think_rows[i].effort,
            .thinking = think_rows[i].thinking,
            .thinking_budget = think_rows[i].budget,
            .show_thinking = think_rows[i].show,
            .choice = think_rows[i].choice,
            .choice_name = STR("Bash"),
        };
        const struct json *v = NULL;

        model.thinking = think_rows[i].model;
        assert_int_equal(dialect_anthropic.body(&req, &body, NULL), 0);
        assert_int_equal(json_parse(&arena, buf_str(&body), &v, NULL, NULL), 0);
        expect_json(think_rows[i].label, json_get(v, "thinking"), think_rows[i].expect_thinking);
        expect_json(think_rows[i].label, json_get(v, "output_config"), think_rows[i].expect_config);
        expect_json(think_rows[i].label, json_get(v, "tool_choice"), think_rows[i].expect_choice);
    }
}

#define USER(blocks) "{\"role\":\"user\",\"content\":[" blocks "]}"
#define ASSISTANT(blocks) "{\"role\":\"assistant\",\"content\":[" blocks "]}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define CALL(id, input)                                                                            \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Bash\",\"input\":" input "}"
#define RESULT(id, content)                                                                        \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":" content "}"

#define SIGNED(model)                                                                              \
    "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\",\"provider_data\":"            \
    "{\"provider\":\"anthropic\",\"model\":\"" model "\"}}"

/* With a budget, a turn that goes on must have begun with a thought of this model. */
static const struct {
    const char *label;
    const char *messages[10];
    bool thinks;
} turn_rows[] = {
    {"with its own thought",
     {USER(TEXT("go")), ASSISTANT(SIGNED("claude-opus-5") "," CALL("t", "{}")),
      USER(RESULT("t", "\"r\""))},
     true},
    {"with the thought of another model",
     {USER(TEXT("go")), ASSISTANT(SIGNED("claude-fable-5") "," CALL("t", "{}")),
      USER(RESULT("t", "\"r\""))},
     false},
    {"with none",
     {USER(TEXT("go")), ASSISTANT(TEXT("so") "," CALL("t", "{}")), USER(RESULT("t", "\"r\""))},
     false},
    {"only the first of its messages counts",
     {USER(TEXT("go")), ASSISTANT(SIGNED("claude-opus-5") "," CALL("t", "{}")),
      USER(RESULT("t", "\"r\"")), ASSISTANT(CALL("u", "{}")), USER(RESULT("u", "\"r\"")),
      USER(TEXT("hurry"))},
     true},
    {"and that one alone is not enough",
     {USER(TEXT("go")), ASSISTANT(CALL("t", "{}")), USER(RESULT("t", "\"r\"")),
      ASSISTANT(SIGNED("claude-opus-5") "," CALL("u", "{}")), USER(RESULT("u", "\"r\""))},
     false},
    {"a new turn begins as it likes",
     {USER(TEXT("go")), ASSISTANT(CALL("t", "{}")), USER(RESULT("t", "\"r\"")),
      ASSISTANT(TEXT("done")), USER(TEXT("more"))},
     true},
    {"and its calls are looked at, not those before",
     {USER(TEXT("go")), ASSISTANT(CALL("t", "{}")), USER(RESULT("t", "\"r\"")),
      ASSISTANT(TEXT("done")), USER(TEXT("more")),
      ASSISTANT(SIGNED("claude-opus-5") "," CALL("u", "{}")), USER(RESULT("u", "\"r\""))},
     true},
};

static void test_turns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(turn_rows); i++) {
        CLEANUP(talk_release) struct talk t = {0};
        CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        struct model model = opus;
        struct llm_request req = {.model = &model, .messages = t.messages};
        const struct json *v = NULL;

        talk_fill(&t, turn_rows[i].messages);
        req.message_count = t.len;
        model.thinking = MODEL_THINKS_BUDGET;
        assert_int_equal(dialect_anthropic.body(&req, &body, NULL), 0);
        assert_int_equal(json_parse(&arena, buf_str(&body), &v, NULL, NULL), 0);
        expect_json(turn_rows[i].label, json_get(v, "thinking"),
                    turn_rows[i].thinks ? "{\"type\":\"enabled\",\"budget_tokens\":16384}" : NULL);
        /* Where the model thinks as it likes, it may begin at any time. */
        model.thinking = MODEL_THINKS_ADAPTIVE;
        buf_clear(&body);
        assert_int_equal(dialect_anthropic.body(&req, &body, NULL), 0);
        assert_int_equal(json_parse(&arena, buf_str(&body), &v, NULL, NULL), 0);
        expect_json(turn_rows[i].label, json_get(v, "thinking"), "{\"type\":\"adaptive\"}");
    }
}

static const struct {
    const char *label;
    const char *messages[8];
    const char *tail;
    bool cached;
    bool blind;         /* a model without images */
    const char *expect; /* NULL: refused */
} message_rows[] = {
    {"same roles are joined, results come first",
     {USER(TEXT("go")), ASSISTANT(CALL("t1", "{\"a\": 1}") "," CALL("t2", "{}")),
      USER(TEXT("by the way") "," RESULT("t1", "\"one\"")), USER(RESULT("t2", "[]")),
      USER(TEXT("and"))},
     "",
     false,
     false,
     "[" USER(TEXT("go")) "," ASSISTANT(CALL("t1", "{\"a\":1}") "," CALL("t2", "{}")) "," USER(
         RESULT("t1", "\"one\"") "," RESULT("t2",
                                            "[]") "," TEXT("by the way") "," TEXT("and")) "]"},
    {"marks on the last block and on the turn before",
     {USER(TEXT("a")), ASSISTANT(TEXT("b")), USER(TEXT("c") "," TEXT("d")),
      ASSISTANT(CALL("t", "{}")), USER(RESULT("t", "\"r\""))},
     "tail",
     true,
     false,
     "[" USER(TEXT("a")) "," ASSISTANT(TEXT("b")) "," USER(TEXT(
         "c") ",{\"type\":\"text\",\"text\":\"d\"" MARK
              "}") "," ASSISTANT(CALL("t", "{}")) "," USER("{\"type\":\"tool_result\",\"tool_use_"
                                                           "id\":\"t\",\"content\":\"r\"" MARK
                                                           "}," TEXT("tail")) "]"},
    {"a tail behind an assistant is a turn of its own",
     {USER(TEXT("a")), ASSISTANT(TEXT("b"))},
     "tail",
     true,
     false,
     "[" USER("{\"type\":\"text\",\"text\":\"a\"" MARK
              "}") "," ASSISTANT("{\"type\":\"text\",\"text\":\"b\"" MARK
                                 "}") ",{\"role\":\"user\",\"content\":\"tail\"}]"},
    {"blank text goes, and so does a message of nothing else",
     {USER(TEXT("a") "," TEXT("")), ASSISTANT(TEXT(" \\n")), USER(TEXT("b"))},
     "  ",
     true,
     false,
     "[" USER(TEXT("a") ",{\"type\":\"text\",\"text\":\"b\"" MARK "}") "]"},
    {"thinking goes back only where it was signed, and takes no mark",
     {USER(TEXT("a")),
      ASSISTANT(
          "{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"\"},"
          "{\"type\":\"thinking\",\"thinking\":\"y\",\"signature\":\"s\",\"provider_data\":"
          "{\"provider\":\"openai\",\"model\":\"gpt\"}},"
          "{\"type\":\"redacted_thinking\",\"data\":\"r\",\"provider_data\":" OURS "},"
          "{\"type\":\"thinking\",\"thinking\":\"z\",\"signature\":\"s\",\"provider_data\":" OURS
          "}")},
     "",
     true,
     false,
     "[" USER("{\"type\":\"text\",\"text\":\"a\"" MARK
              "}") "," ASSISTANT("{\"type\":\"redacted_thinking\",\"data\":\"r\"},{\"type\":"
                                 "\"thinking\",\"thinking\":\"z\","
                                 "\"signature\":\"s\"}") "]"},
    {"what servers and others added",
     {USER(TEXT("a")),
      ASSISTANT(
          "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"input\":{\"q\":1},\"provider_data\":" OURS
          "},{\"type\":\"reasoning\",\"id\":\"rs\",\"provider_data\":{\"provider\":\"openai\","
          "\"model\":\"gpt\"}},"
          "{\"type\":\"text\",\"text\":\"b\",\"citations\":[{\"n\":1}],\"provider_data\":" OURS "},"
          "{\"type\":\"text\",\"text\":\"c\",\"citations\":[{\"n\":2}],\"provider_data\":"
          "{\"provider\":\"openai\",\"model\":\"gpt\"}}")},
     "",
     false,
     false,
     "[" USER(TEXT("a")) "," ASSISTANT(
         "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"input\":{\"q\":1}},{\"type\":\"text\","
         "\"text\":\"b\",\"citations\":[{\"n\":1}]}," TEXT("c")) "]"},
    {"images and documents",
     {USER("{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
           "\"data\":\"iVBO\"}},{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"u\"}},"
           "{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\","
           "\"data\":\"d\"},\"title\":\"T\"},"
           "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
           "\"application/pdf\",\"data\":\"JVBE\"}}")},
     "",
     false,
     false,
     "[" USER(
         "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
         "\"data\":\"iVBO\"}},{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"u\"}},"
         "{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\","
         "\"data\":\"d\"},\"title\":\"T\"},"
         "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
         "\"application/pdf\",\"data\":\"JVBE\"}}") "]"},
    {"a result with parts, for a model without eyes",
     {USER(TEXT("a")), ASSISTANT(CALL("t", "{}")),
      USER("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"name\":\"Read\",\"is_error\":true,"
           "\"content\":[" TEXT("p") "," TEXT(
               "") ",{\"type\":\"image\",\"source\":{\"type\":"
                   "\"url\",\"url\":\"u\"}},{\"type\":\"search_result\",\"title\":\"t\"}]}")},
     "",
     false,
     true,
     "[" USER(TEXT("a")) "," ASSISTANT(CALL("t", "{}")) "," USER(
         "{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"is_error\":true,\"content\":[" TEXT(
             "p") "," TEXT("[image left out: claude-opus-5 takes no images]") ",{\"type\":\"search_"
                                                                              "result\",\"title\":"
                                                                              "\"t\"}"
                                                                              "]}") "]"},
    {"input that was no object, and half a character",
     {USER(TEXT("a\\ud83d")),
      ASSISTANT("{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"B\",\"input\":{},\"input_text\":"
                "\"{\\\"a\\\"\"}")},
     "",
     false,
     false,
     "[" USER(TEXT("a\xef\xbf\xbd")) "," ASSISTANT(
         "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"B\",\"input\":{\"invalid_json\":"
         "\"{\\\"a\\\"\"}}") "]"},
    {"a call of what does not exist",
     {USER(TEXT("a")),
      ASSISTANT("{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f.g h\",\"input\":{}},"
                "{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"\",\"input\":{}}")},
     "",
     false,
     false,
     "[" USER(TEXT("a")) "," ASSISTANT(
         "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f_g_h\",\"input\":{}},"
         "{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"unnamed\",\"input\":{}}") "]"},
    {"an assistant cannot begin", {ASSISTANT(TEXT("a"))}, "", true, false, NULL},
    {"nothing to say", {USER(TEXT(" "))}, "tail", true, false, NULL},
};

static void test_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(message_rows); i++) {
        for (int again = 0; again < 2; again++) { /* the second time from the cache */
            CLEANUP(talk_release) struct talk t = {0};
            CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
            CLEANUP(arena_release) struct arena arena = ARENA_INIT;
            struct model model = opus;
            struct llm_request req = {.model = &model,
                                      .messages = t.messages,
                                      .tail = str_of(message_rows[i].tail),
                                      .cache = message_rows[i].cached ? CACHE_5M : CACHE_OFF};
            const struct json *v = NULL;
            struct err err = {0};
            int rc = 0;

            model.images = !message_rows[i].blind;
            talk_fill(&t, message_rows[i].messages);
            req.message_count = t.len;
            for (int n = 0; n <= again; n++) {
                buf_clear(&body);
                rc = dialect_anthropic.body(&req, &body, &err);
            }
            if (!message_rows[i].expect) {
                assert_int_equal(rc, -1);
                assert_int_equal(err.code, ERR_BAD_INPUT);
                continue;
            }
            if (rc < 0 || json_parse(&arena, buf_str(&body), &v, NULL, &err) < 0)
                fail_msg("%s: %s", message_rows[i].label, err.text);
            expect_json(message_rows[i].label, json_get(v, "messages"), message_rows[i].expect);
        }
    }
}

static size_t count_of(struct str s, struct str needle)
{
    size_t n = 0;

    for (;;) {
        size_t at = str_find(s, needle);

        if (at == s.len)
            return n;
        n++;
        s = str_from(s, at + needle.len);
    }
}

static void without_marks(const struct buf *body, struct buf *out)
{
    struct str s = buf_str(body);
    struct str mark = STR(MARK);

    buf_clear(out);
    for (;;) {
        size_t at = str_find(s, mark);

        buf_add(out, str_first(s, at));
        if (at == s.len)
            return;
        s = str_from(s, at + mark.len);
    }
}

/* A conversation that grows: every request begins with the bytes of the one before, old messages
 * are not written again, and the mark of the request before is still there. */
static void test_growing(void **state)
{
    static const struct llm_tool tool = {STR_INIT("Bash"), STR_INIT(""), STR_INIT("")};
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf plain = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf before = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf long_way = BUF_INIT(BUF_NO_LIMIT);
    struct message *messages[301];
    size_t len = 0;

    (void)state;
    messages[len++] = message_from(HELLO);
    for (int turn = 0; turn < 150; turn++) {
        struct llm_request req = {.model = &opus,
                                  .system = STR("s"),
                                  .tools = &tool,
                                  .tool_count = 1,
                                  .messages = messages,
                                  .message_count = len,
                                  .tail = STR("changing")};
        struct str key = STR("anthropic anthropic claude-opus-5");
        const char *kept = message_wire_get(messages[0], key).ptr;
        char marked[64];
        struct str all;

        buf_clear(&body);
        assert_int_equal(dialect_anthropic.body(&req, &body, NULL), 0);
        assert_true(turn == 0 || message_wire_get(messages[0], key).ptr == kept);
        /* With what a growing history allows to be remembered: the same bytes, also when the
         * request is made again. */
        req.epoch = 7;
        for (int again = 0; again < 2; again++) {
            buf_clear(&long_way);
            assert_int_equal(dialect_anthropic.body(&req, &long_way, NULL), 0);
            assert_string_equal(buf_cstr(&long_way), buf_cstr(&body));
        }
        assert_int_equal(count_of(buf_str(&body), STR("cache_control")), turn == 0 ? 3 : 4);
        if (turn > 0) { /* the results of this turn and of the one before */
            snprintf(marked, sizeof(marked), "\"r%d\"" MARK, turn - 1);
            assert_true(str_has(buf_str(&body), str_of(marked)));
        }
        if (turn > 1) {
            snprintf(marked, sizeof(marked), "\"r%d\"" MARK, turn - 2);
            assert_true(str_has(buf_str(&body), str_of(marked)));
        }
        without_marks(&body, &plain);
        all = buf_str(&plain);
        assert_true(str_starts(all, buf_str(&before)));
        buf_clear(&before); /* all but the tail and the closing brackets */
        buf_add(&before,
                str_first(all, str_find(all, STR(",{\"type\":\"text\",\"text\":\"changi"))));

        messages[len] = message_new(ROLE_ASSISTANT, 1);
        snprintf(marked, sizeof(marked), "t%d", turn);
        message_add(messages[len++], &(struct block){.kind = BLOCK_TOOL_USE,
                                                     .id = str_of(marked),
                                                     .name = STR("Bash"),
                                                     .input = STR("{ \"x\":1}")});
        messages[len] = message_new(ROLE_USER, 1);
        snprintf(marked, sizeof(marked), "r%d", turn);
        message_add(
            messages[len++],
            &(struct block){.kind = BLOCK_TOOL_RESULT,
                            .id = STR("t"),
                            .content = &(struct block){.kind = BLOCK_TEXT, .text = str_of(marked)},
                            .content_len = 1});
    }
    for (size_t i = 0; i < len; i++)
        message_unref(messages[i]);
}

static void test_too_big(void **state)
{
    size_t size = 33 << 20;
    CLEANUP(mem_freep) char *data = mem_alloc(size);
    CLEANUP(message_unrefp) struct message *m = message_new(ROLE_USER, 1);
    CLEANUP(buf_release) struct buf body = BUF_INIT(BUF_NO_LIMIT);
    struct llm_request req = {.model = &opus, .messages = &m, .message_count = 1};
    struct err err = {0};

    (void)state;
    memset(data, 'A', size);
    message_add(m, &(struct block){.kind = BLOCK_IMAGE,
                                   .media_type = STR("image/png"),
                                   .data = str_make(data, size)});
    assert_int_equal(dialect_anthropic.body(&req, &body, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_non_null(strstr(err.text, "33.0 MB"));
}

/* Answers */

#define EV(type, members) "event: " type "\ndata: {\"type\":\"" type "\"" members "}\n\n"
#define BARE(type, members) "data: {\"type\":\"" type "\"" members "}\n\n"
#define START                                                                                      \
    EV("message_start", ",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-x\",\"content\":[],"    \
                        "\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":7,"        \
                        "\"cache_read_input_tokens\":5,\"cache_creation\":{"                       \
                        "\"ephemeral_5m_input_tokens\":4,\"ephemeral_1h_input_tokens\":3},"        \
                        "\"output_tokens\":1}}")
#define OPEN(block) EV("content_block_start", ",\"index\":0,\"content_block\":" block)
#define DELTA(delta) EV("content_block_delta", ",\"index\":0,\"delta\":" delta)
#define CLOSE EV("content_block_stop", ",\"index\":0")
#define STOP(reason)                                                                               \
    EV("message_delta", ",\"delta\":{\"stop_reason\":\"" reason "\",\"stop_sequence\":null},"      \
                        "\"usage\":{\"input_tokens\":null,\"output_tokens\":42}")                  \
    EV("message_stop", "")
#define FIGURES " in=10 out=42 read=5 write=7/3 think=0\n"

struct stream_row {
    const char *label;
    const char *sse;
    const char *expect; /* events; NULL: not looked at */
    enum err_code code;
    bool retry, overloaded; /* of the fault, when an error event came */
};

static const struct stream_row stream_rows[] = {
    {"text",
     START EV("ping", "") OPEN("{\"type\":\"text\",\"text\":\"\"}")
         DELTA("{\"type\":\"text_delta\",\"text\":\"Hel\"}") EV("ping", "") DELTA(
             "{\"type\":\"text_delta\",\"text\":\"lo \\ud83d\\ude00\"}") CLOSE STOP("end_turn"),
     "start claude-x\n0 text [Hello \xf0\x9f\x98\x80]\nstop end_turn" FIGURES},
    {"no event lines, a stop left out, unknown events",
     BARE("message_start", ",\"message\":{\"id\":\"m\"}") BARE(
         "content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
         BARE("content_block_delta", ",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}")
             BARE("weather_report", ",\"x\":1")
                 BARE("content_block_delta", ",\"delta\":{\"type\":\"mood_delta\",\"mood\":1}")
                     BARE("message_stop", "") "data: [DONE]\n\n",
     "start claude-opus-5\n0 text [a]\nstop end_turn in=0 out=0 read=0 write=0/0 think=0 "
     "unknown\n"},
    {"thinking with a signature, then a call",
     START OPEN("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
         DELTA("{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}")
             DELTA("{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}") CLOSE EV(
                 "content_block_start",
                 ",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_v\","
                 "\"name\":\"Bash\",\"input\":{}}")
                 EV("content_block_delta",
                    ",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}")
                     EV("content_block_delta", ",\"index\":1,\"delta\":{\"type\":\"input_json_"
                                               "delta\",\"partial_json\":\"{\\\"a\\\"\"}")
                         EV("content_block_delta", ",\"index\":1,\"delta\":{\"type\":\"input_json_"
                                                   "delta\",\"partial_json\":\": 1}\"}")
                             EV("content_block_stop", ",\"index\":1") STOP("tool_use"),
     "start claude-x\n0 thinking [hm] signature=c2ln\n1 tool_use Bash [{\"a\": 1}]\nstop "
     "tool_use" FIGURES},
    {"thinking that is not shown",
     START OPEN("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
         DELTA("{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}") CLOSE OPEN(
             "{\"type\":\"redacted_thinking\",\"data\":\"AAAA\"}") CLOSE STOP("end_turn"),
     "start claude-x\n0 thinking signature=c2ln\n1 redacted data=AAAA\nstop end_turn" FIGURES},
    {"parallel calls, empty input, input in the start event",
     START OPEN("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"A\",\"input\":{}}")
         CLOSE OPEN("{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"B\",\"input\":{\"x\":[1]}}")
             CLOSE OPEN("{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"C\",\"input\":{\"old\":1}}")
                 DELTA("{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"new\\\":2}\"}")
                     STOP("end_turn"),
     "start claude-x\n0 tool_use A\n1 tool_use B [{\"x\":[1]}]\n2 tool_use C "
     "[{\"new\":2}]\nstop tool_use" FIGURES},
    {"a call cut by the token limit",
     START OPEN("{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"A\",\"input\":{}}")
         DELTA("{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}")
             CLOSE STOP("max_tokens"),
     "start claude-x\n0 tool_use A [{\"a\":] bad\nstop max_tokens" FIGURES},
    {"citations",
     START OPEN("{\"type\":\"text\",\"text\":\"\",\"citations\":[]}")
         DELTA("{\"type\":\"text_delta\",\"text\":\"so\"}")
             DELTA("{\"type\":\"citations_delta\",\"citation\":{\"type\":\"char_location\"}}")
                 DELTA("{\"type\":\"citations_delta\",\"citation\":{\"type\":\"page_location\"}}")
                     CLOSE STOP("end_turn"),
     "start claude-x\n0 text [so] "
     "raw=[{\"type\":\"char_location\"},{\"type\":\"page_location\"}]\nstop end_turn" FIGURES},
    {"server tools and blocks of the future",
     START OPEN("{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{}}")
         DELTA("{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"query\\\":\"}")
             DELTA("{\"type\":\"input_json_delta\",\"partial_json\":\" \\\"x\\\"}\"}") CLOSE OPEN(
                 "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[{\"u\":1."
                 "0}]}") CLOSE OPEN("{\"type\":\"dream\",\"text\":\"a\",\"n\":1}")
                 DELTA("{\"type\":\"dream_delta\",\"text\":\"b\",\"mood\":\"c\"}")
                     DELTA("{\"type\":\"dream_delta\",\"text\":\"d\"}") CLOSE STOP("pause_turn"),
     "start claude-x\n0 other "
     "raw={\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{\"query\":"
     "\"x\"}}\n1 other "
     "raw={\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[{\"u\":1.0}]}\n2 "
     "other raw={\"type\":\"dream\",\"n\":1,\"text\":\"abd\",\"mood\":\"c\"}\nstop "
     "pause_turn" FIGURES},
    {"a stop sequence",
     START EV("message_delta", ",\"delta\":{\"stop_reason\":\"stop_sequence\",\"stop_sequence\":"
                               "\"END\"},\"usage\":{\"output_tokens\":42}") EV("message_stop", ""),
     "start claude-x\nstop stop_sequence [END]" FIGURES},
    {"a refusal and why",
     START EV("message_delta",
              ",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":{\"type\":\"refusal\","
              "\"category\":\"x\",\"explanation\":\"no way\"}},\"usage\":{\"output_tokens\":42}")
         EV("message_stop", ""),
     "start claude-x\nstop refusal (no way)" FIGURES},
    {"the window was full", START STOP("model_context_window_exceeded"),
     "start claude-x\nstop model_context_window_exceeded" FIGURES},
    {"a reason of the future", START STOP("bored"), "start claude-x\nstop end_turn" FIGURES},
    {"figures only at the end, null and wrong ones ignored",
     EV("message_start", ",\"message\":{\"model\":\"m\",\"usage\":null}") EV(
         "message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"input_tokens\":"
                          "3,\"output_tokens\":9,\"cache_read_input_tokens\":null,"
                          "\"cache_creation\":{\"ephemeral_5m_input_tokens\":2,"
                          "\"ephemeral_1h_input_tokens\":1},"
                          "\"output_tokens_details\":{\"thinking_tokens\":4}}")
         EV("message_delta",
            ",\"delta\":{},\"usage\":{\"input_tokens\":\"x\",\"output_tokens\":-1}")
             EV("message_stop", ""),
     "start m\nstop end_turn in=3 out=9 read=0 write=3/1 think=4\n"},
    {"an input of 0 at the end does not undo what the start said",
     START EV("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
                               "\"input_tokens\":0,\"cache_creation_input_tokens\":0,"
                               "\"cache_read_input_tokens\":0,\"output_tokens\":42}")
         EV("message_stop", ""),
     "start claude-x\nstop end_turn" FIGURES},
    {"other figures of the input at the end count, also a 0 among them",
     START EV("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{"
                               "\"input_tokens\":0,\"cache_read_input_tokens\":15,"
                               "\"output_tokens\":42}") EV("message_stop", ""),
     "start claude-x\nstop end_turn in=0 out=42 read=15 write=7/3 think=0\n"},
    {"overloaded in the middle",
     START OPEN("{\"type\":\"text\",\"text\":\"\"}")
         DELTA("{\"type\":\"text_delta\",\"text\":\"a\"}")
             EV("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"),
     "start claude-x\n", ERR_RETRY_LATER, true, true},
    {"a server error in the middle",
     START EV("error", ",\"error\":{\"type\":\"api_error\",\"message\":\"Internal\"}"),
     "start claude-x\n", ERR_NETWORK, true},
    {"a rate limit in the middle is no spending cap",
     START EV("error", ",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}"), NULL,
     ERR_RETRY_LATER, true},
    {"too long, said late",
     START EV("error", ",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too "
                       "long: 2 tokens > 1 maximum\"}"),
     NULL, ERR_CONTEXT_FULL},
    {"an error without a type", "event: error\ndata: {\"error\":{\"message\":\"odd\"}}\n\n", NULL,
     ERR_NETWORK, true},
    {"cut before the end", START OPEN("{\"type\":\"text\",\"text\":\"\"}") CLOSE, NULL,
     ERR_PROTOCOL},
    {"nothing at all", "", "", ERR_PROTOCOL},
    {"not JSON", "data: hello\n\n", NULL, ERR_PROTOCOL},
    {"a stop without a start", EV("message_stop", ""), NULL, ERR_PROTOCOL},
    {"a block without a type", START OPEN("{}"), NULL, ERR_PROTOCOL},
    {"a result, which only we have", START OPEN("{\"type\":\"tool_result\",\"tool_use_id\":\"x\"}"),
     NULL, ERR_PROTOCOL},
    {"a delta for another block",
     START OPEN("{\"type\":\"text\",\"text\":\"\"}") EV(
         "content_block_delta", ",\"index\":7,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}"),
     NULL, ERR_PROTOCOL},
    {"input for a text",
     START OPEN("{\"type\":\"text\",\"text\":\"\"}")
         DELTA("{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}"),
     NULL, ERR_PROTOCOL},
    {"text for nobody", START DELTA("{\"type\":\"text_delta\",\"text\":\"a\"}"), NULL,
     ERR_PROTOCOL},
};

struct reading {
    struct decoder *decoder;
    struct llm_fault fault;
};

static int on_sse(struct str name, struct str data, void *arg, struct err *err)
{
    struct reading *r = arg;

    return dialect_anthropic.event(r->decoder, name, data, &r->fault, err);
}

/* Feeds the stream in pieces: the first of `first` bytes, the others of `rest`. */
static int read_stream(struct str sse, size_t first, size_t rest, struct event_check *check,
                       struct llm_fault *ret_fault, struct message **ret, struct err *err)
{
    struct llm_request req = {.model = &opus};
    struct reply *reply = reply_new(event_check_fn, check);
    struct reading r = {.decoder = dialect_anthropic.decoder_new(&req, reply)};
    struct sse *parser = sse_new(1 << 20, on_sse, &r);
    size_t piece = first;
    int rc = 0;

    reply_origin(reply, opus.provider, opus.name);
    while (rc == 0 && sse.len) {
        rc = sse_feed(parser, str_first(sse, piece), err);
        sse = str_from(sse, piece);
        piece = rest;
    }
    if (rc == 0)
        rc = sse_end(parser, err);
    if (rc == 0)
        rc = dialect_anthropic.end(r.decoder, &r.fault, err);
    assert_int_equal(reply_is_finished(reply), rc == 0);
    *ret = reply_take(reply);
    *ret_fault = r.fault;
    sse_free(parser);
    dialect_anthropic.decoder_free(r.decoder);
    reply_free(reply);
    return rc;
}

static void check_stream(const struct stream_row *row, size_t first, size_t rest)
{
    CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
    CLEANUP(message_unrefp) struct message *m = NULL;
    struct llm_fault fault;
    struct err err = {0};

    read_stream(str_of(row->sse), first, rest, &c, &fault, &m, &err);
    if (err.code != row->code || (row->expect && !str_is(buf_str(&c.text), row->expect)))
        fail_msg("%s, cut at %zu: %s %s\n%s\nexpected:\n%s", row->label, first,
                 err_code_name(err.code), err.text, buf_cstr(&c.text),
                 row->expect ? row->expect : "(any)");
    if (fault.retry != row->retry || fault.overloaded != row->overloaded ||
        (fault.code && fault.code != row->code))
        fail_msg("%s: fault %s retry %d", row->label, err_code_name(fault.code), fault.retry);
}

static void test_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stream_rows); i++) {
        size_t len = strlen(stream_rows[i].sse);

        check_stream(&stream_rows[i], len + 1, 1);
        check_stream(&stream_rows[i], 1, 1);
        for (size_t cut = 1; cut < len; cut++)
            check_stream(&stream_rows[i], cut, len);
    }
}

/* A stream that ends early is never taken for a whole one. */
static void test_cut_off(void **state)
{
    struct str sse = str_of(stream_rows[2].sse);
    /* The last event needs no blank line after it (sse_end()). */
    size_t enough = sse.len - 2;

    (void)state;
    for (size_t n = 0; n < enough; n++) {
        CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
        CLEANUP(message_unrefp) struct message *m = NULL;
        struct llm_fault fault;
        struct err err = {0};

        if (read_stream(str_first(sse, n), n + 1, 1, &c, &fault, &m, &err) == 0 || m ||
            err.code != ERR_PROTOCOL)
            fail_msg("cut at %zu of %zu: %s", n, sse.len, err.text);
    }
}

/* Input nested deeper than can be stored: a call's is bad, an unknown block's ends the answer, and
 * input that does not even parse is kept as text. */
static void test_deep(void **state)
{
    static const struct {
        const char *type;
        int depth;
        enum err_code code;
        const char *has;
    } rows[] = {
        {"tool_use", 200, ERR_NONE, "0 tool_use A [{"},
        {"tool_use", 400, ERR_NONE, "}] bad\n"},
        {"tool_use", 600, ERR_NONE, "}] bad\n"},
        {"server_tool_use", 200, ERR_NONE, "\"input\":{\"a\":{"},
        {"server_tool_use", 400, ERR_TOO_BIG, ""},
        {"server_tool_use", 600, ERR_NONE, "\"input\":\"{\\\"a\\\":{"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
        CLEANUP(message_unrefp) struct message *m = NULL;
        CLEANUP(buf_release) struct buf sse = BUF_INIT(BUF_NO_LIMIT);
        struct llm_fault fault;
        struct err err = {0};

        buf_addf(&sse,
                 START "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
                       "{\"type\":\"%s\",\"id\":\"t\",\"name\":\"A\",\"input\":{}}}\n\n"
                       "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                       "\"input_json_delta\",\"partial_json\":\"",
                 rows[i].type);
        for (int n = 1; n < rows[i].depth; n++)
            buf_adds(&sse, "{\\\"a\\\":");
        buf_adds(&sse, "{}");
        for (int n = 1; n < rows[i].depth; n++)
            buf_addc(&sse, '}');
        buf_adds(&sse, "\"}}\n\n" CLOSE STOP("end_turn"));

        read_stream(buf_str(&sse), sse.len, 1, &c, &fault, &m, &err);
        if (err.code != rows[i].code || !str_has(buf_str(&c.text), str_of(rows[i].has)))
            fail_msg("%s, %d deep: %s\n%s", rows[i].type, rows[i].depth, err.text,
                     buf_cstr(&c.text));
    }
}

static void test_provider_data(void **state)
{
    CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
    CLEANUP(message_unrefp) struct message *m = NULL;
    struct llm_fault fault;

    (void)state;
    assert_int_equal(
        read_stream(str_of(stream_rows[2].sse), 10000, 1, &c, &fault, &m, /*err=*/NULL), 0);
    assert_string_equal(m->id.ptr, "msg_1");
    assert_string_equal(m->model.ptr, "claude-x");
    assert_string_equal(m->blocks[0].provider_data.ptr, OURS);
    assert_string_equal(
        m->blocks[1].provider_data.ptr,
        "{\"provider\":\"anthropic\",\"model\":\"claude-opus-5\",\"id\":\"toolu_v\"}");
}

static const struct {
    const char *label, *body, *expect;
    enum err_code code;
} whole_rows[] = {
    {"a message",
     "{\n \"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\n"
     " \"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"},"
     "{\"type\":\"text\",\"text\":\"a\",\"citations\":[{\"n\":1}]},"
     "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"A\",\"input\":{\"x\": 1}},"
     "{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"B\",\"input\":{}},"
     "{\"type\":\"web_search_tool_result\",\"content\":[]}],"
     "\"stop_reason\":\"tool_use\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":10,"
     "\"output_tokens\":42,\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":7,"
     "\"cache_creation\":{\"ephemeral_1h_input_tokens\":3}}}",
     "start claude-x\n0 thinking [hm] signature=s\n1 text [a] raw=[{\"n\":1}]\n2 tool_use A "
     "[{\"x\": 1}]\n3 tool_use B\n4 other "
     "raw={\"type\":\"web_search_tool_result\",\"content\":[]}\nstop tool_use" FIGURES,
     ERR_NONE},
    {"an error with status 200",
     "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}", "",
     ERR_RETRY_LATER},
    {"another's error", "{\"error\":{\"message\":\"x\"}}", "", ERR_NETWORK},
    {"no message", "{\"hello\":1}", "", ERR_PROTOCOL},
    {"a list", "[]", "", ERR_PROTOCOL},
    {"HTML", "<html>", "", ERR_PROTOCOL},
    {"nothing", "", "", ERR_PROTOCOL},
    {"a block that is none", "{\"content\":[3]}", NULL, ERR_PROTOCOL},
};

static void test_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(whole_rows); i++) {
        CLEANUP(event_check_release) struct event_check c = EVENT_CHECK_INIT;
        struct llm_request req = {.model = &opus, .no_stream = true};
        struct reply *reply = reply_new(event_check_fn, &c);
        struct decoder *d = dialect_anthropic.decoder_new(&req, reply);
        struct llm_fault fault = {0};
        struct err err = {0};
        int rc = dialect_anthropic.whole(d, str_of(whole_rows[i].body), &fault, &err);

        if ((rc == 0) != (whole_rows[i].code == ERR_NONE) || err.code != whole_rows[i].code ||
            (whole_rows[i].expect && !str_is(buf_str(&c.text), whole_rows[i].expect)))
            fail_msg("%s: %s\n%s", whole_rows[i].label, err.text, buf_cstr(&c.text));
        dialect_anthropic.decoder_free(d);
        reply_free(reply);
    }
    dialect_anthropic.decoder_free(NULL);
}

/* Errors */

#define ERROR(type, text)                                                                          \
    "{\"type\":\"error\",\"error\":{\"type\":\"" type "\",\"message\":\"" text                     \
    "\"},\"request_id\":\"req_1\"}"

static const struct {
    int status;
    const char *body, *retry_after, *should_retry;
    enum err_code code;
    bool retry, overloaded;
    int64_t wait_ms;
} fault_rows[] = {
    {400, ERROR("invalid_request_error", "bad"), "", "", ERR_BAD_INPUT, false, false, -1},
    {400, ERROR("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), "", "",
     ERR_CONTEXT_FULL, false, false, -1},
    {400, ERROR("invalid_request_error", "input length and `max_tokens` exceed context limit"), "",
     "", ERR_CONTEXT_FULL, false, false, -1},
    {400, ERROR("invalid_request_error", "Your credit balance is too low"), "", "", ERR_QUOTA,
     false, false, -1},
    {401, ERROR("authentication_error", "x"), "", "", ERR_AUTH, false, false, -1},
    {402, ERROR("billing_error", "x"), "", "", ERR_QUOTA, false, false, -1},
    {403, ERROR("permission_error", "x"), "", "", ERR_AUTH, false, false, -1},
    {404, ERROR("not_found_error", "model: x"), "", "", ERR_NOT_FOUND, false, false, -1},
    {409, ERROR("conflict_error", "x"), "", "", ERR_NETWORK, true, false, -1},
    {413, ERROR("request_too_large", "x"), "", "", ERR_TOO_BIG, false, false, -1},
    {429, ERROR("rate_limit_error", "x"), "3", "", ERR_RETRY_LATER, true, false, 3000},
    {429, ERROR("rate_limit_error", "x"), "", "", ERR_RETRY_LATER, true, false, -1},
    {429, ERROR("rate_limit_error", "x"), "", "true", ERR_RETRY_LATER, true, false, -1},
    {429, "busy", "", "", ERR_RETRY_LATER, true, false, -1}, /* a proxy's own */
    {500, ERROR("api_error", "x"), "", "", ERR_NETWORK, true, false, -1},
    {500, ERROR("api_error", "x"), "", "false", ERR_NETWORK, false, false, -1},
    {504, ERROR("timeout_error", "x"), "", "", ERR_NETWORK, true, false, -1},
    {529, ERROR("overloaded_error", "x"), "", "", ERR_RETRY_LATER, true, true, -1},
    {503, ERROR("overloaded_error", "x"), "1", "", ERR_RETRY_LATER, true, true, 1000},
    {502, "<html>", "", "", ERR_NETWORK, true, false, -1},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fault_rows); i++) {
        struct llm_fault f;

        memset(&f, 0xaa, sizeof(f));
        dialect_anthropic.fault(fault_rows[i].status, str_of(fault_rows[i].body),
                                str_of(fault_rows[i].retry_after), STR(""),
                                str_of(fault_rows[i].should_retry), &f);
        if (f.code != fault_rows[i].code || f.retry != fault_rows[i].retry ||
            f.overloaded != fault_rows[i].overloaded || f.wait_ms != fault_rows[i].wait_ms)
            fail_msg("%d %s: %s retry %d overloaded %d wait %lld", fault_rows[i].status,
                     fault_rows[i].body, err_code_name(f.code), f.retry, f.overloaded,
                     (long long)f.wait_ms);
        assert_string_equal(f.request_id, strstr(fault_rows[i].body, "req_1") ? "req_1" : "");
    }
}

UNIT_TEST(provider_anthropic)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minimal), cmocka_unit_test(test_everything),
        cmocka_unit_test(test_search),  cmocka_unit_test(test_thinking),
        cmocka_unit_test(test_turns),   cmocka_unit_test(test_messages),
        cmocka_unit_test(test_growing), cmocka_unit_test(test_too_big),
        cmocka_unit_test(test_streams), cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_deep),    cmocka_unit_test(test_provider_data),
        cmocka_unit_test(test_whole),   cmocka_unit_test(test_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
