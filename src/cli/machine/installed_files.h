// What this program and recorded programs load, beside this program's own file.
#pragma once

#include <string>

namespace headroom::cli {

/// In a build folder, installed (bin/ and lib/headroom/), or in the Python package, where pip puts
/// the program.
struct InstalledFiles {
  std::string package;  ///< Folder of the Python package `headroom`; empty: not there.
  std::string inject;   ///< Folder for PYTHONPATH; empty: not there.
  std::string cupti;    ///< Library for the CUDA driver to load; empty: not there.
  std::string mpi;  ///< Module that joins processes (distributed/communicator.h); empty: not there.
};

/// The name of the library for the CUDA driver, by which it is told from another tool's.
inline constexpr char kCuptiFile[] = "libheadroom_cupti.so";

InstalledFiles FindInstalledFiles();

}  // namespace headroom::cli
