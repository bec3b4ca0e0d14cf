/*
 * What --explain tells, over trees of files.
 *
 * Linked with --wrap of probe_read(), to have links refused and processes that do not answer.
 */
#include "daemon/explain.h"

#include "host_tree.h"
#include "procfs/probe.h"

#define NOBODY_HAS "3999999999"

/* Threads that were left behind may look at them late. */
static _Atomic unsigned refused_pid, hanging_pid;
static _Atomic enum part hanging_part;

int __real_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t);
int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t);

/* Whose directory it is: its status says so. */
static unsigned pid_of(int dir)
{
    char text[64] = "";
    unsigned pid = 0;
    int fd = openat(dir, "stat", O_RDONLY);

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) > 0)
        pid = (unsigned)strtoul(text, NULL, 10);
    close(fd);
    return pid;
}

int __wrap_probe_read(struct procfs *fs, int dir, enum part part, struct sample *s,
                      struct probe_texts *t)
{
    unsigned pid = pid_of(dir);

    if (pid == hanging_pid && part == hanging_part)
        usleep(400 * 1000);
    if (pid == refused_pid && part == PART_EXE) {
        t->exe_refused = true;
        return -EACCES;
    }
    return __real_probe_read(fs, dir, part, s, t);
}

/* As a configuration of this name says; or the error behind "error: "; to be freed. */
static char *explain_by(struct tree *t, const char *file, struct span ini, unsigned pid)
{
    struct option_given given = {OPTION_COLLECTOR_PROCFS, t->root};
    struct options flags = {.given = &given, .n_given = 1};
    char *text = NULL;
    struct config c;
    struct buf error;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    buf_init(&error, CONFIG_ERROR_MAX);
    config_init(&c);
    if (config_parse(ini, file, &flags, &c, &error) != 0)
        fail_msg("%.*s", (int)error.len, error.data);
    if (explain_run(&c, pid, out, &error) < 0)
        fprintf(out, "error: %.*s", (int)error.len, error.data);
    else
        assert_int_equal(error.len, 0);
    fclose(out);
    config_deinit(&c);
    buf_deinit(&error);
    return text;
}

static char *explain(struct tree *t, const char *config, unsigned pid)
{
    char *ini = NULL, *text;

    assert_true(asprintf(&ini, "[collector]\nprobe_deadline = 100ms\n%s", config) > 0);
    text = explain_by(t, "a.ini", span_from_str(ini), pid);
    free(ini);
    return text;
}

static void check_text(struct tree *t, const char *config, unsigned pid, const char *expected)
{
    char *text = explain(t, config, pid);

    assert_string_equal(text, expected);
    free(text);
}

/* That the text has this line, LF included. */
static void check_line(struct tree *t, const char *config, unsigned pid, const char *line)
{
    char *text = explain(t, config, pid), *found = strstr(text, line);

    if (!found || (found != text && found[-1] != '\n'))
        fail_msg("there is no line \"%s\" in:\n%s", line, text);
    free(text);
}

static void put_text(struct tree *t, unsigned pid, const char *name, const char *p, size_t n)
{
    char path[64];

    snprintf(path, sizeof(path), "%u/%s", pid, name);
    tree_write(t, path, p, n);
}

#define CMDLINE(t, pid, text) put_text((t), (pid), "cmdline", "" text, sizeof(text))

static void put_exe(struct tree *t, unsigned pid, const char *target)
{
    char path[64];

    snprintf(path, sizeof(path), "%u/exe", pid);
    tree_link(t, path, target);
}

static void put_user(struct tree *t, unsigned pid, const char *uid)
{
    tree_pid(t, pid, "status", "Name:\tx\nUid:\t0\t%s\t0\t0\n", uid);
}

/* nginx in a service, started 10 s after boot. */
static void put_nginx(struct tree *t)
{
    HOST_PUT(t, .pid = 1, .comm = "init", .start = 1);
    HOST_PUT(t, .pid = 42, .comm = "nginx", .start = 1000);
    put_exe(t, 42, "/usr/sbin/nginx (deleted)");
    CMDLINE(t, 42, "nginx: worker process");
    put_user(t, 42, NOBODY_HAS);
    tree_pid(t, 42, "cgroup", "0::/system.slice/nginx@1.service\n");
}

#define NGINX                                                  \
    "process 42 \"nginx\", started 2023-11-14T22:13:30.000Z\n" \
    "    exe        \"/usr/sbin/nginx\", as the link says\n"   \
    "    cmdline    \"nginx: worker process\"\n"               \
    "    user       \"" NOBODY_HAS "\", uid " NOBODY_HAS "\n"  \
    "    cgroup     \"/system.slice/nginx@1.service\"\n"       \
    "    unit       \"nginx@1.service\"\n"                     \
    "    service    \"nginx@.service\"\n"                      \
    "    slice      \"system.slice\"\n"                        \
    "    parent     1 \"init\"\n"                              \
    "\n"

static void by_default(void **state)
{
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    check_text(&t, "", 42, NGINX "default: it is in a service\n\ngroup \"nginx@.service\"\n");
    tree_free(&t);
}

static void by_rules(void **state)
{
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    check_text(&t,
               "[exclude probes]\ncomm = sh curl wget a b c\ncmdline = worker\n"
               "[group ${pod}]\ncomm = *\n"
               "[group ${x}]\ncmdline = nginx(?<x>y)?\n"
               "[group ${x}-]\ncmdline = (?<x>\\d)\ncmdline = \"\n"
               "[group boxes]\ncontainer = *\n"
               "[group web-${user}]\nexe = *bin/ngin? foo\nuser = root 3*\nunit = nginx@*\n"
               "cgroup = /system.slice/*\ncmdline = ^x\ncmdline = :\n"
               "[group a]\ncomm = a\n[group b]\ncomm = b\n",
               42,
               NGINX
               "a.ini:3: [exclude probes]: passed over\n"
               "    comm       \"nginx\" matches none of \"sh\" \"curl\" \"wget\" \"a\" and 2 "
               "more\n"
               "    cmdline    \"nginx: worker process\" matches \"worker\"\n"
               "a.ini:6: [group ${pod}]: passed over\n"
               "    comm       \"nginx\" matches \"*\"\n"
               "    the name's ${pod} has no value\n"
               "a.ini:8: [group ${x}]: passed over\n"
               "    cmdline    \"nginx: worker process\" matches, but without a group that "
               "the name has: \"nginx(?<x>y)?\"\n"
               "a.ini:10: [group ${x}-]: passed over\n"
               "    cmdline    \"nginx: worker process\" matches none of \"(?<x>\\d)\" \"\"\"\n"
               "a.ini:13: [group boxes]: passed over\n"
               "    container  there is none\n"
               "a.ini:15: [group web-${user}]: matches, and gives the group\n"
               "    exe        \"/usr/sbin/nginx\" matches \"*bin/ngin?\"\n"
               "    user       \"" NOBODY_HAS "\" matches \"3*\"\n"
               "    unit       \"nginx@1.service\" matches \"nginx@*\"\n"
               "    cgroup     \"/system.slice/nginx@1.service\" matches "
               "\"/system.slice/*\"\n"
               "    cmdline    \"nginx: worker process\" matches \":\"\n"
               "2 more sections are not asked\n"
               "\n"
               "group \"web-" NOBODY_HAS "\"\n");
    tree_free(&t);
}

/* The next block of the page that is shown as it is, with what scdoc wants escaped. */
static struct span take_block(char **page)
{
    char *begin, *end, *to;

    begin = strstr(*page, "\n```\n");
    assert_non_null(begin);
    begin += strlen("\n```\n");
    end = strstr(begin, "```\n");
    assert_non_null(end);
    *page = end + strlen("```");
    to = begin;
    for (char *from = begin; from < end; from++) {
        from += *from == '\\';
        *to++ = *from;
    }
    return span_of(begin, (size_t)(to - begin));
}

static char *read_manual(void)
{
    enum { MANUAL_MAX = 1 << 20 };
    FILE *f = fopen(TESTS_DIR "/../docs/proctallyd.8.scd", "r");
    char *text = calloc(1, MANUAL_MAX);

    assert_non_null(f);
    assert_non_null(text);
    assert_in_range(fread(text, 1, MANUAL_MAX, f), 1, MANUAL_MAX - 1);
    fclose(f);
    return text;
}

/* The example of the manual page is what comes out. */
static void by_the_manual(void **state)
{
    char *manual, *page, *text;
    struct span ini, expected;
    struct tree t;

    (void)state;
    host_tree_new(&t);
    HOST_PUT(&t, .pid = 4241, .comm = "nginx", .start = 999);
    HOST_PUT(&t, .pid = 4242, .comm = "nginx", .start = 1000, .parent = 4241);
    put_exe(&t, 4242, "/usr/sbin/nginx");
    CMDLINE(&t, 4242, "nginx: worker process");
    put_user(&t, 4242, "33");
    tree_pid(&t, 4242, "cgroup", "0::/system.slice/nginx.service\n");
    manual = read_manual();
    page = strstr(manual, "\n# EXPLAINING\n");
    assert_non_null(page);
    ini = take_block(&page);
    expected = take_block(&page);
    text = explain_by(&t, "/etc/proctally/proctallyd.ini", ini, 4242);
    if (!strstr(text, "www-data"))
        print_message("uid 33 is not www-data here: the example is not compared\n");
    else
        check_span_at(span_from_str(text), expected.p, expected.n, __FILE__, __LINE__);
    free(text);
    free(manual);
    tree_free(&t);
}

static void excluded(void **state)
{
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    check_text(&t, "[exclude web]\ncomm = nginx\n[group a]\ncomm = a\n", 42,
               NGINX "a.ini:3: [exclude web]: matches, and takes the process out of all groups\n"
                     "    comm       \"nginx\" matches \"nginx\"\n"
                     "1 more section is not asked\n"
                     "\n"
                     "excluded\n");
    tree_free(&t);
}

static void what_the_name_is_made_of(void **state)
{
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    CMDLINE(&t, 42, "-x= -y=\x01");
    check_line(&t, "[group ${x}]\ncmdline = -x=(?<x>)\n", 42, "    the name would be empty\n");
    check_line(&t, "[group ${x}]\ncmdline = -y=(?<x>.)\n", 42,
               "group \"\xef\xbf\xbd\", which is the label value made of \"\\u0001\"\n");
    HOST_PUT(&t, .pid = 7, .comm = "", .start = 20);
    check_line(&t, "", 7, "group \"_empty\", which is the label value made of \"\"\n");
    HOST_PUT(&t, .pid = 8, .comm = "kernel", .start = 20);
    check_line(&t, "", 8,
               "default: it is in no pod, container, service or session, so that its comm counts, "
               "after comm/ since it reads like another group's name\n");
    check_line(&t, "", 8, "group \"comm/kernel\"\n");
    tree_free(&t);
}

/* Whether the process came when there was no room for this group. */
static unsigned tells_other(struct tree *t, unsigned pid, const char *group)
{
    char *text = explain(t, "[groups]\nmax = 1\n", pid), *line = strstr(text, "\ngroup ");
    char expected[128];
    bool other;

    assert_non_null(line);
    other = strstr(line, "_other");
    if (other)
        snprintf(expected, sizeof(expected),
                 "\ngroup \"_other\", since max in [groups] allows no more than 1; else \"%s\"\n",
                 group);
    else
        snprintf(expected, sizeof(expected), "\ngroup \"%s\"\n", group);
    assert_string_equal(line, expected);
    free(text);
    return other;
}

static void more_groups_than_max(void **state)
{
    unsigned others = 0;
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    others += tells_other(&t, 1, "init");
    others += tells_other(&t, 42, "nginx@.service");
    assert_int_equal(others, 1);
    check_line(&t, "[groups]\nmax = 1\n[group web]\ncomm = nginx\n", 42, "group \"web\"\n");
    tree_free(&t);
}

static void children(void **state)
{
    static const char config[] = "[group a-${comm}]\ncomm = init\nchildren = yes\n"
                                 "[group late]\ncomm = late\n";
    struct tree t;

    (void)state;
    host_tree_new(&t);
    HOST_PUT(&t, .pid = 5, .comm = "init", .start = 1, .parent = 4);
    HOST_PUT(&t, .pid = 6, .comm = "child", .start = 2, .parent = 5);
    HOST_PUT(&t, .pid = 7, .comm = "grand", .start = 3, .parent = 6);
    HOST_PUT(&t, .pid = 8, .comm = "late", .start = 3, .parent = 6);
    HOST_PUT(&t, .pid = 9, .comm = "orphan", .start = 3, .parent = 4);
    HOST_PUT(&t, .pid = 3, .comm = "low", .start = 4, .parent = 5);
    check_line(&t, config, 5, "group \"a-init\"\n");
    check_line(&t, config, 6,
               "no section matches: it follows its parent 5 \"init\", whose section has children "
               "= yes\n\ngroup \"a-init\"\n");
    check_line(&t, config, 7,
               "no section matches: it follows its ancestor 5 \"init\", whose section has children "
               "= yes\n\ngroup \"a-init\"\n");
    check_line(&t, config, 3, "group \"a-init\"\n");
    check_line(&t, config, 8, "group \"late\"\n");
    check_line(&t, config, 9,
               "no section matches: it follows no ancestor, and it is in no pod, container, "
               "service or session, so that its comm counts\n\ngroup \"orphan\"\n");
    tree_free(&t);
}

static void kernel_threads_and_zombies(void **state)
{
    static const char config[] = "[group root]\nuser = root\n[group bin]\nexe = *\ncomm = k*\n";
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    HOST_PUT(&t, .pid = 2, .comm = "kworker/0:1", .kernel_thread = true, .start = 1);
    tree_pid(&t, 2, "cgroup", "0::/\n");
    check_line(&t, config, 2,
               "process 2 \"kworker/0:1\", a kernel thread, started 2023-11-14T22:13:20.010Z\n"
               "    exe        none: a kernel thread has none\n"
               "    cmdline    none: a kernel thread has none\n");
    check_line(&t, config, 2, "    cgroup     none: a kernel thread in the root is in none\n");
    check_line(&t, config, 2, "    of kernel threads none is taken by its user alone\n");
    check_line(&t, config, 2,
               "    comm       \"kworker/0:1\" matches \"k*\"\n"
               "    exe        there is none\n"
               "no section matches: it is a kernel thread\n"
               "\n"
               "group \"kernel\"\n");
    check_line(&t, "[group user]\nkernel = no\n[exclude threads]\nkernel = yes\n", 2,
               "a.ini:3: [group user]: passed over\n"
               "    kernel     does not match no\n");
    check_line(&t, "[group user]\nkernel = no\n[exclude threads]\nkernel = yes\n", 2,
               "    kernel     matches yes\n"
               "\n"
               "excluded\n");
    HOST_PUT(&t, .pid = 9, .comm = "dead", .state = 'Z', .start = 1);
    put_user(&t, 9, NOBODY_HAS);
    check_text(&t, "", 9,
               "process 9 \"dead\", a zombie, started 2023-11-14T22:13:20.010Z\n"
               "    exe        none: a zombie has none any more\n"
               "    cmdline    none: a zombie has none any more\n"
               "    user       \"" NOBODY_HAS "\", uid " NOBODY_HAS "\n"
               "    cgroup     none: it cannot be read\n"
               "    parent     1 \"init\"\n"
               "\n"
               "default: it is in no pod, container, service or session, so that its comm counts\n"
               "\n"
               "group \"dead\"\n");
    tree_free(&t);
}

static void what_cannot_be_read(void **state)
{
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    refused_pid = 42;
    check_line(&t, "", 42,
               "    exe        \"nginx\", as the first argument says: the link cannot be read: "
               "Permission denied\n");
    check_line(&t, "[group web]\nexe = nginx\n", 42,
               "    exe        \"nginx\" matches \"nginx\"\n\ngroup \"web\"\n");
    put_text(&t, 42, "cmdline", "", 0);
    check_line(&t, "", 42,
               "    exe        none: the link cannot be read: Permission denied\n"
               "    cmdline    none: it shows no arguments\n");
    refused_pid = 0;
    remove(tree_path(&t, "42/cmdline"));
    remove(tree_path(&t, "42/exe"));
    remove(tree_path(&t, "42/status"));
    check_line(&t, "", 42,
               "    exe        none: it runs no program\n"
               "    cmdline    none: No such file or directory\n"
               "    user       none: its status cannot be read\n");
    tree_free(&t);
}

/* What was known before it hung is what the rules went by, too. */
static void processes_that_do_not_answer(void **state)
{
    static const char config[] = "[group args]\ncmdline = a\n[group web]\nexe = nginx\n";
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    hanging_pid = 42;
    hanging_part = PART_CMDLINE;
    check_line(&t, "", 42,
               "    exe        \"/usr/sbin/nginx\", as the link says\n"
               "    cmdline    none: the process does not answer\n");
    check_line(&t, config, 42,
               "    exe        \"/usr/sbin/nginx\", as the link says\n"
               "    cmdline    none: the process does not answer\n");
    check_line(&t, config, 42, "group \"web\"\n");
    hanging_part = PART_EXE;
    check_line(&t, config, 42,
               "    exe        none: the link cannot be read: the process does not answer\n"
               "    cmdline    none: the process does not answer\n");
    hanging_pid = 0;
    tree_free(&t);
}

static void what_control_groups_say(void **state)
{
    struct tree t;

    (void)state;
    host_tree_new(&t);
    put_nginx(&t);
    tree_pid(&t, 42, "cgroup",
             "0::/kubepods.slice/kubepods-pod74c13223_5a00_11e9_b385_42010a80018d.slice/"
             "cri-containerd-34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376."
             "scope\n");
    check_line(&t, "[group box]\ncontainer = 34dc0b5e626f2*\n", 42,
               "    pod        \"74c13223-5a00-11e9-b385-42010a80018d\"\n"
               "    container  \"34dc0b5e626f\", in full "
               "\"34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376\"\n");
    check_line(&t, "", 42,
               "default: it is in a pod\n\n"
               "group \"pod/74c13223-5a00-11e9-b385-42010a80018d\"\n");
    tree_pid(&t, 42, "cgroup", "0::/lxc/web\n");
    check_line(&t, "", 42, "    container  \"web\"\n");
    check_line(&t, "", 42, "default: it is in a container\n\ngroup \"container/web\"\n");
    tree_pid(&t, 42, "cgroup", "0::/user.slice/user-" NOBODY_HAS ".slice/session-3.scope\n");
    check_line(&t, "", 42, "    session    \"" NOBODY_HAS "\", uid " NOBODY_HAS "\n");
    check_line(&t, "", 42, "default: it is in a user's session\n\ngroup \"user/" NOBODY_HAS "\"\n");
    tree_free(&t);
}

/* Whatever processes write, the terminal gets no control character but the ends of our lines. */
static void bytes_of_processes(void **state)
{
    static const char odd[] = "\x1b[31m\n\r\x9b\xc2\x9b\x07\x7f\xff\"\\";
    char arguments[3000], *text;
    struct tree t;

    (void)state;
    host_tree_new(&t);
    memset(arguments, '\x1b', sizeof(arguments));
    HOST_PUT(&t, .pid = 1, .comm = odd, .start = 1);
    HOST_PUT(&t, .pid = 42, .comm = odd, .start = 1);
    put_exe(&t, 42, odd);
    put_text(&t, 42, "cmdline", arguments, sizeof(arguments));
    tree_pid(&t, 42, "cgroup", "0::/lxc/%s", "\x1b[2J\x9b\n");
    text = explain(&t, "[group ${cgroup}${comm}${exe}]\ncomm = *\ncmdline = .\n", 42);
    assert_non_null(strstr(text, "\\u001b[31m\\n\\r\\ufffd\\u009b\\u0007\\u007f\\ufffd\\\"\\\\"));
    assert_non_null(strstr(text, "...\", 3000 bytes\n"));
    assert_non_null(strstr(text, "\ngroup \"/lxc/"));
    for (const unsigned char *at = (unsigned char *)text; *at; at++)
        if ((*at < 0x20 && *at != '\n') || *at == 0x7f ||
            (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
            fail_msg("byte %02x at %td", *at, (char *)at - text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strncmp(line, "    ", 4) == 0 || strncmp(line, "process", 7) == 0 ||
                    strncmp(line, "a.ini", 5) == 0 || strncmp(line, "group", 5) == 0);
    free(text);
    tree_free(&t);
}

/* The tree's path stands between the two. */
static void check_error(struct tree *t, unsigned pid, const char *before, const char *behind)
{
    char *expected = NULL;

    assert_true(asprintf(&expected, "error: %s%s%s", before, t->root, behind) > 0);
    check_text(t, "", pid, expected);
    free(expected);
}

static void processes_that_are_none(void **state)
{
    struct tree t;

    (void)state;
    host_tree_new(&t);
    check_error(&t, 42, "there is no process 42 in ", "");
    put_nginx(&t);
    check_error(&t, 43, "there is no process 43 in ", "");
    tree_pid(&t, 43, "stat", "nonsense");
    check_error(&t, 43, "cannot read ", "/43/stat: it is malformed");
    tree_pid(&t, 44, "status", "Name:\tx\n");
    check_error(&t, 44, "there is no process 44 in ", "");
    tree_dir(&t, "45/stat");
    check_error(&t, 45, "cannot read ", "/45/stat: Is a directory");
    tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_default),
        cmocka_unit_test(by_rules),
        cmocka_unit_test(by_the_manual),
        cmocka_unit_test(excluded),
        cmocka_unit_test(what_the_name_is_made_of),
        cmocka_unit_test(more_groups_than_max),
        cmocka_unit_test(children),
        cmocka_unit_test(kernel_threads_and_zombies),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(processes_that_do_not_answer),
        cmocka_unit_test(what_control_groups_say),
        cmocka_unit_test(bytes_of_processes),
        cmocka_unit_test(processes_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
