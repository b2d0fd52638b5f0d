/*
 * A confinement made ready: bytes and descriptors that a warden needs to put it into force by plain
 * system calls alone (confine_enter.h). The thread that calls proc_start() makes it; the bytes
 * travel inside the plan (launch.h) and may lie anywhere in memory. Private to this folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"
#include "proc/confine_map.h"

struct confinement;
struct err;
struct observer;
struct proc_spec;

/* As they are sent; unneeded ones are left out. */
enum confine_fd {
    CONFINE_PROXY,   /* where connections are passed on */
    CONFINE_RECORDS, /* where is written what the job does */
    CONFINE_USER,    /* namespaces of a private folder, and the root in them */
    CONFINE_MOUNTS,
    CONFINE_ROOT,
    CONFINE_FDS,
};

/* What Landlock is to keep within the job. */
enum confine_image_rules {
    CONFINE_RULES_NONE,
    CONFINE_RULES_SCOPES, /* signals and abstract sockets */
    CONFINE_RULES_FILES,  /* these, and all files but those of the rules */
};

struct confine_image_step {
    enum confine_step_what what;
    bool is_dir;
    bool has_inner;
    int tree;    /* the warden's: a copy of the existing tree, not yet mounted */
    size_t path; /* from the image's start */
};

/* Paths, from the image's start. The lower ones follow each other, each with its end. */
struct confine_image_overlay {
    size_t at;
    size_t upper;
    size_t work;
    size_t lower;
    size_t lower_count;
};

struct confine_image {
    int namespaces; /* flags of unshare(2) */
    bool is_view;   /* nothing is refused and no right is dropped */
    bool mounts;    /* the steps are taken */
    bool all_writable;
    bool loopback; /* of the network namespace is up */
    bool terminal; /* standard input is the job's own */
    enum confine_image_rules rules;
    uint64_t capabilities; /* kept, as bits */
    size_t steps;          /* from the image's start */
    size_t step_count;
    size_t filter; /* the same: of struct sock_filter */
    unsigned short filter_len;
    bool has_fd[CONFINE_FDS];
    int fds[CONFINE_FDS]; /* the warden's */
    int ruleset;          /* the warden's; -1: none */
    int listener;         /* the warden's: for the proxy; -1: none */
    size_t sockets;       /* from the image's start: paths, each with its end (broker.h) */
    size_t socket_count;  /* 0: nothing asks, and the filter denies such sockets */
    int hand[2];          /* the warden's: the leader gives it `asks` by the second */
    int asks;             /* the warden's; -1: nothing asks */
    size_t overlays;      /* from the image's start; strings inside others come later */
    size_t overlay_count;
    size_t observed; /* from the image's start: folders, each with its end */
    size_t observed_count;
    bool is_sealed;  /* NET_TRIAL: nothing is connected to anything outside */
    bool is_trial;   /* the first call that reaches anything but these ends the job */
    size_t readable; /* from the image's start: paths, each with its end */
    size_t readable_count;
    bool is_stopped;           /* the warden's: there was such a call */
    int request;               /* the warden's: a connection to the port of the proxy; -1: none */
    bool listens;              /* the warden's: some program of the job has */
    struct observer *observer; /* the warden's; NULL: nothing is recorded */
};

/* In tenax. */
struct confine_kit {
    struct buf image;
    int fds[CONFINE_FDS]; /* -1: not needed */
    struct strv sockets;  /* that can be reached by their paths; empty: none is */
};

#define CONFINE_KIT_INIT                                                                           \
    {                                                                                              \
        .image = BUF_INIT(BUF_NO_LIMIT), .fds = { -1, -1, -1, -1, -1 }                             \
    }

/* confine_check() has let it pass. */
int confine_kit_init(struct confine_kit *kit, const struct confinement *c,
                     const struct proc_spec *spec, struct err *err);
/* For a try by ourselves, to be had fast: one of each kind of limit that a job may get, but no rule
 * for any file, and a filter of one instruction. */
int confine_kit_init_try(struct confine_kit *kit, const char *backend, struct err *err);
/* The same for a view: private mounts, and none of them made. */
int confine_kit_init_try_view(struct confine_kit *kit, struct err *err);
void confine_kit_close(struct confine_kit *kit); /* the descriptors, once they are sent */
void confine_kit_release(struct confine_kit *kit);

/* Whether this process may mount without a user namespace. */
bool confine_is_privileged(void);
/* What our own jobs keep: a plain system call. */
uint64_t confine_capabilities(void);
