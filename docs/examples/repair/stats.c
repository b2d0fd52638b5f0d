#include "stats.h"

#include <stdlib.h>

double stats_mean(const int *v, size_t n)
{
    int sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / n : 0;
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;

    return (x > y) - (x < y);
}

double stats_median(int *v, size_t n)
{
    if (!n)
        return 0;
    qsort(v, n, sizeof(*v), by_value);
    return v[n / 2];
}
