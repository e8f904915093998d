// A trace's rows as events of Chrome's JSON, as PyTorch's profiler writes them.
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

/// Where a trace stands in a file that holds several, so that nothing of theirs is confused.
struct EventPlacing {
  /// The trace's clock on that of the file.
  std::function<TimeNs(TimeNs)> time = [](TimeNs own) { return own; };
  std::string label;               ///< In front of the names of its processes: "rank 2".
  std::int64_t first_process = 0;  ///< Its processes and GPUs get numbers from here on, ...
  std::int64_t first_device = 0;   ///< ... its GPUs' own numbers from here on, ...
  std::int64_t first_id = 0;       ///< ... and what joins events (arrows, launches) from here on.
  /// The trace is alone in its file: its numbers and names stay as they are, and the file reads
  /// back as the same rows (docs/export.md says what is lost). The members above are not used.
  bool alone = false;
};

/// What the next trace of the file has to leave free.
struct UsedNumbers {
  std::int64_t processes = 0, devices = 0;
  std::int64_t ids = 0;  ///< Above all that were used.
  std::int64_t events = 0;
};

/// Takes one event, a JSON object.
using EventSink = std::function<void(std::string_view event)>;

/// Writes every row, table after table, and names each track before what is first on it. What a
/// reader did not keep is not there (docs/architecture.md, "How a report comes about"), and
/// fractions of stamps below a nanosecond are not.
UsedNumbers WriteChromeEvents(const TraceStore& store, const EventPlacing& placing,
                              const EventSink& sink);

/// The earliest stamp of any row, on the trace's own clock; 0 of a trace without rows.
TimeNs FirstTime(const TraceStore& store);

/// Rows of `deviceProperties` for its GPUs, each a JSON object, with the numbers that their events
/// have; empty: it describes none.
std::vector<std::string> DevicePropertiesOf(const TraceStore& store, const EventPlacing& placing);

/// What a file has to say of damage to those that it was made of, as a further member of the object
/// around the events, with a comma in front; empty: nothing.
std::string DamageMember(const ImportLog& log);

/// What the traces of a file have in common.
struct TraceSource {
  explicit TraceSource(const TraceMetadata& metadata);

  std::string recorded_as;  ///< A format of store/trace_formats.h; empty: of several.
  bool is_forecast;
  bool names_and_times_only;
  std::vector<SoftwareVersion> versions;
};

/// What a file has to say of the tools that its traces come from, as further members, each with a
/// comma in front.
std::string SourceMembers(const TraceSource& source);

/// What a file that holds this trace alone says of it all, as members of the object around the
/// events: devices, rank, driver, the clock's zero, damage.
std::string HeaderOf(const TraceStore& store);

}  // namespace headroom
