// Finds the files that this program and recorded programs load, relative to this program's own
// file.
#pragma once

#include <string>

namespace headroom::cli {

/// The files are in a build folder, in an installation (bin/ and lib/headroom/), or in the Python
/// package, into which pip installs the program.
struct InstalledFiles {
  std::string package;  ///< Folder of the Python package `headroom`; empty if missing.
  std::string inject;   ///< Folder for PYTHONPATH; empty if missing.
  std::string cupti;    ///< Library for the CUDA driver to load; empty if missing.
  std::string mpi;  ///< Module that joins processes (distributed/communicator.h); empty if missing.
};

/// Name of the library for the CUDA driver. The name distinguishes it from other tools' libraries.
inline constexpr char kCuptiFile[] = "libheadroom_cupti.so";

InstalledFiles FindInstalledFiles();

}  // namespace headroom::cli
