/*
 * How a client begins with a session: the control request "initialize", and its lists, which other
 * requests give again (control.c).
 */
#pragma once

#include <stdbool.h>

struct control_call;
struct err;
struct jw;
struct slash;

/* As the other rows of control.c: writes the members of the response. */
int control_initialize(struct control_call *call, struct jw *w, struct err *err);

/* The member "models". */
void control_write_models(struct control_call *call, struct jw *w);
/* The member "available_output_styles". */
void control_write_styles(struct control_call *call, struct jw *w);
/* What may be typed instead of a prompt, or only the skills of it: an array. */
void control_write_commands(struct slash *slash, struct jw *w, bool skills_only);
/* All commands, as the client gets them, or (answer NULL) gets them again when they have changed.
 */
void control_say_commands(struct control_call *call, struct jw *answer);
