/*
 * prompt: our own text or the user's, then the appended text, then the language. Nothing in here
 * depends on time, place or machine, because every changed byte would cost a prompt cache. Runs
 * once per session, on the thread that builds it.
 */
#include "context/prompt.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "conf/option.h"
#include "context/style.h"

#define PROMPT_MAX_ATTRIBUTION 1000
#define PROMPT_MAX_LANGUAGE 100 /* bytes of the setting that are used */

void prompt_spec_release(struct prompt_spec *s)
{
    buf_release(&s->system);
    buf_release(&s->appended);
    buf_release(&s->style);
}

static int prompt_check(struct str text, const char *option, struct err *err)
{
    size_t valid = utf8_valid_len(text);

    if (valid < text.len)
        return err_set(err, ERR_BAD_INPUT, "--%s is not valid UTF-8 (byte %zu)", option, valid);
    if (str_chr(text, '\0') < text.len)
        return err_set(err, ERR_BAD_INPUT, "--%s has a NUL byte; it is not text", option);
    return 0;
}

/* The text of one pair of options; *ret_given false when neither was used. */
static int prompt_option(const struct args *args, enum option_id plain, enum option_id file,
                         const char *dir, struct buf *ret, bool *ret_given, struct err *err)
{
    const char *name = option_table()[file].name;
    CLEANUP(buf_release) struct buf text = BUF_INIT(PROMPT_MAX_TEXT);

    *ret_given = args->given[plain] || args->given[file];
    if (args->given[plain] && args->given[file])
        return err_set(err, ERR_BAD_INPUT, "give --%s or --%s, not both",
                       option_table()[plain].name, name);
    if (args->given[plain]) {
        name = option_table()[plain].name;
        buf_adds(&text, args_get(args, plain));
        if (buf_check(&text, NULL) < 0)
            return err_set(err, ERR_TOO_BIG, "--%s has more than %zu bytes", name, PROMPT_MAX_TEXT);
    } else if (args->given[file]) {
        CLEANUP(mem_freep) char *expanded = path_expand_home(args_get(args, file));
        CLEANUP(mem_freep) char *path = path_join(dir, expanded);

        if (file_slurp(path, PROMPT_MAX_TEXT, &text, err) < 0)
            return err_prefix(err, "--%s", name);
    }
    if (prompt_check(buf_str(&text), name, err) < 0)
        return -1;
    buf_move(ret, &text);
    return 0;
}

int prompt_spec_options(struct prompt_spec *s, const struct args *args, const char *dir,
                        struct err *err)
{
    CLEANUP(buf_release) struct buf system = {0};
    CLEANUP(buf_release) struct buf appended = {0};
    bool replaces;
    bool appends;

    if (prompt_option(args, OPT_SYSTEM_PROMPT, OPT_SYSTEM_PROMPT_FILE, dir, &system, &replaces,
                      err) < 0 ||
        prompt_option(args, OPT_APPEND_SYSTEM_PROMPT, OPT_APPEND_SYSTEM_PROMPT_FILE, dir, &appended,
                      &appends, err) < 0)
        return -1;
    if (replaces)
        prompt_spec_replace(s, buf_str(&system));
    if (appends)
        prompt_spec_append(s, buf_str(&appended));
    return 0;
}

void prompt_spec_style(struct prompt_spec *s, const struct conf *conf, struct path_veto denied,
                       struct strv *ret_notes)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct output_style style;
    struct err err = {0};

    if (style_find(conf, denied, &arena, &style, &err) < 0) {
        strv_addf(ret_notes, "outputStyle is left out: %s", err.text);
        return;
    }
    buf_clear(&s->style);
    if (style.text.len)
        buf_addf(&s->style, "# Output style: %.*s\n%.*s", STR_ARG(str_clip(style.name, 100)),
                 STR_ARG(style.text));
    s->drops_coding = !style.keeps_coding;
}

void prompt_spec_replace(struct prompt_spec *s, struct str system)
{
    s->is_replaced = true;
    buf_clear(&s->system);
    buf_add(&s->system, system);
}

void prompt_spec_append(struct prompt_spec *s, struct str text)
{
    buf_clear(&s->appended);
    buf_add(&s->appended, text);
}

/* A separate part, with an empty line before it. */
static void prompt_add_part(struct buf *ret, struct str part)
{
    if (!part.len)
        return;
    if (ret->len)
        buf_adds(ret, "\n\n");
    buf_add(ret, part);
}

/* The lines added below commits and pull requests; "" and absent: none. */
static void prompt_add_attribution(struct buf *ret, const struct conf *conf, const char *key,
                                   const char *what)
{
    struct str text = str_clip(str_trim(conf_get_str(conf, key)), PROMPT_MAX_ATTRIBUTION);

    if (!text.len)
        return;
    prompt_add_part(ret, STR("When you are asked to "));
    buf_addf(ret, "%s, put this at the end of its text, after an empty line:\n%.*s", what,
             STR_ARG(text));
}

/* Our own words, which are sections that begin with "# Name"; without those about writing code when
 * a style has another purpose. */
static void prompt_add_ours(struct buf *ret, struct str ours, bool drops_coding)
{
    static const char *const coding[] = {"# How to work\n", "# Evidence\n"};
    struct str rest = ours;

    while (rest.len) {
        size_t end = str_find(str_from(rest, 1), STR("\n# ")) + 1;
        struct str section = str_first(rest, end < rest.len ? end + 1 : rest.len);
        bool drops = false;

        for (size_t i = 0; drops_coding && i < ARRAY_LEN(coding); i++)
            drops = drops || str_starts(section, str_of(coding[i]));
        if (!drops)
            buf_add(ret, section);
        rest = str_from(rest, section.len);
    }
}

void prompt_system(const struct prompt_spec *s, const struct conf *conf, struct buf *ret)
{
    struct str language = conf ? str_trim(conf_get_str(conf, "language")) : STR("");

    buf_clear(ret);
    if (s->is_replaced) {
        buf_add(ret, buf_str(&s->system));
    } else {
        prompt_add_ours(ret, str_of(s->coordinates ? coordinator_md : prompt_md), s->drops_coding);
        prompt_add_part(ret, buf_str(&s->style));
    }
    prompt_add_part(ret, buf_str(&s->appended));
    language = str_clip(str_first(language, str_chr(language, '\n')), PROMPT_MAX_LANGUAGE);
    if (language.len) {
        prompt_add_part(ret, STR("Answer in this language: "));
        buf_addf(ret, "%.*s. Code, commands and names stay as they are.", STR_ARG(language));
    }
    /* includeCoAuthoredBy is what the other one was called when it could only be left out. */
    if (conf && conf_get_bool(conf, "includeCoAuthoredBy", true)) {
        prompt_add_attribution(ret, conf, "attribution.commit", "make a commit");
        prompt_add_attribution(ret, conf, "attribution.pr", "open a pull request");
    }
}
