/*
 * Giving the terminal back when the process ends without term_close(): by exit() or by a crash.
 *
 * One terminal at a time. The handler writes bytes that were prepared before and restores the mode;
 * then the signal does what it would have done. The thread that arms it gets a stack for it, so
 * that it works when that thread's own has overflown.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct termios;

/* bytes: kept a copy of, at most 255 of them. */
void rescue_arm(int fd, const struct termios *mode, struct str bytes);
void rescue_alternate(bool on); /* the alternate screen is left first */
void rescue_disarm(void);
