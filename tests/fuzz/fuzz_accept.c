/*
 * Accept and Accept-Encoding of anybody. What is checked beside memory: an element that matches
 * nothing we have changes no verdict on a header that is well formed, nor does the case of letters.
 */
#include "daemon/accept.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy(const uint8_t *data, size_t size, const char *tail)
{
    char *text = malloc(size + strlen(tail) + 1);

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    strcpy(text + size, tail);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *header = copy(data, size, ""), *longer;
    enum accept_format format = accept_format(header);
    bool gzip = accept_gzip(header);

    /* NULs end it for both. */
    longer = copy(data, strlen(header), ", x/y;q=0.3");
    if (format == ACCEPT_OPENMETRICS && accept_format(longer) != format)
        abort();
    free(longer);
    longer = copy(data, strlen(header), ", x;q=0.3");
    if (gzip && !accept_gzip(longer))
        abort();
    free(longer);
    for (char *p = header; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    if (accept_format(header) != format || accept_gzip(header) != gzip)
        abort();
    free(header);
    return 0;
}
