/*
 * A command line of anything against expressions that stand for what people write, and for the
 * worst of it; the first byte says which. PCRE2's two engines find the same, unless one of them
 * gave up; groups are within the line; and nothing takes long, which the target's time-out tells.
 */
#include "group/regex.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NO_JIT "(*NO_JIT)"

static const char *const texts[] = {
    "^nginx: (master|worker) process",
    "-D(?<name>[\\w.]+)=(\\S*)",
    "(?:^|/)(python|perl|ruby)[0-9.]* +(?:-\\S+ +)*(\\S+)",
    "^\\S*java .*-jar \\S*?([\\w-]+)\\.jar(?: |$)",
    "(?i)\\bstra\\x{df}e[^ ]*\\b",
    "(?s)(.)(?<!x)(.{2,5}?)\\1",
    "(a+)+$",
    "(a|aa)+$",
    "(?:.*.*)*[xy]",
    "(\\w+) .*\\1[!?]",
    "(?<x>a(?&x)?b)+$",
    "(?:(?=(a+))a)+[b]",
    "\\w{100}[!?]",
    "^(?:[^ ]+ )*(?:--none)?(|z)$",
    "[\xc3\xa4-\xc3\xbc\\W]+|(?<!\\p{L})\\d{3}",
};

enum { TEXTS = sizeof(texts) / sizeof(*texts) };

static struct regex *compiled[TEXTS], *interpreted[TEXTS];
static struct regex_matcher *matchers[2];

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void set_up(void)
{
    struct regex_fault fault;
    char text[256];

    must(regex_matcher_new(&matchers[0]) == 0 && regex_matcher_new(&matchers[1]) == 0);
    for (size_t i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof(text), NO_JIT "%s", texts[i]);
        must(regex_new(span_from_str(texts[i]), &compiled[i], &fault) == 0);
        must(regex_new(span_from_str(text), &interpreted[i], &fault) == 0);
        must(!regex_is_compiled(interpreted[i]));
    }
}

static void check_groups(size_t i, struct span line)
{
    for (int number = 1; number < 10; number++) {
        char digit = (char)('0' + number);
        struct span group = span_of(&digit, 1), a = {0}, b = {0};
        bool set = regex_group(compiled[i], matchers[0], line, group, &a);

        must(set == regex_group(interpreted[i], matchers[1], line, group, &b));
        must(!set || (a.p == b.p && a.n == b.n && a.p >= line.p && a.p + a.n <= line.p + line.n));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum regex_result a, b;
    struct span line;
    size_t i;

    if (!compiled[0])
        set_up();
    if (size == 0)
        return 0;
    i = data[0] % TEXTS;
    line = span_of((const char *)data + 1, size - 1);
    a = regex_match(compiled[i], matchers[0], line);
    b = regex_match(interpreted[i], matchers[1], line);
    if (a == REGEX_LIMIT || b == REGEX_LIMIT)
        return 0;
    must(a == b);
    if (a == REGEX_YES)
        check_groups(i, line);
    return 0;
}
