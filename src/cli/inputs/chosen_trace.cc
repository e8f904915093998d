#include "cli/inputs/chosen_trace.h"

#include <fmt/format.h>

#include <utility>

#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/output.h"
#include "export/trace_part.h"
#include "ingest/open_trace.h"
#include "ranks/rank_of_file.h"

namespace headroom::cli {
namespace {

/// Returns the whole store if the file is the trace of `rank`, or the part of `rank` from a merged
/// file. Returns null if the file lacks `rank`.
std::unique_ptr<TraceStore> RankOf(std::unique_ptr<TraceStore> store, const std::string& path,
                                   std::int64_t rank) {
  if (HasProcessesOfRank(*store, rank)) return PartOf(*store, {.window = {}, .rank = rank});
  const std::optional<std::int64_t> said =
      store->metadata.rank ? store->metadata.rank : RankOfFileName(path);
  return said == rank ? std::move(store) : nullptr;
}

}  // namespace

Result<ChosenTrace> OpenChosenTrace(const TraceFiles& files, std::optional<std::int64_t> rank,
                                    const OpenOptions& open, bool quiet) {
  if (!rank && files.paths.size() > 1) {
    return Status::Usage(fmt::format("there are {} traces; name one file, or one rank with --rank",
                                     files.paths.size()));
  }
  Status failed;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    const std::string& path = files.paths[i];
    Result<std::unique_ptr<TraceStore>> store = OpenWithProgress(path, open, quiet);
    if (!store.ok()) {
      // A folder may also hold files that are not traces of the job.
      if (!files.of_folder[i]) return store.status();
      if (!quiet) Remark(fmt::format("headroom: left out: {}\n", store.status().message()));
      if (failed.ok()) failed = store.status();
      continue;
    }
    if (!rank) return ChosenTrace{path, std::move(store).value()};
    std::unique_ptr<TraceStore> chosen = RankOf(std::move(store).value(), path, *rank);
    if (chosen != nullptr) return ChosenTrace{path, std::move(chosen)};
  }
  if (!failed.ok() && (!rank || files.paths.size() == 1)) return failed;
  return Status::Usage(fmt::format(
      "--rank {}: no trace names this rank in its content or file name", rank.value_or(0)));
}

}  // namespace headroom::cli
