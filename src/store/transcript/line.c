/*
 * Examines one line: walks over its members, and reads or skips each as a whole. What members mean
 * in combination (a boundary is a system line with that subtype, in any order of the keys) is
 * decided at the end. One window, one thread.
 */
#include "store/transcript/line.h"

#include <string.h>

#include "store/transcript/cursor.h"
#include "store/transcript/window.h"

/* The members of a line that are looked at. */
enum line_key {
    KEY_TYPE,
    KEY_UUID,
    KEY_PARENT,
    KEY_SIDECHAIN,
    KEY_META,
    KEY_SUMMARY,
    KEY_API_ERROR,
    KEY_SUBTYPE,
    KEY_TIME,
    KEY_AGENT,
    KEY_SESSION,
    KEY_CWD,
    KEY_BRANCH,
    KEY_MESSAGE,
    KEY_COMPACT,
    KEY_ATTACHMENT,
    KEY_REMOVED,
    KEY_SNIP,
    KEY_OTHER,
};

enum subtype {
    SUBTYPE_NONE,
    SUBTYPE_BOUNDARY,
    SUBTYPE_SNIP,
    SUBTYPE_TOMBSTONE,
    SUBTYPE_GOAL,
    SUBTYPE_TURN,
    SUBTYPE_OTHER,
};

/* What is known about a line so far, besides the line itself. */
struct look {
    enum line_depth depth;
    enum subtype subtype;
    enum subtype attachment;
    bool knows_attachment;
    bool knows_side;
    bool has_removed;
    bool has_kept;
};

/* Like str_is(), with the length computed at compile time. */
#define is(text, word)                                                                             \
    ((text).len == sizeof(word) - 1 && !memcmp((text).ptr, word, sizeof(word) - 1))

/* Compares lengths first, since this is called for every member of every line. */
static enum line_key key_of(struct str name)
{
    switch (name.len) {
    case 3:
        return is(name, "cwd") ? KEY_CWD : KEY_OTHER;
    case 4:
        return is(name, "type") ? KEY_TYPE : is(name, "uuid") ? KEY_UUID : KEY_OTHER;
    case 6:
        return is(name, "isMeta") ? KEY_META : KEY_OTHER;
    case 7:
        return is(name, "message")   ? KEY_MESSAGE
               : is(name, "subtype") ? KEY_SUBTYPE
               : is(name, "agentId") ? KEY_AGENT
                                     : KEY_OTHER;
    case 9:
        return is(name, "sessionId")   ? KEY_SESSION
               : is(name, "timestamp") ? KEY_TIME
               : is(name, "gitBranch") ? KEY_BRANCH
                                       : KEY_OTHER;
    case 10:
        return is(name, "parentUuid")   ? KEY_PARENT
               : is(name, "attachment") ? KEY_ATTACHMENT
                                        : KEY_OTHER;
    case 11:
        return is(name, "isSidechain") ? KEY_SIDECHAIN : KEY_OTHER;
    case 12:
        return is(name, "removedUuids")   ? KEY_REMOVED
               : is(name, "snipMetadata") ? KEY_SNIP
                                          : KEY_OTHER;
    case 15:
        return is(name, "compactMetadata") ? KEY_COMPACT : KEY_OTHER;
    case 16:
        return is(name, "isCompactSummary") ? KEY_SUMMARY : KEY_OTHER;
    case 17:
        return is(name, "isApiErrorMessage") ? KEY_API_ERROR : KEY_OTHER;
    default:
        return KEY_OTHER;
    }
}

static enum subtype subtype_of(struct str name)
{
    if (is(name, "compact_boundary"))
        return SUBTYPE_BOUNDARY;
    if (is(name, "snip"))
        return SUBTYPE_SNIP;
    if (is(name, "tombstone"))
        return SUBTYPE_TOMBSTONE;
    if (is(name, "goal_status"))
        return SUBTYPE_GOAL;
    return is(name, "turn_duration") ? SUBTYPE_TURN : SUBTYPE_OTHER;
}

/* A string if it is one; empty, and passed over, if not. */
static bool take_text(struct window *w, struct str *ret)
{
    *ret = STR("");
    return cursor_peek(w) == '"' ? cursor_string(w, ret) : cursor_skip(w);
}

static bool take_uid(struct window *w, struct uid *ret)
{
    struct str text;

    if (!take_text(w, &text))
        return false;
    *ret = uid_of(text);
    return true;
}

static bool take_flag(struct window *w, unsigned flag, unsigned *flags)
{
    bool is_set;

    if (!cursor_bool(w, &is_set))
        return false;
    *flags = is_set ? *flags | flag : *flags & ~flag;
    return true;
}

/* Where a string is; the end of the line ends it too. */
static bool take_span(struct window *w, struct entry_span *ret)
{
    bool is_string = cursor_peek(w) == '"';
    uint64_t offset = window_offset(w, w->at);
    bool is_whole = cursor_skip(w);
    uint64_t len = window_offset(w, w->at) - offset;

    *ret = (struct entry_span){offset, is_string && len <= UINT32_MAX ? (uint32_t)len : 0};
    return is_whole;
}

static void add_text(struct entry_line *l, struct entry_span at)
{
    if (at.len && l->text_count < LINE_TEXTS)
        l->texts[l->text_count++] = at;
}

/* One of content's blocks: only its type matters, and where its text is. */
static bool take_block(struct window *w, struct entry_line *l)
{
    bool is_first = true;
    bool is_bad;
    struct str key;
    struct str type;
    struct entry_span text = {0};
    bool is_text = false;
    bool is_whole = true;

    if (cursor_peek(w) != '{')
        return cursor_skip(w);
    w->at++;
    while (is_whole && cursor_next(w, '}', &is_first, &is_bad)) {
        if (!cursor_key(w, &key))
            return false;
        if (is(key, "type")) {
            if (!take_text(w, &type))
                return false;
            is_text = is(type, "text");
            if (is(type, "tool_use"))
                l->flags |= LOAD_TOOL_USE;
            if (is(type, "tool_result"))
                l->flags |= LOAD_TOOL_RESULT;
        } else if (is(key, "text")) {
            is_whole = take_span(w, &text);
        } else if (!cursor_skip(w)) {
            return false;
        }
    }
    if (is_text)
        add_text(l, text);
    return is_whole && !is_bad;
}

static bool take_content(struct window *w, struct entry_line *l)
{
    bool is_first = true;
    bool is_bad;
    struct entry_span text;
    bool is_whole;

    if (cursor_peek(w) == '[') {
        w->at++;
        while (cursor_next(w, ']', &is_first, &is_bad)) {
            if (!take_block(w, l))
                return false;
        }
        return !is_bad;
    }
    is_whole = take_span(w, &text);
    add_text(l, text);
    return is_whole;
}

static bool take_message(struct window *w, struct entry_line *l)
{
    bool is_first = true;
    bool is_bad;
    struct str key;
    struct uid id;

    if (cursor_peek(w) != '{')
        return cursor_skip(w);
    w->at++;
    while (cursor_next(w, '}', &is_first, &is_bad)) {
        if (!cursor_key(w, &key))
            return false;
        if (is(key, "id")) {
            if (!take_uid(w, &id))
                return false;
            l->answer = id.lo;
        } else if (is(key, "content")) {
            l->flags &= ~(unsigned)(LOAD_TOOL_USE | LOAD_TOOL_RESULT);
            l->text_count = 0;
            if (!take_content(w, l))
                return false;
        } else if (!cursor_skip(w)) {
            return false;
        }
    }
    return !is_bad;
}

/* compactMetadata: does it name messages that are kept? */
static bool take_compact(struct window *w, struct look *look)
{
    bool is_first = true;
    bool is_bad;
    struct str key;

    if (cursor_peek(w) != '{')
        return cursor_skip(w);
    w->at++;
    while (cursor_next(w, '}', &is_first, &is_bad)) {
        if (!cursor_key(w, &key))
            return false;
        look->has_kept |= is(key, "preservedSegment") || is(key, "preservedMessages");
        if (!cursor_skip(w))
            return false;
    }
    return !is_bad;
}

/* attachment: which kind of one is it? */
static bool take_attachment(struct window *w, struct look *look)
{
    bool is_first = true;
    bool is_bad;
    struct str key, name;

    look->knows_attachment = true;
    if (cursor_peek(w) != '{')
        return cursor_skip(w);
    w->at++;
    while (cursor_next(w, '}', &is_first, &is_bad)) {
        if (!cursor_key(w, &key))
            return false;
        if (is(key, "type")) {
            if (!take_text(w, &name))
                return false;
            look->attachment = subtype_of(name);
        } else if (!cursor_skip(w)) {
            return false;
        }
    }
    return !is_bad;
}

static bool take_kind(struct window *w, struct entry_line *l)
{
    struct str name;

    if (!take_text(w, &name))
        return false;
    l->has_kind = name.len > 0;
    l->kind = entry_kind_of(name);
    return true;
}

static bool take_subtype(struct window *w, struct look *look)
{
    struct str name;

    if (!take_text(w, &name))
        return false;
    look->subtype = subtype_of(name);
    return true;
}

static bool take_session(struct window *w, struct entry_line *l)
{
    uint64_t offset;
    struct str name;
    struct uid id;

    if (cursor_peek(w) != '"')
        return cursor_skip(w);
    offset = window_offset(w, w->at);
    if (!cursor_string(w, &name))
        return false;
    id = uid_of(name);
    l->session = id.lo;
    l->at_session = (struct entry_span){offset, (uint32_t)(window_offset(w, w->at) - offset)};
    return true;
}

static bool take_agent(struct window *w, struct entry_line *l)
{
    struct str name;

    if (!take_text(w, &name))
        return false;
    if (name.len)
        l->flags |= LINE_HAS_AGENT;
    return true;
}

static bool take_member(struct window *w, enum line_key key, struct entry_line *l,
                        struct look *look)
{
    switch (key) {
    case KEY_TYPE:
        return take_kind(w, l);
    case KEY_UUID:
        return look->depth == LINE_ALL ? take_uid(w, &l->id) : cursor_skip(w);
    case KEY_PARENT:
        return look->depth == LINE_ALL ? take_uid(w, &l->parent) : cursor_skip(w);
    case KEY_SIDECHAIN:
        look->knows_side = true;
        return take_flag(w, LOAD_SIDECHAIN, &l->flags);
    case KEY_META:
        return take_flag(w, LOAD_META, &l->flags);
    case KEY_SUMMARY:
        return take_flag(w, LOAD_SUMMARY, &l->flags);
    case KEY_API_ERROR:
        return take_flag(w, LOAD_API_ERROR, &l->flags);
    case KEY_SUBTYPE:
        return take_subtype(w, look);
    case KEY_TIME:
        return take_span(w, &l->at_time);
    case KEY_AGENT:
        return take_agent(w, l);
    case KEY_SESSION:
        return take_session(w, l);
    case KEY_CWD:
        return take_span(w, &l->at_cwd);
    case KEY_BRANCH:
        return take_span(w, &l->at_branch);
    case KEY_MESSAGE:
        return take_message(w, l);
    case KEY_COMPACT:
        return take_compact(w, look);
    case KEY_ATTACHMENT:
        return take_attachment(w, look);
    case KEY_REMOVED:
    case KEY_SNIP:
        look->has_removed = true;
        return cursor_skip(w);
    case KEY_OTHER:
        break;
    }
    return cursor_skip(w);
}

/* Whether the beginning of a line tells enough for what only facts are wanted from. A line whose
 * keys come in an unusual order is looked at for longer, in the end as a whole. */
static bool is_decided(const struct entry_line *l, const struct look *look)
{
    if (!l->has_kind)
        return false;
    switch (l->kind) {
    case ENTRY_USER:
    case ENTRY_ASSISTANT:
        return look->knows_side; /* they are counted */
    case ENTRY_SYSTEM:
        return look->subtype != SUBTYPE_NONE;
    case ENTRY_ATTACHMENT:
        return look->knows_attachment;
    case ENTRY_PROGRESS:
    case ENTRY_FILE_HISTORY:
    case ENTRY_ATTRIBUTION:
    case ENTRY_TASK_SUMMARY:
    case ENTRY_SPECULATION_ACCEPT:
    case ENTRY_COLLAPSE_COMMIT:
    case ENTRY_COLLAPSE_SNAPSHOT:
    case ENTRY_OTHER:
        return true;
    default:
        return false; /* short, and its session matters */
    }
}

static void settle(struct entry_line *l, const struct look *look)
{
    if (l->kind != ENTRY_ASSISTANT) {
        l->flags &= ~(unsigned)LOAD_TOOL_USE;
        l->answer = 0;
    }
    if (l->kind != ENTRY_USER)
        l->flags &= ~(unsigned)LOAD_TOOL_RESULT;
    if (look->has_removed)
        l->flags |= LINE_SNIP;
    if (l->kind == ENTRY_ATTACHMENT && look->attachment == SUBTYPE_GOAL)
        l->flags |= LINE_GOAL;
    if (l->kind != ENTRY_SYSTEM)
        return;
    if (look->subtype == SUBTYPE_BOUNDARY)
        l->flags |= LOAD_BOUNDARY | (look->has_kept ? LINE_KEEPS : 0u);
    if (look->subtype == SUBTYPE_SNIP)
        l->flags |= LINE_SNIP;
    if (look->subtype == SUBTYPE_TOMBSTONE)
        l->flags |= LINE_TOMBSTONE;
    if (look->subtype == SUBTYPE_GOAL)
        l->flags |= LINE_GOAL;
    if (look->subtype == SUBTYPE_TURN)
        l->flags |= LINE_TURN;
}

/* A file may begin with a byte order mark. */
static void skip_mark(struct window *w)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};

    for (size_t i = 0; i < sizeof(mark) && cursor_peek(w) == mark[i]; i++)
        w->at++;
}

bool line_scan(struct window *w, enum line_depth depth, struct entry_line *ret)
{
    struct look look = {.depth = depth};
    bool is_first = true;
    bool is_bad = true;
    bool is_whole = true;
    struct str key;

    *ret = (struct entry_line){.kind = ENTRY_OTHER};
    if (w->line == 0)
        skip_mark(w);
    if (!cursor_take(w, '{')) {
        ret->is_blank = cursor_peek(w) < 0;
        return false;
    }
    while (is_whole && cursor_next(w, '}', &is_first, &is_bad)) {
        is_whole = cursor_key(w, &key) && take_member(w, key_of(key), ret, &look);
        if (depth == LINE_BEGINNING && is_whole && is_decided(ret, &look)) {
            settle(ret, &look);
            return true;
        }
    }
    settle(ret, &look);
    return is_whole && !is_bad && cursor_peek(w) < 0;
}
