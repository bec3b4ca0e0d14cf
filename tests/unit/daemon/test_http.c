/* What clients get over real sockets. */
#include "http_of_test.h"

#include <libdeflate.h>
#include <signal.h>

#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define OM_TYPE   "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define PLAIN     "text/plain; charset=utf-8"

struct row {
    const char *method, *target;
    unsigned status;
    const char *type, *allow, *part; /* the body holds the part */
};

static void check_rows(const struct server *s, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct answer a = ask(s, rows[i].method, rows[i].target, "");

        if (a.status != rows[i].status)
            fail_msg("%s %s: %u", rows[i].method, rows[i].target, a.status);
        check_span_at(header_of(&a, "Content-Type"), rows[i].type, strlen(rows[i].type), __FILE__,
                      __LINE__);
        check_span_at(header_of(&a, "Allow"), rows[i].allow ? rows[i].allow : "",
                      rows[i].allow ? strlen(rows[i].allow) : 0, __FILE__, __LINE__);
        check_span(header_of(&a, "X-Content-Type-Options"), "nosniff");
        if (rows[i].part && !contains(a.body, rows[i].part))
            fail_msg("%s %s: %.*s", rows[i].method, rows[i].target, (int)a.body.n, a.body.p);
        forget(&a);
    }
}

#define CHECK(s, rows) check_rows(s, rows, sizeof(rows) / sizeof((rows)[0]))

static void test_before_the_first_snapshot(void **state)
{
    static const struct row rows[] = {
        {"GET", "/metrics", 503, PLAIN, NULL, "no snapshot yet"},
        {"GET", "/metrics?name[]=proctally_up", 503, PLAIN, NULL, "no snapshot yet"},
        {"HEAD", "/metrics", 503, PLAIN, NULL, NULL},
        {"GET", "/-/ready", 503, PLAIN, NULL, "no snapshot yet"},
        {"GET", "/-/healthy", 200, PLAIN, NULL, "healthy"},
        {"GET", "/", 200, "text/html; charset=utf-8", NULL, "href=\"/metrics\""},
    };
    struct server s;

    (void)state;
    start(&s);
    CHECK(&s, rows);
    stop(&s);
}

static void test_answers(void **state)
{
    static const struct row rows[] = {
        {"GET", "/metrics", 200, TEXT_TYPE, NULL, "\nproctally_up 1\n"},
        {"GET", "/metrics?a=b&c", 200, TEXT_TYPE, NULL, "\nproctally_up 1\n"},
        {"GET", "/%6detric%73", 200, TEXT_TYPE, NULL, "\nproctally_up 1\n"},
        {"GET", "http://x.example/metrics", 200, TEXT_TYPE, NULL, "\nproctally_up 1\n"},
        {"GET", "http://x.example", 200, "text/html; charset=utf-8", NULL, "proctallyd"},
        {"HEAD", "/metrics", 200, TEXT_TYPE, NULL, NULL},
        {"GET", "/-/ready", 200, PLAIN, NULL, "ready"},
        {"HEAD", "/-/ready", 200, PLAIN, NULL, NULL},
        {"GET", "/-/healthy", 200, PLAIN, NULL, "healthy"},
        {"GET", "/", 200, "text/html; charset=utf-8", NULL, "<!DOCTYPE html>"},
        {"GET", "/metrics/", 404, PLAIN, NULL, "nothing here"},
        {"GET", "//metrics", 404, PLAIN, NULL, NULL},
        {"GET", "/Metrics", 404, PLAIN, NULL, NULL},
        {"GET", "/metric", 404, PLAIN, NULL, NULL},
        {"GET", "/%00", 404, PLAIN, NULL, NULL},
        {"GET", "/%00metrics", 404, PLAIN, NULL, NULL},
        {"GET", "/metrics%00", 404, PLAIN, NULL, NULL},
        {"GET", "/metrics%2f..", 404, PLAIN, NULL, NULL},
        {"GET", "/api/v1/groups", 404, PLAIN, NULL, NULL},
        {"HEAD", "/nothing", 404, PLAIN, NULL, NULL},
        {"POST", "/nothing", 404, PLAIN, NULL, NULL},
        {"POST", "/metrics", 405, PLAIN, "GET, HEAD", "Only GET and HEAD"},
        {"PUT", "/-/ready", 405, PLAIN, "GET, HEAD", NULL},
        {"DELETE", "/", 405, PLAIN, "GET, HEAD", NULL},
        {"OPTIONS", "/-/healthy", 405, PLAIN, "GET, HEAD", NULL},
        {"OPTIONS", "*", 405, PLAIN, "GET, HEAD", "Only GET and HEAD"},
        {"GET", "*", 404, PLAIN, NULL, NULL},
        {"get", "/metrics", 405, PLAIN, "GET, HEAD", NULL},
    };
    struct server s;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    CHECK(&s, rows);
    stop(&s);
}

static void test_negotiation(void **state)
{
    static const struct {
        const char *headers, *type, *encoding;
    } rows[] = {
        {"", TEXT_TYPE, ""},
        {"Accept: application/openmetrics-text;version=1.0.0\r\n", OM_TYPE, ""},
        {"Accept-Encoding: gzip\r\n", TEXT_TYPE, "gzip"},
        {"Accept: application/openmetrics-text;version=1.0.0\r\naccept-encoding: gzip\r\n", OM_TYPE,
         "gzip"},
        {"Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
         "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n"
         "Accept-Encoding: identity\r\n",
         OM_TYPE, ""},
        {"Accept: image/png\r\n", TEXT_TYPE, ""}, /* never 406 */
    };
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    struct server s;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 3));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct answer a = ask(&s, "GET", "/metrics", rows[i].headers);
        struct answer head = ask(&s, "HEAD", "/metrics", rows[i].headers);
        static char text[1 << 20];
        struct span page = a.body;

        assert_int_equal(a.status, 200);
        check_span_at(header_of(&a, "Content-Type"), rows[i].type, strlen(rows[i].type), __FILE__,
                      __LINE__);
        check_span_at(header_of(&a, "Content-Encoding"), rows[i].encoding, strlen(rows[i].encoding),
                      __FILE__, __LINE__);
        check_span(header_of(&a, "Vary"), "Accept, Accept-Encoding");
        if (rows[i].encoding[0]) {
            assert_int_equal(
                libdeflate_gzip_decompress(d, a.body.p, a.body.n, text, sizeof(text), &page.n),
                LIBDEFLATE_SUCCESS);
            page.p = text;
        }
        assert_int_equal(page_number(page), 3);
        assert_int_equal(contains(page, "# EOF\n"), strcmp(rows[i].type, OM_TYPE) == 0);
        /* HEAD says of itself what GET would. */
        assert_true(
            span_equal(header_of(&head, "Content-Length"), header_of(&a, "Content-Length")));
        assert_true(span_equal(header_of(&head, "Content-Type"), header_of(&a, "Content-Type")));
        assert_true(
            span_equal(header_of(&head, "Content-Encoding"), header_of(&a, "Content-Encoding")));
        assert_int_equal(head.bytes.len, head.head.n + 2);
        forget(&a);
        forget(&head);
    }
    libdeflate_free_decompressor(d);
    stop(&s);
}

static void test_some_families(void **state)
{
    static const struct {
        const char *query, *headers;
        bool up, snapshots, groups; /* which families are there */
    } rows[] = {
        {"name[]=proctally_up", "", true, false, false},
        {"name%5B%5D=proctally_up", "", true, false, false},
        {"name[]=proctally%5Fup", "", true, false, false},
        {"name[]=proctally_up&name[]=proctally_group_processes", "", true, false, true},
        {"name[]=proctally_up&name[]=proctally_up", "", true, false, false},
        {"name[]=proctally_snapshots_total", "", false, true, false},
        {"name[]=proctally_snapshots", "Accept: application/openmetrics-text;version=1.0.0\r\n",
         false, true, false},
        {"name[]=proctally_snapshots", "", false, true, false},
        {"name[]=nothing", "", false, false, false},
        {"name[]=nothing&name[]=proctally_up", "", true, false, false},
        {"name[]=proctally_up%00", "", false, false, false},
        {"name[]=", "", false, false, false},
        {"name[]", "", false, false, false},
        {"name[]=proctally_*", "", false, false, false},
        {"name=proctally_up", "", true, true, true},
        {"", "", true, true, true},
        {"NAME[]=proctally_up", "", true, true, true},
        {"name[]=proctally_up", "Accept-Encoding: gzip\r\n", true, false, false},
    };
    struct server s;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char target[256];
        struct answer a;

        snprintf(target, sizeof(target), "/metrics?%s", rows[i].query);
        a = ask(&s, "GET", target, rows[i].headers);
        if (a.status != 200 || contains(a.body, "\nproctally_up ") != rows[i].up ||
            contains(a.body, "\nproctally_snapshots_total ") != rows[i].snapshots ||
            contains(a.body, "\nproctally_group_processes{") != rows[i].groups)
            fail_msg("%s: %u %.*s", rows[i].query, a.status, (int)a.body.n, a.body.p);
        check_span(header_of(&a, "Content-Encoding"), "");
        check_span(header_of(&a, "Vary"), "Accept, Accept-Encoding");
        if (rows[i].headers[0] == 'A' && rows[i].headers[6] == ':')
            assert_memory_equal(a.body.p + a.body.n - 6, "# EOF\n", 6);
        forget(&a);
    }
    stop(&s);
}

/* Nothing a client sends ends the server, and it answers the next one. */
static void test_odd_requests(void **state)
{
    static const char *const requests[] = {
        "",
        "\r\n",
        "GET\r\n\r\n",
        "GET /metrics\r\n\r\n",
        "GET /metrics HTTP/9.9\r\n\r\n",
        "GET /metrics HTTP/1.1\r\n\r\n", /* no Host */
        "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: -5\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nno colon\r\n\r\n",
        "GET /%zz%%%1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET /metrics?%00%ff=%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", /* TLS */
        "GET http://elsewhere/metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "CONNECT x:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    };
    struct server s;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        int fd = connect_to(place(s.http, 0));
        struct answer a;

        send_all(fd, span_from_str(requests[i]));
        /* Who says no whole request gets no answer, and goes. */
        if (strstr(requests[i], "\r\n\r\n")) {
            receive(fd, false, &a);
            forget(&a);
        }
        close(fd);
        a = ask(&s, "GET", "/metrics", "");
        if (a.status != 200)
            fail_msg("after %zu: %u", i, a.status);
        forget(&a);
    }
    stop(&s);
}

static void test_old_client(void **state)
{
    struct server s;
    struct answer a;
    int fd;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    fd = connect_to(place(s.http, 0));
    send_all(fd, SPAN_LITERAL("GET /metrics HTTP/1.0\r\n\r\n"));
    receive(fd, false, &a);
    assert_int_equal(a.status, 200);
    assert_int_equal(page_number(a.body), 1);
    forget(&a);
    close(fd);
    stop(&s);
}

static void test_huge_requests(void **state)
{
    static char target[1 << 20], headers[1 << 20];
    struct server s;
    struct answer a;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    memset(target, 'a', sizeof(target) - 1);
    target[0] = '/';
    a = ask(&s, "GET", target, "");
    assert_true(a.status == 0 || a.status == 414 || a.status == 413 || a.status == 431);
    forget(&a);
    memset(headers, 'a', sizeof(headers) - 3);
    headers[1] = ':';
    memcpy(headers + sizeof(headers) - 3, "\r\n", 3);
    a = ask(&s, "GET", "/metrics", headers);
    assert_true(a.status == 0 || a.status == 413 || a.status == 431);
    forget(&a);
    /* Many names: as many as fit are looked at, and the answer is whole. */
    memcpy(target, "/metrics?", 9);
    for (size_t i = 9, n = 0; n < 300; n++)
        i += (size_t)sprintf(target + i, "%sname[]=proctally_up", n ? "&" : "");
    a = ask(&s, "GET", target, "");
    assert_int_equal(a.status, 200);
    assert_true(contains(a.body, "\nproctally_up 1\n"));
    forget(&a);
    stop(&s);
}

/* The body is taken and dropped, and the connection stays good. */
static void test_post_with_a_body(void **state)
{
    static char body[300000];
    struct server s;
    struct answer a;
    int fd;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    memset(body, 'b', sizeof(body));
    fd = connect_to(place(s.http, 0));
    send_all(fd,
             SPAN_LITERAL("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n"));
    send_all(fd, span_of(body, sizeof(body)));
    receive(fd, false, &a);
    assert_int_equal(a.status, 405);
    check_span(header_of(&a, "Allow"), "GET, HEAD");
    forget(&a);
    send_all(fd, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    receive(fd, false, &a);
    assert_int_equal(a.status, 200);
    forget(&a);
    close(fd);
    stop(&s);
}

/* Several requests at once: answered in their order. */
static void test_pipelined(void **state)
{
    struct server s;
    struct answer a;
    struct span rest;
    int fd;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    fd = connect_to(place(s.http, 0));
    send_all(fd, SPAN_LITERAL("GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
                              "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
                              "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
                              "GET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    a = (struct answer){.status = 0};
    buf_init(&a.bytes, 16 << 20);
    for (;;) {
        char *room = buf_reserve(&a.bytes, 65536);
        ssize_t n = recv(fd, room, 65536, 0);

        if (n <= 0)
            break;
        buf_commit(&a.bytes, (size_t)n);
    }
    rest = buf_span(&a.bytes);
    for (int i = 0; i < 4; i++) {
        static const unsigned statuses[] = {200, 200, 404, 200};
        struct answer one = {.bytes = {.data = (char *)(uintptr_t)rest.p, .len = rest.n}};

        assert_true(parse(&one, false));
        assert_int_equal(one.status, statuses[i]);
        assert_int_equal(contains(one.body, "\nproctally_up 1\n"), i == 1);
        rest = span_skip(rest, one.head.n + 2 + one.body.n);
    }
    assert_int_equal(rest.n, 0);
    forget(&a);
    close(fd);
    stop(&s);
}

/* A kept connection sees each new snapshot. */
static void test_kept_connection(void **state)
{
    struct server s;
    int fd;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    fd = connect_to(place(s.http, 0));
    for (uint64_t i = 1; i < 50; i++) {
        struct answer a;

        send_all(fd, SPAN_LITERAL("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
        receive(fd, false, &a);
        assert_int_equal(page_number(a.body), i);
        forget(&a);
        assert_true(publish_number(s.publisher, i + 1));
    }
    close(fd);
    stop(&s);
}

/* Only a whole page that was sent to its end lets series follow their 0. */
static void test_served(void **state)
{
    uint64_t deadline = clock_monotonic_ns() + 10 * SECOND;
    struct server s;
    struct answer a;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 7));
    a = ask(&s, "HEAD", "/metrics", "");
    forget(&a);
    a = ask(&s, "GET", "/metrics?name[]=proctally_up", "");
    forget(&a);
    a = ask(&s, "POST", "/metrics", "");
    forget(&a);
    a = ask(&s, "GET", "/-/ready", "");
    forget(&a);
    assert_true(publish_number(s.publisher, 8));
    a = ask(&s, "GET", "/metrics", "Accept-Encoding: gzip\r\n");
    assert_int_equal(a.status, 200);
    forget(&a);
    while (publisher_served(s.publisher) == 0 && clock_monotonic_ns() < deadline)
        pause_shortly();
    assert_int_equal(publisher_served(s.publisher), 8);
    stop(&s);
}

static void test_not_served(void **state)
{
    struct server s;
    struct answer a;

    (void)state;
    start(&s);
    assert_true(publish_number(s.publisher, 7));
    a = ask(&s, "HEAD", "/metrics", "");
    forget(&a);
    a = ask(&s, "GET", "/metrics?name[]=proctally_up", "");
    forget(&a);
    http_stop(s.http);
    /* Whatever there was to note was noted before the listeners ended. */
    assert_int_equal(publisher_served(s.publisher), 0);
    publisher_free(s.publisher);
}

static void test_counts(void **state)
{
    static const struct {
        const char *method, *target;
        enum http_path path;
        enum http_code code;
    } rows[] = {
        {"GET", "/metrics", HTTP_PATH_METRICS, HTTP_CODE_200},
        {"HEAD", "/metrics", HTTP_PATH_METRICS, HTTP_CODE_200},
        {"GET", "/metrics?name[]=x", HTTP_PATH_METRICS, HTTP_CODE_200},
        {"POST", "/metrics", HTTP_PATH_METRICS, HTTP_CODE_405},
        {"GET", "/", HTTP_PATH_ROOT, HTTP_CODE_200},
        {"GET", "/-/healthy", HTTP_PATH_HEALTHY, HTTP_CODE_200},
        {"GET", "/-/ready", HTTP_PATH_READY, HTTP_CODE_200},
        {"PUT", "/-/ready", HTTP_PATH_READY, HTTP_CODE_405},
        {"GET", "/x", HTTP_PATH_OTHER, HTTP_CODE_404},
        {"GET", "/y", HTTP_PATH_OTHER, HTTP_CODE_404},
    };
    uint64_t expected[HTTP_PATH_N][HTTP_CODE_N] = {0}, got[HTTP_PATH_N][HTTP_CODE_N];
    struct server s;
    struct answer a;

    (void)state;
    start(&s);
    a = ask(&s, "GET", "/metrics", "");
    forget(&a);
    expected[HTTP_PATH_METRICS][HTTP_CODE_503] = 1;
    assert_true(publish_number(s.publisher, 1));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        a = ask(&s, rows[i].method, rows[i].target, "");
        forget(&a);
        expected[rows[i].path][rows[i].code]++;
        http_requests(s.http, got);
        if (memcmp(got, expected, sizeof(got)) != 0)
            fail_msg("row %zu", i);
    }
    stop(&s);
}

/* What the library answers by itself is counted as well, though it does not say for which path. */
static void test_counts_of_refused_requests(void **state)
{
    static char target[100000], headers[100000];
    static const struct {
        const char *request;
        enum http_code code;
        unsigned status;
    } rows[] = {
        {"GET /metrics HTTP/1.1\r\n\r\n", HTTP_CODE_400, 400},
        {"GET /metrics HTTP/9.9\r\n\r\n", HTTP_CODE_505, 505},
        {"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
         HTTP_CODE_413, 413},
        {target, HTTP_CODE_414, 414},
        {headers, HTTP_CODE_431, 431},
    };
    uint64_t expected[HTTP_PATH_N][HTTP_CODE_N] = {0}, got[HTTP_PATH_N][HTTP_CODE_N];
    struct server s;

    (void)state;
    memset(target, 'a', sizeof(target) - 1);
    memcpy(target, "GET /", 5);
    memset(headers, 'a', sizeof(headers) - 1);
    memcpy(headers, "GET / HTTP/1.1\r\nHost: x\r\nA: ", 28);
    start(&s);
    assert_true(publish_number(s.publisher, 1));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int fd = connect_to(place(s.http, 0));
        struct answer a;

        send_all(fd, span_from_str(rows[i].request));
        receive(fd, false, &a);
        /* Its answer may be lost where it closes before it has read all. */
        if (a.status != rows[i].status && (a.status != 0 || i < 3))
            fail_msg("row %zu: %u", i, a.status);
        forget(&a);
        close(fd);
        expected[HTTP_PATH_OTHER][rows[i].code]++;
        http_requests(s.http, got);
        if (memcmp(got, expected, sizeof(got)) != 0)
            fail_msg("row %zu", i);
    }
    stop(&s);
}

static void test_telemetry_path(void **state)
{
    static const char *const loopback[] = {"127.0.0.1:0"};
    static const struct row rows[] = {
        {"GET", "/a\"&<b", 200, TEXT_TYPE, NULL, "\nproctally_up 1\n"},
        {"GET", "/metrics", 404, PLAIN, NULL, NULL},
        {"GET", "/", 200, "text/html; charset=utf-8", NULL, "<a href=\"/a&quot;&amp;&lt;b\">"},
    };
    struct server s;

    (void)state;
    start_at(&s, loopback, 1, "/a\"&<b");
    assert_true(publish_number(s.publisher, 1));
    CHECK(&s, rows);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_first_snapshot),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_negotiation),
        cmocka_unit_test(test_some_families),
        cmocka_unit_test(test_odd_requests),
        cmocka_unit_test(test_old_client),
        cmocka_unit_test(test_huge_requests),
        cmocka_unit_test(test_post_with_a_body),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_kept_connection),
        cmocka_unit_test(test_served),
        cmocka_unit_test(test_not_served),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_counts_of_refused_requests),
        cmocka_unit_test(test_telemetry_path),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
