/*
 * protect_path: which programs PATH gives. A program of the checks is known by its path and, unless
 * it is the system's own, by its content. The programs behind it (what a makefile runs) are not
 * known by name, so every folder of PATH is watched instead: a new file that stands before another
 * of its name is told. Any thread; waits for the disk.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "goal/protect_state.h"

#define PLACES_MAX 64
#define PLACES_MAX_NAMES 50000 /* in all */

void protect_program_release(struct protect_program *p)
{
    mem_freep(&p->name);
    mem_freep(&p->path);
    mem_freep(&p->real);
    mem_freep(&p->why);
}

static bool is_trusted(const char *real)
{
    static const struct str places[] = {STR_INIT("/usr/"), STR_INIT("/bin/"), STR_INIT("/sbin/"),
                                        STR_INIT("/lib"),  STR_INIT("/nix/"), STR_INIT("/opt/")};
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (str_starts(str_of(real), places[i]))
            return stat(real, &st) == 0 && st.st_uid == 0 && !(st.st_mode & 0022);
    }
    return false;
}

/* False: PATH has none of this name. */
static bool protect_program_look(const struct protect *p, const char *name,
                                 struct protect_program *ret)
{
    CLEANUP(buf_release) struct buf path = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_of(p->search);
    struct str dir;

    while (str_cut(&rest, ':', &dir)) {
        struct stat st;

        buf_clear(&path);
        buf_addf(&path, "%.*s/%s", STR_ARG(dir), name);
        if (stat(buf_cstr(&path), &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
            continue;
        *ret = (struct protect_program){.name = mem_dup(name, strlen(name)),
                                        .path = mem_dup(path.ptr, path.len),
                                        .real = path_real(buf_cstr(&path))};
        ret->trusted = is_trusted(ret->real);
        return true;
    }
    return false;
}

int protect_program_read(const struct protect *p, const char *name, struct cancel *cancel,
                         struct protect_program *ret, bool *ret_found, struct err *err)
{
    *ret_found = protect_program_look(p, name, ret);
    if (!*ret_found || ret->trusted)
        return 0;
    if (digest_read(AT_FDCWD, ret->real, cancel, &ret->digest, err) < 0) {
        protect_program_release(ret);
        return -1;
    }
    return 0;
}

/* ---- folders ---- */

static void closedirp(DIR **d)
{
    if (*d)
        closedir(*d);
}

/* Names of a folder, put into `names`; those that were in there already are shadowed by it. */
static void place_names(const char *path, struct map *names, struct strv *shadows)
{
    CLEANUP(closedirp) DIR *dir = opendir(path);

    while (dir && names->len < PLACES_MAX_NAMES) {
        const struct dirent *e = readdir(dir);

        if (!e)
            return;
        if (e->d_name[0] == '.' && (!e->d_name[1] || strcmp(e->d_name, "..") == 0))
            continue;
        if (map_has(names, str_of(e->d_name)))
            strv_addf(shadows, "%s/%s", path, e->d_name);
        else
            map_set(names, str_of(e->d_name), names);
    }
}

/* The folders of PATH, each once: /bin is often /usr/bin. */
static void places_of(const char *search, struct strv *ret)
{
    CLEANUP(strv_release) struct strv reals = STRV_INIT;
    struct str rest = str_of(search);
    struct str dir;

    while (str_cut(&rest, ':', &dir) && ret->len < PLACES_MAX) {
        CLEANUP(mem_freep) char *path = mem_dup(dir.ptr, dir.len);
        CLEANUP(mem_freep) char *real = path_real(path);

        if (strv_has(&reals, str_of(real)))
            continue;
        strv_adds(&reals, real);
        strv_add(ret, dir);
    }
}

static void places_shadows(const struct strv *places, struct strv *ret)
{
    struct map names = MAP_INIT;

    for (size_t i = places->len; i > 0; i--)
        place_names(places->ptr[i - 1], &names, ret);
    map_release(&names);
}

static void place_look(const char *path, struct digest *ret)
{
    CLEANUP(mem_freep) char *real = path_real(path);

    digest_look(AT_FDCWD, real, ret);
    ret->size = 0; /* of a folder it means nothing */
}

void protect_places_take(struct protect *p)
{
    CLEANUP(strv_release) struct strv places = STRV_INIT;

    places_of(p->search, &places);
    VEC_EACH(&p->places, it) {
        mem_freep(&it->path);
    }
    p->places.len = 0;
    for (size_t i = 0; i < places.len; i++) {
        struct protect_place place = {.path = mem_dup(places.ptr[i], strlen(places.ptr[i]))};

        place_look(place.path, &place.digest);
        vec_push(&p->places, place);
    }
    strv_clear(&p->shadows);
    places_shadows(&places, &p->shadows);
}

void protect_places_verify(const struct protect *p, struct strv *ret)
{
    CLEANUP(strv_release) struct strv places = STRV_INIT;
    CLEANUP(strv_release) struct strv now = STRV_INIT;
    struct map before = MAP_INIT;
    bool same = true;

    VEC_EACH(&p->places, it) {
        struct digest d;

        place_look(it->path, &d);
        same = same && it->digest.settled && digest_same_look(&d, &it->digest);
    }
    if (same)
        return;
    places_of(p->search, &places);
    places_shadows(&places, &now);
    for (size_t i = 0; i < p->shadows.len; i++)
        map_set(&before, str_of(p->shadows.ptr[i]), &before);
    for (size_t i = 0; i < now.len; i++) {
        if (!map_has(&before, str_of(now.ptr[i])))
            strv_adds(ret, now.ptr[i]);
    }
    map_release(&before);
}
