#include "cost/kernel_class.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <optional>
#include <utility>
#include <vector>

namespace headroom {
namespace {

constexpr std::size_t kJudgedBytes = 4096;

/// One rule: the value for matching names.
template <typename T>
struct Rule {
  std::unique_ptr<RE2> pattern;
  T value;
};

std::optional<TensorCoreUse> TensorCoreUseFromName(std::string_view name) {
  for (const TensorCoreUse use :
       {TensorCoreUse::kUnknown, TensorCoreUse::kNo, TensorCoreUse::kYes}) {
    if (Name(use) == name) return use;
  }
  return std::nullopt;
}

std::optional<bool> YesOrNo(std::string_view text) {
  if (text == "yes") return true;
  if (text == "no") return false;
  return std::nullopt;
}

/// Compiles the rules of one list. `parse` converts the string `is` into a value.
template <typename T, typename Parse>
Status Compile(const NamedText& file, const std::vector<NameRule>& list, Parse parse,
               std::vector<Rule<T>>& rules) {
  RE2::Options options;
  options.set_dot_nl(true);  // A name may contain any byte.
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);  // Names need not be valid UTF-8.
  for (const NameRule& rule : list) {
    const std::optional<T> value = parse(rule.value);
    if (!value) {
      return BadRules(file, fmt::format("{}: is = '{}' is an unknown class; correct it", rule.where,
                                        rule.value));
    }
    auto pattern = std::make_unique<RE2>(rule.match, options);
    if (!pattern->ok()) {
      return BadRules(file,
                      fmt::format("{}: match = '{}' is not a valid RE2 expression ({}); correct it",
                                  rule.where, rule.match, pattern->error()));
    }
    rules.push_back({std::move(pattern), *value});
  }
  return Status::Ok();
}

template <typename T>
T FirstMatch(const std::vector<Rule<T>>& rules, std::string_view name, T otherwise) {
  const re2::StringPiece text(name.data(), name.size());
  for (const Rule<T>& rule : rules) {
    if (RE2::PartialMatch(text, *rule.pattern)) return rule.value;
  }
  return otherwise;
}

}  // namespace

std::string_view Name(TensorCoreUse use) {
  switch (use) {
    case TensorCoreUse::kNo:
      return "no";
    case TensorCoreUse::kYes:
      return "yes";
    case TensorCoreUse::kUnknown:
      break;
  }
  return "unknown";
}

struct KernelClassifier::Impl {
  std::vector<Rule<WorkFamily>> family;
  std::vector<Rule<TensorCoreUse>> tensor_cores;
  std::vector<Rule<DType>> math_dtype;
  std::vector<Rule<bool>> fast_algorithm;
};

KernelClassifier::KernelClassifier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KernelClassifier::KernelClassifier(KernelClassifier&&) noexcept = default;
KernelClassifier& KernelClassifier::operator=(KernelClassifier&&) noexcept = default;
KernelClassifier::~KernelClassifier() = default;

Result<KernelClassifier> KernelClassifier::Parse(const NamedText& rules) {
  const auto lists = ReadRules(rules, kKernelRuleLists);
  if (!lists.ok()) return lists.status();
  auto impl = std::make_unique<Impl>();
  Status status = Compile(rules, lists.value()[0], WorkFamilyFromName, impl->family);
  if (status.ok())
    status = Compile(rules, lists.value()[1], TensorCoreUseFromName, impl->tensor_cores);
  if (status.ok()) status = Compile(rules, lists.value()[2], DTypeFromName, impl->math_dtype);
  if (status.ok()) status = Compile(rules, lists.value()[3], YesOrNo, impl->fast_algorithm);
  if (!status.ok()) return status;
  return KernelClassifier(std::move(impl));
}

KernelClass KernelClassifier::Classify(std::string_view kernel_name) const {
  const std::string_view name = kernel_name.substr(0, kJudgedBytes);
  KernelClass result;
  result.family = FirstMatch(impl_->family, name, WorkFamily::kUnclassified);
  result.fast_algorithm = FirstMatch(impl_->fast_algorithm, name, false);
  if (MultipliesMatrices(result.family)) {
    result.math_dtype = FirstMatch(impl_->math_dtype, name, DType::kUnknown);
    result.tensor_cores = FirstMatch(impl_->tensor_cores, name, TensorCoreUse::kUnknown);
  } else if (result.family == WorkFamily::kFused || result.family == WorkFamily::kUnclassified) {
    result.tensor_cores = FirstMatch(impl_->tensor_cores, name, TensorCoreUse::kUnknown);
  } else {
    result.tensor_cores = TensorCoreUse::kNo;
  }
  return result;
}

}  // namespace headroom
