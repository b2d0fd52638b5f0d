/*
 * References within a schema. Pure; any thread.
 */
#include "base/buf.h"
#include "json/json.h"
#include "json/schema_keyword.h"

/* One step of a JSON pointer, unescaped. */
static void add_step(struct buf *out, struct str step)
{
    for (size_t i = 0; i < step.len; i++) {
        bool escaped = step.ptr[i] == '~' && i + 1 < step.len;

        if (escaped)
            i++;
        buf_addc(out, !escaped ? step.ptr[i] : step.ptr[i] == '1' ? '/' : '~');
    }
}

const struct json *schema_ref(const struct json *root, struct str ref)
{
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    const struct json *at = root;
    struct str step;

    if (str_is(ref, "#"))
        return root;
    if (!str_starts(ref, STR("#/")))
        return NULL;
    ref = str_from(ref, 2);
    while (at && ref.len) {
        str_cut(&ref, '/', &step);
        buf_clear(&name);
        add_step(&name, step);
        at = json_get_key(at, buf_str(&name));
    }
    return at;
}
