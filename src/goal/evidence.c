/*
 * evidence: what tools have done, kept for the judge, and which files may have changed.
 *
 * The newest GOAL_ITEMS calls are always kept. A call that leaves that window is dropped and
 * counted, unless it may have tampered with the criteria: then it stays, shortened, so that
 * harmless calls cannot push it out. The text of a call decides, not its effect, so this has false
 * positives and misses disguised calls; actual changes are found elsewhere. None of it depends on
 * the conversation, which may be compacted. The goal is held.
 */
#include <string.h>

#include "base/file.h"
#include "base/path_glob.h"
#include "goal/goal_state.h"
#include "goal/origin/names.h"
#include "guard/workspace.h"
#include "json/json.h"

#define KEPT_MAX 400               /* calls that stay; past it those in the middle go */
#define KEPT_TEXT ((size_t)1 << 9) /* bytes of their result */
#define WORD_MAX ((size_t)4 << 10)
#define COMMAND_MAX ((size_t)64 << 10) /* bytes; a longer one stays without a look at its words */
#define IGNORE_MAX ((size_t)64 << 10)
#define GIT_REACH 8             /* words after "git" among which its subcommand is */
#define NOTE_BEFORE ((size_t)8) /* bytes shown around what makes a call one of note */
#define NOTE_BEHIND ((size_t)72)

/* ---- Which calls stay ---- */

/* Takes the next word of a command or of code, quotes and backslashes removed. False: there is
 * none. *ret_ends: a new command begins before it. */
static bool next_word(struct str *rest, struct buf *ret, bool *ret_ends)
{
    static const char ends[] = ";|&\n`()";
    static const char between[] = " \t\r<>{}[]=,:";
    size_t at = 0;

    buf_clear(ret);
    *ret_ends = false;
    for (; at < rest->len; at++) {
        char c = rest->ptr[at];
        bool is_end = c && strchr(ends, c);

        if (is_end || (c && strchr(between, c))) {
            *ret_ends |= is_end && !ret->len;
            if (ret->len)
                break;
        } else if (c != '"' && c != '\'' && c != '\\') {
            buf_addc(ret, c);
        }
    }
    *rest = str_from(*rest, at);
    ret->over = false; /* the beginning of a long word is enough */
    return ret->len;
}

/* Whether a part of the path is hidden, holds what git usually ignores, or names what a program
 * reads its orders from. */
static bool path_has_part_of_note(struct str path)
{
    bool has_folder = str_chr(path, '/') < path.len;
    struct str part;

    while (path.len && str_cut(&path, '/', &part)) {
        enum name_kind kind = name_kind(part);

        if (part.len > 1 && part.ptr[0] == '.' && !str_is(part, ".."))
            return true;
        if ((has_folder && str_is_word_of(part, "node_modules target build _build dist out bin obj "
                                                "vendor venv coverage")) ||
            (kind != NAME_PLAIN && kind != NAME_TEST) || name_is_derived(part) ||
            str_is(part, "CMakeCache.txt"))
            return true;
    }
    return false;
}

/* Whether a line of .gitignore names a folder of the path: files written there are in no diff. */
static bool is_ignored(const struct goal *g, struct str path)
{
    CLEANUP(mem_freep) char *file = path_join(g->spec.dir, ".gitignore");
    CLEANUP(buf_release) struct buf text = {0};

    if (file_slurp(file, IGNORE_MAX, &text, /*err=*/NULL) < 0)
        return false;
    while (path.len) {
        struct str rest = buf_str(&text);
        struct str part, line;

        str_cut(&path, '/', &part);
        while (part.len && str_cut(&rest, '\n', &line)) {
            line = str_trim(line);
            while (str_starts(line, STR("/")) || str_starts(line, STR("*")))
                line = str_from(line, 1);
            while (line.len && (line.ptr[line.len - 1] == '/' || line.ptr[line.len - 1] == '*'))
                line.len--;
            if (line.len && (str_eq(line, part) || str_ends(part, line)))
                return true;
        }
    }
    return false;
}

static bool is_protected(const struct goal *g, struct str full)
{
    for (size_t i = 0; i < g->options.protect.len; i++) {
        CLEANUP(buf_release) struct buf glob = BUF_INIT(WORKSPACE_MAX_PATH);

        workspace_resolve_at(str_of(g->spec.dir), str_of(g->options.protect.ptr[i]), &glob);
        if (path_glob_match(buf_str(&glob), full) ||
            (str_starts(full, buf_str(&glob)) && full.len > glob.len && full.ptr[glob.len] == '/'))
            return true;
    }
    return false;
}

/* A check mentions the file. */
static bool is_named_by_check(const struct goal *g, struct str path)
{
    CLEANUP(strv_release) struct strv checks = STRV_INIT;

    if (path.len < 3 || (str_chr(path, '.') == path.len && str_chr(path, '/') == path.len))
        return false;
    goal_checks(g, &checks);
    for (size_t i = 0; i < checks.len; i++) {
        if (str_has(str_of(checks.ptr[i]), path))
            return true;
    }
    return false;
}

/* A bare word such as "lint" or "check" is a command more often than a file. */
static bool is_test(struct str path)
{
    return (str_chr(path, '.') < path.len || str_chr(path, '/') < path.len) &&
           name_kind(path) == NAME_TEST;
}

/* word: a path, absolute or relative to the workspace, or any other word. */
static bool is_path_of_note(const struct goal *g, struct str word)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(WORKSPACE_MAX_PATH);
    struct str dir = str_of(g->spec.dir);
    struct str path;

    if (word.ptr[0] == '~' || str_starts(word, STR("$HOME")) || str_starts(word, STR("$TMPDIR")))
        return true;
    if (word.ptr[0] == '-' || word.ptr[0] == '$' || str_starts(word, STR("/dev/")))
        return false;
    workspace_resolve_at(dir, word, &full);
    path = buf_str(&full);
    if (str_eq(path, dir))
        return false;
    if (!str_starts(path, dir) || (dir.len > 1 && path.ptr[dir.len] != '/'))
        return true; /* outside */
    path = str_from(path, dir.len > 1 ? dir.len + 1 : 1);
    return path_has_part_of_note(path) || is_ignored(g, path) || is_test(path) ||
           is_protected(g, buf_str(&full)) || is_named_by_check(g, path);
}

/* Subcommands of git that change more than files: refs, the index, configuration, objects. */
static bool is_git_change(struct str word)
{
    return str_is_word_of(
        word, "replace update-index config update-ref reset checkout switch restore stash "
              "filter-branch filter-repo gc prune repack symbolic-ref worktree reflog rm mv clean "
              "submodule sparse-checkout fast-import read-tree write-tree commit-tree hash-object "
              "mktree unpack-objects pack-refs branch tag remote fetch pull merge rebase "
              "cherry-pick revert apply am init maintenance notes bundle alternates graft");
}

/* Programs that change what a file is without its text, or hide what a command does. */
static bool is_program_of_note(struct str word)
{
    return str_is_word_of(word, "touch ln chmod chown chattr setfattr setfacl mount umount eval "
                                "base64 xxd run-parts");
}

static bool is_word_of_note(const struct goal *g, struct str word, struct str name, bool is_code)
{
    if (str_has(word, STR(".git")) || str_has(word, STR("refs/")) || str_starts(word, STR("GIT_")))
        return true;
    return !is_code && (is_program_of_note(name) || is_path_of_note(g, word));
}

/* Appends where in the text each word of note stands, as far as there is room. True: there is one.
 * is_code: text of a file, in which most words are no paths. */
static bool find_notes(const struct goal *g, struct str text, bool is_code, struct buf *note)
{
    CLEANUP(buf_release) struct buf buf = BUF_INIT(WORD_MAX);
    struct str rest = text;
    size_t shown = 0; /* up to here */
    int git_left = 0;
    bool found = false;
    bool ends;

    if (!is_code && text.len > COMMAND_MAX) {
        buf_addf(note, "(%zu bytes, not looked through) ", text.len);
        buf_add(note, str_clip(text, NOTE_BEHIND));
        return true;
    }
    while (note->len < GOAL_ITEM_NOTE && next_word(&rest, &buf, &ends)) {
        struct str word = buf_str(&buf);
        struct str name = word;
        size_t end, from;

        while (str_chr(name, '/') < name.len)
            name = str_from(name, str_chr(name, '/') + 1);
        git_left = ends ? 0 : git_left - (git_left > 0);
        end = text.len - rest.len;
        if (!(git_left && is_git_change(word)) && !is_word_of_note(g, word, name, is_code)) {
            git_left = str_is(name, "git") ? GIT_REACH + 1 : git_left;
            continue;
        }
        found = true;
        from = end > word.len + NOTE_BEFORE ? end - word.len - NOTE_BEFORE : 0;
        if (end <= shown)
            continue;
        if (from > shown)
            buf_adds(note, "…");
        from = from > shown ? from : shown;
        shown = text.len - end > NOTE_BEHIND ? end + NOTE_BEHIND : text.len;
        buf_add(note, str_first(str_from(text, from), shown - from));
    }
    return found;
}

static bool find_call_notes(const struct goal *g, const struct referee_tool *t, struct buf *note)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    bool is_code = t->changed_file;
    const struct json *v = NULL;
    bool found = false;

    if (!t->ran || (t->flags & (TOOL_READ_ONLY | TOOL_FREE | TOOL_REFEREE)))
        return false;
    if (t->changed_file && is_path_of_note(g, str_of(t->changed_file))) {
        found = true;
        buf_addf(note, "%s ", t->changed_file);
    }
    if (json_parse(&arena, t->input, &v, /*ret_info=*/NULL, /*err=*/NULL) < 0)
        return find_notes(g, t->input, is_code, note) || found;
    JSON_EACH(v, it) {
        if (!str_is(json_key(it), "description")) /* for the user; nothing runs it */
            found |= find_notes(g, json_str(it).len ? json_str(it) : json_raw(it), is_code, note);
    }
    return found;
}

bool evidence_is_sensitive(const struct goal *g, const struct referee_tool *t)
{
    CLEANUP(buf_release) struct buf note = BUF_INIT(2 * GOAL_ITEM_NOTE);

    return find_call_notes(g, t, &note);
}

/* ---- Kept calls ---- */

static void item_release(struct goal_item *it)
{
    mem_freep(&it->tool);
    mem_freep(&it->input);
    mem_freep(&it->result);
    mem_freep(&it->note);
}

static void tally_clear(struct goal *g)
{
    VEC_EACH(&g->left_out, it) {
        mem_freep(&it->tool);
    }
    g->left_out.len = 0;
}

void evidence_clear(struct goal *g)
{
    VEC_EACH(&g->items, it) {
        item_release(it);
    }
    VEC_EACH(&g->kept, it) {
        item_release(it);
    }
    g->items.len = 0;
    g->kept.len = 0;
    g->kept_left_out = 0;
    tally_clear(g);
    strv_clear(&g->wrote);
    g->ran = false;
}

void evidence_release(struct goal *g)
{
    evidence_clear(g);
    vec_release(&g->items);
    vec_release(&g->kept);
    vec_release(&g->left_out);
}

/* The end of a result says more than its beginning: both are kept. */
static char *item_text(struct str text, size_t max)
{
    CLEANUP(buf_release) struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str head, tail;

    if (text.len <= max)
        return mem_dup(text.ptr, text.len);
    head = str_clip(text, max / 2);
    tail = str_from(text, text.len - max / 2);
    while (tail.len && ((unsigned char)tail.ptr[0] & 0xc0) == 0x80)
        tail = str_from(tail, 1);
    buf_add(&out, head);
    buf_addf(&out, "\n[… %zu bytes left out …]\n", text.len - head.len - tail.len);
    buf_add(&out, tail);
    return buf_take(&out);
}

/* Counts a call that is gone, by its tool. */
static void left_out_add(struct goal *g, const char *tool)
{
    struct goal_left_out *it;

    VEC_EACH(&g->left_out, has) {
        if (str_eq(str_of(has->tool), str_of(tool))) {
            has->count++;
            return;
        }
    }
    if (g->left_out.len == GOAL_LEFT_OUT) {
        g->left_out.ptr[GOAL_LEFT_OUT - 1].count++; /* the last one stands for all others */
        return;
    }
    it = vec_add(&g->left_out);
    *it = (struct goal_left_out){
        .tool =
            g->left_out.len == GOAL_LEFT_OUT ? mem_dup("other", 5) : mem_dup(tool, strlen(tool)),
        .count = 1,
    };
}

/* Takes over a call that leaves the window and stays. The same call again adds nothing: it is
 * counted with the first. */
static void keep_item(struct goal *g, struct goal_item *item)
{
    char *result;

    VEC_EACH(&g->kept, has) {
        if (str_eq(str_of(has->tool), str_of(item->tool)) &&
            str_eq(str_of(has->input), str_of(item->input)) &&
            str_eq(str_of(has->note), str_of(item->note))) {
            has->times++;
            item_release(item);
            return;
        }
    }
    /* Neither many calls before nor many after push out one, as long as both are not too many. */
    if (g->kept.len == KEPT_MAX) {
        struct goal_item *middle = &g->kept.ptr[KEPT_MAX / 2];

        item_release(middle);
        memmove(middle, middle + 1, (KEPT_MAX - KEPT_MAX / 2 - 1) * sizeof(*middle));
        g->kept.len--;
        g->kept_left_out++;
    }
    result = item_text(str_of(item->result), KEPT_TEXT);
    mem_freep(&item->result);
    item->result = result;
    vec_push(&g->kept, *item);
}

static void drop_oldest(struct goal *g)
{
    struct goal_item oldest = g->items.ptr[0];

    memmove(g->items.ptr, g->items.ptr + 1, (g->items.len - 1) * sizeof(oldest));
    g->items.len--;
    if (oldest.is_sensitive) {
        keep_item(g, &oldest);
    } else {
        left_out_add(g, oldest.tool);
        item_release(&oldest);
    }
}

void evidence_add(struct goal *g, const struct referee_tool *t)
{
    CLEANUP(buf_release) struct buf note = BUF_INIT(2 * GOAL_ITEM_NOTE);
    struct goal_item *it;

    if (t->ran && t->changed_file)
        strv_adds(&g->wrote, t->changed_file);
    else if (t->ran && !(t->flags & (TOOL_READ_ONLY | TOOL_FREE | TOOL_REFEREE)))
        g->ran = true;
    stall_effect(g, t);
    if (t->flags & TOOL_REFEREE)
        return;
    if (g->items.len == GOAL_ITEMS)
        drop_oldest(g);
    it = vec_add(&g->items);
    *it = (struct goal_item){
        .tool = mem_dup(t->name.ptr, t->name.len),
        .input = item_text(t->input, GOAL_ITEM_INPUT),
        .result = item_text(t->text, GOAL_ITEM_TEXT),
        .is_error = t->is_error,
        .is_sensitive = find_call_notes(g, t, &note),
        .times = 1,
    };
    it->note = mem_dup(note.ptr, note.len);
}
