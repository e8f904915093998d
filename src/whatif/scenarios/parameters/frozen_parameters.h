// Parameters that are no longer trained: removes the work of their gradients and of their updates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/job/trained_parameters.h"

namespace headroom {

/// Effect of freezing parameters.
struct Frozen {
  double bytes = 0;  ///< Bytes of these parameters, as a share of those that were trained before.
  double count = 0;  ///< The same share of their number.
  std::int64_t nodes = 0;    ///< Nodes of the backward that no longer run.
  bool estimated = false;    ///< True if a task computes other gradients, too.
  std::int64_t unknown = 0;  ///< Parameters whose gradients' work is unknown; it stays.
};

/// Freezes parameters, except those that an earlier scenario froze. Removes the work of their
/// gradients and the nodes that accumulate them. Recorded collectives shrink with the bytes.
///
/// @param frozen  flag per parameter
/// @param shorten  if true, the backward ends at the first operator of the forward that reads a
/// trained parameter
Frozen FreezeParameters(const Job& job, const std::vector<TrainedParameter>& parameters,
                        const std::vector<bool>& frozen, bool shorten, Edit& edit);

/// Shrinks the updates to these shares of the parameters' bytes and number. Each kernel that
/// remains keeps its start. Kernels, launches and the host's work follow the number. Returns the
/// reason why the updates keep their time, or "".
std::string_view ShrinkUpdates(const Job& job, double bytes, double count, Edit& edit);

/// Shrinks the clipping and unscaling of gradients to a share of their bytes. The launches stay.
void ShrinkClipping(const Job& job, double bytes, Edit& edit);

/// Bytes of the parameters and of their training, at the recorded peak of memory.
struct TrainingBytes {
  double parameters = 0, gradients = 0, optimizer_state = 0;
};

/// Returns nullopt if the memory model lacks data.
std::optional<TrainingBytes> TrainingBytesOf(const Job& job);

/// Returns the reason why FindTrainedParameters() found nothing, or why the backward does not match
/// the forward. Returns nullopt if there is no such reason.
std::optional<std::string> WhyNotFrozen(const Job& job,
                                        const std::vector<TrainedParameter>& parameters);

}  // namespace headroom
