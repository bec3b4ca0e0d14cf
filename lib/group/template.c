/* template - a group's name with places to fill. */
#include "group/template.h"

#include <errno.h>
#include <stdlib.h>

static int template_add(struct template *t, struct template_piece piece)
{
    struct template_piece *pieces = realloc(t->pieces, (t->n_pieces + 1) * sizeof(*pieces));

    if (!pieces)
        return -ENOMEM;
    t->pieces = pieces;
    t->pieces[t->n_pieces++] = piece;
    t->fixed &= piece.kind == TEMPLATE_TEXT;
    return 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Whether an expression could have a group that is called this. */
static bool could_be_group(struct span name)
{
    bool number = name.n > 0 && name.n <= 2 && *name.p != '0';
    bool word = name.n > 0 && name.n <= REGEX_NAME_MAX && !is_digit(*name.p);

    for (size_t i = 0; i < name.n; i++) {
        number &= is_digit(name.p[i]);
        word &= is_digit(name.p[i]) || is_letter(name.p[i]);
    }
    return number || word;
}

/* The place that `${name}` is. */
static int template_add_place(struct template *t, struct span whole)
{
    struct span name = span_of(whole.p + 2, whole.n - 3);
    enum place place = place_from_name(name);

    if (place != PLACE_N)
        return template_add(t, (struct template_piece){TEMPLATE_PLACE, place, name, whole});
    if (could_be_group(name))
        return template_add(t, (struct template_piece){TEMPLATE_GROUP, PLACE_N, name, whole});
    return TEMPLATE_E_UNKNOWN;
}

static int template_add_text(struct template *t, struct span text, struct span whole)
{
    return template_add(t, (struct template_piece){TEMPLATE_TEXT, PLACE_N, text, whole});
}

/* Takes one piece off the front of *rest. */
static int template_take(struct template *t, struct span *rest, struct span *ret_wrong)
{
    const char *end;
    size_t n = 0;

    while (n < rest->n && rest->p[n] != '$')
        n++;
    if (n > 0) {
        struct span text = span_of(rest->p, n);

        *rest = span_skip(*rest, n);
        return template_add_text(t, text, text);
    }
    *ret_wrong = *rest;
    if (rest->n < 2 || (rest->p[1] != '$' && rest->p[1] != '{'))
        return TEMPLATE_E_STRAY;
    if (rest->p[1] == '$') {
        struct span both = span_of(rest->p, 2);

        *rest = span_skip(*rest, 2);
        return template_add_text(t, span_of(both.p, 1), both);
    }
    end = memchr(rest->p, '}', rest->n);
    if (!end)
        return TEMPLATE_E_UNCLOSED;
    *ret_wrong = span_of(rest->p, (size_t)(end - rest->p) + 1);
    *rest = span_skip(*rest, ret_wrong->n);
    return template_add_place(t, *ret_wrong);
}

int template_parse(struct span text, struct template *ret, struct span *ret_wrong)
{
    struct template t = {.fixed = true};

    if (text.n == 0) {
        *ret_wrong = text;
        return TEMPLATE_E_EMPTY;
    }
    while (text.n > 0) {
        int r = template_take(&t, &text, ret_wrong);

        if (r != 0) {
            template_deinit(&t);
            return r;
        }
    }
    *ret = t;
    return 0;
}

void template_deinit(struct template *t)
{
    free(t->pieces);
    *t = (struct template){0};
}

uint32_t template_needs(const struct template *t)
{
    uint32_t needs = 0;

    for (size_t i = 0; i < t->n_pieces; i++)
        if (t->pieces[i].kind == TEMPLATE_PLACE)
            needs |= place_needs(t->pieces[i].place);
    return needs;
}

enum place_state template_places(const struct template *t, const struct subject *s,
                                 const struct template_piece **ret_piece)
{
    enum place_state least = PLACE_KNOWN;
    struct span value;

    for (size_t i = 0; i < t->n_pieces; i++) {
        const struct template_piece *piece = &t->pieces[i];
        enum place_state state =
            piece->kind == TEMPLATE_PLACE ? place_value(piece->place, s, &value) : PLACE_KNOWN;

        if (state < least) {
            least = state;
            *ret_piece = piece;
        }
    }
    return least;
}

static bool match_group(const struct template_match *match, struct span group, struct span *ret)
{
    return match->regex && regex_group(match->regex, match->matcher, match->subject, group, ret);
}

bool template_groups_set(const struct template *t, const struct template_match *match)
{
    struct span value;

    for (size_t i = 0; i < t->n_pieces; i++)
        if (t->pieces[i].kind == TEMPLATE_GROUP && !match_group(match, t->pieces[i].text, &value))
            return false;
    return true;
}

static bool piece_value(const struct template_piece *piece, const struct subject *s,
                        const struct template_match *match, struct span *ret)
{
    switch (piece->kind) {
    case TEMPLATE_TEXT:
        break;
    case TEMPLATE_PLACE:
        return place_value(piece->place, s, ret) == PLACE_KNOWN;
    case TEMPLATE_GROUP:
        return match_group(match, piece->text, ret);
    }
    *ret = piece->text;
    return true;
}

bool template_fill(const struct template *t, const struct subject *s,
                   const struct template_match *match, struct buf *out)
{
    size_t start = out->len, room = TEMPLATE_NAME_MAX;
    struct span value;

    for (size_t i = 0; i < t->n_pieces; i++) {
        if (!piece_value(&t->pieces[i], s, match, &value)) {
            out->len = start;
            return false;
        }
        if (value.n > room)
            value.n = room;
        buf_append_span(out, value);
        room -= value.n;
    }
    return room < TEMPLATE_NAME_MAX;
}
