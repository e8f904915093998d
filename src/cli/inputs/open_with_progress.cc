#include "cli/inputs/open_with_progress.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "cli/flags/value_checks.h"
#include "cli/terminal/progress.h"
#include "render/escape.h"

namespace headroom::cli {

int DefaultThreads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

Flag AddMaxExpansionFlag(Command command, ExpansionLimit& limit) {
  constexpr std::int64_t kMost = 1'000'000'000;
  return command
      .AddOption(
          "--max-expansion", limit.max_ratio,
          "Refuse files that unpack to more than N times their size, and outputs larger than N "
          "times the trace")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(1, kMost));
}

void AddOpenFlags(Command command, OpenOptions& options) {
  options.threads = DefaultThreads();
  command.AddOption("--threads", options.threads, "Threads that read a file [all]")
      .TypeName("N")
      .Check(WholeNumber(1, 1024));
  AddMaxExpansionFlag(command, options.expansion);
}

Result<std::unique_ptr<TraceStore>> OpenWithProgress(const std::string& path, OpenOptions options,
                                                     bool quiet) {
  Progress progress(!quiet, "reading " + Printable(path, Charset::kAscii));
  options.progress = [&](std::int64_t done, std::int64_t all) { progress.Update(done, all); };
  return OpenTrace(path, options);
}

}  // namespace headroom::cli
