/*
 * cmd: the table of subcommands, and what they share. Main thread.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "conf/conf.h"
#include "host/trust.h"
#include "sync/cancel.h"

/* Order is that of --help. */
static const struct command *const commands[] = {
    &cmd_goal,  &cmd_sessions,   &cmd_rewind,      &cmd_config, &cmd_trust,
    &cmd_hooks, &cmd_agents,     &cmd_permissions, &cmd_plugin, &cmd_mcp,
    &cmd_auth,  &cmd_sandbox,    &cmd_doctor,      &cmd_acp,    &cmd_app_server,
    &cmd_demo,  &cmd_completion, &cmd_man,         &cmd_help,
};

size_t cmd_count(void)
{
    return ARRAY_LEN(commands);
}

const struct command *cmd_at(size_t i)
{
    return commands[i];
}

const struct command *cmd_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (str_is(name, commands[i]->usage.name))
            return commands[i];
    }
    return NULL;
}

/* Whether the project has servers, skills, commands or agents, which need trust: from here up to
 * the top of the checkout, but not in a home directory above. */
static bool brings_parts(const char *dir)
{
    static const char *const parts[] = {".mcp.json", ".tenax", ".claude", ".agents"};
    const char *home = getenv("HOME");
    char *at = mem_dup(dir, strlen(dir));
    bool found = false;

    for (;;) {
        CLEANUP(mem_freep) char *git = path_join(at, ".git");
        char *up;

        for (size_t i = 0; i < ARRAY_LEN(parts) && !found; i++) {
            CLEANUP(mem_freep) char *path = path_join(at, parts[i]);

            found = file_exists(path);
        }
        if (found || file_exists(git) || strcmp(at, "/") == 0)
            break;
        up = path_dirname(at);
        free(at);
        at = up;
        if (home && strcmp(at, home) == 0)
            break;
    }
    free(at);
    return found;
}

/* Only if it makes a difference, to avoid opening the store. */
static int cmd_conf_trust(struct cmd *c, struct conf *conf, struct err *err)
{
    CLEANUP(trust_answer_release) struct trust_answer answer = TRUST_ANSWER_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;

    if (trust_approve(conf, c->cancel, err) < 0)
        return -1;
    if (!conf_lacks_trust(conf) && !brings_parts(c->dir))
        return 0;
    if (trust_look(conf, c->dir, c->cancel, &answer, err) < 0)
        return -1;
    if (answer.trust != TRUST_YES)
        return 0;
    conf_trust(conf);
    return conf_refresh(conf, &notes, err);
}

int cmd_conf_load(struct cmd *c, struct conf **ret, struct err *err)
{
    struct conf_sources from = {
        .dir = c->dir,
        .environ = environ,
        .args = &c->args,
        .etc = "/etc",
        .trusted = c->args.given[OPT_TRUST],
    };
    CLEANUP(conf_unrefp) struct conf *conf = NULL;

    if (conf_load(&from, &conf, err) < 0 || cmd_conf_trust(c, conf, err) < 0)
        return -1;
    *ret = TAKE_PTR(conf);
    return 0;
}

static int load_trusted(const struct cmd *c, const char *dir, bool trusts,
                        const struct strv *without, struct strv *ret_broken, struct conf **ret,
                        struct err *err)
{
    struct conf_sources from = {
        .dir = dir,
        .environ = environ,
        .args = &c->args,
        .etc = "/etc",
        .without = without,
        .ret_broken = ret_broken,
        .trusted = trusts || c->args.given[OPT_TRUST],
    };
    CLEANUP(trust_answer_release) struct trust_answer answer = TRUST_ANSWER_INIT;
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    CLEANUP(conf_unrefp) struct conf *conf = NULL;

    if (conf_load(&from, &conf, err) < 0 || trust_look(conf, dir, c->cancel, &answer, err) < 0)
        return -1;
    if (answer.trust == TRUST_YES) {
        conf_trust(conf);
        if (conf_refresh(conf, &notes, err) < 0)
            return -1;
    }
    if (trust_approve(conf, c->cancel, err) < 0)
        return -1;
    *ret = TAKE_PTR(conf);
    return 0;
}

/* Without colors, since the settings that define the display could not be read. */
static int ask_without(struct cmd *c, struct err *err)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1000);
    int code;

    say("%s", err->text);
    if (!say_out(STR("Continue without this file? Its deny rules are unknown then, so everything "
                     "asks. [y/N] "),
                 c->cancel, &code))
        return err_set(err, ERR_IO, "there is no terminal to ask on");
    if (cmd_read_line(c, &line, err) < 0)
        return -1;
    if (!str_eq_nocase(str_trim(buf_str(&line)), STR("y")) &&
        !str_eq_nocase(str_trim(buf_str(&line)), STR("yes")))
        return err_set(err, ERR_BAD_INPUT, "nothing was started: fix the file first");
    *err = (struct err){0};
    return 0;
}

int cmd_conf_load_careful(struct cmd *c, struct conf **ret, struct err *err)
{
    if (!isatty(STDIN_FILENO))
        return cmd_conf_load(c, ret, err);
    return load_trusted(c, c->dir, /*trusts=*/false, /*without=*/NULL, /*ret_broken=*/NULL, ret,
                        err);
}

int cmd_conf_load_trusted(struct cmd *c, struct conf **ret, struct err *err)
{
    CLEANUP(strv_release) struct strv without = STRV_INIT;
    CLEANUP(strv_release) struct strv broken = STRV_INIT;

    while (load_trusted(c, c->dir, /*trusts=*/false, &without, &broken, ret, err) < 0) {
        if (!broken.len || ask_without(c, err) < 0)
            return -1;
        strv_add_all(&without, &broken);
        strv_clear(&broken);
    }
    return 0;
}

int cmd_conf_load_at(const struct cmd *c, const char *dir, bool trusts, struct conf **ret,
                     struct err *err)
{
    return load_trusted(c, dir, trusts, /*without=*/NULL, /*ret_broken=*/NULL, ret, err);
}

int cmd_conf(struct cmd *c, struct conf **ret)
{
    struct err err = {0};

    if (cmd_conf_load(c, ret, &err) < 0) {
        say_error(&err);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < conf_warnings(*ret)->len; i++)
        say("%s", conf_warnings(*ret)->ptr[i]);
    return 0;
}

int cmd_read_line(struct cmd *c, struct buf *line, struct err *err)
{
    for (;;) {
        char byte;
        ssize_t n;

        if (cmd_wait_stdin(c, /*timeout_ms=*/-1, err) < 0)
            return -1;
        /* Byte by byte: input after the line belongs to another reader. */
        n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_sys(err, ERR_IO, "cannot read standard input");
        if (n == 0 || (n == 1 && byte == '\n'))
            return buf_check(line, err);
        if (n == 1)
            buf_addc(line, byte);
    }
}

int cmd_wait_stdin(struct cmd *c, int timeout_ms, struct err *err)
{
    struct pollfd fds[2] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = cancel_fd(c->cancel), .events = POLLIN},
    };
    int n;

    do {
        n = poll(fds, ARRAY_LEN(fds), timeout_ms);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, ERR_IO, "cannot wait for standard input");
    if (fds[1].revents)
        return cancel_check(c->cancel, err);
    return n > 0;
}
