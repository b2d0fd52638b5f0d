/*
 * Pictures, known by what they begin with.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

#define IMAGE_MAX_SIDE 8000               /* pixels: what providers take */
#define IMAGE_MAX_BYTES ((size_t)5 << 20) /* before base64 */

/* "image/png", jpeg, gif or webp; NULL when it is none of these. 16 bytes are enough. */
const char *image_type(struct str bytes);

/* Width and height as the picture's head has them; both 0 when they are not found: it is damaged.
 */
void image_size(struct str bytes, size_t *ret_width, size_t *ret_height);
