// What was measured of a machine: the cost of recording there, how fast its host is, and what the
// host takes for what a change adds. Data, not code: data/calibration/default.toml ships, `headroom
// calibrate --host` writes another.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"
#include "base/time.h"
#include "cost/sustained_shares.h"
#include "store/trace_store.h"
#include "whatif/calibration/recording_cost.h"

namespace headroom {

/// Host time that a change of the program adds, in nanoseconds, without a profiler.
struct HostCosts {
  double error = 0;  ///< Half-width, as a share, of what all host time may be wrong by.
  double cast_work = 0, cast_launch = 0;
  double gradient_scaler = 0;  ///< A step.
  double tf32_product = 0;
  double forward_convolution = 0, backward_convolution = 0;  ///< On tensor cores.
  double fused_optimizer = 0, foreach_optimizer = 0;         ///< A step.
  double forward_attention = 0, backward_attention = 0;      ///< A call of fused attention.
  double checkpointed_block = 0;                             ///< Beside its forward, run again.
  double graph_step = 0;                                     ///< A step that is one CUDA graph.
  double graph_launch = 0;                                   ///< Of a graph that is a part of one.
};

/// Durations of operators that launch nothing, recorded on a host at its usual speed, in
/// nanoseconds by name.
using ReferenceSpeeds = std::map<std::string, double, std::less<>>;

struct Calibration {
  std::string about;    ///< For the user: "shipped default, measured on one H200 machine".
  std::string machine;  ///< As MachineOf() tells; empty: not known.
  RecordingCost recording;
  /// Half-width, as a share, of the recording cost's interval on a machine that is not this one.
  double recording_error = 0;
  HostCosts host;
  ReferenceSpeeds loop, autograd;  ///< On the training loop's thread, on the autograd thread.
  SustainedShares kernels;         ///< Of the GPU.

  /// The calibration built into the program. A failure is a defect of the build.
  static Result<Calibration> LoadBuiltIn();
  /// Reads a file over `otherwise`: what it does not say stays. BadInput names the file, the key
  /// and the remedy.
  static Result<Calibration> Parse(const NamedText& file, const Calibration& otherwise);
};

/// A time of a calibration as the plans take it.
inline DurationNs Nanoseconds(double ns) { return DurationNs(std::llround(ns)); }

/// What a trace tells of the machine that it was recorded on: its GPUs and their driver. Two
/// machines with the same GPUs cannot be told apart.
std::string MachineOf(const TraceStore& store);

}  // namespace headroom
