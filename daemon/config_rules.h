#pragma once
/*
 * config_rules - the [group NAME] and [exclude NAME] sections of the configuration.
 *
 * Who reads the file makes a rule per section with config_rules_begin(), sets its fields as the
 * table group_option_specs says, and has it judged by config_rule_check() when it is over.
 *
 * What is wrong is appended to `what`, without file, line and section; the result is -EINVAL or
 * -ENOMEM then.
 */
#include "daemon/config.h"

/* Whether this is the name of such a section: `group NAME` or `exclude NAME`. */
bool config_rule_section(struct span section, bool *ret_exclude, struct span *ret_name);

/* Adds a rule without patterns; *ret lives until the next one is added. */
int config_rules_begin(struct config_rules *rules, bool exclude, struct span name, unsigned line,
                       struct config_rule **ret, struct buf *what);
void config_rules_deinit(struct config_rules *rules);

/* Whether the key may be given in the rule's section. */
bool config_rule_takes(const struct config_rule *rule, enum group_option_id option);

/* Whether the rule is fit for rules_add(). */
int config_rule_check(const struct config_rule *rule, struct buf *what);

/* Adds it to the rules. */
int config_rule_add(const struct config_rule *rule, struct rules *rules, struct buf *what);

/* Appends the section. */
void config_rule_print(const struct config_rule *rule, struct buf *out);
