#include "ingest/kineto/plain_spans.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/json_escapes.h"
#include "ingest/range_names.h"
#include "store/args_text.h"
#include "store/trace_formats.h"

namespace headroom::kineto {
namespace {

/// Whether something is there that only a profiler of training jobs writes.
bool TellsOfProfiler(const TraceStore& store) {
  const TraceMetadata& metadata = store.metadata;
  if (!metadata.format.empty() || metadata.names_and_times_only || store.gpu_tasks.rows() > 0 ||
      store.syncs.rows() > 0 || store.memory_events.rows() > 0) {
    return true;
  }
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    if (store.host_events.kind.Pending(row) != HostEventKind::kOther) return true;
  }
  return false;
}

/// Arguments and one more, under a key that none of them has.
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
