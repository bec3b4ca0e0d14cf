#pragma once
/*
 * task - /proc/PID/task: the threads of the process begun, one after the other.
 *
 *     r = task_open(fs, faults, &task);
 *     if (r == 0)
 *         while ((r = task_next(fs, &task, counters, faults, &sample)) == TASK_THREAD) ...
 *     task_close(&task);
 *
 * Three files are opened per thread at most, which costs as much as a process does. Each is read
 * relative to the thread's own directory, so they belong together. The kernel goes on by position:
 * where threads end while they are listed, others may be left out, and one may come twice.
 *
 * Faults count as in process.h, all of them as of `task`. A thread that is gone counts nowhere.
 */
#include "model/faults.h"
#include "model/thread.h"
#include "procfs/dirents.h"
#include "procfs/procfs.h"

/* Outcomes other than errors. */
enum {
    TASK_END = 0,
    TASK_THREAD = 1,
    TASK_UNREADABLE = 2, /* there is no list of threads, or no rest of it; counted */
};

struct task {
    int fd; /* -1: not open */
    struct dirents entries;
};

/*
 * Opens the list of threads of the process begun (process.h). The block of fs is in use until
 * task_close(). Returns 0, TASK_UNREADABLE, or -EMFILE, -ENFILE, -ENOMEM.
 */
int task_open(struct procfs *fs, struct faults *faults, struct task *ret);

/*
 * Reads the next thread: who it is, CPU time, and those counters (1 << enum thread_counter) that
 * stand in other files than stat. Returns one of the outcomes above, or -EMFILE, -ENFILE, -ENOMEM.
 */
int task_next(struct procfs *fs, struct task *task, uint32_t counters, struct faults *faults,
              struct thread_sample *ret);

/* Also good after a task_open() that did not return 0, and twice. */
void task_close(struct task *task);
