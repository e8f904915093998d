// Answers the page's requests about time: tracks, tiles, one span, a search, a range, a forecast's
// tracks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
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

/// Creates tracks at the first request. Times are in ns from the tracks' start. Thread-safe.
/// Invalid requests fail with kUsage.
class TimelineAnswers {
 public:
  /// All arguments must outlive the object.
  ///
  /// @param job        null: replay is impossible
  /// @param job_mutex  callers of the job must hold it
  TimelineAnswers(const TraceStore& store, const ReferenceData& reference,
                  std::vector<StepRow> steps, const Job* job, std::mutex& job_mutex);

  /// Returns headroom.timeline/1: the tracks, and the steps.
  std::string TracksJson();
  /// Returns the same for a forecast. Keeps the forecast until another one is requested.
  Result<std::string> ForecastJson(const std::string& scenario);

  struct TileQuery {
    std::string scenario = {};  ///< Scenario of a forecast; empty: the trace.
    std::int64_t level = 0;
    std::int64_t index = 0;
    std::vector<std::int64_t> tracks = {};
  };
  /// Returns a tile in the format of EncodeTile().
  Result<std::string> TileBytes(const TileQuery& query);
  struct KeptTile {
    int level = 0;
    std::int64_t index = 0;
    std::string bytes = {};
  };
  /// Returns complete levels of tiles for all tracks of the trace. The first level fits any window;
  /// finer ones follow while the total is at most `most_bytes`.
  std::vector<KeptTile> CoarseTiles(std::size_t most_bytes);
  /// Returns headroom.span/1: one span of the trace, its facts, and its links.
  Result<std::string> SpanJson(std::int64_t lane, std::int64_t row);
  /// Returns headroom.search/1.
  std::string SearchJson(const std::string& text);
  /// Returns headroom.place/1: where the time `start_ns`, on the trace's clock, is in the timeline,
  /// and the span of this start and length.
  std::string PlaceJson(std::int64_t start_ns, std::optional<std::int64_t> duration_ns);
  /// Returns headroom.range/1.
  Result<std::string> RangeJson(std::int64_t from_ns, std::int64_t to_ns);

  const std::vector<StepRow>& steps() const { return steps_; }

 private:
  const TraceTracks& Tracks();
  /// Returns the forecast's tracks, and computes them unless they are kept.
  Result<std::shared_ptr<const ForecastTracks>> Forecast(const std::string& scenario);

  const TraceStore& store_;
  const ReferenceData& reference_;
  const std::vector<StepRow> steps_;
  const Job* job_;
  std::mutex& job_mutex_;  ///< Guards the job and the forecast.
  std::once_flag made_;
  std::optional<TraceTracks> tracks_;
  std::optional<Forecaster> forecaster_;
  struct KeptForecast {
    std::string scenario;
    std::shared_ptr<const ForecastTracks> tracks;
  };
  std::list<KeptForecast> forecasts_;  ///< The last requested first.
};

}  // namespace headroom
