/*
 * /doctor: is everything here that a run needs (host/doctor.h)?
 */
#include "host/doctor.h"

#include "host/host.h"
#include "slash/answer.h"

static int doctor_run(struct slash_call *call, struct err *err);

const struct slash_command slash_doctor_entry = {
    .name = "doctor",
    .hint = "",
    .summary = "Check libraries, kernel, settings, key and whether the provider answers",
    .run = doctor_run,
};

static int doctor_run(struct slash_call *call, struct err *err)
{
    static const enum ink inks[] = {
        [HEALTH_OK] = INK_GREEN, [HEALTH_WARN] = INK_YELLOW, [HEALTH_BAD] = INK_RED};
    CLEANUP(doctor_release) struct doctor d = {.findings = VEC_INIT};
    CLEANUP(buf_release) struct buf model = BUF_INIT(4096);
    CLEANUP(buf_release) struct buf name = BUF_INIT(1000);
    int64_t window;

    host_model(call->host, &model, &name, &window);
    if (str_is(buf_str(&model), "scripted"))
        buf_clear(&model); /* as the settings have it: a name alone finds no scenario */
    else
        buf_addf(&model, "/%s", buf_cstr(&name));
    if (doctor_look(&d, host_conf(call->host), /*why=*/NULL, buf_str(&model), call->cancel, err) <
        0)
        return -1;
    slash_say(call, INK_BOLD, STR("tenax " TENAX_VERSION "\n"));
    VEC_EACH(&d.findings, f) {
        slash_sayf(call, inks[f->health], "%-8s", health_name(f->health));
        slash_sayf(call, INK_PLAIN, " %-9s %.*s\n", f->area, STR_ARG(f->text));
    }
    slash_say(call, INK_BOLD,
              doctor_is_healthy(&d) ? STR("Ready.\n")
                                    : STR("Not ready: see the problems above.\n"));
    return 0;
}
