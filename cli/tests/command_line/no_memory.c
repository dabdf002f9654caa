// A library in which allocations of NO_MEMORY_BYTES bytes or more fail, when it is preloaded into the program.

#include <errno.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static size_t limit = (size_t)-1;

__attribute__((constructor)) static void begin(void)
{
    const char *wish = getenv("NO_MEMORY_BYTES");
    if (wish) limit = strtoull(wish, NULL, 10);
}

static int fails(size_t bytes)
{
    if (bytes < limit) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails(bytes) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(count * bytes) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails(bytes) ? NULL : __libc_realloc(memory, bytes);
}
