/* cgroup: which of the paths is taken, and what is in it. */
#include "procfs/pid_cgroup.h"

#include "check.h"
#include "tree.h"

#include <limits.h>

#define ID "34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376"

static void check(const char *text, const char *path)
{
    struct span got;

    assert_int_equal(pid_cgroup_parse(span_from_str(text), &got), 0);
    check_span_at(got, path, strlen(path), __FILE__, __LINE__);
}

static void version_2(void **state)
{
    (void)state;
    check("0::/system.slice/db.service\n", "/system.slice/db.service");
    check("0::/\n", "/");
    check("0::/nolf", "/nolf");
    check("0::/dead (deleted)\n", "/dead (deleted)");
    check("0::/../../other\n", "/../../other");
    check("0::/a:b c\n", "/a:b c");
    check("0::::\n", "::");
    check("0::\n", "");
    check("0::", "");
    check("0::/user.slice/app-dbus\\x2d:1.2\\x2dorg.slice/3809\n",
          "/user.slice/app-dbus\\x2d:1.2\\x2dorg.slice/3809");
}

static void version_1(void **state)
{
    (void)state;
    check("12:pids:/user.slice/u1\n10:net_cls,net_prio:/user.slice/u1\n4:cpu,cpuacct:/x\n"
          "1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n",
          "/user.slice/user-1000.slice/session-3.scope");
    check("13:memory:/system.slice/containerd.service/pod_a.slice:cri-containerd:e575\n",
          "/system.slice/containerd.service/pod_a.slice:cri-containerd:e575");
    /* Without systemd: the first that says something. */
    check("4:cpu:/\n3:memory:/docker/" ID "\n2:pids:/other\n", "/docker/" ID);
    check("2:cpuset:/\n1:name=openrc:/nginx\n", "/nginx");
    check("2:cpuset:/\n1:name=systemd2:/a\n", "/a");
    check("2:cpuset:/first\n1:cpu:\n", "/first");
}

static void hybrid(void **state)
{
    (void)state;
    check("4:cpu,cpuacct:/user.slice\n1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n"
          "0::/kube\n",
          "/user.slice/user-1000.slice/session-3.scope");
    /* A container runtime that knows v1 alone leaves its own service in the unified hierarchy. */
    check("2:memory:/docker/" ID "\n1:name=systemd:/docker/" ID
          "\n0::/system.slice/containerd.service\n",
          "/docker/" ID);
    /* The root says nothing. */
    check("2:memory:/m\n1:name=systemd:/\n0::/kube\n", "/kube");
    check("2:memory:/m\n1:name=systemd:/\n0::/\n", "/m");
    check("2:memory:/m\n1:name=systemd:\n0::\n", "/m");
    check("2:memory:/\n1:name=systemd:/\n0::/\n", "/");
    check("2:memory:/\n0::\n", "");
    check("0::/a:b c\n1:name=systemd:/we\"ird\n", "/we\"ird");
    /* The mark makes it no root. */
    check("1:name=systemd:/\n0::/ (deleted)\n", "/ (deleted)");
}

static void malformed(void **state)
{
    static const char *const texts[] = {"\n",   "0:\n",   "::/a\n", "x::/a\n",
                                        "/a\n", "-1::/a", ":",      " 0::/a"};
    struct span path = SPAN_LITERAL("before");

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(pid_cgroup_parse(span_from_str(texts[i]), &path), -EBADMSG);
    assert_int_equal(pid_cgroup_parse(span_of(NULL, 0), &path), PID_CGROUP_NONE);
    check_span(path, "before");
    /* A wrong line takes nothing from the others. */
    check("junk\n\n0::/a\n5", "/a");
    /* A number and no controllers, but another hierarchy. */
    check("7::/a\n0::/b\n", "/b");
}

static void reading(void **state)
{
    char name[PATH_MAX + 64], *text = NULL;
    struct span path;
    struct procfs fs;
    struct tree t;
    int dir;

    (void)state;
    tree_new(&t);
    tree_dir(&t, "1");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    dir = procfs_open_pid(fs.root, 1);
    assert_int_equal(pid_cgroup_read(&fs, dir, &path), -ENOENT);
    tree_pid(&t, 1, "cgroup", "%s", "0::/nolf");
    assert_int_equal(pid_cgroup_read(&fs, dir, &path), 0);
    check_span(path, "/nolf");
    tree_pid(&t, 1, "cgroup", "%s", "");
    assert_int_equal(pid_cgroup_read(&fs, dir, &path), PID_CGROUP_NONE);
    /* A dozen hierarchies with the longest path there is: more than the buffer had so far. */
    memset(name, 'x', sizeof(name));
    name[0] = '/';
    name[PATH_MAX - 1] = '\0';
    assert_true(asprintf(&text, "5:cpu:%s\n4:b:%s\n3:c:%s\n1:name=systemd:%s/\n", name, name, name,
                         name) > 0);
    tree_text(&t, "1/cgroup", text);
    assert_int_equal(pid_cgroup_read(&fs, dir, &path), 0);
    assert_int_equal(path.n, PATH_MAX);
    free(text);
    close(dir);
    procfs_close(&fs);
    tree_free(&t);
}

/* Each file is what it says, whatever the one before it said. */
static void one_after_the_other(void **state)
{
    /* Of the same length, the path at another place or of another length. */
    static const struct {
        const char *text, *path;
    } files[] = {
        {"1:name=systemd:/a.service\n0::/\n", "/a.service"},
        {"1:name=systemd:/a.service\n0::/\n", "/a.service"},
        {"1:name=systemd:/b.service\n0::/\n", "/b.service"},
        {"1:name=systemd:/\n0::/b.service\n", "/b.service"},
        {"1:name=systemd:/b.servic\n0::/x\n", "/b.servic"},
        {"0::/\n", "/"},
        {"0::\n", ""},
        {"0::\n", ""},
        {"0::/\n", "/"},
        {"junk\n", NULL},
        {"0::/\n", "/"},
        {"", NULL},
        {"0::/\n", "/"},
    };
    struct span path;
    struct procfs fs;
    struct tree t;
    int dir;

    (void)state;
    tree_new(&t);
    tree_dir(&t, "1");
    assert_int_equal(procfs_open(&fs, t.root, 100, 4096), 0);
    dir = procfs_open_pid(fs.root, 1);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        tree_text(&t, "1/cgroup", files[i].text);
        assert_int_equal(pid_cgroup_read(&fs, dir, &path) == 0, files[i].path != NULL);
        if (files[i].path)
            check_span_at(path, files[i].path, strlen(files[i].path), __FILE__, __LINE__);
    }
    close(dir);
    procfs_close(&fs);
    tree_free(&t);
}

/* From inside a cgroup namespace, what is not below its root. */
static void namespaced(void **state)
{
    (void)state;
    check("1:name=systemd:/..\n0::/machine.slice/libpod-" ID ".scope\n",
          "/machine.slice/libpod-" ID ".scope");
    check("2:memory:/../..\n1:name=systemd:/\n0::/../" ID "\n", "/../" ID);
    check("2:memory:/m\n1:name=systemd:/../../..\n0::/..\n", "/m");
    check("1:name=systemd:/..\n0::/\n", "/..");
    check("1:name=systemd:/...\n0::/a\n", "/...");
    check("1:name=systemd:/..a\n0::/a\n", "/..a");
    assert_true(pid_cgroup_is_root(SPAN_LITERAL("/../..")));
    assert_false(pid_cgroup_is_root(SPAN_LITERAL("/../a")));
}

/* Where ids of the unified hierarchy say it all: there is no other one. */
static void unified(void **state)
{
    static const struct {
        const char *text;
        bool unified;
    } rows[] = {
        {"0::/\n", true},
        {"0::/system.slice/db.service\n", true},
        {"0::/x", true}, /* cut */
        {"0::", true},
        {"0::\n", true},
        {"", false},
        {"\n", false},
        {"0::/\n\n", false},
        /* Others beside it, before and behind; or none but others. */
        {"1:name=systemd:/\n0::/\n", false},
        {"0::/\n1:name=systemd:/\n", false},
        {"2:cpu:/a\n1:name=systemd:/a\n", false},
        {"1:name=systemd:/\n", false},
        {"0::/\n0::/\n", false},
        /* Not what it is, though it begins so. */
        {"10::/\n", false},
        {" 0::/\n", false},
        {"0:cpu:/\n", false},
        {"0:", false},
        {"0", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct span copy = check_copy(span_from_str(rows[i].text));

        if (pid_cgroup_is_unified(copy) != rows[i].unified)
            fail_msg("row %zu", i);
        free((char *)copy.p);
    }
}

/* The real one of this very process. */
static void live(void **state)
{
    struct span path;
    struct procfs fs;
    int dir;

    (void)state;
    assert_int_equal(procfs_open(&fs, "/proc", 100, 4096), 0);
    dir = procfs_open_pid(fs.root, (uint32_t)getpid());
    assert_true(dir >= 0);
    assert_int_equal(pid_cgroup_read(&fs, dir, &path), 0);
    assert_true(path.n > 0 && path.p[0] == '/');
    close(dir);
    procfs_close(&fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2),  cmocka_unit_test(version_1),
        cmocka_unit_test(hybrid),     cmocka_unit_test(malformed),
        cmocka_unit_test(reading),    cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(namespaced), cmocka_unit_test(unified),
        cmocka_unit_test(live),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
