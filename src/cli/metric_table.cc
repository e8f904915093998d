#include "cli/metric_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "analysis/format.h"

namespace headroom::cli {
namespace {

constexpr std::size_t kHistory = 200;
constexpr std::size_t kNameWidth = 30, kInstanceWidth = 18, kValueWidth = 13;
constexpr std::size_t kUserLines = 3;

bool AlwaysShown(std::string_view name) {
  constexpr std::array kNames = {
      "cpu_util_simple",       "free_memory",         "gpu_util",
      "gpu_free_memory",       "disk_iops",           "disk_throughput_read",
      "disk_throughput_write", "net_throughput_sent", "net_throughput_recv"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Printable text in exactly so many columns.
std::string Fit(std::string_view text, std::size_t width, Charset charset) {
  const std::string cut = CutMiddle(Printable(text, charset), width, charset);
  return cut + std::string(width - std::min(width, DisplayWidth(cut)), ' ');
}

std::string UserLine(const ResourceUser& user) {
  const std::string name = user.name.empty() ? "unknown" : user.name;
  const std::string share =
      user.resource == "CPU" ? FormatMetric(user.value, "%") : FormatMetric(user.value, "bytes");
  return fmt::format("{} used by {}: {} {}", user.resource, user.pid, name, share);
}

}  // namespace

std::string Sparkline(const std::deque<double>& values, std::size_t width, double most,
                      Charset charset) {
  constexpr std::array<const char*, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kAscii = "_.-=+*%#";
  std::string line;
  for (std::size_t i = values.size() - std::min(width, values.size()); i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      line += ' ';
      continue;
    }
    const double share = most > 0 ? std::clamp(values[i] / most, 0.0, 1.0) : 0;
    const auto level = std::min(kBars.size() - 1, static_cast<std::size_t>(share * kBars.size()));
    if (charset == Charset::kUtf8) {
      line += kBars[level];
    } else {
      line += kAscii[level];
    }
  }
  return line;
}

std::string FormatMetric(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "-";
  if (unit == "bytes") return FormatBytes(value);
  if (unit == "bytes/s") return FormatBytes(value) + "/s";
  if (unit == "bits") return fmt::format("{:#x}", static_cast<std::uint64_t>(value));
  if (unit == "%") return fmt::format("{:.1f} %", value);
  const std::string number =
      value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
  return unit == "1" ? number : fmt::format("{} {}", number, unit);
}

void MetricTable::Add(const std::vector<Metric>& metrics, const Reading& reading) {
  rows_.resize(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (rows_[i].metric.name != metrics[i].name || rows_[i].metric.instance != metrics[i].instance)
      rows_[i] = {.metric = metrics[i], .values = {}, .shown = AlwaysShown(metrics[i].name)};
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.values.push_back(reading.values[i]);
    if (row.values.size() > kHistory) row.values.pop_front();
    row.shown |= std::isfinite(reading.values[i]) && reading.values[i] != 0;
  }
  users_ = reading.users;
}

std::vector<std::string> MetricTable::Render(const std::string& title, std::size_t width,
                                             std::size_t height, Charset charset) const {
  std::vector<std::string> lines;
  const auto add = [&](std::string line) {
    line.resize(PrefixBytes(line, width));
    lines.push_back(std::move(line));
  };
  add(title);
  const std::size_t users = std::min(users_.size(), kUserLines);
  const std::size_t room = height > users + 2 ? height - users - 2 : 1;
  const auto shown = static_cast<std::size_t>(
      std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.shown; }));
  const std::size_t left = kNameWidth + kInstanceWidth + kValueWidth + 3;
  const std::size_t bars = width > left + 10 ? width - left : 0;
  std::size_t drawn = 0;
  for (const Row& row : rows_) {
    if (!row.shown || drawn == room) continue;
    ++drawn;
    double most = row.metric.unit == "%" && row.metric.scope != MetricScope::kProcess ? 100 : 0;
    for (const double value : row.values) most = std::fmax(most, value);
    // What is missing now (a GPU that is not read each time) shows as it was last.
    double now = row.values.back();
    for (auto value = row.values.rbegin(); value != row.values.rend() && !std::isfinite(now);
         ++value) {
      now = *value;
    }
    add(fmt::format("{} {} {:>{}} {}", Fit(row.metric.name, kNameWidth, charset),
                    Fit(row.metric.instance, kInstanceWidth, charset),
                    FormatMetric(now, row.metric.unit), kValueWidth,
                    Sparkline(row.values, bars, most, charset)));
  }
  for (std::size_t i = 0; i < users; ++i) add(Printable(UserLine(users_[i]), charset));
  if (drawn < shown)
    add(fmt::format("{} more: a taller window, or -o FILE, has all", shown - drawn));
  return lines;
}

}  // namespace headroom::cli
