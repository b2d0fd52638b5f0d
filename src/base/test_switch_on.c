/*
 * test_switch: of a build with tests.
 */
#include "base/test_switch.h"

#include <stdlib.h>

const char *test_switch(const char *name)
{
    return getenv(name);
}
