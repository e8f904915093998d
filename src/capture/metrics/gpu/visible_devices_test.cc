#include "capture/metrics/gpu/visible_devices.h"

#include <gtest/gtest.h>

namespace headroom {
namespace visible_devices_test {

TEST(ResolveVisible, ReadsWhatCudaReads) {
  const std::vector<std::string> uuids = {"GPU-aaaa-1", "GPU-aabb-2", "GPU-cccc-3"};
  const FindMigParent parent = [](const std::string& mig) -> std::optional<std::size_t> {
    return mig == "MIG-1234" ? std::optional<std::size_t>(2) : std::nullopt;
  };
  using List = std::vector<std::size_t>;
  const struct {
    const char* what;
    std::optional<std::string_view> variable;
    List indexes;
  } kCases[] = {
      {"not set: all", std::nullopt, {0, 1, 2}},
      {"empty: none", "", {}},
      {"-1: none", "-1", {}},
      {"the order is the program's", "2,0", {2, 0}},
      {"blanks", " 1 , 2 ", {1, 2}},
      {"the first invalid entry ends the list", "1,7,0", {1}},
      {"no valid entry", "NoDevFiles", {}},
      {"a whole UUID", "GPU-aabb-2", {1}},
      {"the prefix of a UUID", "GPU-c,GPU-aaaa", {2, 0}},
      {"the prefix of two UUIDs", "GPU-aa,2", {}},
      {"only the constant prefix", "GPU-", {}},
      {"a MIG instance", "MIG-1234", {2}},
      {"an unknown MIG instance", "MIG-9", {}},
      {"a MIG instance in the old form", "MIG-GPU-aabb-2/1/0", {1}},
      {"named twice", "1,GPU-aabb,0", {1, 0}},
      {"a number with a suffix", "1x,0", {}},
      {"a comma at the end", "1,", {1}},
  };
  for (const auto& c : kCases) {
    List indexes;
    for (const VisibleDevice& device : ResolveVisible(c.variable, uuids, parent))
      indexes.push_back(device.index);
    EXPECT_EQ(indexes, c.indexes) << c.what;
  }
  EXPECT_EQ(ResolveVisible("MIG-1234", uuids, parent)[0].mig, "MIG-1234");
}

}  // namespace visible_devices_test
}  // namespace headroom
