// Public names in traces: those of frameworks, vendors' libraries and Python, listed in
// data/redact/public_names.toml.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// Returns true if a byte can be part of a word: a letter, a digit, "_" or a byte beyond ASCII.
bool IsWordByte(char c);

/// Calls visit(begin, end) for each longest run of word bytes.
void ForEachWord(std::string_view text, const std::function<void(std::size_t, std::size_t)>& visit);

/// Calls visit(begin, end) for each part of a word that consists of letters: "Batch" and "Norm" of
/// "BatchNorm2d", "NLL" and "Loss" of "NLLLoss". Digits and "_" separate parts. Requires an ASCII
/// word.
void ForEachPart(std::string_view word, const std::function<void(std::size_t, std::size_t)>& visit);

/// Returns true if a part of a word, as in ForEachPart(), ends before `at`. Requires 0 < at <
/// word.size().
bool BeginsPart(std::string_view word, std::size_t at);

/// Immutable and thread-safe.
class PublicNames {
 public:
  /// Loads the built-in list. A failure is a defect of the build.
  static Result<PublicNames> LoadBuiltIn();
  /// Fails with kBadInput and names the file and the fault.
  static Result<PublicNames> Parse(const NamedText& file);

  /// Returns true if each part of a word is public: "fused_adamw_128x64", "BatchNormBackward0".
  /// Returns false if the word looks like a key or a hash, whose parts are short.
  bool IsPublicWord(std::string_view word) const;
  /// Returns true if a part from ForEachPart() is public.
  bool IsPublicPart(std::string_view part) const;
  /// Returns true if `size` bytes at `at` are one public part of a word, or within one. Takes
  /// constant time.
  bool IsInPublicPart(std::string_view text, std::size_t at, std::size_t size) const;
  bool IsPackage(std::string_view name) const { return packages_.contains(std::string(name)); }
  /// Returns true if a namespace contains operators or kernels of frameworks or vendors' libraries,
  /// such as "aten" in "aten::mm".
  bool IsNamespace(std::string_view name) const {
    return namespaces_.contains(std::string(name)) || IsPackage(name);
  }
  bool IsArgument(std::string_view key) const { return arguments_.contains(std::string(key)); }

 private:
  PublicNames() = default;

  std::unordered_set<std::string> words_;
  std::set<std::string> packages_, namespaces_, arguments_, prefixes_;
  std::size_t longest_word_ = 1;
};

}  // namespace headroom
