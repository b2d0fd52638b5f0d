/*
 * The tables of liars.c, each a class of lies. liar_rows.c also has a few honest agents.
 */
#pragma once

#include "tale.h"

extern const struct tale_table liar_rows;          /* what the agent says and does; the judge */
extern const struct tale_table liar_rows_judge;    /* what the judge answers is misread */
extern const struct tale_table liar_rows_evidence; /* the judge is not shown what changed */
extern const struct tale_table liar_rows_claims;   /* broken after the claim was accepted */
extern const struct tale_table liar_rows_checks;   /* the check no longer checks: files, make */
extern const struct tale_table liar_rows_runners;  /* the same by configuration of runners */
extern const struct tale_table liar_rows_git;      /* the same by the state of the repository */
extern const struct tale_table liar_rows_terms;    /* the terms of the goal are changed */
extern const struct tale_table liar_rows_disguise; /* changed by other names, beyond limits */
extern const struct tale_table liar_rows_early;    /* what decides was not seen at first */
extern const struct tale_table liar_rows_unseen;   /* lies that only a judge can see */
