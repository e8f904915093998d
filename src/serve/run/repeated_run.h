// Records a program repeatedly, on request, one run at a time.
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
#include "serve/run/last_lines.h"

namespace headroom {

class RepeatedRun {
 public:
  /// The steps of a run; its thread calls them.
  struct Work {
    /// Returns a file name for this run only.
    std::function<Result<std::string>()> name;
    /// Records the program into a file and returns its exit code, as RunToEnd() does.
    std::function<Result<int>(const std::string& path,
                              const std::function<void(std::string_view)>& take,
                              const std::function<bool()>& is_stopped)>
        record;
    /// Shows the recording. Fails with kNoAnswer if it has nothing to show.
    std::function<Status(const std::string& path)> show;
    /// Removes a recording that is not needed.
    std::function<void(const std::string& path)> remove;
  };

  enum class Phase : std::uint8_t {
    kIdle,
    kRunning,
    kStopping,  ///< Stop() was called, but the program has not ended yet.
    kReading,   ///< The program has ended; its recording is being read.
  };

  /// State of the current run, or of the last one.
  struct State {
    Phase phase = Phase::kIdle;
    std::int64_t ended = 0;                      ///< Number of ended runs.
    std::chrono::duration<double> time{};        ///< From the start to the end of the program.
    std::string path = {};                       ///< Path of the last recording; empty: none.
    std::optional<std::int64_t> exit_code = {};  ///< Set once the program has ended.
    bool was_stopped = false;
    Status shown = {};                    ///< Reason why the recording is not shown, or Ok.
    std::vector<std::string> lines = {};  ///< Last lines of output.
  };

  /// @param command  command for messages and the page
  RepeatedRun(std::string command, Work work);
  /// Ends a current run and removes its recording. If a recording is being read, waits for it.
  ~RepeatedRun();
  RepeatedRun(const RepeatedRun&) = delete;
  RepeatedRun& operator=(const RepeatedRun&) = delete;

  /// Starts a run; returns false if one is active.
  bool Begin();
  /// Stops the program; the recording up to then is shown. Returns false if no program is running.
  bool Stop();
  State Now() const;
  const std::string& command() const { return command_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  /// Records the program and shows the recording. Fails with the reason why nothing is shown.
  Status Record();
  bool IsStopped() const;

  const std::string command_;
  const Work work_;
  mutable std::mutex mutex_;  ///< Guards all members below.
  State state_;
  LastLines lines_;
  Clock::time_point began_;
  bool is_abandoned_ = false;  ///< The run's result is not needed any longer.
  std::thread thread_;
};

}  // namespace headroom
