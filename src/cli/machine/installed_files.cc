#include "cli/machine/installed_files.h"

#include <filesystem>
#include <system_error>

#include "base/platform.h"

namespace headroom::cli {

InstalledFiles FindInstalledFiles() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::path(ProgramPath()).parent_path();
  InstalledFiles files;
  for (const fs::path& root : {here, here.parent_path() / "lib" / "headroom"}) {
    const fs::path package = root / "python" / "headroom", inject = package / "_inject";
    const fs::path cupti = root / kCuptiFile, mpi = root / "libheadroom_mpi.so";
    if (files.inject.empty() && fs::is_directory(inject, error)) {
      files.package = package.string();
      files.inject = inject.string();
    }
    if (files.cupti.empty() && fs::exists(cupti, error)) files.cupti = cupti.string();
    if (files.mpi.empty() && fs::exists(mpi, error)) files.mpi = mpi.string();
  }
  // pip installs the program into the package.
  const fs::path around = here.parent_path();
  if (files.inject.empty() && fs::is_directory(around / "_inject", error)) {
    files.package = around.string();
    files.inject = (around / "_inject").string();
  }
  return files;
}

}  // namespace headroom::cli
