// How fast a machine's host launches the kernels of a list of operators.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "kernels/kernel_work.h"
#include "predict/operator_list.h"

namespace headroom {

/// The host's time per operator of PyTorch in eager mode.
struct HostModel {
  std::string name;          ///< Kind of machine, or the user's number.
  double us_per_kernel = 0;  ///< Time of an elementwise operator; 0 omits the host.

  /// Returns the host of a kind of machine: "cloud", "server", "workstation" or "none"; or with
  /// a number of microseconds per kernel. Fails with kUsage and lists the kinds.
  static Result<HostModel> Named(std::string_view kind_or_us);
  static HostModel None() { return {.name = "none"}; }
};

/// Returns the host's nanoseconds for one call of an operator. Products, convolutions,
/// normalizations and recurrent networks take more than elementwise operators; nodes of the
/// backward take less, because autograd dispatches them without Python.
///
/// Compiled code calls kernels and libraries directly; a graph needs no call.
///
/// @param kernels  kernels that the operator launches
double HostNsOf(const KernelWork& work, double kernels, bool backward, ListLaunch launch,
                const HostModel& host);

/// Returns the host's nanoseconds per step before the first kernel: the call of the module and, for
/// compiled code, the checks that its assumptions hold.
double HostStartNs(ListLaunch launch, const HostModel& host);

}  // namespace headroom
