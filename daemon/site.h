#pragma once
/*
 * site - what there is to be had by HTTP, and what a request for it is answered.
 *
 * Knows paths, methods, statuses and pages, and nothing of the library that takes requests and
 * sends answers.
 */
#include "base/buf.h"
#include "daemon/publish.h"
#include "model/self.h"

#include <stdbool.h>
#include <stdint.h>

struct site {
    struct publisher *publisher;
    char *telemetry_path;
    struct buf landing;
};

/* The publisher must outlive the site. Returns 0 or -ENOMEM; either way it is to be deinited. */
int site_init(struct site *site, struct publisher *publisher, const char *telemetry_path);
void site_deinit(struct site *site);

struct question {
    enum http_path path;
    const char *method;
    bool whole_site; /* of the target `*` */
    /* Of a scrape alone: what its headers and arguments say. */
    enum format format;
    bool gzip;
    bool some; /* the families of `only`, not all that are on */
    struct selection only;
};

/* The question of a method and a path, which was decoded once; `method` must outlive it. */
void question_init(struct question *q, const struct site *site, const char *method,
                   const char *path);

/* Whether a page of metrics is the answer, so that the rest of the question matters. */
bool question_is_scrape(const struct question *q);

/* An argument of a scrape. */
void question_add_argument(struct question *q, const char *key, const char *value);

/* Body and page are its own or constant; a variant is held. */
struct answer {
    enum http_path path;
    enum http_code code;
    const char *content_type;
    const char *allow;       /* the Allow header; NULL: none */
    bool scrape;             /* a page of metrics, chosen by Accept and Accept-Encoding */
    bool gzip;               /* it is compressed */
    bool whole;              /* a scraper that takes all of it has been served the snapshot */
    struct variant *variant; /* the bytes, to be shared with others; NULL: */
    struct buf page;         /* the bytes, for this answer alone; empty: */
    struct span body;        /* the bytes, of the site */
};

/* Answers; a scrape is noted as one of now. To be deinited. */
void site_answer(struct site *site, const struct question *q, uint64_t now_ns, struct answer *ret);
void answer_deinit(struct answer *a, struct publisher *publisher);

/* The number that goes with a code. */
unsigned http_status(enum http_code code);
