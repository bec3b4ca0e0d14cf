#pragma once
/*
 * fixture - a snapshot made by hand, in which every number is another.
 *
 * Three groups: one of which all is known, threads too, one with an unpleasant name of which only
 * the files open to everybody are known, and one without members. Two processes with series of
 * their own, of the first and of the second kind.
 */
#include "expose/families.h"
#include "expose/render.h"
#include "expose/snapshot.h"

enum {
    FIXTURE_GROUPS = 3,
    FIXTURE_PROCESSES = 2,
    FIXTURE_THREADS = 2,
    FIXTURE_PAGE_MAX = 1 << 20,
};

struct fixture {
    struct arena arena;
    struct snapshot snapshot; /* up, all families on */
    struct snapshot_group groups[FIXTURE_GROUPS];
    struct snapshot_process processes[FIXTURE_PROCESSES];
    struct snapshot_thread threads[FIXTURE_THREADS]; /* of the first group */
    struct cpu_row cpus[2];
};

void fixture_init(struct fixture *f);
void fixture_deinit(struct fixture *f);

/* Forgets all values of groups, processes and host that a source reading just `wanted` would not
 * know. */
void fixture_restrict(struct fixture *f, const struct wanted *wanted);

/* The page as a string; freed by the caller. */
char *fixture_page(const struct snapshot *s, enum format format, const struct selection *only);

/* All families on. */
struct selection fixture_all(void);

/* The family of exactly this sample name; aborts if there is none. */
const struct family *fixture_family(const char *name);
