/*
 * Numbers every cancellable wait and every durable write, so that tests can stop or kill the
 * program at exactly the n-th one.
 *
 * Outside test mode wait_point() costs one relaxed load. Tests set TENAX_TEST_POINT to "cancel:N"
 * (set the token passed at the N-th point), "interrupt:N" (raise SIGINT, like Ctrl-C),
 * "terminate:N" (SIGTERM), "kill:N" (SIGKILL) or "count" (print the total on stderr at exit).
 * Before a signal, "wait point N at T us" is printed with the monotonic time, so that a test can
 * measure how long the end took.
 */
#pragma once

struct cancel;

enum wait_kind {
    WAIT_MAIL,
    WAIT_POLL,
    WAIT_CHILD,
    WAIT_WRITE,
};

void wait_test_mode(const char *spec); /* called by main() if the variable is set */
void wait_point(enum wait_kind kind, struct cancel *cancel);
