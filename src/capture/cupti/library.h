// Finds and opens libcupti.
#pragma once

#include <string>

#include "capture/cupti/cupti_api.h"

namespace headroom::cupti {

/// CUPTI's entry points, and where they come from.
struct Library {
#define HEADROOM_CUPTI_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  HEADROOM_CUPTI_ENTRY_POINTS(HEADROOM_CUPTI_MEMBER)
  HEADROOM_CUPTI_LATER_ENTRY_POINTS(HEADROOM_CUPTI_MEMBER)
#undef HEADROOM_CUPTI_MEMBER

  std::string path;
  std::uint32_t version = 0;

  /// The error in words.
  std::string Explain(Result result) const;
};

/// Opens the libcupti that fits this process best: the one that it has loaded; one beside the CUDA
/// libraries that it has loaded (of a toolkit, or of the wheels that PyTorch installs); one that
/// the loader finds; one under CUDA_HOME, CUDA_PATH or /usr/local/cuda. Null: there is none. Never
/// to be closed: CUPTI has threads.
void* OpenLibraryFile();

/// Opens it, and takes its entry points. Returns whether it can be used; else `why` is a sentence
/// with the remedy.
bool OpenLibrary(Library* library, std::string* why);

/// Makes `callback` CUPTI's client in this process; it allows one. Where it refuses, `why` is a
/// sentence with the remedy.
Result Subscribe(const Library& library, Callback callback, void* user, Subscriber* subscriber,
                 std::string* why);

}  // namespace headroom::cupti
