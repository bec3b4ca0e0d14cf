#pragma once
/*
 * ini_text - the text of an INI file, led past the traps of inih. The only user of that library.
 *
 * What sections and keys there are is the business of whoever gives the calls. The first error
 * ends the parse, whether it is found here or by a call, which tells of it by ini_text_fail().
 *
 * Errors are one line without LF: `FILE:LINE: [section] key: what`, of which that is left out
 * which is not known. Bytes of the input in it are fit for a terminal, but for those that a caller
 * appends.
 */
#include "base/buf.h"
#include "base/span.h"

#include <stdbool.h>

struct ini_text;

/* Each returns 0, or the result of the failure that it told. */
struct ini_text_calls {
    int (*begin_section)(struct ini_text *t); /* t->section, which was checked for its form */
    int (*end_section)(struct ini_text *t);   /* before each [section], and at the end */
    int (*find_key)(struct ini_text *t);      /* is t->key one of the section? */
    int (*set_value)(struct ini_text *t);     /* of that key: t->value */
};

struct ini_text {
    /* To be set; all else is zero. */
    const char *file; /* its name, for errors */
    struct span rest; /* the text, of which the parse takes lines off */
    const struct ini_text_calls *calls;
    void *user;
    struct buf *error;

    /* Where the parse is. */
    unsigned line;          /* 0: no line yet */
    struct span section;    /* as it stands in the text; p is NULL before the first */
    struct span key, value; /* of the line; empty on others than pairs */
    bool awaited;           /* inih has yet to hand the pair back */
    int result;             /* 0, or of the first error */
};

/* Returns 0, -EINVAL for what the text says, -ENOMEM, or what a call failed with. */
int ini_text_parse(struct ini_text *t);

/*
 * Fails the parse at the line, section and key at hand: -EINVAL, and `what` at the end of t->error,
 * where more may be appended.
 */
int ini_text_fail(struct ini_text *t, const char *what);
/* The same of something that was there before, with its line. */
int ini_text_fail_seen(struct ini_text *t, const char *what, unsigned line);
/* The same with -ENOMEM. */
int ini_text_fail_memory(struct ini_text *t);
