/*
 * state_file - a head and two records that take turns.
 *
 * The head names the record in effect and has the checksums of both. A write puts the new record
 * where the one in effect is not, then the head. Data written stays when the writer is killed, and
 * a kill takes effect between the pages of a write and not within, so the head is the old or the
 * new one, and its record is whole. Nothing falls back to an older record if the one in effect is
 * damaged: counters would fall below what was scraped, which looks like a reset and a jump; 0 does
 * not. Power loss takes the boot id along.
 *
 * There is no mapping of the file: writes to a full file system give an error, a mapping SIGBUS.
 * Room is reserved for two records, lest one fits and the next does not, over and over.
 */
#include "daemon/state_file.h"

#include "base/cleanup.h"
#include "daemon/config.h"
#include "daemon/gzip.h"
#include "daemon/log.h"
#include "daemon/value.h"
#include "procfs/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /* So many writes in a row end what a failed one, or the loss of the file, began. */
    GOOD_WRITES = 16,
};

enum {
    STATE_FILE_VERSION = 2,
    BOOT_ID_LEN = 36,
};

/* The first bytes of the file. In one page of memory too: then it is copied as a whole. */
struct state_file_head {
    char magic[16];
    uint32_t version;
    uint32_t record_checksum;
    uint64_t offset, length;
    struct state_file_origin origin;
    char unused[36];
    uint32_t checksum; /* of all before */
} __attribute__((aligned(128)));

_Static_assert(sizeof(struct state_file_head) == 128, "the head has no padding");

static const char state_magic[16] = "proctally state";
static const struct span runtime_directory = SPAN_LITERAL(CONFIG_RUNTIME_DIRECTORY);

static uint32_t head_checksum(const struct state_file_head *head)
{
    return gzip_crc32(span_of((const char *)head, offsetof(struct state_file_head, checksum)));
}

/* ---- where ---- */

/* Why the environment's directory is none to write to, or NULL. */
static const char *directory_fault(struct span directory)
{
    if (!span_starts_with(directory, SPAN_LITERAL("/")))
        return "no absolute path";
    return value_path_climbs(directory) ? "a .. in it" : NULL;
}

/* The path that the setting means, for the caller to free; NULL: none, or no memory. */
static char *resolve_path(const char *file)
{
    const char *directories = getenv("RUNTIME_DIRECTORY"), *fault;
    struct span directory;
    char *path = NULL;

    if (*file == '\0')
        return NULL;
    if (!span_starts_with(span_from_str(file), runtime_directory))
        return strdup(file);
    if (!directories || *directories == '\0')
        return NULL;
    /* The first of a list, as systemd passes it on. */
    directory = span_of(directories, strcspn(directories, ":"));
    fault = directory_fault(directory);
    if (fault) {
        log_warn("no state is kept: $RUNTIME_DIRECTORY is not to be used",
                 LOG_SPAN("directory", directory), LOG_STR("reason", fault));
        return NULL;
    }
    if (asprintf(&path, "%.*s/%s", (int)directory.n, directory.p, file + runtime_directory.n) < 0)
        return NULL;
    return path;
}

/* ---- whose ---- */

static int read_boot_id(struct procfs *fs, struct state_file_origin *ret)
{
    struct span text;
    int r = procfs_read(fs, fs->root, "sys/kernel/random/boot_id", PROCFS_RECORD, STATE_FILE_BLOCK,
                        &text);

    if (r < 0)
        return r;
    if (text.n < BOOT_ID_LEN || memchr(text.p, '\n', BOOT_ID_LEN))
        return -EBADMSG;
    memcpy(ret->boot_id, text.p, BOOT_ID_LEN);
    return 0;
}

static int read_origin(struct procfs *fs, struct state_file_origin *ret)
{
    struct faults faults = {0};
    struct sample sample;
    int r;

    *ret = (struct state_file_origin){0};
    r = read_boot_id(fs, ret);
    if (r < 0)
        return r;
    /* Whoever may not see pid 1 has one origin for all of them. */
    r = process_begin(fs, 1, &faults, &sample);
    process_end(fs);
    if (r == 0)
        ret->init_start_ticks = sample.identity.start_ticks;
    return r < 0 ? r : 0;
}

/* ---- the file ---- */

/* O_NONBLOCK: a FIFO is refused, not waited for. */
static int open_alone(struct state_file *s)
{
    cleanup_close int fd =
        open(s->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
             S_IRUSR | S_IWUSR);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    /* Nobody makes us write to what they want to have written. */
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid())
        return -EPERM;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return -errno;
    if ((st.st_mode & ALLPERMS) != (S_IRUSR | S_IWUSR) && fchmod(fd, S_IRUSR | S_IWUSR) < 0)
        return -errno;
    s->device = st.st_dev;
    s->inode = st.st_ino;
    s->fd = take_fd(&fd);
    return 0;
}

static int read_at(int fd, void *p, size_t n, uint64_t offset)
{
    for (char *at = p; n > 0;) {
        ssize_t got = pread(fd, at, n, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        at += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

static int write_at(int fd, const void *p, size_t n, uint64_t offset)
{
    for (const char *at = p; n > 0;) {
        ssize_t put = pwrite(fd, at, n, (off_t)offset);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? -errno : -EIO;
        at += put;
        offset += (uint64_t)put;
        n -= (size_t)put;
    }
    return 0;
}

/* ---- to hold ---- */

static const char *fault_text(int r)
{
    return r == -EWOULDBLOCK ? "no state is kept while another daemon uses the file"
                             : "no state is kept: the file cannot be used";
}

/* Takes the file. Why it cannot be had is told once. */
static int hold(struct state_file *s)
{
    int r = open_alone(s);

    if (r < 0 && r != s->fault_told)
        log_warn(fault_text(r), LOG_STR("file", s->path), LOG_ERRNO("error", r));
    s->fault_told = r;
    s->offset = s->length = s->reserved = 0;
    return r;
}

static void let_go(struct state_file *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* No record of ours is to be found that is older than what was shown. */
static void forget_record(struct state_file *s)
{
    static const struct state_file_head blank;

    s->length = 0;
    if (write_at(s->fd, &blank, sizeof(blank), 0) == 0)
        return;
    s->reserved = 0;
    if (ftruncate(s->fd, 0) < 0)
        log_error("the state that is left in the file is old, remove it", LOG_STR("file", s->path));
}

/* Whether who comes after us would not find the file that is held. */
static bool is_lost(const struct state_file *s)
{
    struct stat st;

    if (lstat(s->path, &st) == 0)
        return st.st_dev != s->device || st.st_ino != s->inode;
    if (errno == ENOENT || errno == ENOTDIR)
        return true;
    return fstat(s->fd, &st) == 0 && st.st_nlink == 0;
}

/* The file may be put back some day: it must not hold a state then. */
static void give_up(struct state_file *s)
{
    forget_record(s);
    let_go(s);
    if (!s->loss_told)
        log_warn("the state file was removed or replaced, it is made anew",
                 LOG_STR("file", s->path));
    s->loss_told = true;
    s->good_writes = 0;
}

/* Sees to it that the path is held, as soon as that can be. */
static bool keep_hold(struct state_file *s)
{
    bool lost = s->fd >= 0 && is_lost(s);

    if (s->fd >= 0 && !lost)
        return true;
    if (lost)
        give_up(s);
    if (hold(s) < 0)
        return false;
    if (!lost)
        log_info("the state is kept from now on", LOG_STR("file", s->path));
    return true;
}

/* ---- to resume ---- */

/* Why the head is not to be trusted or not about us, or NULL. */
static const char *head_fault(const struct state_file_head *head,
                              const struct state_file_origin *origin)
{
    if (memcmp(head->magic, state_magic, sizeof(state_magic)) != 0)
        return "no state";
    if (head->version > STATE_FILE_VERSION)
        return "written by a newer version";
    if (head->version < STATE_FILE_VERSION || head->checksum != head_checksum(head) ||
        head->length == 0 || head->length > STATE_FILE_RECORD_MAX ||
        head->offset > INT64_MAX - STATE_FILE_RECORD_MAX)
        return "damaged";
    if (memcmp(head->origin.boot_id, origin->boot_id, sizeof(origin->boot_id)) != 0)
        return "another boot";
    return head->origin.init_start_ticks == origin->init_start_ticks ? NULL : "another procfs";
}

static bool is_blank(const struct state_file_head *head)
{
    static const struct state_file_head blank;

    return memcmp(head, &blank, sizeof(blank)) == 0;
}

/* Takes the record that the head names. */
static const char *read_record(struct state_file *s, const struct state_file_head *head)
{
    char *room;

    buf_reset(&s->record);
    room = buf_reserve(&s->record, head->length);
    if (!room)
        return "out of memory";
    if (read_at(s->fd, room, head->length, head->offset) < 0)
        return "damaged";
    buf_commit(&s->record, head->length);
    return gzip_crc32(buf_span(&s->record)) == head->record_checksum ? NULL : "damaged";
}

/* Why a record whose checksum is right cannot be gone on from. */
static const char *resume_fault(int r)
{
    switch (r) {
    case -ENOMEM:
        return "out of memory";
    case -ERANGE:
        return "of a time to come";
    default:
        return "damaged";
    }
}

/* Why the cycle cannot go on from the file, or NULL: it does. */
static const char *resume(struct state_file *s, struct cycle *c)
{
    struct state_file_head head;
    const char *fault;
    int r = read_at(s->fd, &head, sizeof(head), 0);

    if (r < 0 && r != -ENODATA)
        return "unreadable";
    if (r == -ENODATA || is_blank(&head))
        return "empty";
    fault = head_fault(&head, &s->origin);
    if (!fault)
        fault = read_record(s, &head);
    if (fault)
        return fault;
    r = cycle_resume(c, buf_span(&s->record));
    if (r < 0)
        return resume_fault(r);
    s->offset = head.offset;
    s->length = head.length;
    return NULL;
}

static void forget_path(struct state_file *s)
{
    free(s->path);
    s->path = NULL;
}

void state_file_open(struct state_file *s, const char *file, struct cycle *c)
{
    const char *fault;
    int r;

    *s = (struct state_file){.fd = -1, .path = resolve_path(file)};
    buf_init(&s->record, STATE_FILE_RECORD_MAX);
    if (!s->path)
        return;
    r = read_origin(&c->procfs, &s->origin);
    if (r < 0) {
        log_warn("no state is kept: the procfs does not tell its boot", LOG_STR("file", s->path),
                 LOG_ERRNO("error", r));
        forget_path(s);
        return;
    }
    if (hold(s) < 0)
        return;
    fault = resume(s, c);
    if (fault)
        log_info("state starts at 0", LOG_STR("file", s->path), LOG_STR("reason", fault));
    else
        log_info("state resumed", LOG_STR("file", s->path), LOG_U64("groups", c->groups.n_order));
}

void state_file_close(struct state_file *s)
{
    let_go(s);
    forget_path(s);
    buf_deinit(&s->record);
}

/* ---- to write ---- */

static uint64_t round_up(uint64_t n)
{
    return (n + STATE_FILE_BLOCK - 1) / STATE_FILE_BLOCK * STATE_FILE_BLOCK;
}

/* Where n bytes do not touch a record; length 0: there is none. */
static uint64_t place_beside(uint64_t offset, uint64_t length, uint64_t n)
{
    if (length == 0 || STATE_FILE_BLOCK + n <= offset)
        return STATE_FILE_BLOCK;
    return round_up(offset + length);
}

/*
 * Sees that there is room for a record of n bytes at the offset, and for the next one beside it.
 * Where the file system cannot promise any, the writes will tell.
 */
static int reserve(struct state_file *s, uint64_t offset, uint64_t n)
{
    uint64_t next = place_beside(offset, n, n);
    uint64_t end = round_up((next > offset ? next : offset) + n);
    int r;

    if (end <= s->reserved)
        return 0;
    do
        r = posix_fallocate(s->fd, (off_t)s->reserved, (off_t)(end - s->reserved));
    while (r == EINTR);
    if (r == ENOSPC || r == EDQUOT || r == EFBIG)
        return -r;
    if (r == 0)
        s->reserved = end;
    return 0;
}

static int write_record(struct state_file *s)
{
    struct state_file_head head = {.version = STATE_FILE_VERSION,
                                   .offset = place_beside(s->offset, s->length, s->record.len),
                                   .length = s->record.len,
                                   .origin = s->origin};
    int r;

    if (buf_failed(&s->record))
        return -ENOMEM;
    r = reserve(s, head.offset, head.length);
    if (r < 0)
        return r;
    r = write_at(s->fd, s->record.data, s->record.len, head.offset);
    if (r < 0)
        return r;
    memcpy(head.magic, state_magic, sizeof(head.magic));
    head.record_checksum = gzip_crc32(buf_span(&s->record));
    head.checksum = head_checksum(&head);
    r = write_at(s->fd, &head, sizeof(head), 0);
    if (r < 0)
        return r;
    s->offset = head.offset;
    s->length = head.length;
    return 0;
}

/* What fails or is lost now and then is told when that begins, and not each time. */
static void note_write(struct state_file *s, bool good)
{
    s->good_writes = good ? s->good_writes + 1 : 0;
    if (!good)
        s->failing = true;
    if (s->good_writes < GOOD_WRITES)
        return;
    if (s->failing)
        log_info("the state is written again", LOG_STR("file", s->path));
    s->failing = s->loss_told = false;
}

void state_file_write(struct state_file *s, const struct cycle *c)
{
    int r;

    if (!s->path || !keep_hold(s))
        return;
    buf_reset(&s->record);
    cycle_encode(c, &s->record);
    r = write_record(s);
    if (r < 0)
        forget_record(s);
    if (r < 0 && !s->failing)
        log_warn("the state cannot be written: a restart would begin at 0",
                 LOG_STR("file", s->path), LOG_ERRNO("error", r));
    note_write(s, r == 0);
}
