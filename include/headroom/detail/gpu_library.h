// CUDA's driver and the HIP runtime, opened at run time.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "headroom/detail/hip_library.h"

// NOLINTBEGIN(readability-identifier-naming): as in headroom/gpu_timer.hpp.

namespace headroom {
inline namespace timer_v1 {
namespace detail {

/// The functions of CUDA's driver or of HIP that Headroom uses. In both libraries, they return 0
/// for success and 600 for "not ready". Declared here, so that building needs no CUDA or HIP
/// header.
struct GpuLibrary {
  using Handle = void*;
  bool hip;
  int (*event_create)(Handle* event, unsigned flags);
  int (*event_destroy)(Handle event);
  int (*event_record)(Handle event, Handle stream);
  int (*event_query)(Handle event);
  int (*event_elapsed)(float* ms, Handle start, Handle end);
  int (*is_capturing)(Handle stream, int* status);
  int (*exchange_capture_mode)(int* mode);
  int (*stream_create)(Handle* stream, unsigned flags);
  int (*get_context)(Handle* context);  ///< CUDA only.
  int (*set_context)(Handle context);
  int (*get_device)(int* device);
  int (*set_device)(int device);  ///< HIP only.

  static constexpr int kNotReady = 600;
  /// The handle of each thread's default stream, in CUDA and HIP.
  static constexpr std::uintptr_t kStreamPerThread = 2;

  /// Returns true if a call failed because the context and all its events were destroyed. These
  /// errors state that the library is being closed, that the context is invalid or destroyed, or
  /// that a handle belongs to a destroyed context.
  static bool context_is_gone(int error) {
    return error == 4 || error == 201 || error == 400 || error == 709;
  }

  template <typename Function>
  static bool find(void* library, const char* name, Function& function) {
    void* symbol = dlsym(library, name);
    std::memcpy(&function, &symbol, sizeof symbol);
    return symbol != nullptr;
  }

  bool open_cuda() {
    const char* path = std::getenv("HEADROOM_CUDA_LIBRARY");
    void* library = dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    hip = false;
    return find(library, "cuEventCreate", event_create) &&
           find(library, "cuEventDestroy_v2", event_destroy) &&
           find(library, "cuEventRecord", event_record) &&
           find(library, "cuEventQuery", event_query) &&
           (find(library, "cuEventElapsedTime_v2", event_elapsed) ||
            find(library, "cuEventElapsedTime", event_elapsed)) &&
           find(library, "cuStreamIsCapturing", is_capturing) &&
           find(library, "cuThreadExchangeStreamCaptureMode", exchange_capture_mode) &&
           find(library, "cuStreamCreate", stream_create) &&
           find(library, "cuCtxGetCurrent", get_context) &&
           find(library, "cuCtxSetCurrent", set_context) &&
           find(library, "cuCtxGetDevice", get_device);
  }

  /// Uses only a HIP library that the program has loaded. The first call initializes HIP, and a
  /// program without GPU work must not pay for that.
  bool open_hip() {
    const char* path = std::getenv("HEADROOM_HIP_LIBRARY");
    void* library = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    for (const char* name : kHipLibraries) {
      if (path == nullptr && library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    }
    if (library == nullptr) return false;
    hip = true;
    return find(library, "hipEventCreateWithFlags", event_create) &&
           find(library, "hipEventDestroy", event_destroy) &&
           find(library, "hipEventRecord", event_record) &&
           find(library, "hipEventQuery", event_query) &&
           find(library, "hipEventElapsedTime", event_elapsed) &&
           find(library, "hipStreamIsCapturing", is_capturing) &&
           find(library, "hipThreadExchangeStreamCaptureMode", exchange_capture_mode) &&
           find(library, "hipStreamCreateWithFlags", stream_create) &&
           find(library, "hipGetDevice", get_device) && find(library, "hipSetDevice", set_device);
  }

  /// Finds the context and the GPU of the calling thread. Returns false if it has none.
  bool current(Handle* context, int* device) const {
    *context = nullptr;
    if (!hip && (get_context(context) != 0 || *context == nullptr)) return false;
    return get_device(device) == 0;
  }
  bool make_current(Handle context, int device) const {
    return (hip ? set_device(device) : set_context(context)) == 0;
  }
};

}  // namespace detail
}  // namespace timer_v1
}  // namespace headroom

// NOLINTEND(readability-identifier-naming)
