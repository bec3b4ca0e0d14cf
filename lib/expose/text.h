#pragma once
/*
 * text - what is special to Prometheus' text format 0.0.4.
 */
#include "base/buf.h"
#include "expose/families.h"

#define TEXT_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* HELP and TYPE, under the samples' name. */
void text_family(struct buf *out, const struct family *f);
