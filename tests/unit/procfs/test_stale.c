/*
 * What lies behind a text never shows: each parser on seeds, cut at every place and mutated,
 * gives the same answer whatever the bytes behind are. Read buffers are not cleared on the
 * strength of this.
 */
#include "chance.h"
#include "check.h"
#include "digest.h"

enum { LONGEST = 2048 };

/* CPU seconds of random mutations for all parsers together. */
static const double budget = 2.5;

static const struct parser {
    const char *name;
    digest_function *digest;
    struct span seed;
} parsers[] = {
    {"pid_stat", digest_pid_stat,
     SPAN_LITERAL("42 (a) R 1 (b) S 1 42 42 0 -1 4194304 100 0 2 0 1234 567 0 0 20 0 1 0 50000 "
                  "8388608 512 18446744073709551615 1 1\n")},
    {"pid_status", digest_pid_status,
     SPAN_LITERAL("Name:\tx\nUid:\t1\t2\t3\t4\nVmHWM:\t 9 kB\nVmRSS:\t 6 kB\nRssAnon:\t 1 kB\n"
                  "RssFile:\t 2 kB\nRssShmem:\t 3 kB\nVmSwap:\t 4 kB\nThreads:\t1\n")},
    {"tid_status", digest_tid_status,
     SPAN_LITERAL("Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t345\n")},
    {"tid_schedstat", digest_tid_schedstat, SPAN_LITERAL("501432775 376888009 551\n")},
    {"pid_io", digest_pid_io,
     SPAN_LITERAL("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
                  "cancelled_write_bytes: 7\n")},
    {"pid_smaps", digest_pid_smaps,
     SPAN_LITERAL(
         "0-1 ---p 0 0:0 0   [rollup]\nPss:    1024 kB\nPss_Dirty: 7 kB\nSwapPss: 8 kB\n")},
    {"pid_limits", digest_pid_limits,
     SPAN_LITERAL("Max processes             1                    2                    p\n"
                  "Max open files            1024                 524288               files\n")},
    {"pid_cgroup", digest_pid_cgroup,
     SPAN_LITERAL(
         "3:cpu,cpuacct:/a/b:c\n1:name=systemd:/system.slice/x.service\n0::/ (deleted)\n")},
    {"pid_cmdline", digest_pid_cmdline, SPAN_LITERAL("/opt/a b\0--x\0\0y\0\0")},
    {"pid_maps", digest_pid_maps,
     SPAN_LITERAL(
         "00010000-00011000 rw-p 00000000 00:00 0 \n"
         "7fc9fe9ee000-7fc9fe9f0000 rw-p 001d3000 103:03 332835          /usr/lib/libc.so.6\n"
         "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0        [vsyscall]\n")},
    {"loadavg", digest_loadavg, SPAN_LITERAL("0.10 0.20 0.30 3/88 4242\n")},
    {"sysctl", digest_sysctl, SPAN_LITERAL("1184\t0\t9223372036854775807\n")},
    {"sys_stat", digest_sys_stat,
     SPAN_LITERAL("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3\nintr 5 0 0\nctxt 6\nbtime 7\n"
                  "softirq 3 1 2\nprocs_running 9\n")},
    {"utf8", digest_utf8, SPAN_LITERAL("a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\x80\x01z")},
    {"glob", digest_glob, SPAN_LITERAL("a*[b-d]?\\*\nabcdc*")},
};

enum { PARSERS = sizeof(parsers) / sizeof(*parsers) };

static void check(const struct parser *parser, struct span text)
{
    if (digest_is_of_text_alone(parser->digest, text))
        return;
    print_error("%s, %zu bytes:", parser->name, text.n);
    for (size_t i = 0; i < text.n; i++)
        print_error(" %02x", (unsigned char)text.p[i]);
    fail_msg("%s", "bytes behind the text show");
}

static void every_cut(void **state)
{
    (void)state;
    for (const struct parser *p = parsers; p < parsers + PARSERS; p++)
        for (size_t n = 0; n <= p->seed.n; n++)
            check(p, span_of(p->seed.p, n));
}

/* Characters that mean something to one parser or another come up more often. */
static char any_char(struct chance *chance)
{
    static const char likely[] = "0123456789 \n\t:()-/kBxZ*?[]\\\0\xff";

    return chance_below(chance, 3) ? likely[chance_below(chance, sizeof(likely) - 1)]
                                   : (char)chance_below(chance, 256);
}

/* One change: a byte replaced, taken out or put in, a piece copied elsewhere, or a cut. */
static size_t mutate(char *p, size_t n, struct chance *chance)
{
    size_t at = chance_below(chance, n + 1), from = chance_below(chance, n + 1);
    size_t length = chance_below(chance, 32);

    switch (chance_below(chance, 5)) {
    case 0:
        if (at < n)
            p[at] = any_char(chance);
        return n;
    case 1:
        if (at < n)
            memmove(p + at, p + at + 1, n-- - at - 1);
        return n;
    case 2:
        if (n == LONGEST)
            return n;
        memmove(p + at + 1, p + at, n - at);
        p[at] = any_char(chance);
        return n + 1;
    case 3:
        length = length < n - from ? length : n - from;
        length = length < n - at ? length : n - at;
        memmove(p + at, p + from, length);
        return n;
    default:
        return chance_below(chance, 8) ? n : at;
    }
}

static void mutations(void **state)
{
    struct chance chance = chance_of_test();
    double end = chance_seconds() + budget;
    char text[LONGEST];

    (void)state;
    while (chance_seconds() < end)
        for (const struct parser *p = parsers; p < parsers + PARSERS; p++) {
            size_t n = p->seed.n;

            memcpy(text, p->seed.p, n);
            for (size_t changes = 1 + chance_below(&chance, 12); changes > 0; changes--)
                n = mutate(text, n, &chance);
            check(p, span_of(text, n));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut),
        cmocka_unit_test(mutations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
