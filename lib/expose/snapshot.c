/* snapshot - labels are escaped when a snapshot is built, once for all families and formats. */
#include "expose/snapshot.h"

#include "expose/escape.h"
#include "expose/number.h"

struct label {
    struct span name;
    struct span value;
};

static char *put_label(char *at, const struct label *label)
{
    memcpy(at, label->name.p, label->name.n);
    at += label->name.n;
    *at++ = '=';
    *at++ = '"';
    at += escape_quoted(at, label->value);
    *at++ = '"';
    return at;
}

/* The labels by commas, or an empty span if the arena is latched. */
static struct span put_labels(struct arena *a, const struct label *labels, size_t n)
{
    size_t most = 0;
    char *p, *at;

    for (size_t i = 0; i < n; i++)
        most += labels[i].name.n + 2 * labels[i].value.n + 4;
    p = at = arena_alloc(a, most);
    if (!p)
        return span_of(NULL, 0);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            *at++ = ',';
        at = put_label(at, &labels[i]);
    }
    return span_of(p, (size_t)(at - p));
}

struct span snapshot_label(struct arena *a, struct span name)
{
    const struct label group = {SPAN_LITERAL("group"), name};

    return put_labels(a, &group, 1);
}

struct span snapshot_group_info(struct arena *a, struct span unit, struct span container,
                                struct span pod)
{
    const struct label labels[] = {
        {SPAN_LITERAL("unit"), unit},
        {SPAN_LITERAL("container"), container},
        {SPAN_LITERAL("pod"), pod},
    };

    return put_labels(a, labels, sizeof(labels) / sizeof(*labels));
}

struct span snapshot_process_labels(struct arena *a, uint32_t pid, struct span comm,
                                    struct span group)
{
    char digits[NUMBER_MAX];
    const struct label labels[] = {
        {SPAN_LITERAL("pid"), span_of(digits, (size_t)(number_u64(digits, pid) - digits))},
        {SPAN_LITERAL("comm"), comm},
        {SPAN_LITERAL("group"), group},
    };

    return put_labels(a, labels, sizeof(labels) / sizeof(*labels));
}

void snapshot_thread_labels(struct arena *a, struct span name, struct snapshot_thread *ret)
{
    struct label labels[] = {
        {SPAN_LITERAL("thread"), name},
        {SPAN_LITERAL("mode"), SPAN_LITERAL("user")},
    };

    ret->label = put_labels(a, labels, 1);
    ret->label_user = put_labels(a, labels, 2);
    labels[1].value = SPAN_LITERAL("system");
    ret->label_system = put_labels(a, labels, 2);
}
