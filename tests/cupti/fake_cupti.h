// Functions by which a program controls the fake libcupti, in addition to CUPTI's own. dlsym finds
// them in the library that the injection library has opened.
#pragma once

#include <cstdint>

/// Runs one command. Returns whether the command exists. The fake has its own clock, which starts
/// at the time of the timestamp callback (or of CUPTI) with the first command. Each launch takes
/// 1000 of its units: the call from 0 to 100, a driver call inside it from 10 to 90, the kernel
/// from 200 to 700.
///
///   launch N     N kernels, each by cudaLaunchKernel with cuLaunchKernel inside
///   driver N     N kernels by cuLaunchKernel only, like Triton
///   zero N       N kernels whose times CUPTI has lost
///   graph N      a cudaGraphLaunch of N kernels
///   copy N       a copy of N bytes to the device and a memset of N bytes; peer N: to another GPU
///   sync, overhead, noise, name, external N, range, mark
///   behind T     kernels of later launches run T later, and are reported after that; now: sets the
///                fake's clock to the current time
///   hold         later records are complete only when the process ends, after every exit handler
///   incomplete   later records are complete only at a forced flush; complete: ends `hold` and
///                `incomplete`
///   backwards    a flush returns the latest buffer first
///   lose N       CUPTI reports N lost records of context 1, stream 7
///   reset        cudaDeviceReset; destroy: of a context; start, stop: cudaProfilerStart, -Stop
///   fatal        CUPTI reports a fatal error
extern "C" int FakeCuptiDo(const char* command, std::uint64_t number);

using FakeCuptiDoFunction = int (*)(const char*, std::uint64_t);
