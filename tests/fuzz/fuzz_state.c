/*
 * fuzz_state - the state of the groups, and the marks of the host.
 *
 * What is taken is fit for a page, and what is written of it is taken again, and is the same then.
 * What is refused leaves nothing behind.
 */
#include "group/group_state.h"

#include "fuzz.h"
#include "track/host_marks.h"

enum { STATE_MAX = 1 << 20 };

static void must(bool what)
{
    if (!what)
        abort();
}

static void check_groups(const struct groups *g)
{
    must(g->n_counted <= g->n_order);
    for (size_t i = 0; i < g->n_order; i++) {
        const struct group *group = &g->groups[g->order[i]];
        struct span name = group_name(g, g->order[i]);
        char label[UTF8_LABEL_MAX];

        must(name.n > 0 && span_equal(span_of(label, utf8_label(label, name)), name));
        must(i == 0 || span_compare(group_name(g, g->order[i - 1]), name) < 0);
        must(group->known >> GROUP_COUNTER_N == 0);
        for (size_t k = 0; k < GROUP_COUNTER_N; k++)
            must(group->total[k] <= INT64_MAX);
    }
}

/* A table takes those that were pending, as news. */
static void check_pending(const struct group_state *state)
{
    struct table table;

    must(state->n_pending <= GROUP_STATE_PENDING_MAX);
    must((state->n_pending > 0) == (state->pending != NULL));
    for (size_t i = 0; i < state->n_pending; i++)
        must(state->pending[i].pid > 0 && state->pending[i].pid <= INT32_MAX);
    table_init(&table, TABLE_SINCE_FIRST_CYCLE, 0);
    must(table_resume(&table, state->first_tick, state->pending, state->n_pending) == 0);
    table_deinit(&table);
}

/* Decodes, checks and encodes; false if the bytes were refused. Nobody is pending afterwards. */
static bool pass(struct span bytes, struct buf *out)
{
    struct group_state state = {0};
    struct groups groups;
    struct table nobody;
    bool taken;

    groups_init(&groups, GROUPS_FIRST_AT_ZERO);
    table_init(&nobody, TABLE_SINCE_FIRST_CYCLE, 0);
    taken = group_state_decode(bytes, &groups, &state) == 0;
    check_groups(&groups);
    check_pending(&state);
    must(taken || groups.n_groups == 0);
    if (taken) {
        must(state.counters >> COUNTER_N == 0);
        group_state_encode(&groups, &nobody, &state, out);
        must(!buf_failed(out));
    }
    free(state.pending);
    table_deinit(&nobody);
    groups_deinit(&groups);
    return taken;
}

/* Marks that are taken are written as they were, but those of another version. */
static void check_marks(struct span bytes)
{
    struct span rest = bytes, again;
    struct host_marks marks = {0};
    struct buf out;

    if (host_marks_decode(&rest, &marks) < 0) {
        must(rest.n == bytes.n);
        return;
    }
    must(rest.n < bytes.n);
    buf_init(&out, STATE_MAX);
    host_marks_encode(&marks, &out);
    again = buf_span(&out);
    must(host_marks_decode(&again, &marks) == 0 && again.n == 0);
    buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;

    check_marks(span_of((const char *)data, size));

    buf_init(&once, STATE_MAX);
    buf_init(&twice, STATE_MAX);
    if (pass(span_of((const char *)data, size), &once)) {
        must(pass(buf_span(&once), &twice));
        must(span_equal(buf_span(&once), buf_span(&twice)));
    }
    buf_deinit(&once);
    buf_deinit(&twice);
    return 0;
}
