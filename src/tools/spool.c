/*
 * Feeding goes plain → keys taken out → clip and file. The file is made when the clip is about to
 * leave something out, so that a short output costs none. Runs on the thread that feeds it.
 */
#include "tools/spool.h"

#include <fcntl.h>

#include "base/err.h"
#include "base/file.h"
#include "base/secret.h"
#include "guard/workspace.h"

#define SPOOL_MAX_PATH ((size_t)4096)

static void spool_fail(struct spool *s, const struct err *err)
{
    s->has_failed = true;
    buf_clear(&s->reason);
    buf_adds(&s->reason, err->text);
    fd_closep(&s->fd);
    s->fd = -1;
}

static void spool_save(struct spool *s, struct str text)
{
    struct str fits = str_first(text, SPOOL_MAX_FILE - s->written);
    struct err err = {0};

    if (s->fd < 0)
        fits.len = 0;
    if (fits.len && fd_write_all(s->fd, fits, &err) < 0) {
        spool_fail(s, &err);
        fits.len = 0;
    }
    s->written += fits.len;
    s->lost += text.len - fits.len;
}

int spool_open(struct spool *s, struct err *err)
{
    if (workspace_spill(s->workspace, str_of(s->name), &s->path, err) < 0)
        return -1;
    s->fd = open(buf_cstr(&s->path), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (s->fd < 0)
        return err_sys(err, ERR_IO, "cannot open '%s'", buf_cstr(&s->path));
    spool_save(s, buf_str(&s->clip.head));
    spool_save(s, buf_str(&s->clip.tail));
    return 0;
}

void spool_move(struct spool *dst, struct spool *src)
{
    *dst = *src;
    dst->plain.arg = dst;
    *src = (struct spool){.fd = -1};
}

static void spool_put(struct spool *s, struct str text)
{
    struct err err = {0};

    if (s->fd < 0 && !s->has_failed && !clip_is_whole(&s->clip, text.len)) {
        if (spool_open(s, &err) < 0) {
            spool_fail(s, &err);
            s->lost += s->clip.head.len + s->clip.tail.len;
        }
    }
    clip_add(&s->clip, text);
    if (s->fd >= 0 || s->has_failed)
        spool_save(s, text);
}

/* A key may come in pieces. */
static void spool_take(void *arg, struct str text)
{
    struct spool *s = arg;
    size_t ready;

    if (!s->open.len && !secret_is_in(text) && !secret_tail(text)) {
        spool_put(s, text);
        return;
    }
    buf_add(&s->open, text);
    secret_scrub(&s->open);
    ready = s->open.len - secret_tail(buf_str(&s->open));
    if (!ready)
        return;
    spool_put(s, str_first(buf_str(&s->open), ready));
    buf_cut(&s->open, 0, ready);
}

void spool_init(struct spool *s, struct workspace *w, struct str name)
{
    *s = (struct spool){
        .workspace = w,
        .name = mem_dup(name.ptr, name.len),
        .open = BUF_INIT(BUF_NO_LIMIT), /* of a piece and a key */
        .path = BUF_INIT(SPOOL_MAX_PATH),
        .fd = -1,
        .reason = BUF_INIT(SPOOL_MAX_PATH),
    };
    plain_init(&s->plain, spool_take, s);
    clip_init(&s->clip, SPOOL_HEAD, SPOOL_TAIL);
}

void spool_release(struct spool *s)
{
    plain_release(&s->plain);
    buf_release(&s->open);
    clip_release(&s->clip);
    mem_freep(&s->name);
    buf_release(&s->path);
    buf_release(&s->reason);
    fd_closep(&s->fd);
    s->fd = -1;
}

void spool_feed(struct spool *s, struct str bytes)
{
    plain_feed(&s->plain, bytes);
}

void spool_end(struct spool *s)
{
    plain_end(&s->plain);
    if (s->open.len)
        spool_put(s, buf_str(&s->open));
    buf_clear(&s->open);
    fd_closep(&s->fd);
    s->fd = -1;
}

void spool_write(const struct spool *s, struct buf *ret)
{
    clip_write(&s->clip, s->path.len ? buf_cstr(&s->path) : NULL, ret);
    if (!s->lost)
        return;
    if (ret->len && ret->ptr[ret->len - 1] != '\n')
        buf_addc(ret, '\n');
    if (s->has_failed)
        buf_addf(ret, "[%zu bytes were not saved: %s]\n", s->lost, buf_cstr(&s->reason));
    else
        buf_addf(ret, "[the file holds the first %zu MB; %zu bytes more were not saved]\n",
                 SPOOL_MAX_FILE >> 20, s->lost);
}
