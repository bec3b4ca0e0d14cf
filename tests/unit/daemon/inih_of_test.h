#pragma once
/*
 * inih_of_test - the INI library as other builds of it are, or as none should be.
 *
 * For tests linked with --wrap=ini_parse_stream.
 */
#include <ini.h>
#include <stdbool.h>

int __real_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);
int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);

/*
 * Other builds of inih lack Debian's variables. Set to what those builds have compiled in, just
 * before the parser runs, they make one of them.
 */
extern bool ini_use_stack __attribute__((weak));
extern bool ini_allow_multiline __attribute__((weak));
extern bool ini_allow_inline_comments __attribute__((weak));
extern int ini_max_line __attribute__((weak));

static bool plain_inih;

/* An inih that makes of a line something else than we do. */
enum oddity {
    ODD_NOT,
    ODD_DROPS,
    ODD_REPEATS,
    ODD_CUTS_VALUE,
    ODD_CUTS_KEY,
    ODD_OTHER_SECTION,
    ODD_NO_VALUE,
    ODD_TELLS_SECTIONS, /* which is no harm */
};

static enum oddity oddity;
static int odd_result; /* what it returns; 0: what the real one does */

struct odd_handler {
    ini_handler handler;
    void *user;
};

static inline int odd_take(void *user, const char *section, const char *name, const char *value)
{
    const struct odd_handler *odd = user;

    switch (oddity) {
    case ODD_NOT:
        break;
    case ODD_DROPS:
        return 1;
    case ODD_REPEATS:
        odd->handler(odd->user, section, name, value);
        break;
    case ODD_CUTS_VALUE:
        return odd->handler(odd->user, section, name, value + 1);
    case ODD_CUTS_KEY:
        return odd->handler(odd->user, section, name + 1, value);
    case ODD_OTHER_SECTION:
        return odd->handler(odd->user, "web", name, value);
    case ODD_NO_VALUE:
        return odd->handler(odd->user, section, name, NULL);
    case ODD_TELLS_SECTIONS:
        odd->handler(odd->user, section, NULL, NULL);
        break;
    }
    return odd->handler(odd->user, section, name, value);
}

int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user)
{
    struct odd_handler odd = {handler, user};
    int r;

    if (plain_inih && &ini_use_stack) {
        ini_use_stack = true;
        ini_max_line = 200;
        ini_allow_multiline = true;
        ini_allow_inline_comments = true;
    }
    r = __real_ini_parse_stream(reader, stream, odd_take, &odd);
    return odd_result ? odd_result : r;
}

static inline bool have_long_lines(void)
{
    return &ini_use_stack && !plain_inih;
}

static inline int use_plain_inih(void **state)
{
    (void)state;
    plain_inih = true;
    return 0;
}

static inline int use_own_inih(void **state)
{
    (void)state;
    plain_inih = false;
    return 0;
}
