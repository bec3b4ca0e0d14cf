/* fifty_rules - fifty rules as people write them. */
#include "fifty_rules.h"

#include "bench.h"

#include <stdio.h>

/* Of one condition or two each, as they are written. */
static const struct {
    enum rule_key key;
    const char *globs[3];
} glob_rules[] = {
    {RULE_COMM, {"nginx", "apache2", "httpd*"}},
    {RULE_COMM, {"postgres*", "mysqld", "mariadbd"}},
    {RULE_EXE, {"/opt/tools/bin/*", "python3*", NULL}},
    {RULE_UNIT, {"getty@*.service", "ssh*.service", NULL}},
    {RULE_USER, {"alice", "bob", "build-*"}},
    {RULE_CGROUP, {"/user.slice/*", "*/docker-*.scope", NULL}},
};

static const char *const regexes[] = {
    "^nginx: (master|worker) process",
    "^postgres: (\\w+) ",
    "(?:^|/)(python|perl|ruby)[0-9.]* +(?:-\\S+ +)*(\\S+)",
    "--role=(?<role>\\w+)",
    "^\\S*java .*-jar \\S*?([\\w-]+)\\.jar(?: |$)",
    "-Dservice\\.name=(?<service>\\S+)",
    "^/usr/s?bin/(\\S+) --daemon",
    "celery .*worker.*-Q (\\w+)",
};

static void add(struct rules *rules, const struct rule_spec *spec)
{
    struct rule_fault fault;

    if (rules_add(rules, spec, &fault) != 0)
        bench_die("rules_add");
}

static void add_globs(struct rules *rules, int number)
{
    size_t row = (size_t)number % (sizeof(glob_rules) / sizeof(*glob_rules)), n = 0;
    struct span items[3], name = SPAN_LITERAL("g");
    struct rule_spec spec = {.name = name};

    for (; n < 3 && glob_rules[row].globs[n]; n++)
        items[n] = span_from_str(glob_rules[row].globs[n]);
    spec.patterns[glob_rules[row].key] = (struct rule_patterns){items, n};
    add(rules, &spec);
}

static void add_regex(struct rules *rules, int number, bool compiled)
{
    size_t row = (size_t)number % (sizeof(regexes) / sizeof(*regexes));
    char text[256];
    struct span item;
    struct rule_spec spec = {.name = SPAN_LITERAL("r"), .patterns[RULE_CMDLINE] = {&item, 1}};

    snprintf(text, sizeof(text), "%s%s", compiled ? "" : "(*NO_JIT)", regexes[row]);
    item = span_from_str(text);
    add(rules, &spec);
}

void fifty_rules(struct rules *rules, bool compiled)
{
    static const struct span star = SPAN_LITERAL("*");
    struct rule_spec last = {.name = SPAN_LITERAL("${comm}"), .patterns[RULE_COMM] = {&star, 1}};

    rules_init(rules);
    for (int i = 0; i < GLOB_RULES - 1; i++)
        add_globs(rules, i);
    for (int i = 0; i < REGEX_RULES; i++)
        add_regex(rules, i, compiled);
    add(rules, &last);
}
