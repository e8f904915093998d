// The updates of a job that a scenario replaces: what fused-optimizer and optimizer share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/job/optimizer_steps.h"

namespace headroom {

/// Uncertainty of an update's time that follows from its bytes.
inline constexpr double kUpdateError = 0.1;
/// Uncertainty of a time that depends only on the recorded kernels. Small kernels spend more time
/// on their start than on memory traffic. Measured for AdamW on an H200: 0.24 and 0.29 of the
/// recorded time; the forecast was 0.33.
inline constexpr double kUpdateErrorWithoutShapes = 0.5;

/// Reason if a call of an update was not recorded.
inline constexpr std::string_view kNoUpdateLaunch =
    "the call that launched the optimizer's first kernel was not recorded";

/// Returns the reason why no update can be replaced; "" if there is none.
std::string WhyNoUpdate(const Job& job, const std::vector<OptimizerStep>& steps);

/// Returns true if a kernel of the update belongs to an operator with `part` in its name.
bool UpdatesBy(const Job& job, const OptimizerStep& step, std::string_view part);

/// Returns true if the memory bandwidth of the job's GPU is known.
bool KnowsBandwidth(const Job& job);

/// Returns the nanoseconds of a fused update that moves these bytes. REQUIRES: KnowsBandwidth().
double UpdateNs(const Job& job, double bytes);

/// Returns the nanoseconds of an update's kernels, without edits.
double RecordedUpdateNs(const Job& job, const OptimizerStep& step);

/// Returns the reason why a time depends only on the recorded kernels: the bandwidth or the
/// parameters' shapes are unknown.
std::string WhyOnlyRecordedUpdate(const Job& job);

/// Replaces the kernels of each update by its first kernel, and its host work by `host_ns`. Returns
/// false, with a part of the changes made, if a first kernel's launch was not recorded.
///
/// @param kernel_ns  nanoseconds of each step's kernel
bool UpdateInOneKernel(const Job& job, const std::vector<OptimizerStep>& steps,
                       const std::vector<double>& kernel_ns, double host_ns, Edit& edit);

}  // namespace headroom
