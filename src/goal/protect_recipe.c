/*
 * protect_recipe: the files that programs read their orders from, in the folders where they may
 * stand and further up; what a package's scripts and a makefile's rules run is followed. Any
 * thread.
 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "conf/shell.h"
#include "goal/makefile.h"
#include "goal/protect_search.h"
#include "goal/recipe.h"
#include "json/json.h"

#define RECIPE_MAX_FILE ((size_t)256 << 10) /* of what is looked into */

/* The value of an option of this list at word i: behind '=', in the next word, or glued to a short
 * one (-fFILE). Empty: it is none. */
static struct str option_value(const struct shell_part *p, size_t i, const char *options)
{
    struct str word = p->words.ptr[i].text;
    size_t equals = str_chr(word, '=');

    if (!word.len || word.ptr[0] != '-')
        return STR("");
    if (str_is_word_of(word, options))
        return i + 1 < p->words.len ? search_word_path(&p->words.ptr[i + 1]) : STR("");
    if (equals < word.len && str_is_word_of(str_first(word, equals), options))
        return str_from(word, equals + 1);
    if (word.len > 2 && word.ptr[1] != '-' && str_is_word_of(str_first(word, 2), options))
        return str_from(word, 2);
    return STR("");
}

static void search_package(struct search *s, const char *path, const struct shell_part *p)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(arena_release) struct arena arena = ARENA_INIT;
    const struct json *root;
    const struct json *scripts;

    if (file_slurp(path, RECIPE_MAX_FILE, &text, NULL) < 0 ||
        json_parse(&arena, buf_str(&text), &root, NULL, NULL) < 0)
        return;
    scripts = json_get(root, "scripts");
    for (size_t i = p->first; i < p->words.len; i++) {
        static const char *const before[] = {"pre", "", "post"};

        for (size_t k = 0; k < ARRAY_LEN(before); k++) {
            CLEANUP(buf_release) struct buf name = BUF_INIT(BUF_NO_LIMIT);

            buf_adds(&name, before[k]);
            buf_add(&name, p->words.ptr[i].text);
            search_text(s, json_str(json_get_key(scripts, buf_str(&name))));
        }
    }
}

static void search_makefile(struct search *s, const char *path, const struct shell_part *p)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(strv_release) struct strv list = STRV_INIT;
    CLEANUP(strv_release) struct strv targets = STRV_INIT;
    bool before = s->scripts_only;

    if (file_slurp(path, RECIPE_MAX_FILE, &text, NULL) < 0)
        return;
    makefile_includes(buf_str(&text), &list);
    for (size_t i = 0; i < list.len; i++)
        search_file(s, str_of(list.ptr[i]), /*must=*/true, "included by a makefile of");
    strv_clear(&list);
    for (size_t i = p->first + 1; i < p->words.len; i++) {
        struct str word = p->words.ptr[i].text;

        if (word.len && word.ptr[0] != '-' && str_chr(word, '=') == word.len)
            strv_add(&targets, word);
    }
    makefile_commands(buf_str(&text), &targets, &list);
    s->scripts_only = true;
    for (size_t i = 0; i < list.len; i++)
        search_text(s, str_of(list.ptr[i]));
    s->scripts_only = before;
}

/* What may stand for the star of "jest.config.*" in a name that is not there yet. */
static const char *const absent_ends[] = {"js", "cjs", "mjs", "ts", "json", "yml", "yaml"};

static void search_absent(struct search *s, struct str folder, struct str name)
{
    bool star = str_ends(name, STR(".*"));
    size_t count = star ? ARRAY_LEN(absent_ends) : 1;

    if (!star && str_chr(name, '*') < name.len)
        return;
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
        CLEANUP(mem_freep) char *absolute = NULL;

        buf_add(&path, folder);
        if (folder.len)
            buf_addc(&path, '/');
        buf_add(&path, star ? str_first(name, name.len - 1) : name);
        buf_adds(&path, star ? absent_ends[i] : "");
        absolute = protect_find_absolute(s->finder, "", buf_str(&path));
        if (!file_exists(absolute))
            search_add(s, FOUND_ABSENT, str_of(absolute), "it would be read by");
    }
}

/* The files of one folder that a recipe's names fit. */
static size_t search_recipe_folder(struct search *s, const struct recipe *r, struct str folder,
                                   const struct shell_part *p)
{
    struct str rest = str_of(r->files);
    struct str pattern;
    size_t found = 0;

    while (rest.len && str_cut(&rest, ' ', &pattern)) {
        struct strv *files = &s->finder->files;
        CLEANUP(buf_release) struct buf want = BUF_INIT(BUF_NO_LIMIT);

        buf_add(&want, folder);
        if (folder.len)
            buf_addc(&want, '/');
        buf_add(&want, pattern);
        if (str_chr(pattern, '*') < pattern.len) {
            for (size_t i = 0; i < files->len; i++) {
                struct str file = str_of(files->ptr[i]);

                if (recipe_name_fits(buf_str(&want), file) &&
                    str_chr(str_from(file, folder.len ? folder.len + 1 : 0), '/') ==
                        file.len - (folder.len ? folder.len + 1 : 0)) {
                    search_add(s, FOUND_FILE, file, "its orders are read by");
                    found++;
                }
            }
        } else {
            CLEANUP(mem_freep)
            char *absolute = protect_find_absolute(s->finder, "", buf_str(&want));

            if (!protect_find_is_file(absolute))
                continue;
            found++;
            if (str_is(pattern, "package.json")) {
                search_add(s, FOUND_ORDERS, buf_str(&want), "its scripts are run by");
                search_package(s, absolute, p);
                continue;
            }
            search_add(s, FOUND_FILE, buf_str(&want), "its orders are read by");
            if (str_find_nocase(pattern, STR("makefile")) < pattern.len)
                search_makefile(s, absolute, p);
        }
    }
    return found;
}

void search_recipe(struct search *s, const struct recipe *r, const struct shell_part *p)
{
    CLEANUP(strv_release) struct strv looked = STRV_INIT;
    size_t folders = s->folders.len;
    size_t found = 0;

    if (!search_may_go_on(s))
        return;
    for (size_t i = p->first; i < p->words.len; i++) {
        struct str folder = option_value(p, i, r->folders);
        struct str file = option_value(p, i, r->options);

        if (folder.len)
            search_enter(s, folder);
        if (file.len)
            search_file(s, file, /*must=*/true, "its orders are read by");
    }
    for (size_t i = 0; i < s->folders.len; i++) {
        struct str at = str_of(s->folders.ptr[i]);

        while (!strv_has(&looked, at)) {
            strv_add(&looked, at);
            found += search_recipe_folder(s, r, at, p);
            while (at.len && at.ptr[at.len - 1] != '/')
                at.len--;
            if (at.len)
                at.len--;
        }
    }
    /* Where there are orders, others must not be put before them; where there are none, somebody
     * has to write them. */
    for (size_t i = 0; found && i < looked.len; i++) {
        struct str rest = str_of(r->files);
        struct str name;

        while (rest.len && str_cut(&rest, ' ', &name))
            search_absent(s, str_of(looked.ptr[i]), name);
    }
    while (s->folders.len > folders) /* of this program only */
        mem_freep(&s->folders.ptr[--s->folders.len]);
}
