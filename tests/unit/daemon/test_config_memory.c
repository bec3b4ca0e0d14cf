/*
 * Every allocation of a load fails once: the result is -ENOMEM, what was there stays, and nothing
 * leaks (which the address sanitizer's build tells).
 */
#include "daemon/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

/* The allocation that fails, counted from 1; 0: none. */
static unsigned failing, allocations;

static bool fails(void)
{
    return ++allocations == failing;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
    return fails() ? NULL : __real_strndup(s, n);
}

static const char good[] = "[collector]\n"
                           "procfs = /host/proc\n"
                           "[web]\n"
                           "listen = :1 :2\n"
                           "telemetry_path = /m\n"
                           "[group ${comm}-x]\n"
                           "comm = a b c\n"
                           "[group ${1}]\n"
                           "cmdline = (a)\n"
                           "cmdline = (b)\n"
                           "[exclude ${1}]\n"
                           "user = a\n"
                           "[metrics]\n"
                           "include = proctally_*\n";

/* An error needs memory too. */
static const char bad[] = "[group a]\ncomm = a\n[log]\nlevel = loud\n";
static const char bad_rule[] = "[group a-${1}]\ncmdline = a\n";

static void write_file(char *file, const char *text)
{
    int fd = mkstemp(file);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int load_failing(const struct options *flags, struct config *c, struct buf *error,
                        unsigned nth)
{
    int r;

    failing = nth;
    allocations = 0;
    r = config_load(flags, c, error);
    failing = 0;
    return r;
}

static void check_file(const char *text, int end, unsigned least)
{
    char file[] = "/tmp/test_config_memory.XXXXXX";
    struct option_given given[] = {{OPTION_WEB_LISTEN, ":3"}, {OPTION_WEB_LISTEN, ":4"}};
    struct options flags = {.config_file = file, .given = given, .n_given = 2};
    struct options none = {.config_file = file};
    struct config c, before;
    struct buf error;
    unsigned n = 0;
    int r;

    write_file(file, good);
    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    assert_int_equal(config_load(&none, &c, &error), 0);
    unlink(file);
    memcpy(file + strlen(file) - 6, "XXXXXX", 6);
    write_file(file, text);
    before = c;
    do {
        /* So that the error's own memory fails too. */
        buf_deinit(&error);
        r = load_failing(&flags, &c, &error, ++n);
        if (r < 0)
            assert_memory_equal(&before, &c, sizeof(c));
        before = c;
    } while (r == -ENOMEM || allocations >= n);
    assert_int_equal(r, end);
    assert_true(n > least);
    buf_deinit(&error);
    config_deinit(&c);
    unlink(file);
}

static void test_good_file(void **state)
{
    (void)state;
    check_file(good, 0, 20);
}

static void test_bad_file(void **state)
{
    (void)state;
    check_file(bad, -EINVAL, 10);
    check_file(bad_rule, -EINVAL, 10);
}

static void test_print(void **state)
{
    struct options none = {0};
    struct config c;
    struct buf error;
    FILE *out = fopen("/dev/null", "we");

    (void)state;
    assert_non_null(out);
    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    assert_int_equal(config_parse(span_from_str(good), "x", &none, &c, &error), 0);
    allocations = 0;
    failing = 1;
    assert_int_equal(config_print(&c, out), -ENOMEM);
    failing = 0;
    fclose(out);
    out = fopen("/dev/full", "we");
    assert_int_equal(config_print(&c, out), -EIO);
    fclose(out);
    buf_deinit(&error);
    config_deinit(&c);
}

static void test_flags(void **state)
{
    char name[] = "x", flag[] = "--log.level=info";
    char *argv[] = {name, flag, NULL};
    struct options options;
    struct buf error;

    (void)state;
    options_init(&options);
    buf_init(&error, 100);
    allocations = 0;
    failing = 1;
    assert_int_equal(options_parse(2, argv, &options, &error), -ENOMEM);
    failing = 0;
    buf_deinit(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_file),
        cmocka_unit_test(test_bad_file),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_flags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
