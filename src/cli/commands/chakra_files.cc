#include "cli/commands/chakra_files.h"

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analyzed_trace.h"
#include "analysis/names/reference_data.h"
#include "base/atomic_file.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/output.h"
#include "export/chakra_trace.h"
#include "export/trace_part.h"
#include "export/written_size.h"
#include "ingest/open_trace.h"
#include "ranks/rank_of_file.h"
#include "render/escape.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

class ChakraFiles {
 public:
  ChakraFiles(const TraceFiles& files, std::optional<std::int64_t> rank, const OpenOptions& open,
              bool quiet, const std::string& prefix)
      : files_(files), rank_(rank), open_(open), quiet_(quiet), prefix_(prefix) {}

  Status Write() {
    Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
    if (!reference.ok()) return reference.status();
    reference_ = std::move(reference).value();
    Status failed;
    for (std::size_t i = 0; i < files_.paths.size(); ++i) {
      const Result<std::unique_ptr<TraceStore>> store = Read(files_.paths[i]);
      if (!store.ok()) {
        // A folder may also hold files that are not traces of the job.
        if (!files_.of_folder[i]) return store.status();
        if (!quiet_) Remark(fmt::format("headroom: left out: {}\n", store.status().message()));
        if (failed.ok()) failed = store.status();
        continue;
      }
      if (Status status = WriteRanks(*store.value(), files_.paths[i]); !status.ok()) return status;
    }
    if (written_.empty() && !failed.ok()) return failed;
    if (written_.empty()) {
      return Status::Usage(fmt::format(
          "--rank {}: no trace names this rank in its content or file name", rank_.value_or(0)));
    }
    for (AtomicFile& file : written_) {
      if (Status status = file.Commit(); !status.ok()) return status;
    }
    if (!quiet_) Remark(remarks_);
    return Status::Ok();
  }

 private:
  Result<std::unique_ptr<TraceStore>> Read(const std::string& path) const {
    return OpenWithProgress(path, open_, quiet_);
  }

  Status WriteRanks(const TraceStore& store, const std::string& path) {
    const std::vector<std::int64_t> merged = RanksOfProcesses(store);
    for (const std::int64_t rank : merged) {
      if (rank_ && rank != *rank_) continue;
      const std::unique_ptr<TraceStore> part = PartOf(store, {.window = {}, .rank = rank});
      if (Status status = WriteRank(*part, path, {.number = rank}); !status.ok()) return status;
    }
    if (!merged.empty()) return Status::Ok();
    std::optional<std::int64_t> rank =
        store.metadata.rank ? store.metadata.rank : RankOfFileName(path);
    const bool is_told = rank || rank_;
    if (!rank && files_.paths.size() == 1) rank = rank_.value_or(0);
    if (!rank) {
      return Status::Usage(
          fmt::format("{}: unknown rank: neither the trace nor the file name states it; name it "
                      "like trace_rank3.json.gz, or export it alone",
                      Printable(path)));
    }
    if (rank_ && rank != rank_) return Status::Ok();
    return WriteRank(store, path, {.number = *rank, .is_told = is_told});
  }

  Status WriteRank(const TraceStore& store, const std::string& path, ChakraRank rank) {
    if (!ranks_.insert(rank.number).second) {
      return Status::Usage(
          fmt::format("{}: another trace also has rank {}; name the traces of one run only",
                      Printable(path), rank.number));
    }
    const std::string target = fmt::format("{}.{}.et", prefix_, rank.number);
    if (Status status = RefuseToOverwrite("-o", target, files_.paths); !status.ok()) return status;
    if (Status status = CheckWrittenTexts(store, target, open_.expansion); !status.ok())
      return status;
    NameFacts names(store, *reference_);
    AnalysisOptions options;
    options.path = path;
    const Result<AnalyzedTrace> trace = AnalyzeTrace(store, *reference_, names, options);
    if (!trace.ok()) return trace.status();
    const Result<ChakraNodes> nodes = MakeChakraNodes(store, names, trace.value().steps);
    if (!nodes.ok()) {
      return Status::Of(nodes.status().code(),
                        fmt::format("{}: {}", Printable(path), nodes.status().message()));
    }
    Result<AtomicFile> file = AtomicFile::Create(target);
    if (!file.ok()) return file.status();
    Status status;
    const ChakraCounts counts = WriteChakraTrace(store, names, trace.value(), nodes.value(), rank,
                                                 [&](std::string_view piece) {
                                                   if (status.ok())
                                                     status = file.value().Append(piece);
                                                 });
    if (status.ok()) status = file.value().Close();
    if (!status.ok()) return status;
    written_.push_back(std::move(file).value());
    Describe(target, counts);
    return Status::Ok();
  }

  void Describe(const std::string& target, const ChakraCounts& counts) {
    remarks_ += fmt::format(
        "wrote {}: {} nodes ({} GPU, {} host, {} delays), {} dependencies, {} collectives\n",
        Printable(target, CharsetOfEnvironment()), FormatCount(counts.nodes),
        FormatCount(counts.tasks), FormatCount(counts.host), FormatCount(counts.delays),
        FormatCount(counts.dependencies), FormatCount(counts.collectives));
    if (counts.communication_as_computation > 0) {
      remarks_ += fmt::format(
          "  {} communication kernels are exported as computation: their kind, size or peer was "
          "not recorded\n",
          FormatCount(counts.communication_as_computation));
    }
  }

  const TraceFiles& files_;
  const std::optional<std::int64_t> rank_;
  const OpenOptions& open_;
  const bool quiet_;
  const std::string& prefix_;
  std::unique_ptr<ReferenceData> reference_;
  std::set<std::int64_t> ranks_;
  std::vector<AtomicFile> written_;
  std::string remarks_;
};

}  // namespace

Status WriteChakraFiles(const TraceFiles& files, std::optional<std::int64_t> rank,
                        const OpenOptions& open, bool quiet, const std::string& prefix) {
  return ChakraFiles(files, rank, open, quiet, prefix).Write();
}

}  // namespace headroom::cli
