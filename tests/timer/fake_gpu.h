// A simulated GPU: the entry points of CUDA's driver and of HIP that headroom/gpu_timer.hpp opens,
// over streams that only take time. Tests open the library through the same path, and control it
// with the functions below. Times are the host's CLOCK_MONOTONIC in ns.
#pragma once

#include <cstdint>

struct FakeGpu {
  /// Adds `ns` of work to the stream.
  void (*work)(void* stream, std::int64_t ns);
  /// Makes the GPU clock faster than the host's, from the start. Only for one test per process.
  void (*set_drift)(double parts_per_million);
  /// If on, events of the tests' streams never become ready.
  void (*hold)(bool on);
  /// If on, events of the library's own streams never become ready.
  void (*hold_own)(bool on);
  /// After `after` successful calls, the next `count` calls of a function return this error.
  void (*fail)(const char* function, int code, int count, int after);
  /// Destroys the context with all its streams and events, and makes a new one with the same
  /// handle.
  void (*reset)();
  void (*capture)(void* stream, bool on);
  /// Sets whether calling threads have a context.
  void (*set_context)(bool present);
  /// Returns the host time at which the nth event on tests' streams is reached.
  std::int64_t (*passed)(std::uint64_t n);
  std::uint64_t (*events)();
  std::uint64_t (*calls)(const char* function);
};
