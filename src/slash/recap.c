/*
 * /recap: the current state in a sentence or two, for a user who comes back. The question to the
 * model does not become part of the conversation.
 */
#include "agent/recall.h"
#include "base/err.h"
#include "host/host.h"
#include "llm/message.h"
#include "slash/answer.h"

static int recap_run(struct slash_call *call, struct err *err);

const struct slash_command slash_recap_entry = {
    .name = "recap",
    .aliases = "away catchup",
    .hint = "",
    .summary = "Summarize in at most 40 words where things stand",
    .run = recap_run,
};

#define RECAP_WORDS 40
#define RECAP_BYTES ((size_t)24 << 10) /* of the newest messages */
#define RECAP_BLOCK ((size_t)2000)     /* of one message */
#define RECAP_TOKENS 1000

static const char system_words[] =
    "You sum up a conversation between a user and a coding agent for that user, who was away. "
    "Say in at most 40 words what was worked on, how it stands, and what comes next or waits for "
    "them. "
    "Plain sentences, no list, no greeting.";

static void add_block(struct buf *out, const struct message *m, const struct block *b)
{
    const char *who = m->role == ROLE_USER ? "Person" : "Agent";

    if (b->kind == BLOCK_TEXT && !str_starts(b->text, STR("<system-reminder>")))
        buf_addf(out, "%s: %.*s\n", who, STR_ARG(str_clip(b->text, RECAP_BLOCK)));
    else if (b->kind == BLOCK_TOOL_USE)
        buf_addf(out, "Agent calls %.*s %.*s\n", STR_ARG(b->name),
                 STR_ARG(str_clip(b->input, 200)));
    else if (b->kind == BLOCK_TOOL_RESULT && b->is_error && b->content_len)
        buf_addf(out, "It fails: %.*s\n", STR_ARG(str_clip(b->content[0].text, 300)));
}

void slash_add_talk(struct buf *out, const struct recall *past, size_t max)
{
    size_t first = past->messages.len;
    size_t bytes = 0;

    while (first && bytes < max) {
        CLEANUP(buf_release) struct buf text = BUF_INIT(max);
        const struct message *m = past->messages.ptr[--first];

        for (size_t i = 0; i < m->len; i++)
            add_block(&text, m, &m->blocks[i]);
        bytes += text.len;
    }
    for (size_t i = first; i < past->messages.len; i++) {
        const struct message *m = past->messages.ptr[i];

        for (size_t j = 0; j < m->len; j++)
            add_block(out, m, &m->blocks[j]);
    }
}

/* Enforces the limit if the model does not. */
static void add_words(struct buf *out, struct str text)
{
    size_t words = 0;
    struct str rest = str_trim(text);

    while (rest.len) {
        size_t end = 0;

        while (end < rest.len && rest.ptr[end] != ' ' && rest.ptr[end] != '\n')
            end++;
        if (words == RECAP_WORDS) {
            buf_adds(out, " …");
            return;
        }
        buf_addf(out, "%s%.*s", words ? " " : "", STR_ARG(str_first(rest, end)));
        words++;
        rest = str_trim(str_from(rest, end));
    }
}

static int recap_run(struct slash_call *call, struct err *err)
{
    CLEANUP(recall_release) struct recall past = RECALL_INIT;
    CLEANUP(buf_release) struct buf talk = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(buf_release) struct buf answer = BUF_INIT(SLASH_MAX_TEXT);
    CLEANUP(buf_release) struct buf line = BUF_INIT(SLASH_MAX_TEXT);

    if (host_recall(call->host, call->cancel, &past, err) < 0)
        return -1;
    slash_add_talk(&talk, &past, RECAP_BYTES);
    if (!talk.len)
        return err_set(err, ERR_NOT_FOUND, "there is no conversation yet");
    buf_adds(&talk, "\nSum it up as instructed.");
    if (host_ask_model(call->host, STR(system_words), buf_str(&talk), RECAP_TOKENS, call->cancel,
                       &answer, err) < 0)
        return -1;
    add_words(&line, buf_str(&answer));
    if (!line.len)
        return err_set(err, ERR_PROTOCOL, "the model had nothing to say");
    call->is_markdown = true;
    slash_sayf(call, INK_PLAIN, "%s\n", buf_cstr(&line));
    return 0;
}
