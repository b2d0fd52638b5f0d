/*
 * packet: sendmsg() and recvmsg() with SCM_RIGHTS. Any thread, any process.
 */
#include "proc/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* The byte is there because a packet without any looks like the end. */
struct packet {
    char byte;
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(PACKET_MAX_FDS * sizeof(int))];
    struct msghdr message;
};

static void packet_init(struct packet *p, size_t count)
{
    memset(p, 0, sizeof(*p));
    p->part = (struct iovec){&p->byte, sizeof(p->byte)};
    p->message = (struct msghdr){
        .msg_iov = &p->part,
        .msg_iovlen = 1,
        .msg_control = p->control,
        .msg_controllen = CMSG_SPACE(count * sizeof(int)),
    };
}

int packet_send(int socket, const int *fds, size_t count)
{
    struct packet p;
    struct cmsghdr *head;

    packet_init(&p, count);
    head = CMSG_FIRSTHDR(&p.message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    return sendmsg(socket, &p.message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

int packet_receive(int socket, int *ret_fds, size_t count)
{
    struct packet p;
    const struct cmsghdr *head;
    ssize_t len;

    do {
        packet_init(&p, count);
        len = recvmsg(socket, &p.message, 0);
    } while (len < 0 && errno == EINTR);
    if (len < 0)
        return -1;
    head = CMSG_FIRSTHDR(&p.message);
    if (!head || head->cmsg_len != CMSG_LEN(count * sizeof(int))) {
        errno = len ? EMFILE : 0; /* less than all of them: we are out of descriptors */
        return -1;
    }
    memcpy(ret_fds, CMSG_DATA(head), count * sizeof(int));
    return 0;
}
