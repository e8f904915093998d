#include "store/software_version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"

namespace headroom {
namespace {

bool IsOf(std::string_view text, std::string_view more, bool capitals) {
  constexpr std::size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return IsLower(c) || IsDigit(c) || (capitals && IsUpper(c)) ||
                  more.find(c) != std::string_view::npos;
         });
}

}  // namespace

void AddVersion(std::string_view name, std::string_view version,
                std::vector<SoftwareVersion>& versions) {
  constexpr std::size_t kMax = 16;
  if (!IsOf(name, "_", false) || !IsOf(version, ".+-_~", true) || versions.size() >= kMax) return;
  const auto at = std::lower_bound(
      versions.begin(), versions.end(), name,
      [](const SoftwareVersion& row, std::string_view of) { return row.name < of; });
  if (at != versions.end() && at->name == name) return;
  versions.insert(at, {std::string(name), std::string(version)});
}

std::string CudaVersionText(std::int64_t number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string HipVersionText(std::int64_t number) {
  return fmt::format("{}.{}.{}", number / 10'000'000, number / 100'000 % 100, number % 100'000);
}

}  // namespace headroom
