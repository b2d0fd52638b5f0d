/*
 * A rule, a command, a line each: rule parse, command split and matching. In any case an allow rule
 * that lets a command through lets through each of its parts, a read-only command writes nothing,
 * and a command that a rule forbids is forbidden with another one before or after it.
 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/rule_list.h"
#include "fuzz.h"
#include "guard/rule.h"
#include "shell/shell.h"

static const struct rule_place place = {"/p", "/w", "/h"};

static bool is_exact(struct str rule, struct str command)
{
    return str_has(rule, str_trim(command));
}

/* Each part alone, as written. Parts that are nothing alone are left out: the call of a function,
 * [[ without its operators, a keyword that is none after a redirection, a change of a file named by
 * the rest of the text. A part has lost its redirections, but the substitutions in its words have
 * theirs. */
static void check_parts(struct rule *rule, const struct shell *shell)
{
    VEC_EACH(&shell->parts, p) {
        CLEANUP(shell_release) struct shell alone = {0};
        CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(strv_release) struct strv writes = STRV_INIT;
        struct rule_subject s = {.tool = STR("Bash"), .about = ABOUT_COMMAND};
        const struct rule *used;

        VEC_EACH(&p->words, w) {
            buf_adds(&text, text.len ? " " : "");
            buf_add(&text, w->raw);
        }
        s.text = buf_str(&text);
        shell_split(&alone, s.text);
        if (p->defined || !alone.certain)
            continue;
        FUZZ_CHECK(rules_allow_command(&rule, 1, &s, &writes, &used));
        FUZZ_CHECK(writes.len == alone.writes.len && writes.len <= shell->writes.len);
    }
}

static bool is_inside(struct str part, struct str whole)
{
    return !part.len || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

/* Each part found is in the text, except backticks, which are read from a copy. */
static void check_found(const struct shell *shell, struct str text)
{
    bool copies = str_chr(text, '`') < text.len;

    FUZZ_CHECK(shell->certain == !shell->why);
    FUZZ_CHECK(!shell->certain || (!shell->broken && !shell->too_big));
    FUZZ_CHECK(!shell->certain || text.len <= SHELL_MAX_CERTAIN);
    VEC_EACH(&shell->parts, p) {
        FUZZ_CHECK(p->words.len && p->first <= p->words.len);
        VEC_EACH(&p->words, w) {
            FUZZ_CHECK(copies || is_inside(w->raw, text) || str_is(w->raw, "[["));
            FUZZ_CHECK(w->quoted || w->expands || w->text.len <= w->raw.len || copies ||
                       str_starts(w->raw, STR("<(")) || str_starts(w->raw, STR(">(")));
        }
    }
    VEC_EACH(&shell->writes, w) {
        FUZZ_CHECK(copies || is_inside(w->raw, text));
    }
}

static void check_allow(struct str text, struct str command)
{
    CLEANUP(shell_release) struct shell shell = {0};
    CLEANUP(strv_release) struct strv writes = STRV_INIT;
    struct rule_subject s = {.tool = STR("Bash"), .about = ABOUT_COMMAND, .text = command};
    const struct rule *used;
    struct rule *rule;

    shell_split(&shell, command);
    check_found(&shell, command);
    if (rule_parse(text, RULE_ALLOW, &place, &rule, NULL) < 0)
        return;
    if (!rule_covers_tool(rule, STR("Bash")) && !is_exact(text, command) &&
        rules_allow_command(&rule, 1, &s, &writes, &used)) {
        FUZZ_CHECK(shell.certain && shell.parts.len);
        FUZZ_CHECK(writes.len == shell.writes.len);
        check_parts(rule, &shell);
    }
    rule_free(rule);
}

static void check_deny(struct str text, struct str command)
{
    CLEANUP(buf_release) struct buf longer = BUF_INIT(BUF_NO_LIMIT);
    struct rule_subject s = {.tool = STR("Bash"), .about = ABOUT_COMMAND, .text = command};
    CLEANUP(shell_release) struct shell shell = {0};
    struct rule *rule;

    if (rule_parse(text, RULE_DENY, &place, &rule, NULL) < 0)
        return;
    shell_split(&shell, command);
    if (rule_matches(rule, &s) && shell.certain && !is_exact(text, command) &&
        str_chr(text, '*') == text.len) {
        buf_adds(&longer, "true\n");
        buf_add(&longer, command);
        buf_adds(&longer, "\ntrue");
        s.text = buf_str(&longer);
        FUZZ_CHECK(rule_matches(rule, &s));
    }
    rule_free(rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str command = str_make((const char *)data, size);
    CLEANUP(strv_release) struct strv paths = STRV_INIT;
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct rule_files files = VEC_INIT;
    CLEANUP(strv_release) struct strv list = STRV_INIT;
    struct rule_subject about = {.tool = STR("Edit"), .about = ABOUT_PATH, .writes = true};
    CLEANUP(rule_command_freep) struct rule_command *parsed = NULL;
    struct rule *rule;
    struct str text;

    if (!str_cut(&command, '\n', &text))
        return 0;
    check_allow(text, command);
    check_deny(text, command);
    parsed = rule_command_new(command);
    if (rule_command_is_read_only(parsed)) {
        FUZZ_CHECK(!rule_command_is_critical(parsed, "/w", "/h"));
        rule_command_files(parsed, &arena, &files);
        VEC_EACH(&files, file) {
            FUZZ_CHECK(!file->writes);
        }
        vec_release(&files);
    }
    rule_command_is_file_work(parsed, &paths);
    rule_list_split(text, &list);
    about.text = command;
    if (rule_parse(text, RULE_ASK, &place, &rule, NULL) == 0) {
        rule_matches(rule, &about);
        rule_free(rule);
    }
    return 0;
}
