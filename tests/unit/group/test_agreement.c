/* What members of a group have in common. */
#include "group/agreement.h"

#include "check.h"

#include <stdio.h>

#define ID   "34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376"
#define ID2  "d4e8e05a546c86b6443f101966c618e47753ed01fa9929cae00d3b692f7a9f80"
#define UID  "74c13223-5a00-11e9-b385-42010a80018d"
#define PODS "/kubepods/burstable/pod" UID "/"

enum { PATHS_MAX = 3 };

/* Control groups of members, and what the labels are then. */
struct row {
    const char *paths[PATHS_MAX]; /* NULL: no more; "?": nothing is known */
    const char *unit, *container, *pod;
};

/* Also the other way round, and whoever comes twice changes nothing. */
static void check_row(const struct row *row, bool reverse)
{
    struct cgroup_identity identities[PATHS_MAX];
    struct agreement a = {0};

    for (unsigned i = 0; i < 2 * PATHS_MAX; i++) {
        unsigned at = reverse ? PATHS_MAX - 1 - i / 2 : i / 2;
        const char *path = row->paths[at];

        if (!path)
            continue;
        cgroup_identify(span_from_str(path), &identities[at]);
        agreement_add(&a, *path == '?' ? NULL : &identities[at]);
    }
    check_span_at(a.unit, row->unit, strlen(row->unit), row->paths[0], reverse);
    check_span_at(a.container, row->container, strlen(row->container), row->paths[0], reverse);
    check_span_at(a.pod, row->pod, strlen(row->pod), row->paths[0], reverse);
}

static void agree_or_not(void **state)
{
    static const struct row rows[] = {
        {{NULL}, "", "", ""},
        {{"?"}, "", "", ""},
        {{"/"}, "", "", ""},
        {{"/system.slice/a.service"}, "a.service", "", ""},
        {{"/system.slice/a.service", "/system.slice/a.service/sub"}, "a.service", "", ""},
        {{"/system.slice/a.service", "?", "/a.slice/a.service"}, "a.service", "", ""},
        {{"/system.slice/a.service", "/system.slice/b.service"}, "", "", ""},
        {{"/system.slice/a.service", "/system.slice/b.service", "/system.slice/a.service"},
         "",
         "",
         ""},
        {{"/system.slice/a.service", "/"}, "", "", ""},
        {{"/system.slice/docker-" ID ".scope"}, "docker-" ID ".scope", "34dc0b5e626f", ""},
        {{"/docker/" ID, "/docker/" ID2}, "", "", ""},
        {{PODS ID, PODS ID2}, "", "", UID},
        {{PODS ID, PODS ID, PODS ID}, "", "34dc0b5e626f", UID},
        {{PODS ID, "/docker/" ID}, "", "34dc0b5e626f", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        check_row(&rows[i], false);
        check_row(&rows[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
