// Tracks of a process's threads in its recording: one per thread, shared by all event sources.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "capture/trace_encoder.h"

namespace headroom {

class ThreadTracks {
 public:
  /// Requires that the encoder outlives this object.
  ThreadTracks(TraceEncoder* encoder, TraceEncoder::Track process, std::int32_t pid)
      : encoder_(encoder), process_(process), pid_(pid) {}

  TraceEncoder& encoder() const { return *encoder_; }
  TraceEncoder::Track process() const { return process_; }

  /// Returns the track of a thread. The first call for a thread creates the track and sets its
  /// name.
  TraceEncoder::Track Of(std::int32_t tid, std::string_view name) {
    return ThreadOf(tid, name).track;
  }

  /// Returns the track for a thread's regions from one image (program or shared library). Images
  /// are drained one after the other, so their events are not in time order. Readers pair the
  /// begins and ends of a track in file order. The first image therefore uses the thread's track,
  /// and each other image gets a child track.
  TraceEncoder::Track Of(std::int32_t tid, std::string_view name, const void* image) {
    Thread& thread = ThreadOf(tid, name);
    if (thread.first_image == nullptr) thread.first_image = image;
    if (thread.first_image == image) return thread.track;
    auto [track, is_new] = thread.others.try_emplace(image);
    if (is_new) track->second = encoder_->ChildTrack(thread.track, "regions of another image");
    return track->second;
  }

 private:
  struct Thread {
    TraceEncoder::Track track = 0;
    const void* first_image = nullptr;
    std::map<const void*, TraceEncoder::Track> others;
  };

  Thread& ThreadOf(std::int32_t tid, std::string_view name) {
    auto [thread, is_new] = threads_.try_emplace(tid);
    if (is_new) thread->second.track = encoder_->ThreadTrack(pid_, tid, name);
    return thread->second;
  }

  TraceEncoder* encoder_;
  TraceEncoder::Track process_;
  std::int32_t pid_;
  std::map<std::int32_t, Thread> threads_;
};

}  // namespace headroom
