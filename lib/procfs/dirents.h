#pragma once
/*
 * dirents - the entries of an open directory, taken in large blocks.
 *
 *     struct dirents d = dirents_of(fd, block, size);
 *     while ((r = dirents_next(&d, &entry)) > 0) ...
 *
 * readdir(3) would take 32 KiB at a time and its own memory. The block is the caller's, aligned
 * for any type; names point into it and die with the next entry.
 */
#include <stddef.h>

struct dirent64;

struct dirents {
    int fd;
    char *block;
    size_t size;
    size_t at;
    size_t end;
};

/* Starts at the descriptor's present position. */
struct dirents dirents_of(int fd, char *block, size_t size);

/* 1 and an entry, `.` and `..` left out; 0 at the end; a negative errno of getdents64. */
int dirents_next(struct dirents *d, const struct dirent64 **ret);
