/*
 * A rule of anything, and a process of anything. Lines are `n` and the name, `x` and a name to
 * exclude, a digit and a pattern of that key, K and one byte or two for kernel threads alone or
 * none; a letter and a value of the process: c(omm), e(xe), l(ine), u(ser), U (uid), i (unit),
 * s(lice), t (container), f(ull id), p(od), g (cgroup), k(ernel).
 *
 * Whatever is not known of a process yet, a rule either waits or says what it says when all is
 * known; and an explanation comes to what matching does.
 */
#include "group/rule.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATTERNS_MAX = 4 };

struct input {
    struct rule_spec spec;
    struct span items[RULE_KEY_N][PATTERNS_MAX];
    struct subject subject;
    struct cgroup_identity cgroup;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool take_line(struct span *rest, struct span *ret)
{
    const char *end;

    if (rest->n == 0)
        return false;
    end = memchr(rest->p, '\n', rest->n);
    *ret = span_of(rest->p, end ? (size_t)(end - rest->p) : rest->n);
    *rest = span_skip(*rest, ret->n + (end ? 1 : 0));
    return true;
}

static struct span *value_place(struct input *in, char c)
{
    switch (c) {
    case 'c':
        return &in->subject.comm;
    case 'e':
        return &in->subject.exe;
    case 'l':
        return &in->subject.cmdline;
    case 'u':
        return &in->subject.user;
    case 'i':
        return &in->cgroup.unit;
    case 's':
        return &in->cgroup.slice;
    case 't':
        return &in->cgroup.container;
    case 'f':
        return &in->cgroup.container_id;
    case 'p':
        return &in->cgroup.pod;
    case 'g':
        return &in->cgroup.path;
    }
    return NULL;
}

static void take(struct input *in, char c, struct span text)
{
    struct span *value = value_place(in, c);

    if (c == 'n' || c == 'x') {
        in->spec.name = text;
        in->spec.exclude = c == 'x';
    } else if (c == 'k') {
        in->subject.kernel_thread = true;
    } else if (c == 'K') {
        in->spec.kernel = (enum rule_kernel)(text.n % 3);
    } else if (c == 'U') {
        in->subject.uid = (uint32_t)text.n;
        in->subject.have_uid = true;
    } else if (c >= '0' && c < '0' + RULE_KEY_N) {
        struct rule_patterns *patterns = &in->spec.patterns[c - '0'];

        patterns->items = in->items[c - '0'];
        if (patterns->n < PATTERNS_MAX)
            in->items[c - '0'][patterns->n++] = text;
    } else if (value) {
        *value = text;
    }
}

static void read_input(struct input *in, struct span text)
{
    struct span line;

    *in = (struct input){.spec = {.children = true}};
    in->subject.cgroup = &in->cgroup;
    while (take_line(&text, &line))
        if (line.n > 0)
            take(in, *line.p, span_skip(line, 1));
}

static bool same(struct rule_match a, struct rule_match b)
{
    return a.outcome == b.outcome && a.rule == b.rule && a.children == b.children;
}

static void take_explanation(const struct rule_explanation *e, void *arg)
{
    *(struct rule_explanation *)arg = *e;
}

static void check_subject(const struct rules *r, const struct subject *s, struct buf *name,
                          struct buf *other)
{
    struct rule_explanation last = {0};
    struct rule_match match, explained;

    buf_reset(name);
    match = rules_match(r, s, name);
    must(!buf_failed(name) && (match.outcome == RULE_GROUP) == (name->len > 0));
    must(name->len <= TEMPLATE_NAME_MAX + 16);
    explained = rules_explain(r, s, other, take_explanation, &last);
    must(same(match, explained));
    must(match.outcome != RULE_GROUP || span_equal(buf_span(name), buf_span(other)));
}

static void check_knowledge(const struct rules *r, const struct subject *s, struct buf *name,
                            struct buf *other)
{
    struct subject less = *s;
    struct rule_match all, some;

    buf_reset(name);
    all = rules_match(r, s, name);
    must(all.outcome != RULE_LATER);
    for (less.expected = 0; less.expected < 1 << (SUBJECT_CGROUP + 1); less.expected++) {
        buf_reset(other);
        some = rules_match(r, &less, other);
        must(some.outcome == RULE_LATER ||
             (same(all, some) && span_equal(buf_span(name), buf_span(other))));
        must(some.outcome != RULE_LATER || (less.expected & rules_needs(r)));
    }
}

static void check_rules(const struct rules *r, const struct input *in)
{
    struct subject s = in->subject;
    struct buf name, other;

    buf_init(&name, 4096);
    buf_init(&other, 4096);
    check_subject(r, &s, &name, &other);
    check_knowledge(r, &s, &name, &other);
    s.expected = subject_bit(SUBJECT_CMDLINE) | subject_bit(SUBJECT_USER);
    check_subject(r, &s, &name, &other);
    buf_deinit(&name);
    buf_deinit(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct span star = SPAN_LITERAL("*");
    struct rule_spec last = {.name = SPAN_LITERAL("${comm}-${exe}"),
                             .patterns[RULE_COMM] = {&star, 1}};
    struct rule_fault fault = {0};
    struct rules rules;
    struct input in;

    read_input(&in, span_of((const char *)data, size));
    rules_init(&rules);
    must((rules_add(&rules, &in.spec, &fault) == 0) == (rules.n_rules == 1));
    if (rules.n_rules == 0)
        must(fault.part.n <= size);
    must(rules_add(&rules, &last, &fault) == 0);
    check_rules(&rules, &in);
    rules_deinit(&rules);
    return 0;
}
