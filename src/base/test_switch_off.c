/*
 * test_switch: of a build without tests.
 */
#include "base/test_switch.h"

#include <stddef.h>

const char *test_switch(const char *name)
{
    (void)name;
    return NULL;
}
