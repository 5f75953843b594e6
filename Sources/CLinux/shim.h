// What Swift's Glibc module does not export. Header only; _GNU_SOURCE is deliberately not defined
// here, since it makes this module disagree with Glibc's own view of the same headers.
#ifndef MAGPIE_CLINUX_SHIM_H
#define MAGPIE_CLINUX_SHIM_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
extern int gettid(void);
extern int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *deadline);

// EPOLLEXCLUSIVE and EPOLLET do not fit the signed enum that Swift imports.
static inline unsigned int clinux_epollexclusive(void) { return 1u << 28; }
static inline unsigned int clinux_epollet(void) { return 1u << 31; }

// `stdout` and `stderr` are mutable globals, which Swift 6 refuses to touch.
static inline FILE *clinux_stdout(void) { return stdout; }
static inline FILE *clinux_stderr(void) { return stderr; }

// Names the calling thread; Linux keeps 15 bytes. A variadic call, which Swift cannot make.
static inline void clinux_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

#endif
