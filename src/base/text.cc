#include "base/text.h"

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"

namespace headroom {
namespace {

/// Returns the number of letters to insert, delete or change to turn one word into the other.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), ToLower);
  return lower;
}

std::vector<std::string_view> NearNames(std::string_view word,
                                        std::vector<std::string_view> names) {
  struct Candidate {
    std::string_view name;
    bool contains_word;
    std::size_t distance;
  };
  const std::string meant = LowerCase(word);
  std::vector<Candidate> near;
  for (const std::string_view name : names) {
    const std::string lower = LowerCase(name);
    const Candidate candidate = {name, !meant.empty() && lower.find(meant) != std::string::npos,
                                 EditDistance(meant, lower)};
    // Allows errors in at most a third of the letters: one in three letters, none in two.
    if (candidate.contains_word || 3 * candidate.distance <= std::max(meant.size(), lower.size()))
      near.push_back(candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const Candidate& a, const Candidate& b) {
    if (a.contains_word != b.contains_word) return a.contains_word;
    return a.distance < b.distance;
  });
  names.clear();
  for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 3); ++i)
    names.push_back(near[i].name);
  return names;
}

void AppendUtf8(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace headroom
