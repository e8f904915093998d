// Runs a program as `headroom record` does, as far as GPU activity goes, and keeps what came.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/activity_decoder.h"

namespace headroom::activity {

/// An event with texts of its own.
template <typename Event>
struct Kept : Event {
  explicit Kept(const Event& event) : Event(event), name(event.name) {}
  std::string name;
};

/// A region of headroom/timer.h, on the ticks of its process.
struct Region {
  std::string name;
  std::uint32_t tid;
  std::uint64_t start, end;
};

struct Recording {
  int status = -1;  ///< Exit code; 128 + signal.
  std::vector<Kept<GpuTask>> tasks;
  std::vector<Kept<ApiCall>> calls;
  std::vector<Kept<Overhead>> overheads;
  std::vector<Kept<Sync>> syncs;
  std::vector<Kept<Range>> ranges;
  std::vector<std::string> domains;  ///< Of `ranges`.
  std::vector<Kept<Naming>> namings;
  std::vector<ExternalId> external_ids;
  std::map<std::string, std::int64_t> messages;           ///< Sum of the values.
  std::map<std::string, std::vector<std::string>> texts;  ///< Of messages.
  std::vector<Region> regions;
  std::uint64_t dropped = 0;  ///< Events that found no room.
  std::int64_t unknown = 0;   ///< Events that make no sense.
  int images = 0;             ///< That connected.
  double ns_per_tick = 0;     ///< Of the process's clock.
};

struct RecordOptions {
  std::vector<std::string> command = {};
  std::vector<std::pair<std::string, std::string>> environment =
      {};  ///< Added to ours; empty: taken away.
  /// Tells the activity rings to capture from the begin of the first step to the end of the last.
  std::optional<std::pair<std::int64_t, std::int64_t>> steps = {};
  bool drain_at_end = false;  ///< Lets rings run full.
};

/// Runs the command to its end. Aborts where the machine lets it not.
Recording Record(const RecordOptions& options);

}  // namespace headroom::activity
