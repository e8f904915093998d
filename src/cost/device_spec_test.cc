#include "cost/device_spec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/damage.h"
#include "cost/test_files.h"

namespace headroom {
namespace device_spec_test {

struct TestFile {
  std::string name;
  std::string text;
};

const std::vector<TestFile>& ShippedFiles() {
  static const std::vector<TestFile> files = [] {
    std::vector<TestFile> read;
    for (const auto& entry : std::filesystem::directory_iterator(SourceDir() / "data/devices"))
      read.push_back({entry.path().filename().string(), ReadWholeFile(entry.path())});
    return read;
  }();
  return files;
}

/// Loads all shipped files except `without`.
Result<DeviceCatalog> LoadShipped(const TestFile* without = nullptr) {
  std::vector<NamedText> files;
  for (const TestFile& file : ShippedFiles()) {
    if (&file != without) files.push_back({file.name, file.text});
  }
  return DeviceCatalog::Load(files);
}

const DeviceCatalog& ShippedCatalog() {
  static const DeviceCatalog catalog = [] {
    Result<DeviceCatalog> result = LoadShipped();
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(result).value();
  }();
  return catalog;
}

struct ProfilerName {
  const char* profiler;
  const char* short_name;
};

constexpr ProfilerName kProfilerNames[] = {
    {"NVIDIA H200", "H200"},
    {"NVIDIA H100 80GB HBM3", "H100"},
    {"NVIDIA H100 PCIe", "H100-PCIe"},
    {"NVIDIA B200", "B200"},
    {"NVIDIA A100-SXM4-40GB", "A100-SXM-40"},
    {"A100-SXM4-40GB", "A100-SXM-40"},
    {"NVIDIA A100-PG509-200", "A100-SXM-40"},
    {"NVIDIA A100-SXM4-80GB", "A100-SXM-80"},
    {"NVIDIA A100-PCIE-40GB", "A100-40"},
    {"NVIDIA A100 80GB PCIe", "A100-80"},
    {"AMD Instinct MI300X", "MI300X"},
    {"AMD Instinct MI300X VF", "MI300X"},
    {"AMD Instinct MI210", "MI210"},
    {"Tesla V100-SXM2-32GB", "V100-SXM-32"},
    {"Tesla V100-PCIE-32GB", "V100"},
    {"Tesla T4", "T4"},
    {"Tesla P100-PCIE-16GB", "P100"},
    {"NVIDIA GeForce RTX 4090", "RTX-4090"},
    {"  nvidia h200 ", "H200"},
};

TEST(ShippedDevices, AreFoundByTheNamesThatProfilersWrite) {
  for (const ProfilerName& c : kProfilerNames) {
    const DeviceSpec* device = ShippedCatalog().Find(c.profiler);
    ASSERT_NE(device, nullptr) << c.profiler;
    EXPECT_EQ(device->short_name, c.short_name);
    EXPECT_EQ(ShippedCatalog().Find(c.short_name), device) << "short names are valid names";
  }
}

TEST(ShippedDevices, LeaveOthersUnknown) {
  for (const char* name :
       {"", " ", "AMD Radeon Graphics", "NVIDIA A100", "NVIDIA",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GeForce RTX 4090 Laptop GPU",
        "AMD Instinct MI250X/MI250", "xNVIDIA H200", ".*"}) {
    EXPECT_EQ(ShippedCatalog().Find(name), nullptr) << name;
  }
}

// Without its own file, a name must be unknown: no other device may match it.
TEST(ShippedDevices, EachNameBelongsToOneDevice) {
  for (const TestFile& file : ShippedFiles()) {
    const NamedText alone[] = {{file.name, file.text}};
    const Result<DeviceCatalog> own = DeviceCatalog::Load(alone);
    const Result<DeviceCatalog> others = LoadShipped(&file);
    ASSERT_TRUE(own.ok() && others.ok()) << file.name;
    const DeviceSpec& device = own.value().devices().front();
    EXPECT_EQ(others.value().Find(device.name), nullptr) << device.name;
    EXPECT_EQ(others.value().Find(device.short_name), nullptr) << device.short_name;
    for (const ProfilerName& c : kProfilerNames) {
      if (c.short_name == device.short_name) {
        EXPECT_EQ(others.value().Find(c.profiler), nullptr) << c.profiler;
      }
    }
  }
}

TEST(ShippedDevices, StateASourceForEachFigure) {
  for (const DeviceSpec& device : ShippedCatalog().devices()) {
    EXPECT_GE(device.sources.size(), 8u) << device.name;
    EXPECT_FALSE(device.SourceOf("memory_bandwidth_gbs").empty()) << device.name;
    EXPECT_TRUE(device.SourceOf("no_such_figure").empty());
  }
}

/// Devices whose published vector peak differs by more than 1 % from the peak computed from the
/// clock, with the permitted difference.
struct RoundedPeak {
  const char* short_name;
  double tolerance;
  const char* reason;
};
constexpr RoundedPeak kRoundedPeaks[] = {
    {"P4", 0.011, "the data sheet rounds 5.44 TFLOP/s up to 5.5"},
};

/// Devices without a published clock or number of lanes, so the peak cannot be checked.
constexpr const char* kUnstated[] = {"B200",   "GB200",  "H200-NVL", "MI300A",
                                     "MI300X", "MI325X", "MI350X",   "MI355X"};

// Vector FP32 peak = units * lanes * 2 * boost clock: a typing error in one of the four fails here.
// The peaks of MI300X and its successors count packed instructions, and AMD publishes no number of
// lanes.
TEST(ShippedDevices, FiguresAgreeWithEachOther) {
  for (const DeviceSpec& d : ShippedCatalog().devices()) {
    if (d.sm_count && d.fp32_lanes_per_sm && d.boost_clock_mhz && d.fp32_tflops) {
      const double peak = *d.sm_count * *d.fp32_lanes_per_sm * 2 * *d.boost_clock_mhz * 1e6 / 1e12;
      const auto exception =
          std::find_if(std::begin(kRoundedPeaks), std::end(kRoundedPeaks),
                       [&](const RoundedPeak& p) { return p.short_name == d.short_name; });
      const bool excepted = exception != std::end(kRoundedPeaks);
      EXPECT_NEAR(*d.fp32_tflops / peak, 1.0, excepted ? exception->tolerance : 0.01)
          << d.name << (excepted ? exception->reason : "");
    }
    if (d.fp32_tflops && !(d.sm_count && d.fp32_lanes_per_sm && d.boost_clock_mhz)) {
      EXPECT_NE(std::find(std::begin(kUnstated), std::end(kUnstated), d.short_name),
                std::end(kUnstated))
          << d.name << ": state the clock and lanes so that the peak can be checked";
    }
    if (d.tf32_tensor_tflops && d.bf16_tensor_tflops) {
      EXPECT_NEAR(*d.bf16_tensor_tflops / *d.tf32_tensor_tflops, 2.0, 0.02)
          << d.name << ": is one figure dense and the other sparse?";
    }
    if (d.fp8_tensor_tflops && d.fp16_tensor_tflops) {
      EXPECT_NEAR(*d.fp8_tensor_tflops / *d.fp16_tensor_tflops, 2.0, 0.02)
          << d.name << ": is one figure dense and the other sparse?";
    }
    // MI100's bfloat16 runs at half the rate. All later matrix units run both types at one rate.
    if (d.bf16_tensor_tflops && d.fp16_tensor_tflops && d.short_name != "MI100") {
      EXPECT_EQ(*d.bf16_tensor_tflops, *d.fp16_tensor_tflops) << d.name;
    }
  }
}

// Predictions must not subtract the driver's reserve twice.
TEST(ShippedDevices, MemoryIsUsableWhereTheDriverReportedIt) {
  for (const DeviceSpec& d : ShippedCatalog().devices()) {
    EXPECT_EQ(d.memory_is_usable,
              d.SourceOf("memory_bytes").find("device properties") != std::string_view::npos)
        << d.name;
  }
}

TEST(ShippedDevices, OfMemoryADriverKeepsSome) {
  DeviceSpec device;
  EXPECT_EQ(device.UsableBytes(), std::nullopt);
  device.memory_bytes = 100;
  device.memory_type = "HBM3";
  EXPECT_EQ(device.UsableBytes(), 99);
  device.memory_type = "GDDR6";
  EXPECT_EQ(device.UsableBytes(), 92);
  device.name = "NVIDIA GeForce RTX 4090";
  EXPECT_EQ(device.UsableBytes(), 98);
  device.memory_is_usable = true;
  EXPECT_EQ(device.UsableBytes(), 100);
}

TEST(ShippedDevices, HoldDenseTensorPeaks) {
  const DeviceSpec* h200 = ShippedCatalog().Find("H200");
  ASSERT_NE(h200, nullptr);
  EXPECT_NEAR(*h200->bf16_tensor_tflops, 989.4, 0.1) << "the data sheet's 1979 is with sparsity";
  EXPECT_EQ(*h200->memory_bandwidth_gbs, 4800);
  EXPECT_FALSE(h200->fp32_matrix_tflops.has_value());
  EXPECT_FALSE(ShippedCatalog().Find("V100")->bf16_tensor_tflops.has_value())
      << "Volta has no bfloat16";
}

// devices.csv of the gpu-latency data set names the devices that predictions cover.
TEST(ShippedDevices, CoverTheShortNamesOfTheLatencyData) {
  for (const char* name : {"P4", "P100", "V100", "T4", "A100-40", "A100-80", "A100-SXM-40", "L4",
                           "H100", "MI100", "MI210", "MI250"}) {
    EXPECT_NE(ShippedCatalog().Find(name), nullptr) << name;
  }
}

constexpr const char* kGood = R"(
name = "Test GPU"
short_name = "T"
vendor = "NVIDIA"
match = ['Test GPU v\d']
[figures]
tdp_w = { value = 10, unit = "W", source = "sheet" }
)";

TEST(DeviceCatalog, LaterFilesReplaceEarlierOnes) {
  std::string user = kGood;
  user.replace(user.find("10"), 2, "20");
  const NamedText files[] = {{"built-in.toml", kGood}, {"user.toml", user}};
  const Result<DeviceCatalog> catalog = DeviceCatalog::Load(files);
  ASSERT_TRUE(catalog.ok());
  EXPECT_EQ(catalog.value().devices().size(), 1u);
  EXPECT_EQ(*catalog.value().Find("test gpu V7")->tdp_w, 20);
}

TEST(DeviceCatalog, SaysWhatIsWrongWithAFile) {
  struct Case {
    const char* from;
    const char* to;
    const char* names;  ///< The message must contain it.
  };
  const Case cases[] = {
      {"name = \"Test GPU\"", "name = ", "line 2"},
      {"name = \"Test GPU\"\n", "", "'name'"},
      {"\"T\"", "3", "'short_name'"},
      {"\"NVIDIA\"", "\"\"", "'vendor'"},
      {"'Test GPU v\\d'", "'('", "'match'"},
      {"['Test GPU v\\d']", "'Test'", "'match'"},
      {"'Test GPU v\\d'", "'.*'", "matches any name or an empty one"},
      {"'Test GPU v\\d'", "'(Test)?'", "matches any name or an empty one"},
      {"match", "memory_is_usable = 1\nmatch", "'memory_is_usable'"},
      {"tdp_w", "tdp", "'tdp'"},
      {"vendor =", "vender = \"x\"\nvendor =", "'vender'"},
      {"value = 10", "value = 0", "'tdp_w'"},
      {"value = 10", "value = -1", "'tdp_w'"},
      {"value = 10", "value = nan", "'tdp_w'"},
      {"value = 10", "value = \"10\"", "'tdp_w'"},
      {"value = 10", "value = 1e30", "must be from 1 to 100000 W"},
      {"value = 10", "value = 0.5", "line"},
      {"tdp_w = { value = 10, unit = \"W\"", "sm_count = { value = 14.5, unit = \"1\"",
       "must be a whole number"},
      {"tdp_w",
       "sm_count = { value = 14, unit = \"1\", source = \"s\" }\n"
       "fp32_lanes_per_sm = { value = 64, unit = \"1\", source = \"s\" }\n"
       "fp32_tflops = { value = 2500, unit = \"TFLOP/s\", source = \"s\" }\ntdp_w",
       "an impossible clock of 1.4e+03 GHz"},
      {"tdp_w",
       "sm_count = { value = 14000, unit = \"1\", source = \"s\" }\n"
       "fp32_lanes_per_sm = { value = 64, unit = \"1\", source = \"s\" }\n"
       "fp32_tflops = { value = 2.5, unit = \"TFLOP/s\", source = \"s\" }\ntdp_w",
       "an impossible clock of 0.0014 GHz"},
      {"\"W\"", "\"mW\"", "must be in W, not in mW"},
      {", source = \"sheet\"", "", "source"},
      {"\"sheet\"", "\"\"", "no source"},
      {"{ value = 10, unit = \"W\", source = \"sheet\" }", "10", "{ value = NUMBER"},
  };
  for (const Case& c : cases) {
    std::string text = kGood;
    text.replace(text.find(c.from), std::string(c.from).size(), c.to);
    const NamedText files[] = {{"user.toml", text}};
    const Result<DeviceCatalog> catalog = DeviceCatalog::Load(files);
    ASSERT_FALSE(catalog.ok()) << text;
    EXPECT_EQ(catalog.status().code(), StatusCode::kBadInput);
    EXPECT_NE(catalog.status().message().find("user.toml"), std::string::npos)
        << catalog.status().message();
    EXPECT_NE(catalog.status().message().find(c.names), std::string::npos)
        << catalog.status().message();
  }
}

RC_GTEST_PROP(DeviceCatalogProperty, ADamagedFileGivesOneSoundDeviceOrAnErrorThatNamesIt, ()) {
  const std::string text = Damaged((*rc::gen::elementOf(ShippedFiles())).text);
  const NamedText files[] = {{"damaged.toml", text}};
  const Result<DeviceCatalog> catalog = DeviceCatalog::Load(files);
  if (!catalog.ok()) {
    RC_ASSERT(catalog.status().code() == StatusCode::kBadInput);
    RC_ASSERT(catalog.status().message().find("damaged.toml") != std::string::npos);
    return;
  }
  RC_ASSERT(catalog.value().devices().size() == 1u);
  const DeviceSpec& device = catalog.value().devices().front();
  RC_ASSERT(!device.name.empty() && !device.short_name.empty() && !device.vendor.empty());
  for (const auto& [key, source] : device.sources) RC_ASSERT(!source.empty());
  for (const auto& figure : {device.memory_bytes, device.tdp_w, device.memory_bandwidth_gbs})
    RC_ASSERT(!figure || (std::isfinite(*figure) && *figure > 0));
}

RC_GTEST_PROP(DeviceCatalogProperty, CaseAndBlanksOfANameDoNotMatter, ()) {
  const DeviceSpec device = *rc::gen::elementOf(std::vector<DeviceSpec>(
      ShippedCatalog().devices().begin(), ShippedCatalog().devices().end()));
  const std::string name = Damaged(device.name);
  std::string other = "  " + name + " ";
  for (char& c : other) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  RC_ASSERT(ShippedCatalog().Find(name) == ShippedCatalog().Find(other));
}

}  // namespace device_spec_test
}  // namespace headroom
