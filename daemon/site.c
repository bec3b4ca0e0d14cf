/*
 * site - what there is to be had by HTTP, and what a request for it is answered.
 *
 * An answer is made of what is there: a variant of the current snapshot, which it then holds, a
 * text, or the landing page. Only a page of some families is rendered for it.
 */
#include "daemon/site.h"

#include "daemon/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANDING_MAX = 64 * 1024,
    PAGE_MAX = 512 * 1024 * 1024,
};

/* ---- the landing page ---- */

static void append_html(struct buf *out, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '<':
            buf_append_str(out, "&lt;");
            break;
        case '&':
            buf_append_str(out, "&amp;");
            break;
        case '"':
            buf_append_str(out, "&quot;");
            break;
        default:
            buf_append_char(out, *s);
        }
}

static void append_landing(struct buf *out, const char *telemetry_path)
{
    buf_append_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                        "<title>proctallyd</title></head>\n<body><h1>proctallyd</h1>\n"
                        "<p>The roll of all processes on this host, for Prometheus.</p>\n<ul>\n"
                        "<li><a href=\"");
    append_html(out, telemetry_path);
    buf_append_str(out, "\">Metrics</a></li>\n"
                        "<li><a href=\"/-/healthy\">Health</a></li>\n"
                        "<li><a href=\"/-/ready\">Readiness</a></li>\n"
                        "</ul></body></html>\n");
}

int site_init(struct site *site, struct publisher *publisher, const char *telemetry_path)
{
    *site = (struct site){.publisher = publisher, .telemetry_path = strdup(telemetry_path)};
    buf_init(&site->landing, LANDING_MAX);
    append_landing(&site->landing, telemetry_path);
    return site->telemetry_path && !buf_failed(&site->landing) ? 0 : -ENOMEM;
}

void site_deinit(struct site *site)
{
    free(site->telemetry_path);
    buf_deinit(&site->landing);
}

/* ---- questions ---- */

void question_init(struct question *q, const struct site *site, const char *method,
                   const char *path)
{
    *q = (struct question){.path = target_path(path, site->telemetry_path),
                           .method = method,
                           .whole_site = strcmp(path, "*") == 0};
}

static bool is_head(const struct question *q)
{
    return strcmp(q->method, "HEAD") == 0;
}

static bool method_is_allowed(const struct question *q)
{
    return is_head(q) || strcmp(q->method, "GET") == 0;
}

bool question_is_scrape(const struct question *q)
{
    return q->path == HTTP_PATH_METRICS && method_is_allowed(q);
}

void question_add_argument(struct question *q, const char *key, const char *value)
{
    if (strcmp(key, "name[]") != 0)
        return;
    q->some = true;
    if (value)
        (void)selection_add(&q->only, span_from_str(value));
}

/* ---- answers ---- */

static void answer_text(struct answer *a, enum http_code code, struct span text)
{
    a->code = code;
    a->content_type = "text/plain; charset=utf-8";
    a->body = text;
}

static void answer_failure(struct answer *a, int r)
{
    if (r == -EAGAIN)
        answer_text(a, HTTP_CODE_503, SPAN_LITERAL("There is no snapshot yet.\n"));
    else
        answer_text(a, HTTP_CODE_500, SPAN_LITERAL("Out of memory.\n"));
}

static enum variant_kind kind_of(enum format format, bool gzip)
{
    if (format == FORMAT_OPENMETRICS)
        return gzip ? VARIANT_OPENMETRICS_GZIP : VARIANT_OPENMETRICS;
    return gzip ? VARIANT_TEXT_GZIP : VARIANT_TEXT;
}

static void answer_scrape(struct answer *a, struct site *site, const struct question *q)
{
    int r;

    /* A page of some families is for one request: rendered for it, not compressed, not shared. */
    if (q->some)
        r = publisher_render_some(site->publisher, q->format, &q->only, &a->page);
    else
        r = publisher_acquire(site->publisher, kind_of(q->format, q->gzip), &a->variant);
    if (r < 0) {
        answer_failure(a, r);
        return;
    }
    a->code = HTTP_CODE_200;
    a->content_type = format_content_type(q->format);
    a->scrape = true;
    a->gzip = q->gzip && !q->some;
    a->whole = !q->some && !is_head(q);
}

static void answer_ready(struct answer *a, const struct site *site)
{
    switch (publisher_state(site->publisher)) {
    case PUBLISHER_FRESH:
        answer_text(a, HTTP_CODE_200, SPAN_LITERAL("proctallyd is ready.\n"));
        return;
    case PUBLISHER_STALE:
        answer_text(a, HTTP_CODE_503, SPAN_LITERAL("The last snapshot is too old.\n"));
        return;
    case PUBLISHER_EMPTY:
        answer_failure(a, -EAGAIN);
    }
}

static void answer_landing(struct answer *a, const struct site *site)
{
    a->code = HTTP_CODE_200;
    a->content_type = "text/html; charset=utf-8";
    a->body = buf_span(&site->landing);
}

static void answer_method(struct answer *a)
{
    answer_text(a, HTTP_CODE_405, SPAN_LITERAL("Only GET and HEAD are allowed here.\n"));
    a->allow = "GET, HEAD";
}

/* The site as a whole can be asked for its options alone. */
static bool is_somewhere(const struct question *q)
{
    return q->path != HTTP_PATH_OTHER || (q->whole_site && strcmp(q->method, "OPTIONS") == 0);
}

void site_answer(struct site *site, const struct question *q, uint64_t now_ns, struct answer *ret)
{
    *ret = (struct answer){.path = q->path};
    buf_init(&ret->page, PAGE_MAX);
    if (!is_somewhere(q)) {
        answer_text(ret, HTTP_CODE_404, SPAN_LITERAL("There is nothing here.\n"));
        return;
    }
    if (!method_is_allowed(q)) {
        answer_method(ret);
        return;
    }
    switch (q->path) {
    case HTTP_PATH_METRICS:
        /* HEAD is what health checks ask, and no scrape. */
        if (!is_head(q))
            publisher_note_scrape(site->publisher, now_ns);
        answer_scrape(ret, site, q);
        return;
    case HTTP_PATH_READY:
        answer_ready(ret, site);
        return;
    case HTTP_PATH_HEALTHY:
        answer_text(ret, HTTP_CODE_200, SPAN_LITERAL("proctallyd is healthy.\n"));
        return;
    default:
        answer_landing(ret, site);
    }
}

void answer_deinit(struct answer *a, struct publisher *publisher)
{
    if (a->variant)
        publisher_release(publisher, a->variant);
    buf_deinit(&a->page);
}

unsigned http_status(enum http_code code)
{
    return (unsigned)strtoul(http_code_name(code), NULL, 10);
}
