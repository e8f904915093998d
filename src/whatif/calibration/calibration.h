// Measurements of a machine: the cost of recording, the speed of its host, and the host time that
// changes add. They are data, not code: data/calibration/default.toml ships, and `headroom
// calibrate --host` writes another file.
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
  double error = 0;  ///< Half-width of the uncertainty of all host time, as a share.
  double cast_work = 0, cast_launch = 0;  ///< Time per cast: work before the launch; the launch.
  double gradient_scaler = 0;             ///< Time per step.
  double tf32_product = 0;                ///< Time per matrix product on tensor cores.
  /// Time per convolution on tensor cores.
  double forward_convolution = 0, backward_convolution = 0;
  double fused_optimizer = 0, foreach_optimizer = 0;     ///< Time per step.
  double forward_attention = 0, backward_attention = 0;  ///< Time per call of fused attention.
  double checkpointed_block = 0;  ///< Time per block, in addition to its recomputed forward.
  double graph_step = 0;          ///< Time per step that is one CUDA graph.
  double graph_launch = 0;        ///< Time per launch of a graph that covers part of a step.
};

/// Durations of operators that launch nothing, in nanoseconds by name, on a host at its normal
/// speed.
using ReferenceSpeeds = std::map<std::string, double, std::less<>>;

struct Calibration {
  std::string about;    ///< For the user: "shipped default, measured on one H200 machine".
  std::string machine;  ///< Result of MachineOf(); empty if unknown.
  RecordingCost recording;
  /// Half-width of the recording cost's interval, as a share, on a machine other than the measured
  /// one.
  double recording_error = 0;
  HostCosts host;
  /// Reference durations on the training loop's thread and on the autograd thread.
  ReferenceSpeeds loop, autograd;
  SustainedShares kernels;  ///< Shares of the GPU's peak.

  /// Returns the calibration built into the program. A failure is a defect of the build.
  static Result<Calibration> LoadBuiltIn();
  /// Reads a calibration file. Values that the file omits come from `otherwise`. Fails with
  /// kBadInput; the message names the file, the key and the remedy.
  static Result<Calibration> Parse(const NamedText& file, const Calibration& otherwise);
};

/// Converts a time of a calibration to the type that plans use.
inline DurationNs Nanoseconds(double ns) { return DurationNs(std::llround(ns)); }

/// Returns a description of the trace's machine: its GPUs and their driver. Cannot distinguish two
/// machines with the same GPUs and driver.
std::string MachineOf(const TraceStore& store);

}  // namespace headroom
