// Turns the rings of a measured process into tracks of its recording.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "capture/activity_decoder.h"
#include "capture/activity_tracks.h"
#include "capture/shared_memory.h"
#include "capture/step_gate.h"
#include "capture/thread_tracks.h"
#include "capture/tick_clock.h"
#include "capture/trace_encoder.h"

namespace headroom {

/// Reads one image's memory (program or shared library) and writes to its process's encoder.
///
/// Slices of a Perfetto track nest. Regions need not: where one ends while later ones are open,
/// those end with it and begin again at once, with the argument `continues`: how many ends ago the
/// first part ended. Readers that know it join the parts (docs/recording.md).
class RingReader {
 public:
  /// @param clock    of the memory's ticks, which has run for a while
  /// @param threads  of the process
  /// @param gate     what of the time is wanted
  /// All must outlive the reader.
  RingReader(SharedMemory memory, const TickClock* clock, ThreadTracks* threads, StepGate* gate);

  /// Settles how far the next Drain() goes, and tells the gate of the steps up to there. To be
  /// called on all readers of a process before any is drained: one image tells the steps of all.
  void Look();
  /// Moves the events that were there at Look(). Returns their number, a region's two ends as one.
  /// REQUIRES: the clock was anchored after it.
  std::int64_t Drain();
  /// Tells what waits for an end that will not come. For when the process is gone.
  void Finish();
  /// Ends what is open where its thread was last heard of. For a process that is gone while its
  /// file goes on: a reader would let its regions run to the end of the file.
  void CloseOpen();

  /// Why GPU work is missing, as the program's side says.
  const std::vector<std::string>& warnings() const { return activity_.warnings(); }

  /// Events that found no room, of all rings so far.
  std::uint64_t ring_drops() const;
  SharedMemory::Drops drops() const { return memory_.drops(); }

 private:
  static constexpr std::uint32_t kNoSerial = UINT32_MAX;  ///< Serials have 24 bits.

  struct Open {
    std::uint32_t name, serial;
    bool step;
    std::int64_t number;
    bool written;  ///< Its begin is in the file.
  };
  struct Ring {
    std::uint64_t tail = 0;
    std::uint64_t head = 0;  ///< As far as the next Drain() goes.
    std::uint32_t state = HEADROOM_RING_FREE;
    TraceEncoder::Track track = 0;
    std::uint32_t last_step = kNoSerial;  ///< Serial of the last wanted step, while it runs.
    std::vector<Open> open;
    TimeNs last;
    std::unique_ptr<activity::Decoder> decoder;  ///< Of a ring of GPU activity.
  };

  std::int64_t DrainRing(std::uint32_t i);
  void DrainActivity(std::uint32_t i);
  void Release(std::uint32_t i);
  void FindSteps(std::uint32_t i);
  void OpenTrack(const headroom_ring& from, Ring& ring);
  /// `ends_ago`: the slice is the rest of the one that ended so many ends ago; 0: it is new.
  void BeginSlice(Ring& ring, const Open& open, TimeNs time, TraceEncoder::Name category,
                  std::int64_t ends_ago = 0);
  void EndSlice(Ring& ring, std::uint32_t serial, TimeNs time, TraceEncoder::Name category);
  TraceEncoder::Name NameOf(std::uint32_t id);

  SharedMemory memory_;
  const TickClock* clock_;
  ThreadTracks* threads_;
  TraceEncoder* encoder_;  ///< The threads'.
  StepGate* gate_;
  std::vector<Ring> rings_;
  std::vector<TraceEncoder::Name> names_;  ///< Of the encoder, by number; 0: not yet.
  std::unordered_map<std::uint32_t, TraceEncoder::Track> counters_;
  ActivityTracks activity_;
  std::uint64_t freed_drops_ = 0;  ///< Of rings that were given back.
};

}  // namespace headroom
