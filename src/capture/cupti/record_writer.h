// Converts CUPTI's records to events of the ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "capture/activity_ring.h"
#include "capture/cupti/cupti_api.h"
#include "capture/cupti/library.h"

namespace headroom::cupti {

/// Writes the records of CUPTI's buffers. Thread-safe.
///
/// Time: if CUPTI supports a timestamp callback, its timestamps are ticks already. Otherwise they
/// are nanoseconds of CUPTI's own clock. Anchor() ties that clock to the tick clock before each
/// request for records. Drops and counts records whose start is 0 or impossible. CUPTI writes 0 for
/// an unknown time (kineto issue 109).
class RecordWriter {
 public:
  /// Requires that both outlive the writer, and that the library is open before the first buffer.
  RecordWriter(const Library* library, activity::Ring* ring) : library_(library), ring_(ring) {}

  /// Declares that timestamps are CUPTI's own; see Anchor(). Call it before the first record.
  void UseCuptiTime() { own_time_ = false; }
  /// Reads both clocks. Does nothing if timestamps are ticks.
  void Anchor();

  /// Writes the records of a buffer. Calls CUPTI without holding a lock. Returns the bytes behind
  /// the last record that CUPTI could read, such as behind an incomplete one.
  std::size_t WriteBuffer(std::uint8_t* buffer, std::size_t valid);

  /// Forgets the names of threads, because the system reuses thread ids.
  void ForgetThreads();

  /// Writes held driver calls: all, or only those already held at the last WriteHeld(). A driver
  /// call is held because the record of an enclosing runtime call may come later and replace it.
  void WriteHeld(bool all);

  /// Writes a diagnostic message about the recording. Returns false if the ring is full.
  /// @param text  sentence for the user; null: none
  bool Say(const char* what, std::int64_t value, const char* text,
           activity::Severity severity = activity::Severity::kInfo);

  /// Returns the number of records dropped since the last call because of an invalid time.
  std::int64_t TakeUntimed() { return untimed_.exchange(0); }
  void AddUntimed(std::int64_t count) { untimed_ += count; }

 private:
  static constexpr std::size_t kBatch = 256;
  static constexpr std::size_t kHeld = 256;      ///< Held driver calls.
  static constexpr std::size_t kCalls = 4096;    ///< Cached callback names, by id.
  static constexpr std::size_t kKernels = 4096;  ///< Cached kernel names.
  static constexpr std::size_t kThreads = 256;   ///< Cached threads, by id.

  struct Interval {
    std::uint64_t start, end;
  };
  struct HeldCall {
    Interval time;
    std::uint32_t name, tid, correlation;
    bool seen;  ///< Seen by an earlier WriteHeld().
  };
  struct KernelName {
    const char* text;
    std::uint32_t name;
  };

  /// Returns true if Headroom started the thread in the program.
  bool IsOurThread(std::uint32_t tid);
  void NameCall(const Api& record);
  void WriteBatch(const Activity* const* records, std::size_t count);
  void WriteRecord(const Activity& record);
  void WriteKernel(const Kernel& record);
  template <typename Copy>
  void WriteCopy(const Copy& record);
  void WriteMemset(const Memset& record);
  void WriteRuntimeCall(const Api& record);
  void HoldDriverCall(const Api& record);
  void WriteDriverCall(const HeldCall& call);
  void WriteOverhead(const Overhead& record);
  void WriteSync(const Sync& record);
  void WriteMarker(const Marker& record);
  void WriteNaming(const NameRecord& record);

  /// Converts to ticks. Returns false and counts the record if a time is invalid.
  bool ToTicks(std::uint64_t start, std::uint64_t end, Interval* out);
  std::uint32_t NameOfKernel(const char* text);

  const Library* library_;
  bool own_time_ = true;
  std::uint64_t begin_ticks_ = headroom_impl_ticks(headroom_impl_state_v1.clock);
  std::atomic<std::int64_t> untimed_ = 0;
  /// Name ids of runtime and driver calls; 0: not looked up yet. Filled without the lock, because
  /// the lookup calls CUPTI.
  std::atomic<std::uint32_t> call_names_[2][kCalls] = {};
  /// Twice the thread id, plus 1 for Headroom's own threads; 0: free. Used without the lock,
  /// because the lookup reads a file.
  std::atomic<std::uint64_t> threads_[kThreads] = {};

  std::mutex mutex_;  ///< Guards all members below.
  activity::Ring* ring_;
  /// Ticks at the start of the current batch: no record is later.
  std::uint64_t latest_ticks_ = 0;
  std::uint64_t anchor_ticks_ = 0, anchor_stamp_ = 0;
  double ticks_per_ns_ = 1;
  HeldCall held_[kHeld];
  std::size_t held_count_ = 0;
  KernelName kernel_names_[kKernels] = {};
  std::uint32_t copy_names_[16][8][8] = {};
};

}  // namespace headroom::cupti
