// From CUPTI's records to events of our ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "capture/activity_ring.h"
#include "capture/cupti/cupti_api.h"
#include "capture/cupti/library.h"

namespace headroom::cupti {

/// Writes what buffers hold. Any thread may call, also several at a time.
///
/// Time. Where CUPTI asks us for the time (a timestamp callback), its stamps are ticks already.
/// Where it does not, they are nanoseconds of a clock of its own, which Anchor() ties to ours each
/// time before it is asked for its records. A record without a start, or with one that cannot be,
/// is dropped and counted: CUPTI writes 0 where it could not keep the time (kineto issue 109).
class RecordWriter {
 public:
  /// Both must outlive the writer, and the library be open before the first buffer comes.
  RecordWriter(const Library* library, activity::Ring* ring) : library_(library), ring_(ring) {}

  /// From here on stamps are CUPTI's own; see Anchor(). Before the first record.
  void UseCuptiTime() { own_time_ = false; }
  /// Reads both clocks; nothing to do where stamps are ours.
  void Anchor();

  /// Writes the records of a buffer. CUPTI is called without a lock.
  void WriteBuffer(std::uint8_t* buffer, std::size_t valid);

  /// Asks again who a thread is: numbers of threads that ended come back.
  void ForgetThreads();

  /// Driver calls wait for the runtime call that may be around them, whose record comes later. This
  /// writes those that waited at the last call already; or all.
  void WriteHeld(bool all);

  /// Tells the recording something about itself. Returns whether it found room.
  /// @param text  null: none
  bool Say(const char* what, std::int64_t value, const char* text,
           activity::Severity severity = activity::Severity::kInfo);

  /// Records without a time since the last call.
  std::int64_t TakeUntimed() { return untimed_.exchange(0); }
  void AddUntimed(std::int64_t count) { untimed_ += count; }

 private:
  static constexpr std::size_t kBatch = 256;
  static constexpr std::size_t kHeld = 256;      ///< Driver calls that wait.
  static constexpr std::size_t kCalls = 4096;    ///< Callback ids whose names are kept.
  static constexpr std::size_t kKernels = 4096;  ///< Kernels whose names are kept.
  static constexpr std::size_t kThreads = 256;   ///< Threads that are kept, by number.

  struct Interval {
    std::uint64_t start, end;
  };
  struct HeldCall {
    Interval time;
    std::uint32_t name, tid, correlation;
    bool seen;  ///< At a call of WriteHeld().
  };
  struct KernelName {
    const char* text;
    std::uint32_t name;
  };

  /// Whether a thread is one that Headroom started in the program.
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

  /// Into ticks. Returns whether both are times; if not, the record is counted.
  bool ToTicks(std::uint64_t start, std::uint64_t end, Interval* out);
  std::uint32_t NameOfKernel(const char* text);

  const Library* library_;
  bool own_time_ = true;
  std::uint64_t begin_ticks_ = headroom_impl_ticks(headroom_impl_state_v1.clock);
  std::atomic<std::int64_t> untimed_ = 0;
  /// Of runtime and driver; 0: not yet. Filled without the lock, since CUPTI is asked.
  std::atomic<std::uint32_t> call_names_[2][kCalls] = {};
  /// Twice the number, and 1 where it is ours; 0: nobody. Without the lock: a file is read.
  std::atomic<std::uint64_t> threads_[kThreads] = {};

  std::mutex mutex_;  ///< Of all below.
  activity::Ring* ring_;
  std::uint64_t latest_ticks_ = 0;  ///< No record of the batch can be later.
  std::uint64_t anchor_ticks_ = 0, anchor_stamp_ = 0;
  double ticks_per_ns_ = 1;
  HeldCall held_[kHeld];
  std::size_t held_count_ = 0;
  KernelName kernel_names_[kKernels] = {};
  std::uint32_t copy_names_[16][8][8] = {};
};

}  // namespace headroom::cupti
