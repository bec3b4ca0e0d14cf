/*
 * Records that come in pieces. A read gives what one write to the socket held, so that the writer
 * says where records are cut; what it closes is the end.
 *
 * Linked with --wrap of the allocators, and of read(2), which signals interrupt here.
 */
#include "bpf/walk.h"

#include "bpf/programs.h"
#include "chance.h"
#include "heap.h"
#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned interrupts;

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n)
{
    if (interrupts == 0)
        return __real_read(fd, p, n);
    interrupts--;
    errno = EINTR;
    return -1;
}

/* Records as the kernel writes them, one behind the other. */
struct stream {
    char *bytes;
    size_t n;
};

static void stream_add(struct stream *s, const void *record, size_t n)
{
    memcpy(s->bytes + s->n, record, n);
    s->n += n;
}

static size_t size_of(const struct record_head *head)
{
    return head->kind == RECORD_THREAD ? sizeof(struct thread_record)
                                       : sizeof(struct process_record);
}

/* The i-th record, of each kind in turn; no two are the same. */
static void stream_add_number(struct stream *s, size_t i)
{
    struct process_record leader = leader_of((uint32_t)i + 1, i + 500, i * 1000, 1);
    struct process_record stand_in = stand_in_of((uint32_t)i + 1, i + 500, i * 1000, 3);
    struct thread_record thread = thread_of((uint32_t)i + 1, i + 500, i * 1000);

    if (i % 3 == 0)
        stream_add(s, &leader, sizeof(leader));
    else if (i % 3 == 1)
        stream_add(s, &thread, sizeof(thread));
    else
        stream_add(s, &stand_in, sizeof(stand_in));
}

static struct stream stream_of(size_t records)
{
    struct stream s = {.bytes = malloc((records + 1) * sizeof(struct process_record))};

    assert_non_null(s.bytes);
    for (size_t i = 0; i < records; i++)
        stream_add_number(&s, i);
    return s;
}

/* Who writes: a piece of its own size first, if any, then pieces of one size. */
struct writer {
    int from, to;
    const char *bytes;
    size_t n, first, piece;
    pthread_t thread;
};

static void *write_pieces(void *arg)
{
    struct writer *w = arg;

    for (size_t at = 0, n; at < w->n; at += n) {
        n = at == 0 && w->first > 0 ? w->first : w->piece;
        n = n < w->n - at ? n : w->n - at;
        /* The reader may have seen enough. */
        if (send(w->to, w->bytes + at, n, MSG_NOSIGNAL) != (ssize_t)n)
            break;
    }
    close(w->to);
    return NULL;
}

static void writer_start(struct writer *w, const struct stream *s, size_t n, size_t first,
                         size_t piece)
{
    int ends[2];

    assert_in_range(piece, 1, PROGRAMS_READ_SIZE);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    *w = (struct writer){ends[0], ends[1], s->bytes, n, first, piece, 0};
    assert_int_equal(pthread_create(&w->thread, NULL, write_pieces, w), 0);
}

static void writer_stop(struct writer *w)
{
    close(w->from);
    assert_int_equal(pthread_join(w->thread, NULL), 0);
}

/* Takes records until there is none, each as it stands in the stream. Returns how it ended. */
static int take_all(struct walk *w, const struct stream *s, size_t *ret_n)
{
    const struct record_head *head;
    int r;

    for (*ret_n = 0; (r = walk_next(w, &head)) == 1; *ret_n += size_of(head)) {
        assert_int_equal((uintptr_t)head % sizeof(__u64), 0);
        assert_true(*ret_n + size_of(head) <= s->n);
        assert_memory_equal(head, s->bytes + *ret_n, size_of(head));
    }
    return r;
}

/* Walks over the first n bytes of the stream in such pieces. */
static int walk_pieces(struct walk *w, const struct stream *s, size_t n, size_t first, size_t piece,
                       size_t *ret_n)
{
    const struct record_head *head;
    struct writer writer;
    int r;

    writer_start(&writer, s, n, first, piece);
    walk_begin(w, writer.from);
    r = take_all(w, s, ret_n);
    /* An end is one for good. */
    assert_int_equal(walk_next(w, &head), r);
    writer_stop(&writer);
    return r;
}

static int setup(void **state)
{
    struct walk *w = calloc(1, sizeof(*w));

    walk_init(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    walk_deinit(*state);
    free(*state);
    return 0;
}

static void nothing_at_all(void **state)
{
    struct stream s = stream_of(0);
    size_t n;

    assert_int_equal(walk_pieces(*state, &s, 0, 0, 1, &n), 0);
    assert_int_equal(n, 0);
    free(s.bytes);
}

static void cut_at_every_place(void **state)
{
    struct stream s = stream_of(5);
    size_t n;

    for (size_t first = 0; first < s.n; first++) {
        assert_int_equal(walk_pieces(*state, &s, s.n, first, PROGRAMS_READ_SIZE, &n), 0);
        assert_int_equal(n, s.n);
    }
    free(s.bytes);
}

static void in_pieces_of_every_size(void **state)
{
    struct stream s = stream_of(5);
    size_t n;

    for (size_t piece = 1; piece <= sizeof(struct process_record) + 8; piece++) {
        assert_int_equal(walk_pieces(*state, &s, s.n, 0, piece, &n), 0);
        assert_int_equal(n, s.n);
    }
    free(s.bytes);
}

/* Some reads long, whole or cut, as the kernel's are. */
static void many_records(void **state)
{
    static const size_t pieces[] = {PROGRAMS_READ_SIZE, PROGRAMS_READ_SIZE - 1, 4096, 1000};
    struct chance chance = chance_of_test();
    struct stream s = stream_of(5000);
    struct walk *w = *state;
    size_t n;

    assert_true(s.n > 32 * (size_t)PROGRAMS_READ_SIZE);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        size_t first = chance_below(&chance, PROGRAMS_READ_SIZE);

        assert_int_equal(walk_pieces(w, &s, s.n, first, pieces[i], &n), 0);
        assert_int_equal(n, s.n);
    }
    /* What is left of a read and the next one is all that is ever held. */
    assert_true(w->bytes.cap <= 2 * (size_t)PROGRAMS_READ_SIZE);
    free(s.bytes);
}

/* An end within a record is malformed, but all before it counts. */
static void truncated(void **state)
{
    struct stream s = stream_of(4);
    size_t whole = 0, n;

    for (size_t end = 1; end <= s.n; end++) {
        const struct record_head *head = (const struct record_head *)(s.bytes + whole);
        bool is_whole = end == whole + size_of(head);

        whole += is_whole ? size_of(head) : 0;
        assert_int_equal(walk_pieces(*state, &s, end, end / 2, PROGRAMS_READ_SIZE, &n),
                         is_whole ? 0 : -EBADMSG);
        assert_int_equal(n, whole);
    }
    assert_int_equal(whole, s.n);
    free(s.bytes);
}

static void unknown_kinds(void **state)
{
    static const uint32_t kinds[] = {0,
                                     RECORD_PROCESS_END,
                                     RECORD_THREAD_END,
                                     RECORD_THREAD_END + 1,
                                     RECORD_PROCESS << 8,
                                     UINT32_MAX};
    size_t n;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct stream s = stream_of(3);
        size_t known = s.n;
        struct process_record odd = leader_of(9, 9, 9, 1);

        odd.task.head.kind = kinds[i];
        stream_add(&s, &odd, sizeof(odd));
        assert_int_equal(walk_pieces(*state, &s, s.n, 0, PROGRAMS_READ_SIZE, &n), -EBADMSG);
        assert_int_equal(n, known);
        assert_int_equal(walk_pieces(*state, &s, s.n, known + 3, 7, &n), -EBADMSG);
        assert_int_equal(n, known);
        free(s.bytes);
    }
}

/* What read says is passed on; what had come of a record is not forgotten. */
static void read_errors(void **state)
{
    struct stream s = stream_of(3);
    struct walk *w = *state;
    const struct record_head *head;
    size_t half = sizeof(struct process_record) + 100;
    int ends[2], directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    walk_begin(w, directory);
    assert_int_equal(walk_next(w, &head), -EISDIR);
    close(directory);
    walk_begin(w, -1);
    assert_int_equal(walk_next(w, &head), -EBADF);

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    walk_begin(w, ends[0]);
    assert_int_equal(walk_next(w, &head), -EAGAIN);
    assert_int_equal(send(ends[1], s.bytes, half, 0), half);
    assert_int_equal(walk_next(w, &head), 1);
    assert_memory_equal(head, s.bytes, sizeof(struct process_record));
    assert_int_equal(walk_next(w, &head), -EAGAIN);
    assert_int_equal(walk_next(w, &head), -EAGAIN);
    assert_int_equal(send(ends[1], s.bytes + half, s.n - half, 0), s.n - half);
    assert_int_equal(walk_next(w, &head), 1);
    assert_memory_equal(head, s.bytes + sizeof(struct process_record),
                        sizeof(struct thread_record));
    close(ends[0]);
    close(ends[1]);
    free(s.bytes);
}

static void signals_interrupt(void **state)
{
    struct stream s = stream_of(3);
    size_t n;

    interrupts = 3;
    assert_int_equal(walk_pieces(*state, &s, s.n, 0, 300, &n), 0);
    assert_int_equal(n, s.n);
    assert_int_equal(interrupts, 0);
    free(s.bytes);
}

/* A walk that was given up leaves records behind, and half of one: nothing of them shows. */
static void the_next_walk_begins_anew(void **state)
{
    struct stream many = stream_of(1000), other = stream_of(4), nothing = stream_of(0);
    const struct record_head *head;
    struct walk *w = *state;
    struct writer writer;
    size_t calls, n;

    other.n = 0;
    for (size_t i = 7; i < 11; i++)
        stream_add_number(&other, i);
    for (int i = 0; i < 3; i++) {
        writer_start(&writer, &many, many.n, 0, PROGRAMS_READ_SIZE - 100);
        walk_begin(w, writer.from);
        for (size_t k = 0; k < 150; k++)
            assert_int_equal(walk_next(w, &head), 1);
        writer_stop(&writer);
        walk_begin(w, -1);
        assert_int_equal(walk_next(w, &head), -EBADF);
        assert_int_equal(walk_pieces(w, &other, other.n, 33, 400, &n), 0);
        assert_int_equal(n, other.n);
        assert_int_equal(walk_pieces(w, &nothing, 0, 0, 1, &n), 0);
        assert_int_equal(n, 0);
    }
    /* And the memory is kept. */
    writer_start(&writer, &many, many.n, 0, PROGRAMS_READ_SIZE);
    calls = heap_calls;
    walk_begin(w, writer.from);
    assert_int_equal(take_all(w, &many, &n), 0);
    assert_int_equal(heap_calls, calls);
    writer_stop(&writer);
    free(many.bytes);
    free(other.bytes);
    free(nothing.bytes);
}

static void no_memory(void **state)
{
    struct stream s = stream_of(3);
    const struct record_head *head;
    struct walk *w = *state;
    size_t n;

    walk_begin(w, -1);
    heap_allows = 0;
    assert_int_equal(walk_next(w, &head), -ENOMEM);
    assert_int_equal(walk_next(w, &head), -ENOMEM);
    heap_allows = SIZE_MAX;
    assert_int_equal(walk_pieces(w, &s, s.n, 0, 300, &n), 0);
    assert_int_equal(n, s.n);
    free(s.bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_at_all), TEST(cut_at_every_place), TEST(in_pieces_of_every_size),
        TEST(many_records),   TEST(truncated),          TEST(unknown_kinds),
        TEST(read_errors),    TEST(signals_interrupt),  TEST(the_next_walk_begins_anew),
        TEST(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
