// Converts the rings of a measured process into tracks of its recording.
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
/// Slices of a Perfetto track nest, but regions need not. If a region ends while later ones are
/// open, those end with it and begin again at once. The new part has the argument `continues`: the
/// number of ends since the end of its first part. Readers that know it join the parts
/// (docs/recording.md).
class RingReader {
 public:
  /// @param clock    clock of the memory's ticks, running for some time
  /// @param threads  threads of the process
  /// @param gate     selects the wanted time
  /// Requires that all outlive the reader.
  RingReader(SharedMemory memory, const TickClock* clock, ThreadTracks* threads, StepGate* gate);

  /// Sets the end of the next Drain() and reports the steps before it to the gate. Call it on all
  /// readers of a process before draining any: one image reports the steps of all.
  void Look();
  /// Moves the events that were there at Look(). Returns their number; the two ends of a region
  /// count once. REQUIRES: the clock was anchored after Look().
  std::int64_t Drain();
  /// Writes events that wait for an end that will not come. Call it after the process has exited.
  void Finish();
  /// Ends open regions at the last event of their thread. Call it for a process that has exited
  /// while its file continues. Otherwise a reader would extend its regions to the end of the file.
  void CloseOpen();

  /// Reasons why GPU work is missing, from the program's side.
  const std::vector<std::string>& warnings() const { return activity_.warnings(); }

  /// Events without room, of all rings so far.
  std::uint64_t ring_drops() const;
  SharedMemory::Drops drops() const { return memory_.drops(); }

 private:
  static constexpr std::uint32_t kNoSerial = UINT32_MAX;  ///< Serials have 24 bits.

  struct Open {
    std::uint32_t name, serial;
    bool step;
    std::int64_t number;
    bool written;  ///< The file contains its begin.
  };
  struct Ring {
    std::uint64_t tail = 0;
    std::uint64_t head = 0;  ///< End of the next Drain().
    std::uint32_t state = HEADROOM_RING_FREE;
    TraceEncoder::Track track = 0;
    std::uint32_t last_step = kNoSerial;  ///< Serial of the last wanted step while it runs.
    std::vector<Open> open;
    TimeNs last;
    std::unique_ptr<activity::Decoder> decoder;  ///< Set for a ring of GPU activity.
  };

  std::int64_t DrainRing(std::uint32_t i);
  void DrainActivity(std::uint32_t i);
  void Release(std::uint32_t i);
  void FindSteps(std::uint32_t i);
  void OpenTrack(const headroom_ring& from, Ring& ring);
  /// `ends_ago`: the slice continues the one that ended that many ends ago; 0 if it is new.
  void BeginSlice(Ring& ring, const Open& open, TimeNs time, TraceEncoder::Name category,
                  std::int64_t ends_ago = 0);
  void EndSlice(Ring& ring, std::uint32_t serial, TimeNs time, TraceEncoder::Name category);
  TraceEncoder::Name NameOf(std::uint32_t id);

  SharedMemory memory_;
  const TickClock* clock_;
  ThreadTracks* threads_;
  TraceEncoder* encoder_;  ///< Encoder of `threads_`.
  StepGate* gate_;
  std::vector<Ring> rings_;
  std::vector<TraceEncoder::Name> names_;  ///< Encoder names by id; 0: not interned yet.
  std::unordered_map<std::uint32_t, TraceEncoder::Track> counters_;
  ActivityTracks activity_;
  std::uint64_t freed_drops_ = 0;  ///< Drops of rings that were released.
};

}  // namespace headroom
