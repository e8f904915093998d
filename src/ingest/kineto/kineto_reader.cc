#include "ingest/kineto/kineto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "ingest/input/other_formats.h"
#include "ingest/kineto/ascend_tracks.h"
#include "ingest/kineto/event_scanner.h"
#include "ingest/kineto/finish.h"
#include "ingest/kineto/half_spans.h"
#include "ingest/kineto/merge.h"
#include "ingest/kineto/named_tracks.h"
#include "ingest/kineto/plain_spans.h"
#include "ingest/kineto/row_batch.h"
#include "ingest/kineto/top_level.h"
#include "ingest/kineto/xla_tracks.h"
#include "store/trace_formats.h"

namespace headroom::kineto {
namespace {

/// Text with the zero padding that the scanner needs. Growing does not initialize memory.
class TextBuffer {
 public:
  std::size_t size() const { return size_; }
  std::string_view view() const { return {data_.get(), size_}; }

  void Clear() { size_ = 0; }
  void Append(std::string_view text) {
    Reserve(size_ + text.size());
    std::memcpy(data_.get() + size_, text.data(), text.size());
    size_ += text.size();
  }
  /// Returns space for `bytes` more; commit the written bytes with Grow().
  std::span<char> Room(std::size_t bytes) {
    Reserve(size_ + bytes);
    return {data_.get() + size_, bytes};
  }
  void Grow(std::size_t bytes) { size_ += bytes; }
  /// Truncates to `size` bytes and pads. Requires size <= size().
  void Finish(std::size_t size) {
    Reserve(size);
    size_ = size;
    std::memset(data_.get() + size_, 0, kPadding);
  }

 private:
  void Reserve(std::size_t bytes) {
    if (bytes + kPadding <= capacity_) return;
    const std::size_t grown = std::max(bytes + kPadding, capacity_ + capacity_ / 2);
    auto larger = std::make_unique_for_overwrite<char[]>(grown);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = grown;
  }

  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A piece of the file. All but the last end just before an apparent event start.
struct Piece {
  std::int64_t number = 0;
  std::int64_t offset = 0;  ///< Offset of the text in the decompressed file.
  TextBuffer text;
  bool last = false;
  bool oversized =
      false;  ///< No cut was found within the limit; the text after the piece was skipped.
};

/// Cuts the stream into pieces. Allows one caller at a time.
class PieceSource {
 public:
  PieceSource(ByteSource& source, const ReadOptions& options)
      : source_(source), options_(options) {}

  /// Returns false at the end of the stream.
  Result<bool> Next(Piece& piece) {
    if (ended_) return false;
    piece.number = next_number_++;
    piece.oversized = false;
    piece.text.Clear();
    piece.text.Append(pending_);
    pending_.clear();
    const std::size_t step = std::max<std::size_t>(options_.piece_bytes, 1);
    std::size_t searched = 0;
    for (std::size_t wanted = step;; wanted = std::max(wanted, piece.text.size() + step)) {
      while (piece.text.size() < wanted && !ended_) {
        const std::size_t room = wanted - piece.text.size();
        const Result<std::size_t> n = source_.Read(piece.text.Room(room));
        if (!n.ok()) return n.status();
        piece.text.Grow(n.value());
        if (n.value() < room) ended_ = true;
      }
      if (skipping_) {
        searched = 0;
        if (!SkipToEvent(piece)) continue;
      }
      piece.offset = offset_;
      if (ended_) break;
      // Searches only the new text and a little before it. A missed cut does no harm.
      const std::size_t from = searched - std::min(searched, kStraddle);
      const std::size_t cut = FindLastEventStart(piece.text.view().substr(from));
      searched = piece.text.size();
      if (cut != std::string_view::npos) {
        pending_ = piece.text.view().substr(from + cut);
        piece.text.Finish(from + cut);
        break;
      }
      // Allows twice the limit: an event of exactly the maximum size may follow the prologue in one
      // piece.
      if (static_cast<std::int64_t>(piece.text.size()) / 2 > options_.max_event_bytes) {
        piece.oversized = true;
        skipping_ = true;
        break;
      }
    }
    piece.last = ended_;
    offset_ = piece.offset + static_cast<std::int64_t>(piece.text.size());
    piece.text.Finish(piece.text.size());
    if (options_.progress) options_.progress(source_.file_bytes_read());
    return true;
  }

  std::int64_t bytes() const { return offset_; }

 private:
  /// Drops text up to the next event. Returns false if no event starts yet, and keeps the end of
  /// the text, because an event start may straddle two reads.
  bool SkipToEvent(Piece& piece) {
    const std::string_view text = piece.text.view();
    std::size_t keep_from = FindEventStart(text, 0);
    const bool found = keep_from != std::string_view::npos;
    if (!found) keep_from = ended_ ? text.size() : text.size() - std::min(text.size(), kStraddle);
    const std::string rest(text.substr(keep_from));
    offset_ += static_cast<std::int64_t>(keep_from);
    piece.text.Clear();
    piece.text.Append(rest);
    if (found) skipping_ = false;
    return found || ended_;
  }

  static constexpr std::size_t kStraddle = 4096;  ///< The start of an event may straddle two reads.

  ByteSource& source_;
  const ReadOptions& options_;
  std::string pending_;
  std::int64_t offset_ = 0;
  std::int64_t next_number_ = 0;
  bool ended_ = false;
  bool skipping_ = false;
};

/// The place and state in which reading the events of a text ended.
struct EventsEnd {
  std::size_t tail = 0;  ///< Start of an unfinished event; the size of the text if there is none.
  bool list_ended = false;        ///< The ']' was read; `tail` is just after it.
  bool recovering = false;        ///< Damage was found and no event after it yet.
  bool began_with_event = false;  ///< The text begins with a complete event, so it was read
                                  ///< correctly even after damage.
};

/// Reads the events of one text, starting at `at`.
class EventsReader {
 public:
  EventsReader(const Piece& piece, std::int64_t max_event_bytes, WorkerIds& ids, RowBatch& batch,
               RawEvent& event)
      : text_(piece.text.view()),
        offset_(piece.offset),
        last_(piece.last),
        oversized_(piece.oversized),
        max_event_bytes_(static_cast<std::size_t>(max_event_bytes)),
        batch_(batch),
        builder_(ids, batch),
        event_(event) {}

  /// `recovering`: the previous text ended in damage. An apparent event may then be an object
  /// inside the damaged one, so it must have a phase to count as an event.
  EventsEnd Run(std::size_t at, bool recovering) {
    recovering_ = recovering;
    EventsEnd end = ReadEvents(at);
    end.recovering = recovering_;
    end.began_with_event = began_with_event_;
    return end;
  }

 private:
  EventsEnd ReadEvents(std::size_t at) {
    const std::size_t first = at;
    for (;;) {
      at = SkipSeparators(at);
      if (at == text_.size()) {
        // An array may lack its ']' (the format allows it) only if it is the whole file; the caller
        // checks that.
        if (oversized_ && !logged_oversized_) LogOversized(at);
        return {at};
      }
      if (text_[at] == ']') {
        const std::size_t after = SkipSeparators(at + 1);
        if (after == text_.size() && !last_ && !oversized_)
          return {at};  // The next piece shows whether the list ends here.
        // The list continues if events follow, or a member without the comma that a real end would
        // have. Otherwise it ends here.
        const bool at_member = after < text_.size() && text_[after] == '"' &&
                               text_.substr(at, after - at).find(',') == std::string_view::npos;
        if (after == text_.size() || (text_[after] != '{' && !at_member)) return {at + 1, true};
        Log(ImportIssue::kNotAnEvent, at, "']' before the end of the list");
        at = at_member ? Resync(at) : after;
        recovering_ = true;
        continue;
      }
      if (text_[at] != '{') {
        const NonObject element = ScanNonObject(at);
        if (element.needs_more && !last_ && !oversized_ && text_.size() - at <= max_event_bytes_)
          return {at};
        Log(ImportIssue::kNotAnEvent, at, "not an object");
        recovering_ = recovering_ || element.damaged;
        at = element.end;
        continue;
      }
      std::size_t next = 0;
      const ScanResult result = ScanEvent(UpToLimit(at), at, event_, next);
      if (next - at > max_event_bytes_) {
        at = SkipTooLong(at);
        continue;
      }
      switch (result) {
        case ScanResult::kEvent:
          if (recovering_ && event_.phase.text.size() != 1) {
            at = Resync(at);
            break;
          }
          if (at == first) began_with_event_ = event_.phase.text.size() == 1;
          Add(at);
          at = next;
          break;
        case ScanResult::kIncomplete:
          if (oversized_) {
            LogOversized(at);
            recovering_ = true;
            return {text_.size()};
          }
          if (!last_) return {at};
          if (FindEventStart(text_, at + 1) == std::string_view::npos) {
            Log(ImportIssue::kTruncated, at, "");
            return {text_.size()};
          }
          // The text of the event contains the start of another, so it is damaged.
          [[fallthrough]];
        case ScanResult::kDamaged:
          at = Repair(at);
          break;
      }
    }
  }

  static bool IsSeparator(char c) { return c == ',' || IsSpace(c); }
  std::int64_t Place(std::size_t at) const { return offset_ + static_cast<std::int64_t>(at); }
  void Log(ImportIssue issue, std::size_t at, std::string detail) {
    batch_.log.Add(issue, Place(at), std::move(detail));
  }

  /// Returns the text up to the point where an event that begins at `at` exceeds the limit.
  /// Scanning further, at every event start inside it, would waste time.
  std::string_view UpToLimit(std::size_t at) const {
    const std::size_t rest = text_.size() - at;
    return text_.substr(0, rest <= max_event_bytes_ ? text_.size() : at + max_event_bytes_ + 1);
  }

  std::size_t SkipSeparators(std::size_t at) const {
    while (at < text_.size() && IsSeparator(text_[at])) ++at;
    return at;
  }

  /// An element of the list that is not an object.
  struct NonObject {
    std::size_t end;  ///< Position at which reading continues.
    bool damaged =
        false;  ///< Not a valid element; the text after it may be part of another element.
    bool needs_more = false;  ///< True if more text may change the result.
  };

  /// Continues after a valid element. After an invalid one, continues at the next '{' that no
  /// string or bracket precedes, or at the next event.
  NonObject ScanNonObject(std::size_t at) const {
    if (text_[at] == '[') {
      // A bracket before an event must not swallow all events up to the end of the list.
      const std::size_t inner = SkipSeparators(at + 1);
      if (inner == text_.size()) return {.end = inner, .needs_more = true};
      if (text_[inner] == '{') return {.end = inner, .damaged = true};
    }
    std::size_t next = 0;
    const ScanResult result = ScanElement(text_, at, next);
    bool needs_more = result == ScanResult::kIncomplete;
    if (result == ScanResult::kEvent) {
      while (next < text_.size() && IsSpace(text_[next])) ++next;
      needs_more = next == text_.size();
      if (!needs_more && (text_[next] == ',' || text_[next] == ']')) return {.end = next};
    }
    const std::size_t stop = text_.find_first_of("{}[]\"", at);
    const bool at_object = stop != std::string_view::npos && text_[stop] == '{';
    return {.end = at_object ? stop : Resync(at), .damaged = true, .needs_more = needs_more};
  }

  /// Skips or repairs an event longer than the limit. The rule must not depend on where pieces end:
  /// such an event is damaged if another event starts within the limit, and too large otherwise.
  std::size_t SkipTooLong(std::size_t at) {
    const std::size_t end = Resync(at);
    if (end - at <= max_event_bytes_) return Repair(at);
    recovering_ = true;
    LogOversized(at);
    return end;
  }

  void LogOversized(std::size_t at) {
    Log(ImportIssue::kOversizedEvent, at, fmt::format("more than {} MiB", max_event_bytes_ >> 20));
    ++batch_.events;
    logged_oversized_ = true;
  }

  /// Returns the position of the next apparent event start after `at`, or the end of the piece.
  std::size_t Resync(std::size_t at) const {
    return std::min(FindEventStart(text_, at + 1), text_.size());
  }

  void Add(std::size_t at) {
    recovering_ = false;
    builder_.Add(event_, Place(at));
  }

  /// Repairs and reads the damaged event at `at`, or counts it as lost. Returns where reading
  /// continues.
  std::size_t Repair(std::size_t at) {
    const std::size_t end = Resync(at);
    std::string repaired = RepairStrings(text_.substr(at, end - at));
    const std::size_t size = repaired.size();
    repaired.resize(size + kPadding);
    std::size_t next = 0;
    if (ScanEvent(std::string_view(repaired).substr(0, size), 0, event_, next) ==
            ScanResult::kEvent &&
        event_.phase.present()) {
      // The text after the event (a comma, or the rest of the file) must be unchanged.
      const std::size_t rest = size - next;
      if (rest <= end - at &&
          text_.substr(end - rest, rest) == std::string_view(repaired).substr(next, rest)) {
        Log(ImportIssue::kRepairedEvent, at, "");
        // If the start of the next event was overwritten, this event also contains that event's
        // members.
        CountLost(CountPhases(text_.substr(at, end - rest - at)) - 1, at);
        Add(at);
        return end - rest;
      }
    }
    // An object inside an event that already counts as lost is not another event.
    std::int64_t lost = CountPhases(text_.substr(at, end - at));
    if (!recovering_) lost = std::max<std::int64_t>(lost, 1);
    CountLost(lost, at);
    recovering_ = true;
    return end;
  }

  void CountLost(std::int64_t events, std::size_t at) {
    if (events <= 0) return;
    batch_.log.Add(ImportIssue::kLostEvent, Place(at), {}, events);
    batch_.events += events;
  }

  /// Returns the minimum number of events in a damaged text. A phase has one letter, which
  /// distinguishes it from an argument named "ph".
  static std::int64_t CountPhases(std::string_view text) {
    static constexpr std::string_view kKey = "\"ph\"", kBlanks = " \t\r\n";
    const auto skip_blanks = [&](std::size_t at) {
      return std::min(text.find_first_not_of(kBlanks, at), text.size());
    };
    std::int64_t count = 0;
    for (std::size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at)) {
      at = skip_blanks(at + kKey.size());
      if (!text.substr(at).starts_with(':')) continue;
      at = skip_blanks(at + 1);
      if (at + 2 < text.size() && text[at] == '"' && text[at + 2] == '"') ++count;
    }
    return count;
  }

  std::string_view text_;
  std::int64_t offset_;
  bool last_;
  bool oversized_;
  bool logged_oversized_ = false;
  bool recovering_ = false;
  bool began_with_event_ = false;
  std::size_t max_event_bytes_;
  RowBatch& batch_;
  RowBuilder builder_;
  RawEvent& event_;
};

/// One reading: the source and the store, shared by the worker threads.
class Reading {
 public:
  Reading(ByteSource& source, const std::string& path, const ReadOptions& options,
          TraceStore& store)
      : options_(options),
        pieces_(source, options),
        path_(path),
        source_(source),
        store_(store),
        merger_(store, late_) {}

  Status Run() {
    std::vector<std::thread> helpers;
    try {
      for (int i = 1; i < options_.threads; ++i) helpers.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // The system grants no more threads; the existing ones do the work.
    } catch (const std::bad_alloc&) {
      // This exception must not escape while threads run. If memory is really short, reading fails
      // later.
    }
    Work();
    for (std::thread& helper : helpers) helper.join();
    if (out_of_memory_) throw std::bad_alloc();
    if (!status_.ok()) return status_;
    return Finish();
  }

 private:
  enum class Stage { kPrologue, kEvents, kEpilogue };

  /// Does one thread's work. No exception may escape, because other threads wait for their turn.
  /// The handler must not allocate.
  void Work() noexcept {
    try {
      ReadPieces();
    } catch (const std::bad_alloc&) {
      {
        std::lock_guard lock(source_mutex_);
        out_of_memory_ = true;
        stopped_ = true;
      }
      {
        std::lock_guard lock(merge_mutex_);
        abandoned_ = true;
      }
      my_turn_.notify_all();
    }
  }

  void ReadPieces() {
    WorkerIds ids;
    IdMap map;
    RowBatch batch;
    RawEvent event;
    Piece piece;
    for (;;) {
      {
        std::lock_guard lock(source_mutex_);
        if (stopped_) return;
        const Result<bool> more = pieces_.Next(piece);
        if (!more.ok() || !more.value()) {
          if (!more.ok()) status_ = more.status();
          stopped_ = true;
          return;
        }
      }
      // The first piece holds the prologue. Others are assumed to begin at an event, which
      // MergePiece() checks.
      EventsEnd end;
      if (piece.number > 0) {
        batch.Clear();
        end = EventsReader(piece, options_.max_event_bytes, ids, batch, event)
                  .Run(0, /*recovering=*/false);
      }
      std::unique_lock lock(merge_mutex_);
      my_turn_.wait(lock, [&] { return merged_ == piece.number || abandoned_; });
      if (abandoned_) return;
      MergePiece(piece, end, ids, map, batch, event);
      ++merged_;
      lock.unlock();
      my_turn_.notify_all();
    }
  }

  /// Merges pieces in file order, one at a time. `end` and `batch` hold the result of assuming that
  /// the piece begins at an event.
  void MergePiece(Piece& piece, EventsEnd end, WorkerIds& ids, IdMap& map, RowBatch& batch,
                  RawEvent& event) {
    if (stage_ == Stage::kEpilogue) return KeepEpilogue(piece.text.view());
    const bool guess_holds =
        stage_ == Stage::kEvents && carry_.size() == 0 && (!recovering_ || end.began_with_event);
    if (!guess_holds) {
      // Prepend the text that earlier pieces left unread.
      if (carry_.size() == 0) carry_offset_ = piece.offset;
      carry_.Append(piece.text.view());
      std::swap(carry_, piece.text);
      carry_.Clear();
      piece.offset = carry_offset_;
      piece.text.Finish(piece.text.size());
      std::size_t at = 0;
      if (stage_ == Stage::kPrologue && !EnterList(piece, at)) return;
      batch.Clear();
      end = EventsReader(piece, options_.max_event_bytes, ids, batch, event).Run(at, recovering_);
    }
    recovering_ = end.recovering;
    merger_.Append(batch, ids, map);
    if (end.list_ended) {
      stage_ = Stage::kEpilogue;
      carry_offset_ = piece.offset + static_cast<std::int64_t>(end.tail);
      return KeepEpilogue(piece.text.view().substr(end.tail));
    }
    if (end.tail < piece.text.size()) Keep(piece, end.tail);
  }

  /// Reads the prologue. Returns false if it needs more text or the file is not a trace.
  bool EnterList(Piece& piece, std::size_t& at) {
    const Prologue prologue = ReadPrologue(piece.text.view(), store_, merger_, bare_array_, at);
    switch (prologue) {
      case Prologue::kListStarts:
        stage_ = Stage::kEvents;
        return true;
      case Prologue::kNeedsMore:
      case Prologue::kDamaged:
      case Prologue::kNoEventList:
        if (prologue != Prologue::kNeedsMore && (piece.last || TooLong(piece))) {
          Fail(piece, prologue == Prologue::kDamaged
                          ? kNotATrace
                          : "is JSON without \"traceEvents\", not a trace; pass the file that "
                            "prof.export_chrome_trace(...) wrote");
        } else if (piece.last) {
          Fail(piece,
               "ends before its event list: it is empty or truncated; copy the file or record the "
               "trace "
               "again");
        } else if (TooLong(piece)) {
          Fail(piece, fmt::format("has more than {} MiB before its event list; raise "
                                  "--max-event-mb if it is a trace",
                                  options_.max_event_bytes >> 20));
        } else {
          Keep(piece, 0);
        }
        return false;
      case Prologue::kMemoryTimeline:
        Fail(
            piece,
            "is a PyTorch memory timeline (a list of [time, action, bytes, category]), not a trace "
            "of events; "
            "export one with prof.export_chrome_trace(...)");
        return false;
      case Prologue::kNotJson:
        Fail(piece, kNotATrace);
        return false;
    }
    return false;
  }

  bool TooLong(const Piece& piece) const {
    return static_cast<std::int64_t>(piece.text.size()) > options_.max_event_bytes;
  }

  /// Keeps text after the event list. It is only metadata, so text over the limit is dropped.
  void KeepEpilogue(std::string_view text) {
    carry_.Append(text.substr(0, kLargestEpilogue - std::min(carry_.size(), kLargestEpilogue)));
  }

  void Keep(const Piece& piece, std::size_t from) {
    carry_.Clear();
    carry_.Append(piece.text.view().substr(from));
    carry_offset_ = piece.offset + static_cast<std::int64_t>(from);
  }

  /// Fails because the file is not a trace; `piece` holds its beginning.
  void Fail(const Piece& piece, std::string why) {
    const std::string_view other = OtherFormatOf(piece.text.view());
    if (!other.empty()) why = fmt::format("is {}", other);
    std::lock_guard lock(source_mutex_);  // Another thread may be reading from the source.
    std::string message = path_ + ": " + std::move(why);
    if (!source_.damage().empty()) message += fmt::format(" ({})", source_.damage());
    if (status_.ok()) status_ = Status::BadInput(std::move(message));
    stopped_ = true;
  }

  Status Finish() {
    if (!source_.damage().empty()) {
      store_.log.Add(ImportIssue::kCutCompression, pieces_.bytes(), std::string(source_.damage()));
    } else if (source_.has_trailing_bytes() && stage_ == Stage::kEpilogue) {
      store_.log.Add(ImportIssue::kTrailingGarbage, pieces_.bytes(), "after the compressed stream");
    } else if (source_
                   .has_trailing_bytes()) {  // These bytes should have been the rest of the trace.
      store_.log.Add(ImportIssue::kCutCompression, pieces_.bytes(),
                     "bytes after the compressed stream are unreadable");
    }
    if (stage_ == Stage::kEpilogue) {
      carry_.Finish(carry_.size());
      ReadEpilogue(carry_.view(), pieces_.bytes() - carry_offset_, bare_array_, carry_offset_,
                   store_, merger_);
    } else if ((!bare_array_ || !source_.damage().empty()) &&
               store_.log.Count(ImportIssue::kTruncated) == 0) {
      // A bare array may lack its ']': viewers accept that, and a killed process leaves it so. If
      // its compressed stream is truncated, the trace is truncated.
      store_.log.Add(ImportIssue::kTruncated, pieces_.bytes(), "the event list is not closed");
    }
    NoteExporter();
    return Status::Ok();
  }

  void NoteExporter() {
    if (!bare_array_) return;
    for (std::size_t i = 0; i < store_.processes.rows(); ++i) {
      if (store_.Text(store_.processes.pid.Pending(i)) == kProcessWithoutKineto)
        store_.metadata.names_and_times_only = true;
    }
  }

  static constexpr const char* kNotATrace =
      "is not a trace: expected JSON with a list of events (as prof.export_chrome_trace(...) "
      "writes), a Perfetto trace or an XPlane profile, plain or packed (.gz, .zst, .xz, .bz2, "
      ".zip, .tar)";
  static constexpr std::size_t kLargestEpilogue = std::size_t{16} << 20;

  const ReadOptions& options_;
  std::mutex source_mutex_;
  PieceSource pieces_;
  bool stopped_ = false;
  bool out_of_memory_ = false;
  Status status_;

  std::mutex merge_mutex_;
  std::condition_variable my_turn_;
  std::int64_t merged_ = 0;
  bool abandoned_ = false;  ///< A thread gave up; no later piece can be merged.
  Stage stage_ = Stage::kPrologue;
  bool recovering_ = false;  ///< See EventsReader::Run().
  bool bare_array_ = false;
  TextBuffer carry_;
  std::int64_t carry_offset_ = 0;

  const std::string& path_;
  ByteSource& source_;
  TraceStore& store_;
  LateRows late_;
  Merger merger_;

 public:
  LateRows& late() { return late_; }
  Merger& merger() { return merger_; }
};

}  // namespace

Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  Reading reading(source, path, options, store);
  if (Status status = reading.Run(); !status.ok()) return status;
  DropLostStamps(reading.late(), store);
  // A copy already states the kinds of its events.
  const bool is_copy = !store.metadata.copied_from.empty();
  const bool is_named = !is_copy && SettleNamedTracks(store);
  const bool is_xla = !is_copy && !is_named && SettleXlaTracks(store);
  if (is_xla) store.metadata.format = kXlaJsonFormat;
  if (!is_xla && !is_named && !is_copy) SettleAscendTracks(store);
  store.metadata.file_bytes = std::max(source.file_bytes(), source.file_bytes_read());
  CountOutOfOrder(store);
  SettleTimeUnit(reading.late(), store);
  const TraceExtent extent = ExtentOf(reading.late(), store);
  ClipOverflowingSpans(extent, store);
  PairHalfSpans(reading.late(), reading.merger(), store);
  ClipOverflowingSpans(extent, store);  // Clips the spans that PairHalfSpans() added.
  if (!is_xla && !is_named) SettlePlainSpans(store);
  if (store.metadata.format.empty()) store.metadata.format = kKinetoFormat;
  store.Freeze(options.threads);
  ClipOverflowingTasks(extent, store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while reading, which requires about 120 bytes per "
                             "event; free memory, or use a larger machine");
}

}  // namespace headroom::kineto
