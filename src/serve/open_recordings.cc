#include "serve/open_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "render/escape.h"
#include "render/number_format.h"
#include "store/join.h"

namespace headroom {

Result<std::unique_ptr<TraceStore>> OpenRecordings(const std::string& path,
                                                   std::unique_ptr<TraceStore> first,
                                                   const std::vector<std::string>& further,
                                                   const OpenFile& open) {
  std::vector<std::unique_ptr<TraceStore>> parts;
  parts.push_back(std::move(first));
  for (const std::string& file : further) {
    Result<std::unique_ptr<TraceStore>> part = open(file);
    if (!part.ok()) return part.status();
    parts.push_back(std::move(part).value());
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return BeginOf(*a) < BeginOf(*b); });
  if (const std::string why = WhyNotOneProcess(parts); !why.empty()) {
    return Status::Usage(
        fmt::format("{} and {} are recordings of one process according to their names, but {}: "
                    "report each separately",
                    Printable(path, Charset::kAscii),
                    Plural(static_cast<std::int64_t>(further.size()), "file"), why));
  }
  return JoinRecordings(parts);
}

void MarkRecordings(std::size_t further, TraceReport& report) {
  report.input.recordings += static_cast<std::int64_t>(further);
  for (Finding& finding : report.findings) {
    finding.of_set = true;     // The check command must name all files.
    finding.scenario.clear();  // `headroom whatif` takes only a single file.
  }
}

}  // namespace headroom
