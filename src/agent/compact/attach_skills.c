/*
 * attach_skills: a called skill stays in force, so its text is repeated when a summary replaces the
 * message that had it. The text is found in the conversation itself, either in its original place
 * or in an earlier repetition. Therefore a resumed session needs no extra state.
 */
#include "agent/agent_state.h"
#include "agent/compact/attach.h"
#include "context/reminder.h"
#include "llm/room.h"

#define SKILL_COMMAND "<command-name>/"
#define SKILL_AGAIN "<system-reminder>\nThe skill /"
#define SKILL_IN_USE " is in use. It says:\n"

struct skill {
    struct str name;
    struct str body;  /* empty if it was already repeated */
    struct str again; /* the repetition */
};

static bool skill_name(struct str text, struct str before, struct str behind, struct str *ret)
{
    size_t end;

    if (!str_starts(text, before))
        return false;
    text = str_from(text, before.len);
    end = str_find(text, behind);
    *ret = str_first(text, end);
    return end < text.len && end;
}

/* The name of a skill from the first line of its text, "Base directory for this skill: …/NAME". */
static bool skill_base(struct str text, struct str *ret)
{
    struct str line = str_first(text, str_chr(text, '\n'));

    if (!str_starts(line, STR(ATTACH_SKILL_BASE)))
        return false;
    for (*ret = line; str_chr(*ret, '/') < ret->len;)
        *ret = str_from(*ret, str_chr(*ret, '/') + 1);
    return ret->len;
}

/* Whether block i of a message belongs to a skill, and which. */
static bool skill_at(const struct message *m, size_t i, struct skill *ret)
{
    const struct block *b = &m->blocks[i];

    *ret = (struct skill){0};
    if (m->role != ROLE_USER || b->kind != BLOCK_TEXT)
        return false;
    if (skill_name(b->text, STR(SKILL_AGAIN), STR(SKILL_IN_USE), &ret->name)) {
        ret->again = b->text;
        return true;
    }
    if (skill_base(b->text, &ret->name)) {
        ret->body = b->text;
        return true;
    }
    if (i + 1 == m->len || m->blocks[i + 1].kind != BLOCK_TEXT ||
        !str_ends(b->text, STR(ATTACH_SKILL_MARK)))
        return false;
    ret->body = m->blocks[i + 1].text;
    return skill_name(b->text, STR(SKILL_COMMAND), STR("</command-name>"), &ret->name);
}

struct skills {
    VEC(struct skill) list; /* most recent call first */
};

static void skills_release(struct skills *s)
{
    vec_release(&s->list);
}

static bool skills_has(const struct skills *s, struct str name)
{
    VEC_EACH(&s->list, it) {
        if (str_eq(it->name, name))
            return true;
    }
    return false;
}

/* Collects the skills of messages [from, to), each once. */
static void skills_find(struct skills *s, const struct history *h, size_t from, size_t to)
{
    struct skill skill;

    for (size_t m = to; m-- > from;) {
        for (size_t b = h->list.ptr[m]->len; b-- > 0;) {
            if (skill_at(h->list.ptr[m], b, &skill) && !skills_has(s, skill.name))
                vec_push(&s->list, skill);
        }
    }
}

void attach_skills(struct agent *a, const struct window_room *room, size_t first,
                   struct attached *s)
{
    CLEANUP(skills_release) struct skills skills = {0};
    size_t left = room->files_bytes;
    size_t kept;
    size_t end;

    skills_find(&skills, &a->history, first, a->history.list.len);
    kept = skills.list.len; /* the model can still read these */
    skills_find(&skills, &a->history, 0, first);
    end = kept + ATTACH_MAX_SKILLS;
    for (size_t i = kept; i < skills.list.len && i < end && left; i++) {
        const struct skill *it = &skills.list.ptr[i];
        CLEANUP(buf_release) struct buf words = BUF_INIT(AGENT_MAX_TEXT);
        CLEANUP(buf_release) struct buf text = BUF_INIT(AGENT_MAX_TEXT);
        size_t max = room->file_bytes < left ? room->file_bytes : left;
        struct str body = str_clip(it->body, max);

        if (it->again.len && it->again.len > left)
            continue;
        buf_addf(&words, "The skill /%.*s" SKILL_IN_USE "%.*s", STR_ARG(it->name), STR_ARG(body));
        if (body.len < it->body.len)
            buf_adds(&words, "\n[the rest of it is left out]");
        reminder_add(&text, buf_str(&words));
        attach_reminders(s, it->again.len ? it->again : buf_str(&text));
        left -= it->again.len ? it->again.len : body.len;
    }
}
