/* Lines, sections and keys: forms that are taken, and for each that is not the exact error. */
#include "config_of_test.h"

/* Forms of a file that mean the same as the plain one. */
static void test_accepted_forms(void **state)
{
    static const char *const texts[] = {
        "[log]\nlevel = warn\n",
        "\xef\xbb\xbf[log]\nlevel = warn\n",
        "[log]\r\nlevel = warn\r\n",
        "[log]\nlevel = warn",
        "[log]\nlevel=warn\n",
        "[log]\t\nlevel\t=\twarn\t \n",
        "\n  \n\t\n# x\n; y\n  # z\n[log] \n#level = info\nlevel = warn\n\n",
        "[log]\n# \xc3\xa4 = ; [\nlevel = warn\n",
        "# " X100("0123456789") "0 level = x\n[log]\nlevel = warn\n",
    };
    struct parsed p;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        parse_good(&p, texts[i]);
        assert_int_equal(p.config.log_level, LOG_LEVEL_WARN);
        drop(&p);
    }
    parse_good(&p, "\xef\xbb\xbf");
    drop(&p);
}

static void test_bad_bytes(void **state)
{
    (void)state;
    CHECK_LITERAL("\xef\xbb\xbf\xef\xbb\xbf[log]\n",
                  "f.ini:1: a byte order mark, and not the first one of the file");
    CHECK_LITERAL("[log]\n\xef\xbb\xbflevel = warn\n",
                  "f.ini:2: [log]: a byte order mark, and not the first one of the file");
    CHECK_LITERAL("\xff\xfe[\0l\0", "f.ini:1: is UTF-16; it must be UTF-8");
    CHECK_LITERAL("\xfe\xff\0[\0l", "f.ini:1: is UTF-16; it must be UTF-8");
    CHECK_LITERAL("[\0l\0o\0g\0]\0\n\0", "f.ini:1: control character 0x00");
    CHECK_LITERAL("[log]\nlevel = warn\0\n", "f.ini:2: [log] level: control character 0x00");
    CHECK_LITERAL("[log]\rlevel = warn\r", "f.ini:1: a CR without LF: lines end with LF or CR LF");
    CHECK_LITERAL("[log]\r\nlevel = warn\r",
                  "f.ini:2: [log]: a CR without LF: lines end with LF or CR LF");
    CHECK_LITERAL("[log]\r\r\n", "f.ini:1: a CR without LF: lines end with LF or CR LF");
    CHECK_LITERAL("# \x1b[31m\n", "f.ini:1: control character 0x1b");
    CHECK_LITERAL("[log]\nlevel = \x7f\n", "f.ini:2: [log] level: control character 0x7f");
    CHECK_LITERAL("[log]\nlevel = \xff\xfe\x80\n", "f.ini:2: [log] level: byte 0xff is no UTF-8");
    CHECK_LITERAL("[log]\v\n", "f.ini:1: control character 0x0b");
}

static void test_bad_lines(void **state)
{
    static const struct row rows[] = {
        {"level = warn\n", "f.ini:1: level: stands before the first section"},
        {"[log]\njust\x01word\n", "f.ini:2: [log]: control character 0x01"},
        {"[log]\nle\xffvel = warn\n", "f.ini:2: [log]: byte 0xff is no UTF-8"},
        {"[log]\njustaword\n", "f.ini:2: [log]: this line is no \"key = value\""},
        {"[log]\nlevel: warn\n", "f.ini:2: [log]: this line is no \"key = value\": a \":\" comes "
                                 "before any \"=\""},
        {"[log]\n = warn\n",
         "f.ini:2: [log]: is indented; a value cannot be continued on another line"},
        {"[log]\n= warn\n", "f.ini:2: [log]: the key before the \"=\" is missing"},
        {"[log]\n=\n", "f.ini:2: [log]: the key before the \"=\" is missing"},
        {"[log]\nlevel =\n", "f.ini:2: [log] level: needs a value"},
        {"[log]\nlevel = \t \n", "f.ini:2: [log] level: needs a value"},
        {"[log]\nlevel = warn\n  format = json\n",
         "f.ini:3: [log]: is indented; a value cannot be continued on another line"},
        {"[log]\n\tlevel = warn\n",
         "f.ini:2: [log]: is indented; a value cannot be continued on another line"},
        {" [log]\n", "f.ini:1: is indented; a value cannot be continued on another line"},
        {"[log]\nlevel = warn ; loud\n",
         "f.ini:2: [log] level: \" ;\" begins no comment here; those have "
         "lines of their own (where one is meant, write \\;)"},
        {"[log]\nlevel = warn\t# loud\n",
         "f.ini:2: [log] level: \" #\" begins no comment here; those "
         "have lines of their own (where one is meant, write \\#)"},
        {"[log] ; loud\n",
         "f.ini:1: something follows the section's ]; comments have lines of their own"},
        {"[group a ;b]\n", "f.ini:1: [group a ;b]: \" ;\" begins no comment here; those have lines "
                           "of their own (where one is meant, write \\;)"},
        {"[group a]\ncomm = ^db ;x\n",
         "f.ini:2: [group a] comm: \" ;\" begins no comment here; those "
         "have lines of their own (where one is meant, write \\;)"},
        {"[group a]\ncomm =;x\n", "f.ini:2: [group a] comm: \" ;\" begins no comment here; those "
                                  "have lines of their own (where one is meant, write \\;)"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

static void test_bad_sections(void **state)
{
    static const struct row rows[] = {
        {"[nonsense]\n", "f.ini:1: [nonsense]: unknown section"},
        {"[nonsense]\na = 1\n", "f.ini:1: [nonsense]: unknown section"},
        {"[]\n", "f.ini:1: []: unknown section"},
        {"[ log]\n", "f.ini:1: [ log]: unknown section"},
        {"[Log]\n", "f.ini:1: [Log]: unknown section"},
        {"[lo]\n", "f.ini:1: [lo]: unknown section"},
        {"[group]\n", "f.ini:1: [group]: lacks its name: [group NAME]"},
        {"[group ]\n", "f.ini:1: [group ]: lacks its name: [group NAME]"},
        {"[groupa]\n", "f.ini:1: [groupa]: unknown section"},
        {"[log\nlevel = warn\n", "f.ini:1: this section lacks its ]"},
        {"[web]\n[log\n", "f.ini:2: this section lacks its ]"},
        {"[log]]\n",
         "f.ini:1: something follows the section's ]; comments have lines of their own"},
        {"[log]level = warn\n",
         "f.ini:1: something follows the section's ]; comments have lines of their own"},
        {"[log]\n[web]\n[log]\nlevel = warn\n", "f.ini:3: [log]: is repeated, first in line 1"},
        {"[log]\n[log]\n", "f.ini:2: [log]: is repeated, first in line 1"},
        /* cut at 49 bytes it would be one that is */
        {"[group " X10("0123") "012]\ncomm = a\n[group " X10("0123") "0123]\ncomm = b\n",
         "f.ini:3: the section's name is longer than 49 bytes"},
        {"[" X10("ssssssss") "]\n", "f.ini:1: the section's name is longer than 49 bytes"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

static void test_bad_keys(void **state)
{
    static const struct row rows[] = {
        {"[log]\nno_such_key = 1\n", "f.ini:2: [log] no_such_key: unknown key"},
        {"[log]\nlisten = :1\n", "f.ini:2: [log] listen: unknown key"},
        {"[log]\nLevel = warn\n", "f.ini:2: [log] Level: unknown key"},
        {"[log]\nlevel x = warn\n", "f.ini:2: [log] level x: unknown key"},
        {"[group a]\nlevel = warn\n", "f.ini:2: [group a] level: unknown key"},
        {"[log]\nlevel = warn\nformat = json\nlevel = info\n",
         "f.ini:4: [log] level: is repeated, first in line 2"},
        {"[log]\nlevel = warn\nlevel = warn\n",
         "f.ini:3: [log] level: is repeated, first in line 2"},
        {"[group a]\ncomm = a\ncomm = b\n",
         "f.ini:3: [group a] comm: is repeated, first in line 2"},
        {"[log]\nlevel" X10("zzzzz") "tail = 1\n",
         "f.ini:2: [log]: the key is longer than 49 bytes"},
        {"[log]\n" X10("kkkkkkkk") " = 1\n", "f.ini:2: [log]: the key is longer than 49 bytes"},
    };

    (void)state;
    CHECK_REFUSED(rows);
}

/* The tail of a long line must never become a setting of its own. */
static void test_long_lines(void **state)
{
    static const char value[] = "[group a]\ncomm = " X100("0123") "\n[log]\nlevel = warn\n";
    static const char inject[] =
        "[group a]\ncomm = " X10("0123456789") X10("01234567") "012=level = error\n[log]\n";
    struct parsed p;

    (void)state;
    if (!have_long_lines()) {
        check_refused_span(span_from_str(value),
                           "f.ini:2: [group a] comm: this line is longer than "
                           "the INI library takes, 198 bytes");
        check_refused_span(span_from_str(inject), "f.ini:2: [group a] comm: this line is longer "
                                                  "than the INI library takes, 198 bytes");
        return;
    }
    parse_good(&p, value);
    assert_int_equal(strlen(p.config.rules.items[0].patterns[RULE_COMM].items[0]), 400);
    assert_int_equal(p.config.log_level, LOG_LEVEL_WARN);
    drop(&p);
    parse_good(&p, inject);
    assert_int_equal(p.config.rules.items[0].patterns[RULE_COMM].n, 3);
    assert_int_equal(p.config.log_level, LOG_LEVEL_INFO);
    drop(&p);
}

/* A line of every length around both libraries' limits, each ending in what could be a pair. */
static void test_every_length(void **state)
{
    size_t longest = have_long_lines() ? 65534 : 198;
    struct buf text;
    struct parsed p;

    (void)state;
    buf_init(&text, 1 << 20);
    for (size_t n = longest - 20; n < longest + 20; n++) {
        buf_reset(&text);
        buf_append_str(&text, "[collector]\nprocfs = /");
        while (text.len < strlen("[collector]\n") + n - 8)
            buf_append_char(&text, text.len % 4000 ? 'x' : '/');
        buf_append_str(&text, " max = 3\n[groups]\nmax = 5\n");
        parse_with(&p, buf_span(&text), NULL, 0);
        if (n > longest) {
            assert_int_equal(p.result, -EINVAL);
            assert_non_null(
                strstr(p.error.data, "f.ini:2: [collector] procfs: this line is longer"));
        } else if (n < 4096) {
            check_good(&p);
            assert_int_equal(p.config.groups_max, 5);
            assert_int_equal(strlen(p.config.procfs), n - strlen("procfs = "));
        } else {
            assert_non_null(strstr(p.error.data, "is too long"));
        }
        drop(&p);
    }
    buf_deinit(&text);
}

/* A wrong value is quoted, but not at any length. */
static void test_errors_are_short(void **state)
{
    struct parsed p;

    (void)state;
    parse(&p, "[log]\nlevel = " X10("01234567") "89\n");
    assert_string_equal(p.error.data,
                        "f.ini:2: [log] level: \"" X10("01234567") "...\" is none of "
                                                                   "debug|info|warn|error");
    drop(&p);
}

/* What inih hands back is taken only if it is what we read on the line. */
static void test_odd_inih(void **state)
{
    static const char text[] = "[log]\nlevel = warn\nformat = json\n";
    struct parsed p;

    (void)state;
    for (oddity = ODD_DROPS; oddity <= ODD_NO_VALUE; oddity++) {
        parse(&p, text);
        assert_int_equal(p.result, -EINVAL);
        assert_string_equal(p.error.data, "f.ini:2: [log] level: the INI library reads this line "
                                          "as something else");
        drop(&p);
    }
    oddity = ODD_DROPS;
    check_refused_span(SPAN_LITERAL("[log]\nlevel = warn"),
                       "f.ini:2: [log] level: the INI library reads this line as something else");
    oddity = ODD_TELLS_SECTIONS;
    parse_good(&p, text);
    assert_int_equal(p.config.log_level, LOG_LEVEL_WARN);
    drop(&p);
    oddity = ODD_NOT;
    odd_result = 3;
    check_refused_span(span_from_str(text), "f.ini:3: [log] format: the INI library refuses the "
                                            "file");
    odd_result = -2;
    parse(&p, text);
    assert_int_equal(p.result, -ENOMEM);
    drop(&p);
    odd_result = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted_forms), cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_bad_lines),      cmocka_unit_test(test_bad_sections),
        cmocka_unit_test(test_bad_keys),       cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_every_length),   cmocka_unit_test(test_errors_are_short),
        cmocka_unit_test(test_odd_inih),
    };
    int failed = cmocka_run_group_tests_name("config, lines", tests, use_own_inih, NULL);

    /* The same errors and the same values, whatever inih is there. */
    return failed +
           cmocka_run_group_tests_name("config, lines, plain inih", tests, use_plain_inih, NULL);
}
