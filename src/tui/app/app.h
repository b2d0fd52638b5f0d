/*
 * The inside of the app; for src/tui/app*.c only. Everything here belongs to the UI thread.
 *
 *   app.c          made and ended; the event loop
 *   app_first.c    the start of a session: greeting, missing key, offer of a fresh session,
 *                  question about a goal
 *   app_commands.c the commands that completion knows, looked for anew
 *   app_keys.c     what a key does that the editor and panels have no use for
 *   app_say.c      what the person says: sent, queued, taken back
 *   app_events.c   what the agent tells
 *   app_session.c  which session is in front of the person: made, ended
 *   app_switch.c   one session left for another
 *   app_panels.c   panels, one at a time: asks, what commands want to know, our own questions
 *   app_front.c    slash/front.h
 *   app_copy.c     text into a clipboard
 *   app_paste.c    pictures out of one
 *   app_notify.c   notifies a user who is looking elsewhere
 *   app_agents.c   who is at work: the rows below the status, and their keys
 *   app_board.c    the task list above the prompt
 *   app_view.c     another agent's conversation in the place of the main one's
 *   app_frame.c    one frame
 *   app_status.c   the status below it
 *   app_watch.c    settings that change in their files
 *   app_outside.c  the terminal given away for a while: Ctrl-Z, $EDITOR
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/spawn.h"
#include "agent/task.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/strv.h"
#include "base/vec.h"
#include "conf/option.h"
#include "host/session.h"
#include "slash/front.h"
#include "slash/slash.h"
#include "store/goals/goals.h"
#include "tasks/team/board.h"
#include "tui/app/tui.h"
#include "tui/dialog/panel.h"
#include "tui/screen/line.h"

struct app;
struct ask_mail;
struct event;
struct front_request;
struct keypress;
struct mail;

/* User messages that have not been taken up yet. */
struct sent {
    char uuid[ID_UUID_LEN + 1];
    char *text;
    char *shown;       /* the same with pastes folded */
    bool is_sent;      /* the current session was asked to read it */
    bool is_shown;     /* in the conversation already; else it waits above the editor */
    bool is_stopped;   /* interrupted before its turn began */
    bool is_overtaken; /* by a later command */
    bool is_kept;      /* it waited when the session was left; it goes before later messages */
    int64_t sent_ms;
};

/* A session as it is held here. Made and freed on the chores' thread. */
struct app_session {
    struct session_spec which;
    char *resume;          /* of it, when it is ours; or NULL */
    struct session *found; /* held and read already, for the host that will be made; NULL: not */
    struct host *host;
    struct slash *slash;
    struct crew *crew; /* chores that wait for the user, and know the host */
    void *listener;    /* of tui_spec's listen(); the chores' thread */
    void (*unlisten)(void *ear);
};

/* A panel and what becomes of its result. */
struct app_panel {
    struct panel *panel;
    void (*done)(struct app *a, struct app_panel *p, bool was_left);
    struct ask_mail *ask;          /* of an ask; owned */
    struct front_request *request; /* of a command: answered by done() */
    void (*chosen)(struct app *a, size_t i);
};

/* Figures of the session shown beside the conversation. */
struct app_figures {
    struct buf model;
    int64_t window;         /* 0: not known */
    int64_t context_tokens; /* 0: not known */
    double usd;
    bool has_usd;
    struct buf title;
    struct buf branch;
    size_t tasks; /* in the background */
};

struct app_goal {
    bool is_there;
    bool is_asked; /* a chore is on its way */
    bool is_stale; /* and the next one will be needed */
    struct arena arena;
    struct store_goal row;
    int64_t read_ms;
};

/* Settings files, there or not. */
struct app_watch {
    int fd; /* -1: they are not watched */
    struct strv paths;
    VEC(int) own;           /* folders of commands and skills that hooks watch */
    bool is_vim;            /* the settings ask for it */
    bool is_read, is_stale; /* read, or changed since, by another process */
};

/* An agent that the rows below the status show; its texts are in app_agents.arena. */
struct app_agent {
    char id[SPAWN_ID_LEN + 1];
    struct str name, what, doing, state;
    const char *color; /* of a member of the team */
    bool is_member, is_over, has_failed, asks;
    int64_t began_ms, ended_ms, tokens; /* began_ms 0: its time is not known */
};

struct app_agents {
    struct arena arena;
    VEC(struct app_agent) list; /* in the order they began; the main one is not among them */
    struct strv cleared; /* ended ones that the user does not want to see: ids of their runs */
    size_t members, busy_members;
    struct str team; /* its name; empty: there is none */
    struct buf pill; /* of the status line */
    bool is_stale;   /* something has happened since it was made */
    int64_t made_ms;
    int64_t since_ms; /* when the session came to the screen: what had ended by then is not shown */
    int64_t looked_ms; /* when the rows had the keys last, or one was left */
    bool has_focus;    /* they have them now */
    size_t focus;      /* 0: main */
};

/* The task list. */
struct app_board {
    bool is_shown, is_read;
    bool is_asked; /* a chore is on its way */
    int64_t asked_ms;
    struct board list;
    struct strv gone; /* owners that have left the team */
};

/* The conversation of another agent, in the place of the main one's. */
struct app_viewed {
    char id[SPAWN_ID_LEN + 1]; /* "": the main one is shown */
    struct buf name, hint;     /* "Explore"; the hint in the empty editor until then */
    struct chat *chat;
    struct observer *observer;
    struct event *held;
    size_t held_at;
    uint64_t step_seq; /* where its open step began; 0: none is open */
    bool has_begun;    /* the events kept reach back to its beginning */
    bool is_coming;    /* earlier events are still being read: nothing is shown yet */
    bool is_loading;   /* from its file */
    bool is_first;     /* the next frame is its first: only the end of what came is shown */
    struct buf rule;   /* to be shown before all else; empty: none */
};

struct app_frame_cost {
    uint32_t us; /* of the thread's processor time */
    size_t bytes;
};

struct app {
    const struct tui_spec *spec;
    struct conf *conf; /* the host's */
    struct tui_end *end;
    bool is_over;

    struct mailbox *mailbox;
    struct chores *chores;
    struct crew *crew;
    struct term *term;
    struct screen *screen;
    struct keyboard *keyboard;
    struct chat *chat;
    struct editor *editor;
    struct completer *completer;
    struct statusline *statusline;
    struct slash_front front;

    struct app_session *session; /* NULL: it is being made, or cannot be */
    bool asks_commands;          /* a chore looks which there are */
    bool tells_untrusted; /* report what an untrusted folder disables once the user has answered */
    bool asks_trust;      /* messages wait until the folder is trusted or not */
    struct observer *observer;
    struct ask_front *asks;
    struct buf resumes; /* of the last session: its id */
    bool has_spoken;    /* it has messages */
    bool is_changing;   /* another one is being made */
    bool is_fresh;      /* the user has chosen that session: new messages are for it */

    VEC(struct sent) sent;
    VEC(struct app_panel) panels; /* the first is shown */
    struct strv past;             /* prompts of earlier runs, newest first */

    struct app_figures figures;
    struct app_goal goal;
    struct app_agents agents;
    struct app_board board;
    struct app_viewed viewed;
    struct app_watch watch;
    int64_t turn_ms; /* when the running one began */
    bool has_turned; /* one has ended since the session is here */
    /* When the last answer came, by the wall clock, which goes on while a laptop sleeps; 0: none
     * did, or it was asked about. */
    int64_t answered_ms;
    double warned_usd;  /* the threshold that was asked about */
    bool more_events;   /* there are more than fit into one frame */
    bool is_behind;     /* there were, in the last one */
    size_t taken;       /* bytes of events since the last frame */
    size_t frame_bytes; /* how many of them fit into one: learned */
    struct event *held; /* being taken, from held_at on; NULL: none is */
    size_t held_at;

    struct buf tail;         /* the latest output of the running "!" command */
    struct lines own_status; /* rows of the person's own status line, as they were last drawn */
    bool has_own_status;
    struct buf hint; /* in the place of the status, for a while */
    int64_t hint_until_ms;
    int64_t ctrl_c_ms; /* the last one that had nothing to do; 0: none */
    int64_t escape_ms;
    int64_t typed_ms;   /* the last key */
    const char *notice; /* shown unless the user types before notice_ms; NULL: none */
    int64_t notice_ms;
    const char *key_provider; /* whose key is being typed */
    char letter; /* the panel holds it: an answer, or the beginning of words; 0: none */

    int early_bytes; /* typed before the terminal was ours, and not read yet */
    bool is_away;    /* the terminal is given away */
    bool is_dirty;
    bool greeted;
    int64_t framed_ms;  /* the last frame */
    int64_t flushed_ms; /* the last write to a terminal that was slow */
    size_t text_rows;   /* of it: rows that will be committed as they stand */
    struct lines commits, region, part;
    struct panel_log panel_log; /* on a plain terminal */
    struct buf titled;

    VEC(struct app_frame_cost) frames; /* TENAX_TEST_FRAMES: all of them */
    const char *frames_path;
    int64_t work_us; /* of the UI thread when the last frame was counted */
};

#define APP_HINT_MS 2000
#define APP_TWICE_MS APP_HINT_MS /* time for a double key press: as long as the hint is shown */

/* app.c */
void app_quit(struct app *a, int code);
void app_hint(struct app *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct host *app_host(const struct app *a); /* NULL: there is none now */
void app_look(struct app *a);               /* settings of how it looks have changed */
/* One that looks as settings and terminal want it. */
struct chat *app_chat_new(struct app *a, bool is_agent);

/* app_keys.c */
void app_key(struct app *a, const struct keypress *k);

/* app_say.c */
/* shown: the same with pastes folded, for display here. */
void app_say(struct app *a, struct str text, struct str shown);
bool app_is_working(const struct app *a); /* a turn runs, or something is on its way to one */
void app_sent_gone(struct app *a, struct str uuid);
void app_sent_answered(struct app *a, struct str command); /* "!", "#" */
void app_sent_begins(struct app *a, struct str uuid);      /* the turn that it is for */
/* Another session takes over, and messages typed after that command are for it; takes_along: those
 * that waited before, too. */
void app_sent_left(struct app *a, bool takes_along);
void app_forget_sent(struct app *a);
void app_interrupt(struct app *a, bool take_back);
void app_say_waiting(struct app *a); /* what could not be read yet is */
void app_sent_anew(struct app *a);   /* the session goes: all that is left is for the next one */
/* What waited when the session was left; before anything else that waits. */
void app_sent_kept(struct app *a, const struct strv *uuids, const struct strv *texts);
bool app_edit_queue(struct app *a); /* what waits is in the editor again; false: nothing does */

/* app_events.c */
void app_take_events(struct app *a);
/* One event, or a piece of it, from *held at *held_at on; each goes to fn. */
void app_take_piece(struct app *a, struct event **held, size_t *held_at,
                    void (*fn)(struct app *a, const struct event *e));
void app_goal_changed(struct app *a);

/* Makes these the completions after "/", and checks whether there are new ones. */
void app_commands_take(struct app *a, const slash_item_vec *items);
void app_commands_look(struct app *a);
/* Completion knows the resources that servers have now. */
void app_resources_look(struct app *a);
void app_goal_release(struct app_goal *g);
void app_title(struct app *a);

/* app_notify.c */
void app_notify(struct app *a, const char *text); /* lives on: of a table, or a literal */
void app_notify_typed(struct app *a);             /* the user is here: drop waiting notifications */
void app_notify_tick(struct app *a);

/* app_session.c */
struct app_session *app_session_new(const struct session_spec *which);
void app_session_free(struct app_session *s); /* NULL is fine */
/* Shows the resumed session in place of what the command line gave for the first one. */
void app_session_go(struct app_session *s, enum front_switch how, struct str id);
/* Takes the next session and what there is to say of it, and makes both a chore: the one in
 * front of the person, if there is one, ends before its host is made. */
void app_open(struct app *a, struct app_session *next, enum front_switch how, struct strv *notes);
void app_open_first(struct app *a);
void app_attend(struct app *a);   /* the session reads its unread messages */
void app_catch_up(struct app *a); /* processes all pending events */
/* The session goes: what it has asked is not answered any more. What it still tells (how the turn
 * ended) is looked at until it is gone. */
void app_unask(struct app *a);
void app_unwatch(struct app *a);
void app_close(struct app *a); /* both of the app's end */

/* app_switch.c */
/* request: of the command that wants it, answered when it is known whether it can be; NULL: the
 * person themselves wants it. */
void app_switch(struct app *a, enum front_switch how, struct str id, struct front_request *request);

/* app_panels.c */
void app_show(struct app *a, const struct app_panel *p);
void app_show_first(struct app *a, const struct app_panel *p); /* before those that wait */
struct panel *app_panel(const struct app *a);                  /* NULL: none is shown */
/* False: the key was typed before the panel could be read, and is the editor's. */
bool app_panel_key(struct app *a, const struct keypress *k);
void app_panel_wake(struct app *a);               /* after the pending keys, which decide first */
void app_panel_withdraw(struct app *a, size_t i); /* as if the person had left it */
void app_panels_release(struct app *a);
void app_asks_withdraw(struct app *a);           /* all of them: the session that has asked goes */
void app_ask(struct app *a, struct ask_mail *m); /* takes it */
void app_confirm(struct app *a, const char *title, struct str text, const char *const *options,
                 size_t count, void (*chosen)(struct app *a, size_t i));
void app_rewind(struct app *a);
void app_transcript(struct app *a);

/* app_copy.c, on a command's thread: where the text is now, NULL: no clipboard took it */
const char *app_copy(struct app *a, struct str text, struct cancel *cancel);

/* app_paste.c */
void app_paste_image(struct app *a);
/* A paste that is the path of a picture, as terminals write a file that is dropped on them: the
 * picture will come in its place. False: it is not. */
bool app_paste_drop(struct app *a, struct str pasted);

/* app_front.c */
bool app_front_osc52(struct app *a, struct str text); /* the same; false: the terminal cannot */
void app_front_init(struct app *a);
void app_front_moved(struct app *a, const struct app_panel *p); /* the cursor, maybe */
bool app_front_mail(struct app *a, struct mail *m);             /* false: it is none of ours */
/* The answer to a command that goes to another session; why NULL: it is gone to. Any thread. */
void app_front_went(struct front_request *r, const struct err *why);

/* app_agents.c */
void app_agents_look(struct app *a);    /* who is there now */
void app_agents_refresh(struct app *a); /* the same, when it may differ from the last look */
void app_agents_draw(struct app *a, const struct view *v, struct lines *ret);
struct str app_agents_hint(const struct app *a);              /* the keys that the rows have */
bool app_agents_key(struct app *a, const struct keypress *k); /* false: not for them */
void app_agents_stop_all(struct app *a);
int64_t app_agents_due(const struct app *a, int64_t now_ms); /* -1: nothing moves */
const struct app_agent *app_agents_find(const struct app *a, const char *id); /* NULL: none */
void app_agents_forget(struct app *a);                                        /* the session goes */
void app_agents_release(struct app *a);

/* app_board.c */
bool app_board_key(struct app *a, const struct keypress *k); /* false: not for it */
void app_board_draw(struct app *a, const struct view *v, struct lines *ret);
void app_board_tick(struct app *a);
int64_t app_board_due(const struct app *a); /* when it is read again; -1: it is not shown */
void app_board_release(struct app *a);

/* app_view.c */
struct chat *app_shown(const struct app *a); /* the conversation on the screen */
/* id: of an agent or a team's member; NULL: back to the main one. */
void app_view_agent(struct app *a, const char *id);
void app_view_drop(struct app *a); /* the same, when the session goes */
bool app_is_viewing(const struct app *a);
void app_view_say(struct app *a, struct str text); /* to the agent that is shown */
void app_view_take(struct app *a);                 /* its events */
void app_view_transcript(struct app *a);

/* app_frame.c */
bool app_frame_is_due(const struct app *a);
void app_frame(struct app *a);
void app_view(struct app *a, struct view *ret);
int64_t app_due(struct app *a); /* when to wake up by itself; -1 */
void app_frames_write(struct app *a);

/* app_status.c */
void app_status_happened(struct app *a, int why); /* enum status_reason */
void app_status_draw(struct app *a, const struct view *v, struct lines *ret);

/* app_watch.c */
void app_watch_begin(struct app *a);   /* before there is a session */
void app_watch_session(struct app *a); /* the session's own files to watch */
void app_watch_end(struct app *a);
void app_watch_read(struct app *a);

/* app_outside.c */
void app_suspend(struct app *a);
void app_continued(struct app *a);
void app_open_editor(struct app *a);
void app_play_demo(struct app *a);

/* app_first.c */
void app_greet(struct app *a, const struct strv *notes);
void app_tell_untrusted(struct app *a); /* what the folder lacks, once the answer was no */
void app_no_key(struct app *a, const char *why);
void app_first_choice(struct app *a, bool has_seen);    /* the demo */
void app_offer_fresh(struct app *a);                    /* something is typed */
void app_ask_goal(struct app *a, struct str objective); /* of a session that goes on */
