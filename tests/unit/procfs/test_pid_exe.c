/* exe: the mark, and what the kernel says of those whose link cannot be read. */
#include "procfs/pid_exe.h"

#include "check.h"
#include "tree.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void mark(void **state)
{
    (void)state;
    check_span(pid_exe_parse(SPAN_LITERAL("/usr/bin/sleep")), "/usr/bin/sleep");
    check_span(pid_exe_parse(SPAN_LITERAL("/usr/bin/sleep (deleted)")), "/usr/bin/sleep");
    check_span(pid_exe_parse(SPAN_LITERAL("/opt/a (deleted) (deleted)")), "/opt/a (deleted)");
    check_span(pid_exe_parse(SPAN_LITERAL("/opt/a (deleted)/b")), "/opt/a (deleted)/b");
    check_span(pid_exe_parse(SPAN_LITERAL("/opt/a(deleted)")), "/opt/a(deleted)");
    check_span(pid_exe_parse(SPAN_LITERAL("/opt/a (deleted) ")), "/opt/a (deleted) ");
    check_span(pid_exe_parse(SPAN_LITERAL("/memfd:x y (deleted)")), "/memfd:x y");
    check_span(pid_exe_parse(SPAN_LITERAL("/a\n\xff (deleted)")), "/a\n\xff");
    check_span(pid_exe_parse(SPAN_LITERAL(" (deleted)")), " (deleted)");
    check_span(pid_exe_parse(SPAN_LITERAL("(deleted)")), "(deleted)");
    check_span(pid_exe_parse(SPAN_LITERAL("")), "");
}

static int read_exe(struct procfs *fs, unsigned pid, struct span *ret)
{
    int dir = procfs_open_pid(fs->root, pid);
    int r;

    assert_true(dir >= 0);
    r = pid_exe_read(fs, dir, ret);
    close(dir);
    return r;
}

static void reading(void **state)
{
    char longest[PID_EXE_MAX];
    struct procfs fs;
    struct span exe;
    struct tree t;

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    tree_new(&t);
    tree_link(&t, "1/exe", "/opt/app (deleted)");
    tree_link(&t, "2/exe", longest);
    tree_dir(&t, "3");
    tree_text(&t, "4/exe", "/opt/app");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    assert_int_equal(read_exe(&fs, 1, &exe), 0);
    check_span(exe, "/opt/app");
    assert_int_equal(read_exe(&fs, 2, &exe), 0);
    check_span_at(exe, longest, PID_EXE_MAX - 1, __FILE__, __LINE__);
    assert_int_equal(read_exe(&fs, 3, &exe), -ENOENT);
    assert_int_equal(read_exe(&fs, 4, &exe), -EINVAL);
    procfs_close(&fs);
    tree_free(&t);
}

/* Starts the program, which waits for its end; its own link, as it is from then on, in `program`.
 */
static pid_t start(int program)
{
    char name[] = "sleep", seconds[] = "1000";
    int ready[2];
    pid_t pid;
    char byte;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        fexecve(program, (char *const[]){name, seconds, NULL}, (char *const[]){NULL});
        _exit(127);
    }
    close(ready[1]);
    /* Closed by the exec. */
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    return pid;
}

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void copy_sleep(int to)
{
    int from = open("/bin/sleep", O_RDONLY | O_CLOEXEC);
    char block[4096];
    ssize_t n;

    assert_true(from >= 0);
    while ((n = read(from, block, sizeof(block))) > 0)
        assert_int_equal(write(to, block, (size_t)n), n);
    assert_int_equal(n, 0);
    close(from);
}

static void deleted(void **state)
{
    const char *path;
    struct procfs fs;
    struct span exe;
    struct tree t;
    int program;
    pid_t pid;

    (void)state;
    tree_new(&t);
    path = tree_path(&t, "gone (deleted)");
    program = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(program >= 0);
    copy_sleep(program);
    close(program);
    program = open(path, O_RDONLY | O_CLOEXEC);
    pid = start(program);
    close(program);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(procfs_open(&fs, "/proc", 100, 4096), 0);
    assert_int_equal(read_exe(&fs, (unsigned)pid, &exe), 0);
    check_span_at(exe, path, strlen(path), __FILE__, __LINE__);
    stop(pid);
    procfs_close(&fs);
    tree_free(&t);
}

static void without_a_name(void **state)
{
    int program = memfd_create("nameless", MFD_CLOEXEC);
    struct procfs fs;
    struct span exe;
    pid_t pid;

    (void)state;
    assert_true(program >= 0);
    copy_sleep(program);
    pid = start(program);
    close(program);
    assert_int_equal(procfs_open(&fs, "/proc", 100, 4096), 0);
    assert_int_equal(read_exe(&fs, (unsigned)pid, &exe), 0);
    check_span(exe, "/memfd:nameless");
    stop(pid);
    procfs_close(&fs);
}

static void zombie(void **state)
{
    struct procfs fs;
    struct span exe;
    siginfo_t info;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(procfs_open(&fs, "/proc", 100, 4096), 0);
    assert_int_equal(read_exe(&fs, (unsigned)pid, &exe), -ENOENT);
    waitpid(pid, NULL, 0);
    procfs_close(&fs);
}

/* Who may not trace the process may not read its link. */
static void not_permitted(void **state)
{
    struct procfs fs;
    struct span exe;
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0) {
        print_message("not root: nobody to be refused\n");
        skip();
    }
    assert_int_equal(procfs_open(&fs, "/proc", 100, 4096), 0);
    pid = fork();
    if (pid == 0) {
        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(99);
        _exit(-read_exe(&fs, (unsigned)getppid(), &exe));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EACCES);
    procfs_close(&fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mark),    cmocka_unit_test(reading),
        cmocka_unit_test(deleted), cmocka_unit_test(without_a_name),
        cmocka_unit_test(zombie),  cmocka_unit_test(not_permitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
