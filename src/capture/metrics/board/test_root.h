// For tests: a copy of a folder of testdata/ that can change between samples, and a board to read a
// source into.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/metric_source.h"

namespace headroom {

class TestRoot {
 public:
  /// @param folder  folder in testdata/; empty: no files
  explicit TestRoot(const std::string& folder) {
    namespace fs = std::filesystem;
    std::string name = fs::temp_directory_path() / "headroom-metrics-XXXXXX";
    path_ = mkdtemp(name.data());
    if (folder.empty()) return;
    const char* source = std::getenv("HEADROOM_SOURCE_DIR");
    fs::copy(fs::path(source != nullptr ? source : ".") / "src/capture/metrics/testdata" / folder,
             path_, fs::copy_options::recursive);
  }
  TestRoot(const TestRoot&) = delete;
  TestRoot& operator=(const TestRoot&) = delete;
  ~TestRoot() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

  /// Changes a file in place, as the kernel does: open descriptors stay valid.
  void Write(const std::string& file, std::string_view text) const {
    const std::filesystem::path path = path_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::trunc) << text;
  }
  void Remove(const std::string& file) const { std::filesystem::remove_all(path_ + "/" + file); }

 private:
  std::string path_;
};

constexpr const char* kFakeNvml = "libnvidia-ml.so.1";
constexpr const char* kFakeRocmSmi = "librocm_smi64.so";

/// Returns the path of a fake vendor library, in fake/ next to this program.
inline std::string FakeLibrary(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake" / name;
}

/// Reads one source repeatedly.
struct TestBoard {
  MetricBoard board;
  ReadBuffer buffer;

  void Sample(MetricSource& source, bool edge = false, bool slow = true) {
    // Waits, so that the interval since the previous sample is long enough for rates.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    board.Begin();
    SampleRun run{
        .board = board, .buffer = buffer, .now = MonotonicNow(), .edge = edge, .slow = slow};
    source.Read(run);
  }
  bool Has(std::string_view name, std::string_view instance = "") const {
    return Index(name, instance) < board.metrics().size();
  }
  /// Returns NaN if the metric is missing or unknown.
  double Value(std::string_view name, std::string_view instance = "") const {
    return At(board.reading().values, name, instance);
  }
  double Total(std::string_view name, std::string_view instance = "") const {
    return At(board.reading().totals, name, instance);
  }
  bool Missing(std::string_view name, std::string_view instance = "") const {
    return Has(name, instance) && std::isnan(Value(name, instance));
  }

 private:
  std::size_t Index(std::string_view name, std::string_view instance) const {
    std::size_t i = 0;
    for (const Metric& metric : board.metrics()) {
      if (metric.name == name && metric.instance == instance) break;
      ++i;
    }
    return i;
  }
  double At(const std::vector<double>& column, std::string_view name,
            std::string_view instance) const {
    const std::size_t i = Index(name, instance);
    return i < column.size() ? column[i] : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace headroom
