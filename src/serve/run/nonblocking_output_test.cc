#include "serve/run/nonblocking_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace headroom {
namespace nonblocking_output_test {

/// The write end of the pipe is never closed, because a thread may still block in it.
class NonblockingOutputTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0); }

  int writes() const { return ends_[1]; }
  /// Returns the output, up to a pause.
  std::string Read() const {
    std::string text;
    std::array<char, 65536> buffer{};
    pollfd polled = {.fd = ends_[0], .events = POLLIN, .revents = 0};
    while (poll(&polled, 1, 300) > 0) {
      const ssize_t size = read(ends_[0], buffer.data(), buffer.size());
      if (size <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{};
};

/// Returns the total that the lines report; each write of the thread adds one line.
std::size_t BytesLeftOut(std::string_view text) {
  constexpr std::string_view kBegin = "\nheadroom: ";
  std::size_t bytes = 0;
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1))
    bytes += std::stoul(std::string(text.substr(at + kBegin.size(), 20)));
  return bytes;
}

TEST_F(NonblockingOutputTest, AllInOrder) {
  NonblockingOutput echo(writes());
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    echo.Append(line);
    all += line;
  }
  EXPECT_TRUE(echo.Flush());
  EXPECT_EQ(Read(), all);
}

TEST_F(NonblockingOutputTest, WhoCallsDoesNotWaitAndHearsWhatIsLeftOut) {
  NonblockingOutput echo(writes());
  const std::string megabyte(1'000'000, 'x');
  for (int i = 0; i < 20; ++i) echo.Append(megabyte);
  EXPECT_FALSE(echo.Flush());
  const std::string text = Read();
  const auto kept = static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x'));
  EXPECT_LE(kept, 2 * NonblockingOutput::kMaxWaiting);
  EXPECT_EQ(BytesLeftOut(text), 20 * megabyte.size() - kept) << text.substr(text.size() - 200);
  EXPECT_TRUE(echo.Flush());
  echo.Append("on");
  EXPECT_TRUE(echo.Flush());
  EXPECT_EQ(Read(), "on");
}

TEST_F(NonblockingOutputTest, WhereNobodyReadsItEndsAllTheSame) {
  NonblockingOutput echo(writes());
  echo.Append(std::string(NonblockingOutput::kMaxWaiting, 'x'));
}

}  // namespace nonblocking_output_test
}  // namespace headroom
