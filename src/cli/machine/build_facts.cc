#include "cli/machine/build_facts.h"

#include <fmt/format.h>

#include <cstdlib>  // Defines the version of glibc.
#include <string_view>

namespace headroom::cli {
namespace {

std::string Compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}", __clang_major__, __clang_minor__);
#else
  return fmt::format("GCC {}.{}", __GNUC__, __GNUC_MINOR__);
#endif
}

std::string Platform() {
#if defined(__x86_64__)
  const std::string_view processor = "x86-64";
#elif defined(__aarch64__)
  const std::string_view processor = "arm64";
#else
  const std::string_view processor = "this processor";
#endif
#if defined(__GLIBC__)
  return fmt::format("{} Linux, glibc {}.{} or later", processor, __GLIBC__, __GLIBC_MINOR__);
#elif defined(__APPLE__)
  return fmt::format("{} macOS", processor);
#else
  return fmt::format("{}", processor);
#endif
}

std::string FoundAt(const std::string& path, std::string_view otherwise) {
  return path.empty() ? fmt::format("no: {}", otherwise) : path;
}

}  // namespace

std::string BuildFacts(const InstalledFiles& files) {
  return fmt::format(
      "  platform         {} ({})\n"
      "  Python module    {}\n"
      "  GPU recording    {}\n"
      "  mpirun           {}\n"
      "  libraries        {}\n",
      Platform(), Compiler(),
      FoundAt(files.package, "not installed with this program, so it records no regions of Python"),
      FoundAt(files.cupti, "libheadroom_cupti.so is not installed with this program"),
      FoundAt(files.mpi, "the package headroom-mpi is not installed"), HEADROOM_LIBRARY_VERSIONS);
}

}  // namespace headroom::cli
