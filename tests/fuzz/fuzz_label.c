/*
 * A group of any bytes for a name, on both pages: the page is valid UTF-8, every sample of it can
 * be read, and the label reads as the name that was asked for.
 */
#include "base/utf8.h"
#include "expose/render.h"
#include "expose/snapshot.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAGE_MAX = 1 << 20 };

static void must(bool what)
{
    if (!what)
        abort();
}

static char first(struct span s)
{
    return s.n > 0 ? *s.p : '\0';
}

static void take(struct span *s, char c)
{
    must(first(*s) == c);
    *s = span_skip(*s, 1);
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':';
}

static struct span take_name(struct span *s)
{
    size_t n = 0;

    while (n < s->n && is_name_byte(s->p[n]))
        n++;
    must(n > 0);
    *s = span_skip(*s, n);
    return span_of(s->p - n, n);
}

/* A quoted value; its text goes to out. */
static size_t take_quoted(struct span *s, char *out, size_t room)
{
    size_t n = 0;

    take(s, '"');
    for (; first(*s) != '"'; n++) {
        char c = first(*s);

        must(s->n > 0 && n < room && c != '\n');
        take(s, c);
        if (c == '\\') {
            c = first(*s);
            must(c == '\\' || c == '"' || c == 'n');
            take(s, c);
            c = c == 'n' ? '\n' : c;
        }
        out[n] = c;
    }
    take(s, '"');
    return n;
}

/* Returns how many labels were the group's name. */
static unsigned take_labels(struct span *s, struct span group)
{
    unsigned found = 0;

    take(s, '{');
    do {
        struct span name = take_name(s);
        char value[1024];
        size_t n;

        take(s, '=');
        n = take_quoted(s, value, sizeof(value));
        if (span_equal(name, SPAN_LITERAL("group"))) {
            must(span_equal(span_of(value, n), group));
            found++;
        }
        if (first(*s) != ',')
            break;
        take(s, ',');
    } while (true);
    take(s, '}');
    return found;
}

static unsigned take_sample(struct span line, struct span group)
{
    unsigned found = 0;
    char number[64], *end;

    take_name(&line);
    if (first(line) == '{')
        found = take_labels(&line, group);
    take(&line, ' ');
    must(line.n > 0 && line.n < sizeof(number));
    memcpy(number, line.p, line.n);
    number[line.n] = '\0';
    (void)strtod(number, &end);
    must(*end == '\0');
    return found;
}

static void check_utf8(struct span page)
{
    while (page.n > 0) {
        size_t n = utf8_character(page);

        must(n > 0);
        page = span_skip(page, n);
    }
}

static void check_page(struct span page, struct span group)
{
    unsigned found = 0;

    check_utf8(page);
    while (page.n > 0) {
        const char *end = memchr(page.p, '\n', page.n);
        struct span line;

        must(end != NULL);
        line = span_of(page.p, (size_t)(end - page.p));
        page = span_skip(page, line.n + 1);
        must(line.n > 0);
        if (first(line) != '#')
            found += take_sample(line, group);
    }
    must(found > 5);
}

static void build(struct snapshot *s, struct arena *arena, struct span name)
{
    *s = (struct snapshot){.sequence = 1, .up = true, .n_groups = 1};
    s->self = (struct self){.version = "0",
                            .revision = "r",
                            .libmicrohttpd_version = "0",
                            .source = "procfs",
                            .source_reason = "test"};
    /* Some with more labels than the group, and few, to be quick. */
    must(selection_include(&s->families, SPAN_LITERAL("proctally_group_[cpu]*")) > 0);
    s->groups = arena_alloc_array(arena, 1, sizeof(*s->groups));
    must(s->groups != NULL);
    memset(s->groups, 0, sizeof(*s->groups));
    s->groups->name = arena_copy(arena, name);
    s->groups->label = snapshot_label(arena, s->groups->name);
    s->groups->values.have_counters = (UINT32_C(1) << GROUP_COUNTER_N) - 1;
    s->groups->values.have_gauges = (UINT32_C(1) << GAUGE_N) - 1;
    s->groups->values.unread[PART_IO] = 3;
    must(!arena_failed(arena));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char label[UTF8_LABEL_MAX];
    struct span name = span_of(label, utf8_label(label, span_of((const char *)data, size)));
    struct snapshot snapshot;
    struct arena arena;
    struct buf page;

    arena_init(&arena, 1 << 20);
    buf_init(&page, PAGE_MAX);
    build(&snapshot, &arena, name);
    for (int format = 0; format < FORMAT_N; format++) {
        buf_reset(&page);
        render(&snapshot, (enum format)format, NULL, &page);
        must(!buf_failed(&page));
        check_page(buf_span(&page), name);
    }
    buf_deinit(&page);
    arena_deinit(&arena);
    return 0;
}
