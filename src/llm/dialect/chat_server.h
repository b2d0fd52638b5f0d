/*
 * The servers that offer chat completions, and their differences.
 *
 * One row per server, found by the provider's name, else by the model's, because a model behind a
 * gateway keeps most of its properties. To add one: a row in chat_server.c, and its requests in the
 * test.
 */
#pragma once

#include "base/str.h"

struct model;

/* How thinking is switched on and off, besides reasoning_effort. */
enum chat_switch {
    SWITCH_NONE,
    SWITCH_TYPE,     /* thinking:{type:"enabled|disabled"} */
    SWITCH_ENABLE,   /* enable_thinking, thinking_budget */
    SWITCH_TEMPLATE, /* chat_template_kwargs:{enable_thinking} */
    SWITCH_OBJECT,   /* reasoning:{effort,max_tokens} instead of reasoning_effort */
};

enum chat_habit {
    CHAT_SHORT_IDS = 1 << 0,   /* tool ids are nine letters and digits */
    CHAT_AUTO_CHOICE = 1 << 1, /* supports no tool_choice but auto */
    CHAT_TOOL_STREAM = 1 << 2, /* streams arguments only if requested */
    CHAT_CALLS_NEED_REASONING =
        1 << 3, /* rejects a turn with calls but without reasoning_content */
    CHAT_REASONING_WITH_CALLS = 1 << 4, /* reasoning is sent back only together with calls */
    CHAT_PROGRESS = 1 << 5,             /* reports prompt progress if requested */
    CHAT_SILENT_OVERFLOW = 1 << 6,      /* silently truncates a prompt larger than the window */
    CHAT_FILES = 1 << 7,                /* accepts documents */
};

struct chat_server {
    const char *provider;
    const char *model; /* prefix of the model's name after the last '/', or NULL */
    enum chat_switch thinking;
    unsigned habits;
};

const struct chat_server *chat_server_find(const struct model *model); /* never NULL */
