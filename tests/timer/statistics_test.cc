// Compares statistics with a slow, simple reference, for any regions, on a clock that the test
// sets.
#define HEADROOM_TEST_CLOCK HeadroomTestClock  // Defined below.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <headroom/timer.hpp>
#include <map>
#include <string>
#include <vector>

namespace {
std::uint64_t time_now = 1000;
}

extern "C" uint64_t HeadroomTestClock() { return time_now; }

namespace headroom {
namespace {

struct Region {
  std::string key;
  std::uint64_t begin, end;
};

/// One action: begins a region of a key, or ends the nth open region.
struct Action {
  bool begins;
  int key, which;
  std::uint64_t passes;
};

/// Returns the self time of each region, one moment at a time. Each moment counts for the open
/// region that began last. `began` is ordered by beginning.
std::vector<std::uint64_t> OwnTimes(const std::vector<Region>& began, std::uint64_t from,
                                    std::uint64_t to) {
  std::vector<std::uint64_t> own(began.size(), 0);
  for (std::uint64_t t = from; t < to; ++t) {
    for (std::size_t i = began.size(); i-- > 0;) {
      if (began[i].begin <= t && t < began[i].end) {
        ++own[i];
        break;
      }
    }
  }
  return own;
}

double Quantile(std::vector<double> lengths, double share) {
  std::sort(lengths.begin(), lengths.end());
  const double rank = std::ceil(share * static_cast<double>(lengths.size()));
  return lengths[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

RC_GTEST_PROP(StatisticsTest, AreThoseOfTheReference, ()) {
  static int run = 0;
  const std::string prefix = "run " + std::to_string(++run) + " key ";
  const auto actions = *rc::gen::container<std::vector<Action>>(rc::gen::build<Action>(
      rc::gen::set(&Action::begins, rc::gen::arbitrary<bool>()),
      rc::gen::set(&Action::key, rc::gen::inRange(0, 3)),
      rc::gen::set(&Action::which, rc::gen::inRange(0, 8)),
      rc::gen::set(&Action::passes, rc::gen::inRange<std::uint64_t>(0, 60))));

  const std::uint64_t from = time_now;
  std::vector<Region> regions;
  std::vector<std::pair<std::size_t, headroom_token>> open;
  const auto end = [&](std::size_t which) {
    regions[open[which].first].end = time_now;
    headroom::end(open[which].second);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
  };
  for (const Action& action : actions) {
    if (action.begins || open.empty()) {
      const std::string key = prefix + std::to_string(action.key);
      open.emplace_back(regions.size(), headroom::begin(key));
      regions.push_back({key, time_now, 0});
    } else {
      end(static_cast<std::size_t>(action.which) % open.size());
    }
    time_now += action.passes;
  }
  while (!open.empty()) end(0);

  const std::vector<std::uint64_t> own = OwnTimes(regions, from, time_now);
  for (int k = 0; k < 3; ++k) {
    const std::string key = prefix + std::to_string(k);
    std::vector<double> lengths;
    double self = 0, total = 0, sum = 0;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (regions[i].key != key) continue;
      lengths.push_back(static_cast<double>(regions[i].end - regions[i].begin));
      sum += lengths.back();
      self += static_cast<double>(own[i]);
    }
    for (std::uint64_t t = from; t < time_now; ++t) {
      total += std::any_of(regions.begin(), regions.end(), [&](const Region& r) {
        return r.key == key && r.begin <= t && t < r.end;
      });
    }
    const Stats s = stats(key);
    RC_ASSERT(s.count == lengths.size());
    if (lengths.empty()) continue;
    const double n = static_cast<double>(lengths.size()), mean = sum / n;
    double squares = 0;
    for (const double length : lengths) squares += (length - mean) * (length - mean);
    const auto near = [](double seconds, double ns) { return std::abs(seconds * 1e9 - ns) < 1e-6; };
    RC_ASSERT(near(s.total_s, total));
    RC_ASSERT(near(s.self_s, self));
    RC_ASSERT(near(s.min_s, *std::min_element(lengths.begin(), lengths.end())));
    RC_ASSERT(near(s.max_s, *std::max_element(lengths.begin(), lengths.end())));
    RC_ASSERT(near(s.mean_s, mean));
    RC_ASSERT(near(s.stdev_s, n > 1 ? std::sqrt(squares / (n - 1)) : 0));
    for (const auto& [share, seconds] :
         {std::pair{0.5, s.p50_s}, {0.9, s.p90_s}, {0.99, s.p99_s}}) {
      const double exact = Quantile(lengths, share);
      RC_ASSERT(std::abs(seconds * 1e9 - exact) <= 0.032 * exact + 1e-6);
    }
  }
}

TEST(StatisticsTest, HistogramErrorIsBoundedOverAllLengths) {
  for (int power = 0; power < 44; ++power) {
    for (const std::int64_t near : {-1, 0, 1, 7}) {
      const std::int64_t length = (std::int64_t{1} << power) + near;
      if (length <= 0) continue;
      const std::string key = "length " + std::to_string(length);
      // Another key has twice and half the length, so the extremes do not help.
      for (const std::int64_t ns : {length / 2, length, length * 2}) {
        const headroom_token token = headroom::begin(key);
        time_now += static_cast<std::uint64_t>(ns);
        headroom::end(token);
      }
      EXPECT_NEAR(stats(key).p50_s * 1e9, static_cast<double>(length),
                  0.032 * static_cast<double>(length) + 1e-6)
          << length;
    }
  }
}

TEST(StatisticsTest, AClockThatStepsBackIsHeld) {
  const headroom_token outer = headroom::begin("held outer");
  time_now += 100;
  const headroom_token inner = headroom::begin("held inner");
  time_now -= 50;
  headroom::end(inner);
  time_now += 20;
  headroom::end(outer);
  EXPECT_DOUBLE_EQ(stats("held inner").total_s, 0);
  EXPECT_DOUBLE_EQ(stats("held outer").total_s, 100e-9);
  EXPECT_DOUBLE_EQ(stats("held outer").self_s, 100e-9);
  time_now += 30;
}

}  // namespace
}  // namespace headroom
