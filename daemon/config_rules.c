/*
 * config_rules - sections that say which processes are together.
 *
 * A section is judged by making a rule of it, so that what is accepted here is what the collector
 * can use.
 */
#include "daemon/config_rules.h"

#include "base/scan.h"
#include "daemon/escape.h"
#include "daemon/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 80 };

static const char *kind_of(bool exclude)
{
    return exclude ? "exclude" : "group";
}

bool config_rule_section(struct span section, bool *ret_exclude, struct span *ret_name)
{
    bool exclude = scan_literal(&section, SPAN_LITERAL("exclude"));

    if (!exclude && !scan_literal(&section, SPAN_LITERAL("group")))
        return false;
    if (section.n > 0 && *section.p != ' ' && *section.p != '\t')
        return false;
    *ret_exclude = exclude;
    *ret_name = span_trim(section);
    return true;
}

/* ---- errors ---- */

static int refuse(struct buf *what, const char *text)
{
    buf_append_str(what, text);
    return -EINVAL;
}

static int refuse_memory(struct buf *what)
{
    buf_append_str(what, "not enough memory");
    return -ENOMEM;
}

static void append_variables(struct buf *what)
{
    for (int i = 0; i < PLACE_NAMED_N; i++)
        buf_printf(what, "%s${%s}", i ? " " : "", place_name((enum place)i));
}

static const char *name_fault(int error)
{
    switch (error) {
    case TEMPLATE_E_UNCLOSED:
        return "lacks its }";
    case TEMPLATE_E_STRAY:
        return "is neither ${...} nor $$, a dollar";
    case TEMPLATE_E_EMPTY:
        return "is no name";
    case TEMPLATE_E_UNKNOWN:
    case RULE_E_GROUP:
        return "is no variable, nor a group of an expression of cmdline; variables are ";
    case RULE_E_RESERVED:
        return "is taken: _other is the group of what exceeds max, _empty of processes without a "
               "name";
    }
    return "cannot be used";
}

/* What rules_add() or rule_check_name() found wrong with this part of the text. */
static int refuse_rule(int error, struct span part, struct buf *what)
{
    if (error < 0)
        return refuse_memory(what);
    if (error == RULE_E_NO_CONDITION)
        return refuse(what, "names no processes: it needs comm, exe, user, unit, cgroup, "
                            "container, pod, cmdline or kernel");
    escape_append_quoted(what, part, SHOWN_MAX);
    buf_printf(what, " %s", name_fault(error));
    if (error == TEMPLATE_E_UNKNOWN || error == RULE_E_GROUP)
        append_variables(what);
    return -EINVAL;
}

/* ---- sections ---- */

static int check_name(const struct config_rules *rules, bool exclude, struct span name,
                      struct buf *what)
{
    struct span wrong;
    int r;

    if (name.n == 0) {
        buf_printf(what, "lacks its name: [%s NAME]", kind_of(exclude));
        return -EINVAL;
    }
    for (size_t i = 0; i < rules->n; i++)
        if (rules->items[i].exclude == exclude &&
            span_equal(name, span_from_str(rules->items[i].name))) {
            buf_printf(what, "is repeated, first in line %u", rules->items[i].line);
            return -EINVAL;
        }
    if (rules->n == CONFIG_RULES_MAX)
        return refuse(what, "is one section too many of groups and excluded processes");
    r = exclude ? 0 : rule_check_name(name, &wrong);
    return r == 0 ? 0 : refuse_rule(r, wrong, what);
}

static int reserve(struct config_rules *rules)
{
    size_t room = rules->room ? rules->room * 2 : 8;
    struct config_rule *items;

    if (rules->n < rules->room)
        return 0;
    items = realloc(rules->items, room * sizeof(*items));
    if (!items)
        return -ENOMEM;
    rules->items = items;
    rules->room = room;
    return 0;
}

int config_rules_begin(struct config_rules *rules, bool exclude, struct span name, unsigned line,
                       struct config_rule **ret, struct buf *what)
{
    struct config_rule rule = {.exclude = exclude, .line = line};
    int r = check_name(rules, exclude, name, what);

    if (r < 0)
        return r;
    if (reserve(rules) < 0)
        return refuse_memory(what);
    rule.name = strndup(name.p, name.n);
    if (!rule.name)
        return refuse_memory(what);
    rules->items[rules->n] = rule;
    *ret = &rules->items[rules->n++];
    return 0;
}

static void rule_deinit(struct config_rule *rule)
{
    for (size_t i = 0; i < GROUP_OPTION_N; i++)
        value_clear(&group_option_specs[i], rule);
    free(rule->name);
}

void config_rules_deinit(struct config_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        rule_deinit(&rules->items[i]);
    free(rules->items);
    *rules = (struct config_rules){0};
}

bool config_rule_takes(const struct config_rule *rule, enum group_option_id option)
{
    return option != GROUP_OPTION_CHILDREN || !rule->exclude;
}

/* ---- rules ---- */

/* The list's texts as spans, behind those that are at *at. */
static struct rule_patterns patterns_at(const struct config_list *list, struct span **at)
{
    struct rule_patterns patterns = {.items = *at, .n = list->n};

    for (size_t i = 0; i < list->n; i++)
        *(*at)++ = span_from_str(list->items[i]);
    return patterns;
}

int config_rule_add(const struct config_rule *rule, struct rules *rules, struct buf *what)
{
    struct rule_spec text = {.exclude = rule->exclude,
                             .children = rule->children != 0,
                             .kernel = rule->kernel,
                             .name = span_from_str(rule->name)};
    struct rule_fault fault = {0};
    struct span *items, *at;
    size_t n = 1;
    int r;

    for (size_t key = 0; key < RULE_KEY_N; key++)
        n += rule->patterns[key].n;
    at = items = calloc(n, sizeof(*items));
    if (!items)
        return refuse_memory(what);
    for (size_t key = 0; key < RULE_KEY_N; key++)
        text.patterns[key] = patterns_at(&rule->patterns[key], &at);
    r = rules_add(rules, &text, &fault);
    free(items);
    return r == 0 ? 0 : refuse_rule(r, fault.part, what);
}

int config_rule_check(const struct config_rule *rule, struct buf *what)
{
    struct rules rules;
    int r;

    rules_init(&rules);
    r = config_rule_add(rule, &rules, what);
    rules_deinit(&rules);
    return r;
}

/* ---- printing ---- */

static void print_list(const struct option_spec *spec, const struct config_list *list,
                       const struct config_rule *rule, struct buf *out)
{
    if (spec->kind == OPTION_REGEX) {
        for (size_t i = 0; i < list->n; i++)
            buf_printf(out, "%s = %s\n", spec->key, list->items[i]);
    } else if (list->n > 0) {
        buf_printf(out, "%s = ", spec->key);
        value_format(spec, rule, out);
        buf_append_char(out, '\n');
    }
}

/* Options up to GROUP_OPTION_KERNEL are patterns, in the order of their keys. */
_Static_assert(GROUP_OPTION_COMM == (int)RULE_COMM && GROUP_OPTION_CMDLINE == (int)RULE_CMDLINE &&
                   GROUP_OPTION_KERNEL == (int)RULE_KEY_N,
               "options.def has the rules' keys in their order");

static void print_choice(enum group_option_id option, const struct config_rule *rule,
                         struct buf *out)
{
    const struct option_spec *spec = &group_option_specs[option];

    buf_printf(out, "%s = ", spec->key);
    value_format(spec, rule, out);
    buf_append_char(out, '\n');
}

void config_rule_print(const struct config_rule *rule, struct buf *out)
{
    buf_printf(out, "\n[%s %s]\n", kind_of(rule->exclude), rule->name);
    for (size_t key = 0; key < RULE_KEY_N; key++)
        print_list(&group_option_specs[key], &rule->patterns[key], rule, out);
    if (rule->kernel != RULE_KERNEL_ANY)
        print_choice(GROUP_OPTION_KERNEL, rule, out);
    if (!rule->exclude)
        print_choice(GROUP_OPTION_CHILDREN, rule, out);
}
