// Writes events to a separate ring, for a producer that is not a thread, such as a GPU.
#pragma once

#include <headroom/timer.h>

#include <cstdint>
#include <cstring>

#include "capture/activity.h"

namespace headroom::activity {

/// The ring of one producer, in the memory that this image shares with the recorder. The reader
/// sees an event completely or not at all. An event that does not fit counts as dropped.
///
/// Not thread-safe: only one thread may write at a time. The ring is never closed, so the recorder
/// can read its last events after the process dies. A forked child must not write: the memory
/// belongs to its parent.
class Ring {
 public:
  /// Reserves a ring. Returns false without a recorder, with HEADROOM=0, and if no ring is free.
  /// @param name  display name of the ring; cut after 63 bytes
  bool Open(const char* name) {
    if (!headroom_recorded()) return false;
    pthread_mutex_lock(&headroom_impl_state_v1.lock);
    headroom_impl_open_ring(&out_, HEADROOM_RING_ACTIVITY, /*tid=*/0, /*device=*/0, /*stream=*/0,
                            name);
    pthread_mutex_unlock(&headroom_impl_state_v1.lock);
    return out_.ring != nullptr;
  }

  /// Returns true if the recorder wants events now (Control::capture).
  bool capture_wanted() const {
    return __atomic_load_n(&ControlOf(out_.ring)->capture, __ATOMIC_ACQUIRE) != 0;
  }

  /// Writes an event with `payload`, followed by `more` if not null. Returns false if the ring is
  /// full.
  template <typename Payload, typename More = Payload>
  bool Write(Kind kind, std::uint64_t ticks, std::uint32_t name, const Payload& payload,
             const More* more = nullptr) {
    const std::uint32_t count = kRecords<Payload> + (more != nullptr ? kRecords<More> : 0);
    if (!headroom_impl_room(&out_, 1 + count)) return false;
    headroom_impl_write(&out_, ticks, name, static_cast<std::uint32_t>(kind) | count << 8);
    WritePayload(payload);
    if (more != nullptr) WritePayload(*more);
    headroom_impl_publish(&out_);
    return true;
  }

 private:
  template <typename Payload>
  void WritePayload(const Payload& payload) {
    static_assert(sizeof payload % sizeof(headroom_record) == 0);
    headroom_record whole[kRecords<Payload>];
    std::memcpy(whole, &payload, sizeof payload);
    for (const headroom_record& record : whole)
      headroom_impl_write(&out_, record.ticks, record.name, record.info);
  }

  headroom_impl_writer out_ = {};
};

}  // namespace headroom::activity
