// What a program asks of the fake libcupti beside CUPTI's own functions. Found by dlsym: the
// library is the one that the injection library has opened.
#pragma once

#include <cstdint>

/// Does one command; returns whether it is known. All work happens on a clock of the fake's own,
/// which starts at the time of the timestamp callback (or of CUPTI) when the first command comes;
/// each launch takes 1000 of its units: the call from 0 to 100, a driver call inside it from 10 to
/// 90, the kernel from 200 to 700.
///
///   launch N     N kernels, each by cudaLaunchKernel and, inside it, cuLaunchKernel
///   driver N     N kernels by cuLaunchKernel alone, as Triton does
///   zero N       N kernels whose times CUPTI has lost
///   graph N      a cudaGraphLaunch of N kernels
///   copy N       a copy of N bytes to the device and a memset of as many; peer N: to another GPU
///   sync, overhead, noise, name, external N, range, mark
///   behind T     kernels of later launches run so much later, and are told when they have; now:
///   its
///                clock is set to the time
///   hold         what follows is complete only when the process ends, after every exit handler
///   incomplete   what follows is complete at a forced flush only; complete: ends both
///   backwards    a flush returns the latest buffer first
///   lose N       CUPTI says that it lost N records of context 1, stream 7
///   reset        cudaDeviceReset; destroy: of a context; start, stop: cudaProfilerStart, -Stop
///   fatal        CUPTI reports a fatal error
extern "C" int FakeCuptiDo(const char* command, std::uint64_t number);

using FakeCuptiDoFunction = int (*)(const char*, std::uint64_t);
