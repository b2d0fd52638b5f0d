#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>

#include "base/err.h"
#include "base/mem.h"
#include "sync/mailbox.h"
#include "sync/signals.h"
#include "sync/thread.h"
#include "unit.h"

struct signal_mail {
    struct mail mail;
    int signo;
};

static void signal_mail_free(struct mail *m)
{
    free(m);
}

static const struct mail_kind signal_mail_kind = {"signal", signal_mail_free};

static void forward(int signo, void *arg)
{
    struct signal_mail *m = mem_zalloc(sizeof(*m));

    m->mail.kind = &signal_mail_kind;
    m->signo = signo;
    mailbox_send(arg, &m->mail);
}

static void raise_all(void *arg)
{
    const int *signo = arg;

    kill(getpid(), *signo);
}

static void test_signals(void **state)
{
    static const int rows[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT, SIGINT};
    struct mailbox *mb = mailbox_new();
    struct err err = {0};
    sigset_t usr1;
    sigset_t now;
    struct sigaction pipe_action;

    (void)state;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(signals_start(forward, mb, &err), 0);
        assert_true(sigismember(signals_original(), SIGUSR1));
        assert_false(sigismember(signals_original(), SIGINT));
        pthread_sigmask(SIG_SETMASK, NULL, &now);
        assert_true(sigismember(&now, SIGINT) && sigismember(&now, SIGCHLD));
        sigaction(SIGPIPE, NULL, &pipe_action);
        assert_ptr_equal(pipe_action.sa_handler, SIG_IGN);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            int signo = rows[i];
            struct thread *t = thread_start("raise", raise_all, &signo, NULL);
            struct mail *m = NULL;

            assert_int_equal(mailbox_take(mb, NULL, -1, &m, &err), 0);
            assert_int_equal(((struct signal_mail *)m)->signo, rows[i]);
            mail_free(m);
            thread_join(t);
        }
        signals_stop();
        pthread_sigmask(SIG_SETMASK, NULL, &now);
        assert_false(sigismember(&now, SIGINT));
        assert_true(sigismember(&now, SIGUSR1));
        sigaction(SIGPIPE, NULL, &pipe_action);
        assert_ptr_equal(pipe_action.sa_handler, SIG_DFL);
    }
    signals_stop(); /* once more does nothing */
    mailbox_unref(mb);
}

/* nohup(1), or `&` in a script: ignored before the start stays ignored. */
static void test_ignored_stays_ignored(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    struct mailbox *mb = mailbox_new();
    struct mail *m = NULL;
    struct err err = {0};

    (void)state;
    sigaction(SIGHUP, &ignore, &before);
    assert_int_equal(signals_start(forward, mb, &err), 0);
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGWINCH);
    assert_int_equal(mailbox_take(mb, NULL, -1, &m, &err), 0);
    assert_int_equal(((struct signal_mail *)m)->signo, SIGWINCH);
    mail_free(m);
    signals_stop();
    sigaction(SIGHUP, &before, NULL);
    mailbox_unref(mb);
}

static void send_and_take(struct mailbox *mb, int signo)
{
    struct mail *m = NULL;
    struct err err = {0};

    kill(getpid(), signo);
    assert_int_equal(mailbox_take(mb, NULL, -1, &m, &err), 0);
    assert_int_equal(((struct signal_mail *)m)->signo, signo);
    mail_free(m);
}

/* A screen takes them for a while. */
static void test_diverted(void **state)
{
    struct mailbox *usual = mailbox_new();
    struct mailbox *screen = mailbox_new();
    struct err err = {0};

    (void)state;
    assert_int_equal(signals_start(forward, usual, &err), 0);
    send_and_take(usual, SIGTERM);
    signals_divert(forward, screen);
    send_and_take(screen, SIGTERM);
    send_and_take(screen, SIGWINCH);
    signals_divert(NULL, NULL);
    send_and_take(usual, SIGINT);
    assert_null(mailbox_try(screen));
    assert_null(mailbox_try(usual));
    signals_stop();
    mailbox_unref(usual);
    mailbox_unref(screen);
}

/* Of one signal, besides its receiver. */
static void test_watched(void **state)
{
    struct mailbox *usual = mailbox_new();
    struct mailbox *watcher = mailbox_new();
    struct err err = {0};

    (void)state;
    assert_int_equal(signals_start(forward, usual, &err), 0);
    signals_watch(SIGWINCH, forward, watcher);
    send_and_take(usual, SIGWINCH);
    mail_free(mailbox_try(watcher));
    send_and_take(usual, SIGTERM);
    assert_null(mailbox_try(watcher));
    signals_watch(0, NULL, NULL);
    send_and_take(usual, SIGWINCH);
    assert_null(mailbox_try(watcher));
    signals_stop();
    mailbox_unref(usual);
    mailbox_unref(watcher);
}

UNIT_TEST(signals)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_ignored_stays_ignored),
        cmocka_unit_test(test_diverted),
        cmocka_unit_test(test_watched),
    };

    signal(SIGHUP, SIG_DFL); /* also when the tests themselves run under nohup */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
