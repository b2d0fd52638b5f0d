#pragma once

#include <stddef.h>

double stats_mean(const int *v, size_t n); /* 0 for an empty list */
double stats_median(int *v, size_t n);     /* sorts v; 0 for an empty list */
