/*
 * How much of a subscription is used up, as the server says in the headers of each answer
 * ("anthropic-ratelimit-unified-5h-utilization" and its like). Keys that are paid by use have none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct jw;
struct strv;

struct llm_rate_window {
    bool known;
    double used;       /* 0 to 1, and above */
    int64_t resets_at; /* seconds since 1970; 0: not said */
};

struct llm_rate {
    bool known; /* one of the windows is */
    struct llm_rate_window five_hour, seven_day;
    char status[24]; /* "allowed", "allowed_warning", "rejected"; or empty */
    char claim[24];  /* the window that the status is about: "five_hour"; or empty */
};

/* headers: "name: value" lines as net_mail has them. */
void llm_rate_read(const struct strv *headers, struct llm_rate *ret);
/* The members "five_hour" and "seven_day", as scripts of status lines read them; percentages are
 * whole numbers. */
void llm_rate_write(struct jw *w, const struct llm_rate *r);
