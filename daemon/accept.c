/*
 * accept - a small reader of the list syntax that both headers share, and two verdicts.
 *
 * An element is `name[/name] *( OWS ; OWS [ name=value ] )`; empty elements and empty parameters
 * are allowed. Qualities are kept in thousandths. A header that is malformed anywhere counts as
 * malformed as a whole: half an understanding of what a client refuses is worse than none.
 */
#include "daemon/accept.h"

#include "base/scan.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum { QUALITY_ONE = 1000 };

/* One element of the list. Names are raw; compare them without regard to case. */
struct element {
    struct span type;    /* or the coding, of Accept-Encoding */
    struct span subtype; /* p is NULL without a slash */
    struct span version; /* p is NULL: no such parameter; still quoted if it was */
    unsigned quality;    /* 0..QUALITY_ONE */
};

static bool is_token_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool equal_fold(struct span s, const char *literal)
{
    return s.n == strlen(literal) && strncasecmp(s.p, literal, s.n) == 0;
}

static int take_token(struct span *rest, struct span *ret)
{
    size_t n = 0;

    while (n < rest->n && is_token_byte(rest->p[n]))
        n++;
    if (n == 0)
        return -EINVAL;
    *ret = span_of(rest->p, n);
    *rest = span_skip(*rest, n);
    return 0;
}

/* Takes a quoted string, quotes included. */
static int take_quoted(struct span *rest, struct span *ret)
{
    size_t n = 1;

    while (n < rest->n && rest->p[n] != '"')
        n += rest->p[n] == '\\' ? 2 : 1;
    if (n >= rest->n)
        return -EINVAL;
    *ret = span_of(rest->p, n + 1);
    *rest = span_skip(*rest, n + 1);
    return 0;
}

static int take_value(struct span *rest, struct span *ret)
{
    return rest->n > 0 && *rest->p == '"' ? take_quoted(rest, ret) : take_token(rest, ret);
}

/* `0`, `1`, or such a one with up to three decimals; further ones are read over. */
static int parse_quality(struct span s, unsigned *ret)
{
    unsigned quality = 0, weight = QUALITY_ONE;

    if (s.n == 0 || (*s.p != '0' && *s.p != '1') || (s.n > 1 && s.p[1] != '.'))
        return -EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        if (i == 1)
            continue;
        if (s.p[i] < '0' || s.p[i] > '9')
            return -EINVAL;
        quality += (unsigned)(s.p[i] - '0') * weight;
        weight /= 10;
    }
    if (quality > QUALITY_ONE)
        return -EINVAL;
    *ret = quality;
    return 0;
}

/* Takes what follows one semicolon. */
static int take_parameter(struct span *rest, struct element *e)
{
    struct span name, value;

    scan_blanks(rest);
    if (rest->n == 0 || *rest->p == ';' || *rest->p == ',')
        return 0;
    if (take_token(rest, &name) < 0 || !scan_literal(rest, SPAN_LITERAL("=")) ||
        take_value(rest, &value) < 0)
        return -EINVAL;
    if (equal_fold(name, "version"))
        e->version = value;
    return equal_fold(name, "q") ? parse_quality(value, &e->quality) : 0;
}

/* Takes one element that is there, up to its comma. */
static int take_element(struct span *rest, struct element *ret)
{
    *ret = (struct element){.quality = QUALITY_ONE};
    if (take_token(rest, &ret->type) < 0)
        return -EINVAL;
    if (scan_literal(rest, SPAN_LITERAL("/")) && take_token(rest, &ret->subtype) < 0)
        return -EINVAL;
    for (;;) {
        scan_blanks(rest);
        if (!scan_literal(rest, SPAN_LITERAL(";")))
            break;
        if (take_parameter(rest, ret) < 0)
            return -EINVAL;
    }
    return rest->n == 0 || *rest->p == ',' ? 0 : -EINVAL;
}

/* The next element: 1 and *ret, 0 at the end, -EINVAL. */
static int next_element(struct span *rest, struct element *ret)
{
    do
        scan_blanks(rest);
    while (scan_literal(rest, SPAN_LITERAL(",")));
    if (rest->n == 0)
        return 0;
    return take_element(rest, ret) < 0 ? -EINVAL : 1;
}

/* What the headers say of one thing we offer. */
struct verdict {
    const char *type, *subtype, *version;
    unsigned specificity; /* of the best range so far; 0: none matched */
    unsigned quality;
    unsigned place; /* of that range in the header */
};

/* Whether a parameter's value, quoted or not, is this text. */
static bool value_is(struct span value, const char *text)
{
    bool quoted = value.n > 0 && *value.p == '"';
    size_t end = quoted ? value.n - 1 : value.n;

    for (size_t i = quoted ? 1 : 0; i < end; i++) {
        if (quoted && value.p[i] == '\\')
            i++;
        if (*text == '\0' || value.p[i] != *text++)
            return false;
    }
    return *text == '\0';
}

/* How closely the range describes the offer: 0 not at all, 4 with its version. */
static unsigned range_specificity(const struct element *e, const struct verdict *offer)
{
    if (equal_fold(e->type, "*"))
        return equal_fold(e->subtype, "*") ? 1 : 0;
    if (!equal_fold(e->type, offer->type))
        return 0;
    if (equal_fold(e->subtype, "*"))
        return 2;
    if (!equal_fold(e->subtype, offer->subtype))
        return 0;
    if (!e->version.p)
        return 3;
    return value_is(e->version, offer->version) ? 4 : 0;
}

static void verdict_add(struct verdict *v, const struct element *e, unsigned place)
{
    unsigned specificity = range_specificity(e, v);

    if (specificity < v->specificity || specificity == 0)
        return;
    if (specificity == v->specificity && e->quality <= v->quality)
        return;
    v->specificity = specificity;
    v->quality = e->quality;
    v->place = place;
}

enum accept_format accept_format(const char *accept)
{
    struct verdict text = {.type = "text", .subtype = "plain", .version = "0.0.4"};
    struct verdict om = {.type = "application", .subtype = "openmetrics-text", .version = "1.0.0"};
    struct span rest = span_from_str(accept ? accept : "");
    struct element e;
    int r;

    for (unsigned place = 0; (r = next_element(&rest, &e)) > 0; place++) {
        if (!e.subtype.p)
            return ACCEPT_TEXT;
        verdict_add(&text, &e, place);
        verdict_add(&om, &e, place);
    }
    if (r < 0 || om.quality < text.quality || om.quality == 0)
        return ACCEPT_TEXT;
    if (om.quality == text.quality && om.place >= text.place)
        return ACCEPT_TEXT;
    return ACCEPT_OPENMETRICS;
}

bool accept_gzip(const char *accept_encoding)
{
    int gzip = -1, any = -1, identity = -1; /* qualities; negative: not named */
    struct span rest = span_from_str(accept_encoding ? accept_encoding : "");
    struct element e;
    int r;

    while ((r = next_element(&rest, &e)) > 0) {
        if (e.subtype.p)
            return false;
        if (equal_fold(e.type, "gzip") || equal_fold(e.type, "x-gzip"))
            gzip = (int)e.quality;
        else if (equal_fold(e.type, "identity"))
            identity = (int)e.quality;
        else if (equal_fold(e.type, "*"))
            any = (int)e.quality;
    }
    if (gzip < 0)
        gzip = any;
    return r == 0 && gzip > 0 && gzip >= identity;
}
