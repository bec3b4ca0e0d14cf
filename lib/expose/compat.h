#pragma once
/*
 * compat - groups under the names that process-exporter gives them, for dashboards that exist.
 *
 * The values are those of the families proctally_group_*; a row of families.def names the function
 * that writes them, which finds `groupname` where others find the label `group`.
 */
#include "expose/families.h"
#include "expose/page.h"
#include "expose/snapshot.h"

/* Writes the samples of a family of scope FAMILY_COMPAT: of all groups. */
void compat_family(struct page *p, const struct snapshot *s, const struct family *f);
