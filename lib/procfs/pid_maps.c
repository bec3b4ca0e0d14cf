/*
 * pid_maps - mappings parsed where they lie.
 *
 * Lines look like
 *
 *     7fc9fe9ee000-7fc9fe9f0000 rw-p 001d3000 fe:00 332835          /usr/lib/libc.so.6
 *
 * and are taken off the text one by one; nothing is allocated, and nothing is looked at behind
 * the text's length: the buffer below it is reused and never cleared.
 */
#include "procfs/pid_maps.h"

#include "base/cleanup.h"
#include "base/scan.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>

/* Of a device's two numbers. The kernel prints 5 at most, and no eight at once are tried. */
enum { DEVICE_DIGITS = 7 };

/* What a hexadecimal digit is worth, plus one; 0 for all that is none. */
static const unsigned char hex_values[256] = {
    ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/*
 * Eight digits at once, for addresses and offsets are most of a line. Bytes with 0x40 set can
 * only be letters, whose low half counts from 1. False if one of the eight is no digit.
 */
static bool pid_maps_hex8(const char *p, uint64_t *ret)
{
    const uint64_t ones = 0x0101010101010101;
    uint64_t text, letters, value;

    memcpy(&text, p, sizeof(text));
    text = le64toh(text);
    letters = text >> 6 & ones;
    value = (text & 15 * ones) + 9 * letters;
    /* It is right if it gives the text back, is below 16, and 10 or more just for letters. */
    if (value + '0' * ones + ('a' - '0' - 10) * letters != text || (value & 0xf0 * ones) ||
        ((value + 6 * ones) >> 4 & ones) != letters)
        return false;
    value = __builtin_bswap64(value);
    value = (value | value >> 4) & 0x00ff00ff00ff00ff;
    value = (value | value >> 8) & 0x0000ffff0000ffff;
    *ret = (value | value >> 16) & 0xffffffff;
    return true;
}

/* Takes at least one and at most `most` digits. */
static bool pid_maps_take_hex(struct span *rest, size_t most, uint64_t *ret)
{
    const char *p = rest->p;
    size_t n = rest->n < most ? rest->n : most, i = 0;
    uint64_t value = 0;
    unsigned digit;

    if (n >= 8 && pid_maps_hex8(p, &value))
        i = 8;
    for (; i < n && (digit = hex_values[(unsigned char)p[i]]) > 0; i++)
        value = (value << 4) + digit - 1;
    *rest = span_skip(*rest, i);
    *ret = value;
    return i > 0;
}

static bool pid_maps_take_char(struct span *rest, char c)
{
    if (rest->n == 0 || *rest->p != c)
        return false;
    *rest = span_skip(*rest, 1);
    return true;
}

static bool pid_maps_take_perms(struct span *rest, char *ret)
{
    if (rest->n < 4 || rest->p[0] == ' ' || rest->p[1] == ' ' || rest->p[2] == ' ' ||
        rest->p[3] == ' ')
        return false;
    memcpy(ret, rest->p, 4);
    *rest = span_skip(*rest, 4);
    return true;
}

static bool pid_maps_take_device(struct span *rest, struct mapping *m)
{
    uint64_t major_number, minor_number;

    if (!pid_maps_take_hex(rest, DEVICE_DIGITS, &major_number) || !pid_maps_take_char(rest, ':') ||
        !pid_maps_take_hex(rest, DEVICE_DIGITS, &minor_number))
        return false;
    m->device_major = (uint32_t)major_number;
    m->device_minor = (uint32_t)minor_number;
    return true;
}

/* The path begins behind the padding, of which there is a blank at least, even without a path. */
static bool pid_maps_take_path(struct span rest, struct span *ret)
{
    if (rest.n > 0 && *rest.p != ' ')
        return false;
    while (rest.n >= 8 && memcmp(rest.p, "        ", 8) == 0)
        rest = span_skip(rest, 8);
    while (rest.n > 0 && *rest.p == ' ')
        rest = span_skip(rest, 1);
    *ret = rest;
    return true;
}

static bool pid_maps_parse_line(struct span line, struct mapping *m)
{
    return pid_maps_take_hex(&line, 16, &m->start) && pid_maps_take_char(&line, '-') &&
           pid_maps_take_hex(&line, 16, &m->end) && pid_maps_take_char(&line, ' ') &&
           pid_maps_take_perms(&line, m->perms) && pid_maps_take_char(&line, ' ') &&
           pid_maps_take_hex(&line, 16, &m->offset) && pid_maps_take_char(&line, ' ') &&
           pid_maps_take_device(&line, m) && pid_maps_take_char(&line, ' ') &&
           scan_u64(&line, &m->inode) == 0 && pid_maps_take_path(line, &m->path);
}

int pid_maps_next(struct span *rest, struct mapping *ret)
{
    struct mapping m;
    struct span line;

    if (!scan_line(rest, &line))
        return PID_MAPS_END;
    if (!pid_maps_parse_line(line, &m))
        return -EBADMSG;
    *ret = m;
    return 0;
}

void pid_maps_count_feed(struct pid_maps_count *c, struct span piece)
{
    struct span line;

    if (piece.n == 0)
        return;
    c->open = piece.p[piece.n - 1] != '\n';
    while (scan_line(&piece, &line))
        c->lines++;
    /* The last one counts when it ends, or at the finish. */
    c->lines -= c->open;
}

int pid_maps_count_read(struct procfs *fs, int dir, uint64_t *ret)
{
    cleanup_close int fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct pid_maps_count count = {0};
    ssize_t n;

    if (fd < 0)
        return -errno;
    while ((n = procfs_read_some(fd, fs->block, PROCFS_BLOCK_SIZE)) > 0)
        pid_maps_count_feed(&count, span_of(fs->block, (size_t)n));
    if (n < 0)
        return (int)n;
    *ret = pid_maps_count_finish(&count);
    return 0;
}

int pid_maps_read(struct procfs *fs, int dir, struct span *ret)
{
    return procfs_read(fs, dir, "maps", PROCFS_WHOLE, PROCFS_TEXT_MAX, ret);
}
