/*
 * workshop: a long session with more than 60 calls, over a real socket, in one dialect.
 *
 *     workshop BUILD_DIR SCENARIO DIALECT
 *
 * Compared with the expectations: the exit code, every result, every request the server got,
 * leftover processes and files. Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "heard.h"
#include "json/json.h"
#include "said.h"
#include "stage.h"
#include "wanted.h"
#include "workshop_args.h"

#define WORKSHOP_LIMIT_MS 150000
#define WORKSHOP_ALONE_MS 15000
#define WORKSHOP_LEAST 60         /* calls */
#define WORKSHOP_MOST_SHOWN 31000 /* bytes of a result */

static int check_results(const char *scenario, const struct stage_result *run, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(said_release) struct said said = {0};
    size_t images = 0;
    size_t calls;

    if (said_read(&said, buf_str(&run->out), err) < 0 ||
        file_slurp(scenario, 1 << 20, &text, err) < 0 ||
        wanted_check(buf_str(&text), &said, &calls, err) < 0)
        return -1;
    if (calls < WORKSHOP_LEAST)
        return err_set(err, ERR_BAD_INPUT, "only %zu calls", calls);
    VEC_EACH(&said.calls, c) {
        images += c->has_image;
        if (c->text.len > WORKSHOP_MOST_SHOWN)
            return err_set(err, ERR_TOO_BIG, "a result of %.*s has %zu bytes", STR_ARG(c->name),
                           c->text.len);
    }
    if (images != 1)
        return err_set(err, ERR_PROTOCOL, "%zu images instead of one", images);
    if (!said.result || !said.is_last || !str_is(json_get_str(said.result, "subtype"), "success") ||
        json_get_bool(said.result, "is_error", true) ||
        !str_is(json_get_str(said.result, "terminal_reason"), "completed") ||
        !str_is(json_get_str(said.result, "result"), "All done: the workshop is tidy."))
        return err_set(err, ERR_PROTOCOL, "the result is not a success");
    if (json_len(json_get(said.result, "permission_denials")) != 6)
        return err_set(err, ERR_PROTOCOL, "%zu denials instead of 6",
                       json_len(json_get(said.result, "permission_denials")));
    printf("%zu calls; ", calls);
    return 0;
}

static int check_requests(const struct stage *stage, struct err *err)
{
    CLEANUP(buf_release) struct buf record = BUF_INIT(BUF_NO_LIMIT);
    size_t requests;

    if (stage_record(stage, &record, err) < 0 ||
        heard_check(buf_str(&record), stage->dialect, &requests, err) < 0)
        return -1;
    printf("%zu requests, %zu KB; ", requests, record.len >> 10);
    return 0;
}

static int check_run(struct stage *stage, const char *scenario, const struct stage_result *run,
                     struct err *err)
{
    CLEANUP(buf_release) struct buf complaints = BUF_INIT(65536);

    if (run->is_stuck)
        return err_set(err, ERR_TIMEOUT, "it did not end");
    if (stage_alone(stage, WORKSHOP_ALONE_MS, err) < 0 || stage_is_tidy(stage, err) < 0 ||
        check_results(scenario, run, err) < 0 || check_requests(stage, err) < 0)
        return -1;
    if (run->code != 0)
        return err_set(err, ERR_PROTOCOL, "exit code %d", run->code);
    stage_unserve(stage, &complaints);
    if (complaints.len)
        return err_set(err, ERR_PROTOCOL, "the server says: %s", buf_cstr(&complaints));
    return 0;
}

static int play(struct stage *stage, const char *scenario, struct err *err)
{
    CLEANUP(stage_result_release) struct stage_result run = {0};
    CLEANUP(strv_release) struct strv args = STRV_INIT;
    int64_t start_ms = clock_mono_ms();
    int r;

    workshop_args(&args, stage->model);
    if (stage_serve(stage, scenario, err) < 0 ||
        stage_play(stage, (const char *const *)strv_get(&args), /*extra=*/NULL, WORKSHOP_LIMIT_MS,
                   &run, err) < 0)
        return -1;
    r = check_run(stage, scenario, &run, err);
    if (r < 0)
        printf("--- stderr\n%s---\n", buf_cstr(&run.err));
    else
        printf("%.1f s\n", (double)(clock_mono_ms() - start_ms) / 1000);
    return r;
}

int main(int argc, char **argv)
{
    struct stage stage;
    struct err err = {0};
    int r;

    if (argc != 4) {
        fprintf(stderr, "usage: workshop BUILD_DIR SCENARIO DIALECT\n");
        return 2;
    }
    r = stage_open(&stage, argv[1], argv[3], &err);
    if (r == 0)
        r = play(&stage, argv[2], &err);
    if (r < 0)
        printf("%s: %s\n", argv[3], err.text);
    stage_close(&stage);
    return r < 0;
}
