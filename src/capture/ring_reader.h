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

/// Reads the memory that one image of a process shares (program or shared library). Writes to the
/// process's encoder.
///
/// Slices of a Perfetto track nest, but regions need not. If a region ends while later regions are
/// open, their slices also end and begin again at once. A new slice has the argument `continues` =
/// k: it continues the slice that ended k ends ago on the track. Readers can join the parts
/// (docs/recording.md).
class RingReader {
 public:
  /// @param clock    clock of the memory's ticks, anchored since before the process's first event
  /// @param threads  threads of the process
  /// @param gate     step window of the process
  /// Requires that `clock`, `threads` and `gate` outlive the reader.
  RingReader(SharedMemory memory, const TickClock* clock, ThreadTracks* threads, StepGate* gate);

  /// Fixes the events that the next Drain() reads, and reports their steps to the gate. Call it on
  /// all readers of a process before any Drain(): the steps of one image select the events of all.
  void Look();
  /// Writes the events that were in the rings at Look(). Returns their number; a region counts
  /// once. REQUIRES: the clock was anchored after Look().
  std::int64_t Drain();
  /// Writes NVTX ranges whose end was not recorded. Call it after the last Drain().
  void Finish();
  /// Ends open regions at the last event of their thread. Call it for a process that has exited
  /// while its file continues. Otherwise a reader would extend its regions to the end of the file.
  void CloseOpen();

  /// Reasons why GPU work is missing, as reported by the CUPTI library in the program.
  const std::vector<std::string>& warnings() const { return activity_.warnings(); }

  /// Number of events dropped so far because their ring was full, summed over rings.
  std::uint64_t ring_drops() const;
  SharedMemory::Drops drops() const { return memory_.drops(); }

 private:
  static constexpr std::uint32_t kNoSerial = UINT32_MAX;  ///< Not a serial: those have 24 bits.

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
    /// Serial of the last wanted step while it runs, else kNoSerial.
    std::uint32_t last_step = kNoSerial;
    std::vector<Open> open;
    std::string frames;  ///< Frames of the next stack, outermost first.
    TimeNs last;
    std::unique_ptr<activity::Decoder> decoder;  ///< Set for a ring of GPU activity.
  };

  std::int64_t DrainRing(std::uint32_t i);
  void DrainActivity(std::uint32_t i);
  void Release(std::uint32_t i);
  void FindSteps(std::uint32_t i);
  void OpenTrack(const headroom_ring& from, Ring& ring);
  /// @param ends_ago  slice ends on the track since the end of the continued slice; 0: a new slice
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
  /// The encoder's ids of names, by id in the memory; 0: not interned yet.
  std::vector<TraceEncoder::Name> names_;
  std::unordered_map<std::uint32_t, TraceEncoder::Track> counters_;
  ActivityTracks activity_;
  std::uint64_t freed_drops_ = 0;  ///< Drops of rings that were released.
};

}  // namespace headroom
