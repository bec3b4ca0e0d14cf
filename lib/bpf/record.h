#pragma once
/*
 * record - what the programs in the kernel hand over, as both sides have it.
 *
 * Numbers are in the kernel's own units and byte order; padding is spelt out, so that nothing of
 * its stack comes along. A task is a thread; the task that a process began with is its leader.
 */
#include <linux/types.h>

/* What the kernel adds up of ended threads in their process, and so in two places. */
struct task_usage {
    __u64 runtime_ns; /* the scheduler's: exact */
    __u64 user_ns;    /* by ticks, unless the kernel counts every switch */
    __u64 system_ns;
    __u64 minor_faults;
    __u64 major_faults;
    __u64 voluntary_switches;
    __u64 involuntary_switches;
};

/* As /proc/PID/io has them. */
enum task_io {
    TASK_IO_READ_CHARS,
    TASK_IO_WRITE_CHARS,
    TASK_IO_READ_SYSCALLS,
    TASK_IO_WRITE_SYSCALLS,
    TASK_IO_READ_BYTES,
    TASK_IO_WRITE_BYTES,
    TASK_IO_CANCELLED_WRITE_BYTES,
    TASK_IO_N,
};

/* What one task alone did, and nobody keeps of it once it has ended. */
struct task_own {
    __u64 run_queue_ns;
    __u64 io[TASK_IO_N];
};

enum record_kind {
    RECORD_PROCESS = 1, /* a leader: struct process_record */
    RECORD_STAND_IN,    /* a thread that lives, of a leader that does not: the same */
    RECORD_THREAD,      /* another thread: struct thread_record */
    RECORD_PROCESS_END, /* struct process_end */
    RECORD_THREAD_END,  /* struct thread_end */
    RECORD_CGROUP,      /* struct cgroup_record, up to the end of its path */
};

struct record_head {
    __u32 kind;
    __u32 pid;     /* of the process, in the pid namespace of the reader */
    __u64 process; /* names it: no two have the same as long as one of its tasks is left */
};

struct thread_record {
    struct record_head head;
    struct task_usage ended; /* of threads that had ended by now */
    struct task_usage usage; /* this thread's */
    struct task_own own;
    __u64 memory; /* names its address space, another one after an exec; 0: it has none */
};

enum {
    TASK_KERNEL_THREAD = 1 << 0,
    TASK_EXITING = 1 << 1,      /* PF_EXITING */
    TASK_DEAD = 1 << 2,         /* a zombie, or on its way from there */
    TASK_HAS_MEMORY = 1 << 3,   /* an address space: what is said of memory holds */
    TASK_MEMORY_KNOWN = 1 << 4, /* the counters of memory could be read whole */
    TASK_HAS_FILES = 1 << 5,    /* a table of descriptors */
    TASK_FDS_COUNTED = 1 << 6,  /* and it was small enough to count */
    TASK_OOM_VICTIM = 1 << 7,
};

enum { TASK_COMM_SIZE = 16 };

struct process_record {
    struct thread_record task;
    __u64 start_ns;   /* since boot, suspended time included; of the leader */
    __u64 cgroup;     /* id in the hierarchy of version 2 */
    __u64 cgroup_set; /* names where it is in all hierarchies, as long as it is there */
    __u64 open_fds_limit;
    union {
        struct {
            __u64 file_pages;
            __u64 anon_pages;
            __u64 swap_pages;
            __u64 shmem_pages;
        };
        __s64 counters[4]; /* the same, in the kernel's order, while they are added up */
    };
    __u64 peak_pages;
    __u64 virtual_pages;
    __u32 mappings;
    __u32 open_fds;
    __u32 parent_pid;
    __u32 uid; /* effective */
    __u32 threads;
    __u32 state; /* a letter, as proc(5) has it */
    __u32 flags;
    __u32 reserved;
    char comm[TASK_COMM_SIZE];
};

/* An ended thread: when the kernel lets go of it, its figures are final. */
struct thread_end {
    struct record_head head;
    struct task_own own;
    __u32 flags;
    __u32 reserved;
};

struct process_end {
    struct thread_end task;
    struct task_usage usage; /* of all its threads */
    __u64 start_ns;
    __u64 cgroup;
    __u32 parent_pid; /* 0: not known */
    __u32 uid;
    __u32 status; /* as wait(2) gives it */
    __u32 reserved;
    char comm[TASK_COMM_SIZE];
};

/*
 * Names what is noted of a task at its exit, for all time: a process by its number, so that a
 * leader and the thread that took its place by an exec have the same, another thread by its own.
 */
struct exit_key {
    __u64 whose;
    __u64 start_ns;
};

/*
 * What is known of a task when it exits, kept until the kernel lets go of it. The last time slice
 * is not in it.
 */
struct exiting {
    struct process_end end; /* of a thread that is no leader: `task` alone */
    __u64 exit_ns;          /* monotonic; later, when the task was last known to be there */
    __u64 noted;            /* names the task that this is of */
};

enum { CGROUP_PATH_SIZE = 384 };

/* A control group of version 2 that was made. */
struct cgroup_record {
    struct record_head head; /* `kind` alone */
    __u64 id;
    char path[CGROUP_PATH_SIZE]; /* from the first root of the hierarchy on; NUL ends it */
};
