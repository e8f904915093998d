#include "analysis/gpu/gpu_model.h"

#include "analysis/test_trace.h"
#include "cost/device_spec.h"

namespace headroom {
namespace gpu_model_test {

constexpr std::int64_t kBytesOfMi300X = 206'141'652'992;

struct Found {
  std::vector<DeviceInfo> gpus;
  std::string model;  ///< Model of the GPUs that ran work.
};
Found Find(const StoreBuilder& builder) {
  const std::unique_ptr<TraceStore> store = builder.Build();
  const DeviceSpec* spec = SpecOf(*store, TestReferenceData().devices());
  return {DescribeGpus(*store, TestReferenceData().devices()), spec == nullptr ? "" : spec->name};
}

TEST(GpuModel, WorkOfAnUndescribedNumberIsOfTheOneKindThatIsDescribed) {
  StoreBuilder b;
  b.NameDevice(0, "AMD Instinct MI300X VF");
  b.SizeDevice(0, 304, 205'571'227'648, {9, 4});
  b.Kernel(kGemm, kStream, 0, 10).Device(2);
  const Found found = Find(b);
  EXPECT_EQ(found.model, "AMD Instinct MI300X");
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[1].id, 2);
  EXPECT_EQ(found.gpus[1].name, "AMD Instinct MI300X VF");
  EXPECT_EQ(found.gpus[1].vendor, "AMD");
  EXPECT_EQ(found.gpus[1].architecture, "gfx942");
  EXPECT_EQ(found.gpus[1].compute_capability, "9.4");

  b.NameDevice(1, "NVIDIA H200");
  EXPECT_EQ(Find(b).model, "") << "two kinds are described";
  EXPECT_EQ(Find(b).gpus.size(), 2u);
}

struct SizeCase {
  const char* name;
  std::int32_t sms;
  std::int64_t bytes;
  std::pair<std::int32_t, std::int32_t> capability;
  const char* model;
};
const SizeCase kSizeCases[] = {
    {"", 304, kBytesOfMi300X, {9, 4}, "AMD Instinct MI300X"},
    {"AMD Radeon Graphics", 304, kBytesOfMi300X, {9, 4}, "AMD Instinct MI300X"},
    {"", 304, kBytesOfMi300X, {9, 5}, ""},             // Another generation.
    {"", 303, kBytesOfMi300X, {9, 4}, ""},             // Another size.
    {"", 304, 256'000'000'000, {9, 4}, ""},            // MI325X has 275 GB.
    {"", 104, 68'702'699'520, {9, 0}, ""},             // MI210, or half an MI250.
    {"NVIDIA H999", 132, 85'018'279'936, {9, 0}, ""},  // Named, but unknown.
    {"", 132, 150'109'880'320, {9, 0}, ""},            // H200, as SXM or NVL.
    {"", 148, 191'503'138'816, {10, 0}, "NVIDIA B200"},
};

TEST(GpuModel, AnUnnamedGpuIsToldByItsSize) {
  for (const SizeCase& c : kSizeCases) {
    StoreBuilder b;
    b.NameDevice(0, c.name);
    b.SizeDevice(0, c.sms, c.bytes, c.capability);
    b.Kernel(kGemm, kStream, 0, 10);
    EXPECT_EQ(Find(b).model, c.model) << c.name << " " << c.sms << " " << c.bytes;
  }
}

TEST(GpuModel, WithoutDescriptionsIsUnknown) {
  StoreBuilder b;
  b.Kernel(kGemm, kStream, 0, 10).Device(2);
  EXPECT_EQ(Find(b).model, "");
  EXPECT_TRUE(Find(b).gpus.empty());
}

}  // namespace gpu_model_test
}  // namespace headroom
