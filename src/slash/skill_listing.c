/*
 * skill_listing: lines, their budget, and what changed since the last announcement.
 */
#include "slash/skill_listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path_glob.h"
#include "base/sha256.h"
#include "base/strv.h"
#include "base/vec.h"
#include "context/reminder.h"
#include "host/host.h"
#include "json/jw.h"
#include "slash/own.h"

#define HEAD "Skills that the Skill tool can call; call one when the task fits its description:"
#define HEAD_CHANGED "The skills that the Skill tool can call have changed."
#define GONE "No longer there: "
#define FROM " (from "
#define CUT "…"
#define DIGEST 16

struct listing_line {
    const struct own_command *skill;
    struct str text; /* its description, complete */
    size_t room;     /* characters of it that fit */
    size_t chars;    /* of it all */
};

struct listing_lines {
    VEC(struct listing_line) list;
};

static void lines_release(struct listing_lines *l)
{
    vec_release(&l->list);
}

static void told_set(struct skill_listing *l, struct str name, struct str text)
{
    char *old = map_set(&l->told, name, mem_dup(text.ptr, text.len));

    mem_freep(&old);
}

static void told_remove(struct skill_listing *l, struct str name)
{
    char *old = map_remove(&l->told, name);

    mem_freep(&old);
}

void skill_listing_release(struct skill_listing *l)
{
    MAP_EACH(&l->told, it) {
        char *text = it->value;

        mem_freep(&text);
    }
    map_release(&l->told);
    *l = (struct skill_listing)SKILL_LISTING_INIT;
}

/* ---- Earlier announcements ---- */

static void recall_block(struct skill_listing *l, struct str block)
{
    struct str line;

    while (block.len && str_cut(&block, '\n', &line)) {
        if (str_starts(line, STR("- "))) {
            struct str rest = str_from(line, 2);
            size_t end = str_find(rest, STR(": "));

            struct str text = str_from(rest, end + 2 < rest.len ? end + 2 : rest.len);
            size_t from = str_find(text, STR(FROM));

            told_set(l, str_first(rest, end), str_first(text, from));
        } else if (str_starts(line, STR(GONE))) {
            struct str names = str_from(line, strlen(GONE));
            struct str name;

            while (names.len && str_cut(&names, ',', &name))
                told_remove(l, str_trim(name));
        }
    }
}

void skill_listing_recall(struct skill_listing *l, struct str reminders)
{
    static const struct str open = STR_INIT("<system-reminder>\n");

    skill_listing_release(l);
    for (;;) {
        size_t at = str_find(reminders, open);
        struct str block;
        size_t end;

        if (at == reminders.len)
            return;
        block = str_from(reminders, at + open.len);
        end = str_find(block, STR("</system-reminder>"));
        reminders = str_from(block, end);
        block = str_first(block, end);
        if (!str_starts(block, STR(HEAD)) && !str_starts(block, STR(HEAD_CHANGED)))
            continue;
        l->is_begun = true;
        recall_block(l, block);
    }
}

/* ---- Lines and their room ---- */

static size_t count_chars(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

static struct str first_chars(struct str s, size_t n)
{
    size_t i = 0;

    for (; i < s.len; i++) {
        if (((unsigned char)s.ptr[i] & 0xc0) != 0x80 && n-- == 0)
            break;
    }
    return str_first(s, i);
}

static bool seen_matches(const struct own_command *c, const struct strv *seen)
{
    for (size_t i = 0; seen && i < seen->len; i++) {
        for (size_t g = 0; g < c->paths.len; g++) {
            if (path_glob_match(str_of(c->paths.ptr[g]), str_of(seen->ptr[i])))
                return true;
        }
    }
    return false;
}

bool skill_is_listed(const struct own_command *c, const struct strv *seen, bool is_trusted)
{
    return !c->is_users && c->line.len && (is_trusted || c->level != LEVEL_PROJECT) &&
           (!c->paths.len || seen_matches(c, seen));
}

/* Order: managed, user, project, plugins; sorted by name. */
static int level_rank(const struct own_command *c)
{
    if (c->plugin)
        return 3;
    return c->level == LEVEL_MANAGED ? 0 : c->level == LEVEL_USER || c->level == LEVEL_FLAG ? 1 : 2;
}

static int by_level(const void *a, const void *b)
{
    const struct listing_line *x = a;
    const struct listing_line *y = b;
    int d = level_rank(x->skill) - level_rank(y->skill);

    return d ? d : str_cmp(x->skill->name, y->skill->name);
}

static size_t line_size(const struct listing_line *it, size_t cap)
{
    size_t text = it->chars <= cap ? it->chars : cap + 1; /* CUT is one */

    return strlen("- \n") + count_chars(it->skill->name) + (text ? 2 + text : 0);
}

static size_t lines_size(const struct listing_lines *l, size_t cap)
{
    size_t n = 0;

    VEC_EACH(&l->list, it) {
        n += line_size(it, cap);
    }
    return n;
}

/* The largest common length that fits; when none does, lines from the end on keep only the name. */
static void lines_fit(struct listing_lines *l, size_t budget)
{
    size_t low = SKILL_LISTING_MIN;
    size_t high = OWN_MAX_SUMMARY;
    size_t size;

    while (low < high) {
        size_t cap = (low + high + 1) / 2;

        if (lines_size(l, cap) <= budget)
            low = cap;
        else
            high = cap - 1;
    }
    size = lines_size(l, low);
    VEC_EACH(&l->list, it) {
        it->room = low;
    }
    for (size_t i = l->list.len; i-- > 0 && size > budget;) {
        struct listing_line *it = &l->list.ptr[i];

        size -= line_size(it, low) - line_size(it, 0) + (it->chars ? 3 : 0);
        it->room = 0;
    }
}

static void line_text(const struct listing_line *it, struct buf *ret)
{
    if (!it->room || !it->chars)
        return;
    buf_add(ret, first_chars(it->text, it->room));
    if (it->chars > it->room)
        buf_adds(ret, CUT);
}

/* ---- The announcement ---- */

/* Whether the model knows this text, or a truncated form of it. */
static bool is_told(const struct skill_listing *l, const struct listing_line *it)
{
    const char *told = map_get(&l->told, it->skill->name);
    struct str text;

    if (!told)
        return false;
    text = str_of(told);
    if (str_ends(text, STR(CUT)))
        return str_starts(it->text, str_first(text, text.len - strlen(CUT)));
    return !text.len || str_eq(text, it->text);
}

static bool is_listed(const struct listing_lines *l, struct str name)
{
    VEC_EACH(&l->list, it) {
        if (str_eq(it->skill->name, name))
            return true;
    }
    return false;
}

static void write_digest(struct jw *w, struct str line)
{
    char hex[SHA256_HEX + 1];

    sha256_hex(line, hex);
    jw_str(w, str_make(hex, DIGEST));
}

static void write_attachment(const struct listing_lines *fresh, const struct strv *gone,
                             struct str content, bool is_first, struct buf *ret)
{
    struct jw w;

    jw_init(&w, ret, 0);
    jw_object(&w);
    jw_kcstr(&w, "type", "skill_listing");
    jw_kbool(&w, "isInitial", is_first);
    jw_ki64(&w, "skillCount", (int64_t)fresh->list.len);
    jw_key(&w, "names");
    jw_array(&w);
    VEC_EACH(&fresh->list, it) {
        jw_str(&w, it->skill->name);
    }
    jw_array_end(&w);
    jw_key(&w, "digests");
    jw_array(&w);
    VEC_EACH(&fresh->list, it) {
        CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

        buf_addf(&line, "- %.*s: ", STR_ARG(it->skill->name));
        line_text(it, &line);
        write_digest(&w, buf_str(&line));
    }
    jw_array_end(&w);
    if (!is_first) {
        jw_key(&w, "removedNames");
        jw_array(&w);
        for (size_t i = 0; i < gone->len; i++)
            jw_cstr(&w, gone->ptr[i]);
        jw_array_end(&w);
    }
    jw_kstr(&w, "content", content);
    jw_object_end(&w);
}

/* The lines of all skills for the model; with `news`, only what it does not know yet. */
static void lines_collect(const struct skill_listing *l, const struct skill_listing_spec *spec,
                          bool news, struct listing_lines *ret)
{
    VEC_EACH(&spec->skills->commands, c) {
        struct listing_line line = {.skill = c, .text = c->is_name_only ? STR("") : c->line};

        if (!skill_is_listed(c, spec->seen, spec->is_trusted) ||
            (spec->host && !host_offers_skill(spec->host, c->name)))
            continue;
        line.chars = count_chars(line.text);
        if (!news || !is_told(l, &line))
            vec_push(&ret->list, line);
    }
    if (ret->list.len)
        qsort(ret->list.ptr, ret->list.len, sizeof(ret->list.ptr[0]), by_level);
    lines_fit(ret, spec->budget);
}

static void find_gone(const struct skill_listing *l, const struct listing_lines *all,
                      struct strv *ret)
{
    MAP_EACH(&l->told, it) {
        if (!is_listed(all, it->key))
            strv_add(ret, it->key);
    }
}

void skill_listing_say(struct skill_listing *l, const struct skill_listing_spec *spec,
                       struct buf *ret_block, struct buf *ret_attachment)
{
    CLEANUP(lines_release) struct listing_lines all = {0};
    CLEANUP(lines_release) struct listing_lines fresh = {0};
    CLEANUP(strv_release) struct strv gone = STRV_INIT;
    CLEANUP(buf_release) struct buf content = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    bool is_first = !l->is_begun;

    lines_collect(l, spec, /*news=*/false, &all);
    lines_collect(l, spec, /*news=*/true, &fresh);
    find_gone(l, &all, &gone);
    if (!fresh.list.len && !gone.len)
        return;
    l->is_begun = true;
    l->shortened = l->bare = 0;
    buf_adds(&text, is_first ? HEAD : HEAD_CHANGED);
    VEC_EACH(&fresh.list, it) {
        CLEANUP(buf_release) struct buf said = BUF_INIT(BUF_NO_LIMIT);

        line_text(it, &said);
        l->bare += it->chars && !it->room;
        l->shortened += it->room && it->chars > it->room;
        buf_addf(&content, "%s- %.*s%s%.*s", content.len ? "\n" : "", STR_ARG(it->skill->name),
                 said.len ? ": " : "", STR_ARG(buf_str(&said)));
        if (it->skill->near)
            buf_addf(&content, FROM "%s)", it->skill->near);
        told_set(l, it->skill->name, buf_str(&said));
    }
    if (content.len)
        buf_addf(&text, "\n%.*s", STR_ARG(buf_str(&content)));
    for (size_t i = 0; i < gone.len; i++) {
        buf_addf(&text, "%s%s", i ? ", " : "\n" GONE, gone.ptr[i]);
        told_remove(l, str_of(gone.ptr[i]));
    }
    reminder_add(ret_block, buf_str(&text));
    write_attachment(&fresh, &gone, buf_str(&content), is_first, ret_attachment);
}
