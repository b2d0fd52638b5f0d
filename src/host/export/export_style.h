/*
 * The style of an exported document: one function for each element; for export.c. Each appends;
 * texts are as in the transcript.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct store_session;

struct export_style {
    void (*begin)(struct buf *out, const struct store_session *row);
    void (*speaker)(struct buf *out, const char *who, struct str model, int64_t time_ms);
    void (*text)(struct buf *out, struct str text);
    /* A collapsible part: title, and the text in a fixed-width font. */
    void (*folded)(struct buf *out, const char *kind, struct str title, struct str text);
    void (*image)(struct buf *out, struct str media_type, struct str base64);
    void (*note)(struct buf *out, struct str text);
    void (*end)(struct buf *out);
};

extern const struct export_style export_markdown;
extern const struct export_style export_html;

/* "2026-11-15 08:52" in local time; nothing for 0. */
void export_time(struct buf *out, int64_t time_ms);
/* Lines with label and value; empty ones are omitted. */
void export_facts(const struct store_session *row,
                  void (*fn)(void *arg, const char *label, struct str value), void *arg);
