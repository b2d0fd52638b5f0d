/*
 * keys_docs: one line of Markdown per row of keys.def. Constant data; any thread.
 */
#include "conf/keys_docs.h"

#include "base/buf.h"
#include "base/mem.h"
#include "conf/keys.h"

static void add_code_words(struct buf *out, const char *words, const char *between)
{
    struct str rest = str_of(words);
    struct str word;
    bool first = true;

    while (str_cut(&rest, ' ', &word)) {
        buf_addf(out, "%s`%.*s`", first ? "" : between, STR_ARG(word));
        first = false;
    }
}

static void add_type(struct buf *out, const struct key *k)
{
    static const struct {
        enum key_types type;
        const char *name;
    } names[] = {
        {KEY_BOOL, "true/false"},       {KEY_INT, "whole number"}, {KEY_NUMBER, "number"},
        {KEY_STRING, "text"},           {KEY_LIST, "list"},        {KEY_OBJECT, "object"},
        {KEY_STRINGS, "list of texts"},
    };
    bool words = k->values && (k->types & KEY_STRING);
    bool first = true;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!(k->types & names[i].type))
            continue;
        buf_adds(out, first ? "" : ", ");
        if (words && names[i].type == KEY_STRING)
            add_code_words(out, k->values, " ");
        else
            buf_adds(out, names[i].name);
        first = false;
    }
    if (k->values && !words)
        buf_addf(out, " %s", k->values);
}

static bool is_later(const struct key *keys, const struct key *k)
{
    for (const struct key *at = k; at >= keys; at--) {
        struct str above = str_of(at->path);

        if ((at->flags & KEY_LATER) &&
            (at == k || (str_starts(str_of(k->path), above) && k->path[above.len] == '.')))
            return true;
    }
    return false;
}

void keys_write_docs(struct buf *out)
{
    size_t count;
    const struct key *keys = key_table(&count);

    buf_adds(out, "| key | value | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        const struct key *k = &keys[i];

        buf_addf(out, "| `%s` | ", k->path);
        add_type(out, k);
        buf_addf(out, " | %s", k->help);
        if (k->env) {
            buf_adds(out, "; ");
            add_code_words(out, k->env, " and ");
            buf_adds(out, " beat it");
        }
        if (k->flags & KEY_MANAGED)
            buf_adds(out, "; managed settings only");
        if (k->flags & KEY_OURS)
            buf_adds(out, "; tenax's own files only");
        if (k->flags & KEY_OWN)
            buf_adds(out, "; not from a project's settings");
        if (k->flags & KEY_TRUST)
            buf_adds(out, "; from a project only when its folder is trusted");
        if (is_later(keys, k))
            buf_adds(out, "; *not used by this version yet*");
        if (k->flags & KEY_MOOT)
            buf_adds(out, "; *no effect*");
        buf_adds(out, " |\n");
    }
}
