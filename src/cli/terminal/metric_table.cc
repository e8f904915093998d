#include "cli/terminal/metric_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "render/number_format.h"

namespace headroom::cli {
namespace {

constexpr std::size_t kHistory = 200;
constexpr std::size_t kNameWidth = 30, kInstanceWidth = 18, kValueWidth = 13;
constexpr std::size_t kUserLines = 3;
constexpr std::size_t kShortest = 8;  ///< Minimum width of a shortened name.
constexpr std::size_t kFewBars = 11;  ///< If at most this width is left for bars, omits them.

bool AlwaysShown(std::string_view name) {
  constexpr std::array kNames = {
      "cpu_util_simple",       "free_memory",         "gpu_util",
      "gpu_free_memory",       "disk_iops",           "disk_throughput_read",
      "disk_throughput_write", "net_throughput_sent", "net_throughput_recv"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Returns printable text in exactly `width` columns.
std::string Fit(std::string_view text, std::size_t width, Charset charset) {
  const std::string cut = CutMiddle(Printable(text, charset), width, charset);
  return cut + std::string(width - std::min(width, DisplayWidth(cut)), ' ');
}

std::string UserLine(const ResourceUser& user, std::size_t width, Charset charset) {
  const std::string name = user.name.empty() ? "unknown" : Printable(user.name, charset);
  const std::string share =
      user.resource == "CPU" ? FormatMetric(user.value, "%") : FormatMetric(user.value, "bytes");
  const std::string who =
      fmt::format("{} used by {}: ", Printable(user.resource, charset), user.pid);
  const std::size_t others = DisplayWidth(who) + 1 + share.size();
  return fmt::format("{}{} {}", who,
                     CutMiddle(name, std::max(kShortest, width - std::min(width, others)), charset),
                     share);
}

/// Widths of a row's columns, from left to right. A width of 0 omits the column.
struct Columns {
  std::size_t name = kNameWidth, instance = kInstanceWidth, value = kValueWidth, bars = 0;
};

/// Drops bars first, then shortens names. Never cuts a number.
Columns ColumnsOf(std::size_t width, std::size_t widest_value, std::size_t widest_instance) {
  Columns columns;
  columns.value = std::max(columns.value, widest_value);
  const std::size_t whole = columns.name + 1 + columns.instance + 1 + columns.value;
  if (width >= whole) {
    const std::size_t rest = width - whole;
    columns.bars = rest > kFewBars ? rest - 1 : 0;
    return columns;
  }
  if (width >= 2 * kShortest + 2 + columns.value) {
    const std::size_t text = width - 2 - columns.value;
    columns.instance = widest_instance > 0
                           ? std::clamp(widest_instance, kShortest, std::max(kShortest, text / 3))
                           : 0;
    columns.name = columns.instance > 0 ? text - columns.instance : text + 1;
    return columns;
  }
  columns.value = widest_value;
  columns.instance = 0;
  columns.name =
      width > columns.value + 1 ? std::max(kShortest, width - columns.value - 1) : kShortest;
  return columns;
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
  struct Drawn {
    const Row* row;
    std::string value;
  };
  std::vector<Drawn> drawn;
  std::size_t widest_value = 0, widest_instance = 0;
  for (const Row& row : rows_) {
    if (!row.shown || drawn.size() == room) continue;
    // If the current value is missing, shows the last known one: some GPUs are not read at every
    // sample.
    double now = row.values.back();
    for (auto value = row.values.rbegin(); value != row.values.rend() && !std::isfinite(now);
         ++value) {
      now = *value;
    }
    drawn.push_back({.row = &row, .value = FormatMetric(now, row.metric.unit)});
    widest_value = std::max(widest_value, drawn.back().value.size());
    widest_instance =
        std::max(widest_instance, DisplayWidth(Printable(row.metric.instance, charset)));
  }
  const Columns columns = ColumnsOf(width, widest_value, widest_instance);
  for (const Drawn& metric : drawn) {
    const Row& row = *metric.row;
    std::string line = Fit(row.metric.name, columns.name, charset);
    if (columns.instance > 0) line += ' ' + Fit(row.metric.instance, columns.instance, charset);
    line += fmt::format(" {:>{}}", metric.value, columns.value);
    double most = row.metric.unit == "%" && row.metric.scope != MetricScope::kProcess ? 100 : 0;
    for (const double value : row.values) most = std::fmax(most, value);
    if (columns.bars > 0) line += ' ' + Sparkline(row.values, columns.bars, most, charset);
    add(std::move(line));
  }
  for (std::size_t i = 0; i < users; ++i) add(UserLine(users_[i], width, charset));
  if (drawn.size() < shown)
    add(fmt::format("{} more: use a taller window, or -o FILE for all", shown - drawn.size()));
  return lines;
}

}  // namespace headroom::cli
