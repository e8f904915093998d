#include "cost/kernel_class.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <toml++/toml.h>

#include <optional>
#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kJudgedBytes = 4096;

/// One rule: the value that a matching name gets.
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
  int version = 0;
  std::vector<Rule<WorkFamily>> family;
  std::vector<Rule<TensorCoreUse>> tensor_cores;
  std::vector<Rule<DType>> math_dtype;
  std::vector<Rule<bool>> fast_algorithm;
  std::vector<Example> examples;

  /// Reads the rules of one list; `parse` turns the text of `is` into a value.
  template <typename T, typename Parse>
  Status ReadList(const NamedText& file, const toml::table& table, std::string_view list,
                  Parse parse, std::vector<Rule<T>>& rules) {
    const toml::node* node = table.get(list);
    const toml::array* entries = node == nullptr ? nullptr : node->as_array();
    if (entries == nullptr)
      return Bad(file, fmt::format("[[{}]] is missing; add at least one rule", list));
    for (const toml::node& entry : *entries) {
      const std::string where = fmt::format("rule {} of [[{}]]", rules.size() + 1, list);
      const toml::table* rule = entry.as_table();
      if (rule == nullptr) return Bad(file, where + " must be a table");
      const auto is = (*rule)["is"].value_exact<std::string>();
      const auto match = (*rule)["match"].value_exact<std::string>();
      const toml::array* samples = (*rule)["examples"].as_array();
      if (!is || !match || samples == nullptr || samples->empty() || rule->size() != 3) {
        return Bad(file, where + " must have the keys is, match and examples, and no others");
      }
      const std::optional<T> value = parse(*is);
      if (!value)
        return Bad(file, fmt::format("{}: is = '{}' is no known class; correct it", where, *is));
      RE2::Options options;
      options.set_dot_nl(true);  // a name may hold anything
      options.set_log_errors(false);
      options.set_encoding(RE2::Options::EncodingLatin1);  // bytes: names need not be valid UTF-8
      auto pattern = std::make_unique<RE2>(*match, options);
      if (!pattern->ok()) {
        return Bad(file, fmt::format("{}: match = '{}' is no RE2 expression ({}); correct it",
                                     where, *match, pattern->error()));
      }
      for (const toml::node& sample : *samples) {
        const auto kernel = sample.value_exact<std::string>();
        if (!kernel) return Bad(file, where + ": examples must be texts in quotes");
        examples.push_back({.kernel = *kernel, .list = std::string(list), .expect = *is});
      }
      rules.push_back({std::move(pattern), *value});
    }
    return Status::Ok();
  }

  static Status Bad(const NamedText& file, std::string_view what) {
    return Status::BadInput(fmt::format("kernel rules {}: {}", file.name, what));
  }
};

KernelClassifier::KernelClassifier(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KernelClassifier::KernelClassifier(KernelClassifier&&) noexcept = default;
KernelClassifier& KernelClassifier::operator=(KernelClassifier&&) noexcept = default;
KernelClassifier::~KernelClassifier() = default;

Result<KernelClassifier> KernelClassifier::Parse(const NamedText& rules) {
  toml::table table;
  try {
    table = toml::parse(rules.content);
  } catch (const toml::parse_error& error) {
    return Impl::Bad(rules, fmt::format("line {}: {}; correct the TOML there",
                                        error.source().begin.line, error.description()));
  }
  auto impl = std::make_unique<Impl>();
  const auto version = table["version"].value_exact<std::int64_t>();
  if (!version || *version < 1)
    return Impl::Bad(rules, "key 'version' must be a whole number from 1");
  impl->version = static_cast<int>(*version);
  Status status = impl->ReadList(rules, table, "family", WorkFamilyFromName, impl->family);
  if (status.ok()) {
    status =
        impl->ReadList(rules, table, "tensor_cores", TensorCoreUseFromName, impl->tensor_cores);
  }
  if (status.ok())
    status = impl->ReadList(rules, table, "math_dtype", DTypeFromName, impl->math_dtype);
  if (status.ok())
    status = impl->ReadList(rules, table, "fast_algorithm", YesOrNo, impl->fast_algorithm);
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

int KernelClassifier::version() const { return impl_->version; }

std::span<const KernelClassifier::Example> KernelClassifier::examples() const {
  return impl_->examples;
}

}  // namespace headroom
