/*
 * /env: where tenax runs, and the environment variables that affect it. Only names on a list are
 * shown, and only both ends of values that may be secret.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/secret.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/host.h"
#include "slash/answer.h"

static int env_run(struct slash_call *call, struct err *err);

const struct slash_command slash_env_entry = {
    .name = "env",
    .hint = "",
    .summary = "Show where tenax runs and the variables that matter to it, secrets masked",
    .run = env_run,
};

/* A name, or with a "*" all that begin so. */
static const char *const shown[] = {
    "TENAX_*",     "CLAUDE_*", "ANTHROPIC_*", "OPENAI_*",    "GEMINI_*",  "GOOGLE_*", "OLLAMA_*",
    "CODEX_*",     "LC_*",     "LANG",        "TERM*",       "COLORTERM", "NO_COLOR", "TMUX",
    "EDITOR",      "VISUAL",   "SHELL",       "HOME",        "PATH",      "USER",     "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY", "http_proxy",  "https_proxy", "no_proxy",  "XDG_*",    "DISABLE_*",
};

static const char *const secret[] = {"KEY",  "TOKEN",  "SECRET",    "PASS",
                                     "AUTH", "HEADER", "CREDENTIAL"};

static bool is_shown(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        struct str s = str_of(shown[i]);

        if (str_eq(name, s) || (str_ends(s, STR("*")) && str_starts(name, str_first(s, s.len - 1))))
            return true;
    }
    return false;
}

static bool is_secret(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(secret); i++) {
        if (str_has(name, str_of(secret[i])))
            return true;
    }
    return false;
}

/* A proxy's URL may have a name and a password, up to the last "@" before the path. */
static void add_value(struct buf *out, struct str name, struct str value)
{
    size_t scheme = str_find(value, STR("://"));
    size_t from = scheme < value.len ? scheme + 3 : 0;
    struct str host = str_from(value, from);
    size_t at;

    host = str_first(host, str_chr(host, '/'));
    at = host.len;
    while (at > 0 && host.ptr[at - 1] != '@')
        at--;
    if (is_secret(name)) {
        secret_mask(value, out);
    } else if (at > 0) {
        buf_add(out, str_first(value, from));
        buf_adds(out, "…");
        slash_add_line(out, str_from(value, from + at - 1), 200);
    } else {
        slash_add_line(out, value, 200);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int env_run(struct slash_call *call, struct err *err)
{
    CLEANUP(strv_release) struct strv rows = STRV_INIT;
    const struct conf *conf = host_conf(call->host);
    struct utsname kernel = {0};

    (void)err;
    (void)uname(&kernel);
    slash_fact(call, "tenax", "%s", TENAX_VERSION);
    slash_fact(call, "System", "%s %s %s", kernel.sysname, kernel.release, kernel.machine);
    slash_fact(call, "Process", "%d", (int)getpid());
    slash_fact(call, "Folder", "%s", conf_dir(conf));
    slash_fact(call, "Home", "%s", conf_home(conf));
    for (char *const *e = conf_environ(conf); *e; e++) {
        if (is_shown(str_first(str_of(*e), str_chr(str_of(*e), '='))))
            strv_adds(&rows, *e);
    }
    if (rows.len)
        qsort(rows.ptr, rows.len, sizeof(rows.ptr[0]), by_name);
    slash_say(call, INK_BOLD, STR("Variables\n"));
    for (size_t i = 0; i < rows.len; i++) {
        CLEANUP(buf_release) struct buf value = BUF_INIT(4096);
        struct str row = str_of(rows.ptr[i]);
        size_t equals = str_chr(row, '=');

        add_value(&value, str_first(row, equals), str_from(row, equals + 1));
        slash_sayf(call, INK_CYAN, "  %.*s", STR_ARG(str_first(row, equals)));
        slash_sayf(call, INK_PLAIN, "=%s\n", buf_cstr(&value));
    }
    return 0;
}
