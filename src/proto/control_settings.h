/*
 * Requests about settings, for control.c.
 *
 * get_settings: what counts now, and the files it was read from. apply_flag_settings {settings}:
 * over all others but managed ones, for this session; a null takes back what was applied before.
 * update_settings {source, settings}: written into tenax's own file of the user ("userSettings") or
 * of this project ("localSettings"); objects are joined with what is there, lists and values take
 * its place, a null takes it out. All or nothing: what a settings file could not have is an error.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_get_settings(struct control_call *call, struct jw *w, struct err *err);
int control_apply_flag_settings(struct control_call *call, struct jw *w, struct err *err);
int control_update_settings(struct control_call *call, struct jw *w, struct err *err);
