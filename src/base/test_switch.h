/*
 * Variables of the environment by which tests change how the program behaves (TENAX_TEST_…).
 *
 * They exist where the tests are built, and nowhere else: whatever the environment of an installed
 * program holds, it means nothing there. Any thread.
 */
#pragma once

/* NULL: not set, or a build without tests. */
const char *test_switch(const char *name);
