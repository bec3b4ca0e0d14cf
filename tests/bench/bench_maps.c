/*
 * bench_maps - mappings parsed in place against a parser that owns what it returns.
 *
 * A parse begins with the text being copied to where it is parsed, as read(2) would. Ours copies
 * it into one reused buffer that is never cleared, and takes mappings off it. The baselines get a
 * cleared buffer for each text and build an array of mappings with a copy of each path, given
 * back afterwards; one takes a line apart by sscanf(3), as programs do, the other by the very
 * functions of ours, which leaves the memory alone as the difference.
 */
#include "bench.h"
#include "heap.h"

#include "base/buf.h"
#include "procfs/pid_maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 16 * 1024 * 1024 };

struct owned_mapping {
    uint64_t start, end, offset, inode;
    unsigned device_major, device_minor;
    char perms[5];
    char *path;
};

struct owned_mappings {
    struct owned_mapping *items;
    size_t n, capacity;
};

struct subject {
    struct span text;
    size_t lines;
    unsigned loops;
    struct buf reused;
    uint64_t sum; /* over what was parsed, to be compared */
};

/* Any change of a field or of a path's length shows. */
static uint64_t weigh(uint64_t start, uint64_t end, uint64_t offset, uint64_t inode, size_t path)
{
    return start * 3 + end * 5 + offset * 7 + inode * 11 + path * 13;
}

static double ours(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        struct mapping m;
        struct span rest;

        s->sum = 0;
        buf_reset(&s->reused);
        buf_append_span(&s->reused, s->text);
        rest = buf_span(&s->reused);
        while (pid_maps_next(&rest, &m) == 0)
            s->sum += weigh(m.start, m.end, m.offset, m.inode, m.path.n);
    }
    return s->loops;
}

static struct owned_mapping *owned_add(struct owned_mappings *list)
{
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 64;
        list->items = realloc(list->items, list->capacity * sizeof(*list->items));
        if (!list->items)
            bench_die("realloc");
    }
    return &list->items[list->n++];
}

static uint64_t owned_free(struct owned_mappings *list)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < list->n; i++) {
        struct owned_mapping *m = &list->items[i];

        sum += weigh(m->start, m->end, m->offset, m->inode, strlen(m->path));
        free(m->path);
    }
    free(list->items);
    return sum;
}

static char *cleared_copy(struct span text)
{
    char *copy = malloc(text.n + 1);

    if (!copy)
        bench_die("malloc");
    memset(copy, 0, text.n + 1);
    bench_use(copy); /* else the clearing is left out */
    memcpy(copy, text.p, text.n);
    return copy;
}

static void owned_scan_line(struct owned_mappings *list, char *line)
{
    struct owned_mapping *m = owned_add(list);
    int path = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
               &m->end, m->perms, &m->offset, &m->device_major, &m->device_minor, &m->inode,
               &path) < 7)
        bench_die("sscanf");
    m->path = strdup(line + path);
    if (!m->path)
        bench_die("strdup");
}

static double owned_by_sscanf(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        char *copy = cleared_copy(s->text), *rest = copy, *line;
        struct owned_mappings list = {0};

        /* sscanf looks for the end of what it is given, so it is given one line. */
        while ((line = strsep(&rest, "\n")) && *line)
            owned_scan_line(&list, line);
        s->sum = owned_free(&list);
        free(copy);
    }
    return s->loops;
}

static double owned_by_span(void *arg)
{
    struct subject *s = arg;

    for (unsigned i = 0; i < s->loops; i++) {
        char *copy = cleared_copy(s->text);
        struct span rest = span_of(copy, s->text.n);
        struct owned_mappings list = {0};
        struct mapping m;

        while (pid_maps_next(&rest, &m) == 0) {
            struct owned_mapping *o = owned_add(&list);

            *o = (struct owned_mapping){m.start,        m.end,          m.offset, m.inode,
                                        m.device_major, m.device_minor, "",       NULL};
            memcpy(o->perms, m.perms, sizeof(m.perms));
            o->path = strndup(m.path.p, m.path.n);
            if (!o->path)
                bench_die("strndup");
        }
        s->sum = owned_free(&list);
        free(copy);
    }
    return s->loops;
}

/* Libraries of five mappings each, and anonymous memory in between. */
static void make_text(struct buf *text, size_t lines)
{
    static const char *const perms[] = {"r--p", "r-xp", "r--p", "r--p", "rw-p"};
    uint64_t at = 0x7f3c10000000;

    buf_reset(text);
    for (size_t i = 0; i < lines; i++) {
        uint64_t end = at + 0x1000 * (1 + i % 40);

        if (i % 8 < 5)
            buf_printf(text,
                       "%" PRIx64 "-%" PRIx64 " %s %08zx fe:00 %-26zu/usr/lib/x86_64-linux-gnu/"
                       "lib%zu.so.6\n",
                       at, end, perms[i % 8], i % 8 * 0x1000, 332000 + i / 8, i / 8);
        else
            buf_printf(text, "%" PRIx64 "-%" PRIx64 " rw-p 00000000 00:00 0 \n", at, end);
        at = end + (i % 3) * 0x1000;
    }
    if (buf_failed(text))
        bench_die("buf");
}

/* Runs the piece once over its text; *ret_calls are its heap calls. */
static uint64_t sum_of(struct subject *s, const struct bench_piece *piece, uint64_t *ret_calls)
{
    unsigned loops = s->loops;
    uint64_t before;

    s->loops = 1;
    (void)piece->run(s);
    before = heap_calls();
    (void)piece->run(s);
    *ret_calls = heap_calls() - before;
    s->loops = loops;
    return s->sum;
}

/* Prints heap calls per parse, and checks that all took the same and ours called none. */
static bool check_pieces(struct subject *s, const struct bench_piece *pieces, size_t n)
{
    uint64_t calls, expected = sum_of(s, &pieces[0], &calls);
    bool good = calls == 0;

    printf("%zu mappings, %zu bytes; heap calls per parse:", s->lines, s->text.n);
    for (size_t i = 0; i < n; i++) {
        good = sum_of(s, &pieces[i], &calls) == expected && good;
        printf(" %s %" PRIu64 "%s", pieces[i].name, calls, i + 1 < n ? "," : "\n");
    }
    if (!good)
        fputs("bench_maps: the parsers disagree, or ours calls the heap\n", stderr);
    return good;
}

static bool run(struct subject *s, size_t lines, unsigned rounds)
{
    const struct bench_piece pieces[] = {
        {"in place, reused", ours, s},
        {"owned and cleared, by sscanf", owned_by_sscanf, s},
        {"owned and cleared, by our tokens", owned_by_span, s},
    };
    const struct bench_pair pairs[] = {
        {1, 0, BENCH_FASTER, 5},
        {2, 0, BENCH_FASTER, 1.3},
    };
    const struct bench b = {.title = lines == 600 ? "maps, 600 mappings" : "maps, 10,000 mappings",
                            .unit = "text",
                            .pieces = pieces,
                            .n_pieces = 3,
                            .pairs = pairs,
                            .n_pairs = 2,
                            .rounds = rounds};
    struct buf text;
    bool holds;

    buf_init(&text, TEXT_MAX_BYTES);
    make_text(&text, lines);
    s->text = buf_span(&text);
    s->lines = lines;
    holds = check_pieces(s, pieces, b.n_pieces) && bench_run(&b);
    buf_deinit(&text);
    return holds;
}

int main(int argc, char **argv)
{
    bool small = bench_flag(argc, argv, "--small");
    unsigned rounds = (unsigned)bench_number(argc, argv, "--rounds", small ? 21 : 101);
    static struct subject s;
    bool holds;

    buf_init(&s.reused, TEXT_MAX_BYTES);
    s.loops = 20;
    holds = run(&s, 600, rounds);
    s.loops = 2;
    holds = run(&s, 10000, rounds) && holds;
    buf_deinit(&s.reused);
    return holds ? 0 : 1;
}
