/*
 * permit_check: one question, in the order of the reference: permit_judge() is that page. Works on
 * the state it was given, without a lock. Any thread.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "guard/permit.h"
#include "guard/permit_state.h"
#include "guard/protected.h"
#include "guard/sandbox.h"
#include "guard/tool_flags.h"
#include "guard/trial.h"
#include "guard/word_files.h"
#include "guard/workspace.h"
#include "json/json.h"

/* A question with facts that are computed once for it. */
struct judge {
    struct permit *permit;
    const struct permit_state *state;
    const struct rule_subject *subject;
    unsigned flags;
    enum sandbox_side side;       /* ABOUT_COMMAND: where it would run */
    char *real;                   /* ABOUT_PATH: with links followed */
    struct rule_command *command; /* ABOUT_COMMAND: taken apart ... */
    struct rule_files words;      /* ... what may be names of files ... */
    bool guards_paths;            /* ... and some rule forbids paths, so that all are looked at */
    struct word_files files;      /* those that were; else what may be written */
    struct strv git_dirs;         /* where git may run */
    bool git_moves;
    bool can_try;       /* ABOUT_COMMAND: it can run on trial */
    struct arena arena; /* of all this */
    struct permit_answer *answer;
};

static void judge_release(struct judge *j)
{
    mem_freep(&j->real);
    word_files_release(&j->files);
    vec_release(&j->words);
    rule_command_free(j->command);
    strv_release(&j->git_dirs);
    arena_release(&j->arena);
}

static void judge_say(struct judge *j, enum permit_verdict verdict, const char *type,
                      const char *fmt, ...) PRINTF_LIKE(4, 5);

/* What would ask is denied in dontAsk. */
static void judge_say(struct judge *j, enum permit_verdict verdict, const char *type,
                      const char *fmt, ...)
{
    va_list args;

    if (verdict == PERMIT_ASK && j->state->mode == MODE_DONT_ASK) {
        verdict = PERMIT_DENY;
        j->answer->unasked =
            !j->answer->by_rule && !(j->flags & TOOL_PERSON) && strcmp(type, "safetyCheck") != 0;
    }
    j->answer->verdict = verdict;
    j->answer->reason_type = type;
    va_start(args, fmt);
    vsnprintf(j->answer->reason, sizeof(j->answer->reason), fmt, args);
    va_end(args);
}

static bool state_guards_paths(const struct permit_state *s)
{
    VEC_EACH(&s->rules, r) {
        if ((*r)->list != RULE_ALLOW && rule_is_about_paths((*r)->rule))
            return true;
    }
    return false;
}

bool permit_guards_paths(struct permit *p)
{
    CLEANUP(permit_state_unrefp) struct permit_state *state = permit_state_ref(p);

    return state_guards_paths(state);
}

static bool folder_has(const char *folder, const char *name)
{
    CLEANUP(mem_freep) char *path = path_join(folder, name);
    struct stat st;

    return lstat(path, &st) == 0;
}

/* The folder whose settings git would use in this one; NULL: none. A folder with HEAD and objects
 * is a repository to git, too: bare. */
static const char *judge_repository(struct judge *j, struct str folder, bool *ret_bare)
{
    CLEANUP(mem_freep) char *real = workspace_real(folder.ptr);
    char *at = arena_cstr(&j->arena, str_of(real));

    for (;;) {
        char *slash = strrchr(at, '/');

        *ret_bare = !folder_has(at, ".git");
        if (!*ret_bare ||
            (folder_has(at, "HEAD") && (folder_has(at, "objects") || folder_has(at, "commondir"))))
            return at;
        if (!slash || slash == at)
            return NULL;
        *slash = '\0';
    }
}

static bool judge_is_same_repository(struct judge *j, struct str a, struct str b)
{
    bool bare_a, bare_b;
    const char *of_a = judge_repository(j, a, &bare_a);
    const char *of_b = judge_repository(j, b, &bare_b);

    return of_a && of_b && !bare_a && !bare_b && strcmp(of_a, of_b) == 0;
}

/* "cd src && git status": in the repository it starts in. After a second cd the first one's folder
 * may not have been left. */
static void judge_see_moves(struct judge *j)
{
    struct str cwd = word_files_cwd(&j->files);

    j->git_moves = rule_command_git_moves(j->command, &j->git_dirs);
    for (size_t i = 0; j->git_moves && i < j->git_dirs.len; i++) {
        struct str path = word_files_path(&j->files, str_of(j->git_dirs.ptr[i]));

        if (!str_eq(path, cwd) && !(j->git_dirs.len == 1 && judge_is_same_repository(j, path, cwd)))
            return;
    }
    if (j->git_moves)
        rule_command_stays(j->command);
}

/* Nothing in the text of such a command counts, except rules. */
static bool judge_can_try(const struct judge *j)
{
    return j->subject->about == ABOUT_COMMAND && j->side == SIDE_INSIDE &&
           !json_get_bool(j->subject->args, "run_in_background", false) &&
           !(j->flags & TOOL_UNTRIED) && !rule_command_reaches_out(j->command) &&
           trial_works(j->permit->sandbox, /*ret_why=*/NULL);
}

static void judge_prepare(struct judge *j, struct rule_subject *subject)
{
    if (subject->about == ABOUT_PATH) {
        CLEANUP(mem_freep) char *path = mem_dup(subject->text.ptr, subject->text.len);

        j->real =
            subject->real ? mem_dup(subject->real, strlen(subject->real)) : workspace_real(path);
    } else if (subject->about == ABOUT_COMMAND) {
        j->command = rule_command_new(subject->text);
        subject->command = j->command;
        j->side = sandbox_side(j->permit->sandbox, subject->text, subject->args);
        j->guards_paths = state_guards_paths(j->state);
        rule_command_files(j->command, &j->arena, &j->words);
        word_files_init(&j->files, j->permit->workspace, &j->arena);
        word_files_add(&j->files, &j->words, /*only_writes=*/!j->guards_paths);
        judge_see_moves(j);
        j->can_try = judge_can_try(j);
    }
}

static bool is_grant(const struct permit_rule *r)
{
    return r->list == RULE_ALLOW && !r->is_limit;
}

void permit_hosts(struct permit *p, bool only_managed, struct strv *ret_allow,
                  struct strv *ret_refuse)
{
    CLEANUP(permit_state_unrefp) struct permit_state *state = permit_state_ref(p);

    VEC_EACH(&state->rules, r) {
        struct str host = rule_host((*r)->rule);
        bool allows = (*r)->list == RULE_ALLOW;

        if (host.len && !(allows && ((*r)->is_limit || (only_managed && !(*r)->is_managed))))
            strv_add(allows ? ret_allow : ret_refuse, host);
    }
}

/* Deny and ask: the path as it was given, or what it leads to. */
static bool judge_forbids(const struct judge *j, const struct rule *r)
{
    bool reads;

    if (rule_matches(r, j->subject))
        return true;
    if (j->subject->about == ABOUT_PATH) {
        struct rule_subject real = *j->subject;

        real.text = str_of(j->real);
        return rule_matches(r, &real);
    }
    if (j->subject->about != ABOUT_COMMAND || !rule_is_about_paths(r))
        return false;
    reads = rule_is_about_reading(r);
    VEC_EACH(&j->files, file) {
        if ((reads || file->writes) && rule_matches_path(r, file->path, /*writes=*/!reads))
            return true;
    }
    return false;
}

static const struct permit_rule *judge_find(const struct judge *j, enum rule_list list)
{
    VEC_EACH(&j->state->rules, r) {
        if ((*r)->list == list && judge_forbids(j, (*r)->rule))
            return *r;
    }
    return NULL;
}

/* A turn may be limited to some calls. Links are not followed: the user's own settings may be one,
 * and a turn limited so makes none. */
static bool judge_is_beyond(const struct judge *j)
{
    bool is_limited = false;

    VEC_EACH(&j->state->rules, r) {
        if ((*r)->is_limit && rule_matches((*r)->rule, j->subject))
            return false;
        is_limited = is_limited || (*r)->is_limit;
    }
    return is_limited;
}

/* An effect says itself whether it is protected (effects.h). */
static bool judge_is_protected(const struct judge *j)
{
    if (j->subject->about == ABOUT_PATH)
        return j->subject->writes && !(j->flags & TOOL_ON_TRIAL) &&
               (protected_path(j->subject->text) || protected_path(str_of(j->real)) ||
                sandbox_keeps(j->permit->sandbox, j->real));
    VEC_EACH(&j->files, file) {
        if (file->writes && protected_path(file->path))
            return true;
    }
    return false;
}

static bool judge_is_critical(struct judge *j)
{
    const char *dir = workspace_dir(j->permit->workspace);
    const char *cwd;

    if (j->subject->about != ABOUT_COMMAND)
        return false;
    cwd = word_files_cwd(&j->files).ptr;
    return rule_command_is_critical(j->command, cwd, j->permit->home) ||
           (strcmp(cwd, dir) != 0 && rule_command_is_critical(j->command, dir, j->permit->home));
}

static bool names_git(struct str path)
{
    return str_is(path, "git") || str_ends(path, STR("/git"));
}

/* Among the words of a command, quotes taken away. */
static bool judge_names_git(const struct judge *j)
{
    if (j->guards_paths) {
        VEC_EACH(&j->files, file) {
            if (names_git(file->path))
                return true;
        }
        return false;
    }
    VEC_EACH(&j->words, word) {
        if (!word->filters && names_git(word->text))
            return true;
    }
    return false;
}

/* A repository's file "config" names programs that even git status runs. Edits and checkouts can
 * make a bare one, and a folder below can be a repository that came with the project; .git of the
 * folder that the user works in is protected. */
static bool judge_is_git_trap(struct judge *j)
{
    const char *repository;
    struct str cwd;
    bool is_bare;

    if (!judge_names_git(j))
        return false;
    cwd = word_files_cwd(&j->files);
    repository = judge_repository(j, cwd, &is_bare);
    return repository &&
           (is_bare ||
            (!str_is(cwd, workspace_dir(j->permit->workspace)) &&
             !judge_is_same_repository(j, cwd, str_of(workspace_dir(j->permit->workspace)))));
}

/* A repository elsewhere configures which programs git runs, and has not been checked. */
static bool judge_git_leaves(struct judge *j)
{
    for (size_t i = 0; j->git_moves && i < j->git_dirs.len; i++) {
        struct str path = word_files_path(&j->files, str_of(j->git_dirs.ptr[i]));
        CLEANUP(mem_freep) char *real = workspace_real(path.ptr);

        if (!workspace_contains(j->permit->workspace, real))
            return true;
    }
    return false;
}

/* An edit of this path needs no question: by mode, or by a rule for the path and where it leads,
 * which is *ret_rule then. */
static bool judge_may_edit(const struct judge *j, const char *given,
                           const struct permit_rule **ret_rule)
{
    CLEANUP(mem_freep) char *path = workspace_resolve(j->permit->workspace, str_of(given));
    CLEANUP(mem_freep) char *real = workspace_real(path);

    if (protected_path(str_of(path)) || protected_path(str_of(real)))
        return false;
    if (j->state->mode == MODE_ACCEPT_EDITS && workspace_contains(j->permit->workspace, path))
        return true;
    VEC_EACH(&j->state->rules, r) {
        if (is_grant(*r) && rule_matches_path((*r)->rule, str_of(path), true) &&
            rule_matches_path((*r)->rule, str_of(real), true)) {
            *ret_rule = *r;
            return true;
        }
    }
    return false;
}

static bool judge_is_file_work(const struct judge *j)
{
    CLEANUP(strv_release) struct strv paths = STRV_INIT;

    if (!rule_command_is_file_work(j->command, &paths))
        return false;
    for (size_t i = 0; i < paths.len; i++) {
        CLEANUP(mem_freep)
        char *path = workspace_resolve(j->permit->workspace, str_of(paths.ptr[i]));

        if (!workspace_contains(j->permit->workspace, path))
            return false;
    }
    return true;
}

/* In the sandbox the kernel decides what a command reads and writes. */
static bool judge_is_enforced(const struct judge *j)
{
    return j->side == SIDE_INSIDE && sandbox_state(j->permit->sandbox) == SANDBOX_ON;
}

/* Where paths are forbidden, a name that only the running shell knows could be one of them. */
static bool judge_hides_paths(const struct judge *j)
{
    return !judge_is_enforced(j) && j->guards_paths &&
           (j->files.wide || rule_command_hides_paths(j->command));
}

static bool judge_only_reads(const struct judge *j)
{
    return rule_command_is_read_only(j->command) && !judge_hides_paths(j);
}

/* A confined command can do no harm that needs a question: in auto mode, and wherever the settings
 * allow it. */
static bool judge_is_confined(const struct judge *j)
{
    return j->side == SIDE_INSIDE && sandbox_state(j->permit->sandbox) == SANDBOX_ON &&
           (j->state->mode == MODE_AUTO || sandbox_frees_commands(j->permit->sandbox));
}

/* ABOUT_PATH: in the working folders. */
static bool judge_is_inside(const struct judge *j)
{
    if (str_is(j->subject->text, j->real)) /* no link is on the way (the usual case) */
        return workspace_contains_real(j->permit->workspace, j->real);
    return workspace_contains(j->permit->workspace, j->real);
}

/* What a mode lets through by itself. */
static bool judge_mode_allows(const struct judge *j)
{
    const struct rule_subject *s = j->subject;
    bool accepts = j->state->mode == MODE_ACCEPT_EDITS;

    switch (s->about) {
    case ABOUT_PATH:
        if (!s->writes)
            return j->flags & TOOL_READ_ONLY && judge_is_inside(j);
        return (accepts || j->state->mode == MODE_AUTO) && j->flags & TOOL_EDITS &&
               judge_is_inside(j);
    case ABOUT_COMMAND:
        /* What leaves the sandbox is never harmless: even `cat` would read keys there. */
        if (j->side == SIDE_LEAVES)
            return false;
        return judge_is_confined(j) ||
               (!j->can_try && (judge_only_reads(j) || (accepts && judge_is_file_work(j))));
    default:
        return false;
    }
}

/* Parts that only read are free inside of the sandbox; outside every word must be the rule's. */
static bool judge_is_one_command(const struct judge *j)
{
    for (size_t i = 0; i < j->subject->text.len; i++) {
        if (strchr(";&|`$()<>\n", j->subject->text.ptr[i]))
            return false;
    }
    return true;
}

/* Says which rule it was. */
static void judge_name_rule(struct judge *j, const struct permit_rule *r)
{
    struct str rule = str_clip(rule_text(r->rule), sizeof(j->answer->rule) - 1);
    struct str source = str_first(str_of(r->source), sizeof(j->answer->source) - 1);

    memcpy(j->answer->rule, rule.ptr, rule.len);
    j->answer->rule[rule.len] = '\0';
    memcpy(j->answer->source, source.ptr, source.len);
    j->answer->source[source.len] = '\0';
}

static bool judge_rules_allow_command(struct judge *j)
{
    CLEANUP(strv_release) struct strv writes = STRV_INIT;
    struct rule **rules = arena_alloc(&j->arena, (j->state->rules.len + 1) * sizeof(struct rule *));
    size_t count = 0;
    const struct permit_rule *edits = NULL;
    const struct rule *used = NULL;
    bool allowed;

    VEC_EACH(&j->state->rules, r) {
        if (is_grant(*r))
            rules[count++] = (*r)->rule;
    }
    allowed = rules_allow_command(rules, count, j->subject, &writes, &used);
    /* A rule for cp is none for what a variable may hold: a file that is denied or protected. */
    if (allowed && !judge_is_enforced(j) && rule_command_hides_writes(j->command) &&
        !(used &&
          (rule_covers_tool(used, j->subject->tool) || rule_is_exact(used, j->subject->text))))
        allowed = false;
    if (allowed && judge_hides_paths(j) && !(used && rule_covers_tool(used, j->subject->tool)))
        allowed = false;
    for (size_t i = 0; allowed && i < writes.len; i++)
        allowed = judge_may_edit(j, writes.ptr[i], &edits);
    if (j->can_try && !used)
        allowed = false; /* what it does there says more than its text */
    if (j->side == SIDE_LEAVES)
        allowed = allowed && used && judge_is_one_command(j);
    if (allowed && !used && edits)
        judge_name_rule(j, edits);
    VEC_EACH(&j->state->rules, r) {
        if (allowed && used && (*r)->rule == used)
            judge_name_rule(j, *r);
    }
    return allowed;
}

static bool judge_rules_allow(struct judge *j)
{
    struct rule_subject real = *j->subject;
    bool given_allowed = false;
    bool real_allowed = false;

    if (j->subject->about == ABOUT_COMMAND)
        return judge_rules_allow_command(j);
    if (real.about == ABOUT_PATH)
        real.text = str_of(j->real);
    /* A path and what its links lead to each need a rule; mostly it is the same one. */
    VEC_EACH(&j->state->rules, r) {
        if (!is_grant(*r))
            continue;
        given_allowed |= rule_matches((*r)->rule, j->subject);
        real_allowed |= rule_matches((*r)->rule, &real);
        if (given_allowed && real_allowed) {
            judge_name_rule(j, *r);
            return true;
        }
    }
    return false;
}

/* Plan mode: looking is fine, and so is talking to the person. */
static bool judge_only_looks(struct judge *j)
{
    if (j->subject->about == ABOUT_COMMAND)
        return judge_only_reads(j) && !judge_is_git_trap(j);
    return j->flags & TOOL_READ_ONLY && !j->subject->writes;
}

/* What a command of an agent that only looks has changed on trial. */
static bool judge_is_spared(const struct judge *j)
{
    const struct permit *p = j->permit;

    return p->is_read_only && j->state->mode != MODE_PLAN && j->flags & TOOL_ON_TRIAL &&
           j->subject->writes && p->spares && p->spares(p->spares_arg, j->real);
}

static void permit_judge(struct judge *j)
{
    const struct permit_rule *rule = judge_find(j, RULE_DENY);
    const char *mode = permit_mode_name(j->state->mode);

    if (rule) {
        judge_name_rule(j, rule);
        judge_say(j, PERMIT_DENY, "rule", "denied by the rule %.*s",
                  STR_ARG(str_clip(rule_text(rule->rule), 200)));
        return;
    }
    if (!(j->flags & (TOOL_FREE | TOOL_PERSON)) && judge_is_beyond(j)) {
        judge_say(j, PERMIT_DENY, "rule", "the command of this turn allows no such call");
        return;
    }
    if (judge_is_spared(j)) {
        judge_say(j, PERMIT_ALLOW, "mode", "git ignores it");
        return;
    }
    if ((j->state->mode == MODE_PLAN || j->permit->is_read_only) &&
        !(j->flags & (TOOL_FREE | TOOL_PERSON)) && (j->can_try || !judge_only_looks(j))) {
        j->answer->has_trial = j->can_try && !judge_find(j, RULE_ASK);
        judge_say(j, PERMIT_DENY, "mode", "%s",
                  j->permit->is_read_only
                      ? "this agent is for looking: it changes nothing"
                      : "plan mode is for looking: nothing is changed until the plan is accepted");
        return;
    }
    rule = judge_find(j, RULE_ASK);
    if (rule) {
        j->answer->by_rule = true;
        judge_name_rule(j, rule);
        judge_say(j, PERMIT_ASK, "rule", "the rule %.*s wants it to be asked",
                  STR_ARG(str_clip(rule_text(rule->rule), 200)));
        return;
    }
    if (j->flags & TOOL_PERSON) {
        judge_say(j, PERMIT_ASK, "other", "only the user can answer this");
        return;
    }
    if (j->flags & TOOL_FREE) {
        judge_say(j, PERMIT_ALLOW, "other", "it needs no permission");
        return;
    }
    if (judge_is_critical(j)) {
        judge_say(j, PERMIT_ASK, "safetyCheck",
                  "it removes a folder that should not go without a question");
        return;
    }
    if (j->state->mode == MODE_BYPASS && !sandbox_in_force(j->permit->sandbox, j->permit)) {
        judge_say(j, PERMIT_ALLOW, "mode", "allowed by the mode %s", mode);
        return;
    }
    if (j->side == SIDE_INSIDE && sandbox_state(j->permit->sandbox) == SANDBOX_NEEDED) {
        judge_say(j, PERMIT_DENY, "other",
                  "no command runs: the setting sandbox.enabled wants a sandbox, and %s",
                  sandbox_why_not(j->permit->sandbox));
        return;
    }
    if (j->side == SIDE_KEPT_IN) {
        judge_say(
            j, PERMIT_DENY, "sandboxOverride",
            "no command may leave the sandbox here (sandbox.allowUnsandboxedCommands); run it "
            "without dangerouslyDisableSandbox");
        return;
    }
    if (j->state->mode == MODE_BYPASS && j->side == SIDE_LEAVES) {
        judge_say(j, PERMIT_DENY, "sandboxOverride",
                  "the mode %s never asks, so no command may leave the sandbox; run it "
                  "without dangerouslyDisableSandbox",
                  mode);
        return;
    }
    if (j->state->mode == MODE_BYPASS) {
        judge_say(j, PERMIT_ALLOW, "mode", "allowed by the mode %s", mode);
        return;
    }
    if (j->subject->about == ABOUT_PATH && workspace_has_own(j->permit->workspace, j->real)) {
        judge_say(j, PERMIT_ALLOW, "workingDir", "it is in a folder of the agent's own");
        return;
    }
    if (!j->can_try && judge_is_protected(j)) {
        judge_say(j, PERMIT_ASK, "safetyCheck", "it writes a file that decides what programs run");
        return;
    }
    if (!j->can_try && judge_git_leaves(j)) {
        judge_say(j, PERMIT_ASK, "safetyCheck",
                  "git would run in a folder outside the working folders");
        return;
    }
    if (!j->can_try && judge_is_git_trap(j)) {
        judge_say(j, PERMIT_ASK, "safetyCheck",
                  "git would run what the repository in this folder says");
        return;
    }
    if (judge_mode_allows(j)) {
        judge_say(j, PERMIT_ALLOW, "mode", "allowed by the mode %s", mode);
        return;
    }
    if (judge_rules_allow(j)) {
        /* No rule was needed when the mode lets edits through: echo x > f. */
        if (j->answer->rule[0])
            judge_say(j, PERMIT_ALLOW, "rule", "allowed by the rule %s", j->answer->rule);
        else
            judge_say(j, PERMIT_ALLOW, "mode", "allowed by the mode %s", mode);
        return;
    }
    if (j->side == SIDE_LEAVES) {
        judge_say(j, PERMIT_ASK, "sandboxOverride", "it wants to run outside of the sandbox");
        return;
    }
    if (j->subject->about == ABOUT_PATH && !judge_is_inside(j)) {
        j->answer->path = j->subject->text;
        judge_say(j, PERMIT_ASK, "workingDir", "it is outside the working folders");
        return;
    }
    j->answer->has_trial = j->can_try;
    if (j->state->mode == MODE_DONT_ASK)
        judge_say(j, PERMIT_ASK, "mode",
                  "no rule allows it, and the mode dontAsk denies what would have to be asked");
    else if (j->command && rule_command_doubt(j->command))
        judge_say(j, PERMIT_ASK, "other",
                  "no rule allows it, and it is not certain what it does: %s",
                  rule_command_doubt(j->command));
    else if (!j->can_try && j->side == SIDE_INSIDE && !sandbox_has_network(j->permit->sandbox))
        judge_say(j, PERMIT_ASK, "other",
                  "no rule allows it; it would run in the sandbox, without network");
    else
        judge_say(j, PERMIT_ASK, "other", "no rule allows it");
}

void permit_check(struct permit *p, const struct rule_subject *subject, unsigned flags,
                  struct permit_answer *ret)
{
    CLEANUP(permit_state_unrefp) struct permit_state *state = permit_state_ref(p);
    struct rule_subject own = *subject;
    CLEANUP(judge_release)
    struct judge j = {.permit = p, .state = state, .subject = &own, .flags = flags, .answer = ret};

    *ret = (struct permit_answer){.reason_type = "other"};
    judge_prepare(&j, &own);
    permit_judge(&j);
}
