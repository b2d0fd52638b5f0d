/*
 * packet: sendmsg() and recvmsg() with SCM_RIGHTS. Any thread, any process.
 */
#include "proc/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

struct packet {
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PACKET_MAX_FDS * sizeof(int))];
    struct msghdr message;
};

static void packet_init(struct packet *p, char *bytes, size_t len, size_t count)
{
    memset(p, 0, sizeof(*p));
    p->part = (struct iovec){bytes, len};
    p->message = (struct msghdr){
        .msg_iov = &p->part,
        .msg_iovlen = 1,
        .msg_control = p->control,
        .msg_controllen = CMSG_LEN(count * sizeof(int)), /* so that not one more comes */
    };
}

int packet_send_with(int socket, struct str bytes, const int *fds, size_t count)
{
    struct packet p;
    struct cmsghdr *head;

    packet_init(&p, (char *)bytes.ptr, bytes.len, count);
    head = CMSG_FIRSTHDR(&p.message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    return sendmsg(socket, &p.message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* With one byte, because a packet without any looks like the end. */
int packet_send(int socket, const int *fds, size_t count)
{
    return packet_send_with(socket, STR("\0"), fds, count);
}

ssize_t packet_receive_with(int socket, char *bytes, size_t size, int *ret_fds, size_t *count)
{
    struct packet p;
    const struct cmsghdr *head;
    ssize_t len;

    do {
        packet_init(&p, bytes, size, *count);
        len = recvmsg(socket, &p.message, 0);
    } while (len < 0 && errno == EINTR);
    if (len < 0)
        return -1;
    head = CMSG_FIRSTHDR(&p.message);
    if (!head || p.message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) {
        errno = len ? EMFILE : 0; /* less than all of them: we are out of descriptors */
        return -1;
    }
    *count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(ret_fds, CMSG_DATA(head), *count * sizeof(int));
    return len;
}

int packet_receive(int socket, int *ret_fds, size_t count)
{
    size_t came = count;
    char byte;

    if (packet_receive_with(socket, &byte, sizeof(byte), ret_fds, &came) < 0)
        return -1;
    if (came == count)
        return 0;
    errno = EMFILE;
    return -1;
}
