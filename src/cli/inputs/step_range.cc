#include "cli/inputs/step_range.h"

#include <fmt/format.h>

#include <charconv>

#include "render/escape.h"

namespace headroom::cli {

Result<StepRange> ParseStepRange(std::string_view text) {
  const Status wrong =
      Status::Usage(fmt::format("--steps {}: give A:B, the first and the last step by number, e.g. "
                                "3:5; A: and :B leave an end open",
                                Printable(text)));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.size() == 1) return wrong;
  StepRange range;
  const auto parse = [](std::string_view digits, std::optional<std::int64_t>& number) {
    if (digits.empty()) return true;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    number = value;
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
  };
  if (!parse(text.substr(0, colon), range.first) || !parse(text.substr(colon + 1), range.last))
    return wrong;
  if (range.first && range.last && *range.first > *range.last) return wrong;
  return range;
}

}  // namespace headroom::cli
