// data-parallel: the job on N GPUs, each with its own batch as recorded. Gradients are summed in
// buckets by ring all-reduces that run beside the backward pass (Li et al., "PyTorch Distributed",
// VLDB 2020); what reads the gradients waits for the last.
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/network.h"

namespace headroom {

Effect ApplyDataParallel(const Job& job, const Arguments& arguments, Edit& edit) {
  return MakeExchange(job, arguments, arguments.Number("bucket-mb") * 1024 * 1024, edit);
}

}  // namespace headroom
