/* What requests are answered, without a server. */
#include "daemon/site.h"

#include "page_of_test.h"

#define PLAIN "text/plain; charset=utf-8"
#define TEXT  "text/plain; version=0.0.4; charset=utf-8"
#define OM    "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct place {
    struct publisher *publisher;
    struct site site;
};

static void place_init(struct place *p, const char *telemetry_path)
{
    p->publisher = publisher_new(1);
    assert_non_null(p->publisher);
    assert_int_equal(site_init(&p->site, p->publisher, telemetry_path), 0);
}

static void place_deinit(struct place *p)
{
    site_deinit(&p->site);
    publisher_withdraw(p->publisher);
    publisher_free(p->publisher);
}

static struct span bytes_of(const struct answer *a)
{
    if (a->variant)
        return buf_span(&a->variant->bytes);
    return a->scrape ? buf_span(&a->page) : a->body;
}

static bool contains(struct span s, const char *part)
{
    return s.n > 0 && memmem(s.p, s.n, part, strlen(part));
}

static void test_where_paths_lead(void **state)
{
    static const struct {
        const char *method, *path;
        enum http_path where;
        enum http_code code;
        const char *type, *allow, *part;
    } rows[] = {
        {"GET", "/m", HTTP_PATH_METRICS, HTTP_CODE_200, TEXT, NULL, "\nproctally_up 1\n"},
        {"HEAD", "/m", HTTP_PATH_METRICS, HTTP_CODE_200, TEXT, NULL, "\nproctally_up 1\n"},
        {"GET", "http://x:1/m", HTTP_PATH_METRICS, HTTP_CODE_200, TEXT, NULL, NULL},
        {"POST", "/m", HTTP_PATH_METRICS, HTTP_CODE_405, PLAIN, "GET, HEAD", "Only GET"},
        {"GET", "/metrics", HTTP_PATH_OTHER, HTTP_CODE_404, PLAIN, NULL, "nothing here"},
        {"POST", "/metrics", HTTP_PATH_OTHER, HTTP_CODE_404, PLAIN, NULL, NULL},
        {"GET", "/-/ready", HTTP_PATH_READY, HTTP_CODE_200, PLAIN, NULL, "is ready"},
        {"GET", "/-/healthy", HTTP_PATH_HEALTHY, HTTP_CODE_200, PLAIN, NULL, "is healthy"},
        {"HEAD", "/", HTTP_PATH_ROOT, HTTP_CODE_200, "text/html; charset=utf-8", NULL, "\"/m\""},
        {"OPTIONS", "/", HTTP_PATH_ROOT, HTTP_CODE_405, PLAIN, "GET, HEAD", NULL},
        {"OPTIONS", "*", HTTP_PATH_OTHER, HTTP_CODE_405, PLAIN, "GET, HEAD", NULL},
        {"GET", "*", HTTP_PATH_OTHER, HTTP_CODE_404, PLAIN, NULL, NULL},
        {"get", "/", HTTP_PATH_ROOT, HTTP_CODE_405, PLAIN, "GET, HEAD", NULL},
        {"GET", "", HTTP_PATH_OTHER, HTTP_CODE_404, PLAIN, NULL, NULL},
    };
    struct place p;

    (void)state;
    place_init(&p, "/m");
    assert_true(publish_number(p.publisher, 1));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct question q;
        struct answer a;

        question_init(&q, &p.site, rows[i].method, rows[i].path);
        site_answer(&p.site, &q, 1, &a);
        if (a.path != rows[i].where || a.code != rows[i].code ||
            strcmp(a.content_type, rows[i].type) != 0 || !a.allow != !rows[i].allow ||
            (a.allow && strcmp(a.allow, rows[i].allow) != 0) ||
            (rows[i].part && !contains(bytes_of(&a), rows[i].part)))
            fail_msg("row %zu", i);
        assert_int_equal(question_is_scrape(&q), a.scrape);
        answer_deinit(&a, p.publisher);
    }
    place_deinit(&p);
}

static void test_scrapes(void **state)
{
    static const struct {
        const char *method;
        enum format format;
        bool gzip;
        const char *name; /* of the one family; NULL: all */
        const char *type;
        bool whole, compressed, shared, noted;
    } rows[] = {
        {"GET", FORMAT_TEXT, false, NULL, TEXT, true, false, true, true},
        {"GET", FORMAT_OPENMETRICS, true, NULL, OM, true, true, true, true},
        {"HEAD", FORMAT_TEXT, true, NULL, TEXT, false, true, true, false},
        {"GET", FORMAT_TEXT, true, "proctally_up", TEXT, false, false, false, true},
        {"HEAD", FORMAT_OPENMETRICS, false, "nothing", OM, false, false, false, false},
    };
    struct place p;

    (void)state;
    place_init(&p, "/m");
    assert_true(publish_number(p.publisher, 7));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct question q;
        struct answer a;
        uint64_t at_ns;

        question_init(&q, &p.site, rows[i].method, "/m");
        assert_true(question_is_scrape(&q));
        q.format = rows[i].format;
        q.gzip = rows[i].gzip;
        question_add_argument(&q, "name", "proctally_snapshots_total");
        if (rows[i].name)
            question_add_argument(&q, "name[]", rows[i].name);
        site_answer(&p.site, &q, 100 + i, &a);
        assert_int_equal(a.code, HTTP_CODE_200);
        assert_string_equal(a.content_type, rows[i].type);
        assert_int_equal(a.whole, rows[i].whole);
        assert_int_equal(a.gzip, rows[i].compressed);
        assert_int_equal(a.variant != NULL, rows[i].shared);
        if (a.variant)
            assert_int_equal(a.variant->sequence, 7);
        assert_int_equal(publisher_take_scrapes(p.publisher, &at_ns, 1), rows[i].noted);
        if (rows[i].noted)
            assert_int_equal(at_ns, 100 + i);
        answer_deinit(&a, p.publisher);
    }
    place_deinit(&p);
}

static void test_before_the_first_snapshot(void **state)
{
    static const struct {
        const char *path;
        enum http_code code;
    } rows[] = {
        {"/m", HTTP_CODE_503},
        {"/-/ready", HTTP_CODE_503},
        {"/-/healthy", HTTP_CODE_200},
        {"/", HTTP_CODE_200},
    };
    struct place p;

    (void)state;
    place_init(&p, "/m");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int some = 0; some < 2; some++) {
            struct question q;
            struct answer a;

            question_init(&q, &p.site, "GET", rows[i].path);
            if (some)
                question_add_argument(&q, "name[]", "proctally_up");
            site_answer(&p.site, &q, 1, &a);
            assert_int_equal(a.code, rows[i].code);
            assert_false(a.scrape || a.whole);
            answer_deinit(&a, p.publisher);
        }
    place_deinit(&p);
}

static void test_landing_page(void **state)
{
    struct question q;
    struct answer a;
    struct place p;

    (void)state;
    place_init(&p, "/a\"&<b");
    question_init(&q, &p.site, "GET", "/");
    site_answer(&p.site, &q, 1, &a);
    assert_true(contains(a.body, "<a href=\"/a&quot;&amp;&lt;b\">"));
    answer_deinit(&a, p.publisher);
    place_deinit(&p);
}

static void test_statuses(void **state)
{
    (void)state;
    assert_int_equal(http_status(HTTP_CODE_200), 200);
    assert_int_equal(http_status(HTTP_CODE_405), 405);
    assert_int_equal(http_status(HTTP_CODE_503), 503);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_paths_lead),
        cmocka_unit_test(test_scrapes),
        cmocka_unit_test(test_before_the_first_snapshot),
        cmocka_unit_test(test_landing_page),
        cmocka_unit_test(test_statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
