// Measures, on a GPU, the cost of recording through CUPTI and the error of event times.
// tools/test_gpu builds and runs it.
//
// usage: gpu_cost [--seconds S] [--repeats N]
//
// Exit code: 0 fine, 1 the recording lost or misplaced something, 2 usage, 3 no GPU, 4 the GPU
// failed.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "activity_recording.h"

namespace headroom::activity {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Mode {
  const char* name;
  bool injected;
  Variables environment;
};

/// The output of launch_load, and its recording.
struct Measured {
  Recording recording;
  std::vector<std::pair<std::string, double>> results;

  double Get(const std::string& what) const {
    for (const auto& [name, value] : results) {
      if (name == what) return value;
    }
    return 0;
  }
};

/// Ends this program with launch_load's exit code if it fails.
Measured Measure(const Mode& mode, std::vector<std::string> arguments) {
  const std::string path = "/tmp/headroom-gpu-cost." + std::to_string(getpid());
  arguments.insert(arguments.begin(), LAUNCH_LOAD);
  arguments.push_back(path);
  RecordOptions options;
  options.command = std::move(arguments);
  options.environment = mode.environment;
  options.environment.emplace_back("CUDA_INJECTION64_PATH", mode.injected ? INJECTION_LIBRARY : "");
  Measured measured{Record(options), {}};
  std::ifstream lines(path);
  std::string what;
  double value = 0;
  while (lines >> what >> value) measured.results.emplace_back(what, value);
  std::remove(path.c_str());
  if (measured.recording.status != 0) std::exit(measured.recording.status);
  return measured;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::int64_t Sum(const Recording& recording, const char* what) {
  const auto found = recording.messages.find(what);
  return found == recording.messages.end() ? 0 : found->second;
}

/// Returns whether every launch was recorded once.
bool MeasureCost(double seconds, int repeats) {
  const Mode modes[] = {
      {"not injected", false, {}},
      {"injected, kinds off", true, {{"HEADROOM_LEVEL", "gpu"}, {"HEADROOM_STEPS", "0:0"}}},
      {"gpu", true, {{"HEADROOM_LEVEL", "gpu"}}},
      {"full", true, {{"HEADROOM_LEVEL", "full"}}}};
  bool whole = true;
  std::printf("%-9s %-20s %10s %10s %10s %9s %10s %9s %8s\n", "launches", "recording", "launch",
              "launch", "wall", "CPU", "own", "kernels", "lost");
  std::printf("%-9s %-20s %10s %10s %10s %9s %10s %9s %8s\n", "a second", "", "p50 ns", "p99 ns",
              "s", "s", "thread ms", "", "");
  for (const long rate : {1000L, 10000L, 50000L}) {
    std::vector<double> p50[4], p99[4], wall[4], cpu[4], own[4];
    std::size_t kernels[4] = {};
    std::uint64_t lost[4] = {};
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (std::size_t i = 0; i < std::size(modes); ++i) {  // By turns, so that a slow minute
                                                            // affects all cases.
        const Measured run =
            Measure(modes[i], {"rate", std::to_string(rate), std::to_string(seconds)});
        p50[i].push_back(run.Get("launch_p50_ns"));
        p99[i].push_back(run.Get("launch_p99_ns"));
        wall[i].push_back(run.Get("wall_s"));
        cpu[i].push_back(run.Get("cpu_s"));
        own[i].push_back(static_cast<double>(Sum(run.recording, message::kWorkerTime)) * 1e-6);
        kernels[i] = run.recording.tasks.size();
        lost[i] = run.recording.dropped +
                  static_cast<std::uint64_t>(Sum(run.recording, message::kDropped) +
                                             Sum(run.recording, message::kUntimed));
        for (const std::string& why : run.recording.texts.count(message::kUnavailable) > 0
                                          ? run.recording.texts.at(message::kUnavailable)
                                          : std::vector<std::string>()) {
          std::printf("%s\n", why.c_str());
          whole = false;
        }
        const bool records = modes[i].injected && i != 1;
        const auto launched = static_cast<std::size_t>(run.Get("launches")) + 1000;  // Includes the
                                                                                     // warm-up.
        if (records && kernels[i] + lost[i] != launched) whole = false;
      }
    }
    for (std::size_t i = 0; i < std::size(modes); ++i) {
      std::printf("%-9ld %-20s %10.0f %10.0f %10.4f %9.3f %10.2f %9zu %8llu\n", rate, modes[i].name,
                  Median(p50[i]), Median(p99[i]), Median(wall[i]), Median(cpu[i]), Median(own[i]),
                  kernels[i], static_cast<unsigned long long>(lost[i]));
    }
  }
  return whole;
}

/// Returns whether every kernel was found.
bool CompareDurations() {
  constexpr int kKernels = 500;
  const Mode mode = {"gpu", true, {{"HEADROOM_LEVEL", "gpu"}}};
  const Measured run = Measure(mode, {"durations", std::to_string(kKernels)});
  std::vector<Kept<GpuTask>> tasks = run.recording.tasks;
  std::sort(tasks.begin(), tasks.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  if (tasks.size() != kKernels || run.results.size() != kKernels) {
    std::printf("%zu of %d kernels were recorded\n", tasks.size(), kKernels);
    return false;
  }
  std::vector<double> off;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const double kernel =
        static_cast<double>(tasks[i].end - tasks[i].start) * run.recording.ns_per_tick;
    off.push_back(run.results[i].second - kernel);
  }
  std::sort(off.begin(), off.end());
  std::printf("event pair less CUPTI's kernel, ns: p5 %.0f  median %.0f  p95 %.0f\n",
              off[off.size() / 20], off[off.size() / 2], off[off.size() * 19 / 20]);
  return true;
}

}  // namespace
}  // namespace headroom::activity

int main(int argc, char** argv) {
  double seconds = 5;
  int repeats = 3;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::strtod(argv[i + 1], nullptr);
    if (std::strcmp(argv[i], "--repeats") == 0) repeats = std::atoi(argv[i + 1]);
  }
  if (argc % 2 == 0 || !(seconds > 0) || repeats <= 0) {
    std::fprintf(stderr, "usage: gpu_cost [--seconds S] [--repeats N]\n");
    return 2;
  }
  const bool found = headroom::activity::CompareDurations();
  const bool whole = headroom::activity::MeasureCost(seconds, repeats);
  return whole && found ? 0 : 1;
}
