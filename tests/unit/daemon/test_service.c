/* What systemd is told, at the other end of its socket, and the sockets that it gives. */
#include "daemon/service.h"

#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

/* The manager's socket, in the abstract namespace. */
static int manager;

static void open_manager(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t n = sizeof(sa_family_t); /* the kernel picks a name */
    char path[sizeof(a.sun_path) + 1];

    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(manager >= 0);
    assert_int_equal(bind(manager, (const struct sockaddr *)&a, n), 0);
    n = sizeof(a);
    assert_int_equal(getsockname(manager, (struct sockaddr *)&a, &n), 0);
    snprintf(path, sizeof(path), "@%.*s", (int)(n - sizeof(sa_family_t) - 1), a.sun_path + 1);
    setenv("NOTIFY_SOCKET", path, 1);
}

static const char *message(void)
{
    static char text[1024];
    ssize_t n = recv(manager, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void test_notifications(void **state)
{
    (void)state;
    open_manager();
    service_tell_ready();
    assert_string_equal(message(), "READY=1");
    service_tell_reloading(1234567890);
    assert_string_equal(message(), "RELOADING=1\nMONOTONIC_USEC=1234567");
    service_tell_stopping();
    assert_string_equal(message(), "STOPPING=1");
    service_tell_status("12 processes in 3 groups");
    assert_string_equal(message(), "STATUS=12 processes in 3 groups");
    service_extend_start(30000000000);
    assert_string_equal(message(), "EXTEND_TIMEOUT_USEC=30000000");
    service_set_watchdog(5000000000);
    assert_string_equal(message(), "WATCHDOG_USEC=5000000");
    service_feed_watchdog();
    assert_string_equal(message(), "WATCHDOG=1");
    close(manager);
    unsetenv("NOTIFY_SOCKET");
    /* Nobody to tell. */
    service_tell_ready();
}

static void test_watchdog(void **state)
{
    char pid[32];

    (void)state;
    assert_int_equal(service_watchdog(), 0);
    setenv("WATCHDOG_USEC", "60000000", 1);
    assert_int_equal(service_watchdog(), 60000000000);
    setenv("WATCHDOG_PID", "1", 1);
    assert_int_equal(service_watchdog(), 0);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(service_watchdog(), 60000000000);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

/* Descriptors from 3 on, as systemd gives them. */
static void give(int n, const char *names)
{
    char text[32];

    snprintf(text, sizeof(text), "%d", (int)getpid());
    setenv("LISTEN_PID", text, 1);
    snprintf(text, sizeof(text), "%d", n);
    setenv("LISTEN_FDS", text, 1);
    setenv("LISTEN_FDNAMES", names, 1);
}

static void give_nothing(void)
{
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

/* A socket at this descriptor, listening or not. */
static void put_socket(int at, int type, bool listening)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type, 0);

    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(sa_family_t)), 0);
    if (listening)
        assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(dup2(fd, at), at);
    if (fd != at)
        close(fd);
}

static void check_refused(int n, const char *names, int result, const char *text)
{
    struct service_sockets sockets;
    struct buf error;

    buf_init(&error, 1024);
    give(n, names);
    assert_int_equal(service_take_sockets(&sockets, &error), result);
    buf_append_char(&error, '\0');
    assert_string_equal(error.data, text);
    buf_deinit(&error);
    give_nothing();
}

static void test_sockets(void **state)
{
    struct service_sockets sockets;
    struct buf error;

    (void)state;
    buf_init(&error, 1024);
    assert_int_equal(service_take_sockets(&sockets, &error), 0);
    assert_int_equal(sockets.n, 0);

    put_socket(3, SOCK_STREAM, true);
    put_socket(4, SOCK_STREAM, true);
    give(2, "web:web");
    assert_int_equal(service_take_sockets(&sockets, &error), 0);
    assert_int_equal(sockets.n, 2);
    assert_int_equal(sockets.fd[0], 3);
    assert_int_equal(sockets.fd[1], 4);
    assert_int_equal(error.len, 0);

    /* For another process. */
    setenv("LISTEN_PID", "1", 1);
    assert_int_equal(service_take_sockets(&sockets, &error), 0);
    assert_int_equal(sockets.n, 0);
    buf_deinit(&error);

    put_socket(4, SOCK_STREAM, false);
    check_refused(2, "web:half", -EINVAL,
                  "descriptor 4 (half), given by systemd, is no listening stream socket");
    put_socket(4, SOCK_DGRAM, false);
    check_refused(2, "web:dgram", -EINVAL,
                  "descriptor 4 (dgram), given by systemd, is no listening stream socket");
    assert_int_equal(dup2(STDIN_FILENO, 4), 4);
    check_refused(2, "web:file", -EINVAL,
                  "descriptor 4 (file), given by systemd, is no listening stream socket");
    for (int fd = 3; fd < 3 + SERVICE_SOCKETS_MAX + 1; fd++)
        put_socket(fd, SOCK_STREAM, true);
    check_refused(2, "web", -EINVAL, "cannot take what systemd gives: Invalid argument");
    check_refused(SERVICE_SOCKETS_MAX + 1, "a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q", -E2BIG,
                  "systemd gives 17 sockets, more than 16");
    for (int fd = 3; fd < 3 + SERVICE_SOCKETS_MAX + 1; fd++)
        close(fd);
}

static void check_stays_on_stderr(const char *stream)
{
    char line[256];
    int ends[2];
    ssize_t n;

    setenv("JOURNAL_STREAM", stream, 1);
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    log_init(ends[1], NULL);
    service_log_to_journal();
    log_info("hello", LOG_U64("n", 1));
    n = read(ends[0], line, sizeof(line) - 1);
    line[n > 0 ? n : 0] = '\0';
    assert_string_equal(line, "level=info msg=hello n=1\n");
    log_deinit();
    close(ends[0]);
    close(ends[1]);
    unsetenv("JOURNAL_STREAM");
}

/* JOURNAL_STREAM of another file: lines stay on stderr. What the journal gets is for e2e. */
static void test_other_stream(void **state)
{
    char text[64];
    struct stat st;

    (void)state;
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1000000);
    check_stays_on_stderr(text);
    snprintf(text, sizeof(text), "%ju:%ju:1", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    check_stays_on_stderr(text);
    snprintf(text, sizeof(text), "%ju %ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    check_stays_on_stderr(text);
    check_stays_on_stderr("99999999999999999999:1");
    check_stays_on_stderr(":");
    check_stays_on_stderr("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notifications),
        cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_other_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
