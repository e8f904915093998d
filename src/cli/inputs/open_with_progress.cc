#include "cli/inputs/open_with_progress.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "cli/terminal/progress.h"
#include "render/escape.h"

namespace headroom::cli {

int DefaultThreads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

Result<std::unique_ptr<TraceStore>> OpenWithProgress(const std::string& path, OpenOptions options,
                                                     bool quiet) {
  Progress progress(!quiet, "reading " + Printable(path, Charset::kAscii));
  options.progress = [&](std::int64_t done, std::int64_t all) { progress.Update(done, all); };
  return OpenTrace(path, options);
}

}  // namespace headroom::cli
