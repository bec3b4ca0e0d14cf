/* agreement - what the control groups of all a group's members have in common. */
#include "group/agreement.h"

/* Once they differ it is empty, which is nobody's, and stays so. */
static void agree(struct span *common, struct span value)
{
    if (!span_equal(*common, value))
        *common = span_of(NULL, 0);
}

void agreement_add(struct agreement *a, const struct cgroup_identity *identity)
{
    /* Members of a group are in one control group as a rule. */
    if (!identity || identity == a->last)
        return;
    if (!a->last) {
        a->unit = identity->unit;
        a->container = identity->container;
        a->pod = identity->pod;
    }
    agree(&a->unit, identity->unit);
    agree(&a->container, identity->container);
    agree(&a->pod, identity->pod);
    a->last = identity;
}
