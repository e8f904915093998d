#include "serve/run/repeated_run.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace headroom {

RepeatedRun::RepeatedRun(std::string command, Work work)
    : command_(std::move(command)), work_(std::move(work)) {}

RepeatedRun::~RepeatedRun() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_abandoned_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

bool RepeatedRun::Begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_.phase != Phase::kIdle || is_abandoned_) return false;
  if (thread_.joinable()) thread_.join();    // The thread has ended its work.
  thread_ = std::thread([this] { Run(); });  // May throw; nothing has changed yet.
  state_ = {.phase = Phase::kRunning, .ended = state_.ended};
  lines_ = LastLines();
  began_ = Clock::now();
  return true;
}

bool RepeatedRun::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_.phase == Phase::kStopping) return true;
  if (state_.phase != Phase::kRunning) return false;
  state_.phase = Phase::kStopping;
  state_.was_stopped = true;
  return true;
}

bool RepeatedRun::IsStopped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_abandoned_ || state_.phase == Phase::kStopping;
}

RepeatedRun::State RepeatedRun::Now() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  State state = state_;
  state.lines = lines_.Now();
  if (state.phase == Phase::kRunning || state.phase == Phase::kStopping)
    state.time = Clock::now() - began_;
  return state;
}

void RepeatedRun::Run() {
  { const std::lock_guard<std::mutex> begun(mutex_); }  // Waits until Begin() has set the state.
  // An exception that leaves a thread would end the process.
  Status shown;
  try {
    shown = Record();
  } catch (const std::exception& error) {
    shown = Status::Environment(fmt::format("the run failed: {}", error.what()));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  state_.shown = std::move(shown);
  state_.phase = Phase::kIdle;
  ++state_.ended;
}

Status RepeatedRun::Record() {
  const Result<std::string> path = work_.name();
  if (!path.ok()) return path.status();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.path = path.value();
  }
  const Result<int> code = work_.record(
      path.value(),
      [this](std::string_view printed) {
        const std::lock_guard<std::mutex> lock(mutex_);
        lines_.Append(printed);
      },
      [this] { return IsStopped(); });
  bool is_abandoned = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_abandoned = is_abandoned_;
    state_.time = Clock::now() - began_;
    state_.phase = Phase::kReading;
    if (code.ok()) state_.exit_code = code.value();
  }
  const auto show = [&]() -> Status {
    if (!code.ok()) return code.status();
    if (is_abandoned) return Status::NoAnswer("the run was abandoned");
    return work_.show(path.value());
  };
  Status shown = show();
  if (!code.ok() || shown.code() == StatusCode::kNoAnswer) {
    work_.remove(path.value());
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.path.clear();
  }
  return shown;
}

}  // namespace headroom
