#include "stats.h"

#include <stdio.h>

static int failed;

static void check(const char *what, double got, double want)
{
    printf("%-24s %s", what, got == want ? "ok\n" : "");
    if (got == want)
        return;
    printf("FAILED: %g instead of %g\n", got, want);
    failed++;
}

int main(void)
{
    int odd[] = {3, 1, 2};
    int even[] = {4, 1, 3, 2};
    int below[] = {-3, -4};

    check("mean of 1 2 3", stats_mean(odd, 3), 2);
    check("mean of 1 2 3 4", stats_mean(even, 4), 2.5);
    check("mean of -3 -4", stats_mean(below, 2), -3.5);
    check("median of 1 2 3", stats_median(odd, 3), 2);
    check("median of 1 2 3 4", stats_median(even, 4), 2.5);
    check("median of nothing", stats_median(NULL, 0), 0);
    printf("%d failed\n", failed);
    return failed > 0;
}
