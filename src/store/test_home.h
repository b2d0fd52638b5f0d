/*
 * Test helper: writes sessions of a home line by line.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"

#define HOME_ID(n) "0000000" #n "-1111-4222-8333-444444444444"

static char test_home[] = "/tmp/tenax-home-XXXXXX";

static inline void home_rm(int at, const char *name)
{
    int fd;
    DIR *d;

    if (unlinkat(at, name, 0) == 0)
        return;
    fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            home_rm(dirfd(d), e->d_name);
    }
    closedir(d);
    unlinkat(at, name, AT_REMOVEDIR);
}

static inline int home_setup(void **state)
{
    (void)state;
    return mkdtemp(test_home) ? 0 : -1;
}

static inline int home_teardown(void **state)
{
    (void)state;
    home_rm(AT_FDCWD, test_home);
    return 0;
}

static inline void home_clear(void)
{
    home_rm(AT_FDCWD, test_home);
    if (mkdir(test_home, 0700) < 0)
        abort();
}

static inline char *home_path(const char *project, const char *id)
{
    char path[500];

    snprintf(path, sizeof(path), "%s/projects/%s/%s.jsonl", test_home, project, id);
    return mem_dup(path, strlen(path));
}

/* Appends text to a session's file. */
static inline void home_append(const char *project, const char *id, const char *text)
{
    CLEANUP(mem_freep) char *path = home_path(project, id);
    CLEANUP(mem_freep) char *dir = path_dirname(path);
    int fd;

    if (file_mkdirs(dir, 0700, NULL) < 0)
        abort();
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, str_of(text), NULL) < 0)
        abort();
    close(fd);
}

/* Appends a message with this second of a fixed day as its time. */
static inline void home_say(const char *project, const char *id, const char *kind, int second,
                            const char *text)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(BUF_NO_LIMIT);

    buf_addf(&line,
             "{\"parentUuid\":null,\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/w\","
             "\"sessionId\":\"%s\",\"version\":\"0.1.0\",\"gitBranch\":\"main\",\"type\":\"%s\","
             "\"uuid\":\"00000000-0000-4000-8000-%012d\","
             "\"timestamp\":\"2026-11-14T%02d:%02d:%02d.000Z\",\"message\":{\"role\":\"%s\","
             "\"content\":\"%s\"}}\n",
             id, kind, second, second / 3600, second / 60 % 60, second % 60, kind, text);
    home_append(project, id, buf_cstr(&line));
}
