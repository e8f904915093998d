#include "ingest/rocprof/rocprof_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "ingest/input/trace_extent.h"
#include "ingest/rocprof/json_cursor.h"
#include "ingest/rocprof/json_window.h"
#include "ingest/rocprof/record.h"
#include "ingest/rocprof/row_writer.h"
#include "store/trace_formats.h"

namespace headroom::rocprof {
namespace {

constexpr std::string_view kTop = "rocprofiler-sdk-tool";

/// The position of reading in the file's structure. Each level has one parent, so no stack is
/// needed.
enum class Level : std::uint8_t {
  kTop,        ///< Between members of the file's object.
  kProcesses,  ///< Between processes.
  kProcess,    ///< Between members of a process.
  kStrings,    ///< Between members of its "strings".
  kRecords,    ///< Between its lists of records.
  kList,       ///< Between records of a list.
  kEnd,
};

/// Place where reading can resume after damage.
struct Landing {
  enum class Kind : std::uint8_t { kNone, kRecord, kList, kStrings, kMember, kProcess };
  Kind kind = Kind::kNone;
  std::size_t at = 0;  ///< Position of its '{', or of the quote of its key.
};

/// Returns true if text[at], just after a quote, begins with `key` and its closing quote. After a
/// colon and white space, one of the characters in `then` must follow.
bool IsKey(std::string_view text, std::size_t at, std::string_view key, std::string_view then) {
  if (!text.substr(at).starts_with(key)) return false;
  at += key.size();
  if (at >= text.size() || text[at] != '"') return false;
  at = SkipSpace(text, at + 1);
  if (at >= text.size() || text[at] != ':') return false;
  at = SkipSpace(text, at + 1);
  return at < text.size() && then.find(text[at]) != std::string_view::npos;
}

/// Longer than any key in the search, including white space around it.
constexpr std::size_t kStraddle = 256;

/// Members of a process that contain data to read, each with the first character of its value.
struct Member {
  std::string_view key;
  std::string_view begins;
};
constexpr Member kMembers[] = {{"agents", "["},           {"strings", "{"},
                               {"counters", "["},         {"kernel_symbols", "["},
                               {"callback_records", "{"}, {"buffer_records", "{"}};
/// The same for members below "strings". Some of its lists have the same names as lists of records.
constexpr Member kStringsMembers[] = {{"buffer_records", "["}, {"marker_api", "["}};

/// Returns the first place from `from` on that looks like the start of data to read: a process or a
/// member of it. If `level` allows, a list or a record also counts. In valid JSON such a place can
/// only be structure: inside a string, the quotes would have to be escaped.
Landing FindLanding(std::string_view text, std::size_t from, Level level) {
  for (std::size_t at = text.find('"', from); at != std::string_view::npos;
       at = text.find('"', at + 1)) {
    if (at > 0 && text[at - 1] == '\\') continue;
    if (IsKey(text, at + 1, "metadata", "{")) return {Landing::Kind::kProcess, at};
    const auto is_one = [&](const Member& member) {
      return IsKey(text, at + 1, member.key, member.begins);
    };
    if (std::any_of(std::begin(kMembers), std::end(kMembers), is_one))
      return {Landing::Kind::kMember, at};
    if (level == Level::kStrings) {
      if (std::any_of(std::begin(kStringsMembers), std::end(kStringsMembers), is_one))
        return {Landing::Kind::kStrings, at};
      continue;
    }
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    const std::string_view key = text.substr(at + 1, end - at - 1);
    if (SectionOf(key) && IsKey(text, at + 1, key, "[")) return {Landing::Kind::kList, at};
    if (level != Level::kList || key != "size" || !IsKey(text, at + 1, key, "0123456789")) continue;
    // Records begin with their size and their kind; nested objects have a size, too.
    const std::size_t comma = text.substr(0, end + kStraddle).find(',', end);
    const std::size_t next = comma == std::string_view::npos ? comma : SkipSpace(text, comma + 1);
    if (next == std::string_view::npos || next >= text.size() || text[next] != '"' ||
        !IsKey(text, next + 1, "kind", "0123456789")) {
      continue;
    }
    const std::size_t brace = text.find_last_not_of(" \n\t\r", at - 1);
    if (at > 0 && brace != std::string_view::npos && brace >= from && text[brace] == '{')
      return {Landing::Kind::kRecord, brace};
  }
  return {};
}

class FileReading {
 public:
  FileReading(ByteSource& source, const ReadOptions& options, TraceStore& store)
      : options_(options),
        store_(store),
        window_(source, std::max<std::size_t>(options.chunk_bytes, 1), options.progress),
        rows_(store, options.expansion) {}

  Status Run() {
    SkipMark();
    if (window_.Next() == '{') window_.Advance(1);
    while (level_ != Level::kEnd) Step();
    if (!window_.status().ok()) return window_.status();
    EndProcess();
    rows_.Finish();
    if (rows_.unread_counters() > 0) unread_["counter_collection"] += rows_.unread_counters();
    for (const auto& [name, count] : unread_)
      store_.log.Add(ImportIssue::kUnreadData, -1, fmt::format("{}: {} records", name, count),
                     count);
    return Status::Ok();
  }
  std::int64_t bytes() const { return window_.offset(); }
  const TraceExtent& extent() const { return rows_.extent(); }

 private:
  void SkipMark() {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    window_.Next();
    while (window_.text().size() < kMark.size() && window_.Fill()) continue;
    if (window_.text().starts_with(kMark)) window_.Advance(kMark.size());
  }

  void Step() {
    const char next = window_.Next();
    if (next == '\0') return AtEnd();
    switch (level_) {
      case Level::kTop:
        if (next == '}') return Close();
        return TopMember();
      case Level::kProcesses:
        if (next == ']') return Up(Level::kTop);
        if (next != '{') return Damaged("a process");
        return BeginProcess();
      case Level::kProcess:
        if (next == '}') {
          EndProcess();
          return Up(is_array_ ? Level::kProcesses : Level::kTop);
        }
        return ProcessMember();
      case Level::kStrings:
        return next == '}' ? Up(Level::kProcess) : StringsMember();
      case Level::kRecords:
        return next == '}' ? Up(Level::kProcess) : BeginList();
      case Level::kList:
        return next == ']' ? Up(Level::kRecords) : ReadRecord();
      case Level::kEnd:
        return;
    }
  }

  void Up(Level level) {
    window_.Advance(1);
    level_ = level;
  }

  void Close() {
    window_.Advance(1);
    level_ = Level::kEnd;
    if (window_.Next() == '\0') return;
    const std::int64_t from = window_.offset();
    do {
      window_.Advance(window_.text().size());
    } while (window_.Fill());
    store_.log.Add(ImportIssue::kTrailingGarbage, from,
                   fmt::format("{} bytes", window_.offset() - from));
  }

  void AtEnd() {
    if (window_.status().ok()) {
      const bool complete = level_ == Level::kTop && seen_top_;
      store_.log.Add(complete ? ImportIssue::kUnclosed : ImportIssue::kTruncated, window_.offset());
    }
    level_ = Level::kEnd;
  }

  /// Consumes `"key":` and stops before its value. Returns false at damage, after handling it.
  bool TakeKey() {
    constexpr std::size_t kLongestKey = 4096;
    for (;;) {
      const std::string_view text = window_.text();
      const std::size_t end = text.starts_with('"') ? text.find('"', 1) : 0;
      std::size_t at = end == std::string_view::npos ? end : SkipSpace(text, end + 1);
      if (end != 0 && (at == std::string_view::npos || at == text.size())) {
        if (text.size() < kLongestKey && window_.Fill()) continue;
      } else if (end != 0 && text[at] == ':') {
        key_ = text.substr(1, end - 1);
        window_.Advance(at + 1);
        window_.Next();
        return true;
      }
      Damaged("a key");
      return false;
    }
  }

  void SkipValue() {
    if (!window_.SkipValue()) AtEnd();
  }

  void TopMember() {
    if (!TakeKey()) return;
    if (key_ != kTop) return SkipValue();
    seen_top_ = true;
    const char next = window_.Next();
    is_array_ = next == '[';
    if (is_array_) return Up(Level::kProcesses);
    if (next == '{') return BeginProcess();
    SkipValue();
  }

  void BeginProcess() {
    rows_.BeginProcess();
    in_process_ = true;
    Up(Level::kProcess);
  }

  void EndProcess() {
    if (in_process_) rows_.EndProcess();
    in_process_ = false;
  }

  void ProcessMember() {
    if (!TakeKey()) return;
    const char next = window_.Next();
    if (key_ == "strings" && next == '{') return Up(Level::kStrings);
    if (key_ == "buffer_records" && next == '{') return Up(Level::kRecords);
    if (key_ == "metadata" && next == '{') {
      if (const auto metadata = Element(ParseMetadata)) rows_.Add(*metadata);
      return;
    }
    if (key_ == "agents") return ReadList([&] { return AddElement(ParseAgent); });
    if (key_ == "counters") return ReadList([&] { return AddElement(ParseCounterName); });
    if (key_ == "kernel_symbols") return ReadList([&] { return AddElement(ParseKernelSymbol); });
    if (key_ == "callback_records" && next == '{') return ReadCallbacks();
    SkipValue();
  }

  void StringsMember() {
    if (!TakeKey()) return;
    if (key_ == "buffer_records") return ReadList([&] { return AddElement(ParseKindNames); });
    if (key_ == "marker_api") {
      return ReadList([&] {
        const auto text = Element(ParseText);
        if (text) rows_.AddMarkerText(text->first, text->second);
        return text.has_value();
      });
    }
    SkipValue();
  }

  /// Reads the counters of dispatches. Counts the records of other lists as unread.
  void ReadCallbacks() {
    window_.Advance(1);
    while (window_.Next() == '"') {
      if (!TakeKey()) return;
      if (key_ != "counter_collection" || window_.Next() != '[') {
        if (!CountList()) return;
        continue;
      }
      bool whole = true;
      ReadList([&] {
        auto counters = Element(ParseDispatchCounters);
        whole = counters.has_value();
        if (whole) rows_.Add(std::move(*counters));
        return whole;
      });
      if (!whole || level_ != Level::kProcess) return;  // Damage moved the reader elsewhere.
    }
    if (window_.Next() != '}') return Damaged("a list of records");
    window_.Advance(1);
  }

  /// Skips the list of `key_` and counts its elements. Returns false at damage, after handling it.
  bool CountList() {
    if (window_.Next() != '[') {
      SkipValue();
      return level_ != Level::kEnd;
    }
    window_.Advance(1);
    std::int64_t count = 0;
    for (; window_.Next() != ']'; ++count) {
      if (window_.Next() == '}') {
        Damaged("a list of records");
        return false;
      }
      if (!window_.SkipValue()) {
        AtEnd();
        return false;
      }
    }
    window_.Advance(1);
    if (count > 0) unread_[key_.substr(0, kLongestName)] += count;
    return true;
  }

  void BeginList() {
    if (!TakeKey()) return;
    section_ = SectionOf(key_);
    if (!section_) {
      CountList();
      return;
    }
    if (window_.Next() != '[') return Damaged("a list of records");
    Up(Level::kList);
  }

  void ReadRecord() {
    const std::int64_t offset = window_.offset();
    const std::optional<Record> record = Element(ParseRecord);
    if (!record) return;
    rows_.HasRead(window_.file_bytes_read());
    rows_.Add(*record, *section_, key_, offset);
  }

  /// Calls `read` at each element of the current list, until `read` returns false or the list ends.
  template <typename ReadElement>
  void ReadList(ReadElement read) {
    if (window_.Next() != '[') return Damaged(key_);
    window_.Advance(1);
    for (;;) {
      const char next = window_.Next();
      if (next == ']') return window_.Advance(1);
      if (next == '\0') return AtEnd();
      if (!read()) return;
    }
  }

  template <typename Parse>
  bool AddElement(Parse parse) {
    const auto element = Element(parse);
    if (element) rows_.Add(*element);
    return element.has_value();
  }

  /// Parses and consumes the current value. If it is damaged or too large, logs that, moves to the
  /// next readable place and returns nullopt.
  template <typename Parse>
  auto Element(Parse parse) -> std::optional<decltype(parse(std::declval<JsonCursor&>()))> {
    const auto limit = static_cast<std::size_t>(options_.max_event_bytes);
    for (;;) {
      JsonCursor cursor(window_.text());
      auto value = parse(cursor);
      if (cursor.fine()) {
        window_.Advance(cursor.consumed());
        return value;
      }
      const bool cut = cursor.state() == JsonCursor::State::kCut;
      const bool oversized = cut && window_.text().size() > limit;
      if (cut && !oversized && window_.Fill()) continue;
      if (!window_.status().ok()) {
        level_ = Level::kEnd;
      } else if (oversized) {
        store_.log.Add(ImportIssue::kOversizedEvent, window_.offset());
        Resync();
      } else {
        Damaged(cut ? "no end found" : "", cut);
      }
      return std::nullopt;
    }
  }

  /// Logs damage and moves to the next readable place. `at_end` means that the file ended inside
  /// the damaged data. If no readable place follows either, the file was truncated there, which is
  /// logged separately.
  void Damaged(std::string detail, bool at_end = false) {
    const bool of_records = level_ == Level::kList || level_ == Level::kRecords;
    const std::int64_t offset = window_.offset();
    const bool goes_on = Resync();
    if (at_end && !goes_on) return;
    store_.log.Add(of_records ? ImportIssue::kLostEvent : ImportIssue::kDamagedMetadata, offset,
                   std::move(detail));
  }

  /// Moves to the next recognizable place after the current character. If there is none, moves to
  /// the end of the file and returns false.
  bool Resync() {
    std::size_t from = 1;
    for (;;) {
      const std::string_view text = window_.text();
      from = std::min(from, text.size());
      const Landing landing = FindLanding(text, from, level_);
      if (landing.kind != Landing::Kind::kNone) {
        window_.Advance(landing.at);
        Land(landing.kind);
        return true;
      }
      // A place that is incomplete at the end of the text is found after the next read.
      const std::size_t keep = std::min(text.size() - from, kStraddle);
      window_.Advance(text.size() - keep);
      from = 0;
      if (!window_.Fill()) {
        window_.Advance(window_.text().size());
        AtEnd();
        return false;
      }
    }
  }

  void Land(Landing::Kind kind) {
    switch (kind) {
      case Landing::Kind::kRecord:
        return;  // The record belongs to the current list.
      case Landing::Kind::kList:
      case Landing::Kind::kStrings:
      case Landing::Kind::kMember:
        if (!in_process_) rows_.BeginProcess();
        in_process_ = true;
        level_ = kind == Landing::Kind::kList      ? Level::kRecords
                 : kind == Landing::Kind::kStrings ? Level::kStrings
                                                   : Level::kProcess;
        return;
      case Landing::Kind::kProcess:
        EndProcess();
        rows_.BeginProcess();
        in_process_ = true;
        level_ = Level::kProcess;
        return;
      case Landing::Kind::kNone:
        return;
    }
  }

  static constexpr std::size_t kLongestName = 60;

  const ReadOptions& options_;
  TraceStore& store_;
  JsonWindow window_;
  RowWriter rows_;
  Level level_ = Level::kTop;
  bool seen_top_ = false;
  bool is_array_ = false;
  bool in_process_ = false;
  std::string key_;  ///< The last consumed key; in a list, the name of the list.
  std::optional<Section> section_;
  std::map<std::string, std::int64_t> unread_;  ///< Number of unread records, by list.
};

}  // namespace

bool LooksLikeTrace(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const std::size_t brace = SkipSpace(head, 0);
  if (brace >= head.size() || head[brace] != '{') return false;
  const std::size_t quote = SkipSpace(head, brace + 1);
  return quote < head.size() && head[quote] == '"' && IsKey(head, quote + 1, kTop, "[{");
}

Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  TraceExtent extent;
  {
    FileReading reading(source, options, store);
    if (Status status = reading.Run(); !status.ok()) return status;
    extent = reading.extent();
    if (!source.damage().empty()) {
      store.log.Add(ImportIssue::kCutCompression, reading.bytes(), std::string(source.damage()));
    } else if (source.has_trailing_bytes()) {
      store.log.Add(ImportIssue::kCutCompression, reading.bytes(),
                    "bytes after the compressed stream are unreadable");
    }
  }
  store.metadata.format = kRocprofFormat;
  store.metadata.file_bytes = std::max(source.file_bytes(), source.file_bytes_read());
  ClipOverflowingSpans(extent, store);
  store.Freeze(options.threads);
  ClipOverflowingTasks(extent, store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while reading, which requires about 120 bytes per "
                             "event; free memory, or use a larger machine");
}

}  // namespace headroom::rocprof
