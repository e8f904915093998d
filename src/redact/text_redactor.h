// Replaces what a text tells of its owner: paths, hosts, users, arguments and names.
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
  kListed,    ///< Of a list that formats and profilers have: a category, a GPU, a type of elements.
  kOperator,  ///< "aten::max_pool2d"; without "::" anybody's.
  kCall,      ///< A function of a driver's API: names of such stay whole.
  kKernel,    ///< Spells out its parameters, and may look like a key therefore.
};

struct RedactOptions {
  std::array<bool, kSecretKinds> remove = {true, true, true, true, true};
  AskedTexts asked = {};               ///< Removed whatever else is.
  std::vector<std::string> keep = {};  ///< Words that stay.
  /// Whether the analyses make the same of two names of a role; none: of any two.
  std::function<bool(std::string_view, std::string_view, NameRole)> mean_the_same = {};
};

/// What stood in the trace, and what stands there now.
struct Replacement {
  std::string original;
  std::string token;  ///< Of an argument, which is dropped for its place, empty.
  SecretKind kind;
  /// Of a word that was asked for: nowhere may it be, though it be public. What an expression
  /// matched is not: it may stand where the expression does not match.
  bool asked = false;
};

/// What was asked for and is needed: a part of a text of the trace.
struct Needed {
  std::string part, text;
};

/// The same text always becomes the same text, and different ones different ones. What replaces a
/// word is a number in letters, counted from the first that was met: nothing can be computed back.
/// Not thread-safe.
class TextRedactor {
 public:
  /// `names` outlives it.
  TextRedactor(const PublicNames& names, RedactOptions options);

  /// Keeps in mind the logins, hosts and keys that a text names, so that they are removed wherever
  /// they are, and its words, so that none of them becomes a token. To be called for all texts
  /// before the first is replaced. `spells_numbers`: the name of a kernel or of a driver's
  /// function, in which what looks like a numbered machine or a key is none.
  void Learn(std::string_view text, bool spells_numbers = false);
  /// A text that stays wherever it is a word or looks like an address: "9.1.0.70" of a library.
  void Keep(std::string_view text);
  /// Keeps a machine's name in mind.
  void LearnHost(std::string_view host) { LearnWord(SecretKind::kHosts, host); }

  /// Names of events, threads, counters and the like.
  std::string Text(std::string_view text, NameRole role = NameRole::kAny);
  /// Names of processes, which may be whole command lines.
  std::string Process(std::string_view text);
  /// Members of `args` (store/args_text.h). `of_recording`: numbers of any public name stay.
  std::string Arguments(std::string_view members, bool of_recording);

  /// Whether words that were asked for stay in one of the copy's texts, each one public part of a
  /// word or within one: frameworks write the text, or the analyses need them.
  bool HasSpared(std::string_view text) const { return spared_.contains(std::string(text)); }
  /// The first text that means something else to the analyses without what was asked for in it.
  const std::optional<Needed>& needed() const { return needed_; }
  /// Parts that were replaced because they are not public, and by which the analyses know what
  /// their texts are: the first few.
  const std::vector<Needed>& decisive() const { return decisive_; }

  /// Of a text that hides, encoded, what was removed elsewhere. Of an argument some may be replaced
  /// already.
  std::string Hidden(std::string_view text);

  /// First the dropped arguments (keys of members, and what stands behind the first word of a
  /// command line), then what was replaced; each by original text, which may be in both.
  std::vector<Replacement> Replacements() const;
  const PublicNames& names() const { return names_; }
  const AskedTexts& asked() const { return options_.asked; }
  bool removes(SecretKind kind) const { return options_.remove[static_cast<std::size_t>(kind)]; }
  /// Whether the word is public and does not look like a hash, or is to be kept.
  bool Stays(std::string_view word) const;
  /// Whether an address or a host in a text is to be kept, alone or with the word it stands in.
  bool IsKept(std::string_view text, std::size_t begin, std::size_t end) const;
  /// The first address in a text that is not to be kept; empty: it has none.
  std::string_view AddressIn(std::string_view text) const;
  /// Whether `size` bytes at `at` are within a longer word, or a part of one, that stays: "former"
  /// of "transformer".
  bool IsWithinPublicWord(std::string_view text, std::size_t at, std::size_t size) const;
  /// Whether it is, somewhere in the trace, a machine, an address or a key by its form: it goes,
  /// made of public words though it be.
  bool IsByForm(std::string_view word) const;
  /// Whether `size` bytes at `at`, which are a text that was removed, are part of something else
  /// there: within a public word, or, of what was removed by its form, of a longer one.
  bool IsOfOther(std::string_view text, std::size_t at, std::size_t size) const;
  /// By byte, whether it is of a text that replaced another.
  std::vector<bool> BytesOfTokens(std::string_view text) const;

 private:
  class Reading;

  std::string Token(SecretKind kind, std::string_view prefix, std::string_view original);
  std::string AskedToken(std::string_view original, bool is_word);
  /// Takes out of `asked` what stays in a text.
  void Spare(std::string_view text, NameRole role, std::vector<AskedTexts::Span>& asked);
  /// Keeps in mind what of a text decides its meaning, where `now`, which replaces it, means
  /// something else.
  void NoteDecisive(std::string_view text, std::string_view now, NameRole role);
  /// Whether it is the name of what a framework or a vendor's library calls so.
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
  std::map<std::string, std::string> numbers_;   ///< Prefix and original: letters.
  std::set<std::string> taken_;                  ///< Words of the trace, in lower case.
  std::map<std::string, std::size_t> counts_;    ///< By prefix.
  std::map<std::string, Replacement> replaced_;  ///< By original.
  std::set<std::string> dropped_;
  std::unordered_set<std::string> tokens_;
  std::unordered_set<std::string> spared_;  ///< Texts of the copy in which some word is spared.
  std::optional<Needed> needed_;
  std::vector<Needed> decisive_;
  std::size_t parts_judged_ = 0;  ///< To find those.
  std::size_t longest_token_ = 0;
};

}  // namespace headroom
