#pragma once
/*
 * accept - what a client is sent, out of its Accept and Accept-Encoding headers (RFC 9110, 12.5).
 *
 * Pure functions of the header's value; NULL stands for a header that was not sent. Nothing here
 * refuses a request: what is malformed or matches nothing gets plain text, not compressed.
 */
#include <stdbool.h>

enum accept_format {
    ACCEPT_TEXT,        /* text/plain; version=0.0.4 */
    ACCEPT_OPENMETRICS, /* application/openmetrics-text; version=1.0.0 */
};

/*
 * The offered format that the client likes best. Each takes its quality from the most specific
 * range that matches it; at equal quality the range named first wins, and text where one range
 * (such as star/star) stands for both. Ranges without a version match ours, another version does
 * not; parameters other than version and q do not count.
 */
enum accept_format accept_format(const char *accept);

/*
 * Whether to compress: gzip (or `*`) has a quality above 0, and identity, if named, has none above
 * that.
 */
bool accept_gzip(const char *accept_encoding);
