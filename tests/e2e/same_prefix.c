/*
 * same_prefix: what a resumed session sends begins with the bytes that were sent before, so that
 * the provider's prompt cache serves it.
 *
 *     same_prefix BUILD_DIR DIALECT
 *
 * A session with thinking, calls side by side, a result that is too long and an error; then twice
 * --continue. The last request of each run is compared with the first of the next: system prompt
 * and tools are the same, and the conversation continues after the old end. Only where the cache
 * breakpoints stand may differ. Then two forks of one answer, of which one is resumed in another
 * run: both begin with the same bytes, and the resumed one continues its own. Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "json/json.h"
#include "stage.h"

#define LIMIT_MS 60000

static const char scenario[] =
    "step\n  if-prompt \"one\"\n  think Two at once.\n  text I look.\n"
    "  call Bash {\"command\": \"seq 20000\"}\n"
    "  call Read {\"file_path\": \"missing.txt\"}\n"
    "  call Glob {\"pattern\": \"*.txt\"}\n"
    "step\n  if-prompt \"one\"\n  text Caf\\u00e9 \xe2\x9c\x93 \"done\".\n"
    "step\n  if-prompt \"two\"\n  call Bash {\"command\": \"echo two\"}\n"
    "step\n  if-prompt \"two\"\n  text Second.\n"
    "step\n  if-prompt \"three\"\n  text Third.\n";

/* Main's turns end before the forks' do, so that each end is a turn of its own. */
static const char forks[] =
    "step\n  if-prompt \"Your directive: count\"\n  call Bash {\"command\": \"echo 1\"}\n"
    "step\n  if-prompt \"Your directive: count\"\n  text Counted.\n"
    "step\n  if-prompt \"Your directive: weigh\"\n  text Weighed.\n"
    "step\n  if-prompt \"again\"\n  text Counted twice.\n"
    "step\n  if-prompt \"one\"\n  text I look.\n  call Bash {\"command\": \"seq 300\"}\n"
    "step\n  if-result \"299\"\n"
    "  call Agent {\"description\": \"C\", \"prompt\": \"count\", \"subagent_type\": \"fork\", "
    "\"name\": \"counter\"}\n"
    "  call Agent {\"description\": \"W\", \"prompt\": \"weigh\", \"subagent_type\": \"fork\"}\n"
    "step\n  if-prompt \"two\"\n"
    "  call SendMessage {\"to\": \"counter\", \"message\": \"again\"}\n"
    "step\n  sticky\n  text ok\n";

/* The conversation in any dialect. */
static struct str conversation(const struct json *body)
{
    static const char *const names[] = {"messages", "input", "contents"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (json_is(json_get(body, names[i]), JSON_ARRAY))
            return json_raw(json_get(body, names[i]));
    }
    return STR("");
}

static void without_breakpoints(struct str text, struct buf *out)
{
    static const char mark[] = ",\"cache_control\":{";

    for (;;) {
        size_t at = str_find(text, STR(mark));

        buf_add(out, str_first(text, at));
        if (at >= text.len)
            return;
        text = str_from(text, at);
        text = str_from(text, str_chr(text, '}') + 1);
    }
}

static int check_pair(const struct json *before, const struct json *now, struct err *err)
{
    static const char *const fixed[] = {"system", "tools", "instructions", "systemInstruction"};
    CLEANUP(buf_release) struct buf old = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf new = BUF_INIT(BUF_NO_LIMIT);
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        if (!str_eq(json_raw(json_get(before, fixed[i])), json_raw(json_get(now, fixed[i]))))
            return err_set(err, ERR_PROTOCOL, "'%s' is not what it was", fixed[i]);
    }
    without_breakpoints(conversation(before), &old);
    without_breakpoints(conversation(now), &new);
    if (old.len < 100 || new.len <= old.len)
        return err_set(err, ERR_PROTOCOL, "the conversation has become no longer");
    while (at + 1 < old.len && old.ptr[at] == new.ptr[at])
        at++;
    if (at + 1 < old.len) /* except the bracket after the last message */
        return err_set(err, ERR_PROTOCOL, "byte %zu of %zu differs: '%.*s' was '%.*s'", at, old.len,
                       STR_ARG(str_clip(str_from(buf_str(&new), at), 80)),
                       STR_ARG(str_clip(str_from(buf_str(&old), at), 80)));
    return 0;
}

/* only: what the requests to be compared have in common; or empty. */
static int check_record(struct str record, struct str only, size_t *ret_requests, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *before = NULL;
    struct str line;

    *ret_requests = 0;
    while (str_cut(&record, '\n', &line)) {
        const struct json *request;

        if (!line.len || !str_has(line, only))
            continue;
        if (json_parse(&arena, line, &request, /*ret_info=*/NULL, err) < 0)
            return -1;
        ++*ret_requests;
        if (before && check_pair(before, json_get(request, "body"), err) < 0)
            return err_prefix(err, "request %zu", *ret_requests);
        before = json_get(request, "body");
    }
    return 0;
}

static int play(struct stage *s, const char *prompt, const char *more, struct err *err)
{
    const char *args[] = {
        "-p", prompt, "--model", s->model, "--permission-mode", "bypassPermissions", more, NULL};
    CLEANUP(stage_result_release) struct stage_result run = {0};

    if (stage_play(s, args, /*extra=*/NULL, LIMIT_MS, &run, err) < 0)
        return -1;
    if (run.is_stuck || run.code != 0)
        return err_set(err, ERR_PROTOCOL, "'%s': exit code %d: %s", prompt, run.code,
                       buf_cstr(&run.err));
    return 0;
}

static int play_all(struct stage *s, struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(s->dir, "scenario");
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);
    size_t requests = 0;

    if (file_replace(file, STR(scenario), 0600, err) < 0 || stage_serve(s, file, err) < 0 ||
        play(s, "one", /*more=*/NULL, err) < 0 || play(s, "two", "--continue", err) < 0 ||
        play(s, "three", "--continue", err) < 0 || stage_record(s, &record, err) < 0 ||
        check_record(buf_str(&record), STR(""), &requests, err) < 0)
        return -1;
    if (requests != 5)
        return err_set(err, ERR_PROTOCOL, "%zu requests instead of 5", requests);
    return 0;
}

/* What both requests say before their directive. */
static int check_forks(struct str record, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct str first[2] = {{0}};
    struct str line;

    while (str_cut(&record, '\n', &line)) {
        size_t which = str_has(line, STR("Your directive: weigh"));
        const struct json *request;

        if (!str_has(line, STR("Your directive: ")) || first[which].len)
            continue;
        if (json_parse(&arena, line, &request, /*ret_info=*/NULL, err) < 0)
            return -1;
        first[which] = conversation(json_get(request, "body"));
        first[which] = str_first(first[which], str_find(first[which], STR("Your directive: ")));
    }
    if (first[0].len < 100 || !str_eq(first[0], first[1]))
        return err_set(err, ERR_PROTOCOL, "two forks of one answer begin differently");
    return 0;
}

static int play_forks(struct stage *s, struct err *err)
{
    CLEANUP(mem_freep) char *file = path_join(s->dir, "scenario");
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf complaints = BUF_INIT(BUF_NO_LIMIT);
    size_t requests = 0;

    stage_unserve(s, &complaints);
    if (stage_sweep(s, err) < 0 || file_replace(file, STR(forks), 0600, err) < 0 ||
        stage_serve(s, file, err) < 0 || play(s, "one", /*more=*/NULL, err) < 0 ||
        play(s, "two", "--continue", err) < 0 || stage_record(s, &record, err) < 0 ||
        check_forks(buf_str(&record), err) < 0 ||
        check_record(buf_str(&record), STR("Your directive: count"), &requests, err) < 0)
        return err_prefix(err, "forks");
    if (requests != 3)
        return err_set(err, ERR_PROTOCOL, "%zu requests of the fork instead of 3", requests);
    return 0;
}

int main(int argc, char **argv)
{
    struct stage stage;
    struct err err = {0};
    int r;

    if (argc != 3) {
        fprintf(stderr, "usage: same_prefix BUILD_DIR DIALECT\n");
        return 2;
    }
    r = stage_open(&stage, argv[1], argv[2], &err);
    if (r == 0)
        r = play_all(&stage, &err);
    if (r == 0)
        r = play_forks(&stage, &err);
    if (r < 0)
        printf("%s: %s\n", argv[2], err.text);
    stage_close(&stage);
    return r < 0;
}
