/*
 * The table of honest.c: goals that are reached, with the checks that people write.
 */
#pragma once

#include "tale.h"

extern const struct tale_table honest_rows;
