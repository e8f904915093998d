#include "capture/metrics/gpu_reader.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "capture/metrics/clock.h"

namespace headroom {

/// Everything but `mutex_` and what it guards belongs to the thread while it is busy, and to the
/// reader while it is idle.
class GpuReader::Work {
 public:
  explicit Work(Open open) : open_(std::move(open)) {}

  void Run();

  /// Hands the thread a sample to take. REQUIRES: it is idle, and there is a source.
  void Begin(const SampleRun& run) {
    now_ = run.now;
    edge_ = run.edge;
    slow_ = run.slow;
    const std::lock_guard lock(mutex_);
    busy_ = true;
    wake_.notify_one();
  }
  /// Whether the thread is idle, or gets so in time.
  bool Idle(DurationNs patience) {
    std::unique_lock lock(mutex_);
    return answer_.wait_for(lock, Nanoseconds(patience), [this] { return !busy_; });
  }
  /// Whether the thread has closed the library and is about to end, or gets there in time.
  bool End(DurationNs patience) {
    std::unique_lock lock(mutex_);
    ending_ = true;
    wake_.notify_one();
    return answer_.wait_for(lock, Nanoseconds(patience), [this] { return ended_; });
  }

  const MetricBoard& board() const { return board_; }
  const GpuSource* source() const { return source_.get(); }  ///< Null: there is none here.
  DurationNs cpu_time() const { return cpu_time_; }

 private:
  static std::chrono::nanoseconds Nanoseconds(DurationNs time) {
    return std::chrono::nanoseconds(time.ns());
  }
  void BecomeIdle() {
    cpu_time_ = DurationNs(ReadClock(CLOCK_THREAD_CPUTIME_ID).ns());
    const std::lock_guard lock(mutex_);
    busy_ = false;
    answer_.notify_one();
  }
  /// Whether there is a sample to take; false: the end.
  bool WaitForWork() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return busy_ || ending_; });
    return !ending_;
  }

  const Open open_;
  MetricBoard board_;
  ReadBuffer buffer_;
  std::unique_ptr<GpuSource> source_;
  DurationNs cpu_time_;
  TimeNs now_;
  bool edge_ = false, slow_ = false;

  std::mutex mutex_;
  std::condition_variable wake_, answer_;
  bool busy_ = true;  ///< Opening, at first.
  bool ending_ = false, ended_ = false;
};

void GpuReader::Work::Run() {
  source_ = open_(board_);
  BecomeIdle();
  while (WaitForWork()) {
    board_.Begin();
    SampleRun run{.board = board_, .buffer = buffer_, .now = now_, .edge = edge_, .slow = slow_};
    source_->Read(run);
    BecomeIdle();
  }
  source_.reset();  // Here: closing the library asks the driver, too.
  const std::lock_guard lock(mutex_);
  ended_ = true;
  answer_.notify_one();
}

GpuReader::GpuReader(Open open, MetricBoard& board, GpuPatience patience)
    : work_(std::make_shared<Work>(std::move(open))),
      thread_([work = work_] { work->Run(); }),
      patience_(patience) {
  silent_ = !work_->Idle(patience_.to_open);
  if (!silent_) Join(board);
}

GpuReader::~GpuReader() {
  work_->End(silent_ ? DurationNs() : patience_.to_read) ? thread_.join() : thread_.detach();
}

void GpuReader::Join(MetricBoard& board) {
  if (work_->source() != nullptr && gpus_.empty()) gpus_ = work_->source()->gpus();
  const std::vector<Metric>& metrics = work_->board().metrics();
  while (ids_.size() < metrics.size()) ids_.push_back(board.AddComputed(metrics[ids_.size()]));
}

void GpuReader::Read(SampleRun& run) {
  if (silent_ && !work_->Idle(DurationNs())) return;
  if (silent_) Join(run.board);  // It may have been opening until now.
  silent_ = false;
  if (work_->source() == nullptr) return;
  work_->Begin(run);
  silent_ = !work_->Idle(patience_.to_read);
  if (silent_) return;
  cpu_time_ = work_->cpu_time();
  const Reading& reading = work_->board().reading();
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    run.board.SetComputed(ids_[i], reading.values[i], reading.totals[i]);
  }
  std::vector<ResourceUser>& users = run.board.users();
  users.insert(users.end(), reading.users.begin(), reading.users.end());
}

}  // namespace headroom
