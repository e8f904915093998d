#include "capture/metrics/gpu_reader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "capture/metrics/clock.h"

namespace headroom {

/// One thread reads the parts that are asked for, one after the other. The reader gives up on a
/// part that does not answer: that thread is then its own, and ends with it; another one goes on.
class GpuReader::Work {
 public:
  explicit Work(Open open) : open_(std::move(open)) {}

  /// The first thread: opens the library, and serves.
  void Run() {
    std::unique_ptr<GpuSource> source = open_();
    {
      const std::lock_guard lock(mutex_);
      source_ = std::move(source);
      if (source_ != nullptr) states_.resize(source_->parts().size());
      opened_ = true;
      answer_.notify_all();
    }
    Serve();
  }
  void Serve();

  /// Whether the library is open, or is in time.
  bool Opened(DurationNs patience) {
    std::unique_lock lock(mutex_);
    return answer_.wait_for(lock, Nanoseconds(patience), [this] { return opened_; });
  }
  /// Null: there is none here. REQUIRES: opened.
  GpuSource* source() { return source_.get(); }

  /// Asks for all parts but those that never answered. Returns which ones have by now: their
  /// threads end.
  std::vector<std::size_t> Begin(const SampleRun& run) {
    const std::lock_guard lock(mutex_);
    now_ = run.now;
    edge_ = run.edge;
    slow_ = run.slow;
    std::vector<std::size_t> back;
    for (std::size_t part = 0; part < states_.size(); ++part) {
      State& state = states_[part];
      if (state == State::kBack) back.push_back(part);
      if (state == State::kBack || state == State::kRead) state = State::kAsked;
    }
    wake_.notify_one();
    return back;
  }
  /// Waits until all that is asked for is read. Returns the part that takes too long, given up.
  std::optional<std::size_t> Finish(DurationNs patience) {
    std::unique_lock lock(mutex_);
    const auto done = [this] {
      return !Find(State::kAsked).has_value() && !Find(State::kReading).has_value();
    };
    if (answer_.wait_for(lock, Nanoseconds(patience), done)) return std::nullopt;
    const std::optional<std::size_t> part = Find(State::kReading);
    // None: the thread has not even begun, on a machine that is that busy.
    if (part) states_[*part] = State::kGivenUp;
    return part;
  }
  /// Whether the part was read. It is the reader's until the next Begin(), then.
  bool Answered(std::size_t part) {
    const std::lock_guard lock(mutex_);
    return states_[part] == State::kRead;
  }
  /// Whether it was given up in this reading, or in one before that goes on.
  bool Silent(std::size_t part) {
    const std::lock_guard lock(mutex_);
    return states_[part] == State::kGivenUp || states_[part] == State::kBack;
  }
  DurationNs cpu_time() {
    const std::lock_guard lock(mutex_);
    return cpu_time_;
  }

  /// Whether the serving thread is about to end, or gets there in time.
  bool End(DurationNs patience) {
    std::unique_lock lock(mutex_);
    ending_ = true;
    wake_.notify_one();
    return answer_.wait_for(lock, Nanoseconds(patience), [this] { return ended_; });
  }

 private:
  enum class State {
    kRead,     ///< Or never asked for.
    kAsked,    ///< To be read next.
    kReading,  ///< By the serving thread.
    kGivenUp,  ///< By the reader: a thread waits for it.
    kBack,     ///< Was given up, and has answered.
  };

  static std::chrono::nanoseconds Nanoseconds(DurationNs time) {
    return std::chrono::nanoseconds(time.ns());
  }
  std::optional<std::size_t> Find(State state) const {
    const auto found = std::find(states_.begin(), states_.end(), state);
    if (found == states_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - states_.begin());
  }
  /// Closes the library where no other thread waits for it.
  void Leave(std::unique_lock<std::mutex>& lock);

  const Open open_;

  std::mutex mutex_;  ///< Of all below. A part that is being read is its thread's.
  std::condition_variable wake_, answer_;
  std::unique_ptr<GpuSource> source_;
  std::vector<State> states_;  ///< By part.
  DurationNs cpu_time_;
  TimeNs now_;
  bool edge_ = false, slow_ = false;
  bool opened_ = false, ending_ = false;
  bool ended_ = false;  ///< The serving thread.
};

void GpuReader::Work::Serve() {
  ReadBuffer buffer;
  TimeNs cpu_before;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || Find(State::kAsked).has_value(); });
    if (ending_) break;
    const std::size_t number = *Find(State::kAsked);
    states_[number] = State::kReading;
    GpuPart& part = source_->parts()[number];
    SampleRun run{.board = part.board, .buffer = buffer, .now = now_, .edge = edge_, .slow = slow_};
    lock.unlock();
    part.board.Begin();
    part.probes.Read(run);
    const TimeNs cpu = ReadClock(CLOCK_THREAD_CPUTIME_ID);
    lock.lock();
    cpu_time_ = cpu_time_ + (cpu - std::exchange(cpu_before, cpu));
    if (states_[number] == State::kGivenUp) {
      states_[number] = State::kBack;
      if (ending_ && ended_) Leave(lock);
      return;  // Another thread serves.
    }
    states_[number] = State::kRead;
    if (!Find(State::kAsked)) answer_.notify_all();
  }
  Leave(lock);
  ended_ = true;
  answer_.notify_all();
}

void GpuReader::Work::Leave(std::unique_lock<std::mutex>& lock) {
  if (Find(State::kGivenUp)) return;
  std::unique_ptr<GpuSource> source = std::move(source_);
  lock.unlock();
  source.reset();  // Here: closing the library asks the driver, too.
  lock.lock();
}

GpuReader::GpuReader(Open open, MetricBoard& board, GpuPatience patience)
    : work_(std::make_shared<Work>(std::move(open))),
      thread_([work = work_] { work->Run(); }),
      patience_(patience) {
  silent_ = {"the GPUs' driver"};
  if (work_->Opened(patience_.to_open)) Join(board);
}

GpuReader::~GpuReader() {
  for (auto& [part, thread] : waiting_) thread.detach();
  work_->End(open_ ? patience_.to_read : DurationNs()) ? thread_.join() : thread_.detach();
}

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

void GpuReader::Replace(std::size_t part) {
  waiting_.emplace(part, std::move(thread_));
  thread_ = std::thread([work = work_] { work->Serve(); });
}

void GpuReader::Read(SampleRun& run) {
  if (!open_) {
    if (!work_->Opened(DurationNs())) return;
    Join(run.board);
  }
  if (work_->source() == nullptr) return;
  for (const std::size_t part : work_->Begin(run)) waiting_.extract(part).mapped().join();
  while (const std::optional<std::size_t> part = work_->Finish(patience_.to_read)) Replace(*part);
  cpu_time_ = work_->cpu_time();
  silent_.clear();
  std::vector<ResourceUser>& users = run.board.users();
  for (std::size_t part = 0; part < ids_.size(); ++part) {
    const GpuPart& of = work_->source()->parts()[part];
    if (work_->Silent(part))
      silent_.push_back(of.instance.empty() ? "the list of the GPUs' processes" : of.instance);
    if (!work_->Answered(part)) continue;
    const Reading& reading = of.board.reading();
    for (std::size_t i = 0; i < ids_[part].size(); ++i) {
      run.board.SetComputed(ids_[part][i], reading.values[i], reading.totals[i]);
    }
    users.insert(users.end(), reading.users.begin(), reading.users.end());
  }
}

}  // namespace headroom
