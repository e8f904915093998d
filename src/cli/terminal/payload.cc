#include "cli/terminal/payload.h"

#include <filesystem>
#include <system_error>

namespace headroom::cli {

Payload FindPayload() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  Payload payload;
  for (const fs::path& root : {here, here.parent_path() / "lib" / "headroom"}) {
    const fs::path package = root / "python" / "headroom", inject = package / "_inject";
    const fs::path cupti = root / kCuptiFile, mpi = root / "libheadroom_mpi.so";
    if (payload.inject.empty() && fs::is_directory(inject, error)) {
      payload.package = package.string();
      payload.inject = inject.string();
    }
    if (payload.cupti.empty() && fs::exists(cupti, error)) payload.cupti = cupti.string();
    if (payload.mpi.empty() && fs::exists(mpi, error)) payload.mpi = mpi.string();
  }
  // pip puts the program into the package.
  const fs::path around = here.parent_path();
  if (payload.inject.empty() && fs::is_directory(around / "_inject", error)) {
    payload.package = around.string();
    payload.inject = (around / "_inject").string();
  }
  return payload;
}

}  // namespace headroom::cli
