#include "redact/text_redactor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/args_text.h"

namespace headroom {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Match = bool (*)(char);

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsSlash(char c) { return c == '/' || c == '\\'; }
bool IsHexColon(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':';
}
bool IsHostByte(char c) { return IsWordByte(c) || c == '-' || c == '.'; }
bool IsUrlByte(char c) {
  return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\'' && c != '<' && c != '>';
}
bool EndsPath(char c) {
  constexpr std::string_view kEnds = "\"'<>|;,()[]{}*?:&`$#=";
  return static_cast<unsigned char>(c) <= ' ' || kEnds.find(c) != std::string_view::npos;
}
/// Whether something that begins here is not the rest of what stands before.
bool BeginsAt(std::string_view text, std::size_t at) {
  return at == 0 || !(IsHostByte(text[at - 1]) || IsSlash(text[at - 1]));
}
std::size_t RunOf(std::string_view text, std::size_t at, Match is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

/// "a", "b", ..., "z", "aa", ... of 0, 1, ...
std::string LettersOf(std::size_t number) {
  constexpr std::size_t kLetters = 26;
  std::string letters;
  for (++number; number > 0; number = (number - 1) / kLetters)
    letters += static_cast<char>('a' + (number - 1) % kLetters);
  std::reverse(letters.begin(), letters.end());
  return letters;
}

/// "10.0.0.1"
bool IsIpv4(std::string_view run) {
  int groups = 0;
  while (!run.empty()) {
    const std::size_t end = RunOf(run, 0, IsDigit);
    if (end == 0 || end > 3 || (end < run.size() && run[end] != '.')) return false;
    ++groups;
    run.remove_prefix(std::min(end + 1, run.size()));
  }
  return groups == 4;
}

/// "node7.cluster.internal"; no attribute such as "encoder.net".
bool IsDomain(std::string_view run) {
  constexpr std::string_view kEnds[] = {"com",  "org",   "edu",      "gov",
                                        "mil",  "local", "internal", "localdomain",
                                        "corp", "lan",   "intranet", "localhost"};
  const std::size_t dot = run.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string end = LowerAscii(run.substr(dot + 1));
  return std::find(std::begin(kEnds), std::end(kEnds), end) != std::end(kEnds);
}

/// "fe80:0:0:1:2:3", "00:1a:2b:3c:4d:5e": hexadecimal digits in four groups or more; not the "::"
/// of C++.
bool IsColonAddress(std::string_view run) {
  const auto colons = std::count(run.begin(), run.end(), ':');
  const bool link_local = run.starts_with("fe80::") || run.starts_with("fd");
  if (run.empty() || run.front() == ':' || run.back() == ':') return false;
  return (colons >= 4 && run.find("::") == std::string_view::npos) || (link_local && colons >= 2);
}

/// Endings of files, which are public.
bool IsFileEnding(std::string_view ending) {
  constexpr std::string_view kKnown[] = {
      "py",    "pyc", "pyx",  "cc",   "cpp",      "cxx",     "c",     "cu",         "cuh",
      "h",     "hpp", "so",   "json", "yaml",     "yml",     "toml",  "txt",        "csv",
      "pt",    "pth", "ckpt", "bin",  "onnx",     "sh",      "gz",    "tar",        "zip",
      "npy",   "npz", "log",  "cfg",  "ini",      "exe",     "dll",   "pkl",        "h5",
      "ipynb", "hip", "jpg",  "png",  "tfrecord", "parquet", "arrow", "safetensors"};
  return std::find(std::begin(kKnown), std::end(kKnown), ending) != std::end(kKnown);
}

}  // namespace

TextRedactor::TextRedactor(const PublicNames& names, RedactOptions options)
    : names_(names), options_(std::move(options)) {
  for (const std::string& word : options_.keep) keep_.insert(LowerAscii(word));
  for (const std::string& word : options_.words) {
    if (!word.empty()) learned_.emplace(LowerAscii(word), SecretKind::kNames);
  }
}

bool TextRedactor::Stays(std::string_view word) const {
  return keep_.contains(LowerAscii(word)) || names_.IsPublicWord(word);
}

void TextRedactor::LearnWord(SecretKind kind, std::string_view word) {
  constexpr std::size_t kShortest = 3;  // Shorter ones are part of too much.
  if (removes(kind) && word.size() >= kShortest && !Stays(word))
    learned_.emplace(LowerAscii(word), kind);
}

void TextRedactor::Learn(std::string_view text) {
  ForEachWord(text, [&](std::size_t begin, std::size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    ForEachPart(word, [&](std::size_t first, std::size_t last) {
      taken_.insert(LowerAscii(word.substr(first, last - first)));
    });
  });
  for (const std::string_view folder : {"/home/", "/Users/", "\\Users\\", "/mnt/home/", "/u/"}) {
    for (std::size_t at = text.find(folder); at != std::string_view::npos;
         at = text.find(folder, at + 1)) {
      const std::size_t begin = at + folder.size();
      const std::size_t end = std::min(text.find_first_of("/\\\"' :;,)", begin), text.size());
      LearnWord(SecretKind::kUsers, text.substr(begin, end - begin));
    }
  }
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (IsHostByte(text[begin - 1]) || text[begin - 1] == '+')) --begin;
    const std::size_t end = RunOf(text, at + 1, IsHostByte);
    if (begin == at || end == at + 1) continue;
    LearnWord(SecretKind::kUsers, text.substr(begin, at - begin));
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = RunOf(text, at, IsHostByte);
    const std::string_view run = text.substr(at, end - at);
    if (IsDomain(run)) LearnWord(SecretKind::kHosts, run.substr(0, run.find('.')));
    at = end + 1;
  }
  // As `headroom merge` names processes.
  constexpr std::string_view kOn = " on ";
  if (const std::size_t on = text.find(kOn); text.starts_with("rank ") && on != text.npos) {
    const std::size_t begin = on + kOn.size();
    LearnWord(SecretKind::kHosts, text.substr(begin, RunOf(text, begin, IsHostByte) - begin));
  }
}

std::string TextRedactor::Token(SecretKind kind, std::string_view prefix, std::string_view original,
                                Case letters) {
  const std::string lower = LowerAscii(original);
  auto [number, is_new] = numbers_.try_emplace(std::string(prefix) + '\n' + lower);
  while (is_new &&
         (number->second.empty() || taken_.contains(std::string(prefix) + number->second)))
    number->second = LettersOf(counts_[std::string(prefix)]++);
  std::string token = std::string(prefix) + number->second;
  if (letters != Case::kLower) token[0] = static_cast<char>(token[0] - 'a' + 'A');
  if (letters == Case::kUpper) {
    for (char& c : token) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  replaced_.try_emplace(std::string(original), Replacement{std::string(original), token, kind});
  return token;
}

/// The end of a login, host or word that is known to be one; `at` where there is none.
std::size_t TextRedactor::LearnedAt(std::string_view text, std::size_t at, std::string& out) {
  if (learned_.empty()) return at;
  const std::size_t longest =
      std::max_element(learned_.begin(), learned_.end(), [](const auto& x, const auto& y) {
        return x.first.size() < y.first.size();
      })->first.size();
  const std::string here = LowerAscii(text.substr(at, longest));
  const auto* best = static_cast<const std::pair<const std::string, SecretKind>*>(nullptr);
  for (const auto& row : learned_) {
    if (here.starts_with(row.first) && (best == nullptr || row.first.size() > best->first.size()))
      best = &row;
  }
  if (best == nullptr) return at;
  const std::string_view prefix = best->second == SecretKind::kUsers   ? "user"
                                  : best->second == SecretKind::kHosts ? "host"
                                                                       : "word";
  out += Token(best->second, prefix, text.substr(at, best->first.size()));
  return at + best->first.size();
}

/// The end of a path that begins at `at`, which may be relative if it ends as a file of code does.
std::size_t TextRedactor::PathAt(std::string_view text, std::size_t at) const {
  if (!BeginsAt(text, at)) return at;
  const std::string_view rest = text.substr(at);
  const bool drive = rest.size() > 2 && IsLetter(rest[0]) && rest[1] == ':' && IsSlash(rest[2]);
  const bool anchored = drive || rest.starts_with("\\\\") || rest.starts_with("~") ||
                        rest.starts_with("./") || rest.starts_with("../") ||
                        rest.starts_with(".\\") || rest.starts_with("..\\") || rest[0] == '/';
  std::size_t end = at + (drive ? 2 : 0);
  while (end < text.size() && !EndsPath(text[end])) ++end;
  const std::string_view run = text.substr(at, end - at);
  const std::size_t slash = run.find_first_of("/\\");
  if (anchored) {
    const bool goes_on = slash != std::string_view::npos && slash + 1 < run.size() &&
                         run.find_first_not_of("/\\", slash) != std::string_view::npos;
    return goes_on ? end : at;
  }
  const std::size_t dot = run.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || !IsFileEnding(run.substr(dot + 1))) return at;
  return end;
}

std::string TextRedactor::PathPart(std::string_view part, bool is_last) {
  if (part.empty() || part == "." || part == ".." || part == "~" ||
      (part.size() == 2 && part[1] == ':'))
    return std::string(part);
  const std::size_t dot = part.rfind('.');
  const bool has_ending =
      is_last && dot != std::string_view::npos && dot > 0 && IsFileEnding(part.substr(dot + 1));
  const std::string_view stem = has_ending ? part.substr(0, dot) : part;
  const std::string_view ending = part.substr(stem.size());
  if ((has_ending && Stays(stem)) || keep_.contains(LowerAscii(stem))) return std::string(part);
  return Token(SecretKind::kPaths, is_last ? "file" : "dir", stem).append(ending);
}

/// Folders and files, each by a token of its own; what lies in a public package stays from there
/// on.
std::string TextRedactor::Path(std::string_view path) {
  std::vector<std::pair<std::string_view, char>> parts;  // With the slash behind.
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find_first_of("/\\", at), path.size());
    parts.emplace_back(path.substr(at, end - at), end < path.size() ? path[end] : '\0');
    at = end + 1;
  }
  std::size_t library = parts.size();  // From this part on, all stay.
  std::size_t marker = parts.size();   // A part that says that what follows is a package.
  for (std::size_t i = 0; i < parts.size() && library == parts.size(); ++i) {
    const std::string_view part = parts[i].first;
    const bool packages = part == "site-packages" || part == "dist-packages";
    const bool standard = part.starts_with("python3") && i > 0 &&
                          (parts[i - 1].first == "lib" || parts[i - 1].first == "lib64");
    if (packages || standard) marker = i;
    const std::string_view stem = part.substr(0, part.find('.'));
    if ((i == 0 || marker + 1 == i) && parts.size() > 1 && names_.IsPackage(stem)) library = i;
  }
  // The folder of packages and those around it ("lib/python3.11/site-packages") tell nothing.
  std::size_t frame = marker;
  while (marker < parts.size() && frame > 0 &&
         (parts[frame - 1].first == "lib" || parts[frame - 1].first == "lib64" ||
          parts[frame - 1].first.starts_with("python3")))
    --frame;
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [part, slash] = parts[i];
    const bool last = i + 1 == parts.size();
    if (i >= frame && i <= marker) {
      out += part;
    } else if (i >= library || marker < i) {
      Words(part, NameRole::kAny, out);
    } else {
      out += PathPart(part, last);
    }
    if (slash != '\0') out += slash;
    // The folders as a whole: where names stay, each alone may be a name, too.
    const std::size_t first_public = std::min({frame, library, parts.size() - 1});
    if (i + 1 == first_public) {
      const auto end = static_cast<std::size_t>(part.data() + part.size() - path.data()) + 1;
      const std::string folders(path.substr(0, end));
      if (out != folders)
        replaced_.try_emplace(folders, Replacement{folders, out, SecretKind::kPaths});
    }
  }
  return out;
}

/// The end of a URL, an address, a path or a learned word that begins at `at`, whose replacement is
/// added; `at` where nothing of the kind begins.
std::size_t TextRedactor::SpecialAt(std::string_view text, std::size_t at, std::string& out) {
  if (BeginsAt(text, at)) {
    const std::size_t scheme = RunOf(text, at, IsLetter);
    if (scheme > at + 1 && text.substr(scheme).starts_with("://")) {
      const std::size_t end = RunOf(text, scheme, IsUrlByte);
      const bool is_file = text.substr(at, scheme - at) == "file";
      const SecretKind kind = is_file ? SecretKind::kPaths : SecretKind::kHosts;
      if (removes(kind)) {
        out += Token(kind, "url", text.substr(at, end - at));
        return end;
      }
    }
    const std::size_t run_end = RunOf(text, at, IsHostByte);
    const std::string_view run = text.substr(at, run_end - at);
    const bool is_mail = run_end < text.size() && text[run_end] == '@' && !run.empty();
    if (is_mail && removes(SecretKind::kUsers)) {
      const std::size_t end = RunOf(text, run_end + 1, IsHostByte);
      if (end > run_end + 1) {
        out += Token(SecretKind::kUsers, "mail", text.substr(at, end - at));
        return end;
      }
    }
    if (removes(SecretKind::kHosts)) {
      if (IsIpv4(run) || IsDomain(run)) {
        out += Token(SecretKind::kHosts, "host", run);
        return run_end;
      }
      const std::size_t hex_end = RunOf(text, at, IsHexColon);
      const std::string_view hex = text.substr(at, hex_end - at);
      if (IsColonAddress(hex) && (hex_end == text.size() || !IsWordByte(text[hex_end]))) {
        out += Token(SecretKind::kHosts, "host", hex);
        return hex_end;
      }
    }
    if (removes(SecretKind::kPaths)) {
      if (const std::size_t end = PathAt(text, at); end > at) {
        out += Path(text.substr(at, end - at));
        return end;
      }
    }
  }
  return LearnedAt(text, at, out);
}

std::string TextRedactor::Word(std::string_view word, NameRole role) {
  if (Stays(word)) return std::string(word);
  const bool ascii = std::all_of(word.begin(), word.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  std::string out;
  bool changed = false, kept = false;
  std::size_t done = 0;
  if (ascii) {
    ForEachPart(word, [&](std::size_t begin, std::size_t end) {
      const std::string_view part = word.substr(begin, end - begin);
      out += word.substr(done, begin - done);
      done = end;
      // In a mangled name, capitals are signs of the mangling.
      const bool is_sign =
          word.starts_with("_Z") &&
          std::all_of(part.begin(), part.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
      kept |= keep_.contains(LowerAscii(part));
      if (is_sign || names_.IsPublicPart(part) || keep_.contains(LowerAscii(part))) {
        out += part;
        return;
      }
      changed = true;
      const bool capital = part[0] >= 'A' && part[0] <= 'Z';
      const bool upper = capital && part[1] >= 'A' && part[1] <= 'Z';
      out += Token(SecretKind::kNames, "name", part,
                   upper     ? Case::kUpper
                   : capital ? Case::kCapital
                             : Case::kLower);
    });
    out += word.substr(done);
  }
  // Of other scripts, and what is of public parts alone but looks like a key.
  return changed || kept || (ascii && role == NameRole::kKernel)
             ? out
             : Token(SecretKind::kNames, "name", word);
}

/// Whole names of public namespaces stay; of others each word that is not public is replaced.
void TextRedactor::Words(std::string_view text, NameRole role, std::string& out) {
  if (!removes(SecretKind::kNames)) {
    out += text;
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    if (!IsWordByte(text[at])) {
      out += text[at++];
      continue;
    }
    const std::size_t end = RunOf(text, at, IsWordByte);
    const std::string_view word = text.substr(at, end - at);
    constexpr std::string_view kScope = "::";
    if (text.substr(end).starts_with(kScope) && names_.IsNamespace(word)) {
      std::size_t last = end;
      while (text.substr(last).starts_with(kScope)) {
        const std::size_t next = RunOf(text, last + kScope.size(), IsWordByte);
        if (next == last + kScope.size()) break;
        last = next;
      }
      out += text.substr(at, last - at);
      at = last;
      continue;
    }
    constexpr std::string_view kApis[] = {"cuda", "cu",   "hip",   "hsa",
                                          "nccl", "nvtx", "roctx", "__cuda"};
    const bool of_api = role == NameRole::kCall &&
                        std::any_of(std::begin(kApis), std::end(kApis),
                                    [&](std::string_view api) { return word.starts_with(api); });
    out += of_api ? std::string(word) : Word(word, role);
    at = end;
  }
}

std::string TextRedactor::Text(std::string_view text, NameRole role) {
  std::string out;
  // A Python frame, "FILE(LINE): FUNCTION", whose file may have blanks.
  if (const std::size_t close = text.find("): "); close != std::string_view::npos) {
    const std::size_t open = text.substr(0, close).rfind('(');
    const std::string_view file = text.substr(0, open == std::string_view::npos ? 0 : open);
    const bool is_line = open != std::string_view::npos && open > 0 && open + 1 < close &&
                         RunOf(text, open + 1, IsDigit) == close;
    const std::size_t dot = file.rfind('.');
    if (is_line && removes(SecretKind::kPaths) && dot != std::string_view::npos &&
        IsFileEnding(file.substr(dot + 1))) {
      out += Path(file);
      out += text.substr(open, close - open);
      text.remove_prefix(close);
    }
  }
  std::size_t plain = 0;  // Begin of what has no special meaning.
  const std::string_view all = text;
  for (std::size_t at = 0; at < all.size();) {
    std::string special;
    const std::size_t end = SpecialAt(all, at, special);
    if (end == at) {
      ++at;
      continue;
    }
    Words(all.substr(plain, at - plain), role, out);
    out += special;
    plain = at = end;
  }
  Words(all.substr(plain), role, out);
  return out;
}

std::string TextRedactor::Process(std::string_view text) {
  if (!removes(SecretKind::kArguments)) return Text(text);
  std::string out;
  if (text.starts_with("rank ")) {
    const std::size_t colon = std::min(text.find(": "), text.size());
    out = Text(text.substr(0, colon));
    if (colon == text.size()) return out;
    out += ": ";
    text.remove_prefix(colon + 2);
  }
  const std::size_t blank = std::min(text.find(' '), text.size());
  out += Text(text.substr(0, blank));
  Text(text.substr(blank));  // So that what is dropped is known to be gone.
  return out;
}

std::string TextRedactor::Value(std::string_view written) {
  if (written.find('"') == std::string_view::npos) return std::string(written);
  OrderedJson value = OrderedJson::parse(written, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return "null";
  const auto redact = [&](auto&& self, OrderedJson& at) -> void {
    if (at.is_string()) {
      at = Text(at.get_ref<const std::string&>());
    } else if (at.is_array()) {
      for (OrderedJson& item : at) self(self, item);
    } else if (at.is_object()) {
      OrderedJson made = OrderedJson::object();
      for (auto& [key, item] : at.items()) {
        self(self, item);
        made[Text(key)] = item;
      }
      at = std::move(made);
    }
  };
  redact(redact, value);
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
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
    const std::string_view key = members.substr(open + 1, close - open - 2);
    const std::string_view raw = members.substr(begin, end - begin);
    const std::string value = Value(raw);  // Also of what is dropped, so that it is known.
    const bool number = !raw.empty() && (IsDigit(raw[0]) || raw[0] == '-');
    const bool known = names_.IsArgument(key) || (of_recording && (number || key == "severity"));
    if (known || !removes(SecretKind::kArguments)) {
      const std::string_view written = members.substr(open, close - open);
      if (!out.empty()) out += ", ";
      out.append(known ? std::string(written) : Value(written)).append(": ").append(value);
    } else if (removes(SecretKind::kNames)) {
      Text(key);
    }
    at = std::max(end, begin + 1);
  }
  return out;
}

std::vector<Replacement> TextRedactor::Replacements() const {
  std::vector<Replacement> list;
  for (const auto& [original, row] : replaced_) list.push_back(row);
  return list;
}

}  // namespace headroom
