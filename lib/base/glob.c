/*
 * glob - matching with one point to come back to, the last `*`.
 *
 * A later star makes earlier ones final, since the earliest place where the part between two
 * stars fits is as good as any other.
 */
#include "base/glob.h"

/*
 * Length of the set at the front of p (which begins with `[`), or 0 when it is not closed. A `]`
 * in first place is an ordinary member.
 */
static size_t glob_set_length(struct span p)
{
    size_t i = 1;

    if (i < p.n && (p.p[i] == '!' || p.p[i] == '^'))
        i++;
    if (i < p.n && p.p[i] == ']')
        i++;
    while (i < p.n && p.p[i] != ']')
        i++;
    return i < p.n ? i + 1 : 0;
}

struct glob_range {
    unsigned char low, high;
};

/* What is between the brackets, and whether it is what the set leaves out. */
static struct span glob_members(struct span set, bool *ret_negated)
{
    struct span members = span_of(set.p + 1, set.n - 2);

    *ret_negated = *members.p == '!' || *members.p == '^';
    return *ret_negated ? span_skip(members, 1) : members;
}

/* Takes the next byte or range off the members of a set. */
static bool glob_take_range(struct span *rest, struct glob_range *ret)
{
    bool range = rest->n > 2 && rest->p[1] == '-';

    if (rest->n == 0)
        return false;
    ret->low = (unsigned char)rest->p[0];
    ret->high = (unsigned char)rest->p[range ? 2 : 0];
    *rest = span_skip(*rest, range ? 3 : 1);
    return true;
}

static bool glob_in_set(struct span set, unsigned char c)
{
    bool negated, found = false;
    struct span members = glob_members(set, &negated);
    struct glob_range range;

    while (glob_take_range(&members, &range))
        found |= range.low <= c && c <= range.high;
    return found != negated;
}

static bool glob_set_is_reversed(struct span set)
{
    bool negated;
    struct span members = glob_members(set, &negated);
    struct glob_range range;

    while (glob_take_range(&members, &range))
        if (range.low > range.high)
            return true;
    return false;
}

/*
 * Length of the pattern's first element if that matches c, else 0. The element is no `*`, and p
 * is not empty.
 */
static size_t glob_element(struct span p, char c)
{
    size_t n;

    switch (*p.p) {
    case '?':
        return 1;
    case '[':
        n = glob_set_length(p);
        if (n == 0)
            return c == '[';
        return glob_in_set(span_of(p.p, n), (unsigned char)c) ? n : 0;
    case '\\':
        if (p.n == 1)
            return c == '\\';
        return p.p[1] == c ? 2 : 0;
    default:
        return *p.p == c;
    }
}

bool glob_match(struct span pattern, struct span subject)
{
    struct span star = {NULL, 0}, star_subject = {NULL, 0};
    size_t n;

    while (subject.n > 0) {
        if (pattern.n > 0 && *pattern.p == '*') {
            pattern = span_skip(pattern, 1);
            star = pattern;
            star_subject = subject;
            continue;
        }
        n = pattern.n > 0 ? glob_element(pattern, *subject.p) : 0;
        if (n > 0) {
            pattern = span_skip(pattern, n);
            subject = span_skip(subject, 1);
            continue;
        }
        if (!star.p)
            return false;
        star_subject = span_skip(star_subject, 1);
        subject = star_subject;
        pattern = star;
    }
    while (pattern.n > 0 && *pattern.p == '*')
        pattern = span_skip(pattern, 1);
    return pattern.n == 0;
}

int glob_check(struct span pattern)
{
    while (pattern.n > 0) {
        size_t n = 1;

        if (*pattern.p == '\\')
            n = pattern.n > 1 ? 2 : 0;
        else if (*pattern.p == '[')
            n = glob_set_length(pattern);
        if (n == 0)
            return GLOB_E_UNFINISHED;
        if (*pattern.p == '[' && glob_set_is_reversed(span_of(pattern.p, n)))
            return GLOB_E_REVERSED;
        pattern = span_skip(pattern, n);
    }
    return 0;
}
