#pragma once
/*
 * farm - a population of processes to be measured, held by procfarm.
 *
 * Where it may, the measuring program moves into a pid namespace with a /proc of its own, so that
 * nothing but the farm is in it: other people's processes come and go, and two readings of them
 * are not the same work. All of it ends with the program.
 */
#include <stdbool.h>
#include <sys/types.h>

struct farm {
    pid_t pid; /* of procfarm itself */
};

/*
 * Returns true in a child that has a /proc of its own; the caller's process waits for it and ends
 * with its status. Returns false, in the caller's process, where that is not permitted.
 */
bool farm_isolate(void);

/* Runs the program argv[0] with these arguments and waits until every process is ready. */
void farm_start(struct farm *farm, char *const argv[]);

void farm_stop(struct farm *farm);
