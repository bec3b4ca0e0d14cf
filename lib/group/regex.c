/*
 * regex - the one user of PCRE2.
 *
 * PCRE2's own limit counts backtracking from one starting point: an expression that stays below it
 * at each of the 128 Ki bytes of a command line runs for seconds (measured: 8 s at a limit of
 * 100,000, `(a+)+$` over `aaaaaaaaaaaaa!aaa...`), and anybody may write his own command line. So
 * expressions are compiled with a callout before each of their items, which adds up what the whole
 * search has cost: the items tried, and the bytes passed on the way. That holds for both of
 * PCRE2's engines, costs an ordinary search less than a microsecond, and keeps the limit at some
 * milliseconds. What no callout sees is an item that itself passes many bytes in vain, such as
 * `\w{1000}`: its repetition bounds it.
 *
 * The interpreter keeps its points of return in memory that it asks for in doubling pieces up to a
 * limit. It gets them from one block, which is as large as all of them together and of which
 * only what is used is ever touched.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "group/regex.h"

#include "base/utf8.h"

#include <errno.h>
#include <pcre2.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WORK_MAX = 250000, /* items tried, and WORK_BYTES passed, in one search */
    /* Once all searches of a round that took more than WORK_FEW had so much, each has WORK_FEW. */
    ROUND_MAX = 20 * WORK_MAX,
    WORK_FEW = 10000,
    /* And beyond this WORK_LEAST: thousands of processes may have been made for nothing else. */
    ROUND_END = 4 * ROUND_MAX,
    WORK_LEAST = 1000,
    WORK_BYTES = 64,   /* that cost as much as an item */
    RETURN_KIB = 1024, /* of points of return */
    BLOCK_BYTES = 4 * RETURN_KIB * 1024,
    STACK_LEAST = 32 * 1024, /* of machine code's points of return */
    STACK_MOST = 1024 * 1024,
    OPTIONS = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
};

struct regex {
    pcre2_code *code;
    uint32_t groups;
    uint32_t names;
    uint32_t name_size; /* of an entry of the table */
    PCRE2_SPTR name_table;
};

struct regex_matcher {
    pcre2_general_context *memory;
    pcre2_match_context *context;
    pcre2_match_data *data;
    pcre2_jit_stack *stack;
    char *block;
    size_t used;
    uint32_t work;     /* of the current search */
    uint32_t work_max; /* that it may take */
    uint64_t round;    /* work of the dear searches since regex_matcher_begin() */
    size_t at;         /* where its last item was */
};

/* ---- expressions ---- */

static int regex_compile(struct span text, pcre2_code **ret, struct regex_fault *ret_fault)
{
    PCRE2_SIZE at;
    int error;

    *ret = pcre2_compile((PCRE2_SPTR)(text.n ? text.p : ""), text.n, OPTIONS, &error, &at, NULL);
    if (*ret)
        return 0;
    if (error == PCRE2_ERROR_HEAP_FAILED)
        return -ENOMEM;
    ret_fault->at = at;
    pcre2_get_error_message(error, (PCRE2_UCHAR *)ret_fault->reason, sizeof(ret_fault->reason));
    return REGEX_E_SYNTAX;
}

static int regex_learn(struct regex *re, struct span text, struct regex_fault *ret_fault)
{
    pcre2_pattern_info(re->code, PCRE2_INFO_CAPTURECOUNT, &re->groups);
    pcre2_pattern_info(re->code, PCRE2_INFO_NAMECOUNT, &re->names);
    pcre2_pattern_info(re->code, PCRE2_INFO_NAMEENTRYSIZE, &re->name_size);
    pcre2_pattern_info(re->code, PCRE2_INFO_NAMETABLE, &re->name_table);
    if (re->groups <= REGEX_GROUPS_MAX)
        return 0;
    ret_fault->at = text.n;
    snprintf(ret_fault->reason, sizeof(ret_fault->reason), "more than %d groups", REGEX_GROUPS_MAX);
    return REGEX_E_SYNTAX;
}

int regex_new(struct span text, struct regex **ret, struct regex_fault *ret_fault)
{
    struct regex *re = calloc(1, sizeof(*re));
    int r;

    if (!re)
        return -ENOMEM;
    r = regex_compile(text, &re->code, ret_fault);
    if (r == 0)
        r = regex_learn(re, text, ret_fault);
    if (r != 0) {
        regex_free(re);
        return r;
    }
    /* It fails under MemoryDenyWriteExecute= and the like; the interpreter does it then. */
    (void)pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);
    *ret = re;
    return 0;
}

void regex_free(struct regex *re)
{
    if (!re)
        return;
    pcre2_code_free(re->code);
    free(re);
}

bool regex_is_compiled(const struct regex *re)
{
    size_t size = 0;

    return pcre2_pattern_info(re->code, PCRE2_INFO_JITSIZE, &size) == 0 && size > 0;
}

/* ---- groups ---- */

/* An entry of the table is the group's number in two bytes, and its name with a NUL. */
static unsigned entry_group(PCRE2_SPTR entry)
{
    return (unsigned)entry[0] << 8 | entry[1];
}

static struct span entry_name(PCRE2_SPTR entry)
{
    return span_from_str((const char *)entry + 2);
}

bool regex_group_name(const struct regex *re, size_t i, struct span *ret)
{
    if (i >= re->names)
        return false;
    *ret = entry_name(re->name_table + i * re->name_size);
    return true;
}

/* The number that the group's digits give, or 0. */
static unsigned group_number(struct span group)
{
    unsigned number = 0;

    if (group.n == 0 || group.n > 2)
        return 0;
    for (size_t i = 0; i < group.n; i++) {
        if (group.p[i] < '0' || group.p[i] > '9')
            return 0;
        number = number * 10 + (unsigned)(group.p[i] - '0');
    }
    return number;
}

bool regex_has_group(const struct regex *re, struct span group)
{
    unsigned number = group_number(group);
    struct span name;

    if (number > 0)
        return number <= re->groups;
    for (size_t i = 0; regex_group_name(re, i, &name); i++)
        if (span_equal(name, group))
            return true;
    return false;
}

static bool group_text(const struct regex *re, const struct regex_matcher *m, struct span subject,
                       unsigned number, struct span *ret)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->data) + 2 * (size_t)number;

    if (number == 0 || number > re->groups || ends[0] == PCRE2_UNSET || ends[0] > ends[1] ||
        ends[1] > subject.n)
        return false;
    *ret = span_of(subject.p + ends[0], ends[1] - ends[0]);
    return true;
}

bool regex_group(const struct regex *re, const struct regex_matcher *m, struct span subject,
                 struct span group, struct span *ret)
{
    unsigned number = group_number(group);

    if (number > 0)
        return group_text(re, m, subject, number, ret);
    for (size_t i = 0; i < re->names; i++) {
        PCRE2_SPTR entry = re->name_table + i * re->name_size;

        if (span_equal(entry_name(entry), group) &&
            group_text(re, m, subject, entry_group(entry), ret))
            return true;
    }
    return false;
}

/* ---- searches ---- */

static void *block_take(PCRE2_SIZE n, void *matcher)
{
    struct regex_matcher *m = matcher;
    size_t room = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    void *p = m->block + m->used;

    if (n > BLOCK_BYTES || room > BLOCK_BYTES - m->used)
        return NULL;
    m->used += room;
    return p;
}

/* What is outgrown stays where it is: it was half of its successor. */
static void block_leave(void *p, void *matcher)
{
    (void)p;
    (void)matcher;
}

static int count_work(pcre2_callout_block *callout, void *matcher)
{
    struct regex_matcher *m = matcher;
    size_t at = callout->current_position;

    m->work += 1 + (at > m->at ? (uint32_t)((at - m->at) / WORK_BYTES) : 0);
    m->at = at;
    return m->work > m->work_max ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static int matcher_init(struct regex_matcher *m)
{
    m->block = malloc(BLOCK_BYTES);
    if (!m->block)
        return -ENOMEM;
    m->memory = pcre2_general_context_create(block_take, block_leave, m);
    m->context = pcre2_match_context_create(NULL);
    m->stack = pcre2_jit_stack_create(STACK_LEAST, STACK_MOST, NULL);
    if (!m->memory || !m->context)
        return -ENOMEM;
    m->data = pcre2_match_data_create(REGEX_GROUPS_MAX + 1, m->memory);
    if (!m->data)
        return -ENOMEM;
    pcre2_set_match_limit(m->context, WORK_MAX);
    pcre2_set_heap_limit(m->context, RETURN_KIB);
    pcre2_set_callout(m->context, count_work, m);
    /* Without one of its own (there is no memory, or no engine for it) it takes the thread's. */
    if (m->stack)
        pcre2_jit_stack_assign(m->context, NULL, m->stack);
    return 0;
}

int regex_matcher_new(struct regex_matcher **ret)
{
    struct regex_matcher *m = calloc(1, sizeof(*m));
    int r = m ? matcher_init(m) : -ENOMEM;

    if (r < 0) {
        regex_matcher_free(m);
        return r;
    }
    *ret = m;
    return 0;
}

void regex_matcher_free(struct regex_matcher *m)
{
    if (!m)
        return;
    pcre2_match_data_free(m->data);
    pcre2_jit_stack_free(m->stack);
    pcre2_match_context_free(m->context);
    pcre2_general_context_free(m->memory);
    free(m->block);
    free(m);
}

void regex_matcher_begin(struct regex_matcher *m)
{
    m->round = 0;
}

static uint32_t work_allowed(const struct regex_matcher *m)
{
    if (m->round < ROUND_MAX)
        return WORK_MAX;
    return m->round < ROUND_END ? WORK_FEW : WORK_LEAST;
}

/*
 * Machine code for subjects that may be invalid (10.42) has \S, \D and \W match no character beyond
 * ASCII. The interpreter has them match.
 */
static uint32_t engine_for(struct span subject)
{
    return utf8_is_ascii(subject) ? 0 : PCRE2_NO_JIT;
}

enum regex_result regex_match(const struct regex *re, struct regex_matcher *m, struct span subject)
{
    int r;

    m->work = 0;
    m->work_max = work_allowed(m);
    m->at = 0;
    r = pcre2_match(re->code, (PCRE2_SPTR)(subject.n ? subject.p : ""), subject.n, 0,
                    engine_for(subject), m->data, m->context);
    if (m->work >= WORK_FEW || m->work > m->work_max)
        m->round += m->work;
    if (r > 0)
        return REGEX_YES;
    return r == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_LIMIT;
}
