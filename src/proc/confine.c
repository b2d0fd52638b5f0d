/*
 * confine: the table of backends, and the rule that what cannot be enforced is refused. Pure; any
 * thread.
 */
#include "proc/confine.h"

#include "base/err.h"
#include "base/mem.h"

const struct confine_backend confine_backends[] = {
    {.name = "none"},
};
const size_t confine_backend_count = ARRAY_LEN(confine_backends);

const struct confine_backend *confine_backend(void)
{
    return &confine_backends[0];
}

int confine_check(const struct confinement *c, struct err *err)
{
    const struct confine_backend *by = confine_backend();

    if (c && c->write_dirs && !by->folders)
        return err_set(err, ERR_UNSUPPORTED, "commands cannot be confined to folders here");
    if (c && c->no_network && !by->network)
        return err_set(err, ERR_UNSUPPORTED, "commands cannot be kept off the network here");
    return 0;
}
