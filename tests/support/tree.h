#pragma once
/*
 * tree - a directory that stands in for /proc, made in code beside the assertion.
 *
 *     struct tree t;
 *
 *     tree_new(&t);
 *     tree_pid(&t, 42, "stat", "42 (a) S %d ...", parent);
 *     ...
 *     tree_free(&t);
 *
 * Failures to make it end the test.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
    char root[256];
};

static inline void tree_new(struct tree *t)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(t->root, sizeof(t->root), "%s/proctally-test-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(t->root));
    /* Tests that drop privilege still have to get in. */
    assert_int_equal(chmod(t->root, 0755), 0);
}

static inline int tree_remove_entry(const char *path, const struct stat *st, int type,
                                    struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void tree_free(struct tree *t)
{
    nftw(t->root, tree_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of a name below the root, its directories made. Good until the next call. */
static inline const char *tree_path(struct tree *t, const char *name)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s", t->root, name);
    for (char *slash = path + strlen(t->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    return path;
}

static inline void tree_dir(struct tree *t, const char *name)
{
    assert_true(mkdir(tree_path(t, name), 0755) == 0 || errno == EEXIST);
}

static inline void tree_write(struct tree *t, const char *name, const char *p, size_t n)
{
    FILE *f = fopen(tree_path(t, name), "w");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void tree_text(struct tree *t, const char *name, const char *text)
{
    tree_write(t, name, text, strlen(text));
}

static inline void tree_link(struct tree *t, const char *name, const char *target)
{
    assert_int_equal(symlink(target, tree_path(t, name)), 0);
}

/* File `file` of process pid, printed as printf(3) does. */
static inline void __attribute__((format(printf, 4, 5)))
tree_pid(struct tree *t, unsigned pid, const char *file, const char *format, ...)
{
    char name[64], *text = NULL;
    va_list ap;

    va_start(ap, format);
    assert_true(vasprintf(&text, format, ap) >= 0);
    va_end(ap);
    snprintf(name, sizeof(name), "%u/%s", pid, file);
    tree_text(t, name, text);
    free(text);
}
