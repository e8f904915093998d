#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ingest/input/json_escapes.h"
#include "ingest/nsight/tables.h"
#include "store/kineto_args.h"

namespace headroom::nsight {

using sqlite::NamedColumns;
using sqlite::RowScan;

namespace {

/// Types of NVTX events in Nsight's numbering. Older versions write the two halves of a range
/// separately if they could not join them.
enum class NvtxType : std::uint8_t {
  kCategory = 33,
  kMark = 34,
  kPush = 35,
  kPop = 36,
  kStart = 37,
  kEnd = 38,
  kThreadName = 39,
  kPushPop = 59,
  kStartEnd = 60,
  kDomainCreate = 75,
  kDomainDestroy = 76,
};

constexpr NamedColumns kColumns{"start",  "end",       "eventType", "text",
                                "textId", "globalTid", "domainId"};

/// Returns the type of a row. If the row states none, returns kPushPop for a row with an end
/// (`ends`), else kMark.
NvtxType TypeOf(const RowScan& row, bool ends) {
  const NvtxType untold = ends ? NvtxType::kPushPop : NvtxType::kMark;
  return static_cast<NvtxType>(std::clamp<std::int64_t>(
      row.Integer(kColumns["eventType"], static_cast<std::int64_t>(untold)), 0, UINT8_MAX));
}

}  // namespace

NvtxTable::NvtxTable(Reading& reading) : reading_(reading) {}

void NvtxTable::Read() {
  operator_category_ = reading_.store.strings.Intern("cpu_op");
  range_category_ = reading_.store.strings.Intern("user_annotation");
  mark_category_ = reading_.store.strings.Intern("nvtx");
  reading_.ForEach(kNvtx, kColumns, 1, [&](const RowScan& row) { Add(row); });
}

void NvtxTable::Add(const RowScan& row) {
  TraceStore& store = reading_.store;
  // PyTorch adds a number to the text of each operator, which makes all these texts unique. Only
  // their parsed parts are kept.
  std::string_view text = row.IsText(kColumns["text"])
                              ? row.Text(kColumns["text"])
                              : reading_.texts.TextOf(row.Integer(kColumns["textId"], -1));
  if (!reading_.budget.Take(text.size())) {
    store.log.Add(ImportIssue::kOversizedEvent, -1,
                  "texts of ranges were dropped: they repeat the same long text too often");
    text = {};
  }
  const std::int64_t global = row.Integer(kColumns["globalTid"], kUnknown);
  const DomainKey domain = {PidOrZero(global), row.Integer(kColumns["domainId"], 0)};
  const bool ends = row.Integer(kColumns["end"], kUnknown) != kUnknown;
  const NvtxType type = TypeOf(row, ends);
  switch (type) {
    case NvtxType::kDomainCreate:
      if (!text.empty()) domains_[domain] = store.strings.Intern(text);
      return;
    case NvtxType::kThreadName:
      if (!text.empty()) thread_names_.emplace_back(global, store.strings.Intern(text));
      return;
    case NvtxType::kCategory:
    case NvtxType::kDomainDestroy:
      return;
    default:
      break;
  }
  ++store.metadata.events;
  if (type == NvtxType::kPop || type == NvtxType::kEnd) {
    store.log.Add(ImportIssue::kUnmatchedEnd, -1, std::string(kNvtx));
    return;
  }
  const std::optional<TimeNs> start = reading_.TimeAt(row, kColumns["start"], kNvtx);
  if (!start) return;
  const auto name_of = [&](std::string_view name) {
    return store.strings.Intern(name.empty() ? "(unnamed range)" : name);
  };
  // Ranges that begin and end on any thread do not nest, so they get a separate track.
  const bool any_thread = type == NvtxType::kStartEnd || type == NvtxType::kStart;
  const ThreadId thread = any_thread ? reading_.tracks.TrackOf(global, "NVTX start-end ranges")
                                     : reading_.tracks.ThreadOf(global);
  if (type == NvtxType::kMark) return AddMark(*start, name_of(text), thread);
  const std::optional<OperatorRange> op = ParseOperatorRange(text);
  const bool is_half = type == NvtxType::kPush || type == NvtxType::kStart || !ends;
  HostEvent event = {.start = *start,
                     .duration = is_half ? DurationNs(0)
                                         : reading_.DurationTo(row, kColumns["end"], *start, kNvtx),
                     .name = name_of(op ? op->name : text),
                     .category = op ? operator_category_ : range_category_,
                     .thread = thread,
                     .kind = op ? HostEventKind::kOperator : HostEventKind::kAnnotation};
  if (op) {
    event.sequence = op->sequence;
    event.external_id = op->id;
    if (!op->sizes.empty()) {
      shapes_.assign(1, '"').append(kInputDimsArg).append("\": ").append(op->sizes);
      event.args = store.strings.Intern(shapes_);
    }
  }
  const std::size_t added = reading_.AddHostEvent(event);
  if (is_half) unfinished_.push_back(added);
  if (op) return;
  ranges_.Note(added, text);
  if (domain.second != 0) in_domains_.emplace_back(added, domain);
}

void NvtxTable::AddMark(TimeNs time, StringId name, ThreadId thread) {
  auto& instants = reading_.store.instants;
  const std::size_t instant = AppendUnknown(instants);
  instants.time.MutablePending(instant) = time;
  instants.name.MutablePending(instant) = name;
  instants.category.MutablePending(instant) = mark_category_;
  instants.thread.MutablePending(instant) = thread;
  reading_.last = std::max(reading_.last, time);
}

void NvtxTable::NameThreads() {
  for (const auto& [global, name] : thread_names_) reading_.tracks.NameThread(global, name);
}

void NvtxTable::NameDomains() {
  TraceStore& store = reading_.store;
  std::map<DomainKey, StringId> members;
  for (const auto& [key, name] : domains_) {
    std::string member = "\"domain\": ";
    AppendQuoted(store.Text(name), member);
    members[key] = store.strings.Intern(member);
  }
  for (const auto& [event, key] : in_domains_) {
    if (const auto it = members.find(key); it != members.end())
      store.host_events.args.MutablePending(event) = it->second;
  }
}

void NvtxTable::Finish() {
  TraceStore& store = reading_.store;
  for (const std::size_t event : unfinished_) {
    const TimeNs start = store.host_events.start.Pending(event);
    store.host_events.duration.MutablePending(event) = std::max(reading_.last, start) - start;
    store.log.Add(ImportIssue::kUnfinishedSpan, -1, std::string(kNvtx));
  }
  NameDomains();
  ranges_.Mark(store);
}

}  // namespace headroom::nsight
