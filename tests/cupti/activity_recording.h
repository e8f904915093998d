// Runs a program as `headroom record` does, but records only GPU activity. Keeps the received
// events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/activity_decoder.h"

namespace headroom::activity {

/// An event that owns its texts.
template <typename Event>
struct Kept : Event {
  explicit Kept(const Event& event) : Event(event), name(event.name) {}
  std::string name;
};

/// A region of headroom/timer.h, in ticks of its process.
struct Region {
  std::string name;
  std::uint32_t tid;
  std::uint64_t start, end;
};

struct Recording {
  int status = -1;  ///< Exit code, or 128 + signal.
  std::vector<Kept<GpuTask>> tasks;
  std::vector<Kept<ApiCall>> calls;
  std::vector<Kept<Overhead>> overheads;
  std::vector<Kept<Sync>> syncs;
  std::vector<Kept<Range>> ranges;
  std::vector<std::string> domains;  ///< Domains of `ranges`.
  std::vector<Kept<Naming>> namings;
  std::vector<ExternalId> external_ids;
  std::map<std::string, std::int64_t> messages;           ///< Sum of the values per message.
  std::map<std::string, std::vector<std::string>> texts;  ///< Texts per message.
  std::vector<Region> regions;
  std::uint64_t dropped = 0;  ///< Events without room.
  std::int64_t unknown = 0;   ///< Invalid events.
  int images = 0;             ///< Images that connected.
  double ns_per_tick = 0;     ///< The process's clock.
};

struct RecordOptions {
  std::vector<std::string> command = {};
  std::vector<std::pair<std::string, std::string>> environment =
      {};  ///< Added to our environment. An empty value removes the variable.
  /// Makes the activity rings capture from the start of the first step to the end of the last.
  std::optional<std::pair<std::int64_t, std::int64_t>> steps = {};
  bool drain_at_end = false;  ///< Reads only at the end, so that rings can fill up.
};

/// Runs the command to its end. Aborts if the machine does not allow it.
Recording Record(const RecordOptions& options);

}  // namespace headroom::activity
