/* Kills its process just before the n-th call that changes a file, as a power cut would find it.
 *
 * Loaded with LD_PRELOAD. KILL_AT names n (0: never); KILL_COUNT names a file of four bytes that holds the number of
 * calls so far. Only regular files count, and logs do not: nothing is read back from them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned *calls;
static unsigned kill_at;

__attribute__((constructor)) static void begin(void) {
  const char *at = getenv("KILL_AT"), *path = getenv("KILL_COUNT");
  int fd = path ? open(path, O_RDWR) : -1;
  if (fd < 0) return;
  kill_at = at ? (unsigned)atoi(at) : 0;
  void *shared = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) calls = shared;
  close(fd);
}

static int counts(const char *path) { return path && !strstr(path, "/logs/"); }

static void count(void) {
  if (calls && __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST) == kill_at) kill(getpid(), SIGKILL);
}

static void count_fd(int fd) {
  struct stat found;
  char name[32], path[4096];
  if (!calls || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return;
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  if (counts(path)) count();
}

static void count_path(const char *path) {
  if (counts(path)) count();
}

#define WRAP(type, name, parameters, arguments, counted)           \
  type name parameters {                                           \
    static type(*real) parameters;                                 \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    counted;                                                       \
    return real arguments;                                         \
  }

WRAP(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size), count_fd(fd))
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), count_fd(fd))
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at), count_fd(fd))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), count_fd(fd))
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size), count_fd(fd))
WRAP(int, fsync, (int fd), (fd), count_fd(fd))
WRAP(int, fdatasync, (int fd), (fd), count_fd(fd))
WRAP(int, rename, (const char *from, const char *to), (from, to), count_path(to))
WRAP(int, unlink, (const char *path), (path), count_path(path))
