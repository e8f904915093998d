// Distributes the files of one report over several processes. Each reads its share, and the leader
// gets all results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "distributed/communicator.h"
#include "distributed/file_result.h"

namespace headroom {

/// Reads one file with `threads` threads.
using FileReader = std::function<FileResult(const std::string& path, int threads)>;

/// Log of one process.
struct ProcessLog {
  std::string host;
  std::vector<std::string> paths;  ///< Files that the process read.
  int threads = 0;                 ///< Threads per file.
  double seconds = 0;              ///< Elapsed time to read its files.
  std::int64_t peak_bytes = 0;     ///< Peak resident memory of the process.
};

/// A file to read.
struct SharedFile {
  std::string path;
  /// If true, a process continues after a failure of this file; otherwise it stops. An invalid
  /// request (kUsage) always stops it.
  bool may_fail = false;
};

struct SharedResults {
  /// Results by file. Files that a process did not reach have the failure that stopped it. The
  /// first failure in file order is therefore the same as with a single process.
  std::vector<FileResult> files;
  std::vector<ProcessLog> processes;  ///< Indexed by process.
};

class SharedReading {
 public:
  /// `communicator` must outlive the object.
  SharedReading(Communicator& communicator, FileReader read);
  /// Releases the other processes if the leader has nothing to read.
  ~SharedReading();
  SharedReading(const SharedReading&) = delete;
  SharedReading& operator=(const SharedReading&) = delete;

  /// Reads the files; call once, on the leader. `threads` is per process; 0: the number of CPUs
  /// that the process may use, divided among the processes that share them.
  SharedResults Lead(const std::vector<SharedFile>& files, int threads);
  /// Reads the leader's assignments; call once, on the other processes.
  void Follow();

 private:
  Communicator& communicator_;
  FileReader read_;
  bool done_ = false;
};

}  // namespace headroom
