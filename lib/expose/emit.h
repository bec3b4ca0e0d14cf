#pragma once
/*
 * emit - the functions that families.def names: each writes the samples of one family.
 *
 * A value that is not known writes nothing. `field` is what the row gives: an offset into the
 * struct the function reads, an enum value, or 0 where the function knows its fields.
 */
#include "expose/page.h"
#include "expose/snapshot.h"

/* A number at an offset of struct group_values. */
void group_u64(struct page *p, const struct snapshot_group *g, unsigned offset);
/* A time in nanoseconds there; 0 is not known. */
void group_time(struct page *p, const struct snapshot_group *g, unsigned offset);
/* A double there; negative is not known. */
void group_ratio(struct page *p, const struct snapshot_group *g, unsigned offset);
/* One of enum group_counter, one of enum gauge. */
void group_counter(struct page *p, const struct snapshot_group *g, unsigned counter);
void group_gauge(struct page *p, const struct snapshot_group *g, unsigned gauge);
/* A counter of nanoseconds. */
void group_counter_seconds(struct page *p, const struct snapshot_group *g, unsigned counter);
/* Those with a label of their own. */
void group_states(struct page *p, const struct snapshot_group *g, unsigned field);
void group_exited(struct page *p, const struct snapshot_group *g, unsigned field);
void group_unread(struct page *p, const struct snapshot_group *g, unsigned field);
void group_info(struct page *p, const struct snapshot_group *g, unsigned field);
void group_cpu(struct page *p, const struct snapshot_group *g, unsigned field);
void group_resident(struct page *p, const struct snapshot_group *g, unsigned field);
/* By the names of threads: how many there are, one of enum thread_counter, CPU time. */
void group_threads(struct page *p, const struct snapshot_group *g, unsigned field);
void group_thread_counter(struct page *p, const struct snapshot_group *g, unsigned thread_counter);
void group_thread_seconds(struct page *p, const struct snapshot_group *g, unsigned thread_counter);
void group_thread_cpu(struct page *p, const struct snapshot_group *g, unsigned field);

/* Of groups under other names: compat.h. */
void compat_states(struct page *p, const struct snapshot_group *g, unsigned field);
void compat_memory(struct page *p, const struct snapshot_group *g, unsigned field);

/* One of enum counter, one of enum gauge. */
void process_counter(struct page *p, const struct snapshot_process *r, unsigned counter);
void process_gauge(struct page *p, const struct snapshot_process *r, unsigned gauge);
void process_cpu(struct page *p, const struct snapshot_process *r, unsigned field);
void process_resident(struct page *p, const struct snapshot_process *r, unsigned field);
void process_start(struct page *p, const struct snapshot_process *r, unsigned field);

/* One of enum host_field. */
void host_value(struct page *p, const struct snapshot *s, unsigned host_field);
void host_cpu(struct page *p, const struct snapshot *s, unsigned field);
void host_per_cpu(struct page *p, const struct snapshot *s, unsigned field);
void host_softirqs(struct page *p, const struct snapshot *s, unsigned field);
void host_tasks_limit(struct page *p, const struct snapshot *s, unsigned field);

/* A number at an offset of struct self; a time there, in nanoseconds, 0 is not known. */
void self_u64(struct page *p, const struct snapshot *s, unsigned offset);
void self_seconds(struct page *p, const struct snapshot *s, unsigned offset);
/* One of enum self_process_field: a count, or nanoseconds. */
void self_process(struct page *p, const struct snapshot *s, unsigned self_process_field);
void self_process_seconds(struct page *p, const struct snapshot *s, unsigned self_process_field);
void self_up(struct page *p, const struct snapshot *s, unsigned field);
void self_build(struct page *p, const struct snapshot *s, unsigned field);
void self_source(struct page *p, const struct snapshot *s, unsigned field);
void self_phases(struct page *p, const struct snapshot *s, unsigned field);
void self_failures(struct page *p, const struct snapshot *s, unsigned field);
void self_unread(struct page *p, const struct snapshot *s, unsigned field);
void self_read_errors(struct page *p, const struct snapshot *s, unsigned field);
void self_steps_back(struct page *p, const struct snapshot *s, unsigned field);
void self_reload(struct page *p, const struct snapshot *s, unsigned field);
void self_requests(struct page *p, const struct snapshot *s, unsigned field);
