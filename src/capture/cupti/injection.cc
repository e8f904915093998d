// What the CUDA driver and NVTX find in libheadroom_cupti.so. `headroom record` names it in
// CUDA_INJECTION64_PATH and, at level full, in NVTX_INJECTION64_PATH; docs/gpu-recording.md.
#include <dlfcn.h>

#include <exception>

#include "capture/cupti/library.h"
#include "capture/cupti/session.h"

#define HEADROOM_EXPORT extern "C" __attribute__((visibility("default")))

/// The driver calls it once, in cuInit. Returns 1: anything else is an error to the driver.
// NOLINTNEXTLINE(readability-identifier-naming): the driver's name.
HEADROOM_EXPORT int InitializeInjection() {
  try {
    headroom::cupti::Session::Start();
  } catch (const std::exception&) {
    // Out of memory: the program runs on, not recorded.
  }
  return 1;
}

/// NVTX calls it at its first use. CUPTI turns ranges into records, so it is passed on; where there
/// is no CUPTI, 0 leaves NVTX switched off.
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
