#include <algorithm>
#include <functional>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace {

using Fill = std::function<void(StoreBuilder&, std::int64_t)>;

/// Six steps of 1000 us on an H200; `fill` draws the step that begins at a time.
StoreBuilder Job(const Fill& fill) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int i = 0; i < 6; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    fill(b, i * 1000);
    b.Launch("aten::add", kMain, i * 1000 + 900, kAdd, kStream, i * 1000 + 990, 10);
  }
  return b;
}

const Finding* Found(const TraceReport& report, std::string_view id) {
  const auto it = std::find_if(report.findings.begin(), report.findings.end(),
                               [&](const Finding& f) { return f.id == id; });
  return it == report.findings.end() ? nullptr : &*it;
}

void Busy(StoreBuilder& b, std::int64_t at, const char* kernel, std::int64_t from,
          std::int64_t to) {
  b.Launch("aten::op", kMain, at + 5, kernel, kStream, at + from, to - from);
}

constexpr const char* kTensorCoreGemm = "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT";
constexpr const char* kCopyKernel =
    "void at::native::elementwise_kernel<128, 4, "
    "at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&"
    ")";
constexpr const char* kFusedAdam =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>";

/// A step that nothing is wrong with: matrix products on tensor cores fill it.
void Sound(StoreBuilder& b, std::int64_t at) { Busy(b, at, kTensorCoreGemm, 2, 990); }

void Optimizer(StoreBuilder& b, std::int64_t at, int kernels, const char* kernel) {
  Busy(b, at, kTensorCoreGemm, 2, 590);
  b.Annotation("Optimizer.step#SGD.step", kMain, at + 100, 480);
  for (int k = 0; k < kernels; ++k)
    b.Launch("aten::add_", kMain, at + 101 + 2 * k, kernel, kStream, at + 590 + 2 * k, 2);
}

struct RuleCase {
  const char* id;
  const char* section;
  Fill fires;
  Fill silent;
};

const RuleCase kRules[] = {
    {"late-launches", "bottleneck",
     [](StoreBuilder& b, std::int64_t at) {
       for (int k = 0; k < 10; ++k)
         b.Launch("aten::mm", kMain, at + k * 90, kTensorCoreGemm, kStream, at + k * 90 + 5, 20);
     },
     [](StoreBuilder& b,
        std::int64_t at) {  // Launched in time; the last covers the next step's first launch.
       for (int k = 0; k < 10; ++k) {
         b.Launch("aten::mm", kMain, at + k, kTensorCoreGemm, kStream, at + k * 100 + 70,
                  k == 9 ? 150 : 20);
       }
     }},
    {"data-wait", "breakdown",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       b.Annotation("enumerate(DataLoader)#iter", kMain, at + 590, 300);
     },
     [](StoreBuilder& b, std::int64_t at) {  // The GPU works while the loop waits.
       Sound(b, at);
       b.Annotation("enumerate(DataLoader)#iter", kMain, at + 590, 300);
     }},
    {"exposed-communication", "breakdown",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       Busy(b, at, kAllReduce, 590, 990);
     },
     [](StoreBuilder& b, std::int64_t at) {
       Sound(b, at);
       b.Launch("nccl:all_reduce", kMain, at + 8, kAllReduce, kSideStream, at + 100, 400);
     }},
    {"exposed-copies", "breakdown",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
       b.Copy(CopyKind::kHostToDevice, kStream, at + 590, 400, at + 1).Bytes(1'000'000);
     },
     [](StoreBuilder& b, std::int64_t at) {
       Sound(b, at);
       b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
       b.Copy(CopyKind::kHostToDevice, kSideStream, at + 590, 300, at + 1);
     }},
    {"costly-syncs", "syncs",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 500);
       b.Call("cudaStreamSynchronize", kMain, at + 20, 481);
     },
     [](StoreBuilder& b, std::int64_t at) {  // The GPU has more to do.
       Sound(b, at);
       b.Call("cudaStreamSynchronize", kMain, at + 20, 200);
     }},
    {"unfused-optimizer", "breakdown",
     [](StoreBuilder& b, std::int64_t at) { Optimizer(b, at, 150, kAdd); },
     [](StoreBuilder& b, std::int64_t at) { Optimizer(b, at, 150, kFusedAdam); }},
    {"unfused-elementwise", "classes",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       Busy(b, at, kAdd, 590, 990);
     },
     Sound},
    {"device-copies", "classes",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kTensorCoreGemm, 2, 590);
       Busy(b, at, kCopyKernel, 590, 990);
     },
     Sound},
    {"gaps-between-kernels", "bottleneck",
     [](StoreBuilder& b, std::int64_t at) {
       for (int k = 0; k < 50; ++k)
         b.Launch("aten::mm", kMain, at + k * 2, kTensorCoreGemm, kStream, at + 110 + k * 17, 13);
     },
     Sound},
    {"idle-tensor-cores", "efficiency",
     [](StoreBuilder& b, std::int64_t at) {
       b.Op("aten::mm", kMain, at + 5, 2)
           .Shapes("[[512, 512], [512, 512]]", R"(["float", "float"])");
       b.Call("cudaLaunchKernel", kMain, at + 5, 1, at + 1);
       b.Kernel(kGemm, kStream, at + 10, 980, at + 1);
     },
     [](StoreBuilder& b, std::int64_t at) {
       b.Op("aten::mm", kMain, at + 5, 2)
           .Shapes("[[512, 512], [512, 512]]", R"(["c10::Half", "c10::Half"])");
       b.Call("cudaLaunchKernel", kMain, at + 5, 1, at + 1);
       b.Kernel(kTensorCoreGemm, kStream, at + 10, 980, at + 1);
     }},
};

TEST(Findings, EachRuleFiresOnItsCauseAndStaysSilentWithoutIt) {
  for (const RuleCase& c : kRules) {
    const TraceReport fires = AnalyzeTrace(Job(c.fires));
    const Finding* finding = Found(fires, c.id);
    ASSERT_NE(finding, nullptr) << c.id;
    EXPECT_EQ(finding->check_section, c.section) << c.id;
    EXPECT_FALSE(finding->action.empty()) << c.id;
    EXPECT_FALSE(finding->evidence.empty()) << c.id;
    ASSERT_TRUE(finding->share_pct) << c.id;
    EXPECT_GT(*finding->share_pct, 2) << c.id;
    EXPECT_LE(*finding->share_pct, 100) << c.id;
    EXPECT_NE(finding->title.find(finding->figure), std::string::npos)
        << c.id << ": the title quotes its figure";
    EXPECT_EQ(Found(AnalyzeTrace(Job(c.silent)), c.id), nullptr) << c.id;
  }
}

TEST(Findings, OfASoundJobAreNone) {
  for (const Finding& finding : AnalyzeTrace(Job(Sound)).findings)
    ADD_FAILURE() << finding.id << ": " << finding.title;
}

TEST(Findings, NameOutlierSteps) {
  StoreBuilder b;
  const auto job = [](std::int64_t slow_us) {
    StoreBuilder steps;
    std::int64_t at = 0;
    for (int i = 0; i < 6; ++i) {
      const std::int64_t wall = i == 3 ? slow_us : 1000;
      steps.Step(i, kMain, at, wall);
      steps.Launch("aten::mm", kMain, at + 1, kTensorCoreGemm, kStream, at + 2, wall - 2);
      at += wall;
    }
    return AnalyzeTrace(steps);
  };
  const TraceReport slow = job(3000);
  const Finding* finding = Found(slow, "outlier-steps");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->title.find("step 3 took 3.00 ms"), std::string::npos) << finding->title;
  EXPECT_NEAR(*finding->share_pct, 100.0 * 2 / 6, 0.1);
  EXPECT_EQ(Found(job(1100), "outlier-steps"), nullptr);
}

TEST(Findings, AreRankedByTheTimeThatTheyHoldAndAtMostSeven) {
  const TraceReport report = AnalyzeTrace(Job([](StoreBuilder& b, std::int64_t at) {
    Busy(b, at, kGemm, 2, 150);
    Busy(b, at, kAdd, 150, 260);
    Busy(b, at, kCopyKernel, 260, 370);
    Busy(b, at, kAllReduce, 370, 450);
    b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
    b.Copy(CopyKind::kHostToDevice, kStream, at + 450, 50, at + 1);
    b.Annotation("enumerate(DataLoader)#iter", kMain, at + 500, 60);
    b.Call("cudaStreamSynchronize", kMain, at + 570, 50);
    b.Annotation("Optimizer.step#SGD.step", kMain, at + 620, 230);
    for (int k = 0; k < 110; ++k)
      b.Launch("aten::add_", kMain, at + 621 + 2 * k, kAdd, kStream, at + 640 + 2 * k, 1);
  }));
  EXPECT_EQ(report.findings.size(), 7u);
  for (std::size_t i = 1; i < report.findings.size(); ++i) {
    EXPECT_GE(*report.findings[i - 1].share_pct, *report.findings[i].share_pct);
  }
}

}  // namespace
}  // namespace headroom
