// The tracks of a forecast: when all work of the replayed steps would run.
#pragma once

#include <vector>

#include "serve/timeline/track_set.h"
#include "whatif/timeline.h"

namespace headroom {

class ForecastTracks {
 public:
  /// @param job  with its store outlives the tracks
  ForecastTracks(const Job& job, const Timeline& timeline);

  const TrackSet& set() const { return set_; }
  /// Where the forecast's zero lies among what was recorded: its first call was recorded there.
  TimeNs recorded_begin() const { return recorded_begin_; }
  const std::vector<TimelineStep>& steps() const { return steps_; }

 private:
  void AddSpans(const std::vector<TimelineSpan>& spans, SpanStyle style, Track track);

  TrackSet set_;
  TimeNs recorded_begin_;
  std::vector<TimelineStep> steps_;
};

}  // namespace headroom
