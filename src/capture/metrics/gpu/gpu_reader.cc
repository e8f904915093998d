#include "capture/metrics/gpu/gpu_reader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "capture/metrics/board/clock.h"

namespace headroom {

/// One thread, the server, reads the requested parts one after the other. If a part blocks the
/// server too long, the blocked thread keeps only this part, and a new server starts. From then on,
/// late parts are read on separate threads.
class GpuReader::Work : public std::enable_shared_from_this<GpuReader::Work> {
 public:
  explicit Work(Open open) : open_(std::move(open)) {}

  /// Starts the server.
  void Start() {
    const std::lock_guard lock(mutex_);
    StartThread([this] {
      std::unique_ptr<GpuSource> source = open_();
      {
        const std::lock_guard opened(mutex_);
        source_ = std::move(source);
        if (source_ != nullptr) slots_.resize(source_->parts().size());
        opened_ = true;
        changed_.notify_all();
      }
      Serve();
    });
  }

  /// Returns true if the library opens within `patience`.
  bool Opened(DurationNs patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, Nanoseconds(patience), [this] { return opened_; });
  }
  /// Returns null if there is no library. REQUIRES: Opened() has returned true.
  GpuSource* source() { return source_.get(); }

  /// Requests all parts that are not being read, and waits for those that were not late.
  void Read(const SampleRun& run, DurationNs patience);

  /// Returns true if the part was read for this sample. The caller then owns the part until the
  /// next Read().
  bool Answered(std::size_t part) {
    const std::lock_guard lock(mutex_);
    return slots_[part].state == State::kRead && slots_[part].sample == sample_;
  }
  DurationNs cpu_time() {
    const std::lock_guard lock(mutex_);
    return cpu_time_;
  }

  /// Ends all threads that are not blocked in a driver. If none is blocked, waits until the last
  /// thread has closed the library.
  void End(DurationNs patience) {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    const bool stuck = !opened_ || std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
      return slot.late && slot.state == State::kReading;
    });
    if (!stuck) changed_.wait_for(lock, Nanoseconds(patience), [this] { return closed_; });
  }

 private:
  enum class State {
    kRead,     ///< Read, or never requested.
    kAsked,    ///< Waits for the server.
    kReading,  ///< A thread reads it.
  };
  struct Slot {
    State state = State::kRead;
    bool late = false;        ///< Missed its time limit, and has not answered in time since.
    bool by_server = false;   ///< The server reads it.
    std::int64_t sample = 0;  ///< Number of the sample for which it was last read.
    TimeNs since;             ///< Begin of the current reading.
  };
  /// State of a reading thread.
  struct Reading {
    ReadBuffer buffer;
    TimeNs cpu;  ///< CPU time counted so far.
  };

  static std::chrono::nanoseconds Nanoseconds(DurationNs time) {
    return std::chrono::nanoseconds(time.ns());
  }

  /// The functions up to "Called without the lock" require that the lock is held.
  template <typename Body>
  void StartThread(Body body) {
    ++threads_;
    std::thread([self = shared_from_this(), body] {
      body();
      self->Leave();
    }).detach();
  }
  void BeginReading(Slot& slot, bool by_server) {
    slot.state = State::kReading;
    slot.by_server = by_server;
    slot.sample = sample_;
    slot.since = MonotonicNow();
  }
  void ReadAlone(std::size_t part) {
    BeginReading(slots_[part], /*by_server=*/false);
    StartThread([this, part] {
      Reading reading;
      std::unique_lock lock(mutex_);
      ReadPart(part, lock, reading);
    });
  }
  void GiveUp(Slot& slot) {
    slot.late = true;
    if (slot.by_server) StartThread([this] { Serve(); });
    slot.by_server = false;
  }
  std::optional<std::size_t> NextAsked() const {
    const auto found = std::find_if(slots_.begin(), slots_.end(),
                                    [](const Slot& slot) { return slot.state == State::kAsked; });
    if (found == slots_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - slots_.begin());
  }
  bool Done() const {
    return std::all_of(slots_.begin(), slots_.end(),
                       [](const Slot& slot) { return slot.state == State::kRead || slot.late; });
  }
  /// Reads a part in state kReading. Releases the lock during the reading.
  void ReadPart(std::size_t number, std::unique_lock<std::mutex>& lock, Reading& reading);

  // Called without the lock:
  void Serve();
  void Leave();

  const Open open_;

  /// Guards all members below, except a part that is being read: its thread owns it.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<GpuSource> source_;
  std::vector<Slot> slots_;  ///< One slot per part.
  DurationNs cpu_time_;
  DurationNs patience_;
  std::int64_t sample_ = 0;
  TimeNs now_;
  bool edge_ = false, slow_ = false;
  bool opened_ = false, ending_ = false, closed_ = false;
  int threads_ = 0;
};

void GpuReader::Work::Read(const SampleRun& run, DurationNs patience) {
  std::unique_lock lock(mutex_);
  ++sample_;
  now_ = run.now;
  edge_ = run.edge;
  slow_ = run.slow;
  patience_ = patience;
  for (std::size_t part = 0; part < slots_.size(); ++part) {
    if (slots_[part].state != State::kRead) continue;
    if (slots_[part].late) {
      ReadAlone(part);
    } else {
      slots_[part].state = State::kAsked;
    }
  }
  changed_.notify_all();
  const TimeNs begin = MonotonicNow();
  const auto wait_until = [&](TimeNs time) {
    const DurationNs left = std::max(DurationNs(), time - MonotonicNow());
    return changed_.wait_for(lock, Nanoseconds(left), [this] { return Done(); });
  };
  if (wait_until(begin + patience)) return;
  // One part blocks the server, or all parts together are slow. Reads each remaining part on a
  // separate thread, with the same time limit.
  for (Slot& slot : slots_) {
    if (slot.state == State::kReading && slot.since + patience <= MonotonicNow()) GiveUp(slot);
  }
  for (std::size_t part = 0; part < slots_.size(); ++part) {
    if (slots_[part].state == State::kAsked) ReadAlone(part);
  }
  if (wait_until(MonotonicNow() + patience)) return;
  for (Slot& slot : slots_) {
    if (slot.state == State::kReading && !slot.late) GiveUp(slot);
  }
}

void GpuReader::Work::ReadPart(std::size_t number, std::unique_lock<std::mutex>& lock,
                               Reading& reading) {
  GpuPart& part = source_->parts()[number];
  SampleRun run{
      .board = part.board, .buffer = reading.buffer, .now = now_, .edge = edge_, .slow = slow_};
  lock.unlock();
  part.board.Begin();
  part.probes.Read(run);
  const TimeNs cpu = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  lock.lock();
  cpu_time_ = cpu_time_ + (cpu - std::exchange(reading.cpu, cpu));
  Slot& slot = slots_[number];
  slot.state = State::kRead;
  if (MonotonicNow() - slot.since <= patience_) slot.late = false;
  if (Done()) changed_.notify_all();
}

void GpuReader::Work::Serve() {
  Reading reading;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || NextAsked().has_value(); });
    if (ending_) return;
    const std::size_t part = *NextAsked();
    BeginReading(slots_[part], /*by_server=*/true);
    ReadPart(part, lock, reading);
    if (!slots_[part].by_server) return;  // A new server has started.
  }
}

void GpuReader::Work::Leave() {
  std::unique_lock lock(mutex_);
  if (--threads_ > 0) return;  // The server counts until End().
  std::unique_ptr<GpuSource> source = std::move(source_);
  lock.unlock();
  source.reset();  // Without the lock, because closing the library calls the driver.
  lock.lock();
  closed_ = true;
  changed_.notify_all();
}

GpuReader::GpuReader(Open open, MetricBoard& board, GpuPatience patience)
    : work_(std::make_shared<Work>(std::move(open))), patience_(patience) {
  work_->Start();
  silent_ = {"the GPUs' driver"};
  if (work_->Opened(patience_.to_open)) Join(board);
}

GpuReader::~GpuReader() { work_->End(patience_.to_read); }

void GpuReader::Join(MetricBoard& board) {
  open_ = true;
  silent_.clear();
  if (work_->source() == nullptr) return;
  gpus_ = work_->source()->gpus();
  for (const GpuPart& part : work_->source()->parts()) {
    std::vector<MetricBoard::Id>& ids = ids_.emplace_back();
    for (const Metric& metric : part.board.metrics()) ids.push_back(board.AddComputed(metric));
  }
}

void GpuReader::Read(SampleRun& run) {
  if (!open_) {
    if (!work_->Opened(DurationNs())) return;
    Join(run.board);
  }
  if (work_->source() == nullptr) return;
  work_->Read(run, patience_.to_read);
  cpu_time_ = work_->cpu_time();
  silent_.clear();
  std::vector<ResourceUser>& users = run.board.users();
  for (std::size_t part = 0; part < ids_.size(); ++part) {
    const GpuPart& of = work_->source()->parts()[part];
    if (!work_->Answered(part)) {
      silent_.push_back(of.instance.empty() ? "the driver's query for GPU processes" : of.instance);
      continue;
    }
    const Reading& reading = of.board.reading();
    for (std::size_t i = 0; i < ids_[part].size(); ++i) {
      run.board.SetComputed(ids_[part][i], reading.values[i], reading.totals[i]);
    }
    users.insert(users.end(), reading.users.begin(), reading.users.end());
  }
}

}  // namespace headroom
