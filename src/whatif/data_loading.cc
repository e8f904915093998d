// data-loading: the loop never waits for its next batch. The host's work inside the loader's ranges
// is gone; what it launches there stays.
#include "whatif/catalogue.h"
#include "whatif/selection.h"

namespace headroom {

Effect ApplyDataLoading(const Job& job, const Arguments& arguments, Edit& edit) {
  if (arguments.Number("workers") > 0)
    return Effect::Abstain("needs measured worker times; not available yet");
  const std::vector<bool> waits = SelectHost(
      job, [&](HostEventId event) { return job.RolesOf(event).Has(HostRole::kDataWait); });
  if (ScaleHostWork(job, waits, 0, edit) == 0) {
    return Effect::Abstain(
        "no range of a data loader was recorded in the steps (enumerate(DataLoader)#... of "
        "torch.utils.data)");
  }
  return {.why = "at most: were every batch there when it is asked for"};
}

}  // namespace headroom
