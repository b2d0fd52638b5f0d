/*
 * How much of a subscription is used, as reported in the headers of each answer
 * ("anthropic-ratelimit-unified-5h-utilization" and similar). Pay-per-use keys have none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct jw;
struct strv;

struct llm_rate_window {
    bool known;
    double used;       /* 0 to 1, or more */
    int64_t resets_at; /* seconds since 1970; 0 = unknown */
};

struct llm_rate {
    bool known; /* at least one window is known */
    struct llm_rate_window five_hour, seven_day;
    char status[24]; /* "allowed", "allowed_warning", "rejected"; or empty */
    char claim[24];  /* the window that the status is about: "five_hour"; or empty */
};

/* headers: "name: value" lines as net_mail has them. */
void llm_rate_read(const struct strv *headers, struct llm_rate *ret);
/* Writes the members "five_hour" and "seven_day" in the form that status line scripts read;
 * percentages are integers. */
void llm_rate_write(struct jw *w, const struct llm_rate *r);
