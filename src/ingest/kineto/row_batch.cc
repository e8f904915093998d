#include "ingest/kineto/row_batch.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/ascii.h"
#include "ingest/input/json_escapes.h"
#include "ingest/input/json_members.h"
#include "ingest/names/range_names.h"
#include "ingest/names/rocm_kernels.h"
#include "store/args_text.h"

namespace headroom::kineto {
namespace {

constexpr std::uint64_t Bit(KinetoArg key) {
  return std::uint64_t{1} << static_cast<unsigned>(key);
}
static_assert(std::size(kKinetoArgNames) <= 64);

std::int64_t IntegerOr(const Token& token, std::int64_t fallback) {
  std::int64_t value = 0;
  return token.present() && ParseInteger(token.text, value) ? value : fallback;
}

std::int64_t IntegerOf(const Token& token) { return IntegerOr(token, kUnknown); }

std::int32_t Integer32Of(const Token& token) {
  const std::int64_t value = IntegerOf(token);
  const bool fits = value > std::numeric_limits<std::int32_t>::min() &&
                    value <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(value) : kUnknown32;
}

bool ParseDouble(const Token& token, double& value) {
  if (!token.present()) return false;
  const auto [end, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  return error == std::errc() && end == token.text.data() + token.text.size() &&
         std::isfinite(value);
}

/// Returns true if the text is a decimal number of any size.
bool IsNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !(text[0] == '.' || IsDigit(text[0]))) return false;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// Returns true if a timestamp is in this century on the clock of time.time_ns().
bool IsUnixNanoseconds(std::string_view text) {
  constexpr std::int64_t kYear2001 = 1'000'000'000'000'000'000, kYear2096 = 4 * kYear2001;
  std::int64_t count = 0;
  return ParseInteger(text, count) && count >= kYear2001 && count < kYear2096;
}

/// Three integers as in "[8, 16, 5]"; unknown if the text has another form.
struct Extent {
  std::int32_t x = kUnknown32, y = kUnknown32, z = kUnknown32;
  bool operator==(const Extent&) const = default;
};
Extent ParseExtent(const Token& token) {
  Extent extent;
  std::int32_t* out[] = {&extent.x, &extent.y, &extent.z};
  const char* p = token.text.data();
  const char* end = p + token.text.size();
  for (std::int32_t* value : out) {
    while (p != end && std::strchr("[, \n\t\r", *p) != nullptr)
      ++p;  // Some writers print it over several lines.
    const auto [next, error] = std::from_chars(p, end, *value);
    if (error != std::errc()) return {};
    p = next;
  }
  while (p != end && IsSpace(*p)) ++p;
  return p != end && *p == ']' ? extent : Extent();
}

/// Returns true for phases without a duration: instants and marks, and steps of asynchronous
/// events.
bool IsPoint(char phase) {
  return std::string_view("iIRnTp").find(phase) != std::string_view::npos;
}

std::string PhaseText(char phase) {
  return phase > ' ' && phase <= '~' ? std::string("phase ") + phase : std::string();
}

SyncKind SyncKindOf(std::string_view name) {
  if (name == "Context Sync") return SyncKind::kContext;
  if (name == "Stream Sync") return SyncKind::kStream;
  if (name == "Event Sync") return SyncKind::kEvent;
  return name == "Stream Wait Event" ? SyncKind::kStreamWaitEvent : SyncKind::kOther;
}

/// Returns the kind of a host span. PyTorch before 1.12 gives its ranges the category of operators.
HostEventKind KindOf(const RawEvent& event, CategoryRule rule) {
  const bool is_range = rule == CategoryRule::kOperator && IsRangeOfPyTorch(event.name.text);
  return is_range ? HostEventKind::kAnnotation : HostKindOf(rule);
}

}  // namespace

/// Reads arguments of one event into columns, and records which arguments have a column. A value
/// that does not fit its column stays in the text of `args`.
class ArgReader {
 public:
  explicit ArgReader(const RawEvent& event) : event_(event) {}

  /// Returns unknown if the argument is absent or does not fit.
  std::int64_t Integer(KinetoArg key) { return Keep(key, IntegerOf, kUnknown); }
  std::int32_t Integer32(KinetoArg key) { return Keep(key, Integer32Of, kUnknown32); }
  std::int64_t IntegerOr(KinetoArg key, std::int64_t fallback) {
    const std::int64_t value = Integer(key);
    return value == kUnknown ? fallback : value;
  }
  /// Returns a number from -10^6 to 10^6, rounded.
  std::int32_t Rounded(KinetoArg key) {
    const auto round = [](const Token& token) {
      double value = 0;
      const bool fits = ParseDouble(token, value) && std::abs(value) < 1e6;
      return fits ? static_cast<std::int32_t>(std::lround(value)) : kUnknown32;
    };
    return Keep(key, round, kUnknown32);
  }
  Extent Blocks(KinetoArg key) { return Keep(key, ParseExtent, Extent()); }
  StringId Text(KinetoArg key, WorkerIds& ids) {
    const auto intern = [&](const Token& token) {
      return IsNested(token) || IsNull(token) ? StringId::None() : ids.Intern(token);
    };
    return Keep(key, intern, StringId::None());
  }
  /// Drops an argument that only repeats the value of a column.
  void Drop(KinetoArg key) { kept_ |= Bit(key); }

  /// Returns the arguments in columns, as a set of bits.
  std::uint64_t kept() const { return kept_; }

 private:
  static bool IsNull(const Token& token) { return !token.quoted && token.text == "null"; }
  static bool IsNested(const Token& token) {
    return !token.quoted && (token.text.front() == '[' || token.text.front() == '{');
  }

  template <typename Value, typename Convert>
  Value Keep(KinetoArg key, Convert convert, Value unknown) {
    const Token token = event_.Arg(key);
    if (!token.present()) return unknown;
    const Value value = convert(token);
    if (value != unknown || IsNull(token)) kept_ |= Bit(key);
    return value;
  }

  const RawEvent& event_;
  std::uint64_t kept_ = 0;
};

void RowBatch::Clear() {
  const auto clear = [](const char*, auto& column) { column.clear(); };
  host_events.ForEachColumn(clear);
  gpu_tasks.ForEachColumn(clear);
  syncs.ForEachColumn(clear);
  flows.ForEachColumn(clear);
  counters.ForEachColumn(clear);
  memory_events.ForEachColumn(clear);
  instants.ForEachColumn(clear);
  collectives.ForEachColumn(clear);
  half_spans.clear();
  async_halves.clear();
  track_names.clear();
  bandwidths.clear();
  stamps = StampFacts();
  log = ImportLog();
  events = 0;
  fractional_times = false;
}

bool IsUnixTime(TimeNs time) {
  constexpr TimeNs kYear2001(1'000'000'000'000'000'000);
  return time >= kYear2001;
}

void StampFacts::See(TimeNs time) {
  if (time.ns() == 0) return;
  ++(IsUnixTime(time) ? unix_times : other_times);
  first = std::min(first, time);
  last = std::max(last, time);
}

void StampFacts::SeeEvent(TimeNs time, DurationNs duration, std::int64_t offset) {
  if (time.ns() != 0) return;
  ++zero_events;
  zero_with_length = zero_with_length || duration.ns() > 0;
  if (zero_offsets.size() < ImportLog::kRowsKeptPerIssue) zero_offsets.push_back(offset);
}

void StampFacts::Append(const StampFacts& later) {
  unix_times += later.unix_times;
  other_times += later.other_times;
  first = std::min(first, later.first);
  last = std::max(last, later.last);
  zero_events += later.zero_events;
  zero_arrows += later.zero_arrows;
  zero_with_length = zero_with_length || later.zero_with_length;
  const std::size_t room = ImportLog::kRowsKeptPerIssue - zero_offsets.size();
  const std::size_t count = std::min(room, later.zero_offsets.size());
  zero_offsets.insert(zero_offsets.end(), later.zero_offsets.begin(),
                      later.zero_offsets.begin() + static_cast<std::ptrdiff_t>(count));
}

StringId WorkerIds::Intern(const Token& token) {
  if (!token.escaped) return strings.Intern(token.text);
  scratch_.clear();
  Unescape(token.text, scratch_);
  return strings.Intern(scratch_);
}

StringId WorkerIds::InternMembers(std::string_view members, bool& is_sound) {
  const StringId id = strings.Intern(members);
  if (id.index() >= members_known_.size()) members_known_.resize(strings.size());
  if (!members_known_[id.index()]) {
    members_known_[id.index()] = true;
    if (!AreJsonMembers(members)) {
      const std::string sound = SoundMembers(members);
      mended_members_[id] = sound.empty() ? StringId::None() : strings.Intern(sound);
    }
  }
  if (mended_members_.empty()) return id;
  const auto mended = mended_members_.find(id);
  is_sound = mended == mended_members_.end();
  return is_sound ? id : mended->second;
}

ThreadId WorkerIds::ThreadOf(const Token& process, const Token& thread) {
  if (last_track_.valid() && process.text == last_process_ && thread.text == last_thread_)
    return last_track_;
  const StringId process_id = Intern(process);
  const StringId thread_id = Intern(thread);
  const auto [it, is_new] =
      track_ids_.try_emplace({process_id, thread_id}, ThreadId(tracks_.size()));
  if (is_new) tracks_.push_back({process_id, thread_id});
  last_process_ = process.text;
  last_thread_ = thread.text;
  return last_track_ = it->second;
}

StreamId WorkerIds::StreamOf(std::int64_t device, std::int64_t number) {
  if (last_stream_.valid()) {
    const Stream& last = streams_[last_stream_.index()];
    if (last.device == device && last.number == number) return last_stream_;
  }
  const auto [it, is_new] = stream_ids_.try_emplace({device, number}, StreamId(streams_.size()));
  if (is_new) streams_.push_back({device, number});
  return last_stream_ = it->second;
}

CategoryRule WorkerIds::RuleOf(StringId category) {
  if (category.index() >= rules_.size()) {
    rules_.resize(category.index() + 1);
    rule_known_.resize(category.index() + 1);
  }
  if (!rule_known_[category.index()]) {
    rules_[category.index()] = RuleOfCategory(strings.Get(category));
    rule_known_[category.index()] = true;
  }
  return rules_[category.index()];
}

void RowBuilder::Add(const RawEvent& event, std::int64_t offset) {
  // Some writers put an empty object after a last comma.
  if (event.args.empty() && event.text.find('"') == std::string_view::npos) return;
  ++batch_.events;
  if (event.phase.text.size() != 1) {
    batch_.log.Add(ImportIssue::kNotAnEvent, offset, "no phase");
    return;
  }
  switch (event.phase.text[0]) {
    case 'X':
      return AddComplete(event, offset);
    case 's':
    case 't':
    case 'f':
      return AddFlow(event, offset);
    case 'M':
      return AddMetadata(event);
    case 'B':
    case 'E':
    case 'b':
    case 'e':
    case 'S':
    case 'F':
      return AddHalfSpan(event, offset);
    case 'C':
      return AddCounter(event, offset);
    default:
      if (!IsPoint(event.phase.text[0]))
        batch_.log.Add(ImportIssue::kOtherPhase, offset, PhaseText(event.phase.text[0]));
      TimeNs time;
      if (ParseTime(event, offset, time)) AddInstant(event, time, offset);
  }
}

bool RowBuilder::ParseTime(const RawEvent& event, std::int64_t offset, TimeNs& time) {
  std::int64_t ns = 0;
  const std::string_view text = event.time.text;
  // Ends are computed as start + duration, which must not overflow either.
  constexpr std::int64_t kFurthest = std::numeric_limits<std::int64_t>::max() / 4;
  const bool fits = event.time.present() && ParseMicroseconds(text, ns);
  if (!fits || ns > kFurthest || ns < -kFurthest) {
    batch_.log.Add(ImportIssue::kBadTime, offset,
                   !event.time.present()     ? "missing"
                   : IsUnixNanoseconds(text) ? "nanoseconds since 1970, but `ts` counts "
                                               "microseconds: write time.time_ns() / 1000"
                   : fits || IsNumber(text)  ? "out of range"
                                             : "not a number");
    return false;
  }
  batch_.fractional_times = batch_.fractional_times || ns % 1000 != 0;
  time = TimeNs(ns);
  batch_.stamps.See(time);
  return true;
}

DurationNs RowBuilder::ParseDuration(const RawEvent& event, std::int64_t offset,
                                     CategoryRule rule) {
  // This is a whole number of microseconds, so it proves nothing about the unit of other times.
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() / 4 / 1000 * 1000;
  if (!event.duration.present()) {
    batch_.log.Add(ImportIssue::kMissingDuration, offset);
    return DurationNs(0);
  }
  std::int64_t ns = 0;
  const bool fits = ParseMicroseconds(event.duration.text, ns);
  const bool is_number = fits || IsNumber(event.duration.text);
  if (is_number && (fits ? ns < 0 : event.duration.text.starts_with('-'))) {
    batch_.log.Add(ImportIssue::kNegativeDuration, offset);
    return DurationNs(0);
  }
  if (!fits || ns > kLongest) {
    if (is_number && IsGpuTask(rule)) return DurationNs(kLongest);
    batch_.log.Add(ImportIssue::kBadDuration, offset, is_number ? "out of range" : "");
    return DurationNs(0);
  }
  batch_.fractional_times = batch_.fractional_times || ns % 1000 != 0;
  return DurationNs(ns);
}

StringId RowBuilder::CategoryOf(const RawEvent& event) {
  if (event.category.present()) return ids_.Intern(event.category);
  // PyTorch without Kineto writes no category. Use the one that Kineto would write, so that copies
  // have it.
  if (event.process.text == kProcessWithoutKineto)
    return ids_.strings.Intern(IsRangeOfPyTorch(event.name.text) ? "user_annotation" : "cpu_op");
  return StringId(0u);
}

void RowBuilder::AddComplete(const RawEvent& event, std::int64_t offset) {
  const StringId category = CategoryOf(event);
  const CategoryRule rule = ids_.RuleOf(category);
  TimeNs start;
  if (!ParseTime(event, offset, start)) return;
  if (rule == CategoryRule::kCudaEvent) {
    // Event records have time 0 on older CUDA and an invented duration. They are at best a point in
    // time.
    if (start.ns() == 0) {
      batch_.log.Add(ImportIssue::kZeroTimeEvents, offset);
    } else {
      AddInstant(event, start, offset);
    }
    return;
  }
  const Span span = {start, ParseDuration(event, offset, rule)};
  batch_.stamps.SeeEvent(start, span.duration, offset);
  if (IsGpuTask(rule)) return AddGpuTask(event, span, rule, offset);
  if (rule == CategoryRule::kSync) return AddSync(event, span, offset);
  AddHostEvent(event, span, rule, category, offset);
}

void RowBuilder::AddHostEvent(const RawEvent& event, Span span, CategoryRule rule,
                              StringId category, std::int64_t offset) {
  auto& rows = batch_.host_events;
  rows.start.push_back(span.start);
  rows.duration.push_back(span.duration);
  rows.name.push_back(NameOf(event, offset));
  rows.category.push_back(category);
  rows.thread.push_back(ids_.ThreadOf(event.process, event.thread));
  rows.kind.push_back(KindOf(event, rule));
  AddArgsOfHostEvent(event, offset);
}

void RowBuilder::AddArgsOfHostEvent(const RawEvent& event, std::int64_t offset) {
  auto& rows = batch_.host_events;
  ArgReader args(event);
  rows.correlation.push_back(args.Integer(KinetoArg::kCorrelation));
  rows.external_id.push_back(args.Integer(KinetoArg::kExternalId));
  rows.sequence.push_back(args.Integer(KinetoArg::kSequence));
  rows.forward_thread.push_back(args.Integer32(KinetoArg::kForwardThread));
  rows.python_id.push_back(args.Integer32(KinetoArg::kPythonId));
  rows.python_parent_id.push_back(args.Integer32(KinetoArg::kPythonParentId));
  rows.event_index.push_back(args.Integer32(KinetoArg::kEventIndex));
  rows.record_function.push_back(args.Integer32(KinetoArg::kRecordFunction));
  rows.args.push_back(RestOfArgs(event, args.kept(), offset));
}

StreamId RowBuilder::StreamOf(const RawEvent& event, ArgReader& args) {
  const std::int64_t device = args.IntegerOr(KinetoArg::kDevice, IntegerOr(event.process, -1));
  const std::int64_t number = args.IntegerOr(KinetoArg::kStream, IntegerOr(event.thread, -1));
  return ids_.StreamOf(device, number);
}

void RowBuilder::AddGpuTask(const RawEvent& event, Span span, CategoryRule rule,
                            std::int64_t offset) {
  auto& rows = batch_.gpu_tasks;
  ArgReader args(event);
  const std::int64_t bytes = args.Integer(KinetoArg::kBytes);
  const GpuTaskKind kind =
      rule == CategoryRule::kKernel ? KindOfRocmKernel(event.name.text) : GpuKindOf(rule);
  if (event.Arg(KinetoArg::kCollectiveName).present()) AddCollective(args);
  rows.start.push_back(span.start);
  rows.duration.push_back(span.duration);
  rows.name.push_back(NameOf(event, offset));
  rows.stream.push_back(StreamOf(event, args));
  rows.kind.push_back(kind);
  rows.copy.push_back(kind == GpuTaskKind::kMemcpy ? CopyKindOf(event.name.text)
                                                   : CopyKind::kNotACopy);
  rows.correlation.push_back(args.Integer(KinetoArg::kCorrelation));
  rows.external_id.push_back(args.Integer(KinetoArg::kExternalId));
  const Extent grid = args.Blocks(KinetoArg::kGrid);
  const Extent block = args.Blocks(KinetoArg::kBlock);
  rows.grid_x.push_back(grid.x);
  rows.grid_y.push_back(grid.y);
  rows.grid_z.push_back(grid.z);
  rows.block_x.push_back(block.x);
  rows.block_y.push_back(block.y);
  rows.block_z.push_back(block.z);
  rows.registers.push_back(args.Integer32(KinetoArg::kRegisters));
  rows.shared_memory.push_back(args.Integer32(KinetoArg::kSharedMemory));
  rows.occupancy_pct.push_back(args.Rounded(KinetoArg::kOccupancy));
  rows.graph_node.push_back(args.Integer(KinetoArg::kGraphNode));
  rows.bytes.push_back(bytes);
  rows.args.push_back(RestOfArgs(event, args.kept(), offset));

  double bandwidth = 0;
  if (bytes > 0 && batch_.bandwidths.size() < kBandwidthSamples &&
      ParseDouble(event.Arg(KinetoArg::kBandwidth), bandwidth) && bandwidth > 0 &&
      span.duration.ns() > 0) {
    batch_.bandwidths.push_back({bytes, span.duration, bandwidth});
  }
}

void RowBuilder::AddCollective(ArgReader& args) {
  auto& rows = batch_.collectives;
  rows.task.push_back(GpuTaskId(batch_.gpu_tasks.start.size()));
  rows.name.push_back(args.Text(KinetoArg::kCollectiveName, ids_));
  rows.dtype.push_back(args.Text(KinetoArg::kDtype, ids_));
  rows.process_group.push_back(args.Text(KinetoArg::kProcessGroup, ids_));
  rows.in_elements.push_back(args.Integer(KinetoArg::kInElements));
  rows.out_elements.push_back(args.Integer(KinetoArg::kOutElements));
  rows.group_size.push_back(args.Integer(KinetoArg::kGroupSize));
}

void RowBuilder::AddSync(const RawEvent& event, Span span, std::int64_t offset) {
  auto& rows = batch_.syncs;
  ArgReader args(event);
  const std::int64_t stream = args.Integer(KinetoArg::kStream);
  rows.start.push_back(span.start);
  rows.duration.push_back(span.duration);
  rows.kind.push_back(SyncKindOf(event.name.text));
  rows.stream.push_back(stream < 0 ? StreamId::None() : StreamOf(event, args));
  rows.correlation.push_back(args.Integer(KinetoArg::kCorrelation));
  rows.wait_on_stream.push_back(args.Integer(KinetoArg::kWaitOnStream));
  rows.wait_on_correlation.push_back(args.Integer(KinetoArg::kWaitOnCorrelation));
  if (event.Arg(KinetoArg::kSyncKind).text == event.name.text) args.Drop(KinetoArg::kSyncKind);
  rows.args.push_back(RestOfArgs(event, args.kept(), offset));
}

void RowBuilder::AddFlow(const RawEvent& event, std::int64_t offset) {
  TimeNs time;
  if (!ParseTime(event, offset, time)) return;
  if (time.ns() == 0) ++batch_.stamps.zero_arrows;
  auto& rows = batch_.flows;
  const char phase = event.phase.text[0];
  rows.time.push_back(time);
  rows.category.push_back(ids_.Intern(event.category.present() ? event.category : event.name));
  rows.id.push_back(IntegerOf(event.id));
  rows.phase.push_back(phase == 's'   ? FlowPhase::kStart
                       : phase == 't' ? FlowPhase::kStep
                                      : FlowPhase::kFinish);
  rows.thread.push_back(ids_.ThreadOf(event.process, event.thread));
}

void RowBuilder::AddHalfSpan(const RawEvent& event, std::int64_t offset) {
  TimeNs time;
  if (!ParseTime(event, offset, time)) return;
  batch_.stamps.SeeEvent(time, DurationNs(0), offset);
  const char phase = event.phase.text[0];
  const StringId category = CategoryOf(event);
  const bool begins = phase == 'B' || phase == 'b' || phase == 'S';
  const HalfSpan half = {.begins = begins,
                         .time = time,
                         .name = begins ? NameOf(event, offset) : ids_.Intern(event.name),
                         .category = category,
                         .kind = KindOf(event, ids_.RuleOf(category)),
                         .thread = ids_.ThreadOf(event.process, event.thread),
                         .args = RestOfArgs(event, 0, offset),
                         .offset = offset};
  if (phase == 'B' || phase == 'E') {
    batch_.half_spans.push_back(half);
  } else {
    batch_.async_halves.push_back({half, AsyncIdOf(event, category)});
  }
}

AsyncId RowBuilder::AsyncIdOf(const RawEvent& event, StringId category) {
  AsyncId of = {.category = category,
                .scope = ids_.Intern(event.scope),
                .id = ids_.Intern(event.id),
                .process = StringId::None(),
                .name = StringId::None()};
  const std::string_view id2 = event.id2.text;  // id2 is {"local": "0x5"} or {"global": "0x5"}.
  if (!event.id.present() && id2.starts_with('{')) {
    const std::string_view members = id2.substr(1, id2.size() - 2);
    const std::string_view local = FindMember(members, "local");
    of.id = ids_.strings.Intern(local.empty() ? FindMember(members, "global") : local);
    if (!local.empty()) of.process = ids_.Intern(event.process);
  }
  const char phase = event.phase.text[0];
  if (phase == 'S' || phase == 'F') of.name = ids_.Intern(event.name);
  return of;
}

void RowBuilder::AddCounter(const RawEvent& event, std::int64_t offset) {
  TimeNs time;
  if (!ParseTime(event, offset, time)) return;
  batch_.stamps.SeeEvent(time, DurationNs(0), offset);
  const StringId name = ids_.Intern(event.name);
  const ThreadId thread = ids_.ThreadOf(event.process, event.thread);
  auto& rows = batch_.counters;
  for (const ArgMember& arg : event.args) {
    double value = 0;
    if (!ParseDouble(arg.value, value)) {
      batch_.log.Add(ImportIssue::kCounterValue, offset);
      continue;
    }
    rows.time.push_back(time);
    rows.name.push_back(name);
    const bool escaped = arg.key_text.find('\\') != std::string_view::npos;
    rows.series.push_back(ids_.Intern({arg.key_text, /*quoted=*/true, escaped}));
    rows.unit.push_back(event.unit.present() ? ids_.Intern(event.unit) : StringId::None());
    rows.thread.push_back(thread);
    rows.value.push_back(value);
  }
  if (event.args.empty())
    batch_.log.Add(ImportIssue::kNotAnEvent, offset, "a counter without a number");
}

void RowBuilder::AddMemoryEvent(const RawEvent& event, TimeNs time) {
  auto& rows = batch_.memory_events;
  rows.time.push_back(time);
  rows.thread.push_back(ids_.ThreadOf(event.process, event.thread));
  rows.address.push_back(IntegerOf(event.Arg(KinetoArg::kAddress)));
  rows.bytes.push_back(IntegerOf(event.Arg(KinetoArg::kMemoryBytes)));
  rows.total_allocated_bytes.push_back(IntegerOf(event.Arg(KinetoArg::kTotalAllocated)));
  rows.total_reserved_bytes.push_back(IntegerOf(event.Arg(KinetoArg::kTotalReserved)));
  rows.device_type.push_back(Integer32Of(event.Arg(KinetoArg::kDeviceType)));
  rows.device.push_back(Integer32Of(event.Arg(KinetoArg::kDeviceId)));
  rows.event_index.push_back(Integer32Of(event.Arg(KinetoArg::kEventIndex)));
}

void RowBuilder::AddInstant(const RawEvent& event, TimeNs time, std::int64_t offset) {
  batch_.stamps.SeeEvent(time, DurationNs(0), offset);
  if (event.name.text == "[memory]") return AddMemoryEvent(event, time);
  auto& rows = batch_.instants;
  rows.time.push_back(time);
  rows.name.push_back(ids_.Intern(event.name));
  rows.category.push_back(ids_.Intern(event.category));
  rows.thread.push_back(ids_.ThreadOf(event.process, event.thread));
  rows.args.push_back(RestOfArgs(event, 0, offset));
}

void RowBuilder::AddMetadata(const RawEvent& event) {
  TrackName row;
  KinetoArg key = KinetoArg::kName;
  if (event.name.text == "process_name") {
    row.what = TrackName::What::kProcessName;
  } else if (event.name.text == "process_labels") {
    row.what = TrackName::What::kProcessLabels;
    key = KinetoArg::kLabels;
  } else if (event.name.text == "thread_name") {
    row.what = TrackName::What::kThreadName;
  } else {
    return;  // Sort orders and similar records are for viewers.
  }
  const Token name = event.Arg(key);
  if (!name.present()) return;
  row.thread = ids_.ThreadOf(event.process, event.thread);
  row.text = ids_.Intern(name);
  batch_.track_names.push_back(row);
}

StringId RowBuilder::RestOfArgs(const RawEvent& event, std::uint64_t in_columns,
                                std::int64_t offset) {
  // The remaining members are usually adjacent; their text is then used unchanged.
  const auto rest = [&](const ArgMember& arg) {
    return arg.key == KinetoArg::kOther || (in_columns & Bit(arg.key)) == 0;
  };
  std::string_view run;
  bool copied = false;
  const ArgMember* previous = nullptr;
  for (const ArgMember& arg : event.args) {
    if (!rest(arg)) continue;
    if (run.empty() && !copied) {
      run = arg.whole;
    } else if (!copied && previous == &arg - 1) {
      run = {run.data(),
             static_cast<std::size_t>(arg.whole.data() + arg.whole.size() - run.data())};
    } else {
      if (!copied) scratch_ = run;
      copied = true;
      scratch_ += ", ";
      scratch_ += arg.whole;
    }
    previous = &arg;
  }
  if (copied) run = scratch_;
  if (run.empty()) return StringId::None();
  bool is_sound = true;
  const StringId members = ids_.InternMembers(run, is_sound);
  if (!is_sound) batch_.log.Add(ImportIssue::kBadArgument, offset);
  return members;
}

StringId RowBuilder::NameOf(const RawEvent& event, std::int64_t offset) {
  // A copy of the trace gives such events an empty name, and carries the log entry separately.
  const bool is_null = !event.name.quoted && event.name.text == "null";
  if (!event.name.present() || is_null) {
    batch_.log.Add(ImportIssue::kMissingName, offset);
    return StringId(0u);
  }
  return ids_.Intern(event.name);
}

}  // namespace headroom::kineto
