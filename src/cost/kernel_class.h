// KernelClassifier: what a GPU kernel does, told by its name and the rules in
// data/rules/kernels.toml.
#pragma once

#include <memory>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"
#include "cost/dtype.h"
#include "cost/rule_file.h"
#include "cost/work_family.h"

namespace headroom {

/// The lists of a rule file of kernels.
inline constexpr RuleFormat kKernelRuleLists[] = {{.list = "family", .value_key = "is"},
                                                  {.list = "tensor_cores", .value_key = "is"},
                                                  {.list = "math_dtype", .value_key = "is"},
                                                  {.list = "fast_algorithm", .value_key = "is"}};

/// Whether a kernel runs on tensor cores (NVIDIA) or matrix cores (AMD).
enum class TensorCoreUse { kUnknown, kNo, kYes };

/// "yes", "no" or "unknown".
std::string_view Name(TensorCoreUse use);

/// What a kernel's name tells.
struct KernelClass {
  WorkFamily family = WorkFamily::kUnclassified;
  /// kNo for every family that multiplies no matrices.
  TensorCoreUse tensor_cores = TensorCoreUse::kUnknown;
  /// Of matmul, convolution and attention: type of the products, if the name tells.
  DType math_dtype = DType::kUnknown;
  /// Part of a Winograd or FFT convolution, which does fewer operations than the definition counts:
  /// a share above 100 % by that count is then possible.
  bool fast_algorithm = false;
};

/// Applies the rules; the first that matches wins, in each of the lists (family, tensor cores, math
/// type, algorithm). Thread-safe once parsed. One call costs microseconds: cache by distinct name.
class KernelClassifier {
 public:
  /// Reads a rule file. BadInput names the file, the rule and the remedy.
  static Result<KernelClassifier> Parse(const NamedText& rules);

  KernelClassifier(KernelClassifier&&) noexcept;
  KernelClassifier& operator=(KernelClassifier&&) noexcept;
  ~KernelClassifier();

  /// Names longer than 4096 bytes are judged by their first 4096.
  KernelClass Classify(std::string_view kernel_name) const;

 private:
  struct Impl;
  explicit KernelClassifier(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
