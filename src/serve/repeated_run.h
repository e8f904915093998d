// A program that is recorded as often as somebody asks, one run at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"
#include "serve/last_lines.h"

namespace headroom {

class RepeatedRun {
 public:
  /// What a run does; all are called by its thread.
  struct Work {
    /// A file for this run alone.
    std::function<Result<std::string>()> name;
    /// Records the program into a file and returns its exit code, as RunToEnd() does.
    std::function<Result<int>(const std::string& path,
                              const std::function<void(std::string_view)>& take,
                              const std::function<bool()>& is_stopped)>
        record;
    /// Makes the recording what is shown. kNoAnswer: it holds nothing that could be.
    std::function<Status(const std::string& path)> show;
    /// Removes a recording that nobody needs.
    std::function<void(const std::string& path)> remove;
  };

  enum class Phase : std::uint8_t {
    kIdle,
    kRunning,
    kStopping,  ///< Stop() was called, and the program has not ended yet.
    kReading,   ///< It has ended, and its recording is read.
  };

  /// Of the run that goes on; where none does, of the last one.
  struct State {
    Phase phase = Phase::kIdle;
    std::int64_t ended = 0;                      ///< Runs that have.
    std::chrono::duration<double> time{};        ///< From its begin, until the program's end.
    std::string path = {};                       ///< Of its recording; empty: there is none.
    std::optional<std::int64_t> exit_code = {};  ///< Of the program, once it has ended.
    bool was_stopped = false;
    Status shown = {};                    ///< Why the recording is not shown.
    std::vector<std::string> lines = {};  ///< The last that it printed.
  };

  /// @param command  of messages and the page
  RepeatedRun(std::string command, Work work);
  /// Ends a run that goes on and removes what it recorded; else waits for what is being read.
  ~RepeatedRun();
  RepeatedRun(const RepeatedRun&) = delete;
  RepeatedRun& operator=(const RepeatedRun&) = delete;

  /// Begins a run; false: one goes on.
  bool Begin();
  /// Ends the program; what it has told until then is shown. False: no program runs.
  bool Stop();
  State Now() const;
  const std::string& command() const { return command_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  /// Records and shows; fails with why nothing is shown.
  Status Record();
  bool IsStopped() const;

  const std::string command_;
  const Work work_;
  mutable std::mutex mutex_;  ///< Of all below.
  State state_;
  LastLines lines_;
  Clock::time_point began_;
  bool is_abandoned_ = false;  ///< Nobody waits for the run any more.
  std::thread thread_;
};

}  // namespace headroom
