/*
 * acked: reads stream-json as it arrives. Main thread.
 */
#include "acked.h"

#include "base/err.h"
#include "json/json.h"

void acked_init(struct acked *a)
{
    *a = (struct acked){.arena = ARENA_INIT, .calls = MAP_INIT};
}

void acked_release(struct acked *a)
{
    vec_release(&a->lines);
    map_release(&a->calls);
    arena_release(&a->arena);
}

static void read_call_done(struct acked *a, const struct json *call)
{
    struct str name = json_get_str(call, "name");
    const struct json *input = json_get(call, "input");
    struct str file = json_get_str(input, "file_path");
    struct str command = json_get_str(input, "command");
    int64_t n = 0;

    if (str_is(name, "TodoWrite"))
        a->todos++;
    if (str_starts(file, STR("file-")) &&
        str_to_i64(str_first(str_from(file, 5), 1), &n, /*err=*/NULL) == 0 && n < COURSE_ROUNDS)
        a->changes[n] |= str_is(name, "Write")  ? COURSE_WRITTEN
                         : str_is(name, "Edit") ? COURSE_EDITED
                                                : COURSE_EDITED_MORE;
    if (str_starts(command, STR("echo ")) && str_ends(command, STR(" >> effects")) &&
        str_to_i64(str_first(str_from(command, 5), command.len - 16), &n, /*err=*/NULL) == 0)
        a->effects[n] = true;
}

static int read_result_block(struct acked *a, const struct json *block, struct err *err)
{
    struct str id = json_get_str(block, "tool_use_id");
    const struct json *call = map_get(&a->calls, id);

    if (!call)
        return err_set(err, ERR_PROTOCOL, "a result of no call: '%.*s'", STR_ARG(id));
    if (!json_get_bool(block, "is_error", false))
        read_call_done(a, call);
    return 0;
}

static int read_message(struct acked *a, const struct json *line, struct err *err)
{
    const struct json *content = json_path(line, "message.content");
    struct acked_line l = {.uuid = json_get_str(line, "uuid"), .text = json_str(content)};
    int message = course_message_of(l.uuid);

    if (str_is(json_str(json_path(line, "message.model")), "<synthetic>"))
        return 0; /* an error, said in the model's place */
    JSON_EACH(content, block) {
        struct str kind = json_get_str(block, "type");

        if (str_is(kind, "text"))
            l.text = json_get_str(block, "text");
        if (str_is(kind, "tool_use"))
            map_set(&a->calls, json_get_str(block, "id"), (void *)block);
        if (!str_is(kind, "tool_result"))
            continue;
        l.text = json_get_str(block, "tool_use_id"); /* and so the call: heard.h sees to it */
        if (read_result_block(a, block, err) < 0)
            return -1;
    }
    if (message) {
        a->said[message] = true;
        a->is_idle = false;
    }
    if (message != COURSE_COMPACT)
        vec_push(&a->lines, l);
    return 0;
}

/* The id of the request is "<title> <messages before it>". */
static int read_response(struct acked *a, const struct json *response, struct err *err)
{
    struct str id = json_get_str(response, "request_id");
    struct str number;
    int64_t title;
    int64_t taken;

    if (!str_cut(&id, ' ', &number) || str_to_i64(number, &title, err) < 0 ||
        str_to_i64(id, &taken, err) < 0)
        return -1;
    if (!str_is(json_get_str(response, "subtype"), "success")) {
        a->refused++;
        return 0;
    }
    a->title = (int)title;
    a->taken = (int)taken;
    return 0;
}

static int read_line(struct acked *a, const struct json *line, struct err *err)
{
    struct str type = json_get_str(line, "type");

    if (str_is(type, "assistant") || str_is(type, "user"))
        return read_message(a, line, err);
    if (str_is(json_get_str(line, "subtype"), "compact_boundary")) {
        struct acked_line boundary = {.uuid = json_get_str(line, "uuid")};

        vec_push(&a->lines, boundary);
    }
    if (str_is(type, "control_response"))
        return read_response(a, json_get(line, "response"), err);
    if (!str_is(type, "result"))
        return 0;
    a->is_idle = true;
    a->results++;
    if (!json_get_bool(line, "is_error", true)) {
        a->sure_todos = a->todos;
    } else {
        a->errors++;
        for (size_t i = a->turn_begin; i < a->lines.len; i++)
            a->lines.ptr[i].is_doubtful = true;
    }
    a->turn_begin = a->lines.len;
    return 0;
}

int acked_read(struct acked *a, struct str out, struct err *err)
{
    struct str rest = str_from(out, a->read);
    struct str line;

    while (str_chr(rest, '\n') < rest.len && str_cut(&rest, '\n', &line)) {
        const struct json *v;

        a->read += line.len + 1;
        /* The output moves as it grows. */
        if (json_parse(&a->arena, arena_str(&a->arena, line), &v, /*ret_info=*/NULL, err) < 0)
            return err_prefix(err, "a line of the output: '%.*s'", STR_ARG(str_clip(line, 100)));
        if (read_line(a, v, err) < 0)
            return -1;
    }
    return 0;
}
