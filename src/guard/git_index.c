/*
 * git_index: both are walked at once, entry by entry; versions 2 to 4, with SHA-1 or SHA-256. Pure.
 */
#include "guard/git_index.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INDEX_HEAD 12       /* "DIRC", version, number of entries */
#define INDEX_MODE_AT 24    /* behind two times, device and inode */
#define INDEX_ID_AT 40      /* behind mode, owner, group and size */
#define INDEX_EXTENDED 0x40 /* in the first byte of the flags */

static uint32_t number_at(struct str s, size_t at)
{
    const unsigned char *p = (const unsigned char *)s.ptr + at;

    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The length of the entry at `at`; 0: there is none. The flags stand behind the id, the name behind
 * those; before version 4 zeros follow up to a multiple of eight. */
static size_t entry_len(struct str s, size_t at, uint32_t version, size_t id_len)
{
    size_t name = INDEX_ID_AT + id_len + 2;
    size_t end;

    if (at + name >= s.len)
        return 0;
    if (version >= 3 && s.ptr[at + name - 2] & INDEX_EXTENDED)
        name += 2;
    if (version == 4) /* how much of the name before is cut off: the last byte has no high bit */
        while (at + name < s.len && s.ptr[at + name++] & 0x80)
            continue;
    if (at + name >= s.len)
        return 0;
    end = name + str_chr(str_from(s, at + name), '\0');
    end = version == 4 ? end + 1 : (end / 8 + 1) * 8;
    return at + end <= s.len ? end : 0;
}

static bool is_same_by(struct str one, struct str other, size_t id_len)
{
    uint32_t version = number_at(one, 4);
    uint32_t count = number_at(one, 8);
    size_t at = INDEX_HEAD;

    if (one.len < INDEX_HEAD + id_len)
        return false;
    one.len = other.len -= id_len; /* the sum of all */
    for (uint32_t i = 0; i < count; i++) {
        size_t len = entry_len(one, at, version, id_len);

        if (!len || memcmp(one.ptr + at + INDEX_MODE_AT, other.ptr + at + INDEX_MODE_AT, 4) != 0 ||
            memcmp(one.ptr + at + INDEX_ID_AT, other.ptr + at + INDEX_ID_AT, len - INDEX_ID_AT) !=
                0)
            return false;
        at += len;
    }
    return str_eq(str_from(one, at), str_from(other, at));
}

bool git_index_is_same(struct str one, struct str other)
{
    if (one.len != other.len || one.len < INDEX_HEAD || !str_starts(one, STR("DIRC")) ||
        memcmp(one.ptr, other.ptr, INDEX_HEAD) != 0 || number_at(one, 4) < 2 ||
        number_at(one, 4) > 4)
        return false;
    return is_same_by(one, other, 20) || is_same_by(one, other, 32);
}
