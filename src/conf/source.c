/*
 * source: reading one settings document, and telling where in it a value stands. Runs on whatever
 * thread loads the settings.
 */
#include "conf/source.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/keys.h"
#include "json/json.h"
#include "json/jw.h"

/* A dangling link looks like a missing file; its owner should get a warning. */
static void source_note_dangling(const struct source *s, struct strv *warnings)
{
    char target[512];
    ssize_t n = readlink(s->path, target, sizeof(target));

    if (n > 0)
        strv_addf(warnings, "%s: is a link to '%.*s', which does not exist; ignored", s->name,
                  (int)n, target);
}

/* Reads the file into s->text. Sets *ret_missing instead when there is none. */
static int source_read(struct source *s, struct arena *arena, bool *ret_missing,
                       struct strv *warnings, struct err *err)
{
    CLEANUP(buf_release) struct buf text = {0};
    struct err why = {0};

    *ret_missing = false;
    if (file_slurp(s->path, SOURCE_MAX_BYTES, &text, &why) < 0) {
        if (why.code != ERR_NOT_FOUND || s->required) {
            err_set(err, why.code == ERR_TOO_BIG ? ERR_TOO_BIG : ERR_BAD_INPUT,
                    "%s: cannot read the settings: %s", s->name, why.text);
            if (err)
                err->sys = why.sys;
            return -1;
        }
        source_note_dangling(s, warnings);
        *ret_missing = true;
        return 0;
    }
    s->text = arena_str(arena, buf_str(&text));
    return 0;
}

static void source_index_lines(struct source *s, struct arena *arena)
{
    size_t count = 1;

    for (size_t i = 0; i < s->text.len; i++)
        count += s->text.ptr[i] == '\n';
    s->line_starts = arena_alloc(arena, count * sizeof(*s->line_starts));
    s->line_starts[0] = 0;
    s->line_count = 1;
    for (size_t i = 0; i < s->text.len; i++)
        if (s->text.ptr[i] == '\n')
            s->line_starts[s->line_count++] = i + 1;
}

/* The parser says "line 3, column 7: reason"; people's editors want "file:3:7: reason". */
static int source_parse_error(const struct source *s, const struct err *why, struct err *err)
{
    struct str text = str_of(why->text);
    struct str line = str_from(text, strlen("line "));
    struct str column = str_from(line, str_find(line, STR(", column ")) + strlen(", column "));
    size_t colon = str_find(column, STR(": "));

    if (!str_starts(text, STR("line ")) || !column.len || colon == column.len)
        return err_set(err, why->code, "%s: %s", s->name, why->text);
    return err_set(err, why->code, "%s:%.*s:%.*s: %.*s", s->name,
                   STR_ARG(str_first(line, str_chr(line, ','))), STR_ARG(str_first(column, colon)),
                   STR_ARG(str_from(column, colon + 2)));
}

int source_load(struct source *s, struct arena *arena, struct strv *warnings, struct err *err)
{
    struct json_info info = {0};
    struct err why = {0};
    bool missing = false;

    if (s->path && source_read(s, arena, &missing, warnings, err) < 0)
        return -1;
    if (missing)
        return 0;
    if (s->text.len > SOURCE_MAX_BYTES)
        return err_set(err, ERR_TOO_BIG, "%s: has %zu bytes; the limit is %zu", s->name,
                       s->text.len, SOURCE_MAX_BYTES);
    if (str_starts(s->text, STR("\xef\xbb\xbf"))) /* some editors put a byte order mark first */
        s->text = str_from(s->text, 3);
    if (!str_trim(s->text).len)
        return 0; /* an empty file sets nothing */
    if (json_parse(arena, s->text, &s->root, &info, &why) < 0) {
        s->root = NULL;
        return source_parse_error(s, &why, err);
    }
    if (!json_is(s->root, JSON_OBJECT)) {
        const char *type = json_type_name(json_type(s->root));

        s->root = NULL;
        return err_set(err, ERR_BAD_INPUT, "%s:1:1: settings must be an object, not %s %s", s->name,
                       strchr("aeiou", type[0]) ? "an" : "a", type);
    }
    if (info.bad_utf8)
        strv_addf(warnings, "%s: %zu bytes are not UTF-8 and were replaced", s->name,
                  info.bad_utf8);
    source_index_lines(s, arena);
    return 0;
}

void source_add_where(const struct source *s, const struct json *v, struct buf *out)
{
    size_t offset = (size_t)(json_raw(v).ptr - s->text.ptr);
    size_t low = 0;
    size_t high = s->line_count;

    buf_adds(out, s->name);
    if (!s->has_positions)
        return;
    while (high - low > 1) { /* line_starts[low] <= offset < line_starts[high] */
        size_t middle = low + (high - low) / 2;

        if (s->line_starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    buf_addf(out, ":%zu:%zu", low + 1, offset - s->line_starts[low] + 1);
}

/* What a variable says no with; a switch that was given has no value. */
static bool is_off(struct str value)
{
    static const char *const words[] = {"", "0", "false", "no", "off"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eq_nocase(str_trim(value), str_of(words[i])))
            return true;
    }
    return false;
}

struct str source_text_for(struct arena *arena, const struct key *k, const struct strv *values,
                           bool whole)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_of(k->path);
    struct str name;
    struct jw w;
    size_t depth = 0;

    jw_init(&w, &text, 0);
    for (; str_cut(&rest, '.', &name); depth++) {
        jw_object(&w);
        jw_key_str(&w, name);
    }
    if (k->types & KEY_STRINGS) {
        jw_array(&w);
        for (size_t i = 0; i < values->len; i++) {
            struct str list = str_of(values->ptr[i]);
            struct str part;

            while (!whole && str_cut(&list, ',', &part))
                jw_str(&w, str_trim(part));
            if (whole)
                jw_str(&w, list);
        }
        jw_array_end(&w);
    } else if (k->types & KEY_STRING) {
        jw_cstr(&w, values->len ? values->ptr[values->len - 1] : "");
    } else if (k->types & KEY_BOOL) {
        jw_bool(&w, !values->len || !is_off(str_of(values->ptr[values->len - 1])));
    } else {
        BUG("'%s' cannot be set by an option or a variable", k->path);
    }
    while (depth--)
        jw_object_end(&w);
    return arena_str(arena, buf_str(&text));
}

bool source_same_file(const struct source *a, const struct source *b)
{
    struct stat sa;
    struct stat sb;

    return a->path && b->path && stat(a->path, &sa) == 0 && stat(b->path, &sb) == 0 &&
           sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}
