/*
 * victim - measures what readers of its memory files cost it: victim MIB SECONDS MAPPINGS.
 *
 * Holds so much memory in so many mappings, each one touched, and times a loop of mmap, page faults
 * and munmap. Prints `ready`, then the 99th percentile of each second, in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES_MAX = 2000000, PIECE = 65536 };

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static char *map_or_die(size_t size)
{
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p != MAP_FAILED)
        return p;
    perror("mmap");
    exit(1);
}

/* Every other mapping begins with a page that is read-only, lest the kernel make one of them. */
static void hold(size_t mib, size_t mappings)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t each = (mib << 20) / mappings / page * page;

    each = each < page ? page : each;
    for (size_t i = 0; i < mappings; i++) {
        char *p = map_or_die(each);

        memset(p, 1, each);
        if (i % 2 && mprotect(p, page, PROT_READ) < 0) {
            perror("mprotect");
            exit(1);
        }
    }
}

static double percentile_of_a_second(double *samples)
{
    double end = now_us() + 1e6;
    size_t n = 0;

    while (n < SAMPLES_MAX) {
        double begin = now_us();
        char *p;

        if (begin >= end)
            break;
        p = map_or_die(PIECE);
        p[0] = p[PIECE / 2] = 1;
        munmap(p, PIECE);
        samples[n++] = now_us() - begin;
    }
    qsort(samples, n, sizeof(*samples), compare);
    return samples[n * 99 / 100];
}

int main(int argc, char **argv)
{
    static double samples[SAMPLES_MAX];

    if (argc != 4)
        return 2;
    prctl(PR_SET_NAME, "victim");
    hold(strtoul(argv[1], NULL, 10), strtoul(argv[3], NULL, 10));
    printf("ready\n");
    fflush(stdout);
    for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--) {
        printf("%.1f\n", percentile_of_a_second(samples));
        fflush(stdout);
    }
    return 0;
}
