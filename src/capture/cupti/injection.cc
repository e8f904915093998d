// Entry points of libheadroom_cupti.so for the CUDA driver, NVTX and Headroom's Python hooks.
// `headroom record` names the library in CUDA_INJECTION64_PATH and, at level full, in
// NVTX_INJECTION64_PATH. See docs/gpu-recording.md.
#include <dlfcn.h>

#include <exception>

#include "capture/cupti/library.h"
#include "capture/cupti/session.h"

#define HEADROOM_EXPORT extern "C" __attribute__((visibility("default")))

/// The driver calls this once, in cuInit. Returns 1, because the driver treats other values as
/// errors.
// NOLINTNEXTLINE(readability-identifier-naming): the driver's name.
HEADROOM_EXPORT int InitializeInjection() {
  try {
    headroom::cupti::Session::Start();
  } catch (const std::exception&) {
    // Out of memory: the program continues without a recording.
  }
  return 1;
}

/// Writes all records of GPU work. For a process that is about to end without its exit handlers, as
/// Python's os._exit() does: headroom/_patches.py calls it. Does nothing if nothing is recorded.
// NOLINTNEXTLINE(readability-identifier-naming): a C function.
HEADROOM_EXPORT void headroom_cupti_flush() { headroom::cupti::Session::EndProcess(); }

/// NVTX calls this at its first use. Forwards the call to CUPTI, which converts ranges into
/// records. Returns 0 without CUPTI; this disables NVTX.
// NOLINTNEXTLINE(readability-identifier-naming): NVTX's name.
HEADROOM_EXPORT int InitializeInjectionNvtx2(void* get_export_table) {
  try {
    void* cupti = headroom::cupti::OpenLibraryFile();
    if (cupti == nullptr) return 0;
    using Initialize = int (*)(void*);
    const auto initialize = reinterpret_cast<Initialize>(dlsym(cupti, "InitializeInjectionNvtx2"));
    return initialize == nullptr ? 0 : initialize(get_export_table);
  } catch (const std::exception&) {
    return 0;
  }
}
