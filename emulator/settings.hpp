// Settings of the emulator, from environment variables.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#include "machine.hpp"

using namespace emulated;

namespace {

// ------------------------------------------------------------------------------------------------------------ settings

int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

const int DEVICES = setting("EMULATED_DEVICES", 1);
const int CAPABILITY = setting("EMULATED_CAPABILITY", 90);
// Number of blocks that run at once, one per multiprocessor.
const int MULTIPROCESSORS = std::max(1, setting("EMULATED_MULTIPROCESSORS", 3));
const int SEED = setting("EMULATED_SEED", 1);
// Time in seconds without the end of any block after which a launch counts as hanging.
const int PATIENCE = setting("EMULATED_PATIENCE", 120);

// Parses a number per device: "1:400,2:90" is 400 for device 1 and 90 for device 2.
std::map<int, long> by_device(const char *name)
{
    std::map<int, long> numbers;
    for (const char *text = getenv(name); text && *text;) {
        int device, read = 0;
        long number;
        if (sscanf(text, "%d:%ld%n", &device, &number, &read) != 2) {
            fprintf(stderr, "emulated GPU: %s: expected DEVICE:NUMBER, found \"%s\"\n", name, text);
            exit(2);
        }
        numbers[device] = number;
        text += read + (text[read] == ',');
    }
    return numbers;
}

// By device: the number of the launch at which it fails, of that at which it hangs, its delay per launch in
// microseconds, and the factor of the time that its launches take.
const std::map<int, long> FAILURES = by_device("EMULATED_FAILURES"), HANGS = by_device("EMULATED_HANGS"),
                          DELAYS = by_device("EMULATED_DELAYS"), SLOWDOWNS = by_device("EMULATED_SLOWDOWNS");
// By device: the number of the creation call that never returns, of that which fails, and the memory in MiB. Call 0
// creates the device's context, and call n loads its n-th module.
const std::map<int, long> STUCK = by_device("EMULATED_STUCK"), REFUSED = by_device("EMULATED_REFUSED"),
                          MEMORY = by_device("EMULATED_MEMORY");
// Whether a failure disables all devices of the process.
const bool ALL_FALL = getenv("EMULATED_ALL_FALL");

// Returns the devices that the process sees: those that CUDA_VISIBLE_DEVICES lists by UUID, in its order, and none if it
// is empty. If it is unset or has another form, all are visible.
std::vector<int> visible_devices()
{
    std::vector<int> visible;
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    for (text = text ? strstr(text, "GPU-") : nullptr; text; text = strstr(text + 1, "GPU-")) {
        unsigned first_byte;
        if (sscanf(text, "GPU-%2x", &first_byte) == 1 && first_byte >= 1 && (int)first_byte <= DEVICES)
            visible.push_back((int)first_byte - 1);
    }
    text = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible.empty() || (text && !*text)) return visible;
    for (int device = 0; device < DEVICES; device++) visible.push_back(device);
    return visible;
}

const std::vector<int> VISIBLE = visible_devices();

constexpr unsigned WARP = 32, MOST_THREADS = 1024;
constexpr size_t STACK = 256 << 10, PAGE = 4096;
// Byte value of memory that has not been written.
constexpr int POISON = 0xcd;

}  // namespace
