// KernelClassifier: classifies GPU kernels by name, with the rules in data/rules/kernels.toml.
#pragma once

#include <memory>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"
#include "cost/dtype.h"
#include "cost/rule_file.h"
#include "cost/work_family.h"

namespace headroom {

/// Lists in the rule file for kernels.
inline constexpr RuleFormat kKernelRuleLists[] = {{.list = "family", .value_key = "is"},
                                                  {.list = "tensor_cores", .value_key = "is"},
                                                  {.list = "math_dtype", .value_key = "is"},
                                                  {.list = "fast_algorithm", .value_key = "is"}};

/// Use of tensor cores (NVIDIA) or matrix cores (AMD) by a kernel.
enum class TensorCoreUse { kUnknown, kNo, kYes };

/// "yes", "no" or "unknown".
std::string_view Name(TensorCoreUse use);

/// Classification of a kernel by its name.
struct KernelClass {
  WorkFamily family = WorkFamily::kUnclassified;
  /// kNo for every family without matrix products.
  TensorCoreUse tensor_cores = TensorCoreUse::kUnknown;
  /// Type of the products of a matmul, convolution or attention kernel; kUnknown if the name does
  /// not show it.
  DType math_dtype = DType::kUnknown;
  /// The kernel is part of a Winograd or FFT convolution, which executes fewer operations than a
  /// direct one. With the FLOPs of the direct convolution, its share of the peak can exceed 100 %.
  bool fast_algorithm = false;
};

/// Applies the rules. In each list (family, tensor cores, math type, algorithm), the first matching
/// rule wins. Thread-safe once parsed. One call costs microseconds: cache by distinct name.
class KernelClassifier {
 public:
  /// Reads a rule file. Fails with kBadInput and a message that names the file, the rule and the
  /// remedy.
  static Result<KernelClassifier> Parse(const NamedText& rules);

  KernelClassifier(KernelClassifier&&) noexcept;
  KernelClassifier& operator=(KernelClassifier&&) noexcept;
  ~KernelClassifier();

  /// Matches only the first 4096 bytes of a name.
  KernelClass Classify(std::string_view kernel_name) const;

 private:
  struct Impl;
  explicit KernelClassifier(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom
