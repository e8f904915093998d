// Names as C++ compilers mangle them (the Itanium C++ ABI), as kernels are often called in traces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headroom {

/// Whether a word is such a name: "_ZN8bluebird4gemmILi128EEEvv".
bool IsMangled(std::string_view word);

/// The name with each of its identifiers ("bluebird", "gemm") as `replace` gives it and their
/// lengths right, so that it can still be demangled. Numbers of templates, types and substitutions
/// stay. What is no identifier but letters is of the mangling and tells nothing.
/// REQUIRES: IsMangled(word).
std::string WithIdentifiers(std::string_view word,
                            const std::function<std::string(std::string_view)>& replace);

}  // namespace headroom
