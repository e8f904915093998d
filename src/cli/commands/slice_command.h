// `headroom slice`: some steps, a stretch of time or one rank of a trace, as a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/steps/steps.h"
#include "base/interval_set.h"
#include "cli/flags/subcommand.h"
#include "store/trace_store.h"

namespace headroom::cli {

class SliceCommand : public Subcommand {
 public:
  explicit SliceCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  struct Window {
    std::optional<Interval> time;             ///< None: all of it.
    std::int64_t steps = 0;                   ///< That were asked for; 0: by time.
    bool marked = true;                       ///< Whether each has a mark that the part keeps, too.
    std::optional<std::int64_t> step_before;  ///< Kept though not asked for, by number.
  };
  Result<StepAnalysis> StepsOf(const TraceStore& store) const;
  Result<Window> FindWindow(const TraceStore& store) const;
  /// From the beginning of the step before the first, with which the first one's time begins.
  Result<Window> WindowOfSteps(const TraceStore& store) const;

  Command command_;
  std::vector<std::string> traces_;
  std::string steps_, time_, step_marker_, output_path_;
  std::optional<std::int64_t> rank_;
  int threads_;
  bool quiet_ = false;
};

}  // namespace headroom::cli
