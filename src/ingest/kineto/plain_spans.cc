#include "ingest/kineto/plain_spans.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/input/json_escapes.h"
#include "ingest/names/range_names.h"
#include "store/args_text.h"
#include "store/trace_formats.h"

namespace headroom::kineto {
namespace {

/// Returns true if a span of a known category has an id that only profilers write.
bool HasIdOfProfiler(const TraceStore& store, std::size_t row) {
  const auto& events = store.host_events;
  return events.correlation.Pending(row) != kUnknown ||
         events.external_id.Pending(row) != kUnknown || events.sequence.Pending(row) != kUnknown ||
         events.python_id.Pending(row) != kUnknown32 ||
         events.event_index.Pending(row) != kUnknown32 ||
         events.record_function.Pending(row) != kUnknown32;
}

/// Returns true if the categories of the spans come from a profiler. At least half of the spans
/// must have a known category, or one such span must have an id that only profilers write. One
/// known category is not enough, because any program may use a category such as "kernel" or
/// "Operator".
bool CategoriesTellOfProfiler(TraceStore& store) {
  const auto& events = store.host_events;
  std::size_t known = 0;
  StringId first_known;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind.Pending(row) == HostEventKind::kOther) continue;
    if (HasIdOfProfiler(store, row)) return true;
    if (++known == 1) first_known = events.category.Pending(row);
  }
  const std::size_t others = events.rows() - known;
  if (known == 0 || known < others) return false;
  if (others > 0) {
    store.log.Add(
        ImportIssue::kToldByCategory, -1,
        fmt::format("{} of {} spans, first \"{}\"", known, events.rows(), store.Text(first_known)));
  }
  return true;
}

/// Returns true if the trace has data that only a profiler of training jobs writes.
bool TellsOfProfiler(TraceStore& store) {
  const TraceMetadata& metadata = store.metadata;
  if (!metadata.format.empty() || metadata.names_and_times_only || store.gpu_tasks.rows() > 0 ||
      store.syncs.rows() > 0 || store.memory_events.rows() > 0) {
    return true;
  }
  return CategoriesTellOfProfiler(store);
}

/// Returns the arguments plus the category, under a key that the arguments do not contain.
std::string WithCategory(std::string_view category, std::string_view others) {
  std::string key = "cat";
  while (!FindMember(others, key).empty()) key += '_';
  std::string args = "\"" + key + "\": ";
  AppendQuoted(category, args);
  if (!others.empty()) args.append(", ").append(others);
  return args;
}

}  // namespace

void SettlePlainSpans(TraceStore& store) {
  if (!store.metadata.copied_from.empty() || store.host_events.rows() == 0) return;
  if (TellsOfProfiler(store)) return;
  store.metadata.format = kChromeFormat;
  auto& events = store.host_events;
  const StringId annotation = store.strings.Intern("user_annotation");
  NamedRanges ranges;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (const std::string_view own = store.Text(events.category.Pending(row)); !own.empty()) {
      events.args.MutablePending(row) =
          store.strings.Intern(WithCategory(own, store.Text(events.args.Pending(row))));
    }
    events.category.MutablePending(row) = annotation;
    events.kind.MutablePending(row) = HostEventKind::kAnnotation;
    ranges.Note(row, store.Text(events.name.Pending(row)));
  }
  ranges.Mark(store);
}

}  // namespace headroom::kineto
