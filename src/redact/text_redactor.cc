#include "redact/text_redactor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "ingest/input/json_escapes.h"
#include "redact/argument_texts.h"
#include "redact/host_text.h"
#include "redact/key_text.h"
#include "redact/mangled_name.h"
#include "redact/run_of.h"
#include "store/args_text.h"
#include "store/kineto_args.h"

namespace headroom {
namespace {

constexpr std::size_t kShortestLearned = 3;  // Shorter words are part of too many others.
// Length in bytes that the kernel rules read. Also bounds the time to judge long strings.
constexpr std::size_t kLongestName = 4096;

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool IsSlash(char c) { return c == '/' || c == '\\'; }
bool EndsPath(char c) {
  constexpr std::string_view kEnds = "\"'<>|;,()[]{}*?:&`$#=";
  return static_cast<unsigned char>(c) <= ' ' || kEnds.find(c) != std::string_view::npos;
}

/// Returns "a", "b", ..., "z", "aa", ... for 0, 1, ...
std::string LettersOf(std::size_t number) {
  constexpr std::size_t kLetters = 26;
  std::string letters;
  for (++number; number > 0; number = (number - 1) / kLetters)
    letters += static_cast<char>('a' + (number - 1) % kLetters);
  std::reverse(letters.begin(), letters.end());
  return letters;
}

enum class Case : std::uint8_t { kLower, kCapital, kUpper, kMixed };

Case CaseOf(std::string_view text) {
  const auto capitals = std::count_if(text.begin(), text.end(), IsUpper);
  if (capitals == 0) return Case::kLower;
  const auto letters = std::count_if(text.begin(), text.end(), IsLetter);
  const bool first = IsUpper(*std::find_if(text.begin(), text.end(), IsLetter));
  if (capitals == 1 && first) return Case::kCapital;
  return capitals == letters ? Case::kUpper : Case::kMixed;
}

std::string InCase(std::string token, Case letters) {
  const auto end = letters == Case::kUpper     ? token.end()
                   : letters == Case::kCapital ? token.begin() + 1
                                               : token.begin();
  std::transform(token.begin(), end, token.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return token;
}

/// Returns true if a word looks like a hash, such as "3f2504e0". A hash mixes hexadecimal digits
/// and letters, and is longer than a number with its unit.
bool LooksLikeHash(std::string_view word) {
  constexpr std::size_t kShortest = 7;  // Length of git's abbreviated hashes.
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = std::min(word.find('_', at), word.size());
    const std::string_view segment = word.substr(at, end - at);
    at = end + 1;
    if (segment.size() < kShortest || segment.find_first_not_of(kHex) != std::string_view::npos)
      continue;
    const auto digits = std::count_if(segment.begin(), segment.end(), IsDigit);
    if (digits > 1 && digits < static_cast<std::ptrdiff_t>(segment.size())) return true;
  }
  return false;
}

/// Returns true if a file name extension is public.
bool IsFileEnding(std::string_view ending) {
  constexpr std::string_view kKnown[] = {
      "py",    "pyc", "pyx",  "cc",   "cpp",      "cxx",     "c",     "cu",         "cuh",
      "h",     "hpp", "so",   "json", "yaml",     "yml",     "toml",  "txt",        "csv",
      "pt",    "pth", "ckpt", "bin",  "onnx",     "sh",      "gz",    "tar",        "zip",
      "npy",   "npz", "log",  "cfg",  "ini",      "exe",     "dll",   "pkl",        "h5",
      "ipynb", "hip", "jpg",  "png",  "tfrecord", "parquet", "arrow", "safetensors"};
  return std::find(std::begin(kKnown), std::end(kKnown), ending) != std::end(kKnown);
}
bool HasFileEnding(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && dot > 0 && IsFileEnding(name.substr(dot + 1));
}

/// Returns true if a path begins with a folder that usually contains users' files.
bool IsRooted(std::string_view path) {
  constexpr std::string_view kRoots[] = {
      "/home/", "/Users/",  "/root/",    "/mnt/",      "/media/",    "/data/", "/tmp/",
      "/var/",  "/opt/",    "/usr/",     "/work/",     "/scratch/",  "/nfs/",  "/lustre/",
      "/gpfs/", "/shared/", "/project/", "/projects/", "/workspace/"};
  return std::any_of(std::begin(kRoots), std::end(kRoots),
                     [&](std::string_view root) { return path.starts_with(root); });
}

/// Returns true if a function belongs to a driver's API or a vendor's library.
bool IsOfApi(std::string_view name) {
  constexpr std::string_view kApis[] = {"cuda", "cu",   "hip",   "hsa",
                                        "nccl", "nvtx", "roctx", "__cuda"};
  return std::any_of(std::begin(kApis), std::end(kApis),
                     [&](std::string_view api) { return name.starts_with(api); });
}

/// Returns true if an argument's values come from fixed lists of profilers.
bool IsOfTypes(std::string_view key) {
  constexpr std::string_view kKnown[] = {kInputTypesArg,
                                         kOldInputTypesArg,
                                         NameOf(KinetoArg::kDtype),
                                         NameOf(KinetoArg::kDeviceType),
                                         NameOf(KinetoArg::kCollectiveName),
                                         "kind"};
  return std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown);
}

/// Returns true if a string is the op_name of an XLA operation:
/// "jit(step)/transpose(jvp(net))/dot".
bool IsOfXla(std::string_view text) {
  constexpr std::string_view kTransforms[] = {"jit(", "pjit(", "pmap(", "xmap(", "shard_map("};
  return std::any_of(std::begin(kTransforms), std::end(kTransforms),
                     [&](std::string_view begin) { return text.starts_with(begin); }) &&
         !HasFileEnding(text);
}

/// Returns the end of a path that begins at `at`; `at` if none begins there. A path with the
/// extension of a source file can be relative.
///
/// @param of_xla  IsOfXla(text)
std::size_t PathAt(std::string_view text, std::size_t at, bool of_xla) {
  const std::string_view rest = text.substr(at);
  // Accepts "-I/home/grace/include".
  const bool of_flag = at >= 2 && rest[0] == '/' && IsLetter(text[at - 1]) && text[at - 2] == '-' &&
                       (at == 2 || text[at - 3] == ' ');
  // Accepts "run_/home/grace/x".
  const bool of_name = at >= 1 && (text[at - 1] == '_' || text[at - 1] == '-') && IsRooted(rest);
  if (!BeginsAt(text, at) && !of_flag && !of_name) return at;
  if (of_xla && at >= 1 && text[at - 1] == ')' && !IsRooted(rest)) return at;
  const bool drive = rest.size() > 2 && IsLetter(rest[0]) && rest[1] == ':' && IsSlash(rest[2]);
  const bool anchored = drive || rest.starts_with("\\\\") || rest.starts_with("~") ||
                        rest.starts_with("./") || rest.starts_with("../") ||
                        rest.starts_with(".\\") || rest.starts_with("..\\") || rest[0] == '/';
  // Reads each run only from its start, because a later start gives the same run.
  if (!anchored && at > 0 && !EndsPath(text[at - 1])) return at;
  std::size_t end = at + (drive ? 2 : 0);
  while (end < text.size() && !EndsPath(text[end])) ++end;
  const std::string_view run = text.substr(at, end - at);
  // "/host:CPU" and "/device:GPU:0" are XLA's device names.
  if ((run == "/host" || run == "/device") && text.substr(end).starts_with(':')) return at;
  if (!anchored) return HasFileEnding(run) ? end : at;
  const std::size_t slash = run.find_first_of("/\\");
  const bool goes_on = slash != std::string_view::npos &&
                       run.find_first_not_of("/\\", slash) != std::string_view::npos;
  return goes_on ? end : at;
}

/// Returns "FILE" of a Python frame "FILE(LINE): FUNCTION", even with blanks in FILE; empty for
/// other strings.
std::string_view FileOfFrame(std::string_view text) {
  const std::size_t close = text.find("): ");
  if (close == std::string_view::npos) return {};
  const std::size_t open = text.substr(0, close).rfind('(');
  if (open == std::string_view::npos || open == 0 || open + 1 == close) return {};
  const std::string_view line = text.substr(open + 1, close - open - 1);
  const bool is_line = std::all_of(line.begin(), line.end(), IsDigit);
  return is_line && HasFileEnding(text.substr(0, open)) ? text.substr(0, open) : std::string_view();
}

}  // namespace

TextRedactor::TextRedactor(const PublicNames& names, RedactOptions options)
    : names_(names), options_(std::move(options)) {
  for (const std::string& word : options_.keep) Keep(word);
}

void TextRedactor::Keep(std::string_view text) {
  keep_.insert(LowerCase(text));
  longest_kept_ = std::max(longest_kept_, text.size());
}

bool TextRedactor::IsKept(std::string_view text, std::size_t begin, std::size_t end) const {
  const auto keeps = [&](std::size_t first, std::size_t last) {
    return keep_.contains(LowerCase(text.substr(first, last - first)));
  };
  if (end <= begin || keep_.empty()) return false;
  // Also keeps a string within a kept word, with or without a port. The search ends at the length
  // of the longest kept word.
  std::size_t first = begin, last = end;
  while (first > 0 && begin - first <= longest_kept_ && IsHostByte(text[first - 1])) --first;
  while (last < text.size() && last - end <= longest_kept_ && IsHostByte(text[last])) ++last;
  std::size_t port = last;
  if (port < text.size() && text[port] == ':') ++port;
  while (port > last && port < text.size() && IsDigit(text[port])) ++port;
  return keeps(begin, end) || keeps(first, last) || keeps(first, port);
}

std::string_view TextRedactor::AddressIn(std::string_view text) const {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = AddressAt(text, at);
    if (end > at && !IsKept(text, at, end)) return text.substr(at, end - at);
  }
  return {};
}

bool TextRedactor::Stays(std::string_view word) const {
  // "ResNet" equals the "resnet" in a library's path, which is kept.
  const bool is_public = names_.IsPublicWord(word) || names_.IsPublicPart(word);
  return keep_.contains(LowerCase(word)) || (is_public && !LooksLikeHash(word));
}

bool TextRedactor::IsWithinPublicWord(std::string_view text, std::size_t at,
                                      std::size_t size) const {
  // A repeated login can form one long word, which is read again at each repetition. No public word
  // is as long as this limit.
  constexpr std::size_t kMaxAround = 1024;
  std::size_t begin = at, end = at + size;
  while (begin > 0 && at - begin < kMaxAround && IsWordByte(text[begin - 1])) --begin;
  while (end < text.size() && end - at - size < kMaxAround && IsWordByte(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  if (word.size() == size) return false;
  if (word.size() <= kMaxAround && Stays(word)) return true;
  bool inside = false;
  ForEachPart(word, [&](std::size_t first, std::size_t last) {
    inside |= begin + first <= at && at + size <= begin + last && last - first > size &&
              names_.IsPublicPart(word.substr(first, last - first));
  });
  return inside;
}

void TextRedactor::LearnWord(SecretKind kind, std::string_view word) {
  if (!removes(kind) || word.size() < kShortestLearned || Stays(word)) return;
  const auto [row, is_new] = learned_.emplace(LowerCase(word), kind);
  if (!is_new) return;
  auto& same = learned_by_begin_[row->first.substr(0, kShortestLearned)];
  same.push_back(&*row);
  std::sort(same.begin(), same.end(),
            [](const auto* a, const auto* b) { return a->first.size() > b->first.size(); });
}

void TextRedactor::LearnByForm(std::string_view text, std::size_t at) {
  const auto learn = [&](SecretKind kind, std::size_t end) {
    if (end - at < kShortestLearned || IsKept(text, at, end)) return;
    const std::string found = LowerCase(text.substr(at, end - at));
    by_form_.try_emplace(found, kind);
    // Drops a string of too many pieces, which ByFormAt() does not find. Its form alone identifies
    // it.
    if (ByFormAt(found, 0) < found.size()) by_form_.erase(found);
  };
  if (removes(SecretKind::kHosts)) {
    learn(SecretKind::kHosts, UnderscoredAddressAt(text, at));
    learn(SecretKind::kHosts, NumberedMachineAt(text, at));
  }
  // Without this, strings such as "sk-sk-sk-" would take quadratic time.
  const bool begins = at == 0 || !IsHostByte(text[at - 1]);
  if (begins && removes(SecretKind::kNames)) learn(SecretKind::kNames, IssuedKeyAt(text, at));
}

/// Returns the end of the longest string at `at` that was learned by its form; `at` if there is
/// none. No letters or digits can be adjacent to it.
std::size_t TextRedactor::ByFormAt(std::string_view text, std::size_t at) const {
  constexpr std::size_t kMaxPieces = 8;
  if (by_form_.empty() || !IsLetterOrDigit(text[at]) || (at > 0 && IsLetterOrDigit(text[at - 1])))
    return at;
  std::size_t found = at, end = at;
  for (std::size_t piece = 0; piece < kMaxPieces && end < text.size(); ++piece, ++end) {
    while (end < text.size() && IsLetterOrDigit(text[end])) ++end;
    if (by_form_.contains(LowerCase(text.substr(at, end - at)))) found = end;
    if (end == text.size() || !IsHostByte(text[end])) break;
  }
  return found;
}

bool TextRedactor::IsByForm(std::string_view word) const {
  return by_form_.contains(LowerCase(word));
}

bool TextRedactor::IsOfOther(std::string_view text, std::size_t at, std::size_t size) const {
  if (!IsByForm(text.substr(at, size))) return IsWithinPublicWord(text, at, size);
  const std::size_t end = at + size;
  return (at > 0 && IsLetterOrDigit(text[at - 1])) ||
         (end < text.size() && IsLetterOrDigit(text[end]));
}

void TextRedactor::Learn(std::string_view text, bool spells_numbers) {
  ForEachWord(text, [&](std::size_t begin, std::size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    ForEachPart(word, [&](std::size_t first, std::size_t last) {
      taken_.insert(LowerCase(word.substr(first, last - first)));
    });
  });
  for (const std::string_view folder :
       {"/home/", "/Users/", "\\Users\\", "\\home\\", "/mnt/home/", "/u/"}) {
    for (std::size_t at = text.find(folder); at != std::string_view::npos;
         at = text.find(folder, at + 1)) {
      const std::size_t begin = at + folder.size();
      const std::size_t end = std::min(text.find_first_of("/\\\"' :;,)", begin), text.size());
      LearnWord(SecretKind::kUsers, text.substr(begin, end - begin));
    }
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (const std::size_t end = MailAt(text, at); end > at) {
      const std::size_t name = text.find('@', at);
      LearnWord(SecretKind::kUsers, text.substr(at, name - at));
    }
    if (!spells_numbers) LearnByForm(text, at);
    if (const std::size_t end = HostAt(text, at); end > at) {
      const std::string_view host = text.substr(at, end - at);
      const std::string_view machine = host.substr(0, host.find('.'));
      if (machine.size() < host.size() && std::any_of(machine.begin(), machine.end(), IsLetter))
        LearnWord(SecretKind::kHosts, machine);
    }
  }
  // `headroom merge` names processes "rank 2 on node7".
  constexpr std::string_view kOn = " on ";
  if (const std::size_t on = text.find(kOn); text.starts_with("rank ") && on != text.npos) {
    const std::size_t begin = on + kOn.size();
    std::size_t end = begin;
    while (end < text.size() && IsHostByte(text[end])) ++end;
    LearnWord(SecretKind::kHosts, text.substr(begin, end - begin));
  }
}

std::string TextRedactor::Token(SecretKind kind, std::string_view prefix,
                                std::string_view original) {
  const Case letters = CaseOf(original);
  auto [number, is_new] =
      numbers_.try_emplace(std::string(prefix) + '\n' +
                           (letters == Case::kMixed ? std::string(original) : LowerCase(original)));
  while (is_new &&
         (number->second.empty() || taken_.contains(std::string(prefix) + number->second)))
    number->second = LettersOf(counts_[std::string(prefix)]++);
  std::string token = InCase(std::string(prefix) + number->second, letters);
  replaced_.try_emplace(std::string(original), Replacement{std::string(original), token, kind});
  tokens_.insert(token);
  longest_token_ = std::max(longest_token_, token.size());
  return token;
}

std::string TextRedactor::AskedToken(std::string_view original, bool is_word) {
  std::string token = Token(SecretKind::kNames, is_word ? "word" : "text", original);
  replaced_.find(std::string(original))->second.asked |= is_word;
  return token;
}

/// Returns the longest learned login or host at `at`; otherwise nullptr.
const std::pair<const std::string, SecretKind>* TextRedactor::LearnedAt(std::string_view text,
                                                                        std::size_t at) const {
  if (learned_.empty() || text.size() - at < kShortestLearned) return nullptr;
  const auto same = learned_by_begin_.find(LowerCase(text.substr(at, kShortestLearned)));
  if (same == learned_by_begin_.end()) return nullptr;
  for (const auto* row : same->second) {
    const std::size_t size = row->first.size();
    if (LowerCase(text.substr(at, size)) == row->first && !IsWithinPublicWord(text, at, size))
      return row;
  }
  return nullptr;
}

/// Redacts one string from begin to end.
class TextRedactor::Reading {
 public:
  /// @param asked  spans of the text that the user asked to remove
  Reading(TextRedactor& redactor, std::string_view text, NameRole role,
          std::vector<AskedTexts::Span> asked)
      : redactor_(redactor), text_(text), role_(role), asked_(std::move(asked)) {}

  std::string All() && {
    std::size_t begin = 0;
    if (redactor_.removes(SecretKind::kPaths)) {
      if (const std::string_view file = FileOfFrame(text_); !file.empty())
        Path(0, begin = file.size());
    }
    Walk(begin, text_.size(), /*in_path=*/false);
    return std::move(out_);
  }

 private:
  enum class Special : std::uint8_t { kNone, kUrl, kFileUrl, kMail, kHost, kKey, kPath, kLearned };
  struct Found {
    Special what = Special::kNone;
    std::size_t end = 0;
  };

  /// Returns the longest special string that begins at `at`. Checks only kinds that are removed, to
  /// avoid quadratic time. A check can read to the end of the text, and only a replacement skips
  /// the part that it read.
  Found SpecialAt(std::size_t at, bool in_path) const {
    Found found = {Special::kNone, at};
    const auto see = [&](Special what, std::size_t end) {
      if (end > found.end) found = {what, end};
    };
    if (!in_path) {
      const bool file = text_.substr(at).starts_with("file:");
      if (redactor_.removes(file ? SecretKind::kPaths : SecretKind::kHosts))
        see(file ? Special::kFileUrl : Special::kUrl, UrlAt(text_, at));
      if (redactor_.removes(SecretKind::kUsers)) see(Special::kMail, MailAt(text_, at));
    }
    if (redactor_.removes(SecretKind::kHosts)) {
      if (!in_path) see(Special::kHost, UnlessKept(at, HostAt(text_, at)));
      see(Special::kHost, UnlessKept(at, AddressAt(text_, at)));
    }
    if (role_ != NameRole::kKernel && role_ != NameRole::kCall) SeeByForm(at, see);
    if (const std::size_t end = UnlessKept(at, redactor_.ByFormAt(text_, at)); end > at) {
      const bool is_key =
          redactor_.by_form_.at(LowerCase(text_.substr(at, end - at))) == SecretKind::kNames;
      see(is_key ? Special::kKey : Special::kHost, end);
    }
    if (found.what != Special::kNone) return found;
    if (!in_path && redactor_.removes(SecretKind::kPaths)) {
      if (const std::size_t end = PathAt(text_, at, of_xla_); end > at)
        return {Special::kPath, end};
    }
    if (const auto* learned = redactor_.LearnedAt(text_, at))
      return {Special::kLearned, at + learned->first.size()};
    return {};
  }

  std::size_t UnlessKept(std::size_t at, std::size_t end) const {
    return redactor_.IsKept(text_, at, end) ? at : end;
  }

  /// Checks for strings that look like a machine or a key by their form alone. Requires a role
  /// other than a kernel's, because names of kernels also spell out numbers.
  template <typename See>
  void SeeByForm(std::size_t at, See&& see) const {
    if (redactor_.removes(SecretKind::kHosts)) {
      see(Special::kHost, UnlessKept(at, UnderscoredAddressAt(text_, at)));
      see(Special::kHost, UnlessKept(at, NumberedMachineAt(text_, at)));
      see(Special::kHost, UnlessKept(at, NamedMachineAt(text_, at)));
    }
    if (!redactor_.removes(SecretKind::kNames)) return;
    see(Special::kKey, UnlessKept(at, IssuedKeyAt(text_, at)));
    see(Special::kKey, UnlessKept(at, SecretValueAt(text_, at)));
    if (const std::size_t end = RandomTextAt(text_, at);
        end > at && !redactor_.names_.IsPublicWord(text_.substr(at, end - at)))
      see(Special::kKey, UnlessKept(at, end));
  }

  /// Replaces the span to remove at `at` and returns its end. Returns `at` without such a span.
  std::size_t AskedAt(std::size_t at) {
    while (next_ < asked_.size() && asked_[next_].end <= at) ++next_;
    if (next_ == asked_.size() || asked_[next_].begin > at) return at;
    const AskedTexts::Span& span = asked_[next_];
    if (told_ != next_ + 1) {
      out_ += redactor_.AskedToken(text_.substr(span.begin, span.end - span.begin), span.is_word);
      told_ = next_ + 1;
    }
    return span.end;
  }
  bool IsAskedIn(std::size_t begin, std::size_t end) const {
    // The spans are in order and do not overlap.
    const auto first =
        std::partition_point(asked_.begin(), asked_.end(),
                             [&](const AskedTexts::Span& span) { return span.end <= begin; });
    return first != asked_.end() && first->begin < end;
  }

  /// @param in_path  true within a kept part of a path, where nothing else can begin
  void Walk(std::size_t begin, std::size_t end, bool in_path) {
    std::size_t plain = begin;  // Start of the text without special meaning.
    const auto words_to = [&](std::size_t to) {
      redactor_.Words(text_.substr(plain, to - plain), role_, out_);
    };
    for (std::size_t at = begin; at < end;) {
      const bool is_asked = IsAskedIn(at, at + 1);
      const Found found = is_asked ? Found{} : SpecialAt(at, in_path);
      if (!is_asked && found.what == Special::kNone) {
        ++at;
        continue;
      }
      words_to(at);
      at = is_asked ? std::min(end, AskedAt(at)) : Replace(at, found);
      plain = at;
    }
    if (plain < end) words_to(end);
  }

  /// Returns the end of the replaced text.
  std::size_t Replace(std::size_t at, const Found& found) {
    const std::string_view whole = text_.substr(at, found.end - at);
    switch (found.what) {
      case Special::kUrl:
        out_ += redactor_.Token(SecretKind::kHosts, "url", whole);
        break;
      case Special::kFileUrl:
        out_ += redactor_.Token(SecretKind::kPaths, "url", whole);
        break;
      case Special::kMail:
        out_ += redactor_.Token(SecretKind::kUsers, "mail", whole);
        break;
      case Special::kHost:
        out_ += redactor_.Token(SecretKind::kHosts, "host", whole);
        break;
      case Special::kKey:
        out_ += redactor_.Token(SecretKind::kNames, "key", whole);
        break;
      case Special::kLearned: {
        const SecretKind kind = redactor_.LearnedAt(text_, at)->second;
        out_ += redactor_.Token(kind, kind == SecretKind::kUsers ? "user" : "host", whole);
        break;
      }
      case Special::kPath:
        Path(at, found.end);
        break;
      case Special::kNone:
        break;
    }
    // The replacement also removes the spans within it.
    while (next_ < asked_.size() && asked_[next_].begin < found.end) {
      const AskedTexts::Span& span = asked_[next_++];
      redactor_.AskedToken(text_.substr(span.begin, span.end - span.begin), span.is_word);
      if (span.end > found.end) return span.end;
    }
    return found.end;
  }

  /// Writes a folder or file, as a token unless it is public.
  ///
  /// @param is_all  true for a file without folders, which is kept if its name consists of public
  /// words
  void PathPart(std::size_t begin, std::size_t end, bool is_last, bool is_all) {
    const std::string_view part = text_.substr(begin, end - begin);
    const bool is_drive = part.size() == 2 && part[1] == ':';
    if (part.empty() || part == "." || part == ".." || part == "~" || is_drive) {
      out_ += part;
      return;
    }
    const std::size_t stem_end = is_last && HasFileEnding(part) ? begin + part.rfind('.') : end;
    const std::string_view stem = text_.substr(begin, stem_end - begin);
    const bool stays = is_all && stem_end < end && redactor_.Stays(stem);
    if (stays || redactor_.keep_.contains(LowerCase(stem))) {
      Walk(begin, end, /*in_path=*/true);
      return;
    }
    out_ += redactor_.Token(SecretKind::kPaths, is_last ? "file" : "dir", stem);
    // Writes the extension, unless the user asked to remove a part of it.
    if (!IsAskedIn(stem_end, end)) out_ += text_.substr(stem_end, end - stem_end);
  }

  /// Writes folders and files, each with its own token. Keeps all parts from a public package on.
  void Path(std::size_t begin, std::size_t end) {
    struct Part {
      std::string_view text;
      std::size_t begin, end;
    };
    std::vector<Part> parts;
    for (std::size_t at = begin; at <= end;) {
      const std::size_t stop = std::min(text_.find_first_of("/\\", at), end);
      parts.push_back({text_.substr(at, stop - at), at, stop});
      at = stop + 1;
    }
    const auto is_library_folder = [](std::string_view part) {
      return part == "lib" || part == "lib64";
    };
    std::size_t library = parts.size();  // All parts from this one on are kept.
    std::size_t marker = parts.size();   // Part after which a package follows.
    for (std::size_t i = 0; i < parts.size() && library == parts.size(); ++i) {
      const std::string_view part = parts[i].text;
      const bool packages = part == "site-packages" || part == "dist-packages";
      const bool standard =
          part.starts_with("python3") && i > 0 && is_library_folder(parts[i - 1].text);
      if (packages || standard) marker = i;
      const std::string_view stem = part.substr(0, part.find('.'));
      if ((i == 0 || marker + 1 == i) && parts.size() > 1 && redactor_.names_.IsPackage(stem))
        library = i;
    }
    // The folder of packages and its parents ("lib/python3.11/site-packages") reveal nothing.
    std::size_t frame = marker;
    while (
        marker < parts.size() && frame > 0 &&
        (is_library_folder(parts[frame - 1].text) || parts[frame - 1].text.starts_with("python3")))
      --frame;
    const std::size_t first_public = std::min({frame, library, parts.size() - 1});
    const std::size_t out_begin = out_.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      const bool is_frame = i >= frame && i <= marker && marker < parts.size();
      if (is_frame || i >= library || marker < i) {
        Walk(part.begin, part.end, /*in_path=*/true);
      } else {
        PathPart(part.begin, part.end, i + 1 == parts.size(), parts.size() == 1);
      }
      if (part.end < end && !IsAskedIn(part.end, part.end + 1)) out_ += text_[part.end];
      // Records the folders as a whole, because each alone can be a kept name. Folders with only
      // public names ("models/") also occur in kept paths.
      if (i + 1 != first_public ||
          std::all_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(first_public),
                      [&](const Part& one) { return redactor_.Stays(one.text); }))
        continue;
      const std::string folders(text_.substr(begin, std::min(part.end + 1, end) - begin));
      const std::string now = out_.substr(out_begin);
      if (now != folders)
        redactor_.replaced_.try_emplace(folders, Replacement{folders, now, SecretKind::kPaths});
    }
  }

  TextRedactor& redactor_;
  const std::string_view text_;
  const NameRole role_;
  const bool of_xla_ = IsOfXla(text_);
  const std::vector<AskedTexts::Span> asked_;
  std::size_t next_ = 0;  ///< First span that can still be ahead.
  std::size_t told_ = 0;  ///< Number of the last replaced span, from 1; 0 for none.
  std::string out_;
};

/// Replaces a piece of a word between "_", such as "BatchNorm2d" in "fused_BatchNorm2d".
std::string TextRedactor::Segment(std::string_view segment, NameRole role) {
  const bool is_kernel = role == NameRole::kKernel;
  if (Stays(segment) || (is_kernel && names_.IsPublicWord(segment))) return std::string(segment);
  std::size_t own = 0, kept = 0, single = 0, numbers = 0;
  for (std::size_t i = 0; i < segment.size(); ++i)
    numbers += IsDigit(segment[i]) && (i == 0 || !IsDigit(segment[i - 1])) ? 1 : 0;
  const auto is_kept = [&](std::string_view part) { return keep_.contains(LowerCase(part)); };
  ForEachPart(segment, [&](std::size_t begin, std::size_t end) {
    const std::string_view part = segment.substr(begin, end - begin);
    single += part.size() == 1 ? 1 : 0;
    kept += is_kept(part) ? 1 : 0;
    own += names_.IsPublicPart(part) || is_kept(part) ? 0 : 1;
  });
  // Replaces a whole segment, including its digits and single letters, if it looks like a key or a
  // hash. Names of kernels are exempt, because they spell out their parameters.
  const bool is_key = (own > 1 && single + numbers > 1) || (own > 0 && single + numbers > 4);
  if (!is_kernel && kept == 0 && (own == 0 || is_key))
    return Token(SecretKind::kNames, "name", segment);
  std::string out;
  std::size_t done = 0;
  ForEachPart(segment, [&](std::size_t begin, std::size_t end) {
    const std::string_view part = segment.substr(begin, end - begin);
    out += segment.substr(done, begin - done);
    done = end;
    out += names_.IsPublicPart(part) || is_kept(part) ? std::string(part)
                                                      : Token(SecretKind::kNames, "name", part);
  });
  out += segment.substr(done);
  // Records the whole segment, because its parts can be too short to search for.
  if (out != segment) {
    replaced_.try_emplace(std::string(segment),
                          Replacement{std::string(segment), out, SecretKind::kNames});
  }
  return out;
}

std::string TextRedactor::Word(std::string_view word, NameRole role) {
  if (IsMangled(word) && !keep_.contains(LowerCase(word))) {
    return WithIdentifiers(word,
                           [&](std::string_view name) { return Word(name, NameRole::kKernel); });
  }
  if (Stays(word) || (role == NameRole::kKernel && names_.IsPublicWord(word)))
    return std::string(word);
  // Words in other scripts have no known parts.
  if (!std::all_of(word.begin(), word.end(), IsAscii))
    return Token(SecretKind::kNames, "name", word);
  std::string out;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find('_', at), word.size());
    if (end > at) out += Segment(word.substr(at, end - at), role);
    if (end < word.size()) out += '_';
    at = end + 1;
  }
  return out;
}

/// Replaces each word that is not public.
void TextRedactor::Words(std::string_view text, NameRole role, std::string& out) {
  if (!removes(SecretKind::kNames)) {
    out += text;
    return;
  }
  std::size_t done = 0;
  ForEachWord(text, [&](std::size_t begin, std::size_t end) {
    out += text.substr(done, begin - done);
    done = end;
    const std::string_view word = text.substr(begin, end - begin);
    const bool of_api = role == NameRole::kCall && IsOfApi(word);
    out += of_api ? std::string(word) : Word(word, role);
  });
  out += text.substr(done);
}

bool TextRedactor::IsOfFrameworks(std::string_view text, NameRole role) const {
  if (role == NameRole::kCall) return IsOfApi(text) && text.find(' ') == std::string_view::npos;
  if (role == NameRole::kKernel) {
    constexpr std::string_view kReturns = "void ";
    if (text.starts_with(kReturns)) text.remove_prefix(kReturns.size());
  } else if (role != NameRole::kOperator || text.find(' ') != std::string_view::npos) {
    return false;
  }
  const std::size_t colons = text.find("::");
  if (colons == std::string_view::npos || !names_.IsNamespace(text.substr(0, colons))) return false;
  bool are_public = true;
  ForEachWord(text, [&](std::size_t begin, std::size_t end) {
    are_public = are_public && names_.IsPublicWord(text.substr(begin, end - begin));
  });
  return are_public;
}

void TextRedactor::Spare(std::string_view text, NameRole role,
                         std::vector<AskedTexts::Span>& asked) {
  const std::string_view name = text.substr(0, kLongestName);
  const bool of_frameworks = IsOfFrameworks(text, role);
  std::vector<bool> goes;
  for (const AskedTexts::Span& span : asked) {
    const bool may_stay = span.is_word && (of_frameworks || span.end <= name.size()) &&
                          names_.IsInPublicPart(text, span.begin, span.end - span.begin);
    goes.push_back(!may_stay);
  }
  const auto left = [&](const std::vector<bool>& without) {
    std::string other;
    std::size_t done = 0;
    for (std::size_t i = 0; i < asked.size() && asked[i].begin < name.size(); ++i) {
      if (!without[i]) continue;
      other.append(name.substr(done, asked[i].begin - done)).append("word");
      done = std::min(asked[i].end, name.size());
    }
    return other.append(name.substr(done));
  };
  const auto same = [&](std::string_view a, std::string_view b) {
    return !options_.mean_the_same || options_.mean_the_same(a, b, role);
  };
  const std::string least = left(goes);
  if (!needed_ && !same(name, least)) {
    const auto first =
        static_cast<std::size_t>(std::find(goes.begin(), goes.end(), true) - goes.begin());
    const AskedTexts::Span& span = asked[first];
    needed_ =
        Needed{std::string(text.substr(span.begin, span.end - span.begin)), std::string(text)};
  }
  if (!of_frameworks) {
    const std::vector<bool> all(asked.size(), true);
    if (same(least, left(all))) return;
    // Tries to remove each word alone, from the last to the first. If one of several words is
    // enough, the first is kept.
    for (std::size_t i = asked.size(); i-- > 0;) {
      if (goes[i]) continue;
      goes[i] = true;
      goes[i] = same(least, left(goes));
    }
  }
  std::vector<AskedTexts::Span> gone;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (goes[i]) gone.push_back(asked[i]);
  }
  asked = std::move(gone);
}

void TextRedactor::NoteDecisive(std::string_view text, std::string_view now, NameRole role) {
  constexpr std::size_t kMax = 4;
  constexpr std::size_t kMaxJudged = 4096;  // A hostile file can have more, and each takes time.
  if (decisive_.size() == kMax || parts_judged_ > kMaxJudged || !options_.mean_the_same ||
      now == text)
    return;
  const std::string_view name = text.substr(0, kLongestName);
  if (options_.mean_the_same(name, now.substr(0, kLongestName), role)) return;
  ForEachWord(name, [&](std::size_t begin, std::size_t end) {
    const std::string_view word = name.substr(begin, end - begin);
    if (!std::all_of(word.begin(), word.end(), IsAscii)) return;
    ForEachPart(word, [&](std::size_t first, std::size_t last) {
      const std::string_view part = word.substr(first, last - first);
      const bool is_noted = std::any_of(decisive_.begin(), decisive_.end(),
                                        [&](const Needed& noted) { return noted.part == part; });
      if (decisive_.size() == kMax || is_noted || Stays(part)) return;
      if (++parts_judged_ > kMaxJudged) return;
      std::string without(name.substr(0, begin + first));
      without.append("word").append(name.substr(begin + last));
      if (!options_.mean_the_same(name, without, role))
        decisive_.push_back({std::string(part), std::string(text)});
    });
  });
}

std::string TextRedactor::Text(std::string_view text, NameRole role) {
  std::vector<AskedTexts::Span> asked = options_.asked.SpansOf(text);
  if (asked.empty()) {
    std::string now = Reading(*this, text, role, {}).All();
    NoteDecisive(text, now, role);
    return now;
  }
  const std::size_t all = asked.size();
  Spare(text, role, asked);
  const bool spares = asked.size() < all;
  std::string now = Reading(*this, text, role, std::move(asked)).All();
  if (spares) spared_.insert(now);
  return now;
}

std::string TextRedactor::Process(std::string_view text) {
  std::string out;
  constexpr std::string_view kRank = "rank ", kOn = " on ", kColon = ": ";
  const std::size_t colon = std::min(text.find(kColon), text.size());
  const std::string_view head = text.substr(0, colon);
  const std::size_t number_end =
      head.starts_with(kRank) ? std::min(head.find_first_not_of("0123456789", kRank.size()), colon)
                              : 0;
  std::string_view host = head.substr(number_end);
  const bool on_host = host.starts_with(kOn) && host.size() > kOn.size();
  if (on_host) host.remove_prefix(kOn.size());
  if (number_end > kRank.size() && std::all_of(host.begin(), host.end(), IsHostByte)) {
    // `headroom merge` names processes "rank 2 on node7: python (4711)". The word after "on" is a
    // machine, even if it is public.
    out = head.substr(0, number_end);
    if (on_host) {
      out.append(kOn).append(removes(SecretKind::kHosts) ? Token(SecretKind::kHosts, "host", host)
                                                         : Text(host));
    }
    if (colon == text.size()) return out;
    out += kColon;
    text.remove_prefix(colon + kColon.size());
  }
  if (!removes(SecretKind::kArguments)) return out + Text(text);
  // The operating system separates arguments with zero bytes.
  constexpr std::string_view kEnds(" \t\r\n\v\f=\0", 8);
  const std::size_t end = std::min(text.find_first_of(kEnds), text.size());
  const std::string_view first = text.substr(0, end);
  const std::string_view behind = text.substr(std::min(end + 1, text.size()));
  // "GPU 0" is not a command line.
  constexpr std::size_t kMaxDigits = 3;
  const bool is_number =
      behind.size() <= kMaxDigits && std::all_of(behind.begin(), behind.end(), IsDigit);
  if (behind.find_first_not_of(kEnds) == std::string_view::npos || (is_number && Stays(first)))
    return out + Text(text);
  out += Text(first);
  Text(text.substr(end));  // Records the removed strings within the dropped part.
  dropped_.emplace(text.substr(end));
  return out;
}

std::string TextRedactor::Hidden(std::string_view text) {
  return Token(SecretKind::kNames, "text", text);
}

std::string TextRedactor::Value(std::string_view written, NameRole role) {
  return WithTexts(written, [&](std::string_view text) { return Text(text, role); });
}

std::string TextRedactor::Arguments(std::string_view members, bool of_recording) {
  std::string out;
  for (std::size_t at = 0; at < members.size();) {
    const std::size_t open = members.find('"', at);
    if (open == std::string_view::npos) break;
    const std::size_t close = SkipValue(members, open);
    const std::size_t colon = members.find(':', close);
    if (close <= open + 1 || colon == std::string_view::npos) break;
    const std::size_t begin = members.find_first_not_of(" \t\r\n", colon + 1);
    if (begin == std::string_view::npos) break;
    const std::size_t end = SkipValue(members, begin);
    const std::string_view raw = members.substr(begin, end - begin);
    std::string key;
    Unescape(members.substr(open + 1, close - open - 2), key);
    const std::string_view written = members.substr(open, close - open);
    // Also replaces dropped values, to record the removed strings.
    const std::string value = Value(raw, IsOfTypes(key) ? NameRole::kListed : NameRole::kAny);
    const bool number = !raw.empty() && (IsDigit(raw[0]) || raw[0] == '-');
    const bool is_listed =
        names_.IsArgument(key) || (of_recording && ((number && Stays(key)) || key == "severity"));
    const std::vector<AskedTexts::Span> asked = options_.asked.SpansOf(key);
    const bool known =
        is_listed && std::all_of(asked.begin(), asked.end(), [&](const AskedTexts::Span& span) {
          return span.is_word && names_.IsInPublicPart(key, span.begin, span.end - span.begin);
        });
    if (known && !asked.empty()) spared_.insert(key);
    const std::string now = known ? std::string(written) : Value(written);
    if (known || !removes(SecretKind::kArguments)) {
      if (!out.empty()) out += ", ";
      out.append(now).append(": ").append(value);
    } else {
      dropped_.insert(key);
    }
    at = std::max(end, begin + 1);
  }
  return out;
}

std::vector<bool> TextRedactor::BytesOfTokens(std::string_view text) const {
  std::vector<bool> is_token(text.size());
  // Checks every byte, because consecutive tokens are ambiguous: "textatextb" also begins with the
  // token "textat".
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t size = std::min(longest_token_, text.size() - at);
    while (size > 0 && !tokens_.contains(std::string(text.substr(at, size)))) --size;
    std::fill_n(is_token.begin() + static_cast<std::ptrdiff_t>(at), size, true);
  }
  return is_token;
}

std::vector<Replacement> TextRedactor::Replacements() const {
  std::vector<Replacement> list;
  for (const std::string& original : dropped_)
    list.push_back({original, "", SecretKind::kArguments});
  for (const auto& [original, row] : replaced_) list.push_back(row);
  return list;
}

}  // namespace headroom
