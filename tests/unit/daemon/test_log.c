/* Lines as they arrive: quoting, levels, limits, and sinks that are full, closed or gone. */
#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t now_ns;

static uint64_t fake_clock(void)
{
    return now_ns;
}

/* A pipe whose writing end is the log. */
struct sink {
    int reading;
    int writing;
};

static void sink_open(struct sink *s, uint64_t (*clock)(void))
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    *s = (struct sink){ends[0], ends[1]};
    fcntl(s->reading, F_SETFL, O_NONBLOCK);
    log_init(s->writing, clock);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
}

static void sink_close(struct sink *s)
{
    log_deinit();
    close(s->reading);
    close(s->writing);
}

/* All that was written since the last call, NUL behind. */
static const char *sink_read(const struct sink *s)
{
    static char text[1 << 16];
    ssize_t n = read(s->reading, text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

#define CHECK_LINE(sink, line) assert_string_equal(sink_read(sink), line "\n")

static void test_logfmt(void **state)
{
    struct sink s;

    (void)state;
    sink_open(&s, NULL);
    log_info("started");
    CHECK_LINE(&s, "level=info msg=started");
    log_warn("two words", LOG_STR("file", "/etc/x"), LOG_U64("n", UINT64_MAX),
             LOG_I64("i", INT64_MIN), LOG_BOOL("ok", true), LOG_ERRNO("error", -EACCES));
    CHECK_LINE(&s, "level=warn msg=\"two words\" file=/etc/x n=18446744073709551615 "
                   "i=-9223372036854775808 ok=true error=\"Permission denied\"");
    log_error("x", LOG_STR("null", NULL), LOG_STR("empty", ""), LOG_SPAN("part", span_of("abc", 2)),
              LOG_ERRNO("e", ENOENT));
    CHECK_LINE(&s,
               "level=error msg=x null=(null) empty=\"\" part=ab e=\"No such file or directory\"");
    log_error("x", LOG_STR("a", "k=v"), LOG_STR("b", "q\"q"), LOG_STR("c", "b\\s"),
              LOG_STR("d", "l\nl"), LOG_STR("e", "\xc3\xa4"));
    CHECK_LINE(&s, "level=error msg=x a=\"k=v\" b=\"q\\\"q\" c=\"b\\\\s\" d=\"l\\nl\" e=\xc3\xa4");
    sink_close(&s);
}

static void test_json(void **state)
{
    struct sink s;

    (void)state;
    sink_open(&s, fake_clock);
    now_ns = 0;
    log_configure(LOG_LEVEL_DEBUG, LOG_FORMAT_JSON);
    log_debug("a \"b\"", LOG_STR("s", "x\ty"), LOG_U64("n", 3), LOG_BOOL("b", false));
    CHECK_LINE(&s,
               "{\"ts\":\"1970-01-01T00:00:00.000Z\",\"level\":\"debug\",\"msg\":\"a \\\"b\\\"\","
               "\"s\":\"x\\ty\",\"n\":3,\"b\":false}");
    sink_close(&s);
}

static void test_time(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.007Z"},          {68169599, "1972-02-28T23:59:59.007Z"},
        {68169600, "1972-02-29T00:00:00.007Z"},   {951782400, "2000-02-29T00:00:00.007Z"},
        {951868800, "2000-03-01T00:00:00.007Z"},  {1704067199, "2023-12-31T23:59:59.007Z"},
        {1735603199, "2024-12-30T23:59:59.007Z"}, {4107542400, "2100-03-01T00:00:00.007Z"},
        {4107542399, "2100-02-28T23:59:59.007Z"}, {18446744073, "2554-07-21T23:34:33.007Z"},
    };
    char expected[128];
    struct sink s;

    (void)state;
    sink_open(&s, fake_clock);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        now_ns = rows[i].seconds * 1000000000 + 7999999;
        log_info("x");
        snprintf(expected, sizeof(expected), "ts=%s level=info msg=x\n", rows[i].text);
        assert_string_equal(sink_read(&s), expected);
    }
    sink_close(&s);
}

static void test_levels(void **state)
{
    struct sink s;

    (void)state;
    sink_open(&s, NULL);
    for (int level = LOG_LEVEL_DEBUG; level <= LOG_LEVEL_ERROR; level++) {
        log_configure((enum log_level)level, LOG_FORMAT_LOGFMT);
        for (int event = LOG_LEVEL_DEBUG; event <= LOG_LEVEL_ERROR; event++) {
            log_event((enum log_level)event, "x");
            assert_int_equal(*sink_read(&s) != '\0', event >= level);
            assert_int_equal(log_enabled((enum log_level)event), event >= level);
        }
    }
    sink_close(&s);
}

static void test_no_raw_control_bytes(void **state)
{
    char all[255];
    struct sink s;

    (void)state;
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    sink_open(&s, NULL);
    for (int format = LOG_FORMAT_LOGFMT; format <= LOG_FORMAT_JSON; format++) {
        const unsigned char *p;

        log_configure(LOG_LEVEL_INFO, (enum log_format)format);
        log_info("x", LOG_SPAN("all", span_of(all, sizeof(all))), LOG_STR("c1", "\xc2\x9b"));
        p = (const unsigned char *)sink_read(&s);
        for (; p[1] != '\0'; p++)
            assert_true(p[0] >= 0x20 && p[0] < 0x7f);
        assert_int_equal(p[0], '\n');
    }
    sink_close(&s);
}

/* Long values are cut at a character, and what then does not fit is left out and told. */
static void test_long(void **state)
{
    static char value[5000];
    const char *line;
    struct sink s;

    (void)state;
    memset(value, 'a', sizeof(value) - 1);
    sink_open(&s, NULL);
    log_info("x", LOG_STR("v", value), LOG_U64("n", 1));
    line = sink_read(&s);
    assert_non_null(strstr(line, "aaa...\" n=1\n"));
    assert_int_equal(strlen(line), strlen("level=info msg=x v=\"...\" n=1\n") + 1024);

    memset(value, '\x01', sizeof(value) - 1); /* six bytes each */
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_info("x", LOG_STR("v", value), LOG_U64("n", 1));
    CHECK_LINE(&s, "{\"level\":\"info\",\"msg\":\"x\",\"n\":1,\"truncated\":true}");

    memset(value, 'a', sizeof(value) - 1);
    log_info("x", LOG_STR("a", value), LOG_STR("b", value), LOG_STR("c", value),
             LOG_STR("d", value), LOG_STR("e", "short"));
    line = sink_read(&s);
    assert_true(strlen(line) <= LOG_LINE_MAX);
    assert_non_null(strstr(line, "aaa...\",\"e\":\"short\",\"truncated\":true}\n"));
    assert_null(strstr(line, "\"d\""));
    sink_close(&s);
}

static void fill_pipe(const struct sink *s)
{
    static const char page[4096];
    int flags = fcntl(s->writing, F_GETFL);

    fcntl(s->writing, F_SETFL, flags | O_NONBLOCK);
    while (write(s->writing, page, sizeof(page)) > 0)
        ;
    fcntl(s->writing, F_SETFL, flags);
}

static void empty_pipe(const struct sink *s)
{
    while (*sink_read(s) != '\0' || read(s->reading, &(char){0}, 1) == 1)
        ;
}

/* SIGALRM would end a test that waits. */
static void check_full_pipe(struct sink *s)
{
    alarm(10);
    fill_pipe(s);
    errno = 77;
    log_info("lost");
    log_info("lost too");
    assert_int_equal(errno, 77);
    empty_pipe(s);
    log_info("back");
    CHECK_LINE(s, "level=info msg=back dropped=2");
    log_info("again");
    CHECK_LINE(s, "level=info msg=again");
    alarm(0);
}

static void test_full_pipe(void **state)
{
    struct sink s;

    (void)state;
    sink_open(&s, NULL);
    check_full_pipe(&s);
    /* The other users of the pipe's end keep theirs blocking. */
    assert_int_equal(fcntl(s.writing, F_GETFL) & O_NONBLOCK, 0);
    sink_close(&s);
}

/* Descriptor 2 as it is before log_init(), so not opened anew. */
static void test_full_stderr(void **state)
{
    int saved = dup(STDERR_FILENO);
    struct sink s;

    (void)state;
    sink_open(&s, NULL);
    log_deinit();
    assert_int_equal(dup2(s.writing, STDERR_FILENO), STDERR_FILENO);
    check_full_pipe(&s);
    dup2(saved, STDERR_FILENO);
    close(saved);
    sink_close(&s);
}

/* What the journal gives a service: a stream socket. */
static void test_full_socket(void **state)
{
    char text[4096];
    int ends[2];
    ssize_t n;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    log_init(ends[1], NULL);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    alarm(10);
    for (int i = 0; i < 10000; i++)
        log_info("x");
    alarm(0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while ((n = read(ends[0], text, sizeof(text))) > 0)
        assert_int_equal(text[n - 1] == '\n' || n == sizeof(text), 1);
    log_info("x");
    n = read(ends[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text, "level=info msg=x dropped="));
    close(ends[0]);
    log_info("nobody listens");
    log_deinit();
    close(ends[1]);
}

static void test_reader_gone(void **state)
{
    struct sink s;

    (void)state;
    sink_open(&s, NULL);
    close(s.reading);
    log_info("x");
    s.reading = -1;
    sink_close(&s);

    log_init(-1, NULL);
    log_info("x");
    log_deinit();
}

/* A file is appended to where it stands, also when it was not opened to append. */
static void test_file(void **state)
{
    char text[256];
    FILE *f = tmpfile();
    size_t n;

    (void)state;
    assert_non_null(f);
    fputs("before\n", f);
    fflush(f);
    log_init(fileno(f), NULL);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    log_info("x");
    log_deinit();
    fputs("after\n", f);
    rewind(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    assert_string_equal(text, "before\nlevel=info msg=x\nafter\n");
    fclose(f);
}

static void *chatter(void *user)
{
    for (int i = 0; i < 200; i++) {
        log_info("chatter", LOG_STR("who", user), LOG_STR("filler", "0123456789 0123456789"));
        log_configure(LOG_LEVEL_INFO, i % 2 ? LOG_FORMAT_JSON : LOG_FORMAT_LOGFMT);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static char text[1 << 17], one_name[] = "one", two_name[] = "two";
    pthread_t one, two;
    struct sink s;
    size_t len = 0, lines = 0;
    ssize_t n;

    (void)state;
    sink_open(&s, NULL);
    fcntl(s.writing, F_SETPIPE_SZ, 1 << 17);
    assert_int_equal(pthread_create(&one, NULL, chatter, one_name), 0);
    assert_int_equal(pthread_create(&two, NULL, chatter, two_name), 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    while ((n = read(s.reading, text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        size_t length = strlen(line);

        assert_true(strncmp(line, "level=info msg=chatter who=", 27) == 0 ||
                    strncmp(line, "{\"level\":\"info\",\"msg\":\"chatter\"", 31) == 0);
        assert_true(line[length - 1] == '"' || line[length - 1] == '}');
    }
    assert_int_equal(lines, 400);
    sink_close(&s);
}

static struct {
    unsigned n;
    enum log_level level;
    char text[LOG_LINE_MAX + 1];
    char field[64];
    bool full;
} taken;

static bool take(const struct log_entry *entry)
{
    char scratch[LOG_TEXT_MAX];
    struct span value = log_field_text(entry->fields, scratch);

    if (taken.full)
        return false;
    taken.n++;
    taken.level = entry->level;
    snprintf(taken.text, sizeof(taken.text), "%.*s", (int)entry->text.n, entry->text.p);
    snprintf(taken.field, sizeof(taken.field), "%.*s", (int)value.n, value.p);
    return true;
}

static void test_sink(void **state)
{
    struct sink s;

    (void)state;
    sink_open(&s, fake_clock);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    log_set_sink(take);
    log_warn("two words", LOG_U64("n", 7), LOG_STR("path", "a b"));
    assert_int_equal(taken.level, LOG_LEVEL_WARN);
    assert_string_equal(taken.text, "two words n=7 path=\"a b\"");
    assert_string_equal(taken.field, "7");
    log_info("flag", LOG_BOOL("flag", true));
    assert_string_equal(taken.field, "true");
    log_info("error", LOG_ERRNO("error", -ENOENT));
    assert_string_equal(taken.field, "No such file or directory");
    log_debug("not wanted");
    assert_int_equal(taken.n, 3);

    taken.full = true;
    log_info("lost");
    log_info("lost too");
    taken.full = false;
    log_info("bare");
    assert_string_equal(taken.text, "bare dropped=2");
    assert_string_equal(sink_read(&s), "");
    sink_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logfmt),      cmocka_unit_test(test_json),
        cmocka_unit_test(test_time),        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_long),        cmocka_unit_test(test_no_raw_control_bytes),
        cmocka_unit_test(test_full_pipe),   cmocka_unit_test(test_full_stderr),
        cmocka_unit_test(test_full_socket), cmocka_unit_test(test_reader_gone),
        cmocka_unit_test(test_file),        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_sink),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
