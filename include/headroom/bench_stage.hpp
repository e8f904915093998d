// Measures how long one stage of an input pipeline takes, with a confidence interval. Use it for
// pipelines outside Python; `headroom data bench` measures those in Python. Header-only, C++17, no
// dependency.
//
//     auto decode = headroom::bench_stage("decode", [&] { return Decode(bytes); });
//     std::printf("%s\n", headroom::to_string(decode).c_str());
//
// To measure cold calls, load the next sample in `prepare`, which is not timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): spelled as in headroom/timer.hpp.

namespace headroom {

struct stage_options {
  double seconds = 1;          ///< Time limit, from the end of the warm-up calls.
  double precision = 0.01;     ///< Stops early if the half-width is at most this share of the mean.
  std::size_t warm_up = 3;     ///< Calls before the measurement.
  std::size_t fewest = 30;     ///< Minimum number of measured calls, even beyond the time limit.
  std::size_t most = 1 << 20;  ///< Maximum number of kept times: 8 bytes each.
};

/// Times of a stage, in seconds per call.
struct stage_times {
  std::string name;
  std::size_t count = 0;
  double mean = 0;
  double low = 0, high = 0;  ///< 95 % confidence interval of the mean, from the means of batches.
  double min = 0, p50 = 0, p99 = 0, max = 0;
};

namespace detail {

/// Keeps the compiler from removing a result and the work behind it.
template <typename T>
inline void keep(T&& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <typename Stage>
inline void call_and_keep(Stage& stage) {
  if constexpr (std::is_void_v<std::invoke_result_t<Stage&>>) {
    stage();
  } else {
    keep(stage());
  }
}

/// Returns the half-width of the 95 % confidence interval of the mean. Uses the means of 10 batches
/// of consecutive calls, because single calls are not independent (caches, clocks). 2.262 is
/// Student's t with 9 degrees of freedom.
inline double half_width(const std::vector<double>& times, double mean) {
  constexpr std::size_t batches = 10;
  constexpr double student = 2.262;
  if (times.size() < 2 * batches) return INFINITY;
  const std::size_t each = times.size() / batches;
  double sum = 0;
  for (std::size_t b = 0; b < batches; ++b) {
    double of_batch = 0;
    for (std::size_t i = 0; i < each; ++i) of_batch += times[b * each + i];
    const double off = of_batch / static_cast<double>(each) - mean;
    sum += off * off;
  }
  return student * std::sqrt(sum / (batches - 1) / batches);
}

}  // namespace detail

/// Calls a stage repeatedly and times each call.
///
/// @param stage    called without arguments; the compiler cannot remove its result
/// @param prepare  called before each call, untimed: loads the next sample or empties a cache
template <typename Stage, typename Prepare>
stage_times bench_stage(std::string name, Stage stage, Prepare prepare,
                        stage_options options = {}) {
  using clock = std::chrono::steady_clock;
  const auto seconds = [](clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  for (std::size_t i = 0; i < options.warm_up; ++i) {
    prepare();
    detail::call_and_keep(stage);
  }
  std::vector<double> times;
  double sum = 0, half = INFINITY;
  std::size_t next_check = std::max<std::size_t>(options.fewest, 20);
  const clock::time_point begin = clock::now();
  while (times.size() < options.most) {
    prepare();
    const clock::time_point from = clock::now();
    detail::call_and_keep(stage);
    const clock::time_point to = clock::now();
    times.push_back(seconds(to - from));
    sum += times.back();
    if (times.size() < options.fewest) continue;
    if (seconds(to - begin) >= options.seconds) break;
    if (times.size() < next_check) continue;
    next_check = times.size() * 2;
    const double mean = sum / static_cast<double>(times.size());
    half = detail::half_width(times, mean);
    if (half <= options.precision * mean) break;
  }
  stage_times result;
  result.name = std::move(name);
  result.count = times.size();
  if (times.empty()) return result;
  result.mean = sum / static_cast<double>(times.size());
  half = detail::half_width(times, result.mean);
  std::sort(times.begin(), times.end());
  if (!std::isfinite(half)) half = result.mean - times.front();  // Too few calls for batches.
  result.low = std::max(0.0, result.mean - half);
  result.high = result.mean + half;
  result.min = times.front();
  result.p50 = times[times.size() / 2];
  result.p99 = times[std::min(times.size() - 1, times.size() * 99 / 100)];
  result.max = times.back();
  return result;
}

template <typename Stage>
stage_times bench_stage(std::string name, Stage stage, stage_options options = {}) {
  return bench_stage(
      std::move(name), std::move(stage), [] {}, options);
}

/// Example: "decode  1.234 ms (1.220 to 1.248), median 1.230, 99 % below 1.400, 812 calls"
inline std::string to_string(const stage_times& times) {
  char text[192];
  std::snprintf(text, sizeof text,
                "  %.4g ms (%.4g to %.4g), median %.4g, 99 %% below %.4g, %zu calls",
                times.mean * 1e3, times.low * 1e3, times.high * 1e3, times.p50 * 1e3,
                times.p99 * 1e3, times.count);
  return times.name + text;
}

}  // namespace headroom

// NOLINTEND(readability-identifier-naming)
