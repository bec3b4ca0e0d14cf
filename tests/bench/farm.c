/* farm - a population of processes to be measured. */
#include "farm.h"

#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends as the child did. */
static void follow(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            bench_die("waitpid");
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

static bool mount_own_proc(void)
{
    /* What lies on it is private then, also in a chroot, whose / is no mount. */
    return mount(NULL, "/proc", NULL, MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

bool farm_isolate(void)
{
    pid_t child;

    /* Only root may; what a user namespace adds is not worth its code here. */
    if (geteuid() != 0 || unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
        return false;
    child = fork();
    if (child < 0)
        bench_die("fork");
    if (child > 0)
        follow(child);
    /* The first process of a pid namespace takes all others with it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!mount_own_proc())
        bench_die("mount /proc");
    return true;
}

static void exec_farm(char *const argv[], int output)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(output, STDOUT_FILENO);
    execv(argv[0], argv);
    _exit(127);
}

void farm_start(struct farm *farm, char *const argv[])
{
    char line[128] = "";
    int output[2];
    ssize_t n;

    if (pipe(output) < 0)
        bench_die("pipe");
    farm->pid = fork();
    if (farm->pid < 0)
        bench_die("fork");
    if (farm->pid == 0)
        exec_farm(argv, output[1]);
    close(output[1]);
    n = read(output[0], line, sizeof(line) - 1);
    close(output[0]);
    if (n > 0 && strncmp(line, "ready", 5) == 0)
        return;
    fprintf(stderr, "%s did not get ready\n", argv[0]);
    farm_stop(farm);
    exit(2);
}

void farm_stop(struct farm *farm)
{
    kill(farm->pid, SIGTERM);
    waitpid(farm->pid, NULL, 0);
}
