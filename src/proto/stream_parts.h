/*
 * The parts of the renderer, for stream_json.c: each appends the lines of its events.
 */
#pragma once

struct buf;
struct event;
struct stream_json;

void stream_step_started(struct stream_json *r, const struct event *e, struct buf *out);
void stream_step_block(struct stream_json *r, const struct event *e, struct buf *out);
void stream_step_cut(struct stream_json *r, const struct event *e, struct buf *out);
void stream_step_done(struct stream_json *r, const struct event *e, struct buf *out);
void stream_step_void(struct stream_json *r, const struct event *e);
void stream_steps_release(struct stream_json *r);

void stream_turn_done(struct stream_json *r, const struct event *e, struct buf *out);

void stream_goal(const struct event *e, struct buf *out);
void stream_active_goal(const struct event *e, struct buf *out);
void stream_command(const struct event *e, struct buf *out);
