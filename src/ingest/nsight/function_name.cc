#include "ingest/nsight/function_name.h"

#include <cstddef>

#include "base/ascii.h"

namespace headroom::nsight {

std::string_view FunctionName(std::string_view name) {
  constexpr std::size_t kMinDigits = 4;
  std::size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  if (name.size() - end < kMinDigits || !name.substr(0, end).ends_with("_v")) return name;
  name.remove_suffix(name.size() - end + 2);
  for (const std::string_view variant : {"_ptsz", "_ptds"}) {
    if (name.ends_with(variant)) name.remove_suffix(variant.size());
  }
  return name;
}

}  // namespace headroom::nsight
