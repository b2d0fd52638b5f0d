/*
 * Two sessions in one process, each with two agents that stream at once over tests/fake.
 *
 *     at_once FAKE
 *
 * Each session's main agent starts a child that it does not wait for, and both then say a long text
 * at the same time. Every agent's words must come out whole, in order and under its own name; who
 * shows the main agent alone must see nothing of the child, and its end is not the child's; an SDK
 * gets parent_tool_use_id. Both sessions share one network thread and one control socket, where a
 * client names the session that it means. The last part shows a session as `tenax -p` does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/event.h"
#include "agent/spawn.h"
#include "agent/tool.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "bench/bench.h"
#include "check.h"
#include "cmd/cmd.h"
#include "cmd/text.h"
#include "conf/conf.h"
#include "host/events/feed.h"
#include "host/host.h"
#include "host/hub.h"
#include "json/json.h"
#include "llm/message.h"
#include "proc/proc.h"
#include "proto/listen.h"
#include "proto/peer.h"
#include "slash/slash.h"
#include "store/store.h"
#include "sync/cancel.h"
#include "sync/mailbox.h"

#define WORDS 400 /* of each agent's text */

static char dir[] = "/tmp/tenax-at-once-XXXXXX";
static struct bench_server fake;
static struct cancel *cancel;
static struct hub *hub;

/* ---- The tool ---- */

static int child_run(struct tool_call *call, struct tool_result *ret, struct err *err)
{
    struct spawner *s = call->spawner;
    struct spawn_spec spec = {.by = call->identity,
                              .prompt = json_get_str(call->args, "prompt"),
                              .type = STR("Talker"),
                              .tool_id = call->id};
    char id[SPAWN_ID_LEN + 1];

    if (s->start(s, &spec, id, err) < 0)
        return -1;
    buf_adds(&ret->text, id);
    return 0;
}

static const struct tool_entry child_tool = {
    .name = "Child",
    .text = "Starts an agent.",
    .schema = "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\"}}}",
    .flags = TOOL_FREE,
    .run = child_run};

/* ---- What they say ---- */

static void add_words(struct buf *out, const char *who)
{
    for (int i = 0; i < WORDS; i++)
        buf_addf(out, "%s-%d ", who, i);
}

static void write_scenario(const char *path)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
    struct err err = {0};

    buf_adds(&text, "pace 1ms\nstep\n  if-prompt \"job\"\n  text \"");
    add_words(&text, "child");
    buf_adds(&text, "\"\nstep\n  if-prompt \"go\"\n  call Child {\"prompt\":\"job\"}\n"
                    "step\n  text \"");
    add_words(&text, "main");
    buf_adds(&text, "\"\n");
    CHECK(file_replace(path, buf_str(&text), 0600, &err) == 0, "%s", err.text);
}

/* ---- A session ---- */

struct session {
    struct conf *conf;
    struct args args;
    struct host *host;
    struct slash *slash;
    struct mailbox *mail;
    struct observer *all, *plain; /* every agent; the main one alone */
    struct peer_session shared;
    struct peer *peer;
    struct buf lines;         /* of the peer */
    struct buf said[2];       /* by main and child, as `all` has it */
    struct buf said_plain;    /* as `plain` has it */
    bool over_plain, over[2]; /* turns that have ended */
    int turns;                /* of the agent's, how often `all` went from one to the other */
    bool last_is_child;
};

static void keep_lines(void *arg, struct str lines)
{
    buf_add(arg, lines);
}

static void session_open_at(struct session *s, const char *name)
{
    static char variables[2][5][300];
    static size_t used;
    static char *env[2][6];
    char *argv[] = {(char *)"tenax", (char *)"-p", (char *)"--model", (char *)"claude-sonnet-5",
                    NULL};
    CLEANUP(mem_freep) char *work = path_join(dir, name);
    CLEANUP(mem_freep) char *etc = path_join(dir, "etc");
    struct conf_sources from = {.args = &s->args, .trusted = true};
    CLEANUP(strv_release) struct strv notes = STRV_INIT;
    struct stream_json_options show = {0};
    struct host_spec spec = {
        .hub = hub, .args = &s->args, .cancel = cancel, .more = &child_tool, .more_count = 1};
    struct err err = {0};
    size_t n = used++ % 2;

    *s = (struct session){.lines = BUF_INIT(64 << 20), .said_plain = BUF_INIT(1 << 20)};
    for (size_t i = 0; i < 2; i++)
        buf_init(&s->said[i], 1 << 20);
    snprintf(variables[n][0], 300, "HOME=%s/h", dir);
    snprintf(variables[n][1], 300, "TENAX_HOME=%s/h/.tenax", dir);
    snprintf(variables[n][2], 300, "PATH=/usr/local/bin:/usr/bin:/bin");
    snprintf(variables[n][3], 300, "ANTHROPIC_BASE_URL=http://127.0.0.1:%d/s/%s", fake.port, name);
    snprintf(variables[n][4], 300, "ANTHROPIC_API_KEY=any");
    for (size_t i = 0; i < 5; i++)
        env[n][i] = variables[n][i];
    CHECK(file_mkdirs(work, 0700, &err) == 0, "%s", err.text);
    from.dir = work;
    from.etc = etc;
    from.environ = env[n];
    CHECK(args_parse(4, argv, &s->args, &err) == 0 && conf_load(&from, &s->conf, &err) == 0, "%s",
          err.text);
    spec.conf = s->conf;
    CHECK(host_new(&spec, &notes, &s->host, &err) == 0, "%s", err.text);
    s->slash = slash_new(s->host, cancel);
    s->mail = mailbox_new();
    s->all = feed_observe(host_feed(s->host), 1, OBSERVER_CHILDREN, s->mail);
    s->plain = feed_observe(host_feed(s->host), 1, 0, s->mail);
    peer_session_init(&s->shared, s->host, s->slash, &show);
    s->peer = peer_new(&(struct peer_spec){
        .session = &s->shared, .mailbox = s->mail, .send = keep_lines, .arg = &s->lines});
    peer_observe(s->peer, 1, 0);
}

static void session_close_it(struct session *s)
{
    peer_free(s->peer);
    observer_free(s->all);
    observer_free(s->plain);
    slash_free(s->slash);
    host_free(s->host);
    peer_session_release(&s->shared);
    mailbox_close(s->mail);
    mailbox_unref(s->mail);
    conf_unref(s->conf);
    args_release(&s->args);
    buf_release(&s->lines);
    buf_release(&s->said_plain);
    for (size_t i = 0; i < 2; i++)
        buf_release(&s->said[i]);
}

static void session_say(struct session *s, const char *text)
{
    struct agent_input in = {.message = message_user_text(str_of(text))};
    struct err err = {0};

    id_uuid(in.uuid);
    CHECK(host_send(s->host, &in, &err) == 0, "%s", err.text);
}

static void take_all(struct session *s, const struct event *e)
{
    bool is_child = !identity_is_main(&e->by);

    CHECK(strcmp(e->by.session, host_session(s->host)) == 0, "an event of another session");
    if (is_child)
        CHECK(e->by.type && strcmp(e->by.type, "Talker") == 0 && e->by.parent,
              "an event of the child has no name");
    CHECK(e->kind != EVENT_RETRY && e->kind != EVENT_STEP_VOID, "a call failed: %.*s",
          STR_ARG(e->text));
    if (e->kind == EVENT_TURN_DONE)
        s->over[is_child] = true;
    if (e->kind != EVENT_BLOCK_DELTA || e->block != BLOCK_TEXT)
        return;
    s->turns += is_child != s->last_is_child;
    s->last_is_child = is_child;
    buf_add(&s->said[is_child], e->text);
}

static void take_plain(struct session *s, const struct event *e)
{
    CHECK(identity_is_main(&e->by), "who shows the main agent alone sees another");
    if (e->kind == EVENT_BLOCK_DELTA && e->block == BLOCK_TEXT)
        buf_add(&s->said_plain, e->text);
    s->over_plain = s->over_plain || e->kind == EVENT_TURN_DONE;
}

/* What has come until now. */
static void session_look(struct session *s)
{
    struct event *e;
    struct mail *m;
    uint64_t seq;
    enum observed got;

    for (m = mailbox_try(s->mail); m; m = mailbox_try(s->mail))
        mail_free(m);
    while ((got = observer_take(s->all, &e, &seq)) == OBSERVED_EVENT) {
        take_all(s, e);
        event_unref(e);
    }
    CHECK(got == OBSERVED_NOTHING, "the observer was dropped");
    while ((got = observer_take(s->plain, &e, &seq)) == OBSERVED_EVENT) {
        take_plain(s, e);
        event_unref(e);
    }
    CHECK(got == OBSERVED_NOTHING, "the plain observer was dropped");
    while (peer_pump(s->peer))
        continue;
}

static bool session_is_over(const struct session *s)
{
    return s->over[0] && s->over[1] && s->over_plain;
}

static void check_text(const struct buf *got, const char *who)
{
    CLEANUP(buf_release) struct buf want = BUF_INIT(1 << 20);

    add_words(&want, who);
    CHECK(str_eq(str_trim(buf_str(got)), str_trim(buf_str(&want))), "%s said: %.300s", who,
          buf_cstr((struct buf *)got));
}

/* Each line of the child has the call that started it; none of the main agent's has one. */
static void check_lines(const struct session *s)
{
    struct str rest = buf_str(&s->lines);
    struct str line;
    int of_child = 0, results = 0;

    while (rest.len && str_cut(&rest, '\n', &line)) {
        bool named = str_has(line, STR("\"parent_tool_use_id\":\"toolu_"));

        if (str_starts(line, STR("{\"type\":\"assistant\"")))
            CHECK(named == str_has(line, STR("child-0 ")), "a line has the wrong name: %.*s",
                  STR_ARG(str_clip(line, 200)));
        of_child += named;
        results += str_starts(line, STR("{\"type\":\"result\""));
    }
    CHECK(of_child > 0, "no line of the child has parent_tool_use_id");
    CHECK(results == 1, "%d results", results);
}

static int count_threads(const char *name)
{
    int count = 0;

    for (int tid = getpid(); tid < getpid() + 100000; tid++) {
        CLEANUP(buf_release) struct buf text = {0};
        char path[100];

        snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
        if (access(path, F_OK) == 0 && file_slurp(path, 100, &text, NULL) == 0)
            count += str_is(str_trim(buf_str(&text)), name);
    }
    return count;
}

/* How many descriptors this process has of files with such a name. */
static int count_open(const char *end)
{
    int count = 0;

    for (int fd = 0; fd < 1000; fd++) {
        char path[100], at[1000];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        n = readlink(path, at, sizeof(at));
        count += n > 0 && str_ends(str_make(at, (size_t)n), str_of(end));
    }
    return count;
}

/* The sessions of a process share a connection, which stays open between its uses. */
static void check_store(void)
{
    CLEANUP(mem_freep) char *home = path_join(dir, "h/.tenax");
    struct store *stores[2];
    struct err err = {0};

    for (size_t i = 0; i < 2; i++)
        CHECK(hub_store(hub, home, cancel, &stores[i], &err) == 0, "%s", err.text);
    CHECK(stores[0] == stores[1], "two connections to one store");
    for (size_t i = 0; i < 2; i++)
        store_free(stores[i]);
    CHECK(count_open("/state.db") == 1, "state.db is open %d times", count_open("/state.db"));
}

/* ---- A client of the control socket ---- */

static int client_connect(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s/h/.tenax/run/%d.sock", dir, (int)getpid());
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "no control socket");
    return fd;
}

static void client_ask(int fd, const char *id, const char *session, const char *subtype)
{
    CLEANUP(buf_release) struct buf line = BUF_INIT(1000);
    struct err err = {0};

    buf_addf(&line,
             "{\"type\":\"control_request\",\"request_id\":\"%s\",\"session_id\":\"%s\","
             "\"request\":{\"subtype\":\"%s\"}}\n",
             id, session, subtype);
    CHECK(fd_write_all(fd, buf_str(&line), &err) == 0, "%s", err.text);
}

/* Until this has come. */
static void client_read(int fd, struct buf *got, const char *until)
{
    char part[65536];

    while (!strstr(buf_cstr(got), until)) {
        ssize_t n = read(fd, part, sizeof(part));

        CHECK(n > 0, "the socket has hung up before %s: %.500s", until, buf_cstr(got));
        buf_add(got, str_make(part, (size_t)n));
    }
}

/* What a client gets that has asked to see one of them. */
static void check_client(const struct buf *got, const struct session *seen,
                         const struct session *other)
{
    CHECK(strstr(buf_cstr(got), host_session(seen->host)), "the client sees nothing");
    CHECK(!strstr(buf_cstr(got), host_session(other->host)), "the client sees both sessions");
}

static void two_sessions(void)
{
    CLEANUP(buf_release) struct buf heard = BUF_INIT(64 << 20);
    struct listen *listen = NULL;
    struct err err = {0};
    int client;
    struct session two[2];
    int64_t until_ms = clock_mono_ms() + 120000;
    struct host *found;

    session_open_at(&two[0], "one");
    session_open_at(&two[1], "two");
    found = hub_take(hub, str_of(host_session(two[1].host)));
    CHECK(found == two[1].host, "the hub does not find a session by its id");
    hub_give(hub, found);
    CHECK(listen_start(&two[0].shared, &listen, &err) == 0, "%s", err.text);
    listen_add(listen, &two[1].shared);
    client = client_connect();
    client_ask(client, "r1", "00000000-0000-4000-8000-000000000000", "observe");
    client_read(client, &heard, "not open in this process");
    client_ask(client, "r2", host_session(two[1].host), "observe");
    client_read(client, &heard, "\"r2\"");
    for (size_t i = 0; i < 2; i++)
        session_say(&two[i], "go");
    while (!session_is_over(&two[0]) || !session_is_over(&two[1])) {
        CHECK(clock_mono_ms() < until_ms, "it takes too long");
        for (size_t i = 0; i < 2; i++)
            session_look(&two[i]);
        (void)cancel_wait(cancel, 1, NULL);
    }
    CHECK(count_threads("net") == 1, "%d network threads", count_threads("net"));
    CHECK(count_threads("tenax-sync") == 1, "%d threads that sync transcripts",
          count_threads("tenax-sync"));
    for (size_t i = 0; i < 2; i++) {
        session_look(&two[i]);
        check_text(&two[i].said[0], "main");
        check_text(&two[i].said[1], "child");
        check_text(&two[i].said_plain, "main");
        check_lines(&two[i]);
        CHECK(two[i].turns > 4, "the agents of session %zu did not stream at once", i);
    }
    check_store();
    client_read(client, &heard, "\"type\":\"result\"");
    check_client(&heard, &two[1], &two[0]);
    listen_remove(listen, &two[1].shared);
    session_close_it(&two[1]);
    client_ask(client, "r3", host_session(two[0].host), "observe");
    client_read(client, &heard, "\"r3\"");
    close(client);
    listen_stop(listen);
    session_close_it(&two[0]);
}

/* ---- As text ---- */

int cmd_signal_code(void) /* main.c's */
{
    return 0;
}

static struct session shown;

static int begin_text(void *arg, struct err *err)
{
    struct agent_input in = {.message = message_user_text(STR("go"))};

    (void)arg;
    id_uuid(in.uuid);
    return slash_send(shown.slash, &in, err);
}

static void begun_text(void *arg)
{
    (void)arg;
}

static void text_shows_the_main_agent(void)
{
    CLEANUP(mem_freep) char *path = path_join(dir, "out");
    CLEANUP(buf_release) struct buf text = {0};
    struct cmd cmd = {.cancel = cancel};
    struct text_spec spec = {.cmd = &cmd, .begin = begin_text, .begun = begun_text};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int out = dup(STDOUT_FILENO);
    struct err err = {0};
    int code;

    session_open_at(&shown, "three");
    observer_free(shown.all);
    observer_free(shown.plain);
    peer_free(shown.peer);
    shown.all = shown.plain = NULL;
    shown.peer = NULL;
    spec.host = shown.host;
    spec.slash = shown.slash;
    CHECK(fd >= 0 && out >= 0 && dup2(fd, STDOUT_FILENO) >= 0, "no output");
    code = text_run(&spec);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(fd);
    session_close_it(&shown);
    CHECK(code == 0, "exit code %d", code);
    CHECK(file_slurp(path, 1 << 20, &text, &err) == 0, "%s", err.text);
    check_text(&text, "main");
}

int main(int argc, char **argv)
{
    CLEANUP(mem_freep) char *scenario = NULL;
    const char *server[] = {argc > 1 ? argv[1] : "", "--scenario", NULL, NULL};

    CHECK(argc == 2 && mkdtemp(dir), "usage: at_once FAKE");
    scenario = path_join(dir, "s.scenario");
    write_scenario(scenario);
    server[2] = scenario;
    bench_server_start(&fake, server);
    cancel = cancel_new(NULL);
    hub = hub_new();
    two_sessions();
    text_shows_the_main_agent();
    hub_free(hub);
    cancel_unref(cancel);
    proc_shutdown();
    bench_server_stop(&fake);
    bench_remove(dir);
    printf("agents and sessions at once: ok\n");
    return 0;
}
