#pragma once
/*
 * template - a group's name with places to fill, such as `web-${comm}`.
 *
 * `${...}` is a place by its name (group/place.h), else a group of the regular expression that
 * matched, by number or name; `$$` is a dollar. A name without places is fixed.
 *
 * A name is either filled in whole or not at all: where a place has no value, or the result is
 * empty, there is no name. A group that took part in the match with no bytes has a value, which
 * is empty.
 */
#include "base/buf.h"
#include "base/span.h"
#include "group/place.h"
#include "group/regex.h"
#include "group/subject.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum template_kind {
    TEMPLATE_TEXT,
    TEMPLATE_PLACE,
    TEMPLATE_GROUP,
};

struct template_piece {
    enum template_kind kind;
    enum place place;  /* of TEMPLATE_PLACE */
    struct span text;  /* of TEMPLATE_TEXT; of TEMPLATE_GROUP its number or name */
    struct span whole; /* as it stands in the template */
};

struct template
{
    struct template_piece *pieces;
    size_t n_pieces;
    bool fixed; /* no places: always the same name */
};

/* What template_parse() found wrong. */
enum template_error {
    TEMPLATE_E_UNKNOWN = 1, /* ${...} can be no name */
    TEMPLATE_E_UNCLOSED,    /* `${` without `}` */
    TEMPLATE_E_STRAY,       /* `$` before something else */
    TEMPLATE_E_EMPTY,
    TEMPLATE_E_LAST = TEMPLATE_E_EMPTY,
};

/* More of a name is left out; no label holds as much. */
enum { TEMPLATE_NAME_MAX = 1024 };

/* The regular expression that matched; all NULL: none. */
struct template_match {
    const struct regex *regex;
    const struct regex_matcher *matcher;
    struct span subject;
};

/*
 * Parses text, which must outlive the template. Returns 0, -ENOMEM or an enum template_error, with
 * the part that is wrong in *ret_wrong. *ret is to be given to template_deinit() after a success.
 */
int template_parse(struct span text, struct template *ret, struct span *ret_wrong);
void template_deinit(struct template *t);

/* Mask of subject_bit(): what the places are filled from. */
uint32_t template_needs(const struct template *t);

/*
 * The least that is known of the places, groups of an expression left out: PLACE_NONE where one
 * of them has no value, with its piece in *ret_piece; else PLACE_EXPECTED where one has none yet,
 * likewise; else PLACE_KNOWN.
 */
enum place_state template_places(const struct template *t, const struct subject *s,
                                 const struct template_piece **ret_piece);

/* Whether all groups that the template has took part in the match. */
bool template_groups_set(const struct template *t, const struct template_match *match);

/*
 * Appends the name to `out`, at most TEMPLATE_NAME_MAX bytes. False if there is none: nothing is
 * appended then.
 */
bool template_fill(const struct template *t, const struct subject *s,
                   const struct template_match *match, struct buf *out);
