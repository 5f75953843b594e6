// Starting a program as another user. Swift cannot call fork (the child of a process with threads may only do what is
// async-signal-safe), and posix_spawn can neither change the user nor ask for a signal when the parent dies.
#ifndef MAGPIE_CLINUX_SPAWN_H
#define MAGPIE_CLINUX_SPAWN_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern int pipe2(int ends[2], int flags);

struct clinux_spawn_options {
  const char *path;
  char *const *arguments;
  char *const *environment;
  // Standard input, and standard output together with standard error.
  int input;
  int output;
  // Become this user and group, without supplementary groups, when `changes_user` is set.
  int changes_user;
  unsigned int user;
  unsigned int group;
  // Sent to the child when the thread that called `clinux_spawn` ends; 0: none.
  int death_signal;
};

// The child's process id, or -1 with errno set, also when the program cannot be executed.
static inline int clinux_spawn(const struct clinux_spawn_options *options) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0) return -1;
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0) {
    int code = errno;
    close(report[0]);
    close(report[1]);
    errno = code;
    return -1;
  }
  if (child == 0) {
    // Raw system calls from here on: glibc's wrappers would signal threads that this process does not have.
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, 0);
    // Out of the terminal's foreground group, so that Ctrl-C reaches the parent alone, which then ends this one in order.
    setsid();
    int failed = dup2(options->input, 0) < 0 || dup2(options->output, 1) < 0 || dup2(options->output, 2) < 0;
    // CLOSE_RANGE_CLOEXEC: nothing but these three is inherited. Older kernels do not know it; all else is marked anyway.
    syscall(436, 3u, ~0u, 4u);
    if (!failed && options->changes_user)
      failed = syscall(SYS_setgroups, 0, 0) < 0
            || syscall(SYS_setresgid, options->group, options->group, options->group) < 0
            || syscall(SYS_setresuid, options->user, options->user, options->user) < 0;
    // After the change of user, which would clear it. It outlives exec.
    if (!failed && options->death_signal) {
      failed = prctl(PR_SET_PDEATHSIG, options->death_signal) < 0;
      if (getppid() != parent) _exit(127);
    }
    if (!failed) execve(options->path, options->arguments, options->environment);
    int code = errno;
    if (write(report[1], &code, sizeof code) < 0) _exit(126);
    _exit(127);
  }
  close(report[1]);
  int code = 0;
  ssize_t count;
  do count = read(report[0], &code, sizeof code);
  while (count < 0 && errno == EINTR);
  close(report[0]);
  if (count == (ssize_t)sizeof code) {
    while (waitpid(child, 0, 0) < 0 && errno == EINTR) {}
    errno = code;
    return -1;
  }
  return child;
}

// Waits until a child has ended, without reaping it, so that its number stays its own.
static inline int clinux_wait_for_end(int child) {
  siginfo_t info;
  int result;
  do result = waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
  while (result < 0 && errno == EINTR);
  return result;
}

#endif
