// Names mangled by C++ compilers (the Itanium C++ ABI), which many traces use for kernels.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headroom {

/// Returns true if a word is a mangled name: "_ZN8bluebird4gemmILi128EEEvv".
bool IsMangled(std::string_view word);

/// Returns the name with each identifier ("bluebird", "gemm") replaced by `replace`, with correct
/// lengths, so that it still demangles. Keeps template numbers, types and substitutions. Also keeps
/// the remaining letters, which belong to the mangling and reveal nothing. Requires
/// IsMangled(word).
std::string WithIdentifiers(std::string_view word,
                            const std::function<std::string(std::string_view)>& replace);

}  // namespace headroom
