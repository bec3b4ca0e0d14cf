#pragma once
/*
 * host_tree - a tree (tests/support/tree.h) of a host with processes, for whole cycles.
 *
 * Files have the kernel's layout, with what is not asked for left at something plain.
 */
#include "tree.h"

#include <stdint.h>

enum { HOST_TREE_BOOT = 1700000000 };

/* What is left out is 0, or: comm "x", state S, parent 1, one thread, 2 MiB resident, limit 1024.
 */
struct host_process {
    unsigned pid;
    const char *comm;
    char state;
    unsigned parent;
    uint64_t user_ticks, system_ticks;
    uint64_t start;
    uint64_t read_bytes, write_bytes;
    unsigned threads;
    unsigned fds;
    const char *fds_limit;
    unsigned mappings;
    unsigned resident_kb; /* half anon, half file */
    unsigned pss_kb;
    unsigned uid;
    bool kernel_thread;
    bool exiting;
};

static inline void host_tree_stat(struct tree *t, const struct host_process *p, const char *name,
                                  char state)
{
    char path[128];
    char text[512];

    snprintf(path, sizeof(path), "%u/%s", p->pid, name);
    snprintf(text, sizeof(text),
             "%u (%s) %c %u 1 1 0 -1 %u 100 0 2 0 %llu %llu 0 0 20 0 %u 0 %llu 8388608 512 "
             "18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 1 1 1 1 1 1 0\n",
             p->pid, p->comm ? p->comm : "x", state, p->parent ? p->parent : 1,
             (p->kernel_thread ? 0x00200040u : 4194304u) | (p->exiting ? 4u : 0u),
             (unsigned long long)p->user_ticks, (unsigned long long)p->system_ticks,
             p->threads ? p->threads : 1, (unsigned long long)p->start);
    tree_text(t, path, text);
}

/* Writes all files of a process; the kernel's stat and nothing else changes the identity. */
static inline void host_tree_put(struct tree *t, struct host_process p)
{
    unsigned kb = p.resident_kb ? p.resident_kb : 2048;
    char state = p.state ? p.state : 'S';
    char name[64];

    host_tree_stat(t, &p, "stat", state);
    tree_pid(t, p.pid, "status",
             "Name:\t%s\nState:\t%c (x)\nUid:\t0\t%u\t0\t0\nVmSize:\t8192 kB\nVmHWM:\t%u kB\n"
             "VmRSS:\t%u kB\nRssAnon:\t%u kB\nRssFile:\t%u kB\nRssShmem:\t0 kB\nVmSwap:\t16 kB\n"
             "Threads:\t%u\n",
             p.comm ? p.comm : "x", state, p.uid, kb, kb, kb / 2, kb - kb / 2,
             p.threads ? p.threads : 1);
    tree_pid(t, p.pid, "io",
             "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: %llu\nwrite_bytes: %llu\n"
             "cancelled_write_bytes: 0\n",
             (unsigned long long)p.read_bytes, (unsigned long long)p.write_bytes);
    tree_pid(t, p.pid, "limits",
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max open files            %-20s 524288               files     \n",
             p.fds_limit ? p.fds_limit : "1024");
    tree_pid(t, p.pid, "smaps_rollup",
             "00400000-7ffd00000000 ---p 00000000 00:00 0 [rollup]\nRss: %u kB\nPss: %u kB\n", kb,
             p.pss_kb);
    snprintf(name, sizeof(name), "%u/fd", p.pid);
    tree_dir(t, name);
    for (unsigned i = 0; i < p.fds; i++) {
        snprintf(name, sizeof(name), "%u/fd/%u", p.pid, i);
        tree_text(t, name, "");
    }
    tree_pid(t, p.pid, "maps", "%s", "");
    for (unsigned i = 0; i < p.mappings; i++) {
        FILE *f;

        snprintf(name, sizeof(name), "%u/maps", p.pid);
        f = fopen(tree_path(t, name), "a");
        assert_non_null(f);
        fprintf(f, "%08x-%08x r-xp 00000000 fe:00 1 /bin/x\n", i * 4096, (i + 1) * 4096);
        fclose(f);
    }
}

#define HOST_PUT(t, ...) host_tree_put(t, (struct host_process){__VA_ARGS__})

/* A process whose main thread has ended: to find one that lives takes descriptors more. */
static inline void host_tree_put_exited_leader(struct tree *t, struct host_process p)
{
    char name[64];

    p.state = 'Z';
    p.threads = 2;
    host_tree_put(t, p);
    snprintf(name, sizeof(name), "task/%u/stat", p.pid + 1);
    host_tree_stat(t, &p, name, 'S');
    snprintf(name, sizeof(name), "%u/task/%u/fd", p.pid, p.pid + 1);
    tree_dir(t, name);
    snprintf(name, sizeof(name), "task/%u/status", p.pid + 1);
    tree_pid(t, p.pid, name, "Name:\tx\nVmRSS:\t8 kB\nRssAnon:\t8 kB\nRssFile:\t0 kB\n");
}

/* Takes a process away, all its files. */
static inline void host_tree_take(struct tree *t, unsigned pid)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%u", t->root, pid);
    nftw(path, tree_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The host's own files and nobody else. */
static inline void host_tree_new(struct tree *t)
{
    tree_new(t);
    tree_text(t, "stat",
              "cpu  1000 20 300 40000 50 6 7 8 100 10\ncpu0 600 10 200 20000 25 3 4 4 50 5\n"
              "cpu2 400 10 100 20000 25 3 3 4 50 5\nintr 5000 1 2 3\nctxt 7000\nbtime 1700000000\n"
              "processes 900\nprocs_running 2\nprocs_blocked 1\nsoftirq 55 1 2 3 4 5 6 7 8 9 10\n");
    tree_text(t, "loadavg", "0.10 0.20 0.30 3/88 4242\n");
    tree_text(t, "sys/kernel/pid_max", "4194304\n");
    tree_text(t, "sys/kernel/threads-max", "127000\n");
    tree_text(t, "sys/vm/max_map_count", "100\n");
    tree_text(t, "sys/fs/file-nr", "1184\t0\t9223372036854775807\n");
}
