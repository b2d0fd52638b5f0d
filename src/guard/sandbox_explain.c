/*
 * sandbox_explain: whether the sandbox blocked a command. Its output is searched for typical
 * messages, but text alone proves nothing: a path must be one that the sandbox denies and that we
 * could access outside; a host one that the proxy has refused. Any thread.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "guard/sandbox_state.h"
#include "guard/workspace.h"

#define EXPLAIN_BYTES ((size_t)64 << 10) /* of the end of the output that is examined */
#define EXPLAIN_MAX 5                    /* lines of explanation */

struct explain {
    struct sandbox_job *job;
    const char *dir;
    struct strv seen;        /* "write to /etc/x" */
    bool network, listening; /* attempted, according to the output */
};

static void explain_add(struct explain *e, const char *what, const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(8192);

    buf_addf(&text, "%s %s", what, path);
    if (e->seen.len < EXPLAIN_MAX && !strv_has(&e->seen, buf_str(&text)))
        strv_add(&e->seen, buf_str(&text));
}

/* Whether it could be written outside: the file itself, or created in its folder. Modes of files
 * provided by the kernel mean nothing. */
static bool could_write(const char *path)
{
    CLEANUP(mem_freep) char *dir = NULL;

    if (str_starts(str_of(path), STR("/proc/")) || str_starts(str_of(path), STR("/sys/")))
        return false;
    if (file_exists(path))
        return access(path, W_OK) == 0;
    dir = path_dirname(path);
    return access(dir, W_OK) == 0;
}

static bool is_socket(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* True if the sandbox blocks this path. */
static bool explain_path(struct explain *e, struct str word, bool is_write)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(8192);
    CLEANUP(mem_freep) char *real = NULL;
    enum path_is is;

    if (word.ptr[0] != '/')
        buf_adds(&full, e->dir);
    path_walk(&full, word);
    if (!full.len || buf_check(&full, NULL) < 0)
        return false;
    real = path_real(buf_cstr(&full));
    is = sandbox_path_is(&e->job->paths, real);
    if (is == PATH_HIDDEN && access(real, R_OK) == 0) {
        explain_add(e, "read of", buf_cstr(&full));
        return true;
    }
    if (is_write && is == PATH_READABLE && could_write(real)) {
        explain_add(e, is_socket(real) ? "connection to" : "write to", buf_cstr(&full));
        return true;
    }
    return false;
}

/* Whether a path may end at this character in a message. */
static bool is_around_word(char c)
{
    return c == ' ' || c == '\t' || c == '\'' || c == '"' || c == '`' || c == ',' || c == ';' ||
           c == '(' || c == ')' || c == '[' || c == ']' || c == '<' || c == '>';
}

/* Without the quotes that some programs put around names, and without punctuation. */
static struct str bare_word(struct str word)
{
    while (word.len && strchr(":.,", word.ptr[word.len - 1]))
        word.len--;
    while (word.len >= 3 && memcmp(word.ptr, "\xe2\x80", 2) == 0)
        word = str_from(word, 3);
    while (word.len >= 3 && memcmp(word.ptr + word.len - 3, "\xe2\x80", 2) == 0)
        word.len -= 3;
    return word;
}

/* Every word of the line that may be a path; "sh: 1: cannot create /etc/x: Read-only file system".
 * False: the sandbox stands in the way to none. */
static bool explain_line(struct explain *e, struct str line, bool is_write)
{
    size_t i = 0;

    while (i < line.len) {
        struct str word;
        size_t start;

        while (i < line.len && is_around_word(line.ptr[i]))
            i++;
        start = i;
        while (i < line.len && !is_around_word(line.ptr[i]))
            i++;
        word = bare_word(str_first(str_from(line, start), i - start));
        if (word.len && word.len < 4096 && !memchr(word.ptr, '\0', word.len) &&
            explain_path(e, word, is_write))
            return true;
    }
    return false;
}

static bool has_any(struct str line, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_find_nocase(line, str_of(words[i])) < line.len)
            return true;
    }
    return false;
}

/* Typical messages without a network. */
static const char *const no_network[] = {
    "network is unreachable",
    "could not resolve",
    "temporary failure in name resolution",
    "name or service not known",
    "address family not supported",
    "getaddrinfo",
    "name resolution",
    "failed to resolve",
    "dns error",
    "no route to host",
    "unable to connect",
    "failed to connect",
    "socket: permission denied",
    "socket: operation not permitted",
    "could not create socket",
    "connect eacces",
    "_socket.socket", /* Python's traceback */
    "socketexception: permission denied",
    "socket(2)",
};

/* Typical messages of servers, including those in tests. */
static const char *const no_listening[] = {
    "listen eacces",           "listen tcp",      "could not bind on any address",
    "could not create server", "socketserver.py",
};

/* Messages without a path. */
static void explain_words(struct explain *e, struct str line)
{
    bool listens = has_any(line, no_listening, ARRAY_LEN(no_listening));

    e->listening = e->listening || listens;
    e->network = e->network || (!listens && has_any(line, no_network, ARRAY_LEN(no_network)));
}

static void explain_output(struct explain *e, struct str output)
{
    /* Busy means it must not be replaced. */
    static const char *const read_only[] = {"read-only file system", "EROFS",
                                            "device or resource busy", "EBUSY"};
    static const char *const denied[] = {"permission denied", "EACCES", "operation not permitted",
                                         "EPERM"};
    static const char *const missing[] = {"no such file or directory", "ENOENT"};
    struct str line;

    if (output.len > EXPLAIN_BYTES)
        output = str_from(output, output.len - EXPLAIN_BYTES);
    while (str_cut(&output, '\n', &line)) {
        bool is_told = false;

        if (has_any(line, denied, ARRAY_LEN(denied)) ||
            has_any(line, read_only, ARRAY_LEN(read_only)))
            is_told = explain_line(e, line, /*is_write=*/true);
        else if (has_any(line, missing, ARRAY_LEN(missing))) /* so it looks to root */
            is_told = explain_line(e, line, /*is_write=*/false);
        if (!is_told)
            explain_words(e, line);
    }
}

static void explain_calls(struct explain *e)
{
    const struct sandbox_job *j = e->job;
    CLEANUP(strv_release) struct strv refusals = STRV_INIT;

    sandbox_job_refusals(j, &refusals);
    if (e->listening && j->confine.net == CONFINE_NET_NONE)
        strv_adds(&e->seen, "the network: nothing listens, on localhost neither, unless the user "
                            "sets sandbox.network.allowLocalBinding");
    else if (e->network && j->sandbox->net == CONFINE_NET_NONE && !j->hosts.len && !refusals.len)
        strv_adds(&e->seen, "the network: no host is allowed");
}

/* "touch: cannot touch '/etc/x': Read-only file system", and nothing after it. */
static void explain_errors(struct explain *e, struct str output)
{
    static const struct str errors[] = {
        STR_INIT(": Read-only file system"),
        STR_INIT(": Permission denied"),
        STR_INIT(": Operation not permitted"),
        STR_INIT(": Device or resource busy"),
    };
    struct str line;

    if (output.len > EXPLAIN_BYTES)
        output = str_from(output, output.len - EXPLAIN_BYTES);
    while (str_cut(&output, '\n', &line)) {
        line = str_trim(line);
        for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
            if (str_ends(line, errors[i]))
                explain_line(e, line, /*is_write=*/true);
        }
    }
}

static void explain_hosts(struct explain *e)
{
    CLEANUP(strv_release) struct strv refusals = STRV_INIT;

    sandbox_job_refusals(e->job, &refusals);
    for (size_t i = 0; i < refusals.len && e->seen.len < EXPLAIN_MAX; i++)
        strv_adds(&e->seen, refusals.ptr[i]);
}

void sandbox_job_explain(struct sandbox_job *j, const char *dir, struct str output, bool has_failed,
                         struct buf *ret)
{
    struct explain e = {.job = j, .dir = dir};

    if (!j)
        return;
    if (has_failed)
        explain_output(&e, output);
    else
        explain_errors(&e, output);
    explain_hosts(&e);
    sandbox_absent_move(j, &e.seen);
    sandbox_absent_move_denied(j, &e.seen);
    explain_calls(&e);
    for (size_t i = 0; i < e.seen.len; i++)
        buf_addf(ret, "blocked by the sandbox: %s\n", e.seen.ptr[i]);
    if (e.seen.len && j->sandbox->may_leave)
        buf_adds(ret, "Do it another way, or run this command again with dangerouslyDisableSandbox "
                      "to ask for permission.\n");
    strv_release(&e.seen);
}
