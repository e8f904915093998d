// The tracks of a process's threads in its recording: one each, whoever tells of the thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "capture/trace_encoder.h"

namespace headroom {

class ThreadTracks {
 public:
  /// @param encoder  must outlive this
  ThreadTracks(TraceEncoder* encoder, TraceEncoder::Track process, std::int32_t pid)
      : encoder_(encoder), process_(process), pid_(pid) {}

  TraceEncoder& encoder() const { return *encoder_; }
  TraceEncoder::Track process() const { return process_; }

  /// The track of a thread. `name` counts where it is the first to come.
  TraceEncoder::Track Of(std::int32_t tid, std::string_view name) {
    auto [track, is_new] = tracks_.try_emplace(tid);
    if (is_new) track->second = encoder_->ThreadTrack(pid_, tid, name);
    return track->second;
  }

 private:
  TraceEncoder* encoder_;
  TraceEncoder::Track process_;
  std::int32_t pid_;
  std::map<std::int32_t, TraceEncoder::Track> tracks_;
};

}  // namespace headroom
