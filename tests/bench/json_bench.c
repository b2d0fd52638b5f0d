/*
 * json_bench: how fast a transcript is read and written, beside jansson.
 *
 *     json_bench [MEGABYTES [ROUNDS]]
 *
 * The text is made up but shaped like a session on disk: one entry a line, ids and times, nested
 * message content, code with its escapes, tool results, now and then text that is not ASCII. Each
 * round goes through all lines; printed are the best and the median of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "bench/bench.h"
#include "fuzz/jansson_oracle.h"
#include "json/json.h"
#include "json/jw.h"

#define MAX_ROUNDS 101

static uint64_t random_state = 42; /* the same text in every run */

static unsigned pick(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

static const char *const code_lines[] = {
    "static int parse_entry(struct reader *r, struct entry *ret)\n",
    "{\n",
    "\tif (!r->at || *r->at == '\\0')\n",
    ("\t\treturn err_set(err, ERR_BAD_INPUT, \"line %zu: \\\"%s\\\" is empty\", r->line, "
     "r->name);\n"),
    "    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {\n",
    "        printf(\"%-20s %8.2f\\n\", rows[i].name, rows[i].value);\n",
    "    }\n",
    "\n",
    "/* What comes next depends on the kind of entry; see the table above. */\n",
    "}\n",
    "import { readFile } from 'node:fs/promises';\n",
    "const text = await readFile(path, { encoding: \"utf8\" });\n",
};

static const char *const prose[] = {
    "The test fails because the buffer is released before the callback reads it. ",
    "I'll look at how the configuration is loaded first. ",
    "That leaves two places to change: the parser and its caller. ",
    "Das \xc3\x9c"
    "bersetzen l\xc3\xa4uft jetzt durch \xe2\x80\x94 weiter mit den Tests. ",
    "\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88\xe3\x81\x8c\xe5\xa4\xb1\xe6\x95\x97\xe3\x81\x97\xe3\x81"
    "\xbe\xe3\x81\x97\xe3\x81\x9f\xe3\x80\x82 ",
    "All 214 tests pass now \xe2\x9c\x85. ",
    "Running the build again with warnings as errors. ",
    "The lock is taken twice on this path, so it can never be free when the second one waits. ",
};

static void write_uuid(struct jw *w, const char *key)
{
    char text[40];

    snprintf(text, sizeof(text), "%08x-%04x-4%03x-a%03x-%06x%06x", pick(1u << 31), pick(1 << 16),
             pick(1 << 12), pick(1 << 12), pick(1 << 24), pick(1 << 24));
    jw_kcstr(w, key, text);
}

static void write_lines(struct jw *w, const char *const *lines, size_t kinds, unsigned count)
{
    jw_str_begin(w);
    for (unsigned i = 0; i < count; i++)
        jw_str_part(w, str_of(lines[pick((unsigned)kinds)]));
    jw_str_end(w);
}

static void write_text_block(struct jw *w)
{
    jw_object(w);
    jw_kcstr(w, "type", "text");
    jw_key(w, "text");
    write_lines(w, prose, ARRAY_LEN(prose), 1 + pick(8));
    jw_object_end(w);
}

static void write_call_block(struct jw *w)
{
    jw_object(w);
    jw_kcstr(w, "type", "tool_use");
    write_uuid(w, "id");
    jw_kcstr(w, "name", "Edit");
    jw_key(w, "input");
    jw_object(w);
    jw_kcstr(w, "file_path", "/home/dev/project/src/reader/entry.c");
    jw_key(w, "old_string");
    write_lines(w, code_lines, ARRAY_LEN(code_lines), 1 + pick(6));
    jw_key(w, "new_string");
    write_lines(w, code_lines, ARRAY_LEN(code_lines), 1 + pick(12));
    jw_kbool(w, "replace_all", false);
    jw_object_end(w);
    jw_object_end(w);
}

static void write_result_block(struct jw *w)
{
    jw_object(w);
    write_uuid(w, "tool_use_id");
    jw_kcstr(w, "type", "tool_result");
    jw_key(w, "content");
    write_lines(w, code_lines, ARRAY_LEN(code_lines), 5 + pick(60));
    jw_kbool(w, "is_error", pick(10) == 0);
    jw_object_end(w);
}

static void write_usage(struct jw *w)
{
    jw_key(w, "usage");
    jw_object(w);
    jw_ki64(w, "input_tokens", pick(5000));
    jw_ki64(w, "cache_creation_input_tokens", pick(9000));
    jw_ki64(w, "cache_read_input_tokens", pick(150000));
    jw_ki64(w, "output_tokens", pick(3000));
    jw_key(w, "cost");
    jw_double(w, pick(100000) / 1e5);
    jw_object_end(w);
}

static void write_entry(struct jw *w)
{
    bool assistant = pick(2);
    char when[40];

    snprintf(when, sizeof(when), "2026-03-%02uT%02u:%02u:%02u.%03uZ", 1 + pick(28), pick(24),
             pick(60), pick(60), pick(1000));
    jw_object(w);
    write_uuid(w, "parentUuid");
    jw_kbool(w, "isSidechain", false);
    jw_kcstr(w, "userType", "external");
    jw_kcstr(w, "cwd", "/home/dev/project");
    write_uuid(w, "sessionId");
    jw_kcstr(w, "version", "1.0.44");
    jw_kcstr(w, "gitBranch", "main");
    jw_kcstr(w, "type", assistant ? "assistant" : "user");
    jw_key(w, "message");
    jw_object(w);
    jw_kcstr(w, "role", assistant ? "assistant" : "user");
    jw_key(w, "content");
    jw_array(w);
    if (assistant) {
        write_text_block(w);
        write_call_block(w);
    } else {
        write_result_block(w);
    }
    jw_array_end(w);
    if (assistant)
        write_usage(w);
    jw_object_end(w);
    write_uuid(w, "uuid");
    jw_kcstr(w, "timestamp", when);
    jw_object_end(w);
}

/* Of processor time: others may be at work on the machine. */
static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct run {
    size_t arena_bytes;
    struct buf out;
};

typedef void (*line_fn)(struct run *run, struct str line);

static void read_ours(struct run *run, struct str line)
{
    static struct arena arena; /* kept over all lines, as a reader of transcripts would */
    const struct json *v;
    struct err err;

    arena_reset(&arena);
    if (json_parse(&arena, line, &v, NULL, &err) < 0)
        BUG("%s", err.text);
    run->arena_bytes += arena.total;
}

static void read_and_write_ours(struct run *run, struct str line)
{
    static struct arena arena;
    const struct json *v;
    struct err err;
    struct jw w;

    arena_reset(&arena);
    if (json_parse(&arena, line, &v, NULL, &err) < 0)
        BUG("%s", err.text);
    buf_clear(&run->out);
    jw_init(&w, &run->out, 0);
    jw_json(&w, v);
}

static void read_jansson(struct run *run, struct str line)
{
    bool known;
    struct oracle *v = oracle_parse(line, &known);

    (void)run;
    if (!v)
        BUG("jansson refuses a line");
    oracle_free(v);
}

static void measure(const char *name, line_fn fn, struct str text, unsigned rounds)
{
    struct run run = {.out = BUF_INIT(BUF_NO_LIMIT)};
    double speeds[MAX_ROUNDS];

    for (unsigned i = 0; i < rounds; i++) {
        struct str rest = text;
        struct str line;
        double from = seconds();

        while (str_cut(&rest, '\n', &line)) {
            if (line.len)
                fn(&run, line);
        }
        speeds[i] = (double)text.len / 1e6 / (seconds() - from);
    }
    bench_sort(speeds, rounds);
    printf("%-24s %8.0f %8.0f MB/s", name, speeds[rounds - 1], speeds[rounds / 2]);
    if (run.arena_bytes)
        printf("   %.2f bytes of memory per byte of text",
               (double)run.arena_bytes / rounds / (double)text.len);
    putchar('\n');
    buf_release(&run.out);
}

int main(int argc, char **argv)
{
    size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 7;
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    size_t lines = 0;
    struct jw w;

    if (megabytes < 1 || megabytes > 1000 || rounds < 1 || rounds > MAX_ROUNDS) {
        fprintf(stderr, "usage: json_bench [MEGABYTES [ROUNDS]]\n");
        return 2;
    }
    jw_init(&w, &text, 0);
    for (; text.len < megabytes * 1000000; lines++) {
        write_entry(&w);
        buf_addc(&text, '\n');
    }
    printf("%.1f MB, %zu lines                best   median\n", (double)text.len / 1e6, lines);
    measure("tenax parse", read_ours, buf_str(&text), rounds);
    measure("tenax parse and write", read_and_write_ours, buf_str(&text), rounds);
    measure("jansson parse", read_jansson, buf_str(&text), rounds);
    return 0;
}
