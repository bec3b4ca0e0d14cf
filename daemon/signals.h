#pragma once
/* signals - SIGHUP, SIGTERM and SIGINT, taken from a descriptor. */

/*
 * Holds the signals back in this thread and all that it starts, so that one that comes before
 * signals_open() is taken after it. SIGPIPE is ignored from here on.
 */
void signals_hold(void);

/*
 * The same, and returns a
 * descriptor that is readable when a signal came, or -errno.
 */
int signals_open(void);

/* The next signal that came; 0 if there is none. */
int signals_next(int fd);
