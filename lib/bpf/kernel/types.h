#pragma once
/*
 * types - the kernel's structures, as far as the programs look into them.
 *
 * Where each field is in the running kernel is found out when the programs are loaded (CO-RE);
 * only the names have to be right, so order and size mean nothing here. A name with three
 * underscores stands for a structure as it was, or is, in some kernels.
 */
#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;
struct task_struct;
struct seq_file;

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct hlist_node;

struct hlist_head {
    struct hlist_node *first;
};

struct pid {
    unsigned int level;
    struct hlist_head tasks[1];
    struct upid numbers[1];
};

struct rlimit {
    unsigned long rlim_cur;
    unsigned long rlim_max;
};

struct signal_struct {
    int nr_threads;
    int group_exit_code;
    unsigned int flags;
    __u64 utime;
    __u64 stime;
    unsigned long long sum_sched_runtime;
    unsigned long min_flt;
    unsigned long maj_flt;
    unsigned long nvcsw;
    unsigned long nivcsw;
    struct rlimit rlim[16];
};

struct task_io_accounting {
    __u64 rchar;
    __u64 wchar;
    __u64 syscr;
    __u64 syscw;
    __u64 read_bytes;
    __u64 write_bytes;
    __u64 cancelled_write_bytes;
};

struct sched_info {
    unsigned long long run_delay;
};

struct sched_entity {
    __u64 sum_exec_runtime;
};

typedef struct {
    unsigned int val;
} kuid_t;

struct cred {
    kuid_t euid;
};

struct kernfs_node {
    __u64 id;
};

struct cgroup_root {
    int hierarchy_id;
};

struct cgroup {
    struct cgroup_root *root;
    struct kernfs_node *kn;
};

struct css_set {
    struct cgroup *dfl_cgrp;
};

struct fdtable {
    unsigned int max_fds;
    unsigned long *open_fds;
};

struct files_struct {
    struct fdtable *fdt;
    struct fdtable fdtab;
    unsigned long open_fds_init[1];
};

/* From 6.2 on a sum with a part on each CPU. */
struct percpu_counter {
    __s64 count;
    __s32 *counters;
};

/* In mm_struct's order. */
enum { MM_FILE, MM_ANON, MM_SWAP, MM_SHMEM, MM_COUNTERS };

struct mm_struct {
    unsigned long total_vm;
    unsigned long hiwater_rss;
    int map_count;
    struct percpu_counter rss_stat[MM_COUNTERS];
};

/* Before 6.2. */
typedef struct {
    long counter;
} atomic_long_t;

struct mm_rss_stat {
    atomic_long_t count[MM_COUNTERS];
};

struct mm_struct___before_6_2 {
    struct mm_rss_stat rss_stat;
};

struct list_head {
    struct list_head *next;
};

struct task_struct {
    unsigned int flags;
    int pid;
    int tgid;
    int exit_state;
    int exit_code;
    unsigned int __state;
    char comm[16];
    __u64 utime;
    __u64 stime;
    unsigned long min_flt;
    unsigned long maj_flt;
    unsigned long nvcsw;
    unsigned long nivcsw;
    __u64 start_boottime;
    struct list_head tasks;
    struct task_struct *real_parent;
    struct task_struct *group_leader;
    struct pid *thread_pid;
    struct signal_struct *signal;
    struct files_struct *files;
    struct mm_struct *mm;
    const struct cred *real_cred;
    struct css_set *cgroups;
    struct sched_entity se;
    struct sched_info sched_info;
    struct task_io_accounting ioac;
};

/* Before 5.14. */
struct task_struct___before_5_14 {
    long state;
};

struct bpf_iter_meta {
    struct seq_file *seq;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

/* A map that has a value per CPU. */
struct bpf_array {
    void *pptrs[1];
};

struct trace_event_raw_mark_victim {
    int pid;
};

/* From 6.8 on, where the tracepoint is given the task. */
struct trace_event_raw_mark_victim___from_6_8 {
    unsigned int uid;
};

#pragma clang attribute pop
