/*
 * Requests about settings, for control.c.
 *
 * get_settings: the current values, and their files. apply_flag_settings {settings}: over all
 * others but managed ones, for this session; a null removes an applied value. update_settings
 * {source, settings}: written into tenax's own file of the user ("userSettings": effortLevel) or of
 * this project ("localSettings": outputStyle), if the session reads it. All or nothing: other keys,
 * and values that a settings file cannot have, are an error.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_get_settings(struct control_call *call, struct jw *w, struct err *err);
int control_apply_flag_settings(struct control_call *call, struct jw *w, struct err *err);
int control_update_settings(struct control_call *call, struct jw *w, struct err *err);
