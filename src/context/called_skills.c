/*
 * called_skills: backwards through the messages. Pure.
 */
#include "context/called_skills.h"

#include "base/buf.h"
#include "context/reminder.h"
#include "llm/history.h"
#include "llm/message.h"

#define SKILL_COMMAND "<command-name>/"
#define SKILL_AGAIN "<system-reminder>\nThe skill /"
#define SKILL_IN_USE " is in use. It says:\n"

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

    if (!str_starts(line, STR(CALLED_SKILL_BASE)))
        return false;
    for (*ret = line; str_chr(*ret, '/') < ret->len;)
        *ret = str_from(*ret, str_chr(*ret, '/') + 1);
    return ret->len;
}

/* Whether block i of a message belongs to a skill, and which. */
static bool skill_at(const struct message *m, size_t i, struct called_skill *ret)
{
    const struct block *b = &m->blocks[i];

    *ret = (struct called_skill){0};
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
        !str_ends(b->text, STR(CALLED_SKILL_MARK)))
        return false;
    ret->body = m->blocks[i + 1].text;
    return skill_name(b->text, STR(SKILL_COMMAND), STR("</command-name>"), &ret->name);
}

void called_skills_release(struct called_skills *s)
{
    vec_release(&s->list);
}

static bool skills_has(const struct called_skills *s, struct str name)
{
    VEC_EACH(&s->list, it) {
        if (str_eq(it->name, name))
            return true;
    }
    return false;
}

void called_skills_find(struct called_skills *s, const struct history *h, size_t from, size_t to)
{
    struct called_skill skill;

    for (size_t m = to; m-- > from;) {
        for (size_t b = h->list.ptr[m]->len; b-- > 0;) {
            if (skill_at(h->list.ptr[m], b, &skill) && !skills_has(s, skill.name))
                vec_push(&s->list, skill);
        }
    }
}

void called_skill_repeat(const struct called_skill *s, size_t max, struct buf *ret)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str body = str_clip(s->body, max);

    if (s->again.len) {
        buf_add(ret, s->again);
        return;
    }
    buf_addf(&text, "The skill /%.*s" SKILL_IN_USE "%.*s", STR_ARG(s->name), STR_ARG(body));
    if (body.len < s->body.len)
        buf_adds(&text, "\n[the rest of it is left out]");
    reminder_add(ret, buf_str(&text));
}
