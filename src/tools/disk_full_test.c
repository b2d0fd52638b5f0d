/*
 * A full disk: the tools that write report it, and the old content is still there. Needs a small
 * separate file system, so it is skipped (77) where none can be mounted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tools/entries.h"
#include "tools/tool_check.h"
#include "unit.h"

#define TEXT_BYTES 40000 /* fits once, not twice */

static void the_old_content_stays(void **state)
{
    static const struct {
        const struct tool_entry *entry;
        const char *args; /* %s: a text of TEXT_BYTES */
    } cases[] = {
        {&tool_write_entry, "{\"file_path\":\"a\",\"content\":\"%s\"}"},
        {&tool_write_entry, "{\"file_path\":\"new/b\",\"content\":\"%s\"}"},
        {&tool_edit_entry, "{\"file_path\":\"a\",\"old_string\":\"y\",\"new_string\":\"%s\"}"},
        {&tool_multi_edit_entry, "{\"file_path\":\"a\",\"edits\":[{\"old_string\":\"y\","
                                 "\"new_string\":\"%s\"}]}"},
    };
    struct tool_check t;
    struct buf old = BUF_INIT(BUF_NO_LIMIT);
    struct buf text = BUF_INIT(BUF_NO_LIMIT);

    (void)state;
    tool_check_begin(&t);
    assert_int_equal(mount("tmpfs", t.dir, "tmpfs", 0, "size=64k"), 0);
    for (int i = 0; i < TEXT_BYTES; i++) {
        buf_addc(&old, i % 100 == 99 ? '\n' : 'x');
        buf_addc(&text, 'z');
    }
    old.ptr[0] = 'y';
    tool_check_put(&t, "a", buf_str(&old));
    assert_true(tool_check_run(&t, &tool_read_entry, "{\"file_path\":\"a\"}"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str head = str_of(cases[i].args);
        struct buf args = BUF_INIT(BUF_NO_LIMIT);
        size_t at = str_find(head, STR("%s"));
        struct dirent *e;
        DIR *dir;

        buf_add(&args, str_first(head, at));
        buf_add(&args, buf_str(&text));
        buf_add(&args, str_from(head, at + 2));
        if (tool_check_run(&t, cases[i].entry, buf_cstr(&args)))
            fail_msg("row %zu: wrote more than the disk holds", i);
        ASSERT_SAYS(&t, "No space left on device");
        assert_true(str_eq(tool_check_get(&t, "a"), buf_str(&old)));
        buf_release(&args);
        dir = opendir(t.dir);
        for (e = readdir(dir); e; e = readdir(dir)) {
            if (e->d_name[0] == '.' && strlen(e->d_name) > 2)
                fail_msg("row %zu: '%s' was left behind", i, e->d_name);
        }
        closedir(dir);
    }
    assert_int_equal(umount(t.dir), 0);
    buf_release(&old);
    buf_release(&text);
    tool_check_end(&t);
}

static bool put(const char *path, const char *text)
{
    CLEANUP(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Private mounts, as any user: files of unmapped users cannot be made. */
static bool leave(void)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();
    char uids[64];
    char gids[64];

    snprintf(uids, sizeof(uids), "%u %u 1\n", uid, uid);
    snprintf(gids, sizeof(gids), "%u %u 1\n", gid, gid);
    if (unshare(CLONE_NEWNS) < 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !put("/proc/self/setgroups", "deny") ||
         !put("/proc/self/uid_map", uids) || !put("/proc/self/gid_map", gids)))
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

UNIT_TEST(disk_full)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_old_content_stays),
    };

    if (!leave()) {
        printf("skipped: no mounts of our own here (%s)\n", strerror(errno));
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
