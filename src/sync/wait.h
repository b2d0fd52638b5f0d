/*
 * Every cancellable wait and every durable write has a number, so that tests can stop or kill the
 * program at exactly the n-th one.
 *
 * Outside test mode wait_point() costs one relaxed load. Tests set TENAX_TEST_POINT to "cancel:N"
 * (the token passed at the N-th point is set), "interrupt:N" (SIGINT to ourselves, like Ctrl-C
 * there), "terminate:N" (SIGTERM), "kill:N" (SIGKILL) or "count" (the total is printed on stderr at
 * exit). Before a signal "wait point N at T us" is printed there, by the monotonic clock, so that a
 * test can tell how long the end took.
 */
#pragma once

struct cancel;

enum wait_kind {
    WAIT_MAIL,
    WAIT_POLL,
    WAIT_CHILD,
    WAIT_WRITE,
};

void wait_test_mode(const char *spec); /* from main(), when the variable is set */
void wait_point(enum wait_kind kind, struct cancel *cancel);
