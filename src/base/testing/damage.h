// Damage for property tests. Slightly damaged text reaches code that random text does not.
#pragma once

#include <rapidcheck.h>

#include <string>

namespace headroom {

/// Returns `text` with one to three spans of up to 12 bytes replaced by up to 3 other bytes.
inline std::string Damaged(std::string text) {
  const int times = *rc::gen::inRange(1, 4);
  for (int i = 0; i < times; ++i) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const std::size_t length = *rc::gen::inRange<std::size_t>(0, 13);
    const auto byte =
        rc::gen::oneOf(rc::gen::arbitrary<char>(),
                       rc::gen::element('a', '_', '0', '"', '\'', '[', ']', '\n', '='));
    std::string put;
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) put += *byte;
    text.replace(at, length, put);
  }
  return text;
}

}  // namespace headroom
