// Finds and opens libcupti.
#pragma once

#include <string>

#include "capture/cupti/cupti_api.h"

namespace headroom::cupti {

/// CUPTI's entry points, and the path of their library.
struct Library {
#define HEADROOM_CUPTI_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  HEADROOM_CUPTI_ENTRY_POINTS(HEADROOM_CUPTI_MEMBER)
  HEADROOM_CUPTI_LATER_ENTRY_POINTS(HEADROOM_CUPTI_MEMBER)
#undef HEADROOM_CUPTI_MEMBER

  std::string path;
  std::uint32_t version = 0;

  /// Returns CUPTI's description of an error.
  std::string Explain(Result result) const;
};

/// Opens the libcupti that fits this process best, in this order:
/// - the one that the process has loaded
/// - one near its loaded CUDA libraries (of a toolkit, or of PyTorch's wheels)
/// - one that the loader finds
/// - one under CUDA_HOME, CUDA_PATH or /usr/local/cuda
///
/// One that lacks functions or does not support the driver is passed over for the next. Returns
/// null if none is found. Never close the handle, because CUPTI has threads.
void* OpenLibraryFile();

/// Opens libcupti and loads its entry points. Returns false if none can be used; `why` is then a
/// sentence with the remedy, for the one that fits the process best.
bool OpenLibrary(Library* library, std::string* why);

/// Registers `callback` with CUPTI, which allows one client per process. If CUPTI refuses, `why` is
/// a sentence with the remedy.
Result Subscribe(const Library& library, Callback callback, void* user, Subscriber* subscriber,
                 std::string* why);

}  // namespace headroom::cupti
