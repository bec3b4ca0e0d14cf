#pragma once
/*
 * openmetrics - what is special to OpenMetrics 1.0.0.
 */
#include "base/buf.h"
#include "expose/families.h"

#define OPENMETRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* TYPE, UNIT if there is one, and HELP, under the family's name: no `_total`. */
void openmetrics_family(struct buf *out, const struct family *f);

/* The end mark, without which a page counts as cut. */
void openmetrics_end(struct buf *out);
