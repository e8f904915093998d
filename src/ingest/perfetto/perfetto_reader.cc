#include "ingest/perfetto/perfetto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/perfetto_fields.h"
#include "base/protobuf_reader.h"
#include "ingest/input/row_budget.h"
#include "ingest/input/trace_extent.h"
#include "ingest/perfetto/clocks.h"
#include "ingest/perfetto/inflate.h"
#include "ingest/perfetto/packet_stream.h"
#include "ingest/perfetto/row_writer.h"
#include "ingest/perfetto/tracks.h"
#include "store/trace_formats.h"

namespace headroom::perfetto {
namespace {

/// Reads one file into a store.
class FileReading {
 public:
  FileReading(ByteSource& source, const std::string& path, const ReadOptions& options,
              TraceStore& store)
      : source_(source),
        path_(path),
        options_(options),
        store_(store),
        tracks_(store),
        budget_(options.expansion),
        rows_(store, tracks_, budget_),
        row_budget_(path, options.expansion, source) {}

  Status Run() {
    PacketStream packets(source_, options_.chunk_bytes, options_.max_packet_bytes, store_.log);
    constexpr std::int64_t kBytesBetweenReports = std::int64_t{1} << 20;
    std::int64_t reported = 0;
    Packet packet;
    for (;;) {
      const Result<bool> found = packets.Next(packet);
      if (!found.ok()) return found.status();
      if (!found.value()) break;
      budget_.HasRead(source_.file_bytes_read());
      Add(packet, /*depth=*/0);
      if (!status_.ok()) return status_;
      if (options_.progress && packets.bytes() - reported >= kBytesBetweenReports) {
        reported = packets.bytes();
        options_.progress(source_.file_bytes_read());
      }
    }
    if (!source_.damage().empty()) {
      store_.log.Add(ImportIssue::kCutCompression, packets.bytes(), std::string(source_.damage()));
    } else if (source_.has_trailing_bytes()) {
      store_.log.Add(ImportIssue::kCutCompression, packets.bytes(),
                     "bytes after the compressed stream are unreadable");
    }
    rows_.CloseSlices(sequences_);
    tracks_.Settle();
    rows_.SettleMetadata();
    store_.metadata.base_time_ns = clocks_.unix_time_ns();
    return Status::Ok();
  }

 private:
  Sequence& SequenceOf(std::uint32_t id) {
    if (last_sequence_ < sequences_.size() && sequences_[last_sequence_].id == id)
      return sequences_[last_sequence_];
    const auto [it, is_new] =
        sequence_numbers_.try_emplace(id, static_cast<std::uint32_t>(sequences_.size()));
    if (is_new) {
      Sequence& sequence = sequences_.emplace_back();
      sequence.id = id;
      sequence.number = it->second;
    }
    last_sequence_ = it->second;
    return sequences_[it->second];
  }

  void Add(const Packet& packet, int depth) {
    if (!packet.deflated.empty() || !packet.zstd.empty()) return AddCompressed(packet, depth);
    Sequence& sequence = SequenceOf(packet.sequence);
    if ((packet.flags & SequenceFlag::kIncrementalStateCleared) != 0) sequence.Clear();
    bool whole = true;
    if (!packet.defaults.empty()) whole = ReadDefaults(packet.defaults, sequence) && whole;
    if (!packet.interned_data.empty()) whole = Intern(packet, sequence) && whole;
    if (!packet.clock_snapshot.empty())
      whole = clocks_.AddSnapshot(sequence.id, packet.clock_snapshot) && whole;
    if (!packet.track_descriptor.empty())
      whole = tracks_.Describe(packet.track_descriptor) && whole;
    if (!packet.process_descriptor.empty()) whole = DescribeProcess(packet, sequence) && whole;
    if (!packet.thread_descriptor.empty()) whole = DescribeThread(packet, sequence) && whole;
    if (!whole) store_.log.Add(ImportIssue::kLostEvent, packet.offset, "a description is damaged");
    if (!packet.track_event.empty()) {
      if (const auto time = TimeOf(packet, sequence))
        rows_.AddTrackEvent(sequence, *time, packet.track_event, packet.offset);
    }
    if (!packet.gpu_render_stage.empty()) AddRenderStage(packet, sequence);
    if (packet.unread != 0) {
      store_.log.Add(ImportIssue::kUnreadData, packet.offset,
                     fmt::format("packet field {}", packet.unread));
    }
    const std::size_t described = tracks_.size() + sequences_.size();
    if (!row_budget_.Allows(store_.metadata.events + names_ + static_cast<std::int64_t>(described)))
      status_ = row_budget_.status();
  }

  void AddCompressed(const Packet& packet, int depth) {
    // Limits all packets together, by the size of the file. A packet of a few bytes may unpack to a
    // megabyte, and those bytes may be compressed themselves.
    const bool is_zstd = packet.deflated.empty();
    const std::string_view compressed = is_zstd ? packet.zstd : packet.deflated;
    const std::int64_t file_bytes = source_.file_bytes_read();
    const std::int64_t left = options_.expansion.BytesOf(file_bytes) - unpacked_;
    const auto limit = static_cast<std::size_t>(std::min(left, options_.max_packet_bytes - 1)) + 1;
    std::string text;
    bool whole = depth == 0 && (is_zstd ? InflateZstd(compressed, limit, text)
                                        : InflateZlib(compressed, limit, text));
    unpacked_ += static_cast<std::int64_t>(text.size());
    status_ = options_.expansion.CheckUnpacked(path_, unpacked_, file_bytes);
    ProtobufReader packets(text);
    while (status_.ok() && packets.Next()) {
      if (packets.as<TraceField>() != TraceField::kPacket) continue;
      Packet inner;
      inner.offset = packet.offset;
      if (ReadPacket(packets.bytes(), inner)) {
        Add(inner, depth + 1);
      } else {
        whole = false;
      }
    }
    if (!whole || packets.damaged())
      store_.log.Add(ImportIssue::kLostEvent, packet.offset, "compressed packets are damaged");
  }

  static bool ReadDefaults(std::string_view message, Sequence& sequence) {
    ProtobufReader reader(message);
    bool whole = true;
    while (reader.Next()) {
      if (reader.as<DefaultsField>() == DefaultsField::kTimestampClockId)
        sequence.clock = static_cast<std::uint32_t>(reader.integer());
      if (reader.as<DefaultsField>() != DefaultsField::kTrackEvent) continue;
      ProtobufReader event(reader.bytes());
      sequence.extra_tracks.clear();
      sequence.extra_double_tracks.clear();
      while (event.Next()) {
        switch (event.as<TrackEventDefaultsField>()) {
          case TrackEventDefaultsField::kTrack:
            sequence.track = event.integer();
            break;
          case TrackEventDefaultsField::kExtraCounterTracks:
            ForEachInteger(event,
                           [&](std::uint64_t uuid) { sequence.extra_tracks.push_back(uuid); });
            break;
          case TrackEventDefaultsField::kExtraDoubleCounterTracks:
            ForEachInteger(
                event, [&](std::uint64_t uuid) { sequence.extra_double_tracks.push_back(uuid); });
            break;
        }
      }
      whole = !event.damaged();
    }
    return whole && !reader.damaged();
  }

  bool Intern(const Packet& packet, Sequence& sequence) {
    bool whole = true;
    ProtobufReader reader(packet.interned_data);
    while (reader.Next()) {
      InternTable* const table = TableOf(reader.as<InternedDataField>(), sequence);
      if (table == nullptr) continue;
      ++names_;
      std::uint64_t iid = 0;
      std::string_view text;
      ProtobufReader entry(reader.bytes());
      while (entry.Next()) {
        if (entry.as<InternedField>() == InternedField::kIid) iid = entry.integer();
        if (entry.as<InternedField>() == InternedField::kText) text = entry.bytes();
      }
      if (entry.damaged() || iid == 0) {
        whole = false;
      } else if (!table->Set(iid, store_.strings.Intern(text))) {
        store_.log.Add(ImportIssue::kConflictingName, packet.offset);
      }
    }
    return whole && !reader.damaged();
  }

  static InternTable* TableOf(InternedDataField kind, Sequence& sequence) {
    switch (kind) {
      case InternedDataField::kCategories:
        return &sequence.categories;
      case InternedDataField::kEventNames:
        return &sequence.event_names;
      case InternedDataField::kDebugAnnotationNames:
        return &sequence.arg_names;
      case InternedDataField::kGpuSpecifications:
        return &sequence.gpu_names;
      case InternedDataField::kDebugAnnotationStrings:
        return &sequence.arg_texts;
    }
    return nullptr;
  }

  bool DescribeProcess(const Packet& packet, Sequence& sequence) {
    Track process;  // Names the process; the sequence's events are on its thread.
    const bool whole = tracks_.DescribeProcess(packet.process_descriptor, process);
    sequence.pid = process.pid.value_or(0);
    return whole;
  }

  bool DescribeThread(const Packet& packet, Sequence& sequence) {
    Track thread;
    const bool whole = tracks_.DescribeThread(packet.thread_descriptor, thread);
    sequence.pid = thread.pid.value_or(sequence.pid);
    sequence.thread_track = tracks_.NumberOfThread(sequence.pid, thread.tid.value_or(0));
    if (thread.name.valid()) tracks_[sequence.thread_track].name = thread.name;
    for (ProtobufReader reader(packet.thread_descriptor); reader.Next();) {
      if (reader.as<ThreadDescriptorField>() == ThreadDescriptorField::kReferenceTimestampUs)
        sequence.stamp_us = reader.signed_integer();
    }
    return whole;
  }

  void AddRenderStage(const Packet& packet, Sequence& sequence) {
    // Older render stage events list their queues and stages in a separate packet without a
    // duration.
    bool has_lists = false, is_event = false;
    for (ProtobufReader reader(packet.gpu_render_stage); reader.Next();) {
      if (reader.as<RenderStageField>() == RenderStageField::kSpecifications) {
        rows_.AddSpecifications(reader.bytes());
        has_lists = true;
      }
      is_event = is_event || reader.as<RenderStageField>() == RenderStageField::kDuration;
    }
    if (has_lists && !is_event) return;
    if (const auto time = TimeOf(packet, sequence))
      rows_.AddRenderStage(sequence, *time, packet.gpu_render_stage, packet.offset);
  }

  /// Returns the time of an event on the trace clock. If unknown, returns nullopt and adds a log
  /// entry.
  std::optional<TimeNs> TimeOf(const Packet& packet, Sequence& sequence) {
    std::uint32_t clock = packet.clock != 0 ? packet.clock : sequence.clock;
    std::uint64_t stamp = packet.timestamp;
    if (!packet.has_timestamp) {
      if (!LegacyStamp(packet.track_event, sequence, stamp)) {
        return Skip(ImportIssue::kBadTime, packet, "missing");
      }
      clock = 0;
    }
    const std::optional<TimeNs> time = clocks_.ToTrace(sequence.id, clock, stamp);
    if (!time) {
      constexpr std::uint64_t kFurthest = INT64_MAX / 4;
      if (clock == 0 || stamp > kFurthest)
        return Skip(ImportIssue::kBadTime, packet, "out of range");
      return Skip(ImportIssue::kUnknownClock, packet, fmt::format("clock {}", clock));
    }
    sequence.last = std::max(sequence.last, *time);
    return time;
  }

  std::nullopt_t Skip(ImportIssue why, const Packet& packet, std::string detail) {
    ++store_.metadata.events;
    store_.log.Add(why, packet.offset, std::move(detail));
    return std::nullopt;
  }

  /// Reads a timestamp in the event itself: microseconds, absolute or relative to the previous
  /// event.
  static bool LegacyStamp(std::string_view event, Sequence& sequence, std::uint64_t& stamp) {
    bool found = false;
    std::int64_t us = 0;
    for (ProtobufReader reader(event); reader.Next();) {
      if (reader.as<TrackEventField>() == TrackEventField::kTimestampAbsoluteUs) {
        us = reader.signed_integer();
        found = true;
      } else if (reader.as<TrackEventField>() == TrackEventField::kTimestampDeltaUs) {
        if (__builtin_add_overflow(sequence.stamp_us, reader.signed_integer(), &us)) return false;
        sequence.stamp_us = us;
        found = true;
      }
    }
    std::int64_t ns = 0;
    if (!found || __builtin_mul_overflow(us, std::int64_t{1000}, &ns)) return false;
    stamp = static_cast<std::uint64_t>(ns);
    return true;
  }

  ByteSource& source_;
  const std::string& path_;
  const ReadOptions& options_;
  TraceStore& store_;
  Clocks clocks_;
  Tracks tracks_;
  ReferenceBudget budget_;
  RowWriter rows_;
  RowBudget row_budget_;
  std::int64_t unpacked_ = 0;  ///< Bytes unpacked from compressed packets.
  std::int64_t names_ = 0;     ///< Number of interned texts, with repetitions.
  Status status_;              ///< Not ok if the file expands too much or has too many rows.
  std::vector<Sequence> sequences_;
  std::map<std::uint32_t, std::uint32_t> sequence_numbers_;  ///< Sequence numbers by id.
  std::size_t last_sequence_ = 0;
};

}  // namespace

Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  FileReading reading(source, path, options, store);
  if (Status status = reading.Run(); !status.ok()) return status;
  store.metadata.format = kPerfettoFormat;
  store.metadata.file_bytes = std::max(source.file_bytes(), source.file_bytes_read());
  const TraceExtent extent = ExtentOfStarts(store);
  ClipOverflowingSpans(extent, store);
  store.Freeze(options.threads);
  ClipOverflowingTasks(extent, store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while reading, which requires about 120 bytes per "
                             "event; free memory, or use a larger machine");
}

}  // namespace headroom::perfetto
