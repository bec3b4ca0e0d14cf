#pragma once
/*
 * regex - regular expressions as Perl has them (PCRE2) over bytes that strangers choose, at a cost
 * that is bounded whatever the expression and the bytes are.
 *
 * The subject is searched, `^` and `$` hold an expression to its ends. It is read as UTF-8: `.` is
 * a character, and bytes that are no UTF-8 match nothing, so a match never spans them.
 *
 * A search that costs too much is given up and tells so. What it may cost does not depend on the
 * length of the subject: some milliseconds. Nor can many of them take long together: who has spent
 * some hundred milliseconds on dear searches in a round has little for each further one.
 */
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    REGEX_GROUPS_MAX = 99, /* in one expression */
    REGEX_NAME_MAX = 32,   /* bytes of a group's name, by PCRE2 */
    REGEX_REASON_MAX = 160,
};

/* A compiled expression; may be used by several threads at a time. */
struct regex;

/* What a search works with, and remembers of its result: one thread's at a time. */
struct regex_matcher;

/* What is wrong with an expression. */
struct regex_fault {
    size_t at; /* bytes in front of what is wrong */
    char reason[REGEX_REASON_MAX];
};

enum {
    REGEX_E_SYNTAX = 1, /* or more groups than REGEX_GROUPS_MAX */
};

/*
 * Compiles the expression, which may be forgotten afterwards. Where the process may make memory
 * executable, that includes machine code; where not, searches take longer and give the same.
 * Returns 0, -ENOMEM, or REGEX_E_SYNTAX and *ret_fault.
 */
int regex_new(struct span text, struct regex **ret, struct regex_fault *ret_fault);
void regex_free(struct regex *re);

/* Whether there is machine code of it. */
bool regex_is_compiled(const struct regex *re);

/* Whether it has the group, by number ("1") or by name. */
bool regex_has_group(const struct regex *re, struct span group);

/* The name number i, in no certain order; false behind the last. */
bool regex_group_name(const struct regex *re, size_t i, struct span *ret);

/* All the memory that searches ever take. Returns 0 or -ENOMEM. */
int regex_matcher_new(struct regex_matcher **ret);
void regex_matcher_free(struct regex_matcher *m);

/* Begins a round, such as a cycle of the daemon. */
void regex_matcher_begin(struct regex_matcher *m);

enum regex_result {
    REGEX_NO,
    REGEX_YES,
    REGEX_LIMIT, /* given up */
};

/* Searches. Calls no allocator. */
enum regex_result regex_match(const struct regex *re, struct regex_matcher *m, struct span subject);

/*
 * What the group, by number or by name, took of the subject in the matcher's last search, which
 * was by this expression, of this subject, and found. False if the group took no part in it, or
 * there is none. Of several groups of one name it is the first that took part.
 */
bool regex_group(const struct regex *re, const struct regex_matcher *m, struct span subject,
                 struct span group, struct span *ret);
