/*
 * The skills that the model may call, as announced to it.
 *
 * All of them are announced once, before the first input, one line each; later inputs add changes.
 * The announcement has a budget: when the lines do not fit, descriptions are cut to a common
 * length, and in the end left out, but a name never is. Announcements are read back from the
 * reminders of a resumed session, so nothing is stored beside them.
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/str.h"

struct buf;
struct host;
struct own_command;
struct own_list;
struct strv;

#define SKILL_LISTING_MIN 60 /* characters that a description keeps before it is left out */

struct skill_listing {
    struct map told; /* name → the text that was announced, a char * */
    bool is_begun;
    size_t shortened, bare; /* of the last announcement: cut, and without a description */
};

#define SKILL_LISTING_INIT                                                                         \
    {                                                                                              \
        0                                                                                          \
    }
void skill_listing_release(struct skill_listing *l);

/* The model knows what these reminders say, and nothing else. */
void skill_listing_recall(struct skill_listing *l, struct str reminders);

struct skill_listing_spec {
    const struct own_list *skills;
    const struct strv *seen; /* files that were read or edited; for `paths` */
    size_t budget;           /* characters of all lines */
    bool is_trusted;         /* the project's skills count */
    const struct host *host; /* whose client may have chosen some; NULL: all */
};
/* The next announcement for the model: a <system-reminder> block and its attachment line, or
 * nothing. */
void skill_listing_say(struct skill_listing *l, const struct skill_listing_spec *spec,
                       struct buf *ret_block, struct buf *ret_attachment);
/* Whether it is announced to the model at all. */
bool skill_is_listed(const struct own_command *c, const struct strv *seen, bool is_trusted);
