// Answers `headroom data`, for the command line and the page.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/report.h"
#include "answers/data/render.h"
#include "base/status.h"
#include "loader/loading_forecast.h"
#include "loader/loading_verdict.h"
#include "store/trace_store.h"

namespace headroom {

/// A parsed change, and its text, which labels its row of the answer.
struct NamedLoadingChange {
  std::string name;
  LoadingChange change;
};

/// Parses each with ParseLoadingChange(). Fails with kUsage and the error of the first invalid one.
Result<std::vector<NamedLoadingChange>> ParseLoadingChanges(const std::vector<std::string>& texts);

/// Returns the loop's figures in the mean step, as `headroom report` shows them.
LoopView LoopViewOf(const TraceReport& report, const TraceStore& store);

/// Answers questions about one recording. Caches the shared work of the last requested loader.
class DataAnswer {
 public:
  /// @param store  frozen trace; must outlive this object
  /// @param path   path of the recording, for the report and messages
  /// @param view   result of LoopViewOf(); data that the trace lacks is absent
  DataAnswer(const TraceStore& store, std::string path, const LoopView& view);
  ~DataAnswer();
  DataAnswer(DataAnswer&&) noexcept;

  /// Fails with kUsage if the question is wrong, and with kNoAnswer if the recording lacks data. If
  /// no simulation is possible, the report says so.
  ///
  /// @param loader  rank of the loader by the time that the loop waits for it: 1 for the longest
  Result<DataReport> Ask(std::int64_t loader, const std::vector<NamedLoadingChange>& changes);

 private:
  /// The part that all answers about one loader share.
  struct Kept;

  /// Returns the report of a recording that shows the training loop but no data loader.
  Result<DataReport> OfLoop(bool wants_forecast) const;
  Result<std::unique_ptr<Kept>> Prepare(std::int64_t loader) const;

  const TraceStore* store_;
  std::string path_;
  LoopView view_;
  std::unique_ptr<Kept> kept_;  ///< Null before the first question.
};

}  // namespace headroom
