/* The texts that are read apart: how they are kept, and what stands in for what is refused. */
#include "procfs/probe.h"

#include "check.h"
#include "tree.h"

#include <limits.h>
#include <sys/wait.h>

struct probe_fixture {
    struct tree tree;
    struct procfs fs;
    struct sample sample;
    struct probe_texts texts;
};

static int setup(void **state)
{
    struct probe_fixture *f = calloc(1, sizeof(*f));

    tree_new(&f->tree);
    assert_int_equal(procfs_open_rootless(&f->fs), 0);
    memset(&f->texts, 0xaa, sizeof(f->texts));
    probe_texts_reset(&f->texts);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct probe_fixture *f = *state;

    procfs_close(&f->fs);
    tree_free(&f->tree);
    free(f);
    return 0;
}

static int read_in(struct probe_fixture *f, const char *path, enum part part)
{
    int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r;

    assert_true(dir >= 0);
    r = probe_read(&f->fs, dir, part, &f->sample, &f->texts);
    close(dir);
    return r;
}

static int read_text(struct probe_fixture *f, enum part part)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/1", f->tree.root);
    return read_in(f, path, part);
}

#define TEXT(f, which) probe_text_span(&(f)->texts, (f)->texts.which)

static void put_cmdline(struct probe_fixture *f, struct span text)
{
    tree_write(&f->tree, "1/cmdline", text.p, text.n);
}

static void both(void **state)
{
    struct probe_fixture *f = *state;

    tree_link(&f->tree, "1/exe", "/opt/a b (deleted)");
    put_cmdline(f, SPAN_LITERAL("-bin/\xff\0--x=\n\0\0y\0\0"));
    assert_int_equal(read_text(f, PART_CMDLINE), 0);
    assert_int_equal(f->texts.have, part_bit(PART_CMDLINE));
    assert_int_equal(read_text(f, PART_EXE), 0);
    assert_int_equal(f->texts.have, probe_text_parts());
    check_span(TEXT(f, exe), "/opt/a b");
    check_span(TEXT(f, cmdline), "-bin/\xff --x=\n  y");
    check_span(TEXT(f, program), "bin/\xff");
    assert_false(f->texts.exe_refused);
    assert_int_equal(f->sample.have_gauges, 0);
}

/* They are there, and say nothing. */
static void nothing(void **state)
{
    struct probe_fixture *f = *state;

    put_cmdline(f, SPAN_LITERAL(""));
    assert_int_equal(read_text(f, PART_EXE), 0);
    assert_int_equal(read_text(f, PART_CMDLINE), 0);
    assert_int_equal(f->texts.have, probe_text_parts());
    assert_int_equal(f->texts.used, 0);
    check_span(TEXT(f, exe), "");
    check_span(TEXT(f, cmdline), "");
    check_span(TEXT(f, program), "");
}

static void faults(void **state)
{
    struct probe_fixture *f = *state;

    tree_text(&f->tree, "1/exe", "x");
    assert_int_equal(read_text(f, PART_EXE), -EINVAL);
    assert_int_equal(read_text(f, PART_CMDLINE), -ENOENT);
    assert_int_equal(f->texts.have, 0);
    assert_false(f->texts.exe_refused);
    assert_int_equal(probe_fault_file(PART_EXE), FAULT_EXE);
    assert_int_equal(probe_fault_file(PART_CMDLINE), FAULT_CMDLINE);
    assert_int_equal(probe_fault_file(PART_MAPS), FAULT_MAPS);
    assert_int_equal(probe_fault_file(PART_SMAPS), FAULT_SMAPS_ROLLUP);
}

/* The longest there are, beside each other. */
static void longest(void **state)
{
    static char text[3 * PROBE_CMDLINE_MAX], joined[PROBE_CMDLINE_MAX];
    static struct probe_texts copy;
    struct probe_fixture *f = *state;

    memset(text, 'a', sizeof(text));
    text[PROBE_EXE_MAX - 1] = '\0';
    tree_link(&f->tree, "1/exe", text);
    put_cmdline(f, span_of(text, sizeof(text)));
    assert_int_equal(read_text(f, PART_EXE), 0);
    assert_int_equal(read_text(f, PART_CMDLINE), 0);
    memcpy(joined, text, sizeof(joined));
    joined[PROBE_EXE_MAX - 1] = ' ';
    check_span_at(TEXT(f, exe), text, PROBE_EXE_MAX - 1, __FILE__, __LINE__);
    check_span_at(TEXT(f, cmdline), joined, PROBE_CMDLINE_MAX, __FILE__, __LINE__);
    assert_true(f->texts.used <= sizeof(f->texts.bytes));
    probe_texts_copy(&copy, &f->texts);
    assert_memory_equal(&copy, &f->texts, offsetof(struct probe_texts, bytes) + f->texts.used);
}

static void cut(void **state)
{
    static char text[3 * PROBE_CMDLINE_MAX];
    struct probe_fixture *f = *state;

    memset(text, 'a', sizeof(text));
    text[5] = '\0';
    put_cmdline(f, span_of(text, sizeof(text)));
    assert_int_equal(read_text(f, PART_CMDLINE), 0);
    text[5] = ' ';
    check_span_at(TEXT(f, cmdline), text, PROBE_CMDLINE_MAX, __FILE__, __LINE__);
    check_span(TEXT(f, program), "aaaaa");
}

/* No byte behind the used ones is copied: there is none. */
static void copies_what_is_used(void **state)
{
    struct probe_fixture *f = *state;
    struct probe_texts copy;

    memset(&copy, 0x55, sizeof(copy));
    put_cmdline(f, SPAN_LITERAL("ab"));
    assert_int_equal(read_text(f, PART_CMDLINE), 0);
    probe_texts_copy(&copy, &f->texts);
    check_span(span_of(copy.bytes, 3), "ab\x55");
}

static void stands_in(void **state)
{
    (void)state;
    assert_int_equal(probe_stand_in(PART_EXE, -EACCES), part_bit(PART_CMDLINE));
    assert_int_equal(probe_stand_in(PART_EXE, -EPERM), part_bit(PART_CMDLINE));
    assert_int_equal(probe_stand_in(PART_EXE, -ENOENT), 0);
    assert_int_equal(probe_stand_in(PART_EXE, -EMFILE), 0);
    assert_int_equal(probe_stand_in(PART_EXE, 0), 0);
    assert_int_equal(probe_stand_in(PART_CMDLINE, -EACCES), 0);
    assert_int_equal(probe_stand_in(PART_MAPS, -EACCES), 0);
}

/* Whose link is refused still shows its arguments. */
static void refused(void **state)
{
    struct probe_fixture *f = *state;
    char path[64];
    int status;
    pid_t pid;

    if (geteuid() != 0) {
        print_message("not root: nobody to be refused\n");
        skip();
    }
    snprintf(path, sizeof(path), "/proc/%d", getpid());
    pid = fork();
    if (pid == 0) {
        int exe, cmdline;

        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(1);
        exe = read_in(f, path, PART_EXE);
        cmdline = read_in(f, path, PART_CMDLINE);
        if (exe != -EACCES || cmdline != 0)
            _exit(2);
        if (f->texts.have != part_bit(PART_CMDLINE) || !f->texts.exe_refused)
            _exit(3);
        /* It stands at the front of the arguments: all of the path, or its part before a blank. */
        _exit(TEXT(f, program).n > 0 && span_starts_with(TEXT(f, cmdline), TEXT(f, program)) ? 0
                                                                                             : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both),      TEST(nothing), TEST(faults),
        TEST(longest),   TEST(cut),     TEST(copies_what_is_used),
        TEST(stands_in), TEST(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
