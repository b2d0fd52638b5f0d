/*
 * doctor: the findings (host/doctor.h), printed as text or JSON. Main thread.
 */
#include "host/doctor.h"

#include "base/buf.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "conf/conf.h"
#include "json/jw.h"

static int run(struct cmd *c);

const struct command cmd_doctor = {
    .usage =
        {
            .name = "doctor",
            .summary = "Check the installation, settings and provider",
            .options = (const enum option_id[]){OPT_MODEL, OPT_JSON, OPT_COUNT},
        },
    .run = run,
};

static void write_json(const struct doctor *d, struct buf *out)
{
    struct jw w;

    jw_init(&w, out, JW_PRETTY);
    jw_object(&w);
    jw_kcstr(&w, "version", TENAX_VERSION);
    jw_kbool(&w, "ok", doctor_is_healthy(d));
    jw_key(&w, "findings");
    jw_array(&w);
    VEC_EACH(&d->findings, f) {
        jw_object(&w);
        jw_kcstr(&w, "status", health_name(f->health));
        jw_kcstr(&w, "area", f->area);
        jw_kstr(&w, "text", f->text);
        jw_object_end(&w);
    }
    jw_array_end(&w);
    jw_object_end(&w);
    buf_addc(out, '\n');
}

static int run(struct cmd *c)
{
    CLEANUP(conf_unrefp) struct conf *conf = NULL;
    CLEANUP(doctor_release) struct doctor d = {.findings = VEC_INIT};
    CLEANUP(buf_release) struct buf out = BUF_INIT((size_t)1 << 20);
    struct err why = {0};
    struct err err = {0};
    int code;

    /* A user who looks around in a fresh clone has not approved its helper. */
    if (cmd_conf_load_careful(c, &conf, &why) < 0)
        conf = NULL;
    if (doctor_look(&d, conf, &why, str_of(args_get(&c->args, OPT_MODEL)), c->cancel, &err) < 0)
        return cmd_signal_code();
    if (c->args.given[OPT_JSON])
        write_json(&d, &out);
    else
        doctor_write(&d, &out);
    code = doctor_is_healthy(&d) ? EXIT_OK : EXIT_FAILED;
    (void)(c->args.given[OPT_JSON] ? say_out : say_live)(buf_str(&out), c->cancel, &code);
    return code;
}
