// Replaces strings that reveal their owner: paths, hosts, users, arguments and names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "redact/asked_texts.h"
#include "redact/public_names.h"

namespace headroom {

enum class SecretKind : std::uint8_t {
  kPaths,      ///< Folders and files, except those of libraries.
  kHosts,      ///< Names and addresses of machines, and URLs.
  kUsers,      ///< Logins and e-mail addresses.
  kArguments,  ///< Command lines, and members of `args` that no profiler writes.
  kNames,      ///< Words that are not public.
};
inline constexpr std::size_t kSecretKinds = 5;
inline constexpr std::array<std::string_view, kSecretKinds> kSecretKindNames = {
    "paths", "hosts", "users", "arguments", "names"};

/// Role of a name in the trace.
enum class NameRole : std::uint8_t {
  kAny,
  kListed,    ///< From a fixed list of formats or profilers: a category, a GPU, an element type.
  kOperator,  ///< An operator: "aten::max_pool2d"; without "::", a user's name.
  kCall,      ///< A function of a driver's API, whose name is kept.
  kKernel,    ///< A kernel, whose name spells out parameters and can look like a key.
};

struct RedactOptions {
  std::array<bool, kSecretKinds> remove = {true, true, true, true, true};
  AskedTexts asked = {};               ///< Texts to remove, independent of `remove`.
  std::vector<std::string> keep = {};  ///< Words to keep.
  /// Returns true if the analyses treat two names of a role the same. If empty, any two names count
  /// as the same.
  std::function<bool(std::string_view, std::string_view, NameRole)> mean_the_same = {};
};

/// A string of the trace, and its replacement.
struct Replacement {
  std::string original;
  std::string token;  ///< Empty for an argument that was dropped because of its position.
  SecretKind kind;
  /// True for a word that the user asked to remove. Such a word must not occur anywhere, even if it
  /// is public. A match of an expression can still occur where the expression does not match.
  bool asked = false;
};

/// A part of a string that is removed or replaced, although the analyses depend on it.
struct Needed {
  std::string part, text;
};

/// Replaces equal strings with equal tokens, and different strings with different ones. A token
/// contains a number in letters, counted in order of occurrence, so the original cannot be
/// computed. Not thread-safe.
class TextRedactor {
 public:
  /// Requires that `names` outlives this object.
  TextRedactor(const PublicNames& names, RedactOptions options);

  /// Learns the logins, hosts and keys in a string, so that they are removed everywhere. Also
  /// learns its words, so that none of them becomes a token. Must be called for all strings before
  /// the first replacement.
  ///
  /// @param spells_numbers  true for names of kernels and driver functions, where no part is a
  /// numbered machine or a key
  void Learn(std::string_view text, bool spells_numbers = false);
  /// Keeps a string as a word and as an address, such as a library's "9.1.0.70".
  void Keep(std::string_view text);
  /// Learns a machine's name.
  void LearnHost(std::string_view host) { LearnWord(SecretKind::kHosts, host); }

  /// Redacts a name of an event, thread, counter or similar.
  std::string Text(std::string_view text, NameRole role = NameRole::kAny);
  /// Redacts a name of a process, which can be a whole command line.
  std::string Process(std::string_view text);
  /// Redacts members of `args` (store/args_text.h).
  ///
  /// @param of_recording  true to keep numbers under any public key
  std::string Arguments(std::string_view members, bool of_recording);

  /// Returns true if a string of the copy still contains words that the user asked to remove. Each
  /// such word is one public part of a word or within one. It is kept because a framework wrote the
  /// string, or because the analyses depend on it.
  bool HasSpared(std::string_view text) const { return spared_.contains(std::string(text)); }
  /// Returns the first string whose meaning to the analyses would change without its removed spans.
  const std::optional<Needed>& needed() const { return needed_; }
  /// Returns the first few private parts that were replaced although the analyses recognize names
  /// by them.
  const std::vector<Needed>& decisive() const { return decisive_; }

  /// Replaces a whole string that contains removed text in encoded form. Parts of an argument can
  /// be replaced already.
  std::string Hidden(std::string_view text);

  /// Returns the dropped arguments, then the replaced strings, both sorted by the original. Dropped
  /// arguments are keys of members, and command lines after their first word. A string can be in
  /// both lists.
  std::vector<Replacement> Replacements() const;
  const PublicNames& names() const { return names_; }
  const AskedTexts& asked() const { return options_.asked; }
  bool removes(SecretKind kind) const { return options_.remove[static_cast<std::size_t>(kind)]; }
  /// Returns true if a word is kept: it is public and does not look like a hash, or the user keeps
  /// it.
  bool Stays(std::string_view word) const;
  /// Returns true if an address or a host in a string is kept, alone or with the word around it.
  bool IsKept(std::string_view text, std::size_t begin, std::size_t end) const;
  /// Returns the first address in a string that is not kept; otherwise an empty string.
  std::string_view AddressIn(std::string_view text) const;
  /// Returns true if `size` bytes at `at` are within a longer word, or a longer part of one, that
  /// is kept: "former" in "transformer".
  bool IsWithinPublicWord(std::string_view text, std::size_t at, std::size_t size) const;
  /// Returns true if, somewhere in the trace, the form of the word shows a machine, an address or a
  /// key. Such a word is removed even if it consists of public words.
  bool IsByForm(std::string_view word) const;
  /// Returns true if a removed string of `size` bytes, found at `at`, is only part of a public
  /// word. For a string removed by its form, returns true if it is only part of any longer word.
  bool IsOfOther(std::string_view text, std::size_t at, std::size_t size) const;
  /// Returns for each byte whether it belongs to a token.
  std::vector<bool> BytesOfTokens(std::string_view text) const;

 private:
  class Reading;

  std::string Token(SecretKind kind, std::string_view prefix, std::string_view original);
  std::string AskedToken(std::string_view original, bool is_word);
  /// Erases from `asked` the spans that are kept in a string.
  void Spare(std::string_view text, NameRole role, std::vector<AskedTexts::Span>& asked);
  /// Records the parts that determine a string's meaning, if its replacement `now` means something
  /// else.
  void NoteDecisive(std::string_view text, std::string_view now, NameRole role);
  /// Returns true if a framework or a vendor's library uses this name.
  bool IsOfFrameworks(std::string_view text, NameRole role) const;
  void Words(std::string_view text, NameRole role, std::string& out);
  std::string Word(std::string_view word, NameRole role);
  std::string Segment(std::string_view segment, NameRole role);
  std::string Value(std::string_view written, NameRole role = NameRole::kAny);
  void LearnWord(SecretKind kind, std::string_view word);
  void LearnByForm(std::string_view text, std::size_t at);
  std::size_t ByFormAt(std::string_view text, std::size_t at) const;
  const std::pair<const std::string, SecretKind>* LearnedAt(std::string_view text,
                                                            std::size_t at) const;

  const PublicNames& names_;
  RedactOptions options_;
  std::set<std::string> keep_;  ///< Kept words, in lower case.
  std::size_t longest_kept_ = 0;
  std::map<std::string, SecretKind> learned_;  ///< Logins and hosts, in lower case.
  std::unordered_map<std::string, SecretKind>
      by_form_;  ///< Strings learned by their form, in lower case.
  /// Entries of `learned_` by their first three bytes, longest first.
  std::unordered_map<std::string, std::vector<const std::pair<const std::string, SecretKind>*>>
      learned_by_begin_;
  std::map<std::string, std::string> numbers_;   ///< Number in letters, by prefix and original.
  std::set<std::string> taken_;                  ///< Words of the trace, in lower case.
  std::map<std::string, std::size_t> counts_;    ///< Number of tokens by prefix.
  std::map<std::string, Replacement> replaced_;  ///< Replacements by original.
  std::set<std::string> dropped_;
  std::unordered_set<std::string> tokens_;
  std::unordered_set<std::string> spared_;  ///< Texts of the copy that contain a spared word.
  std::optional<Needed> needed_;
  std::vector<Needed> decisive_;
  std::size_t parts_judged_ = 0;  ///< Number of parts checked for `decisive_`.
  std::size_t longest_token_ = 0;
};

}  // namespace headroom
