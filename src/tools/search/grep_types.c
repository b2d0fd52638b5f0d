/*
 * The table of file types.
 */
#include "tools/search/grep_types.h"

#include "base/err.h"
#include "base/mem.h"
#include "conf/nearest.h"

static const struct {
    const char *names;
    const char *globs;
} types[] = {
#define TYPE(names, globs) {names, globs},
#include "tools/search/grep_types.def"
#undef TYPE
};

const char *grep_type_at(size_t i, const char **ret_globs)
{
    if (i >= ARRAY_LEN(types))
        return NULL;
    *ret_globs = types[i].globs;
    return types[i].names;
}

int grep_type_globs(struct str name, struct str *ret, struct err *err)
{
    struct nearest near;

    nearest_init(&near, name);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct str rest = str_of(types[i].names);
        struct str known;

        while (str_cut(&rest, ' ', &known)) {
            if (str_eq(known, name)) {
                *ret = str_of(types[i].globs);
                return 0;
            }
        }
        nearest_offer_words(&near, types[i].names);
    }
    return err_set(err, ERR_BAD_INPUT, "there is no file type '%.*s'%s%.*s%s; use glob instead",
                   STR_ARG(str_first(name, 40)), near.best.len ? " (did you mean '" : "",
                   STR_ARG(near.best), near.best.len ? "'?)" : "");
}
