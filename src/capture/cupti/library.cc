#include "capture/cupti/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace headroom::cupti {
namespace {

/// One for each CUDA that has one; the last is of the development package.
constexpr const char* kFileNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                      "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                      "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                      "libcupti.so"};

/// From the folder of a toolkit's or wheel's CUDA runtime to its CUPTI.
constexpr const char* kFromRuntime[] = {
    "",                              // All in one folder: CUDA's own packages, wheels of CUDA 13.
    "../extras/CUPTI/lib64/",        // A toolkit: lib64/.
    "../../../extras/CUPTI/lib64/",  // A toolkit: targets/<machine>/lib/.
    "../../cuda_cupti/lib/",         // Wheels: nvidia/cuda_runtime/lib/.
};

/// From the folder of PyTorch's own libraries, site-packages/torch/lib/.
constexpr const char* kFromTorch[] = {"", "../../nvidia/cuda_cupti/lib/", "../../nvidia/cu13/lib/"};

/// From the root of a toolkit.
constexpr const char* kFromRoot[] = {"extras/CUPTI/lib64/", "lib64/", "lib/"};

/// What the process has loaded already.
struct Loaded {
  std::string cupti;                 ///< Empty: no libcupti.
  std::vector<std::string> folders;  ///< Where its libcupti might be.
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

/// The path that the handle was opened from.
std::string PathOf(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

/// Takes the entry points. Returns the first that is missing and must not; null: none.
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

/// The folders of a list with colons.
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

void* OpenIn(const std::string& folder) {
  for (const char* file : kFileNames) {
    if (void* handle = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

}  // namespace

void* OpenLibraryFile() {
  Loaded loaded;
  dl_iterate_phdr(&SeeLoaded, &loaded);
  if (!loaded.cupti.empty()) {
    if (void* handle = dlopen(loaded.cupti.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  for (const std::string& folder : loaded.folders) {
    if (void* handle = OpenIn(folder)) return handle;
  }
  // Folder by folder: the loader alone would take version 13 of the system before the version 12
  // that the user names here.
  for (const std::string& folder : FoldersOf(std::getenv("LD_LIBRARY_PATH"))) {
    if (void* handle = OpenIn(folder + "/")) return handle;
  }
  if (void* handle = OpenIn("")) return handle;  // As the loader searches.
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && root[0] != 0) roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  for (const std::string& root : roots) {
    for (const char* step : kFromRoot) {
      if (void* handle = OpenIn(root + "/" + step)) return handle;
    }
  }
  return nullptr;
}

std::string Library::Explain(Result result) const {
  const char* text = nullptr;
  if (get_result_string(result, &text) == kSuccess && text != nullptr) return text;
  return "error " + std::to_string(static_cast<int>(result));
}

bool OpenLibrary(Library* library, std::string* why) {
  void* handle = OpenLibraryFile();
  if (handle == nullptr) {
    *why =
        "there is no libcupti here: install CUDA's CUPTI in the version of the program's CUDA "
        "(pip: "
        "nvidia-cuda-cupti of 13, nvidia-cuda-cupti-cu12 of 12), or name its folder in "
        "LD_LIBRARY_PATH";
    return false;
  }
  const char* missing = TakeEntryPoints(handle, library);
  if (missing != nullptr) {
    *why = library->path + " has no " + missing + ": it is older than CUDA 11.2";
    return false;
  }
  if (library->get_version(&library->version) != kSuccess || library->version == 0) {
    *why = library->path + " finds no driver that it can work with";
    return false;
  }
  if (library->version < kOldestVersion) {
    *why = library->path + " is of API version " + std::to_string(library->version) +
           ": CUDA 11.2 and later can be recorded";
    return false;
  }
  return true;
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
    *why = "another profiler has CUPTI";
    if (other[0] != 0) *why += std::string(" (") + other + ")";
    *why +=
        ": one client a process is allowed; record without Nsight, PyTorch's profiler and the like";
  } else if (result == kInsufficientPrivileges || result == kVirtualInsufficientPrivileges) {
    *why =
        "the driver lets administrators alone profile GPUs: load it with "
        "NVreg_RestrictProfilingToAdminUsers=0, or give the container CAP_SYS_ADMIN";
  } else {
    *why = "CUPTI (" + library.path + ") refuses: " + library.Explain(result);
  }
  return result;
}

}  // namespace headroom::cupti
