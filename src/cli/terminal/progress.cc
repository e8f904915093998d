#include "cli/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/terminal/output.h"
#include "render/escape.h"
#include "render/number_format.h"

namespace headroom::cli {

std::string ProgressLine(const std::string& what, std::int64_t done, std::int64_t all,
                         double seconds) {
  constexpr std::size_t kNameWidth = 40;
  const std::string name = CutPath(what, kNameWidth, Charset::kAscii);
  if (all <= 0) return fmt::format("{}  {}", name, FormatBytes(static_cast<double>(done)));
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(all), 0.0, 1.0);
  constexpr int kBar = 20;
  const int filled = static_cast<int>(share * kBar);
  std::string line =
      fmt::format("{}  [{}{}] {:3.0f} %", name, std::string(static_cast<std::size_t>(filled), '#'),
                  std::string(static_cast<std::size_t>(kBar - filled), '.'), 100 * share);
  if (share > 0) line += fmt::format("  {:.0f} s left", seconds / share - seconds);
  return line;
}

Progress::Progress(bool enabled, std::string what)
    : enabled_(enabled && isatty(STDERR_FILENO) == 1), what_(std::move(what)) {}

Progress::~Progress() {
  if (visible_) Remark("\r\x1b[K");
}

void Progress::Update(std::int64_t done, std::int64_t all) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  if (now - begin_ < std::chrono::seconds(1) || now - shown_ < std::chrono::milliseconds(100))
    return;
  shown_ = now;
  visible_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  Remark("\r\x1b[K" + ProgressLine(what_, done, all, seconds));
}

}  // namespace headroom::cli
