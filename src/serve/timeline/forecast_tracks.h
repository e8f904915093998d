// Tracks of a forecast: the times of all work in the replayed steps.
#pragma once

#include <vector>

#include "serve/timeline/track_set.h"
#include "whatif/timeline.h"

namespace headroom {

class ForecastTracks {
 public:
  /// @param job  must outlive the tracks, and so must its store
  ForecastTracks(const Job& job, const Timeline& timeline);

  const TrackSet& set() const { return set_; }
  /// Recorded time that corresponds to the forecast's zero, from the first call that was recorded.
  TimeNs recorded_begin() const { return recorded_begin_; }
  const std::vector<TimelineStep>& steps() const { return steps_; }

 private:
  void AddSpans(const std::vector<TimelineSpan>& spans, SpanStyle style, Track track);

  TrackSet set_;
  TimeNs recorded_begin_;
  std::vector<TimelineStep> steps_;
};

}  // namespace headroom
