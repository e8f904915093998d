// Row ids that stay the same between traces of a job, independent of the order of rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

/// Returns, for example, "k-3f0a9c41d2": the first letter of the kind ("kernel", "operator",
/// "layer") and ten hexadecimal digits. They are the lowest 40 bits of the FNV-1a hash (64 bits) of
/// kind, a zero byte and name. Two of a thousand names share an id with a probability below one in
/// a million.
inline std::string RowId(std::string_view kind, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001b3;
    }
  };
  add(kind);
  add(std::string_view("\0", 1));
  add(name);
  std::string id = {kind.front(), '-'};
  for (int shift = 36; shift >= 0; shift -= 4) id += "0123456789abcdef"[(hash >> shift) & 15];
  return id;
}

}  // namespace headroom
