#include "answers/scale/network_choice.h"

#include <gtest/gtest.h>

#include <limits>

namespace headroom {
namespace network_choice_test {

NetworkChoice Chosen(NetworkQuestion question) {
  Result<NetworkChoice> choice = NetworkChoice::Make(std::move(question));
  EXPECT_TRUE(choice.ok()) << choice.status().message();
  return std::move(choice).value();
}

TEST(NetworkChoice, NothingSaidIsTheUsualNetwork) {
  const NetworkChoice choice = Chosen({});
  EXPECT_FALSE(choice.is_given());
  ASSERT_EQ(choice.networks().size(), 1u);
  EXPECT_EQ(choice.networks()[0].description, "100 Gbit/s and 14 us between machines of one GPU");
  EXPECT_EQ(choice.PlacementsOn(choice.networks()[0].topology).value().size(), 7u);
}

TEST(NetworkChoice, EachBandwidthIsANetwork) {
  const NetworkChoice choice =
      Chosen({.bandwidths_gbps = {10, 400}, .latency_us = 2, .gpus_per_node = 8});
  EXPECT_TRUE(choice.is_given());
  ASSERT_EQ(choice.networks().size(), 2u);
  EXPECT_EQ(choice.networks()[1].description, "400 Gbit/s and 2 us between machines of 8 GPUs");
  EXPECT_EQ(choice.networks()[1].topology.between.latency, DurationNs(2'000));
}

TEST(NetworkChoice, MachinesTimesGpusAreThatManyMachines) {
  const NetworkChoice choice = Chosen({.gpus = {"4x2", "8", "4X2", "8"}});
  const auto placements = choice.PlacementsOn(choice.networks()[0].topology);
  ASSERT_TRUE(placements.ok());
  ASSERT_EQ(placements.value().size(), 2u) << "each once";
  EXPECT_EQ(placements.value()[0].gpus, 8);
  EXPECT_EQ(placements.value()[0].nodes, 4);
  EXPECT_EQ(placements.value()[1].nodes, 8) << "of one GPU each";
  EXPECT_EQ(choice.networks()[0].description, "100 Gbit/s and 14 us between machines");
}

TEST(NetworkChoice, RefusesWithTheFlag) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    NetworkQuestion question;
    const char* flag;
  } kCases[] = {
      {{.gpus = {"0"}}, "--gpus 0: "},
      {{.gpus = {"-1"}}, "--gpus -1: "},
      {{.gpus = {"4x"}}, "--gpus 4x: "},
      {{.gpus = {"x4"}}, "--gpus x4: "},
      {{.gpus = {"2x2x2"}}, "--gpus 2x2x2: "},
      {{.gpus = {"10000001"}}, "--gpus 10000001: "},
      {{.gpus = {"10000000x2"}}, "--gpus 10000000x2: "},
      {{.bandwidths_gbps = {10, 0}}, "--bandwidth-gbps 0: "},
      {{.bandwidths_gbps = {nan}}, "--bandwidth-gbps nan: "},
      {{.latency_us = -1}, "--latency-us "},
      {{.latency_us = nan}, "--latency-us "},
      {{.gpus_per_node = 0}, "--gpus-per-node "},
      {{.cluster = "x", .latency_us = 1}, "--latency-us describes a network, and so "},
      {{.cluster = "no-such"}, "--cluster no-such: no such file, and not a known cluster: "}};
  for (const auto& c : kCases) {
    const Result<NetworkChoice> choice = NetworkChoice::Make(c.question);
    ASSERT_FALSE(choice.ok()) << c.flag;
    EXPECT_EQ(choice.status().code(), StatusCode::kUsage) << c.flag;
    EXPECT_EQ(choice.status().message().rfind(c.flag, 0), 0u) << choice.status().message();
  }
}

TEST(NetworkChoice, ARecordedNetworkHasThreeDigits) {
  Topology topology;
  topology.between = {.bytes_per_ns = 1.2346, .latency = DurationNs(14'567)};
  EXPECT_EQ(NetworkChoice::AsRecorded(topology).description,
            "9.88 Gbit/s and 14.6 us per message, fitted to the recorded collectives");
  topology.between = {.bytes_per_ns = 125, .latency = DurationNs(0)};
  EXPECT_EQ(NetworkChoice::AsRecorded(topology).description,
            "1000 Gbit/s and 0 us per message, fitted to the recorded collectives");
}

TEST(NetworkChoice, TheListOfClustersIsAligned) {
  std::vector<Topology> clusters(2);
  clusters[0].name = "a";
  clusters[0].description = "one";
  clusters[1].name = "long";
  clusters[1].description = "two";
  EXPECT_EQ(NetworkChoice::ListClusters(clusters), "  a     one\n  long  two\n");
}

}  // namespace network_choice_test
}  // namespace headroom
