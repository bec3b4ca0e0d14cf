/*
 * rule - which group a process belongs to, or that it belongs to none.
 *
 * rule_find() holds one condition against a process; matching stops at the first that fails,
 * explaining asks all. The command line comes last, since its search costs most and since the
 * name's groups are filled from it.
 */
#include "group/rule.h"

#include "base/glob.h"
#include "base/scan.h"

#include <errno.h>
#include <stdlib.h>

/* Groups that mean something of their own. The last may be asked for by name. */
static const struct span own_groups[] = {
    SPAN_LITERAL("_other"),
    SPAN_LITERAL("_empty"),
    SPAN_LITERAL("kernel"),
};
enum { OWN_GROUPS = 3, RESERVED_GROUPS = 2 };

static uint32_t key_bit(enum rule_key key)
{
    return UINT32_C(1) << key;
}

/* ---- making ---- */

void rules_init(struct rules *r)
{
    *r = (struct rules){0};
}

static void rule_deinit(struct rule *rule)
{
    for (size_t i = 0; rule->regexes && i < rule->own.patterns[RULE_CMDLINE].n; i++)
        regex_free(rule->regexes[i]);
    free(rule->regexes);
    template_deinit(&rule->name);
    free(rule->items);
    free(rule->text);
}

void rules_deinit(struct rules *r)
{
    for (size_t i = 0; i < r->n_rules; i++)
        rule_deinit(&r->rules[i]);
    free(r->rules);
    regex_matcher_free(r->matcher);
    *r = (struct rules){0};
}

/* Appends the bytes at *at, and says where they are now. */
static struct span copy_to(char **at, struct span s)
{
    struct span copy = span_of(*at, s.n);

    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* Copies all that it points to. */
static int rule_copy(struct rule *rule, const struct rule_spec *spec)
{
    size_t bytes = spec->name.n, n = 0;
    struct span *item;
    char *at;

    for (size_t key = 0; key < RULE_KEY_N; key++) {
        n += spec->patterns[key].n;
        for (size_t i = 0; i < spec->patterns[key].n; i++)
            bytes += spec->patterns[key].items[i].n;
    }
    rule->text = malloc(bytes + 1);
    rule->items = calloc(n + 1, sizeof(*rule->items));
    if (!rule->text || !rule->items)
        return -ENOMEM;
    at = rule->text;
    item = rule->items;
    rule->own = *spec;
    rule->own.name = copy_to(&at, spec->name);
    for (size_t key = 0; key < RULE_KEY_N; key++) {
        rule->own.patterns[key].items = item;
        for (size_t i = 0; i < spec->patterns[key].n; i++)
            *item++ = copy_to(&at, spec->patterns[key].items[i]);
        if (spec->patterns[key].n > 0)
            rule->given |= key_bit((enum rule_key)key);
    }
    return 0;
}

/* The one of the first n own groups that has this name; NULL: none. */
static const struct span *own_group(struct span name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (span_equal(name, own_groups[i]))
            return &own_groups[i];
    return NULL;
}

/* Whether the template is a fixed name that means something else. */
static int check_reserved(const struct template *t)
{
    struct buf name;
    int r = 0;

    if (!t->fixed)
        return 0;
    buf_init(&name, TEMPLATE_NAME_MAX);
    (void)template_fill(t, &(struct subject){0}, &(struct template_match){0}, &name);
    if (buf_failed(&name))
        r = -ENOMEM;
    else if (own_group(buf_span(&name), RESERVED_GROUPS))
        r = RULE_E_RESERVED;
    buf_deinit(&name);
    return r;
}

static int parse_name(struct span name, struct template *ret, struct span *ret_wrong)
{
    struct template t;
    int r = template_parse(name, &t, ret_wrong);

    if (r != 0)
        return r;
    r = check_reserved(&t);
    if (r != 0) {
        *ret_wrong = name;
        template_deinit(&t);
        return r;
    }
    *ret = t;
    return 0;
}

int rule_check_name(struct span name, struct span *ret_wrong)
{
    struct template t;
    int r = parse_name(name, &t, ret_wrong);

    if (r == 0)
        template_deinit(&t);
    return r;
}

/* `${user}` is the user, so a group of this name could not be asked for. */
static int check_group_names(const struct regex *re, struct rule_fault *fault)
{
    struct span name;

    for (size_t i = 0; regex_group_name(re, i, &name); i++) {
        fault->place = place_from_name(name);
        if (fault->place != PLACE_N)
            return RULE_E_SHADOWED;
    }
    return 0;
}

static int make_regex(struct span pattern, struct regex **ret, struct rule_fault *fault)
{
    struct regex *re;
    int r = regex_new(pattern, &re, &fault->regex);

    if (r != 0)
        return r < 0 ? r : RULE_E_REGEX;
    r = check_group_names(re, fault);
    if (r != 0) {
        regex_free(re);
        return r;
    }
    *ret = re;
    return 0;
}

int rule_check_pattern(enum rule_key key, struct span pattern, struct rule_fault *ret_fault)
{
    struct regex *re;
    int r;

    *ret_fault = (struct rule_fault){.part = pattern, .key = key};
    if (key != RULE_CMDLINE)
        return glob_check(pattern) == 0 ? 0 : RULE_E_GLOB;
    r = make_regex(pattern, &re, ret_fault);
    if (r == 0)
        regex_free(re);
    return r;
}

static int check_globs(const struct rule_spec *spec, struct rule_fault *fault)
{
    int r = 0;

    for (size_t key = 0; key < RULE_CMDLINE && r == 0; key++)
        for (size_t i = 0; i < spec->patterns[key].n && r == 0; i++) {
            r = rule_check_pattern((enum rule_key)key, spec->patterns[key].items[i], fault);
            fault->item = i;
        }
    return r;
}

static int make_regexes(struct rule *rule, const struct rule_spec *spec, struct rule_fault *fault)
{
    const struct rule_patterns *patterns = &spec->patterns[RULE_CMDLINE];
    int r = 0;

    if (patterns->n == 0)
        return 0;
    rule->regexes = calloc(patterns->n, sizeof(*rule->regexes));
    if (!rule->regexes)
        return -ENOMEM;
    for (size_t i = 0; i < patterns->n && r == 0; i++) {
        *fault = (struct rule_fault){.part = patterns->items[i], .key = RULE_CMDLINE, .item = i};
        r = make_regex(patterns->items[i], &rule->regexes[i], fault);
    }
    return r;
}

static bool rule_has_group(const struct rule *rule, struct span group)
{
    for (size_t i = 0; i < rule->own.patterns[RULE_CMDLINE].n; i++)
        if (regex_has_group(rule->regexes[i], group))
            return true;
    return false;
}

/* Parses the name, and finds each of its groups in an expression. */
static int rule_parse_name(struct rule *rule, struct span *ret_wrong)
{
    int r = parse_name(rule->own.name, &rule->name, ret_wrong);

    for (size_t i = 0; r == 0 && i < rule->name.n_pieces; i++)
        if (rule->name.pieces[i].kind == TEMPLATE_GROUP &&
            !rule_has_group(rule, rule->name.pieces[i].text)) {
            *ret_wrong = rule->name.pieces[i].whole;
            r = RULE_E_GROUP;
        }
    return r;
}

/* The part of `text` that `part` is of its copy. */
static struct span same_part(struct span text, struct span copy, struct span part)
{
    return text.n > 0 ? span_of(text.p + (part.p - copy.p), part.n) : text;
}

static int rule_make(struct rule *rule, const struct rule_spec *spec, struct rule_fault *fault)
{
    struct span wrong;
    int r = rule_copy(rule, spec);

    if (r == 0)
        r = check_globs(spec, fault);
    if (r == 0)
        r = make_regexes(rule, spec, fault);
    if (r == 0 && !spec->exclude) {
        r = rule_parse_name(rule, &wrong);
        if (r > 0)
            fault->part = same_part(spec->name, rule->own.name, wrong);
    }
    if (r == 0 && rule->given == 0 && spec->kernel == RULE_KERNEL_ANY) {
        fault->part = spec->name;
        r = RULE_E_NO_CONDITION;
    }
    return r;
}

static int rules_reserve(struct rules *r, const struct rule_spec *spec)
{
    struct rule *rules = realloc(r->rules, (r->n_rules + 1) * sizeof(*rules));

    if (!rules)
        return -ENOMEM;
    r->rules = rules;
    if (spec->patterns[RULE_CMDLINE].n == 0 || r->matcher)
        return 0;
    return regex_matcher_new(&r->matcher);
}

int rules_add(struct rules *r, const struct rule_spec *spec, struct rule_fault *ret_fault)
{
    struct rule rule = {0};
    int error = rule_make(&rule, spec, ret_fault);

    if (error == 0)
        error = rules_reserve(r, spec);
    if (error != 0) {
        rule_deinit(&rule);
        return error;
    }
    r->rules[r->n_rules++] = rule;
    return 0;
}

/* ---- one condition ---- */

/* Under which name the key's values are known. */
static const enum place key_places[RULE_KEY_N] = {
    [RULE_COMM] = PLACE_COMM, [RULE_EXE] = PLACE_EXE_PATH,    [RULE_USER] = PLACE_USER,
    [RULE_UNIT] = PLACE_UNIT, [RULE_CGROUP] = PLACE_CGROUP,   [RULE_CONTAINER] = PLACE_CONTAINER,
    [RULE_POD] = PLACE_POD,   [RULE_CMDLINE] = PLACE_CMDLINE,
};

static bool exe_matches(struct span glob, const struct subject *s, struct span path)
{
    struct span last = path;

    if (!memchr(glob.p, '/', glob.n))
        (void)place_value(PLACE_EXE, s, &last);
    return glob_match(glob, last);
}

static bool container_matches(struct span glob, const struct subject *s, struct span id)
{
    struct span full;

    return glob_match(glob, id) ||
           (place_value(PLACE_CONTAINER_ID, s, &full) == PLACE_KNOWN && glob_match(glob, full));
}

/* A number is meant by a glob of digits alone, whatever name its user has. */
static bool uid_matches(struct span glob, const struct subject *s)
{
    uint64_t uid;

    return s->have_uid && scan_whole_u64(glob, &uid) == 0 && uid == s->uid;
}

static bool pattern_matches(enum rule_key key, struct span glob, const struct subject *s,
                            struct span value)
{
    switch (key) {
    case RULE_EXE:
        return exe_matches(glob, s, value);
    case RULE_CONTAINER:
        return container_matches(glob, s, value);
    case RULE_USER:
        return glob_match(glob, value) || uid_matches(glob, s);
    default:
        return glob_match(glob, value);
    }
}

static void find_glob(const struct rule *rule, enum rule_key key, const struct subject *s,
                      struct rule_finding *finding)
{
    const struct rule_patterns *patterns = &rule->own.patterns[key];

    finding->kind = FINDING_FAILS;
    for (size_t i = 0; i < patterns->n; i++)
        if (pattern_matches(key, patterns->items[i], s, finding->value)) {
            finding->pattern = patterns->items[i];
            finding->kind = FINDING_HOLDS;
            return;
        }
}

/* The first expression that matches, and gives the name its groups. */
static void find_cmdline(struct rule *rule, struct regex_matcher *matcher,
                         struct rule_finding *finding, struct template_match *match)
{
    const struct rule_patterns *patterns = &rule->own.patterns[RULE_CMDLINE];

    finding->kind = FINDING_FAILS;
    for (size_t i = 0; i < patterns->n; i++) {
        enum regex_result result = regex_match(rule->regexes[i], matcher, finding->value);

        if (result == REGEX_NO)
            continue;
        finding->pattern = patterns->items[i];
        finding->kind = result == REGEX_LIMIT ? FINDING_LIMIT : FINDING_NO_GROUP;
        rule->limit_reached += result == REGEX_LIMIT;
        *match = (struct template_match){rule->regexes[i], matcher, finding->value};
        if (result == REGEX_YES && template_groups_set(&rule->name, match)) {
            finding->kind = FINDING_HOLDS;
            return;
        }
    }
}

static void rule_find(const struct rules *r, struct rule *rule, enum rule_key key,
                      const struct subject *s, struct rule_finding *finding,
                      struct template_match *match)
{
    enum place_state state = place_value(key_places[key], s, &finding->value);

    if (state == PLACE_EXPECTED)
        finding->kind = FINDING_EXPECTED;
    else if (state == PLACE_NONE)
        finding->kind = FINDING_NO_VALUE;
    else if (key == RULE_CMDLINE)
        find_cmdline(rule, r->matcher, finding, match);
    else
        find_glob(rule, key, s, finding);
}

/* ---- all conditions ---- */

/* Adds one finding to what the rule comes to. */
static enum rule_verdict verdict_with(enum rule_verdict verdict, enum rule_finding_kind kind)
{
    switch (kind) {
    case FINDING_NOT_ASKED:
    case FINDING_HOLDS:
        return verdict;
    case FINDING_EXPECTED:
        return verdict == VERDICT_PASSED_OVER ? verdict : VERDICT_LATER;
    case FINDING_FAILS:
    case FINDING_NO_VALUE:
    case FINDING_LIMIT:
    case FINDING_NO_GROUP:
        break;
    }
    return VERDICT_PASSED_OVER;
}

static enum rule_finding_kind place_finding(enum place_state state)
{
    return state == PLACE_KNOWN      ? FINDING_HOLDS
           : state == PLACE_EXPECTED ? FINDING_EXPECTED
                                     : FINDING_NO_VALUE;
}

/* Kernel threads run as root, which nobody means who asks for the user alone. */
static bool rule_is_for(const struct rule *rule, const struct subject *s)
{
    return !s->kernel_thread || rule->own.kernel != RULE_KERNEL_ANY ||
           rule->given != key_bit(RULE_USER);
}

static enum rule_finding_kind find_kernel(const struct rule *rule, const struct subject *s)
{
    if (rule->own.kernel == RULE_KERNEL_ANY)
        return FINDING_NOT_ASKED;
    return s->kernel_thread == (rule->own.kernel == RULE_KERNEL_ONLY) ? FINDING_HOLDS
                                                                      : FINDING_FAILS;
}

/*
 * What the rule comes to. With `all` each condition is asked, else none behind one that fails. A
 * rule that would be taken is VERDICT_GROUP whatever it does.
 */
static enum rule_verdict rule_judge(const struct rules *r, struct rule *rule,
                                    const struct subject *s, bool all, struct rule_explanation *e,
                                    struct template_match *match)
{
    const struct template_piece *piece = NULL;
    enum rule_verdict verdict = VERDICT_GROUP;
    enum place_state places;

    e->kernel = find_kernel(rule, s);
    verdict = verdict_with(verdict, e->kernel);
    e->not_kernel_threads = !rule_is_for(rule, s);
    if (e->not_kernel_threads)
        verdict = VERDICT_PASSED_OVER;
    for (uint32_t rest = rule->given & ~key_bit(RULE_CMDLINE); rest; rest &= rest - 1) {
        enum rule_key key = (enum rule_key)__builtin_ctz(rest);

        if (verdict == VERDICT_PASSED_OVER && !all)
            return verdict;
        rule_find(r, rule, key, s, &e->findings[key], match);
        verdict = verdict_with(verdict, e->findings[key].kind);
    }
    places = template_places(&rule->name, s, &piece);
    verdict = verdict_with(verdict, place_finding(places));
    e->place = piece ? piece->whole : span_of(NULL, 0);
    if ((rule->given & key_bit(RULE_CMDLINE)) && (verdict != VERDICT_PASSED_OVER || all)) {
        rule_find(r, rule, RULE_CMDLINE, s, &e->findings[RULE_CMDLINE], match);
        verdict = verdict_with(verdict, e->findings[RULE_CMDLINE].kind);
    }
    return verdict;
}

/* Appends the name that the rule's template gives; false if it is empty. */
static bool rule_name(const struct rule *rule, const struct subject *s,
                      const struct template_match *match, struct buf *out)
{
    const struct span *own;
    size_t start = out->len;

    if (!template_fill(&rule->name, s, match, out))
        return false;
    if (rule->name.fixed || buf_failed(out))
        return true;
    own = own_group(span_of(out->data + start, out->len - start), OWN_GROUPS);
    if (own) {
        out->len = start;
        buf_append_str(out, "name/");
        buf_append_span(out, *own);
    }
    return true;
}

/* What a rule means that is taken, or waits. */
static struct rule_match rule_match_of(const struct rule *rule, size_t number,
                                       enum rule_verdict verdict)
{
    struct rule_match match = {.outcome = RULE_LATER, .rule = number};

    if (verdict == VERDICT_EXCLUDE)
        match.outcome = RULE_EXCLUDE;
    if (verdict == VERDICT_GROUP) {
        match.outcome = RULE_GROUP;
        match.children = rule->own.children;
    }
    return match;
}

/* One rule's verdict, and its name in out. */
static enum rule_verdict rule_try(const struct rules *r, struct rule *rule, const struct subject *s,
                                  bool all, struct rule_explanation *e, struct buf *out)
{
    struct template_match match = {0};
    enum rule_verdict verdict = rule_judge(r, rule, s, all, e, &match);

    if (verdict != VERDICT_GROUP)
        return verdict;
    if (rule->own.exclude)
        return VERDICT_EXCLUDE;
    return rule_name(rule, s, &match, out) ? VERDICT_GROUP : VERDICT_PASSED_OVER;
}

struct rule_match rules_match(const struct rules *r, const struct subject *s, struct buf *out_name)
{
    struct rule_explanation unused;

    for (size_t i = 0; i < r->n_rules; i++) {
        enum rule_verdict verdict = rule_try(r, &r->rules[i], s, false, &unused, out_name);

        if (verdict != VERDICT_PASSED_OVER)
            return rule_match_of(&r->rules[i], i, verdict);
    }
    return (struct rule_match){.outcome = RULE_DEFAULT};
}

struct rule_match rules_explain(const struct rules *r, const struct subject *s, struct buf *scratch,
                                void (*tell)(const struct rule_explanation *explanation, void *arg),
                                void *arg)
{
    for (size_t i = 0; i < r->n_rules; i++) {
        struct rule_explanation e = {.rule = i};

        buf_reset(scratch);
        e.verdict = rule_try(r, &r->rules[i], s, true, &e, scratch);
        e.name = buf_span(scratch);
        tell(&e, arg);
        if (e.verdict != VERDICT_PASSED_OVER)
            return rule_match_of(&r->rules[i], i, e.verdict);
    }
    return (struct rule_match){.outcome = RULE_DEFAULT};
}

/* ---- all rules ---- */

uint32_t rules_needs(const struct rules *r)
{
    uint32_t needs = 0;

    for (size_t i = 0; i < r->n_rules; i++) {
        needs |= template_needs(&r->rules[i].name);
        for (uint32_t rest = r->rules[i].given; rest; rest &= rest - 1)
            needs |= place_needs(key_places[__builtin_ctz(rest)]);
    }
    return needs;
}

bool rules_have_children(const struct rules *r)
{
    for (size_t i = 0; i < r->n_rules; i++)
        if (r->rules[i].own.children)
            return true;
    return false;
}

bool rules_fixed_name(const struct rules *r, size_t rule, struct buf *out_name)
{
    const struct template *name = &r->rules[rule].name;

    return name->fixed &&
           template_fill(name, &(struct subject){0}, &(struct template_match){0}, out_name);
}

void rules_begin(struct rules *r)
{
    if (r->matcher)
        regex_matcher_begin(r->matcher);
}

uint64_t rules_limit_reached(const struct rules *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->n_rules; i++)
        sum += r->rules[i].limit_reached;
    return sum;
}

bool rules_tell_limit(struct rules *r, size_t *ret_rule)
{
    for (size_t i = 0; i < r->n_rules; i++)
        if (r->rules[i].limit_reached > 0 && !r->rules[i].limit_told) {
            r->rules[i].limit_told = true;
            *ret_rule = i;
            return true;
        }
    return false;
}
