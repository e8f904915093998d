// Writes events to a ring of their own: for a producer that is no thread, such as a GPU.
#pragma once

#include <headroom/timer.h>

#include <cstdint>
#include <cstring>

#include "capture/activity.h"

namespace headroom::activity {

/// The ring of one producer, in the memory that this image shares with the recorder. An event is
/// there for the reader whole or not at all; one that finds no room is counted as dropped.
///
/// One writer at a time; there is no lock in here. Never closed: what a producer still has to say
/// while the process ends is read after its death. A forked child must not write: the memory is its
/// parent's.
class Ring {
 public:
  /// Takes a ring. Returns whether there is one: there is none without a recorder, with HEADROOM=0,
  /// and where all are taken.
  /// @param name  for people; cut after 63 bytes
  bool Open(const char* name) {
    if (!headroom_recorded()) return false;
    headroom_impl_state& state = headroom_impl_state_v1;
    pthread_mutex_lock(&state.lock);
    ring_ = headroom_impl_take_ring(HEADROOM_RING_ACTIVITY);
    if (ring_ != nullptr) {
      ring_->tid = 0;
      std::memset(ring_->name, 0, sizeof ring_->name);
      std::strncpy(ring_->name, name, sizeof ring_->name - 1);
      ControlOf(ring_)->capture = 0;
      records_ = headroom_records_of(ring_);
      mask_ = state.shared->ring_records - 1;
      head_ = HEADROOM_IMPL_GET(ring_->head);
      tail_ = head_;
      HEADROOM_IMPL_PUT(ring_->state, HEADROOM_RING_OPEN);
    }
    pthread_mutex_unlock(&state.lock);
    return ring_ != nullptr;
  }

  /// Whether the recorder wants what happens now (Control).
  bool capture_wanted() const {
    return __atomic_load_n(&ControlOf(ring_)->capture, __ATOMIC_ACQUIRE) != 0;
  }

  /// Writes an event of `payload`, and of `more` if it is not null. Returns whether it found room.
  template <typename Payload, typename More = Payload>
  bool Write(Kind kind, std::uint64_t ticks, std::uint32_t name, const Payload& payload,
             const More* more = nullptr) {
    const std::uint32_t count = kRecords<Payload> + (more != nullptr ? kRecords<More> : 0);
    if (!HasRoom(count + 1)) return false;
    Put({ticks, name, static_cast<std::uint32_t>(kind) | count << 8});
    PutPayload(payload);
    if (more != nullptr) PutPayload(*more);
    HEADROOM_IMPL_PUT(ring_->head, head_);
    return true;
  }

 private:
  bool HasRoom(std::uint32_t records) {
    if (head_ + records - tail_ <= mask_ + 1) return true;
    tail_ = HEADROOM_IMPL_GET(ring_->tail);
    if (head_ + records - tail_ <= mask_ + 1) return true;
    HEADROOM_IMPL_PUT(ring_->dropped, ring_->dropped + 1);
    return false;
  }

  void Put(const headroom_record& record) { records_[head_++ & mask_] = record; }

  template <typename Payload>
  void PutPayload(const Payload& payload) {
    static_assert(sizeof payload % sizeof(headroom_record) == 0);
    headroom_record whole[kRecords<Payload>];
    std::memcpy(whole, &payload, sizeof payload);
    for (const headroom_record& record : whole) Put(record);
  }

  headroom_ring* ring_ = nullptr;
  headroom_record* records_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0, tail_ = 0;  ///< `tail_` as last seen.
};

}  // namespace headroom::activity
