/* target - what a request asks for. */
#include "daemon/target.h"

#include <string.h>
#include <strings.h>

/* The value of a hexadecimal digit, -1 if it is none. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 'a' - 'A';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t target_unescape(char *s)
{
    char *out = s;

    for (const char *in = s; *in; in++) {
        int high = *in == '%' ? hex_digit(in[1]) : -1;
        int low = high >= 0 ? hex_digit(in[2]) : -1;

        if (low < 0 || high + low == 0) {
            *out++ = *in;
            continue;
        }
        *out++ = (char)(high << 4 | low);
        in += 2;
    }
    *out = '\0';
    return (size_t)(out - s);
}

/* The path of a target that names its host as well, as those who ask by a proxy write it. */
static const char *without_host(const char *target)
{
    static const char scheme[] = "http://";
    const char *path;

    if (strncasecmp(target, scheme, sizeof(scheme) - 1) != 0)
        return target;
    path = strchr(target + sizeof(scheme) - 1, '/');
    return path ? path : "/";
}

enum http_path target_path(const char *path, const char *telemetry_path)
{
    path = without_host(path);
    if (strcmp(path, telemetry_path) == 0)
        return HTTP_PATH_METRICS;
    if (strcmp(path, "/") == 0)
        return HTTP_PATH_ROOT;
    if (strcmp(path, "/-/healthy") == 0)
        return HTTP_PATH_HEALTHY;
    if (strcmp(path, "/-/ready") == 0)
        return HTTP_PATH_READY;
    return HTTP_PATH_OTHER;
}
