#pragma once
/*
 * removal - descriptors are taken out of epoll sets though they may be out already.
 *
 * When libmicrohttpd is told to listen no longer, whoever tells it takes the listener out of the
 * epoll set, and so does the library's own thread, if a connection wakes it at that moment. The one
 * that comes second is told ENOENT, or EBADF once the listener is closed, and the library ends the
 * whole process over it (0.9.75; nothing but luck keeps the two apart).
 */

/*
 * From now on, and for all of the process, taking a descriptor out that is not in is a success.
 * Before a daemon of the library is told to listen no longer; nothing takes it back.
 */
void removal_forgive(void);
