#include "ingest/memory_snapshot/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/memory_snapshot/pickle_parser.h"
#include "ingest/memory_snapshot/stacks.h"
#include "store/trace_formats.h"

namespace headroom::memory_snapshot {
namespace {

using Kind = Value::Kind;

constexpr std::int32_t kCuda = 1;  ///< Device type CUDA in PyTorch's numbering.
/// Maximum plausible size of a block; more than any machine has.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 42;
/// About 290 years on a clock in microseconds.
constexpr std::int64_t kLatestUs = std::int64_t{1} << 53;

enum class Action : std::uint8_t { kAllocate, kFree, kReserve, kRelease, kOutOfMemory, kOther };

/// Returns the action of an entry. Ignores `free_completed`, which states when the block can be
/// reused, long after the framework freed it.
Action ActionOf(std::string_view name) {
  if (name == "alloc") return Action::kAllocate;
  if (name == "free_requested") return Action::kFree;
  if (name == "segment_alloc" || name == "segment_map") return Action::kReserve;
  if (name == "segment_free" || name == "segment_unmap") return Action::kRelease;
  if (name == "oom") return Action::kOutOfMemory;
  return Action::kOther;
}

/// One entry of a history, or one block of a segment.
struct Record {
  bool is_block = false;
  bool is_allocated = false;  ///< Blocks only.
  Action action = Action::kOther;
  std::int64_t address = kUnknown, bytes = 0;
  std::int64_t time_us = kUnknown;
  std::int64_t free_bytes = kUnknown;  ///< Free memory of the device, for kOutOfMemory.
  Value frames;
};

/// Turns the dictionaries that occur in millions into records while they are read.
class Records {
 public:
  std::optional<std::uint32_t> Take(const PickleValues& values, std::span<const Value> items) {
    Record record;
    bool has_action = false, has_state = false, has_bytes = false;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const std::string_view key = values.TextOf(items[i]);
      const Value value = items[i + 1];
      const bool is_number = value.is(Kind::kInteger);
      if (key == "action" && value.is(Kind::kText)) {
        has_action = true;
        record.action = ActionOf(values.TextOf(value));
      } else if (key == "state" && value.is(Kind::kText)) {
        has_state = true;
        record.is_allocated = values.TextOf(value) == "active_allocated";
      } else if ((key == "addr" || key == "address") && is_number) {
        record.address = value.payload();
      } else if (key == "size" && is_number) {
        if (!has_bytes) record.bytes = value.payload();
        has_bytes = true;
      } else if (key == "requested_size" && is_number) {
        record.bytes = value.payload();
        has_bytes = true;
      } else if (key == "time_us" && is_number) {
        record.time_us = value.payload();
      } else if (key == "device_free" && is_number) {
        record.free_bytes = value.payload();
      } else if (key == "frames") {
        record.frames = value;
      }
    }
    if (!has_bytes || has_action == has_state) return std::nullopt;
    record.is_block = has_state;
    records_.push_back(record);
    return static_cast<std::uint32_t>(records_.size() - 1);
  }
  const Record& operator[](std::uint32_t number) const { return records_[number]; }

 private:
  std::vector<Record> records_;
};

/// One GPU: its history, and its state at the end.
struct Device {
  std::vector<std::uint32_t> history;  ///< Numbers of records, in order.
  std::vector<std::uint32_t> blocks;   ///< Numbers of records: blocks allocated at the end.
  std::int64_t reserved = 0, allocated = 0;
  bool has_segments = false;
};

/// Returns a + b, clamped so that the difference of two such sums fits an int64. A file may refer
/// to one entry millions of times.
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 61;
  return std::clamp(a + b, -kLargest, kLargest);
}

/// The change in memory that an entry makes.
struct Change {
  std::int64_t allocated = 0, reserved = 0;
  void Add(const Change& other) {
    allocated = Sum(allocated, other.allocated);
    reserved = Sum(reserved, other.reserved);
  }
};

Change ChangeOf(const Record& record) {
  switch (record.action) {
    case Action::kAllocate:
      return {record.bytes, 0};
    case Action::kFree:
      return {-record.bytes, 0};
    case Action::kReserve:
      return {0, record.bytes};
    case Action::kRelease:
      return {0, -record.bytes};
    default:
      return {};
  }
}

class FileReading {
 public:
  FileReading(ByteSource& source, const std::string& path, const ReadOptions& options,
              TraceStore& store)
      : source_(source),
        path_(path),
        options_(options),
        store_(store),
        stacks_(values_, frames_, store) {}

  Status Run() {
    PickleOptions parse;
    parse.max_string_bytes = options_.max_string_bytes;
    parse.chunk_bytes = options_.chunk_bytes;
    parse.progress = options_.progress;
    parse.record = [this](const PickleValues& values,
                          std::span<const Value> items) -> std::optional<std::uint32_t> {
      if (const auto frame = frames_.Take(values, items)) return FrameRecord(*frame);
      if (const auto entry = records_.Take(values, items)) return EntryRecord(*entry);
      return std::nullopt;
    };
    const Result<PickleResult> parsed = ParsePickle(source_, parse, values_);
    if (!parsed.ok()) return parsed.status();
    constexpr std::int64_t kMaxKeys =
        8;  // Maximum number of keys that a dictionary is searched for.
    visits_left_ = parsed.value().opcodes;
    searches_left_ = kMaxKeys * parsed.value().opcodes;
    if (!CollectDevices(parsed.value().root)) return NoSnapshot(parsed.value());
    LogEnd(parsed.value());
    FindZero();
    AddProcess();
    for (const auto& [number, device] : devices_) AddDevice(number, device);
    AddAnnotations(Find(parsed.value().root, "external_annotations"));
    if (without_history_) store_.log.Add(ImportIssue::kNoMemoryHistory);
    if (without_time_ > 0) store_.log.Add(ImportIssue::kNoTimes, -1, {}, without_time_);
    if (bad_times_ > 0)
      store_.log.Add(ImportIssue::kBadTime, -1, "kept in file order, one microsecond apart",
                     bad_times_);
    if (bad_entries_ > 0)
      store_.log.Add(ImportIssue::kLostEvent, -1, "entries without a plausible size", bad_entries_);
    return Status::Ok();
  }

 private:
  Status NoSnapshot(const PickleResult& parsed) const {
    if (parsed.end == PickleEnd::kCode) {
      return Status::BadInput(fmt::format(
          "{}: is a pickle that runs code at byte {} ({}), so it is not a memory snapshot; pass "
          "a file that torch.cuda.memory._dump_snapshot(FILE) wrote: it contains only data",
          path_, parsed.offset, parsed.opcode));
    }
    return Status::BadInput(fmt::format(
        "{}: is a pickle, but not a PyTorch memory snapshot: it has no \"segments\" or "
        "\"device_traces\"{}; pass a file that torch.cuda.memory._dump_snapshot(FILE) wrote",
        path_,
        parsed.end == PickleEnd::kWhole ? std::string()
                                        : fmt::format(" before byte {}", parsed.offset)));
  }

  void LogEnd(const PickleResult& parsed) {
    if (!source_.damage().empty()) {
      store_.log.Add(ImportIssue::kCutCompression, parsed.offset, std::string(source_.damage()));
    } else if (parsed.end == PickleEnd::kCut) {
      store_.log.Add(ImportIssue::kTruncated, parsed.offset);
    } else if (parsed.end != PickleEnd::kWhole) {
      store_.log.Add(ImportIssue::kTruncated, parsed.offset,
                     parsed.end == PickleEnd::kCode
                         ? fmt::format("{} would run code and was not executed", parsed.opcode)
                         : "damaged");
    }
    is_whole_ = parsed.end == PickleEnd::kWhole && source_.damage().empty();
    if (parsed.long_strings > 0)
      store_.log.Add(ImportIssue::kOversizedEvent, -1, "texts", parsed.long_strings);
  }

  /// Calls values_.Find() within a budget of compared keys, because a file may refer to a
  /// dictionary many times.
  Value Find(Value dict, std::string_view key) {
    if (searches_left_ < 0) return Value();
    searches_left_ -= static_cast<std::int64_t>(values_.CountOf(dict)) / 2;
    return searches_left_ < 0 ? Value() : values_.Find(dict, key);
  }
  /// Calls f(item) for the items of a list. Visits at most as many as the file has opcodes, because
  /// a file may refer to a list many times.
  template <typename F>
  void ForEach(Value list, F&& f) {
    if (!list.is(Kind::kList)) return;
    values_.ForEachRun(list, [&](std::span<const Value> run) {
      for (const Value item : run) {
        if (--visits_left_ < 0) return false;
        f(item);
      }
      return true;
    });
  }

  bool CollectDevices(Value root) {
    // Before PyTorch 2.0, a snapshot is only its list of segments.
    const Value segments = root.is(Kind::kList) ? root : Find(root, "segments");
    const Value traces = Find(root, "device_traces");
    bool found = root.is(Kind::kDict) && segments.is(Kind::kList);
    ForEach(segments, [&](Value segment) {
      const Value blocks = Find(segment, "blocks");
      if (!blocks.is(Kind::kList)) return;
      found = true;
      AddSegment(segment, blocks);
    });
    std::int64_t number = 0;
    ForEach(traces, [&](Value trace) {
      if (trace.is(Kind::kList)) found = true;
      ForEach(trace, [&](Value entry) { AddEntry(number, entry); });
      ++number;
    });
    return found;
  }

  void AddSegment(Value segment, Value blocks) {
    Device& device = devices_[NumberOf(segment, "device", 0)];
    device.has_segments = true;
    const std::int64_t bytes = NumberOf(segment, "total_size", 0);
    if (bytes > 0 && bytes <= kMaxBytes) device.reserved = Sum(device.reserved, bytes);
    ForEach(blocks, [&](Value block) {
      const auto number = EntryOf(block);
      if (!number) return;
      const Record& record = records_[*number];
      if (!record.is_block || !record.is_allocated || !IsPlausible(record)) return;
      device.blocks.push_back(*number);
      device.allocated = Sum(device.allocated, record.bytes);
    });
  }

  void AddEntry(std::int64_t number, Value entry) {
    const auto place = EntryOf(entry);
    if (!place) return;
    const Record& record = records_[*place];
    if (record.is_block) return;
    ++store_.metadata.events;
    if (record.action == Action::kOther) return;
    if (!IsPlausible(record)) {
      ++bad_entries_;
      return;
    }
    devices_[number].history.push_back(*place);
  }

  /// Returns the number of the record if the value is an entry or a block; otherwise nullopt.
  std::optional<std::uint32_t> EntryOf(Value value) const {
    if (!values_.IsRecord(value) || IsFrameRecord(values_.RecordOf(value))) return std::nullopt;
    return NumberOfRecord(values_.RecordOf(value));
  }
  static bool IsPlausible(const Record& record) {
    return record.bytes >= 0 && record.bytes <= kMaxBytes;
  }
  static bool IsTime(std::int64_t us) { return us >= 0 && us <= kLatestUs; }
  std::int64_t NumberOf(Value dict, std::string_view key, std::int64_t other) {
    const Value value = Find(dict, key);
    return value.is(Kind::kInteger) ? value.payload() : other;
  }

  /// Sets the zero of the trace's clock to the first entry of any GPU.
  void FindZero() {
    std::int64_t zero = std::numeric_limits<std::int64_t>::max();
    for (const auto& [number, device] : devices_) {
      for (const std::uint32_t entry : device.history) {
        if (IsTime(records_[entry].time_us)) zero = std::min(zero, records_[entry].time_us);
      }
    }
    if (zero == std::numeric_limits<std::int64_t>::max()) return;
    zero_us_ = zero;
    store_.metadata.base_time_ns = zero * 1000;
  }

  void AddProcess() {
    store_.processes.pid.MutablePending(AppendUnknown(store_.processes)) =
        store_.strings.Intern("0");
    store_.processes.name.MutablePending(0) = store_.strings.Intern("PyTorch");
  }
  ThreadId AddThread(std::string_view tid, std::string_view name) {
    const std::size_t row = AppendUnknown(store_.threads);
    store_.threads.process.MutablePending(row) = ProcessId(std::size_t{0});
    store_.threads.tid.MutablePending(row) = store_.strings.Intern(tid);
    store_.threads.name.MutablePending(row) = store_.strings.Intern(name);
    return ThreadId(row);
  }

  /// Returns the time of an entry. Timestamps are whole microseconds. Entries with the same
  /// timestamp are placed one nanosecond apart. An entry without a valid timestamp is placed one
  /// microsecond after the previous entry.
  TimeNs TimeOf(const Record& record) {
    std::int64_t us = last_us_ + 1;
    if (IsTime(record.time_us)) {
      us = record.time_us - zero_us_;
    } else {
      ++(record.time_us == kUnknown ? without_time_ : bad_times_);
    }
    last_us_ = std::max(last_us_, us);
    TimeNs time(us * 1000);
    if (time <= last_time_) time = last_time_ + DurationNs(1);
    last_time_ = time;
    return time;
  }

  void AddDevice(std::int64_t number, const Device& device) {
    if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) return;
    if (device.history.empty() && device.blocks.empty()) return;
    const ThreadId thread =
        AddThread(fmt::format("{}", number), fmt::format("Allocator of GPU {}", number));
    last_time_ = TimeNs(-1);
    last_us_ = -1;
    RangeWriter ranges(thread, store_);
    Change now = Before(device);
    if (device.history.empty()) {
      without_history_ = true;
      now.allocated = 0;
      for (const std::uint32_t block : device.blocks) {
        const Record& record = records_[block];
        now.allocated = Sum(now.allocated, record.bytes);
        const TimeNs time = last_time_ + DurationNs(1);
        last_time_ = time;
        ranges.Add(time, stacks_.Of(record.frames));
        AddRow(thread, number, record, time, record.bytes, {now.allocated, device.reserved});
      }
    }
    for (const std::uint32_t entry : device.history) {
      const Record& record = records_[entry];
      const Change change = ChangeOf(record);
      now.Add(change);
      const TimeNs time = TimeOf(record);
      ranges.Add(time, stacks_.Of(record.frames));
      if (record.action == Action::kOutOfMemory) AddOutOfMemory(thread, record, time);
      if (change.allocated == 0 && record.action != Action::kAllocate) continue;
      AddRow(thread, number, record, time, change.allocated, now);
    }
    ranges.Finish();
    if (store_.host_events.rows() > 0) has_ranges_ = true;
    if (ranges.left_out() > 0)
      store_.log.Add(ImportIssue::kUnreadData, -1, "call stacks", ranges.left_out());
  }

  /// Returns the memory in use before the first entry: the state at the end minus all changes. The
  /// result is at least the smallest value that keeps memory from becoming negative. It is that
  /// value if the state at the end is unknown, as in a truncated file.
  Change Before(const Device& device) const {
    Change sum, least;
    for (const std::uint32_t entry : device.history) {
      const Change change = ChangeOf(records_[entry]);
      sum.Add(change);
      least.allocated = std::min(least.allocated, sum.allocated);
      least.reserved = std::min(least.reserved, sum.reserved);
    }
    const bool known = is_whole_ && device.has_segments;
    return {std::max(known ? device.allocated - sum.allocated : 0, -least.allocated),
            std::max(known ? device.reserved - sum.reserved : 0, -least.reserved)};
  }

  void AddRow(ThreadId thread, std::int64_t device, const Record& record, TimeNs time,
              std::int64_t bytes, Change now) {
    auto& events = store_.memory_events;
    const std::size_t row = AppendUnknown(events);
    events.time.MutablePending(row) = time;
    events.thread.MutablePending(row) = thread;
    events.address.MutablePending(row) = record.address;
    events.bytes.MutablePending(row) = bytes;
    events.total_allocated_bytes.MutablePending(row) = now.allocated;
    events.total_reserved_bytes.MutablePending(row) = now.reserved;
    events.device_type.MutablePending(row) = kCuda;
    events.device.MutablePending(row) = static_cast<std::int32_t>(device);
  }

  void AddOutOfMemory(ThreadId thread, const Record& record, TimeNs time) {
    auto& instants = store_.instants;
    const std::size_t row = AppendUnknown(instants);
    instants.time.MutablePending(row) = time;
    instants.name.MutablePending(row) = store_.strings.Intern("out of memory");
    instants.category.MutablePending(row) = store_.strings.Intern("memory");
    instants.thread.MutablePending(row) = thread;
    std::string args = fmt::format("\"Bytes asked for\": {}", record.bytes);
    if (record.free_bytes != kUnknown)
      args += fmt::format(", \"Bytes free on the device\": {}", record.free_bytes);
    instants.args.MutablePending(row) = store_.strings.Intern(args);
  }

  /// Adds the ranges that the program marked (`stage` START and END, `name`, `device`, `time_us`)
  /// on a separate track.
  void AddAnnotations(Value list) {
    std::optional<ThreadId> thread;
    std::map<std::string_view, std::vector<TimeNs>> open;
    ForEach(list, [&](Value entry) {
      const std::string_view name = values_.TextOf(Find(entry, "name"));
      const std::string_view stage = values_.TextOf(Find(entry, "stage"));
      const std::int64_t us = NumberOf(entry, "time_us", -1);
      if (!IsTime(us) || (stage != "START" && stage != "END")) return;
      const TimeNs time((us - zero_us_) * 1000);
      std::vector<TimeNs>& starts = open[name];
      if (stage == "START") return starts.push_back(time);
      if (starts.empty()) return store_.log.Add(ImportIssue::kUnmatchedEnd);
      const TimeNs start = starts.back();
      starts.pop_back();
      if (!thread) thread = AddThread("annotations", "Annotations");
      const std::size_t row = AppendUnknown(store_.host_events);
      store_.host_events.start.MutablePending(row) = start;
      store_.host_events.duration.MutablePending(row) = std::max(DurationNs(0), time - start);
      store_.host_events.name.MutablePending(row) = store_.strings.Intern(name);
      store_.host_events.category.MutablePending(row) = store_.strings.Intern("user_annotation");
      store_.host_events.thread.MutablePending(row) = *thread;
      store_.host_events.kind.MutablePending(row) = HostEventKind::kAnnotation;
    });
    if (has_ranges_) store_.log.Add(ImportIssue::kSampledRanges);
  }

  ByteSource& source_;
  const std::string& path_;
  const ReadOptions& options_;
  TraceStore& store_;
  PickleValues values_;
  Frames frames_;
  Records records_;
  Stacks stacks_;
  std::map<std::int64_t, Device> devices_;
  std::int64_t visits_left_ = 0, searches_left_ = 0;
  std::int64_t zero_us_ = 0, last_us_ = -1;
  TimeNs last_time_;
  std::int64_t without_time_ = 0, bad_times_ = 0, bad_entries_ = 0;
  bool is_whole_ = true, without_history_ = false, has_ranges_ = false;
};

}  // namespace

Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  {
    FileReading reading(source, path, options, store);
    if (Status status = reading.Run(); !status.ok()) return status;
  }
  store.metadata.format = kMemorySnapshotFormat;
  store.metadata.file_bytes = std::max(source.file_bytes(), source.file_bytes_read());
  store.Freeze(options.threads);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while reading, which requires about twice the size "
                             "of the file; free memory, or use a larger machine");
}

}  // namespace headroom::memory_snapshot
