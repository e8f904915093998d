// Shared by tests of all renderers of text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "render/escape.h"
#include "render/text_page.h"

namespace headroom {

inline std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Expects printable lines of at most `width` columns, without spaces at their ends.
inline void ExpectFits(const std::string& text, std::size_t width = PageStyle::kWidth) {
  for (const std::string& line : LinesOf(text)) {
    EXPECT_LE(DisplayWidth(line), width) << line;
    EXPECT_EQ(Printable(line), line);
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

inline void ExpectHas(const std::string& text, std::string_view words) {
  EXPECT_NE(text.find(words), std::string::npos) << words << "\nin\n" << text;
}

/// Names that a trace or a user may contain.
inline const std::vector<std::string>& HostileNames() {
  static const std::vector<std::string> names = {"\x1b[31mred\x1b[0m\a",
                                                 "a\nb\r\tc",
                                                 "right\u202eleft\u200b",
                                                 "\xff\xfe",
                                                 std::string(3'000, 'x'),
                                                 std::string(300, ' '),
                                                 "\u4f60\u597d\u4e16\u754c",
                                                 "",
                                                 "=1+1",
                                                 "</script>",
                                                 "a | b \"c\" \\ <d> `e` *f*"};
  return names;
}

}  // namespace headroom
