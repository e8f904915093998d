#include "render/text_page.h"

#include <algorithm>
#include <cmath>

#include "render/short_name.h"

namespace headroom {
namespace {

std::string_view CodeOf(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kAccent:
      return "\x1b[36m";
  }
  return "";
}

std::string Repeat(std::string_view piece, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += piece;
  return out;
}

}  // namespace

void TextPage::Append(std::string_view printable, Style style) {
  if (printable.empty()) return;
  if (!style_.color || style == Style::kPlain) {
    out_ += printable;
    return;
  }
  out_ += CodeOf(style);
  out_ += printable;
  out_ += "\x1b[0m";
}

void TextPage::Blank() {
  if (!out_.empty()) out_.push_back('\n');
}

void TextPage::Line(const std::vector<Span>& spans) { LineWithin(style_.width, spans); }

void TextPage::LineWithin(std::size_t width, const std::vector<Span>& spans) {
  std::size_t used = 0;
  std::vector<Span> pieces;
  for (const Span& span : spans) {
    std::string text = Printable(span.text, style_.charset);
    text.resize(PrefixBytes(text, width - used));
    used += DisplayWidth(text);
    pieces.push_back({std::move(text), span.style});
  }
  // Removes white space at the end of a line.
  while (!pieces.empty()) {
    std::string& last = pieces.back().text;
    last.erase(last.find_last_not_of(' ') + 1);
    if (!last.empty()) break;
    pieces.pop_back();
  }
  for (const Span& piece : pieces) Append(piece.text, piece.style);
  out_.push_back('\n');
}

void TextPage::Heading(std::string_view title, std::string_view note, Style note_style) {
  Blank();
  const std::string head = Printable(title, style_.charset);
  const std::string cut = CutPath(Printable(note, style_.charset), 60, style_.charset);
  const std::size_t used = DisplayWidth(head) + (cut.empty() ? 0 : DisplayWidth(cut) + 2) + 1;
  Line({{head, Style::kBold},
        {cut.empty() ? "" : "  "},
        {cut, note_style},
        {" "},
        {Repeat(style_.charset == Charset::kUtf8 ? "\u2500" : "-",
                style_.width - std::min(used, style_.width)),
         Style::kDim}});
}

void TextPage::Paragraph(std::string_view first, std::string_view text, Style first_style,
                         Style text_style) {
  const std::size_t indent = std::min<std::size_t>(DisplayWidth(first), style_.width - 20);
  const std::string whole = Printable(text, style_.charset);
  std::string line;
  bool begun = false;
  const auto flush = [&] {
    Line({{begun ? std::string(indent, ' ') : std::string(first),
           begun ? Style::kPlain : first_style},
          {line, text_style}});
    begun = true;
    line.clear();
  };
  for (std::size_t at = 0; at <= whole.size();) {
    const std::size_t space = std::min(whole.find(' ', at), whole.size());
    const std::string word =
        CutMiddle(whole.substr(at, space - at), style_.width - indent, style_.charset);
    at = space + 1;
    if (word.empty()) continue;
    if (!line.empty() && indent + DisplayWidth(line) + 1 + DisplayWidth(word) > style_.width)
      flush();
    if (!line.empty()) line.push_back(' ');
    line += word;
  }
  if (!line.empty() || !begun) flush();
}

void TextPage::Table(const std::vector<TextColumn>& columns,
                     const std::vector<std::vector<Span>>& rows) {
  constexpr std::size_t kIndent = 2;
  constexpr std::size_t kGap = 2;
  using Kind = TextColumn::Kind;
  std::vector<std::vector<Span>> cells = rows;
  std::vector<std::size_t> width(columns.size(), 0);
  std::size_t fixed = kIndent;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    bool used = false;
    for (std::vector<Span>& row : cells) {
      if (columns[c].kind == Kind::kText || columns[c].kind == Kind::kNumber)
        row[c].text = Printable(row[c].text, style_.charset);
      width[c] = std::max(width[c], DisplayWidth(row[c].text));
      used = used || !row[c].text.empty();
    }
    if (!used) continue;
    width[c] = std::max(width[c], DisplayWidth(columns[c].head));
    if (columns[c].kind == Kind::kText || columns[c].kind == Kind::kNumber)
      fixed += width[c] + kGap;
  }
  std::size_t names = 0, wanted = 0;
  constexpr std::size_t kMinName = 24;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].kind != Kind::kName && columns[c].kind != Kind::kKernel) continue;
    ++names;
    wanted += std::min(width[c], kMinName) + (names > 1 ? kGap : 0);
  }
  for (std::size_t c = columns.size(); c-- > 0 && fixed + wanted > style_.width;) {
    if (!columns[c].optional || width[c] == 0) continue;
    fixed -= width[c] + kGap;
    width[c] = 0;
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].kind != Kind::kName && columns[c].kind != Kind::kKernel) continue;
    const std::size_t taken = fixed + (names - 1) * kGap;
    const std::size_t limit =
        std::max<std::size_t>((style_.width - std::min(taken, style_.width)) / names, 16);
    std::vector<std::string_view> raw;
    raw.reserve(cells.size());
    for (const std::vector<Span>& row : cells) raw.push_back(row[c].text);
    const std::vector<std::string> shown =
        ShortNames(raw, limit, columns[c].kind == Kind::kKernel, style_.charset);
    width[c] = DisplayWidth(columns[c].head);
    for (std::size_t r = 0; r < cells.size(); ++r) {
      cells[r][c].text = shown[r];
      width[c] = std::max(width[c], DisplayWidth(shown[r]));
    }
  }
  std::size_t at = kIndent, line_width = style_.width;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (width[c] == 0) continue;
    at += (at > kIndent ? kGap : 0) + width[c];
    if (columns[c].kind == Kind::kNumber) line_width = std::max(line_width, at);
  }
  const auto emit = [&](auto&& cell_of) {
    std::vector<Span> line = {{std::string(kIndent, ' ')}};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (width[c] == 0) continue;
      const Span cell = cell_of(c);
      const std::string padding(width[c] - std::min(width[c], DisplayWidth(cell.text)), ' ');
      if (line.size() > 1) line.push_back({std::string(kGap, ' ')});
      if (columns[c].kind == Kind::kNumber) line.push_back({padding});
      line.push_back(cell);
      if (columns[c].kind != Kind::kNumber) line.push_back({padding});
    }
    LineWithin(line_width, line);
  };
  const bool headed = std::any_of(columns.begin(), columns.end(),
                                  [](const TextColumn& column) { return !column.head.empty(); });
  if (headed) emit([&](std::size_t c) { return Span{columns[c].head, Style::kDim}; });
  for (const std::vector<Span>& row : cells) emit([&](std::size_t c) { return row[c]; });
}

void TextPage::Command(std::string_view first, const std::vector<std::string>& words,
                       Style first_style) {
  const std::size_t indent = DisplayWidth(first);
  std::string line(indent, ' ');
  bool line_has_word = false;
  bool begun = false;
  const auto emit = [&] {
    Line({{std::string(begun ? "" : first), first_style}, {begun ? line : line.substr(indent)}});
    begun = true;
  };
  const auto flush = [&](std::string_view end) {
    line += end;
    emit();
    line.assign(indent + 2, ' ');
    line_has_word = false;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view rest = words[i];
    const std::string_view more = i + 1 < words.size() ? " \\" : "";
    std::string quoted = ShellQuote(rest, style_.charset);
    std::size_t needed = DisplayWidth(quoted);
    if (words[i].starts_with("--") && i + 1 < words.size()) {
      needed += 1 + DisplayWidth(
                        ShellQuote(words[i + 1], style_.charset));  // A flag stays with its value.
    }
    if (line_has_word && DisplayWidth(line) + 1 + needed + 2 > style_.width) flush(" \\");
    if (line_has_word) line.push_back(' ');
    // Splits a word longer than a line into quoted pieces, joined by \ and a line break. Each piece
    // must begin its line.
    while (DisplayWidth(line) + DisplayWidth(quoted) + more.size() > style_.width &&
           !rest.empty()) {
      std::size_t take = std::min(rest.size(), style_.width);
      const auto inside_code_point = [&](std::size_t at) {
        return at < rest.size() && (static_cast<unsigned char>(rest[at]) & 0xC0) == 0x80;
      };
      while (
          take > 1 &&
          (inside_code_point(take) ||
           DisplayWidth(line) + DisplayWidth(ShellQuote(rest.substr(0, take), style_.charset)) + 1 >
               style_.width)) {
        --take;
      }
      // Breaks paths after a folder.
      if (const std::size_t slash = rest.substr(0, take).rfind('/');
          slash != std::string_view::npos && slash > 0 && slash + 1 < rest.size())
        take = slash + 1;
      line += ShellQuote(rest.substr(0, take), style_.charset);
      rest.remove_prefix(take);
      flush("\\");
      line.clear();
      quoted = ShellQuote(rest, style_.charset);
    }
    if (!rest.empty() || words[i].empty()) line += quoted;
    line_has_word = true;
  }
  emit();
}

std::vector<Span> TextPage::Bar(double solid, double part, double whole, std::size_t width) const {
  if (!(whole > 0)) return {{std::string(width, ' ')}};
  const auto columns = [&](double value) {
    const double share = std::clamp(value / whole, 0.0, 1.0);
    // A nonzero value never appears as zero.
    const double exact = share * static_cast<double>(width);
    return value > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(exact))) : 0;
  };
  const std::size_t all = std::min(columns(part), width);
  const std::size_t dark = std::min(columns(solid), all);
  const bool utf8 = style_.charset == Charset::kUtf8;
  return {{Repeat(utf8 ? "\u2588" : "#", dark), Style::kAccent},
          {Repeat(utf8 ? "\u2591" : ".", all - dark), Style::kAccent},
          {std::string(width - all, ' ')}};
}

}  // namespace headroom
