/*
 * refuse - runs a program for which system calls fail, as a seccomp profile has it.
 *
 *     refuse NUMBER[=ERRNO]... -- COMMAND...
 *
 * With EPERM, if it is not said.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NUMBERS_MAX = 16 };

static int refuse(const char *what)
{
    const char *errno_text = strchr(what, '=');
    unsigned number = (unsigned)strtoul(what, NULL, 10),
             error = errno_text ? (unsigned)strtoul(errno_text + 1, NULL, 10) : EPERM;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    int i = 1;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        perror("refuse: PR_SET_NO_NEW_PRIVS");
        return 125;
    }
    for (; i < argc && i <= NUMBERS_MAX && strcmp(argv[i], "--") != 0; i++)
        if (refuse(argv[i]) < 0) {
            perror("refuse: PR_SET_SECCOMP");
            return 125;
        }
    if (i + 1 >= argc)
        return 125;
    execvp(argv[i + 1], argv + i + 1);
    perror("refuse: exec");
    return 125;
}
