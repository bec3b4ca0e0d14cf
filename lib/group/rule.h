#pragma once
/*
 * rule - which group a process belongs to, or that it belongs to none.
 *
 * Rules are tried in the order they were added; the first whose conditions all hold decides. A
 * condition is a list of patterns, of which one must match:
 *
 *     comm       globs
 *     exe        globs: with a `/` over the whole path, without over its last component
 *     user       globs over the name, or the number of a user without one; one of digits alone
 *                also over the number of a user who has a name
 *     unit       globs over the innermost unit's full name, such as `getty@tty1.service`
 *     cgroup     globs over the path
 *     container  globs over the short id or name, and over the full id
 *     pod        globs over the uid
 *     cmdline    regular expressions over the arguments, joined by one blank
 *
 * Beside them a rule may be for kernel threads alone, or for none of them.
 *
 * No condition holds on what is not to be had, not even `*`, and a rule does not match either if
 * a place of its name has no value. What is not known yet may still come: then the rule is
 * neither taken nor passed over, unless something else about it fails.
 *
 * A kernel thread has neither exe nor cmdline, nor a cgroup unless it is in another than the root.
 * A rule whose one condition is the user does not match it, unless it is for kernel threads alone:
 * `user = root` means root's processes.
 */
#include "base/buf.h"
#include "base/span.h"
#include "group/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rule_key {
    RULE_COMM,
    RULE_EXE,
    RULE_USER,
    RULE_UNIT,
    RULE_CGROUP,
    RULE_CONTAINER,
    RULE_POD,
    RULE_CMDLINE,
    RULE_KEY_N,
};

struct rule_patterns {
    const struct span *items;
    size_t n; /* 0: no such condition */
};

enum rule_kernel {
    RULE_KERNEL_ANY,
    RULE_KERNEL_ONLY, /* nobody but kernel threads */
    RULE_KERNEL_NONE, /* everybody but them */
};

/* A rule as it is configured. */
struct rule_spec {
    bool exclude;  /* its processes are in no group; the name is for people alone */
    bool children; /* for the caller: descendants that no rule matches follow */
    enum rule_kernel kernel;
    struct span name; /* a template */
    struct rule_patterns patterns[RULE_KEY_N];
};

struct rule {
    char *text;         /* all bytes that the spans are of */
    struct span *items; /* all patterns */
    struct rule_spec own;
    struct template name; /* without pieces if it excludes */
    struct regex **regexes;
    uint32_t given;         /* 1 << enum rule_key that it has */
    uint64_t limit_reached; /* searches given up */
    bool limit_told;
};

struct rules {
    struct rule *rules;
    size_t n_rules;
    struct regex_matcher *matcher; /* NULL while there is no expression */
};

enum rule_error {
    /* below: as enum template_error says of the name */
    RULE_E_RESERVED = TEMPLATE_E_LAST + 1, /* the name is `_other` or `_empty` */
    RULE_E_GROUP,                          /* the name has a group that no expression has */
    RULE_E_NO_CONDITION, /* there is no pattern at all, nor a word on kernel threads */
    RULE_E_GLOB,         /* no glob (base/glob.h) */
    RULE_E_REGEX,        /* no regular expression */
    RULE_E_SHADOWED,     /* an expression calls a group by the name of a place */
};

struct rule_fault {
    struct span part;         /* of the caller's text: of the name, or the pattern */
    enum rule_key key;        /* of a pattern */
    size_t item;              /* its number */
    struct regex_fault regex; /* of RULE_E_REGEX */
    enum place place;         /* of RULE_E_SHADOWED */
};

enum rule_outcome {
    RULE_DEFAULT, /* no rule matches */
    RULE_GROUP,
    RULE_EXCLUDE,
    RULE_LATER, /* the rule waits for a value that is expected */
};

struct rule_match {
    enum rule_outcome outcome;
    size_t rule;   /* its number, but for RULE_DEFAULT */
    bool children; /* of RULE_GROUP: the rule's */
};

void rules_init(struct rules *r);
void rules_deinit(struct rules *r);

/*
 * Adds a rule behind the others; the text is copied. Returns 0, -ENOMEM, an enum template_error
 * or an enum rule_error, with what is wrong in *ret_fault; nothing is added then.
 */
int rules_add(struct rules *r, const struct rule_spec *spec, struct rule_fault *ret_fault);

/* What can be said of a group's name alone: 0, or as rules_add(). */
int rule_check_name(struct span name, struct span *ret_wrong);

/* The same of a pattern alone, which is what *ret_fault is about. */
int rule_check_pattern(enum rule_key key, struct span pattern, struct rule_fault *ret_fault);

/* Begins a round of questions, in which searches of command lines together cost little. */
void rules_begin(struct rules *r);

/*
 * Which rule decides. For RULE_GROUP the group's name is appended to out_name, at most
 * TEMPLATE_NAME_MAX raw bytes and a few: not yet a label value. Where places make it the name of
 * a group that means something else (`_other`, `_empty`, `kernel`), `name/` stands before it.
 * Calls no allocator but for out_name; counts in the rules the searches that were given up.
 */
struct rule_match rules_match(const struct rules *r, const struct subject *s, struct buf *out_name);

/* Mask of subject_bit(): what any rule looks at. */
uint32_t rules_needs(const struct rules *r);
bool rules_have_children(const struct rules *r);

/* Appends the rule's name if it is that of a group and the same for all processes. */
bool rules_fixed_name(const struct rules *r, size_t rule, struct buf *out_name);

/* Searches of command lines given up since the rules were made. */
uint64_t rules_limit_reached(const struct rules *r);

/* The next rule of which that is news, each once; false: none. */
bool rules_tell_limit(struct rules *r, size_t *ret_rule);

/* ---- explaining ---- */

enum rule_finding_kind {
    FINDING_NOT_ASKED, /* the rule has no such condition */
    FINDING_HOLDS,
    FINDING_FAILS,
    FINDING_NO_VALUE, /* nothing to hold it against, and none to come */
    FINDING_EXPECTED, /* not known yet */
    FINDING_LIMIT,    /* fails as well: a search was given up */
    FINDING_NO_GROUP, /* fails as well: it matches, but without a group that the name has */
};

struct rule_finding {
    enum rule_finding_kind kind;
    struct span value;   /* what it was held against; of a container the short id */
    struct span pattern; /* the one that matched, or was given up */
};

enum rule_verdict {
    VERDICT_PASSED_OVER,
    VERDICT_GROUP,
    VERDICT_EXCLUDE,
    VERDICT_LATER,
};

struct rule_explanation {
    size_t rule;
    enum rule_verdict verdict;
    struct rule_finding findings[RULE_KEY_N];
    enum rule_finding_kind kernel; /* whether it is a kernel thread, where the rule looks at that */
    bool not_kernel_threads; /* passed over since it is one, and the rule has the user alone */
    struct span place;       /* `${...}` of the name that has no value, or none yet; or empty */
    struct span name;        /* of VERDICT_GROUP */
};

/*
 * Tells of each rule in turn what came out, up to the one that decides. All spans die when tell()
 * returns. Returns what rules_match() does. `scratch` is for names.
 */
struct rule_match rules_explain(const struct rules *r, const struct subject *s, struct buf *scratch,
                                void (*tell)(const struct rule_explanation *explanation, void *arg),
                                void *arg);
