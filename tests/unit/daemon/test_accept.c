/* What headers of real clients, odd ones and broken ones get. */
#include "daemon/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define TEXT ACCEPT_TEXT
#define OM   ACCEPT_OPENMETRICS

struct row {
    const char *header;
    enum accept_format format;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (accept_format(rows[i].header) != rows[i].format)
            fail_msg("%s", rows[i].header ? rows[i].header : "(null)");
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

/* As seen on the wire. */
static void test_real_clients(void **state)
{
    static const struct row rows[] = {
        /* Prometheus 2.42 */
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
         "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         OM},
        /* 2.53.3 */
        {"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"
         "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         OM},
        /* 3.5.3 */
        {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
         "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
         "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         OM},
        /* 3.5.3 with another escaping, and with protobuf first */
        {"application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.6,application/"
         "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=underscores;q=0.4,"
         "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
         OM},
        {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding="
         "delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
         "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping="
         "allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
         OM},
        /* 3.x told to take text alone, and text first */
        {"text/plain;version=0.0.4;q=0.5,*/*;q=0.2", TEXT},
        {"text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4,*/"
         "*;q=0.2",
         TEXT},
        /* browsers, curl, wget */
        {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
         TEXT},
        {"*/*", TEXT},
        {NULL, TEXT},
    };

    (void)state;
    CHECK(rows);
}

static void test_quality(void **state)
{
    static const struct row rows[] = {
        {"application/openmetrics-text;q=0.4, text/plain;q=0.5", TEXT},
        {"application/openmetrics-text;q=0.5, text/plain;q=0.4", OM},
        {"text/plain;q=0.4, application/openmetrics-text;q=0.5", OM},
        {"text/plain;q=0.001, application/openmetrics-text;q=0.002", OM},
        {"text/plain;q=0.0011, application/openmetrics-text;q=0.0019", TEXT},
        {"application/openmetrics-text;q=1.000, text/plain;q=0.999", OM},
        {"application/openmetrics-text;q=1., text/plain;q=0.9", OM},
        {"application/openmetrics-text;Q=0.4, text/plain;Q=0.5", TEXT},
        /* 0 refuses, also where a wider range would allow */
        {"application/openmetrics-text;q=0", TEXT},
        {"application/openmetrics-text;q=0, */*", TEXT},
        {"text/plain;q=0, */*", OM},
        {"text/plain;q=0", TEXT},
        {"*/*;q=0", TEXT},
        {"application/openmetrics-text;q=0, text/plain;q=0", TEXT},
        /* ties: order, and text where one range stands for both */
        {"application/openmetrics-text, text/plain", OM},
        {"text/plain, application/openmetrics-text", TEXT},
        {"text/*;q=0.5, application/*;q=0.5", TEXT},
        {"application/*;q=0.5, text/*;q=0.5", OM},
        {"*/*, application/openmetrics-text", TEXT},
        {"application/openmetrics-text, */*", OM},
    };

    (void)state;
    CHECK(rows);
}

static void test_ranges(void **state)
{
    static const struct row rows[] = {
        {"text/*", TEXT},
        {"application/*", OM},
        {"application/json", TEXT},
        {"application/json, application/openmetrics-text;q=0.1", OM},
        {"APPLICATION/OpenMetrics-Text;VERSION=1.0.0", OM},
        {"application/openmetrics-text", OM},
        {"application/openmetrics-text;version=0.0.1", TEXT},
        {"application/openmetrics-text;version=2.0.0", TEXT},
        {"application/openmetrics-text;version=1.0.0.0", TEXT},
        {"application/openmetrics-text;version=1.0.", TEXT},
        {"application/openmetrics-text;version=", TEXT},
        {"application/openmetrics-text;version=0.0.1, application/openmetrics-text;version=1.0.0;"
         "q=0.5, text/plain;q=0.4",
         OM},
        /* the more specific range decides, whatever the order */
        {"application/openmetrics-text;version=1.0.0;q=0.2, application/openmetrics-text;q=0.9, "
         "text/plain;q=0.5",
         TEXT},
        {"application/openmetrics-text;q=0.9, application/openmetrics-text;version=1.0.0;q=0.2, "
         "text/plain;q=0.5",
         TEXT},
        {"application/*;q=0.9, application/openmetrics-text;q=0.1, text/plain;q=0.5", TEXT},
        {"text/plain;version=0.0.4;q=0.2, text/plain;q=0.9, application/openmetrics-text;q=0.5",
         OM},
        {"text/plain;version=1.0.0;q=0.9, application/openmetrics-text;q=0.5", OM},
        /* of two alike, the better one */
        {"text/plain;q=0.3, text/plain;q=0.7, application/openmetrics-text;q=0.5", TEXT},
        {"*/plain", TEXT},
        {"textplain/x, application/openmetrics-textile", TEXT},
    };

    (void)state;
    CHECK(rows);
}

static void test_syntax(void **state)
{
    static const struct row rows[] = {
        {" \tapplication/openmetrics-text \t;\t version=1.0.0 ; q=0.5 \t, text/plain ; q=0.4 ", OM},
        {"application/openmetrics-text;version=\"1.0.0\"", OM},
        {"application/openmetrics-text;version=\"1\\.0.0\"", OM},
        {"application/openmetrics-text;version=\"1.0.0 \"", TEXT},
        {"application/openmetrics-text;x=\"a,b;q=0\\\",text/plain\";q=0.9, text/plain;q=0.8", OM},
        {",, ,application/openmetrics-text,,", OM},
        {"application/openmetrics-text;;version=1.0.0;;", OM},
        {"application/openmetrics-text;version=1.0.0;q=0.5;ext=1", OM},
    };

    (void)state;
    CHECK(rows);
}

static void test_malformed(void **state)
{
    static const struct row rows[] = {
        {"", TEXT},
        {",", TEXT},
        {"application/openmetrics-text, ;", TEXT},
        {"application/openmetrics-text, text", TEXT},
        {"application/openmetrics-text, text/", TEXT},
        {"application/openmetrics-text, /plain", TEXT},
        {"application/openmetrics-text, text/plain/x", TEXT},
        {"application/openmetrics-text, text plain", TEXT},
        {"application/openmetrics-text text/plain", TEXT},
        {"application/openmetrics-text;version", TEXT},
        {"application/openmetrics-text;=1.0.0", TEXT},
        {"application/openmetrics-text;version = 1.0.0", TEXT},
        {"application/openmetrics-text;version=\"1.0.0", TEXT},
        {"application/openmetrics-text;version=\"1.0.0\\", TEXT},
        {"application/openmetrics-text;q=", TEXT},
        {"application/openmetrics-text;q=1.1", TEXT},
        {"application/openmetrics-text;q=2", TEXT},
        {"application/openmetrics-text;q=-1", TEXT},
        {"application/openmetrics-text;q=.5", TEXT},
        {"application/openmetrics-text;q=0,5", TEXT},
        {"application/openmetrics-text;q=1e0", TEXT},
        {"application/openmetrics-text;q=00.5", TEXT},
        {"application/openmetrics-text;q=nan", TEXT},
        {"application/openmetrics-text\n", TEXT},
        {"\xff\xfe/\x80", TEXT},
    };

    (void)state;
    CHECK(rows);
}

static void test_gzip(void **state)
{
    static const struct {
        const char *header;
        bool gzip;
    } rows[] = {
        {NULL, false},
        {"", false},
        {"gzip", true},
        {"GZip", true},
        {"x-gzip", true},
        {"identity", false},
        {"deflate, gzip, br, zstd", true},
        {"br;q=1.0, gzip;q=0.8, *;q=0.1", true},
        {"gzip;q=0", false},
        {"gzip;q=0.000", false},
        {"gzip;q=0, *", false},
        {"gzip ; q=0.001", true},
        {"*", true},
        {"*;q=0", false},
        {"*;q=0, gzip", true},
        {"br, deflate", false},
        {"identity, gzip;q=0.5", false},
        {"identity;q=0.5, gzip", true},
        {"identity, gzip", true},
        {"identity;q=0, gzip;q=0.1", true},
        {"gzipped", false},
        {"gzip/x", false},
        {"gzip;q=2", false},
        {"gzip deflate", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (accept_gzip(rows[i].header) != rows[i].gzip)
            fail_msg("%s", rows[i].header ? rows[i].header : "(null)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_clients), cmocka_unit_test(test_quality),
        cmocka_unit_test(test_ranges),       cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_malformed),    cmocka_unit_test(test_gzip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
