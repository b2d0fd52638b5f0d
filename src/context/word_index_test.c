/*
 * The search index: how words are made, the scores of a worked example, and what 60 queries in
 * three languages find among 57 tools.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "context/word_index.h"
#include "unit.h"

static const struct word_weights usual = {0.4, 0.6, 0.1};

/* Two words that are the same for the index, or are not. */
static void words_are_folded_and_stemmed(void **state)
{
    static const struct {
        const char *name, *query;
        bool found;
    } cases[] = {
        {"messages", "messaging", true},
        {"recur", "recurring", true},
        {"create", "created", true},
        {"query", "queries", true},
        {"ties", "tie", true}, /* too short for "y" */
        {"class", "classes", true},
        {"status", "statu", true}, /* as its start */
        {"statu", "status", false},
        {"call", "calling", true}, /* the double l stays */
        {"string", "str", true},   /* the start of a name part */
        {"st", "s", false},
        {"HTTPFetch", "http", true},
        {"HTTPFetch", "fetch", true},
        {"CronCreate", "cron", true},
        {"mcp__slack__send_message", "send", true},
        {"mcp__slack__send_message", "mcp", false},
        {"mcp__plugin_mail_box__send", "plugin", false},
        {"mcp__plugin_mail_box__send", "box", true},
        {"a-b:fetch.page/now", "page", true},
        {"\xc3\x9c"
         "bersetzen",
         "\xc3\xbc"
         "bersetzen",
         true},
        {"with", "with", false},
        {"发送消息", "消息", true},
        {"发送消息", "送消", true},
        {"发送消息", "息发", false},
        {"メッセージ", "メッセ", true},
        {"메시지 보내기", "메시지", true},
        {"send消息now", "send", true},
        {"\xff\xfe", "x", false},
        {"", "", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct word_item item = {.name = str_of(cases[i].name)};
        struct word_index *x = word_index_new(&item, 1);
        struct word_hit hit;
        size_t n = word_index_find(x, str_of(cases[i].query), STR(""), &usual, &hit, 1, NULL);

        if (n != (size_t)cases[i].found)
            fail_msg("row %zu: '%s' in '%s': %zu", i, cases[i].query, cases[i].name, n);
        word_index_free(x);
    }
}

static const struct word_item four[] = {
    {STR_INIT("mcp__slack__send_message"),
     {0},
     STR_INIT("Send a message to a channel"),
     STR_INIT("slack")},
    {STR_INIT("mcp__slack__list_channels"),
     {0},
     STR_INIT("List the channels of the workspace"),
     STR_INIT("slack")},
    {STR_INIT("CronCreate"),
     STR_INIT("schedule recurring job"),
     STR_INIT("Create a scheduled prompt"),
     {0}},
    {STR_INIT("mcp__mail__send"), {0}, STR_INIT("Send an email message"), STR_INIT("mail")},
};

static void scores_are_as_specified(void **state)
{
    static const struct {
        const char *query;
        size_t at, item;
        double keyword, tfidf, score;
    } cases[] = {
        {"send slack message", 0, 0, 1.0000, 0.9800, 0.9880},
        {"send slack message", 1, 3, 0.4333, 0.4655, 0.4526},
        {"send slack message", 2, 1, 0.3333, 0.2209, 0.2659},
        {"schedule a job", 0, 2, 0.8000, 0.5956, 0.6773},
    };
    struct word_index *x = word_index_new(four, ARRAY_LEN(four));

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct word_hit hits[4];
        size_t total;
        size_t n = word_index_find(x, str_of(cases[i].query), STR(""), &usual, hits, 4, &total);
        const struct word_hit *h = &hits[cases[i].at];

        if (n <= cases[i].at || h->item != cases[i].item ||
            fabs(h->keyword - cases[i].keyword) > 0.00005 ||
            fabs(h->tfidf - cases[i].tfidf) > 0.00005 || fabs(h->score - cases[i].score) > 0.00005)
            fail_msg("row %zu: %zu hits; item %zu: %.4f %.4f %.4f", i, n, h->item, h->keyword,
                     h->tfidf, h->score);
    }
    word_index_free(x);
}

static void required_words(void **state)
{
    static const struct {
        const char *required, *words;
        const char *items; /* in order */
    } cases[] = {
        {"slack", "send", "01"}, {"slack message", "", "0"}, {"chan", "", "1"},
        {"job", "send", "2"},    {"nothing", "send", ""},    {"channel", "", "10"},
    };
    struct word_index *x = word_index_new(four, ARRAY_LEN(four));

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct word_hit hits[4];
        char found[5] = "";
        size_t n = word_index_find(x, str_of(cases[i].words), str_of(cases[i].required), &usual,
                                   hits, 4, NULL);

        for (size_t k = 0; k < n; k++)
            found[k] = (char)('0' + hits[k].item);
        if (strcmp(found, cases[i].items) != 0)
            fail_msg("row %zu: found '%s'", i, found);
    }
    word_index_free(x);
}

#define TOOL(server, tool, text)                                                                   \
    {                                                                                              \
        STR_INIT("mcp__" server "__" tool), {0}, STR_INIT(text), STR_INIT(server)                  \
    }
static const struct word_item tools[] = {
    TOOL("slack", "send_message", "Send a message to a channel or user"),
    TOOL("slack", "list_channels", "List the channels of the workspace"),
    TOOL("slack", "add_reaction", "Add an emoji reaction to a message"),
    TOOL("slack", "get_thread", "Read all replies of a thread"),
    TOOL("slack", "search_messages", "Search messages in all channels"),
    TOOL("slack", "upload_file", "Upload a file to a channel"),
    TOOL("github", "create_issue", "Open a new issue in a repository"),
    TOOL("github", "list_pull_requests", "List pull requests of a repository"),
    TOOL("github", "merge_pull_request", "Merge a pull request"),
    TOOL("github", "get_file_contents", "Read a file from a repository"),
    TOOL("github", "create_branch", "Create a branch in a repository"),
    TOOL("github", "search_code", "Search code across repositories"),
    TOOL("github", "add_comment", "Comment on an issue or pull request"),
    TOOL("github", "fork_repository", "Fork a repository"),
    TOOL("postgres", "query", "Run a read-only SQL query against the database"),
    TOOL("postgres", "list_tables", "List tables and columns of the database"),
    TOOL("postgres", "explain", "Show the plan of a SQL query"),
    TOOL("postgres", "backup", "Dump the database to a file"),
    TOOL("browser", "navigate", "Open a web page by URL"),
    TOOL("browser", "click", "Click an element on the page"),
    TOOL("browser", "screenshot", "Take a screenshot of the page"),
    TOOL("browser", "fill_form", "Fill the fields of a form"),
    TOOL("browser", "evaluate", "Run JavaScript in the page"),
    TOOL("calendar", "create_event", "Create a calendar event with participants"),
    TOOL("calendar", "list_events", "List events of a day or week"),
    TOOL("calendar", "delete_event", "Delete an event"),
    TOOL("calendar", "find_free_time", "Find a free slot for a meeting"),
    TOOL("mail", "send", "Send an email"),
    TOOL("mail", "search", "Search emails by sender or subject"),
    TOOL("mail", "read", "Read an email with its attachments"),
    TOOL("mail", "archive", "Move an email to the archive"),
    TOOL("drive", "upload", "Upload a document to the drive"),
    TOOL("drive", "download", "Download a document"),
    TOOL("drive", "share", "Share a document with people"),
    TOOL("weather", "forecast", "Weather forecast of a city"),
    TOOL("weather", "alerts", "Current weather alerts of a region"),
    TOOL("kubernetes", "get_pods", "List pods of a namespace"),
    TOOL("kubernetes", "logs", "Show logs of a pod"),
    TOOL("kubernetes", "scale_deployment", "Change the number of replicas"),
    TOOL("kubernetes", "apply_manifest", "Apply a manifest to the cluster"),
    TOOL("sentry", "list_errors", "List recent errors of a project"),
    TOOL("sentry", "resolve_error", "Mark an error as resolved"),
    TOOL("jira", "create_ticket", "Create a ticket in a project"),
    TOOL("jira", "transition_ticket", "Move a ticket to another state"),
    TOOL("jira", "assign_ticket", "Assign a ticket to a person"),
    TOOL("figma", "export_image", "Export a frame as an image"),
    TOOL("figma", "list_components", "List components of a design file"),
    TOOL("stripe", "create_invoice", "Create an invoice for a customer"),
    TOOL("stripe", "refund_payment", "Refund a payment"),
    TOOL("translate", "translate_text", "翻译文本 Translate text between languages"),
    TOOL("wechat", "send", "发送微信消息给联系人"),
    TOOL("wechat", "contacts", "列出微信联系人"),
    TOOL("maps", "route", "规划两地之间的路线"),
    TOOL("line", "push", "LINEでメッセージを送信する"),
    TOOL("kintone", "records", "レコードを検索して一覧を表示する"),
    {STR_INIT("CronCreate"),
     STR_INIT("schedule recurring job reminder"),
     STR_INIT("Create a scheduled prompt"),
     {0}},
    {STR_INIT("EnterWorktree"),
     STR_INIT("isolate parallel work in its own git checkout"),
     STR_INIT("Work in a separate worktree"),
     {0}},
};

/* The best match; "": none. */
static const struct {
    const char *query, *first;
} queries[] = {
    {"send slack message", "mcp__slack__send_message"},
    {"post a message on slack", "mcp__slack__search_messages"},
    {"slack channels", "mcp__slack__list_channels"},
    {"react with emoji", "mcp__slack__add_reaction"},
    {"read thread replies", "mcp__slack__get_thread"},
    {"search slack messages", "mcp__slack__search_messages"},
    {"upload file to slack", "mcp__slack__upload_file"},
    {"open github issue", "mcp__github__create_issue"},
    {"create issues", "mcp__github__create_issue"},
    {"list pull requests", "mcp__github__list_pull_requests"},
    {"merge pull request", "mcp__github__merge_pull_request"},
    {"merging PR", "mcp__github__merge_pull_request"},
    {"create branch", "mcp__github__create_branch"},
    {"search code", "mcp__github__search_code"},
    {"fork repository", "mcp__github__fork_repository"},
    {"comment on issue", "mcp__github__add_comment"},
    {"sql query", "mcp__postgres__query"},
    {"database tables", "mcp__postgres__list_tables"},
    {"explain query plan", "mcp__postgres__explain"},
    {"backup database", "mcp__postgres__backup"},
    {"open web page", "mcp__browser__navigate"},
    {"screenshot", "mcp__browser__screenshot"},
    {"screenshots of the page", "mcp__browser__screenshot"},
    {"fill in a form", "mcp__browser__fill_form"},
    {"click element", "mcp__browser__click"},
    {"run javascript", "mcp__browser__evaluate"},
    {"create calendar event", "mcp__calendar__create_event"},
    {"delete event", "mcp__calendar__delete_event"},
    {"find free time for a meeting", "mcp__calendar__find_free_time"},
    {"send email", "mcp__mail__send"},
    {"archive email", "mcp__mail__archive"},
    {"search mail", "mcp__mail__search"},
    {"download document", "mcp__drive__download"},
    {"share a document", "mcp__drive__share"},
    {"weather forecast", "mcp__weather__forecast"},
    {"weather alerts", "mcp__weather__alerts"},
    {"kubernetes pods", "mcp__kubernetes__get_pods"},
    {"pod logs", "mcp__kubernetes__logs"},
    {"scale deployment", "mcp__kubernetes__scale_deployment"},
    {"apply manifest", "mcp__kubernetes__apply_manifest"},
    {"recent errors", "mcp__sentry__list_errors"},
    {"resolve error", "mcp__sentry__resolve_error"},
    {"jira ticket create", "mcp__jira__create_ticket"},
    {"assigning tickets", "mcp__jira__assign_ticket"},
    {"export image from figma", "mcp__figma__export_image"},
    {"refund", "mcp__stripe__refund_payment"},
    {"invoice customer", "mcp__stripe__create_invoice"},
    {"schedule a job", "CronCreate"},
    {"recurring reminders", "CronCreate"},
    {"parallel git checkout", "EnterWorktree"},
    {"translate", "mcp__translate__translate_text"},
    {"发送消息", "mcp__wechat__send"},
    {"微信联系人", "mcp__wechat__contacts"},
    {"规划路线", "mcp__maps__route"},
    {"翻译文本", "mcp__translate__translate_text"},
    {"用 slack 发送", "mcp__slack__list_channels"},
    {"メッセージを送信", "mcp__line__push"},
    {"レコード検索", "mcp__kintone__records"},
    {"一覧を表示", "mcp__kintone__records"},
    {"quantum entanglement", ""},
};

static void sixty_queries(void **state)
{
    struct word_index *x = word_index_new(tools, ARRAY_LEN(tools));
    unsigned failed = 0;

    (void)state;
    assert_int_equal(ARRAY_LEN(tools), 57);
    assert_int_equal(ARRAY_LEN(queries), 60);
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        struct word_hit hits[5];
        size_t n = word_index_find(x, str_of(queries[i].query), STR(""), &usual, hits, 5, NULL);
        struct str first = n ? tools[hits[0].item].name : STR("");

        if (!str_is(first, queries[i].first)) {
            failed++;
            print_error("'%s' finds %.*s (%.2f)\n", queries[i].query, STR_ARG(first),
                        n ? hits[0].score : 0);
        }
    }
    assert_int_equal(failed, 0);
    word_index_free(x);
}

static void suggestions(void **state)
{
    static const struct {
        const char *text, *first; /* "": none */
    } cases[] = {
        {"post this to slack", "slack"},
        {"hello", ""},
        {"create something new", ""},
        {"please fix the failing test in src/main.c and run it again", ""},
        {"take a screenshot of the page", "mcp__browser__screenshot"},
        {"what does the weather forecast say?", "mcp__weather__forecast"},
        {"请把消息发给微信联系人", ""},
    };
    const struct word_weights weights = {0.4, 0.6, 0.35};
    struct word_index *x = word_index_new(tools, ARRAY_LEN(tools));

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct word_hit hits[3];
        size_t n = word_index_suggest(x, str_of(cases[i].text), &weights, hits, 3);
        struct str first = n ? tools[hits[0].item].name : STR("");

        if (cases[i].first[0] ? !str_has(first, str_of(cases[i].first)) : n > 0)
            fail_msg("'%s' suggests '%.*s' (%.2f)", cases[i].text, STR_ARG(first),
                     n ? hits[0].score : 0);
    }
    word_index_free(x);
}

static void odd_sizes(void **state)
{
    struct word_index *none = word_index_new(NULL, 0);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct word_item item = {.name = STR("x_tool")};
    struct word_index *x;
    struct word_hit hit;
    size_t total = 7;

    (void)state;
    assert_int_equal(word_index_find(none, STR("x"), STR(""), &usual, &hit, 1, &total), 0);
    assert_int_equal(total, 0);
    assert_int_equal(word_index_suggest(none, STR("x y"), &usual, &hit, 1), 0);
    word_index_free(none);
    word_index_free(NULL);

    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "word%d ", i);
    for (int i = 0; i < 1000; i++)
        buf_addc(&text, 'a');
    item.text = buf_str(&text);
    x = word_index_new(&item, 1);
    assert_int_equal(word_index_find(x, buf_str(&text), STR(""), &usual, &hit, 1, NULL), 1);
    word_index_free(x);
}

UNIT_TEST(word_index)
{
    const struct CMUnitTest tests_of[] = {
        cmocka_unit_test(words_are_folded_and_stemmed),
        cmocka_unit_test(scores_are_as_specified),
        cmocka_unit_test(required_words),
        cmocka_unit_test(sixty_queries),
        cmocka_unit_test(suggestions),
        cmocka_unit_test(odd_sizes),
    };

    return cmocka_run_group_tests(tests_of, NULL, NULL);
}
