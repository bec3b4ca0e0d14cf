/* Configuration files: which are read and which refused; and the one that is shipped. */
#include "config_of_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[64];
    char file[128];
};

static void folder_open(struct folder *f)
{
    snprintf(f->path, sizeof(f->path), "/tmp/test_config.XXXXXX");
    assert_non_null(mkdtemp(f->path));
    snprintf(f->file, sizeof(f->file), "%s/x.ini", f->path);
}

static void folder_close(struct folder *f)
{
    unlink(f->file);
    assert_int_equal(rmdir(f->path), 0);
}

static void write_file(const char *file, struct span text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.p, text.n), text.n);
    close(fd);
}

/* As parse_with(), from a file; NULL: there is none. */
static void load_file(struct parsed *p, const char *file)
{
    struct options flags = {.config_file = file};

    config_init(&p->config);
    buf_init(&p->error, CONFIG_ERROR_MAX);
    alarm(10);
    p->result = config_load(&flags, &p->config, &p->error);
    alarm(0);
    buf_append_char(&p->error, '\0');
}

static void check_file_refused(const char *file, int result, const char *what)
{
    struct parsed p;
    char expected[512];

    load_file(&p, file);
    assert_int_equal(p.result, result);
    snprintf(expected, sizeof(expected), "%s%s", file, what);
    assert_string_equal(p.error.data, expected);
    drop(&p);
}

static void test_file(void **state)
{
    struct folder folder;
    struct parsed p;

    (void)state;
    folder_open(&folder);
    write_file(folder.file, span_from_str(all_set));
    load_file(&p, folder.file);
    check_good(&p);
    assert_string_equal(p.config.file, folder.file);
    assert_int_equal(p.config.groups_max, 7);
    check_printed_from(&p.config, "# The settings in effect, of /tmp/test_config.");

    write_file(folder.file, SPAN_LITERAL(""));
    /* Into the same. */
    assert_int_equal(
        config_load(&(struct options){.config_file = folder.file}, &p.config, &p.error), 0);
    assert_int_equal(p.config.groups_max, 200);
    drop(&p);
    folder_close(&folder);
}

static void test_no_file(void **state)
{
    struct parsed p;

    (void)state;
    if (access(CONFIG_DEFAULT_FILE, F_OK) == 0)
        skip();
    load_file(&p, NULL);
    check_good(&p);
    assert_null(p.config.file);
    check_printed_from(&p.config, "# The settings in effect, of defaults and flags alone\n");
    drop(&p);
}

static void test_bad_files(void **state)
{
    struct folder folder;

    (void)state;
    folder_open(&folder);
    check_file_refused(folder.path, -EISDIR, ": Is a directory");
    check_file_refused(folder.file, -ENOENT, ": No such file or directory");
    check_file_refused("/dev/zero", -EINVAL, ": is no regular file");
    check_file_refused("/dev/null", -EINVAL, ": is no regular file");
    assert_int_equal(symlink("x.ini", folder.file), 0);
    check_file_refused(folder.file, -ELOOP, ": Too many levels of symbolic links");
    unlink(folder.file);
    assert_int_equal(mkfifo(folder.file, 0600), 0);
    check_file_refused(folder.file, -EINVAL, ": is no regular file");
    unlink(folder.file);
    write_file(folder.file, SPAN_LITERAL("[log]\nlevel = loud\n"));
    check_file_refused(folder.file, -EINVAL,
                       ":2: [log] level: \"loud\" is none of debug|info|warn|error");
    chmod(folder.file, 0);
    if (geteuid() != 0)
        check_file_refused(folder.file, -EACCES, ": Permission denied");
    folder_close(&folder);
}

static void test_file_name_is_escaped(void **state)
{
    struct parsed p;

    (void)state;
    load_file(&p, "/no\x1b[31m\nsuch");
    assert_int_equal(p.result, -ENOENT);
    assert_string_equal(p.error.data, "/no\\u001b[31m\\nsuch: No such file or directory");
    drop(&p);
}

static void test_file_size(void **state)
{
    static char text[CONFIG_FILE_MAX + 1];
    struct folder folder;
    struct parsed p;

    (void)state;
    folder_open(&folder);
    memset(text, '\n', sizeof(text));
    write_file(folder.file, span_of(text, CONFIG_FILE_MAX));
    load_file(&p, folder.file);
    check_good(&p);
    drop(&p);
    write_file(folder.file, span_of(text, CONFIG_FILE_MAX + 1));
    check_file_refused(folder.file, -EINVAL, ": is larger than 1 MiB");
    folder_close(&folder);
}

/* Reads config/proctallyd.ini; with `uncomment`, its `#key = value` lines count. */
static void read_sample(struct buf *ret, bool uncomment)
{
    FILE *f = fopen(TESTS_DIR "/../config/proctallyd.ini", "re");
    char line[1024];

    assert_non_null(f);
    buf_init(ret, CONFIG_FILE_MAX);
    while (fgets(line, sizeof(line), f)) {
        bool setting = line[0] == '#' && line[1] != ' ' && line[1] != '\n' && line[1] != '#';

        buf_append_str(ret, uncomment && setting ? line + 1 : line);
    }
    fclose(f);
}

/* As it is shipped it changes nothing, and what it shows as defaults are the defaults. */
static void test_sample(void **state)
{
    char setting[256];
    struct buf sample;
    struct parsed p;

    (void)state;
    for (int uncomment = 0; uncomment < 2; uncomment++) {
        read_sample(&sample, uncomment);
        parse_with(&p, buf_span(&sample), NULL, 0);
        check_good(&p);
        assert_int_equal(p.config.rules.n > 0, uncomment);
        check_printed_from(&p.config, all_defaults);
        drop(&p);
        buf_append_char(&sample, '\0');
        for (size_t i = 0; i < OPTION_N && uncomment; i++) {
            snprintf(setting, sizeof(setting), "\n%s =%s%s\n", option_specs[i].key,
                     *option_specs[i].initial ? " " : "", option_specs[i].initial);
            if (!strstr(sample.data, setting))
                fail_msg("the sample lacks%s", setting);
        }
        buf_deinit(&sample);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),      cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_bad_files), cmocka_unit_test(test_file_name_is_escaped),
        cmocka_unit_test(test_file_size), cmocka_unit_test(test_sample),
    };
    int failed = cmocka_run_group_tests_name("config, files", tests, use_own_inih, NULL);

    /* The same errors and the same values, whatever inih is there. */
    return failed +
           cmocka_run_group_tests_name("config, files, plain inih", tests, use_plain_inih, NULL);
}
