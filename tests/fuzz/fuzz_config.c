/*
 * A configuration of anything. What is accepted is printed, and the print loads to what prints the
 * same; what is refused has an error of one line, fit for a terminal.
 */
#include "daemon/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct options no_flags;

static char *printed(const struct config *c, size_t *ret_size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_size);

    if (!out || config_print(c, out) < 0)
        abort();
    fclose(out);
    return text;
}

static void check_error(const struct buf *error)
{
    struct span line = buf_span(error);

    if (!span_starts_with(line, SPAN_LITERAL("fuzz:")))
        abort();
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.p[i] < 0x20 && line.p[i] != '\t')
            abort();
}

static void check_round_trip(const struct config *c, struct buf *error)
{
    size_t first_size, second_size;
    char *first = printed(c, &first_size), *second;
    struct config again;

    config_init(&again);
    if (config_parse(span_of(first, first_size), "fuzz", &no_flags, &again, error) < 0)
        abort();
    second = printed(&again, &second_size);
    if (!span_equal(span_of(first, first_size), span_of(second, second_size)) ||
        again.rules.n != c->rules.n)
        abort();
    config_deinit(&again);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config c;
    struct buf error;

    config_init(&c);
    buf_init(&error, CONFIG_ERROR_MAX);
    if (config_parse(span_of((const char *)data, size), "fuzz", &no_flags, &c, &error) < 0)
        check_error(&error);
    else
        check_round_trip(&c, &error);
    config_deinit(&c);
    buf_deinit(&error);
    return 0;
}
