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
    return ThreadOf(tid, name).track;
  }

  /// The track of a thread's regions that one image (program, shared library) tells of. Images tell
  /// their parts in turns, not by time, and readers pair the ends of a track in the order of the
  /// file: so the first one has the thread's own track, and others have one below it each.
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
