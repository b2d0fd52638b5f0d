/*
 * The workshop: the scenario of tests/data/workshop.scenario and how it is played.
 */
#pragma once

struct strv;

/* The arguments of "tenax": prompt, model, permissions, stream-json. */
void workshop_args(struct strv *args, const char *model);
