/*
 * emit_self - samples of the daemon.
 *
 * Series of which there are few exist from the start, at 0. Those over two labels would be dozens
 * that never count anything, on every host: each appears with its first event.
 */
#include "expose/emit.h"

static uint64_t member(const struct snapshot *s, unsigned offset)
{
    uint64_t value;

    memcpy(&value, (const char *)&s->self + offset, sizeof(value));
    return value;
}

void self_u64(struct page *p, const struct snapshot *s, unsigned offset)
{
    page_u64(p, NO_LABEL, NO_LABEL, member(s, offset));
}

void self_seconds(struct page *p, const struct snapshot *s, unsigned offset)
{
    uint64_t ns = member(s, offset);

    if (ns != 0)
        page_seconds(p, NO_LABEL, NO_LABEL, ns);
}

void self_process(struct page *p, const struct snapshot *s, unsigned self_process_field)
{
    if (s->self.have_process >> self_process_field & 1)
        page_u64(p, NO_LABEL, NO_LABEL, s->self.process[self_process_field]);
}

void self_process_seconds(struct page *p, const struct snapshot *s, unsigned self_process_field)
{
    if (s->self.have_process >> self_process_field & 1)
        page_seconds(p, NO_LABEL, NO_LABEL, s->self.process[self_process_field]);
}

void self_up(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    page_u64(p, NO_LABEL, NO_LABEL, s->up);
}

static void add_string(struct label_set *labels, const char *name, const char *value)
{
    label_set_add(labels, name, span_from_str(value ? value : ""));
}

void self_build(struct page *p, const struct snapshot *s, unsigned field)
{
    struct label_set labels = {.n = 0};

    (void)field;
    add_string(&labels, "version", s->self.version);
    add_string(&labels, "revision", s->self.revision);
    add_string(&labels, "libmicrohttpd", s->self.libmicrohttpd_version);
    page_u64(p, label_set_span(&labels), NO_LABEL, 1);
}

void self_source(struct page *p, const struct snapshot *s, unsigned field)
{
    struct label_set labels = {.n = 0};

    (void)field;
    add_string(&labels, "source", s->self.source);
    add_string(&labels, "reason", s->self.source_reason);
    page_u64(p, label_set_span(&labels), NO_LABEL, 1);
}

void self_phases(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    for (enum phase i = 0; i < PHASE_N; i++)
        page_seconds(p, NO_LABEL, page_label(p, i, "phase", phase_name(i)), s->self.phase_ns[i]);
}

void self_failures(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    for (enum cycle_failure i = 0; i < CYCLE_FAILURE_N; i++)
        page_u64(p, NO_LABEL, page_label(p, i, "reason", cycle_failure_name(i)),
                 s->self.failures[i]);
}

/* What is read of processes: of threads nothing, unless some group's are, and what rules need. */
static void what_is_read(const struct snapshot *s, struct wanted *ret)
{
    selection_wanted(&s->families, ret);
    ret->parts |= s->self.rule_parts;
    if (s->self.reads_threads)
        return;
    ret->parts &= ~part_bit(PART_TASK);
    ret->counters &= ~part_counters(PART_TASK);
}

/* A part that nobody reads cannot be unread, so only the wanted ones have a series. */
void self_unread(struct page *p, const struct snapshot *s, unsigned field)
{
    struct wanted wanted;

    (void)field;
    what_is_read(s, &wanted);
    for (enum part i = 0; i < PART_N; i++)
        if (wanted.parts & part_bit(i))
            page_u64(p, NO_LABEL, page_label(p, i, "part", part_name(i)),
                     s->self.unread_processes[i]);
}

/* The first label has slots from 0 on, the second those behind. */
_Static_assert(FAULT_FILE_N + FAULT_REASON_N <= PAGE_LABELS, "slots for read errors");
_Static_assert(HTTP_PATH_N + HTTP_CODE_N <= PAGE_LABELS, "slots for requests");
_Static_assert((int)COUNTER_N <= (int)PAGE_LABELS, "slots for fields");

void self_read_errors(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    for (enum fault_file i = 0; i < FAULT_FILE_N; i++)
        for (enum fault_reason j = 0; j < FAULT_REASON_N; j++)
            if (s->self.read_faults[i][j] != 0)
                page_u64(p, page_label(p, i, "file", fault_file_name(i)),
                         page_label(p, FAULT_FILE_N + j, "reason", fault_reason_name(j)),
                         s->self.read_faults[i][j]);
}

void self_steps_back(struct page *p, const struct snapshot *s, unsigned field)
{
    struct wanted wanted;

    (void)field;
    what_is_read(s, &wanted);
    for (enum counter i = 0; i < COUNTER_N; i++)
        if (wanted.counters >> i & 1)
            page_u64(p, NO_LABEL, page_label(p, i, "field", counter_name(i)),
                     s->self.steps_back[i]);
}

void self_reload(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    page_u64(p, NO_LABEL, NO_LABEL, s->self.reload_successful);
}

void self_requests(struct page *p, const struct snapshot *s, unsigned field)
{
    (void)field;
    for (enum http_path i = 0; i < HTTP_PATH_N; i++)
        for (enum http_code j = 0; j < HTTP_CODE_N; j++)
            if (s->self.http_requests[i][j] != 0)
                page_u64(p, page_label(p, i, "path", http_path_name(i)),
                         page_label(p, HTTP_PATH_N + j, "code", http_code_name(j)),
                         s->self.http_requests[i][j]);
}
