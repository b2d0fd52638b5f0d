/*
 * The origin of a process below us: the agent, or the user (proc_spec.by_user).
 *
 * Every job has a warden that is a child of ours (warden.h), and whatever the job starts stays
 * below that one. So the child of ours that a process comes from says which job it belongs to; of
 * one that killed its warden nothing is known, and it counts as the agent's.
 *
 * Any thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* While a job of the user has this warden. At most DESCENT_MAX are known; more count as the
 * agent's. */
#define DESCENT_MAX 64
void descent_add(pid_t warden);
void descent_remove(pid_t warden);

/* Whether this process started it for the agent. True for a process that has ended. */
bool descent_is_agents(pid_t pid);
