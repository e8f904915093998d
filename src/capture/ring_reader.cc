#include "capture/ring_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "capture/metrics/board/clock.h"

namespace headroom {
namespace {

std::uint32_t KindOf(const headroom_record& record) { return record.info & 0xff; }
std::uint32_t SerialOf(const headroom_record& record) { return record.info >> 8; }

/// Prefix of counters for the program's settings, which apply to all steps.
constexpr std::string_view kSetting = "setting.";
/// Prefix of marks that state a software version: "headroom.version pytorch 2.7.1".
constexpr std::string_view kVersion = "headroom.version ";

/// Maximum number of open regions per ring. A collector opens at most 256.
constexpr std::size_t kMaxOpen = 512;

/// Far more than a stack of Headroom's own collector, which keeps 256 frames.
constexpr std::size_t kMaxStackBytes = std::size_t{1} << 20;

/// Returns the number of payload records after a record of `kind`.
std::uint64_t PayloadOf(std::uint32_t kind) {
  return kind == HEADROOM_KIND_STEP || kind == HEADROOM_KIND_COUNTER ||
                 kind == HEADROOM_KIND_GRADIENT || kind == HEADROOM_KIND_STACK
             ? 1
             : 0;
}

/// Returns the string in a fixed-size field, up to its first null byte.
std::string TextOf(const char* field, std::size_t size) {
  return std::string(field, strnlen(field, size));
}

}  // namespace

RingReader::RingReader(SharedMemory memory, const TickClock* clock, ThreadTracks* threads,
                       StepGate* gate)
    : memory_(std::move(memory)),
      clock_(clock),
      threads_(threads),
      encoder_(&threads->encoder()),
      gate_(gate),
      rings_(memory_.rings()),
      activity_(threads, clock, gate) {}

TraceEncoder::Name RingReader::NameOf(std::uint32_t id) {
  if (id < names_.size() && names_[id] != 0) return names_[id];
  const std::string_view text = memory_.Name(id);
  // An id without a string means damaged data, but the event still happened.
  if (text.data() == nullptr) return encoder_->Intern("(unknown)");
  if (id >= names_.size()) names_.resize(std::bit_ceil(std::size_t{id} + 1));
  return names_[id] = encoder_->Intern(text);
}

void RingReader::OpenTrack(const headroom_ring& from, Ring& ring) {
  ring.open.clear();
  if (from.kind == HEADROOM_RING_STREAM) {
    ring.track = encoder_->ChildTrack(
        threads_->process(), fmt::format("GPU {} stream {} regions", from.device, from.stream));
  } else {
    ring.track = threads_->Of(from.tid, TextOf(from.name, sizeof from.name), this);
  }
}

void RingReader::Look() {
  for (std::uint32_t i = 0; i < rings_.size(); ++i) {
    headroom_ring* from = memory_.ring(i);
    Ring& ring = rings_[i];
    // Reads the state before the head: the head of a closed ring is final.
    ring.state = __atomic_load_n(&from->state, __ATOMIC_ACQUIRE);
    ring.head = __atomic_load_n(&from->head, __ATOMIC_ACQUIRE);
    // An impossible head means that the process corrupted the ring. Ignores its new records.
    if (ring.head < ring.tail || ring.head - ring.tail > memory_.ring_records())
      ring.head = ring.tail;
    if (gate_->limited()) FindSteps(i);
  }
}

std::int64_t RingReader::Drain() {
  std::int64_t events = 0;
  for (std::uint32_t i = 0; i < rings_.size(); ++i) {
    if (rings_[i].state == HEADROOM_RING_FREE) continue;
    if (memory_.ring(i)->kind == HEADROOM_RING_ACTIVITY) {
      DrainActivity(i);  // Flush() counts its events.
    } else {
      events += DrainRing(i);
    }
    Release(i);
  }
  return events + activity_.Flush();
}

void RingReader::Finish() {
  for (Ring& ring : rings_) {
    if (ring.decoder != nullptr) ring.decoder->Finish(activity_);
  }
  activity_.Flush();
}

void RingReader::CloseOpen() {
  for (Ring& ring : rings_) {
    for (const Open& open : ring.open) {
      if (open.written) encoder_->End(ring.track, ring.last);
    }
    ring.open.clear();
  }
}

void RingReader::DrainActivity(std::uint32_t i) {
  Ring& ring = rings_[i];
  if (gate_->limited()) {
    const bool wanted = gate_->Near() || activity_.Settling();
    __atomic_store_n(&activity::ControlOf(memory_.ring(i))->capture, wanted ? 1U : 0U,
                     __ATOMIC_RELAXED);
  }
  if (ring.decoder == nullptr) {
    ring.decoder = std::make_unique<activity::Decoder>(
        [this](std::uint32_t name) { return memory_.Name(name); });
  }
  const std::uint64_t size = memory_.ring_records();
  while (ring.tail < ring.head) {  // Runs twice if the ring wraps around.
    const std::uint64_t at = ring.tail & (size - 1);
    const std::uint64_t count = std::min(ring.head - ring.tail, size - at);
    ring.decoder->Decode(std::span(memory_.records(i) + at, count), activity_);
    ring.tail += count;
  }
}

void RingReader::FindSteps(std::uint32_t i) {
  Ring& ring = rings_[i];
  if (ring.state == HEADROOM_RING_FREE || memory_.ring(i)->kind != HEADROOM_RING_THREAD) return;
  const headroom_record* records = memory_.records(i);
  const std::uint64_t mask = memory_.ring_records() - 1;
  for (std::uint64_t at = ring.tail; at < ring.head;) {
    const headroom_record& record = records[at & mask];
    const std::uint32_t kind = KindOf(record);
    if (kind == HEADROOM_KIND_STEP) {
      const auto number = static_cast<std::int64_t>(records[(at + 1) & mask].ticks);
      gate_->SawStep(number, record.ticks, MonotonicNow());
      ring.last_step = gate_->IsLast(number) ? SerialOf(record) : kNoSerial;
    } else if (kind == HEADROOM_KIND_END && SerialOf(record) == ring.last_step) {
      gate_->SawEnd(record.ticks);
      ring.last_step = kNoSerial;
    } else if (kind == HEADROOM_KIND_MARK && ring.last_step != kNoSerial &&
               memory_.Name(record.name) == "step.empty") {
      // An empty step does not count: the next step has the same number.
      ring.last_step = kNoSerial;
    }
    at += 1 + PayloadOf(kind);
  }
}

void RingReader::BeginSlice(Ring& ring, const Open& open, TimeNs time, TraceEncoder::Name category,
                            std::int64_t ends_ago) {
  std::array<TraceArg, 2> args;
  std::size_t count = 0;
  if (open.step) args[count++] = {"step", open.number};
  if (ends_ago > 0) args[count++] = {"continues", ends_ago};
  const TraceEncoder::Name name = open.step ? encoder_->Intern("step") : NameOf(open.name);
  encoder_->Begin(ring.track, time, name, open.step ? encoder_->Category("step") : category,
                  std::span(args.data(), count));
}

void RingReader::EndSlice(Ring& ring, std::uint32_t serial, TimeNs time,
                          TraceEncoder::Name category) {
  const auto found = std::find_if(ring.open.rbegin(), ring.open.rend(),
                                  [&](const Open& open) { return open.serial == serial; });
  if (found == ring.open.rend()) return;
  const auto ends = std::prev(found.base());
  for (auto open = std::prev(ring.open.end());; --open) {
    if (open->written) encoder_->End(ring.track, time);
    if (open == ends) break;
  }
  std::int64_t ends_ago = ends->written ? 1 : 0;
  for (auto open = std::next(ends); open != ring.open.end(); ++open) {
    if (open->written) BeginSlice(ring, *open, time, category, ++ends_ago);
  }
  ring.open.erase(ends);
}

std::int64_t RingReader::DrainRing(std::uint32_t i) {
  headroom_ring* from = memory_.ring(i);
  Ring& ring = rings_[i];
  const std::uint64_t head = ring.head;
  if (ring.track == 0 && head != ring.tail) OpenTrack(*from, ring);

  const headroom_record* records = memory_.records(i);
  const std::uint64_t mask = memory_.ring_records() - 1;
  const TraceEncoder::Name category =
      encoder_->Category(from->kind == HEADROOM_RING_STREAM ? "gpu_region" : "region");
  std::int64_t events = 0;
  while (ring.tail < head) {
    const headroom_record record = records[ring.tail & mask];
    const std::uint32_t kind = KindOf(record);
    const std::uint64_t payload = PayloadOf(kind);
    if (ring.tail + payload >= head) break;
    const std::uint64_t value = payload > 0 ? records[(ring.tail + 1) & mask].ticks : 0;
    ring.tail += 1 + payload;
    const bool wanted = gate_->Open(record.ticks);
    // Counters of two cores may differ by some ticks. Within a track, time must not run backwards.
    const TimeNs time =
        std::clamp(clock_->TimeOf(record.ticks), ring.last, std::max(ring.last, clock_->Latest()));
    ring.last = time;
    // A program's events: samples of its stacks are the recorder's.
    events += wanted && kind != HEADROOM_KIND_END && kind < HEADROOM_KIND_FRAME;
    switch (kind) {
      case HEADROOM_KIND_BEGIN:
      case HEADROOM_KIND_STEP: {
        const Open open{.name = record.name,
                        .serial = SerialOf(record),
                        .step = kind == HEADROOM_KIND_STEP,
                        .number = static_cast<std::int64_t>(value),
                        .written = wanted};
        if (ring.open.size() >= kMaxOpen) break;  // Headroom's collectors open fewer regions.
        ring.open.push_back(open);
        if (wanted) BeginSlice(ring, open, time, category);
        break;
      }
      case HEADROOM_KIND_END:
        EndSlice(ring, SerialOf(record), time, category);
        break;
      case HEADROOM_KIND_MARK:
        // A program's software versions apply to all its steps.
        if (memory_.Name(record.name).starts_with(kVersion)) {
          encoder_->Instant(ring.track, time, NameOf(record.name), encoder_->Category("headroom"));
        } else if (wanted) {
          encoder_->Instant(ring.track, time, NameOf(record.name), category);
        }
        break;
      case HEADROOM_KIND_GRADIENT:
        if (wanted) {
          const TraceArg bytes{"bytes", static_cast<std::int64_t>(value)};
          encoder_->Instant(ring.track, time, NameOf(record.name), encoder_->Category("gradient"),
                            std::span(&bytes, 1));
        }
        break;
      case HEADROOM_KIND_COUNTER:
        if (wanted || memory_.Name(record.name).starts_with(kSetting)) {
          auto [track, is_new] = counters_.try_emplace(record.name);
          if (is_new)
            track->second =
                encoder_->CounterTrack(threads_->process(), memory_.Name(record.name), "");
          encoder_->Counter(track->second, time, std::bit_cast<double>(value));
        }
        break;
      case HEADROOM_KIND_FRAME:
        if (ring.frames.size() > kMaxStackBytes) break;
        if (!ring.frames.empty()) ring.frames += ';';
        ring.frames += memory_.Name(record.name);
        break;
      case HEADROOM_KIND_STACK:
        if (wanted && !ring.frames.empty()) {
          const TraceArg samples{"samples", static_cast<std::int64_t>(value)};
          encoder_->Instant(ring.track, time, encoder_->Intern(ring.frames),
                            encoder_->Category("stack"), std::span(&samples, 1));
        }
        ring.frames.clear();
        break;
      default:
        break;  // A kind of a later version, or its payload: skipped.
    }
  }
  return events;
}

void RingReader::Release(std::uint32_t i) {
  headroom_ring* from = memory_.ring(i);
  Ring& ring = rings_[i];
  __atomic_store_n(&from->tail, ring.tail, __ATOMIC_RELEASE);
  if (ring.state != HEADROOM_RING_CLOSED || ring.tail != ring.head) return;
  // The next owner is another thread with its own track.
  freed_drops_ += __atomic_load_n(&from->dropped, __ATOMIC_RELAXED);
  for (const Open& open : ring.open) {
    if (open.written) encoder_->End(ring.track, ring.last);
  }
  ring.track = 0;
  ring.open.clear();
  ring.frames.clear();
  ring.last = TimeNs();
  ring.decoder.reset();
  __atomic_store_n(&from->state, HEADROOM_RING_FREE, __ATOMIC_RELEASE);
}

std::uint64_t RingReader::ring_drops() const {
  std::uint64_t drops = freed_drops_;
  for (std::uint32_t i = 0; i < rings_.size(); ++i) {
    const headroom_ring* ring = memory_.ring(i);
    if (__atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) != HEADROOM_RING_FREE)
      drops += __atomic_load_n(&ring->dropped, __ATOMIC_RELAXED);
  }
  return drops;
}

}  // namespace headroom
