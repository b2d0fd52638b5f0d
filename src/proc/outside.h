/*
 * The environment of programs that tenax itself runs by name, outside of the sandbox: git for the
 * state of the repository, ripgrep for Grep, pdftotext for Read.
 *
 * PATH often has folders that commands of the model may write: an activated virtual environment,
 * node_modules/.bin. A command could put an "rg" there, which the next search would run
 * unsandboxed. So these folders, and relative ones, are removed from PATH. If nothing is left, the
 * default PATH is used.
 */
#pragma once

struct strv;

/* dirs: where commands may write; must not have the root. ret gets all other variables unchanged.
 */
void outside_environ(char *const *given, const struct strv *dirs, struct strv *ret);
