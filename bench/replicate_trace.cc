// replicate_trace: makes a large trace from a small real one, or a small trace from its first
// events.
//
// Repeats the events of a PyTorch profiler trace (object form), one copy after another on the time
// axis, like one long recording:
//   - `ts` moves by the trace's span, rounded up to a millisecond, so copies never overlap;
//   - ids that join events (correlation, External id, flow id; Sequence number; Record function id;
//     Ev Idx; Python id and its parent) and the N of "ProfilerStep#N" move by the width of their
//     range, so no two copies share one. A 0 that means "none" stays 0;
//   - metadata and the top level appear once. So do the events that describe the recording itself:
//     its start, its end, and the "Trace" span, which grows to cover all copies.
// All other text is copied. Bytes per event, layout and compressibility therefore equal those of
// the original. One copy reproduces the original, byte for byte.
//
// Prints a JSON object with its results. Benchmarks compare a reader's answer with it.
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace headroom {
namespace {

/// Meaning of a number in the text, which decides how far it moves from copy to copy.
enum class Field : std::uint8_t {
  kTime,            ///< Whole microseconds of `ts`. Its decimals do not change.
  kCorrelation,     ///< correlation, External id, flow id: readers may compare them with each
                    ///< other.
  kSequence,        ///< Sequence number: joins forward and backward.
  kRecordFunction,  ///< Record function id; 0 means none.
  kEventIndex,      ///< Ev Idx.
  kPython,          ///< Python id and Python parent id.
  kStep,            ///< N of ProfilerStep#N.
  kRecordingDur,    ///< Whole microseconds of `dur` in the span of the recording.
};
constexpr std::size_t kFieldCount = 8;

/// A number to rewrite: `length` characters of the original at `offset`, with the value `value`.
struct Edit {
  std::size_t offset;
  std::size_t length;
  std::int64_t value;
  Field field;
};

/// Copies that contain an event.
enum class Appears : std::uint8_t { kInEvery, kInFirst, kInLast };

struct Event {
  std::size_t separator =
      0;  ///< Start of the text between the previous event (or '[') and this one.
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t first_edit = 0;
  std::size_t edit_count = 0;
  Appears appears = Appears::kInEvery;
  std::int64_t ts_ns = 0;
  std::int64_t dur_ns = 0;
  bool metadata = false;
  bool kernel = false;
  bool gpu_task = false;  ///< kernel, memcpy or memset.
  bool step = false;      ///< A ProfilerStep on the host.
};

struct Trace {
  std::string text;
  std::size_t array_begin = 0;   ///< Just after the '[' of traceEvents.
  std::size_t events_begin = 0;  ///< Start of the first event.
  std::size_t events_end = 0;    ///< Start of the text after the last event.
  std::string separator = ",";   ///< Text between the first two events.
  std::vector<Event> events;
  std::vector<Edit> edits;
};

/// Moves over valid JSON text, without checks.
class Scanner {
 public:
  explicit Scanner(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  char Peek() {
    SkipSpace();
    return text_[at_];
  }
  /// Steps over `c` if it is next. Returns whether it was.
  bool Eat(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  /// Returns the text between the quotes, with escapes unchanged.
  std::string_view String() {
    SkipSpace();
    const std::size_t begin = ++at_;
    while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    return text_.substr(begin, at_++ - begin);
  }
  /// Returns the text of the next value, of any type.
  std::string_view Value() {
    SkipSpace();
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (c == '"') {
      String();
    } else if (c == '{' || c == '[') {
      int depth = 0;
      do {
        const char d = text_[at_];
        if (d == '"') {
          String();
          continue;
        }
        if (d == '{' || d == '[') ++depth;
        if (d == '}' || d == ']') --depth;
        ++at_;
      } while (depth > 0);
    } else {
      while (!std::strchr(",]} \t\r\n", text_[at_])) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  /// Calls `f(key, scanner at the value)` for each member of the next object. `f` must step over
  /// the value.
  template <typename F>
  void ForEachMember(F f) {
    Eat('{');
    while (!Eat('}')) {
      const std::string_view key = String();
      Eat(':');
      f(key, *this);
      Eat(',');
    }
  }

 private:
  void SkipSpace() {
    while (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')
      ++at_;
  }

  std::string_view text_;
  std::size_t at_;
};

std::string_view Unquoted(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

std::optional<std::int64_t> ParseInt(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// A time with up to three decimals of a microsecond, in whole microseconds and in nanoseconds.
struct Micros {
  std::int64_t whole;
  std::int64_t ns;
  std::size_t whole_length;  ///< Characters before the decimal point.
};

std::optional<Micros> ParseMicros(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto whole = ParseInt(text.substr(0, dot));
  if (!whole || *whole < 0) return std::nullopt;
  std::int64_t fraction = 0;
  std::int64_t unit = 1000;
  for (const char c : text.substr(std::min(dot + 1, text.size()))) {
    if (c < '0' || c > '9') return std::nullopt;
    unit /= 10;
    fraction += unit * (c - '0');
  }
  return Micros{*whole, *whole * 1000 + fraction, dot};
}

/// Arguments of an event that are ids, and whether their 0 means "none".
struct IdArgument {
  std::string_view key;
  Field field;
  bool zero_is_none;
};
constexpr IdArgument kIdArguments[] = {
    {"correlation", Field::kCorrelation, true},
    {"External id", Field::kCorrelation, true},
    {"external id", Field::kCorrelation, true},
    {"wait_on_cuda_event_record_corr_id", Field::kCorrelation, true},
    {"Sequence number", Field::kSequence, false},
    {"Record function id", Field::kRecordFunction, true},
    {"Ev Idx", Field::kEventIndex, false},
    {"Python id", Field::kPython, false},
    {"Python parent id", Field::kPython, false},
};

/// Reads the next event and notes its numbers that must change.
Status ReadEvent(Scanner& scanner, Trace& trace) {
  Event event;
  event.first_edit = trace.edits.size();
  event.begin = (scanner.Peek(), scanner.at());
  std::string_view phase, category, name, dur_text;
  std::optional<Micros> ts, dur;
  bool bad_time = false;

  const auto offset_of = [&](std::string_view part) -> std::size_t {
    return part.data() - trace.text.data();
  };
  const auto add_id = [&](std::string_view value, Field field, bool zero_is_none) {
    const std::string_view digits = Unquoted(value);
    const auto id = ParseInt(digits);
    if (!id || *id < 0 || (*id == 0 && zero_is_none)) return;  // null, or a mark such as -1.
    trace.edits.push_back({offset_of(digits), digits.size(), *id, field});
  };

  scanner.ForEachMember([&](std::string_view key, Scanner& at) {
    if (key == "args" && at.Peek() == '{') {
      at.ForEachMember([&](std::string_view arg, Scanner& value_at) {
        const std::string_view value = value_at.Value();
        for (const IdArgument& id : kIdArguments) {
          if (arg == id.key) add_id(value, id.field, id.zero_is_none);
        }
      });
      return;
    }
    const std::string_view value = at.Value();
    if (key == "ph") phase = Unquoted(value);
    if (key == "cat") category = Unquoted(value);
    if (key == "name") name = Unquoted(value);
    if (key == "id") add_id(value, Field::kCorrelation, false);
    if (key == "ts") {
      ts = ParseMicros(value);
      bad_time |= !ts;
      if (ts) trace.edits.push_back({offset_of(value), ts->whole_length, ts->whole, Field::kTime});
    }
    if (key == "dur") {
      dur = ParseMicros(value);
      bad_time |= !dur;
      dur_text = value;
    }
  });
  event.end = scanner.at();
  event.metadata = phase == "M";
  if (bad_time && !event.metadata) {
    return Status::BadInput(
        "an event has a time that is not a plain decimal number of microseconds: " +
        trace.text.substr(event.begin, std::min<std::size_t>(300, event.end - event.begin)));
  }

  constexpr std::string_view kStepPrefix = "ProfilerStep#";
  if (name.starts_with(kStepPrefix)) {
    add_id(name.substr(kStepPrefix.size()), Field::kStep, false);
    event.step = category != "gpu_user_annotation" && phase == "X";
  }
  if (phase == "X" && category == "Trace" && dur) {
    trace.edits.push_back(
        {offset_of(dur_text), dur->whole_length, dur->whole, Field::kRecordingDur});
    event.appears = Appears::kInFirst;
  }
  if (phase == "i" && name.starts_with("Iteration Start")) event.appears = Appears::kInFirst;
  if (phase == "i" && name == "Record Window End") event.appears = Appears::kInLast;
  if (event.metadata) event.appears = Appears::kInFirst;

  std::sort(trace.edits.begin() + static_cast<std::ptrdiff_t>(event.first_edit), trace.edits.end(),
            [](const Edit& a, const Edit& b) { return a.offset < b.offset; });
  event.edit_count = trace.edits.size() - event.first_edit;
  event.ts_ns = ts ? ts->ns : 0;
  event.dur_ns = dur && phase == "X" ? dur->ns : 0;
  event.kernel = category == "kernel";
  event.gpu_task = event.kernel || category == "gpu_memcpy" || category == "gpu_memset";
  trace.events.push_back(event);
  return Status::Ok();
}

Result<std::string> ReadText(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // Also reads plain files.
  if (file == nullptr) return Status::BadInput("cannot open " + path);
  std::string text;
  std::vector<char> buffer(1 << 20);
  int got = 0;
  while ((got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  gzclose(file);
  if (got < 0) return Status::BadInput(path + " is damaged: cannot decompress it");
  return text;
}

Result<Trace> ReadTrace(const std::string& path) {
  Result<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  Trace trace;
  trace.text = std::move(text).value();
  if (!nlohmann::json::accept(trace.text)) return Status::BadInput(path + " is not valid JSON");

  Scanner scanner(trace.text);
  if (scanner.Peek() != '{') return Status::BadInput(path + " is not an object with traceEvents");
  Status status = Status::Ok();
  scanner.ForEachMember([&](std::string_view key, Scanner& at) {
    if (key != "traceEvents" || at.Peek() != '[' || !trace.events.empty()) {
      at.Value();
      return;
    }
    at.Eat('[');
    trace.array_begin = at.at();
    std::size_t separator = at.at();
    while (at.Peek() == '{' && status.ok()) {
      status = ReadEvent(at, trace);
      if (!status.ok()) break;
      trace.events.back().separator = separator;
      separator = trace.events.back().end;
      at.Eat(',');
    }
    trace.events_end = separator;
    // A failed event leaves the scanner inside the array. The text after it no longer matters.
    if (status.ok()) at.Eat(']');
  });
  if (!status.ok()) return status;
  if (trace.events.empty()) return Status::BadInput(path + " has no traceEvents");
  trace.events_begin = trace.events[0].begin;
  if (trace.events.size() > 1) {
    trace.separator =
        trace.text.substr(trace.events[0].end, trace.events[1].begin - trace.events[0].end);
  }
  return trace;
}

/// Keeps only the `count` events that begin first, the metadata and the file order.
void KeepEarliest(std::size_t count, Trace& trace) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (!trace.events[i].metadata) rows.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return trace.events[a].ts_ns < trace.events[b].ts_ns;
  });
  std::vector<bool> keep(trace.events.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) keep[i] = trace.events[i].metadata;
  const std::size_t metadata_count = trace.events.size() - rows.size();
  rows.resize(std::min(rows.size(), count > metadata_count ? count - metadata_count : 0));
  for (const std::size_t row : rows) keep[row] = true;
  std::vector<Event> kept;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (keep[i]) kept.push_back(trace.events[i]);
  }
  trace.events = std::move(kept);
}

/// Distance that each field moves from one copy to the next.
std::array<std::int64_t, kFieldCount> Strides(const Trace& trace) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::array<std::int64_t, kFieldCount> low, high, strides{};
  low.fill(kMax);
  high.fill(-1);
  std::int64_t begin_ns = kMax;
  std::int64_t end_ns = 0;
  for (const Event& event : trace.events) {
    if (event.appears != Appears::kInEvery) continue;
    begin_ns = std::min(begin_ns, event.ts_ns);
    end_ns = std::max(end_ns, event.ts_ns + event.dur_ns);
    for (std::size_t i = event.first_edit; i < event.first_edit + event.edit_count; ++i) {
      const auto field = static_cast<std::size_t>(trace.edits[i].field);
      low[field] = std::min(low[field], trace.edits[i].value);
      high[field] = std::max(high[field], trace.edits[i].value);
    }
  }
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    if (high[field] >= 0) strides[field] = high[field] - low[field] + 1;
  }
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const std::int64_t span_ms = begin_ns == kMax ? 0 : (end_ns - begin_ns) / kNsPerMs + 1;
  strides[static_cast<std::size_t>(Field::kTime)] = span_ms * 1000;
  return strides;
}

/// A file, compressed if its name ends in .gz. Uses one member of zlib at level 6, as profilers do,
/// because this determines the inflate speed of readers.
class Output {
 public:
  explicit Output(const std::string& path)
      : file_(gzopen(path.c_str(), path.ends_with(".gz") ? "wb6" : "wbT")) {
    if (file_ != nullptr) gzbuffer(file_, 1 << 18);
    buffer_.resize(kBufferBytes);
  }
  ~Output() { Close(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view text) {
    if (used_ + text.size() > kBufferBytes) Flush();
    if (text.size() > kBufferBytes) {
      WriteThrough(text);
      return;
    }
    std::memcpy(buffer_.data() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void Write(std::int64_t number) {
    if (used_ + 20 > kBufferBytes) Flush();
    char* end = std::to_chars(buffer_.data() + used_, buffer_.data() + kBufferBytes, number).ptr;
    used_ = static_cast<std::size_t>(end - buffer_.data());
  }
  /// Uncompressed bytes written.
  std::uint64_t bytes() const { return flushed_ + used_; }
  /// False if a write failed.
  bool Close() {
    Flush();
    if (file_ != nullptr) good_ = gzclose(file_) == Z_OK && good_;
    file_ = nullptr;
    return good_;
  }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 20;

  void Flush() {
    if (used_ > 0) WriteThrough({buffer_.data(), used_});
    used_ = 0;
  }
  void WriteThrough(std::string_view text) {
    good_ =
        good_ && file_ != nullptr && gzfwrite(text.data(), 1, text.size(), file_) == text.size();
    flushed_ += text.size();
  }

  gzFile file_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t flushed_ = 0;
  bool good_ = true;
};

struct Written {
  std::int64_t copies = 0;
  std::int64_t shift_ns = 0;  ///< From one copy to the next.
  std::uint64_t bytes = 0;
  std::int64_t events = 0;
  std::int64_t kernels = 0;
  std::int64_t gpu_tasks = 0;
  std::int64_t steps = 0;
  std::int64_t dur_sum_ns =
      0;  ///< Over all events with a `dur`, including the span of the recording.
};

/// Writes `copies` copies.
Result<Written> WriteCopies(const Trace& trace, std::int64_t copies, const std::string& path) {
  const std::string_view text = trace.text;
  const auto strides = Strides(trace);
  const std::int64_t time_stride = strides[static_cast<std::size_t>(Field::kTime)];
  Written written;
  written.copies = copies;
  written.shift_ns = time_stride * 1000;
  Output out(path);
  out.Write(text.substr(0, trace.events_begin));
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    for (std::size_t row = 0; row < trace.events.size(); ++row) {
      const Event& event = trace.events[row];
      if (event.appears == Appears::kInFirst && copy > 0) continue;
      if (event.appears == Appears::kInLast && copy + 1 < copies) continue;
      // The text before the input's first event is the start of the array, not a separator.
      const bool was_first = event.separator == trace.array_begin;
      if (written.events > 0) {
        out.Write(was_first ? std::string_view(trace.separator)
                            : text.substr(event.separator, event.begin - event.separator));
      }
      std::size_t at = event.begin;
      for (std::size_t i = event.first_edit; i < event.first_edit + event.edit_count; ++i) {
        const Edit& edit = trace.edits[i];
        out.Write(text.substr(at, edit.offset - at));
        out.Write(edit.field == Field::kRecordingDur
                      ? edit.value + (copies - 1) * time_stride
                      : edit.value + copy * strides[static_cast<std::size_t>(edit.field)]);
        at = edit.offset + edit.length;
      }
      out.Write(text.substr(at, event.end - at));
      ++written.events;
      written.kernels += event.kernel;
      written.gpu_tasks += event.gpu_task;
      written.steps += event.step;
      written.dur_sum_ns += event.dur_ns;
      const bool is_recording = event.appears == Appears::kInFirst && event.dur_ns > 0;
      if (is_recording) written.dur_sum_ns += (copies - 1) * time_stride * 1000;
    }
  }
  out.Write(text.substr(trace.events_end));
  written.bytes = out.bytes();
  if (!out.Close()) return Status::Environment("cannot write " + path + "; is the disk full?");
  return written;
}

/// Returns the number of copies with at least `bytes`. Ignores that numbers in later copies get
/// more digits, so the result may be larger.
std::int64_t CopiesFor(const Trace& trace, std::uint64_t bytes) {
  std::uint64_t once = trace.text.size();
  std::uint64_t repeated = 0;
  for (const Event& event : trace.events) {
    if (event.appears == Appears::kInEvery) repeated += event.end - event.separator;
  }
  if (repeated == 0 || bytes <= once) return 1;
  return static_cast<std::int64_t>((bytes - once + repeated - 1) / repeated) + 1;
}

Status Run(int argc, char** argv) {
  CLI::App app("Makes a large trace from a small real one by repeating its events.");
  std::string input, output;
  std::uint64_t size_mb = 0;
  std::int64_t copies = 1;
  std::size_t earliest = 0;
  app.add_option("INPUT", input, "PyTorch-profiler trace (.json or .json.gz)")->required();
  app.add_option("-o,--output", output, "file to write (.json or .json.gz)")->required();
  auto* size_option =
      app.add_option("--size-mb", size_mb, "repeat up to this size (10^6 bytes of JSON)");
  app.add_option("--copies", copies, "number of copies instead")
      ->check(CLI::PositiveNumber)
      ->excludes(size_option);
  app.add_option("--earliest", earliest,
                 "use only the N events that begin first (with the metadata)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) std::exit(0);
    return Status::Usage("see replicate_trace --help");
  }

  Result<Trace> read = ReadTrace(input);
  if (!read.ok()) return read.status();
  Trace trace = std::move(read).value();
  if (earliest > 0) KeepEarliest(earliest, trace);
  if (trace.events.empty()) return Status::BadInput(input + ": no event left to write");
  if (size_mb > 0) copies = CopiesFor(trace, size_mb * 1'000'000);
  Result<Written> result = WriteCopies(trace, copies, output);
  if (!result.ok()) return result.status();
  const Written& written = result.value();
  const nlohmann::ordered_json summary = {
      {"copies", written.copies},   {"shift_ns", written.shift_ns},
      {"bytes", written.bytes},     {"events", written.events},
      {"kernels", written.kernels}, {"gpu_tasks", written.gpu_tasks},
      {"steps", written.steps},     {"dur_sum_ns", written.dur_sum_ns}};
  std::printf("%s\n", summary.dump().c_str());
  return Status::Ok();
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  const headroom::Status status = headroom::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "replicate_trace: %s\n", status.message().c_str());
  return status.code() == headroom::StatusCode::kUsage ? 2 : 3;
}
