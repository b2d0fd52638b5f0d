/*
 * The parser's files and what they ask of each other: shell.c reads lists and pipelines,
 * shell_simple.c simple commands, shell_compound.c loops, conditions, groups and functions,
 * shell_redirect.c what hangs on a command, shell_word.c words and shell_expand.c what a dollar
 * sign starts. They need each other in turn, because words hold commands. For these files only.
 */
#pragma once

#include "base/buf.h"
#include "shell/shell.h"

/* A here-document that was announced on the current line. */
struct shell_heredoc {
    struct str delimiter;
    bool strip_tabs;
    bool literal; /* the delimiter was quoted: nothing expands in it */
};

struct shell_scan {
    struct shell *s;
    struct str in;
    size_t at;
    unsigned depth;
    bool nested;   /* between brackets ... */
    bool had_text; /* ... and a here-document's text came already */
    VEC(struct shell_heredoc) heredocs;
};

static inline char shell_peek(const struct shell_scan *c, size_t ahead)
{
    return c->at + ahead < c->in.len ? c->in.ptr[c->at + ahead] : '\0';
}

static inline bool shell_at_end(const struct shell_scan *c)
{
    return c->at >= c->in.len;
}

static inline bool shell_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool shell_is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool shell_is_name(char c)
{
    return str_is_alnum(c) || c == '_';
}

/* What a word ends at, outside quotes. */
static inline bool shell_is_meta(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' ||
           c == '>' || c == '(' || c == ')';
}

/* The text is no longer certain; the first reason counts. */
void shell_doubt(struct shell *s, const char *why);
/* The same, and parts may have been overlooked. */
void shell_break(struct shell *s, const char *why);

/* One level further down; false when that is too deep, and the rest of the text is given up. */
bool shell_enter(struct shell_scan *c);
void shell_leave(struct shell_scan *c);

/* --- shell.c: commands ---------------------------------------------------------------------- */

/* Commands up to what cannot start one: the end, ")", ";;" or a word that closes ("done"). Returns
 * how many there were. */
size_t shell_scan_list(struct shell_scan *c);
/* The commands of a separate text, a level further down. */
void shell_scan_text(struct shell *s, struct str in, unsigned depth);
/* After "$(", "<(" or "(": commands and their ")". */
void shell_scan_nested(struct shell_scan *c);

void shell_skip_blanks(struct shell_scan *c); /* and continued lines */
void shell_skip_lines(struct shell_scan *c);  /* and newlines and comments */
/* The unquoted word that starts here, when that is all it is; for keywords. */
struct str shell_peek_plain(const struct shell_scan *c);

/* --- shell_simple.c ------------------------------------------------------------------------- */

/* False when no command starts here. */
bool shell_scan_simple(struct shell_scan *c);
/* The words of a command are complete: they become a part, and *part is empty again. */
void shell_end_part(struct shell_scan *c, struct shell_part *part);
/* An element of a list has no name. */
void shell_set_variable(struct shell *s, struct str name, struct str value);

/* --- shell_compound.c ----------------------------------------------------------------------- */

/* True when a compound command or a function stood here. */
bool shell_scan_compound(struct shell_scan *c);
/* After "name()": the body. */
void shell_scan_function(struct shell_scan *c, struct str name);

/* --- shell_redirect.c ----------------------------------------------------------------------- */

/* At "<", ">" or "&>". */
void shell_scan_redirect(struct shell_scan *c);
/* All that stand here. */
void shell_scan_redirects(struct shell_scan *c);
/* After a newline: the bodies of the here-documents that the line announced. */
void shell_scan_heredocs(struct shell_scan *c);

/* --- shell_word.c --------------------------------------------------------------------------- */

/* One word; it may turn out empty (""). */
void shell_scan_word(struct shell_scan *c, struct shell_word *ret);
void shell_scan_double(struct shell_scan *c, struct shell_word *w, struct buf *text);
void shell_scan_single(struct shell_scan *c, struct shell_word *w, struct buf *text);

/* --- shell_expand.c ------------------------------------------------------------------------- */

/* At the dollar sign; at the backtick. */
void shell_scan_dollar(struct shell_scan *c, struct shell_word *w, struct buf *text,
                       bool in_quotes);
void shell_scan_backtick(struct shell_scan *c, struct shell_word *w, bool in_quotes);
/* After "((", wherever it stands: arithmetic and its "))". False, and nothing is read, when it is
 * none. */
bool shell_scan_arithmetic(struct shell_scan *c);
/* What the text set it to last; NULL: nothing. */
const struct shell_variable *shell_find_variable(const struct shell *s, struct str name);
