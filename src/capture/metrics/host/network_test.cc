#include "capture/metrics/host/network.h"

#include <gtest/gtest.h>

#include "capture/metrics/board/test_root.h"
#include "capture/metrics/host/infiniband.h"

namespace headroom {
namespace network_test {

TEST(ParseNetDev, ReadsNamesWithColonsAndNoBlankBehindThem) {
  std::vector<InterfaceLine> interfaces;
  ParseNetDev(
      "Inter-|   Receive                |  Transmit\n"
      " face |bytes    packets errs |bytes\n"
      "  eth0:1000000    900    0    0    0     0          0         0  2000000     800 0 0 0 0 0 "
      "0\n"
      "eth0:1:   5000     10    0    0    0     0          0         0     6000      10 0 0 0 0 0 "
      "0\n"
      "broken: 1 2\n",
      interfaces);
  ASSERT_EQ(interfaces.size(), 2u);
  EXPECT_EQ(interfaces[0].name, "eth0");
  EXPECT_EQ(interfaces[0].received, 1000000u);
  EXPECT_EQ(interfaces[0].sent, 2000000u);
  EXPECT_EQ(interfaces[1].name, "eth0:1");
  EXPECT_EQ(interfaces[1].sent, 6000u);
}

TEST(NetworkSource, CountsHardwareOnceWhateverIsBuiltOnIt) {
  const TestRoot root("linux-3.10-cgroup-v1");
  TestBoard board;
  NetworkSource network(root.path(), board.board);
  board.Sample(network);
  EXPECT_TRUE(board.Missing("net_throughput_sent"));
  EXPECT_EQ(board.Total("net_throughput_sent"), 2000000) << "eth0; not lo, bond0, eth0:1";
  EXPECT_EQ(board.Total("net_throughput_recv"), 1000000);
  EXPECT_TRUE(board.Has("net_interface_sent_bytes_per_s", "bond0"));
  EXPECT_FALSE(board.Has("net_interface_sent_bytes_per_s", "lo"));
}

TEST(NetworkSource, WithoutHardwareInAContainerCountsAllButLoopback) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  NetworkSource network(root.path(), board.board);
  board.Sample(network);
  root.Write(
      "proc/net/dev",
      "lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\neth0: 8000 10 0 0 0 0 0 0 3500 10 0 0 0 0 0 0\n");
  board.Sample(network);
  EXPECT_GT(board.Value("net_throughput_recv"), 0);
  EXPECT_NEAR(board.Value("net_throughput_recv"), 2 * board.Value("net_throughput_sent"), 1e-6);
}

TEST(NetworkSource, ACounterThatStartsAgainIsMissing) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  NetworkSource network(root.path(), board.board);
  board.Sample(network);
  root.Write("proc/net/dev", "eth0: 10 1 0 0 0 0 0 0 4000 1 0 0 0 0 0 0\n");
  board.Sample(network);
  EXPECT_TRUE(board.Missing("net_throughput_recv"));
  EXPECT_TRUE(board.Missing("net_interface_recv_bytes_per_s", "eth0"));
  EXPECT_GT(board.Value("net_throughput_sent"), 0);
}

TEST(InfinibandSource, CountsWordsOfFourBytes) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  InfinibandSource rdma(root.path(), board.board);
  board.Sample(rdma);
  EXPECT_EQ(board.Total("rdma_sent_bytes_per_s", "mlx5_0:1"), 4000);
  EXPECT_EQ(board.Total("rdma_recv_bytes_per_s", "mlx5_0:1"), 8000);
  EXPECT_TRUE(board.Missing("rdma_recv_bytes_per_s", "mlx5_0:1"));
}

}  // namespace network_test
}  // namespace headroom
