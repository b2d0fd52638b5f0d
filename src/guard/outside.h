/*
 * The environment of programs that tenax itself runs by their names, outside of the sandbox: git
 * for the state of the repository, ripgrep for Grep, pdftotext for Read.
 *
 * PATH often names folders that commands of the model may write: the virtual environment that is
 * activated, node_modules/.bin. A command could leave an "rg" there, and have it run unconfined by
 * the next search. So these are left out of PATH, and so are folders that are not absolute. If
 * nothing remains, the usual PATH is used.
 */
#pragma once

struct strv;

/* dirs: where commands may write; the root is none of them, or nothing would be found. ret gets
 * everything else of the given variables as it is. */
void outside_environ(char *const *given, const struct strv *dirs, struct strv *ret);
