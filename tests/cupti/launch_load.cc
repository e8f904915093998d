// Launches kernels on the first GPU at a given rate, and writes the times.
//
// usage: launch_load rate N SECONDS RESULT   N empty kernels per second
//        launch_load durations N RESULT      N kernels of 10 to 200 us, each between two events
//
// Requires only the driver: opens its library at run time, and has its kernels as PTX.
//
// Each line of RESULT is a word and a number: `launches`, `wall_s`, `cpu_s` (of all threads),
// `launch_p50_ns`, `launch_p99_ns`; or one `event_ns` line per kernel, in order.
//
// Exit code: 0 fine, 2 usage, 3 no GPU or no driver, 4 the GPU failed.
#include <dlfcn.h>
#include <sys/resource.h>
#include <ctime>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr char kKernels[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry headroom_empty()
{
  ret;
}

.visible .entry headroom_spin(.param .u64 nanoseconds)
{
  .reg .pred %more;
  .reg .u64 %begin, %now, %length;
  ld.param.u64 %length, [nanoseconds];
  mov.u64 %begin, %globaltimer;
AGAIN:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %more, %now, %length;
  @%more bra AGAIN;
  ret;
}
)";

// The driver's handles are pointers to undeclared types.
using Handle = void*;
using Status = int;

#define DRIVER_CALLS(F)                                                                            \
  F(cuInit, (unsigned))                                                                            \
  F(cuDeviceGetCount, (int*))                                                                      \
  F(cuDeviceGet, (int*, int))                                                                      \
  F(cuDevicePrimaryCtxRetain, (Handle*, int))                                                      \
  F(cuCtxSetCurrent, (Handle))                                                                     \
  F(cuModuleLoadData, (Handle*, const void*))                                                      \
  F(cuModuleGetFunction, (Handle*, Handle, const char*))                                           \
  F(cuStreamCreate, (Handle*, unsigned))                                                           \
  F(cuStreamSynchronize, (Handle))                                                                 \
  F(cuEventCreate, (Handle*, unsigned))                                                            \
  F(cuEventRecord, (Handle, Handle))                                                               \
  F(cuEventElapsedTime, (float*, Handle, Handle))                                                  \
  F(cuLaunchKernel, (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                     Handle, void**, void**))

struct Driver {
#define MEMBER(name, parameters) Status(*name) parameters;
  DRIVER_CALLS(MEMBER)
#undef MEMBER
};

[[noreturn]] void Fail(int code, const std::string& why) {
  std::fprintf(stderr, "launch_load: %s\n", why.c_str());
  std::exit(code);
}

void Check(Status status, const char* what) {
  if (status != 0) Fail(4, std::string(what) + " gives error " + std::to_string(status));
}

Driver OpenDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) Fail(3, "no NVIDIA driver here (libcuda.so.1)");
  Driver driver{};
#define FIND(name, parameters)                                                 \
  driver.name = reinterpret_cast<Status(*) parameters>(dlsym(library, #name)); \
  if (driver.name == nullptr) Fail(3, "the driver has no " #name);
  DRIVER_CALLS(FIND)
#undef FIND
  int devices = 0;
  if (driver.cuInit(0) != 0 || driver.cuDeviceGetCount(&devices) != 0 || devices == 0)
    Fail(3, "the driver finds no GPU");
  return driver;
}

std::int64_t Now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double CpuSeconds() { return static_cast<double>(Now(CLOCK_PROCESS_CPUTIME_ID)) * 1e-9; }

/// A GPU with our kernels and a stream.
struct Gpu {
  Driver driver = OpenDriver();
  Handle context = nullptr, module = nullptr, empty = nullptr, spin = nullptr, stream = nullptr;

  Gpu() {
    int device = 0;
    Check(driver.cuDeviceGet(&device, 0), "cuDeviceGet");
    Check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    Check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    Check(driver.cuModuleLoadData(&module, kKernels), "cuModuleLoadData");
    Check(driver.cuModuleGetFunction(&empty, module, "headroom_empty"), "cuModuleGetFunction");
    Check(driver.cuModuleGetFunction(&spin, module, "headroom_spin"), "cuModuleGetFunction");
    Check(driver.cuStreamCreate(&stream, 1), "cuStreamCreate");  // 1: does not synchronize with the
                                                                 // default stream.
  }

  void Launch(Handle kernel, void** arguments) const {
    Check(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr),
          "cuLaunchKernel");
  }
  void Wait() const { Check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize"); }
};

void LaunchAtRate(const Gpu& gpu, std::int64_t rate, double seconds, std::FILE* result) {
  for (int i = 0; i < 1000; ++i) gpu.Launch(gpu.empty, nullptr);  // Warm-up.
  gpu.Wait();
  const auto launches = static_cast<std::int64_t>(static_cast<double>(rate) * seconds);
  std::vector<std::int64_t> times(static_cast<std::size_t>(launches));
  const double cpu = CpuSeconds();
  const std::int64_t begin = Now();
  for (std::int64_t i = 0; i < launches; ++i) {
    const std::int64_t due = begin + i * 1'000'000'000 / rate;
    std::int64_t now = Now();
    while (now < due) now = Now();
    gpu.Launch(gpu.empty, nullptr);
    times[static_cast<std::size_t>(i)] = Now() - now;
  }
  gpu.Wait();
  const std::int64_t end = Now();
  std::sort(times.begin(), times.end());
  std::fprintf(result, "launches %lld\nwall_s %.6f\ncpu_s %.6f\n", static_cast<long long>(launches),
               static_cast<double>(end - begin) * 1e-9, CpuSeconds() - cpu);
  std::fprintf(result, "launch_p50_ns %lld\nlaunch_p99_ns %lld\n",
               static_cast<long long>(times[times.size() / 2]),
               static_cast<long long>(times[times.size() * 99 / 100]));
}

void TimeKernels(const Gpu& gpu, int count, std::FILE* result) {
  std::vector<Handle> events(static_cast<std::size_t>(count) * 2);
  for (Handle& event : events) Check(gpu.driver.cuEventCreate(&event, 0), "cuEventCreate");
  for (int i = 0; i < count; ++i) {
    std::uint64_t nanoseconds = 10'000 + static_cast<std::uint64_t>(i) * 190'000 / count;
    void* arguments[] = {&nanoseconds};
    const std::size_t at = static_cast<std::size_t>(i) * 2;
    Check(gpu.driver.cuEventRecord(events[at], gpu.stream), "cuEventRecord");
    gpu.Launch(gpu.spin, arguments);
    Check(gpu.driver.cuEventRecord(events[at + 1], gpu.stream), "cuEventRecord");
  }
  gpu.Wait();
  for (std::size_t at = 0; at < events.size(); at += 2) {
    float milliseconds = 0;
    Check(gpu.driver.cuEventElapsedTime(&milliseconds, events[at], events[at + 1]),
          "cuEventElapsedTime");
    std::fprintf(result, "event_ns %.0f\n", static_cast<double>(milliseconds) * 1e6);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool rate = argc == 5 && std::strcmp(argv[1], "rate") == 0;
  if (!rate && !(argc == 4 && std::strcmp(argv[1], "durations") == 0)) {
    std::fprintf(stderr, "usage: launch_load rate N SECONDS RESULT | durations N RESULT\n");
    return 2;
  }
  const long number = std::strtol(argv[2], nullptr, 10);
  if (number <= 0) Fail(2, "N must be positive");
  const Gpu gpu;
  std::FILE* result = std::fopen(argv[argc - 1], "we");
  if (result == nullptr) Fail(4, std::string("cannot write ") + argv[argc - 1]);
  if (rate) {
    LaunchAtRate(gpu, number, std::strtod(argv[3], nullptr), result);
  } else {
    TimeKernels(gpu, static_cast<int>(number), result);
  }
  return std::fclose(result) == 0 ? 0 : 4;
}
