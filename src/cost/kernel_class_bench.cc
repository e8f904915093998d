// Classifying kernel names: the names are the examples of the shipped rules, which are real ones.
#include "cost/kernel_class.h"

#include <benchmark/benchmark.h>

#include "cost/test_files.h"

namespace headroom {
namespace {

/// A report classifies each distinct name of a trace once; large traces hold some thousands.
void BM_ClassifyKernelNames(benchmark::State& state) {
  const std::string text = ReadWholeFile(SourceDir() / "data/rules/kernels.toml");
  const Result<KernelClassifier> rules = KernelClassifier::Parse({"kernels.toml", text});
  if (!rules.ok()) return state.SkipWithError(rules.status().message().c_str());
  std::int64_t names = 0, bytes = 0;
  for (auto _ : state) {
    for (const KernelClassifier::Example& example : rules.value().examples()) {
      const KernelClass result = rules.value().Classify(example.kernel);
      if (example.list == "family" && Name(result.family) != example.expect) {
        return state.SkipWithError("wrong class");
      }
      ++names;
      bytes += static_cast<std::int64_t>(example.kernel.size());
    }
  }
  state.SetItemsProcessed(names);
  state.SetBytesProcessed(bytes);
}
BENCHMARK(BM_ClassifyKernelNames)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace headroom
