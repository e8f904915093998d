#include "capture/metrics/board/kernel_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/test_root.h"

namespace headroom {
namespace kernel_file_test {

TEST(KernelFile, ReadsAgainFromTheSameDescriptor) {
  const TestRoot root("");
  root.Write("file", "one\n");
  KernelFile file(root.path() + "/file");
  ReadBuffer buffer;
  const TimeNs before = MonotonicNow();
  const auto first = file.Read(buffer);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->text, "one\n");
  EXPECT_GE(first->at, before);
  EXPECT_LE(first->at, MonotonicNow());
  root.Write("file", "two, and longer\n");
  EXPECT_EQ(file.Read(buffer)->text, "two, and longer\n");
}

TEST(KernelFile, ReadsFilesOfAnySize) {
  const TestRoot root("");
  ReadBuffer buffer;
  for (const std::size_t size : {0u, 1u, 2047u, 2048u, 16383u, 16384u, 16385u, 32768u, 100'000u}) {
    const std::string text(size, 'x');
    root.Write("file", text);
    KernelFile file(root.path() + "/file", /*hold=*/size % 2 == 0);
    EXPECT_EQ(file.Read(buffer)->text, text) << size;
    EXPECT_EQ(file.Read(buffer)->text, text) << size << ", again";
  }
}

TEST(KernelFile, AFailureThatStaysIsNotTriedAgain) {
  const TestRoot root("");
  KernelFile file(root.path() + "/file");
  ReadBuffer buffer;
  EXPECT_FALSE(file.Read(buffer));
  EXPECT_TRUE(file.failed());
  root.Write("file", "late");
  EXPECT_FALSE(file.Read(buffer));
}

TEST(KernelFile, AFailureThatPassesIs) {
  const TestRoot root("");
  root.Write("file", "text");
  KernelFile file(root.path() + "/file");
  ReadBuffer buffer;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const bool read = file.Read(buffer).has_value();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(read);
  EXPECT_FALSE(file.failed());
  EXPECT_EQ(file.Read(buffer)->text, "text");
}

}  // namespace kernel_file_test
}  // namespace headroom
