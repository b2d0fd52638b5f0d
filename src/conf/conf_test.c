/*
 * conf: rows of files, options and variables, with the values, origins, warnings or error that must
 * come of them. Each row gets a fresh tree: home/, work/ (the start directory) and etc/.
 */
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "conf/conf.h"
#include "conf/keys.h"
#include "conf/option.h"
#include "conf/places.h"
#include "conf/source.h"
#include "json/json.h"
#include "json/jw.h"
#include "unit.h"

#define MAX_FILES 12
#define MAX_ROWS 12

/* Content that stands for something other than a plain file. */
#define A_DIRECTORY "<directory>"
#define A_FIFO "<fifo>"
#define TOO_BIG "<too big>"
#define UNREADABLE "<unreadable>"
#define LINK_TO "-> " /* and the target */
#define OWNED_BY_OTHER "<owned by somebody else>"

struct conf_case {
    const char *name;
    const char *files[MAX_FILES][2]; /* path below the tree, content */
    const char *argv[8];
    const char *env[6];
    const char *dir; /* below the tree; NULL: "work" */
    bool untrusted;
    const char *expect[MAX_ROWS];   /* "key = value (origin)" */
    const char *warnings[MAX_ROWS]; /* all of them, in order */
    const char *error;
};

#define OURS "home/.tenax/settings.json"
#define CLAUDES "home/.claude/settings.json"
#define PROJECT "work/.tenax/settings.json"
#define CLAUDES_PROJECT "work/.claude/settings.json"
#define LOCAL "work/.tenax/settings.local.json"
#define MANAGED "etc/tenax/managed-settings.json"

static const struct conf_case cases[] = {
    {.name = "nothing at all",
     .expect = {"model = null (default)", "permissions.allow = null (default)"}},

    /* Levels. */
    {.name = "ours over Claude's",
     .files = {{CLAUDES, "{\"model\":\"a\",\"effortLevel\":\"low\"}"}, {OURS, "{\"model\":\"b\"}"}},
     .expect = {"model = \"b\" (~/.tenax/settings.json:1:10)",
                "effortLevel = \"low\" (~/.claude/settings.json:1:28)"}},
    {.name = "every level beats the one below",
     .files = {{CLAUDES, "{\"model\":\"1\"}"},
               {OURS, "{\"model\":\"2\"}"},
               {CLAUDES_PROJECT, "{\"model\":\"3\"}"},
               {PROJECT, "{\"model\":\"4\"}"},
               {"work/.claude/settings.local.json", "{\"model\":\"5\"}"},
               {LOCAL, "{\"model\":\"6\"}"}},
     .expect = {"model = \"6\" (@/work/.tenax/settings.local.json:1:10)"}},
    {.name = "--settings beats local",
     .files = {{LOCAL, "{\"model\":\"6\"}"}},
     .argv = {"--settings", "{\"model\":\"7\"}"},
     .expect = {"model = \"7\" (--settings:1:10)"}},
    {.name = "the last --settings wins",
     .files = {{"work/x.json", "{\"model\":\"file\",\"http2\":true}"}},
     .argv = {"--settings=x.json", "--settings", " { \"model\" : \"7\" }"},
     .expect = {"model = \"7\" (--settings:1:14)", "http2 = true (@/work/x.json:1:25)"}},
    {.name = "--settings in the home",
     .files = {{"home/x.json", "{\"model\":\"file\"}"}},
     .argv = {"--settings=~/x.json"},
     .expect = {"model = \"file\" (~/x.json:1:10)"}},
    {.name = "a variable beats files",
     .files = {{LOCAL, "{\"model\":\"6\"}"}},
     .argv = {"--settings", "{\"model\":\"7\"}"},
     .env = {"ANTHROPIC_MODEL=8"},
     .expect = {"model = \"8\" ($ANTHROPIC_MODEL)"}},
    {.name = "our variable beats Claude's; an empty one is none",
     .env = {"ANTHROPIC_MODEL=8", "TENAX_MODEL=9",
             "TENAX_EFFORT=", "CLAUDE_CODE_EFFORT_LEVEL=high"},
     .expect = {"model = \"9\" ($TENAX_MODEL)",
                "effortLevel = \"high\" ($CLAUDE_CODE_EFFORT_LEVEL)"}},
    {.name = "a variable set by settings counts too",
     .files = {{OURS, "{\"model\":\"a\",\"env\":{\"TENAX_MODEL\":\"b\"}}"}},
     .expect = {"model = \"b\" ($TENAX_MODEL)"}},
    {.name = "a bad value in a variable is reported",
     .files = {{OURS, "{\"effortLevel\":\"low\"}"}},
     .env = {"TENAX_EFFORT=hihg"},
     .expect = {"effortLevel = \"low\" (~/.tenax/settings.json:1:16)"},
     .warnings = {"$TENAX_EFFORT: 'effortLevel' must be one of: low medium high xhigh max; did you "
                  "mean high?; ignored"}},
    {.name = "an option beats a variable",
     .argv = {"--model=9", "--effort", "max"},
     .env = {"TENAX_MODEL=8"},
     .expect = {"model = \"9\" (--model)", "effortLevel = \"max\" (--effort)"}},
    {.name = "managed beats all",
     .files = {{"etc/claude-code/managed-settings.json", "{\"model\":\"a\",\"http2\":true}"},
               {MANAGED, "{\"model\":\"b\"}"}},
     .argv = {"--model=9"},
     .expect = {"model = \"b\" (@/etc/tenax/managed-settings.json:1:10)",
                "http2 = true (@/etc/claude-code/managed-settings.json:1:22)"}},
    {.name = "managed-settings.d by name, above managed-settings.json",
     .files = {{MANAGED, "{\"model\":\"a\"}"},
               {"etc/tenax/managed-settings.d/20.json", "{\"model\":\"c\"}"},
               {"etc/tenax/managed-settings.d/10.json", "{\"model\":\"b\",\"http2\":true}"},
               {"etc/tenax/managed-settings.d/.30.json", "{\"model\":\"hidden\"}"},
               {"etc/tenax/managed-settings.d/40.json~", "not json"}},
     .expect = {"model = \"c\" (@/etc/tenax/managed-settings.d/20.json:1:10)",
                "http2 = true (@/etc/tenax/managed-settings.d/10.json:1:22)"}},
    {.name = "only some levels",
     .files = {{OURS, "{\"model\":\"user\"}"},
               {PROJECT, "{\"model\":\"project\"}"},
               {LOCAL, "{\"model\":\"local\"}"}},
     .argv = {"--setting-sources=user,project"},
     .expect = {"model = \"project\" (@/work/.tenax/settings.json:1:10)"}},
    {.name = "no level at all, but flags and managed",
     .files = {{OURS, "not even read"},
               {PROJECT, "{\"model\":\"project\"}"},
               {MANAGED, "{\"http2\":true}"}},
     .argv = {"--setting-sources=", "--settings={\"effortLevel\":\"low\"}"},
     .expect = {"model = null (default)", "http2 = true (@/etc/tenax/managed-settings.json:1:10)",
                "effortLevel = \"low\" (--settings:1:16)"}},

    /* Homes. */
    {.name = "TENAX_HOME and CLAUDE_CONFIG_DIR",
     .files = {{"t/settings.json", "{\"model\":\"t\"}"},
               {"work/c/settings.json", "{\"http2\":true}"},
               {OURS, "{\"model\":\"not read\"}"},
               {CLAUDES, "{\"http2\":false}"}},
     .env = {"TENAX_HOME=@/t", "CLAUDE_CONFIG_DIR=c"},
     .expect = {"model = \"t\" (@/t/settings.json:1:10)",
                "http2 = true (@/work/c/settings.json:1:10)", "home = \"@/t\""}},
    {.name = "relative TENAX_HOME is made absolute",
     .env = {"TENAX_HOME=t/"},
     .expect = {"home = \"@/work/t\""}},
    {.name = "the usual home", .expect = {"home = \"@/home/.tenax\""}},
    {.name = "claudeCompat false",
     .files = {{CLAUDES, "{\"model\":\"c\""},
               {CLAUDES_PROJECT, "[broken"},
               {OURS, "{\"claudeCompat\":false}"},
               {"etc/claude-code/managed-settings.json", "{\"http2\":true}"}},
     .expect = {"model = null (default)",
                "http2 = true (@/etc/claude-code/managed-settings.json:1:10)"}},
    {.name = "claudeCompat false, by the administrator",
     .files = {{MANAGED, "{\"claudeCompat\":false}"},
               {"etc/claude-code/managed-settings.json", "{\"http2\":true}"},
               {CLAUDES, "{\"model\":\"c\"}"}},
     .expect = {"model = null (default)", "http2 = null (default)"}},
    {.name = "claudeCompat false in --settings",
     .files = {{CLAUDES, "{\"model\":\"c\"}"}},
     .argv = {"--settings={\"claudeCompat\":false}"},
     .expect = {"model = null (default)"}},
    {.name = "claudeCompat of an untrusted folder does not hide the user's rules",
     .files = {{CLAUDES, "{\"model\":\"c\"}"}, {PROJECT, "{\"claudeCompat\":false}"}},
     .untrusted = true,
     .expect = {"model = \"c\" (~/.claude/settings.json:1:10)"},
     .warnings = {"@/work/.tenax/settings.json: this folder is not trusted, so these are left out: "
                  "claudeCompat; to use them: tenax trust add, "
                  "or --trust for one run"}},
    {.name = "claudeCompat in Claude's own file",
     .files = {{CLAUDES, "{\"claudeCompat\":false,\"model\":\"c\"}"}},
     .expect = {"model = \"c\" (~/.claude/settings.json:1:31)", "claudeCompat = null (default)"},
     .warnings = {"~/.claude/settings.json:1:17: 'claudeCompat' counts only in tenax's own files; "
                  "ignored"}},
    {.name = "in the home directory the user's file is read once",
     .files = {{OURS, "{\"nonsense\":1,\"fallbackModel\":[\"a\"]}"}},
     .dir = "home",
     .untrusted = true,
     .expect = {"fallbackModel = [\"a\"] (~/.tenax/settings.json:1:31)",
                "files = [\"~/.tenax/settings.json\"]"},
     .warnings = {"~/.tenax/settings.json:1:13: 'nonsense' is not a setting"}},

    /* Local settings and git. */
    {.name = "local settings at the git root, project settings in the start directory",
     .files = {{"work/.git/HEAD", "ref: refs/heads/main"},
               {"work/a/b/c", A_DIRECTORY},
               {LOCAL, "{\"model\":\"root\"}"},
               {PROJECT, "{\"http2\":true}"},
               {"work/a/b/.tenax/settings.local.json", "{\"model\":\"not read\"}"},
               {"work/a/b/.tenax/settings.json", "{\"effortLevel\":\"low\"}"}},
     .dir = "work/a/b",
     .expect = {"model = \"root\" (@/work/.tenax/settings.local.json:1:10)",
                "http2 = null (default)",
                "effortLevel = \"low\" (@/work/a/b/.tenax/settings.json:1:16)"}},
    {.name = "not a repository: local settings in the start directory",
     .files = {{LOCAL, "{\"model\":\"above\"}"},
               {"work/a/.tenax/settings.local.json", "{\"model\":\"here\"}"}},
     .dir = "work/a",
     .expect = {"model = \"here\" (@/work/a/.tenax/settings.local.json:1:10)"}},
    {.name = "an empty .git folder is no repository",
     .files = {{"work/.git", A_DIRECTORY},
               {LOCAL, "{\"model\":\"above\"}"},
               {"work/a/.tenax/settings.local.json", "{\"model\":\"here\"}"}},
     .dir = "work/a",
     .expect = {"model = \"here\" (@/work/a/.tenax/settings.local.json:1:10)"}},
    {.name = "worktree: local settings of the main checkout",
     .files = {{"main/.git/HEAD", "ref: refs/heads/main"},
               {"main/.git/worktrees/wt/commondir", "../..\n"},
               {"main/.git/worktrees/wt/gitdir", "../../../../work/.git\n"},
               {"main/.tenax/settings.local.json", "{\"model\":\"main\"}"},
               {"work/.git", "gitdir: ../main/.git/worktrees/wt\n"},
               {LOCAL, "{\"model\":\"worktree\"}"}},
     .expect = {"model = \"main\" (@/main/.tenax/settings.local.json:1:10)"}},
    {.name = "worktree inside of its main checkout",
     .files = {{"work/.git/HEAD", "ref: refs/heads/main"},
               {"work/.git/worktrees/wt/commondir", "../..\n"},
               {"work/.git/worktrees/wt/gitdir", "../../../trees/wt/.git\n"},
               {LOCAL, "{\"model\":\"main\"}"},
               {"work/trees/wt/.git", "gitdir: ../../.git/worktrees/wt\n"}},
     .dir = "work/trees/wt",
     .expect = {"model = \"main\" (@/work/.tenax/settings.local.json:1:10)"}},
    {.name = "a worktree that its repository does not know: its own",
     .files = {{"main/.git/HEAD", "ref: refs/heads/main"},
               {"main/.git/worktrees/wt/commondir", "../..\n"},
               {"main/.git/worktrees/wt/gitdir", "../../../../other/.git\n"},
               {"main/.tenax/settings.local.json", "{\"model\":\"main\"}"},
               {"other/.git", "gitdir: ../main/.git/worktrees/wt\n"},
               {"work/.git", "gitdir: ../main/.git/worktrees/wt\n"},
               {LOCAL, "{\"model\":\"worktree\"}"}},
     .expect = {"model = \"worktree\" (@/work/.tenax/settings.local.json:1:10)"}},
    {.name = "a repository that keeps what it knows elsewhere: its own",
     .files = {{"main/.git/HEAD", "ref: refs/heads/main"},
               {"main/.tenax/settings.local.json", "{\"model\":\"main\"}"},
               {"own/wt/commondir", "../../main/.git\n"},
               {"own/wt/gitdir", "../../work/.git\n"},
               {"work/.git", "gitdir: ../own/wt\n"},
               {LOCAL, "{\"model\":\"worktree\"}"}},
     .expect = {"model = \"worktree\" (@/work/.tenax/settings.local.json:1:10)"}},
    {.name = "a repository made inside of what says it is its worktree: its own",
     .files = {{"work/x/.git/HEAD", "ref: refs/heads/main"},
               {"work/x/.git/worktrees/wt/commondir", "../..\n"},
               {"work/x/.git/worktrees/wt/gitdir", "../../../../.git\n"},
               {"work/x/.tenax/settings.local.json", "{\"model\":\"made\"}"},
               {"work/.git", "gitdir: x/.git/worktrees/wt\n"},
               {LOCAL, "{\"model\":\"worktree\"}"}},
     .expect = {"model = \"worktree\" (@/work/.tenax/settings.local.json:1:10)"}},
    {.name = "worktree of a bare repository: its own",
     .files = {{"main.git/HEAD", "ref: refs/heads/main"},
               {"main.git/worktrees/wt/commondir", "../..\n"},
               {"work/.git", "gitdir: ../main.git/worktrees/wt\n"},
               {"work/a", A_DIRECTORY},
               {LOCAL, "{\"model\":\"worktree\"}"}},
     .dir = "work/a",
     .expect = {"model = \"worktree\" (@/work/.tenax/settings.local.json:1:10)"}},
    {.name = "submodule: its own root",
     .files = {{"work/.git/HEAD", "ref: refs/heads/main"},
               {"work/.git/modules/sub/HEAD", "ref: refs/heads/main"},
               {"work/sub/.git", "gitdir: ../.git/modules/sub"},
               {"work/sub/.tenax/settings.local.json", "{\"model\":\"sub\"}"},
               {LOCAL, "{\"model\":\"above\"}"}},
     .dir = "work/sub",
     .expect = {"model = \"sub\" (@/work/sub/.tenax/settings.local.json:1:10)"}},
    {.name = ".git file with rubbish: go on up",
     .files = {{"work/.git/HEAD", "ref: refs/heads/main"},
               {"work/a/.git", "rubbish"},
               {LOCAL, "{\"model\":\"root\"}"}},
     .dir = "work/a",
     .expect = {"model = \"root\" (@/work/.tenax/settings.local.json:1:10)"}},
    {.name = "a home kept in git is not one project",
     .files = {{"home/.git/HEAD", "ref: refs/heads/main"},
               {"home/.tenax/settings.local.json", "{\"model\":\"home\"}"},
               {"home/src/.tenax/settings.local.json", "{\"model\":\"here\"}"}},
     .dir = "home/src",
     .expect = {"model = \"here\" (~/src/.tenax/settings.local.json:1:10)"}},
    {.name = "somebody else's repository",
     .files = {{"work/.git/HEAD", "ref: refs/heads/main"},
               {LOCAL, "{\"model\":\"root\"}"},
               {"work/a/.tenax/settings.local.json", "{\"model\":\"here\"}"},
               {"work", OWNED_BY_OTHER}},
     .dir = "work/a",
     .expect = {"model = \"here\" (@/work/a/.tenax/settings.local.json:1:10)"}},

    /* Merging. */
    {.name = "lists are joined without duplicates",
     .files = {{CLAUDES, "{\"permissions\":{\"allow\":[\"a\",\"b\",\"a\"],\"deny\":[\"x\"]}}"},
               {CLAUDES_PROJECT, "{\"permissions\":{\"allow\":[\"b\",\"c\"]}}"}},
     .expect = {"permissions.allow = [\"a\",\"b\",\"c\"] (@/work/.claude/settings.json:1:25)",
                "permissions.allow.1 = \"b\" (~/.claude/settings.json:1:30)",
                "permissions.allow.2 = \"c\" (@/work/.claude/settings.json:1:30)",
                "permissions.deny = [\"x\"] (~/.claude/settings.json:1:46)",
                "permissions.deny.0 = \"x\" (~/.claude/settings.json:1:47)"}},
    {.name = "hooks of all levels, equal ones once",
     .files = {{CLAUDES,
                "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}]}}"},
               {CLAUDES_PROJECT, "{\"hooks\":{\"Stop\":[ { \"hooks\": [ {\"type\":\"command\", "
                                 "\"command\":\"a\"} ] }, {\"hooks\":[]}],\"SessionEnd\":[]}}"}},
     .expect =
         {"hooks.Stop = [{\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]},{\"hooks\":[]}]"
          " (@/work/.claude/settings.json:1:18)",
          "hooks.SessionEnd = [] (@/work/.claude/settings.json:1:99)"}},
    {.name = "fallbackModel is taken whole",
     .files = {{OURS, "{\"fallbackModel\":[\"a\",\"b\"]}"},
               {PROJECT, "{\"fallbackModel\":[\"c\"]}"}},
     .expect = {"fallbackModel = [\"c\"] (@/work/.tenax/settings.json:1:18)"}},
    {.name = "--fallback-model becomes a list",
     .files = {{OURS, "{\"fallbackModel\":[\"a\",\"b\"]}"}},
     .argv = {"--fallback-model", "x, y"},
     .expect = {"fallbackModel = [\"x\",\"y\"] (--fallback-model)"}},
    {.name = "objects merge by key",
     .files = {{OURS,
                "{\"providers\":{\"a\":{\"baseUrl\":\"u\",\"dialect\":\"gemini\"},\"b\":{}}}"},
               {LOCAL, "{\"providers\":{\"a\":{\"baseUrl\":\"v\"}}}"}},
     .expect = {"providers = {\"a\":{\"baseUrl\":\"v\",\"dialect\":\"gemini\"},\"b\":{}} "
                "(@/work/.tenax/settings.local.json:1:14)",
                "providers.a.baseUrl = \"v\" (@/work/.tenax/settings.local.json:1:30)",
                "providers.a.dialect = \"gemini\" (~/.tenax/settings.json:1:44)"}},
    {.name = "a value of another type replaces",
     .files = {{OURS, "{\"promptCaching\":{\"default\":\"1h\"}}"},
               {PROJECT, "{\"promptCaching\":\"off\"}"}},
     .expect = {"promptCaching = \"off\" (@/work/.tenax/settings.json:1:18)"}},
    {.name = "an object over a word, and over an object below the word",
     .files = {{CLAUDES, "{\"promptCaching\":{\"x\":\"1h\"}}"},
               {OURS, "{\"promptCaching\":\"off\"}"},
               {PROJECT, "{\"promptCaching\":{\"y\":\"5m\"}}"}},
     .expect = {"promptCaching = {\"y\":\"5m\"} (@/work/.tenax/settings.json:1:18)"}},
    {.name = "a key given twice: the last one",
     .files = {{OURS, "{\"model\":\"a\",\"model\":\"b\"}"}},
     .expect = {"model = \"b\" (~/.tenax/settings.json:1:22)"}},
    {.name = "free-form objects merge deeply too",
     .files = {{CLAUDES, "{\"extraKnownMarketplaces\":{\"a\":{\"b\":{\"c\":1,\"d\":[1]}}}}"},
               {CLAUDES_PROJECT,
                "{\"extraKnownMarketplaces\":{\"a\":{\"b\":{\"c\":2,\"d\":[2,1]}}}}"}},
     .expect = {"extraKnownMarketplaces = {\"a\":{\"b\":{\"c\":2,\"d\":[1,2]}}} "
                "(@/work/.claude/settings.json:1:27)"}},

    /* Environment. */
    {.name = "env over the environment, by level",
     .files = {{OURS, "{\"env\":{\"A\":\"user\",\"B\":\"user\",\"N\":5,\"T\":true}}"},
               {PROJECT, "{\"env\":{\"B\":\"project\",\"E\":\"\"}}"}},
     .env = {"A=process", "C=process", "E=process"},
     .expect = {"$A = user", "$B = project", "$C = process", "$N = 5", "$T = true", "$E = ",
                "$NONE = (unset)", "env.B = \"project\" (@/work/.tenax/settings.json:1:13)"}},
    {.name = "env names and values that cannot be",
     .files = {{OURS, "{\"env\":{\n\"\":\"x\",\n\"A=B\":\"x\",\n\"C\":[1],\n\"D\":\"a\\u0000b\",\n"
                      "\"E\":\"fine\",\"TENAX_HOME\":\"/x\"}}"}},
     .expect = {"env = {\"E\":\"fine\",\"TENAX_HOME\":\"/x\"} (~/.tenax/settings.json:1:8)",
                "$E = fine", "$C = (unset)", "$D = (unset)", "home = \"@/home/.tenax\""},
     .warnings =
         {"~/.tenax/settings.json:2:4: 'env.' cannot be the name of a variable; ignored",
          "~/.tenax/settings.json:3:7: 'env.A=B' cannot be the name of a variable; ignored",
          "~/.tenax/settings.json:4:5: 'env.C' must be a boolean or a number or a string, "
          "not a list; ignored",
          "~/.tenax/settings.json:5:5: 'env.D' must not contain a NUL character; ignored",
          "~/.tenax/settings.json:6:25: 'env.TENAX_HOME' reaches the programs tenax starts, "
          "but settings are already read by then; set it in the environment"}},

    /* Checking. */
    {.name = "wrong types are left out one by one",
     .files = {{OURS,
                "{\n  \"http2\": true,\n  \"model\": 5,\n  \"idleTimeoutMs\": \"1\",\n"
                "  \"effortLevel\": \"hihg\",\n  \"fallbackModel\": \"x\",\n"
                "  \"providers\": {\"a\": {\"dialect\": \"openai\", \"baseUrl\": \"u\"}}\n}"}},
     .expect = {"http2 = true (~/.tenax/settings.json:2:12)", "model = null (default)",
                "providers = {\"a\":{\"baseUrl\":\"u\"}} (~/.tenax/settings.json:7:16)"},
     .warnings =
         {"~/.tenax/settings.json:3:12: 'model' must be a string, not a number; ignored",
          "~/.tenax/settings.json:4:20: 'idleTimeoutMs' must be an integer, not a string; ignored",
          "~/.tenax/settings.json:5:18: 'effortLevel' must be one of: low medium high xhigh max; "
          "did you mean high?; ignored",
          "~/.tenax/settings.json:6:20: 'fallbackModel' must be a list of strings, not a string; "
          "ignored",
          "~/.tenax/settings.json:7:34: 'providers.a.dialect' must be one of: anthropic "
          "openai-chat "
          "openai-responses gemini; did you mean openai-chat?; ignored"}},
    {.name = "a wrong type does not hide the level below",
     .files = {{OURS, "{\"model\":\"a\"}"}, {PROJECT, "{\"model\":null}"}},
     .expect = {"model = \"a\" (~/.tenax/settings.json:1:10)"},
     .warnings = {"@/work/.tenax/settings.json:1:10: 'model' must be a string, not null; ignored"}},
    {.name = "wrong types in Claude's files are reported too",
     .files = {{CLAUDES, "{\"verbose\":\"yes\"}"}},
     .warnings = {"~/.claude/settings.json:1:12: 'verbose' must be a boolean, not a string; "
                  "ignored"}},
    {.name = "integers",
     .files = {{OURS, "{\"idleTimeoutMs\":1.5}"},
               {PROJECT, "{\"idleTimeoutMs\":0}"},
               {LOCAL, "{\"idleTimeoutMs\":2000}"}},
     .expect = {"idleTimeoutMs = 2000 (@/work/.tenax/settings.local.json:1:18)"},
     .warnings = {"~/.tenax/settings.json:1:18: 'idleTimeoutMs' must be an integer, not 1.5; "
                  "ignored",
                  "@/work/.tenax/settings.json:1:18: 'idleTimeoutMs' must be between 1 and "
                  "86400000; ignored"}},
    {.name = "elements of the wrong type are skipped singly",
     .files = {{CLAUDES, "{\"permissions\":{\"deny\":[\"a\",1,\"b\",[]]}}"}},
     .expect = {"permissions.deny = [\"a\",\"b\"] (~/.claude/settings.json:1:24)"},
     .warnings =
         {"~/.claude/settings.json:1:29: 'permissions.deny' [1] must be a string; ignored",
          "~/.claude/settings.json:1:35: 'permissions.deny' [3] must be a string; ignored"}},
    {.name = "unknown keys in our own file, once each, with the nearest",
     .files = {{OURS, "{\"modle\":\"x\",\"prompt_caching\":\"off\",\"zzz\":1,\n"
                      "\"providers\":{\"a\":{\"baseURL\":\"u\"}}}"}},
     .expect = {"modle = null (default)", "providers = {\"a\":{}} (~/.tenax/settings.json:2:13)"},
     .warnings = {"~/.tenax/settings.json:1:10: 'modle' is not a setting; did you mean 'model'?",
                  "~/.tenax/settings.json:1:31: 'prompt_caching' is not a setting; did you mean "
                  "'promptCaching'?",
                  "~/.tenax/settings.json:1:43: 'zzz' is not a setting",
                  "~/.tenax/settings.json:2:29: 'providers.a.baseURL' is not a setting; did you "
                  "mean 'baseUrl'?"}},
    {.name = "unknown keys in Claude's files are fine",
     .files = {{CLAUDES, "{\"$schema\":\"x\",\"spinnerTips\":true,\"model\":\"m\"}"}},
     .expect = {"model = \"m\" (~/.claude/settings.json:1:43)", "spinnerTips = null (default)"}},
    {.name = "a key nothing uses yet: said once, for our own files only",
     .files = {{CLAUDES, "{\"autoMemoryEnabled\":true,\"hooks\":{}}"},
               {OURS, "{\"autoMemoryEnabled\":true}"},
               {PROJECT, "{\"autoMemoryEnabled\":false}"}},
     .expect = {"autoMemoryEnabled = false (@/work/.tenax/settings.json:1:22)"},
     .warnings =
         {"~/.tenax/settings.json:1:22: 'autoMemoryEnabled' is known, but not used by this version "
          "yet"}},
    {.name = "a key nothing comes of says why",
     .files = {{CLAUDES, "{\"plansDirectory\":\"p\"}"},
               {OURS,
                "{\"plansDirectory\":\"p\",\"sandbox\":{\"enableWeakerNestedSandbox\":true}}"}},
     .warnings = {"~/.tenax/settings.json:1:19: 'plansDirectory' has no effect: A plan is no file: "
                  "it stays in the conversation, and /plan shows it",
                  "~/.tenax/settings.json:1:62: 'sandbox.enableWeakerNestedSandbox' has no effect: "
                  "What a container lets tenax use is found out by trying, and there is no weaker "
                  "sandbox to fall back to"}},
    {.name = "managed only",
     .files = {{CLAUDES, "{\"allowManagedHooksOnly\":true}"},
               {"etc/claude-code/managed-settings.json", "{\"allowManagedHooksOnly\":false}"}},
     .expect = {"allowManagedHooksOnly = false (@/etc/claude-code/managed-settings.json:1:26)"},
     .warnings = {"~/.claude/settings.json:1:26: 'allowManagedHooksOnly' counts only in managed "
                  "settings; ignored"}},
    {.name = "managed only",
     .files = {{CLAUDES, "{\"allowManagedPermissionRulesOnly\":true,\"sandbox\":{\"network\":{"
                         "\"allowManagedDomainsOnly\":true}}}"},
               {OURS, "{\"strictKnownMarketplaces\":[]}"},
               {"etc/claude-code/managed-settings.json", "{\"blockedMarketplaces\":[]}"}},
     .warnings = {"~/.claude/settings.json:1:36: 'allowManagedPermissionRulesOnly' counts only in "
                  "managed settings; ignored",
                  "~/.claude/settings.json:1:89: 'sandbox.network.allowManagedDomainsOnly' counts "
                  "only in managed settings; ignored",
                  "~/.tenax/settings.json:1:28: 'strictKnownMarketplaces' counts only in managed "
                  "settings; ignored"}},
    {.name = "what a managed file has too is that file's",
     .files = {{OURS, "{\"permissions\":{\"deny\":[\"a\",\"b\"]}}"},
               {"etc/tenax/managed-settings.json", "{\"permissions\":{\"deny\":[\"c\",\"b\"]}}"},
               {"etc/tenax/managed-settings.d/1.json", "{\"permissions\":{\"deny\":[\"b\"]}}"}},
     .expect = {"permissions.deny = [\"a\",\"b\",\"c\"] "
                "(@/etc/tenax/managed-settings.d/1.json:1:24)",
                "permissions.deny.0 = \"a\" (~/.tenax/settings.json:1:25)",
                "permissions.deny.1 = \"b\" (@/etc/tenax/managed-settings.json:1:29)",
                "permissions.deny.2 = \"c\" (@/etc/tenax/managed-settings.json:1:25)"}},
    {.name = "terminals do not obey names",
     .files = {{OURS, "{\"a\\u001b[31m\\u009b\":1}"}},
     .warnings = {"~/.tenax/settings.json:1:22: 'a?[31m?\?' is not a setting"}},

    /* Trust. */
    {.name =
         "which model is paid for, and when to ask about costs, is no untrusted folder's affair",
     .files = {{PROJECT, "{\"modelOverrides\":{\"a\":\"b\"},\"costThresholdUsd\":0}"}},
     .untrusted = true,
     .expect = {"modelOverrides = null (default)", "costThresholdUsd = null (default)"},
     .warnings = {"@/work/.tenax/settings.json: this folder is not trusted, so these are left out: "
                  "modelOverrides, costThresholdUsd; to use them: tenax trust add, or --trust for "
                  "one run"}},
    {.name = "how long sessions are kept, and whether guards run, is no project's affair",
     .files = {{OURS, "{\"disableAllHooks\":true}"},
               {CLAUDES_PROJECT, "{\"cleanupPeriodDays\":1,\"disableAllHooks\":false}"}},
     .expect = {"cleanupPeriodDays = null (default)",
                "disableAllHooks = true (~/.tenax/settings.json:1:20)"},
     .warnings = {"@/work/.claude/settings.json:1:22: 'cleanupPeriodDays' does not count in a "
                  "project's settings, only in your own; ignored",
                  "@/work/.claude/settings.json:1:42: 'disableAllHooks' does not count in a "
                  "project's settings, only in your own; ignored"}},
    {.name = "but it is yours in one project",
     .files = {{OURS, "{\"disableAllHooks\":true}"},
               {LOCAL, "{\"cleanupPeriodDays\":1,\"disableAllHooks\":false}"}},
     .expect = {"cleanupPeriodDays = 1 (@/work/.tenax/settings.local.json:1:22)",
                "disableAllHooks = false (@/work/.tenax/settings.local.json:1:42)"}},
    {.name = "unless the folder is not trusted",
     .files = {{OURS, "{\"disableAllHooks\":true}"}, {LOCAL, "{\"disableAllHooks\":false}"}},
     .untrusted = true,
     .expect = {"disableAllHooks = true (~/.tenax/settings.json:1:20)"},
     .warnings =
         {"@/work/.tenax/settings.local.json: this folder is not trusted, so these are left "
          "out: disableAllHooks; to use them: tenax trust add, or --trust for one run"}},
    {.name = "an untrusted folder",
     .files = {{OURS, "{\"env\":{\"A\":\"mine\"}}"},
               {CLAUDES_PROJECT,
                "{\"env\":{\"A\":\"theirs\"},\"apiKeyHelper\":\"steal\",\"model\":"
                "\"m\",\"hooks\":{},\"permissions\":{\"allow\":[\"Bash\"],\"deny\":["
                "\"Read\"]}}"},
               {LOCAL, "{\"providers\":{\"anthropic\":{\"baseUrl\":\"http://evil\"}}}"}},
     .untrusted = true,
     .expect = {"$A = mine", "apiKeyHelper = null (default)", "hooks = null (default)",
                "model = \"m\" (@/work/.claude/settings.json:1:54)", "providers = null (default)",
                "permissions = {\"deny\":[\"Read\"]} (@/work/.claude/settings.json:1:83)"},
     .warnings =
         {"@/work/.claude/settings.json: this folder is not trusted, so these are left out: "
          "env, apiKeyHelper, hooks, permissions.allow; to use them: tenax trust add, or --trust "
          "for one run",
          "@/work/.tenax/settings.local.json: this folder is not trusted, so these are left "
          "out: providers; to use them: tenax trust add, or --trust for one run"}},

#define LEFT_OUT(place, key)                                                                       \
    "@/work/" place ": '" key "' decides where your keys go, and this file belongs to the "        \
    "repository, so it is left out; to approve it: tenax trust add"
    {.name = "a repository does not say where keys go",
     .files = {{OURS, "{\"providers\":{\"a\":{\"baseUrl\":\"u\"}}}"},
               {PROJECT, "{\"providers\":{\"a\":{\"baseUrl\":\"v\"}},\"apiKeyHelper\":\"x\"}"},
               {CLAUDES_PROJECT, "{\"env\":{\"ANTHROPIC_BASE_URL\":\"http://evil\",\"A\":\"b\","
                                 "\"https_proxy\":\"http://evil\",\"OPENAI_API_KEY\":\"k\"}}"}},
     .expect = {"providers.a.baseUrl = \"u\" (~/.tenax/settings.json:1:30)",
                "apiKeyHelper = null (default)", "$ANTHROPIC_BASE_URL = (unset)", "$A = b",
                "$https_proxy = (unset)"},
     .warnings = {LEFT_OUT(".claude/settings.json:1:30", "env.ANTHROPIC_BASE_URL"),
                  LEFT_OUT(".claude/settings.json:1:66", "env.https_proxy"),
                  LEFT_OUT(".claude/settings.json:1:97", "env.OPENAI_API_KEY"),
                  LEFT_OUT(".tenax/settings.json:1:51", "apiKeyHelper"),
                  LEFT_OUT(".tenax/settings.json:1:19", "providers.a")}},
    {.name = "the user's own local settings do",
     .files = {{LOCAL, "{\"env\":{\"ANTHROPIC_BASE_URL\":\"http://mine\"}}"}},
     .expect = {"$ANTHROPIC_BASE_URL = http://mine"}},
    {.name = "a folder that is not trusted grants itself nothing",
     .files = {{PROJECT, "{\"permissions\":{\"allow\":[\"Bash\"],\"deny\":[\"Read\"],"
                         "\"defaultMode\":\"bypassPermissions\"},\"env\":{\"A\":\"b\"}}"},
               {LOCAL, "{\"permissions\":{\"allow\":[\"Edit\"]}}"}},
     .untrusted = true,
     .argv = {"--allowedTools", "Bash(a, b) Grep", "--add-dir=x,y", "--disallowedTools=WebFetch"},
     .expect = {"permissions.allow = [\"Bash(a, b)\",\"Grep\"] (--allowedTools)",
                "permissions.deny = [\"Read\",\"WebFetch\"] (--disallowedTools)",
                "permissions.defaultMode = null (default)", "$A = (unset)",
                "permissions.additionalDirectories = [\"x,y\"] (--add-dir)"},
     .warnings = {"@/work/.tenax/settings.json: this folder is not trusted, so these are left out: "
                  "permissions.allow, permissions.defaultMode, env; to use them: tenax trust add, "
                  "or --trust for one run",
                  "@/work/.tenax/settings.local.json: this folder is not trusted, so these are "
                  "left out: permissions.allow; to use them: tenax trust add, or --trust for one "
                  "run"}},

    /* Files of every kind. */
    {.name = "empty files set nothing",
     .files = {{OURS, ""}, {PROJECT, " \n"}, {LOCAL, "\xef\xbb\xbf"}},
     .expect = {"model = null (default)"}},
    {.name = "a byte order mark is passed over",
     .files = {{OURS, "\xef\xbb\xbf{\"model\":\"a\"}"}},
     .expect = {"model = \"a\" (~/.tenax/settings.json:1:10)"}},
    {.name = "a link",
     .files = {{"else/where.json", "{\"model\":\"a\"}"}, {OURS, LINK_TO "../../else/where.json"}},
     .expect = {"model = \"a\" (~/.tenax/settings.json:1:10)",
                "files = [\"~/.tenax/settings.json\"]"}},
    {.name = "a link to nowhere",
     .files = {{OURS, LINK_TO "/nowhere"}},
     .warnings =
         {"~/.tenax/settings.json: is a link to '/nowhere', which does not exist; ignored"}},
    {.name = "the folder is a file", .files = {{"home/.tenax", "x"}, {"work/.claude", "x"}}},
    {.name = "bytes that are not UTF-8",
     .files = {{OURS, "{\"model\":\"a\xff\"}"}},
     .expect = {"model = \"a\xef\xbf\xbd\" (~/.tenax/settings.json:1:10)"},
     .warnings = {"~/.tenax/settings.json: 1 bytes are not UTF-8 and were replaced"}},
    {.name = "does not parse",
     .files = {{OURS, "{\n  \"model\": \"a\",\n}"}},
     .error = "~/.tenax/settings.json:3:1: "},
    {.name = "does not parse, Claude's",
     .files = {{CLAUDES_PROJECT, "{\"model\" \"a\"}"}},
     .error = "@/work/.claude/settings.json:1:10: "},
    {.name = "does not parse, managed",
     .files = {{"etc/tenax/managed-settings.d/1.json", "{"}},
     .error = "@/etc/tenax/managed-settings.d/1.json:1:2: "},
    {.name = "does not parse, inline",
     .argv = {"--settings={\"model\":}"},
     .error = "--settings:1:10: "},
    {.name = "not an object",
     .files = {{OURS, "[1]"}},
     .error = "~/.tenax/settings.json:1:1: settings must be an object, not an array"},
    {.name = "a directory",
     .files = {{OURS, A_DIRECTORY}},
     .error = "~/.tenax/settings.json: cannot read the settings: "},
    {.name = "a FIFO",
     .files = {{PROJECT, A_FIFO}},
     .error = "@/work/.tenax/settings.json: cannot read the settings: "},
    {.name = "too big",
     .files = {{OURS, TOO_BIG}},
     .error = "~/.tenax/settings.json: cannot read the settings: "},
    {.name = "unreadable",
     .files = {{OURS, UNREADABLE}},
     .error = "~/.tenax/settings.json: cannot read the settings: "},
    {.name = "a file named on the command line must be there",
     .argv = {"--settings", "none.json"},
     .error = "@/work/none.json: cannot read the settings: "},
    {.name = "--settings without a name",
     .argv = {"--settings="},
     .error = "@/work: cannot read the settings: "},
};

static char *tree; /* the row's own */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void tree_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    char real[4096];

    snprintf(path, sizeof(path), "%s/tenax-conf-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    assert_non_null(realpath(path, real));
    tree = mem_dup(real, strlen(real));
}

static void tree_remove(void)
{
    nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    mem_freep(&tree);
}

/* False when the case cannot be made here: permissions do not bind root, others cannot chown. */
static bool tree_add(const char *name, const char *content)
{
    CLEANUP(mem_freep) char *path = path_join(tree, name);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    CLEANUP(buf_release) struct buf big = BUF_INIT(BUF_NO_LIMIT);

    if (strcmp(content, UNREADABLE) == 0 && geteuid() == 0)
        return false;
    if (strcmp(content, OWNED_BY_OTHER) == 0)
        return geteuid() == 0 && chown(path, 12345, (gid_t)-1) == 0;
    assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
    if (strcmp(content, A_DIRECTORY) == 0)
        return mkdir(path, 0755) == 0;
    if (strcmp(content, A_FIFO) == 0)
        return mkfifo(path, 0644) == 0;
    if (strncmp(content, LINK_TO, strlen(LINK_TO)) == 0)
        return symlink(content + strlen(LINK_TO), path) == 0;
    if (strcmp(content, TOO_BIG) == 0) {
        while (big.len <= 2 << 20)
            buf_adds(&big, "                                                                ");
        content = buf_cstr(&big);
    }
    assert_int_equal(
        file_replace(path, str_of(content), strcmp(content, UNREADABLE) == 0 ? 0000 : 0644, NULL),
        0);
    return true;
}

/* The tree's own path becomes "@" (or the other way round), so that rows can name it. */
static char *replace_all(const char *text, const char *from, const char *to)
{
    struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_of(text);

    for (;;) {
        size_t at = str_find(rest, str_of(from));

        buf_add(&out, str_first(rest, at));
        if (at == rest.len)
            return buf_take(&out);
        buf_adds(&out, to);
        rest = str_from(rest, at + strlen(from));
    }
}

/* "key = value (origin)", "$NAME = value", "home = …", "files = …". */
static void show(const struct conf *c, const char *expect, struct buf *out)
{
    struct str row = str_of(expect);
    CLEANUP(mem_freep) char *key = mem_dup(row.ptr, str_find(row, STR(" = ")));
    struct jw w;

    buf_addf(out, "%s = ", key);
    jw_init(&w, out, 0);
    if (key[0] == '$') {
        const char *value = conf_env(c, key + 1);

        buf_adds(out, value ? value : "(unset)");
    } else if (strcmp(key, "home") == 0) {
        jw_cstr(&w, conf_home(c));
    } else if (strcmp(key, "files") == 0) {
        jw_array(&w);
        for (size_t i = 0; i < conf_files(c)->len; i++)
            jw_cstr(&w, conf_files(c)->ptr[i]);
        jw_array_end(&w);
    } else {
        const struct json *v = conf_get(c, key);

        if (v)
            jw_json(&w, v);
        else
            jw_null(&w);
        buf_addf(out, " (%.*s)", STR_ARG(conf_origin(c, key)));
    }
}

static void check_lines(const struct conf_case *c, const struct conf *conf)
{
    const struct strv *warnings = conf_warnings(conf);
    size_t n = 0;

    for (size_t i = 0; i < MAX_ROWS && c->expect[i]; i++) {
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *shown = NULL;

        show(conf, c->expect[i], &got);
        shown = replace_all(buf_cstr(&got), tree, "@");
        if (strcmp(shown, c->expect[i]) != 0)
            fail_msg("%s:\n  got      %s\n  expected %s", c->name, shown, c->expect[i]);
    }
    for (; n < warnings->len; n++) {
        CLEANUP(mem_freep) char *shown = replace_all(warnings->ptr[n], tree, "@");

        if (n >= MAX_ROWS || !c->warnings[n] || strcmp(shown, c->warnings[n]) != 0)
            fail_msg("%s: warning\n  got      %s\n  expected %s", c->name, shown,
                     n < MAX_ROWS && c->warnings[n] ? c->warnings[n] : "none");
    }
    if (n < MAX_ROWS && c->warnings[n])
        fail_msg("%s: no warning '%s'", c->name, c->warnings[n]);
}

static void run_case(const struct conf_case *c)
{
    CLEANUP(args_release) struct args args = {0};
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *dir = path_join(tree, c->dir ? c->dir : "work");
    CLEANUP(mem_freep) char *etc = path_join(tree, "etc");
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    const char *argv[10] = {"tenax"};
    struct err err = {0};
    int argc = 1;

    for (size_t i = 0; i < MAX_FILES && c->files[i][0]; i++)
        if (!tree_add(c->files[i][0], c->files[i][1]))
            return;
    assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
    for (; argc <= 8 && c->argv[argc - 1]; argc++)
        argv[argc] = c->argv[argc - 1];
    assert_int_equal(args_parse(argc, (char *const *)argv, &args, NULL), 0);
    strv_addf(&env, "HOME=%s/home", tree);
    for (size_t i = 0; i < 6 && c->env[i]; i++) {
        CLEANUP(mem_freep) char *entry = replace_all(c->env[i], "@", tree);

        strv_adds(&env, entry);
    }

    struct conf_sources from = {
        .dir = dir, .environ = strv_get(&env), .args = &args, .etc = etc, .trusted = !c->untrusted};
    int rc = conf_load(&from, &conf, &err);
    CLEANUP(mem_freep) char *why = replace_all(err.text, tree, "@");

    if (c->error) {
        if (rc == 0 || conf || !str_starts(str_of(why), str_of(c->error)))
            fail_msg("%s:\n  got error %s\n  expected  %s", c->name, why, c->error);
        if (err.code != ERR_BAD_INPUT && err.code != ERR_TOO_BIG)
            fail_msg("%s: code %s", c->name, err_code_name(err.code));
        return;
    }
    if (rc < 0)
        fail_msg("%s: %s", c->name, why);
    check_lines(c, conf);
    assert_string_equal(conf_dir(conf), dir);
}

static void all_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tree_make();
        run_case(&cases[i]);
        tree_remove();
    }
}

/* A file full of mistakes costs time in proportion, and does not flood the terminal. */
static void many_mistakes(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct conf_sources from = {.trusted = true};
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    (void)state;
    tree_make();
    strv_addf(&env, "HOME=%s", tree); /* not the home of the user who runs the test */
    from.environ = strv_get(&env);
    buf_adds(&text, "{\"env\":{");
    for (int i = 0; i < 20000; i++)
        buf_addf(&text, "%s\n\"V%d\":[]", i ? "," : "", i);
    buf_adds(&text, "},\"permissions\":{\"allow\":[");
    for (int i = 0; i < 20000; i++)
        buf_addf(&text, "%s\n\"Bash(%d)\"", i ? "," : "", i / 2);
    buf_adds(&text, "]}}");
    tree_add("etc/tenax/managed-settings.json", buf_cstr(&text));
    tree_add("etc/tenax/managed-settings.d/1.json", buf_cstr(&text));
    buf_clear(&text); /* names that another program may know: no problems */
    for (int i = 0; i < 20000; i++)
        buf_addf(&text, "%c\"name%d\":0", i ? ',' : '{', i);
    buf_adds(&text, "}");
    tree_add(".claude/settings.json", buf_cstr(&text));
    from.dir = tree;
    from.etc = path_join(tree, "etc");
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    assert_int_equal(conf_warnings(conf)->len, 51);
    assert_string_equal(conf_warnings(conf)->ptr[50], "and 39950 more problems in settings files");
    assert_int_equal(json_len(conf_get(conf, "permissions.allow")), 10000);
    assert_true(str_ends(conf_origin(conf, "permissions.allow.9999"), STR(":40000:1")));
    assert_int_equal(json_len(conf_get(conf, "env")), 0);
    free((char *)from.etc);
    tree_remove();
}

/* Nested as deep as the parser allows, at two levels. */
static void deep(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct conf_sources from = {.trusted = true};
    CLEANUP(strv_release) struct strv env = STRV_INIT;

    (void)state;
    tree_make();
    strv_addf(&env, "HOME=%s", tree); /* not the home of the user who runs the test */
    from.environ = strv_get(&env);
    buf_adds(&text, "{\"extraKnownMarketplaces\":");
    for (int i = 0; i < 500; i++)
        buf_adds(&text, "{\"a\":");
    buf_adds(&text, "1");
    for (int i = 0; i < 501; i++)
        buf_adds(&text, "}");
    tree_add("etc/claude-code/managed-settings.json", buf_cstr(&text));
    tree_add("etc/tenax/managed-settings.json", buf_cstr(&text));
    from.dir = tree;
    from.etc = path_join(tree, "etc");
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    assert_int_equal(json_len(conf_get(conf, "extraKnownMarketplaces.a.a.a.a")), 1);
    free((char *)from.etc);
    tree_remove();
}

/* A long name above many members: memory grows with the file, not with their product. */
static void long_names(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct conf_sources from = {.trusted = true};

    (void)state;
    tree_make();
    strv_addf(&env, "HOME=%s", tree);
    buf_adds(&text, "{\"extraKnownMarketplaces\":{\"");
    while (text.len < 1 << 20)
        buf_adds(&text, "a name that goes on and on ");
    buf_adds(&text, "\":{\"short\":1");
    for (int i = 0; i < 60000; i++)
        buf_addf(&text, ",\"m%d\":1", i);
    buf_adds(&text, "}}}");
    tree_add(".claude/settings.json", buf_cstr(&text));
    from.dir = tree;
    from.etc = tree;
    from.environ = strv_get(&env);
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    assert_int_equal(json_len(json_first(conf_get(conf, "extraKnownMarketplaces"))), 60001);
    tree_remove();
}

static void accessors(void **state)
{
    const char *const env[] = {"HOME=/nonexistent", "A=1", "A=2", "ODD", NULL};
    const char *argv[] = {"tenax",
                          "--settings={\"model\":\"m\",\"http2\":true,\"env\":{\"A\":\"3\"}}"};
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    struct args args;

    (void)state;
    assert_int_equal(args_parse(2, (char *const *)argv, &args, NULL), 0);
    struct conf_sources from = {
        .dir = "/nonexistent", .environ = (char *const *)env, .args = &args, .etc = "/nonexistent"};
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    args_release(&args); /* the snapshot keeps nothing of it */
    assert_true(str_is(conf_get_str(conf, "model"), "m"));
    assert_int_equal(conf_get_str(conf, "http2").len, 0); /* another type */
    assert_true(conf_get_bool(conf, "http2", false));
    assert_true(conf_get_bool(conf, "model", true));
    assert_int_equal(conf_get_i64(conf, "http2", 7), 7);
    assert_string_equal(conf_environ(conf)[0], "HOME=/nonexistent");
    assert_string_equal(conf_environ(conf)[1], "ODD");
    assert_string_equal(conf_environ(conf)[2], "A=3"); /* in place of both */
    assert_null(conf_environ(conf)[3]);
    assert_null(conf_env(conf, "ODD"));
    assert_string_equal(conf_home(conf), "/nonexistent/.tenax");
}

static void limits(void **state)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    CLEANUP(mem_freep) char *etc = NULL;
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(args_release) struct args args = {0};
    struct conf_sources from = {.dir = "/nonexistent", .args = &args};
    struct err err = {0};
    struct conf *conf;

    (void)state;
    tree_make();
    strv_addf(&env, "HOME=%s", tree);
    etc = path_join(tree, "etc");
    from.environ = strv_get(&env);
    from.etc = etc;
    buf_adds(&text, "{\"model\":\"");
    while (text.len <= 2 << 20)
        buf_adds(&text, "0123456789abcdef0123456789abcdef");
    buf_adds(&text, "\"}");
    args.given[OPT_SETTINGS] = true;
    strv_add(&args.values[OPT_SETTINGS], buf_str(&text));
    assert_int_equal(conf_load(&from, &conf, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_true(str_starts(str_of(err.text), STR("--settings: has ")));

    from.args = NULL;
    for (int i = 0; i < 101; i++) {
        char name[64];

        snprintf(name, sizeof(name), "etc/tenax/managed-settings.d/%d.json", i);
        tree_add(name, "{}");
    }
    assert_int_equal(conf_load(&from, &conf, &err), -1);
    assert_int_equal(err.code, ERR_TOO_BIG);
    assert_true(str_ends(str_of(err.text), STR("has 101 settings files; the limit is 100")));
    tree_remove();
}

/* Changes of a file during a session: each row writes, then asks. */
struct refresh_case {
    const char *file;
    const char *content; /* NULL: it goes away */
    int rc;
    const char *model; /* "-": the default */
    const char *text;  /* the error, or the first note; NULL: none */
};

static const struct refresh_case refresh_cases[] = {
    {OURS, "{\"model\":\"a\"}", 1, "a", NULL},
    {OURS, "{ \"model\" : \"a\" }", 0, "a", NULL}, /* it says the same */
    {PROJECT, "{\"model\":\"b\"}", 1, "b", NULL},
    {PROJECT, "{\"model\":\"c\"", -1, "b", "@/work/.tenax/settings.json:1:13: "},
    {PROJECT, NULL, 1, "a", NULL},
    {CLAUDES, "{\"model\":\"x\",\"http2\":1}", 1, "a", "~/.claude/settings.json:1:22: 'http2'"},
    {"etc/tenax/managed-settings.d/1.json", "{\"model\":\"m\"}", 1, "m", NULL},
    {"etc/tenax/managed-settings.d/1.json", NULL, 1, "a", NULL},
    {"work/.claude/notes", "", 0, "a", NULL}, /* a folder that was not there */
    {"work/.claude/settings.local.json", "{\"model\":\"l\"}", 1, "l", NULL},
    {"work/.claude/settings.local.json", NULL, 1, "a", NULL},
    {OURS, "{\"claudeCompat\":false}", 1, "-", NULL},
};

static void refresh(void **state)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(mem_freep) char *work = NULL;
    CLEANUP(mem_freep) char *etc = NULL;
    struct conf_sources from = {.trusted = true};
    struct str first;

    (void)state;
    tree_make();
    work = path_join(tree, "work");
    etc = path_join(tree, "etc");
    assert_int_equal(file_mkdirs(work, 0755, NULL), 0);
    strv_addf(&env, "HOME=%s/home", tree);
    from.dir = work;
    from.etc = etc;
    from.environ = strv_get(&env);
    tree_add(OURS, "{\"model\":\"first\"}");
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    first = conf_get_str(conf, "model");
    for (size_t i = 0; i < ARRAY_LEN(refresh_cases); i++) {
        const struct refresh_case *c = &refresh_cases[i];
        CLEANUP(mem_freep) char *path = path_join(tree, c->file);
        CLEANUP(mem_freep) char *said = NULL;
        struct err err = {0};
        struct str model;
        int rc;

        strv_clear(&notes);
        if (c->content)
            tree_add(c->file, c->content);
        else
            assert_int_equal(remove(path), 0);
        rc = conf_refresh(conf, &notes, &err);
        said = replace_all(notes.len ? notes.ptr[0] : err.text, tree, "@");
        model = conf_get_str(conf, "model");
        if (rc != c->rc || !str_is(model.len ? model : STR("-"), c->model) ||
            !str_starts(str_of(said), str_of(c->text)) || (!c->text && *said))
            fail_msg("row %zu: %d, model '%.*s', said '%s'", i, rc, STR_ARG(model), said);
        if (rc < 0) /* once */
            assert_int_equal(conf_refresh(conf, &notes, &err), c->content ? -1 : 0);
    }
    assert_true(str_is(first, "first")); /* values handed out are still valid */
    tree_remove();
}

/* Trust given later adds the settings left out. */
static void trust_later(void **state)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(mem_freep) char *work = NULL;
    struct conf_sources from = {.trusted = false};

    (void)state;
    tree_make();
    work = path_join(tree, "work");
    strv_addf(&env, "HOME=%s/home", tree);
    from.dir = work;
    from.etc = tree;
    from.environ = strv_get(&env);
    tree_add(PROJECT, "{\"env\":{\"A\":\"b\"}}");
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    assert_false(conf_is_trusted(conf));
    assert_null(conf_env(conf, "A"));
    conf_trust(conf);
    assert_int_equal(conf_refresh(conf, &notes, NULL), 1);
    assert_true(conf_is_trusted(conf));
    assert_string_equal(conf_env(conf, "A"), "b");
    assert_int_equal(notes.len, 0);
    tree_remove();
}

/* Files that the user agrees to skip, and those that are never skipped. */
static void without(void **state)
{
    static const struct {
        const char *file;
        bool can_be;
    } rows[] = {
        {"home/.tenax/settings.json", true},
        {"work/.claude/settings.json", true},
        {"work/.tenax/settings.local.json", true},
        {"etc/tenax/managed-settings.json", false},
        {"etc/claude-code/managed-settings.d/1.json", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(conf_unrefp) struct conf *conf = NULL;
        CLEANUP(strv_release) struct strv env = STRV_INIT;
        CLEANUP(strv_release) struct strv broken = STRV_INIT;
        CLEANUP(strv_release) struct strv all = STRV_INIT;
        CLEANUP(mem_freep) char *dir = NULL;
        CLEANUP(mem_freep) char *etc = NULL;
        CLEANUP(mem_freep) char *file = NULL;
        struct conf_sources from = {.trusted = true, .ret_broken = &broken};
        int rc;

        tree_make();
        dir = path_join(tree, "work");
        etc = path_join(tree, "etc");
        file = path_join(tree, rows[i].file);
        strv_addf(&env, "HOME=%s/home", tree);
        from.dir = dir;
        from.etc = etc;
        from.environ = strv_get(&env);
        assert_true(tree_add(rows[i].file, "{\"model\": }"));
        assert_int_equal(conf_load(&from, &conf, NULL), -1);
        assert_int_equal(broken.len, rows[i].can_be);
        if (rows[i].can_be)
            assert_string_equal(broken.ptr[0], file);
        strv_adds(&all, file);
        from.without = &all;
        rc = conf_load(&from, &conf, NULL);
        assert_int_equal(rc, rows[i].can_be ? 0 : -1);
        if (rc == 0) {
            assert_true(conf_lacks_file(conf));
            assert_int_equal(conf_warnings(conf)->len, 1);
            assert_true(tree_add(rows[i].file, "{\"language\": \"de\"}"));
            assert_int_equal(conf_refresh(conf, &broken, NULL), 1);
            assert_false(conf_lacks_file(conf));
            assert_true(str_is(conf_get_str(conf, "language"), "de"));
        }
        tree_remove();
    }
}

/* What a client says beats files, variables and options, but not the managed settings. */
static void laid_over(void **state)
{
    static const struct {
        const char *change;
        const char *error; /* NULL: it is taken */
        const char *model, *effort, *variable;
    } rows[] = {
        {"{\"model\":\"over\",\"env\":{\"A\":\"over\",\"B\":null}}", NULL, "over", "max", "over"},
        {"{\"effortLevel\":\"low\",\"http2\":true}", NULL, "over", "max", "over"},
        {"{\"http2\":\"yes\"}", "settings: 'http2' must be a boolean, not a string", "over", "max",
         "over"},
        {"[]", "settings must be an object", "over", "max", "over"},
        {"{\"model\":null}", NULL, "option", "max", "over"},
        {"{\"env\":null,\"nobody\":null}", NULL, "option", "max", "user"},
    };
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(args_release) struct args args = {0};
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(mem_freep) char *work = NULL;
    CLEANUP(mem_freep) char *etc = NULL;
    struct conf_sources from = {.trusted = true, .args = &args};

    (void)state;
    tree_make();
    work = path_join(tree, "work");
    etc = path_join(tree, "etc");
    strv_addf(&env, "HOME=%s/home", tree);
    from.dir = work;
    from.etc = etc;
    from.environ = strv_get(&env);
    args.given[OPT_MODEL] = true;
    strv_adds(&args.values[OPT_MODEL], "option");
    tree_add(OURS, "{\"env\":{\"A\":\"user\"}}");
    tree_add(MANAGED, "{\"effortLevel\":\"max\"}");
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        const struct json *change;
        struct err err = {0};
        int rc;

        assert_int_equal(json_parse(&arena, str_of(rows[i].change), &change, NULL, NULL), 0);
        rc = conf_lay_over(conf, change, &err);
        (void)conf_refresh(conf, &notes, NULL);
        if (rc != (rows[i].error ? -1 : 0) ||
            (rc && !str_starts(str_of(err.text), str_of(rows[i].error))) ||
            !str_is(conf_get_str(conf, "model"), rows[i].model) ||
            !str_is(conf_get_str(conf, "effortLevel"), rows[i].effort) ||
            strcmp(conf_env(conf, "A"), rows[i].variable) != 0)
            fail_msg("row %zu: %d '%s', %.*s, %s", i, rc, err.text,
                     STR_ARG(conf_get_str(conf, "model")), conf_env(conf, "A"));
    }
    assert_int_equal(notes.len, 0);
    tree_remove();
}

/* Which folders of a name are found, and in which order. */
static void places(void **state)
{
    static const char *const files[] = {"home/.claude/agents/a.md",
                                        "home/.tenax/agents/a.md",
                                        "work/.git/HEAD",
                                        "work/.claude/agents/a.md",
                                        "work/sub/.tenax/agents/a.md",
                                        "etc/claude-code/agents/a.md",
                                        "work/sub/dir/x",
                                        "work/sub/dir/.claude/agents",
                                        "home/.claude/skills/x/SKILL.md"};
    static const struct {
        const char *name;
        const char *settings;
        const char *want;
    } rows[] = {
        {"agents", "{}",
         "@/home/.claude/agents @/home/.tenax/agents+ @/work/.claude/agents "
         "@/work/sub/.tenax/agents+ @/work/sub/dir/.claude/agents @/etc/claude-code/agents "},
        {"agents", "{\"claudeCompat\":false}",
         "@/home/.tenax/agents+ @/work/sub/.tenax/agents+ @/etc/claude-code/agents "},
        {"skills", "{}", "@/home/.claude/skills "},
        {"output-styles", "{}", ""},
        /* What settings put into the environment moves no home. */
        {"skills", "{\"env\":{\"HOME\":\"/elsewhere\",\"CLAUDE_CONFIG_DIR\":\"/other\"}}",
         "@/home/.claude/skills "},
    };
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(mem_freep) char *dir = NULL;
    CLEANUP(mem_freep) char *etc = NULL;

    (void)state;
    tree_make();
    dir = path_join(tree, "work/sub/dir");
    etc = path_join(tree, "etc");
    strv_addf(&env, "HOME=%s/home", tree);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        tree_add(files[i], "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct conf_sources from = {
            .dir = dir, .environ = strv_get(&env), .etc = etc, .trusted = true};
        CLEANUP(conf_unrefp) struct conf *conf = NULL;
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(buf_release) struct buf got = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *shown = NULL;
        place_vec list = VEC_INIT;

        tree_add(OURS, rows[i].settings);
        assert_int_equal(conf_load(&from, &conf, NULL), 0);
        places_find(conf, rows[i].name, &arena, &list);
        VEC_EACH(&list, p) {
            buf_addf(&got, "%s%s ", p->path, p->ours ? "+" : "");
        }
        shown = replace_all(buf_cstr(&got), tree, "@");
        if (strcmp(shown, rows[i].want) != 0)
            fail_msg("row %zu: %s", i, shown);
        vec_release(&list);
    }
    tree_remove();
}

/* A worktree whose name goes on where that of the main checkout ends is none of its folders. */
static void places_beside(void **state)
{
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    CLEANUP(buf_release) struct buf git = BUF_INIT(4096);
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(mem_freep) char *dir = NULL;
    struct conf_sources from = {.etc = "/nonexistent", .trusted = true};

    (void)state;
    tree_make();
    dir = path_join(tree, "repo-fix");
    strv_addf(&env, "HOME=%s/home", tree);
    buf_addf(&git, "gitdir: %s/repo/.git/worktrees/x\n", tree);
    tree_add("repo/.git/HEAD", "");
    tree_add("repo/.git/worktrees/x/commondir", "../..\n");
    tree_add("repo/.git/worktrees/x/gitdir", "../../../../repo-fix/.git\n");
    tree_add("repo-fix/.git", buf_cstr(&git));
    from.dir = dir;
    from.environ = strv_get(&env);
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    assert_string_equal(places_project(conf, &arena), dir);
    tree_remove();
}

static void *share(void *arg)
{
    struct conf *c = arg;

    for (int i = 0; i < 10000; i++) {
        struct conf *mine = conf_ref(c);

        if (!conf_get_bool(mine, "http2", false) || conf_get_i64(mine, "idleTimeoutMs", 7) != 7)
            abort();
        conf_unref(mine);
    }
    conf_unref(c);
    return NULL;
}

/* The last reference frees it, on any thread; TSAN watches. */
static void shared(void **state)
{
    const char *argv[] = {"tenax", "--settings={\"http2\":true}"};
    pthread_t threads[4];
    CLEANUP(strv_release) struct strv env = STRV_INIT;
    struct args args;
    struct conf *conf;

    (void)state;
    tree_make();
    strv_addf(&env, "HOME=%s", tree);
    assert_int_equal(args_parse(2, (char *const *)argv, &args, NULL), 0);
    struct conf_sources from = {.dir = tree, .environ = strv_get(&env), .etc = tree, .args = &args};
    assert_int_equal(conf_load(&from, &conf, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, share, conf_ref(conf)), 0);
    conf_unref(conf);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    args_release(&args);
    tree_remove();
    conf_unref(NULL);
}

/* A switch by its name alone, and as a variable says it. */
static void switches(void **state)
{
    static const struct {
        const char *value; /* NULL: none */
        const char *text;
    } rows[] = {
        {NULL, "true"}, {"1", "true"},      {"yes", "true"}, {"0", "false"},
        {"", "false"},  {"False", "false"}, {"no", "false"}, {" OFF ", "false"},
    };
    const struct key *k = key_find(STR("verbose"));

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_release) struct arena arena = ARENA_INIT;
        CLEANUP(strv_release) struct strv values = STRV_INIT;
        CLEANUP(buf_release) struct buf wanted = BUF_INIT(100);

        if (rows[i].value)
            strv_adds(&values, rows[i].value);
        buf_addf(&wanted, "{\"verbose\":%s}", rows[i].text);
        if (!str_eq(source_text_for(&arena, k, &values, /*whole=*/false), buf_str(&wanted)))
            fail_msg("'%s' is not %s", rows[i].value ? rows[i].value : "", rows[i].text);
    }
}

UNIT_TEST(conf)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases),     cmocka_unit_test(many_mistakes),
        cmocka_unit_test(deep),          cmocka_unit_test(long_names),
        cmocka_unit_test(accessors),     cmocka_unit_test(limits),
        cmocka_unit_test(shared),        cmocka_unit_test(refresh),
        cmocka_unit_test(trust_later),   cmocka_unit_test(without),
        cmocka_unit_test(laid_over),     cmocka_unit_test(places),
        cmocka_unit_test(places_beside), cmocka_unit_test(switches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
