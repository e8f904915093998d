// Measures the classification of kernel names. The names are the examples in the shipped rules.
#include "cost/kernel_class.h"

#include <benchmark/benchmark.h>

#include <string>

#include "cost/test_files.h"

namespace headroom {
namespace {

/// A report classifies each distinct name of a trace once. Large traces have thousands of distinct
/// names.
void BM_ClassifyKernelNames(benchmark::State& state) {
  const std::string text = ReadWholeFile(SourceDir() / "data/rules/kernels.toml");
  const Result<KernelClassifier> rules = KernelClassifier::Parse({"kernels.toml", text});
  if (!rules.ok()) return state.SkipWithError(rules.status().message().c_str());
  const auto families = ReadRules({"kernels.toml", text}, kKernelRuleLists).value().front();
  std::int64_t names = 0, bytes = 0;
  for (auto _ : state) {
    for (const NameRule& rule : families) {
      for (const std::string& name : rule.examples) {
        const KernelClass result = rules.value().Classify(name);
        if (Name(result.family) != rule.value) return state.SkipWithError("wrong class");
        ++names;
        bytes += static_cast<std::int64_t>(name.size());
      }
    }
  }
  state.SetItemsProcessed(names);
  state.SetBytesProcessed(bytes);
}
BENCHMARK(BM_ClassifyKernelNames)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace headroom
