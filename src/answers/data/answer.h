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

/// A change with the words that ask for it, which name its row in the answer.
struct NamedLoadingChange {
  std::string name;
  LoadingChange change;
};

/// Each by ParseLoadingChange(). Fails (kUsage) with what is wrong with the first that is.
Result<std::vector<NamedLoadingChange>> ParseLoadingChanges(const std::vector<std::string>& texts);

/// What the mean step tells of the loop, as `headroom report` has it.
LoopView LoopViewOf(const TraceReport& report, const TraceStore& store);

/// Answers about one recording, as often as one asks. What every answer about a loader shares is
/// kept for the loader that was asked about last.
class DataAnswer {
 public:
  /// @param store  frozen; outlives the answers
  /// @param path   the recording's, for the report and for messages
  /// @param view   LoopViewOf(), or what is known of it
  DataAnswer(const TraceStore& store, std::string path, const LoopView& view);
  ~DataAnswer();
  DataAnswer(DataAnswer&&) noexcept;

  /// @param loader  of several, the K-th by how long the loop waited for them; from 1
  ///
  /// Fails with what is wrong with the question (kUsage), or what the recording lacks (kNoAnswer).
  /// What cannot be simulated at all is told in the report.
  Result<DataReport> Ask(std::int64_t loader, const std::vector<NamedLoadingChange>& changes);

 private:
  /// A loader's part of all answers.
  struct Kept;

  /// Of a recording in which nothing of a loader was found.
  Result<DataReport> OfLoop(bool wants_forecast) const;
  Result<std::unique_ptr<Kept>> Prepare(std::int64_t loader) const;

  const TraceStore* store_;
  std::string path_;
  LoopView view_;
  std::unique_ptr<Kept> kept_;  ///< Null: nothing has been asked yet.
};

}  // namespace headroom
