/*
 * explanation - why a process is in its group, as text for people.
 *
 * First what rules look at and where that is from, then what each rule made of it, then the group.
 * Rules are asked again here, by rules_explain(), with the subject that was decided by.
 */
#include "daemon/explanation.h"

#include "base/utf8.h"
#include "daemon/escape.h"
#include "daemon/timestamp.h"
#include "group/default_name.h"
#include "procfs/probe.h"

#include <errno.h>
#include <string.h>

enum {
    SHOWN_MAX = 512,      /* bytes of a value */
    SHOWN_AGAIN_MAX = 80, /* where a rule is told of */
    PATTERNS_SHOWN = 4,   /* of those that do not match */
    RAW_NAME_MAX = 4096,  /* of a group, before it is a label value */
};

/* What is known while the rules are told of. */
struct telling {
    const struct explanation *e;
    struct buf *out;
    struct buf name; /* that rule or default gave, not yet a label value */
};

/* ---- values ---- */

static void begin_value(struct buf *out, const char *name)
{
    buf_printf(out, "    %-10s ", name);
}

static void quote(struct buf *out, struct span value)
{
    escape_append_quoted(out, value, SHOWN_MAX);
}

/* What the configuration says, as it is written there. */
static void put_written(struct buf *out, struct span text)
{
    char c[ESCAPE_MAX];

    while (text.n > 0) {
        char first = *text.p;
        size_t n = escape_next(&text, c);

        if (first == '"' || first == '\\')
            buf_append_char(out, first);
        else
            buf_append(out, c, n);
    }
}

static void put_pattern(struct buf *out, struct span pattern)
{
    buf_append_char(out, '"');
    put_written(out, pattern);
    buf_append_char(out, '"');
}

static void quote_again(struct buf *out, struct span value)
{
    escape_append_quoted(out, value, SHOWN_AGAIN_MAX);
}

/* A value, or why there is none. */
static void put_value(struct buf *out, const char *name, struct span value, const char *none)
{
    begin_value(out, name);
    if (value.n > 0)
        quote(out, value);
    else
        buf_printf(out, "none%s%s", *none ? ": " : "", none);
    buf_append_char(out, '\n');
}

static struct span comm_of(const struct process *p)
{
    return span_of(p->comm, p->comm_len);
}

static void put_process(const struct process *p, struct buf *out)
{
    buf_printf(out, "%u ", (unsigned)p->identity.pid);
    quote(out, comm_of(p));
}

/* Why there is no text that is read of processes; NULL: nothing about the process says so. */
static const char *lacks_texts(const struct explanation *e)
{
    if (e->process->kernel_thread)
        return "a kernel thread has none";
    return e->process->state == STATE_ZOMBIE ? "a zombie has none any more" : NULL;
}

static const char *why_unread(int error)
{
    return error == -ETIMEDOUT ? "the process does not answer" : strerror(-error);
}

static void put_exe(const struct explanation *e, struct buf *out)
{
    struct span exe = e->subject->exe;
    const char *lacks = lacks_texts(e);
    bool linked = e->texts->have & part_bit(PART_EXE);

    if (lacks || (linked && exe.n == 0)) {
        put_value(out, "exe", exe, lacks ? lacks : "it runs no program");
        return;
    }
    begin_value(out, "exe");
    if (exe.n > 0)
        quote(out, exe);
    else
        buf_append_str(out, "none");
    if (linked)
        buf_append_str(out, ", as the link says\n");
    else
        buf_printf(out, "%s: the link cannot be read: %s\n",
                   exe.n > 0 ? ", as the first argument says" : "",
                   why_unread(e->texts->exe_error));
}

static void put_cmdline(const struct explanation *e, struct buf *out)
{
    const char *lacks = lacks_texts(e);
    struct span cmdline = e->subject->cmdline;

    if (!lacks && !(e->texts->have & part_bit(PART_CMDLINE)))
        lacks = why_unread(e->texts->cmdline_error);
    if (cmdline.n == 0) {
        put_value(out, "cmdline", cmdline, lacks ? lacks : "it shows no arguments");
        return;
    }
    begin_value(out, "cmdline");
    quote(out, cmdline);
    if (cmdline.n >= PROBE_CMDLINE_MAX)
        buf_printf(out, ", only the first %d bytes count", PROBE_CMDLINE_MAX);
    else if (cmdline.n > SHOWN_MAX)
        buf_printf(out, ", %zu bytes", cmdline.n);
    buf_append_char(out, '\n');
}

/* The number stands for a user without a name, or whose name is not to be had. */
static void put_named(struct buf *out, struct span name, uint32_t uid)
{
    quote(out, name);
    buf_printf(out, ", uid %u\n", (unsigned)uid);
}

static void put_user(const struct explanation *e, struct buf *out)
{
    const struct origin *o = &e->process->origin;

    if (e->subject->user.n == 0 || !o->have_uid) {
        put_value(out, "user", span_of(NULL, 0),
                  o->have_uid ? "nobody looks for it" : "its status cannot be read");
        return;
    }
    begin_value(out, "user");
    put_named(out, e->subject->user, o->uid);
}

static void put_session(const struct explanation *e, struct buf *out)
{
    const struct cgroup_identity *cgroup = e->subject->cgroup;

    if (!cgroup->has_session)
        return;
    begin_value(out, "session");
    put_named(out, e->subject->session_user, cgroup->session_uid);
}

static void put_container(const struct cgroup_identity *cgroup, struct buf *out)
{
    if (cgroup->container.n == 0)
        return;
    begin_value(out, "container");
    quote(out, cgroup->container);
    if (!span_equal(cgroup->container, cgroup->container_id)) {
        buf_append_str(out, ", in full ");
        quote(out, cgroup->container_id);
    }
    buf_append_char(out, '\n');
}

static void put_cgroup_name(struct buf *out, const char *name, struct span value)
{
    if (value.n > 0)
        put_value(out, name, value, "");
}

/* The path, and of what it could say that which it does. */
static void put_cgroup(const struct explanation *e, struct buf *out)
{
    const struct cgroup_identity *cgroup = e->subject->cgroup;

    if (!cgroup) {
        put_value(out, "cgroup", span_of(NULL, 0), "it cannot be read");
        return;
    }
    if (e->process->kernel_thread && span_equal(cgroup->path, SPAN_LITERAL("/"))) {
        put_value(out, "cgroup", span_of(NULL, 0), "a kernel thread in the root is in none");
        return;
    }
    put_value(out, "cgroup", cgroup->path, "its path is empty");
    put_cgroup_name(out, "pod", cgroup->pod);
    put_container(cgroup, out);
    put_cgroup_name(out, "unit", cgroup->unit);
    put_cgroup_name(out, "service", cgroup->service);
    put_cgroup_name(out, "slice", cgroup->slice);
    put_session(e, out);
}

static void put_parent(const struct explanation *e, struct buf *out)
{
    if (!e->parent)
        return;
    begin_value(out, "parent");
    put_process(e->parent, out);
    buf_append_char(out, '\n');
}

static const char *kind_of(const struct process *p)
{
    if (p->kernel_thread)
        return ", a kernel thread";
    return p->state == STATE_ZOMBIE ? ", a zombie" : "";
}

static void put_values(const struct explanation *e, struct buf *out)
{
    char start[TIMESTAMP_MAX];

    buf_append_str(out, "process ");
    put_process(e->process, out);
    buf_append_str(out, kind_of(e->process));
    if (e->start_ns > 0) {
        timestamp_format(e->start_ns, start);
        buf_printf(out, ", started %s", start);
    }
    buf_append_str(out, "\n");
    put_exe(e, out);
    put_cmdline(e, out);
    put_user(e, out);
    put_cgroup(e, out);
    put_parent(e, out);
}

/* ---- rules ---- */

static void put_section(const struct telling *t, size_t rule)
{
    const struct config *c = t->e->config;
    const struct config_rule *section = &c->rules.items[rule];

    put_written(t->out, span_from_str(c->file ? c->file : ""));
    buf_printf(t->out, ":%u: [%s ", section->line, section->exclude ? "exclude" : "group");
    put_written(t->out, span_from_str(section->name));
    buf_append_str(t->out, "]: ");
}

static void put_mismatch(const struct rule_patterns *patterns, struct buf *out)
{
    buf_append_str(out, patterns->n == 1 ? "does not match" : "matches none of");
    for (size_t i = 0; i < patterns->n && i < PATTERNS_SHOWN; i++) {
        buf_append_char(out, ' ');
        put_pattern(out, patterns->items[i]);
    }
    if (patterns->n > PATTERNS_SHOWN)
        buf_printf(out, " and %zu more", patterns->n - PATTERNS_SHOWN);
}

/* What came of one condition. */
static void put_finding(struct telling *t, size_t rule, enum rule_key key,
                        const struct rule_finding *finding)
{
    struct buf *out = t->out;

    if (finding->kind == FINDING_NOT_ASKED)
        return;
    begin_value(out, group_option_specs[key].key);
    if (finding->value.n > 0) {
        quote_again(out, finding->value);
        buf_append_char(out, ' ');
    }
    switch (finding->kind) {
    case FINDING_NOT_ASKED:
        break;
    case FINDING_HOLDS:
        buf_append_str(out, "matches ");
        put_pattern(out, finding->pattern);
        break;
    case FINDING_FAILS:
        put_mismatch(&t->e->groups->rules.rules[rule].own.patterns[key], out);
        break;
    case FINDING_NO_VALUE:
        buf_append_str(out, "there is none");
        break;
    case FINDING_EXPECTED:
        buf_append_str(out, "it is not known yet");
        break;
    case FINDING_LIMIT:
        buf_append_str(out, "was not searched to the end, that takes too long: ");
        put_pattern(out, finding->pattern);
        break;
    case FINDING_NO_GROUP:
        buf_append_str(out, "matches, but without a group that the name has: ");
        put_pattern(out, finding->pattern);
        break;
    }
    buf_append_char(out, '\n');
}

static bool findings_hold(const struct rule_explanation *r)
{
    if (r->kernel == FINDING_FAILS)
        return false;
    for (size_t key = 0; key < RULE_KEY_N; key++)
        if (r->findings[key].kind != FINDING_NOT_ASKED && r->findings[key].kind != FINDING_HOLDS)
            return false;
    return true;
}

static void put_kernel(struct telling *t, const struct rule_explanation *r)
{
    static const char *const words[] = {[RULE_KERNEL_ONLY] = "yes", [RULE_KERNEL_NONE] = "no"};

    if (r->kernel == FINDING_NOT_ASKED)
        return;
    begin_value(t->out, group_option_specs[GROUP_OPTION_KERNEL].key);
    buf_printf(t->out, "%s %s\n", r->kernel == FINDING_HOLDS ? "matches" : "does not match",
               words[t->e->groups->rules.rules[r->rule].own.kernel]);
}

/* What else than conditions keeps the rule from being taken. */
static void put_obstacles(struct telling *t, const struct rule_explanation *r)
{
    if (r->not_kernel_threads)
        buf_append_str(t->out, "    of kernel threads none is taken by its user alone\n");
    if (r->place.n > 0) {
        buf_append_str(t->out, "    the name's ");
        put_written(t->out, r->place);
        buf_append_str(t->out,
                       r->verdict == VERDICT_LATER ? " has no value yet\n" : " has no value\n");
    } else if (r->verdict == VERDICT_PASSED_OVER && !r->not_kernel_threads && findings_hold(r)) {
        buf_append_str(t->out, "    the name would be empty\n");
    }
}

static const char *verdict_text(enum rule_verdict verdict)
{
    switch (verdict) {
    case VERDICT_PASSED_OVER:
        return "passed over";
    case VERDICT_GROUP:
        return "matches, and gives the group";
    case VERDICT_EXCLUDE:
        return "matches, and takes the process out of all groups";
    case VERDICT_LATER:
        break;
    }
    return "waits";
}

/* For rules_explain(). */
static void tell_rule(const struct rule_explanation *r, void *arg)
{
    struct telling *t = arg;

    put_section(t, r->rule);
    buf_printf(t->out, "%s\n", verdict_text(r->verdict));
    for (size_t key = 0; key < RULE_KEY_N; key++)
        put_finding(t, r->rule, (enum rule_key)key, &r->findings[key]);
    put_kernel(t, r);
    put_obstacles(t, r);
    if (r->verdict == VERDICT_GROUP)
        buf_append_span(&t->name, r->name);
}

/* ---- without a rule ---- */

static const char *step_text(enum default_step step)
{
    switch (step) {
    case DEFAULT_KERNEL:
        return "it is a kernel thread";
    case DEFAULT_POD:
        return "it is in a pod";
    case DEFAULT_CONTAINER:
        return "it is in a container";
    case DEFAULT_SERVICE:
        return "it is in a service";
    case DEFAULT_SESSION:
        return "it is in a user's session";
    case DEFAULT_COMM:
        break;
    }
    return "it is in no pod, container, service or session, so that its comm counts";
}

static void tell_default(struct telling *t)
{
    const struct subject *s = t->e->subject;
    enum default_step step = default_step(s);

    (void)default_name(s, &t->name);
    buf_append_str(t->out, t->e->groups->rules.n_rules > 0 ? "no section matches: " : "default: ");
    if (t->e->groups->rules_lead && step != DEFAULT_KERNEL)
        buf_append_str(t->out, "it follows no ancestor, and ");
    buf_append_str(t->out, step_text(step));
    if (step == DEFAULT_COMM && !span_equal(buf_span(&t->name), s->comm))
        buf_append_str(t->out, ", after comm/ since it reads like another group's name");
    buf_append_char(t->out, '\n');
}

static void tell_leader(struct telling *t)
{
    const struct explanation *e = t->e;

    buf_printf(t->out, "no section matches: it follows its %s ",
               e->leader == e->parent ? "parent" : "ancestor");
    if (e->leader)
        put_process(e->leader, t->out);
    else
        buf_append_str(t->out, "that has ended");
    buf_append_str(t->out, ", whose section has children = yes\n");
}

static void tell_rest(struct telling *t, const struct rule_match *match)
{
    size_t rest = t->e->groups->rules.n_rules - match->rule - 1;

    if (rest > 0)
        buf_printf(t->out, "%zu more section%s not asked\n", rest, rest == 1 ? " is" : "s are");
}

static void tell_rules(struct telling *t)
{
    struct rule_match match;
    struct buf scratch;

    buf_init(&scratch, RAW_NAME_MAX);
    match = rules_explain(&t->e->groups->rules, t->e->subject, &scratch, tell_rule, t);
    buf_deinit(&scratch);
    if (match.outcome != RULE_DEFAULT)
        tell_rest(t, &match);
    else if (t->e->decision.follows)
        tell_leader(t);
    else
        tell_default(t);
}

/* ---- the group ---- */

/* Where the group's name is another than what the rule or the default gave. */
static void tell_difference(struct telling *t, uint32_t group)
{
    const struct explanation *e = t->e;
    struct span name = group_name(e->groups, group);

    if (e->decision.follows)
        return;
    if (group_is_other(&e->groups->groups[group]))
        buf_printf(t->out, ", since max in [groups] allows no more than %zu; else ",
                   e->groups->max);
    else if (!span_equal(name, buf_span(&t->name)))
        buf_append_str(t->out, ", which is the label value made of ");
    else
        return;
    quote(t->out, buf_span(&t->name));
}

static void tell_group(struct telling *t)
{
    const struct decision *d = &t->e->decision;

    buf_append_char(t->out, '\n');
    switch ((enum standing)d->standing) {
    case STANDING_MEMBER:
        buf_append_str(t->out, "group ");
        quote(t->out, group_name(t->e->groups, d->group));
        tell_difference(t, d->group);
        break;
    case STANDING_EXCLUDED:
        buf_append_str(t->out, "excluded");
        break;
    case STANDING_NONE:
    case STANDING_PENDING:
        buf_append_str(t->out, "pending");
        break;
    }
    buf_append_char(t->out, '\n');
}

void explanation_render(const struct explanation *e, struct buf *out)
{
    struct telling t = {.e = e, .out = out};

    buf_init(&t.name, RAW_NAME_MAX);
    put_values(e, out);
    buf_append_char(out, '\n');
    tell_rules(&t);
    tell_group(&t);
    if (buf_failed(&t.name))
        out->failed = true;
    buf_deinit(&t.name);
}
