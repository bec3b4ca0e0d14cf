#pragma once
/*
 * records - what the kernel would hand over, made beside the assertion.
 *
 * The k-th number of a usage, or of a task's own figures, is n + k: so sums of several tell each
 * number apart, and how many were added.
 */
#include "bpf/record.h"

#include "check.h"

/* The numbers of a usage as a list, and of own figures. */
enum {
    USAGE_NUMBERS = sizeof(struct task_usage) / sizeof(__u64),
    OWN_NUMBERS = sizeof(struct task_own) / sizeof(__u64),
};

static inline struct task_usage usage_of(uint64_t n)
{
    return (struct task_usage){
        .runtime_ns = n,
        .user_ns = n + 1,
        .system_ns = n + 2,
        .minor_faults = n + 3,
        .major_faults = n + 4,
        .voluntary_switches = n + 5,
        .involuntary_switches = n + 6,
    };
}

static inline struct task_own own_of(uint64_t n)
{
    struct task_own own = {.run_queue_ns = n};

    for (size_t i = 0; i < TASK_IO_N; i++)
        own.io[i] = n + 1 + i;
    return own;
}

#define check_usage(usage, sum, times) check_usage_at((usage), (sum), (times), __FILE__, __LINE__)
#define check_own(own, sum, times)     check_own_at((own), (sum), (times), __FILE__, __LINE__)

static inline void check_numbers_at(const char *what, const __u64 *have, size_t n, uint64_t sum,
                                    uint64_t times, const char *file, int line)
{
    for (size_t k = 0; k < n; k++)
        if (have[k] != sum + times * k) {
            print_error("number %zu of %s is %llu, not %llu\n", k, what,
                        (unsigned long long)have[k], (unsigned long long)(sum + times * k));
            _fail(file, line);
        }
}

/* That it is the sum of so many usage_of(n), where all n add up to `sum`. */
static inline void check_usage_at(const struct task_usage *usage, uint64_t sum, uint64_t times,
                                  const char *file, int line)
{
    __u64 have[USAGE_NUMBERS];

    memcpy(have, usage, sizeof(have));
    check_numbers_at("the usage", have, USAGE_NUMBERS, sum, times, file, line);
}

static inline void check_own_at(const struct task_own *own, uint64_t sum, uint64_t times,
                                const char *file, int line)
{
    __u64 have[OWN_NUMBERS];

    memcpy(have, own, sizeof(have));
    check_numbers_at("its own", have, OWN_NUMBERS, sum, times, file, line);
}

/* Another thread of the process. What it did is usage_of(n) and own_of(n). */
static inline struct thread_record thread_of(uint32_t pid, uint64_t process, uint64_t n)
{
    return (struct thread_record){
        .head = {.kind = RECORD_THREAD, .pid = pid, .process = process},
        .usage = usage_of(n),
        .own = own_of(n),
        .memory = process + 5,
    };
}

enum { ALL_THERE = TASK_HAS_MEMORY | TASK_MEMORY_KNOWN | TASK_HAS_FILES | TASK_FDS_COUNTED };

/* A leader that lives. Each of its numbers is another one. */
static inline struct process_record leader_of(uint32_t pid, uint64_t process, uint64_t n,
                                              uint32_t threads)
{
    struct process_record record = {
        .task = thread_of(pid, process, n),
        .start_ns = 1230000000,
        .cgroup = 71,
        .cgroup_set = 73,
        .open_fds_limit = 1024,
        .anon_pages = 11,
        .file_pages = 12,
        .shmem_pages = 13,
        .swap_pages = 14,
        .peak_pages = 15,
        .virtual_pages = 16,
        .mappings = 17,
        .open_fds = 18,
        .parent_pid = 19,
        .uid = 20,
        .threads = threads,
        .state = 'S',
        .flags = ALL_THERE,
        .comm = "leader",
    };

    record.task.head.kind = RECORD_PROCESS;
    return record;
}

/* A leader that has ended: it has neither memory nor descriptors. */
static inline struct process_record dead_leader_of(uint32_t pid, uint64_t process, uint64_t n,
                                                   uint32_t threads)
{
    struct process_record record = leader_of(pid, process, n, threads);

    record.anon_pages = record.file_pages = record.shmem_pages = record.swap_pages = 0;
    record.peak_pages = record.virtual_pages = 0;
    record.mappings = record.open_fds = 0;
    record.task.memory = 0;
    record.flags = TASK_DEAD | TASK_EXITING;
    record.state = 'Z';
    return record;
}

/* A thread that lives, of a leader that does not. */
static inline struct process_record stand_in_of(uint32_t pid, uint64_t process, uint64_t n,
                                                uint32_t threads)
{
    struct process_record record = leader_of(pid, process, n, threads);

    record.task.head.kind = RECORD_STAND_IN;
    record.start_ns = 4560000000;
    record.state = 'D';
    memcpy(record.comm, "worker", sizeof("worker"));
    return record;
}

static inline struct thread_end thread_end_of(uint32_t pid, uint64_t process, uint64_t n)
{
    return (struct thread_end){
        .head = {.kind = RECORD_THREAD_END, .pid = pid, .process = process},
        .own = own_of(n),
    };
}

static inline struct process_end process_end_of(uint32_t pid, uint64_t process, uint64_t n)
{
    struct process_end end = {
        .task = thread_end_of(pid, process, n),
        .usage = usage_of(n),
        .start_ns = 7890000000,
        .cgroup = 72,
        .parent_pid = 21,
        .uid = 22,
        .status = 3 << 8,
        .comm = "ended",
    };

    end.task.head.kind = RECORD_PROCESS_END;
    return end;
}
