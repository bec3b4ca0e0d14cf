/*
 * prober - threads that read what may block.
 *
 * One lock guards all of struct prober, and is never held over a reading. A request is queued, then
 * in the hands of one thread, then an answer; has_room() counts all three, so none of the rings
 * can overflow. Threads are detached, since one that hangs cannot be joined: the owner and each
 * thread hold a reference, and the last one frees. A thread left behind still holds its place with
 * the place's memory; nobody else touches either until it is back.
 *
 * Texts are large and mostly short, so they lie beside the answers, and only what is used of them
 * is copied: from the thread's own, when a part was read, to the place's, which can be taken from
 * it at any time, and on to the answer's.
 */
#include "daemon/prober.h"

#include "daemon/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* How soon to look again at requests that no thread has taken yet. */
static const uint64_t QUEUED_PAUSE_NS = 10000000;
/* How long an owner that stops waits for its threads. */
static const uint64_t STOP_NS = 1000000000;

struct queued {
    struct probe_request request;
    int dir; /* owned */
};

enum {
    /* Requests leave so many to files and connections. */
    SPARE_DESCRIPTORS = 24,
};

enum place_state {
    PLACE_FREE, /* no thread */
    PLACE_IDLE,
    PLACE_READING,
    PLACE_LEFT, /* its thread hangs, and was given up */
};

/* What a thread has. */
struct place {
    struct prober *prober;
    enum place_state state;
    bool have_memory;
    struct procfs memory;       /* for readers, reused and never cleared */
    struct probe_texts reading; /* the thread's */
    struct probe_request request;
    enum part part;           /* of its parts, being read */
    uint64_t since_ns;        /* when the reading was first seen; 0: not yet */
    struct probe_texts texts; /* read so far */
    bool have_clock;          /* the thread has begun, and not ended */
    clockid_t clock;          /* of its CPU time */
    uint64_t once_ns;         /* of that, what requests of `once` took */
    uint64_t began_ns;        /* CPU time at which such a request began; 0: it reads none */
};

struct prober {
    pthread_mutex_t lock;
    pthread_cond_t work;   /* there is a request, or the stop */
    pthread_cond_t change; /* there is an answer, or a thread has ended */
    prober_read_function *read;
    unsigned refs;
    bool started;
    bool stop;
    struct place places[PROBER_THREADS_MAX];
    struct queued queue[PROBER_ROOM];
    size_t queue_first, n_queued;
    struct probe_answer answers[PROBER_ROOM];
    struct probe_texts texts[PROBER_ROOM]; /* of the answers */
    size_t n_answers;
    struct probe_texts taken; /* of the answer taken last: the owner's */
    uint64_t ended_cpu_ns;    /* of threads that have */
};

static unsigned count_places(const struct prober *p, enum place_state state)
{
    unsigned n = 0;

    for (size_t i = 0; i < PROBER_THREADS_MAX; i++)
        n += p->places[i].state == state;
    return n;
}

/* Threads that read, or would. */
static unsigned count_working(const struct prober *p)
{
    return count_places(p, PLACE_IDLE) + count_places(p, PLACE_READING);
}

static bool has_room(const struct prober *p)
{
    return p->n_queued + count_places(p, PLACE_READING) + p->n_answers < PROBER_ROOM;
}

struct prober *prober_new(prober_read_function *read)
{
    struct prober *p = calloc(1, sizeof(*p));
    pthread_condattr_t attr;

    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->change, &attr);
    pthread_condattr_destroy(&attr);
    p->read = read;
    p->refs = 1;
    for (size_t i = 0; i < PROBER_THREADS_MAX; i++)
        p->places[i].prober = p;
    return p;
}

/* Gives a reference and the lock back. */
static void prober_unref_unlock(struct prober *p)
{
    bool last = --p->refs == 0;

    pthread_mutex_unlock(&p->lock);
    if (!last)
        return;
    for (size_t i = 0; i < PROBER_THREADS_MAX; i++)
        if (p->places[i].have_memory)
            procfs_close(&p->places[i].memory);
    pthread_cond_destroy(&p->change);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Waits for a change; the lock is held. False: the time has come. */
static bool wait_for_change(struct prober *p, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};

    return pthread_cond_timedwait(&p->change, &p->lock, &until) != ETIMEDOUT;
}

static struct queued dequeue(struct prober *p)
{
    struct queued first = p->queue[p->queue_first];

    p->queue_first = (p->queue_first + 1) % PROBER_ROOM;
    p->n_queued--;
    return first;
}

/* Without texts their memory is not touched, so where nobody wants any it takes none. */
static void add_answer(struct prober *p, const struct probe_answer *answer,
                       const struct probe_texts *texts)
{
    struct probe_answer *to = &p->answers[p->n_answers];

    *to = *answer;
    if (texts && (texts->have || texts->exe_refused)) {
        probe_texts_copy(&p->texts[p->n_answers], texts);
        to->texts = &p->texts[p->n_answers];
    }
    p->n_answers++;
}

/* Drops the requests that nobody will read; their answers settle nothing. */
static void drop_queue(struct prober *p)
{
    while (p->n_queued > 0) {
        struct queued dropped = dequeue(p);
        struct probe_answer answer = {.sample = {.identity = dropped.request.identity},
                                      .asked = dropped.request.parts};

        close(dropped.dir);
        add_answer(p, &answer, NULL);
    }
}

struct prober *prober_free(struct prober *p)
{
    uint64_t until_ns = clock_monotonic_ns() + STOP_NS;

    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    drop_queue(p);
    pthread_cond_broadcast(&p->work);
    while (count_working(p) > 0 && wait_for_change(p, until_ns))
        ;
    prober_unref_unlock(p);
    return NULL;
}

/* Says what is read next, and gives away what was read up to here. */
static void begin_part(struct place *place, enum part part)
{
    struct prober *p = place->prober;

    pthread_mutex_lock(&p->lock);
    place->part = part;
    probe_texts_copy(&place->texts, &place->reading);
    pthread_mutex_unlock(&p->lock);
}

static void read_parts(struct place *place, const struct queued *asked, struct probe_answer *ret)
{
    struct prober *p = place->prober;
    uint32_t tried = 0;

    *ret = (struct probe_answer){.sample = {.identity = asked->request.identity},
                                 .asked = asked->request.parts};
    for (uint32_t rest = asked->request.parts; rest; rest &= rest - 1) {
        enum part part = (enum part)__builtin_ctz(rest);

        begin_part(place, part);
        ret->error[part] = p->read(&place->memory, asked->dir, part, &ret->sample, &place->reading);
        if (!procfs_own_trouble(ret->error[part]))
            ret->parts |= part_bit(part);
        tried |= part_bit(part);
        rest |= probe_stand_in(part, ret->error[part]);
    }
    if (tried & ~ret->parts & probe_text_parts())
        ret->parts &= ~probe_text_parts();
}

/* ---- what the threads cost; the lock is held ---- */

static void begin_cost(struct place *place)
{
    if (place->request.once)
        place->began_ns = clock_thread_cpu_ns();
}

static void end_cost(struct place *place)
{
    if (place->began_ns > 0)
        place->once_ns += clock_thread_cpu_ns() - place->began_ns;
    place->began_ns = 0;
}

static uint64_t cost_of(const struct place *place)
{
    if (!place->have_clock)
        return 0;
    return (place->began_ns > 0 ? place->began_ns : clock_other_cpu_ns(place->clock)) -
           place->once_ns;
}

/* The thread's last act; its clock goes with it. */
static void settle_cost(struct place *place)
{
    place->prober->ended_cpu_ns += cost_of(place);
    place->have_clock = false;
    place->once_ns = 0;
}

uint64_t prober_cpu_ns(struct prober *p)
{
    uint64_t sum;

    pthread_mutex_lock(&p->lock);
    sum = p->ended_cpu_ns;
    for (size_t i = 0; i < PROBER_THREADS_MAX; i++)
        sum += cost_of(&p->places[i]);
    pthread_mutex_unlock(&p->lock);
    return sum;
}

/* ---- the threads ---- */

/* Reads the first request of the queue; the lock is held before and after. */
static void serve(struct place *place)
{
    struct prober *p = place->prober;
    struct queued asked = dequeue(p);
    struct probe_answer answer;

    place->state = PLACE_READING;
    place->request = asked.request;
    place->since_ns = 0;
    probe_texts_reset(&place->texts);
    probe_texts_reset(&place->reading);
    begin_cost(place);
    pthread_mutex_unlock(&p->lock);
    read_parts(place, &asked, &answer);
    close(asked.dir);
    pthread_mutex_lock(&p->lock);
    end_cost(place);
    if (place->state != PLACE_LEFT) {
        add_answer(p, &answer, &place->reading);
        pthread_cond_signal(&p->change);
    }
    place->state = PLACE_IDLE;
}

static void *thread_main(void *arg)
{
    struct place *place = arg;
    struct prober *p = place->prober;

    pthread_setname_np(pthread_self(), "prober");
    pthread_mutex_lock(&p->lock);
    place->clock = clock_of_thread();
    place->have_clock = true;
    /* More than there should be are those that came back: they go. */
    while (!p->stop && count_working(p) <= PROBER_THREADS) {
        if (p->n_queued == 0)
            pthread_cond_wait(&p->work, &p->lock);
        else
            serve(place);
    }
    place->state = PLACE_FREE;
    settle_cost(place);
    pthread_cond_signal(&p->change);
    prober_unref_unlock(p);
    return NULL;
}

static int start_thread(struct place *place)
{
    struct prober *p = place->prober;
    pthread_attr_t attr;
    pthread_t thread;
    int r = 0;

    if (!place->have_memory)
        r = procfs_open_rootless(&place->memory);
    if (r < 0)
        return r;
    place->have_memory = true;
    place->state = PLACE_IDLE;
    p->refs++;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    r = -pthread_create(&thread, &attr, thread_main, place);
    pthread_attr_destroy(&attr);
    if (r < 0) {
        place->state = PLACE_FREE;
        p->refs--;
    }
    return r;
}

/* Starts what lacks of the threads; the lock is held. */
static void start_threads(struct prober *p)
{
    unsigned working = count_working(p);

    p->started = true;
    for (size_t i = 0; i < PROBER_THREADS_MAX && working < PROBER_THREADS; i++) {
        if (p->places[i].state != PLACE_FREE)
            continue;
        if (start_thread(&p->places[i]) < 0)
            break;
        working++;
    }
    if (working == 0)
        drop_queue(p);
}

bool prober_has_room(struct prober *p)
{
    bool room;

    pthread_mutex_lock(&p->lock);
    room = has_room(p);
    pthread_mutex_unlock(&p->lock);
    return room;
}

/*
 * A descriptor of our own for a request. The kernel gives the lowest free number, so a number near
 * the limit says that hardly any are left, and those are the collector's and the clients'.
 */
static int hold_directory(int dir)
{
    struct rlimit limit;
    int own = fcntl(dir, F_DUPFD_CLOEXEC, 0);

    if (own < 0)
        return -errno;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)own + SPARE_DESCRIPTORS < limit.rlim_cur)
        return own;
    close(own);
    return -EMFILE;
}

static int enqueue(struct prober *p, const struct probe_request *request, int dir)
{
    int own = hold_directory(dir);

    if (own < 0)
        return own;
    p->queue[(p->queue_first + p->n_queued++) % PROBER_ROOM] =
        (struct queued){.request = *request, .dir = own};
    pthread_cond_signal(&p->work);
    return 0;
}

int prober_ask(struct prober *p, const struct probe_request *request, int dir)
{
    int r = -EAGAIN;

    pthread_mutex_lock(&p->lock);
    if (!p->started)
        start_threads(p);
    if (has_room(p) && count_working(p) > 0)
        r = enqueue(p, request, dir);
    pthread_mutex_unlock(&p->lock);
    return r;
}

static void give_up(struct place *place)
{
    struct probe_answer answer = {.sample = {.identity = place->request.identity},
                                  .asked = place->request.parts,
                                  .hung = true,
                                  .hung_part = place->part};

    place->state = PLACE_LEFT;
    /* From now on it costs what it costs. */
    place->began_ns = 0;
    add_answer(place->prober, &answer, &place->texts);
}

static bool time_is_over(uint64_t since_ns, uint64_t now_ns, uint64_t deadline_ns)
{
    return now_ns > since_ns && now_ns - since_ns >= deadline_ns;
}

void prober_look(struct prober *p, uint64_t now_ns, uint64_t deadline_ns)
{
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < PROBER_THREADS_MAX; i++) {
        struct place *place = &p->places[i];

        if (place->state != PLACE_READING)
            continue;
        if (place->since_ns == 0)
            place->since_ns = now_ns;
        else if (time_is_over(place->since_ns, now_ns, deadline_ns))
            give_up(place);
    }
    if (p->started)
        start_threads(p);
    pthread_mutex_unlock(&p->lock);
}

bool prober_take(struct prober *p, struct probe_answer *ret)
{
    bool have;

    pthread_mutex_lock(&p->lock);
    have = p->n_answers > 0;
    if (have) {
        *ret = p->answers[--p->n_answers];
        if (ret->texts)
            probe_texts_copy(&p->taken, ret->texts);
        else
            probe_texts_reset(&p->taken);
        ret->texts = &p->taken;
    }
    pthread_mutex_unlock(&p->lock);
    return have;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t prober_look_again(struct prober *p, uint64_t now_ns, uint64_t deadline_ns)
{
    uint64_t at_ns = UINT64_MAX;

    pthread_mutex_lock(&p->lock);
    if (p->n_queued > 0)
        at_ns = now_ns + QUEUED_PAUSE_NS;
    for (size_t i = 0; i < PROBER_THREADS_MAX; i++) {
        const struct place *place = &p->places[i];

        if (place->state == PLACE_READING)
            at_ns = earlier(at_ns, place->since_ns ? place->since_ns + deadline_ns
                                                   : now_ns + QUEUED_PAUSE_NS);
    }
    pthread_mutex_unlock(&p->lock);
    return at_ns;
}

void prober_wait(struct prober *p, uint64_t until_ns)
{
    pthread_mutex_lock(&p->lock);
    while (p->n_answers == 0 && wait_for_change(p, until_ns))
        ;
    pthread_mutex_unlock(&p->lock);
}

bool prober_is_off(struct prober *p)
{
    bool off;

    pthread_mutex_lock(&p->lock);
    off = p->started && count_working(p) == 0;
    pthread_mutex_unlock(&p->lock);
    return off;
}

unsigned prober_hanging(struct prober *p)
{
    unsigned n;

    pthread_mutex_lock(&p->lock);
    n = count_places(p, PLACE_LEFT);
    pthread_mutex_unlock(&p->lock);
    return n;
}
