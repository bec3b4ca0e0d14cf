/*
 * group_state - the groups' totals as bytes.
 *
 * A state is a head (enum head_number), the counters' names, then the groups in the order of their
 * names, each a row of numbers, its totals that are not 0, and its name, then pending processes,
 * each its pid and its start. All numbers have 64 bits; texts fill up to the next number with
 * zeros. Decoding looks through all of it before it changes anything; names that ascend cannot be
 * there twice.
 */
#include "group/group_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum head_number {
    HEAD_FIRST_TICK,
    HEAD_WANTED, /* 1 << place of the counter among the names */
    HEAD_COUNTERS,
    HEAD_GROUPS,
    HEAD_N,
};

enum row_number {
    ROW_NAME_LEN,
    ROW_FLAGS,
    ROW_KNOWN,    /* 1 << place of the counter */
    ROW_RELEASED, /* likewise */
    ROW_TOTALS,   /* likewise, those that are not 0 and follow the row */
    ROW_OLDEST_PID,
    ROW_OLDEST_START,
    ROW_EMPTY_SINCE_NS,
    ROW_N,
};

enum pending_number {
    PENDING_PID,
    PENDING_START,
    PENDING_N,
};

enum row_flag {
    ROW_HAD_MEMBERS = 1,
    ROW_RESTART_DUE = 2,
    ROW_FLAGS_ALL = 3,
};

enum {
    NUMBER_SIZE = sizeof(uint64_t),
    COUNTERS_MAX = 32, /* masks of them have 32 bits */
    COUNTER_NAME_MAX = 64,
};

/* Which counter stands at a place of the state; GROUP_COUNTER_N: one that this version lacks. */
struct places {
    size_t n;
    uint32_t counter[COUNTERS_MAX];
};

static const char zeros[NUMBER_SIZE];

/* ---- names of counters ---- */

/* Two parts, the second "" but for exits. */
static void counter_names(uint32_t counter, struct span ret[static 2])
{
    ret[1] = span_of("", 0);
    if (counter < COUNTER_N) {
        ret[0] = span_from_str(counter_name((enum counter)counter));
    } else if (counter >= GROUP_COUNTER_EXITED) {
        ret[0] = SPAN_LITERAL("exited ");
        ret[1] =
            span_from_str(exit_reason_name((enum exit_reason)(counter - GROUP_COUNTER_EXITED)));
    } else {
        ret[0] =
            counter == GROUP_COUNTER_STARTED ? SPAN_LITERAL("started") : SPAN_LITERAL("restarts");
    }
}

static uint32_t counter_find(struct span name)
{
    struct span parts[2];

    for (uint32_t i = 0; i < GROUP_COUNTER_N; i++) {
        counter_names(i, parts);
        if (name.n == parts[0].n + parts[1].n && span_starts_with(name, parts[0]) &&
            span_equal(span_skip(name, parts[0].n), parts[1]))
            return i;
    }
    return GROUP_COUNTER_N;
}

/* ---- to bytes ---- */

static void put_numbers(struct buf *out, const uint64_t *numbers, size_t n)
{
    buf_append(out, (const char *)numbers, n * sizeof(*numbers));
}

static void put_padding(struct buf *out, size_t text_len)
{
    buf_append(out, zeros, -text_len % NUMBER_SIZE);
}

static void put_counter_names(struct buf *out)
{
    struct span parts[2];

    for (uint32_t i = 0; i < GROUP_COUNTER_N; i++) {
        counter_names(i, parts);
        put_numbers(out, (uint64_t[]){parts[0].n + parts[1].n}, 1);
        buf_append_span(out, parts[0]);
        buf_append_span(out, parts[1]);
        put_padding(out, parts[0].n + parts[1].n);
    }
}

static void put_group(const struct group *group, struct buf *out)
{
    uint64_t numbers[ROW_N + GROUP_COUNTER_N] = {
        [ROW_NAME_LEN] = group->name_len,
        [ROW_FLAGS] = (group->had_members ? ROW_HAD_MEMBERS : 0u) |
                      (group->restart_due ? ROW_RESTART_DUE : 0u),
        [ROW_KNOWN] = group->known,
        [ROW_OLDEST_PID] = group->oldest_before.pid,
        [ROW_OLDEST_START] = group->oldest_before.start_ticks,
        [ROW_EMPTY_SINCE_NS] = group->empty_since_ns,
    };
    size_t n = ROW_N;

    for (uint32_t i = 0; i < GROUP_COUNTER_N; i++) {
        numbers[ROW_RELEASED] |= (uint64_t)group->series[i].released << i;
        if (group->total[i] == 0)
            continue;
        numbers[ROW_TOTALS] |= UINT64_C(1) << i;
        numbers[n++] = group->total[i];
    }
    put_numbers(out, numbers, n);
    buf_append(out, group->name, group->name_len);
    put_padding(out, group->name_len);
}

/* Those that were found and not started count nothing that could be lost. */
static void put_pending(const struct table *t, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_processes && n < GROUP_STATE_PENDING_MAX; i++) {
        const struct process *p = &t->processes[i];

        if (p->seen != t->cycle || p->membership.now.standing != STANDING_PENDING ||
            !p->membership.start_due)
            continue;
        put_numbers(out,
                    (uint64_t[PENDING_N]){
                        [PENDING_PID] = p->identity.pid, [PENDING_START] = p->identity.start_ticks},
                    PENDING_N);
        n++;
    }
}

void group_state_encode(const struct groups *g, const struct table *t,
                        const struct group_state *state, struct buf *out)
{
    uint64_t head[HEAD_N] = {
        [HEAD_FIRST_TICK] = state->first_tick,
        [HEAD_WANTED] = state->counters,
        [HEAD_COUNTERS] = GROUP_COUNTER_N,
        [HEAD_GROUPS] = g->n_order,
    };

    _Static_assert((int)GROUP_COUNTER_N <= (int)COUNTERS_MAX, "masks of counters have 32 bits");
    put_numbers(out, head, HEAD_N);
    put_counter_names(out);
    for (size_t i = 0; i < g->n_order; i++)
        put_group(&g->groups[g->order[i]], out);
    if (g->n_pending > 0)
        put_pending(t, out);
}

/* ---- from bytes ---- */

static bool take_numbers(struct span *rest, uint64_t *ret, size_t n)
{
    if (rest->n < n * sizeof(*ret))
        return false;
    memcpy(ret, rest->p, n * sizeof(*ret));
    *rest = span_skip(*rest, n * sizeof(*ret));
    return true;
}

static bool take_text(struct span *rest, uint64_t n, size_t max, struct span *ret)
{
    size_t padding = -n % NUMBER_SIZE;

    if (n == 0 || n > max || rest->n < n + padding)
        return false;
    *ret = span_of(rest->p, n);
    *rest = span_skip(*rest, n);
    if (memcmp(rest->p, zeros, padding) != 0)
        return false;
    *rest = span_skip(*rest, padding);
    return true;
}

static bool take_counter_names(struct span *rest, uint64_t n, struct places *ret)
{
    uint32_t found = 0;

    if (n > COUNTERS_MAX)
        return false;
    for (ret->n = 0; ret->n < n; ret->n++) {
        struct span name;
        uint64_t len;
        uint32_t counter;

        if (!take_numbers(rest, &len, 1) || !take_text(rest, len, COUNTER_NAME_MAX, &name))
            return false;
        counter = counter_find(name);
        if (counter < GROUP_COUNTER_N && (found >> counter & 1))
            return false;
        found |= counter < GROUP_COUNTER_N ? UINT32_C(1) << counter : 0;
        ret->counter[ret->n] = counter;
    }
    return true;
}

/* Whether a mask names nothing but the state's counters. */
static bool mask_fits(uint64_t mask, const struct places *places)
{
    return mask >> places->n == 0;
}

/* A mask of the state as one of this version. */
static uint32_t mask_here(uint64_t mask, const struct places *places)
{
    uint32_t here = 0;

    for (; mask; mask &= mask - 1) {
        uint32_t counter = places->counter[__builtin_ctzll(mask)];

        here |= counter < GROUP_COUNTER_N ? UINT32_C(1) << counter : 0;
    }
    return here;
}

static bool row_is_valid(const uint64_t row[static ROW_N], const struct places *places)
{
    return row[ROW_FLAGS] <= ROW_FLAGS_ALL && mask_fits(row[ROW_KNOWN], places) &&
           mask_fits(row[ROW_RELEASED], places) && mask_fits(row[ROW_TOTALS], places) &&
           row[ROW_OLDEST_PID] <= INT32_MAX;
}

static bool name_is_label(struct span name)
{
    char label[UTF8_LABEL_MAX];

    return span_equal(span_of(label, utf8_label(label, name)), name);
}

/*
 * Takes one group; totals at the places of the row's mask. A total that no version of ours shows
 * leaves the masks: that counter of that group begins at 0, as a new series does, and all else
 * goes on. Clamped it would go on below what was shown, which looks like a reset and a jump.
 */
static bool take_group(struct span *rest, const struct places *places, uint64_t row[static ROW_N],
                       uint64_t totals[static COUNTERS_MAX], struct span *ret_name)
{
    if (!take_numbers(rest, row, ROW_N) || !row_is_valid(row, places))
        return false;
    for (uint64_t mask = row[ROW_TOTALS]; mask; mask &= mask - 1) {
        unsigned place = (unsigned)__builtin_ctzll(mask);

        if (!take_numbers(rest, &totals[place], 1) || totals[place] == 0)
            return false;
        if (totals[place] <= GROUP_SUM_MAX)
            continue;
        row[ROW_TOTALS] &= ~(UINT64_C(1) << place);
        row[ROW_RELEASED] &= ~(UINT64_C(1) << place);
    }
    return take_text(rest, row[ROW_NAME_LEN], UTF8_LABEL_MAX, ret_name) && name_is_label(*ret_name);
}

/* What is left behind the groups. */
static bool pending_are_valid(struct span rest)
{
    uint64_t numbers[PENDING_N];

    if (rest.n > GROUP_STATE_PENDING_MAX * sizeof(numbers))
        return false;
    while (take_numbers(&rest, numbers, PENDING_N))
        if (numbers[PENDING_PID] == 0 || numbers[PENDING_PID] > INT32_MAX)
            return false;
    return rest.n == 0;
}

static bool groups_are_valid(struct span rest, const struct places *places, uint64_t n)
{
    struct span before = span_of("", 0), name;
    uint64_t row[ROW_N], totals[COUNTERS_MAX];

    if (n > GROUP_STATE_MAX)
        return false;
    for (; n > 0; n--) {
        if (!take_group(&rest, places, row, totals, &name) || span_compare(before, name) >= 0)
            return false;
        before = name;
    }
    return pending_are_valid(rest);
}

static void fill_group(struct group *group, const struct places *places,
                       const uint64_t row[static ROW_N], const uint64_t *totals)
{
    group->had_members = row[ROW_FLAGS] & ROW_HAD_MEMBERS;
    group->restart_due = row[ROW_FLAGS] & ROW_RESTART_DUE;
    group->known = mask_here(row[ROW_KNOWN], places);
    group->oldest_before = (struct identity){.pid = (uint32_t)row[ROW_OLDEST_PID],
                                             .start_ticks = row[ROW_OLDEST_START]};
    group->empty_since_ns = row[ROW_EMPTY_SINCE_NS];
    for (size_t i = 0; i < places->n; i++) {
        uint32_t counter = places->counter[i];

        if (counter == GROUP_COUNTER_N)
            continue;
        group->total[counter] = row[ROW_TOTALS] >> i & 1 ? totals[i] : 0;
        group->series[counter].released = row[ROW_RELEASED] >> i & 1;
    }
}

/* Makes the n groups at the begin of the rest, and takes them. */
static int make_groups(struct span *rest, const struct places *places, uint64_t n, struct groups *g)
{
    uint64_t row[ROW_N], totals[COUNTERS_MAX];
    struct span name;

    for (; n > 0 && take_group(rest, places, row, totals, &name); n--) {
        uint32_t group;
        int r = groups_restore(g, name, &group);

        if (r < 0)
            return r;
        fill_group(&g->groups[group], places, row, totals);
    }
    return 0;
}

static int take_pending(struct span rest, struct group_state *state)
{
    uint64_t numbers[PENDING_N];

    if (rest.n == 0)
        return 0;
    state->pending = malloc(rest.n / sizeof(numbers) * sizeof(*state->pending));
    if (!state->pending)
        return -ENOMEM;
    while (take_numbers(&rest, numbers, PENDING_N))
        state->pending[state->n_pending++] = (struct identity){
            .pid = (uint32_t)numbers[PENDING_PID], .start_ticks = numbers[PENDING_START]};
    return 0;
}

int group_state_decode(struct span bytes, struct groups *g, struct group_state *ret)
{
    enum groups_mode mode = g->mode;
    struct group_state state = {0};
    uint64_t head[HEAD_N];
    struct places places;
    int r;

    if (!take_numbers(&bytes, head, HEAD_N) ||
        !take_counter_names(&bytes, head[HEAD_COUNTERS], &places) ||
        !mask_fits(head[HEAD_WANTED], &places) ||
        !groups_are_valid(bytes, &places, head[HEAD_GROUPS]))
        return -EBADMSG;
    r = make_groups(&bytes, &places, head[HEAD_GROUPS], g);
    if (r == 0)
        r = take_pending(bytes, &state);
    if (r < 0) {
        groups_deinit(g);
        groups_init(g, mode);
        return r;
    }
    state.first_tick = head[HEAD_FIRST_TICK];
    state.counters = mask_here(head[HEAD_WANTED], &places) & ((UINT32_C(1) << COUNTER_N) - 1);
    *ret = state;
    return 0;
}

void group_state_end_missing(struct groups *g, const struct table *t)
{
    for (size_t i = 0; i < g->n_groups; i++) {
        struct group *group = &g->groups[i];

        if (group->used && group->oldest_before.pid != 0 &&
            table_find(t, group->oldest_before) == TABLE_NONE)
            group->oldest_ended = true;
    }
}
