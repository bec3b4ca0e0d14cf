/*
 * The target of a request of anybody, taken to pieces as libmicrohttpd does: a path up to the
 * question mark, arguments behind it, each decoded on its own.
 *
 * Decoding never makes a string longer, nor one that ends early; it turns back what was encoded,
 * and leaves alone what holds no escape. A path leads where its encoded form does, with the name of
 * a host before it or without.
 */
#include "daemon/target.h"
#include "expose/selection.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
    if (!what)
        abort();
}

static char *copy(const char *s)
{
    char *text = strdup(s);

    must(text != NULL);
    return text;
}

static char *encoded(const char *s)
{
    size_t n = strlen(s);
    char *text = malloc(3 * n + 1);

    must(text != NULL);
    for (size_t i = 0; i < n; i++)
        snprintf(text + 3 * i, 4, i % 2 ? "%%%02x" : "%%%02X", (unsigned char)s[i]);
    text[3 * n] = '\0';
    return text;
}

/* Decodes in memory that ends with the string. */
static char *decoded(const char *s)
{
    char *text = copy(s);
    size_t n = target_unescape(text);

    must(n <= strlen(s) && strlen(text) == n);
    must(strchr(s, '%') || strcmp(s, text) == 0);
    return text;
}

static void check_round_trip(const char *s)
{
    char *there = encoded(s), *back = decoded(there);

    must(strcmp(back, s) == 0);
    free(there);
    free(back);
}

/* Whether the target is this path, or `http://`, a host and this path. */
static int is_path(const char *target, const char *path)
{
    size_t scheme = strlen("http://"), host;

    if (strcmp(target, path) == 0)
        return 1;
    if (strncasecmp(target, "http://", scheme) != 0)
        return 0;
    host = strcspn(target + scheme, "/");
    return strcmp(target + scheme + host, path) == 0;
}

static void check_host_before(const char *path, const char *telemetry_path, enum http_path leads)
{
    char *target = malloc(strlen("http://host:1") + strlen(path) + 1);

    must(target != NULL);
    sprintf(target, "http://host:1%s", path);
    must(target_path(target, telemetry_path) == leads);
    free(target);
}

static void take_path(const char *raw, const char *telemetry_path)
{
    char *path = decoded(raw), *again = encoded(path), *twice = decoded(again);
    enum http_path leads = target_path(path, telemetry_path);

    must(leads < HTTP_PATH_N);
    must((leads == HTTP_PATH_METRICS) == is_path(path, telemetry_path));
    if (path[0] == '/')
        check_host_before(path, telemetry_path, leads);
    must(target_path(twice, telemetry_path) == leads);
    free(path);
    free(again);
    free(twice);
}

/* `key=value`, of which only name[] matters. */
static void take_argument(char *argument, struct selection *only)
{
    char *equals = strchr(argument, '='), *key, *value;

    if (equals)
        *equals = '\0';
    key = decoded(argument);
    value = decoded(equals ? equals + 1 : "");
    check_round_trip(value);
    if (strcmp(key, "name[]") == 0)
        (void)selection_add(only, span_from_str(value));
    free(key);
    free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *target = malloc(size + 1), *query, *rest, *argument;
    struct selection only = {0};

    must(target != NULL);
    if (size > 0)
        memcpy(target, data, size);
    target[size] = '\0';
    check_round_trip(target);
    query = strchr(target, '?');
    if (query)
        *query++ = '\0';
    take_path(target, "/metrics");
    take_path(target, "/a path/\xc3\xa4");
    for (rest = query; rest && (argument = strsep(&rest, "&"));)
        take_argument(argument, &only);
    free(target);
    return 0;
}
