/*
 * What programs rely on that are given to the guests (PROCTALLY_GUEST_PROGRAMS): they are root
 * among all of the machine's processes, may load BPF programs, and the kernel describes its own
 * types.
 */
#include "check.h"

#include <linux/bpf.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void root_in_the_first_namespaces(void **state)
{
    char name[64] = "";
    FILE *f = fopen("/proc/2/comm", "re");

    (void)state;
    assert_int_equal(geteuid(), 0);
    assert_non_null(f);
    assert_non_null(fgets(name, sizeof(name), f));
    fclose(f);
    assert_string_equal(name, "kthreadd\n");
}

static void types_of_the_kernel(void **state)
{
    (void)state;
    assert_int_equal(access("/sys/kernel/btf/vmlinux", R_OK), 0);
}

/* return 0 */
static void programs_load(void **state)
{
    const struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr = {
        .prog_type = BPF_PROG_TYPE_TRACEPOINT,
        .insns = (uintptr_t)program,
        .insn_cnt = sizeof(program) / sizeof(program[0]),
        .license = (uintptr_t) "GPL",
    };
    long fd;

    (void)state;
    fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
    assert_true(fd >= 0);
    close((int)fd);
}

static void more_than_one_cpu(void **state)
{
    (void)state;
    assert_true(sysconf(_SC_NPROCESSORS_ONLN) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_in_the_first_namespaces),
        cmocka_unit_test(types_of_the_kernel),
        cmocka_unit_test(programs_load),
        cmocka_unit_test(more_than_one_cpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
