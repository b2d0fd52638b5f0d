/*
 * Skills that fit what the user has said: a line for each, and for one that fits well its text.
 *
 * The text of a skill comes without a call only if it grants nothing, runs nothing and is short,
 * and one at most with an input: a match that strong is nearly always wanted, and the text costs
 * less than a round trip. Each skill is suggested once in a conversation. One thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/str.h"

struct buf;
struct own_command;
struct own_list;
struct strv;
struct word_index;

struct skill_search {
    struct word_index *index;
    struct own_list *of;  /* what it was made of; a reference */
    struct map suggested; /* names */
};

void skill_search_release(struct skill_search *s);
/* Call it for a new conversation and after a compaction: skills may be suggested again. */
void skill_search_forget(struct skill_search *s);

struct skill_search_spec {
    struct own_list *skills;
    const struct strv *seen; /* as for skill_listing */
    bool is_trusted;
    struct str words;
    /* A text is about to be given to the model; false: it has it already. */
    bool (*loads)(void *arg, const struct own_command *c, struct str body);
    void *arg;
};
/* A <system-reminder> and its attachment line, or nothing. */
void skill_search_say(struct skill_search *s, const struct skill_search_spec *spec,
                      struct buf *ret_block, struct buf *ret_attachment);
