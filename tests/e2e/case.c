/*
 * case: cuts a case file into its sections and checks their names. Main thread.
 */
#include "case.h"

#include "base/err.h"
#include "base/file.h"

static const char *const section_names[] = {
    "dialects", "scenario", "serve",  "no",     "file",   "env",      "stdin", "pty",
    "run",      "exit",     "stdout", "stderr", "output", "requests", "left",  "secrets",
};

static bool section_is_known(struct str head)
{
    struct str name = str_first(head, str_chr(head, ' '));

    for (size_t i = 0; i < ARRAY_LEN(section_names); i++) {
        if (str_is(name, section_names[i]))
            return true;
    }
    return false;
}

int case_load(const char *file, struct test_case *ret, struct err *err)
{
    struct str rest;
    struct str line;
    size_t number = 0;

    *ret = (struct test_case){.file = file, .source = BUF_INIT((size_t)4 << 20)};
    if (file_slurp(file, ret->source.max, &ret->source, err) < 0)
        return -1;
    rest = buf_str(&ret->source);
    while (str_cut(&rest, '\n', &line)) {
        struct section *last = ret->sections.len ? &ret->sections.ptr[ret->sections.len - 1] : NULL;

        number++;
        if (!str_starts(line, STR("%%"))) {
            /* Lines of a section follow each other in the file, so its text just grows. */
            if (last)
                last->text.len =
                    (size_t)(line.ptr + line.len - last->text.ptr) + (rest.ptr != NULL);
            continue;
        }
        /* An empty line before the next section does not count. */
        if (last && str_ends(last->text, STR("\n\n")))
            last->text.len--;
        else if (last && str_is(last->text, "\n"))
            last->text.len = 0;
        last = vec_add(&ret->sections);
        *last = (struct section){.head = str_trim(str_from(line, 2)), .line = number};
        last->text = str_make(line.ptr + line.len + (rest.ptr != NULL), 0);
        last->text.ptr = line.ptr + line.len + (rest.ptr != NULL);
        if (!section_is_known(last->head))
            return err_set(err, ERR_BAD_INPUT, "%s:%zu: unknown section '%.*s'", file, number,
                           STR_ARG(last->head));
    }
    if (!case_find(ret, "run"))
        return err_set(err, ERR_BAD_INPUT, "%s: there is no 'run' section", file);
    return 0;
}

void case_release(struct test_case *c)
{
    vec_release(&c->sections);
    buf_release(&c->source);
}

const struct section *case_find(const struct test_case *c, const char *head)
{
    VEC_EACH(&c->sections, s) {
        if (str_is(s->head, head))
            return s;
    }
    return NULL;
}

bool case_words(const struct test_case *c, const char *name, struct str *ret)
{
    VEC_EACH(&c->sections, s) {
        struct str rest = s->head;
        struct str first;

        if (str_cut(&rest, ' ', &first) && str_is(first, name)) {
            *ret = rest.ptr ? str_trim(rest) : STR("");
            return true;
        }
    }
    return false;
}
