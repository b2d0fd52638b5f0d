/*
 * handover: retries the lock while its holder is ending or seems to. Waiting for a file lock could
 * not be cancelled. The caller's thread.
 */
#include "host/socket/handover.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "host/socket/socket_call.h"
#include "store/hold.h"
#include "sync/cancel.h"

#define HANDOVER_MS 10000     /* for a holder that has agreed to end */
#define HANDOVER_MUTE_MS 3000 /* for one without a socket: it is starting or ending */
#define HANDOVER_CALL_MS 2000
#define HANDOVER_BUSY_MS 1000 /* for one that says it is busy: its last turn may be ending */
#define HANDOVER_LOOK_MS 5
#define HANDOVER_TELL_MS 500 /* shorter waits are not reported */
#define HANDOVER_REQUEST "{\"subtype\":\"release_session\"}"

enum holder_answer {
    HOLDER_KEEPS,
    HOLDER_IS_BUSY, /* but that may change in a moment */
    HOLDER_ENDS,
    HOLDER_MUTE,
};

static enum holder_answer handover_ask(const char *home, const char *session, struct cancel *cancel)
{
    CLEANUP(holder_release) struct holder who = {0};
    CLEANUP(buf_release) struct buf answer = BUF_INIT(BUF_NO_LIMIT);
    char host[HOST_NAME_MAX + 1] = "";
    struct err err = {0};

    if (hold_look(home, session, &who, /*err=*/NULL) <= 0 || !who.pid)
        return HOLDER_MUTE; /* gone in the meantime, or about to write its name */
    (void)gethostname(host, sizeof(host) - 1);
    if (who.pid == getpid() || !str_is(buf_str(&who.host), host))
        return HOLDER_KEEPS;
    if (socket_call(buf_cstr(&who.socket), session, STR(HANDOVER_REQUEST), HANDOVER_CALL_MS, cancel,
                    &answer, &err) == 0)
        return HOLDER_ENDS;
    /* A socket that is gone or closes belongs to a process that is exiting. */
    return err.code == ERR_NOT_FOUND || err.code == ERR_PROTOCOL ? HOLDER_MUTE : HOLDER_IS_BUSY;
}

static void handover_tell(const char *home, const char *session, enum holder_answer answer,
                          void (*on_wait)(const char *text))
{
    CLEANUP(holder_release) struct holder who = {0};
    CLEANUP(buf_release) struct buf text = BUF_INIT(1024);

    buf_addf(&text, "session %s is open in another process", session);
    if (hold_look(home, session, &who, /*err=*/NULL) > 0 && who.pid)
        buf_addf(&text, " (pid %" PRId64 ")", who.pid);
    buf_adds(&text, answer == HOLDER_IS_BUSY ? " that is working; waiting a moment for it"
                                             : "; waiting for it to end");
    on_wait(buf_cstr(&text));
}

int handover_take(const char *home, const char *session, const char *socket,
                  void (*on_wait)(const char *text), struct cancel *cancel, struct hold **ret,
                  struct err *err)
{
    int64_t began_ms = clock_mono_ms();
    enum holder_answer answer = HOLDER_MUTE;
    bool told = false;

    for (;;) {
        struct err why = {0};
        int64_t waited_ms = clock_mono_ms() - began_ms;

        if (hold_take(home, session, socket, ret, &why) == 0)
            return 0;
        if (why.code == ERR_BUSY && (answer == HOLDER_MUTE || answer == HOLDER_IS_BUSY))
            answer = handover_ask(home, session, cancel);
        if (why.code != ERR_BUSY || answer == HOLDER_KEEPS || waited_ms >= HANDOVER_MS ||
            (answer == HOLDER_MUTE && waited_ms >= HANDOVER_MUTE_MS) ||
            (answer == HOLDER_IS_BUSY && waited_ms >= HANDOVER_BUSY_MS))
            return err_set(err, why.code, "%s", why.text);
        if (on_wait && !told && waited_ms >= HANDOVER_TELL_MS) {
            handover_tell(home, session, answer, on_wait);
            told = true;
        }
        if (cancel_wait(cancel, answer == HOLDER_IS_BUSY ? 50 : HANDOVER_LOOK_MS, err) < 0)
            return -1;
    }
}
