// A libcuda.so.1 without a GPU, with the functions that launch_load and `headroom doctor` use, for
// tests without a GPU. Loads the injection library in cuInit, and passes launches to the fake
// libcupti. With FAKE_DRIVER_HANGS, cuInit never returns.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "fake_cupti.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

FakeCuptiDoFunction the_fake = nullptr;
int something = 0;  // Handles point to it.

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names.

FAKE_EXPORT int cuInit(unsigned /*flags*/) {
  while (std::getenv("FAKE_DRIVER_HANGS") != nullptr) pause();
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return 0;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize == nullptr || initialize() != 1) return 1;
  void* fake = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (fake != nullptr) the_fake = reinterpret_cast<FakeCuptiDoFunction>(dlsym(fake, "FakeCuptiDo"));
  return 0;
}

FAKE_EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

FAKE_EXPORT int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

FAKE_EXPORT int cuDeviceGet(int* device, int /*index*/) {
  *device = 0;
  return 0;
}

FAKE_EXPORT int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
  *context = &something;
  return 0;
}

FAKE_EXPORT int cuCtxSetCurrent(void* /*context*/) { return 0; }

FAKE_EXPORT int cuModuleLoadData(void** module, const void* /*image*/) {
  *module = &something;
  return 0;
}

FAKE_EXPORT int cuModuleGetFunction(void** function, void* /*module*/, const char* /*name*/) {
  *function = &something;
  return 0;
}

FAKE_EXPORT int cuStreamCreate(void** stream, unsigned /*flags*/) {
  *stream = &something;
  return 0;
}

FAKE_EXPORT int cuStreamSynchronize(void* /*stream*/) { return 0; }

FAKE_EXPORT int cuEventCreate(void** event, unsigned /*flags*/) {
  *event = &something;
  return 0;
}

FAKE_EXPORT int cuEventRecord(void* /*event*/, void* /*stream*/) { return 0; }

FAKE_EXPORT int cuEventElapsedTime(float* milliseconds, void* /*begin*/, void* /*end*/) {
  *milliseconds = 0.001F;
  return 0;
}

FAKE_EXPORT int cuLaunchKernel(void* /*kernel*/, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, void* /*stream*/, void** /*arguments*/,
                               void** /*extra*/) {
  if (the_fake != nullptr) the_fake("driver", 1);
  return 0;
}

// NOLINTEND(readability-identifier-naming)
