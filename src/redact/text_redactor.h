// Replaces what a text tells of its owner: paths, hosts, users, arguments and names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "redact/public_names.h"

namespace headroom {

enum class SecretKind : std::uint8_t {
  kPaths,      ///< Folders and files, but for libraries' own.
  kHosts,      ///< Names and addresses of machines, and URLs.
  kUsers,      ///< Logins and e-mail addresses.
  kArguments,  ///< Command lines, and members of `args` that no profiler writes.
  kNames,      ///< Words that are not public.
};
inline constexpr std::size_t kSecretKinds = 5;
inline constexpr std::array<std::string_view, kSecretKinds> kSecretKindNames = {
    "paths", "hosts", "users", "arguments", "names"};

/// What a name is of.
enum class NameRole : std::uint8_t {
  kAny,
  kCall,    ///< A function of a driver's API: names of such stay whole.
  kKernel,  ///< Spells out its parameters, and may look like a key therefore.
};

struct RedactOptions {
  std::array<bool, kSecretKinds> remove = {true, true, true, true, true};
  std::vector<std::string> words = {};  ///< Removed wherever they are, in any case of letters.
  std::vector<std::string> keep = {};   ///< Words that stay.
};

/// What stood in the trace, and what stands there now.
struct Replacement {
  std::string original;
  std::string token;
  SecretKind kind;
};

/// The same text always becomes the same text, and different ones different ones. What replaces a
/// word is a number in letters, counted from the first that was met: nothing can be computed back.
/// Not thread-safe.
class TextRedactor {
 public:
  /// `names` outlives it.
  TextRedactor(const PublicNames& names, RedactOptions options);

  /// Keeps in mind the logins and hosts that a text names, so that they are removed wherever they
  /// are, and its words, so that none of them becomes a token. To be called for all texts before
  /// the first is replaced.
  void Learn(std::string_view text);

  /// Names of events, threads, counters and the like.
  std::string Text(std::string_view text, NameRole role = NameRole::kAny);
  /// Names of processes, which may be whole command lines.
  std::string Process(std::string_view text);
  /// Members of `args` (store/args_text.h). `of_recording`: numbers of any name stay.
  std::string Arguments(std::string_view members, bool of_recording);

  /// By original text.
  std::vector<Replacement> Replacements() const;
  const PublicNames& names() const { return names_; }
  bool removes(SecretKind kind) const { return options_.remove[static_cast<std::size_t>(kind)]; }
  /// Whether the word is public, or is to be kept.
  bool Stays(std::string_view word) const;

 private:
  enum class Case : std::uint8_t { kLower, kCapital, kUpper };

  std::string Token(SecretKind kind, std::string_view prefix, std::string_view original,
                    Case letters = Case::kLower);
  std::size_t SpecialAt(std::string_view text, std::size_t at, std::string& out);
  std::size_t LearnedAt(std::string_view text, std::size_t at, std::string& out);
  std::size_t PathAt(std::string_view text, std::size_t at) const;
  std::string Path(std::string_view path);
  std::string PathPart(std::string_view part, bool is_last);
  void Words(std::string_view text, NameRole role, std::string& out);
  std::string Word(std::string_view word, NameRole role);
  std::string Value(std::string_view written);
  void LearnWord(SecretKind kind, std::string_view word);

  const PublicNames& names_;
  RedactOptions options_;
  std::set<std::string> keep_;                   ///< In lower case.
  std::map<std::string, SecretKind> learned_;    ///< In lower case.
  std::map<std::string, std::string> numbers_;   ///< Prefix and original: letters.
  std::set<std::string> taken_;                  ///< Words of the trace, in lower case.
  std::map<std::string, std::size_t> counts_;    ///< By prefix.
  std::map<std::string, Replacement> replaced_;  ///< By original.
};

}  // namespace headroom
