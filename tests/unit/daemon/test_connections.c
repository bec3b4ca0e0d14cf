/* Who is cut, when and for whom, on pairs of sockets. */
#include "daemon/connections.h"

#include "chance.h"
#include "check.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MAX = 64 };

static const uint64_t SECOND = 1000000000u;
static const uint64_t MILLISECOND = 1000000u;
static const uint64_t FAR = 1000 * UINT64_C(1000000000);

/* A table and both ends of all that connect to it, which are closed by table_deinit(). */
struct table {
    struct connections *c;
    size_t n;
    struct client {
        int ours, theirs;
        size_t slot;
        bool busy; /* as random steps told */
    } clients[CLIENTS_MAX];
};

static void table_init(struct table *t, size_t max, size_t max_per_address)
{
    const struct connections_limits limits = {
        .max = max, .max_per_address = max_per_address, .spare = CLIENTS_MAX};

    *t = (struct table){.c = connections_new(&limits)};
    assert_non_null(t->c);
}

static void table_deinit(struct table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        connections_close(t->c, t->clients[i].slot);
        close(t->clients[i].ours);
        close(t->clients[i].theirs);
    }
    connections_free(t->c);
}

static struct sockaddr_in from_v4(uint32_t address)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
}

static struct client *client_of(struct table *t, const int ends[2], uint32_t address,
                                uint64_t now_ns)
{
    struct sockaddr_in from = from_v4(address);
    struct client *client = &t->clients[t->n++];

    assert_true(t->n <= CLIENTS_MAX);
    *client = (struct client){.ours = ends[0], .theirs = ends[1]};
    client->slot = connections_open(t->c, ends[0], (struct sockaddr *)&from, now_ns, FAR);
    return client;
}

/* Another client of the address connects. */
static struct client *connect_from(struct table *t, uint32_t address, uint64_t now_ns)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    return client_of(t, ends, address, now_ns);
}

static void set(const struct table *t, const struct client *client, enum connection_state state,
                uint64_t now_ns)
{
    connections_set(t->c, client->slot, state, now_ns, FAR);
}

/* It has had an answer, and took it. */
static void serve(const struct table *t, const struct client *client, uint64_t now_ns)
{
    set(t, client, CONNECTION_ARRIVING, now_ns);
    set(t, client, CONNECTION_BUSY, now_ns);
    set(t, client, CONNECTION_WAITING, now_ns);
}

static bool is_shut(const struct client *client)
{
    char byte;
    ssize_t n = recv(client->theirs, &byte, 1, MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static size_t n_shut(const struct table *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += is_shut(&t->clients[i]);
    return n;
}

static struct connections_losses losses(const struct table *t, uint64_t now_ns)
{
    struct connections_losses ret;

    connections_sweep(t->c, now_ns, &ret);
    return ret;
}

static void test_deadlines(void **state)
{
    struct connections_losses lost;
    struct client *a, *b;
    struct table t;

    (void)state;
    table_init(&t, 2, 2);
    assert_true(connections_sweep(t.c, 5, &lost) == UINT64_MAX);
    a = connect_from(&t, 1, 0);
    b = connect_from(&t, 1, 0);
    connections_set(t.c, a->slot, CONNECTION_WAITING, 0, 100);
    connections_set(t.c, b->slot, CONNECTION_WAITING, 0, 200);
    assert_int_equal(connections_sweep(t.c, 99, &lost), 100);
    assert_int_equal(lost.overdue, 0);
    assert_int_equal(connections_sweep(t.c, 100, &lost), 200);
    assert_int_equal(lost.overdue, 1);
    assert_true(is_shut(a));
    assert_false(is_shut(b));
    /* Once cut is cut, and cannot be revived. */
    assert_false(connections_set(t.c, a->slot, CONNECTION_BUSY, 120, 130));
    assert_false(connections_set(t.c, CONNECTIONS_NONE, CONNECTION_BUSY, 120, 130));
    assert_int_equal(connections_sweep(t.c, 150, &lost), 200);
    assert_int_equal(lost.overdue, 0);
    /* A request was answered: more time for the next one. */
    assert_true(connections_set(t.c, b->slot, CONNECTION_WAITING, 160, 300));
    assert_int_equal(connections_sweep(t.c, 250, &lost), 300);
    /* A slot given back is never shut. */
    connections_close(t.c, b->slot);
    b->slot = CONNECTIONS_NONE;
    assert_true(connections_sweep(t.c, 1000, &lost) == UINT64_MAX);
    assert_int_equal(lost.overdue, 0);
    assert_false(is_shut(b));
    table_deinit(&t);
}

static void test_idle_ones_are_shut(void **state)
{
    struct table t;

    (void)state;
    table_init(&t, CLIENTS_MAX, CLIENTS_MAX);
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        set(&t, connect_from(&t, 1, 0), (enum connection_state)(i % 3), 0);
    /* Also those whose request is arriving are given time. */
    assert_int_equal(connections_shut_idle(t.c), CLIENTS_MAX - (CLIENTS_MAX + 2) / 3);
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        assert_int_equal(is_shut(&t.clients[i]), i % 3 == CONNECTION_WAITING);
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        connections_close(t.c, t.clients[i].slot);
        t.clients[i].slot = CONNECTIONS_NONE;
    }
    assert_int_equal(connections_shut_idle(t.c), 0);
    table_deinit(&t);
}

/* One after the other is cut, down to those that are being served. */
static void test_who_is_cut_of_an_address(void **state)
{
    struct client *served, *kept[2], *silent[2], *head;
    struct table t;

    (void)state;
    table_init(&t, 20, 6);
    kept[1] = connect_from(&t, 1, 0);
    kept[0] = connect_from(&t, 1, 0);
    served = connect_from(&t, 1, 0);
    silent[0] = connect_from(&t, 1, 1);
    head = connect_from(&t, 1, 2);
    silent[1] = connect_from(&t, 1, 3);
    serve(&t, kept[0], 5);
    serve(&t, kept[1], 6);
    set(&t, served, CONNECTION_BUSY, 1);
    set(&t, head, CONNECTION_ARRIVING, 7);
    /* Those that never said a whole request, in the order of their coming. */
    served = connect_from(&t, 1, SECOND);
    set(&t, served, CONNECTION_BUSY, SECOND);
    assert_true(is_shut(silent[0]));
    assert_int_equal(n_shut(&t), 1);
    set(&t, connect_from(&t, 1, SECOND), CONNECTION_BUSY, SECOND);
    assert_true(is_shut(head));
    set(&t, connect_from(&t, 1, SECOND), CONNECTION_BUSY, SECOND);
    assert_true(is_shut(silent[1]));
    assert_int_equal(n_shut(&t), 3);
    /* Then those that wait, the longest first; half a request more does not help. */
    set(&t, kept[0], CONNECTION_ARRIVING, SECOND);
    set(&t, connect_from(&t, 1, SECOND), CONNECTION_BUSY, SECOND);
    assert_true(is_shut(kept[0]));
    set(&t, connect_from(&t, 1, SECOND), CONNECTION_BUSY, SECOND);
    assert_true(is_shut(kept[1]));
    assert_int_equal(n_shut(&t), 5);
    /* Those that are served are not cut; other addresses are. */
    assert_true(connect_from(&t, 1, SECOND)->slot == CONNECTIONS_NONE);
    assert_true(connect_from(&t, 2, SECOND)->slot != CONNECTIONS_NONE);
    assert_int_equal(n_shut(&t), 5);
    assert_int_equal(losses(&t, SECOND).displaced, 5);
    assert_int_equal(losses(&t, SECOND).displaced, 0);
    /* Whoever is ready makes room again. */
    set(&t, served, CONNECTION_WAITING, 2 * SECOND);
    assert_true(connect_from(&t, 1, 2 * SECOND)->slot != CONNECTIONS_NONE);
    assert_true(is_shut(served));
    table_deinit(&t);
}

/* New ones get the time to say what they want, if not too many of them have nothing to say. */
static void test_new_ones_have_their_time(void **state)
{
    struct client *kept[8], *fresh[8];
    struct table t;

    (void)state;
    table_init(&t, 20, 8);
    for (size_t i = 0; i < 8; i++) {
        kept[i] = connect_from(&t, 1, i);
        serve(&t, kept[i], 10 + i);
    }
    for (size_t i = 0; i < 6; i++) {
        fresh[i] = connect_from(&t, 1, SECOND + i);
        assert_true(is_shut(kept[i]));
    }
    assert_int_equal(n_shut(&t), 6);
    /* A quarter is for those that have said something. */
    fresh[6] = connect_from(&t, 1, SECOND + 6);
    assert_true(is_shut(fresh[0]));
    assert_int_equal(n_shut(&t), 7);
    serve(&t, fresh[6], SECOND + 8);
    /* Three wait, five are new. */
    fresh[7] = connect_from(&t, 1, SECOND + 9);
    assert_true(is_shut(kept[6]));
    assert_false(is_shut(fresh[1]));
    serve(&t, fresh[7], SECOND + 9);
    /* Their time is over. */
    connect_from(&t, 1, SECOND + 200 * MILLISECOND);
    assert_true(is_shut(fresh[1]));
    assert_false(is_shut(kept[7]));
    table_deinit(&t);
}

/* All new, and nobody else to be cut: the oldest. */
static void test_new_ones_among_served(void **state)
{
    struct client *fresh[2];
    struct table t;

    (void)state;
    table_init(&t, 8, 8);
    for (size_t i = 0; i < 6; i++)
        set(&t, connect_from(&t, 1, 0), CONNECTION_BUSY, 0);
    fresh[0] = connect_from(&t, 1, SECOND);
    fresh[1] = connect_from(&t, 1, SECOND + 1);
    connect_from(&t, 1, SECOND + 2);
    assert_true(is_shut(fresh[0]));
    assert_int_equal(n_shut(&t), 1);
    table_deinit(&t);
}

/* At the limit of all: the address with the most that are no better. */
static void test_who_is_cut_of_all(void **state)
{
    struct client *lone, *many[4], *kept[4];
    struct table t;

    (void)state;
    table_init(&t, 9, 8);
    lone = connect_from(&t, 1, 0);
    for (size_t i = 0; i < 4; i++) {
        many[i] = connect_from(&t, 2, 10 + i);
        kept[i] = connect_from(&t, 3, 0);
        serve(&t, kept[i], 0);
    }
    assert_int_equal(n_shut(&t), 0);
    for (size_t i = 0; i < 3; i++) {
        serve(&t, connect_from(&t, 4 + (uint32_t)i, SECOND), SECOND);
        assert_true(is_shut(many[i]));
    }
    /* One each: the oldest. */
    serve(&t, connect_from(&t, 7, SECOND), SECOND);
    assert_true(is_shut(lone));
    serve(&t, connect_from(&t, 8, SECOND), SECOND);
    assert_true(is_shut(many[3]));
    assert_int_equal(n_shut(&t), 5);
    serve(&t, connect_from(&t, 9, SECOND), SECOND);
    assert_int_equal(is_shut(kept[0]) + is_shut(kept[1]) + is_shut(kept[2]) + is_shut(kept[3]), 1);
    table_deinit(&t);
}

static void test_addresses(void **state)
{
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6}, other = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = from_v4(0x7f000001);
    struct sockaddr local = {.sa_family = AF_UNIX};
    const struct {
        const struct sockaddr *from;
        bool displaces;
    } rows[] = {
        {(struct sockaddr *)&v4, false},
        {(struct sockaddr *)&mapped, true}, /* the same client at a listener of IPv6 */
        {(struct sockaddr *)&other, false},
        {(struct sockaddr *)&other, true},
        {&local, false},
        {NULL, true},
    };
    struct table t;

    (void)state;
    table_init(&t, 20, 1);
    mapped.sin6_addr = (struct in6_addr){.s6_addr = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
    other.sin6_addr = (struct in6_addr){.s6_addr = {0xfe, 0x80, [15] = 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct client *client = &t.clients[t.n++];
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        *client = (struct client){.ours = ends[0], .theirs = ends[1]};
        client->slot = connections_open(t.c, ends[0], rows[i].from, SECOND, FAR);
        assert_int_equal(losses(&t, SECOND).displaced, rows[i].displaces);
    }
    table_deinit(&t);
}

/* What was cut keeps its slot until it is closed, so there is an end to those let in for them. */
static void test_spare_slots(void **state)
{
    const struct connections_limits limits = {.max = 2, .max_per_address = 2, .spare = 1};
    struct table t = {.c = connections_new(&limits)};
    struct client *first;

    (void)state;
    first = connect_from(&t, 1, 0);
    connect_from(&t, 1, 1);
    connect_from(&t, 1, 2);
    assert_true(is_shut(first));
    assert_true(connect_from(&t, 1, 3)->slot == CONNECTIONS_NONE);
    assert_int_equal(n_shut(&t), 1);
    connections_close(t.c, first->slot);
    first->slot = CONNECTIONS_NONE;
    assert_true(connect_from(&t, 1, 4)->slot != CONNECTIONS_NONE);
    assert_int_equal(n_shut(&t), 2);
    table_deinit(&t);
}

static uint64_t real_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Both ends of a connection over TCP. */
static void tcp_pair(int ret[2])
{
    struct sockaddr_in a = from_v4(0x7f000001);
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    ret[1] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(ret[1], (struct sockaddr *)&a, sizeof(a)), 0);
    ret[0] = accept(fd, NULL, NULL);
    assert_true(ret[0] >= 0);
    close(fd);
}

/* As much as the kernel takes for a client that does not read. */
static void fill(int fd)
{
    static const char block[65536];

    while (send(fd, block, sizeof(block), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        ;
}

/* Two clients of one address that are being served, which is all there may be. */
static void serve_two(struct table *t, void (*pair)(int ret[2]), uint64_t now_ns)
{
    int ends[2];

    table_init(t, 20, 2);
    for (int i = 0; i < 2; i++) {
        pair(ends);
        set(t, client_of(t, ends, 1, now_ns), CONNECTION_BUSY, now_ns);
    }
}

static void disconnect_last(struct table *t)
{
    struct client *client = &t->clients[--t->n];

    connections_close(t->c, client->slot);
    close(client->ours);
    close(client->theirs);
}

static void local_pair(int ret[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ret), 0);
}

/* One that does not take its answer is cut for another when it has stood still for a while. */
static void test_stuck(void **state)
{
    struct table t;

    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        serve_two(&t, local_pair, SECOND);
        fill(t.clients[1].ours);
        /* Whole: the rest of the answer is with the kernel, and it is no better for that. */
        if (whole)
            set(&t, &t.clients[1], CONNECTION_WAITING, SECOND);
        assert_true(connect_from(&t, 1, SECOND)->slot == CONNECTIONS_NONE);
        assert_true(connect_from(&t, 1, SECOND + 20 * MILLISECOND)->slot == CONNECTIONS_NONE);
        assert_true(connect_from(&t, 1, SECOND + 60 * MILLISECOND)->slot != CONNECTIONS_NONE);
        assert_int_equal(n_shut(&t), 0); /* there is so much to read before the end */
        assert_int_equal(send(t.clients[1].ours, "x", 1, MSG_NOSIGNAL), -1);
        assert_int_equal(losses(&t, SECOND).displaced, 1);
        table_deinit(&t);
    }
}

/* The kernel knows how long it is that a client took something. It keeps nothing for who was cut.
 */
static void test_stuck_over_tcp(void **state)
{
    uint64_t begin = real_ns();
    struct client *stuck;
    struct table t;
    char byte;

    (void)state;
    serve_two(&t, tcp_pair, begin);
    stuck = &t.clients[1];
    fill(stuck->ours);
    while (connect_from(&t, 1, begin)->slot == CONNECTIONS_NONE) {
        disconnect_last(&t);
        assert_true(real_ns() - begin < 20 * SECOND);
        usleep(2000);
    }
    assert_false(is_shut(&t.clients[0]));
    assert_int_equal(send(stuck->ours, "x", 1, MSG_NOSIGNAL), -1);
    connections_close(t.c, stuck->slot);
    stuck->slot = CONNECTIONS_NONE;
    close(stuck->ours);
    stuck->ours = -1;
    while (recv(stuck->theirs, &byte, 1, 0) > 0)
        ;
    assert_int_equal(errno, ECONNRESET);
    table_deinit(&t);
}

enum {
    ADDRESSES = 4,
    MAX = 10,
    MAX_PER_ADDRESS = 4,
};

static bool is_live(const struct client *client)
{
    return client->slot != CONNECTIONS_NONE && !is_shut(client);
}

/* The bounds hold. Returns whether another client of the address could not be let in. */
static bool check_bounds(const struct table *t, size_t address)
{
    size_t n[ADDRESSES] = {0}, all = 0, busy[ADDRESSES] = {0}, all_busy = 0;

    for (size_t i = 0; i < t->n; i++) {
        bool live = is_live(&t->clients[i]);

        n[i % ADDRESSES] += live;
        all += live;
        busy[i % ADDRESSES] += live && t->clients[i].busy;
        all_busy += live && t->clients[i].busy;
    }
    assert_true(all <= MAX);
    for (size_t i = 0; i < ADDRESSES; i++)
        assert_true(n[i] <= MAX_PER_ADDRESS);
    if (n[address] == MAX_PER_ADDRESS)
        return busy[address] == MAX_PER_ADDRESS;
    return all_busy == MAX;
}

static void random_open(struct table *t, size_t i, uint64_t now_ns)
{
    struct sockaddr_in from = from_v4((uint32_t)(i % ADDRESSES));
    bool none = check_bounds(t, i % ADDRESSES);
    struct client *client = &t->clients[i];
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    *client = (struct client){.ours = ends[0], .theirs = ends[1]};
    client->slot = connections_open(t->c, ends[0], (struct sockaddr *)&from, now_ns, FAR);
    /* Only those that are being served keep another one out. */
    assert_int_equal(client->slot == CONNECTIONS_NONE, none);
}

static void random_close(struct table *t, size_t i)
{
    struct client *client = &t->clients[i];

    connections_close(t->c, client->slot);
    close(client->ours);
    close(client->theirs);
    *client = (struct client){.ours = -1, .theirs = -1, .slot = CONNECTIONS_NONE};
}

static void random_step(struct table *t, struct chance *chance, uint64_t now_ns)
{
    size_t i = chance_below(chance, t->n);
    enum connection_state state = (enum connection_state)chance_below(chance, 3);

    if (t->clients[i].ours < 0) {
        random_open(t, i, now_ns);
    } else if (t->clients[i].slot == CONNECTIONS_NONE || chance_below(chance, 4) == 0) {
        random_close(t, i);
    } else {
        set(t, &t->clients[i], state, now_ns);
        t->clients[i].busy = state == CONNECTION_BUSY;
    }
}

/* Whatever comes in whatever order: the bounds hold, and nobody is refused without need. */
static void test_random(void **state)
{
    struct chance chance = chance_of_test();
    uint64_t now_ns = SECOND;
    struct table t;

    (void)state;
    table_init(&t, MAX, MAX_PER_ADDRESS);
    t.n = CLIENTS_MAX;
    for (size_t i = 0; i < t.n; i++)
        t.clients[i] = (struct client){.ours = -1, .theirs = -1, .slot = CONNECTIONS_NONE};
    for (int step = 0; step < 50000; step++) {
        now_ns += chance_below(&chance, 20) * MILLISECOND;
        random_step(&t, &chance, now_ns);
    }
    table_deinit(&t);
}

enum { THREADS = 4 };

/* Connects, asks and goes, over and over. */
static void *come_and_go(void *arg)
{
    struct connections *c = arg;
    struct sockaddr_in from = from_v4(1);
    int ends[2];

    for (int i = 0; i < 2000; i++) {
        size_t slot;

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
            return NULL;
        slot = connections_open(c, ends[0], (struct sockaddr *)&from, real_ns(), FAR);
        connections_set(c, slot, CONNECTION_BUSY, real_ns(), FAR);
        connections_set(c, slot, CONNECTION_WAITING, real_ns(), FAR);
        connections_close(c, slot);
        close(ends[0]);
        close(ends[1]);
    }
    return NULL;
}

/* As listeners and main do it; for the thread sanitizer. */
static void test_threads(void **state)
{
    const struct connections_limits limits = {.max = 3, .max_per_address = 2, .spare = THREADS};
    struct connections *c = connections_new(&limits);
    pthread_t threads[THREADS];
    struct connections_losses lost;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, c), 0);
    for (int i = 0; i < 2000; i++)
        connections_sweep(c, real_ns(), &lost);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(connections_shut_idle(c), 0);
    assert_true(connections_sweep(c, real_ns(), &lost) == UINT64_MAX);
    connections_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_idle_ones_are_shut),
        cmocka_unit_test(test_who_is_cut_of_an_address),
        cmocka_unit_test(test_new_ones_have_their_time),
        cmocka_unit_test(test_new_ones_among_served),
        cmocka_unit_test(test_who_is_cut_of_all),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_spare_slots),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_stuck_over_tcp),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
