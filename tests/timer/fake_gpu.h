// A GPU that exists on paper: the entry points of CUDA's driver and of HIP that
// headroom/gpu_timer.hpp opens, over streams that only take time. Tests open the library through
// the same path, and drive it by the functions below; times are CLOCK_MONOTONIC of the host, in ns.
#pragma once

#include <cstdint>

struct FakeGpu {
  /// The stream is busy for so long with what it is given now.
  void (*work)(void* stream, std::int64_t ns);
  /// Its clock is so much faster than the host's. From the start; for one test a process.
  void (*set_drift)(double parts_per_million);
  /// Whether events of the streams of tests are never ready.
  void (*hold)(bool on);
  /// Whether events of the library's own streams are never ready.
  void (*hold_own)(bool on);
  /// The next `count` calls of a function give this error, after `after` that do not.
  void (*fail)(const char* function, int code, int count, int after);
  /// The context goes, and another with the same handle comes: of all streams and events so far.
  void (*reset)();
  void (*capture)(void* stream, bool on);
  /// Whether the calling threads have a context.
  void (*set_context)(bool present);
  /// When the nth event that a test's stream was given is passed, in host time.
  std::int64_t (*passed)(std::uint64_t n);
  std::uint64_t (*events)();
  std::uint64_t (*calls)(const char* function);
};
