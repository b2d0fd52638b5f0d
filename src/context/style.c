/*
 * style: those built in, then the folders from the strongest to the weakest. Runs once per session,
 * on the thread that builds it.
 */
#include "context/style.h"

#include <dirent.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "conf/frontmatter.h"
#include "conf/places.h"
#include "conf/plugin.h"
#include "json/json.h"

#define STYLE_MAX_FILES 200 /* looked at in one folder */
#define STYLE_NAMED 20      /* of files, in an error or a list */

static const struct {
    struct str name;
    struct str text;
} styles_built_in[] = {
    {STR_INIT("Default"), STR_INIT("")},
    {STR_INIT("Proactive"),
     STR_INIT("Carry the work through without being asked for each step. Where several ways are "
              "reasonable take one, go on, and say at the end what you chose and why. Ask only "
              "before steps that are hard to undo or affect others.")},
    {STR_INIT("Concise"),
     STR_INIT("Say as little as serves the user. The result in one to three lines; no headings, no "
              "lists where a sentence does, no summary of what the user has seen happen. Explain "
              "only when asked.")},
    {STR_INIT("Explanatory"),
     STR_INIT("Let the user understand this code base while you work. Where you make a choice that "
              "a reader would wonder about, add a short paragraph that begins with \"Insight:\" "
              "and says why: how things are done here, what the alternatives cost. Two or three "
              "sentences, about this code rather than programming in general, in your answers and "
              "never in the code.")},
    {STR_INIT("Learning"),
     STR_INIT("Work so that the user learns by doing. Do the routine yourself, but leave small "
              "pieces that carry a decision (two to ten lines: a rule, an algorithm, an error "
              "path) to the user: put a comment TODO(human) at just one place, describe the task, "
              "which ways there are and what speaks for each, and end your turn. When it is "
              "written, look at it, say in a sentence or two what it does well or misses, and go "
              "on. Add short \"Insight:\" paragraphs where they help.")},
};

static bool style_is_built_in(struct str name, struct output_style *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(styles_built_in); i++) {
        if (!str_eq_nocase(name, styles_built_in[i].name))
            continue;
        *ret = (struct output_style){.text = styles_built_in[i].text, .keeps_coding = true};
        if (ret->text.len)
            ret->name = styles_built_in[i].name;
        return true;
    }
    return false;
}

/* The style searched for, and the others found. */
struct style_search {
    struct path_veto denied;
    struct arena *arena;
    struct str wanted;
    const char *project;
    struct strv known;
};

static int style_check(const struct style_search *s, const struct place *at, const char *path,
                       struct err *err)
{
    CLEANUP(mem_freep) char *real = path_real(path);

    if (places_leads_out(at, s->project, path))
        return err_set(err, ERR_DENIED, "'%s' is a link out of the %s", path,
                       at->plugin ? "plugin" : "project");
    if (path_veto_has(s->denied, path) || path_veto_has(s->denied, real))
        return err_set(err, ERR_DENIED, "'%s' is denied by a rule Read(…)", path);
    return 0;
}

/* Of a plugin's: PLUGIN:NAME. */
static struct str style_name(struct style_search *s, const struct place *at, struct str name)
{
    CLEANUP(buf_release) struct buf full = BUF_INIT(1000);

    if (!at->plugin)
        return name;
    buf_addf(&full, "%s:%.*s", at->plugin->name, STR_ARG(str_clip(name, 200)));
    return arena_str(s->arena, buf_str(&full));
}

/* 1: it is the one. 0: it is another, which is noted. */
static int style_read(struct style_search *s, const struct place *at, const char *path,
                      struct str stem, struct output_style *ret, struct err *err)
{
    CLEANUP(buf_release) struct buf text = BUF_INIT(STYLE_MAX_TEXT);
    const struct json *head;
    struct str body;
    struct str name;
    bool is_wanted;

    stem = style_name(s, at, stem);
    is_wanted = str_eq_nocase(stem, s->wanted);

    if (style_check(s, at, path, err) < 0 || file_slurp(path, STYLE_MAX_TEXT, &text, err) < 0)
        return is_wanted ? -1 : 0;
    if (!utf8_is_valid(buf_str(&text)) || str_chr(buf_str(&text), '\0') < text.len)
        return is_wanted ? err_set(err, ERR_BAD_INPUT, "'%s' is not text", path) : 0;
    if (frontmatter_read(arena_str(s->arena, buf_str(&text)), s->arena, &head, &body, err) < 0)
        return is_wanted ? err_prefix(err, "%s", path) : 0;
    name = str_trim(json_get_str(head, "name"));
    name = name.len ? style_name(s, at, name) : stem;
    if (!is_wanted && !str_eq_nocase(name, s->wanted)) {
        if (s->known.len < STYLE_NAMED && !strv_has(&s->known, name))
            strv_add(&s->known, name);
        return 0;
    }
    *ret = (struct output_style){
        .name = arena_str(s->arena, name),
        .text = str_trim(body),
        .keeps_coding = json_get_bool(head, "keep-coding-instructions", false),
    };
    return 1;
}

static int style_look(struct style_search *s, const struct place *at, struct output_style *ret,
                      struct err *err)
{
    DIR *dir = opendir(at->path);
    const struct dirent *entry;
    int found = 0;

    for (int i = 0; dir && found == 0 && i < STYLE_MAX_FILES && (entry = readdir(dir)); i++) {
        CLEANUP(mem_freep) char *path = path_join(at->path, entry->d_name);
        struct str stem = str_of(entry->d_name);

        if (entry->d_name[0] == '.' || !str_ends(stem, STR(".md")))
            continue;
        stem.len -= 3;
        found = style_read(s, at, path, stem, ret, err);
    }
    if (dir)
        closedir(dir);
    return found;
}

static int style_look_everywhere(struct style_search *s, const struct conf *conf,
                                 struct output_style *ret, struct err *err)
{
    place_vec places = VEC_INIT;
    int found = 0;

    s->project = places_project(conf, s->arena);
    places_find(conf, "output-styles", s->arena, &places);
    for (size_t i = places.len; i > 0 && found == 0; i--) {
        const struct place *p = &places.ptr[i - 1];

        if (p->level != LEVEL_PROJECT || conf_is_trusted(conf))
            found = style_look(s, p, ret, err);
    }
    vec_release(&places);
    return found;
}

void style_names(const struct conf *conf, struct strv *ret)
{
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    struct style_search s = {.arena = &arena, .wanted = STR("")};
    struct output_style none;

    strv_adds(ret, "default");
    for (size_t i = 1; i < ARRAY_LEN(styles_built_in); i++)
        strv_add(ret, styles_built_in[i].name);
    (void)style_look_everywhere(&s, conf, &none, /*err=*/NULL);
    strv_add_all(ret, &s.known);
    strv_release(&s.known);
}

static int style_missing(struct str wanted, const struct strv *known, struct err *err)
{
    CLEANUP(buf_release) struct buf names = BUF_INIT(4096);

    for (size_t i = 0; i < ARRAY_LEN(styles_built_in); i++)
        buf_addf(&names, "%s%.*s", i ? ", " : "", STR_ARG(styles_built_in[i].name));
    for (size_t i = 0; i < known->len; i++)
        buf_addf(&names, ", %s", known->ptr[i]);
    return err_set(err, ERR_NOT_FOUND, "there is no output style '%.*s'; there are: %s",
                   STR_ARG(str_clip(wanted, 100)), buf_cstr(&names));
}

int style_find(const struct conf *conf, struct path_veto denied, struct arena *arena,
               struct output_style *ret, struct err *err)
{
    struct style_search s = {
        .denied = denied, .arena = arena, .wanted = str_trim(conf_get_str(conf, "outputStyle"))};
    struct output_style style = {.keeps_coding = true};
    int found = 1;

    if (s.wanted.len && !style_is_built_in(s.wanted, &style)) {
        found = style_look_everywhere(&s, conf, &style, err);
        if (found == 0)
            (void)style_missing(s.wanted, &s.known, err);
        strv_release(&s.known);
    }
    if (found <= 0)
        return -1;
    *ret = style;
    return 0;
}
