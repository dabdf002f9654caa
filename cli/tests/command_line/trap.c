// A library that makes a real GPU fail in the middle of a render, when it is preloaded into the program. RAYSIEVE_TRAP
// selects the GPU, the time in milliseconds and the failure: "1:3000:trap" launches a kernel on GPU 1 that crashes, and
// "1:3000:hang" one that never ends.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const CODE =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry trap() { trap; ret; }\n"
    ".visible .entry hang() { again: bra.uni again; }\n";

static int gpu, milliseconds;
static char how[8];

static void check(const char *what, int result)
{
    if (result != 0) fprintf(stderr, "trap: %s: %d\n", what, result);
}

static void *fail(void *unused)
{
    (void)unused;
    usleep((useconds_t)milliseconds * 1000);
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *function;
    if (!cuda) return NULL;
    int device;
    check("cuInit", ((int (*)(unsigned))dlsym(cuda, "cuInit"))(0));
    check("cuDeviceGet", ((int (*)(int *, int))dlsym(cuda, "cuDeviceGet"))(&device, gpu));
    // The program renders in the primary context.
    check("retain", ((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, device));
    check("current", ((int (*)(void *))dlsym(cuda, "cuCtxSetCurrent"))(context));
    check("load", ((int (*)(void **, const void *))dlsym(cuda, "cuModuleLoadData"))(&module, CODE));
    check("function", ((int (*)(void **, void *, const char *))dlsym(cuda, "cuModuleGetFunction"))(&function, module, how));
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) =
        (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))dlsym(
            cuda, "cuLaunchKernel");
    // The grid fills all multiprocessors of any GPU. Stream 2 is the default stream of this thread alone.
    fprintf(stderr, "trap: GPU %d now\n", gpu);
    check("launch", launch(function, 4096, 1, 1, 1024, 1, 1, 0, (void *)2, NULL, NULL));
    return NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const char *wish = getenv("RAYSIEVE_TRAP");
    pthread_t thread;
    if (!wish || sscanf(wish, "%d:%d:%7s", &gpu, &milliseconds, how) != 3) return;
    pthread_create(&thread, NULL, fail, NULL);
}
