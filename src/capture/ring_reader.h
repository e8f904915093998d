// Turns the rings of a measured process into tracks of its recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "capture/shared_memory.h"
#include "capture/tick_clock.h"
#include "capture/trace_encoder.h"

namespace headroom {

/// Steps that are recorded, by number: from the begin of the first to the end of the last.
struct StepWindow {
  std::int64_t first = 0, last = 0;
};

/// The steps of one process so far, against the window: what of the time is to be recorded. All
/// threads of a process are inside or outside together.
class StepGate {
 public:
  explicit StepGate(std::optional<StepWindow> window) : window_(window) {}

  void SawStep(std::int64_t number, std::uint64_t ticks);
  /// Whether what happened then is wanted.
  bool Open(std::uint64_t ticks) const;
  bool limited() const { return window_.has_value(); }

 private:
  std::optional<StepWindow> window_;
  std::uint64_t from_ = UINT64_MAX, to_ = UINT64_MAX;
};

/// Reads one image's memory (program or shared library) and writes to its process's encoder.
///
/// Slices of a Perfetto track nest. Regions need not: where one ends while later ones are open,
/// those end with it and begin again at once, with the argument `continues`; readers that know it
/// join the pieces (docs/recording.md).
class RingReader {
 public:
  /// @param encoder  of the process; must outlive the reader
  /// @param process  the process's track
  /// @param pid      as the recorder sees it
  RingReader(SharedMemory memory, TraceEncoder* encoder, TraceEncoder::Track process,
             std::int32_t pid);

  /// Moves the events that are there. Returns their number.
  /// REQUIRES: clock() was anchored after the last event of interest.
  std::int64_t Drain(StepGate& gate);

  /// The largest share of a ring that was in use at the last Drain().
  double fullest() const { return fullest_; }

  TickClock& clock() { return clock_; }
  const TickClock& clock() const { return clock_; }
  /// Events that found no room, of all rings so far.
  std::uint64_t ring_drops() const;
  SharedMemory::Drops drops() const { return memory_.drops(); }

 private:
  struct Open {
    std::uint32_t name, serial;
    bool step;
    std::int64_t number;
    bool written;  ///< Its begin is in the file.
  };
  struct Ring {
    std::uint64_t tail = 0;
    std::uint64_t head = 0;  ///< As far as this Drain() goes.
    std::uint32_t state = HEADROOM_RING_FREE;
    TraceEncoder::Track track = 0;
    std::vector<Open> open;
    TimeNs last;
  };

  std::int64_t DrainRing(std::uint32_t i, const StepGate& gate);
  void FindSteps(std::uint32_t i, StepGate& gate) const;
  void OpenTrack(const headroom_ring& from, Ring& ring);
  void BeginSlice(Ring& ring, const Open& open, TimeNs time, TraceEncoder::Name category,
                  bool continues);
  void EndSlice(Ring& ring, std::uint32_t serial, TimeNs time, TraceEncoder::Name category);
  TraceEncoder::Name NameOf(std::uint32_t id);

  SharedMemory memory_;
  TickClock clock_;
  TraceEncoder* encoder_;
  TraceEncoder::Track process_;
  std::int32_t pid_;
  std::vector<Ring> rings_;
  std::vector<TraceEncoder::Name> names_;  ///< Of the encoder, by number; 0: not yet.
  std::unordered_map<std::uint32_t, TraceEncoder::Track> counters_;
  double fullest_ = 0;
  std::uint64_t freed_drops_ = 0;  ///< Of rings that were given back.
};

}  // namespace headroom
