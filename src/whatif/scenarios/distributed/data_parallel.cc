// data-parallel: the job on N GPUs, each with the recorded batch. Ring all-reduces sum the
// gradients in buckets and overlap the backward pass (Li et al., "PyTorch Distributed", VLDB 2020).
// Readers of the gradients wait for the last bucket.
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"

namespace headroom {

Effect ApplyDataParallel(const Job& job, const Arguments& arguments, Edit& edit) {
  return MakeExchange(job, arguments, arguments.Number("bucket-mb") * 1024 * 1024, edit);
}

}  // namespace headroom
