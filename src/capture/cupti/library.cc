#include "capture/cupti/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

namespace headroom::cupti {
namespace {

/// One name per CUDA version. The last name comes with the development package.
constexpr const char* kFileNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                      "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                      "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                      "libcupti.so"};

/// Paths from the folder of a toolkit's or wheel's CUDA runtime to its CUPTI.
constexpr const char* kFromRuntime[] = {
    "",  // All libraries in one folder: CUDA's own packages, wheels of CUDA 13.
    "../extras/CUPTI/lib64/",        // A toolkit: lib64/.
    "../../../extras/CUPTI/lib64/",  // A toolkit: targets/<machine>/lib/.
    "../../cuda_cupti/lib/",         // Wheels: nvidia/cuda_runtime/lib/.
};

/// Paths from the folder of PyTorch's own libraries, site-packages/torch/lib/.
constexpr const char* kFromTorch[] = {"", "../../nvidia/cuda_cupti/lib/", "../../nvidia/cu13/lib/"};

/// Paths from the root of a toolkit.
constexpr const char* kFromRoot[] = {"extras/CUPTI/lib64/", "lib64/", "lib/"};

/// Libraries that the process has already loaded.
struct Loaded {
  std::string cupti;                 ///< Path of libcupti; empty if not loaded.
  std::vector<std::string> folders;  ///< Folders that may contain its libcupti.
};

int SeeLoaded(dl_phdr_info* info, std::size_t /*size*/, void* user) {
  auto& loaded = *static_cast<Loaded*>(user);
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return 0;
  const std::string folder(path.substr(0, slash + 1));
  const std::string_view file = path.substr(slash + 1);
  if (file.starts_with("libcupti.so")) {
    loaded.cupti = path;
  } else if (file.starts_with("libcudart.so")) {
    for (const char* step : kFromRuntime) loaded.folders.push_back(folder + step);
  } else if (file.starts_with("libtorch_cuda.so")) {
    for (const char* step : kFromTorch) loaded.folders.push_back(folder + step);
  }
  return 0;
}

template <typename Function>
bool Find(void* handle, const char* symbol, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, symbol));
  return *function != nullptr;
}

/// Returns the path of an opened library.
std::string PathOf(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

/// Loads the entry points. Returns the name of the first required entry point that is missing; null
/// if all exist.
const char* TakeEntryPoints(void* handle, Library* library) {
  library->path = PathOf(handle);
#define HEADROOM_CUPTI_FIND(name, symbol, parameters) \
  if (!Find(handle, "cupti" #symbol, &library->name)) return "cupti" #symbol;
  HEADROOM_CUPTI_ENTRY_POINTS(HEADROOM_CUPTI_FIND)
#undef HEADROOM_CUPTI_FIND
#define HEADROOM_CUPTI_FIND(name, symbol, parameters) Find(handle, "cupti" #symbol, &library->name);
  HEADROOM_CUPTI_LATER_ENTRY_POINTS(HEADROOM_CUPTI_FIND)
#undef HEADROOM_CUPTI_FIND
  return nullptr;
}

/// Splits a list of folders at its colons.
std::vector<std::string> FoldersOf(const char* list) {
  std::vector<std::string> folders;
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return folders;
}

/// Returns true if a library can be used.
using Accept = std::function<bool(void* handle)>;

/// Returns the first library in the folder that is accepted, or null.
void* OpenIn(const std::string& folder, const Accept& accept) {
  for (const char* file : kFileNames) {
    void* handle = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr && accept(handle)) return handle;
  }
  return nullptr;
}

/// Offers every libcupti, in the order of OpenLibraryFile(), until one is accepted.
void* OpenFirst(const Accept& accept) {
  Loaded loaded;
  dl_iterate_phdr(&SeeLoaded, &loaded);
  if (!loaded.cupti.empty()) {
    void* handle = dlopen(loaded.cupti.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr && accept(handle)) return handle;
  }
  for (const std::string& folder : loaded.folders) {
    if (void* handle = OpenIn(folder, accept)) return handle;
  }
  // Tries all versions folder by folder. The loader would prefer the system's version 13 to the
  // version 12 that LD_LIBRARY_PATH names.
  for (const std::string& folder : FoldersOf(std::getenv("LD_LIBRARY_PATH"))) {
    if (void* handle = OpenIn(folder + "/", accept)) return handle;
  }
  if (void* handle = OpenIn("", accept)) return handle;  // Uses the loader's search path.
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && root[0] != 0) roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  for (const std::string& root : roots) {
    for (const char* step : kFromRoot) {
      if (void* handle = OpenIn(root + "/" + step, accept)) return handle;
    }
  }
  return nullptr;
}

/// Loads the entry points of a library and checks that it fits the driver. Returns false with the
/// reason if it cannot be used.
bool Take(void* handle, Library* library, std::string* why) {
  *library = Library();
  const char* missing = TakeEntryPoints(handle, library);
  if (missing != nullptr) {
    *why = library->path + " has no " + missing + ": install the CUPTI of CUDA 11.2 or later";
    return false;
  }
  if (library->get_version(&library->version) != kSuccess || library->version == 0) {
    *why = library->path +
           " finds no driver that it supports; install the CUPTI of the driver's CUDA version";
    return false;
  }
  if (library->version < kOldestVersion) {
    *why = library->path + " has API version " + std::to_string(library->version) +
           "; install the CUPTI of CUDA 11.2 or later";
    return false;
  }
  return true;
}

}  // namespace

void* OpenLibraryFile() {
  return OpenFirst([](void* handle) {
    Library library;
    std::string why;
    return Take(handle, &library, &why);
  });
}

std::string Library::Explain(Result result) const {
  const char* text = nullptr;
  if (get_result_string(result, &text) == kSuccess && text != nullptr) return text;
  return "error " + std::to_string(static_cast<int>(result));
}

bool OpenLibrary(Library* library, std::string* why) {
  why->clear();
  const auto take = [&](void* handle) {
    std::string reason;
    if (Take(handle, library, &reason)) return true;
    if (why->empty()) *why = reason;  // The first one fits the process best.
    return false;
  };
  if (OpenFirst(take) != nullptr) return true;
  if (why->empty()) {
    *why =
        "no libcupti found: install the CUPTI of the program's CUDA version (pip: "
        "nvidia-cuda-cupti for 13, nvidia-cuda-cupti-cu12 for 12), or add its folder to "
        "LD_LIBRARY_PATH";
  }
  return false;
}

Result Subscribe(const Library& library, Callback callback, void* user, Subscriber* subscriber,
                 std::string* why) {
  char other[64] = "";  // CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
  Result result = kUnknownError;
  if (library.subscribe_v2 != nullptr) {
    SubscriberParams params{
        .size = sizeof params, .name = "Headroom", .other_name = other, .other_size = sizeof other};
    result = library.subscribe_v2(subscriber, callback, user, &params);
  } else {
    result = library.subscribe(subscriber, callback, user);
  }
  if (result == kSuccess) return result;
  if (result == kMultipleSubscribers) {
    *why = "another profiler uses CUPTI";
    if (other[0] != 0) *why += std::string(" (") + other + ")";
    *why +=
        ": CUPTI allows only one profiler per process; record without Nsight, PyTorch's profiler "
        "or similar tools";
  } else if (result == kInsufficientPrivileges || result == kVirtualInsufficientPrivileges) {
    *why =
        "the driver lets only administrators profile GPUs: load it with "
        "NVreg_RestrictProfilingToAdminUsers=0, or give the container CAP_SYS_ADMIN";
  } else {
    *why = "CUPTI (" + library.path + ") refuses to record: " + library.Explain(result);
  }
  return result;
}

}  // namespace headroom::cupti
