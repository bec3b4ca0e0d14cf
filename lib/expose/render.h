#pragma once
/*
 * render - a snapshot as a page of text.
 *
 * A pure function: it changes nothing but the buffer, allocates nothing but the buffer's growth,
 * and may run on any thread.
 */
#include "base/buf.h"
#include "expose/page.h"
#include "expose/selection.h"
#include "expose/snapshot.h"

/*
 * Appends the page of s to out: the families that are on in s->families and, where `only` is not
 * NULL, in *only too. Of a snapshot that is not up, the self families alone. The result is good
 * unless buf_failed(out).
 */
void render(const struct snapshot *s, enum format format, const struct selection *only,
            struct buf *out);

/* The value of the Content-Type header. */
const char *format_content_type(enum format format);
