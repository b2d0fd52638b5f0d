/*
 * The session's goal and its place in the house: what goal/goal.h needs of settings, models, hooks,
 * background commands and the transcript. Made on the thread that makes the host.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct cancel;
struct conf;
struct err;
struct event;
struct goal;
struct goals;
struct hook_registry;
struct hub;
struct models;
struct net;
struct permit;
struct sandbox;
struct session;
struct spending;
struct strv;
struct workspace;

/* Everything is lent and outlives it. */
struct goals_spec {
    const struct conf *conf;
    struct cancel *cancel;
    struct hub *hub;
    struct session *session;
    struct hook_registry *registry;
    struct workspace *workspace;
    struct permit *permit;
    struct sandbox *sandbox; /* NULL: none */
    struct models *models;
    struct spending *spending;
    bool is_interactive;
    void (*emit)(void *arg, struct event *e);
    int (*wake)(void *arg, struct err *err);
    void (*notify)(void *arg, const char *type, struct str message);
    struct net *(*net)(void *arg, struct err *err);
    void *arg;
};

int goals_new(const struct goals_spec *spec, struct strv *ret_notes, struct goals **ret,
              struct err *err);
void goals_free(struct goals *g); /* NULL is fine */
struct goal *goals_goal(struct goals *g);
