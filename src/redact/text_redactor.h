// Replaces texts that reveal their owner: paths, hosts, users, arguments and names.
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
  kOperator,  ///< "aten::max_pool2d"; without "::", a user's name.
  kCall,      ///< A function of a driver's API, whose name stays whole.
  kKernel,    ///< Spells out its parameters, so it can look like a key.
};

struct RedactOptions {
  std::array<bool, kSecretKinds> remove = {true, true, true, true, true};
  AskedTexts asked = {};               ///< Texts to remove, independent of `remove`.
  std::vector<std::string> keep = {};  ///< Words that stay.
  /// Returns whether the analyses treat two names of a role the same. If empty, they treat any two
  /// the same.
  std::function<bool(std::string_view, std::string_view, NameRole)> mean_the_same = {};
};

/// A text of the trace, and its replacement.
struct Replacement {
  std::string original;
  std::string token;  ///< Empty for an argument that was dropped because of its place.
  SecretKind kind;
  /// True for a word that the user asked to remove. It must not occur anywhere, even if it is
  /// public. A match of an expression can still occur where the expression does not match.
  bool asked = false;
};

/// A part of a text that the user asked to remove, and that the analyses need.
struct Needed {
  std::string part, text;
};

/// Replaces equal texts with equal tokens, and different texts with different ones. A word becomes
/// a number in letters, in order of occurrence, so the original is not computable. Not thread-safe.
class TextRedactor {
 public:
  /// Requires that `names` outlives it.
  TextRedactor(const PublicNames& names, RedactOptions options);

  /// Learns the logins, hosts and keys in a text, so that they are removed everywhere. Also learns
  /// its words, so that none of them becomes a token. Call it for all texts before the first
  /// replacement.
  ///
  /// @param spells_numbers  true for names of kernels and driver functions, where a text is never a
  /// numbered machine or a key
  void Learn(std::string_view text, bool spells_numbers = false);
  /// Keeps a text as a word and as an address, such as a library's "9.1.0.70".
  void Keep(std::string_view text);
  /// Learns a machine's name.
  void LearnHost(std::string_view host) { LearnWord(SecretKind::kHosts, host); }

  /// Redacts a name of an event, thread, counter or similar.
  std::string Text(std::string_view text, NameRole role = NameRole::kAny);
  /// Redacts a name of a process, which can be a whole command line.
  std::string Process(std::string_view text);
  /// Redacts members of `args` (store/args_text.h).
  ///
  /// @param of_recording  keep numbers of any public name
  std::string Arguments(std::string_view members, bool of_recording);

  /// Returns whether a text of the copy still contains words that the user asked to remove. Each is
  /// one public part of a word or within one. It stays because a framework wrote the text, or
  /// because the analyses need it.
  bool HasSpared(std::string_view text) const { return spared_.contains(std::string(text)); }
  /// Returns the first text that means something else to the analyses without its removed spans.
  const std::optional<Needed>& needed() const { return needed_; }
  /// Returns the first few private parts that were replaced although the analyses recognize their
  /// texts by them.
  const std::vector<Needed>& decisive() const { return decisive_; }

  /// Replaces a whole text that contains removed text in encoded form. Parts of an argument can be
  /// replaced already.
  std::string Hidden(std::string_view text);

  /// Returns the dropped arguments, then the replaced texts, each by original text. Dropped
  /// arguments are keys of members, and command lines after their first word. A text can be in
  /// both.
  std::vector<Replacement> Replacements() const;
  const PublicNames& names() const { return names_; }
  const AskedTexts& asked() const { return options_.asked; }
  bool removes(SecretKind kind) const { return options_.remove[static_cast<std::size_t>(kind)]; }
  /// Returns whether a word stays: it is public and does not look like a hash, or the user keeps
  /// it.
  bool Stays(std::string_view word) const;
  /// Returns whether an address or a host in a text is kept, alone or with the word around it.
  bool IsKept(std::string_view text, std::size_t begin, std::size_t end) const;
  /// Returns the first address in a text that is not kept; empty if there is none.
  std::string_view AddressIn(std::string_view text) const;
  /// Returns whether `size` bytes at `at` are within a longer word, or a longer part of one, that
  /// stays: "former" in "transformer".
  bool IsWithinPublicWord(std::string_view text, std::size_t at, std::size_t size) const;
  /// Returns whether a word is a machine, an address or a key by its form, somewhere in the trace.
  /// Such a word is removed even if it consists of public words.
  bool IsByForm(std::string_view word) const;
  /// Returns whether a removed text of `size` bytes, found at `at`, is part of something else
  /// there. That is a public word or, for a text removed by its form, a longer word.
  bool IsOfOther(std::string_view text, std::size_t at, std::size_t size) const;
  /// Returns for each byte whether it belongs to a token.
  std::vector<bool> BytesOfTokens(std::string_view text) const;

 private:
  class Reading;

  std::string Token(SecretKind kind, std::string_view prefix, std::string_view original);
  std::string AskedToken(std::string_view original, bool is_word);
  /// Erases the spans from `asked` that stay in a text.
  void Spare(std::string_view text, NameRole role, std::vector<AskedTexts::Span>& asked);
  /// Records the parts that determine a text's meaning, if its replacement `now` means something
  /// else.
  void NoteDecisive(std::string_view text, std::string_view now, NameRole role);
  /// Returns whether a framework or a vendor's library uses this name.
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
  std::set<std::string> keep_;  ///< In lower case.
  std::size_t longest_kept_ = 0;
  std::map<std::string, SecretKind> learned_;            ///< In lower case.
  std::unordered_map<std::string, SecretKind> by_form_;  ///< In lower case.
  /// By their first three bytes, longest first.
  std::unordered_map<std::string, std::vector<const std::pair<const std::string, SecretKind>*>>
      learned_by_begin_;
  std::map<std::string, std::string> numbers_;   ///< Letters by prefix and original.
  std::set<std::string> taken_;                  ///< Words of the trace, in lower case.
  std::map<std::string, std::size_t> counts_;    ///< By prefix.
  std::map<std::string, Replacement> replaced_;  ///< By original.
  std::set<std::string> dropped_;
  std::unordered_set<std::string> tokens_;
  std::unordered_set<std::string> spared_;  ///< Texts of the copy that contain a spared word.
  std::optional<Needed> needed_;
  std::vector<Needed> decisive_;
  std::size_t parts_judged_ = 0;  ///< Number of parts checked for `decisive_`.
  std::size_t longest_token_ = 0;
};

}  // namespace headroom
