/*
 * Requests about commands in the background, for control.c.
 *
 * stop_task {task_id}. get_task_output {task_id}: output (the end of it), total_bytes, truncated.
 * background_tasks {tool_use_id?}: the command of that call, or all that run in the foreground, go
 * on in the background; with an id `backgrounded` says whether there was one.
 */
#pragma once

struct control_call;
struct err;
struct jw;

int control_stop_task(struct control_call *call, struct jw *w, struct err *err);
int control_get_task_output(struct control_call *call, struct jw *w, struct err *err);
int control_background_tasks(struct control_call *call, struct jw *w, struct err *err);
