/*
 * users - the names of users.
 *
 * Each user has a record that never moves. The owner hands it to the thread through one list and
 * gets it back through another; whoever has it may write what it is asked for, so the lock is held
 * for the lists alone. The name shown is the owner's at all times: what was found lies beside it,
 * and the two are exchanged. So the owner frees no name, nor does it copy one.
 *
 * Only the thread can hang, and in one record. It holds a reference, as the owner does, and the
 * last one frees all (see prober.c). No other thread takes its place: who waits for one user of a
 * name service will most likely wait for the next one too. Everybody else goes by the number then.
 */
#include "daemon/users.h"

#include "base/map.h"
#include "daemon/clock.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NUMBER_MAX = 11, /* with its terminator */
    OVERFLOWS = 4,
    ROOM_MIN = 1024,
    ROOM_MAX = 1024 * 1024, /* a record holds all of a user's text, not the name alone */
    USERS_FIRST = 64,
};

static const uint64_t MINUTE_NS = 60000000000u;
/* How old an answer gets before it is looked up again, when there is one and when it failed. */
static const uint64_t REFRESH_NS = 5 * 60000000000u;
static const uint64_t RETRY_NS = 60000000000u;
/* How long a user is kept whom nobody asks for, and how long where there are many. */
static const uint64_t FORGET_NS = 60 * 60000000000u;
static const uint64_t FORGET_SOON_NS = 60000000000u;
/* How long an owner that stops waits for the thread. */
static const uint64_t STOP_NS = 1000000000u;

struct user {
    uint32_t uid;
    bool asked; /* the thread has it, or will */
    bool known; /* there was an answer */
    bool told;  /* and its name, or its number, was given to somebody */
    uint64_t asked_ns;
    uint64_t due_ns;  /* when it is to be looked up again */
    uint64_t used_ns; /* when somebody asked for it */
    char number[NUMBER_MAX];
    char *name; /* NULL: it goes by the number */
    /* Whoever has the record: */
    struct user *next;
    char *found; /* what was found for `name`; when that was taken, the name before it */
    int error;
};

struct users {
    /* The owner's. */
    uint64_t now_ns;
    uint64_t deadline_ns;
    uint64_t swept_ns;
    bool stuck; /* the thread waits for longer than the deadline */
    uint64_t changes;
    struct user **users;
    size_t n_users;
    size_t capacity;
    struct map by_uid;
    char overflow[OVERFLOWS][NUMBER_MAX];
    size_t next_overflow;

    users_look_function *look;
    pthread_mutex_t lock;  /* guards all that follows */
    pthread_cond_t work;   /* there is a user to look up, or the stop */
    pthread_cond_t change; /* there is one that was, or the thread has ended */
    unsigned refs;
    bool running;
    bool stop;
    struct user *asked; /* oldest first */
    struct user **asked_end;
    struct user *in_hand;
    uint64_t since_ns; /* when that was first seen; 0: not yet */
    struct user *answered;
};

int users_look(uint32_t uid, char *room, size_t n, const char **ret)
{
    struct passwd entry, *found;
    int r = getpwuid_r((uid_t)uid, &entry, room, n, &found);

    if (r == 0)
        *ret = found ? entry.pw_name : NULL;
    return -r;
}

struct users *users_new(users_look_function *look)
{
    struct users *u = calloc(1, sizeof(*u));
    pthread_condattr_t attr;

    if (!u)
        return NULL;
    map_init(&u->by_uid);
    u->look = look;
    u->refs = 1;
    u->asked_end = &u->asked;
    pthread_mutex_init(&u->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&u->work, NULL);
    pthread_cond_init(&u->change, &attr);
    pthread_condattr_destroy(&attr);
    return u;
}

static void free_user(struct user *user)
{
    free(user->name);
    free(user->found);
    free(user);
}

/* Gives a reference and the lock back. */
static void users_unref_unlock(struct users *u)
{
    bool last = --u->refs == 0;

    pthread_mutex_unlock(&u->lock);
    if (!last)
        return;
    for (size_t i = 0; i < u->n_users; i++)
        free_user(u->users[i]);
    free(u->users);
    map_deinit(&u->by_uid);
    pthread_cond_destroy(&u->change);
    pthread_cond_destroy(&u->work);
    pthread_mutex_destroy(&u->lock);
    free(u);
}

/* Waits for a change; the lock is held. False: the time has come. */
static bool wait_for_change(struct users *u, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};

    return pthread_cond_timedwait(&u->change, &u->lock, &until) != ETIMEDOUT;
}

struct users *users_free(struct users *u)
{
    uint64_t until_ns = clock_monotonic_ns() + STOP_NS;

    if (!u)
        return NULL;
    pthread_mutex_lock(&u->lock);
    u->stop = true;
    pthread_cond_signal(&u->work);
    while (u->running && wait_for_change(u, until_ns))
        ;
    users_unref_unlock(u);
    return NULL;
}

/* What a look-up needs; the thread's own. */
struct room {
    char *p;
    size_t n;
};

/* False: it is as large as it gets. */
static bool room_grow(struct room *room)
{
    size_t n = room->n ? room->n * 4 : ROOM_MIN;
    char *p = n <= ROOM_MAX ? realloc(room->p, n) : NULL;

    if (!p)
        return false;
    *room = (struct room){p, n};
    return true;
}

/* Looks up a user that the thread has. */
static void look_up(const struct users *u, struct user *user, struct room *room)
{
    const char *name = NULL;
    int r = -ERANGE;

    free(user->found);
    user->found = NULL;
    if (room->n > 0)
        r = u->look(user->uid, room->p, room->n, &name);
    while (r == -ERANGE && room_grow(room))
        r = u->look(user->uid, room->p, room->n, &name);
    if (r == 0 && name && *name) {
        user->found = strndup(name, USERS_NAME_MAX);
        r = user->found ? 0 : -ENOMEM;
    }
    user->error = r;
}

/* Looks up the first one asked for; the lock is held before and after. */
static void serve(struct users *u, struct room *room)
{
    struct user *user = u->asked;

    u->asked = user->next;
    if (!u->asked)
        u->asked_end = &u->asked;
    u->in_hand = user;
    u->since_ns = 0;
    pthread_mutex_unlock(&u->lock);
    look_up(u, user, room);
    pthread_mutex_lock(&u->lock);
    u->in_hand = NULL;
    user->next = u->answered;
    u->answered = user;
    pthread_cond_signal(&u->change);
}

static void *thread_main(void *arg)
{
    struct room room = {NULL, 0};
    struct users *u = arg;

    pthread_setname_np(pthread_self(), "users");
    pthread_mutex_lock(&u->lock);
    while (!u->stop) {
        if (!u->asked)
            pthread_cond_wait(&u->work, &u->lock);
        else
            serve(u, &room);
    }
    free(room.p);
    u->running = false;
    pthread_cond_signal(&u->change);
    users_unref_unlock(u);
    return NULL;
}

/* The lock is held. */
static int start_thread(struct users *u)
{
    pthread_attr_t attr;
    pthread_t thread;
    int r;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    r = -pthread_create(&thread, &attr, thread_main, u);
    pthread_attr_destroy(&attr);
    if (r < 0)
        return r;
    u->refs++;
    u->running = true;
    return 0;
}

/* Hands the user to the thread; without one it is as if the look-up had failed. */
static void ask(struct users *u, struct user *user)
{
    int r = 0;

    pthread_mutex_lock(&u->lock);
    if (!u->running)
        r = start_thread(u);
    if (r == 0) {
        user->next = NULL;
        *u->asked_end = user;
        u->asked_end = &user->next;
        pthread_cond_signal(&u->work);
    }
    pthread_mutex_unlock(&u->lock);
    user->asked = r == 0;
    user->asked_ns = u->now_ns;
    if (r < 0) {
        user->known = true;
        user->due_ns = u->now_ns + RETRY_NS;
    }
}

static struct span shown(const struct user *user)
{
    return span_from_str(user->name ? user->name : user->number);
}

static void take_answer(struct users *u, struct user *user)
{
    struct span before = shown(user);

    user->asked = false;
    user->known = true;
    user->due_ns = u->now_ns + (user->error < 0 ? RETRY_NS : REFRESH_NS);
    /* An error tells nothing new about who was known. */
    if (user->error == 0) {
        char *found = user->found;

        user->found = user->name;
        user->name = found;
    }
    u->changes += user->told && !span_equal(before, shown(user));
}

static void take_answers(struct users *u, struct user *answered)
{
    for (struct user *user = answered, *next; user; user = next) {
        next = user->next;
        take_answer(u, user);
    }
}

static uint32_t find(const struct users *u, uint32_t uid)
{
    uint64_t hash = map_hash_u64(uid);

    for (size_t at = map_first(&u->by_uid, hash); at != MAP_END;
         at = map_next(&u->by_uid, hash, at))
        if (u->users[u->by_uid.slots[at].ref]->uid == uid)
            return u->by_uid.slots[at].ref;
    return MAP_FREE;
}

/* The last one takes its place. */
static void forget(struct users *u, uint32_t ref)
{
    struct user *user = u->users[ref], *last = u->users[u->n_users - 1];

    map_remove(&u->by_uid, map_hash_u64(user->uid), ref);
    if (last != user) {
        map_remove(&u->by_uid, map_hash_u64(last->uid), (uint32_t)(u->n_users - 1));
        /* There is room for one that just was there. */
        (void)map_add(&u->by_uid, map_hash_u64(last->uid), ref);
        u->users[ref] = last;
    }
    u->n_users--;
    free_user(user);
}

/* Forgets those whom nobody asked for; who is under way is the thread's. */
static void sweep(struct users *u)
{
    uint64_t kept_ns = u->n_users > USERS_MAX / 2 ? FORGET_SOON_NS : FORGET_NS;

    if (u->now_ns - u->swept_ns < MINUTE_NS)
        return;
    u->swept_ns = u->now_ns;
    for (size_t i = u->n_users; i-- > 0;)
        if (!u->users[i]->asked && u->now_ns - u->users[i]->used_ns >= kept_ns)
            forget(u, (uint32_t)i);
}

void users_begin(struct users *u, uint64_t now_ns, uint64_t deadline_ns)
{
    struct user *answered;

    u->now_ns = now_ns;
    u->deadline_ns = deadline_ns;
    pthread_mutex_lock(&u->lock);
    answered = u->answered;
    u->answered = NULL;
    if (u->in_hand && u->since_ns == 0)
        u->since_ns = now_ns;
    u->stuck = u->in_hand && now_ns - u->since_ns >= deadline_ns;
    pthread_mutex_unlock(&u->lock);
    take_answers(u, answered);
    sweep(u);
}

static int reserve(struct users *u)
{
    size_t capacity = u->capacity ? u->capacity * 2 : USERS_FIRST;
    struct user **users;

    if (u->n_users == USERS_MAX)
        return -ENOSPC;
    if (u->n_users < u->capacity)
        return 0;
    users = realloc(u->users, capacity * sizeof(*users));
    if (!users)
        return -ENOMEM;
    u->users = users;
    u->capacity = capacity;
    return 0;
}

/* A record for a new user; NULL if there is no place for it. */
static struct user *add(struct users *u, uint32_t uid)
{
    struct user *user = reserve(u) == 0 ? calloc(1, sizeof(*user)) : NULL;

    if (!user)
        return NULL;
    if (map_add(&u->by_uid, map_hash_u64(uid), (uint32_t)u->n_users) < 0) {
        free(user);
        return NULL;
    }
    user->uid = uid;
    snprintf(user->number, sizeof(user->number), "%u", uid);
    u->users[u->n_users++] = user;
    return user;
}

/* The number of one that there is no place for. */
static struct span overflow(struct users *u, uint32_t uid)
{
    char *number = u->overflow[u->next_overflow++ % OVERFLOWS];

    snprintf(number, NUMBER_MAX, "%u", uid);
    return span_from_str(number);
}

/* Whether it goes by something already, if only by its number. */
static bool is_settled(const struct users *u, const struct user *user)
{
    return user->known || u->stuck || u->now_ns - user->asked_ns >= u->deadline_ns;
}

enum users_answer users_name(struct users *u, uint32_t uid, struct span *ret)
{
    uint32_t ref = find(u, uid);
    struct user *user = ref == MAP_FREE ? add(u, uid) : u->users[ref];

    if (!user) {
        *ret = overflow(u, uid);
        return USERS_KNOWN;
    }
    user->used_ns = u->now_ns;
    if (!user->asked && u->now_ns >= user->due_ns)
        ask(u, user);
    if (!is_settled(u, user))
        return USERS_EXPECTED;
    user->told = true;
    *ret = shown(user);
    return USERS_KNOWN;
}

void users_wait(struct users *u)
{
    uint64_t until_ns = clock_monotonic_ns() + u->deadline_ns;
    struct user *answered;

    pthread_mutex_lock(&u->lock);
    while ((u->asked || u->in_hand) && wait_for_change(u, until_ns))
        ;
    answered = u->answered;
    u->answered = NULL;
    u->stuck = u->asked || u->in_hand;
    pthread_mutex_unlock(&u->lock);
    take_answers(u, answered);
}

uint64_t users_changes(const struct users *u)
{
    return u->changes;
}
