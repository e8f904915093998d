// What names of a trace are public: those of frameworks, of vendors' libraries and of Python, by
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

/// Whether a byte can be part of a word: letters, digits, "_" and all beyond ASCII.
bool IsWordByte(char c);

/// Calls visit(begin, end) for each longest run of word bytes.
void ForEachWord(std::string_view text, const std::function<void(std::size_t, std::size_t)>& visit);

/// Calls visit(begin, end) for each part of a word that is letters: "Batch" and "Norm" of
/// "BatchNorm2d" and "NLL" and "Loss" of "NLLLoss"; between them are digits and "_".
/// REQUIRES: the word is ASCII.
void ForEachPart(std::string_view word, const std::function<void(std::size_t, std::size_t)>& visit);

/// Whether a part of a word, as ForEachPart() gives them, ends in front of `at`.
/// REQUIRES: 0 < at < word.size().
bool BeginsPart(std::string_view word, std::size_t at);

/// Immutable; thread-safe.
class PublicNames {
 public:
  /// The list built into the program. A failure is a defect of the build.
  static Result<PublicNames> LoadBuiltIn();
  /// Fails (kBadInput) naming the file and what is wrong in it.
  static Result<PublicNames> Parse(const NamedText& file);

  /// Whether each part of the word is public ("fused_adamw_128x64", "BatchNormBackward0") and it
  /// does not look like a key or a hash, whose parts are short.
  bool IsPublicWord(std::string_view word) const;
  /// Of a run of letters without a change of case, as ForEachPart() gives them.
  bool IsPublicPart(std::string_view part) const;
  /// Whether `size` bytes at `at` are one public part of a word, or within one. Constant time.
  bool IsInPublicPart(std::string_view text, std::size_t at, std::size_t size) const;
  bool IsPackage(std::string_view name) const { return packages_.contains(std::string(name)); }
  /// Of operators and kernels of frameworks and of vendors' libraries: "aten" of "aten::mm".
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
