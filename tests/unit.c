/*
 * Runs one of the test files that are linked into this program.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

static struct unit *units;

void unit_add(struct unit *u)
{
    u->next = units;
    units = u;
}

int main(int argc, char **argv)
{
    for (struct unit *u = units; u; u = u->next) {
        if (argc < 2)
            puts(u->name);
        else if (strcmp(u->name, argv[1]) == 0)
            return u->run(argc - 1, argv + 1);
    }
    if (argc > 1)
        fprintf(stderr, "%s: no test file is called '%s'\n", argv[0], argv[1]);
    return argc > 1;
}
