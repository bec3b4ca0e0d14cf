/* cmdline: every shape the kernel hands out. */
#include "procfs/pid_cmdline.h"

#include "base/buf.h"
#include "check.h"
#include "tree.h"

/* The arguments, `|` behind each, and joined; and the program that the first one names. */
static void check(struct span text, const char *arguments, const char *joined, const char *program)
{
    struct cmdline all = pid_cmdline_parse(text), rest = all;
    struct span argument, copy = check_copy(all.text), run = pid_cmdline_program(all);
    struct buf out;

    buf_init(&out, 1 << 20);
    while (pid_cmdline_next(&rest, &argument)) {
        buf_append_span(&out, argument);
        buf_append_char(&out, '|');
    }
    check_span_at(buf_span(&out), arguments, strlen(arguments), __FILE__, __LINE__);
    assert_false(pid_cmdline_next(&rest, &argument));
    pid_cmdline_join(all, (char *)copy.p);
    check_span_at(copy, joined, strlen(joined), __FILE__, __LINE__);
    check_span_at(run, program, strlen(program), __FILE__, __LINE__);
    assert_true(run.n == 0 || (run.p >= all.text.p && run.p + run.n <= all.text.p + all.text.n));
    free((char *)copy.p);
    buf_deinit(&out);
}

static void shapes(void **state)
{
    (void)state;
    check(SPAN_LITERAL("sleep\000300\0"), "sleep|300|", "sleep 300", "sleep");
    check(SPAN_LITERAL("nginx: master process\0\0\0\0\0"), "nginx: master process|",
          "nginx: master process", "nginx");
    check(SPAN_LITERAL("nginx: worker process"), "nginx: worker process|", "nginx: worker process",
          "nginx");
    check(SPAN_LITERAL("\0\0\0\0"), "", "", "");
    check(SPAN_LITERAL("\0"), "", "", "");
    check(SPAN_LITERAL(""), "", "", "");
    check(span_of(NULL, 0), "", "", "");
    check(SPAN_LITERAL("\0show\0\0"), "|show|", " show", "");
    check(SPAN_LITERAL("title   ENVVAR=0123\0"), "title   ENVVAR=0123|", "title   ENVVAR=0123",
          "title");
    check(SPAN_LITERAL("/opt/a b/bin/x\0--name=a\"b\\c\0line1\nline2\0"),
          "/opt/a b/bin/x|--name=a\"b\\c|line1\nline2|",
          "/opt/a b/bin/x --name=a\"b\\c line1\nline2", "/opt/a b/bin/x");
    check(SPAN_LITERAL("/opt/app\0\xff\xfe\x80\0"), "/opt/app|\xff\xfe\x80|",
          "/opt/app \xff\xfe\x80", "/opt/app");
    check(SPAN_LITERAL("postgres: writer   "), "postgres: writer   |", "postgres: writer   ",
          "postgres");
    check(SPAN_LITERAL("a\0\0b\0"), "a||b|", "a  b", "a");
    check(SPAN_LITERAL("/\0"), "/|", "/", "/");
}

/* Where the link exe is refused, this is all there is. */
static void programs(void **state)
{
    (void)state;
    check(SPAN_LITERAL("/opt/c/chrome --type=gpu --flag=1\0"), "/opt/c/chrome --type=gpu --flag=1|",
          "/opt/c/chrome --type=gpu --flag=1", "/opt/c/chrome");
    check(SPAN_LITERAL("sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups\0"),
          "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups|",
          "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", "sshd");
    check(SPAN_LITERAL("-bash\0"), "-bash|", "-bash", "bash");
    check(SPAN_LITERAL("-bash\0-l\0"), "-bash|-l|", "-bash -l", "bash");
    check(SPAN_LITERAL("-\0"), "-|", "-", "-");
    check(SPAN_LITERAL("--\0"), "--|", "--", "-");
    check(SPAN_LITERAL("(sd-pam)\0\0\0"), "(sd-pam)|", "(sd-pam)", "(sd-pam)");
    check(SPAN_LITERAL("relative\0"), "relative|", "relative", "relative");
    /* With an argument behind it, what has a blank is no title. */
    check(SPAN_LITERAL("a: b\0c"), "a: b|c|", "a: b c", "a: b");
    check(SPAN_LITERAL("a:\0"), "a:|", "a:", "a:");
    check(SPAN_LITERAL(": b\0"), ": b|", ": b", "");
    check(SPAN_LITERAL(" b\0"), " b|", " b", "");
    check(SPAN_LITERAL(" \0"), " |", " ", "");
    check(SPAN_LITERAL("a\tb\0"), "a\tb|", "a\tb", "a\tb");
}

static void reading(void **state)
{
    static char long_text[PID_CMDLINE_MAX + 5000];
    struct procfs fs;
    struct cmdline c;
    struct tree t;

    (void)state;
    tree_new(&t);
    memset(long_text, 'x', sizeof(long_text));
    tree_write(&t, "1/cmdline", "a\0b\0\0", 5);
    tree_write(&t, "2/cmdline", "", 0);
    tree_write(&t, "3/cmdline", long_text, sizeof(long_text));
    tree_write(&t, "4/cmdline", long_text, PID_CMDLINE_MAX);
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    for (unsigned pid = 1; pid <= 5; pid++) {
        static const size_t lengths[] = {0, 3, 0, PID_CMDLINE_MAX, PID_CMDLINE_MAX};
        int dir = procfs_open_pid(fs.root, pid);

        if (pid == 5) {
            assert_int_equal(dir, -ENOENT);
            break;
        }
        assert_int_equal(pid_cmdline_read(&fs, dir, &c), 0);
        assert_int_equal(c.text.n, lengths[pid]);
        close(dir);
    }
    procfs_close(&fs);
    tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(programs),
        cmocka_unit_test(reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
