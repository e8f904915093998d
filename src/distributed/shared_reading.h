// The files of one report, read by several processes: each takes its share, the leader gets
// what they gave.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "distributed/communicator.h"
#include "distributed/file_result.h"

namespace headroom {

/// Reads one file with so many threads.
using FileReader = std::function<FileResult(const std::string& path, int threads)>;

/// What one process had to do.
struct ProcessLog {
  std::string host;
  std::vector<std::string> paths;  ///< That it read.
  int threads = 0;                 ///< Of each file.
  double seconds = 0;
  std::int64_t peak_bytes = 0;  ///< Of memory.
};

/// A file to read.
struct SharedFile {
  std::string path;
  /// Whether the rest is read where this one cannot be; else a process stops behind it. A wrong
  /// request (kUsage) ends all.
  bool may_fail = false;
};

struct SharedResults {
  /// By file, whoever read it. Those that a process did not come to have the failure that stopped
  /// it: the first failure in order of the files is that of one process alone.
  std::vector<FileResult> files;
  std::vector<ProcessLog> processes;  ///< By process.
};

class SharedReading {
 public:
  /// `communicator` must outlive the object.
  SharedReading(Communicator& communicator, FileReader read);
  /// A leader that has nothing to read lets the others go.
  ~SharedReading();
  SharedReading(const SharedReading&) = delete;
  SharedReading& operator=(const SharedReading&) = delete;

  /// On the leader, once. `threads`: of each process; 0: its processors, shared with the processes
  /// that it has them in common with.
  SharedResults Lead(const std::vector<SharedFile>& files, int threads);
  /// On the others, once: reads what the leader hands out.
  void Follow();

 private:
  Communicator& communicator_;
  FileReader read_;
  bool done_ = false;
};

}  // namespace headroom
