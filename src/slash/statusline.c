/*
 * /statusline: lets the model set up the status line as the user describes. In that turn it may
 * read and change the settings file and a script next to it, read files that set a shell's prompt,
 * and nothing else; as usual, changes and reading the shell's files need the user's permission.
 */
#include "conf/conf.h"
#include "host/host.h"
#include "slash/answer.h"

static int statusline_run(struct slash_call *call, struct err *err);

const struct slash_command slash_statusline_entry = {
    .name = "statusline",
    .in_terminal = true,
    .hint = "[<what it should show>]",
    .summary = "Have the model set up the status line",
    .run = statusline_run,
};

static int statusline_run(struct slash_call *call, struct err *err)
{
    static const char *const files[] = {"settings.json", "statusline.sh"};
    static const char *const shells[] = {"~/.bashrc", "~/.bash_profile", "~/.profile", "~/.zshrc",
                                         "~/.config/fish/config.fish"};
    const char *home = conf_home(host_conf(call->host));

    (void)err;
    buf_addf(
        &call->prompt,
        "Set up the status line of tenax: %.*s\n\n"
        "It is the key statusLine of %s/settings.json: {\"type\": \"command\", \"command\": \"…\", "
        "\"padding\": 0}. The command gets a JSON object on standard input (cwd, model.id, "
        "model.display_name, workspace.current_dir, workspace.project_dir, session_id, version, "
        "cost.total_cost_usd, context_window.used_percentage and more) and its first line of "
        "output is shown, ANSI colors included. It must be fast, and must not fail where a "
        "member is missing.\n\n"
        "Read that file first if it is there, keep all else in it as it is, and put a longer "
        "script into %s/statusline.sh. Edit nothing but these two, read besides only where a shell "
        "sets its prompt (~/.bashrc, ~/.bash_profile, ~/.profile, ~/.zshrc, "
        "~/.config/fish/config.fish), and run nothing.",
        STR_ARG(call->args.len ? call->args
                               : STR("take over what the prompt of my shell (PS1) shows, as "
                                     "far as it makes sense")),
        home, home);
    /* The folder has keys and transcripts, too: only these two files, and changes need permission.
     */
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        strv_addf(&call->allow, "Read(/%s/%s)", home, files[i]);
        strv_addf(&call->only, "Read(/%s/%s)", home, files[i]);
        strv_addf(&call->only, "Edit(/%s/%s)", home, files[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(shells); i++)
        strv_addf(&call->only, "Read(%s)", shells[i]);
    return 0;
}
