// Writes a trace's rows as events of Chrome's JSON format, as PyTorch's profiler does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "store/import_log.h"
#include "store/software_version.h"
#include "store/trace_store.h"

namespace headroom {

/// Placement of a trace in a file of several traces. Prevents collisions of their numbers and
/// names.
struct EventPlacing {
  /// Maps the trace's clock to the clock of the file.
  std::function<TimeNs(TimeNs)> time = [](TimeNs own) { return own; };
  std::string label;               ///< Prefix of its process names, e.g. "rank 2".
  std::int64_t first_process = 0;  ///< First number for its processes and GPU tracks.
  std::int64_t first_device = 0;   ///< First number for its GPUs.
  std::int64_t first_id = 0;       ///< First id that joins events (arrows, launches).
  /// True if the file contains only this trace. Numbers and names then stay unchanged, and the file
  /// reads back as the same rows (docs/export.md lists the losses). Ignores the members above.
  bool alone = false;
};

/// The first free numbers, with which the next trace of the file begins.
struct UsedNumbers {
  std::int64_t processes = 0, devices = 0;
  std::int64_t ids = 0;     ///< First free id that joins events.
  std::int64_t events = 0;  ///< Number of events written for this trace.
};

/// Takes one event, a JSON object.
using EventSink = std::function<void(std::string_view event)>;

/// Writes every row, table by table, and names each track before its first event. Omits data that
/// the reader dropped (docs/architecture.md, "How a report comes about") and fractions of a
/// nanosecond.
UsedNumbers WriteChromeEvents(const TraceStore& store, const EventPlacing& placing,
                              const EventSink& sink);

/// Returns the earliest timestamp of any row on the trace's own clock, or 0 for a trace without
/// rows.
TimeNs FirstTime(const TraceStore& store);

/// Returns rows of `deviceProperties` for the trace's GPUs, each a JSON object, with the GPU
/// numbers that the events use. Empty if the trace describes no GPU.
std::vector<std::string> DevicePropertiesOf(const TraceStore& store, const EventPlacing& placing);

/// Returns the damage to record in a copy as another member of the object around the events, with a
/// leading comma; empty if none.
std::string DamageMember(const ImportLog& log);

/// Properties that all traces in a file share.
struct TraceSource {
  explicit TraceSource(const TraceMetadata& metadata);

  std::string recorded_as;  ///< A format of store/trace_formats.h; empty for several formats.
  bool is_forecast;
  bool names_and_times_only;
  std::vector<SoftwareVersion> versions;
};

/// Returns the tools that wrote a file's traces as further members, each with a leading comma.
std::string SourceMembers(const TraceSource& source);

/// Returns the header of a file that contains only this trace: devices, rank, driver, the clock's
/// zero and damage. They are members of the object around the events.
std::string HeaderOf(const TraceStore& store);

}  // namespace headroom
