/*
 * The patterns of allowedMcpServers and deniedMcpServers for URLs, such as https://x.*.example.com
 *
 * A star stands for any characters of the part that it is in: in the host it never matches a slash,
 * so that a pattern for the hosts of a company does not allow another host whose path has that
 * name. Scheme and host are compared without case, the default port of a scheme does not count, and
 * ":*" takes any port.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

bool url_rule_matches(struct str pattern, struct str url);
