#include "slow_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace headroom::testing {
namespace {

// ---- JSON, with numbers kept as text
// ------------------------------------------------------------------------------

struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject } kind = Kind::kNull;
  std::string text;               ///< Value of a number, string or bool.
  std::vector<std::string> keys;  ///< Keys of an object, in file order.
  std::vector<Json> items;        ///< Values of an array or object.

  const Json* Find(std::string_view key) const {
    for (std::size_t i = keys.size(); i-- > 0;) {
      if (keys[i] == key) return &items[i];
    }
    return nullptr;
  }
};

/// Builds a Json from nlohmann's events, which keep the text of numbers.
class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Put({}); }
  bool boolean(bool value) override {
    return Put({Json::Kind::kBool, value ? "true" : "false", {}, {}});
  }
  bool number_integer(std::int64_t value) override {
    return Put({Json::Kind::kNumber, std::to_string(value), {}, {}});
  }
  bool number_unsigned(std::uint64_t value) override {
    return Put({Json::Kind::kNumber, std::to_string(value), {}, {}});
  }
  bool number_float(double, const std::string& text) override {
    return Put({Json::Kind::kNumber, text, {}, {}});
  }
  bool string(std::string& text) override { return Put({Json::Kind::kString, text, {}, {}}); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(Json::Kind::kObject); }
  bool start_array(std::size_t) override { return Open(Json::Kind::kArray); }
  bool key(std::string& text) override {
    open_.back().keys.push_back(text);
    return true;
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  Json root;

 private:
  bool Put(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }
  bool Open(Json::Kind kind) {
    open_.push_back({kind, {}, {}, {}});
    return true;
  }
  bool Close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    return Put(std::move(done));
  }

  std::vector<Json> open_;
};

std::optional<Json> ParseJson(std::string_view text) {
  JsonBuilder builder;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return std::move(builder.root);
}

/// Returns the canonical text of a value: no spaces, members sorted by key, the last of equal keys.
std::string Canonical(const Json& value) {
  switch (value.kind) {
    case Json::Kind::kNull:
      return "null";
    case Json::Kind::kBool:
    case Json::Kind::kNumber:
      return value.text;
    case Json::Kind::kString:
      return '"' + value.text + '"';
    case Json::Kind::kArray: {
      std::string out = "[";
      for (const Json& item : value.items) out += Canonical(item) + ",";
      return out + "]";
    }
    case Json::Kind::kObject:
      break;
  }
  std::map<std::string, std::string> members;
  for (std::size_t i = 0; i < value.keys.size(); ++i)
    members[value.keys[i]] = Canonical(value.items[i]);
  std::string out = "{";
  for (const auto& [key, text] : members) out += fmt::format("\"{}\":{},", key, text);
  return out + "}";
}

std::string CanonicalOrEmpty(const Json& members) {
  return members.keys.empty() ? "" : Canonical(members);
}

// ---- Values
// ---------------------------------------------------------------------------------------------------------

/// Returns a member's scalar as text. Returns nothing if it is missing, a list, an object or null.
std::optional<std::string> Scalar(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->kind == Json::Kind::kNumber || value->kind == Json::Kind::kString ||
      value->kind == Json::Kind::kBool) {
    return value->text;
  }
  return value->kind == Json::Kind::kNull ? std::optional<std::string>("null") : std::nullopt;
}

std::string TextOr(const Json* value, const std::string& otherwise) {
  return Scalar(value).value_or(otherwise);
}

std::optional<std::int64_t> ToInteger(const std::optional<std::string>& text) {
  if (!text || text->empty()) return std::nullopt;
  const bool hexadecimal = text->starts_with("0x");
  const std::string allowed = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
  const std::size_t first = hexadecimal ? 2 : (*text)[0] == '-' ? 1 : 0;
  if (first == text->size() || text->find_first_not_of(allowed, first) != std::string::npos)
    return std::nullopt;
  errno = 0;
  const long long value = std::strtoll(text->c_str(), nullptr, hexadecimal ? 16 : 10);
  if (errno != 0) return std::nullopt;
  return value;
}

std::int64_t Int(const Json* value) { return ToInteger(Scalar(value)).value_or(kUnknown); }

std::int32_t Int32(const Json* value) {
  const std::int64_t wide = Int(value);
  return wide > INT32_MIN && wide <= INT32_MAX ? static_cast<std::int32_t>(wide) : kUnknown32;
}

std::optional<double> Double(const Json* value) {
  const std::optional<std::string> text = Scalar(value);
  if (!text || text->empty()) return std::nullopt;
  if (text->find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text->c_str(), &end);
  if (*end != '\0' || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// Converts decimal microseconds to nanoseconds: moves the decimal point three places to the right,
/// then rounds half up.
std::optional<std::int64_t> Nanoseconds(const Json* value) {
  const std::optional<std::string> scalar = Scalar(value);
  if (!scalar) return std::nullopt;
  std::string text = *scalar;
  const bool negative = text.starts_with('-');
  if (negative) text.erase(0, 1);
  long exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string::npos) {
    exponent = std::strtol(text.c_str() + e + 1, nullptr, 10);
    text.erase(e);
  }
  long point = static_cast<long>(text.size());
  if (const std::size_t dot = text.find('.'); dot != std::string::npos) {
    point = static_cast<long>(dot);
    text.erase(dot, 1);
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  if (exponent > 100 || exponent < -100) return std::nullopt;  // No test has such values.
  point += exponent + 3;
  while (point < 0) {
    text.insert(0, "0");
    ++point;
  }
  while (static_cast<long>(text.size()) < point) text += '0';
  const bool round_up =
      static_cast<long>(text.size()) > point && text[static_cast<std::size_t>(point)] >= '5';
  text.resize(static_cast<std::size_t>(point));
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  if (text.size() > 19) return std::nullopt;
  const std::uint64_t number =
      (text.empty() ? 0 : std::strtoull(text.c_str(), nullptr, 10)) + (round_up ? 1 : 0);
  if (number > INT64_MAX) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
}

constexpr std::int64_t kFurthest = INT64_MAX / 4;

// ---- Rows, in words
// ---------------------------------------------------------------------------------------------------

/// Writes "column=value|column=value|".
class Line {
 public:
  Line& operator()(const char* column, const std::string& value) {
    text_ += column;
    text_ += '=';
    text_ += value;
    text_ += '|';
    return *this;
  }
  Line& operator()(const char* column, std::int64_t value) {
    return (*this)(column, value == kUnknown ? "?" : std::to_string(value));
  }
  Line& operator()(const char* column, std::int32_t value) {
    return (*this)(column, value == kUnknown32 ? "?" : std::to_string(value));
  }
  Line& operator()(const char* column, double value) {
    return (*this)(column, fmt::format("{}", value));
  }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

struct Extent {
  std::int32_t axis[3] = {kUnknown32, kUnknown32, kUnknown32};
};

Extent ToExtent(const Json* value) {
  Extent extent;
  if (value == nullptr || value->kind != Json::Kind::kArray || value->items.size() != 3) return {};
  for (std::size_t i = 0; i < 3; ++i) {
    extent.axis[i] = Int32(&value->items[i]);
    if (extent.axis[i] == kUnknown32) return {};
  }
  return extent;
}

/// The args of an event. Removes the members that are requested and fit their column.
class Args {
 public:
  using Names = std::initializer_list<const char*>;

  explicit Args(const Json& event) : args_(event.Find("args")) {
    if (args_ != nullptr && args_->kind != Json::Kind::kObject) args_ = nullptr;
  }

  /// Returns the last member that has one of the names.
  const Json* Find(Names names) const {
    for (std::size_t i = args_ == nullptr ? 0 : args_->keys.size(); i-- > 0;) {
      for (const char* name : names) {
        if (args_->keys[i] == name) return &args_->items[i];
      }
    }
    return nullptr;
  }
  void Take(Names names) { taken_.insert(names.begin(), names.end()); }

  std::int64_t Int(Names names) {
    return TakeIf(names, ToInteger(Scalar(Find(names))).value_or(kUnknown), kUnknown);
  }
  std::int32_t Int32(Names names) { return TakeIf(names, testing::Int32(Find(names)), kUnknown32); }
  std::int32_t Rounded(Names names) {
    const std::optional<double> value = testing::Double(Find(names));
    const bool fits = value && std::abs(*value) < 1e6;
    return TakeIf(names, fits ? static_cast<std::int32_t>(std::lround(*value)) : kUnknown32,
                  kUnknown32);
  }
  Extent Blocks(Names names) {
    const Extent extent = ToExtent(Find(names));
    TakeIf(names, extent.axis[0], kUnknown32);
    return extent;
  }
  std::string Quoted(Names names) {
    const std::optional<std::string> text = Scalar(Find(names));
    const bool is_null = text && Find(names)->kind == Json::Kind::kNull;
    return TakeIf(names, text && !is_null ? '\'' + *text + '\'' : "-", std::string("-"));
  }

  Json Members() const {
    Json rest;
    rest.kind = Json::Kind::kObject;
    for (std::size_t i = 0; args_ != nullptr && i < args_->keys.size(); ++i) {
      if (taken_.contains(args_->keys[i])) continue;
      rest.keys.push_back(args_->keys[i]);
      rest.items.push_back(args_->items[i]);
    }
    return rest;
  }
  std::string Rest() const { return CanonicalOrEmpty(Members()); }

 private:
  template <typename T>
  T TakeIf(Names names, T value, const T& unknown) {
    const Json* found = Find(names);
    if (found != nullptr && (value != unknown || found->kind == Json::Kind::kNull)) Take(names);
    return value;
  }

  const Json* args_;
  std::set<std::string> taken_;
};

/// Returns the args of a span with separate begin and end events. If both have a member, the end's
/// value counts.
Json BothArgs(const Json& begin, const Json* end) {
  Json both;
  both.kind = Json::Kind::kObject;
  for (const Json* event : {&begin, end}) {
    const Json* args = event == nullptr ? nullptr : event->Find("args");
    if (args == nullptr || args->kind != Json::Kind::kObject) continue;
    both.keys.insert(both.keys.end(), args->keys.begin(), args->keys.end());
    both.items.insert(both.items.end(), args->items.begin(), args->items.end());
  }
  return both;
}

const char* const kHostKinds[] = {"frame",  "annotation", "operator",       "runtime",
                                  "driver", "overhead",   "gpu-annotation", "other"};
const std::map<std::string, int> kTaskCategories = {
    {"kernel", 0},     {"Kernel", 0}, {"gpu_memcpy", 1},     {"Memcpy", 1},
    {"gpu_memset", 2}, {"Memset", 2}, {"mtia_ccp_events", 0}};
const char* const kTaskKinds[] = {"kernel", "memcpy", "memset"};
const char* const kCopyKinds[] = {"none", "h2d", "d2h", "d2d", "p2p", "other"};
const char* const kSyncKinds[] = {"context", "stream", "event", "wait", "other"};
const char* const kFlowPhases[] = {"start", "step", "finish"};

struct Host {
  std::int64_t start, duration;
  std::string name, category, pid, tid, kind;
  std::int64_t correlation, external_id, sequence;
  std::int32_t forward_thread, python_id, python_parent_id, event_index, record_function;
  Json args;

  std::int64_t end() const { return start + duration; }
  std::string Brief() const {
    return fmt::format("{}@{}+{} on {}/{}", name, start, duration, pid, tid);
  }
  auto Identity() const {
    return std::tuple(start, duration, pid, tid, name, kind, correlation, external_id, sequence,
                      python_id, event_index);
  }
  bool HasId() const {
    return correlation != kUnknown || external_id != kUnknown || sequence != kUnknown ||
           python_id != kUnknown32 || event_index != kUnknown32;
  }
};

struct Task {
  std::int64_t start, duration, device, stream;
  std::string name, kind, copy;
  std::int64_t correlation, external_id;
  Extent grid, block;
  std::int32_t registers, shared_memory, occupancy;
  std::int64_t graph_node, bytes;
  std::string args;
  std::string collective;  ///< Its row of the collectives table, or empty.

  std::string Brief() const {
    return fmt::format("{}@{}+{} on {}/{}", name, start, duration, device, stream);
  }
  auto Identity() const {
    return std::tuple(start, duration, device, stream, name, kind, correlation, graph_node);
  }
};

struct Sync {
  std::int64_t start, duration;
  std::string rest;  ///< As written in the file.
};

struct Half {
  bool begins;
  std::int64_t time;
  std::string name, category, pid, tid;
  const Json* event;
  std::size_t place;      ///< Position among all events.
  std::string operation;  ///< Key that all halves of an asynchronous operation share.
};

/// The outermost span of an asynchronous operation, and the spans inside it.
struct Stretch {
  std::int64_t start, end;
  std::size_t place;
  std::vector<std::size_t> hosts;  ///< Positions.
};

struct Device {
  std::string name;
  std::int64_t memory_bytes = kUnknown;
  std::int32_t sm_count = kUnknown32, compute_major = kUnknown32, compute_minor = kUnknown32;
};

/// Drops rows that repeat the identity of an earlier row.
template <typename Row, typename HasId>
std::int64_t DropCopies(std::vector<Row>& rows, HasId has_id) {
  std::set<decltype(rows.front().Identity())> seen;
  std::vector<Row> kept;
  for (Row& row : rows) {
    if (!has_id(row) || seen.insert(row.Identity()).second) kept.push_back(std::move(row));
  }
  const std::size_t dropped = rows.size() - kept.size();
  rows = std::move(kept);
  return static_cast<std::int64_t>(dropped);
}

class SlowReader {
 public:
  TraceDump Read(std::string_view text) {
    const std::optional<Json> root = ParseJson(text);
    if (!root) return {};
    const Json* events = &*root;
    if (root->kind == Json::Kind::kObject) events = root->Find("traceEvents");
    if (events == nullptr || events->kind != Json::Kind::kArray) return {};
    if (root->kind == Json::Kind::kArray && !events->items.empty() &&
        events->items[0].kind != Json::Kind::kObject) {
      return {};
    }
    zero_is_no_time_ = IsZeroNoTime(*root, *events);
    for (const Json& event : events->items) AddEvent(event);
    if (root->kind == Json::Kind::kObject) AddMetadata(*root);
    DropTasksOfOtherClocks();
    CountStepsBack();
    FindExtent();
    ClipHosts();
    PairHalves();
    ClipHosts();  // Clips the spans that PairHalves() added.
    ClipSyncs();
    SettlePlainSpans(*root);
    counts_["duplicate-event"] += DropCopies(hosts_, [](const Host& h) { return h.HasId(); });
    counts_["duplicate-event"] += DropCopies(
        tasks_, [](const Task& t) { return t.correlation != kUnknown && t.duration > 0; });
    WriteHosts();
    ClipTasks();
    WriteTasks();
    WriteRest();
    dump_.readable = true;
    for (auto& [name, rows] : dump_.tables) std::sort(rows.begin(), rows.end());
    return std::move(dump_);
  }

 private:
  void Put(const char* table, const Line& line) { dump_.tables[table].push_back(line.text()); }
  void Count(const char* issue) { ++counts_[issue]; }

  static std::string Pid(const Json& event) { return TextOr(event.Find("pid"), ""); }
  static std::string Tid(const Json& event) { return TextOr(event.Find("tid"), ""); }
  static std::string Text(const Json& event, const char* key) {
    return TextOr(event.Find(key), "");
  }
  static const Json* Arg(const Json& event, const char* key) {
    const Json* args = event.Find("args");
    return args == nullptr ? nullptr : args->Find(key);
  }
  static const Json* Arg(const Json& event, const char* key, const char* other_key) {
    const Json* value = Arg(event, key);
    return value != nullptr ? value : Arg(event, other_key);
  }
  void Track(const Json& event) {
    processes_[Pid(event)];
    threads_[{Pid(event), Tid(event)}];
  }

  /// Returns the usable time of an event other than metadata, or nothing.
  static std::optional<std::int64_t> TimeOf(const Json& event) {
    const std::string phase = Text(event, "ph");
    if (event.kind != Json::Kind::kObject || phase.size() != 1 || phase == "M") return std::nullopt;
    const std::optional<std::int64_t> time = Nanoseconds(event.Find("ts"));
    return time && std::abs(*time) <= kFurthest ? time : std::nullopt;
  }

  static bool IsUnixTime(std::int64_t time) { return time >= 1'000'000'000'000'000'000; }

  /// Removes tasks that use another clock than most events, unless they are more than half.
  void DropTasksOfOtherClocks() {
    constexpr std::int64_t kYear = 365LL * 24 * 3600 * 1'000'000'000;
    const auto is_lost = [this](const Task& task) {
      return IsUnixTime(task.start) != in_unix_time_ || task.start < -kYear;
    };
    const auto lost = std::ranges::count_if(tasks_, is_lost);
    if (2 * lost > std::ssize(tasks_)) return;
    std::erase_if(tasks_, is_lost);
    counts_["bad-time"] += lost;
  }

  /// Returns true if timestamp 0 means "no timestamp". Either most other timestamps are Unix times,
  /// or all of them are later than the file's base time by more than a minute and by more than
  /// their extent. In the second case, no event at 0 may have a length.
  bool IsZeroNoTime(const Json& root, const Json& events) {
    std::vector<std::int64_t> others;
    bool has_length = false;
    for (const Json& event : events.items) {
      const std::optional<std::int64_t> time = TimeOf(event);
      if (time && *time != 0) others.push_back(*time);
      if (time == 0 && Text(event, "ph") == "X" && Text(event, "cat") != "cuda_event")
        has_length = has_length || LengthOf(event).first > 0;
    }
    if (others.empty()) return false;
    in_unix_time_ = std::ranges::count_if(others, IsUnixTime) * 2 > std::ssize(others);
    if (in_unix_time_) return true;
    const auto [first, last] = std::ranges::minmax(others);
    const std::int64_t base =
        root.kind == Json::Kind::kObject ? Int(root.Find("baseTimeNanoseconds")) : kUnknown;
    return base > 0 && !has_length && first > 60'000'000'000 && first > last - first;
  }

  void AddEvent(const Json& event) {
    if (event.kind != Json::Kind::kObject) return Count("not-an-event");
    if (event.keys.empty()) return;  // Some writers add this after a last comma.
    ++events_;
    const std::string phase = Text(event, "ph");
    if (phase.size() != 1) return Count("not-an-event");
    if (phase == "M") return AddName(event);
    if (std::string("XstfBEbeSFCiIRnTp").find(phase) == std::string::npos) Count("other-phase");
    const std::optional<std::int64_t> time = Nanoseconds(event.Find("ts"));
    if (!time || *time > kFurthest || *time < -kFurthest) return Count("bad-time");
    if (*time != 0 || !zero_is_no_time_) return AddTimed(event, *time);
    if (phase == "X" && Text(event, "cat") == "cuda_event") return Count("zero-time-events");
    // Adds the event's tracks, then drops its rows.
    const std::size_t hosts = hosts_.size(), tasks = tasks_.size(), halves = halves_.size();
    const std::size_t syncs = syncs_.size();
    const std::map<std::string, std::vector<std::string>> tables = dump_.tables;
    AddTimed(event, 0);
    hosts_.resize(hosts);
    tasks_.resize(tasks);
    syncs_.resize(syncs);
    halves_.erase(halves_.begin() + static_cast<std::ptrdiff_t>(halves), halves_.end());
    dump_.tables = tables;
    Count(phase == "s" || phase == "t" || phase == "f" ? "zero-time-events" : "bad-time");
  }

  void AddTimed(const Json& event, std::int64_t time) {
    const std::string phase = Text(event, "ph");
    if (phase == "X") return AddSpan(event, time);
    if (phase == "s" || phase == "t" || phase == "f") {
      Track(event);
      const char* kind = kFlowPhases[phase == "s" ? 0 : phase == "t" ? 1 : 2];
      const std::string category =
          event.Find("cat") != nullptr ? Text(event, "cat") : Text(event, "name");
      return Put("flows", Line()("time", time)("category", category)("id", Int(event.Find("id")))(
                              "phase", kind)("pid", Pid(event))("tid", Tid(event)));
    }
    if (std::string("BEbeSF").find(phase) != std::string::npos) {
      Track(event);
      const bool is_async = phase != "B" && phase != "E";
      halves_.push_back({phase == "B" || phase == "b" || phase == "S", time, Text(event, "name"),
                         CategoryOf(event), Pid(event), Tid(event), &event,
                         static_cast<std::size_t>(events_), is_async ? OperationOf(event) : ""});
      return;
    }
    if (phase == "C") return AddCounter(event, time);
    AddInstant(event, time);
  }

  /// Returns category, id and the id's scope; for the older phases also the name.
  static std::string OperationOf(const Json& event) {
    const Json* id2 = event.Find("id") == nullptr ? event.Find("id2") : nullptr;
    if (id2 != nullptr && id2->kind != Json::Kind::kObject) id2 = nullptr;
    const Json* local = id2 == nullptr ? nullptr : id2->Find("local");
    const Json* global = id2 == nullptr ? nullptr : id2->Find("global");
    std::string id = Text(event, "id");
    if (local != nullptr) id = Canonical(*local) + "\nin " + Pid(event);
    if (local == nullptr && global != nullptr) id = Canonical(*global);
    const std::string phase = Text(event, "ph");
    const bool by_name = phase == "S" || phase == "F";
    return fmt::format("{}\n{}\n{}\n{}", CategoryOf(event), Text(event, "scope"), id,
                       by_name ? "named " + Text(event, "name") : "");
  }

  void AddName(const Json& event) {
    const std::string what = Text(event, "name");
    if (what != "process_name" && what != "process_labels" && what != "thread_name") return;
    const Json* arg = Arg(event, what == "process_labels" ? "labels" : "name");
    if (arg == nullptr) return;
    Track(event);
    const std::string name = TextOr(arg, "");
    if (what == "process_name") processes_[Pid(event)].first = name;
    if (what == "process_labels") processes_[Pid(event)].second = name;
    if (what == "thread_name") threads_[{Pid(event), Tid(event)}] = name;
  }

  static bool IsTask(const Json& event) {
    static const std::set<std::string> tasks = {"kernel",     "Kernel", "gpu_memcpy",     "Memcpy",
                                                "gpu_memset", "Memset", "mtia_ccp_events"};
    return tasks.contains(Text(event, "cat"));
  }

  /// Returns the length of a span, and its fault or null.
  static std::pair<std::int64_t, const char*> LengthOf(const Json& event) {
    const Json* value = event.Find("dur");
    if (value == nullptr) return {0, "missing-duration"};
    const std::optional<std::int64_t> ns = Nanoseconds(value);
    const std::string text = Scalar(value).value_or("");
    // Static, because compiling a regex for each event took most of the tests' time.
    static const std::regex number(R"([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)");
    const bool is_number = std::regex_match(text, number);
    if (is_number && (ns ? *ns < 0 : text.starts_with('-'))) return {0, "negative-duration"};
    if (ns && *ns <= kFurthest) return {*ns, nullptr};
    if (is_number && IsTask(event)) return {kFurthest / 1000 * 1000, nullptr};
    return {0, "bad-duration"};
  }

  std::int64_t DurationOf(const Json& event) {
    const auto [length, issue] = LengthOf(event);
    if (issue != nullptr) Count(issue);
    return length;
  }

  /// Returns the category; Kineto's category if PyTorch without Kineto recorded none.
  static std::string CategoryOf(const Json& event) {
    if (event.Find("cat") != nullptr || Pid(event) != "CPU functions") return Text(event, "cat");
    return HostKind(event) == "annotation" ? "user_annotation" : "cpu_op";
  }

  static std::string HostKind(const Json& event) {
    static const std::map<std::string, int> kinds = {{"python_function", 0},
                                                     {"user_annotation", 1},
                                                     {"cpu_op", 2},
                                                     {"Operator", 2},
                                                     {"operator", 2},
                                                     {"cuda_runtime", 3},
                                                     {"Runtime", 3},
                                                     {"hip_runtime", 3},
                                                     {"xpu_runtime", 3},
                                                     {"mtia_runtime", 3},
                                                     {"cuda_driver", 4},
                                                     {"overhead", 5},
                                                     {"gpu_user_annotation", 6},
                                                     {"privateuse1_runtime", 3},
                                                     {"privateuse1_driver", 4},
                                                     {"xpu_driver", 4},
                                                     {"hpu_op", 3}};
    const auto kind = kinds.find(Text(event, "cat"));
    const bool has_no_category = event.Find("cat") == nullptr && Pid(event) == "CPU functions";
    if (has_no_category || (kind != kinds.end() && kind->second == 2)) {
      const std::string name = Text(event, "name");
      const auto begins = [&](std::string_view with) { return name.starts_with(with); };
      return kHostKinds[begins("ProfilerStep#") || begins("Optimizer.") ||
                                begins("enumerate(DataLoader)#")
                            ? 1
                            : 2];
    }
    return kHostKinds[kind == kinds.end() ? 7 : kind->second];
  }

  void AddSpan(const Json& event, std::int64_t start) {
    const std::string category = Text(event, "cat");
    if (category == "cuda_event") {
      if (start == 0) return Count("zero-time-events");
      return AddInstant(event, start);
    }
    const auto task = kTaskCategories.find(category);
    const std::int64_t duration = DurationOf(event);
    if (task != kTaskCategories.end()) return AddTask(event, start, duration, task->second);
    if (category == "cuda_sync") return AddSync(event, start, duration);

    Track(event);
    AddHost(event, start, duration);
  }

  void AddHost(const Json& event, std::int64_t start, std::int64_t duration) {
    Args args(event);
    hosts_.push_back({start,
                      duration,
                      Text(event, "name"),
                      CategoryOf(event),
                      Pid(event),
                      Tid(event),
                      HostKind(event),
                      args.Int({"correlation"}),
                      args.Int({"External id", "external id"}),
                      args.Int({"Sequence number"}),
                      args.Int32({"Fwd thread id"}),
                      args.Int32({"Python id"}),
                      args.Int32({"Python parent id"}),
                      args.Int32({"Ev Idx", "Profiler Event Index"}),
                      args.Int32({"Record function id"}),
                      {}});
    hosts_.back().args = args.Members();
  }

  std::pair<std::int64_t, std::int64_t> StreamOf(const Json& event, Args& args) {
    const auto number = [](std::int64_t arg, const Json* track) {
      return arg != kUnknown ? arg : ToInteger(Scalar(track)).value_or(-1);
    };
    const auto stream = std::pair(number(args.Int({"device"}), event.Find("pid")),
                                  number(args.Int({"stream"}), event.Find("tid")));
    streams_.insert(stream);
    devices_[stream.first];
    return stream;
  }

  void AddTask(const Json& event, std::int64_t start, std::int64_t duration, int kind) {
    Args args(event);
    const auto [device, stream] = StreamOf(event, args);
    // HIP copies and fills with its own kernels.
    if (kind == 0 && Text(event, "name").starts_with("__amd_rocclr_copy")) kind = 1;
    if (kind == 0 && Text(event, "name").starts_with("__amd_rocclr_fill")) kind = 2;
    Task task = {start,
                 duration,
                 device,
                 stream,
                 Text(event, "name"),
                 kTaskKinds[kind],
                 "none",
                 args.Int({"correlation"}),
                 args.Int({"External id", "external id"}),
                 args.Blocks({"grid"}),
                 args.Blocks({"block"}),
                 args.Int32({"registers per thread"}),
                 args.Int32({"shared memory"}),
                 args.Rounded({"est. achieved occupancy %"}),
                 args.Int({"graph node id"}),
                 args.Int({"bytes"}),
                 "",
                 ""};
    if (kind == 1) {
      const auto says = [&](const char* text) { return task.name.find(text) != std::string::npos; };
      task.copy = says("HtoD") || says("HostToDevice")     ? "h2d"
                  : says("DtoH") || says("DeviceToHost")   ? "d2h"
                  : says("DtoD") || says("DeviceToDevice") ? "d2d"
                  : says("PtoP")                           ? "p2p"
                                                           : "other";
    }
    if (args.Find({"Collective name"}) != nullptr) {
      task.collective =
          Line()("name", args.Quoted({"Collective name"}))("dtype", args.Quoted({"dtype"}))(
              "group", args.Quoted({"Process Group Name"}))("in", args.Int({"In msg nelems"}))(
              "out", args.Int({"Out msg nelems"}))("size", args.Int({"Group size"}))
              .text();
    }
    task.args = args.Rest();
    tasks_.push_back(std::move(task));
  }

  void AddSync(const Json& event, std::int64_t start, std::int64_t duration) {
    const std::string name = Text(event, "name");
    const char* kind = name == "Context Sync"        ? "context"
                       : name == "Stream Sync"       ? "stream"
                       : name == "Event Sync"        ? "event"
                       : name == "Stream Wait Event" ? "wait"
                                                     : "other";
    Args args(event);
    const bool has_stream = args.Int({"stream"}) >= 0;
    const auto [device, stream] =
        has_stream ? StreamOf(event, args) : std::pair<std::int64_t, std::int64_t>();
    Line line;
    line("kind", kind);
    line("stream", has_stream ? fmt::format("{}/{}", device, stream) : "-");
    line("correlation", args.Int({"correlation"}))("on_stream", args.Int({"wait_on_stream"}));
    line("on_correlation", args.Int({"wait_on_cuda_event_record_corr_id"}));
    if (TextOr(args.Find({"cuda_sync_kind"}), "") == name) args.Take({"cuda_sync_kind"});
    syncs_.push_back({start, duration, line("args", args.Rest()).text()});
  }

  void AddCounter(const Json& event, std::int64_t time) {
    const Json* args = event.Find("args");
    if (args == nullptr || args->keys.empty()) Count("not-an-event");
    for (std::size_t i = 0; args != nullptr && i < args->keys.size(); ++i) {
      const std::optional<double> value = Double(&args->items[i]);
      if (!value) {
        Count("counter-value");
        continue;
      }
      Track(event);
      Put("counters", Line()("time", time)("name", Text(event, "name"))("series", args->keys[i])(
                          "pid", Pid(event))("tid", Tid(event))("value", *value));
    }
  }

  void AddInstant(const Json& event, std::int64_t time) {
    Track(event);
    if (Text(event, "name") == "[memory]") {
      return Put(
          "memory_events",
          Line()("time", time)("pid", Pid(event))("tid", Tid(event))(
              "address", Int(Arg(event, "Addr")))("bytes", Int(Arg(event, "Bytes")))(
              "allocated", Int(Arg(event, "Total Allocated")))("reserved",
                                                               Int(Arg(event, "Total Reserved")))(
              "type", Int32(Arg(event, "Device Type")))("device", Int32(Arg(event, "Device Id")))(
              "index", Int32(Arg(event, "Ev Idx", "Profiler Event Index"))));
    }
    Put("instants",
        Line()("time", time)("name", Text(event, "name"))("category", Text(event, "cat"))(
            "pid", Pid(event))("tid", Tid(event))("args", Args(event).Rest()));
  }

  void AddMetadata(const Json& root) {
    Line line;
    const Json* list = root.Find("deviceProperties");
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
      const Json& properties = list->items[i];
      if (Int(properties.Find("id")) == kUnknown) continue;
      devices_[Int(properties.Find("id"))] = {
          Text(properties, "name"), Int(properties.Find("totalGlobalMem")),
          Int32(properties.Find("numSms")), Int32(properties.Find("computeMajor")),
          Int32(properties.Find("computeMinor"))};
    }
    const Json* distributed = root.Find("distributedInfo");
    const auto of_job = [&](const char* key) {
      return distributed == nullptr ? kUnknown : Int(distributed->Find(key));
    };
    line("rank", of_job("rank"))("world_size", of_job("world_size"));
    line("base_time", Int(root.Find("baseTimeNanoseconds")));
    metadata_ = line.text();
  }

  /// Counts rows that start before the previous row of their track and kind.
  void CountStepsBack() {
    std::map<std::string, std::int64_t> last;
    const auto see = [&](const std::string& group, std::int64_t start) {
      const auto [it, is_new] = last.emplace(group, start);
      if (!is_new && start < it->second) Count("out-of-order");
      it->second = start;
    };
    for (const Host& h : hosts_) {
      if (h.kind != "gpu-annotation") see(h.pid + '\n' + h.tid + '\n' + h.kind, h.start);
    }
    for (const Task& t : tasks_) see(fmt::format("{}/{}/{}", t.device, t.stream, t.kind), t.start);
  }

  void PairHalves() {
    std::int64_t end_of_trace = INT64_MIN;
    for (const Half& h : halves_) end_of_trace = std::max(end_of_trace, h.time);
    for (const Host& h : hosts_) end_of_trace = std::max(end_of_trace, h.end());
    for (const Task& t : tasks_) end_of_trace = std::max(end_of_trace, t.start);
    std::map<std::vector<std::string>, std::vector<Half>> groups;
    for (const Half& h : halves_) {
      const bool is_async = !h.operation.empty();
      groups[is_async ? std::vector{h.operation} : std::vector{h.pid, h.tid}].push_back(h);
    }
    std::vector<std::vector<Half>> in_order;  // Ordered by first half.
    for (auto& [key, halves] : groups) {
      std::stable_sort(halves.begin(), halves.end(),
                       [](const Half& a, const Half& b) { return a.time < b.time; });
      in_order.push_back(std::move(halves));
    }
    std::ranges::sort(in_order, {}, [](const auto& halves) { return halves.front().place; });
    std::map<std::string, std::vector<Stretch>> stretches;  // By process.
    for (std::vector<Half>& halves : in_order) {
      // Finds the beginnings that a later named end closes.
      std::set<std::size_t> ended;
      std::map<std::string, std::vector<std::size_t>> begun;
      for (const Half& h : halves) {
        if (h.begins) {
          begun[h.name].push_back(h.place);
        } else if (!h.name.empty() && !begun[h.name].empty()) {
          ended.insert(begun[h.name].back());
          begun[h.name].pop_back();
        }
      }
      std::vector<Half> open;
      std::vector<std::pair<std::size_t, std::size_t>> spans;  // Position and place.
      const auto close = [&](std::size_t i, std::int64_t time, const Json* end = nullptr) {
        const Half& b = open[i];
        if (end == nullptr) Count("unfinished-span");
        Json whole = *b.event;
        whole.keys.emplace_back("args");
        whole.items.push_back(BothArgs(*b.event, end));
        if (const auto kind = kTaskCategories.find(b.category); kind != kTaskCategories.end()) {
          AddTask(whole, b.time, end == nullptr ? 0 : time - b.time, kind->second);
          open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
          return;
        }
        spans.emplace_back(hosts_.size(), b.place);
        AddHost(whole, b.time, time - b.time);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      };
      for (const Half& h : halves) {
        if (h.begins) {
          open.push_back(h);
          continue;
        }
        std::size_t i = open.size();
        while (i > 0 && !h.name.empty() && open[i - 1].name != h.name) --i;
        if (i == 0) {
          Count("unmatched-end");
          continue;
        }
        // Also closes the inner spans that never end, up to the first one that a later end closes.
        while (i < open.size() && !ended.contains(open[i].place)) close(i, h.time);
        close(i - 1, h.time, h.event);
      }
      while (!open.empty()) close(open.size() - 1, end_of_trace);
      if (!halves.front().operation.empty()) AddStretches(spans, stretches);
    }
    for (auto& [pid, of_process] : stretches) GiveTracks(pid, of_process);
  }

  /// Groups the spans of an asynchronous operation into stretches. A new stretch begins whenever no
  /// span is open.
  void AddStretches(std::vector<std::pair<std::size_t, std::size_t>> spans,
                    std::map<std::string, std::vector<Stretch>>& stretches) const {
    std::ranges::sort(spans, {}, [&](const auto& span) {
      const Host& h = hosts_[span.first];
      return std::tuple(h.pid, h.start, -h.end(), span.second);
    });
    Stretch* stretch = nullptr;
    std::string pid;
    for (const auto& [position, place] : spans) {
      const Host& h = hosts_[position];
      if (stretch == nullptr || h.pid != pid || h.start >= stretch->end)
        stretch = &stretches[h.pid].emplace_back(Stretch{h.start, h.end(), place, {}});
      pid = h.pid;
      stretch->end = std::max(stretch->end, h.end());
      stretch->place = std::min(stretch->place, place);
      stretch->hosts.push_back(position);
    }
  }

  /// Gives each stretch the first free one of at most 64 tracks that are not threads of the file.
  /// If all are busy, uses the last.
  void GiveTracks(const std::string& pid, std::vector<Stretch>& stretches) {
    std::ranges::sort(stretches, {}, [](const Stretch& s) { return std::pair(s.start, s.place); });
    std::vector<std::int64_t> free_from;
    std::vector<std::string> tids;
    for (const Stretch& s : stretches) {
      std::size_t track = 0;
      while (track < free_from.size() && free_from[track] > s.start) ++track;
      if (track == free_from.size() && track < 64) {
        free_from.push_back(INT64_MIN);
        for (std::size_t number = 1; tids.size() < free_from.size(); ++number) {
          const std::string tid = fmt::format("async {}", number);
          if (!threads_.contains({pid, tid})) tids.push_back(tid);
        }
        threads_[{pid, tids.back()}];
      }
      track = std::min<std::size_t>(track, 63);
      free_from[track] = std::max(free_from[track], s.end);
      for (const std::size_t position : s.hosts) hosts_[position].tid = tids[track];
    }
  }

  /// Returns true if the file contains anything that only a profiler writes.
  bool IsOfProfiler(const Json& root) {
    const bool bare_array = root.kind == Json::Kind::kArray;
    for (const char* member : {"schemaVersion", "deviceProperties", "distributedInfo",
                               "record_shapes", "cuda_driver_version"}) {
      if (root.Find(member) != nullptr) return true;
    }
    if (bare_array && processes_.contains("CPU functions")) return true;
    if (!tasks_.empty() || !syncs_.empty() || dump_.tables.contains("memory_events")) {
      return true;
    }
    std::size_t known = 0;
    for (const Host& h : hosts_) {
      if (h.kind == "other") continue;
      if (h.HasId() || h.record_function != kUnknown32) return true;
      ++known;
    }
    if (known == 0 || known * 2 < hosts_.size()) return false;
    if (known < hosts_.size()) Count("told-by-category");
    return true;
  }

  /// In a file without profiler data, spans are the user's annotations.
  void SettlePlainSpans(const Json& root) {
    if (IsOfProfiler(root)) return;
    const bool profiler_steps = std::ranges::any_of(
        hosts_, [](const Host& h) { return h.name.starts_with("ProfilerStep#"); });
    std::map<int, std::vector<Host*>> numbered;  // Key: 0 for the clearest word for a step.
    for (Host& h : hosts_) {
      if (!h.category.empty()) {
        std::string key = "cat";
        while (h.args.Find(key) != nullptr) key += '_';
        h.args.keys.push_back(key);
        h.args.items.push_back({Json::Kind::kString, h.category, {}, {}});
      }
      h.category = "user_annotation";
      h.kind = "annotation";
      static const std::regex step(
          R"((?:(?:train|training|global)[ _-]*)?(?:(step)|(iter(?:ation)?)|batch)[ _\-:#=]*[0-9]+)",
          std::regex::icase);
      std::smatch words;
      if (h.name.size() <= 40 && std::regex_match(h.name, words, step))
        numbered[words[1].matched ? 0 : words[2].matched ? 1 : 2].push_back(&h);
    }
    std::erase_if(numbered, [](const auto& row) { return row.second.size() < 2; });
    if (profiler_steps || numbered.empty()) return;
    for (Host* h : numbered.begin()->second) h->category = "step";
  }

  void WriteHosts() {
    const auto kind = [](const Host& h) {
      return std::find(std::begin(kHostKinds), std::end(kHostKinds), h.kind) - kHostKinds;
    };
    std::stable_sort(hosts_.begin(), hosts_.end(), [&](const Host& a, const Host& b) {
      const auto left = std::tie(a.pid, a.tid, a.start, b.duration);
      const auto right = std::tie(b.pid, b.tid, b.start, a.duration);
      return left != right ? left < right : kind(a) < kind(b);
    });
    // With whole microseconds, a span may seem to end this much after the span around it.
    const auto whole = [](std::int64_t ns) { return ns % 1000 == 0; };
    const bool whole_starts =
        std::ranges::all_of(hosts_, [&](const Host& h) { return whole(h.start); });
    const bool whole_durations =
        std::ranges::all_of(hosts_, [&](const Host& h) { return whole(h.duration); });
    const std::int64_t tolerance = (whole_starts ? 1000 : 0) + (whole_durations ? 1000 : 0);
    std::vector<std::int64_t> ends(hosts_.size());  // Spans are cut where their parent ends.
    std::size_t first = 0;                          // First span of the thread.
    std::int64_t latest_end =
        INT64_MIN;  // Latest end on the thread so far. Avoids searches without a result.
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const Host& h = hosts_[i];
      if (h.pid != hosts_[first].pid || h.tid != hosts_[first].tid) {
        first = i;
        latest_end = INT64_MIN;
      }
      // The parent is the last earlier span that is still open and ends no earlier.
      std::string parent = "-";
      ends[i] = h.end();
      for (std::size_t k = i; latest_end + tolerance >= h.end() && k-- > first;) {
        const bool open = ends[k] > h.start || (ends[k] == h.start && h.duration == 0);
        if (!open || ends[k] + tolerance < h.end()) continue;
        parent = hosts_[k].Brief();
        ends[i] = std::min(h.end(), ends[k]);
        break;
      }
      latest_end = std::max(latest_end, ends[i]);
      Put("host_events",
          Line()("start", h.start)("duration", h.duration)("name", h.name)("category", h.category)(
              "pid", h.pid)("tid", h.tid)("kind", h.kind)("correlation", h.correlation)(
              "external", h.external_id)("sequence", h.sequence)("forward", h.forward_thread)(
              "python", h.python_id)("python_parent", h.python_parent_id)("index", h.event_index)(
              "function", h.record_function)("args", CanonicalOrEmpty(h.args))("parent", parent));
      const bool of_profiler = h.name.starts_with("ProfilerStep#");
      if ((h.kind == "annotation" || h.kind == "operator") &&
          (of_profiler || h.category == "step")) {
        const std::size_t number =
            of_profiler ? h.name.find('#') + 1 : h.name.find_first_of("0123456789");
        const bool has_number = number < h.name.size() && std::isdigit(h.name[number]) != 0;
        Put("steps", Line()("index", std::int64_t{has_number ? std::atoll(h.name.c_str() + number)
                                                             : -1})("start", h.start)(
                         "duration", h.duration)("pid", h.pid)("tid", h.tid)("event", h.Brief()));
      }
      if (h.correlation != kUnknown && (h.kind == "runtime" || h.kind == "driver")) {
        calls_[h.correlation].push_back(h);
      }
    }
  }

  /// Returns the calls that may have launched a task, by start: those with its id, except driver
  /// calls within a runtime call of their process.
  std::vector<Host> CallsOf(const Task& task) const {
    const auto it = calls_.find(task.correlation);
    if (task.correlation == kUnknown || it == calls_.end()) return {};
    std::vector<Host> calls = it->second;
    const auto by_start = [](const Host& a, const Host& b) { return a.start < b.start; };
    std::stable_sort(calls.begin(), calls.end(), by_start);
    std::map<std::string, std::vector<Host>> by_process;
    for (const Host& call : calls) {
      std::vector<Host>& outer = by_process[call.pid];
      const bool inside =
          !outer.empty() && call.tid == outer.back().tid && call.start < outer.back().end();
      if (!inside) outer.push_back(call);
    }
    calls.clear();
    for (const auto& [pid, outer] : by_process)
      calls.insert(calls.end(), outer.begin(), outer.end());
    std::stable_sort(calls.begin(), calls.end(), by_start);
    return calls;
  }

  /// Finds the process that launched at least 90 % of the tasks of each stream and device. Counts
  /// only tasks for which just one process made an earlier call with their id.
  void FindOwners() {
    std::map<std::string, std::map<std::string, int>> votes;
    for (const Task& task : tasks_) {
      std::set<std::string> processes;
      for (const Host& call : CallsOf(task)) {
        if (call.start <= task.start) processes.insert(call.pid);
      }
      if (processes.size() != 1) continue;
      ++votes[fmt::format("{}/{}", task.device, task.stream)][*processes.begin()];
      ++votes[fmt::format("{}", task.device)][*processes.begin()];
    }
    for (const auto& [place, by_process] : votes) {
      int total = 0;
      for (const auto& [pid, count] : by_process) total += count;
      for (const auto& [pid, count] : by_process) {
        if (count * 10 >= total * 9) owners_[place] = pid;
      }
    }
  }

  /// Returns the last call that began before the task, else the first one. Prefers the owner's
  /// calls.
  std::string LaunchOf(const Task& task) const {
    std::vector<Host> calls = CallsOf(task);
    if (calls.empty()) return "-";
    auto owner = owners_.find(fmt::format("{}/{}", task.device, task.stream));
    if (owner == owners_.end()) owner = owners_.find(fmt::format("{}", task.device));
    std::vector<Host> of_owner;
    for (const Host& call : calls) {
      if (owner != owners_.end() && call.pid == owner->second) of_owner.push_back(call);
    }
    if (!of_owner.empty()) calls = of_owner;
    const Host* best = &calls.front();
    for (const Host& call : calls) {
      if (call.start <= task.start) best = &call;
    }
    return best->Brief();
  }

  /// Sets the latest plausible end of a span: the last start plus the extent of all starts, or plus
  /// one minute if that is more. Spans of unknown kind count only if there are no others.
  void FindExtent() {
    std::vector<std::int64_t> known, other;
    for (const Host& h : hosts_) (h.kind == "other" ? other : known).push_back(h.start);
    for (const Half& h : halves_) {
      if (h.begins) (HostKind(*h.event) == "other" ? other : known).push_back(h.time);
    }
    for (const Task& t : tasks_) known.push_back(t.start);
    if (known.empty()) known = other;
    if (known.empty()) return;
    const auto [first, last] = std::minmax_element(known.begin(), known.end());
    last_start_ = *last;
    limit_ = *last + std::max<std::int64_t>(*last - *first, 60'000'000'000);
  }

  /// Clips overflowing host events to the next later start on the track.
  void ClipHosts() {
    for (Host& h : hosts_) {
      if (h.start > limit_ || h.end() <= limit_) continue;
      std::optional<std::int64_t> next;
      for (const Host& other : hosts_) {
        if (other.pid == h.pid && other.tid == h.tid && other.start > h.start &&
            (!next || other.start < *next)) {
          next = other.start;
        }
      }
      h.duration = std::min(h.duration, next.value_or(std::max(last_start_, h.start)) - h.start);
      Count("overflowing-duration");
    }
  }

  void ClipSyncs() {
    for (Sync& s : syncs_) {
      if (s.start <= limit_ && s.start + s.duration > limit_) {
        s.duration = std::max(last_start_, s.start) - s.start;
        Count("overflowing-duration");
      }
      dump_.tables["syncs"].push_back(Line()("start", s.start)("duration", s.duration).text() +
                                      s.rest);
    }
  }

  /// Clips overflowing tasks to the next start on the stream.
  void ClipTasks() {
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [](const Task& a, const Task& b) { return a.start < b.start; });
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].start + tasks_[i].duration <= limit_) continue;
      std::int64_t end = std::max(last_start_, tasks_[i].start);
      for (std::size_t k = i + 1; k < tasks_.size(); ++k) {
        if (tasks_[k].device != tasks_[i].device || tasks_[k].stream != tasks_[i].stream) continue;
        end = tasks_[k].start;
        break;
      }
      tasks_[i].duration = end - tasks_[i].start;
      Count("overflowing-duration");
    }
  }

  void WriteTasks() {
    FindOwners();
    for (const Task& t : tasks_) {
      Put("gpu_tasks",
          Line()("start", t.start)("duration", t.duration)("name", t.name)("device", t.device)(
              "stream", t.stream)("kind", t.kind)("copy", t.copy)("correlation", t.correlation)(
              "external", t.external_id)("gx", t.grid.axis[0])("gy", t.grid.axis[1])(
              "gz", t.grid.axis[2])("bx", t.block.axis[0])("by", t.block.axis[1])(
              "bz", t.block.axis[2])("registers", t.registers)("shared", t.shared_memory)(
              "occupancy", t.occupancy)("node", t.graph_node)("bytes", t.bytes)("args", t.args)(
              "launch", LaunchOf(t)));
      if (!t.collective.empty()) dump_.tables["collectives"].push_back(t.collective + t.Brief());
    }
  }

  void WriteRest() {
    for (const auto& [pid, names] : processes_) {
      Put("processes", Line()("pid", pid)("name", names.first.value_or("-"))(
                           "labels", names.second.value_or("-")));
    }
    for (const auto& [track, name] : threads_) {
      Put("threads", Line()("pid", track.first)("tid", track.second)("name", name.value_or("-")));
    }
    for (const auto& [device, stream] : streams_)
      Put("streams", Line()("device", device)("number", stream));
    for (const auto& [ordinal, d] : devices_) {
      Put("devices", Line()("ordinal", ordinal)("name", d.name)("memory", d.memory_bytes)(
                         "sms", d.sm_count)("major", d.compute_major)("minor", d.compute_minor));
    }
    dump_.tables["metadata"].push_back(metadata_ + Line()("events", events_).text());
    for (const auto& [issue, count] : counts_) {
      if (count > 0) Put("issues", Line()(issue.c_str(), count));
    }
  }

  TraceDump dump_;
  std::map<std::string, std::int64_t> counts_;
  std::int64_t events_ = 0;
  bool zero_is_no_time_ = false, in_unix_time_ = false;
  std::int64_t last_start_ = 0, limit_ = INT64_MAX;  ///< Without a start, no row is too long.
  std::string metadata_ =
      Line()("rank", kUnknown)("world_size", kUnknown)("base_time", kUnknown).text();
  std::vector<Host> hosts_;
  std::vector<Task> tasks_;
  std::vector<Sync> syncs_;
  std::vector<Half> halves_;
  std::unordered_map<std::int64_t, std::vector<Host>> calls_;
  std::map<std::string, std::string> owners_;  ///< Process, by stream and by device.
  std::map<std::string, std::pair<std::optional<std::string>, std::optional<std::string>>>
      processes_;
  std::map<std::pair<std::string, std::string>, std::optional<std::string>> threads_;
  std::set<std::pair<std::int64_t, std::int64_t>> streams_;
  std::map<std::int64_t, Device> devices_;
};

// ---- The store in the same words
// --------------------------------------------------------------------------------------

class StoreDumper {
 public:
  explicit StoreDumper(const TraceStore& store) : s_(store) {}

  TraceDump Run() {
    dump_.readable = true;
    Processes();
    HostEvents();
    Tasks();
    Rest();
    Metadata();
    for (auto& [name, rows] : dump_.tables) std::sort(rows.begin(), rows.end());
    return std::move(dump_);
  }

 private:
  void Put(const char* table, const Line& line) { dump_.tables[table].push_back(line.text()); }
  std::string Text(StringId id) const { return std::string(s_.Text(id)); }
  std::string OrDash(StringId id) const { return id.valid() ? Text(id) : "-"; }
  std::string Pid(ThreadId id) const {
    return Text(s_.processes.pid[s_.threads.process[id.index()].index()]);
  }
  std::string Tid(ThreadId id) const { return Text(s_.threads.tid[id.index()]); }
  std::int64_t Device(StreamId id) const {
    return s_.devices.ordinal[s_.streams.device[id.index()].index()];
  }
  std::int64_t Number(StreamId id) const { return s_.streams.number[id.index()]; }

  /// Each member must also be found by its key.
  std::string Args(StringId id) {
    if (!id.valid()) return "";
    const auto [it, is_new] = args_.try_emplace(id);
    if (!is_new) return it->second;
    const std::optional<Json> parsed = ParseJson("{" + Text(id) + "}");
    if (!parsed) return it->second = "not JSON: " + Text(id);
    for (const std::string& key : parsed->keys) {
      if (key.find_first_of("\"\\") != std::string::npos)
        continue;  // Look-ups use keys as
                   // written.
      const std::optional<Json> found = ParseJson(s_.Arg(id, key));
      const bool repeated = std::count(parsed->keys.begin(), parsed->keys.end(), key) > 1;
      if (!found || (!repeated && Canonical(*found) != Canonical(*parsed->Find(key)))) {
        return it->second = "not found by key: " + key;
      }
    }
    return it->second = Canonical(*parsed);
  }

  std::string Brief(HostEventId id) const {
    if (!id.valid()) return "-";
    const auto& h = s_.host_events;
    const std::size_t i = id.index();
    return fmt::format("{}@{}+{} on {}/{}", Text(h.name[i]), h.start[i].ns(), h.duration[i].ns(),
                       Pid(h.thread[i]), Tid(h.thread[i]));
  }

  void Processes() {
    for (std::size_t i = 0; i < s_.processes.rows(); ++i) {
      Put("processes",
          Line()("pid", Text(s_.processes.pid[i]))("name", OrDash(s_.processes.name[i]))(
              "labels", OrDash(s_.processes.labels[i])));
    }
    for (std::size_t i = 0; i < s_.threads.rows(); ++i) {
      Put("threads", Line()("pid", Pid(ThreadId(i)))("tid", Tid(ThreadId(i)))(
                         "name", OrDash(s_.threads.name[i])));
    }
    for (std::size_t i = 0; i < s_.streams.rows(); ++i) {
      Put("streams", Line()("device", Device(StreamId(i)))("number", Number(StreamId(i))));
    }
    const auto& d = s_.devices;
    for (std::size_t i = 0; i < d.rows(); ++i) {
      Put("devices",
          Line()("ordinal", d.ordinal[i])("name", Text(d.name[i]))("memory", d.memory_bytes[i])(
              "sms", d.sm_count[i])("major", d.compute_major[i])("minor", d.compute_minor[i]));
    }
  }

  void HostEvents() {
    const auto& h = s_.host_events;
    for (std::size_t i = 0; i < h.rows(); ++i) {
      Put("host_events",
          Line()("start", h.start[i].ns())("duration", h.duration[i].ns())("name", Text(h.name[i]))(
              "category", Text(h.category[i]))("pid", Pid(h.thread[i]))("tid", Tid(h.thread[i]))(
              "kind", kHostKinds[static_cast<int>(h.kind[i])])("correlation", h.correlation[i])(
              "external", h.external_id[i])("sequence", h.sequence[i])(
              "forward", h.forward_thread[i])("python", h.python_id[i])(
              "python_parent", h.python_parent_id[i])("index", h.event_index[i])(
              "function", h.record_function[i])("args", Args(h.args[i]))("parent",
                                                                         Brief(h.parent[i])));
    }
    const auto& steps = s_.steps;
    for (std::size_t i = 0; i < steps.rows(); ++i) {
      Put("steps", Line()("index", steps.index[i])("start", steps.start[i].ns())(
                       "duration", steps.duration[i].ns())("pid", Pid(steps.thread[i]))(
                       "tid", Tid(steps.thread[i]))("event", Brief(steps.event[i])));
    }
  }

  std::string TaskBrief(std::size_t i) const {
    const auto& t = s_.gpu_tasks;
    return fmt::format("{}@{}+{} on {}/{}", Text(t.name[i]), t.start[i].ns(), t.duration[i].ns(),
                       Device(t.stream[i]), Number(t.stream[i]));
  }

  void Tasks() {
    const auto& t = s_.gpu_tasks;
    for (std::size_t i = 0; i < t.rows(); ++i) {
      Put("gpu_tasks",
          Line()("start", t.start[i].ns())("duration", t.duration[i].ns())("name", Text(t.name[i]))(
              "device", Device(t.stream[i]))("stream", Number(t.stream[i]))(
              "kind", kTaskKinds[static_cast<int>(t.kind[i])])(
              "copy", kCopyKinds[static_cast<int>(t.copy[i])])("correlation", t.correlation[i])(
              "external", t.external_id[i])("gx", t.grid_x[i])("gy", t.grid_y[i])(
              "gz", t.grid_z[i])("bx", t.block_x[i])("by", t.block_y[i])("bz", t.block_z[i])(
              "registers", t.registers[i])("shared", t.shared_memory[i])(
              "occupancy", t.occupancy_pct[i])("node", t.graph_node[i])("bytes", t.bytes[i])(
              "args", Args(t.args[i]))("launch", Brief(t.launch[i])));
    }
    const auto& c = s_.collectives;
    const auto quoted = [&](StringId id) { return id.valid() ? '\'' + Text(id) + '\'' : "-"; };
    for (std::size_t i = 0; i < c.rows(); ++i) {
      dump_.tables["collectives"].push_back(
          Line()("name", quoted(c.name[i]))("dtype", quoted(c.dtype[i]))(
              "group", quoted(c.process_group[i]))("in", c.in_elements[i])(
              "out", c.out_elements[i])("size", c.group_size[i])
              .text() +
          TaskBrief(c.task[i].index()));
    }
  }

  void Rest() {
    const auto& y = s_.syncs;
    for (std::size_t i = 0; i < y.rows(); ++i) {
      Put("syncs", Line()("start", y.start[i].ns())("duration", y.duration[i].ns())(
                       "kind", kSyncKinds[static_cast<int>(y.kind[i])])(
                       "stream", y.stream[i].valid() ? fmt::format("{}/{}", Device(y.stream[i]),
                                                                   Number(y.stream[i]))
                                                     : "-")("correlation", y.correlation[i])(
                       "on_stream", y.wait_on_stream[i])(
                       "on_correlation", y.wait_on_correlation[i])("args", Args(y.args[i])));
    }
    const auto& f = s_.flows;
    for (std::size_t i = 0; i < f.rows(); ++i) {
      Put("flows", Line()("time", f.time[i].ns())("category", Text(f.category[i]))("id", f.id[i])(
                       "phase", kFlowPhases[static_cast<int>(f.phase[i])])("pid", Pid(f.thread[i]))(
                       "tid", Tid(f.thread[i])));
    }
    const auto& c = s_.counters;
    for (std::size_t i = 0; i < c.rows(); ++i) {
      Put("counters",
          Line()("time", c.time[i].ns())("name", Text(c.name[i]))("series", Text(c.series[i]))(
              "pid", Pid(c.thread[i]))("tid", Tid(c.thread[i]))("value", c.value[i]));
    }
    const auto& m = s_.memory_events;
    for (std::size_t i = 0; i < m.rows(); ++i) {
      Put("memory_events",
          Line()("time", m.time[i].ns())("pid", Pid(m.thread[i]))("tid", Tid(m.thread[i]))(
              "address", m.address[i])("bytes", m.bytes[i])(
              "allocated", m.total_allocated_bytes[i])("reserved", m.total_reserved_bytes[i])(
              "type", m.device_type[i])("device", m.device[i])("index", m.event_index[i]));
    }
    const auto& n = s_.instants;
    for (std::size_t i = 0; i < n.rows(); ++i) {
      Put("instants",
          Line()("time", n.time[i].ns())("name", Text(n.name[i]))("category", Text(n.category[i]))(
              "pid", Pid(n.thread[i]))("tid", Tid(n.thread[i]))("args", Args(n.args[i])));
    }
  }

  void Metadata() {
    const TraceMetadata& m = s_.metadata;
    Put("metadata",
        Line()("rank", m.rank.value_or(kUnknown))("world_size", m.world_size.value_or(kUnknown))(
            "base_time", m.base_time_ns.value_or(kUnknown))("events", m.events));
    for (const ImportIssue issue :
         {ImportIssue::kNotAnEvent, ImportIssue::kBadTime, ImportIssue::kMissingDuration,
          ImportIssue::kNegativeDuration, ImportIssue::kBadDuration,
          ImportIssue::kOverflowingDuration, ImportIssue::kDuplicateEvent,
          ImportIssue::kUnfinishedSpan, ImportIssue::kUnmatchedEnd, ImportIssue::kOutOfOrder,
          ImportIssue::kZeroTimeEvents, ImportIssue::kOtherPhase, ImportIssue::kToldByCategory,
          ImportIssue::kCounterValue}) {
      const std::int64_t count = s_.log.Count(issue);
      if (count > 0) Put("issues", Line()(std::string(DocOf(issue).code).c_str(), count));
    }
  }

  const TraceStore& s_;
  TraceDump dump_;
  std::unordered_map<StringId, std::string> args_;
};

}  // namespace

TraceDump SlowRead(std::string_view json) { return SlowReader().Read(json); }

TraceDump Dump(const TraceStore& store) { return StoreDumper(store).Run(); }

std::string Difference(const TraceDump& slow, const TraceDump& fast) {
  if (slow.readable != fast.readable)
    return slow.readable ? "only the slow reader reads it" : "only the fast reader reads it";
  std::string out;
  std::set<std::string> names;
  for (const auto& [name, rows] : slow.tables) names.insert(name);
  for (const auto& [name, rows] : fast.tables) names.insert(name);
  for (const std::string& name : names) {
    const auto rows_of = [&](const TraceDump& dump) {
      const auto it = dump.tables.find(name);
      return it == dump.tables.end() ? std::vector<std::string>() : it->second;
    };
    const std::vector<std::string> a = rows_of(slow), b = rows_of(fast);
    if (a == b) continue;
    out += fmt::format("{}: {} rows slow, {} fast\n", name, a.size(), b.size());
    std::vector<std::string> only_a, only_b;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_a));
    std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only_b));
    for (std::size_t i = 0; i < std::min<std::size_t>(only_a.size(), 3); ++i)
      out += "  slow: " + only_a[i] + "\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(only_b.size(), 3); ++i)
      out += "  fast: " + only_b[i] + "\n";
  }
  return out;
}

}  // namespace headroom::testing
