// What the page asks about time: tracks, tiles, one span, a search, a stretch, a forecast's tracks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "analysis/values/report.h"
#include "base/status.h"
#include "serve/timeline/forecast_tracks.h"
#include "serve/timeline/trace_tracks.h"
#include "store/trace_store.h"
#include "whatif/forecast.h"

namespace headroom {

/// Tracks are made when they are first asked for. Times are in ns from the tracks' begin. Answers
/// from any thread; all that is wrong with a question is kUsage.
class TimelineAnswers {
 public:
  /// All outlive the answers.
  ///
  /// @param job        null: nothing can be replayed
  /// @param job_mutex  whoever asks the job something holds it
  TimelineAnswers(const TraceStore& store, const ReferenceData& reference,
                  std::vector<StepRow> steps, const Job* job, std::mutex& job_mutex);

  /// headroom.timeline/1: the tracks, and the steps.
  std::string TracksJson();
  /// The same of a forecast, which is kept until another one is asked for.
  Result<std::string> ForecastJson(const std::string& scenario);

  struct TileQuery {
    std::string scenario = {};  ///< Of a forecast; empty: the trace's.
    std::int64_t level = 0;
    std::int64_t index = 0;
    std::vector<std::int64_t> tracks = {};
  };
  /// Columns (EncodeTile()).
  Result<std::string> TileBytes(const TileQuery& query);
  struct KeptTile {
    int level = 0;
    std::int64_t index = 0;
    std::string bytes = {};
  };
  /// Of all tracks of the trace: whole levels, from one that any window shows whole to ever finer
  /// ones, as long as all of them together take no more than `most_bytes`.
  std::vector<KeptTile> CoarseTiles(std::size_t most_bytes);
  /// headroom.span/1: one span of the trace, what is known of it, and what it has to do with
  /// others.
  Result<std::string> SpanJson(std::int64_t lane, std::int64_t row);
  /// headroom.search/1.
  std::string SearchJson(const std::string& text);
  /// headroom.range/1.
  Result<std::string> RangeJson(std::int64_t from_ns, std::int64_t to_ns);

  const std::vector<StepRow>& steps() const { return steps_; }

 private:
  const TraceTracks& Tracks();
  /// The forecast's tracks; made where those of another scenario are kept.
  Result<std::shared_ptr<const ForecastTracks>> Forecast(const std::string& scenario);

  const TraceStore& store_;
  const ReferenceData& reference_;
  const std::vector<StepRow> steps_;
  const Job* job_;
  std::mutex& job_mutex_;  ///< Also of the forecast.
  std::once_flag made_;
  std::optional<TraceTracks> tracks_;
  std::optional<Forecaster> forecaster_;
  std::string scenario_;
  std::shared_ptr<const ForecastTracks> forecast_;
};

}  // namespace headroom
